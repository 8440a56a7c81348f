#include "dsl/text_hash.h"

#include <gtest/gtest.h>

namespace emulsion {
namespace {

TEST(TextHash, IsThePublishedOne) {
  EXPECT_EQ(text_hash(""), "cbf29ce484222325");
  EXPECT_EQ(text_hash("a"), "af63dc4c8601ec8c");
}

TEST(TextHash, TellsTextsApart) {
  EXPECT_NE(text_hash("y.parallel(m)"), text_hash("y.parallel(n)"));
}

}  // namespace
}  // namespace emulsion

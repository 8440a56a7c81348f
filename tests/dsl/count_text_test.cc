#include "dsl/count_text.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace emulsion {
namespace {

TEST(CountText, HasOneOfOne) {
  EXPECT_EQ(count_text(1, "axis", "axes"), "1 axis");
  EXPECT_EQ(count_text(size_t{1}, "index", "indices"), "1 index");
  EXPECT_EQ(count_text(std::string("1"), "row", "rows"), "1 row");
}

TEST(CountText, HasManyOfAllOthers) {
  EXPECT_EQ(count_text(0, "axis", "axes"), "0 axes");
  EXPECT_EQ(count_text(int64_t{2}, "byte", "bytes"), "2 bytes");
  EXPECT_EQ(count_text(11, "step", "steps"), "11 steps");
  EXPECT_EQ(count_text(std::string("n"), "row", "rows"), "n rows");
}

}  // namespace
}  // namespace emulsion

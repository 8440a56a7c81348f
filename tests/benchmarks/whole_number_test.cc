#include "benchmarks/whole_number.h"

#include <gtest/gtest.h>

namespace emulsion::benchmarks {
namespace {

TEST(WholeNumber, OfDigits) {
  EXPECT_EQ(whole_number("0"), 0);
  EXPECT_EQ(whole_number("007"), 7);
  EXPECT_EQ(whole_number("999999999"), 999999999);
}

TEST(WholeNumber, OfNothingElse) {
  for (const char* const text : {"", "-1", "+1", " 1", "1 ", "1.5", "1e3", "0x10", "1234567890"}) {
    EXPECT_FALSE(whole_number(text)) << text;
  }
}

}  // namespace
}  // namespace emulsion::benchmarks

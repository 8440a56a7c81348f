// Parts of an index that i32 has to hold.

#include "dsl/index_parts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace emulsion {
namespace {

std::vector<std::string> parts_of(const Expr& index) {
  std::vector<std::string> result;
  for (const Expr& part : parts_within_i32(index)) result.push_back(to_string(part));
  return result;
}

using Parts = std::vector<std::string>;

Expr i() { return axis_value("i"); }

TEST(PartsWithinI32, AreNoneOfSumsAndProducts) {
  EXPECT_EQ(parts_of(-(i() * 7) + i() - 3), Parts{});
}

TEST(PartsWithinI32, AreWhatIsDividedClampedAndCompared) {
  EXPECT_EQ(parts_of(i() * 7 / 3), (Parts{"i * 7", "3"}));
  EXPECT_EQ(parts_of(min(i() + 1, 9)), (Parts{"i + 1", "9"}));
  EXPECT_EQ(parts_of(abs(i() - 4)), (Parts{"i - 4"}));
  EXPECT_EQ(parts_of(select(i() * 5 < 9, i() + 2, 8)), (Parts{"i * 5", "9", "i + 2", "8"}));
}

TEST(PartsWithinI32, AreThoseInsideARead) {
  EXPECT_EQ(parts_of(read_buffer("t", i32, {i() * 7 % 5}) + i()), (Parts{"i * 7", "5"}));
  EXPECT_EQ(parts_of(read_buffer("t", i32, {i() * 7}) + i()), Parts{});
}

TEST(PartsWithinI32, AreInnerOnesFirstAndOnce) {
  const Expr part = i() * 7;
  EXPECT_EQ(parts_of((part / 2 + 1) % 5 + part / 3),
            (Parts{"i * 7", "2", "i * 7 / 2 + 1", "5", "3"}));
}

}  // namespace
}  // namespace emulsion

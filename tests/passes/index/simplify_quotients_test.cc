#include "passes/index/simplify_quotients.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "passes/nest/loop_nest.h"

namespace emulsion {
namespace {

const Expr h = axis_value("h"), d = axis_value("d"), k = axis_value("k"), n = axis_value("n");

// n has an extent that no number tells.
AxisExtents axes() { return {{"h", 4}, {"d", 64}, {"k", 256}, {"n", Extent::size("N")}}; }

std::string simplified(const Expr& e) { return to_string(simplify_quotients(e, axes())); }

TEST(SimplifyQuotients, DigitsOfWhatIsBelowTheDivisor) {
  EXPECT_EQ(simplified((h * 64 + d) / 64), "h");
  EXPECT_EQ(simplified((h * 64 + d) % 64), "d");
  EXPECT_EQ(simplified(d / 64), "0");
  EXPECT_EQ(simplified(d % 64), "d");
  EXPECT_EQ(simplified((n * 64 + d + 1) / 64), "n + (d + 1) / 64");
  EXPECT_EQ(simplified((h * 64 - d) / 64), "h + d * -1 / 64");
}

TEST(SimplifyQuotients, OtherRowLengths) {
  EXPECT_EQ(simplified((n * 8 + h) / 32), "n / 4");
  EXPECT_EQ(simplified((n * 8 + h) % 32), "h + n % 4 * 8");
  EXPECT_EQ(simplified((n * 96 + h) % 64), "h + n * 3 % 2 * 32");
  EXPECT_EQ(simplified((n * 96 + d) % 64), "(n * 96 + d) % 64");  // d reaches from row to row
}

TEST(SimplifyQuotients, OneReshapeOfAnother) {
  EXPECT_EQ(simplified(k / 4 / 8), "k / 32");
  EXPECT_EQ(simplified(n % 256 / 64), "n / 64 % 4");
  EXPECT_EQ(simplified(n % 256 % 64), "n % 64");
  EXPECT_EQ(simplified(k / 64 * 64 + k % 64), "k");
  EXPECT_EQ(simplified(n / 18 / 6 * 6 + n / 18 % 6), "n / 18");
  EXPECT_EQ(simplified(n / 100 * 6 + n / 18 % 6), "n / 100 * 6 + n / 18 % 6");
  EXPECT_EQ(simplified(n * 256 + (k / 64 * 64 + k % 64)), "n * 256 + k");
}

// No index is divided by what i32 does not hold.
TEST(SimplifyQuotients, DivisorsStayNumbersOfAnIndex) {
  EXPECT_EQ(simplified(n / 32768 / 65535), "n / 2147450880");
  EXPECT_EQ(simplified(n / 32768 / 65536), "n / 32768 / 65536");
  EXPECT_EQ(simplified(n / 65536 / 65536), "n / 65536 / 65536");
}

TEST(SimplifyQuotients, ClampsThatMoveNothing) {
  EXPECT_EQ(simplified(max(min(d, int_constant(63)), int_constant(0))), "d");
  EXPECT_EQ(simplified(min(d + 1, int_constant(63))), "min(d + 1, 63)");
  EXPECT_EQ(simplified(max(n, int_constant(0))), "max(n, 0)");
}

TEST(SimplifyQuotients, WhatIsSimpleIsTheSameNode) {
  for (const Expr& e : {h, h * 64 + d, k / 64, k % 64, n / 4 * 8, n / h, n % 0}) {
    EXPECT_TRUE(simplify_quotients(e, axes()).same_as(e)) << to_string(e);
  }
}

Expr random_index(std::mt19937* engine, int depth) {
  const auto pick = [&](uint32_t count) { return (*engine)() % count; };
  if (depth == 0) {
    const Expr leaves[] = {h, d, k, n, int_constant(static_cast<int>(pick(9)) - 4)};
    return leaves[pick(5)];
  }
  const Expr a = random_index(engine, depth - 1);
  static const int kNumbers[] = {1, 2, 4, 6, 8, 32, 64, 96};
  const Expr number = int_constant(kNumbers[pick(8)]);
  switch (pick(7)) {
    case 0:
      return a + random_index(engine, depth - 1);
    case 1:
      return a - random_index(engine, depth - 1);
    case 2:
      return a * number;
    case 3:
      return min(a, number);
    case 4:
      return max(a, int_constant(0));
    case 5:
      return a / number;
    default:
      return a % number;
  }
}

TEST(SimplifyQuotients, KeepsTheValue) {
  int changed = 0;
  for (uint32_t seed = 1; seed <= 2000; ++seed) {
    std::mt19937 engine(seed);
    const Expr index = random_index(&engine, 4);
    const Expr simple = simplify_quotients(index, axes());
    changed += simple.same_as(index) ? 0 : 1;
    for (int i = 0; i < 12; ++i) {
      const auto below = [&](uint32_t end) { return static_cast<int64_t>(engine() % end); };
      const std::map<std::string, int64_t> at = {
          {"h", below(4)}, {"d", below(64)}, {"k", below(256)}, {"n", below(1000)}};
      ASSERT_EQ(evaluate_index(simple, at), evaluate_index(index, at))
          << "seed " << seed << ": " << to_string(index) << " to " << to_string(simple);
    }
  }
  EXPECT_GT(changed, 500);
}

}  // namespace
}  // namespace emulsion

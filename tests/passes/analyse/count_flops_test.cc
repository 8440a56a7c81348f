#include "passes/analyse/count_flops.h"

#include <gtest/gtest.h>

#include <limits>

#include "dsl/error.h"
#include "dsl/operators.h"

namespace emulsion {
namespace {

int64_t flops(const Tensor& output, const SizeValues& sizes = {}) {
  return total_flops(count_flops(Graph(output)), sizes);
}

TEST(CountFlopsTest, CountsAMatmulAsTwoForEachProduct) {
  const Tensor x = input("x", f32, {Extent::size("B"), 20});
  const Tensor w = weight("w", f32, {20, 24});
  EXPECT_EQ(flops(matmul(x, w), {{"B", 3}}), 2 * 3 * 20 * 24);
  EXPECT_EQ(flops(matmul(x, w), {{"B", 0}}), 0);
}

TEST(CountFlopsTest, CountsEveryArithmeticOperator) {
  const Tensor x = input("x", f64, {10});
  EXPECT_EQ(flops(relu(add(x, 1.0))), 20);
  EXPECT_EQ(flops(exp(x)), 10);
}

TEST(CountFlopsTest, LeavesOutWhatIsNoArithmeticOnFloats) {
  const Tensor x = input("x", f32, {4, 5});
  const Tensor n = input("n", i32, {4, 5});
  EXPECT_TRUE(count_flops(Graph(transpose(x))).empty());
  EXPECT_EQ(flops(add(n, 1)), 0);
  EXPECT_EQ(flops(less(x, 0.0f)), 0);
}

TEST(CountFlopsTest, SaturatesInsteadOfWrapping) {
  const Tensor x = input("x", f32, {Extent::size("B"), Extent::size("T")});
  const int64_t huge = int64_t{1} << 40;
  EXPECT_EQ(flops(neg(x), {{"B", huge}, {"T", huge}}), std::numeric_limits<int64_t>::max());
}

TEST(CountFlopsTest, OfNothingThereAreNone) {
  const Tensor x = input("x", f32, {Extent::size("B"), Extent::size("T"), Extent::size("C")});
  const int64_t huge = int64_t{1} << 40;
  EXPECT_EQ(flops(neg(x), {{"B", huge}, {"T", huge}, {"C", 0}}), 0);
}

TEST(CountFlopsTest, CountsWhatStandsBehindNothing) {
  const Graph graph({neg(input("x", f32, {Extent::size("B")})), neg(input("z", f32, {10}))});
  EXPECT_EQ(total_flops(count_flops(graph), {{"B", 0}}), 10);
}

TEST(CountFlopsTest, RefusesASizeWithoutAValue) {
  const Tensor x = input("x", f32, {Extent::size("B")});
  EXPECT_THROW(flops(neg(x)), Error);
}

}  // namespace
}  // namespace emulsion

#include "passes/derive/precompute_parts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kRows = Extent::size("N"), kColumns = Extent::size("C");

// y[n, c] = x[n, c] / sqrt(v[c])
Tensor scaled(const Extent& rows, const Extent& columns) {
  const Axis n("n", rows), c("c", columns);
  const Tensor x = input("x", f32, {rows, columns}), v = input("v", f32, {columns});
  return compute("y", {n, c}, x(n, c) / sqrt(v(c) + 4.0f));
}

Target one_core() { return target_of("x86-64-v4", 1); }

bool has_parts(const Tensor& y) { return has(derived(y, one_core()), "precompute("); }

TEST(PrecomputeParts, OfManyRowsOnce) {
  const std::string text = derived(scaled(100, 64), one_core());
  EXPECT_TRUE(has(text, "y.precompute(c, y_part)\n")) << text;
  EXPECT_TRUE(has(text, "y_part.vectorize(")) << text;
  EXPECT_FALSE(has(text, "alternative")) << text;
}

TEST(PrecomputeParts, OfARunTimeNumberOfRowsWhereTheyAreSeveral) {
  const std::string text = derived(scaled(kRows, 64), one_core());
  EXPECT_TRUE(has(text, "y_part.alternative(N < 8, y_part_of_few)\n")) << text;
  EXPECT_TRUE(has(text, "y_part_of_few.compute_inline()\n")) << text;
  EXPECT_TRUE(has(text, "y.specialize(N < 8)\n")) << text;
}

TEST(PrecomputeParts, OfAFewRowsThereAreNone) {
  EXPECT_TRUE(has_parts(scaled(8, 64)));
  EXPECT_FALSE(has_parts(scaled(7, 64)));
}

TEST(PrecomputeParts, OfAFewColumnsThereAreNone) {
  EXPECT_TRUE(has_parts(scaled(100, 4)));
  EXPECT_FALSE(has_parts(scaled(100, 3)));
}

TEST(PrecomputeParts, EachPart) {
  const Axis n("n", 100), c("c", 64);
  const Tensor x = input("x", f32, {100, 64}), v = input("v", f32, {64});
  const std::string text =
      derived(compute("y", {n, c}, x(n, c) * exp(v(c)) + log(v(c))), one_core());
  EXPECT_TRUE(has(text, "y.precompute(c, y_part)\ny.precompute(c, y_part1)\n")) << text;
}

TEST(PrecomputeParts, OfWhatDependsOnRowsThereAreNone) {
  const Axis n("n", 100), c("c", 64);
  const Tensor x = input("x", f32, {100, 64}), v = input("v", f32, {100});
  EXPECT_FALSE(has_parts(compute("y", {n, c}, x(n, c) / sqrt(v(n)))));
}

TEST(PrecomputeParts, OfWhatIsGuardedThereAreNone) {
  const Axis n("n", 100), c("c", 64);
  const Tensor x = input("x", f32, {100, 64}), v = input("v", f32, {60});
  const Expr guarded = x(n, c) / sqrt(v(min(c, 59)));
  EXPECT_FALSE(has_parts(compute("y", {n, c}, select(Expr(c) < 60, guarded, x(n, c)))));
}

TEST(PrecomputeParts, OfWhatSumsUpThereAreNone) {
  const Axis n("n", 100), c("c", 64), k("k", 5);
  const Tensor x = input("x", f32, {100, 5}), v = input("v", f32, {64});
  EXPECT_FALSE(has_parts(compute("y", {n, c}, sum(k, x(n, k) / sqrt(v(c))))));
}

// What it reads has no loops ahead of it: it is read through.
TEST(PrecomputeParts, OfWhatIsComputedElsewhereThereAreNone) {
  const Axis n("n", 100), c("c", 64);
  const Tensor x = input("x", f32, {100, 64}), all = input("v", f32, {70});
  const Tensor v = slice(all, {3}, {67}, {}, "part_of_v");
  const std::string text = derived(compute("y", {n, c}, x(n, c) / sqrt(v(c) + 4.0f)), one_core());
  EXPECT_TRUE(has(text, "part_of_v.compute_inline()")) << text;
  EXPECT_FALSE(has(text, "precompute(")) << text;
}

TEST(PrecomputeParts, OfAChainInItsLoops) {
  const Axis n("n", kRows), c("c", 64);
  const Tensor b = input("b", f32, {kRows, 64});
  const Tensor y = add(scaled(kRows, 64), b, "z");
  const std::string text = derived(y, one_core());
  EXPECT_TRUE(has(text, "y.precompute(c, y_part)\ny.compute_inline()\n")) << text;
  EXPECT_TRUE(has(text, "z.specialize(N < 8)\n")) << text;
}

TEST(PrecomputeParts, HaveNamesOfTheirOwn) {
  const Axis n("n", 100), c("c", 64);
  const Tensor x = input("y_part", f32, {100, 64}), v = input("v", f32, {64});
  const std::string text = derived(compute("y", {n, c}, x(n, c) / sqrt(v(c))), one_core());
  EXPECT_TRUE(has(text, "y.precompute(c, y_part1)\n")) << text;
}

// Of whole numbers, and exact.
TEST(PrecomputeParts, ComputeTheSame) {
  const std::vector<int64_t> sizes = {0, 1, 2, 3, 7, 8, 9, 33};
  const Axis n("n", kRows), c("c", kColumns), h("h", kRows);
  const Tensor x = input("x", f32, {kRows, kColumns}), v = input("v", f32, {kColumns});
  const Tensor z = input("z", f32, {kRows, kRows, kColumns}), w = input("w", f32, {kColumns});
  const Expr part = (v(c) + 1.0f) / 4.0f, other = w(c) / 2.0f;
  const Tensor rows = compute("y", {n, c}, x(n, c) * part + other);
  const Tensor planes = compute("y", {n, h, c}, z(n, h, c) * part + other);
  for (const Tensor& y : {rows, planes, add(rows, x, "chain")}) {
    EXPECT_TRUE(derives_on_all(Graph(y), sizes));
  }
}

}  // namespace
}  // namespace emulsion

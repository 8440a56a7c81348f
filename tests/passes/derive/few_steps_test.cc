// Sums of few steps have a sum in each lane, and sums of few columns have none.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "dsl/operators.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("C");
const Target kV3 = target_of("x86-64-v3", 1);

std::string derived(const Tensor& y) { return derived(y, kV3); }

// A sum in each lane, however far apart its steps are for the lanes.
TEST(FewSteps, AreWrittenOut) {
  const Axis i("i", kSize), r("r", 3);
  const Tensor wide = input("x", f32, {kSize, 5}), turned = input("x", f32, {kSize});
  const Tensor twice = input("x", f32, {3, kSize * Extent(5)}), close = input("z", f32, {kSize, 3});
  for (const Tensor& y :
       {compute("s", {i}, sum(r, wide(i, r))), compute("s", {i}, sum(r, twice(r, i * 5))),
        compute("s", {i}, sum(r, wide(i, r) + close(i, r))),
        compute("s", {i}, sum(r, turned(extent_value(kSize) - 1 - i) * close(i, r)))}) {
    const std::string text = derived(y);
    EXPECT_TRUE(has(text, "s_acc.vectorize(i)\ns_acc.unroll(r)\n")) << text;
  }
  const auto rows = [](int64_t count, int64_t steps, DType dtype) {
    const Axis n("i", count), k("r", steps);
    return derived(compute("s", {n}, sum(k, cast(i32, input("x", dtype, {count, steps})(n, k)))));
  };
  EXPECT_TRUE(has(rows(100, 16, i32), "tile, lane, 8, shift_inwards)\n")) << rows(100, 16, i32);
  EXPECT_TRUE(has(rows(100, 7, u8), "s_acc.unroll(r)\n")) << rows(100, 7, u8);
  // Rows side by side are one row.
  const Axis n("n", 50), k("k", 2), few("r", 6);
  const std::string pairs =
      derived(compute("s", {n, k}, sum(few, input("x", f32, {50, 2, 6})(n, k, few))));
  EXPECT_TRUE(has(pairs, "fuse(n, k, ")) << pairs;
  EXPECT_TRUE(has(pairs, "s_acc.unroll(r)\n")) << pairs;
}

TEST(FewSteps, ManyOrOfFewSumsAreNot) {
  const auto rows = [](int64_t count, int64_t steps, DType dtype) {
    const Axis n("i", count), k("r", steps);
    return derived(compute("s", {n}, sum(k, cast(i32, input("x", dtype, {count, steps})(n, k)))));
  };
  EXPECT_TRUE(has(rows(100, 17, i32), "rfactor"));
  EXPECT_TRUE(has(rows(100, 8, u8), "rfactor")) << "bytes are not transposed";
  EXPECT_TRUE(has(rows(7, 16, i32), "rfactor"));
  const Axis i("i", kSize), all("r", kSize);
  const Tensor any = input("x", f32, {kSize, kSize});
  EXPECT_TRUE(has(derived(compute("s", {i}, sum(all, any(i, all)))), "rfactor"));
}

TEST(FewSteps, ComputeTheSame) {
  const Axis i("i", kSize), n("n", 21), r("r", 5), k("k", 2);
  const Tensor x = input("x", f32, {kSize, 5}), z = input("z", i16, {21, 2, 5});
  const Tensor w = input("w", f32, {kSize, 3, 5});
  const Axis a("a", 3);
  for (const Tensor& y :
       {compute("y", {i}, sum(r, x(i, r) * x(i, r))), compute("y", {i}, reduce_max(r, x(i, r))),
        compute("y", {n, k}, sum(r, cast(i32, z(n, k, r)))),
        compute("y", {i}, sum({a, r}, w(i, a, r) * x(i, r)))}) {
    EXPECT_TRUE(derives_on_all(Graph(y), {0, 1, 7, 8, 16, 17, 40}));
  }
}

// The condition may say that there are few rows, and each is long.
TEST(FewColumns, OfFewRowsVectorsAreLeft) {
  const Extent rows = Extent::size("H");
  const Axis i("i", rows), j("j", kSize), a("a", 3), b("b", 3);
  const Tensor x = input("x", f32, {rows * Extent(2) + 3, kSize * Extent(2) + 3});
  const Tensor y = compute("y", {i, j}, sum({a, b}, x(i * 2 + a, j * 2 + b)));
  for (const char* level : kLevels) {
    const std::string text = derived(y, target_of(level, 1));
    EXPECT_TRUE(has(text, " && H >= ")) << text;
    EXPECT_FALSE(has(text, "y_acc.compute_at(y_long, j)\n")) << text;
    EXPECT_TRUE(derives(Graph(y), target_of(level, 1), {0, 1, 3, 4, 5, 17})) << level;
  }
}

// Less than a vector of columns that lie far apart is summed without masks.
TEST(FewColumns, ThatStrideAreSummedOneByOne) {
  const Axis i("i", 50), j("j", kSize), r("r", 4);
  const Tensor x = input("x", f32, {50, kSize * Extent(5) + 4});
  const Tensor y = compute("y", {i, j}, sum(r, x(i, j * 5 + r)));
  const std::string text = derived(y);
  EXPECT_TRUE(has(text, "y_long.alternative(C >= 8, y_filled)\n")) << text;
  EXPECT_TRUE(has(text, "y_acc.compute_at(y_long, j)\ny_acc.unroll(r)\n")) << text;
  EXPECT_FALSE(has(text, "predicate")) << text;
  EXPECT_TRUE(derives_on_all(Graph(y), {0, 1, 3, 7, 8, 9, 16, 33}));
}

TEST(FewColumns, ThatAreNearAreSummedUnderMasks) {
  const Axis i("i", 50), j("j", kSize), r("r", 4);
  const Tensor x = input("x", f32, {50, kSize * Extent(4) + 4});
  const Tensor y = compute("y", {i, j}, sum(r, x(i, j * 4 + r)));
  EXPECT_TRUE(has(derived(y), "y_long.split(j, tile, lane, 8, predicate)\n")) << derived(y);
  const std::string without = derived(y, target_of("x86-64-v2", 1));
  EXPECT_TRUE(has(without, "y_acc.compute_at(y_long, j)\n")) << without;
}

}  // namespace
}  // namespace emulsion

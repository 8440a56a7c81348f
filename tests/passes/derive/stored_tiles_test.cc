// Tiles of sums that are stored before a series goes on with them.

#include <gtest/gtest.h>

#include <string>

#include "dsl/operators.h"
#include "passes/derive/derive_schedule.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

Tensor product(const Extent& rows, int64_t columns, int64_t steps) {
  return matmul(input("a", f32, {rows, steps}), weight("w", f32, {steps, columns}), "mm");
}

std::string text_of(const Tensor& y, const std::string& level = "x86-64-v3") {
  return derived(Graph(y), target_of(level, 1));
}

TEST(StoredTiles, ASeriesGoesThroughTheRowsOfATile) {
  const std::string text = text_of(gelu(product(200, 128, 6), Gelu::tanh, "y"));
  EXPECT_TRUE(has(text, "mm.cache_write(mm_acc)\nmm.compute_at(y, panel)\n")) << text;
  EXPECT_TRUE(has(text, "mm.vectorize(lane)\nmm.unroll(n)\nmm.unroll(m)\n")) << text;
  EXPECT_TRUE(has(text, "mm_acc.compute_at(y, panel)\nmm_acc.store_in(registers)\n")) << text;
  EXPECT_TRUE(has(text, "y.unroll(column)\n")) << text;
  EXPECT_FALSE(has(text, "y.unroll(row)\n")) << text;
}

TEST(StoredTiles, ASeriesThatIsComputedInlineCounts) {
  const Tensor mm = product(200, 128, 6);
  EXPECT_TRUE(has(text_of(mul(tanh(mm + 1.0F), mm, "y")), "mm.cache_write(mm_acc)\n"));
}

TEST(StoredTiles, NotBeforeWhatTakesAFewInstructions) {
  EXPECT_FALSE(has(text_of(relu(product(200, 128, 6), "y")), "mm_acc"));
}

TEST(StoredTiles, NotOfAFewVectors) {
  EXPECT_FALSE(has(text_of(tanh(product(2, 8, 6), "y")), "mm.cache_write"));
  EXPECT_FALSE(has(text_of(tanh(product(1, 128, 6), "y")), "mm.cache_write"));
}

TEST(StoredTiles, NotWhereThereAreManyRegisters) {
  EXPECT_FALSE(has(text_of(tanh(product(200, 128, 6), "y"), "x86-64-v4"), "mm.cache_write"));
}

// A series that the contraction itself sums up is none behind it.
TEST(StoredTiles, NotForASeriesInTheSums) {
  const Tensor e = exp(input("a", f32, {200, 6}));
  EXPECT_FALSE(has(text_of(relu(matmul(e, weight("w", f32, {6, 128}), "mm"), "y")), "mm_acc"));
}

TEST(StoredTiles, AreRight) {
  const Extent rows = Extent::size("B");
  for (const char* level : kLevels) {
    for (const int cores : {1, 2}) {
      const Target target = target_of(level, cores);
      for (const int64_t columns : {16, 33, 128}) {
        EXPECT_TRUE(
            derives(Graph(gelu(product(rows, columns, 7))), target, {0, 1, 5, 6, 7, 40}, 1e-4))
            << level << columns;
        EXPECT_TRUE(derives(Graph(tanh(product(37, columns, 5))), target, {1}, 1e-4)) << level;
      }
      const Tensor h = gelu(product(rows, 24, 7));
      const Tensor mlp = tanh(matmul(h, weight("v", f32, {24, 20})));
      EXPECT_TRUE(derives(Graph(mlp), target, {0, 1, 5, 12, 40}, 1e-4)) << level;
      const Tensor x = input("x", f32, {3, rows, 10}), z = input("z", f32, {3, 10, 21});
      EXPECT_TRUE(derives(Graph(sigmoid(matmul(x, z))), target, {0, 1, 6, 20}, 1e-4)) << level;
    }
  }
}

}  // namespace
}  // namespace emulsion

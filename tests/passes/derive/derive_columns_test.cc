// Blocks of columns in derived schedules: what is written down, and that the nests compute what the
// graphs say at every size.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/operators.h"
#include "passes/pipeline.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/column_graphs.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");

std::string nest_of(const Graph& graph, int cores = 1) {
  return to_string(run_pipeline(graph, target_of("x86-64-v3", cores)).nest);
}
Graph softmax_of(const Extent& rows, const Extent& columns) {
  return Graph(softmax(input("x", f32, {rows, columns}), 0, "y"));
}

TEST(DeriveColumns, EverythingIsComputedForABlock) {
  const std::string nest = nest_of(softmax_of(5, 128));
  for (const char* part :
       {"for y.block in 2\n", "alloc y_exp[0 .. +5, y.block * 64 .. +64] in stack",
        "unrolled y_max_acc.i1 in 8\n"}) {
    EXPECT_TRUE(has(nest, part)) << part << "\n" << nest;
  }
  EXPECT_FALSE(has(nest, "heap")) << nest;
}

TEST(DeriveColumns, ABlockMayBeOfHalvesOfVectors) {
  const std::string nest =
      to_string(run_pipeline(softmax_of(5, 56), target_of("x86-64-v4", 1)).nest);
  EXPECT_TRUE(has(nest, "unrolled y_max_acc.i1 in 7\n")) << nest;
  EXPECT_TRUE(has(nest, "vectorized y_max_acc.i1_v in 8\n")) << nest;
  EXPECT_FALSE(has(nest, "if i1")) << nest;
}

TEST(DeriveColumns, FewRowsAreCombinedAtOnce) {
  EXPECT_TRUE(has(nest_of(softmax_of(16, 128)), "unrolled y_max_acc.r0 in 16\n"));
  EXPECT_TRUE(has(nest_of(softmax_of(17, 128)), "for y_max_acc.r0 in 17\n"));
}

TEST(DeriveColumns, ThreadsShareTheBlocks) {
  EXPECT_TRUE(has(nest_of(softmax_of(64, 8200), 4), "parallel y.block in 129"));
  EXPECT_FALSE(has(nest_of(softmax_of(5, 64), 4), "parallel"));
  const Graph pictures(softmax(input("x", f32, {8, 16, 8, 1024}), 1, "y"));
  EXPECT_TRUE(has(nest_of(pictures, 4), "parallel y.rows1 in 64")) << nest_of(pictures, 4);
  const Graph open(softmax(input("x", f32, {kSize, 16, 8, 1024}), 1, "y"));
  EXPECT_TRUE(has(nest_of(open, 4), "parallel y.i0")) << nest_of(open, 4);
}

TEST(DeriveColumns, ThreadsShareTheBlocksOfARunTimeNumberOfOnePicture) {
  const auto pictures = [](int64_t count) {
    return Graph(softmax(input("x", f32, {count, 5, kSize}), 1, "y"));
  };
  const std::string nest = nest_of(pictures(1), 4);
  EXPECT_TRUE(has(nest, "parallel y.block in B / 64\n")) << nest;
  EXPECT_TRUE(has(nest_of(pictures(3), 4), "parallel y.i0 in 3\n")) << nest_of(pictures(3), 4);
  EXPECT_TRUE(derives(pictures(1), target_of("x86-64-v3", 4), {0, 1, 64, 9000, 30000}, 1e-5));
}

TEST(DeriveColumns, WhatIsReadOnceIsStoredNowhere) {
  for (const auto& [name, graph] : column_graphs(5, 64)) {
    if (name != "standardized") continue;
    EXPECT_FALSE(has(nest_of(graph), "alloc squares"));
  }
}

TEST(DeriveColumns, TheLastBlockOverlapsTheOneBefore) {
  EXPECT_TRUE(has(nest_of(softmax_of(5, 1000)), "min(y.block * 64, 936)"));
}

TEST(DeriveColumns, OfARunTimeNumberTheLastBlockAloneHasMasks) {
  const std::string nest = nest_of(softmax_of(5, kSize));
  EXPECT_TRUE(has(nest, "for y.block in B / 64\n")) << nest;
  EXPECT_TRUE(has(nest, "if i1 < B (loads and stores)")) << nest;
}

TEST(DeriveColumns, ComputesWhatTheGraphSays) {
  for (const char* level : kLevels) {
    for (const int cores : {1, 4}) {
      for (const Extent& columns :
           {Extent(16), Extent(17), Extent(56), Extent(75), Extent(104), Extent(140), kSize}) {
        for (const auto& [name, graph] : column_graphs(5, columns)) {
          EXPECT_TRUE(derives(graph, target_of(level, cores), {0, 1, 7, 16, 33, 130}, 1e-5))
              << level << ", " << cores << " cores: " << name << " of " << columns.to_string();
        }
      }
    }
  }
}

TEST(DeriveColumns, ComputesWhatTheGraphSaysOfManyPictures) {
  for (const auto& [name, graph] : column_graphs(3, 4096)) {
    EXPECT_TRUE(derives(graph, target_of("x86-64-v3", 2), {1}, 1e-5)) << name;
  }
}

// Lanes of several lengths in one block.
TEST(DeriveColumns, TypesOfSeveralSizes) {
  const Axis i("i", 6), n("n", 100);
  const Tensor x = input("x", u8, {6, 100});
  Tensor highest = compute("highest", {n}, reduce_max(i, x(i, n)));
  Tensor far = compute("far", {i, n}, cast(f64, highest(n)) - cast(f64, x(i, n)));
  Tensor total = compute("total", {n}, sum(i, far(i, n)));
  const Graph graph(compute("y", {i, n}, cast(f32, far(i, n) * total(n))));
  for (const char* level : kLevels) {
    EXPECT_EQ(run_pipeline(graph, target_of(level, 1)).grouped.loop_groups().size(), 1U) << level;
    EXPECT_TRUE(derives(graph, target_of(level, 1), {1})) << level;
  }
}

}  // namespace
}  // namespace emulsion

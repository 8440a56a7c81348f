// Windows that slide in derived schedules: what is written down, and that the nests compute what
// the graphs say at every size.

#include <gtest/gtest.h>

#include <string>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "passes/derive/window_chains.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/lower/lower.h"
#include "passes/nest/loop_nest.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/stencil_graphs.h"

namespace emulsion {
namespace {

std::string derived(const Graph& graph, int cores) {
  return to_string(derive_schedule(graph, small_cache(cores)));
}

TEST(DeriveWindows, RowsInStripsAndWindowsThatSlideInThem) {
  EXPECT_EQ(derived(blur_graph(256, 24), 1),
            "emulsion schedule 1\ny.split(i1, i1, i1_v, 8)\ny.vectorize(i1_v)\n"
            "y.split(i0, strip, i0, 32)\ny.reorder(i0, strip)\n"
            "bx.split(i1, i1, i1_v, 8)\nbx.vectorize(i1_v)\n"
            "bx.store_at(y, strip)\nbx.compute_at(y, i0)\n");
}

TEST(DeriveWindows, ThreadsShareTheStrips) {
  EXPECT_NE(derived(blur_graph(541, 256), 4).find("y.split(i0, strip, i0, 34, guard)\n"),
            std::string::npos);
  EXPECT_NE(derived(blur_graph(541, 256), 4).find("y.parallel(strip)\n"), std::string::npos);
}

// Three strips of 32 rows would leave a core without work.
TEST(DeriveWindows, StripsAreShorterWhereThreadsWouldNotHaveEquallyMany) {
  const std::string text = derived(blur_graph(100, 600), 4);
  EXPECT_NE(text.find("y.split(i0, strip, i0, 25)\n"), std::string::npos) << text;
  const std::string alone = derived(blur_graph(100, 600), 1);
  EXPECT_NE(alone.find("y.split(i0, strip, i0, 34, guard)\n"), std::string::npos) << alone;
}

// A call with little work computes one operation after another, on one thread.
TEST(DeriveWindows, WhereRunTimeSizesAreEnoughForThreads) {
  const Extent height = Extent::size("H"), width = Extent::size("W");
  const std::string text = derived(blur_graph(height, width), 4);
  for (const char* line :
       {"&& H >= 64, y_sliding)\n", "&& H >= 64, bx_sliding)\n", "y_sliding.parallel(strip)\n",
        "bx_sliding.store_at(y_sliding, strip)\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << text;
  }
  EXPECT_EQ(derived(blur_graph(height, width), 1).find("_sliding"), std::string::npos);
}

// Means of groups of channels, as group_norm has them. Of the last strip all rows would be
// computed.
Graph means_of_groups(const Extent& rows) {
  const Tensor x = input("x", f32, {rows, 1760, 32});
  return Graph(mean(reshape(x, {rows, 1760, 8, 4}), {1, 3}, false, "m"));
}

TEST(DeriveWindows, LargeRowsOfARunTimeNumberAreStripsByThemselves) {
  for (const int cores : {1, 4}) {
    const std::string text = derived(means_of_groups(Extent::size("B")), cores);
    EXPECT_NE(text.find("m_sum.compute_at(m, i0)\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("strip"), std::string::npos) << text;
    EXPECT_EQ(text.find("\nm.parallel(i0)\n") == std::string::npos, cores == 1) << text;
    EXPECT_EQ(text.find("\nm.specialize(B >= ") == std::string::npos, cores == 1) << text;
  }
  EXPECT_TRUE(derives(means_of_groups(Extent::size("B")), small_cache(4), {0, 1, 3}));
}

// Windows that step over as many rows as they have.
TEST(DeriveWindows, SmallRowsOfWhichNoneIsComputedAgainAreInShortStrips) {
  const Extent height = Extent::size("H"), width = Extent::size("W");
  const Axis i("i", height), j("j", width), k("i", 2 * height), r("r", 5);
  const Tensor x = input("x", f32, {2 * height, width + 4});
  const Tensor t = compute("t", {k, j}, sum(r, x(k, j + r)));
  const Graph graph(compute("y", {i, j}, max(t(2 * i, j), t(2 * i + 1, j))));
  const std::string text = derived(graph, 4);
  EXPECT_NE(text.find("&& H >= 8, y_sliding)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("y_sliding.split(i, strip, i, 4, guard)\n"), std::string::npos) << text;
  EXPECT_TRUE(derives(graph, small_cache(4), {0, 1, 7, 8, 9, 90}));
}

TEST(DeriveWindows, ComputeWhatTheGraphSaysWhereSizesDecide) {
  const Extent size = Extent::size("B");
  for (const Graph& graph : {blur_graph(size, size), blur_graph(size, 2000, u8)}) {
    EXPECT_TRUE(derives(graph, small_cache(4), {0, 1, 5, 63, 64, 300}));
  }
}

TEST(DeriveWindows, OfSeveralImagesTogether) {
  const std::string text = derived(large_stencil_graphs()[2].second, 4);
  for (const char* line :
       {"y.fuse(i0, strip, rows1)\ny.parallel(rows1)\n", "bx.store_at(y, rows1)\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << text;
  }
}

// The nest that is derived for one of stencil_graphs() holds this text.
void expect_in_nest(const std::string& graph, const std::string& text) {
  for (const auto& [name, one] : stencil_graphs()) {
    if (name != graph) continue;
    const LoopNest nest = lower(one, derive_schedule(one, small_cache(1)));
    EXPECT_NE(to_string(nest).find(text), std::string::npos) << to_string(nest);
  }
}

TEST(DeriveWindows, SumsStayInRegistersInsideRowsThatSlide) {
  expect_in_nest("depthwise", "window dw[");
  expect_in_nest("depthwise", "alloc dw_acc[");
}

// Pixels of one row are made of the same columns, and what each weighs with is read once for them.
TEST(DeriveWindows, SumsOfSeveralPixelsOfARowAreComputedTogether) {
  for (const auto& [name, graph] : stencil_graphs()) {
    if (name != "depthwise") continue;
    const std::string text = to_string(derive_schedule(graph, small_cache(1)));
    for (const char* line :
         {"y.split(x, x, row, ", "dw.split(x, x, row, ", "dw_acc.unroll(kx)\n"}) {
      EXPECT_NE(text.find(line), std::string::npos) << text;
    }
    return;
  }
  FAIL() << "no graph is called depthwise";
}

TEST(DeriveWindows, WhatIsFusedOntoSumsSlides) {
  expect_in_nest("depthwise_groups", "window relu[");
  expect_in_nest("depthwise_groups", "alloc dw[");
}

TEST(DeriveWindows, SumsThatWaitForTheirReaderHaveNoWindow) {
  expect_in_nest("spread", "window d[");
  const std::string text = derived(large_stencil_graphs().back().second, 1);
  for (const char* line :
       {"squares.compute_at(y, tile)\n", "sums.compute_at(y, tile)\n", "d.store_at(y, strip)\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << text;
  }
  EXPECT_EQ(text.find("sums.store_at"), std::string::npos) << text;
}

// They have more rows at a time than a chain has.
TEST(DeriveWindows, WhereAllSumsWaitThereIsNoChain) {
  const Axis i("i", 512), j("j", 256), a("a", 3), b("b", 3);
  const Tensor s = compute("s", {i, j}, sum({a, b}, input("x", f32, {514, 258})(i + a, j + b)));
  const Graph graph(compute("y", {i, j}, s(i, j) / 9.0F));
  EXPECT_TRUE(window_chains(fuse_epilogues(graph), small_cache(1)).empty());
  const std::string text = derived(graph, 1);
  EXPECT_NE(text.find("y.split(i, i, row, 4)\n"), std::string::npos) << text;
}

TEST(DeriveWindows, OfAStrideAsManyRowsStayAsOneReads) {
  expect_in_nest("every_second_row", "alloc bx[fold 4, 0 .. +24]");
}

TEST(DeriveWindows, OfClampedReadsNoMoreColumnsThanThereAre) {
  expect_in_nest("clamped_chain", "alloc across[fold 4, 0 .. +24]");
  expect_in_nest("clamped_chain", "alloc down[fold 4, 0 .. +24]");
}

// Also where the last strip is longer than what is left of the rows.
TEST(DeriveWindows, OfClampedReadsNoMoreRowsThanOneReads) {
  expect_in_nest("clamped_rows", "window second[y.i0 + y.strip * 64 - 1 .. +3,");
  expect_in_nest("clamped_rows", "window first[y.i0 + y.strip * 64 - 2 .. +5,");
}

TEST(DeriveWindows, MasksVectorsOfPartsOfRows) {
  const std::string text = [] {
    for (const auto& [name, graph] : stencil_graphs()) {
      if (name == "parts_of_rows") return to_string(derive_schedule(graph, small_cache(1)));
    }
    return std::string();
  }();
  EXPECT_NE(text.find("bx.split(i1, i1, i1_v, 8, predicate)"), std::string::npos) << text;
}

// Of a run-time length: between the ends of what they read, and between borders, vectors are plain.
TEST(DeriveWindows, CutRowsAtTheirEnds) {
  enum class Ends { none, held, chosen };
  const auto rows_with = [](Ends ends, const Extent& columns) {
    const Extent rows = Extent::size("H");
    const Tensor x = input("x", f32, {rows, columns});
    const Axis i("i", rows), j("j", columns);
    const Expr last = extent_value(columns) - 1, held = x(i, min(j + 1, last));
    const Expr next = ends == Ends::none     ? Expr(2.0f)
                      : ends == Ends::chosen ? select(j < last, held, 0.0f)
                                             : held;
    const Tensor p = compute("p", {i, j}, x(i, j) * next);
    return Graph(compute("y", {i, j}, p(i, j) + p(max(i - 1, 0), j)));
  };
  const auto is_cut = [&](Ends ends, const Extent& columns) {
    const std::string text = derived(rows_with(ends, columns), 1);
    return text.find("p.partition(j)\n") != std::string::npos;
  };
  const Extent size = Extent::size("W");
  EXPECT_TRUE(is_cut(Ends::held, size));
  EXPECT_TRUE(is_cut(Ends::chosen, size));
  EXPECT_FALSE(is_cut(Ends::none, size));
  EXPECT_FALSE(is_cut(Ends::held, 40));
  for (const Ends ends : {Ends::held, Ends::chosen}) {
    EXPECT_TRUE(derives(rows_with(ends, size), small_cache(1), {0, 1, 2, 31, 33}));
  }
}

TEST(DeriveWindows, ComputeWhatTheGraphSays) {
  for (const auto& [name, graph] : stencil_graphs()) {
    EXPECT_TRUE(derives(graph, small_cache(1), {0, 1, 2, 31, 33})) << name;
  }
}

TEST(DeriveWindows, ComputeWhatTheGraphSaysInThreads) {
  for (const auto& [name, graph] : large_stencil_graphs()) {
    EXPECT_EQ(window_chains(fuse_epilogues(graph), small_cache(4)).size(), 1U) << name;
    EXPECT_TRUE(derives(graph, small_cache(4), {0, 1, 3})) << name;
  }
}

}  // namespace
}  // namespace emulsion

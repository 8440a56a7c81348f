// How many steps of a loop threads take at a time, and whether they share it at all.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "dsl/operators.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Target kTwo = target_of("x86-64-v3", 2), kFour = target_of("x86-64-v3", 4);

const Extent kRows = Extent::size("R");

Tensor pointwise(const std::vector<Extent>& shape) { return relu(input("x", f32, shape), "y"); }

TEST(DeriveThreads, ATaskIsSeveralShortRows) {
  const std::string text = derived(pointwise({256, 1024}), kTwo);
  EXPECT_TRUE(has(text, "y.split(i0, block, i0, 16)\ny.parallel(block)\n")) << text;
}

TEST(DeriveThreads, EachCoreHasTasks) {
  EXPECT_TRUE(has(derived(pointwise({256, 1024}), kFour), "y.split(i0, block, i0, 8)\n"));
  const std::string text = derived(pointwise({256, 1024}), target_of("x86-64-v3", 32));
  EXPECT_TRUE(has(text, "y.parallel(i0)\n")) << text;
}

TEST(DeriveThreads, ATaskLeavesNoRest) {
  EXPECT_TRUE(has(derived(pointwise({250, 1024}), kTwo), "y.split(i0, block, i0, 10)\n"));
  EXPECT_TRUE(has(derived(pointwise({251, 1024}), kTwo), "y.parallel(i0)\n"));
}

// Short rows of which no number divides all: the last task has fewer. Of a long one each is a task.
TEST(DeriveThreads, ATaskOfShortRowsMayLeaveARest) {
  const auto turned = [](int64_t count, int64_t rows, int64_t length) {
    const Axis i("i", count), j("j", rows), k("k", length);
    const Tensor x = input("x", f32, {count, rows, length});
    return compute("y", {i, j, k}, x.at({Expr(i), Expr(j), length - 1 - Expr(k)}));
  };
  const std::string pixels = derived(turned(5, 5011, 4), kTwo);
  EXPECT_TRUE(has(pixels,
                  "y.fuse(i, j, rows1)\ny.split(rows1, task, rows1, 1565, guard)\n"
                  "y.parallel(task)\n"))
      << pixels;
  EXPECT_TRUE(derives(Graph(turned(5, 5011, 4)), kTwo, {1}));
  const std::string rows = derived(turned(1, 10007, 100), kTwo);
  EXPECT_TRUE(has(rows, "y.split(rows1, task, rows1, 163, guard)\ny.parallel(task)\n")) << rows;
  const std::string long_rows = derived(turned(1, 1009, 1030), kTwo);
  EXPECT_FALSE(has(long_rows, "task")) << long_rows;
}

TEST(DeriveThreads, ALongRowIsATask) {
  EXPECT_TRUE(has(derived(pointwise({64, 8192}), kTwo), "y.split(i0, block, i0, 2)\n"));
  EXPECT_TRUE(has(derived(pointwise({64, 16384}), kTwo), "y.parallel(i0)\n"));
}

TEST(DeriveThreads, OfShortAxesTheLastIsCut) {
  const std::string text = derived(pointwise({8, 256, 128}), kTwo);
  EXPECT_TRUE(has(text, "y.split(i1, block, i1, 128)\ny.fuse(i0, block, rows1)\n")) << text;
  EXPECT_TRUE(has(text, "y.parallel(rows1)\n")) << text;
}

TEST(DeriveThreads, LongRowsAreNotCutNorAKnownNumberOfRunTimeLength) {
  for (const std::vector<Extent>& shape :
       {std::vector<Extent>{kRows, 4096}, {256, Extent::size("C") + 4}}) {
    const std::string text = derived(pointwise(shape), kTwo);
    EXPECT_TRUE(has(text, "y.parallel(i0)\n")) << text;
    EXPECT_FALSE(has(text, "y.split(i0")) << text;
  }
}

// Where there is enough for threads: of a known length that says that there are many rows.
TEST(DeriveThreads, ATaskIsSeveralRowsOfARunTimeNumber) {
  const std::string text = derived(pointwise({kRows, 1024}), kTwo);
  EXPECT_TRUE(has(text,
                  "y.specialize(R >= 128)\ny.split(i0, task, i0, 4, guard)\n"
                  "y.parallel(task)\n"))
      << text;
  EXPECT_FALSE(has(text, "y.parallel(i0)\n")) << text;
  const std::string by_both = derived(pointwise({kRows, Extent::size("C") + 4}), kTwo);
  EXPECT_TRUE(has(by_both, " && R >= 64)\ny.split(i0, task, i0, 4, guard)\ny.parallel(task)\n"))
      << by_both;
  EXPECT_TRUE(has(by_both, "131072)\ny.parallel(i0)\n")) << by_both;
  EXPECT_TRUE(has(derived(pointwise({kRows, Extent::size("C") + 4}), kFour), " && R >= 128)\n"));
}

// Shorter than a vector they are many wherever there are enough points.
TEST(DeriveThreads, ShortRowsAreMany) {
  const Extent columns = Extent::size("C");
  const Axis i("i", kRows), j("j", columns);
  const Tensor x = input("x", f32, {kRows, columns * 3});
  const std::string text = derived(compute("y", {i, j}, x(i, 3 * j)), kTwo);
  EXPECT_TRUE(has(text, "y.specialize(C >= 8 && ")) << text;
  EXPECT_TRUE(has(text,
                  ")\ny.split(j, j, j_v, 8, predicate)\ny.vectorize(j_v)\n"
                  "y.split(i, task, i, 4, guard)\ny.parallel(task)\n"))
      << text;
  EXPECT_FALSE(has(text, "predicate)\ny.vectorize(j_v)\ny.parallel(i)\n")) << text;
}

TEST(DeriveThreads, RowsOfTasksAreRight) {
  for (const Extent& length : {Extent(1024), Extent::size("C")}) {
    EXPECT_TRUE(derives(Graph(pointwise({kRows, length})), kTwo, {0, 1, 3, 64, 65, 131, 401}));
  }
}

TEST(DeriveThreads, ALoopWithABorderIsNotCut) {
  const std::string text = derived(pad(input("x", f32, {250, 1024}), {3, 3}, {3, 3}, 0, "y"), kTwo);
  EXPECT_TRUE(has(text, "y.partition(i0)\ny.parallel(i0)\n")) << text;
}

TEST(DeriveThreads, WhatIsComputedForARowStaysWithTheRow) {
  const Tensor x = input("x", f32, {256, 1024});
  const std::string sums = derived(sum(x, {1}, false, "y"), kTwo);
  EXPECT_TRUE(has(sums, "y.split(i0, block, i0, 16)\ny.parallel(block)\n")) << sums;
  EXPECT_TRUE(has(sums, "y_lanes.compute_at(y, i0)\n")) << sums;
  const std::string group = derived(softmax(x, -1, "y"), kTwo);
  EXPECT_TRUE(has(group, "y.split(i0, block, i0, 16)\ny.prefetch(x, i0, 1)\ny.parallel(block)\n"))
      << group;
  EXPECT_TRUE(has(group, "y_exp.compute_at(y, i0)\n")) << group;
}

TEST(DeriveThreads, ThreadsShareShortAxesTogether) {
  const std::string text = derived(sum(input("x", f32, {2, 3, 65536}), {2}, false, "s"), kFour);
  EXPECT_TRUE(has(text, "s.fuse(i0, i1, rows1)\ns.parallel(rows1)\n")) << text;
  EXPECT_TRUE(has(text, "s_lanes.compute_at(s, rows1)\n")) << text;
}

TEST(DeriveThreads, ThreadsShareWhatIsBehindAnAxisOfOne) {
  for (const Tensor& y : {sum(input("x", f32, {1, kRows, 512}), {2}, false, "s"),
                          relu(input("x", f32, {1, kRows, 512}), "s")}) {
    EXPECT_TRUE(has(derived(y, kFour), ".parallel(rows1)\n")) << derived(y, kFour);
  }
}

TEST(DeriveThreads, NoneForLittleWork) {
  EXPECT_FALSE(has(derived(pointwise({16, 1024}), kTwo), "block"));
  EXPECT_FALSE(has(derived(pointwise({256, 1024}), target_of("x86-64-v3", 1)), "block"));
}

// What threads share as one loop has as many rows of the last axis inside as divide it.
TEST(DeriveThreads, RowsSideBySideAreInsideOfWhatTheyShare) {
  for (const auto& [columns, rows] : {std::pair<int64_t, int64_t>{20, 4}, {21, 3}, {22, 2}}) {
    const Tensor y = sum(input("x", f32, {2, columns, kRows}), {2}, false, "s");
    const std::string text = derived(y, kFour);
    EXPECT_TRUE(has(text, fmt::format("s_long.split(i1, i1, row, {})\ns_long.unroll(row)\n"
                                      "s_long.fuse(i0, i1, rows1)\n",
                                      rows)))
        << text;
    EXPECT_TRUE(has(text, "s_long_lanes.compute_at(s_long, rows1)\n")) << text;
    EXPECT_TRUE(has(text, "s_long.parallel(rows1)\n")) << text;
    for (const char* level : kLevels) {
      EXPECT_TRUE(derives(Graph(y), target_of(level, 4), {0, 1, 4, 5, 33})) << level;
    }
  }
}

// Of conditions that never hold together there are no loops to compile.
TEST(DeriveThreads, NoCasesThatNeverHold) {
  const auto has_case = [](const Tensor& y, const std::string& condition) {
    return has(derived(y, kTwo), "specialize(" + condition + ")\n");
  };
  const Tensor many = input("x", f32, {4, 5000, kRows});
  EXPECT_FALSE(has(derived(sum(many, {2}), kTwo), "R <= 4 && ")) << derived(sum(many, {2}), kTwo);
  const Tensor rows = input("x", f32, {Extent::size("B"), kRows});
  EXPECT_TRUE(has(derived(sum(rows, {1}), kTwo), "R <= 4 && ")) << derived(sum(rows, {1}), kTwo);
  const Tensor y = softmax(input("x", f32, {12000, kRows}));
  EXPECT_TRUE(has_case(y, "R == 3")) << derived(y, kTwo);
  EXPECT_FALSE(has(derived(y, kTwo), "R == 3 && ")) << derived(y, kTwo);
}

}  // namespace
}  // namespace emulsion

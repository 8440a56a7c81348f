// What is joined, padded or masked: derived schedules cut the loops at the borders, so that only
// the vectors across one choose.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "passes/pipeline.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");

// Matrices of those widths (axis 1) or heights (axis 0) joined.
Tensor joined(const std::vector<Extent>& extents, int axis, const Extent& other) {
  std::vector<Tensor> parts;
  for (const Extent& extent : extents) {
    const Shape shape = axis == 0 ? Shape{extent, other} : Shape{other, extent};
    parts.push_back(input("x" + std::to_string(parts.size()), f32, shape));
  }
  return concat(parts, axis, "y");
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(DeriveChoices, JoinedColumnsAreCopiedInVectors) {
  for (const char* level : kLevels) {
    const Lowered lowered = run_pipeline(Graph(joined({700, 300}, 1, 256)), target_of(level, 2));
    const std::string schedule = to_string(lowered.schedule), nest = to_string(lowered.nest);
    EXPECT_TRUE(has(schedule, "y.partition(i1)\ny.parallel(block)\n")) << schedule;
    EXPECT_TRUE(has(nest, "store y[i0, i1] = x0[i0, i1]")) << nest;
    EXPECT_TRUE(has(nest, "store y[i0, i1] = x1[i0, i1 - 700]")) << nest;
  }
}

TEST(DeriveChoices, JoinedRowsAreCopiedInTurn) {
  for (const char* level : kLevels) {
    const Lowered lowered = run_pipeline(Graph(joined({70, 30}, 0, 256)), target_of(level, 1));
    EXPECT_TRUE(has(to_string(lowered.schedule), "y.partition(i0)\n"));
    EXPECT_EQ(count(to_string(lowered.nest), "select"), 0U) << to_string(lowered.nest);
  }
}

TEST(DeriveChoices, OfManyPartsEachIsOnePiece) {
  for (int axis : {0, 1}) {
    const std::vector<Extent> many(200, Extent(32));
    const Lowered lowered = run_pipeline(Graph(joined(many, axis, 64)), target_of("x86-64-v3", 2));
    const std::string nest = to_string(lowered.nest);
    EXPECT_EQ(count(nest, "select"), 0U);
    EXPECT_EQ(count(nest, "store y"), 200U);
    // Threads share no loop of 200 pieces.
    EXPECT_EQ(count(to_string(lowered.schedule), "parallel"), axis == 0 ? 0U : 1U);
  }
}

TEST(DeriveChoices, AFrameIsCutOnBothAxes) {
  const Tensor y = pad(input("x", f32, {256, 1024}), {3, 3}, {3, 3}, 0, "y");
  const std::string text = derived(y, target_of("x86-64-v3", 2));
  EXPECT_TRUE(has(text, "y.partition(i1)\ny.partition(i0)\ny.parallel(i0)\n")) << text;
}

// Neighbours of a run-time row, held at its ends: only the first and the last vector are clamped.
TEST(DeriveChoices, RunTimeRowsAreCutWhereTheirNeighboursAreHeld) {
  const auto neighbours = [](const Extent& columns, bool held) {
    const Axis i("i", 64), j("j", columns);
    const Tensor x = input("x", f32, {64, held ? columns : columns + 1});
    const Expr next = Expr(j) + 1;
    return compute("y", {i, j}, x(i, j) + x(i, held ? min(next, extent_value(columns) - 1) : next));
  };
  const Target target = target_of("x86-64-v3", 1);
  EXPECT_TRUE(has(derived(neighbours(kSize, true), target), "y.partition(j)\n"));
  EXPECT_FALSE(has(derived(neighbours(kSize, false), target), "partition"));
  EXPECT_FALSE(has(derived(neighbours(100, true), target), "partition"));
  for (int cores : {1, 4}) {
    EXPECT_TRUE(derives(Graph(neighbours(kSize, true)), target_of("x86-64-v3", cores),
                        {1, 2, 7, 8, 9, 10, 33}));
  }
}

TEST(DeriveChoices, NotWhatDataOrTwoAxesDecide) {
  const Axis i("i", 64), j("j", 64);
  const Tensor x = input("x", f32, {64, 64});
  const Target target = target_of("x86-64-v3", 1);
  for (const Expr& condition : {x(i, j) > 0.0F, j <= i, x(j, i) > x(i, j)}) {
    const Tensor y = compute("y", {i, j}, select(condition, x(i, j), 0.0F));
    EXPECT_FALSE(has(derived(y, target), "partition")) << derived(y, target);
  }
}

TEST(DeriveChoices, NotWhereNoLoopIsLeft) {
  const Axis i("i", 64), j("j", 8);
  const Tensor x = input("x", f32, {64, 8});
  const Tensor y = compute("y", {i, j}, select(j < 3, x(i, j), 0.0F));
  EXPECT_FALSE(has(derived(y, target_of("x86-64-v3", 1)), "partition"));
  // Of rows that are fused, no border is at a step of the fused loop alone.
  const Tensor z = input("z", f32, {2, 3, 65536});
  const Axis a("a", 2), b("b", 3), c("c", 65536);
  const Tensor w = compute("y", {a, b, c}, select(b < 1, z(a, b, c), 0.0F));
  EXPECT_TRUE(has(derived(w, target_of("x86-64-v3", 4)), "y.parallel(rows1)\n"));
}

TEST(DeriveChoices, ComputeWhatTheGraphSays) {
  for (int cores : {1, 4}) {
    const Target target = target_of("x86-64-v3", cores);
    const std::vector<int64_t> sizes = {0, 1, 2, 7, 8, 9, 31};
    for (int axis : {0, 1}) {
      EXPECT_TRUE(derives(Graph(joined({17, 1, 40}, axis, kSize)), target, sizes));
      EXPECT_TRUE(derives(Graph(joined({kSize, 13}, axis, 19)), target, sizes));
      EXPECT_TRUE(derives(Graph(joined({11, kSize, kSize}, axis, 8)), target, sizes));
      EXPECT_TRUE(derives(Graph(joined({0, 5, 0, 1}, axis, kSize)), target, sizes));
    }
    EXPECT_TRUE(
        derives(Graph(concat({input("a", f32, {70000}), input("b", f32, {70001})}, 0)), target));
    EXPECT_TRUE(
        derives(Graph(pad(input("x", f32, {kSize, kSize}), {3, 2}, {1, 9}, 2)), target, sizes));
    EXPECT_TRUE(
        derives(Graph(pad(input("x", u8, {5, kSize, 3}), {1, 2, 0}, {0, 3, 0}, 2)), target, sizes));
  }
}

}  // namespace
}  // namespace emulsion

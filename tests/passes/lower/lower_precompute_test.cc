// precompute: what an operation computes of one axis alone has a stage of its own. The goldens show
// where it goes; every nest is run against its graph.

#include <gtest/gtest.h>

#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/lower/lower_refuses.h"

namespace emulsion {
namespace {

const Extent kBatch = Extent::size("B");
const Axis n("n", kBatch), c("c", 6);
const Axis co("co"), ci("ci");

// y = x / (v * v / 4) + w / 2: of whole numbers, and exact.
struct Scaled {
  Tensor x = input("x", f32, {kBatch, 6}), v = input("v", f32, {6}), w = input("w", f32, {6});
  Tensor y = compute("y", {n, c}, x(n, c) * ((v(c) + 1.0f) / 4.0f) + w(c) / 2.0f);
  Schedule schedule{y};
};

TEST(LowerPrecompute, OfColumns) {
  Scaled s;
  s.schedule[s.y].precompute(c, "once");
  expect_nest(s.schedule);
}

TEST(LowerPrecompute, AgainForTheNextPart) {
  Scaled s;
  s.schedule[s.y].precompute(c, "scale").precompute(c, "bias").split(c, co, ci, 4);
  s.schedule["scale"].vectorize(c, 2);
  expect_nest(s.schedule);
}

TEST(LowerPrecompute, AtALoop) {
  Scaled s;
  s.schedule[s.y].precompute(c, "once").split(c, co, ci, 3).reorder({ci, n, co});
  s.schedule["once"].compute_at(s.y, co).store_in(Memory::stack);
  expect_nest(s.schedule);
}

TEST(LowerPrecompute, OnlyOfManyRows) {
  Scaled s;
  s.schedule[s.y].precompute(c, "once").specialize(size_value("B") < 2);
  s.schedule["once"].alternative(size_value("B") < 2, "few");
  s.schedule["few"].compute_inline();
  expect_nest(s.schedule);
}

TEST(LowerPrecompute, OfWhatIsComputedInline) {
  Scaled s;
  const Tensor z = compute("z", {n, c}, s.y(n, c) * 2.0f);
  Schedule schedule(z);
  schedule[s.y].precompute(c, "once").compute_inline();
  expect_nest(schedule);
}

TEST(LowerPrecompute, AllThatIsTheSameReadsIt) {
  const Tensor x = input("x", f32, {kBatch, 6}), v = input("v", f32, {6});
  const Expr part = v(c) / 4.0f;
  Schedule schedule(compute("y", {n, c}, x(n, c) * part + select(x(n, c) > 1.0f, part, 2.0f)));
  schedule["y"].precompute(c, "once");
  expect_nest(schedule);
}

TEST(LowerPrecompute, OfSums) {
  const Axis k("k", 5);
  const Tensor x = input("x", f32, {kBatch, 5}), v = input("v", f32, {6});
  Schedule schedule(compute("y", {n, c}, sum(k, x(n, k) * (v(c) / 4.0f))));
  schedule["y"].precompute(c, "once");
  expect_nest(schedule);
}

class LowerPrecomputeRefuses : public LowerRefuses {
 protected:
  static Schedule guarded() {
    const Axis i("i", 4), j("j", 6);
    const Tensor x = input("x", f32, {4, 6}), v = input("v", f32, {6});
    return Schedule(compute("y", {i, j}, select(x(i, j) > 1.0f, x(i, j) / v(j), 2.0f)));
  }
};

TEST_F(LowerPrecomputeRefuses, WhereThereIsNone) {
  Scaled s;
  s.schedule[s.y].precompute(Axis("n"), "once");
  refused(s.schedule, "y.precompute(n, once)",
          "expected a part of y that takes long and depends on n alone, got none; legal: c");
}

TEST_F(LowerPrecomputeRefuses, AThird) {
  Scaled s;
  s.schedule[s.y].precompute(c, "a").precompute(c, "b").precompute(c, "d");
  refused(s.schedule, "y.precompute(c, d)", "got none; legal: no precompute of it");
}

TEST_F(LowerPrecomputeRefuses, WhatASelectGuards) {
  Schedule schedule = guarded();
  schedule["y"].precompute(Axis("j"), "once");
  refused(schedule, "y.precompute(j, once)", "got none; legal: no precompute of it");
}

}  // namespace
}  // namespace emulsion

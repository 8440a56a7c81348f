#include "backends/halide/emit_nest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <sstream>
#include <utility>

#include "backends/halide/halide_call.h"
#include "dsl/target.h"
#include "passes/lower/lower.h"
#include "passes/nest/verify_nest.h"
#include "passes/nest/visit_nest.h"
#include "passes/pipeline.h"
#include "tests/backends/halide/changed_nest.h"
#include "tests/backends/halide/check_emitted.h"
#include "tests/backends/halide/nest_cases.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

using testing::HasSubstr;
using testing::Not;

void expect_as_printed(const LoopNest& nest, EmittedCounts* total) {
  const EmittedCheck check = check_emitted(nest);
  EXPECT_EQ(check.difference, "") << to_string(nest);
  *total += check.counts;
}

TEST(EmitNest, SchedulesByHandAreWhatTheNestSays) {
  EmittedCounts total;
  for (const ScheduledCase& c : scheduled_cases()) {
    SCOPED_TRACE(c.name);
    expect_as_printed(lower(c.graph, c.schedule), &total);
  }
  std::cout << to_string(total) << "\n";
  EXPECT_GE(total.loops, 480);
  EXPECT_GE(total.uops, 200);
  EXPECT_GE(total.allocs, 95);
  EXPECT_GE(total.branches, 10);
  EXPECT_GE(total.prefetches, 6);
  EXPECT_GE(total.points, 18000);
  // Branches in branches for sizes that rule each other out, and loops around what is empty.
  EXPECT_EQ(total.unreached, 0);
  EXPECT_LE(total.dead, 9);
}

TEST(EmitNest, OperatorsAreWhatTheNestSays) {
  EmittedCounts total;
  for (const GraphCase& c : operator_cases()) {
    SCOPED_TRACE(c.name);
    expect_as_printed(lower(c.graph, Schedule(c.graph)), &total);
  }
  std::cout << to_string(total) << "\n";
  EXPECT_GE(total.loops, 340);
  EXPECT_GE(total.uops, 150);
  EXPECT_GE(total.allocs, 60);
  EXPECT_EQ(total.unreached, 0);
  EXPECT_EQ(total.dead, 0);
}

TEST(EmitNest, DerivedSchedulesAreWhatTheNestSays) {
  EmittedCounts total;
  const Target target = Target::parse("x86-64-v3");
  for (const GraphCase& c : operator_cases()) {
    SCOPED_TRACE(c.name);
    expect_as_printed(run_pipeline(c.graph, target).nest, &total);
  }
  std::cout << to_string(total) << "\n";
  EXPECT_GE(total.loops, 400);
  EXPECT_GE(total.uops, 140);
  EXPECT_GE(total.allocs, 45);
  EXPECT_EQ(total.unreached, 0);
  // Of a transpose, a permutation and rows of seven: steps where branches say that B is 0.
  EXPECT_LE(total.dead, 3);
}

std::string statement_of(const LoopNest& nest) {
  std::ostringstream text;
  call_halide("emitting",
              [&] { text << emit_nest(nest, /*has_fma=*/true, CompileOptions()).statement; });
  return text.str();
}

// Halide makes loops without the steps whose value alone is not likely.
TEST(EmitNest, LanesPastTheEndOfASumAreUnlikely) {
  Axis k("k", 20), lane("lane");
  Func y("y");
  y() = sum(k, input("x", f32, {20})(k));
  Schedule schedule(y);
  schedule[y].split(k, k, lane, 8).rfactor(lane, "partial");
  const std::string statement = statement_of(lower(Graph(y), schedule));
  EXPECT_THAT(statement, HasSubstr("likely(e_x["));
  EXPECT_THAT(statement, Not(HasSubstr("likely(0.000000f)")));
}

// Halide makes two loops of one that ends earlier: of the innermost alone, for inside the last step
// of another it would leave all as it is. Those of one step are none, vectors and copies neither.
TEST(EmitNest, TheLastStepOfTheInnermostLoopIsUnlikely) {
  const Axis m("m", 67), n("n", 33), row("row"), lane("lane");
  const Tensor y = compute("y", {m, n}, input("x", f32, {67, 33})(m, n) * 2.0f);
  const auto text = [&](const std::function<void(StageSchedule&)>& direct) {
    Schedule schedule(y);
    schedule[y].split(m, m, row, 8, Tail::shift_inwards).split(n, n, lane, 8, Tail::shift_inwards);
    direct(schedule[y].vectorize(lane));
    return statement_of(lower(Graph(y), schedule));
  };
  const std::string of_rows = "likely_if_innermost(e_y.m*8)",
                    of_vectors = "likely_if_innermost(e_y.n*8)";
  const std::string nested = text([](StageSchedule&) {});
  EXPECT_THAT(nested, HasSubstr(of_vectors));
  EXPECT_THAT(nested, Not(HasSubstr(of_rows)));
  const std::string turned = text([&](StageSchedule& s) { s.reorder({lane, m, row, n}); });
  EXPECT_THAT(turned, Not(HasSubstr(of_vectors)));
  EXPECT_THAT(turned, HasSubstr(of_rows));
  const std::string copied = text([&](StageSchedule& s) { s.unroll(n).unroll(row); });
  EXPECT_THAT(copied, HasSubstr(of_rows));
  const Axis all("lane", 33);
  Schedule one_step(y);
  one_step[y].split(m, m, row, 8, Tail::shift_inwards).split(n, n, all, 33).vectorize(all);
  one_step[y].unroll(row);
  EXPECT_THAT(statement_of(lower(Graph(y), one_step)), HasSubstr(of_rows));
  const std::string none = text([&](StageSchedule& s) { s.unroll(m).unroll(n).unroll(row); });
  EXPECT_THAT(none, Not(HasSubstr("likely_if_innermost")));
}

// What is read of merged rows (merge_fused_axes of passes/lower) is one vector, from row to row.
TEST(EmitNest, AVectorThroughMergedRowsIsOne) {
  const Axis i("i", 8), j("j", 6), k("k", 9), rows("rows"), row("row"), flat("flat"), lane("lane");
  const Tensor m = compute("m", {i, j, k}, input("x", f32, {8, 6, 9})(i, j, k) * 2.0f);
  Schedule schedule(compute("y", {i, j, k}, m(i, j, k) + 1.0f));
  schedule["y"].fuse(i, j, rows).split(rows, rows, row, 12).fuse(row, k, flat);
  schedule["y"].split(flat, flat, lane, 8, Tail::shift_inwards).vectorize(lane);
  schedule[m].fuse(i, j, rows).compute_at("y", rows);
  const std::string text = statement_of(lower(schedule.graph(), schedule));
  const std::string from = text.substr(text.rfind("e_m[")), place = from.substr(0, from.find(']'));
  EXPECT_THAT(place, HasSubstr("likely_if_innermost(e_y.flat*8)"));
  EXPECT_THAT(place, Not(HasSubstr("/"))) << text;
}

// Of two windows in one loop each goes on where the other does: most steps are in the middle of
// both.
TEST(EmitNest, TheMiddleOfEachWindowIsLikely) {
  const Axis x("x", 8), y("y", 6), r("r", 8), c("c", 10), t("t");
  const Tensor image = input("image", f32, {8, 10});
  const Tensor a = compute("a", {r, c}, image(r, c) * 2.0f);
  const Tensor z = compute("z", {y, x}, a(y, x) + a(y + 2, x + 2));
  Schedule schedule(z);
  schedule[a].store_root().compute_at(z, x).fuse(r, c, t);
  EXPECT_THAT(statement_of(lower(Graph(z), schedule)),
              HasSubstr("for (e_a.t, 0, select(e_z.y > 0, likely(select(e_z.x > 0, likely(1), 3)), "
                        "select(e_z.x > 0, likely(3), 9)))"));
}

// A comparison with NaN is none that Halide may turn round.
TEST(EmitNest, WhatDataLeaveOutOfASumIsAsLikelyAsTheRest) {
  Axis k("k", 20);
  Tensor x = input("x", f32, {20});
  Func y("y");
  y() = sum(k, select(x(k) > 0.0f, x(k), 0.0f));
  const std::string statement = statement_of(lower(Graph(y), Schedule(y)));
  EXPECT_THAT(statement, HasSubstr("likely(e_x["));
  EXPECT_THAT(statement, HasSubstr("likely(0.000000f)"));
}

// --- What the check notices: a nest that is not the one that was emitted.

// With other nodes in the place of those that `find` knows; null: not of this one.
std::string difference_with(const LoopNest& nest, const std::function<NodePtr(const Node&)>& find) {
  const std::function<NodePtr(const NodePtr&)> replace = [&](const NodePtr& root) {
    const NodePtr node = change_children(root, replace);
    const NodePtr other = find(*node);
    return other ? other : node;
  };
  LoopNest changed = nest;
  changed.root = replace(nest.root);
  return check_emitted(changed, nest).difference;
}

LoopNest rows() { return linear_nest(Extent::size("B")); }

Change<Loop> at_loop(const std::string& stage, const std::string& axis,
                     const Change<Loop>& change) {
  return [=](Loop* loop) {
    if (loop->stage == stage && loop->axis == axis) change(loop);
  };
}

template <typename Kind>
Change<Kind> at(const std::string& stage, const Change<Kind>& change) {
  return [=](Kind* node) {
    if (node->stage == stage) change(node);
  };
}

Change<UopNode> at_uop(UopKind kind, const std::string& stage, const Change<UopNode>& change) {
  return [=](UopNode* node) {
    if (node->kind == kind && node->stage == stage) change(node);
  };
}

TEST(CheckEmitted, CountsAHandWrittenNest) {
  const EmittedCheck check = check_emitted(rows());
  EXPECT_EQ(check.difference, "");
  EXPECT_EQ(check.counts.loops, 8);
  EXPECT_EQ(check.counts.uops, 3);
  EXPECT_EQ(check.counts.allocs, 1);
  EXPECT_EQ(check.counts.unreached, 0);
  EXPECT_EQ(check.counts.dead, 0);
}

TEST(CheckEmitted, NoticesAnotherKind) {
  EXPECT_THAT(
      difference_after(rows(), at_loop("y", "mo", [](Loop* n) { n->kind = LoopKind::serial; })),
      HasSubstr("loop e_y.mo at depth 0: another kind of loop"));
}

TEST(CheckEmitted, NoticesAnotherOrder) {
  const LoopNest nest = rows();
  EXPECT_THAT(difference_after(nest, at_loop("y", "mi",
                                             [](Loop* mi) {
                                               Loop outer = *mi->body->as<Loop>();
                                               Loop inner = *mi;
                                               inner.body = outer.body;
                                               outer.body = make_node(inner);
                                               *mi = outer;
                                             })),
              HasSubstr("the nest has \"loop e_y.n at depth 2\", the statement \"loop e_y.mi"));
}

TEST(CheckEmitted, NoticesAnotherExtent) {
  EXPECT_THAT(
      difference_after(rows(), at_loop("y", "n", [](Loop* n) { n->extent = int_constant(7); })),
      HasSubstr("expected 7 steps, got 8"));
}

TEST(CheckEmitted, NoticesAnExtentOfAnotherSize) {
  EXPECT_THAT(difference_after(
                  rows(), at_loop("y", "mo", [](Loop* n) { n->extent = size_value("B") / 2; })),
              HasSubstr("loop e_y.mo at depth 0: expected 0 steps, got 1 at B = 1"));
}

TEST(CheckEmitted, NoticesAMissingAlloc) {
  EXPECT_THAT(difference_with(rows(),
                              [](const Node& n) {
                                const Alloc* alloc = n.as<Alloc>();
                                return alloc && alloc->stage == "mm" ? alloc->body : nullptr;
                              }),
              HasSubstr("the statement \"alloc e_mm at depth 1\""));
}

TEST(CheckEmitted, NoticesMoreElements) {
  EXPECT_THAT(
      difference_after(rows(), at<Alloc>("mm", [](Alloc* n) { n->extents[1] = int_constant(9); })),
      HasSubstr("alloc e_mm at depth 1: expected 18 elements, got 16"));
}

TEST(CheckEmitted, NoticesOtherMemory) {
  EXPECT_THAT(difference_after(rows(), at<Alloc>("mm", [](Alloc* n) { n->memory = Memory::heap; })),
              HasSubstr("other memory"));
}

TEST(CheckEmitted, NoticesAnotherLayout) {
  EXPECT_THAT(difference_after(rows(), at<Alloc>("mm",
                                                 [](Alloc* n) {
                                                   n->layout.order = {1, 0};
                                                 })),
              HasSubstr("expected a store at offset"));
}

TEST(CheckEmitted, NoticesStorageThatStartsElsewhere) {
  EXPECT_THAT(
      difference_after(rows(), at<Alloc>("mm", [](Alloc* n) { n->mins[1] = int_constant(-1); })),
      HasSubstr("mm"));
}

TEST(CheckEmitted, NoticesADroppedGuard) {
  EXPECT_THAT(
      difference_after(rows(), at_uop(UopKind::store, "y", [](UopNode* n) { n->guards.clear(); })),
      HasSubstr("the nest's guards hold, those of the store do not"));
}

TEST(CheckEmitted, NoticesAGuardTooMany) {
  EXPECT_THAT(difference_after(
                  rows(), at_uop(UopKind::execute, "mm",
                                 [](UopNode* n) { n->guards = guards_of({n->point[1] < 5}); })),
              HasSubstr("the nest's guards do not hold, those of the store hold"));
}

TEST(CheckEmitted, NoticesAnotherOffset) {
  EXPECT_THAT(difference_after(rows(), at_uop(UopKind::store, "y",
                                              [](UopNode* n) { n->point[1] = 7 - n->point[1]; })),
              HasSubstr("uop e_y at depth 4: expected a store at offset 7, got 0"));
}

TEST(CheckEmitted, NoticesAnotherRead) {
  const LoopNest nest = rows();
  LoopNest other = nest;
  for (Stage& stage : other.stages) {
    stage.body = transform(stage.body, [](const Expr& e) {
      if (e->op != ExprOp::read || e->name != "b") return Expr();
      return read_buffer("b", f32, {7 - e->args[0]});
    });
  }
  EXPECT_THAT(check_emitted(other, nest).difference,
              HasSubstr("a load from e_b at offset 0, which the nest does not read"));
}

TEST(CheckEmitted, NoticesAMissingRead) {
  const LoopNest nest = rows();
  LoopNest other = nest;
  other.stages.back().body = other.stages.back().body + read_buffer("w", f32, {0, 0});
  EXPECT_THAT(check_emitted(other, nest).difference,
              HasSubstr("expected a load from e_w at offset 0, got none"));
}

TEST(CheckEmitted, NoticesAMissingUop) {
  EXPECT_THAT(difference_with(rows(),
                              [](const Node& n) {
                                const Loop* loop = n.as<Loop>();
                                const bool mi = loop && loop->variable() == "y.mi";
                                return mi ? block_node({}) : nullptr;
                              }),
              HasSubstr("the nest has \"nothing\", the statement \"loop e_y.mi"));
}

TEST(CheckEmitted, NoticesAnUpdateThatIsNotAtomic) {
  EXPECT_THAT(difference_after<UopNode>(nest_of_case("atomic_sum_vectors"),
                                        [](UopNode* node) { node->atomic = false; }),
              HasSubstr("is atomic"));
}

TEST(CheckEmitted, NoticesAnotherCondition) {
  EXPECT_THAT(
      difference_after(
          nest_of_case("specializations_of_an_epilogue"),
          at<Branch>("y", [](Branch* n) { n->condition = n->condition || size_value("B") == 3; })),
      HasSubstr("for its condition"));
}

// y[i] = x[i] * 2 of 20, in vectors of as many lanes.
LoopNest masked_lanes(int64_t lanes) {
  const Axis i("i", 20);
  Func y("y");
  y(i) = input("x", f32, {20})(i) * 2.0f;
  Schedule s(y);
  s[y].vectorize(i, lanes, Tail::predicate);
  return lower(Graph(y), s);
}

TEST(CheckEmitted, FollowsTheLastLaneOfAnOddNumber) {
  for (int64_t lanes : {8, 9}) {
    const EmittedCheck check = check_emitted(masked_lanes(lanes));
    EXPECT_EQ(check.difference, "");
    EXPECT_EQ(check.counts.last_lanes, lanes % 2);
    EXPECT_EQ(check.counts.unreached, 0);
    EXPECT_EQ(check.counts.dead, 0);
  }
}

// Of a loop in parts, of which each is a vector of an odd number of lanes.
TEST(CheckEmitted, FollowsTheLastLaneOfEachPart) {
  LoopNest nest = masked_lanes(6);
  const std::function<NodePtr(const NodePtr&)> in_parts = [&](const NodePtr& node) -> NodePtr {
    const Loop* loop = node->as<Loop>();
    if (loop == nullptr || loop->kind != LoopKind::vectorized) {
      return change_children(node, in_parts);
    }
    Block parts;
    for (const int64_t first : {0, 3}) {
      Loop part = *loop;
      part.min = int_constant(first);
      part.extent = int_constant(3);
      parts.children.push_back(make_node(std::move(part)));
    }
    return make_node(std::move(parts));
  };
  nest.root = in_parts(nest.root);
  verify_nest(nest);
  const EmittedCheck check = check_emitted(nest);
  EXPECT_EQ(check.difference, "");
  EXPECT_EQ(check.counts.last_lanes, 2);
  EXPECT_EQ(check.counts.unreached, 0);
}

TEST(CheckEmitted, NoticesALastLaneThatIsMissing) {
  EXPECT_THAT(check_emitted(masked_lanes(9), masked_lanes(8)).difference,
              HasSubstr("the nest has \"uop e_y at depth 1\", the statement \"nothing\""));
}

// masked_loads_nest() that masks something else.
LoopNest masked(GuardMask mask) {
  LoopNest nest = masked_loads_nest();
  nest.root = edit<UopNode>(nest.root, [=](UopNode* uop) {
    for (Guard& guard : uop->guards) guard.mask = mask;
  });
  return nest;
}

TEST(CheckEmitted, MasksWhatTheNestMasks) {
  // Loads past the end are legal of some stages only: here they are clamped.
  LoopNest stores = masked(GuardMask::stores);
  stores.stages[0].body = read_buffer("x", f32, {min(axis_value("i"), 9)});
  EXPECT_EQ(check_emitted(stores).difference, "");
  for (GuardMask mask : {GuardMask::instance, GuardMask::loads_and_stores, GuardMask::loads}) {
    EXPECT_EQ(check_emitted(masked(mask)).difference, "");
  }
}

TEST(CheckEmitted, NoticesAStoreThatIsMaskedToo) {
  EXPECT_THAT(check_emitted(masked(GuardMask::loads), masked(GuardMask::instance)).difference,
              HasSubstr("the nest's guards hold, those of the store do not"));
}

TEST(CheckEmitted, NoticesLoadsThatAreNotMasked) {
  EXPECT_THAT(check_emitted(masked(GuardMask::instance), masked(GuardMask::stores)).difference,
              HasSubstr("the nest's guards of its loads do not hold, those of a load from e_x"));
}

TEST(CheckEmitted, NoticesLoadsThatAreMasked) {
  LoopNest stores = masked(GuardMask::stores);
  stores.stages[0].body = read_buffer("x", f32, {min(axis_value("i"), 9)});
  EXPECT_THAT(check_emitted(stores, masked(GuardMask::loads_and_stores)).difference,
              HasSubstr("the nest loads, and the statement does nothing"));
}

TEST(CheckEmitted, CountsWhatHasNoStatement) {
  EXPECT_EQ(check_emitted(copy_nest(Extent(0))).counts.empty_loops, 1);
}

// As a tree, what each of these functions has of the next would have no end.
TEST(EmitNest, NestedFunctionsInConditionalSumsAreAGraph) {
  const Axis i("i", Extent::size("W")), k("k", Extent::size("W"));
  const Tensor x = input("x", f32, {Extent::size("W")});
  Expr value = x(max(Expr(i) - k, 0));
  for (int times = 0; times < 8; ++times) value = exp(tanh(value));
  const Graph graph(compute("y", {i}, sum(k, select(Expr(i) - k >= 0, value, 0.0f))));
  EXPECT_NO_THROW(emit_nest(run_pipeline(graph, Target::parse("x86-64-v3")).nest,
                            /*has_fma=*/true, CompileOptions()));
}

}  // namespace
}  // namespace emulsion

// Loops become pieces, in each of which one branch of a select is taken: what that makes of nests,
// when nothing is to be told, and that every nest still means what its graph means.

#include "passes/nest/split_choices.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "passes/lower/make_nest.h"
#include "passes/nest/partition_loops.h"
#include "passes/nest/simplify_nest.h"
#include "passes/nest/verify_nest.h"
#include "passes/nest/verify_nest_loops.h"
#include "passes/nest/visit_nest.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

const Extent B = Extent::size("B");
const Axis i("i"), io("io"), ii("ii"), j("j"), jo("jo"), ji("ji");

std::string tree_of(const LoopNest& nest) {
  const std::string text = to_string(nest);
  return text.substr(text.find('\n') + 1);
}

LoopNest lowered(const Schedule& schedule) { return lower(schedule.graph(), schedule); }

Tensor from(const std::string& name, const Extent& extent) { return input(name, f32, {extent}); }

// y = a and b, one behind the other, over the axis i0, in vectors of four.
Schedule joined(const Extent& a, const Extent& b, Tail tail) {
  Schedule schedule(concat({from("a", a), from("b", b)}, 0, "y"));
  schedule["y"].split(Axis("i0"), io, ii, 4, tail);
  return schedule;
}

// Whether it is the same for every size.
void expect_values(const Schedule& schedule, const std::vector<std::string>& variables,
                   const std::vector<int64_t>& sizes = {0}) {
  const LoopNest nest = lowered(schedule);
  const LoopNest parts = partition_loops(nest, variables);
  EXPECT_NE(parts.root, nest.root) << to_string(nest);
  for (int64_t size : sizes) {
    SizeValues values;
    for (const std::string& name : nest.sizes) values[name] = size;
    EXPECT_TRUE(computes(parts, schedule.graph(), values)) << "at " << size;
  }
}

TEST(SplitChoices, WhatAPieceDoesNotReadIsNotPrefetched) {
  const Tensor a = from("a", 7);
  const Axis i0("i0");
  Schedule schedule(concat({a, from("b", 3)}, 0, "y"));
  schedule["y"].prefetch(a, i0, 2);
  const LoopNest nest = partition_loops(lowered(schedule), {"y.i0"});
  EXPECT_EQ(tree_of(nest), R"(for y.i0 in 7, prefetching a 2 ahead
  store y[i0] = a[i0]
for y.i0 in 7 .. +3
  store y[i0] = b[i0 - 7]
)");
  EXPECT_TRUE(computes(nest, schedule.graph()));
}

TEST(SplitChoices, NorIsItAtALoopAroundThePieces) {
  const Tensor a = from("a", 7), b = from("b", 3);
  const Axis row("row", 4), column("column", 6);
  const Tensor y = compute("y", {row, column}, select(column < 6, a(column), b(row / 2)));
  Schedule schedule(y);
  schedule["y"].prefetch(a, row, 1).prefetch(b, row, 2);
  const LoopNest nest = partition_loops(lowered(schedule), {"y.column"});
  EXPECT_EQ(tree_of(nest), R"(for y.row in 4, prefetching a 1 ahead
  for y.column in 6
    store y[row, column] = a[column]
)");
  EXPECT_TRUE(computes(nest, schedule.graph()));
}

TEST(SplitChoices, WhatIsJoinedIsCopiedPieceByPiece) {
  const LoopNest nest =
      partition_loops(lowered(Schedule(concat({from("a", 7), from("b", 3)}, 0, "y"))), {"y.i0"});
  EXPECT_EQ(tree_of(nest), R"(for y.i0 in 7
  store y[i0] = a[i0]
for y.i0 in 7 .. +3
  store y[i0] = b[i0 - 7]
)");
}

TEST(SplitChoices, OnlyTheStepAcrossABorderChooses) {
  const LoopNest nest = partition_loops(lowered(joined(10, 9, Tail::shift_inwards)), {"y.io"});
  EXPECT_EQ(tree_of(nest), R"(for y.io in 2
  for y.ii in 4
    store y[i0] = a[i0]  where i0 = y.io * 4 + y.ii
for y.io in 2 .. +1
  for y.ii in 4
    store y[i0] = select(i0 < 10, a[min(i0, 9)], b[max(i0 - 10, 0)])  where i0 = min(y.io * 4, 15) + y.ii
for y.io in 3 .. +1
  for y.ii in 4
    store y[i0] = b[i0 - 10]  where i0 = y.io * 4 + y.ii
for y.io in 4 .. +1
  for y.ii in 4
    store y[i0] = select(i0 < 10, a[min(i0, 9)], b[max(i0 - 10, 0)])  where i0 = min(y.io * 4, 15) + y.ii
)");
}

TEST(SplitChoices, NoBorderAtAStep) {
  const std::string text = tree_of(partition_loops(lowered(joined(8, 8, Tail::guard)), {"y.io"}));
  EXPECT_EQ(text.find("select"), std::string::npos) << text;
}

TEST(SplitChoices, OfManyEachIsAPiece) {
  std::vector<Tensor> parts;
  for (int p = 0; p < 50; ++p) parts.push_back(from("x" + std::to_string(p), p % 3 + 1));
  const Tensor y = concat(parts, 0, "y");
  const LoopNest nest = partition_loops(lowered(Schedule(y)), {"y.i0"});
  const Block* block = nest.root->as<Block>();
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(block->children.size(), 50U);
  EXPECT_EQ(tree_of(nest).find("select"), std::string::npos);
  EXPECT_EQ(tree_of(nest).find("min("), std::string::npos);
  expect_values(Schedule(y), {"y.i0"});
}

TEST(SplitChoices, ARunTimeBorder) {
  const Tensor y = concat({from("a", B), from("b", B), from("c", 2)}, 0, "y");
  const std::string text = tree_of(partition_loops(lowered(Schedule(y)), {"y.i0"}));
  EXPECT_EQ(text.find("select"), std::string::npos) << text;
  expect_values(Schedule(y), {"y.i0"}, {0, 1, 2, 5});
  for (Tail tail : {Tail::guard, Tail::predicate}) {
    expect_values(joined(B, B + 3, tail), {"y.io"}, {0, 1, 2, 3, 4, 5, 9, 16});
    expect_values(joined(5, B, tail), {"y.io"}, {0, 1, 2, 3, 4, 5, 9, 16});
  }
}

// y = x with a border of `size`, in vectors of four.
Schedule bordered(int64_t size, Tail tail) {
  Schedule schedule(pad(from("x", B), {size}, {size}, 0, "y"));
  schedule["y"].split(Axis("i0"), io, ii, 4, tail);
  return schedule;
}

// As the passes do it: the loops are simplified afterwards.
LoopNest parts_of(const Schedule& schedule, const std::string& variable) {
  return simplify_nest(partition_loops(make_nest(schedule.graph(), schedule), {variable}));
}

void expect_sizes(const LoopNest& parts, const Schedule& schedule) {
  for (const int64_t size : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17}) {
    EXPECT_TRUE(computes(parts, schedule.graph(), {{"B", size}})) << "at " << size;
  }
}

// At the end of a row the border begins in one step, and may have another to itself.
TEST(SplitChoices, TwoStepsAtMostAreOnePiece) {
  const std::string text = tree_of(parts_of(bordered(3, Tail::guard), "y.io"));
  EXPECT_EQ(text, R"(for y.io in 1
  for y.ii in 4
    store y[i0] = select(i0 >= 3 && i0 < B + 3, x[max(min(i0 - 3, B - 1), 0)], 0f)  where i0 = y.io * 4 + y.ii  if i0 < B + 6
for y.io in 1 .. +max((B + 3) / 4 - 1, 0)
  for y.ii in 4
    store y[i0] = x[i0 - 3]  where i0 = y.io * 4 + y.ii
for y.io in max((B + 3) / 4, 1) .. +min((B + 1) / 4 - (B + 3) / 4 + 2, (B + 1) / 4 + 1)
  for y.ii in 4
    store y[i0] = select(i0 < B + 3, x[max(min(i0 - 3, B - 1), 0)], 0f)  where i0 = y.io * 4 + y.ii  if i0 < B + 6
)");
  for (const Tail tail : {Tail::guard, Tail::predicate}) {
    for (int64_t size = 1; size <= 5; ++size) {
      const Schedule schedule = bordered(size, tail);
      expect_sizes(parts_of(schedule, "y.io"), schedule);
    }
  }
}

// Of several such pieces in a row two at a time: what a step does not choose is looked at too.
TEST(SplitChoices, OnlyTwoAreOnePiece) {
  Schedule schedule(concat({from("a", B), from("b", 1), from("c", 1), from("d", 1)}, 0, "y"));
  schedule["y"].split(Axis("i0"), io, ii, 4, Tail::guard);
  const LoopNest nest = parts_of(schedule, "y.io");
  EXPECT_EQ(nest.root->as<Block>()->children.size(), 4U) << to_string(nest);
  expect_sizes(nest, schedule);
}

// Pieces of a known number of steps stay apart, and so do those that may be long.
TEST(SplitChoices, OtherPiecesStayApart) {
  const std::string known =
      tree_of(parts_of(Schedule(pad(from("x", B), {1}, {1}, 0, "y")), "y.i0"));
  EXPECT_EQ(known.find("select"), std::string::npos) << known;
  const std::string longer = tree_of(parts_of(bordered(9, Tail::guard), "y.io"));
  EXPECT_NE(longer.find("= 0f  where i0 = y.io * 4 + y.ii  if i0 < B + 18"), std::string::npos)
      << longer;
}

TEST(SplitChoices, BordersThatCannotBeOrdered) {
  const Tensor y = pad(from("x", B), {3}, {2}, 1, "y");
  expect_values(Schedule(y), {"y.i0"}, {0, 1, 2, 3, 9});
  const Axis k("i", B), five("i", 5);
  expect_values(
      Schedule(compute("y", {k}, select(k < 7, select(k >= 3, from("x", B)(k), 2.0F), 1.0F))),
      {"y.i"}, {0, 1, 3, 4, 7, 8, 11});
}

TEST(SplitChoices, ConditionsOfSeveralComparisons) {
  const Axis k("i", 20);
  const Tensor x = from("x", 20);
  const auto text_of = [&](const Expr& condition) {
    const Schedule schedule(compute("y", {k}, select(condition, x(k), x(19 - k))));
    expect_values(schedule, {"y.i"});
    return tree_of(partition_loops(lowered(schedule), {"y.i"}));
  };
  for (const Expr& condition : {k >= 3 && k<11, k<3 || k> 10, !(k <= 4), 2 * k + 1> 8 && k > 1}) {
    EXPECT_EQ(text_of(condition).find("select"), std::string::npos) << text_of(condition);
  }
}

TEST(SplitChoices, BothAxesOfAFrame) {
  const Tensor y = pad(input("x", f32, {B, 9}), {2, 3}, {1, 2}, 0, "y");
  Schedule schedule(y);
  schedule["y"].tile(Axis("i0"), Axis("i1"), io, jo, ii, ji, 4, 4).parallel(io);
  expect_values(schedule, {"y.io", "y.jo"}, {0, 1, 2, 5, 6, 13});
  expect_values(Schedule(y), {"y.i0", "y.i1"}, {0, 1, 2, 5, 13});
}

// The edges of j hold the same node: it chooses at i = 12 - j, at other steps in each of them.
TEST(SplitChoices, NotWhatTurnsElsewhereAtAnotherPlaceOfTheNode) {
  const Axis a("i", 16), b("j", 8);
  const Tensor x = input("x", f32, {16, 8});
  const Expr value = x(a, max(Expr(b) - 1, 0)) + x(a, min(Expr(b) + 1, 7));
  const Schedule schedule(compute("y", {a, b}, select(a + b < 12, value, 1.0F)));
  const LoopNest edges = partition_loops(lowered(schedule), {"y.j"});
  const LoopNest parts = partition_loops(edges, {"y.i"});
  EXPECT_TRUE(computes(parts, schedule.graph())) << tree_of(parts);
}

TEST(SplitChoices, WhatIsSummedUp) {
  const Axis o("i", 10), k("k", 3);
  const Tensor x = from("x", 10);
  const Expr at = o + k - 1;
  const Expr value = select(at >= 0 && at < 10, x(max(min(at, 9), 0)), 0.0F);
  const Schedule schedule(compute("y", {o}, sum(k, value)));
  const std::string text = tree_of(partition_loops(lowered(schedule), {"y.i"}));
  EXPECT_NE(text.find("y[i] += x[i + k - 1]"), std::string::npos) << text;
  expect_values(schedule, {"y.i"});
}

// A tail keeps what the condition compares inside the row, that may be empty: at its last step
// alone.
TEST(SplitChoices, WhatATailKeepsInside) {
  const Axis o("i", B), k("k", 3);
  const Expr end = extent_value(B), at = o + k - 1;
  const Expr value = select(at >= 0 && at < end, from("x", B)(clamp(at, 0, end - 1)), 0.0F);
  const Tensor y = compute("y", {o}, sum(k, value));
  for (const Tail tail : {Tail::predicate, Tail::guard}) {
    Schedule schedule(y);
    schedule["y"].cache_write("acc").split(Axis("i"), io, ii, 4, tail).vectorize(ii);
    schedule["acc"].compute_at("y", io).reorder({Axis("i"), k}).vectorize(Axis("i"));
    const LoopNest parts = parts_of(schedule, "y.io");
    const std::string text = tree_of(parts);
    EXPECT_EQ(parts.root->as<Block>()->children.size(), 3U) << text;
    EXPECT_NE(text.find("acc[i] += x[i + k - 1]"), std::string::npos) << text;
    expect_sizes(parts, schedule);
  }
}

void expect_unsplit(const Schedule& schedule, const std::string& variable) {
  const LoopNest nest = lowered(schedule);
  EXPECT_EQ(partition_loops(nest, {variable}).root, nest.root) << tree_of(nest);
}

// x of the row around, and a border that is kept: == and != with the ends of an axis are orders.
TEST(SplitChoices, WhatIsEqualToAnEnd) {
  for (const Extent& extent : {Extent(10), B}) {
    const Axis k("i", extent);
    const Tensor x = from("x", extent);
    const Expr n = extent_value(extent);
    for (const Expr& value : {Expr(x(select(k == 0, n - 1, k - 1))),
                              select(k != 0 && k != n - 1, x(k - 1) + x(k + 1), x(k))}) {
      Schedule schedule(compute("y", {k}, value));
      const LoopNest parts = parts_of(schedule, "y.i");
      const std::string text = tree_of(parts);
      EXPECT_EQ(text.find("select("), std::string::npos) << text;
      EXPECT_NE(text.find("x[i - 1]"), std::string::npos) << text;
      expect_sizes(parts, schedule);
    }
  }
}

TEST(SplitChoices, NotWhatDataDecide) {
  const Axis k("i", 10);
  const Tensor x = from("x", 10), z = input("z", i32, {10});
  expect_unsplit(Schedule(compute("y", {k}, select(x(k) > 0.0F, x(k), 1.0F))), "y.i");
  expect_unsplit(Schedule(compute("y", {k}, select(z(k) > k, x(k), 1.0F))), "y.i");
  expect_unsplit(Schedule(compute("y", {k}, select(k >= 3 && x(k) > 0.0F, x(k), 1.0F))), "y.i");
}

TEST(SplitChoices, NotWhatAnotherLoopDecides) {
  const Axis a("i", 10), b("j", 10);
  const Tensor x = input("x", f32, {10, 10});
  expect_unsplit(Schedule(compute("y", {a, b}, select(a < 5, x(a, b), 1.0F))), "y.j");
}

TEST(SplitChoices, NotWhatIsNotOneComparisonOfAnIndex) {
  const Axis k("i", 10);
  const Tensor x = from("x", 10);
  expect_unsplit(Schedule(compute("y", {k}, select(k % 2 < 1, x(k), 1.0F))), "y.i");
  expect_unsplit(Schedule(compute("y", {k}, select(k == 4, x(k), 1.0F))), "y.i");
  // A diagonal changes at every row.
  const Axis b("j", 10);
  expect_unsplit(Schedule(compute("y", {k, b}, select(k * k < 50, 2.0F, 1.0F))), "y.i");
}

// --- what the verifier says of a branch that is not taken --------------------------------------

TEST(SplitChoices, TheWrongBranchIsRefused) {
  const LoopNest nest =
      partition_loops(lowered(Schedule(concat({from("a", 7), from("b", 3)}, 0, "y"))), {"y.i0"});
  EXPECT_NO_THROW(verify_nest(nest));
  LoopNest wrong = nest;
  Block block = *nest.root->as<Block>();
  for (NodePtr& part : block.children) {
    part = edit<Loop>(part, [](Loop* loop) {
      // One step too far, or one too early.
      loop->min = equal(loop->min, int_constant(0)) ? loop->min : int_constant(8);
      loop->extent = equal(loop->min, int_constant(0)) ? int_constant(8) : int_constant(2);
    });
  }
  wrong.root = make_node(std::move(block));
  EXPECT_INTERNAL_ERROR(verify_nest_loops(wrong), "a uOp of y evaluates a[i0], its stage select(");
}

TEST(SplitChoices, AnotherConditionIsRefused) {
  const Axis k("i", 10);
  const Tensor x = from("x", 10);
  LoopNest nest = lowered(Schedule(compute("y", {k}, select(k < 5, x(k), 1.0F))));
  const auto with = [&](const Expr& condition) {
    const Expr& body = nest.stages[0].body;
    LoopNest other = nest;
    other.root = edit<UopNode>(nest.root, [&](UopNode* uop) {
      uop->body = select(condition, body->args[1], body->args[2]);
    });
    return other;
  };
  EXPECT_NO_THROW(verify_nest(with(axis_value("i") <= 4)));
  EXPECT_INTERNAL_ERROR(verify_nest_loops(with(axis_value("i") >= 5)), "a uOp of y evaluates");
}

}  // namespace
}  // namespace emulsion

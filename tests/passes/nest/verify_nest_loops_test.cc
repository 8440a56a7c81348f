// A nest that is wrong by one step, one guard or one index is refused.

#include "passes/nest/verify_nest_loops.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "passes/nest/partition_loops.h"
#include "passes/nest/verify_nest.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

const Extent B = Extent::size("B");

// y[i] = x[i - 1] clamped, in tiles of 4: an edge, an interior and an edge.
LoopNest three_parts(const Extent& extent) {
  const Axis i("i", extent), io("io"), ii("ii");
  Tensor x = input("x", f32, {extent});
  Schedule schedule(compute("y", {i}, x(max(Expr(i) - 1, 0))));
  schedule["y"].split(i, io, ii, 4);
  return partition_loops(lower(schedule.graph(), schedule), {"y.io"});
}

// A sum over k in tiles of 4: the update's outer loop in two parts.
LoopNest sum_in_parts() {
  const Axis k("k", 10), ko("ko"), ki("ki");
  Schedule schedule(compute("y", {}, sum(k, input("x", f32, {10})(k))));
  schedule["y"].split(k, ko, ki, 4);
  return partition_loops(lower(schedule.graph(), schedule), {"y.ko"});
}

LoopNest linear_in_parts() { return partition_loops(linear_nest(B), {"y.mo"}); }

// The nest with the children of the first block that holds parts of `axis` changed.
LoopNest changed(LoopNest nest, const std::function<void(std::vector<NodePtr>*)>& change) {
  bool done = false;
  nest.root = edit<Block>(nest.root, [&](Block* block) {
    for (size_t i = 0; !done && i < block->children.size(); ++i) {
      if (parts_from(*block, i) == 1) continue;
      done = true;
      change(&block->children);
    }
  });
  EXPECT_TRUE(done);
  return nest;
}

NodePtr with_steps(const NodePtr& node, Expr min, Expr extent) {
  Loop loop = *node->as<Loop>();
  loop.min = std::move(min);
  loop.extent = std::move(extent);
  return make_node(std::move(loop));
}

NodePtr longer(const NodePtr& node, int64_t by) {
  const Loop& loop = *node->as<Loop>();
  return with_steps(node, loop.min, loop.extent + int_constant(by));
}

NodePtr later(const NodePtr& node, int64_t by) {
  const Loop& loop = *node->as<Loop>();
  return with_steps(node, loop.min + int_constant(by), loop.extent);
}

TEST(VerifyNestLoops, AcceptsParts) {
  EXPECT_NO_THROW(verify_nest(three_parts(18)));
  EXPECT_NO_THROW(verify_nest(three_parts(B)));
  EXPECT_NO_THROW(verify_nest(sum_in_parts()));
  EXPECT_NO_THROW(verify_nest(linear_in_parts()));
}

TEST(VerifyNestLoops, RefusesAGap) {
  for (const Extent& extent : {Extent(18), B}) {
    EXPECT_INTERNAL_ERROR(
        verify_nest_loops(
            changed(three_parts(extent), [](auto* parts) { (*parts)[1] = later((*parts)[1], 1); })),
        "loop y.io: step 1 is left out");
  }
}

TEST(VerifyNestLoops, RefusesAnOverlap) {
  EXPECT_INTERNAL_ERROR(
      verify_nest_loops(
          changed(three_parts(18), [](auto* parts) { (*parts)[0] = longer((*parts)[0], 1); })),
      "loop y.io: step 1 is taken twice");
}

TEST(VerifyNestLoops, RefusesAnInteriorThatIsOneStepTooLong) {
  const auto too_long = [](const Extent& extent) {
    return changed(three_parts(extent), [](auto* parts) { (*parts)[1] = longer((*parts)[1], 1); });
  };
  EXPECT_INTERNAL_ERROR(verify_nest_loops(too_long(18)), "loop y.io: step 4 is taken twice");
  EXPECT_INTERNAL_ERROR(verify_nest_loops(too_long(B)), "loop y.io: step 0 is left out, at B = 0");
}

TEST(VerifyNestLoops, RefusesAnInteriorThatTakesAStepOfTheEdge) {
  // Each step is taken once, but the last one is not guarded.
  EXPECT_INTERNAL_ERROR(verify_nest_loops(changed(three_parts(18),
                                                  [](auto* parts) {
                                                    (*parts)[1] = longer((*parts)[1], 1);
                                                    (*parts)[2] = longer(later((*parts)[2], 1), -1);
                                                  })),
                        "the guards of y do not leave it out");
}

TEST(VerifyNestLoops, RefusesAnInteriorThatTakesAStepOfTheFirstEdge) {
  // There the index without its clamp is another.
  EXPECT_INTERNAL_ERROR(verify_nest_loops(changed(three_parts(18),
                                                  [](auto* parts) {
                                                    (*parts)[0] = longer((*parts)[0], -1);
                                                    (*parts)[1] = longer(later((*parts)[1], -1), 1);
                                                  })),
                        "a uOp of y reads at i - 1 = -1, its stage at max(i - 1, 0) = 0");
}

TEST(VerifyNestLoops, RefusesAMissingEdge) {
  for (size_t edge : {0, 2}) {
    const LoopNest nest = changed(three_parts(18), [&](auto* parts) {
      parts->erase(parts->begin() + static_cast<std::ptrdiff_t>(edge));
    });
    EXPECT_INTERNAL_ERROR(verify_nest_loops(nest), edge == 0 ? "step 0 is left out" : "expected 5");
  }
}

TEST(VerifyNestLoops, RefusesStepsPastTheEnd) {
  EXPECT_INTERNAL_ERROR(
      verify_nest_loops(
          changed(three_parts(18), [](auto* parts) { (*parts)[2] = longer((*parts)[2], 1); })),
      "loop y.io: 6 steps, expected 5");
}

TEST(VerifyNestLoops, RefusesAnotherOrderOfAnAccumulation) {
  EXPECT_INTERNAL_ERROR(
      verify_nest_loops(changed(sum_in_parts(),
                                [](auto* children) { std::swap((*children)[1], (*children)[2]); })),
      "loop y.ko: step 0 is left out");
}

TEST(VerifyNestLoops, RefusesAPartBeforeTheStartValue) {
  EXPECT_INTERNAL_ERROR(
      verify_nest(changed(sum_in_parts(),
                          [](auto* children) { std::swap((*children)[0], (*children)[1]); })),
      "the update of y before its start value");
}

TEST(VerifyNestLoops, RefusesPartsThatAreApart) {
  // The start value again between them: what the first part added is lost.
  EXPECT_INTERNAL_ERROR(
      verify_nest(changed(
          sum_in_parts(),
          [](auto* children) { children->insert(children->begin() + 2, children->front()); })),
      "a second init uOp of y");
}

TEST(VerifyNestLoops, RefusesAPartWithoutTheProductThatItReads) {
  const LoopNest nest = changed(linear_in_parts(), [](auto* parts) {
    (*parts)[1] = edit<Block>((*parts)[1], [](Block* block) {
      block->children.erase(block->children.begin() + 1);  // the update of mm
    });
  });
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "y reads mm before its update");
}

TEST(VerifyNestLoops, RefusesPartsThatDoNotComputeTheSameStages) {
  const Axis i("i", 10), j("j", 3), io("io"), ii("ii");
  Tensor y = compute("y", {i}, input("x", f32, {10})(i));
  Tensor z = compute("z", {j}, input("v", f32, {3})(j));
  Schedule schedule(Graph({y, z}));
  schedule[y].split(i, io, ii, 4);
  const LoopNest parts = partition_loops(lower(schedule.graph(), schedule), {"y.io"});
  EXPECT_NO_THROW(verify_nest(parts));
  const LoopNest nest = changed(parts, [](auto* children) {
    ASSERT_EQ(children->size(), 3U);
    Loop edge = *(*children)[1]->template as<Loop>();
    edge.body = make_node(Block{{edge.body, (*children)[2]}});
    *children = {(*children)[0], make_node(std::move(edge))};
  });
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "loop y.io whose parts do not compute the same stages");
}

TEST(VerifyNestLoops, RefusesALoopThatIsTooShort) {
  LoopNest nest = copy_nest(B);
  nest.root =
      edit<Loop>(nest.root, [](Loop* loop) { loop->extent = loop->extent - int_constant(1); });
  EXPECT_INTERNAL_ERROR(verify_nest_loops(nest), "loop y.i: 0 steps, expected 1, at B = 1");
}

TEST(VerifyNestLoops, RefusesAnInnerLoopThatIsNotTheFactor) {
  LoopNest nest = linear_nest();
  nest.root = edit<Loop>(nest.root, [](Loop* loop) {
    if (loop->axis == "mi") loop->extent = int_constant(3);
  });
  EXPECT_INTERNAL_ERROR(verify_nest_loops(nest), "loop y.mi: 3 steps, expected 2");
}

TEST(VerifyNestLoops, RefusesAGuardThatLeavesOutTooMuch) {
  LoopNest nest = linear_nest();
  nest.root = edit<UopNode>(nest.root, [](UopNode* uop) {
    for (Guard& guard : uop->guards) guard.condition = guard.condition->args[0] < int_constant(4);
  });
  EXPECT_INTERNAL_ERROR(verify_nest_loops(nest), "the guards of y leave it out");
}

TEST(VerifyNestLoops, RefusesAMaskOfAnotherSide) {
  // Of a step past the end, the stores alone are left out, or all of it.
  const Axis i("i", 10), io("io"), ii("ii");
  const auto masked = [&](Tail tail, GuardMask mask) {
    Schedule schedule(compute("y", {i}, input("x", f32, {10})(i) * 2.0f));
    schedule["y"].split(i, io, ii, 4, tail).vectorize(ii);
    LoopNest nest = lower(schedule.graph(), schedule);
    nest.root = edit<UopNode>(nest.root, [&](UopNode* uop) {
      for (Guard& guard : uop->guards) guard.mask = mask;
    });
    return nest;
  };
  EXPECT_NO_THROW(verify_nest_loops(masked(Tail::predicate, GuardMask::instance)));
  EXPECT_NO_THROW(verify_nest_loops(masked(Tail::predicate_stores, GuardMask::stores)));
  EXPECT_INTERNAL_ERROR(verify_nest_loops(masked(Tail::predicate_stores, GuardMask::instance)),
                        "the guards of y leave it out");
  EXPECT_INTERNAL_ERROR(verify_nest_loops(masked(Tail::predicate, GuardMask::stores)),
                        "the guards of y do not leave it out");
  EXPECT_INTERNAL_ERROR(verify_nest_loops(masked(Tail::predicate, GuardMask::loads)),
                        "the guards of y do not leave it out");
}

// The nest with another index for axis `d` of the uOps of one stage and part.
LoopNest with_index(LoopNest nest, const std::string& stage, Part part, size_t d,
                    const Expr& index) {
  nest.root = edit<UopNode>(nest.root, [&](UopNode* uop) {
    if (uop->stage == stage && uop->part == part) uop->point[d] = index;
  });
  return nest;
}

TEST(VerifyNestLoops, RefusesAnElementThatIsComputedAgainAndAgain) {
  // Inside the output, and what is read is inside the input: but elements 1 to 7 are missing.
  const LoopNest nest = with_index(copy_nest(8), "y", Part::pure, 0, int_constant(0));
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "i of y is 0, its loops make it 7, at y.i = 7");
}

TEST(VerifyNestLoops, RefusesAnotherOrderOfElements) {
  const LoopNest nest =
      with_index(copy_nest(B), "y", Part::pure, 0, size_value("B") - 1 - v("y", "i"));
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "i of y is 2, its loops make it 0, at B = 3");
}

TEST(VerifyNestLoops, RefusesAnotherOrderOfASum) {
  const LoopNest nest = with_index(linear_nest(), "mm", Part::update, 2, 2 - v("mm", "k"));
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "k of mm is 2, its loops make it 0");
}

TEST(VerifyNestLoops, RefusesAPointOfAnotherSplit) {
  const LoopNest nest =
      with_index(linear_nest(), "y", Part::pure, 0, v("y", "mo") + v("y", "mi") * 3);
  EXPECT_INTERNAL_ERROR(verify_nest_loops(nest),
                        "m of y is 2, its loops make it 4, at y.mi = 0, y.mo = 2");
}

TEST(VerifyNestLoops, RefusesAPointThatDoesNotStartWithItsRegion) {
  const LoopNest nest = with_index(linear_nest(), "mm", Part::init, 0, v("mm", "m"));
  EXPECT_INTERNAL_ERROR(verify_nest_loops(nest), "m of mm is 0, its loops make it 4");
}

TEST(VerifyNestLoops, RefusesABodyThatIsNotThatOfTheStage) {
  LoopNest nest = copy_nest(8);
  const Expr x = read_buffer("x", DType::f32, {axis_value("i")});
  const auto with_body = [&](const Expr& body) {
    LoopNest other = nest;
    other.root = edit<UopNode>(nest.root, [&](UopNode* uop) { uop->body = body; });
    return other;
  };
  EXPECT_NO_THROW(verify_nest(with_body(x)));
  EXPECT_NO_THROW(verify_nest(with_body(read_buffer("x", DType::f32, {min(axis_value("i"), 7)}))));
  EXPECT_INTERNAL_ERROR(verify_nest_loops(with_body(x + 1.0f)), "a uOp of y evaluates");
  EXPECT_INTERNAL_ERROR(
      verify_nest_loops(with_body(read_buffer("x", DType::f32, {min(axis_value("i"), 6)}))),
      "a uOp of y reads at min(i, 6) = 6, its stage at i = 7");
}

TEST(VerifyNestLoops, RefusesAStartValueWithABody) {
  LoopNest nest = reduction_nest(Combiner::sum, 4);
  nest.root = edit<UopNode>(nest.root, [&](UopNode* uop) {
    if (uop->part == Part::init) uop->body = nest.stages[0].body;
  });
  EXPECT_INTERNAL_ERROR(verify_nest_loops(nest), "a uOp of y evaluates");
}

// p[i] = 2 x[i] in tiles of 4 of y = p + 1, partitioned: in the last one p ends where its domain
// does. `steps`: that many in that edge.
LoopNest ends_early(const Expr& steps) {
  const Axis i("i", B), io("io"), ii("ii");
  Tensor p = compute("p", {i}, input("x", f32, {B})(i) * 2.0f);
  Schedule schedule(compute("y", {i}, p(i) + 1.0f));
  schedule["y"].split(i, io, ii, 4);
  schedule["p"].compute_at("y", io);
  LoopNest nest = partition_loops(lower(schedule.graph(), schedule), {"y.io"});
  int edited = 0;
  nest.root = edit<Loop>(nest.root, [&](Loop* loop) {
    if (loop->stage != "p" || loop->extent->op == ExprOp::constant) return;
    ++edited;
    loop->extent = steps;
  });
  EXPECT_EQ(edited, 1);
  return nest;
}

TEST(VerifyNestLoops, AcceptsALoopThatEndsWithItsDomain) {
  EXPECT_NO_THROW(verify_nest(ends_early(size_value("B") % 4)));
  EXPECT_NO_THROW(verify_nest(ends_early(int_constant(4))));  // or goes on, as its region does
}

TEST(VerifyNestLoops, RefusesALoopThatEndsBeforeItsDomain) {
  EXPECT_INTERNAL_ERROR(verify_nest_loops(ends_early(size_value("B") % 4 - 1)),
                        "loop p.i: 0 steps, expected 4, at B = 1");
  EXPECT_INTERNAL_ERROR(verify_nest_loops(ends_early(int_constant(2))),
                        "loop p.i: 2 steps, expected 4, at B = 1");
}

// The same of what is stored whole: p is an output too, of sums s of the rows of q.
LoopNest kept_ends_early(const Expr& steps) {
  const Axis i("i", B), j("j", 3), k("k", 3), io("io"), ii("ii");
  const Tensor q = compute("q", {i, j}, input("x", f32, {B, 3})(i, j) * 2.0f);
  const Tensor s = compute("s", {i}, sum(k, q(i, k)));
  const Tensor p = compute("p", {i}, s(i) + 1.0f);
  Schedule schedule(Graph({compute("y", {i}, p(i) * 3.0f), p}));
  schedule["y"].split(i, io, ii, 4, Tail::guard);
  schedule["p"].compute_at("y", io);
  schedule["s"].compute_at("p", i);
  schedule["q"].compute_at("y", io);
  LoopNest nest = partition_loops(lower(schedule.graph(), schedule), {"y.io"});
  int edited = 0;
  nest.root = edit<Loop>(nest.root, [&](Loop* loop) {
    if (loop->stage != "p" || loop->extent->op == ExprOp::constant) return;
    ++edited;
    loop->extent = steps;
  });
  EXPECT_EQ(edited, 1) << to_string(nest);
  return nest;
}

TEST(VerifyNestLoops, AcceptsALoopOfWhatIsKeptThatEndsWithItsDomain) {
  EXPECT_NO_THROW(verify_nest(kept_ends_early(size_value("B") % 4)));
}

TEST(VerifyNestLoops, RefusesALoopOfWhatIsKeptThatEndsBeforeItsDomain) {
  EXPECT_INTERNAL_ERROR(verify_nest_loops(kept_ends_early(size_value("B") % 4 - 1)),
                        "loop p.i: 0 steps, expected 4, at B = 1");
  EXPECT_INTERNAL_ERROR(verify_nest_loops(kept_ends_early(int_constant(2))),
                        "loop p.i: 2 steps, expected 4, at B = 1");
}

// p in one vector for each tile of eight, of which the last part of the loop over tiles takes four.
LoopNest in_vectors(int64_t lanes) {
  const Axis i("i", B), io("io"), ii("ii"), lane("lane");
  Tensor p = compute("p", {i}, input("x", f32, {B})(i) * 2.0f);
  Schedule schedule(compute("y", {i}, p(i) + 1.0f));
  schedule["y"].split(i, io, ii, 8, Tail::predicate).split(ii, ii, lane, 4).vectorize(lane);
  schedule["p"].compute_at("y", io).vectorize(i);
  LoopNest nest = partition_loops(lower(schedule.graph(), schedule), {"y.io"});
  int edited = 0;
  nest.root = edit<Loop>(nest.root, [&](Loop* loop) {
    if (loop->stage != "p" || !equal(loop->extent, int_constant(4))) return;
    ++edited;
    loop->extent = int_constant(lanes);
  });
  EXPECT_EQ(edited, 1);
  return nest;
}

TEST(VerifyNestLoops, AcceptsAVectorThatGoesBeyondItsDomain) {
  for (int64_t lanes : {4, 5, 8}) EXPECT_NO_THROW(verify_nest(in_vectors(lanes)));
}

TEST(VerifyNestLoops, RefusesAVectorThatEndsBeforeItsDomainOrBehindItsRegion) {
  EXPECT_INTERNAL_ERROR(verify_nest_loops(in_vectors(2)), "loop p.i: 2 steps, expected 8");
  EXPECT_INTERNAL_ERROR(verify_nest_loops(in_vectors(9)), "loop p.i: 9 steps, expected 8");
}

TEST(VerifyNestLoops, RefusesAnOutputThatEndsEarly) {
  LoopNest nest = linear_nest(B);
  nest.root = edit<Loop>(nest.root, [](Loop* loop) {
    if (loop->stage == "y" && loop->axis == "n") loop->extent = loop->extent - int_constant(1);
  });
  EXPECT_INTERNAL_ERROR(verify_nest_loops(nest), "steps, expected");
}

// A loop that takes its steps one at a time in those of another one takes all of them.
TEST(VerifyNestLoops, AJoinedLoopTakesAllItsSteps) {
  const Axis i("i", 9);
  const Tensor x = input("x", f32, {9});
  const Tensor a = compute("a", {i}, x(i) * 2.0f), y = compute("y", {i}, a(i) + 1.0f);
  Schedule schedule(y);
  schedule[y].compute_with(a, i);
  LoopNest nest = lower(schedule.graph(), schedule);
  EXPECT_NO_THROW(verify_nest_loops(nest));
  nest.root = edit<Alloc>(nest.root, [](Alloc* alloc) { alloc->extents[0] = int_constant(10); });
  EXPECT_TRUE(throws_with<InternalError>([&] { verify_nest_loops(nest); },
                                         "loop a.i of 10 steps takes those of y.i, 9"));
}

// Rows of 2 * B elements in pieces of B, in tiles of 4.
LoopNest in_pieces() {
  const Axis i("i", 2 * B), io("io"), ii("ii");
  const Tensor x = input("x", f32, {2 * B});
  Schedule schedule(
      compute("y", {i}, select(i < size_value("B"), x(i), x(2 * size_value("B") - 1 - i))));
  schedule["y"].cut(i, B).split(i, io, ii, 4);
  return lower(schedule.graph(), schedule);
}

NodePtr with_piece(const NodePtr& node, const Extent& min, const Extent& extent) {
  Loop loop = *node->as<Loop>();
  loop.pieces = {{"i", min, extent}};
  return make_node(std::move(loop));
}

TEST(VerifyNestLoops, AcceptsPieces) { EXPECT_NO_THROW(verify_nest(in_pieces())); }

TEST(VerifyNestLoops, RefusesAMissingPiece) {
  const LoopNest nest =
      changed(in_pieces(), [](std::vector<NodePtr>* pieces) { pieces->pop_back(); });
  EXPECT_INTERNAL_ERROR(verify_nest_loops(nest),
                        "loop y.io in 1 pieces, expected the 2 of its axes");
}

TEST(VerifyNestLoops, RefusesPiecesInAnotherOrder) {
  const LoopNest nest = changed(in_pieces(), [](std::vector<NodePtr>* pieces) {
    std::swap(pieces->front(), pieces->back());
  });
  EXPECT_INTERNAL_ERROR(verify_nest_loops(nest), "in 2 pieces, expected the 2 of its axes");
}

TEST(VerifyNestLoops, RefusesAPieceOfAnotherLength) {
  const LoopNest nest = changed(in_pieces(), [](std::vector<NodePtr>* pieces) {
    pieces->front() = with_piece(pieces->front(), 0, B - 1);
  });
  EXPECT_INTERNAL_ERROR(verify_nest_loops(nest), "in 2 pieces, expected the 2 of its axes");
}

TEST(VerifyNestLoops, RefusesAPieceWhoseLoopIsTooLong) {
  const LoopNest nest = changed(in_pieces(), [](std::vector<NodePtr>* pieces) {
    pieces->front() = longer(pieces->front(), 1);
  });
  EXPECT_INTERNAL_ERROR(verify_nest_loops(nest), "loop y.io: ");
}

TEST(VerifyNestLoops, RefusesThePointsOfAnotherPiece) {
  const LoopNest nest = changed(in_pieces(), [](std::vector<NodePtr>* pieces) {
    pieces->back() = with_piece(pieces->front(), B, B);
  });
  EXPECT_INTERNAL_ERROR(verify_nest_loops(nest), "its loops make it");
}

TEST(VerifyNestLoops, RefusesTheChoiceOfAnotherPiece) {
  LoopNest nest = in_pieces();
  nest.root =
      edit<UopNode>(nest.root, [&](UopNode* uop) { uop->body = nest.stage("y").body->args[1]; });
  EXPECT_INTERNAL_ERROR(verify_nest_loops(nest), "a uOp of y reads at i = ");
}

TEST(VerifyNestLoops, RefusesLoopsWithoutPieces) {
  LoopNest nest = in_pieces();
  nest.root = edit<Loop>(nest.root, [](Loop* loop) { loop->pieces.clear(); });
  EXPECT_INTERNAL_ERROR(verify_nest_loops(nest),
                        "loop y.io in 1 pieces, expected the 2 of its axes");
}

TEST(VerifyNestLoops, RefusesACutBeyondTheEnd) {
  LoopNest nest = in_pieces();
  nest.stages[0].cuts[0].at = 3 * B;
  nest.root = edit<Loop>(nest.root, [](Loop* loop) {
    if (loop->pieces.empty()) return;
    const bool is_first = loop->pieces[0].min == Extent(0);
    loop->pieces[0] = {"i", is_first ? Extent(0) : 3 * B, is_first ? 3 * B : Extent(0) - B};
  });
  EXPECT_INTERNAL_ERROR(verify_nest_loops(nest), "y.i is cut beyond its ends");
}

}  // namespace
}  // namespace emulsion

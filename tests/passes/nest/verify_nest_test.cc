#include "passes/nest/verify_nest.h"

#include <gtest/gtest.h>

#include "tests/passes/expect_error.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

const Extent B = Extent::size("B");

// linear_nest() with every uOp of one kind, stage and part changed.
LoopNest changed(UopKind kind, const std::string& stage, Part part,
                 const std::function<void(UopNode*)>& change) {
  LoopNest nest = linear_nest();
  nest.root = edit<UopNode>(nest.root, [&](UopNode* uop) {
    if (uop->kind == kind && uop->stage == stage && uop->part == part) change(uop);
  });
  return nest;
}

LoopNest changed_loop(const std::string& stage, const std::string& axis,
                      const std::function<void(Loop*)>& change) {
  LoopNest nest = linear_nest();
  nest.root = edit<Loop>(nest.root, [&](Loop* loop) {
    if (loop->stage == stage && loop->axis == axis) change(loop);
  });
  return nest;
}

LoopNest changed_alloc(const std::function<void(Alloc*)>& change) {
  LoopNest nest = linear_nest();
  nest.root = edit<Alloc>(nest.root, change);
  return nest;
}

// The parts of linear_nest() inside its alloc, to be put together in another way.
std::vector<NodePtr> parts_of(const LoopNest& nest) {
  return child_of(child_of(nest.root))->as<Block>()->children;
}

NodePtr around(const NodePtr& outer, const NodePtr& inside) {
  return change_children(outer, [&](const NodePtr&) { return inside; });
}

TEST(VerifyNest, AcceptsAFusedNest) { EXPECT_NO_THROW(verify_nest(linear_nest())); }

TEST(VerifyNest, AcceptsRunTimeSizes) { EXPECT_NO_THROW(verify_nest(linear_nest(B))); }

TEST(VerifyNest, AcceptsPacks) { EXPECT_NO_THROW(verify_nest(packed_nest())); }

TEST(VerifyNest, AcceptsEmptyAndSingleExtents) {
  EXPECT_NO_THROW(verify_nest(linear_nest(1)));
  EXPECT_NO_THROW(verify_nest(copy_nest(0)));
}

TEST(VerifyNest, AcceptsAReductionIntoTheOutput) {
  EXPECT_NO_THROW(verify_nest(reduction_nest(Combiner::sum, 4)));
}

TEST(VerifyNest, AcceptsALoadIntoStorage) {
  LoopNest nest = copy_nest(4);
  nest.buffers.push_back({"z", DType::f32, BufferRole::internal, {4}, nullptr});
  Stage staged = nest.stages[0];
  staged.name = "z";
  nest.stages[0].body = read_buffer("z", DType::f32, {axis_value("i")});
  nest.stages.insert(nest.stages.begin(), staged);
  NodePtr load =
      loop_node("z", "i", int_constant(4), uop_node(UopKind::load, "z", Part::pure, {v("z", "i")}));
  nest.root = alloc_node("z", {int_constant(0)}, {int_constant(4)}, block_node({load, nest.root}));
  EXPECT_NO_THROW(verify_nest(nest));
}

TEST(VerifyNest, AcceptsALoopNameThatIsUsedAgain) {
  LoopNest nest = copy_nest(12);
  nest.stages[0].transforms = {{LoopTransform::Kind::split, "i", "io", "i", 6, Tail::guard},
                               {LoopTransform::Kind::split, "i", "i", "iv", 2, Tail::guard}};
  NodePtr store = uop_node(UopKind::store, "y", Part::pure,
                           {v("y", "io") * 6 + v("y", "i") * 2 + v("y", "iv")});
  NodePtr inner = loop_node("y", "iv", int_constant(2), store, LoopKind::vectorized);
  nest.root = loop_node("y", "io", int_constant(2), loop_node("y", "i", int_constant(3), inner));
  EXPECT_NO_THROW(verify_nest(nest));
}

// --- The shape of the tree

TEST(VerifyNest, RefusesNoRoot) {
  LoopNest nest = linear_nest();
  nest.root = nullptr;
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "no root");
}

TEST(VerifyNest, RefusesANullChild) {
  LoopNest nest = linear_nest();
  nest.root = block_node({nest.root, nullptr});
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "a child that is null");
}

TEST(VerifyNest, RefusesALoopWithoutABody) {
  EXPECT_INTERNAL_ERROR(
      verify_nest(changed_loop("y", "n", [](Loop* loop) { loop->body = nullptr; })),
      "a child that is null");
}

TEST(VerifyNest, RefusesAnUnknownStage) {
  EXPECT_INTERNAL_ERROR(verify_nest(changed_loop("y", "n", [](Loop* loop) { loop->stage = "q"; })),
                        "no stage q");
}

// --- Loops

TEST(VerifyNest, RefusesALoopThatIsNoLeafOfTheTransforms) {
  EXPECT_INTERNAL_ERROR(verify_nest(changed_loop("y", "mi", [](Loop* loop) { loop->axis = "m"; })),
                        "loop y.m is not a loop of y (pure): mi, mo, n");
}

TEST(VerifyNest, RefusesAReductionLoopInTheStartValue) {
  LoopNest nest = linear_nest();
  std::vector<NodePtr> parts = parts_of(nest);
  parts[0] = loop_node("mm", "k", int_constant(3), parts[0], LoopKind::serial, Part::init);
  nest.root = around(nest.root, around(child_of(nest.root), block_node(parts)));
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "loop mm.k is not a loop of mm (init)");
}

TEST(VerifyNest, RefusesALoopInsideItself) {
  EXPECT_INTERNAL_ERROR(
      verify_nest(changed_loop("y", "mi", [](Loop* loop) { loop->body = make_node(Loop(*loop)); })),
      "loop y.mi inside itself");
}

TEST(VerifyNest, RefusesAMissingLoop) {
  LoopNest nest = linear_nest();
  std::vector<NodePtr> parts = parts_of(nest);
  parts[2] = child_of(parts[2]);  // without y.mi
  nest.root = around(nest.root, around(child_of(nest.root), block_node(parts)));
  nest.root = edit<UopNode>(nest.root, [](UopNode* node) {
    if (node->kind == UopKind::store) node->point[0] = v("y", "mo") * 2, node->guards.clear();
  });
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "the pure part of y outside its loop mi");
}

TEST(VerifyNest, RefusesAnEnclosingLoopNoUopOfItsStage) {
  LoopNest nest = linear_nest();
  nest.root = block_node({loop_node("y", "mi", int_constant(2), block_node({})), nest.root});
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "loop y.mi with no pure uOp of y");
}

TEST(VerifyNest, RefusesAnExtentThatDependsOnALoop) {
  EXPECT_INTERNAL_ERROR(
      verify_nest(changed_loop("y", "mi", [](Loop* loop) { loop->extent = v("y", "mo") + 1; })),
      "the extent of loop y.mi depends on the loop variable y.mo");
}

TEST(VerifyNest, RefusesAnExtentWithAnUnknownSize) {
  EXPECT_INTERNAL_ERROR(
      verify_nest(changed_loop("y", "mo", [](Loop* loop) { loop->extent = size_value("Q"); })),
      "the extent of loop y.mo uses the unknown size Q");
}

TEST(VerifyNest, RefusesAnExtentThatIsNoInteger) {
  EXPECT_INTERNAL_ERROR(
      verify_nest(changed_loop("y", "mo", [](Loop* loop) { loop->extent = Expr(); })),
      "the extent of loop y.mo is no integer");
}

TEST(VerifyNest, RefusesAVectorizedLoopWithoutAConstantExtent) {
  LoopNest nest = linear_nest(B);
  nest.root = edit<Loop>(nest.root, [](Loop* node) {
    if (node->axis == "mo") {
      node->kind = LoopKind::vectorized;
    }
  });
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "vectorized loop y.mo without a constant extent");
}

TEST(VerifyNest, RefusesAnUnrolledLoopWithoutAConstantExtent) {
  LoopNest nest = linear_nest(B);
  nest.root = edit<Loop>(nest.root, [](Loop* node) {
    if (node->axis == "mo") node->kind = LoopKind::unrolled;
  });
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "unrolled loop y.mo without a constant extent");
}

TEST(VerifyNest, RefusesAVectorizedLoopInsideAnother) {
  EXPECT_INTERNAL_ERROR(
      verify_nest(changed_loop("y", "mi", [](Loop* loop) { loop->kind = LoopKind::vectorized; })),
      "vectorized loop y.n inside the vectorized loop y.mi");
}

TEST(VerifyNest, RefusesAParallelLoopInsideAVectorizedOne) {
  LoopNest nest = linear_nest();
  nest.root = edit<Loop>(nest.root, [](Loop* node) {
    if (node->stage != "y") return;
    if (node->axis == "mi") node->kind = LoopKind::vectorized;
    if (node->axis == "n") node->kind = LoopKind::parallel;
  });
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "parallel loop y.n inside the vectorized loop y.mi");
}

TEST(VerifyNest, RefusesAParallelReduction) {
  EXPECT_INTERNAL_ERROR(
      verify_nest(changed_loop("mm", "k", [](Loop* loop) { loop->kind = LoopKind::parallel; })),
      "parallel loop mm.k over a reduction axis, and the update is not atomic");
}

TEST(VerifyNest, AcceptsAParallelReductionThatIsAtomic) {
  LoopNest nest = reduction_nest(Combiner::sum, 8, i32);
  nest.root =
      edit<UopNode>(nest.root, [](UopNode* node) { node->atomic = node->part == Part::update; });
  nest.root = edit<Loop>(nest.root, [](Loop* node) { node->kind = LoopKind::parallel; });
  EXPECT_NO_THROW(verify_nest(nest));
}

// y[i] = x[i] and z[i] = x[i] in one loop, y.i with z.i.
LoopNest shared_nest() {
  LoopNest nest = copy_nest(4);
  Buffer z_buffer = nest.buffer("y");
  Stage z = nest.stage("y");
  z_buffer.name = z.name = "z";
  nest.buffers.push_back(z_buffer);
  nest.stages.push_back(z);
  NodePtr y_uop = uop_node(UopKind::store, "y", Part::pure, {v("y", "i")});
  NodePtr z_uop = uop_node(UopKind::store, "z", Part::pure, {v("y", "i")});
  nest.root = edit<Loop>(loop_node("y", "i", int_constant(4), block_node({y_uop, z_uop})),
                         [](Loop* node) { node->shared = {"z"}; });
  return nest;
}

TEST(VerifyNest, AcceptsSharedLoops) { EXPECT_NO_THROW(verify_nest(shared_nest())); }

TEST(VerifyNest, RefusesSharedLoopsThatAreNone) {
  auto sharing = [](const std::vector<std::string>& shared, LoopKind kind) {
    LoopNest nest = shared_nest();
    nest.root = edit<Loop>(nest.root, [&](Loop* node) {
      node->shared = shared;
      node->kind = kind;
    });
    return nest;
  };
  EXPECT_INTERNAL_ERROR(verify_nest(sharing({}, LoopKind::serial)), "outside its loop i");
  EXPECT_INTERNAL_ERROR(verify_nest(sharing({"y", "z"}, LoopKind::serial)), "no loop to share");
  EXPECT_INTERNAL_ERROR(verify_nest(sharing({"z"}, LoopKind::vectorized)), "nor parallel");
}

// linear_nest with a prefetch at every loop `axis` of `stage`.
LoopNest prefetching(const std::string& stage, const std::string& axis, const Prefetch& prefetch) {
  return changed_loop(stage, axis, [&](Loop* loop) { loop->prefetches = {prefetch}; });
}

TEST(VerifyNest, AcceptsAPrefetch) {
  EXPECT_NO_THROW(verify_nest(prefetching("mm", "k", {"x", 2})));
}

TEST(VerifyNest, RefusesPrefetchesThatMeanNothing) {
  EXPECT_INTERNAL_ERROR(verify_nest(prefetching("mm", "k", {"b", 1})),
                        "which nothing inside reads");
  EXPECT_INTERNAL_ERROR(verify_nest(prefetching("mm", "k", {"x", 0})),
                        "a prefetch at mm.k, 0 ahead");
  EXPECT_INTERNAL_ERROR(verify_nest(prefetching("mm", "m", {"x", 1})),
                        "no loop that reads in turn");
}

TEST(VerifyNest, RefusesAnAtomicStartValue) {
  LoopNest nest = reduction_nest(Combiner::sum, 8, i32);
  nest.root =
      edit<UopNode>(nest.root, [](UopNode* node) { node->atomic = node->part == Part::init; });
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "that is no update");
}

TEST(VerifyNest, RefusesAnInnerLoopThatIsNotTheFactor) {
  EXPECT_INTERNAL_ERROR(
      verify_nest(changed_loop("y", "mi", [](Loop* loop) { loop->extent = int_constant(3); })),
      "y reads mm[2, 0], outside what is stored");
}

TEST(VerifyNest, RefusesAPartThatTheStageHasNot) {
  EXPECT_INTERNAL_ERROR(
      verify_nest(changed_loop("y", "mi", [](Loop* loop) { loop->part = Part::update; })),
      "loop of y with part update, the stage is no reduction");
}

TEST(VerifyNest, RefusesAMinThatIsNotAnInteger) {
  EXPECT_INTERNAL_ERROR(
      verify_nest(changed_loop("y", "mo", [](Loop* loop) { loop->min = Expr(); })),
      "the min of loop y.mo is no integer");
}

TEST(VerifyNest, RefusesALoopThatStartsBeyondItsStorage) {
  EXPECT_INTERNAL_ERROR(
      verify_nest(changed_loop("mm", "m", [](Loop* loop) { loop->min = int_constant(1); })),
      "mm writes mm[2, 0], outside what is stored");
}

// --- Allocs

TEST(VerifyNest, RefusesAnAllocOfAnOutput) {
  LoopNest nest = copy_nest(4);
  nest.root = alloc_node("y", {int_constant(0)}, {int_constant(4)}, nest.root);
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "alloc of y, which is not internal");
}

TEST(VerifyNest, RefusesASecondAlloc) {
  LoopNest nest = linear_nest();
  nest.root = alloc_node("mm", {int_constant(0), int_constant(0)},
                         {int_constant(6), int_constant(8)}, nest.root);
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "a second alloc of mm");
}

TEST(VerifyNest, RefusesAnAllocOfAnotherRank) {
  EXPECT_INTERNAL_ERROR(verify_nest(changed_alloc([](Alloc* alloc) { alloc->mins.pop_back(); })),
                        "alloc of mm with 1 mins and 2 extents for 2 axes");
}

TEST(VerifyNest, RefusesAutomaticMemory) {
  EXPECT_INTERNAL_ERROR(
      verify_nest(changed_alloc([](Alloc* alloc) { alloc->memory = Memory::automatic; })),
      "alloc of mm in automatic memory");
}

TEST(VerifyNest, RefusesAMinThatIsNotInScope) {
  EXPECT_INTERNAL_ERROR(
      verify_nest(changed_alloc([](Alloc* alloc) { alloc->mins[0] = v("y", "mi"); })),
      "a min of alloc mm uses y.mi, which is not in scope");
}

TEST(VerifyNest, RefusesAnAllocExtentThatDependsOnALoop) {
  EXPECT_INTERNAL_ERROR(
      verify_nest(changed_alloc([](Alloc* alloc) { alloc->extents[0] = v("y", "mo") + 2; })),
      "an extent of alloc mm depends on the loop variable y.mo");
}

TEST(VerifyNest, RefusesTheStackWithoutConstantExtents) {
  LoopNest nest = linear_nest(B);
  nest.root = edit<Alloc>(nest.root, [](Alloc* node) { node->extents[0] = size_value("B") + 1; });
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "alloc of mm in stack without constant extents");
}

// --- uOps

TEST(VerifyNest, RefusesAStoreIntoStorage) {
  EXPECT_INTERNAL_ERROR(verify_nest(changed(UopKind::execute, "mm", Part::init,
                                            [](UopNode* uop) { uop->kind = UopKind::store; })),
                        "no legal form: store of mm (init) into internal mm");
}

TEST(VerifyNest, RefusesAnExecuteOfAPureOutput) {
  EXPECT_INTERNAL_ERROR(verify_nest(changed(UopKind::store, "y", Part::pure,
                                            [](UopNode* uop) { uop->kind = UopKind::execute; })),
                        "no legal form: execute of y (pure) into output y");
}

TEST(VerifyNest, RefusesALoadIntoAnOutput) {
  LoopNest nest = copy_nest(4);
  nest.root = edit<UopNode>(nest.root, [](UopNode* node) {
    if (node->kind == UopKind::store) node->kind = UopKind::load;
  });
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "no legal form: load of y (pure) into output y");
}

TEST(VerifyNest, RefusesALoadThatComputes) {
  LoopNest nest = linear_nest();
  Stage copy = nest.stages[1];
  copy.name = "z";
  copy.transforms.clear();
  copy.body = read_buffer("mm", DType::f32, {axis_value("m"), axis_value("n")}) * 2.0f;
  nest.stages.insert(nest.stages.begin() + 1, copy);
  nest.buffers.push_back({"z", DType::f32, BufferRole::internal, {5, 8}, nullptr});
  NodePtr load =
      loop_node("z", "m", int_constant(5),
                loop_node("z", "n", int_constant(8),
                          uop_node(UopKind::load, "z", Part::pure, {v("z", "m"), v("z", "n")})));
  nest.root = alloc_node("z", {int_constant(0), int_constant(0)},
                         {int_constant(5), int_constant(8)}, block_node({load, nest.root}));
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "load of z computes: mm[m, n] * 2f");
}

TEST(VerifyNest, RefusesAPointOfAnotherRank) {
  EXPECT_INTERNAL_ERROR(verify_nest(changed(UopKind::execute, "mm", Part::update,
                                            [](UopNode* uop) { uop->point.pop_back(); })),
                        "execute of mm (update) at a point of 2, expected 3");
}

TEST(VerifyNest, RefusesAPointThatIsNotInScope) {
  EXPECT_INTERNAL_ERROR(verify_nest(changed(UopKind::execute, "mm", Part::init,
                                            [](UopNode* uop) { uop->point[0] = v("mm", "k"); })),
                        "the point of mm uses mm.k, which is not in scope");
}

TEST(VerifyNest, RefusesAPointThatIsNoInteger) {
  EXPECT_INTERNAL_ERROR(verify_nest(changed(UopKind::execute, "mm", Part::init,
                                            [](UopNode* uop) { uop->point[0] = Expr(1.0f); })),
                        "the point of mm is no integer");
}

TEST(VerifyNest, RefusesAPointThatReads) {
  EXPECT_INTERNAL_ERROR(
      verify_nest(changed(UopKind::store, "y", Part::pure,
                          [](UopNode* uop) { uop->point[0] = read_buffer("b", DType::i32, {}); })),
      "the point of y reads b");
}

TEST(VerifyNest, RefusesAGuardThatIsNoCondition) {
  EXPECT_INTERNAL_ERROR(
      verify_nest(changed(UopKind::store, "y", Part::pure,
                          [](UopNode* uop) { uop->guards = guards_of({v("y", "mo")}); })),
      "a guard of y that is no condition");
}

TEST(VerifyNest, RefusesAGuardThatIsNotInScope) {
  EXPECT_INTERNAL_ERROR(
      verify_nest(changed(UopKind::store, "y", Part::pure,
                          [](UopNode* uop) { uop->guards = guards_of({v("mm", "m") < 5}); })),
      "a guard of y uses mm.m, which is not in scope");
}

TEST(VerifyNest, RefusesAMissingUop) {
  LoopNest nest = linear_nest();
  nest.root = block_node({});
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "stage mm has no init uOp");
}

TEST(VerifyNest, RefusesASecondUop) {
  LoopNest nest = copy_nest(4);
  nest.root = block_node({nest.root, nest.root});
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "loop y.i: step 0 is taken twice");
}

TEST(VerifyNest, RefusesAnUpdateBeforeItsStartValue) {
  LoopNest nest = reduction_nest(Combiner::sum, 4);
  nest.root = block_node({child_of(nest.root, 1), child_of(nest.root, 0)});
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "the update of y before its start value");
}

TEST(VerifyNest, RefusesAReaderBeforeWhatItReads) {
  LoopNest nest = linear_nest();
  std::vector<NodePtr> parts = parts_of(nest);
  std::swap(parts[1], parts[2]);
  nest.root = around(nest.root, around(child_of(nest.root), block_node(parts)));
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "y reads mm before its update");
}

TEST(VerifyNest, RefusesStorageThatIsNotLive) {
  LoopNest nest = linear_nest();
  std::vector<NodePtr> parts = parts_of(nest);
  NodePtr alloc = around(child_of(nest.root), block_node({parts[0], parts[1]}));
  nest.root = around(nest.root, block_node({alloc, parts[2]}));
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "y uses mm outside its alloc");
}

TEST(VerifyNest, RefusesAStageWithoutStorage) {
  LoopNest nest = linear_nest();
  nest.root = around(nest.root, block_node(parts_of(nest)));
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "mm uses mm outside its alloc");
}

TEST(VerifyNest, RefusesABrokenPack) {
  LoopNest nest = packed_nest();
  LoopNest pack = *nest.packs[0].nest;
  pack.root = nullptr;
  nest.packs[0].nest = std::make_shared<const LoopNest>(pack);
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "nest w_packed: no root");
}

}  // namespace
}  // namespace emulsion

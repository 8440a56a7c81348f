// Nests that nothing can be made of, each broken in one way: what a backend does not look for.

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "passes/nest/verify_nest.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

TEST(VerifyNestRefusals, RefusesNoTree) {
  LoopNest nest = copy_nest(4);
  nest.root = nullptr;
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "no root");
}

TEST(VerifyNestRefusals, RefusesAStageThatNothingComputes) {
  LoopNest nest = copy_nest(4);
  nest.buffers.push_back({"lost", DType::f32, BufferRole::internal, {4}, nullptr});
  nest.stages.push_back(nest.stages.front());
  nest.stages.back().name = "lost";
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "stage lost has no pure uOp");
}

TEST(VerifyNestRefusals, RefusesAReductionWithoutAnUpdate) {
  LoopNest nest = reduction_nest(Combiner::sum, 4);
  nest.root = nest.root->as<Block>()->children[0];
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "stage y has no update uOp");
}

TEST(VerifyNestRefusals, RefusesAReductionThatIsComputedAsAValue) {
  LoopNest nest = copy_nest(4);
  nest.stages.front().combiner = Combiner::sum;
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "loop of y with part pure, the stage is a reduction");
}

TEST(VerifyNestRefusals, RefusesAnAllocThatIsTooSmall) {
  LoopNest nest = linear_nest();
  nest.root = edit<Alloc>(nest.root, [](Alloc* alloc) { alloc->extents[1] = int_constant(7); });
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "mm writes mm[0, 7], outside what is stored");
}

TEST(VerifyNestRefusals, RefusesAMaskOfOneSideOfAReduction) {
  for (GuardMask mask : {GuardMask::loads, GuardMask::stores}) {
    LoopNest nest = linear_nest();
    nest.root = edit<UopNode>(nest.root, [&](UopNode* uop) {
      if (uop->part == Part::update) uop->guards = {{v("mm", "m") < 2, mask}};
    });
    EXPECT_INTERNAL_ERROR(verify_nest(nest), "a mask of one side of the update of mm");
  }
}

TEST(VerifyNestRefusals, RefusesMaskedLoadsIntoStorageThatIsKept) {
  LoopNest nest = masked_loads_nest();
  nest.root = edit<Alloc>(nest.root, [](Alloc* alloc) {
    alloc->body =
        make_node(WindowNode{"a", {int_constant(0)}, {int_constant(10)}, {}, alloc->body});
  });
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "a mask of the loads of a, whose storage is kept");
}

TEST(VerifyNestRefusals, RefusesAStageThatIsComputedTwice) {
  LoopNest nest = copy_nest(4);
  nest.root = block_node({nest.root, nest.root});
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "loop y.i: step 0 is taken twice");
}

TEST(VerifyNestRefusals, RefusesAUopOfAnUnknownStage) {
  LoopNest nest = copy_nest(4);
  const NodePtr other = uop_node(UopKind::store, "q", Part::pure, {int_constant(0)});
  nest.root = block_node({nest.root, other});
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "no stage q");
}

TEST(VerifyNestRefusals, RefusesARegionThatIsReadBeforeItIsWritten) {
  // y reads row 1 of a tile of which only row 0 is.
  LoopNest nest = linear_nest();
  nest.root = edit<Loop>(nest.root, [](Loop* loop) {
    if (loop->stage == "mm" && loop->axis == "m") loop->extent = int_constant(1);
  });
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "y reads mm[1, 7], of which no start value is written");
}

TEST(VerifyNestRefusals, RefusesAnUpdatesLoopAroundAStartValue) {
  LoopNest nest = linear_nest();
  nest.root = edit<Loop>(nest.root, [](Loop* loop) {
    if (loop->stage == "mm" && loop->axis == "m") loop->part = Part::update;
  });
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "the init part of mm inside its update loop m");
}

TEST(VerifyNestRefusals, RefusesAPrefetchOfWhatIsStoredInside) {
  LoopNest nest = linear_nest();
  nest.root = edit<Loop>(nest.root, [](Loop* loop) {
    if (loop->axis != "mo") return;
    loop->kind = LoopKind::serial;
    loop->prefetches = {{"mm", 1}};
  });
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "a prefetch at y.mo of mm, which is stored inside");
}

TEST(VerifyNestRefusals, RefusesAPrefetchOfAConstant) {
  LoopNest nest = copy_nest(4);
  std::swap(nest.buffers[0], nest.buffers[1]);
  nest.buffers[1].role = BufferRole::constant;
  nest.buffers[1].data = std::make_shared<const std::vector<uint8_t>>(16);
  EXPECT_NO_THROW(verify_nest(nest));
  nest.root = edit<Loop>(nest.root, [](Loop* loop) { loop->prefetches = {{"x", 1}}; });
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "a prefetch at y.i of the constant x");
}

TEST(VerifyNestRefusals, RefusesAnAllocExtentThatIsNoInteger) {
  LoopNest nest = linear_nest();
  nest.root = edit<Alloc>(nest.root, [](Alloc* alloc) { alloc->extents[0] = Expr(2.0f); });
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "an extent of alloc mm is no integer");
}

NodePtr hoisted(std::vector<Expr> extents, NodePtr body) {
  HoistedAlloc alloc;
  alloc.stage = "mm";
  alloc.memory = Memory::stack;
  alloc.extents = std::move(extents);
  alloc.body = std::move(body);
  return make_node(std::move(alloc));
}

const std::vector<Expr> kTile = {int_constant(2), int_constant(8)};

TEST(VerifyNestRefusals, RefusesAHoistedAllocOfAnotherRank) {
  LoopNest nest = linear_nest();
  nest.root = hoisted({int_constant(2)}, nest.root);
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "hoisted alloc of mm with 1 extents for 2 axes");
}

TEST(VerifyNestRefusals, RefusesAHoistedAllocInsideItsAlloc) {
  LoopNest nest = linear_nest();
  nest.root =
      edit<Alloc>(nest.root, [](Alloc* alloc) { alloc->body = hoisted(kTile, alloc->body); });
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "a hoisted alloc of mm that is not around its alloc");
}

TEST(VerifyNestRefusals, RefusesAHoistedAllocWithoutAnAlloc) {
  LoopNest nest = linear_nest();
  nest.root = block_node({hoisted(kTile, block_node({})), nest.root});
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "a hoisted alloc of mm without an alloc");
}

}  // namespace
}  // namespace emulsion

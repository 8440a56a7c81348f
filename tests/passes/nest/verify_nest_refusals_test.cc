// Nests that nothing can be made of, each broken in one way: what a backend does not look for.

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace emulsion

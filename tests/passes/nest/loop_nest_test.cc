#include "passes/nest/loop_nest.h"

#include <gtest/gtest.h>

#include "dsl/error.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

const Extent B = Extent::size("B");

Stage stage_with(std::vector<Axis> axes, std::vector<LoopTransform> transforms) {
  Stage stage;
  stage.name = "y";
  stage.dtype = DType::f32;
  stage.axes = std::move(axes);
  stage.transforms = std::move(transforms);
  return stage;
}

LoopTransform split(const std::string& axis, const std::string& outer, const std::string& inner,
                    int64_t factor) {
  return {LoopTransform::Kind::split, axis, outer, inner, factor, Tail::guard};
}

LoopTransform fuse(const std::string& outer, const std::string& inner, const std::string& fused) {
  return {LoopTransform::Kind::fuse, fused, outer, inner, 0, Tail::guard};
}

std::string extent_of(const Stage& stage, const std::string& axis) {
  std::vector<Expr> region;
  for (const Axis& a : stage.axes) region.push_back(extent_value(a.extent()));
  return to_string(loop_extents(stage, region).at(axis));
}

TEST(LoopNestLookup, AnAxisThatOneCaseSplitsIsTransformed) {
  LoopNest nest = copy_nest(4);
  const Loop& loop = *nest.root->as<Loop>();
  EXPECT_EQ(untransformed_axis(nest, loop), std::optional<size_t>(0));
  nest.stages[0].specializations.push_back({size_value("B") == 4, {split("i", "io", "i", 2)}});
  EXPECT_EQ(untransformed_axis(nest, loop), std::nullopt);
}

TEST(LoopNestLookup, AStageShiftsInwardsWhereOneCaseDoes) {
  Stage stage = stage_with({Axis("m", B)}, {split("m", "mo", "mi", 4)});
  stage.specializations.push_back({size_value("B") >= 4, stage.transforms});
  EXPECT_FALSE(shifts_inwards(stage));
  stage.specializations[0].transforms[0].tail = Tail::shift_inwards;
  EXPECT_TRUE(shifts_inwards(stage));
}

TEST(StorageLayout, AnEmptyAxisLeavesNeighboursApart) {
  EXPECT_EQ(StorageLayout().strides({3, 0, 5}), (std::vector<int64_t>{5, 5, 1}));
}

TEST(LoopNestLookup, FindsStagesAndBuffersByName) {
  LoopNest nest = linear_nest();
  EXPECT_EQ(nest.stage("mm").reduction_axes.size(), 1u);
  EXPECT_EQ(nest.buffer("mm").role, BufferRole::internal);
}

TEST(LoopNestLookup, RefusesAnUnknownStage) {
  EXPECT_INTERNAL_ERROR(linear_nest().stage("zz"), "nest y has no stage zz");
}

TEST(LoopNestLookup, RefusesAnUnknownBuffer) {
  EXPECT_INTERNAL_ERROR(linear_nest().buffer("zz"), "nest y has no buffer zz");
}

TEST(LoopNestLookup, ArgumentsAreInputsWeightsAndOutputsInOrder) {
  LoopNest nest = linear_nest();
  std::vector<std::string> names;
  for (const Buffer* argument : nest.arguments()) names.push_back(argument->name);
  EXPECT_EQ(names, (std::vector<std::string>{"x", "w", "b", "y"}));
}

TEST(LoopNestLookup, LoopVariablesNameTheirStage) { EXPECT_EQ(loop_variable("y", "mo"), "y.mo"); }

TEST(LoopExtents, OfASplitThatDivides) {
  Stage stage = stage_with({Axis("m", 128)}, {split("m", "mo", "mi", 16)});
  EXPECT_EQ(extent_of(stage, "mo"), "8");
  EXPECT_EQ(extent_of(stage, "mi"), "16");
}

TEST(LoopExtents, OfASplitWithATail) {
  Stage stage = stage_with({Axis("m", 128)}, {split("m", "mo", "mi", 6)});
  EXPECT_EQ(extent_of(stage, "mo"), "22");
}

TEST(LoopExtents, OfASplitRunTimeSize) {
  Stage stage = stage_with({Axis("m", B)}, {split("m", "mo", "mi", 6)});
  Expr tiles = loop_extents(stage, {extent_value(B)}).at("mo");
  for (int64_t size : {0, 1, 5, 6, 7, 12, 13}) {
    EXPECT_EQ(evaluate_index(tiles, {{"B", size}}), (size + 5) / 6) << size;
  }
}

TEST(LoopExtents, OfAMultipleOfARunTimeSizeIsExact) {
  Stage stage = stage_with({Axis("m", B * Extent(64))}, {split("m", "mo", "mi", 16)});
  EXPECT_EQ(extent_of(stage, "mo"), to_string(extent_value(B * Extent(4))));
}

TEST(LoopExtents, OfASplitThatIsSplitAgain) {
  Stage stage =
      stage_with({Axis("n", 100)}, {split("n", "no", "n", 64), split("n", "n", "nv", 16)});
  EXPECT_EQ(extent_of(stage, "no"), "2");
  EXPECT_EQ(extent_of(stage, "n"), "4");
  EXPECT_EQ(extent_of(stage, "nv"), "16");
}

TEST(LoopExtents, OfAFuse) {
  Stage stage = stage_with({Axis("m", 3), Axis("n", 5)}, {fuse("m", "n", "t")});
  EXPECT_EQ(extent_of(stage, "t"), "15");
}

TEST(LoopExtents, OfAFuseWithARunTimeSize) {
  Stage stage = stage_with({Axis("m", B), Axis("n", 5)}, {fuse("m", "n", "t")});
  EXPECT_EQ(extent_of(stage, "t"), to_string(extent_value(B * Extent(5))));
}

TEST(LoopExtents, OfAFuseOfTwoRunTimeSizesIsNotAffineButRight) {
  Stage stage = stage_with({Axis("m", B), Axis("n", Extent::size("C"))}, {fuse("m", "n", "t")});
  Expr t = loop_extents(stage, {extent_value(B), extent_value(Extent::size("C"))}).at("t");
  EXPECT_EQ(evaluate_index(t, {{"B", 3}, {"C", 7}}), 21);
}

TEST(LoopExtents, TakeTheRegionForPureAxesAndTheAxisForReductions) {
  Stage stage = linear_nest().stage("mm");
  std::map<std::string, Expr> extents = loop_extents(stage, {int_constant(2), int_constant(8)});
  EXPECT_EQ(to_string(extents.at("m")), "2");
  EXPECT_EQ(to_string(extents.at("k")), "3");
}

TEST(LoopExtents, OfAnEmptyAxis) {
  Stage stage = stage_with({Axis("m", 0)}, {split("m", "mo", "mi", 6)});
  EXPECT_EQ(extent_of(stage, "mo"), "0");
}

TEST(LoopExtents, RefusesARegionOfAnotherRank) {
  EXPECT_INTERNAL_ERROR(loop_extents(linear_nest().stage("mm"), {int_constant(2)}),
                        "1 extents for 2 axes");
}

TEST(LoopExtents, RefusesATransformOfAnUnknownAxis) {
  Stage stage = stage_with({Axis("m", 4)}, {split("q", "mo", "mi", 2)});
  EXPECT_INTERNAL_ERROR(extent_of(stage, "mo"), "unknown axis q");
}

TEST(CountUops, MultipliesTheLoopsAround) {
  UopCounts counts = count_uops(linear_nest());
  EXPECT_EQ(counts.loads, 0);
  EXPECT_EQ(counts.inits, 3 * 2 * 8);
  EXPECT_EQ(counts.executes, 3 * 3 * 2 * 8);
  EXPECT_EQ(counts.stores, 3 * 2 * 8);
}

TEST(CountUops, TakesRunTimeSizes) {
  LoopNest nest = linear_nest(B);
  EXPECT_EQ(count_uops(nest, {{"B", 7}}).stores, 4 * 2 * 8);
  EXPECT_EQ(count_uops(nest, {{"B", 0}}).stores, 0);
}

TEST(CountUops, NeverExpandsTheTree) {
  LoopNest nest = copy_nest(Extent(int64_t{1} << 30));
  EXPECT_EQ(count_uops(nest).stores, int64_t{1} << 30);
}

TEST(CountUops, OfNothingIsZero) { EXPECT_EQ(count_uops(LoopNest()).executes, 0); }

TEST(CountUops, RefusesASizeWithoutAValue) {
  EXPECT_ERROR(count_uops(linear_nest(B)), "size B: expected a value");
}

TEST(CountUops, RefusesACountThatDoesNotFit) {
  LoopNest nest = copy_nest(B);
  nest.root = change_children(nest.root, [&](const NodePtr&) { return nest.root; });
  EXPECT_ERROR(count_uops(nest, {{"B", int64_t{1} << 40}}), "does not fit 64 bits");
}

TEST(EvaluateIndex, RoundsDivisionTowardsMinusInfinity) {
  Expr i = axis_value("i");
  EXPECT_EQ(evaluate_index(i / 4, {{"i", -5}}), -2);
  EXPECT_EQ(evaluate_index(i % 4, {{"i", -5}}), 3);
  EXPECT_EQ(evaluate_index(i / 4, {{"i", 7}}), 1);
}

TEST(EvaluateIndex, DividesByZeroToZero) {
  Expr i = axis_value("i");
  EXPECT_EQ(evaluate_index(int_constant(7) / i, {{"i", 0}}), 0);
  EXPECT_EQ(evaluate_index(int_constant(7) % i, {{"i", 0}}), 0);
}

TEST(EvaluateIndex, KnowsConditionsAndSelect) {
  Expr i = axis_value("i");
  Expr clamped = select(i < 3 && i >= 0, i, min(max(-i, 1), 2));
  EXPECT_EQ(evaluate_index(clamped, {{"i", 2}}), 2);
  EXPECT_EQ(evaluate_index(clamped, {{"i", 9}}), 1);
  EXPECT_EQ(evaluate_index(clamped, {{"i", -9}}), 2);
  EXPECT_EQ(evaluate_index(!(i == 1) || i != 1, {{"i", 1}}), 0);
  EXPECT_EQ(evaluate_index(abs(i) - i, {{"i", -4}}), 8);
}

TEST(EvaluateIndex, DoesNotWrapAtThirtyTwoBits) {
  Expr i = axis_value("i");
  EXPECT_EQ(evaluate_index(i * 2000000000, {{"i", 4}}), 8000000000);
}

TEST(EvaluateIndex, RefusesANameWithoutAValue) {
  EXPECT_ERROR(evaluate_index(axis_value("y.mo"), {}), "axis y.mo: expected a value");
}

TEST(EvaluateIndex, RefusesAReadOfABuffer) {
  EXPECT_INTERNAL_ERROR(evaluate_index(read_buffer("x", DType::i32, {}), {}),
                        "read in an index expression");
}

TEST(EvaluateIndex, RefusesAFloat) {
  EXPECT_INTERNAL_ERROR(evaluate_index(constant(DType::f32, 1), {}), "in an index expression");
}

TEST(EvaluateIndex, RefusesAnOverflow) {
  Expr i = axis_value("i");
  EXPECT_ERROR(evaluate_index(i * i, {{"i", int64_t{1} << 40}}), "does not fit 64 bits");
}

}  // namespace
}  // namespace emulsion

#include "passes/nest/verify_nest_tables.h"

#include <gtest/gtest.h>

#include "tests/passes/expect_error.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

using Change = std::function<void(LoopNest*)>;

LoopNest changed(const Change& change) {
  LoopNest nest = linear_nest();
  change(&nest);
  return nest;
}

#define EXPECT_BROKEN(cause, ...) \
  EXPECT_INTERNAL_ERROR(verify_nest_tables(changed([](LoopNest* nest) { __VA_ARGS__; })), cause)

const Expr kM = axis_value("m");
const Expr kN = axis_value("n");

TEST(VerifyNestTables, AcceptsHandWrittenNests) {
  EXPECT_NO_THROW(verify_nest_tables(linear_nest()));
  EXPECT_NO_THROW(verify_nest_tables(packed_nest()));
  EXPECT_NO_THROW(verify_nest_tables(reduction_nest(Combiner::min, Extent::size("K"))));
}

TEST(VerifyNestTables, RefusesUnsortedSizes) {
  EXPECT_BROKEN("not sorted or not unique: C, B", nest->sizes = {"C", "B"});
}

TEST(VerifyNestTables, RefusesANameTwice) {
  EXPECT_BROKEN("the name x twice", nest->buffers[1].name = "x");
}

TEST(VerifyNestTables, RefusesABufferNamedLikeASize) {
  EXPECT_BROKEN("the name x twice", nest->sizes = {"x"});
}

TEST(VerifyNestTables, RefusesAnInputAfterTheOutputs) {
  EXPECT_BROKEN("weight b out of order", std::swap(nest->buffers[2], nest->buffers[3]));
}

TEST(VerifyNestTables, RefusesAStageThatWritesAnInput) {
  EXPECT_BROKEN("stage mm writes the input of that name",
                nest->buffers.insert(nest->buffers.begin(), nest->buffers.back()),
                nest->buffers.pop_back(), nest->buffers[0].role = BufferRole::input);
}

TEST(VerifyNestTables, RefusesAnOutputThatNobodyWrites) {
  EXPECT_BROKEN("no stage writes the output y", nest->stages.pop_back());
}

TEST(VerifyNestTables, RefusesAConstantWithoutItsBytes) {
  EXPECT_BROKEN(
      "constant c without the bytes that [3] needs",
      nest->buffers.insert(
          nest->buffers.begin() + 4,
          {"c", DType::f32, BufferRole::constant, {3}, std::make_shared<std::vector<uint8_t>>(8)}));
}

TEST(VerifyNestTables, RefusesAConstantWithMoreBytesThanItNeeds) {
  EXPECT_BROKEN("constant c without the bytes that [3] needs",
                nest->buffers.insert(nest->buffers.begin() + 4,
                                     {"c",
                                      DType::f32,
                                      BufferRole::constant,
                                      {3},
                                      std::make_shared<std::vector<uint8_t>>(13)}));
}

TEST(VerifyNestTables, RefusesAShapeWithAnUnknownSize) {
  EXPECT_BROKEN("buffer x uses the unknown size B", nest->buffers[0].shape[0] = Extent::size("B"));
}

TEST(VerifyNestTables, RefusesTwoStagesOfOneName) {
  EXPECT_BROKEN("two stages mm", nest->stages.push_back(nest->stages[0]));
}

TEST(VerifyNestTables, RefusesAStageOfAnotherTypeThanItsBuffer) {
  EXPECT_BROKEN("stage mm of f64, its buffer is f32", nest->stages[0].dtype = DType::f64);
}

TEST(VerifyNestTables, RefusesAStageOfATypeWithoutKernels) {
  EXPECT_BROKEN("stage mm of bf16", nest->stages[0].dtype = DType::bf16,
                nest->buffers[4].dtype = DType::bf16);
}

TEST(VerifyNestTables, RefusesADomainThatIsNotTheBuffers) {
  EXPECT_BROKEN("stage mm over [4, 8], its buffer is [5, 8]",
                nest->stages[0].axes[0] = Axis("m", 4));
}

TEST(VerifyNestTables, RefusesReductionAxesWithoutACombiner) {
  EXPECT_BROKEN("stage mm with reduction axes and no combiner",
                nest->stages[0].combiner = Combiner::none);
}

TEST(VerifyNestTables, RefusesAnAxisTwice) {
  EXPECT_BROKEN("stage mm with axis m twice", nest->stages[0].reduction_axes[0] = Axis("m", 3));
}

TEST(VerifyNestTables, RefusesATransformOfAnUnknownLoop) {
  EXPECT_BROKEN("a transform of q, which is no loop", nest->stages[1].transforms[0].axis = "q");
}

TEST(VerifyNestTables, RefusesATransformThatMakesANameTwice) {
  EXPECT_BROKEN("a transform makes n twice", nest->stages[1].transforms[0].inner = "n");
}

TEST(VerifyNestTables, RefusesASplitByZero) {
  EXPECT_BROKEN("a split of m by 0", nest->stages[1].transforms[0].factor = 0);
}

TEST(VerifyNestTables, RefusesAnAutomaticTail) {
  EXPECT_BROKEN("a split of m with an automatic tail",
                nest->stages[1].transforms[0].tail = Tail::automatic);
}

TEST(VerifyNestTables, RefusesABodyOfAnotherType) {
  EXPECT_BROKEN("the body of stage y is not of type f32", nest->stages[1].body = kM);
  EXPECT_BROKEN("the body of stage y is not of type f32", nest->stages[1].body = Expr());
}

TEST(VerifyNestTables, RefusesABodyWithALoopVariable) {
  EXPECT_BROKEN("stage y uses y.mo, which is not an axis of it",
                nest->stages[1].body = read_buffer("b", DType::f32, {v("y", "mo")}));
}

TEST(VerifyNestTables, RefusesABodyWithAnUnknownSize) {
  EXPECT_BROKEN("stage y uses the unknown size B",
                nest->stages[1].body = read_buffer("b", DType::f32, {size_value("B")}));
}

TEST(VerifyNestTables, RefusesAReductionInABody) {
  EXPECT_BROKEN("stage y with a reduction in its body",
                nest->stages[1].body = sum(Axis("q", 3), read_buffer("b", DType::f32, {kN})));
}

TEST(VerifyNestTables, RefusesAReadOfAnUnknownBuffer) {
  EXPECT_BROKEN("no buffer q", nest->stages[1].body = read_buffer("q", DType::f32, {kN}));
}

TEST(VerifyNestTables, RefusesAReadOfAnOperation) {
  EXPECT_BROKEN("stage y reads an operation of a graph",
                nest->stages[1].body = input("x", f32, {5, 8})(kM, kN));
}

TEST(VerifyNestTables, RefusesAGridWithoutACount) {
  EXPECT_BROKEN(
      "a grid of mm without a count",
      nest->tile_grids = {{"mm", "y", int_constant(1), int_constant(1), Expr(), int_constant(1)}});
}

TEST(VerifyNestTables, RefusesAReadOfAnotherType) {
  EXPECT_BROKEN("stage y reads b as i32, it is f32",
                nest->stages[1].body = cast(f32, read_buffer("b", DType::i32, {kN})));
}

TEST(VerifyNestTables, RefusesAReadOfAnotherRank) {
  EXPECT_BROKEN("stage y reads b with 2 indices for 1 axes",
                nest->stages[1].body = read_buffer("b", DType::f32, {kM, kN}));
}

TEST(VerifyNestTables, RefusesAReadOfALaterStage) {
  EXPECT_BROKEN("stage y reads mm, which is not an earlier stage",
                std::swap(nest->stages[0], nest->stages[1]));
}

TEST(VerifyNestTables, RefusesAStageThatReadsItself) {
  EXPECT_BROKEN("stage y reads y, which is not an earlier stage",
                nest->stages[1].body = read_buffer("y", DType::f32, {kM, kN}));
}

TEST(VerifyNestTables, RefusesAPackThatMakesNoWeight) {
  LoopNest nest = packed_nest();
  nest.packs[0].packed = "x";
  EXPECT_INTERNAL_ERROR(verify_nest_tables(nest), "makes x, which is no weight");
}

TEST(VerifyNestTables, RefusesAPackWithoutANest) {
  LoopNest nest = packed_nest();
  nest.packs[0].nest = nullptr;
  EXPECT_INTERNAL_ERROR(verify_nest_tables(nest), "pack of w without a nest");
}

TEST(VerifyNestTables, RefusesAPackOfAnotherWeight) {
  LoopNest nest = packed_nest();
  nest.packs[0].weight = "b";
  EXPECT_INTERNAL_ERROR(verify_nest_tables(nest), "whose nest does not take b to w_packed");
}

// A caller tells a packed weight from one that is not by its rank.
TEST(VerifyNestTables, RefusesAPackOfTheSameRank) {
  LoopNest nest = packed_nest();
  LoopNest pack = *nest.packs[0].nest;
  pack.buffers[0].shape = {3, 8, 1};
  nest.packs[0].nest = std::make_shared<const LoopNest>(pack);
  EXPECT_INTERNAL_ERROR(verify_nest_tables(nest), "of the same rank, which no caller could tell");
}

TEST(VerifyNestTables, RefusesAPackOfAnotherShape) {
  LoopNest nest = packed_nest();
  nest.buffers[1].shape = {2, 4, 3};
  EXPECT_INTERNAL_ERROR(verify_nest_tables(nest), "makes [2, 3, 4], the nest reads [2, 4, 3]");
}

}  // namespace
}  // namespace emulsion

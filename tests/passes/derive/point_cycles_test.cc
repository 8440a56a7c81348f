// What points take by the model that tells whether threads pay, and from how many on they do.

#include "passes/derive/point_cycles.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/derive/derive_stage.h"
#include "passes/fuse/fuse_epilogues.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Target kV2 = target_of("x86-64-v2", 2), kV3 = target_of("x86-64-v3", 2),
             kV4 = target_of("x86-64-v4", 2);
const Extent kRows = Extent::size("R");

Tensor rows(int64_t count = 64, int64_t length = 512) { return input("x", f32, {count, length}); }

// In vectors of v3.
double cycles(const Tensor& y, const Target& target = kV3) {
  const Graph fused = fuse_epilogues(Graph(y));
  return cost_of_point(*fused.outputs()[0], target).cycles * target.vector_bits() / 32;
}

TEST(PointCycles, AVectorThatIsLoadedOrStoredTakesOne) {
  EXPECT_EQ(cycles(relu(rows())), 2);
  EXPECT_EQ(cycles(add(rows(), input("z", f32, {64, 512}))), 3);
  EXPECT_EQ(cost_of_point(*Graph(relu(rows())).outputs()[0], kV4).bytes, 8);
  for (const Target& target : {kV2, kV3, kV4}) {
    EXPECT_EQ(cost_of_point(*Graph(relu(rows())).outputs()[0], target).cycles,
              64.0 / target.vector_bits());
  }
  EXPECT_EQ(cost_of_point(*Graph(relu(input("x", u8, {64, 512}))).outputs()[0], kV3).bytes, 2);
}

TEST(PointCycles, OneValueForManyPointsTakesNone) {
  const Axis i("i", 64), j("j", 512);
  const Tensor x = rows(), one = input("one", f32, {64});
  EXPECT_EQ(cycles(compute("y", {i, j}, x(i, j) + one(i))), 2);
}

TEST(PointCycles, AnElementByItselfTakesOne) {
  const Axis i("i", 512), j("j", 64), k("k", 512);
  const Tensor x = rows(), at = input("at", i32, {512});
  EXPECT_EQ(cycles(compute("y", {j, k}, x(j, clamp(at(k), 0, 511)))), 1 + 8);
  // Nor is there a step where the axis takes itself away.
  EXPECT_EQ(cycles(compute("y", {j, k}, x(j, Expr(k) - Expr(k)))), 1 + 8);
  // One of an operand that is turned in registers takes less.
  EXPECT_DOUBLE_EQ(cycles(compute("y", {i, j}, x(j, i))), 1 + 0.4 * 8);
  // But not where a clamp is all that keeps it from its neighbours.
  EXPECT_EQ(cycles(compute("y", {j, k}, x(j, clamp(Expr(k) + 1, 0, 511)))), 2);
}

TEST(PointCycles, ASeriesTakesTheTimeOfItsInstructions) {
  EXPECT_EQ(cycles(exp(rows())), 5);
  EXPECT_EQ(cycles(exp(exp(rows()))), 10);
  EXPECT_EQ(cycles(rows() / 3.0f), 2);
}

TEST(PointCycles, OfSumsTheResultsAreFew) {
  EXPECT_EQ(cycles(sum(rows(), {1})), 1 + 1.0 / 512);
  EXPECT_EQ(cycles(sum(rows(64, 4), {1})), 1.25);
  EXPECT_EQ(cycles(sum(input("x", f32, {64, kRows}), {1})), 1);
}

TEST(PointCycles, MembersOfAGroupPassTheirValuesOn) {
  EXPECT_EQ(cycles(relu(add(rows(), input("z", f32, {64, 512})))), 3);
  EXPECT_EQ(cycles(relu(exp(rows()))), 5.5);
}

// Norms walk their rows three times and softmax takes an exponential: that is less than waking
// takes at 64 x 512, and more at 512 x 512.
TEST(PointCycles, NormsAndSoftmaxOfAFewRowsStayOnOneThread) {
  const auto are_shared = [](const Tensor& y, const Target& target) {
    return has(derived(y, target), "parallel(");
  };
  const auto norm = [](const Tensor& x) {
    return layer_norm(x, input("gamma", f32, {512}), input("beta", f32, {512}), 1e-5F);
  };
  for (const Target& target : {kV3, kV4}) {
    EXPECT_FALSE(are_shared(softmax(rows(), -1), target));
    EXPECT_FALSE(are_shared(norm(rows()), target));
    EXPECT_TRUE(are_shared(softmax(rows(512), -1), target));
    EXPECT_TRUE(are_shared(norm(rows(512)), target));
  }
  EXPECT_FALSE(are_shared(relu(rows(256)), kV4));
  EXPECT_TRUE(are_shared(relu(rows(256)), kV3));
  EXPECT_TRUE(are_shared(relu(rows(512)), kV4));
  EXPECT_TRUE(are_shared(exp(rows(256)), kV4));
}

// A value of which there is one in a row takes next to nothing beside the row.
TEST(PointCycles, OneValueInARowCountsOnce) {
  for (const Extent& length : {Extent(512), Extent::size("C")}) {
    const Graph graph({relu(input("x", f32, {kRows, length})), exp(input("z", f32, {kRows}))});
    const Op *row = graph.outputs()[0].get(), *one = graph.outputs()[1].get();
    const int64_t alone = points_for_threads({row}, kV2),
                  both = points_for_threads({row, one}, kV2);
    EXPECT_EQ(both == alone, !length.is_constant());
    EXPECT_LE(both, alone);
    EXPECT_GE(both, alone - alone / 100);
  }
}

TEST(PointCycles, OfARunTimeNumberOfRowsFromAsManyOn) {
  const Tensor x = input("x", f32, {kRows, 512});
  EXPECT_TRUE(has(derived(relu(x, "y"), kV3), "y.specialize(R >= 256)\n"));
  EXPECT_TRUE(has(derived(relu(x, "y"), kV4), "y.specialize(R >= 384)\n"));
  EXPECT_TRUE(has(derived(exp(x, "y"), kV4), "y.specialize(R >= 256)\n"))
      << derived(exp(x, "y"), kV4);
}

}  // namespace
}  // namespace emulsion

#include "passes/rewrite/fold_constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/rewrite/remove_dead_ops.h"
#include "tests/passes/op_of.h"
#include "tests/passes/rewrite/check_rewrite.h"

namespace emulsion {
namespace {

using ::testing::ElementsAre;

Tensor ramp(const std::string& name, const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(element_count(shape).value()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 2;
  return constant(name, shape, values);
}

Graph folded(const Graph& graph) {
  const Graph after = fold_constants(graph);
  verify_graph(after);
  expect_same_values(graph, after);
  EXPECT_EQ(fold_constants(after).ops(), after.ops());
  return remove_dead_ops(after);
}

TEST(FoldConstants, AnOperationOnConstants) {
  Tensor x = input("x", f32, {3, 4}), c = ramp("c", {3, 4}), d = ramp("d", {4});
  const Graph after = folded(add(x, mul(c + 1, d, "e"), "y"));
  EXPECT_THAT(computed(after), ElementsAre("y"));
  EXPECT_EQ(op_of(after, "e")->kind, OpKind::constant);
  EXPECT_FALSE(after.find("c"));
}

TEST(FoldConstants, EveryTypeAsTheInterpreterHasIt) {
  std::vector<Tensor> outputs;
  for (DType dtype : {i8, u8, i16, u16, i32, f32, f64}) {
    const std::string type = to_string(dtype);
    const std::vector<uint8_t> bytes(static_cast<size_t>(20 * size_in_bytes(dtype)), 17);
    Tensor c = constant("c_" + type, dtype, {4, 5}, bytes);
    Tensor x = input("x_" + type, dtype, {5, 4});
    outputs.push_back(emulsion::max(x, transpose(c * 3 - 100) / 7, "y_" + type));
  }
  EXPECT_EQ(computed(folded(Graph(outputs))).size(), outputs.size());
}

TEST(FoldConstants, MovedElements) {
  Tensor x = input("x", f32, {4, 3}), c = ramp("c", {3, 4});
  const Graph after = folded(add(x, transpose(c), "y"));
  EXPECT_THAT(computed(after), ElementsAre("y"));
  const Graph padded =
      folded(add(input("z", f32, {5, 6}), pad(slice(c, {1, 0}, {3, 4}), {1, 1}, {2, 1}), "y"));
  EXPECT_EQ(computed(padded).size(), 2u);  // the slice only: the padded one is larger
}

TEST(FoldConstants, AConstantOfOneElementIsANumber) {
  Tensor x = input("x", f32, {4});
  const Graph after = folded(mul(x, scalar(2.0f) * 3, "y"));
  EXPECT_EQ(to_string(op_of(after, "y")->body), "x[i0] * 6f");
  EXPECT_THAT(after.ops(), testing::SizeIs(2));
}

TEST(FoldConstants, NumbersInsideOfExpressions) {
  Tensor x = input("x", f32, {4});
  const Axis i("i", 4);
  const Graph after = folded(compute("y", {i}, x(i) * (constant(f32, 2) - constant(f32, 0.5))));
  EXPECT_EQ(to_string(op_of(after, "y")->body), "x[i] * 1.5f");
}

TEST(FoldConstants, AnOutputStaysAnOperation) {
  const Graph after = folded(add(ramp("c", {4}), 1, "y"));
  EXPECT_THAT(computed(after), ElementsAre("y"));
}

TEST(FoldConstants, DoesNotFoldWhatAKernelComputesItsOwnWay) {
  Tensor x = input("x", f32, {4});
  EXPECT_EQ(computed(folded(x + exp(ramp("c", {4})))).size(), 2u);
}

TEST(FoldConstants, DoesNotFoldAReduction) {
  Tensor x = input("x", f32, {4});
  EXPECT_EQ(computed(folded(x + sum(ramp("c", {3, 4}), {0}))).size(), 2u);
}

TEST(FoldConstants, DoesNotFoldWhatMakesNaN) {
  Tensor x = input("x", f32, {1});
  Tensor c = constant("c", {2}, std::vector<float>{1, std::numeric_limits<float>::quiet_NaN()});
  EXPECT_EQ(computed(fold_constants(Graph(sum(x + (c + 1), {0})))).size(), 3u);
  Tensor zero = constant("zero", {2}, std::vector<float>{1, 0});
  EXPECT_EQ(computed(fold_constants(Graph(sum(x + zero / zero, {0})))).size(), 3u);
}

TEST(FoldConstants, DoesNotFoldWhatBecomesLarger) {
  Tensor x = input("x", f32, {30, 4});
  const Axis i("i", 30), j("j", 4);
  Tensor c = ramp("c", {4});
  Tensor repeated = compute("repeated", {i, j}, c(j) + 1);
  Tensor filled = compute("filled", {i, j}, constant(f32, 3) + 1);
  EXPECT_THAT(computed(folded(add(x + repeated, filled, "y"))),
              ElementsAre("repeated", "add", "filled", "y"));
}

TEST(FoldConstants, DoesNotFoldWhatReadsAnArgument) {
  Tensor w = weight("w", f32, {4}), x = input("x", f32, {4});
  EXPECT_EQ(computed(folded(x + w * ramp("c", {4}))).size(), 2u);
}

TEST(FoldConstants, DoesNotFoldARunTimeShape) {
  const Extent batch = Extent::size("B");
  Tensor x = input("x", f32, {batch});
  const Axis i("i", batch);
  Tensor c = scalar(2.0f);
  EXPECT_EQ(computed(folded(x + compute("filled", {i}, c() * 2))).size(), 2u);
}

TEST(FoldConstants, EmptyConstants) {
  Tensor x = input("x", f32, {0}), c = constant("c", {0}, std::vector<float>{});
  EXPECT_THAT(computed(folded(add(x, c + 1, "y"))), ElementsAre("y"));
}

}  // namespace
}  // namespace emulsion

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/analyse/recognise_op.h"

// Which comprehensions are elementwise, and which only move data.

namespace emulsion {
namespace {

const Axis m("m", 4), n("n", 8), k("k", 6), i("i", 4), j("j", 4);

OpClass class_of(const Tensor& tensor) { return classify(*tensor.op()); }

// --- elementwise --------------------------------------------------------------------------------

TEST(Elementwise, ArithmeticAtOwnAxes) {
  Tensor x = input("x", f32, {4, 8}), b = input("b", f32, {8});
  EXPECT_EQ(class_of(compute("y", {m, n}, max(x(m, n) + b(n), 0.0f))), OpClass::elementwise);
  EXPECT_EQ(class_of(gelu(x)), OpClass::elementwise);
  EXPECT_EQ(class_of(cast(x, i32)), OpClass::elementwise);
}

TEST(Elementwise, BroadcastsOfEveryKind) {
  Tensor row = input("row", f32, {1, 8}), s = scalar(2.0f);
  EXPECT_EQ(class_of(compute("y", {m, n}, row(0, n))), OpClass::elementwise);
  EXPECT_EQ(class_of(compute("y", {m, n}, s())), OpClass::elementwise);
  EXPECT_EQ(class_of(compute("y", {m, n}, row(0, n) * s())), OpClass::elementwise);
}

TEST(Elementwise, AnIdentityCopy) {
  Tensor x = input("x", f32, {4, 8});
  EXPECT_EQ(class_of(compute("y", {m, n}, x(m, n))), OpClass::elementwise);
}

TEST(Elementwise, AFillAndTheIndexItself) {
  EXPECT_EQ(class_of(compute("y", {m, n}, constant(f32, 1))), OpClass::elementwise);
  EXPECT_EQ(class_of(compute("y", {m}, Expr(m))), OpClass::elementwise);
}

TEST(Elementwise, ARankOfZero) {
  Tensor x = input("x", f32, {});
  EXPECT_EQ(class_of(compute("y", {}, x() + 1.0f)), OpClass::elementwise);
}

TEST(Elementwise, WhereAndMasksAtOwnAxes) {
  Tensor c = input("c", bool_, {4}), x = input("x", f32, {4});
  EXPECT_EQ(class_of(compute("y", {m}, select(c(m), x(m), 0.0f))), OpClass::elementwise);
  EXPECT_EQ(class_of(compute("y", {m}, select(Expr(m) < 2, x(m), 0.0f))), OpClass::elementwise);
}

TEST(Elementwise, ArithmeticMayReadAnOperandTransposed) {
  Tensor x = input("x", f32, {4, 4});
  EXPECT_EQ(class_of(compute("y", {i, j}, x(i, j) + x(j, i))), OpClass::elementwise);
}

// --- data movement ------------------------------------------------------------------------------

TEST(DataMovement, Transpose) {
  Tensor x = input("x", f32, {8, 4});
  EXPECT_EQ(class_of(compute("y", {m, n}, x(n, m))), OpClass::data_movement);
  EXPECT_EQ(class_of(transpose(x)), OpClass::data_movement);
}

TEST(DataMovement, SquareTransposeToo) {
  Tensor x = input("x", f32, {4, 4});
  EXPECT_EQ(class_of(compute("y", {i, j}, x(j, i))), OpClass::data_movement);
}

TEST(DataMovement, ReshapeSlicePadAndConcat) {
  Tensor x = input("x", f32, {4, 8});
  EXPECT_EQ(class_of(reshape(x, {32})), OpClass::data_movement);
  EXPECT_EQ(class_of(slice(x, {0, 2}, {4, 8})), OpClass::data_movement);
  EXPECT_EQ(class_of(pad(x, {1, 0}, {0, 1})), OpClass::data_movement);
  EXPECT_EQ(class_of(concat({x, input("z", f32, {2, 8})}, 0)), OpClass::data_movement);
}

TEST(DataMovement, ASliceThatStartsAtZero) {
  Tensor x = input("x", f32, {9, 8});
  EXPECT_EQ(class_of(compute("y", {m, n}, x(m, n))), OpClass::data_movement);
}

TEST(DataMovement, OneRowOfMany) {
  Tensor x = input("x", f32, {4, 8});
  EXPECT_EQ(class_of(compute("y", {n}, x(3, n))), OpClass::data_movement);
}

TEST(DataMovement, TheDiagonal) {
  Tensor x = input("x", f32, {4, 4});
  EXPECT_EQ(class_of(compute("y", {i}, x(i, i))), OpClass::data_movement);
  EXPECT_EQ(class_of(compute("y", {i}, x(i, i) * 2.0f)), OpClass::data_movement);
}

TEST(DataMovement, Gather) {
  Tensor x = input("x", f32, {4}), at = input("at", i32, {8});
  EXPECT_EQ(class_of(compute("y", {n}, x(max(min(at(n), 3), 0)))), OpClass::data_movement);
}

TEST(DataMovement, GatherOfOneRow) {
  Tensor x = input("x", f32, {4, 8}), at = input("at", i32, {});
  EXPECT_EQ(class_of(compute("y", {n}, x(max(min(at(), 3), 0), n) + 1.0f)), OpClass::data_movement);
}

TEST(DataMovement, ArithmeticBetweenNeighbours) {
  Tensor x = input("x", f32, {5});
  EXPECT_EQ(class_of(compute("y", {m}, x(m + 1) - x(m))), OpClass::data_movement);
}

TEST(DataMovement, BranchesThatAreSharedManyTimes) {
  Tensor x = input("x", f32, {5});
  Expr e = x(m + 1);
  Op op = *compute("y", {m}, e).op();
  for (int depth = 0; depth < 100; ++depth) e = select(Expr(m) < depth, e, e);
  op.body = e;
  EXPECT_EQ(classify(op), OpClass::data_movement);
}

}  // namespace
}  // namespace emulsion

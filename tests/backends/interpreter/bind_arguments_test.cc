#include "backends/interpreter/bind_arguments.h"

#include <gtest/gtest.h>

#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

const Extent B = Extent::size("B");
const std::vector<DeclaredTensor> kDeclared = {{"x", f32, {B, 3}}, {"n", i32, {B}}};

TEST(BindArguments, BindsSizesFromShapes) {
  SizeValues sizes =
      bind_arguments(kDeclared, {{"x", zeros(f32, {5, 3})}, {"n", zeros(i32, {5})}}, {});
  EXPECT_EQ(sizes, (SizeValues{{"B", 5}}));
}

TEST(BindArguments, RefusesAMissingArgument) {
  EXPECT_ERROR(bind_arguments(kDeclared, {{"x", zeros(f32, {5, 3})}}, {}),
               "argument n: expected a tensor i32[B], got none");
}

TEST(BindArguments, RefusesAnUnknownArgument) {
  EXPECT_ERROR(
      bind_arguments({kDeclared[0]}, {{"x", zeros(f32, {5, 3})}, {"z", zeros(f32, {1})}}, {}),
      "argument z: expected one of x");
}

TEST(BindArguments, RefusesAnotherType) {
  EXPECT_ERROR(bind_arguments({kDeclared[0]}, {{"x", zeros(f64, {5, 3})}}, {}),
               "argument x: expected f32, got f64");
}

TEST(BindArguments, RefusesATypeWithoutKernels) {
  EXPECT_ERROR(bind_arguments({{"x", bf16, {3}}}, {{"x", zeros(bf16, {3})}}, {}),
               "argument x: expected a type with kernels (" + computable_dtypes() + "), got bf16");
}

TEST(BindArguments, RefusesAsManyBytesAsTheShapeDoesNotHave) {
  TensorValue x = zeros(f32, {5, 3});
  x.bytes.pop_back();
  EXPECT_ERROR(bind_arguments({kDeclared[0]}, {{"x", x}}, {}),
               "argument x: expected 60 bytes for shape [5, 3], got 59");
}

TEST(BindArguments, RefusesAWrongShape) {
  EXPECT_ERROR(bind_arguments({kDeclared[0]}, {{"x", zeros(f32, {5, 4})}}, {}),
               "argument x, axis 1: expected 3, got 4");
}

TEST(EvaluateShape, TakesSizes) {
  EXPECT_EQ(evaluate_shape("y", {B + Extent(1), 2}, {{"B", 4}}), (std::vector<int64_t>{5, 2}));
}

TEST(EvaluateShape, RefusesANegativeExtent) {
  EXPECT_ERROR(evaluate_shape("output y", {2, B - Extent(2)}, {{"B", 1}}),
               "output y, axis 1: expected sizes for which B - 2 is 0 or greater, got -1");
}

TEST(EvaluateShape, RefusesASizeWithoutAValue) {
  EXPECT_ERROR(evaluate_shape("y", {B}, {}), "run-time size B: expected a value, got none");
}

}  // namespace
}  // namespace emulsion

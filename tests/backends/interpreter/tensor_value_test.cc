#include "backends/interpreter/tensor_value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

using Floats = std::vector<float>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::string difference(const Floats& expected, const Floats& actual, double relative = 0,
                       double absolute = 0) {
  const int64_t size = static_cast<int64_t>(expected.size());
  return first_difference(make_tensor({size}, expected), make_tensor({size}, actual), relative,
                          absolute)
      .value_or("");
}

TEST(TensorValue, KeepsItsElements) {
  TensorValue t = make_tensor({2, 3}, Floats{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(t.dtype, DType::f32);
  EXPECT_EQ(t.element_count(), 6);
  EXPECT_EQ(t.data<float>()[4], 5.0f);
  EXPECT_EQ(t.to_vector<float>().back(), 6.0f);
  EXPECT_EQ(t.value(1), 2.0);
}

TEST(TensorValue, IsMadeOfEveryComputableType) {
  EXPECT_EQ(make_tensor({1}, std::vector<double>{0.1}).value(0), 0.1);
  EXPECT_EQ(make_tensor({1}, std::vector<int32_t>{-7}).value(0), -7);
  EXPECT_EQ(make_tensor({2}, std::vector<bool>{false, true}).value(1), 1);
}

TEST(TensorValue, HoldsTheEndsOfEveryIntegerType) {
  for (DType type : all_dtypes()) {
    if (!is_integer(type)) continue;
    TensorValue t = zeros(type, {3});
    const IntegerRange range = integer_range(type);
    t.set_value(0, static_cast<double>(range.lowest));
    t.set_value(1, static_cast<double>(range.highest));
    t.set_value(2, static_cast<double>(range.highest) + 1);
    EXPECT_EQ(t.value(0), static_cast<double>(range.lowest)) << to_string(type);
    EXPECT_EQ(t.value(1), static_cast<double>(range.highest)) << to_string(type);
    EXPECT_EQ(t.value(2), static_cast<double>(range.lowest)) << to_string(type);
  }
}

TEST(TensorValue, BytesAreU8OrBool) {
  TensorValue bytes = make_tensor({2}, std::vector<uint8_t>{0, 200});
  EXPECT_EQ(bytes.dtype, u8);
  EXPECT_EQ(bytes.value(1), 200);
  TensorValue flags = make_tensor({2}, std::vector<bool>{false, true});
  EXPECT_EQ(flags.dtype, bool_);
  EXPECT_EQ(flags.data<uint8_t>()[1], 1);
  EXPECT_INTERNAL_ERROR(bytes.data<int8_t>(), "a tensor of u8 read as i8");
  EXPECT_INTERNAL_ERROR(bytes.data<bool>(), "a tensor of u8 read as bool");
}

TEST(TensorValue, RandomIntegersOfUnsignedTypesStartAtZero) {
  for (uint8_t value : random_integers(u8, {64}, 1).to_vector<uint8_t>()) EXPECT_LE(value, 4);
}

TEST(TensorValue, OfRankZeroHasOneElement) { EXPECT_EQ(zeros(f32, {}).element_count(), 1); }

TEST(TensorValue, OfAnEmptyShapeHasNone) { EXPECT_TRUE(zeros(f32, {3, 0}).bytes.empty()); }

TEST(TensorValue, RandomIntegersDependOnTheSeedAlone) {
  TensorValue a = random_integers(f32, {64}, 1), b = random_integers(f32, {64}, 1);
  EXPECT_EQ(a.bytes, b.bytes);
  EXPECT_NE(a.bytes, random_integers(f32, {64}, 2).bytes);
  for (float value : a.to_vector<float>()) {
    EXPECT_EQ(value, std::round(value));
    EXPECT_LE(std::fabs(value), 4);
  }
}

TEST(TensorValue, PoisonIsNoticed) {
  TensorValue t = zeros(f32, {2});
  fill_with_poison(&t);
  EXPECT_TRUE(std::isnan(t.value(1)));
  TensorValue i = zeros(i32, {2});
  fill_with_poison(&i);
  EXPECT_LT(i.value(0), -1e9);
  TensorValue b = zeros(u8, {2});
  fill_with_poison(&b);
  EXPECT_EQ(b.value(1), 0x69);
}

TEST(TensorValue, RefusesAnotherElementType) {
  EXPECT_INTERNAL_ERROR(zeros(f32, {2}).data<double>(), "a tensor of f32 read as f64");
}

TEST(TensorValue, RefusesANegativeExtent) {
  EXPECT_ERROR(zeros(f32, {2, -1}), "tensor of shape [2, -1]: expected extents of 0 or greater");
}

TEST(TensorValue, RefusesAnOverflowingShape) {
  EXPECT_ERROR(zeros(f32, {int64_t{1} << 40, int64_t{1} << 40}), "too many elements");
}

TEST(TensorValue, RefusesAnotherNumberOfValues) {
  EXPECT_ERROR(make_tensor({2, 2}, Floats{1, 2, 3}), "shape [2, 2]: expected 4 values, got 3");
}

TEST(TensorValue, RefusesTheValueOfATypeWithoutKernels) {
  EXPECT_ERROR(zeros(bf16, {1}).value(0), "expected a type with kernels (bool, i8, u8,");
  EXPECT_ERROR(zeros(bf16, {1}).set_value(0, 1), "f32 or f64), got bf16");
}

TEST(FirstDifference, OfEqualTensorsIsNone) {
  EXPECT_EQ(difference({1, -0.0f, kNan, kInf}, {1, -0.0f, kNan, kInf}), "");
}

TEST(FirstDifference, SeesTheSignOfZeroUnlessThereIsATolerance) {
  EXPECT_EQ(difference({1, -0.0f}, {1, 0.0f}), "[1]: expected -0, got 0 (1 of 2 elements differ)");
  EXPECT_EQ(difference({1, -0.0f}, {1, 0.0f}, 1e-6), "");
  EXPECT_EQ(difference({1, -0.0f}, {1, 0.0f}, 0, 1e-6), "");
}

TEST(FirstDifference, NamesTheFirstElementAndCounts) {
  TensorValue a = make_tensor({2, 2}, Floats{1, 2, 3, 4});
  TensorValue b = make_tensor({2, 2}, Floats{1, 2, 5, 6});
  EXPECT_EQ(first_difference(a, b).value_or(""),
            "[1, 0]: expected 3, got 5 (2 of 4 elements differ)");
}

TEST(FirstDifference, AllowsATolerance) {
  EXPECT_EQ(difference({100}, {101}, 0.01), "");
  EXPECT_NE(difference({100}, {102}, 0.01), "");
  EXPECT_EQ(difference({0}, {0.5f}, 0, 0.5), "");
}

TEST(FirstDifference, NeverToleratesNanOrInfinity) {
  EXPECT_NE(difference({kNan}, {1}, 1, 1), "");
  EXPECT_NE(difference({1}, {kNan}, 1, 1), "");
  EXPECT_NE(difference({kInf}, {1}, 1, 1), "");
  EXPECT_NE(difference({kInf}, {-kInf}, 1, 1), "");
}

TEST(FirstDifference, ComparesTypesAndShapes) {
  EXPECT_EQ(first_difference(zeros(f32, {1}), zeros(f64, {1})).value_or(""),
            "expected f32, got f64");
  EXPECT_EQ(first_difference(zeros(f32, {1, 2}), zeros(f32, {2})).value_or(""),
            "expected shape [1, 2], got [2]");
}

}  // namespace
}  // namespace emulsion

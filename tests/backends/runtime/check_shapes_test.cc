// Shapes, sizes and types, beside the one-mistake-at-a-time table of check_arguments_test.cc.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/runtime/check_arguments.h"
#include "backends/runtime/emulsion_runtime.h"
#include "tests/backends/runtime/test_buffer.h"

namespace emulsion::runtime {
namespace {

using ::testing::HasSubstr;

int check(const std::string& descriptor, const std::vector<const TestBuffer*>& buffers) {
  std::vector<const halide_buffer_t*> arguments;
  for (const TestBuffer* buffer : buffers) arguments.push_back(&buffer->raw);
  return emulsion_check_arguments(descriptor.c_str(), arguments.data());
}

// A buffer that claims a shape without having its memory; never read, only checked.
TestBuffer claim(halide_type_t type, const std::vector<int>& shape) {
  TestBuffer buffer(type, std::vector<int>(shape.size(), 1));
  uint64_t stride = 1;  // wraps for the shapes that are to be refused
  for (size_t axis = shape.size(); axis-- > 0;) {
    buffer.axis(static_cast<int>(axis)) = {0, shape[axis], static_cast<int32_t>(stride)};
    stride *= static_cast<uint64_t>(shape[axis]);
  }
  return buffer;
}

TEST(CheckShapes, AcceptsEveryRank) {
  std::vector<int> shape;
  std::string extents;
  for (int rank = 0; rank <= 5; ++rank) {
    TestBuffer x(kF32, shape);
    const std::string text = "f32 64 " + std::to_string(rank) + extents + "\n";
    TestBuffer y(kF32, shape);
    EXPECT_EQ(check("copy\n\ni x " + text + "o y " + text, {&x, &y}), EMULSION_OK)
        << rank << emulsion_last_error();
    shape.push_back(rank + 2);
    extents += " " + std::to_string(rank + 2);
  }
}

TEST(CheckShapes, AcceptsRankZeroWithoutDimensions) {
  TestBuffer x(kF32, {});
  x.raw.dim = nullptr;
  EXPECT_EQ(check("k\n\ni x f32 0 0\n", {&x}), EMULSION_OK) << emulsion_last_error();
}

TEST(CheckShapes, RefusesRankZeroWithoutData) {
  TestBuffer x(kF32, {});
  x.raw.host = nullptr;
  EXPECT_EQ(check("k\n\ni x f32 0 0\n", {&x}), EMULSION_ERROR_NULL_HOST);
}

TEST(CheckShapes, AcceptsEveryType) {
  const std::pair<const char*, halide_type_t> types[] = {
      {"f32", kF32}, {"f64", kF64}, {"i32", kI32},   {"i8", kI8},    {"u8", kU8},
      {"i16", kI16}, {"u16", kU16}, {"bf16", kBf16}, {"bool", kBool}};
  for (const auto& [name, type] : types) {
    for (const auto& [other_name, other] : types) {
      TestBuffer x(type, {3});
      const int code = check(std::string("k\n\ni x ") + other_name + " 0 1 3\n", {&x});
      EXPECT_EQ(code, name == other_name ? EMULSION_OK : EMULSION_ERROR_BAD_TYPE)
          << name << other_name;
    }
  }
}

// Halide's own buffers of bool are one-bit unsigned integers; a byte may hold what no bool can.
TEST(CheckShapes, RefusesBytesForBool) {
  TestBuffer x(halide_type_t(halide_type_uint, 8), {3});
  EXPECT_EQ(check("k\n\ni x bool 0 1 3\n", {&x}), EMULSION_ERROR_BAD_TYPE);
  EXPECT_THAT(emulsion_last_error(), HasSubstr("expected type bool, got u8"));
}

TEST(CheckShapes, AcceptsAnyStrideOfAnAxisOfOne) {
  TestBuffer x(kF32, {4, 1, 8, 1});
  x.axis(1).stride = -77;
  x.axis(3).stride = 0;
  EXPECT_EQ(check("k\n\ni x f32 64 4 4 1 8 1\n", {&x}), EMULSION_OK) << emulsion_last_error();
}

TEST(CheckShapes, AcceptsAnythingInABufferWithoutElements) {
  for (int empty_axis = 0; empty_axis < 3; ++empty_axis) {
    std::vector<int> shape = {4, 5, 6};
    shape[empty_axis] = 0;
    TestBuffer x(kF32, shape);
    x.raw.host = nullptr;
    x.axis(0).stride = 1000;
    x.axis(2).stride = -3;
    std::string text = "k\n\ni x f32 64 3";
    for (const int extent : shape) text += " " + std::to_string(extent);
    EXPECT_EQ(check(text + "\n", {&x}), EMULSION_OK) << emulsion_last_error();
    x.raw.host = reinterpret_cast<uint8_t*>(1);
    EXPECT_EQ(check(text + "\n", {&x}), EMULSION_OK) << emulsion_last_error();
  }
}

TEST(CheckShapes, AnEmptyBufferOverlapsNothing) {
  TestBuffer x(kF32, {4});
  TestBuffer y(kF32, {0});
  y.raw.host = x.raw.host + 4;
  EXPECT_EQ(check("k\n\ni x f32 0 1 4\no y f32 0 1 0\n", {&x, &y}), EMULSION_OK);
  EXPECT_EQ(check("k\n\no y f32 0 1 4\ni x f32 0 1 0\n", {&x, &y}), EMULSION_OK);
}

TEST(CheckShapes, AcceptsAnEmptyBufferHoweverLargeItsOtherAxes) {
  TestBuffer x = claim(kF32, {2147483647, 2147483647, 2147483647, 0});
  EXPECT_EQ(check("k\nA\ni x f32 0 4 A A A 0\n", {&x}), EMULSION_OK) << emulsion_last_error();
}

TEST(CheckShapes, AcceptsTheLargestBuffer) {
  TestBuffer x = claim(kI8, {2147483647});
  EXPECT_EQ(check("k\nA\ni x i8 0 1 A\n", {&x}), EMULSION_OK) << emulsion_last_error();
}

TEST(CheckShapes, RefusesTwoToThe31Bytes) {
  TestBuffer x = claim(kF32, {32768, 16384});
  EXPECT_EQ(check("k\nA,B\ni x f32 0 2 A B\n", {&x}), EMULSION_ERROR_TOO_LARGE);
  EXPECT_THAT(emulsion_last_error(), HasSubstr("argument 1 (x): expected at most 2147483647 bytes, "
                                               "got shape [32768, 16384] of f32"));
}

TEST(CheckShapes, RefusesExtentsWhoseProductWrapsToSomethingSmall) {
  TestBuffer x = claim(kF64, {65536, 65536, 65536, 65536});
  EXPECT_EQ(check("k\nA\ni x f64 0 4 A A A A\n", {&x}), EMULSION_ERROR_TOO_LARGE);
  TestBuffer y = claim(kI8, {2147483647, 2147483647, 2147483647, 2147483647, 2147483647});
  EXPECT_EQ(check("k\nA\ni x i8 0 5 A A A A A\n", {&y}), EMULSION_ERROR_TOO_LARGE);
}

TEST(CheckShapes, AlignmentIsAtLeastTheElements) {
  TestBuffer x(kF64, {4});
  x.raw.host += 8;
  EXPECT_EQ(check("k\n\ni x f64 0 1 4\n", {&x}), EMULSION_OK) << emulsion_last_error();
  x.raw.host -= 4;
  EXPECT_EQ(check("k\n\ni x f64 0 1 4\n", {&x}), EMULSION_ERROR_UNALIGNED_HOST);
  EXPECT_EQ(check("k\n\ni x f64 1 1 4\n", {&x}), EMULSION_ERROR_UNALIGNED_HOST);
  EXPECT_THAT(emulsion_last_error(), HasSubstr("aligned to 8 bytes"));
}

TEST(CheckShapes, BindsASizeFromZeroUp) {
  for (const int batch : {0, 1, 2, 7, 64, 65}) {
    TestBuffer x(kF32, {batch, 8});
    TestBuffer y(kF32, {batch, 8});
    EXPECT_EQ(check("k\nB\ni x f32 64 2 B 8\no y f32 64 2 B 8\n", {&x, &y}), EMULSION_OK)
        << emulsion_last_error();
  }
}

TEST(CheckShapes, BindsThroughAnAffineExtent) {
  TestBuffer x(kF32, {9});
  TestBuffer y(kF32, {4});
  EXPECT_EQ(check("k\nB\ni x f32 0 1 2*B+1\no y f32 0 1 B\n", {&x, &y}), EMULSION_OK)
      << emulsion_last_error();
}

TEST(CheckShapes, BindsThroughANegativeCoefficient) {
  TestBuffer x(kF32, {5});
  TestBuffer y(kF32, {3});
  EXPECT_EQ(check("k\nB\ni x f32 0 1 -1*B+8\no y f32 0 1 B\n", {&x, &y}), EMULSION_OK);
  EXPECT_EQ(check("k\nB\ni x f32 0 1 8-B\no y f32 0 1 B\n", {&x, &y}), EMULSION_OK);
}

TEST(CheckShapes, RefusesAnExtentThatNoWholeSizeGives) {
  TestBuffer x(kF32, {8});
  EXPECT_EQ(check("k\nB\ni x f32 0 1 2*B+1\n", {&x}), EMULSION_ERROR_INCONSISTENT_SIZE);
  EXPECT_THAT(emulsion_last_error(),
              HasSubstr("argument 1 (x), axis 0: expected extent 2*B+1 for a "
                        "whole number B from 0 to 2147483647, got 8"));
}

TEST(CheckShapes, RefusesAnExtentThatOnlyANegativeSizeGives) {
  TestBuffer x(kF32, {1});
  EXPECT_EQ(check("k\nB\ni x f32 0 1 B+2\n", {&x}), EMULSION_ERROR_INCONSISTENT_SIZE);
  EXPECT_THAT(emulsion_last_error(), HasSubstr("expected extent B+2 for a whole number B"));
  TestBuffer y(kF32, {9});
  EXPECT_EQ(check("k\nB\ni y f32 0 1 -1*B+8\n", {&y}), EMULSION_ERROR_INCONSISTENT_SIZE);
}

// Kernels have 32 bits for a size.
TEST(CheckShapes, RefusesAnExtentThatOnlyASizeBeyondI32Gives) {
  TestBuffer x(kU8, {1});
  x.raw.dim[0].extent = INT32_MAX - 5;
  EXPECT_EQ(check("k\nB\ni x u8 0 1 B-5\n", {&x}), EMULSION_OK) << emulsion_last_error();
  x.raw.dim[0].extent = INT32_MAX - 4;
  EXPECT_EQ(check("k\nB\ni x u8 0 1 B-5\n", {&x}), EMULSION_ERROR_INCONSISTENT_SIZE);
  EXPECT_THAT(emulsion_last_error(),
              HasSubstr("expected extent B-5 for a whole number B from 0 to 2147483647, got "));
}

TEST(CheckShapes, ASizeIsBoundByTheFirstDimensionThatHasNoOther) {
  TestBuffer x(kF32, {7});  // B + T
  TestBuffer y(kF32, {5});  // T
  TestBuffer z(kF32, {2});  // B, bound by x once T is known
  const std::string text = "k\nB,T\ni x f32 0 1 B+T\ni y f32 0 1 T\no z f32 0 1 B\n";
  EXPECT_EQ(check(text, {&x, &y, &z}), EMULSION_OK) << emulsion_last_error();
  TestBuffer wrong(kF32, {3});
  EXPECT_EQ(check(text, {&x, &y, &wrong}), EMULSION_ERROR_INCONSISTENT_SIZE);
  EXPECT_THAT(
      emulsion_last_error(),
      HasSubstr("argument 3 (z), axis 0: expected extent B = 2, got 3 (B = 2 from argument 1 "
                "(x) axis 0)"));
}

TEST(CheckShapes, NamesEverySizeOfAnExtent) {
  TestBuffer x(kF32, {4, 6});
  TestBuffer y(kF32, {8});
  EXPECT_EQ(check("k\nB,T\ni x f32 0 2 B T\no y f32 0 1 B+T-3\n", {&x, &y}),
            EMULSION_ERROR_INCONSISTENT_SIZE);
  EXPECT_THAT(
      emulsion_last_error(),
      HasSubstr("argument 2 (y), axis 0: expected extent B+T-3 = 7, got 8 (B = 4 from argument 1 "
                "(x) axis 0, T = 6 from argument 1 (x) axis 1)"));
}

TEST(CheckShapes, RefusesABindingWithTheSizesThatItRestsOn) {
  TestBuffer x(kF32, {6, 7});
  EXPECT_EQ(check("k\nB,T\ni x f32 0 2 B B+2*T\n", {&x}), EMULSION_ERROR_INCONSISTENT_SIZE);
  EXPECT_THAT(emulsion_last_error(),
              HasSubstr("expected extent B+2*T for a whole number T from 0 to "
                        "2147483647, got 7 (B = 6 from argument 1 (x) axis 0)"));
}

TEST(CheckShapes, RefusesASizeThatMakesAnotherExtentNegative) {
  TestBuffer x(kF32, {9});
  TestBuffer y(kF32, {0});
  EXPECT_EQ(check("k\nB\ni x f32 0 1 B\no y f32 0 1 8-B\n", {&x, &y}),
            EMULSION_ERROR_INCONSISTENT_SIZE);
  EXPECT_THAT(emulsion_last_error(), HasSubstr("expected extent 8-B = -1, got 0"));
}

TEST(CheckShapes, HugeCoefficientsDoNotWrap) {
  TestBuffer x = claim(kI8, {0, 2147483647, 2147483647, 1});
  EXPECT_EQ(check("k\nA,B\ni x i8 0 4 0 A B 2147483647*A+2147483647*B\n", {&x}),
            EMULSION_ERROR_INCONSISTENT_SIZE);
  EXPECT_THAT(emulsion_last_error(), HasSubstr("axis 3: expected extent"));
}

// The weight as it was given elsewhere has the rank, and not the shape.
TEST(CheckShapes, SaysWhatMakesAPackedWeight) {
  TestBuffer w(kF32, {6, 20}), other(kF32, {20});
  EXPECT_EQ(check("k\n\np w w_packed f32 0 2 2 16\n", {&w}), EMULSION_ERROR_CONSTRAINT_VIOLATED);
  EXPECT_THAT(emulsion_last_error(),
              HasSubstr("expected extent 2, got 6; legal: what k_pack_w() makes of w"));
  EXPECT_EQ(check("k\n\np w w_packed f32 0 2 2 16\n", {&other}), EMULSION_ERROR_BAD_DIMENSIONS);
  EXPECT_THAT(emulsion_last_error(), HasSubstr("; legal: what k_pack_w() makes of w"));
}

TEST(CheckShapes, CutsALongMessageInsteadOfFailing) {
  TestBuffer x(kF32, {4});
  EXPECT_EQ(check(std::string(5000, 'k') + "\n\ni x f32 0 1 5\n", {&x}),
            EMULSION_ERROR_CONSTRAINT_VIOLATED);
  EXPECT_THAT(emulsion_last_error(), HasSubstr("kernel kkkk"));
  EXPECT_LT(std::string(emulsion_last_error()).size(), 1024u);
}

int check_storage(const std::vector<int64_t>& extents) {
  return emulsion_check_storage("k", "scores", "f32", 4, static_cast<int>(extents.size()),
                                extents.data());
}

TEST(CheckStorage, TakesWhatFits) {
  EXPECT_EQ(check_storage({}), EMULSION_OK);
  EXPECT_EQ(check_storage({536870911}), EMULSION_OK);
  EXPECT_EQ(check_storage({16384, 32767}), EMULSION_OK);
}

// A stage of nothing has room for one element.
TEST(CheckStorage, CountsAnEmptyAxisAsOne) {
  EXPECT_EQ(check_storage({0, 536870911}), EMULSION_OK);
  EXPECT_EQ(check_storage({-3, 0, 1}), EMULSION_OK);
  EXPECT_EQ(check_storage({0, 536870912}), EMULSION_ERROR_ALLOCATION_TOO_LARGE);
  EXPECT_EQ(check_storage({-3, 536870912}), EMULSION_ERROR_ALLOCATION_TOO_LARGE);
}

TEST(CheckStorage, RefusesWhatIsTooLarge) {
  EXPECT_EQ(check_storage({2, 16384, 16384}), EMULSION_ERROR_ALLOCATION_TOO_LARGE);
  EXPECT_STREQ(emulsion_last_error(),
               "kernel k: storage of scores: expected at most 2147483647 bytes, got 2147483648 for "
               "shape [2, 16384, 16384] of f32; legal: smaller run-time sizes, or a schedule that "
               "stores less");
}

TEST(CheckStorage, DoesNotWrap) {
  const int64_t most = 2147483647;
  EXPECT_EQ(check_storage({most, most, most, most}), EMULSION_ERROR_ALLOCATION_TOO_LARGE);
  EXPECT_EQ(check_storage({int64_t{1} << 62, 4, 4}), EMULSION_ERROR_ALLOCATION_TOO_LARGE);
  EXPECT_EQ(check_storage({int64_t{1} << 62, 4, 0}), EMULSION_ERROR_ALLOCATION_TOO_LARGE);
}

TEST(CheckIndex, TakesWhatI32Holds) {
  EXPECT_EQ(emulsion_check_index("k", "read of x, axis 0: i * 9", INT32_MIN, INT32_MAX),
            EMULSION_OK);
}

TEST(CheckIndex, RefusesWhatLeavesItOnEitherSide) {
  const int64_t most = INT32_MAX, least = INT32_MIN;
  EXPECT_EQ(emulsion_check_index("k", "read of x, axis 0: i * 9", 0, most + 1),
            EMULSION_ERROR_INDEX_TOO_LARGE);
  EXPECT_STREQ(emulsion_last_error(),
               "kernel k: read of x, axis 0: i * 9: expected an index that is computed within i32, "
               "got one that goes up to 2147483648; legal: smaller run-time sizes");
  EXPECT_EQ(emulsion_check_index("k", "read of x, axis 0: i * -9", least - 1, 0),
            EMULSION_ERROR_INDEX_TOO_LARGE);
  EXPECT_STREQ(emulsion_last_error(),
               "kernel k: read of x, axis 0: i * -9: expected an index that is computed within "
               "i32, got one that goes down to -2147483649; legal: smaller run-time sizes");
}

}  // namespace
}  // namespace emulsion::runtime

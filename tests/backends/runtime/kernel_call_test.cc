#include "backends/runtime/kernel_call.h"

#include <gtest/gtest.h>

#include <vector>

namespace emulsion::runtime {
namespace {

TEST(KernelCallTest, GivesHalideTheInnermostDimensionFirst) {
  std::vector<float> values(24);
  KernelBuffer<3> buffer(Span<const float, 3>(values.data(), {2, 3, 4}));
  const halide_buffer_t& raw = *buffer.raw();
  EXPECT_TRUE(buffer.fits());
  EXPECT_EQ(raw.dimensions, 3);
  EXPECT_EQ(raw.type, halide_type_t(halide_type_float, 32));
  EXPECT_EQ(raw.host, reinterpret_cast<uint8_t*>(values.data()));
  EXPECT_EQ(raw.dim[0], halide_dimension_t(0, 4, 1));
  EXPECT_EQ(raw.dim[1], halide_dimension_t(0, 3, 4));
  EXPECT_EQ(raw.dim[2], halide_dimension_t(0, 2, 12));
}

TEST(KernelCallTest, KnowsEveryElementType) {
  EXPECT_EQ(halide_type(element_type<const bool>()), halide_type_t(halide_type_uint, 1));
  EXPECT_EQ(halide_type(element_type<int32_t>()), halide_type_t(halide_type_int, 32));
  EXPECT_EQ(halide_type(element_type<double>()), halide_type_t(halide_type_float, 64));
}

TEST(KernelCallTest, TakesAScalar) {
  float value = 1;
  KernelBuffer<0> buffer(Span<float, 0>(&value, {}));
  EXPECT_TRUE(buffer.fits());
  EXPECT_EQ(buffer.raw()->dimensions, 0);
}

TEST(KernelCallTest, NoticesExtentsThatDoNotFit) {
  for (int64_t extent : {int64_t{1} << 31, int64_t{1} << 40, -(int64_t{1} << 40)}) {
    KernelBuffer<2> buffer(Span<float, 2>(nullptr, {2, extent}));
    EXPECT_FALSE(buffer.fits()) << extent;
  }
  EXPECT_EQ(too_large("f", "x").code, EMULSION_ERROR_TOO_LARGE);
}

TEST(KernelCallTest, KeepsStridesOfHugeShapesInRange) {
  const int64_t most = (int64_t{1} << 31) - 1;
  KernelBuffer<3> buffer(Span<float, 3>(nullptr, {most, most, most}));
  EXPECT_TRUE(buffer.fits());
  EXPECT_EQ(buffer.raw()->dim[1].stride, most);
  EXPECT_EQ(buffer.raw()->dim[2].stride, most);
}

}  // namespace
}  // namespace emulsion::runtime

#include "benchmarks/kernel_seconds.h"

#include <gtest/gtest.h>

#include "dsl/error.h"

namespace emulsion::benchmarks {
namespace {

TEST(ParseKernelSeconds, ReadsTheGeneratorsLine) {
  KernelSeconds seconds = parse_kernel_seconds("1x4096x4096 unfused 0.004000 0.610000");
  EXPECT_EQ(seconds.shape, (LinearShape{1, 4096, 4096}));
  EXPECT_FALSE(seconds.fused);
  EXPECT_DOUBLE_EQ(seconds.until_lowered, 0.004);
  EXPECT_DOUBLE_EQ(seconds.until_compiled, 0.61);
}

class BadLine : public testing::TestWithParam<const char*> {};

TEST_P(BadLine, IsRefused) { EXPECT_THROW(parse_kernel_seconds(GetParam()), Error); }

INSTANTIATE_TEST_SUITE_P(ParseKernelSeconds, BadLine,
                         testing::Values("", "1x1x1 fused 0.1", "1x1x1 sideways 0.1 0.2",
                                         "1x1 fused 0.1 0.2", "1x1x1 fused 0.1 0.2 more",
                                         "1x1x1 fused soon later"));

}  // namespace
}  // namespace emulsion::benchmarks

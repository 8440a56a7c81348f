#include "benchmarks/linear_shape.h"

#include <gtest/gtest.h>

#include "dsl/error.h"

namespace emulsion::benchmarks {
namespace {

TEST(LinearShape, ParsesWhatItPrints) {
  LinearShape shape = LinearShape::parse("128x3072x768");
  EXPECT_EQ(shape, (LinearShape{128, 3072, 768}));
  EXPECT_EQ(shape.to_string(), "128x3072x768");
}

TEST(LinearShape, CountsAMultiplyAddAsTwo) { EXPECT_EQ((LinearShape{2, 3, 5}).flops(), 60); }

class BadShape : public testing::TestWithParam<const char*> {};

TEST_P(BadShape, IsRefusedWithAnExample) {
  try {
    LinearShape::parse(GetParam());
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("expected MxNxK"), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(LinearShape, BadShape,
                         testing::Values("", "1", "1x2", "1x2x", "x1x2x3", "1x2x3x4", "1x2x3 ",
                                         "0x1x1", "1x-2x3", "1*2*3", "axbxc",
                                         "99999999999999999999x1x1"));

}  // namespace
}  // namespace emulsion::benchmarks

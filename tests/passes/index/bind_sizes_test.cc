#include "passes/index/bind_sizes.h"

#include <gtest/gtest.h>

#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

const Extent B = Extent::size("B");
const Extent C = Extent::size("C");

TEST(BindSizes, TakesASizeFromAnAxis) {
  EXPECT_EQ(bind_sizes({{"x", {B, 256}}}, {{7, 256}}), (SizeValues{{"B", 7}}));
}

TEST(BindSizes, OfConstantShapesAreNone) {
  EXPECT_EQ(bind_sizes({{"x", {2, 3}}, {"s", {}}}, {{2, 3}, {}}), SizeValues());
}

TEST(BindSizes, AllowsASizeOfZero) {
  EXPECT_EQ(bind_sizes({{"x", {B, 3}}}, {{0, 3}}), (SizeValues{{"B", 0}}));
}

TEST(BindSizes, SolvesAnAffineExtent) {
  EXPECT_EQ(bind_sizes({{"x", {B * Extent(2) + Extent(1)}}}, {{7}}), (SizeValues{{"B", 3}}));
}

TEST(BindSizes, SolvesANegativeCoefficient) {
  EXPECT_EQ(bind_sizes({{"x", {Extent(10) - B}}}, {{7}}), (SizeValues{{"B", 3}}));
}

TEST(BindSizes, SolvesOneSizeAfterAnother) {
  // The first axis has two unknowns until the second argument gives B.
  EXPECT_EQ(bind_sizes({{"x", {B + C}}, {"y", {B}}}, {{5}, {2}}), (SizeValues{{"B", 2}, {"C", 3}}));
}

TEST(BindSizes, KeepsSizesThatTheCallerGives) {
  EXPECT_EQ(bind_sizes({{"x", {B}}}, {{4}}, {{"N", 9}}), (SizeValues{{"B", 4}, {"N", 9}}));
}

TEST(BindSizes, SolvesWithSizesThatTheCallerGives) {
  EXPECT_EQ(bind_sizes({{"x", {B + C}}}, {{9}}, {{"C", 4}}), (SizeValues{{"B", 5}, {"C", 4}}));
}

TEST(BindSizes, RefusesAWrongRank) {
  EXPECT_ERROR(bind_sizes({{"x", {B, 256}}}, {{7}}),
               "argument x: expected 2 axes [B, 256], got 1 axis [7]");
}

TEST(BindSizes, RefusesAWrongConstant) {
  EXPECT_ERROR(bind_sizes({{"x", {B, 256}}}, {{7, 255}}),
               "argument x, axis 1: expected 256, got 255");
}

TEST(BindSizes, RefusesTwoArgumentsThatDisagree) {
  EXPECT_ERROR(bind_sizes({{"x", {B, 2}}, {"y", {3, B}}}, {{7, 2}, {3, 8}}),
               "argument y, axis 1: expected 7 (B, B = 7 from argument x, axis 0), got 8");
}

TEST(BindSizes, RefusesTwoAxesThatDisagree) {
  EXPECT_ERROR(bind_sizes({{"x", {B, B + Extent(1)}}}, {{7, 7}}),
               "argument x, axis 1: expected 8 (B + 1, B = 7 from argument x, axis 0), got 7");
}

TEST(BindSizes, RefusesAnExtentThatNoSizeGives) {
  EXPECT_ERROR(bind_sizes({{"x", {B * Extent(2)}}}, {{7}}),
               "argument x, axis 0: expected 2*B with a whole number B of 0 or greater, got 7");
}

TEST(BindSizes, RefusesANegativeSize) {
  EXPECT_ERROR(bind_sizes({{"x", {B + Extent(3)}}}, {{2}}),
               "whole number B of 0 or greater, got 2");
}

TEST(BindSizes, RefusesANegativeExtent) {
  EXPECT_ERROR(bind_sizes({{"x", {B}}}, {{-1}}),
               "argument x, axis 0: expected 0 or greater, got -1");
}

TEST(BindSizes, RefusesSizesThatDoNotFollow) {
  EXPECT_ERROR(bind_sizes({{"x", {B + C}}}, {{9}}),
               "axis 0: expected shapes from which run-time size B");
}

TEST(BindSizes, RefusesAGivenSizeThatAShapeContradicts) {
  EXPECT_ERROR(bind_sizes({{"x", {B}}}, {{4}}, {{"B", 5}}),
               "expected 5 (B, B = 5 given by the caller), got 4");
}

TEST(BindSizes, RefusesAGivenSizeThatIsNegative) {
  EXPECT_ERROR(bind_sizes({}, {}, {{"B", -5}}), "run-time size B: expected 0 or greater, got -5");
}

TEST(BindSizes, RefusesAnOverflow) {
  const Extent huge = B * Extent(int64_t{1} << 62);
  EXPECT_ERROR(bind_sizes({{"x", {huge}}}, {{4}}, {{"B", 4}}), "does not fit 64 bits");
}

TEST(BindSizes, RefusesAsManyShapesAsThereAreNotArguments) {
  EXPECT_INTERNAL_ERROR(bind_sizes({{"x", {B}}}, {}), "0 shapes for 1 arguments");
}

}  // namespace
}  // namespace emulsion

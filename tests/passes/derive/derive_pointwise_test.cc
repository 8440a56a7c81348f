// Elementwise operations whose rows have a run-time length: it may be that of pixels.

#include <gtest/gtest.h>

#include <string>

#include "dsl/operators.h"
#include "passes/derive/derive_schedule.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kRows = Extent::size("R"), kLength = Extent::size("C");
const Target kV3 = Target::parse("x86-64-v3,cores=1");
const Target kFour = Target::parse("x86-64-v3,cores=4");

Tensor scaled(const Extent& rows, const Extent& length, const std::string& name = "y") {
  return mul(input("x", f32, {rows, length}), input("s", f32, {length}), name);
}

TEST(DerivePointwise, RowsOfARunTimeLengthMayBePixels) {
  const std::string text = derived(scaled(kRows, kLength), kV3);
  for (const char* length : {"1", "2", "3"}) {
    EXPECT_TRUE(has(text, "y.specialize(C == " + std::string(length) +
                              ")\ny.split(i0, i0, lane, 8, predicate)\n"
                              "y.reorder(lane, i1)\ny.vectorize(lane)\ny.unroll(i1)\n"))
        << text;
  }
  EXPECT_TRUE(has(text, "y.specialize(C > 3)\ny.split(i1, i1, i1_v, 8, predicate)\n")) << text;
}

TEST(DerivePointwise, ThreadsAreAskedForInEachCase) {
  const std::string text = derived(scaled(kRows, kLength), kFour);
  EXPECT_TRUE(has(text, "y.specialize(C == 3 && R >= 43691)\n")) << text;
  EXPECT_TRUE(has(text, "y.parallel(block)\ny.specialize(C == 3)\n")) << text;
  const std::string many = derived(scaled(1 << 20, kLength), kFour);
  EXPECT_TRUE(has(many, "y.unroll(i1)\ny.parallel(block)\ny.specialize(C == 2)\n")) << many;
}

TEST(DerivePointwise, EveryLengthIsRight) {
  const Tensor three = relu(input("x", f32, {kRows, 20, kLength}) + 1, "y");
  for (const Target& target : {kV3, kFour, Target::parse("x86-64-v4,cores=1")}) {
    for (const Tensor& y : {scaled(kRows, kLength), scaled(40, kLength), three,
                            cast(input("x", u8, {kRows, kLength}), f32)}) {
      EXPECT_TRUE(derives(Graph(y), target, {0, 1, 2, 3, 4, 5, 8, 17, 33}));
    }
  }
}

TEST(DerivePointwise, NotOfRowsThatAreFewOrAlone) {
  for (const Tensor& y : {scaled(4, kLength), relu(input("x", f32, {kLength})),
                          relu(input("x", f32, {kRows, 3})), relu(input("x", f32, {kRows, 64}))}) {
    EXPECT_FALSE(has(derived(y, kV3), "specialize")) << derived(y, kV3);
  }
}

// The rows of a square are as many as they are long; a row may have borders, or be read elsewhere.
TEST(DerivePointwise, NotOfOtherLengthsOrOfRowsThatAreReadOtherwise) {
  const Axis i("i", kRows), j("j", kLength);
  const Tensor x = input("x", f32, {kRows, kLength});
  for (const Tensor& y : {scaled(kLength, kLength), scaled(kRows, kLength + Extent(1)),
                          scaled(kRows, kLength * 2), pad(x, {0, 1}, {0, 0}), transpose(x, {1, 0}),
                          compute("y", {i, j}, select(Expr(i) >= 2, x(i, j), 0.0f)),
                          compute("y", {i, j}, x(i, min(Expr(j) + 1, size_value("C") - 1)))}) {
    EXPECT_FALSE(has(derived(y, kV3), "specialize")) << derived(y, kV3);
  }
}

}  // namespace
}  // namespace emulsion

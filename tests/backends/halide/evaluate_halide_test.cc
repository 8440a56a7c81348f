#include "tests/backends/halide/evaluate_halide.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

const Halide::Expr kX = hi::Variable::make(Halide::Int(32), "x");
const Halide::Expr kY = hi::Variable::make(Halide::Int(32), "y");

// Each operator against Halide's own arithmetic, with signs and zeros.
TEST(EvaluateHalide, AgreesWithTheSimplifier) {
  const Halide::Expr exprs[] = {kX + kY,
                                kX - kY,
                                kX * kY,
                                kX / kY,
                                kX % kY,
                                Halide::min(kX, kY),
                                Halide::max(kX, kY),
                                Halide::select(kX < kY || kX == 2, kX, kY + 1),
                                Halide::select(kX >= kY && !(kX != 3), kX, -kY),
                                Halide::cast<int32_t>(Halide::cast<int8_t>(kX * 100)),
                                Halide::cast<int32_t>(Halide::cast<uint8_t>(kX * 100)),
                                Halide::cast<int32_t>(Halide::reinterpret<uint32_t>(kX) > 5),
                                Halide::reinterpret<int32_t>(Halide::reinterpret<uint32_t>(kX)),
                                Halide::select(Halide::likely(kX <= kY), 7, 8),
                                Halide::select(kX > kY, 7, 8)};
  for (const Halide::Expr& expr : exprs) {
    for (int x = -7; x <= 7; ++x) {
      for (int y = -3; y <= 3; ++y) {
        const Halide::Expr simple = hi::simplify(hi::substitute({{"x", x}, {"y", y}}, expr));
        const auto expected = hi::as_const_int(hi::simplify(hi::remove_likelies(simple)));
        if (!expected) continue;  // of a division by zero
        EXPECT_EQ(evaluate_halide(expr, {{"x", x}, {"y", y}}), *expected) << expr << x << " " << y;
      }
    }
  }
}

TEST(EvaluateHalide, KnowsWhatDataDecide) {
  const Halide::Expr load =
      hi::Load::make(Halide::Int(32), "b", kX, Halide::Buffer<>(), Halide::Parameter(),
                     hi::const_true(), hi::ModulusRemainder());
  EXPECT_TRUE(follows_from_variables(Halide::select(kX < kY, kX, kY / 2)));
  EXPECT_FALSE(follows_from_variables(kX + load));
  EXPECT_FALSE(follows_from_variables(Halide::cast<int32_t>(Halide::cast<float>(kX) * 2.0f)));
  EXPECT_THROW(evaluate_halide(load, {{"x", 1}}), std::runtime_error);
}

TEST(EvaluateHalide, RefusesAVariableWithoutAValue) {
  EXPECT_THROW(evaluate_halide(kX + 1, {{"y", 1}}), std::runtime_error);
}

}  // namespace
}  // namespace emulsion

// A thread computes floats as another does for a while, and then as it did before.

#include "backends/runtime/float_control.h"

#include <gtest/gtest.h>

namespace emulsion::runtime {
namespace {

constexpr unsigned kZeroDenormals = 0x8040;

float third_of(float number) {
  volatile float dividend = number;
  return dividend / 3;
}

TEST(FloatControl, LastsAsLongAsItLives) {
  const unsigned before = _mm_getcsr();
  const float to_nearest = third_of(1);  // rounded up
  {
    const FloatControl control((before & ~0x6000U) | _MM_ROUND_DOWN);
    EXPECT_LT(third_of(1), to_nearest);
    const FloatControl inner(before | kZeroDenormals);
    EXPECT_EQ(third_of(1), to_nearest);
    EXPECT_EQ(third_of(1e-39F), 0);
  }
  EXPECT_EQ(third_of(1), to_nearest);
  EXPECT_GT(third_of(1e-39F), 0);
  EXPECT_EQ(_mm_getcsr() & ~kFloatFlags, before & ~kFloatFlags);
}

// What was raised before and what was raised meanwhile; not what the other thread had raised.
TEST(FloatControl, FlagsAreTheThreadsOwn) {
  _mm_setcsr((_mm_getcsr() & ~kFloatFlags) | _MM_EXCEPT_OVERFLOW);
  {
    const FloatControl control(_mm_getcsr() | _MM_EXCEPT_DIV_ZERO);
    EXPECT_EQ(_mm_getcsr() & kFloatFlags, 0U + _MM_EXCEPT_OVERFLOW);
    third_of(1);
  }
  EXPECT_EQ(_mm_getcsr() & kFloatFlags, 0U + (_MM_EXCEPT_OVERFLOW | _MM_EXCEPT_INEXACT));
  _mm_setcsr(_mm_getcsr() & ~kFloatFlags);
}

}  // namespace
}  // namespace emulsion::runtime

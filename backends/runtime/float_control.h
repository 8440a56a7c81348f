#ifndef EMULSION_BACKENDS_RUNTIME_FLOAT_CONTROL_H_
#define EMULSION_BACKENDS_RUNTIME_FLOAT_CONTROL_H_

// How a thread computes floats: to which side it rounds, and whether denormal numbers are zero.

#include <xmmintrin.h>

namespace emulsion::runtime {

// Flags of float operations that have happened are the thread's own; how it rounds and what it does
// with denormal numbers is the caller's, so that each thread gives the same bits.
constexpr unsigned kFloatFlags = 0x3f;

// As long as it lives, the thread computes floats as `control` says.
class FloatControl {
 public:
  explicit FloatControl(unsigned control) : before_(_mm_getcsr()) {
    _mm_setcsr((control & ~kFloatFlags) | (before_ & kFloatFlags));
  }
  ~FloatControl() { _mm_setcsr((before_ & ~kFloatFlags) | (_mm_getcsr() & kFloatFlags)); }
  FloatControl(const FloatControl&) = delete;
  FloatControl& operator=(const FloatControl&) = delete;

 private:
  const unsigned before_;
};

}  // namespace emulsion::runtime

#endif  // EMULSION_BACKENDS_RUNTIME_FLOAT_CONTROL_H_

// What float operations of a parallel loop raise stays raised on the thread that calls.

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <cfenv>
#include <cstdint>
#include <thread>

#include "HalideRuntime.h"

namespace emulsion::runtime {
namespace {

struct Shared {
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> called{false};
  bool divides = true;
};

// The caller's thread goes first, so that it takes part.
int step(void* /*user_context*/, int /*index*/, uint8_t* closure) {
  auto& shared = *reinterpret_cast<Shared*>(closure);
  while (std::this_thread::get_id() != shared.caller && !shared.called) std::this_thread::yield();
  volatile float divisor = shared.divides ? 0 : 2;
  volatile float quotient = 1 / divisor;
  static_cast<void>(quotient);
  shared.called = true;
  return 0;
}

int flags_of_loop(int size, bool divides) {
  omp_set_num_threads(4);
  Shared shared;
  shared.divides = divides;
  std::feclearexcept(FE_ALL_EXCEPT);
  EXPECT_EQ(halide_do_par_for(nullptr, step, 0, size, reinterpret_cast<uint8_t*>(&shared)), 0);
  return std::fetestexcept(FE_ALL_EXCEPT);
}

TEST(FloatFlags, OfALoopAreRaised) {
  for (const int size : {1, 64}) EXPECT_EQ(flags_of_loop(size, true), FE_DIVBYZERO) << size;
}

TEST(FloatFlags, OfALoopThatRaisesNoneAreNotRaised) {
  for (const int size : {1, 64}) EXPECT_EQ(flags_of_loop(size, false), 0) << size;
}

}  // namespace
}  // namespace emulsion::runtime

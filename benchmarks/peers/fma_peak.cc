#include "benchmarks/peers/fma_peak.h"

namespace emulsion::benchmarks {
namespace {

constexpr float kDecay = 0.5F, kStep = 1.0F;

// `count` independent accumulators, more than latency times throughput, and no memory. The empty
// asm statements make values that the compiler cannot know, so that nothing is folded, and use the
// results. sum = sum * decay + step converges, so no operand is ever denormal or infinite. Compiled
// into each of the functions below, for its instructions: there the compiler makes one multiply-add
// of the two operations where the instructions have it.
template <typename Vector, int count>
[[gnu::always_inline]] inline void run_loop(int64_t rounds) {
  Vector decay = Vector{} + kDecay, step = Vector{} + kStep;
  asm volatile("" : "+v"(decay), "+v"(step));
  Vector sums[count];
#pragma GCC unroll 16
  for (Vector& sum : sums) {
    sum = step;
    asm volatile("" : "+v"(sum));  // else all sums are one
  }
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 16
    for (Vector& sum : sums) sum = sum * decay + step;
  }
#pragma GCC unroll 16
  for (Vector& sum : sums) asm volatile("" ::"v"(sum));
}

using Floats4 = float __attribute__((vector_size(16)));
using Floats8 = float __attribute__((vector_size(32)));
using Floats16 = float __attribute__((vector_size(64)));
constexpr int kAvx512Sums = 16, kAvx2Sums = 12, kSse2Sums = 12;

[[gnu::target("avx512f")]] void loop_avx512(int64_t rounds) {
  run_loop<Floats16, kAvx512Sums>(rounds);
}
[[gnu::target("avx2,fma")]] void loop_avx2(int64_t rounds) { run_loop<Floats8, kAvx2Sums>(rounds); }
void loop_sse2(int64_t rounds) { run_loop<Floats4, kSse2Sums>(rounds); }

struct Loop {
  void (*run)(int64_t rounds);
  int64_t flops_per_round;
  const char* instructions;
};

const Loop& loop_of_this_machine() {
  static const Loop loop = [] {
    if (__builtin_cpu_supports("avx512f")) {
      return Loop{loop_avx512, int64_t{kAvx512Sums} * 16 * 2, "AVX-512"};
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
      return Loop{loop_avx2, int64_t{kAvx2Sums} * 8 * 2, "AVX2"};
    }
    return Loop{loop_sse2, int64_t{kSse2Sums} * 4 * 2, "SSE2"};
  }();
  return loop;
}

}  // namespace

std::string fma_instructions() { return loop_of_this_machine().instructions; }

int64_t run_fma_loop(int64_t rounds, int threads) {
  const Loop& loop = loop_of_this_machine();
  if (threads == 1) {
    loop.run(rounds);
  } else {
#pragma omp parallel num_threads(threads)
    loop.run(rounds);
  }
  return rounds * loop.flops_per_round * threads;
}

}  // namespace emulsion::benchmarks

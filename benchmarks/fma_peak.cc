#include "benchmarks/fma_peak.h"

#include <immintrin.h>

namespace emulsion::benchmarks {
namespace {

// In every loop: independent accumulators, more than latency times throughput, and no memory. The
// empty asm statements make values that the compiler cannot know, so that nothing is folded, and
// use the results. sum = sum * decay + step converges, so no operand is ever denormal or infinite.

constexpr float kDecay = 0.5F, kStep = 1.0F;

struct Loop {
  void (*run)(int64_t rounds);
  int64_t flops_per_round;
  const char* instructions;
};

constexpr int kAvx512Sums = 16;

__attribute__((target("avx512f"))) void loop_avx512(int64_t rounds) {
  __m512 decay = _mm512_set1_ps(kDecay), step = _mm512_set1_ps(kStep);
  asm volatile("" : "+v"(decay), "+v"(step));
  __m512 sums[kAvx512Sums];
#pragma GCC unroll 16
  for (__m512& sum : sums) {
    sum = step;
    asm volatile("" : "+v"(sum));  // else all sums are one
  }
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 16
    for (__m512& sum : sums) sum = _mm512_fmadd_ps(sum, decay, step);
  }
#pragma GCC unroll 16
  for (__m512& sum : sums) asm volatile("" ::"v"(sum));
}

constexpr int kAvx2Sums = 12;

__attribute__((target("avx2,fma"))) void loop_avx2(int64_t rounds) {
  __m256 decay = _mm256_set1_ps(kDecay), step = _mm256_set1_ps(kStep);
  asm volatile("" : "+x"(decay), "+x"(step));
  __m256 sums[kAvx2Sums];
#pragma GCC unroll 12
  for (__m256& sum : sums) {
    sum = step;
    asm volatile("" : "+x"(sum));  // else all sums are one
  }
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (__m256& sum : sums) sum = _mm256_fmadd_ps(sum, decay, step);
  }
#pragma GCC unroll 12
  for (__m256& sum : sums) asm volatile("" ::"x"(sum));
}

constexpr int kSse2Sums = 12;

void loop_sse2(int64_t rounds) {
  __m128 decay = _mm_set1_ps(kDecay), step = _mm_set1_ps(kStep);
  asm volatile("" : "+x"(decay), "+x"(step));
  __m128 sums[kSse2Sums];
#pragma GCC unroll 12
  for (__m128& sum : sums) {
    sum = step;
    asm volatile("" : "+x"(sum));  // else all sums are one
  }
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (__m128& sum : sums) sum = _mm_add_ps(_mm_mul_ps(sum, decay), step);
  }
#pragma GCC unroll 12
  for (__m128& sum : sums) asm volatile("" ::"x"(sum));
}

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

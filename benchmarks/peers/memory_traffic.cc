#include "benchmarks/peers/memory_traffic.h"

#include <emmintrin.h>

#include <algorithm>

namespace emulsion::benchmarks {
namespace {

// Integers: their sum may be reordered, so the compiler makes vectors of it without being told to.
// Several places are read in turn: a processor fetches ahead for each of them, and one alone does
// not fill its memory's bandwidth.
__attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3"))) uint32_t read_part(
    const uint32_t* words, int64_t count) {
  const int64_t quarter = count / 4;
  const uint32_t *a = words, *b = a + quarter, *c = b + quarter, *d = c + quarter;
  uint32_t sum_a = 0, sum_b = 0, sum_c = 0, sum_d = 0;
  for (int64_t i = 0; i < quarter; ++i) {
    sum_a += a[i];
    sum_b += b[i];
    sum_c += c[i];
    sum_d += d[i];
  }
  for (int64_t i = 4 * quarter; i < count; ++i) sum_a += words[i];
  return sum_a + sum_b + sum_c + sum_d;
}

}  // namespace

uint32_t read_all(const std::vector<uint32_t>& words, int threads) {
  const int64_t count = static_cast<int64_t>(words.size());
  const int64_t part = (count + threads - 1) / threads;
  uint32_t sum = 0;
  if (threads == 1) return read_part(words.data(), count);
#pragma omp parallel for num_threads(threads) reduction(+ : sum) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    const int64_t begin = std::min(part * t, count), end = std::min(begin + part, count);
    sum += read_part(words.data() + begin, end - begin);
  }
  return sum;
}

void evict(const void* data, size_t bytes) {
  constexpr size_t kCacheLine = 64;
  const char* begin = static_cast<const char*>(data);
  for (size_t offset = 0; offset < bytes; offset += kCacheLine) _mm_clflush(begin + offset);
  if (bytes > 0) _mm_clflush(begin + bytes - 1);
  _mm_mfence();
}

}  // namespace emulsion::benchmarks

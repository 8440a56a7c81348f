#ifndef EMULSION_BENCHMARKS_PEERS_FMA_PEAK_H_
#define EMULSION_BENCHMARKS_PEERS_FMA_PEAK_H_

// What the processor can do at best, measured where and when the kernels are: multiply-adds on
// registers alone. A share of nominal GHz would say more about the machine's clock than about a
// kernel.

#include <cstdint>
#include <string>

namespace emulsion::benchmarks {

// The instructions of this machine's loop: "AVX-512", "AVX2" or "SSE2" (multiply and add apart).
std::string fma_instructions();

// Runs `rounds` rounds of the loop on each of `threads` OpenMP threads (1: the calling one);
// returns the floating-point operations that all of them did. The caller takes the time.
int64_t run_fma_loop(int64_t rounds, int threads);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_PEERS_FMA_PEAK_H_

#ifndef EMULSION_BENCHMARKS_PEERS_MEMORY_TRAFFIC_H_
#define EMULSION_BENCHMARKS_PEERS_MEMORY_TRAFFIC_H_

// The memory under the kernels: how fast it can be read (the bound of a layer with one row), and
// how to make the caches forget it (a layer's first call, after everything else that an application
// does).

#include <cstddef>
#include <cstdint>
#include <vector>

namespace emulsion::benchmarks {

// Reads every word once, on `threads` OpenMP threads with a contiguous part each. Returns their
// sum, so that the reading is needed.
uint32_t read_all(const std::vector<uint32_t>& words, int threads);

// Drops these bytes from every cache of every core, and waits until that is done.
void evict(const void* data, size_t bytes);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_PEERS_MEMORY_TRAFFIC_H_

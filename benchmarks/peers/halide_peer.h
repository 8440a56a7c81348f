#ifndef EMULSION_BENCHMARKS_PEERS_HALIDE_PEER_H_
#define EMULSION_BENCHMARKS_PEERS_HALIDE_PEER_H_

// What the benchmarks' programs in plain Halide have in common.

#include <cstdint>
#include <functional>
#include <string>

namespace emulsion::benchmarks {

// What Halide throws, as our Error.
void calling_halide(const std::string& what, const std::function<void()>& call);
// The same of a kernel, which returns 0 when all went well.
void running_halide(const std::string& what, const std::function<int()>& kernel);

// Which threads run the parallel loops of JIT-compiled kernels, Emulsion's too: Halide's own pool
// or the caller alone. (The pool's own number of threads cannot be made smaller once it has
// started.)
enum class HalideThreads : uint8_t { one, all };
void set_halide_threads(HalideThreads threads);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_PEERS_HALIDE_PEER_H_

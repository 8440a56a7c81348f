#ifndef EMULSION_BENCHMARKS_HALIDE_PEER_H_
#define EMULSION_BENCHMARKS_HALIDE_PEER_H_

// What the benchmarks' programs in plain Halide have in common.

#include <functional>
#include <string>

namespace emulsion::benchmarks {

// What Halide throws, as our Error.
void calling_halide(const std::string& what, const std::function<void()>& call);
// The same of a kernel, which returns 0 when all went well.
void running_halide(const std::string& what, const std::function<int()>& kernel);

// Of Halide's pool, which Emulsion's JIT uses too; 0: as many as there are cores.
void set_halide_threads(int count);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_HALIDE_PEER_H_

#ifndef EMULSION_BENCHMARKS_PEERS_HALIDE_CODE_H_
#define EMULSION_BENCHMARKS_PEERS_HALIDE_CODE_H_

// What the pipelines written in Halide have in common, and what Halide makes of one, whoever wrote
// it, in a form in which two can be compared.

#include <string>
#include <vector>

#include "Halide.h"
#include "dsl/target.h"

namespace emulsion::benchmarks {

// Tells Halide that an argument is dense, `extents` long from 0, the innermost dimension first.
template <typename Parameter>
void expect_dense(Parameter&& parameter, const std::vector<int>& extents) {
  int stride = 1;
  for (int d = 0; d < static_cast<int>(extents.size()); ++d) {
    const int extent = extents[static_cast<size_t>(d)];
    parameter.dim(d).set_bounds(0, extent).set_stride(stride);
    stride *= extent;
  }
}

// The array that such an argument comes in.
template <typename T>
Halide::Buffer<T> dense(const T* data, const std::vector<int>& extents) {
  return Halide::Buffer<T>(const_cast<T*>(data), extents);
}

// Halide's target, for which the entry does not ask whether a call is a question about bounds.
Halide::Target without_queries(const Target& target);

// The loops that are left after unrolling and vectorization, with the calls, allocations, loads and
// stores in each, by type and number, without names or addresses:
//   call halide_do_par_for
//   for 16
//     allocate 8704 uint16
//     for 34
//       for 16
//         3 load uint16x16
//         1 store uint16x16
std::string loops_and_accesses(const Halide::Module& module);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_PEERS_HALIDE_CODE_H_

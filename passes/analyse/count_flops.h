#ifndef EMULSION_PASSES_ANALYSE_COUNT_FLOPS_H_
#define EMULSION_PASSES_ANALYSE_COUNT_FLOPS_H_

// How much arithmetic a graph asks for, whatever its schedule does: what a benchmark divides by
// time. Every arithmetic operator on floats counts as one (an exp too), comparisons and data
// movement as none, so a matmul is 2 * M * N * K.

#include <cstdint>
#include <vector>

#include "dsl/extent.h"
#include "dsl/graph.h"

namespace emulsion {

// operations * the product of extents. Not one Extent: M * N * K of run-time sizes is not affine.
struct FlopTerm {
  int64_t operations = 0;
  std::vector<Extent> extents;

  bool operator==(const FlopTerm& other) const {
    return operations == other.operations && extents == other.extents;
  }
};

// In the order of the operations; those without arithmetic on floats are left out.
std::vector<FlopTerm> count_flops(const Graph& graph);
// Of one operation, or of the members of a group.
std::vector<FlopTerm> count_flops(const Op& op);
// Saturates at 2^63 - 1. Error: a size without a value.
int64_t total_flops(const std::vector<FlopTerm>& terms, const SizeValues& sizes);

}  // namespace emulsion

#endif  // EMULSION_PASSES_ANALYSE_COUNT_FLOPS_H_

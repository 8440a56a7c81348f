#ifndef EMULSION_TESTS_PASSES_DERIVE_STENCIL_GRAPHS_H_
#define EMULSION_TESTS_PASSES_DERIVE_STENCIL_GRAPHS_H_

// Chains of stencils, for tests of what derives and runs windows that slide.

#include <string>
#include <utility>
#include <vector>

#include "dsl/graph.h"
#include "dsl/target.h"

namespace emulsion {

// y[i, j] = bx[i, j] + bx[i + 1, j] + bx[i + 2, j], where bx[i, j] = x[i, j] + x[i, j + 1] +
// x[i, j + 2].
Graph blur_graph(const Extent& rows, const Extent& columns, DType dtype = DType::f32);
// By name; one axis of each has the run-time size B. Too little work for several threads.
std::vector<std::pair<std::string, Graph>> stencil_graphs();
// Enough work for several threads; the run-time size, where there is one, is B.
std::vector<std::pair<std::string, Graph>> large_stencil_graphs();
// A machine whose caches are so small that their results do not fit, but windows do.
Target small_cache(int cores);

}  // namespace emulsion

#endif  // EMULSION_TESTS_PASSES_DERIVE_STENCIL_GRAPHS_H_

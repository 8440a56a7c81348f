#ifndef EMULSION_PASSES_DERIVE_PRECOMPUTE_PARTS_H_
#define EMULSION_PASSES_DERIVE_PRECOMPUTE_PARTS_H_

// What an elementwise operation computes of its columns alone, and that takes long, is computed
// once and not for each row:
//
//   y[n, c] = x[n, c] / sqrt(v[c] + eps)  ->  part[c] = sqrt(v[c] + eps); y[n, c] = x[n, c] /
//   part[c]
//
// Of a run-time number of rows only where these are several: of a few, storing it would take longer
// than computing it again. What depends on rows alone is no part: vectors go along columns, so that
// it is outside of them anyway. Private to passes/derive/.

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"

namespace emulsion {

// The schedule of `shared`, in which all stages have their loops, with such parts (precompute).
Schedule with_precomputed_parts(const Graph& shared, const Target& target,
                                const Schedule& schedule);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_PRECOMPUTE_PARTS_H_

#ifndef EMULSION_PASSES_DERIVE_VALUES_IN_SUMS_H_
#define EMULSION_PASSES_DERIVE_VALUES_IN_SUMS_H_

// Elementwise values that sums, maxima and the like read, and that are in no loop group: they need
// not be stored, for a sum that reads each of their elements once computes them as well.
//
//   d = x - mean;  v = d * d;  s[c] = sum over n of v[n, c];  y[n, c] = d[n, c] * scale[c]
//     ->  s[c] = sum over n of (x[n, c] - mean[c]) * ..;  y[n, c] = (x[n, c] - mean[c]) * scale[c]
//
// One that others read too is computed by each of them, where that takes no longer than to load it.
// One that no sum reads is computed where its only reader reads it, elsewhere than at its own axes
// (values_in_points.h): read_through() leaves those that are made of sums, for they may be in loops
// of these.
// Sums of a whole tensor are read_through()'s. Private to passes/derive/.

#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dsl/graph.h"
#include "dsl/target.h"

namespace emulsion {

struct ValuesInSums {
  std::set<std::string> inlined;  // operations that are stored nowhere
  // What their readers, operations of the graph, compute.
  std::unordered_map<const Op*, OpPtr> readers;
};
// Adds the values, and what computes them.
void add_computed(const ValuesInSums& values, const Graph& grouped,
                  std::unordered_set<const Op*>* done);

// The same operations; in the place of one that computes values, what it computes.
std::vector<const Op*> with_values(std::vector<const Op*> operations, const ValuesInSums& values);

// Those of a graph as read_through() gave it, in which the operations in `done` have loops already.
// Sums that wait in registers may compute them. `wanted` is asked of each value that could be.
ValuesInSums values_in_sums(const Graph& grouped, const Target& target,
                            const std::unordered_set<const Op*>& done,
                            const std::function<bool(const Op& value)>& wanted = {});

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_VALUES_IN_SUMS_H_

#ifndef EMULSION_PASSES_DERIVE_POINT_CYCLES_H_
#define EMULSION_PASSES_DERIVE_POINT_CYCLES_H_

// How long loops take, by a model, before they are scheduled: enough to tell whether threads pay.
// Private to passes/derive/.

#include "dsl/graph.h"
#include "dsl/target.h"

namespace emulsion {

// What a point of an operation takes on one thread; of sums, a point that they are of.
struct PointCost {
  double cycles;  // where the second cache holds all
  double bytes;   // that are loaded and stored
};
// Either loads and stores are the limit, one vector a cycle, or instructions on vectors, two a
// cycle; an element that is loaded by itself takes a cycle more, and one of a transposed operand
// less than half of that. The members of a group pass their values on in registers.
PointCost cost_of_point(const Op& op, const Target& target);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_POINT_CYCLES_H_

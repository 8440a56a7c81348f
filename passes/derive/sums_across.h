#ifndef EMULSION_PASSES_DERIVE_SUMS_ACROSS_H_
#define EMULSION_PASSES_DERIVE_SUMS_ACROSS_H_

// Sums whose operands lie along another axis than the last one of the result: vectors along its
// rows would gather. They go along that other axis, one for each element of a row, and the sums are
// turned over when they are stored.
//
//   for i: for j: y[i, j] = 0; for k: y[i, j] += x[j, k, i]
//     ->  for i in tiles: for j: acc[j] = 0; for k: for j: acc[j] += vector of x along i;
//                         for j: y[.., j] = acc[j]
//
// Private to passes/derive/.

#include <cstddef>
#include <optional>

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"

namespace emulsion {

// The axis that vectors go along; nothing where all operands lie along the rows, where some step
// far along every other axis, or where that axis is shorter than a vector.
std::optional<size_t> lies_across(const Op& sums, const Target& target);

void derive_sums_across(const Op& sums, size_t across, const Target& target, Schedule* schedule);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_SUMS_ACROSS_H_

#ifndef EMULSION_PASSES_DERIVE_DERIVE_FEW_COLUMNS_H_
#define EMULSION_PASSES_DERIVE_DERIVE_FEW_COLUMNS_H_

// Sums of so few columns that a row of them is at most four vectors: of each class, each channel.
// Private to passes/derive/.

#include <string>

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"

namespace emulsion {

// Whether a reduction has one row of so few results, and combines many rows that lie in memory one
// after another. Each addition of a vector would wait for the one before it; of several rows of
// results those of one go on while those of another wait.
bool sums_few_columns(const Op& op, const Target& target);

// Several rows at a time, each added to a vector of its own:
//   for r: vectorized c: y[c] += x[r, c]
//     ->  for r: unrolled row: vectorized c: rows[c, row] += x[r * 4 + row, c]
//         unrolled row: vectorized c: y[c] += rows[c, row]
// Where a row is no whole vectors, vectors go through several rows, as these lie in memory.
// Returns the stage that goes through the rows.
std::string derive_few_columns(const Op& op, const Target& target, Schedule* schedule);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_DERIVE_FEW_COLUMNS_H_

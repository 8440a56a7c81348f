#ifndef EMULSION_PASSES_DERIVE_DERIVE_FEW_COLUMNS_H_
#define EMULSION_PASSES_DERIVE_DERIVE_FEW_COLUMNS_H_

// Sums of so few columns that a row of them is at most four vectors: of each class, each channel,
// also for each of several pictures.
// Private to passes/derive/.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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

// The axes of the results, outermost first, that are the columns of rows which a reduction combines
// many of for each result, where they are few: those that lie behind the rows in memory. None where
// there are no such, or no other axis of results, or where one of these reads the same rows again.
std::vector<size_t> columns_of_long_sums(const Op& op);
// Whether the same pays for them: whether a vector can go through several rows.
bool sums_few_columns_of_each(const Op& op, const Target& target);
//   for i: for r: y[i, c] += x[i, r, c]
//     ->  for i: for r: vectorized lane: rows[row, c] += x[i, r * 16 + row, c]
//                unrolled row: y[i, c] += rows[row, c]
void derive_few_columns_of_each(const Op& op, const Target& target, Schedule* schedule);

// From how many rows on columns are summed side by side: where there is another way to have
// vectors, and where there is none.
inline constexpr int64_t kRowsOfColumns = 64, kRowsOfLoneColumns = 8;
// The same of a sum of all columns of at least so many rows: those columns, outermost first, or
// none.
std::vector<Axis> summed_columns(const Op& op, int64_t least_rows = kRowsOfColumns);
// s = sum({r, c}, e)  ->  columns[c] = sum(r, e); s = sum(c, columns). Returns columns[c].
Op sum_columns_apart(const Op& op, const std::vector<Axis>& columns, Schedule* schedule);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_DERIVE_FEW_COLUMNS_H_

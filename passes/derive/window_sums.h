#ifndef EMULSION_PASSES_DERIVE_WINDOW_SUMS_H_
#define EMULSION_PASSES_DERIVE_WINDOW_SUMS_H_

// Sums of windows, or whatever else is made of these: how they lie to one another, and what is
// computed together for that. Private to passes/derive/; the loops are derive_reduction.cc.

#include <cstdint>
#include <vector>

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"

namespace emulsion {

// The most steps, of windows of all rows that are summed at a time, that are added without loops.
inline constexpr int64_t kMostOfWindows = 256;

// How many steps a sum has; each axis of a run-time length counts as `most`.
int64_t steps_of_sum(const Op& sums, int64_t most);
// How far apart windows that slide along the columns are, the farthest; 0: none slides. Each vector
// of them overlaps the next one, and its places are a number of elements away.
int64_t step_of_windows(const Op& sums);
// How many rows of windows are summed at a time, where neighbours are made of the same rows: each
// of these is then read once for all. As many as cost least, in rows that are read and summed; the
// last ones are computed with others again. No more than `most`, of which the first may have
// nothing in common: of windows that take every second row these are neighbours. 1: windows have
// nothing in common or are large, or what is computed of a row takes much longer than reading it.
inline constexpr int64_t kMostRowsOfWindows = 4;
int64_t rows_of_windows(const Op& sums, int64_t most = kMostRowsOfWindows);
// Whether windows reach over the ends of a row and are held there, reflected or wrapped around, so
// that vectors of neighbours are there between the ends alone.
bool reach_over_ends(const std::vector<const Op*>& sums);
// Whether short windows stride along the columns by so few elements that vectors across windows
// take less than one along each of them, whose lanes are then added up.
bool strides_a_little(const Op& op);
// Without loops, where these are no more than `most` steps of `vectors` of sums; a step in which
// much is computed counts for several.
void unroll_windows(const Op& sums, int64_t vectors, int64_t most, StageSchedule* stage);
// The same of a small window, such as the 2 x 2 of a pooling, of which the loops cost much beside
// what they compute.
void unroll_short_windows(const Op& sums, int64_t vectors, StageSchedule* stage);
// Whether `read` moves in some index with an axis of the sums and with one that is summed up along.
bool reads_windows(const Op& sums, const Expr& read);
// derive_sums (derive_stage.h) in a row of a chain (window_chains.h), which lies along axis `row`
// of the result. Of sums of windows several, side by side along an axis behind that one, are
// computed at a time.
Axis derive_sums_of_row(const Op& sums, const Op& result, size_t row, const Target& target,
                        bool whole_rows, Schedule* schedule);
// The same of several sums, which can wait together (waiting_sums.h).
Axis derive_sums_together(const std::vector<const Op*>& sums, const Op& result,
                          const Target& target, Schedule* schedule);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_WINDOW_SUMS_H_

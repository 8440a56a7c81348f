#ifndef EMULSION_PASSES_DERIVE_ROWS_AT_A_TIME_H_
#define EMULSION_PASSES_DERIVE_ROWS_AT_A_TIME_H_

// How many rows of a group are computed at a time. Private to passes/derive/.

#include <cstdint>
#include <optional>

#include "dsl/expr.h"
#include "dsl/extent.h"
#include "dsl/target.h"
#include "passes/derive/row_groups.h"

namespace emulsion {

// Several rows at a time hide a latency: while the last lanes of one row are combined, those of the
// next row are summed.
constexpr int64_t kRowsAtATime = 4;

// Whether rows of a known length are computed one at a time although the first cache holds several:
// each has more than 24 vectors, and no vectors lie across the rows (`softmax/512x768` of
// `//benchmarks:onnx_runtime`).
bool is_one_at_a_time(const RowGroup& group, const Target& target);
// Whether what is computed of rows may wait where the output is stored: they are computed one at a
// time, or are several whole vectors, along which all of it lies. Where a row ends in a part of a
// vector, that is stored last, and the next row, which begins in the same line, waits for it.
bool may_be_in_output_memory(const RowGroup& group, const Target& target);
// Whether rows of a run-time number have so few elements that many of them are computed at a time:
// vectors lie across them in what there is once in a row, and go through several where one fills
// none. The last tile has no more rows than are left (end_vectors.h).
bool are_short_rows(int64_t elements);
// Whether in that tile no more of them are computed, as far as the group tells: of what is kept it
// is not known.
bool may_end_with_last_row(const RowGroup& group);
// Whether the results beside the reader are computed a row at a time, or a few, one after another,
// and not with each vector of it: where a row stays in the second cache. Stores to two arrays by
// turns are slow.
bool are_results_in_rows(const RowGroup& group, const Target& target);
// Whether the last tile of so many rows may start earlier: few of a known number of rows are
// computed again, and none of what is kept of them.
bool has_few_again(const RowGroup& group, const Extent& all, int64_t rows);
// How many rows fit the L1 cache, with all that is read and computed of them, and at least one;
// nothing where a run-time size decides.
std::optional<int64_t> rows_in_cache(const RowGroup& group, const Target& target);
// Where rows have another axis around them, x[b, r, c], and their number is a run-time size: the
// group with several steps of that axis at a time, and the condition under which a step has few
// rows. A tile of rows would be nearly empty. Nothing where that never pays. `of_lanes`: of rows in
// each of so many lanes.
struct FewRows {
  RowGroup group;
  Expr condition;
};
std::optional<FewRows> few_rows_in_step(const RowGroup& group, const Target& target,
                                        std::optional<int64_t> of_lanes = std::nullopt);
// How many rows of a loop are computed at a time. Where these are the tasks of threads, all cores
// get several. It may not divide their number: derive_rows says how the last ones are computed.
// `of_short`: how many of rows of a run-time length, as of derive_rows.
int64_t rows_at_a_time(const RowGroup& group, const Extent& all, bool are_tasks, int64_t of_short,
                       const Target& target);
// The same of the rows of a block, whose parts have no rows left over. Where that would make them
// small, all of the block that the first cache holds: few rows are loaded again before they have
// left the processor's buffer.
int64_t rows_of_block_at_a_time(const RowGroup& group, int64_t block, const Target& target);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_ROWS_AT_A_TIME_H_

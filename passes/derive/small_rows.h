#ifndef EMULSION_PASSES_DERIVE_SMALL_ROWS_H_
#define EMULSION_PASSES_DERIVE_SMALL_ROWS_H_

// Many small things, of which each element is computed otherwise than the next: inverses and
// factors of matrices of 3 x 3, butterflies. Vectors along their elements would compute all for
// each. So a lane has a thing, and its elements are unrolled:
//
//   for b: for i: for j: s[b, i, j] = ..;  for b: for i: for j: y[b, i, j] = .. s[b, j, i] ..
//     ->  for tile: unrolled i, j: vector of s across a tile; unrolled i, j: vector of y
//
// So are rows of a few elements that are combined, a softmax of ten classes: to combine the lanes
// of each row takes longer than to transpose them. They are groups of rows (row_groups.h) of known
// lengths, and the schedule is that of rows in each lane. Private to passes/derive/.

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/row_groups.h"

namespace emulsion {

// How many axes of an operation say which thing it is: all but the last ones, which together have
// few steps.
size_t axes_of_things(const Op& op);
// Why an operation does not compute a small thing for each place along its first `rows` axes:
// "expected ...", or nothing.
std::optional<std::string> why_not_small(const Op& op, size_t rows);
// Whether its elements are computed in different ways: their place decides what is computed, or
// where it is read otherwise than by a sum of multiples. Not what is padded or put together of
// others (concat): such loops are cut.
bool differs_by_element(const Op& op, size_t rows);

// The small things of an operation alone; nothing where other vectors are as good.
std::optional<RowGroup> small_rows_alone(const Op& op, const Target& target);
// The group of small things that ends in an operation, with all that nothing else reads; nothing
// where there is nothing on the way, or where other vectors are as good. `taken`: what may not be
// in it; `declined`: where elements are combined that are too few for rows of another kind, and why
// not.
std::optional<RowGroup> small_rows_of(const Op& reader, const Readers& readers,
                                      const Target& target,
                                      const std::unordered_set<const Op*>& taken,
                                      std::vector<DeclinedRows>* declined = nullptr);
// Those of a graph, from its end on. No operation is in two, or in one of `taken`.
std::vector<RowGroup> small_rows(const Graph& grouped, const Target& target,
                                 const std::unordered_set<const Op*>& taken = {},
                                 std::vector<DeclinedRows>* declined = nullptr);

// Their schedule: rows in each lane, or steps of the axis around them where these have few rows.
void derive_small_rows(const RowGroup& group, const Target& target, Schedule* schedule);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_SMALL_ROWS_H_

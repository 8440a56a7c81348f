#ifndef EMULSION_PASSES_DERIVE_CONTRACTION_OPERANDS_H_
#define EMULSION_PASSES_DERIVE_CONTRACTION_OPERANDS_H_

// How the operand of a contraction that has its columns lies in memory, and what is packed or
// copied so that its columns are neighbours. Private to passes/derive/.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/schedule_idioms.h"
#include "dsl/target.h"
#include "passes/analyse/recognise_op.h"
#include "passes/derive/derive_stage.h"

namespace emulsion {

// Two operands, or several of which only one is read in full by the rows and one by the columns:
// what else has columns lies along them. What register tiles are for.
std::optional<Contraction> match_tiles(const Op& op);
// Whether each of a batch is a product of two squares of a run-time size.
bool are_squares(const Op& op, const Contraction& c);

// Neither an operation nor another weight that is packed (w_ beside w) is called as it would be.
bool is_packed_name_free(const Schedule& schedule, const std::string& weight_name);
// The factor of an earlier pack of this weight, by another operation.
std::optional<int64_t> packed_already(const Schedule& schedule, const std::string& weight_name);
// Whether the columns' operand can be laid out in panels ahead of time.
bool can_pack(const Expr& read, const std::string& column);

// Whether the operation is a permutation of the axes of a weight.
bool transposes_a_weight(const Op& op);
// The read of the weight that a read of its transposition is.
Expr read_of_the_weight(const Expr& read);

// From how many rows on it takes less time to turn an operand that does not lie along the columns
// than to sum up along the reduction, in lanes that are then added up for each element.
constexpr int64_t kRowsForTurned = 16;

// Which axis of the operand is the columns', when each of its indices is an axis of the operation
// and it is not read in any other way.
std::optional<size_t> column_of_operand(const Op& op, const Expr& read, const std::string& column);
// The same, if it pays to copy panels of it. What is not packed is read in steps of a whole row of
// it, each from another page, again for every tile of rows. `lies_across`: its elements come from
// where neighbouring columns are no neighbours.
std::optional<size_t> pays_to_copy_panels(const Op& op, const Expr& read, const std::string& column,
                                          const RegisterTile& tile, std::optional<int64_t> rows,
                                          std::optional<int64_t> columns, bool lies_across);
// The same of a small operand that does not lie along the columns, and that all which the outer
// axes say read: if these are enough rows together, it is turned once for all of them.
std::optional<size_t> pays_to_turn_once(const Op& op, const Expr& read,
                                        const std::vector<size_t>& outer_axes,
                                        const Target& target);
// Whether the columns' operand is contiguous along the reduction and not along the columns, so that
// vectors of columns would be gathered: lanes of the reduction read it as it lies. Of a run-time
// length where there is one axis of columns.
bool is_better_as_reduction(const Op& op, const Contraction& c, const Axis& column,
                            const Target& target);
// Whether a tile of sums takes less time than to write it, a few lines far apart: of few steps, and
// many columns. Panels are then inside of the rows, along which results lie, and read all of the
// columns' operand for each tile of rows, so that the first cache has to hold it.
bool is_flat(const Op& op, const RegisterTile& tile, const Target& target);
// The same where run-time sizes decide: a condition over them.
std::optional<Expr> may_be_flat(const Op& op, const RegisterTile& tile);
// Whether so much, read again and again, is more than a core's cache holds beside what else is
// read.
bool comes_from_memory(int64_t bytes, const Target& target);
// How many of the outer loops, outermost first, stay around the panels of a packed operand; all of
// them where its panels come from a cache. Where they come from memory, the other loops, such as
// that over the rows of a picture, are inside of a panel: at each step they would read all panels.
size_t loops_around_panels(const Op& op, const Contraction& c,
                           const std::vector<size_t>& outer_axes, int64_t panels,
                           const Target& target);
// Whether the sums are so short that their steps may be written out one by one.
bool has_few_steps(const Op& op, int64_t most = 16);
// Whether columns that are fewer than a vector's lanes, and not half or a quarter as many, should
// be a vector with a mask: short ones of such lengths are put together element by element.
// Of an operand that lies along them, or of a copy that does. Before AVX-512 a store with a mask
// takes longer than a few steps of a sum.
bool pays_to_mask(const Op& op, size_t column_at, const Target& target);
// Whether the columns' operand does not lie along them, and panels of it are copied so that it
// does.
bool is_turned(const Op& op, const Expr& b, const Axis& column, std::optional<int64_t> rows);

// for panel: for tile: use w  ->  for panel: load w_panel; for tile: use w_panel
// or, without `panel`, load w_panel whole before all loops.
void copy_panels(const Op& operand, size_t column_at, const std::string& reader,
                 const std::string& consumer, const std::optional<Axis>& panel,
                 const RegisterTile& tile, Schedule* schedule);
// for block: use w[.., n, k]  ->  load turned = w, n contiguous; for block: use turned
void turn_columns(const Op& operand, size_t column_at, const std::string& reader,
                  const BlockLoops& blocks, int64_t lanes, Schedule* schedule);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_CONTRACTION_OPERANDS_H_

#ifndef EMULSION_PASSES_DERIVE_COLUMN_TILES_H_
#define EMULSION_PASSES_DERIVE_COLUMN_TILES_H_

// How many sums along the columns, of how many rows, are in registers at a time. Private to
// passes/derive/; the loops are derive_reduction.cc.

#include <cstdint>
#include <optional>
#include <vector>

#include "dsl/expr.h"
#include "dsl/graph.h"
#include "dsl/target.h"

namespace emulsion {

// How many sums along the last axis are in registers at a time: one or more vectors. Of a long sum
// each vector more saves a walk through what is summed. Of a run-time number the last few are
// computed with as many as the others, so that windows, of which little is saved, have one. Of some
// rows of a known length, each in other lines and pages of memory, long parts are walked through.
// `twice`: a sum may be computed twice.
int64_t sums_at_a_time(const Op& sums, int64_t lanes, bool twice, const Target& target);

// How many sums are in registers at a time: `width` along the last axis, of `rows` along the one
// before it. `fills`: along the last axis there are that many or more, `rows_fill`: along the
// other.
struct ColumnTile {
  int64_t rows, width;
  bool fills = false, rows_fill = false;
  bool has_windows = false;  // whose rows have rows in common that they are made of
  int64_t of_task = 1;       // tiles, one after another, of a row that is as long or longer
};

// Of windows made of the same rows, and of several sums of windows. `fills`: there are as many rows
// and columns as it has, or more; else of a run-time number of rows it has few.
ColumnTile tile_of_windows(const std::vector<const Op*>& sums, int64_t lanes, bool fills);
// Where what is read along the columns is the same for several rows, it is read once for them. Else
// there are several rows where one has few vectors of long sums: each addition would wait for the
// one before. Of a run-time number of rows, and of one that has no divisor, the last rows are
// computed with others again: where little is saved, of rows of a single vector alone.
ColumnTile column_tile(const std::vector<const Op*>& sums, int64_t lanes, const Target& target);

// A tile for where an output has as many sums as it or more, and the condition for that.
struct FilledTile {
  ColumnTile tile;
  Expr condition;
};
// For rows of a run-time length, and for windows, whose last ones then start earlier.
std::optional<FilledTile> filled_tile(const std::vector<const Op*>& sums, const Op& result,
                                      const ColumnTile& tile, int64_t lanes, const Target& target);
// The tile where threads share the tiles of one row and each is soon summed up: several, one after
// another, are a task. What all of them read stays in registers then, and no tile is a call. Not
// where only the tiles between the ends are without clamps. No condition: of a number of columns.
std::optional<FilledTile> tile_of_tasks(const std::vector<const Op*>& sums, const Op& result,
                                        const ColumnTile& tile, const Target& target);
// Whether columns of a run-time number may be so few that they are one vector, of which a tile has
// several: the others would be computed in vain, in each of many steps. Windows slide along rows of
// many.
bool may_be_narrow(const Op& sums, const ColumnTile& tile, int64_t lanes);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_COLUMN_TILES_H_

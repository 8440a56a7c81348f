#ifndef EMULSION_PASSES_DERIVE_TRANSPOSED_TILES_H_
#define EMULSION_PASSES_DERIVE_TRANSPOSED_TILES_H_

// Operands that lie across the rows of the result, as of a transpose or of a picture whose channels
// become its first axis: a vector along a row would gather its elements one by one. A tile of a few
// rows and columns is loaded by vectors along the operand, and turned over in registers.
//
//   for i: for j: y[i, j] = x[j, i]
//     ->  for i in tiles: for j in tiles: unrolled i in 16: vectorized j in 16: y[i, j] = x[j, i]
//
// Where the rows are shorter than that, vectors go across them, one for each of their elements:
//
//   for i: for j: for k: y[i, j, k] = x[k, j, i]
//     ->  for i in tiles: unrolled j: unrolled k: vectorized i in 16: y[i, j, k] = x[k, j, i]
//
// Private to passes/derive/.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "dsl/expr.h"
#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"

namespace emulsion {

struct TransposedTile {
  size_t across;      // the axis that the operands lie along
  int64_t rows;       // of it
  int64_t lanes;      // of the last axis; 0: vectors go across the rows
  Expr condition;     // over run-time sizes: that there is a tile; undefined where there is one
  int64_t count = 1;  // of tiles along the last axis, which are stored row by row
};

// Nothing where the operation reads along its rows, or at places that data say, where operands lie
// along different axes, or where unrolled rows of what is computed would be long code.
std::optional<TransposedTile> transposed_tile(const Op& op, const Target& target);

// The same where a run-time last axis has several tiles: what a row of them leaves of a line of the
// cache is joined there, where rows do not start at lines. Nothing of axes that are numbers, of
// which transposed_tile() has as many at once.
std::optional<TransposedTile> several_tiles(const Op& op, const TransposedTile& tile);

// The same where run-time sizes say whether there is one.
std::optional<TransposedTile> tile_of_sizes(const Op& op, const Target& target);

// The loops of the tiles, where the condition holds.
void derive_transposed(const Op& op, const TransposedTile& tile, StageSchedule* stage);

// How many of them are a task of threads that share the first axis, as a loop over tiles.
int64_t tiles_of_task(const Op& op, const TransposedTile& tile);

// Whether a vector along a row would gather an operand, element by element.
bool gathers_rows(const Op& op);
// The loops of such rows where they are shorter than a vector: along an axis that all operands lie
// along, or without vectors, since masked vectors that are gathered are slower.
void derive_gathered_rows(const Op& op, StageSchedule* stage);

// Where there is none, and a line of the cache serves several rows (crosses() of vector_lanes.h).
//   for r: for between: for i  ->  for r: for between: for i: for row: vectorized lane
void block_rows(const Op& op, size_t across, size_t last, int64_t lanes, StageSchedule* stage);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_TRANSPOSED_TILES_H_

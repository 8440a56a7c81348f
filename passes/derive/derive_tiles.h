#ifndef EMULSION_PASSES_DERIVE_DERIVE_TILES_H_
#define EMULSION_PASSES_DERIVE_DERIVE_TILES_H_

// A schedule that makes any graph a program for a tile machine (dsl/tile_machine.h), out of
// ordinary directives. y = max(sum(k, x * w) + b, 0), after fuse_epilogues one group, becomes
//
//   for y.mo: for y.no                          the grid: M_tiles x N_tiles
//     init mm                                   an accumulator C[m, n] in the scratchpad
//     for mm.ko                                 K_tiles
//       load x_tile; load w_tile                A[m, k], B[k, n]
//       execute mm += x_tile * w_tile
//     load b_tile
//     execute y_tile = max(mm + b_tile, 0)      the epilogue, once
//     store y = y_tile
//
// each line one uOp of a whole tile (tensorize). The same shape serves every operation:
//
//   sum of products    rows x columns x reduction in tile_m x tile_n x tile_k: the last axis of
//                      each role; batch axes, further rows (of an image) and further reduction axes
//                      (of a filter) are loops around. Recognised by structure (recognise_op.h)
//   other reduction    the last two axes in tile_m x tile_n, the last reduction axis in tile_k
//   elementwise        the last two axes in tile_m x tile_n: Load each operand, Execute, Store
//   a copy             (transpose, slice): Load in the other order, Store
//
// An axis shorter than the tile has a tile as long as itself; where the tile does not divide, the
// last one is at an edge: computed whole, loaded and stored as far as there is something. Row,
// column and reduction extents may be run-time sizes.

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/tile_machine.h"

namespace emulsion {

// `grouped` is `graph` after fuse_epilogues() (or `graph` itself: operator by operator). Error:
// what why_not_tiles() (check_tiles.h) says of the nest, and the largest tile that fits; an operand
// of which a tile needs a part of no constant size (a reshape or a pad of a run-time size).
Schedule derive_tiles(const Graph& graph, const Graph& grouped, const TileMachine& machine);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_DERIVE_TILES_H_

#ifndef EMULSION_PASSES_DERIVE_DERIVE_SCHEDULE_H_
#define EMULSION_PASSES_DERIVE_DERIVE_SCHEDULE_H_

// A schedule for any graph on a target, from what its comprehensions are and what the machine has:
// registers, vector lanes, cores. No search and no measurement, so the same graph and target give
// the same schedule.
//
// Left, what operations are, and the file of passes/derive/ that derives their schedule; right,
// the schedule.
//
//   contraction and epilogue    a tile of accumulators in registers, computed at the tile of the
//   (derive_contraction)        epilogue; weights packed in panels; what cannot be packed copied
//                               by panels where that pays; threads over panels or rows. Of any
//                               body over two operands (distances of all pairs), of more where
//                               the others have rows or columns, not both, and of any extents: of
//                               run-time columns the last panel alone has masks
//   contraction with few        partial results in lanes (rfactor) of several rows at a time,
//   columns, or few rows by     where both operands lie, or can be turned to lie, along the
//   columns                     reduction; else, where masks are, one vector with a mask
//   (derive_dots)
//   elementwise, data movement  vectors along the last axis, threads along the first; rows in
//   (derive_pointwise)          blocks where an operand lies across them (transpose); across short
//                               rows (transposed_tiles); loops cut at the borders of what is
//                               joined, padded or masked, and of run-time rows where neighbours
//                               are held at the ends; blocks of a few vectors of what neighbours
//                               read together, x[i / 3] (repeated_reads)
//   elementwise chain with two  in parts, over blocks that the first cache holds; behind a product
//   series (exp, tanh)          of few columns, its tiles for a block of rows, then vectors
//   (derive_series)             through all of these
//   elementwise siblings        one loop, over rows or over blocks of a long row, for operations
//   (derive_siblings)           that read one tensor and do not need one another: it is read once
//   reshape, transpose, slice   read through (inline), where vectors stay vectors of neighbours; a
//   and broadcast between the   contraction copies panels of what lies across its columns, sums
//   others                      up along the reduction what has few rows, and else, as for a
//   (read_through)              weight (to be packed) and for rows that vectors would cross, the
//                               move is stored
//   concat and pad before       read through as well; the reader's loops are cut at the borders.
//   elementwise readers         For sums they are stored
//   (read_borders)
//   values that sums alone      computed in the loops of the sums; those that others read too, by
//   read: x - mean, squared     each of these where that takes no longer than to load them
//   (values_in_sums)
//   softmax, norms, losses:     row by row, everything at the row of the last operation; vectors
//   what combines rows and      along the row, sums in lanes, one row at a time in a cache; threads
//   goes on with them           over rows. Of a run-time length one of several ways, as each call
//   (derive_rows,               has it (derive_group_by_length); of a run-time number of short
//                               ones 32 at a time, the last in loops that end with them
//                               (rows_at_a_time, end_vectors), or, where an axis around them has
//                               few in each step, several of its steps; of a few elements a row in
//   derive_columns)             each lane (derive_rows_in_each_lane). What combines columns is
//                               computed for a block of these
//   attention: a contraction    a block of rows at a time: the products that the rows are made
//   of rows that are combined   of, the rows, the contraction; only a block of each is stored.
//   (derive_row_blocks)         What does not lie along the columns (keys) is turned once for all
//                               blocks; threads over what is outside (heads), or over blocks. Of
//                               a run-time number of rows all at a time, where they are few
//   layers: contractions with   a block of rows at a time goes through all of them, with weights
//   packed weights, each of     that a cache holds; only a block of what is between two is stored,
//   the rows of the one before  where all of it would leave the second cache
//   (layer_blocks)
//   reduction, last axis        partial results in several vectors of lanes, which are then
//   (derive_lanes)              combined in vectors (rfactor); of a run-time length in one cache
//                               line of lanes, of several rows side by side; threads over rows.
//                               Many rows of a run-time length that may be at most four elements:
//                               a row in each lane then (alternative, derive_short_rows). Of a
//                               whole tensor threads share parts (derive_sum_in_parts)
//   reduction of many rows,     vectors along the columns, several rows at a time, results in
//   more columns than fit       memory; threads over other axes, wide blocks of columns or, of few
//   registers                   columns, whether or not these fit registers, parts of the rows
//   (derive_combined_rows)
//   sums by class, histograms   one place is changed for each term
//   (derive_chosen_places)
//   a few sums of one walk      all in registers, in lanes
//   (derive_shared_walk)
//   values that several read,   with each vector of the last that reads them
//   outputs that are read
//   (points_with_reader)
//   sums of up to 16 steps      a sum in each lane, all steps unrolled; across the rows of the
//   (derive_reduction,          result where operands lie so, and turned over when stored
//   sums_across)
//   any other reduction         accumulators in vectors along the last axis; what alone reads them,
//   (derive_reduction)          at its own places, is computed while they are in registers (a
//                               mean). Of a run-time length, where masks lack or vectors are long:
//                               the last tile of a row that is as long starts earlier (alternative)
//   chain of stencils,          the rows of the last in strips that the threads share; what it
//   depthwise convolutions,     reads row by row ahead of it, in windows that slide, sums in
//   poolings                    registers
//   (derive_windows)
//   many small matrices, each   one in each lane, all elements unrolled
//   element computed otherwise;
//   rows of up to 24 elements   Of a run-time number of rows fewer than lanes are computed along
//   that are combined           their elements, or across the axis around (few_small_rows)
//   (small_rows)
//
// What an elementwise operation computes of its columns alone, and that takes long (the square root
// of a variance), is computed once, ahead of all rows where these are more than a few
// (precompute_parts).
//
// Where the last axis has fewer than four steps (the colours of a picture) vectors go along the one
// before it: pixels side by side, one vector for each colour. Windows of neighbouring pixels take
// pixels and colours as one row (merge_row_axes). Where it has a run-time number of
// steps, elementwise operations have such loops besides, for one, two and three (specialize).
// Planes of which each is computed otherwise, of the same values (colours that a matrix of numbers
// mixes), are computed side by side. An axis by whose turns it is chosen what is computed (i % 2)
// is split by these, where they divide it, so that a turn is a value of a pixel or a plane
// (periodic_choices). Sums of four colours of four bytes, each made of a few elements close by,
// have vectors of whole pixels, as they lie in memory (fuse).
//
// For a tile machine (dsl/tile_machine.h) the schedule is derive_tiles.h's.
//
// Legal at every value of the run-time sizes from 0 up.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"
#include "passes/fuse/find_siblings.h"
#include "passes/fuse/fusion_report.h"
#include "passes/fuse/loop_policy.h"

namespace emulsion {

struct DeriveOptions {
  // false: every operation in a nest of its own, through memory ("operator by operator").
  bool fuse = true;
  // Panel widths that are fixed already, by weight: a kernel for several targets has one packed
  // layout.
  std::map<std::string, int64_t> panels;
  // Which siblings share loops, of those that can; left out, those for which it pays
  // (sibling_loops.h).
  std::optional<SiblingPolicy> siblings = std::nullopt;
  // Which operations are computed in loops of others, of those for which it pays.
  LoopPolicy loops = share_all_loops;
};

// What the options say of siblings, and without that, those for which it pays on the target.
SiblingPolicy wanted_siblings(const DeriveOptions& options, const Target& target);

Schedule derive_schedule(const Graph& graph, const Target& target,
                         const DeriveOptions& options = {});
// The same for groups that are decided already: `grouped` is `graph` after fuse_epilogues(). What
// was decided of loops that are shared goes into the report, if there is one: what share_loops()
// says, then siblings.
Schedule derive_schedule(const Graph& graph, const Graph& grouped, const Target& target,
                         const DeriveOptions& options = {}, FusionReport* report = nullptr);
// The same for loops that are decided already: `shared` is `grouped` after share_loops(), for this
// target and with the policy of these options. Error: a loop group that cannot be one.
Schedule derive_stages(const Graph& graph, const Graph& shared, const Target& target,
                       const DeriveOptions& options = {}, FusionReport* report = nullptr);
// One schedule for each target of one library: weights are packed as the first target wants them.
std::vector<Schedule> derive_schedules(const Graph& graph, const std::vector<Target>& targets,
                                       const DeriveOptions& options = {});
// Lets what is derived next pack weights as this schedule does.
void keep_layout(const Schedule& schedule, DeriveOptions* options);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_DERIVE_SCHEDULE_H_

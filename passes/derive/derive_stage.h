#ifndef EMULSION_PASSES_DERIVE_DERIVE_STAGE_H_
#define EMULSION_PASSES_DERIVE_DERIVE_STAGE_H_

// The parts of derive_schedule, one for each kind of operation. Private to passes/derive/.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/schedule_idioms.h"
#include "dsl/target.h"
#include "passes/analyse/recognise_op.h"
#include "passes/derive/column_groups.h"
#include "passes/derive/derive_schedule.h"
#include "passes/derive/layer_blocks.h"
#include "passes/derive/row_blocks.h"
#include "passes/derive/row_groups.h"
#include "passes/derive/sums_in_parts.h"
#include "passes/derive/vector_lanes.h"
#include "passes/derive/window_chains.h"

namespace emulsion {

// From how many cycles of one thread on (point_cycles.h) others are woken: 16 microseconds at 3
// GHz. Waking them takes several, two threads save one half, and they take longer for what lies in
// the cache of another core.
inline constexpr int64_t kCyclesForThreads = int64_t{48} << 10;
// The same in multiplications and additions of a contraction, and a third more: each thread reads
// all of what the others read.
int64_t products_for_threads(const Target& target);
// The same of one row of results, for which every weight is read once: that takes longer.
inline constexpr int64_t kProductsOfRow = int64_t{1} << 18;

// The tile for a contraction of `rows` x `columns` outputs; an extent that is not known is nullopt.
// `padded`: the columns' operand is packed and zero-padded, so a panel may be wider than what is
// left. `panel`: the panels' width when it is fixed already, which the tile's columns then divide.
// `between`: how many registers the values between operands and sums take, when it is not a
// product. `steps`: how many each sum has, a row of the panel each; nothing for a panel near by.
RegisterTile choose_register_tile(const Target& target, DType dtype, std::optional<int64_t> rows,
                                  std::optional<int64_t> columns, bool padded,
                                  std::optional<int64_t> panel = std::nullopt,
                                  std::optional<int64_t> between = std::nullopt,
                                  std::optional<int64_t> steps = std::nullopt);

// The same for that contraction, of `rows` that are computed at a time.
RegisterTile register_tile_of(const Op& contraction, std::optional<int64_t> rows, bool padded,
                              std::optional<int64_t> panel, const Target& target);
// The same of a contraction of which blocks of `rows` are computed, and nothing is packed for them.
// A few rows have accumulators enough in wide panels only. `masked`: of its columns some may be
// outside.
RegisterTile tile_in_block(const Op& contraction, int64_t rows, bool masked, const Target& target);
// The sums of a tile, or whatever else is accumulated, of which a row is one vector (see the
// idiom). LLVM cannot keep the masks of such a wide one in registers: where values are compared a
// row is as many vectors as it takes.
//   for m: for n: for k  ->  in loop `at` of the consumer: for k: unrolled m: unrolled n: lanes
void accumulate_tile(const Op& op, const std::string& consumer, const Axis& at,
                     const std::optional<Axis>& m, const Axis& n, const RegisterTile& tile,
                     StageSchedule* acc);

// One contraction and what is fused onto it; `result` is the op that the outside reads (the
// contraction itself when nothing is fused).
struct ContractionGroup {
  const Op* contraction;
  const Op* result;
};

// How many tiles of rows a core has at least where threads share them.
inline constexpr int64_t kTilesForCore = 4;
// What the threads share, if anything: whole outer iterations, panels of columns, or tiles of rows.
enum class Shared : uint8_t { nothing, outer, columns, rows };
// `copied`: a panel is copied before its first tile of rows, so it should have them all.
Shared choose_shares(const Op& op, const RegisterTile& tile, std::optional<int64_t> rows,
                     std::optional<int64_t> columns, bool has_outer, std::optional<int64_t> outer,
                     bool copied, const Target& target);

// Whether a tile of sums is stored, and then a loop goes through its rows, since what follows takes
// a series: LLVM mixes the instructions of several that are unrolled, more of whose values are
// alive at a time than a target without AVX-512 has registers (`matmul_gelu/1007x128_of_6` of
// `//benchmarks:fusion_sweep`).
bool stores_tile(const Op& sums, const Op& result, const RegisterTile& tile,
                 const Schedule& schedule, const Target& target);
//   in loop `at` of the result: alloc sums: ..; for rows, unrolled: vectors of what is stored =
//   sums
void store_tile(const Op& sums, size_t row_at, const std::string& result, const Axis& at,
                const RegisterTile& tile, Schedule* schedule);

// False when the contraction has no shape that this strategy covers; then nothing was added.
bool derive_contraction(const ContractionGroup& group, const Target& target,
                        const DeriveOptions& options, Schedule* schedule);

// The loops of a contraction that reads what is computed by blocks of its rows (row_blocks.h).
struct BlockLoops {
  std::optional<int64_t> rows;  // of a block; nothing where it has all of them
  std::string reader;           // whose loops they are
  Axis block;                   // over the blocks
  std::optional<Axis> around;   // the innermost one outside, if there is one
  // In whose steps memory for blocks is asked for once: the one around, or `block` where there is
  // none or threads share the blocks.
  Axis storage;
};

// How many columns of a block of rows are computed at a time where their number is a run-time size:
// those of one cache line. The last group is computed whole, so a larger one would waste more.
int64_t columns_at_a_time(DType dtype);

// Whether the last axis but one of a contraction says its rows, and register tiles go along both.
bool has_rows_for_tiles(const Op& op, const Target& target);
// Whether it can be computed by blocks of these, and nothing is packed for it: what it reads along
// the columns it reads in one way.
bool has_blocks_of_rows(const Op& op, const Target& target);
// Whether its columns' operand is a weight that can be packed, as it is or turned.
bool packs_columns(const Op& op, const Contraction& c);
// The register tile of it, of blocks of `rows`.
RegisterTile tile_of_block(const Op& op, int64_t rows, const Target& target);
struct BlockOptions {
  // Of the work of a block, how much the reader's own is. Threads share the blocks where all of it
  // is enough.
  double part = 1;
  // Where a block has all rows: whether there may be enough of them for threads.
  bool may_share = true;
};
//   parallel outer: for block: for panel: for tile: alloc sums: ...
// Blocks of all rows have no loop of their own: `block` is the innermost one outside.
BlockLoops derive_reader_of_blocks(const ContractionGroup& group, std::optional<int64_t> rows,
                                   const Target& target, const DeriveOptions& options,
                                   Schedule* schedule, const BlockOptions& of_blocks = {});
// What that reader reads of its rows, or what that is made of: computed in the loop over blocks.
// The loop whose steps are tiles of its rows: one of its own, or that over blocks.
Axis derive_product_in_blocks(const ContractionGroup& group, const BlockLoops& blocks,
                              const Target& target, const DeriveOptions& options,
                              Schedule* schedule);

// Whether it has the shape that register tiles are for: columns that only one operand has.
bool has_register_tiles(const Op& op);
// Whether the body reads the tensor of that read at other indices too.
bool is_read_otherwise(const Op& op, const Expr& read);

// Whether a step of `axis` in an operand is a step to the next element: what stands behind it has
// one index. Axes of both operands may be in the index, too (heads side by side).
bool steps_along(const Expr& read, const Axis& axis, const Contraction& c);

// Products of vectors: the reduction in lanes, several rows at a time, all columns of each.
struct Dots {
  size_t rows;                    // position of the axis that the rows of a tile are of
  std::optional<size_t> columns;  // position of the few columns
  bool copied;                    // whether the columns' operand is turned, to lie along them
};
// Where that is faster than a tile with vectors along the columns. `is_weight`: the columns'
// operand can be packed, and is wherever this says nothing.
std::optional<Dots> match_dots(const Op& op, const Contraction& c, bool is_weight,
                               const Target& target);
// The same of a run-time number of columns, where that is small enough: a few columns of long sums.
struct DotsOfFew {
  Dots dots;
  Expr where;  // a condition over the sizes
};
std::optional<DotsOfFew> match_dots_of_few(const Op& op, const Contraction& c,
                                           const Target& target);
//   for outer: for tile: alloc lanes: [start]; for k: unrolled row: unrolled column: lanes += ...;
//                        fewer = sums of the lanes, in vectors, ..;
//                        alloc sums: unrolled lane, row, column: sums += fewer; results
void derive_dots(const ContractionGroup& group, const Dots& dots, const Contraction& c,
                 const Target& target, Schedule* schedule);

// Operations that only permute the axes of a weight which nothing else reads, for one contraction
// that can pack it: computed inline, so that the panels are made from the weight itself.
std::set<std::string> transposed_weights(const Graph& grouped);

// Of many rows of a run-time length, which may be that of pixels, loops for each of those lengths:
//   if C == 1: pixels; else if C == 2: pixels; else if C == 3: pixels; else if C > 3: rows
void derive_pointwise(const Op& op, const Target& target, Schedule* schedule);

// Siblings in one loop (sibling_loops.h); the first leads:
//   parallel rows of a with b, c: a's row; b's row; c's row
void derive_siblings(const std::vector<OpPtr>& group, const Target& target, Schedule* schedule);

// Of how many parts of a row of a known length, which are all as long, a vector is computed at a
// time: they choose what they compute by comparisons of the axis with numbers, and some of them
// read the same elements, as the means and differences of a step of a wavelet do. 1: of none.
// It pays where these lie apart: they are loaded and shuffled once.
//   for i: select(i < 64, a, b)  ->  for i in 64: vector of a; vector of b
int64_t parts_at_a_time(const Op& op, const Axis& along, const Target& target);
// Whether comparisons with one axis decide what is computed, so that its loop is cut there; of a
// group in any of its members.
bool has_borders(const Op& op);
// Why derive_pointwise() does not cut every loop at which a comparison with one axis decides, or
// cuts too often: "expected ...", or nothing.
std::optional<std::string> why_not_cut(const Op& op, const Target& target);
// Whether rows whose length is no number need masks in their last vector that the target lacks, or
// between the ends of what they read.
bool needs_what_it_lacks(const Op& op, const Target& target);
// How many steps of the axis of vectors are computed at a time where none of them has masks.
int64_t steps_of_whole(const Op& op, const Target& target);
// A loop that vectors of points go along.
struct PointLoop {
  Axis along;                                 // vector_axis, or a loop that it was split into
  bool whole_rows = true;                     // else less of the axis may be computed than it has
  bool fills_vector = false;                  // known to have as many steps as a vector, or more
  bool fills_block = false;                   // or as those vectors of a plane, or more
  bool is_cut = false;                        // a vector that needs masks has a loop of its own
  std::optional<Axis> planes = std::nullopt;  // inside of it, a few vectors for each plane
};
void vectorize_points(const Op& op, const PointLoop& loop, const Target& target,
                      StageSchedule* stage);
// The most values of a pixel (match_pixels).
inline constexpr int64_t kMostValuesOfPixel = 3;
// The operation with rows of so many.
Op with_rows_of(const Op& op, int64_t values);
// The run-time length of rows of which there are many and which may be as short as pixels: vectors
// along them would then be nearly empty.
std::optional<Expr> length_of_short_rows(const Op& op, const Target& target);
// Whether the points of an operation without reductions are worth several threads, or a run-time
// size decides.
bool wakes_threads(const Op& op, const Target& target);
// How many of the leading loops, which have extents, the threads share as one: those of known short
// extent until there is enough to share out. None when that is one step.
size_t count_shared(const std::vector<Axis>& loops, const Target& target);
// That one loop, of the first `count` of them.
Axis fuse_leading(const Op& op, std::vector<Axis> loops, size_t count, StageSchedule* stage);

// As fuse_leading, but where steps are short, several steps of the last loop make one task: each
// task is a call through a pointer. `points`: how many points the loops compute altogether; without
// them, each step is a task. The steps of a task divide the loop's extent, and all cores keep
// tasks.
struct RowTasks {
  Axis tasks;     // what the threads share
  Axis last;      // what the last of the loops has become
  int64_t steps;  // of `last` in a task; 1: they are the tasks
};
RowTasks share_loops(const Op& op, std::vector<Axis> loops, size_t count,
                     std::optional<int64_t> points, const Target& target, StageSchedule* stage);
// Where no number of steps divides that extent: of all these loops as one, the steps of a task of
// which the last may have fewer. 1 where a step is enough to do.
int64_t uneven_steps_of_task(const std::vector<Axis>& loops, int64_t points, const Target& target);

// A chain of operations whose rows slide (window_chains.h):
//   parallel strip: alloc windows: for row: the producers' new rows; the reader's row
// Where run-time sizes decide whether that pays:
//   if there is enough for threads: the same  else: each operation by itself
void derive_windows(const WindowChain& chain, const Target& target, const DeriveOptions& options,
                    Schedule* schedule);

// One operation, or group, in loops of its own.
void derive_apart(const Op& op, const Target& target, const DeriveOptions& options,
                  Schedule* schedule);
// The sums, and what reads them at its own places.
void derive_with_reader(const std::vector<const Op*>& sums, const Op& reader, const Target& target,
                        const DeriveOptions& options, Schedule* schedule);

// A group whose operations are computed row by row (row_groups.h):
//   parallel rows: the producers' row; the reader's row
// Or several rows at a time, so that the end of one row's sum is not waited for. Where these do not
// divide the number of rows, the last tile starts earlier if few rows are computed again; else the
// last rows have loops of their own (partition):
//   parallel tasks: for rows: the producers' rows; the reader's rows
// Where rows lie in pieces, their axes become the outermost loops (reorder):
//   parallel c: the producers' channel c, for n, y, x; for n: for y: for x: the reader's
// With `blocks`, a part of these for each of them, as many rows at a time as divide a block:
//   for block: for rows: the producers' rows; the reader's rows
// `of_short`: so many rows of a run-time length, which are short, are computed at a time; 0 of
// others. `in_output_memory`: with what is computed of these where the output is stored.
void derive_rows(const RowGroup& group, const Target& target, Schedule* schedule,
                 const BlockLoops* blocks = nullptr, int64_t of_short = 0,
                 bool in_output_memory = false);
// The same of rows of a few elements, a row in each lane:
//   for tile: the producers' elements of a vector of rows; the reader's
// Where all that the reader reads lies along the rows of a tile, so do its vectors:
//   for tile: the producers' elements of a vector of rows; for flat: a vector of the tile's rows
// With loops of their own for lengths of up to four, which are `length`: of a known length vectors
// across the rows are shuffled out of as many vectors of memory. Without one all are unrolled.
// `fills_lanes`: there are known to be as many rows as a vector has lanes.
void derive_rows_in_each_lane(const RowGroup& group, const Expr& length, const Target& target,
                              Schedule* schedule, bool fills_lanes = false);
// In several ways where the rows of an output may be short or long:
//   if C <= 8: a row in each lane  else if C <= 64: a few rows at a time
//   else: each row by itself, in the memory of the output
void derive_group_by_length(const RowGroup& group, const Target& target, Schedule* schedule);

// A group whose operations are computed for a block of columns (column_groups.h):
//   parallel block: for c: vectors of a producer; ..; for c: vectors of the reader
void derive_columns(const ColumnGroup& group, const Target& target, Schedule* schedule);

// A group whose last operation is a contraction that reads rows of the others (row_blocks.h).
void derive_row_blocks(const BlockGroup& blocks, const Target& target, const DeriveOptions& options,
                       Schedule* schedule);

// Layers, a block of rows of all of them at a time (layer_blocks.h):
//   parallel block: alloc h: for panel: for tile: h; for panel: for tile: y
void derive_layer_blocks(const LayerBlocks& blocks, const Target& target,
                         const DeriveOptions& options, Schedule* schedule);

void derive_reduction(const Op& op, const Target& target, Schedule* schedule);
// Whether so few steps are summed up that they are written out: of rows that short, as of the
// coordinates of a point, a vector has a sum in each lane. Rows of words are transposed when they
// are loaded, narrower ones are not.
bool are_short_sums(const Op& op, const Target& target);
// Whether it knows vectors for that, other than those along the last axis of the results.
bool has_vectors_to_reduce(const Op& op, const Target& target);
//   parallel rows: alloc lanes: [start values]; for k: lanes += ...; y = sum of the lanes
// Of a run-time length several rows side by side. `may_share`: the rows with other threads.
void derive_rows_in_lanes(const Op& op, const Target& target, Schedule* schedule,
                          bool may_share = true);
// The length of the rows that it sums up, where there are many and that is a run-time size, and
// vectors across them are made of a few vectors of memory each if it is small.
std::optional<Expr> length_of_summed_rows(const Op& op, const Target& target);
// Of such rows:
//   if D <= 4: for tile: alloc few: [start values]; for k: vectors across rows of few += ..;
//              y = few
//   else: the rows in lanes, in the memory of y
void derive_rows_by_length(const Op& op, const Expr& length, const Target& target,
                           Schedule* schedule);
// Whether some read walks memory with this axis, its last index moving by one element a step: one
// that is read again at each step of the reduction, where `reduced`.
bool is_contiguous_in_a_read(const Op& op, const std::string& axis, bool reduced);
// Whether a reduction is worth several threads, or a run-time size decides.
bool wakes_threads_to_sum(const Op& op, const Target& target);
// Whether threads then share the tiles of its one row, because no loop is around these.
bool shares_tiles(const Op& sums, const Op& result, const Target& target);
// How many of such tiles, each of `width` sums, are a task: a thread that takes one after another
// keeps in registers what all of them read, and is not called for each.
int64_t tiles_of_task(const Op& sums, int64_t width, const Target& target);
// Where it is, threads share the loops of `result` over `sums`. `rows`: how many of the first axes
// may be shared out; `last`: the loop that stands for the one behind them, if that may be too.
// Returns the innermost loop that the first axes have become, where all of them are shared.
std::optional<Axis> share_sums(const Op& sums, const Op& result, size_t rows, const Target& target,
                               const std::optional<Axis>& last, StageSchedule* stage);
// Whether all sums along the last axis are in registers at a time.
bool fills_registers(const Op& op, const Target& target);

// A reduction of many rows that lie one after another in memory, with more results in each than
// registers hold: several rows at a time, results in memory.
//   for r: for c: y[c] += x[r, c]  ->  for r: for c: unrolled row: vectorized lane
// `first`: of the axes that rows of results may have (merge_axes.h).
bool combines_many_rows(const Op& op, const Target& target, size_t first = 0);
// The same of each row of results by itself, whatever they share: of a product of few rows.
bool combines_many_for_each_row(const Op& op, const Target& target);
// Whether steps of an axis of results are inside those of all that is combined, in memory.
bool lies_within(const Op& op, const Axis& axis);
// `few_rows`: an axis of results that has few steps, whatever their number may be: no more than
// threads could share. What all of them read is then read once.
void derive_combined_rows(const Op& op, const Target& target, Schedule* schedule,
                          const std::optional<Axis>& few_rows = std::nullopt);
// The most steps of such an axis.
inline constexpr int64_t kFewRows = 3;
// Whether that is faster than tiles of a product of so many rows of results, where `read` is the
// type of what all of them read: this has so many columns and steps that it comes from behind the
// second cache, and is walked through as it lies. The more rows there are, the more of their sums
// are loaded and stored beside it.
bool streams_for_few_rows(const Op& op, const Axis& rows, DType read, const Target& target);
// How threads share rows, and not their columns, of which there are so few that the part of a
// thread would be short; nothing where they do not.
//   parallel block: for r: for c: parts[block, c] += x[r, c]; for block: for c: y[c] += parts
std::optional<PartSizes> parts_of_rows(const Op& op, const Target& target);
void derive_rows_in_parts(const Op& op, const PartSizes& sizes, const Target& target,
                          Schedule* schedule);
// Whether they do whatever the run-time sizes are: rows of a known number.
bool threads_share_rows(const Op& op, const Target& target);
// The loops alone, of what is computed in the loops of another, which are of axes before `first`.
void combine_rows_in_memory(const Op& op, size_t first, const Target& target, Schedule* schedule);

// Combinations of which data say to which places they go (chosen_places.h): sums by class. Each
// changes one place, so results are in memory, and nothing is compared with all places:
//   for c: for d: for m: y[c, d] += select(which[m] == c, x[m, d], 0)
//     ->  for m: for c: for d: vectorized lane
// Whether that is faster than sums in registers, on any target and on this one.
bool combines_chosen_places(const Op& op);
bool combines_chosen_places(const Op& op, const Target& target);
void derive_chosen_places(const Op& op, const Target& target, Schedule* schedule);

// Whether what a reduction reads along its columns is the same for several rows: of the axis before
// the last.
bool shares_columns(const Op& op);
// The extents of what is summed up.
std::vector<Extent> work_of_sums(const Op& op);
// Whether it is of pixels (match_pixels) that are a few elements apart in all that it reads: a
// colour of each made of its colours. Or as sums_up_quarters(). No target says otherwise.
bool sums_up_pixels(const Op& op);
// Whether it is of pixels of four colours of four bytes, a few elements apart in all that it reads,
// and of few steps. Four such colours are a part of each machine's vectors within which it shuffles
// best: vectors go through pixels and colours as they lie in memory.
bool sums_up_quarters(const Op& op);
// Whether derive_sums can keep the sums of a reduction in registers, a vector or a few at a time.
bool keeps_sums_in_registers(const Op& op, const Target& target);
// Whether derive_shared_sums does so of a reduction by itself. Besides the above: where vectors are
// made of a few vectors of memory each, and where what is read along them is read once for all
// sums.
bool has_sums_in_vectors(const Op& op, const Target& target);
// The stage that sums: where nothing is fused onto the sums, the result is a copy of it.
std::string accumulator_of(const Op& sums, const Op& result, Schedule* schedule);
// Those sums and what is fused onto them, `result`, or the same operation again:
//   for rows: for tile: alloc sums: [start value]; for k: sums += ...; vectors of the result
// Returns the loop around a tile. `whole_rows`: as of vectorize_points. `first`: of the axes that
// vectors may go through; those in front are other rows, computed elsewhere.
Axis derive_sums(const Op& sums, const Op& result, const Target& target, bool whole_rows,
                 Schedule* schedule, size_t first = 0);
// The same, of whole rows, with threads over the loops of the result; and of several sums, which
// can wait together (waiting_sums.h).
void derive_shared_sums(const std::vector<const Op*>& sums, const Op& result, const Target& target,
                        Schedule* schedule);

// The most vectors of lanes that are added to at a time, so that no addition waits for another.
inline constexpr int64_t kMostVectors = 4;
// As lanes go through it: with the last reduction axes as one, where they lie one after another.
Op with_merged_reduction(const Op& op, const Target& target);
// Whether partial sums can lie in lanes along the last reduction axis.
bool has_sums_in_lanes(const Op& op, const Target& target);
//   lanes: [start values]; for k: several vectors of lanes += ...
//   fewer = sums of the lanes, in vectors, ..; s = sum of the last few
// `in_blocks`: of rows in a block, which are combined one after another. `most_vectors`: to add to
// at a time.
struct SumsInLanes {
  std::vector<std::string> stages;  // the lanes, then the fewer; they have no places yet
  int64_t step = 0;                 // how much of the row a step of the lanes takes

  void compute_at(const std::string& consumer, const Axis& at, Schedule* schedule) const;
};
// Of how many elements of a row there are sums then, a step of the lanes.
int64_t sums_under_way(const Op& op, const Target& target, bool in_blocks, int64_t most_vectors);
SumsInLanes derive_sums_in_lanes(const Op& op, const Target& target, Schedule* schedule,
                                 bool in_blocks = false, int64_t most_vectors = kMostVectors);

// Whether all values of a pixel, its last axis, are computed in one way, of what lies near in
// memory: such pixels may have four values.
bool lie_side_by_side(const Op& op);
// The same of an operation or a group, where vectors are full.
bool are_pixels(const Op& chain, const Target& target);
// Whether all that it reads lies near: the same pixels and values side by side, one value of each
// pixel, or the same values for all pixels.
bool reads_near(const Op& op, const Axis& x, const Axis& value);
// How many of them are computed at a time, so that they fill vectors.
int64_t pixels_side_by_side(const Op& op, const Target& target);
// The pixels of sums that lie in registers, a vector for each colour.
std::optional<Pixels> pixels_to_sum(const Op& op, int64_t lanes);
// acc of a vector of pixels, a colour in each register, and then the pixels put together:
//   for rows: for x: alloc acc: [start value]; for k: unrolled c: acc += ...; unrolled c: y = acc
// Returns the loop around them.
Axis sum_pixels(const Op& sums, const Op& result, const Pixels& pixels, int64_t lanes,
                bool whole_rows, Schedule* schedule);
// Sums of pixels and what reads them, with threads over blocks of them. False when they are none;
// then nothing was added.
bool derive_sums_of_pixels(const Op& sums, const Op& result, const Target& target,
                           Schedule* schedule);

// The points of the operation that has most of them, of those of a loop group; run-time sizes count
// as one. Of sums the extents that they are of count, too.
std::vector<Extent> most_points(const std::vector<const Op*>& members);
// How many points that operation has to have for threads to pay, with what the others take for each
// of them. What the second cache does not hold takes longer.
int64_t points_for_threads(const std::vector<const Op*>& members, const Target& target);
// How long an axis of it is at least where threads are woken for all its points; 0 when the other
// axes do not say.
int64_t least_shared(const Op& op, size_t axis, const Target& target);
// Whether it has, or a run-time size decides.
bool wakes_threads(const std::vector<const Op*>& members, const Target& target);
// The same of so many points, of which `least` are enough.
bool wakes_threads_from(const std::vector<Extent>& points, int64_t least, const Target& target);

// Whether the product of `extents`, over run-time sizes, reaches `least`: always (an undefined
// expression), never (nothing), or where a condition over the sizes holds.
std::optional<Expr> reaches(const std::vector<Extent>& extents, int64_t least);
// Threads share `loop` where the product of `extents`, over run-time sizes, reaches `least`:
// always, never, or decided by each call (specialize). The last directive on a stage.
void parallel_from(StageSchedule& stage, const Axis& loop, const std::vector<Extent>& extents,
                   int64_t least);

// Computes the members of a group inline, but for the last, which is its result, `sums`, and
// `stored`, which has loops of its own.
void inline_members(const Op& group, const Op* sums, Schedule* schedule,
                    const Op* stored = nullptr);

// Whether an operation is no group, or one whose members, each written out at every read of it,
// make an expression of a sane size.
bool fits_one_expression(const Op& op);

// Nothing to derive: and a loop that shares out no iterations would be divided by its extent.
bool is_always_empty(const Op& op);

// Whether an operation, of whatever graph was made of the schedule's, is an output of that.
bool is_output(const Op& op, const Schedule& schedule);
// Whether the two extents have a run-time size in common.
bool share_a_size(const Extent& a, const Extent& b);

// The axes of a copy of `operand` (copy_in): an operation's own, else numbered.
std::vector<Axis> copy_axes(const Op& operand);

// A name for a loop or stage: `wanted`, with a digit when the op's axes have it already.
std::string fresh_axis(const Op& op, const std::string& wanted);
std::string fresh_stage(const Schedule& schedule, const std::string& wanted);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_DERIVE_STAGE_H_

#ifndef EMULSION_DSL_SCHEDULE_IDIOMS_H_
#define EMULSION_DSL_SCHEDULE_IDIOMS_H_

// Schedules compose. An idiom is a free function that takes the schedule of a stage, or a whole
// schedule where it concerns several stages, adds directives and returns it; those below are made
// of the directives alone, have no private door, and are what the derived schedules are made of
// (passes/derive/derive_schedule.h). Users write their own the same way:
//
//   Schedule rows_of_tiles(Schedule s, const Tensor& y, const Tensor& mm) {
//     const TileLoops loops;
//     register_tile(s[y], m, n, {6, 64, 16}, loops);
//     accumulate_in_registers(s[mm], "y", loops.tile, m, n, {k}, {6, 64, 16});
//     parallel_rows(s[y], {loops.panel});
//     return s;
//   }
//   Schedule s = rows_of_tiles(Schedule(y), y, mm);
//
// An idiom only records, as every directive does: lower() says what cannot be honoured.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/expr.h"
#include "dsl/schedule.h"

namespace emulsion {

// rows x columns accumulators that stay in vector registers, `lanes` of a row in each of them.
struct RegisterTile {
  int64_t rows = 1, columns = 1, lanes = 1;
};

// The loops that register_tile makes: panels of columns and tiles of rows outside, the rows, the
// vectors of a row and their lanes inside.
struct TileLoops {
  Axis panel{"panel"}, column{"column"}, lane{"lane"}, tile{"tile"}, row{"row"};
};

// The loop that steps through the rows: loops.tile, or m itself when a tile has one row.
Axis row_loop(const Axis& m, const RegisterTile& tile, const TileLoops& loops);

// for m: for n  ->  for panel: for tile: unrolled row: unrolled column: vectorized lane
// The result of a contraction, one register tile at a time. `outside`: the loops around a tile,
// innermost first, when it is not {row_loop, panel}; without `m` there is one row. `last_panel`:
// the tail of n.
StageSchedule& register_tile(StageSchedule& result, const std::optional<Axis>& m, const Axis& n,
                             const RegisterTile& tile, const TileLoops& loops = TileLoops(),
                             const std::vector<Axis>& outside = {},
                             Tail last_panel = Tail::automatic);

// for m: for n: for k  ->  in loop `at` of the consumer: for k: unrolled m: vectorized n
// The sums of one register tile, in registers; `reduction`: outermost first.
StageSchedule& accumulate_in_registers(StageSchedule& sums, const std::string& consumer,
                                       const Axis& at, const std::optional<Axis>& m, const Axis& n,
                                       const std::vector<Axis>& reduction,
                                       const RegisterTile& tile);

// for m: for n: for k  ->  for m_block: for n_block: for k_block: for m: for n: for k
// by blocks that fit a cache, the first axis outermost. The loops inside a block keep their names,
// so that another idiom can go on with them, unless a block names its own two.
struct CacheBlock {
  Axis axis;
  int64_t extent;
  Tail tail = Tail::automatic;
  std::optional<Axis> outer = std::nullopt, inner = std::nullopt;
};
StageSchedule& cache_block(StageSchedule& stage, const std::vector<CacheBlock>& blocks);

// for a: for b: for n  ->  for rows: for n, the rows fused one after another into the names of
// `fused`, of which there are as many as rows but one (by default rows1, rows2, ...). Returns the
// loop.
Axis fuse_rows(StageSchedule& stage, const std::vector<Axis>& rows, std::vector<Axis> fused = {});

// for a: for b: for n  ->  parallel rows: for n, fused in the same way.
StageSchedule& parallel_rows(StageSchedule& stage, const std::vector<Axis>& rows,
                             std::vector<Axis> fused = {});

// for i  ->  parallel outer: for inner in block
StageSchedule& parallel_blocks(StageSchedule& stage, const Axis& axis, int64_t block,
                               const Axis& outer, const Axis& inner);

// for n  ->  for n: vectorized n_v in lanes; all of n at once when it is shorter; nothing when it
// has one step. `axis` has its extent. `pure`: a value may be computed twice, so the last vector
// may start earlier; else its stores and loads are masked.
StageSchedule& vectorize_last(StageSchedule& stage, const Axis& axis, int64_t lanes,
                              bool pure = true);

// for x: for c  ->  for x: unrolled c: vectorized lane
// Vectors across pixels, one for each of their colours c, which are too few for a vector of their
// own. `x` has its extent; `pure` as above. Values of a pixel stay beside one another in memory.
StageSchedule& vectorize_pixels(StageSchedule& stage, const Axis& x, const Axis& c,
                                const Axis& lane, int64_t lanes, bool pure = true);

// reader = f(operand)  ->  in loop `at` of the reader: load copy = operand; reader = f(copy)
// The schedule of the copy, for its own loops and storage.
StageSchedule& stage_operand(Schedule& schedule, const std::string& reader,
                             const std::string& operand, const std::string& copy, const Axis& at);
// In loop `at` of the `consumer` at whose loops the reader itself is computed.
StageSchedule& stage_operand(Schedule& schedule, const std::string& reader,
                             const std::string& operand, const std::string& copy,
                             const std::string& consumer, const Axis& at);

// The same in a layout of its own: `innermost_first` names the copy's axes (i0, i1, ... of an
// input).
//   p[i0, i1]: i1 contiguous  ->  i0 contiguous, by {i0, i1}
StageSchedule& pack_operand(Schedule& schedule, const std::string& reader,
                            const std::string& operand, const std::string& copy, const Axis& at,
                            const std::vector<Axis>& innermost_first);

// for y: p's rows; use p  ->  alloc p[window]: for y: p's new row; use p
// Computed at loop `at` of its consumer and kept over the loops from `kept` on: along a serial loop
// between, each iteration computes what the one before has not.
StageSchedule& sliding_window(StageSchedule& stage, const std::string& consumer, const Axis& kept,
                              const Axis& at);

// s = sum(k, e)  ->  partial[.., lane] = sum(k, e) in vectors; s = sum(lane, partial)
// `reduction`: the reduction axes of the stage, outermost first; the last is the one in lanes. With
// several vectors of lanes as many sums are under way at a time. The schedule of `partial`.
StageSchedule& reduce_in_lanes(Schedule& schedule, const std::string& stage,
                               const std::vector<Axis>& reduction, const Axis& lane, int64_t lanes,
                               const std::string& partial, int64_t vectors = 1);

// s = sum(lane, partial)  ->  fewer[.., part] = sum(lane, partial) in vectors; s = sum(part, fewer)
// Behind reduce_in_lanes, where one lane after another would take longer than a vector of them.
// `count`: of the lanes that are left, a divisor of those before. The schedule of `fewer`.
StageSchedule& combine_lanes(Schedule& schedule, const std::string& stage, const Axis& lane,
                             const Axis& part, int64_t count, const std::string& fewer);

}  // namespace emulsion

#endif  // EMULSION_DSL_SCHEDULE_IDIOMS_H_

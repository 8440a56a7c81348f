#include "dsl/schedule_idioms.h"

#include <utility>

#include "dsl/count_text.h"
#include "dsl/error.h"
#include "dsl/fitting_name.h"

namespace emulsion {
namespace {

// The columns of a register tile: more than a vector's worth are several vectors.
bool has_vectors(const RegisterTile& tile) { return tile.columns > tile.lanes; }

void require_positive(const std::string& idiom, const RegisterTile& tile) {
  if (tile.rows < 1 || tile.columns < 1 || tile.lanes < 1) {
    throw ScheduleError(
        fmt::format("{}: expected a tile of positive rows, columns and lanes, got {} x {} in {}",
                    idiom, tile.rows, tile.columns, tile.lanes));
  }
}

// Of vectors along an axis with that extent.
Tail vector_tail(const Extent& extent, int64_t lanes, bool pure) {
  if (extent.exact_quotient(lanes)) return Tail::automatic;
  const bool long_enough = extent.lower_bound().value_or(0) >= lanes;
  return pure && long_enough ? Tail::shift_inwards : Tail::predicate;
}

}  // namespace

Axis row_loop(const Axis& m, const RegisterTile& tile, const TileLoops& loops) {
  return tile.rows > 1 ? loops.tile : m;
}

StageSchedule& register_tile(StageSchedule& result, const std::optional<Axis>& m, const Axis& n,
                             const RegisterTile& tile, const TileLoops& loops,
                             const std::vector<Axis>& outside, Tail last_panel) {
  require_positive("register_tile", tile);
  std::vector<Axis> order;  // innermost first
  result.split(n, loops.panel, loops.column, tile.columns, last_panel);
  if (has_vectors(tile)) {
    result.split(loops.column, loops.column, loops.lane, tile.lanes);
    result.vectorize(loops.lane).unroll(loops.column);
    order = {loops.lane, loops.column};
  } else {
    result.vectorize(loops.column);
    order = {loops.column};
  }
  if (m && tile.rows > 1) {
    result.split(*m, loops.tile, loops.row, tile.rows, Tail::guard).unroll(loops.row);
    order.push_back(loops.row);
  }
  if (!outside.empty()) {
    order.insert(order.end(), outside.begin(), outside.end());
  } else {
    if (m) order.push_back(row_loop(*m, tile, loops));
    order.push_back(loops.panel);
  }
  return result.reorder(order);
}

StageSchedule& accumulate_in_registers(StageSchedule& sums, const std::string& consumer,
                                       const Axis& at, const std::optional<Axis>& m, const Axis& n,
                                       const std::vector<Axis>& reduction,
                                       const RegisterTile& tile) {
  require_positive("accumulate_in_registers", tile);
  sums.compute_at(consumer, at).store_in(Memory::registers);
  std::vector<Axis> order = {n};
  if (m) order.push_back(*m);
  order.insert(order.end(), reduction.rbegin(), reduction.rend());
  // A row of sums is one vector, however wide: Halide makes as many registers of it. As several
  // vectors, LLVM takes the rows apart and finds too few registers for both halves (AVX2).
  sums.reorder(order).vectorize(n);
  if (m && tile.rows > 1) sums.unroll(*m);
  return sums;
}

StageSchedule& cache_block(StageSchedule& stage, const std::vector<CacheBlock>& blocks) {
  std::vector<Axis> within, around;  // outermost first
  for (const CacheBlock& block : blocks) {
    around.push_back(block.outer.value_or(Axis(fitting_name(block.axis.name() + "_block"))));
    within.push_back(block.inner.value_or(block.axis));
    stage.split(block.axis, around.back(), within.back(), block.extent, block.tail);
  }
  std::vector<Axis> order(within.rbegin(), within.rend());  // innermost first
  order.insert(order.end(), around.rbegin(), around.rend());
  if (!order.empty()) stage.reorder(order);
  return stage;
}

Axis fuse_rows(StageSchedule& stage, const std::vector<Axis>& rows, std::vector<Axis> fused) {
  if (rows.empty()) throw ScheduleError("fuse_rows: expected at least one axis, got none");
  if (fused.empty()) {
    for (size_t i = 1; i < rows.size(); ++i) fused.emplace_back("rows" + std::to_string(i));
  }
  if (fused.size() + 1 != rows.size()) {
    throw ScheduleError(fmt::format("fuse_rows: expected {} for {}, got {}",
                                    count_text(rows.size() - 1, "name", "names"),
                                    count_text(rows.size(), "axis", "axes"), fused.size()));
  }
  Axis outer = rows[0];
  for (size_t i = 1; i < rows.size(); ++i) {
    stage.fuse(outer, rows[i], fused[i - 1]);
    outer = fused[i - 1];
  }
  return outer;
}

StageSchedule& parallel_rows(StageSchedule& stage, const std::vector<Axis>& rows,
                             std::vector<Axis> fused) {
  const Axis outer = fuse_rows(stage, rows, std::move(fused));
  return stage.parallel(outer);
}

StageSchedule& parallel_blocks(StageSchedule& stage, const Axis& axis, int64_t block,
                               const Axis& outer, const Axis& inner) {
  return stage.split(axis, outer, inner, block, Tail::guard).parallel(outer);
}

StageSchedule& vectorize_last(StageSchedule& stage, const Axis& axis, int64_t lanes, bool pure) {
  const Extent& extent = axis.extent();
  if (extent.is_constant() && extent.constant_term() < 2) return stage;
  if (extent.is_constant() && extent.constant_term() <= lanes) return stage.vectorize(axis);
  return stage.vectorize(axis, lanes, vector_tail(extent, lanes, pure));
}

StageSchedule& vectorize_pixels(StageSchedule& stage, const Axis& x, const Axis& c,
                                const Axis& lane, int64_t lanes, bool pure) {
  stage.split(x, x, lane, lanes, vector_tail(x.extent(), lanes, pure));
  return stage.reorder({lane, c}).vectorize(lane).unroll(c);
}

StageSchedule& stage_operand(Schedule& schedule, const std::string& reader,
                             const std::string& operand, const std::string& copy, const Axis& at) {
  return stage_operand(schedule, reader, operand, copy, reader, at);
}

StageSchedule& stage_operand(Schedule& schedule, const std::string& reader,
                             const std::string& operand, const std::string& copy,
                             const std::string& consumer, const Axis& at) {
  schedule[reader].copy_in(operand, copy);
  return schedule[copy].compute_at(consumer, at);
}

StageSchedule& pack_operand(Schedule& schedule, const std::string& reader,
                            const std::string& operand, const std::string& copy, const Axis& at,
                            const std::vector<Axis>& innermost_first) {
  return stage_operand(schedule, reader, operand, copy, at).reorder_storage(innermost_first);
}

StageSchedule& sliding_window(StageSchedule& stage, const std::string& consumer, const Axis& kept,
                              const Axis& at) {
  return stage.store_at(consumer, kept).compute_at(consumer, at);
}

StageSchedule& reduce_in_lanes(Schedule& schedule, const std::string& stage,
                               const std::vector<Axis>& reduction, const Axis& lane, int64_t lanes,
                               const std::string& partial, int64_t vectors) {
  if (reduction.empty()) {
    throw ScheduleError("reduce_in_lanes: expected at least one reduction axis, got none");
  }
  if (vectors < 1) {
    throw ScheduleError(
        fmt::format("reduce_in_lanes: expected at least one vector of lanes, got {}", vectors));
  }
  const Axis& last = reduction.back();
  schedule[stage].split(last, last, lane, lanes * vectors).rfactor(lane, partial);
  std::vector<Axis> order = {lane};
  order.insert(order.end(), reduction.rbegin(), reduction.rend());
  StageSchedule& sums = schedule[partial].reorder(order);
  if (vectors == 1) return sums.vectorize(lane);
  return sums.vectorize(lane, lanes).unroll(lane);
}

StageSchedule& combine_lanes(Schedule& schedule, const std::string& stage, const Axis& lane,
                             const Axis& part, int64_t count, const std::string& fewer) {
  schedule[stage].split(lane, lane, part, count).rfactor(part, fewer);
  return schedule[fewer].reorder({part, lane}).vectorize(part).unroll(lane);
}

}  // namespace emulsion

// How many accumulators of a contraction are in registers at a time, and how they lie.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/index_arithmetic.h"
#include "passes/derive/contraction_operands.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/stage_directives.h"
#include "passes/derive/window_sums.h"

namespace emulsion {
namespace {

double used_share(std::optional<int64_t> extent, int64_t tile) {
  if (!extent || *extent == 0) return 1;
  const int64_t rounded_up = (*extent + tile - 1) / tile * tile;
  return static_cast<double>(*extent) / static_cast<double>(rounded_up);
}

// How much of the machine's multiply-add rate a tile can use, as a rule of thumb: enough
// independent accumulators to hide the latency, at most about one load for two multiply-adds, and
// rows enough for what a second-level cache gives of the panel, which every tile of rows reads.
double tile_rate(int64_t rows, int64_t vectors, int64_t vector_bytes) {
  // Two multiply-adds a cycle that take four each need eight; the rest is for a core whose other
  // thread takes cycles and load ports away.
  constexpr double kHiddenLatency = 12, kFreeLoads = 0.5, kLoadCost = 0.5;
  constexpr double kPanelBytes = 28;  // a cycle
  double accumulators = static_cast<double>(rows * vectors);
  double loads = static_cast<double>(rows + vectors) / accumulators;
  double panel_bytes = 2 * static_cast<double>(vector_bytes) / static_cast<double>(rows);
  return std::min(1.0, accumulators / kHiddenLatency) * std::min(1.0, kPanelBytes / panel_bytes) *
         (1 - kLoadCost * std::max(0.0, std::min(loads, 1.0) - kFreeLoads));
}

// Besides the accumulators: the vectors of the panel, one broadcast, and the values between.
bool fits_registers(const Target& target, int64_t between, int64_t rows, int64_t vectors) {
  return rows * vectors <= target.vector_registers() - vectors - 1 - between;
}

// Of a product, where it is no part of a fused multiply-add.
int64_t registers_of_product(const Target& target, DType dtype) {
  return is_float(dtype) && target.has_fma() ? 0 : 1;
}

// What is left of that rate where the first cache does not hold the panel, nor most of it. As a
// rule of thumb, too: what the tile would take from the second one beyond so many bytes a cycle
// costs.
double far_panel_rate(int64_t rows, int64_t vector_bytes) {
  constexpr double kNearBytes = 16, kCost = 0.018;  // of a byte more
  const double panel_bytes = 2 * static_cast<double>(vector_bytes) / static_cast<double>(rows);
  return 1 - kCost * std::max(0.0, panel_bytes - kNearBytes);
}

// How many registers the values between the operands and the sums take: of any other body than a
// product, one for what is computed, one for a constant that it takes, and one for each operand
// more.
int64_t registers_between(const Op& op, const Target& target) {
  if (match_product(op)) return registers_of_product(target, op.dtype);
  const std::optional<Contraction> several = match_several(op);
  return 2 + (several ? static_cast<int64_t>(several->others.size()) : 0);
}

constexpr int64_t kLongSum = 64;

}  // namespace

RegisterTile choose_register_tile(const Target& target, DType dtype, std::optional<int64_t> rows,
                                  std::optional<int64_t> columns, bool padded,
                                  std::optional<int64_t> panel, std::optional<int64_t> between,
                                  std::optional<int64_t> steps) {
  constexpr int64_t kMostRows = 12;    // beyond, compilers spill
  constexpr int64_t kMostLanes = 256;  // of the accumulators of a row: CodeLimits has it from LLVM
  int64_t lanes = target.vector_lanes(dtype);
  if (columns && *columns < lanes && !padded) {
    return {std::min<int64_t>(rows.value_or(kMostRows), kMostRows), *columns, *columns};
  }
  const int64_t temporaries = between.value_or(registers_of_product(target, dtype));
  RegisterTile best{1, lanes, lanes};
  double best_rate = 0;
  int64_t most_rows = std::min<int64_t>(rows.value_or(kMostRows), kMostRows);
  for (int64_t vectors = 1; vectors <= 8; ++vectors) {
    for (int64_t r = 1; r <= most_rows; ++r) {
      if (vectors > 4 && r > 1) continue;  // a single row needs width to have accumulators enough
      if (!fits_registers(target, temporaries, r, vectors)) continue;
      int64_t width = vectors * lanes;
      if (width > kMostLanes) continue;
      if (!padded && columns && width > *columns) continue;
      if (columns && width - lanes >= *columns && vectors > 1) continue;  // nothing but padding
      if (panel && *panel % width != 0) continue;
      if (!columns && vectors == 3) continue;  // sizes are more often multiples of 2 or 4
      double rate = tile_rate(r, vectors, lanes * size_in_bytes(dtype)) * used_share(rows, r) *
                    used_share(columns, width);
      const int64_t bytes = width * size_in_bytes(dtype);
      if (2 * saturated_product(steps.value_or(0), bytes) > 3 * target.l1_bytes && r > 1) {
        rate *= far_panel_rate(r, lanes * size_in_bytes(dtype));
      }
      // A run-time extent may be short, and the last panel of columns is as wide as the others.
      if (!rows) rate *= 1 - 0.01 * static_cast<double>(r);
      if (!columns) rate *= 1 - 0.05 * static_cast<double>(vectors);
      if (rate > best_rate + 1e-9) {
        best_rate = rate;
        best = {r, width, lanes};
      }
    }
  }
  return best;
}

RegisterTile register_tile_of(const Op& contraction, std::optional<int64_t> rows, bool padded,
                              std::optional<int64_t> panel, const Target& target) {
  // Short sums of one panel need not wait for those of the one before, so that no wide panel is
  // needed, of which the last one of a run-time number of columns is computed in vain; nor a wide
  // row of its own.
  constexpr int64_t kFewVectors = 4;
  const std::optional<int64_t> columns = contraction.shape.back().as_constant();
  const bool is_one_row = rows == 1 && !padded;
  if (!panel && (!columns || is_one_row) && steps_of_sum(contraction, kLongSum) < kLongSum) {
    panel = kFewVectors * target.vector_lanes(contraction.dtype);
  }
  // Of packed columns alone: others are copied where enough tiles read them, and larger tiles of
  // rows are fewer.
  const std::optional<int64_t> steps =
      padded ? std::optional(steps_of_sum(contraction, kLongSum)) : std::nullopt;
  return choose_register_tile(target, contraction.dtype, rows, columns, padded, panel,
                              registers_between(contraction, target), steps);
}

RegisterTile tile_in_block(const Op& op, int64_t rows, bool masked, const Target& target) {
  constexpr int64_t kLeastRows = 4;
  constexpr int64_t kLines = 2;  // of a panel of run-time columns, of which the last is masked
  std::optional<int64_t> panel;
  if (!op.shape.back().is_constant() && rows >= kLeastRows) {
    panel = kLines * columns_at_a_time(op.dtype);
  }
  RegisterTile tile = register_tile_of(op, rows, masked, panel, target);
  const int64_t tiles = (rows + tile.rows - 1) / tile.rows;
  tile.rows = (rows + tiles - 1) / tiles;  // no more than as many tiles need
  return tile;
}

namespace {

// Whether what does not lie along the columns is turned once for all blocks of so many rows: else
// it is summed up along the reduction. Turning takes as long as that has steps; what a
// transposition is of is read past it for long sums (read_through.cc).
bool pays_to_turn(const Op& op, std::optional<int64_t> rows) {
  constexpr int64_t kFew = 8, kSteps = 5, kShortSum = 63;
  if (!rows || *rows >= kRowsForTurned) return true;
  return *rows >= kFew && has_few_steps(op, std::min(kSteps * *rows, kShortSum));
}

}  // namespace

bool packs_columns(const Op& op, const Contraction& c) {
  const std::string& column = op.axes.back().name();
  return can_pack(c.b, column) ||
         (transposes_a_weight(*c.b->tensor) && can_pack(read_of_the_weight(c.b), column));
}

bool has_rows_for_tiles(const Op& op, const Target& target) {
  if (!has_register_tiles(op) || classify(op) != OpClass::contraction) return false;
  const Contraction c = match_contraction(op).value();
  if (c.row_axes.empty() || op.axes.size() < 2) return false;
  const size_t row_at = axis_index(op.axes, c.row_axes.back()).value();
  const bool has_elements = op.shape[row_at] != Extent(0) && op.shape.back() != Extent(0);
  if (row_at + 2 != op.axes.size() || !has_elements) return false;
  const std::optional<Dots> narrow = match_dots(op, c, packs_columns(op, c), target);
  return !narrow || !narrow->columns;
}

bool has_blocks_of_rows(const Op& op, const Target& target) {
  if (!has_rows_for_tiles(op, target)) return false;
  const Contraction c = match_contraction(op).value();
  const std::string& column = op.axes.back().name();
  if (can_pack(c.b, column) || transposes_a_weight(*c.b->tensor)) return false;
  const std::optional<int64_t> rows = op.shape[op.axes.size() - 2].as_constant();
  if (!is_along(c.b, op.axes.back()) && !pays_to_turn(op, rows)) return false;
  return column_of_operand(op, c.b, column).has_value();
}

RegisterTile tile_of_block(const Op& op, int64_t rows, const Target& target) {
  const Contraction c = match_contraction(op).value();
  if (packs_columns(op, c)) return register_tile_of(op, rows, true, std::nullopt, target);
  const bool masked = pays_to_mask(op, op.axes.size() - 1, target);
  return tile_in_block(op, rows, masked, target);
}

int64_t columns_at_a_time(DType dtype) {
  constexpr int64_t kLine = 64;
  return kLine / size_in_bytes(dtype);
}

namespace {

// Whether a value is chosen by comparing: of floats several operations, with a mask between.
bool compares(const Op& op) {
  if (!is_float(op.dtype)) return false;
  if (op.combiner == Combiner::min || op.combiner == Combiner::max) return true;
  return any_part(op.body, [](const Expr& e) {
    return (e->op == ExprOp::min || e->op == ExprOp::max) && is_float(e.dtype());
  });
}

}  // namespace

void accumulate_tile(const Op& op, const std::string& consumer, const Axis& at,
                     const std::optional<Axis>& m, const Axis& n, const RegisterTile& tile,
                     StageSchedule* acc) {
  if (tile.columns == tile.lanes || !compares(op)) {
    accumulate_in_registers(*acc, consumer, at, m, n, op.reduction_axes, tile);
    return;
  }
  std::vector<Axis> order = {n};
  if (m) order.push_back(*m);
  order.insert(order.end(), op.reduction_axes.rbegin(), op.reduction_axes.rend());
  acc->compute_at(consumer, at).store_in(Memory::registers).reorder(order);
  const Axis lane(fresh_axis(op, "lane"));
  acc->split(n, n, lane, tile.lanes).vectorize(lane).unroll(n);
  if (m && tile.rows > 1) acc->unroll(*m);
}

namespace {

// In an operation, or in what it computes inline, up to the sums.
bool has_series_behind(const Op& sums, const Op& op, const Schedule& schedule) {
  if (&op == &sums) return false;
  if (takes_series(op)) return true;
  const std::vector<OpPtr> read = operands(op);
  return std::any_of(read.begin(), read.end(), [&](const OpPtr& operand) {
    return is_inline(schedule, operand->name) && has_series_behind(sums, *operand, schedule);
  });
}

}  // namespace

bool stores_tile(const Op& sums, const Op& result, const RegisterTile& tile,
                 const Schedule& schedule, const Target& target) {
  constexpr int64_t kFewVectors = 3;  // whose series are unrolled without harm
  constexpr int64_t kManyRegisters = 32;
  const int64_t vectors = (tile.columns + tile.lanes - 1) / tile.lanes;
  return tile.rows > 1 && tile.rows * vectors > kFewVectors &&
         target.vector_registers() < kManyRegisters && has_series_behind(sums, result, schedule);
}

void store_tile(const Op& sums, size_t row_at, const std::string& result, const Axis& at,
                const RegisterTile& tile, Schedule* schedule) {
  StageSchedule& stored = (*schedule)[sums.name];
  const Axis& column = sums.axes.back();
  stored.compute_at(result, at);
  if (tile.columns > tile.lanes) {
    const Axis lane(fresh_axis(sums, "lane"));
    stored.split(column, column, lane, tile.lanes).vectorize(lane).unroll(column);
  } else {
    stored.vectorize(column);
  }
  stored.unroll(sums.axes[row_at]);
}

}  // namespace emulsion

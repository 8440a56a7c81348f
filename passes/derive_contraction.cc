#include <algorithm>
#include <cmath>

#include "dsl/error.h"
#include "passes/derive_stage.h"

namespace emulsion {
namespace {

std::optional<int64_t> number(const Extent& extent) {
  return extent.is_constant() ? std::optional<int64_t>(extent.constant()) : std::nullopt;
}

double used_share(std::optional<int64_t> extent, int64_t tile) {
  if (!extent || *extent == 0) return 1;
  const int64_t rounded_up = (*extent + tile - 1) / tile * tile;
  return static_cast<double>(*extent) / static_cast<double>(rounded_up);
}

// How much of the machine's multiply-add rate a tile can use, as a rule of thumb: enough
// independent accumulators to hide the latency, and at most about one load for two multiply-adds.
double tile_rate(int64_t rows, int64_t vectors) {
  constexpr double kHiddenLatency = 8, kFreeLoads = 0.5, kLoadCost = 0.5;
  double accumulators = static_cast<double>(rows * vectors);
  double loads = static_cast<double>(rows + vectors) / accumulators;
  return std::min(1.0, accumulators / kHiddenLatency) *
         (1 - kLoadCost * std::max(0.0, std::min(loads, 1.0) - kFreeLoads));
}

// Besides the accumulators: the vectors of the panel, one broadcast, one to spare.
bool fits_registers(const Target& target, int64_t rows, int64_t vectors) {
  return rows * vectors <= target.vector_registers() - vectors - 2;
}

size_t position_of(const Op& op, const std::string& axis) {
  for (size_t i = 0; i < op.axes.size(); ++i) {
    if (op.axes[i].name() == axis) return i;
  }
  EMULSION_CHECK(false, "{} has no axis {}", op.name, axis);
  return 0;
}

// The factor of an earlier pack of this weight, by another operation.
std::optional<int64_t> packed_already(const Schedule& schedule, const std::string& weight_name) {
  for (const auto& [name, stage] : schedule.stages()) {
    for (const Directive& d : stage.directives()) {
      if (d.kind == DirectiveKind::pack && d.target == weight_name) return d.factor;
    }
  }
  return std::nullopt;
}

// Whether the columns' operand can be laid out in panels ahead of time.
bool can_pack(const Expr& read, const std::string& column) {
  const Op& op = *read->tensor;
  if (op.kind != OpKind::weight && op.kind != OpKind::constant) return false;
  if (op.kind == OpKind::constant && element_count(op.shape) == 1) return false;
  for (size_t i = 0; i < read->args.size(); ++i) {
    if (read->args[i]->op == ExprOp::axis && read->args[i]->name == column) {
      return op.shape[i].is_constant() && op.shape[i].constant() > 0;
    }
  }
  return false;
}

enum class Shared : uint8_t { nothing, outer, columns, rows };

double balance(int64_t tasks, int64_t cores) {
  if (tasks == 0) return 0;
  const int64_t rounded_up = (tasks + cores - 1) / cores * cores;
  return static_cast<double>(tasks) / static_cast<double>(rounded_up);
}

// What the threads share: whole outer iterations, panels of columns, or tiles of rows.
Shared choose_shares(const Op& op, const RegisterTile& tile, std::optional<int64_t> rows,
                     int64_t columns, bool has_outer, std::optional<int64_t> outer,
                     const Target& target) {
  std::optional<int64_t> depth = 1;
  for (const Axis& axis : op.reduction_axes) {
    auto extent = number(axis.extent());
    depth = depth && extent ? std::optional<int64_t>(*depth * *extent) : std::nullopt;
  }
  bool known = depth && rows && (!has_outer || outer);
  if (target.cores < 2) return Shared::nothing;
  if (known && *depth * *rows * columns * outer.value_or(1) < kWorkForThreads) {
    return Shared::nothing;
  }
  if (has_outer && (!outer || *outer >= target.cores)) return Shared::outer;
  int64_t panels = (columns + tile.columns - 1) / tile.columns;
  if (!rows) {
    // One row must be worth the threads, or a batch of 1 would wake them for nothing.
    bool wide = !depth || *depth * columns >= kWorkForThreads / 4;
    return wide && panels >= target.cores ? Shared::columns : Shared::rows;
  }
  int64_t row_tiles = (*rows + tile.rows - 1) / tile.rows;
  double of_columns = balance(panels, target.cores), of_rows = balance(row_tiles, target.cores);
  return of_columns >= std::min(of_rows, 0.95) ? Shared::columns : Shared::rows;
}

}  // namespace

RegisterTile choose_register_tile(const Target& target, DType dtype, std::optional<int64_t> rows,
                                  std::optional<int64_t> columns, bool padded,
                                  std::optional<int64_t> panel) {
  int64_t lanes = target.vector_lanes(dtype);
  if (columns && *columns < lanes && !padded) {
    RegisterTile narrow{std::min<int64_t>(rows.value_or(4), 4), *columns, *columns};
    return narrow;
  }
  RegisterTile best{1, lanes, lanes};
  double best_rate = 0;
  constexpr int64_t kMostRows = 12;  // beyond, compilers spill
  int64_t most_rows = std::min<int64_t>(rows.value_or(kMostRows), kMostRows);
  for (int64_t vectors = 1; vectors <= 8; ++vectors) {
    for (int64_t r = 1; r <= most_rows; ++r) {
      if (vectors > 4 && r > 1) continue;  // a single row needs width to have accumulators enough
      if (!fits_registers(target, r, vectors)) continue;
      int64_t width = vectors * lanes;
      if (!padded && columns && width > *columns) continue;
      if (panel && *panel % width != 0) continue;
      double rate = tile_rate(r, vectors) * used_share(rows, r) * used_share(columns, width);
      if (!rows) rate *= 1 - 0.01 * static_cast<double>(r);  // the run-time extent may be short
      if (rate > best_rate + 1e-9) {
        best_rate = rate;
        best = {r, width, lanes};
      }
    }
  }
  return best;
}

bool derive_contraction(const ContractionGroup& group, const Target& target,
                        const DeriveOptions& options, Schedule* schedule) {
  const Op& op = *group.contraction;
  const Op& result = *group.result;
  std::optional<Contraction> c = match_contraction(op);
  if (!c || c->column_axes.empty() || op.axes.back().name() != c->column_axes.back()) return false;
  size_t column_at = op.axes.size() - 1;
  std::optional<int64_t> columns = number(op.shape[column_at]);
  if (!columns || *columns == 0) return false;
  std::optional<size_t> row_at;
  if (!c->row_axes.empty()) row_at = position_of(op, c->row_axes.back());
  std::optional<int64_t> rows = row_at ? number(op.shape[*row_at]) : std::optional<int64_t>(1);
  if (rows && *rows == 0) return false;

  const std::string& column = op.axes[column_at].name();
  bool packed = can_pack(c->b, column);
  std::optional<int64_t> panel, earlier;
  if (packed) {
    const std::string& name = c->b->tensor->name;
    earlier = packed_already(*schedule, name);
    auto fixed = options.panels.find(name);
    if (fixed != options.panels.end()) panel = fixed->second;
    if (earlier) panel = earlier;
    if (panel && *panel % target.vector_lanes(op.dtype) != 0) return false;
  }
  RegisterTile tile = choose_register_tile(target, op.dtype, rows, columns, packed, panel);

  // The result's loops: outer.., no, mo, mi, ni, lane (or mo outside no).
  std::vector<size_t> outer_axes;
  std::optional<int64_t> outer_extent = 1;
  for (size_t i = 0; i < op.axes.size(); ++i) {
    if (i == column_at || (row_at && i == *row_at)) continue;
    outer_axes.push_back(i);
    auto extent = number(op.shape[i]);
    outer_extent =
        outer_extent && extent ? std::optional<int64_t>(*outer_extent * *extent) : std::nullopt;
  }
  Shared over = choose_shares(op, tile, rows, *columns, !outer_axes.empty(), outer_extent, target);

  std::string accumulator = op.name;
  StageSchedule& y = (*schedule)[result.name];
  if (&op == &result) {
    accumulator = fresh_stage(*schedule, op.name + "_acc");
    y.cache_write(accumulator);
  }
  Axis n(result.axes[column_at].name());
  Axis no(fresh_axis(result, "panel")), ni(fresh_axis(result, "column"));
  bool exact = *columns % tile.columns == 0;
  y.split(n, no, ni, tile.columns,
          exact ? Tail::automatic : (packed ? Tail::predicate : Tail::shift_inwards));
  std::vector<Axis> order;  // innermost first
  if (tile.columns > tile.lanes) {
    Axis lane(fresh_axis(result, "lane"));
    y.split(ni, ni, lane, tile.lanes).vectorize(lane).unroll(ni);
    order = {lane, ni};
  } else {
    y.vectorize(ni);
    order = {ni};
  }
  std::string row_loop;
  if (row_at) {
    Axis m(result.axes[*row_at].name());
    row_loop = m.name();
    if (tile.rows > 1) {
      Axis mo(fresh_axis(result, "tile")), mi(fresh_axis(result, "row"));
      y.split(m, mo, mi, tile.rows, Tail::guard).unroll(mi);
      order.push_back(mi);
      row_loop = mo.name();
    }
  }
  bool rows_outside = over == Shared::rows && row_at;
  std::string innermost = no.name();
  if (row_at && !rows_outside) {
    order.emplace_back(row_loop);
    innermost = row_loop;
  }
  order.push_back(no);
  if (rows_outside) order.emplace_back(row_loop);
  for (size_t i = outer_axes.size(); i-- > 0;) order.push_back(result.axes[outer_axes[i]]);
  y.reorder(order);
  if (over == Shared::columns) y.parallel(no);
  if (over == Shared::rows && row_at) y.parallel(Axis(row_loop));
  if (over == Shared::outer) {
    std::string first = result.axes[outer_axes[0]].name();
    for (size_t i = 1; i < outer_axes.size(); ++i) {
      std::string fused = fresh_axis(result, "outer" + std::to_string(i));
      y.fuse(Axis(first), result.axes[outer_axes[i]], Axis(fused));
      first = fused;
    }
    y.parallel(Axis(first));
  }

  StageSchedule& acc = (*schedule)[accumulator];
  Directive at;
  at.kind = DirectiveKind::compute_at;
  at.target = result.name;
  at.axes = {innermost};
  acc.add(at).store_in(Memory::registers);
  std::vector<Axis> inner_order = {op.axes[column_at]};
  if (row_at) inner_order.push_back(op.axes[*row_at]);
  for (size_t i = op.reduction_axes.size(); i-- > 0;) inner_order.push_back(op.reduction_axes[i]);
  acc.reorder(inner_order);
  if (tile.columns > tile.lanes) {
    acc.vectorize(op.axes[column_at], tile.lanes).unroll(op.axes[column_at]);
  } else {
    acc.vectorize(op.axes[column_at]);
  }
  if (row_at && tile.rows > 1) acc.unroll(op.axes[*row_at]);
  if (packed && !earlier) {
    Directive pack;
    pack.kind = DirectiveKind::pack;
    pack.axes = {column};
    pack.factor = panel.value_or(tile.columns);
    pack.target = c->b->tensor->name;
    acc.add(pack);
  }
  return true;
}

}  // namespace emulsion

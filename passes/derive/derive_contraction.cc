#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "dsl/error.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/read_through.h"

namespace emulsion {
namespace {

double used_share(std::optional<int64_t> extent, int64_t tile) {
  if (!extent || *extent == 0) return 1;
  const int64_t rounded_up = (*extent + tile - 1) / tile * tile;
  return static_cast<double>(*extent) / static_cast<double>(rounded_up);
}

// How much of the machine's multiply-add rate a tile can use, as a rule of thumb: enough
// independent accumulators to hide the latency, and at most about one load for two multiply-adds.
double tile_rate(int64_t rows, int64_t vectors) {
  // Two multiply-adds a cycle that take four each need eight; the rest is for a core whose other
  // thread takes cycles and load ports away.
  constexpr double kHiddenLatency = 12, kFreeLoads = 0.5, kLoadCost = 0.5;
  double accumulators = static_cast<double>(rows * vectors);
  double loads = static_cast<double>(rows + vectors) / accumulators;
  return std::min(1.0, accumulators / kHiddenLatency) *
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

// How many registers the values between the operands and the sums take: of any other body than a
// product, one for what is computed and one for a constant that it takes.
int64_t registers_between(const Op& op, const Target& target) {
  return match_product(op) ? registers_of_product(target, op.dtype) : 2;
}

size_t position_of(const Op& op, const std::string& axis) {
  const std::optional<size_t> position = axis_index(op.axes, axis);
  EMULSION_CHECK(position, "{} has no axis {}", op.name, axis);
  return *position;
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

bool is_weight(const Op& op) { return op.kind == OpKind::weight || op.kind == OpKind::constant; }

// Whether the columns' operand can be laid out in panels ahead of time.
bool can_pack(const Expr& read, const std::string& column) {
  const Op& op = *read->tensor;
  if (!is_weight(op)) return false;
  if (op.kind == OpKind::constant && element_count(op.shape) == 1) return false;
  for (size_t i = 0; i < read->args.size(); ++i) {
    if (read->args[i]->op == ExprOp::axis && read->args[i]->name == column) {
      return op.shape[i].is_constant() && op.shape[i].constant_term() > 0;
    }
  }
  return false;
}

// Whether the operation is a permutation of the axes of a weight.
bool transposes_a_weight(const Op& op) {
  if (op.kind != OpKind::compute || op.body->op != ExprOp::read || !is_weight(*op.body->tensor)) {
    return false;
  }
  std::set<std::string> axes;
  for (const Expr& index : op.body->args) {
    if (index->op != ExprOp::axis) return false;
    axes.insert(index->name);
  }
  return axes.size() == op.axes.size() && op.body->args.size() == op.axes.size();
}

// The read of the weight that a read of its transposition is.
Expr read_of_the_weight(const Expr& read) {
  const Op& op = *read->tensor;
  return substitute_axes(
      op.body, [&](const std::string& axis) { return read->args[position_of(op, axis)]; });
}

bool is_inline(const Schedule& schedule, const std::string& name) {
  const StageSchedule* stage = schedule.find(name);
  return stage && !stage->directives().empty() &&
         stage->directives().front().kind == DirectiveKind::compute_inline;
}

enum class Shared : uint8_t { nothing, outer, columns, rows };

double balance(int64_t tasks, int64_t cores) {
  if (tasks == 0) return 0;
  const int64_t rounded_up = (tasks + cores - 1) / cores * cores;
  return static_cast<double>(tasks) / static_cast<double>(rounded_up);
}

// What the threads share, if anything: whole outer iterations, panels of columns, or tiles of rows.
// `copied`: a panel is copied before its first tile of rows, so it should have them all.
Shared choose_shares(const Op& op, const RegisterTile& tile, std::optional<int64_t> rows,
                     std::optional<int64_t> columns, bool has_outer, std::optional<int64_t> outer,
                     bool copied, const Target& target) {
  std::optional<int64_t> depth = 1;
  for (const Axis& axis : op.reduction_axes) {
    auto extent = axis.extent().as_constant();
    depth = depth && extent ? std::optional<int64_t>(*depth * *extent) : std::nullopt;
  }
  bool known = depth && rows && columns && (!has_outer || outer);
  if (target.cores < 2) return Shared::nothing;
  if (known && *depth * *rows * *columns * outer.value_or(1) < kWorkForThreads) {
    return Shared::nothing;
  }
  if (has_outer && (!outer || *outer >= target.cores)) return Shared::outer;
  if (!columns) {
    // Few rows are no work for all threads, however many columns a call brings.
    const bool few_rows = rows && (*rows + tile.rows - 1) / tile.rows < 4 * int64_t{target.cores};
    return few_rows || copied ? Shared::columns : Shared::rows;
  }
  int64_t panels = (*columns + tile.columns - 1) / tile.columns;
  if (!rows) {
    // Panels are shared whatever the batch: so one row must be worth the threads.
    bool wide = !depth || *depth * *columns >= kWorkForThreads / 4;
    return wide && panels >= target.cores ? Shared::columns : Shared::rows;
  }
  if (copied && panels >= target.cores) return Shared::columns;
  int64_t row_tiles = (*rows + tile.rows - 1) / tile.rows;
  double of_columns = balance(panels, target.cores), of_rows = balance(row_tiles, target.cores);
  return of_columns >= std::min(of_rows, 0.95) ? Shared::columns : Shared::rows;
}

// Which axis of the operand is the columns', when each of its indices is an axis of the operation
// and it is not read in any other way.
std::optional<size_t> column_of_operand(const Op& op, const Expr& read, const std::string& column) {
  std::optional<size_t> found;
  for (size_t i = 0; i < read->args.size(); ++i) {
    if (read->args[i]->op != ExprOp::axis) return std::nullopt;
    if (read->args[i]->name == column) found = i;
  }
  return is_read_otherwise(op, read) ? std::nullopt : found;
}

// Which axis of the columns' operand is theirs, if it pays to copy panels of it. What is not packed
// is read in steps of a whole row of it, each from another page, again for every tile of rows.
// `lies_across`: its elements come from where neighbouring columns are no neighbours.
std::optional<size_t> pays_to_copy_panels(const Op& op, const Expr& read, const std::string& column,
                                          const RegisterTile& tile, std::optional<int64_t> rows,
                                          std::optional<int64_t> columns, bool lies_across) {
  constexpr int64_t kLeastReuse = 4, kPagesAtHand = 64, kPage = 4096;
  constexpr int64_t kManyColumns = 1024;  // of a run-time size: rows of a page
  std::optional<size_t> column_at = column_of_operand(op, read, column);
  if (!column_at || (rows && *rows < kLeastReuse * tile.rows)) return std::nullopt;
  const Op& operand = *read->tensor;
  // A copy is gathered only once.
  if (*column_at + 1 != operand.shape.size() || lies_across) return column_at;
  if (!rows) return std::nullopt;
  double bytes = static_cast<double>(columns.value_or(kManyColumns)) * size_in_bytes(operand.dtype);
  for (const Axis& axis : op.reduction_axes) {
    if (!axis.extent().is_constant()) return std::nullopt;
    bytes *= static_cast<double>(axis.extent().constant_term());
  }
  return bytes >= static_cast<double>(kPagesAtHand * kPage) ? column_at : std::nullopt;
}

// Whether the columns' operand is contiguous along the reduction and not along the columns, so that
// vectors of columns would be gathered: lanes of the reduction read it as it lies.
bool is_better_as_reduction(const Op& op, const Contraction& c, const Axis& column,
                            const Target& target) {
  const Axis& last = op.reduction_axes.back();
  return !is_along(c.b, column) && steps_along(c.b, last, c) && last.extent().is_constant() &&
         last.extent().constant_term() >= int64_t{2} * target.vector_lanes(op.dtype);
}

// Whether a value is chosen by comparing: of floats several operations, with a mask between.
bool compares(const Op& op) {
  bool found = op.combiner == Combiner::min || op.combiner == Combiner::max;
  visit(op.body, [&](const Expr& e) {
    found = found || ((e->op == ExprOp::min || e->op == ExprOp::max) && is_float(e.dtype()));
  });
  return found && is_float(op.dtype);
}

// The sums of a tile, or whatever else is accumulated, of which a row is one vector (see the
// idiom). LLVM cannot keep the masks of such a wide one in registers: where values are compared a
// row is as many vectors as it takes.
//   for m: for n: for k  ->  in loop `at` of the consumer: for k: unrolled m: unrolled n: lanes
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

// Whether columns that are fewer than a vector's lanes, and not half or a quarter as many, should
// be a vector with a mask: short ones of such lengths are put together element by element.
bool pays_to_mask(const Op& op, const Expr& b, size_t column_at, const Target& target) {
  const int64_t lanes = target.vector_lanes(op.dtype);
  const int64_t columns = op.shape[column_at].as_constant().value_or(lanes);
  const bool is_part = columns > 1 && lanes % columns == 0;
  return target.has("avx") && columns < lanes && !is_part && size_in_bytes(op.dtype) >= 4 &&
         is_along(b, op.axes[column_at]);
}

// for panel: for tile: use w  ->  for panel: load w_panel; for tile: use w_panel
// or, without `panel`, load w_panel whole before all loops.
void copy_panels(const Op& operand, size_t column_at, const std::string& reader,
                 const std::string& consumer, const std::optional<Axis>& panel,
                 const RegisterTile& tile, Schedule* schedule) {
  const std::string copy = fresh_stage(*schedule, operand.name + "_panel");
  if (panel) {
    stage_operand(*schedule, reader, operand.name, copy, consumer, *panel);
  } else {
    (*schedule)[reader].copy_in(operand.name, copy);
  }
  StageSchedule& stage = (*schedule)[copy];
  std::vector<Axis> axes = copy_axes(operand);  // outermost first
  const Axis column = axes[column_at], lane(fresh_axis(operand, "lane"));
  axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(column_at));
  std::vector<Axis> order(axes.rbegin(), axes.rend());
  order.insert(order.begin(), column);
  if (column_at != axes.size()) stage.reorder_storage(order);
  if (panel) {
    if (tile.columns > tile.lanes) {
      stage.split(column, column, lane, tile.lanes).unroll(column);
      order.insert(order.begin(), lane);
    }
    stage.vectorize(order.front());
  }
  stage.reorder(order);
}

}  // namespace

RegisterTile choose_register_tile(const Target& target, DType dtype, std::optional<int64_t> rows,
                                  std::optional<int64_t> columns, bool padded,
                                  std::optional<int64_t> panel, std::optional<int64_t> between) {
  constexpr int64_t kMostRows = 12;  // beyond, compilers spill
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
      if (!padded && columns && width > *columns) continue;
      if (panel && *panel % width != 0) continue;
      if (!columns && vectors == 3) continue;  // sizes are more often multiples of 2 or 4
      double rate = tile_rate(r, vectors) * used_share(rows, r) * used_share(columns, width);
      // A run-time extent may be short.
      if (!rows) rate *= 1 - 0.01 * static_cast<double>(r);
      if (!columns) rate *= 1 - 0.01 * static_cast<double>(vectors);
      if (rate > best_rate + 1e-9) {
        best_rate = rate;
        best = {r, width, lanes};
      }
    }
  }
  return best;
}

std::set<std::string> transposed_weights(const Graph& grouped) {
  std::map<std::string, int> readers;
  std::set<std::string> found;
  auto look_at = [&](const Op& op) {
    std::set<std::string> operands;
    visit(op.body, [&](const Expr& e) {
      if (e->op == ExprOp::read) operands.insert(e->tensor->name);
    });
    for (const std::string& name : operands) ++readers[name];
    std::optional<Contraction> c = match_contraction(op);
    if (!c || !has_register_tiles(op)) return;
    if (!transposes_a_weight(*c->b->tensor) || c->a->tensor == c->b->tensor) return;
    if (can_pack(read_of_the_weight(c->b), c->column_axes.back())) found.insert(c->b->tensor->name);
  };
  for (const OpPtr& op : grouped.ops()) {
    if (op->kind == OpKind::compute) look_at(*op);
    for (const OpPtr& member : op->members) look_at(*member);
  }
  for (const OpPtr& output : grouped.outputs()) found.erase(output->name);
  for (const OpPtr& op : grouped.ops()) {
    if (!found.count(op->name)) continue;
    if (readers[op->name] > 1 || readers[op->body->tensor->name] > 1) found.erase(op->name);
  }
  return found;
}

bool is_read_otherwise(const Op& op, const Expr& read) {
  bool found = false;
  visit(op.body, [&](const Expr& e) {
    if (e->op != ExprOp::read || e->tensor->name != read->tensor->name) return;
    found = found || !equal(e, read);
  });
  return found;
}

bool has_register_tiles(const Op& op) {
  const std::optional<Contraction> c = match_contraction(op);
  return c && !c->divides && !c->column_axes.empty() &&
         op.axes.back().name() == c->column_axes.back();
}

bool derive_contraction(const ContractionGroup& group, const Target& target,
                        const DeriveOptions& options, Schedule* schedule) {
  const Op& op = *group.contraction;
  const Op& result = *group.result;
  if (!has_register_tiles(op)) return false;
  std::optional<Contraction> c = match_contraction(op);
  size_t column_at = op.axes.size() - 1;
  std::optional<int64_t> columns = op.shape[column_at].as_constant();
  if (columns && *columns == 0) return false;
  std::optional<size_t> row_at;
  if (!c->row_axes.empty()) row_at = position_of(op, c->row_axes.back());
  std::optional<int64_t> rows =
      row_at ? op.shape[*row_at].as_constant() : std::optional<int64_t>(1);
  if (rows && *rows == 0) return false;

  const std::string& column = op.axes[column_at].name();
  if (is_inline(*schedule, c->b->tensor->name) && transposes_a_weight(*c->b->tensor)) {
    c->b = read_of_the_weight(c->b);
  }
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
  const std::optional<Dots> narrow = match_dots(op, *c, packed, target);
  if (narrow && narrow->columns && !panel) {
    derive_dots(group, *narrow, *c, target, schedule);
    return true;
  }
  const bool masked = !packed && pays_to_mask(op, c->b, column_at, target);
  const RegisterTile tile = choose_register_tile(target, op.dtype, rows, columns, packed || masked,
                                                 panel, registers_between(op, target));

  // The result's loops: outer.., no, mo, mi, ni, lane (or mo outside no).
  std::vector<size_t> outer_axes;
  std::optional<int64_t> outer_extent = 1;
  for (size_t i = 0; i < op.axes.size(); ++i) {
    if (i == column_at || (row_at && i == *row_at)) continue;
    outer_axes.push_back(i);
    auto extent = op.shape[i].as_constant();
    outer_extent =
        outer_extent && extent ? std::optional<int64_t>(*outer_extent * *extent) : std::nullopt;
  }
  std::optional<size_t> copied;
  const bool lies_across = is_inline(*schedule, c->b->tensor->name) && !keeps_rows(*c->b->tensor);
  if (!packed) copied = pays_to_copy_panels(op, c->b, column, tile, rows, columns, lies_across);
  const size_t copied_axis = copied.value_or(0);
  const bool contiguous = copied && copied_axis + 1 == c->b->args.size() && !lies_across;
  if (!packed && !copied && is_better_as_reduction(op, *c, op.axes[column_at], target)) {
    if (!narrow) return false;
    derive_dots(group, *narrow, *c, target, schedule);
    return true;
  }
  Shared over = choose_shares(op, tile, rows, columns, !outer_axes.empty(), outer_extent,
                              copied.has_value(), target);

  std::string accumulator = op.name;
  StageSchedule& y = (*schedule)[result.name];
  if (&op == &result) {
    accumulator = fresh_stage(*schedule, op.name + "_acc");
    y.cache_write(accumulator);
  }
  const TileLoops loops{Axis(fresh_axis(result, "panel")), Axis(fresh_axis(result, "column")),
                        Axis(fresh_axis(result, "lane")), Axis(fresh_axis(result, "tile")),
                        Axis(fresh_axis(result, "row"))};
  std::optional<Axis> m, rows_of_acc;
  if (row_at) m = result.axes[*row_at];
  if (row_at) rows_of_acc = op.axes[*row_at];
  // Around a tile, innermost first: the rows inside a panel, or a panel inside the rows.
  const bool rows_outside = over == Shared::rows && row_at;
  std::vector<Axis> outside = {loops.panel};
  if (m) outside.insert(rows_outside ? outside.end() : outside.begin(), row_loop(*m, tile, loops));
  const Axis innermost = outside.front();
  for (size_t i = outer_axes.size(); i-- > 0;) outside.push_back(result.axes[outer_axes[i]]);
  const bool exact = op.shape[column_at].exact_quotient(tile.columns).has_value();
  const bool shifted = !packed && !masked && columns;
  register_tile(y, m, result.axes[column_at], tile, loops, outside,
                exact ? Tail::automatic : (shifted ? Tail::shift_inwards : Tail::predicate));
  // Only the last of many panels has masks.
  if (!exact && !columns) y.partition(loops.panel);
  std::vector<Extent> work = op.shape;
  for (const Axis& axis : op.reduction_axes) work.push_back(axis.extent());
  if (over == Shared::columns) {
    if (columns) {
      y.parallel(loops.panel);
    } else {
      parallel_from(y, loops.panel, work, kWorkForThreads);
    }
  }
  if (rows_outside) parallel_from(y, row_loop(*m, tile, loops), work, kWorkForThreads);
  if (over == Shared::outer) {
    std::vector<Axis> shared, fused;
    for (size_t axis : outer_axes) shared.push_back(result.axes[axis]);
    for (size_t i = 1; i < outer_axes.size(); ++i) {
      fused.emplace_back(fresh_axis(result, "outer" + std::to_string(i)));
    }
    parallel_from(y, fuse_rows(y, shared, fused), work, kWorkForThreads);
  }

  StageSchedule& acc = (*schedule)[accumulator];
  accumulate_tile(op, result.name, innermost, rows_of_acc, op.axes[column_at], tile, &acc);
  if (packed && !earlier) {
    acc.pack(c->b->tensor->name, Axis(column), panel.value_or(tile.columns));
  }
  if (copied && !(rows_outside && contiguous)) {
    copy_panels(*c->b->tensor, copied_axis, accumulator, result.name,
                rows_outside ? std::nullopt : std::optional<Axis>(loops.panel), tile, schedule);
  }
  return true;
}

}  // namespace emulsion

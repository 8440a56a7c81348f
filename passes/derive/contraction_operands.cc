#include "passes/derive/contraction_operands.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "dsl/affine.h"
#include "dsl/error.h"
#include "dsl/fitting_name.h"
#include "dsl/index_arithmetic.h"
#include "passes/derive/derive_few_columns.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/window_sums.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

// What the generator may lay out ahead of time.
bool is_weight(const Op& op) { return op.kind == OpKind::weight || op.kind == OpKind::constant; }

// What the storage of rows is aligned to, so that each row starts at another set of a cache: an odd
// number of lines. Of a run-time length it is a multiple of five lines, which no power of two is.
int64_t odd_lines(const Extent& elements, DType dtype) {
  constexpr int64_t kLine = 64, kLinesOfRunTime = 5;
  const int64_t line = kLine / size_in_bytes(dtype);
  if (!elements.is_constant()) return kLinesOfRunTime * line;
  const int64_t lines = (elements.constant_term() + line - 1) / line;
  return line * (lines % 2 == 0 ? lines + 1 : lines);
}

// Of less than a vector or two, in which each step would wait for the one before it: a reduction
// adds up several rows of `b` at a time (derive_few_columns.h).
bool is_one_row_of_few_columns(const Op& op, const Contraction& c) {
  constexpr int64_t kMostBytes = 64;
  if (!c.row_axes.empty() || !c.batch_axes.empty() || c.column_axes.size() != 1) return false;
  const int64_t columns = op.axes.back().extent().as_constant().value_or(kMostBytes);
  return columns * size_in_bytes(op.dtype) < kMostBytes && is_along(c.b, op.axes.back());
}

}  // namespace

std::optional<Contraction> match_tiles(const Op& op) {
  if (std::optional<Contraction> two = match_contraction(op)) return two;
  std::optional<Contraction> several = match_several(op);
  if (!several || several->column_axes.empty()) return std::nullopt;
  const std::string& column = several->column_axes.back();
  for (const Expr& other : several->others) {
    const bool has_columns =
        std::any_of(other->args.begin(), other->args.end(),
                    [&](const Expr& index) { return mentions(index, column); });
    if (has_columns && !is_along(other, Axis(column))) return std::nullopt;
  }
  return several;
}

bool has_register_tiles(const Op& op) {
  const std::optional<Contraction> c = match_tiles(op);
  // Windows of one weight each have no rows that share what is read along the columns.
  if (c && c->row_axes.empty() && reads_windows(op, c->b)) return false;
  if (c && is_one_row_of_few_columns(op, *c)) return false;
  if (c && c->row_axes.empty() && !columns_of_long_sums(op).empty()) return false;
  return c && !c->divides && !c->column_axes.empty() &&
         op.axes.back().name() == c->column_axes.back() && !sums_up_pixels(op);
}

bool are_squares(const Op& op, const Contraction& c) {
  if (c.batch_axes.empty() || c.row_axes.size() != 1 || c.column_axes.size() != 1 ||
      op.reduction_axes.size() != 1) {
    return false;
  }
  const Extent& size = op.shape.back();
  return !size.is_constant() && op.reduction_axes.back().extent() == size &&
         op.axes[*axis_index(op.axes, c.row_axes.back())].extent() == size;
}

bool is_packed_name_free(const Schedule& schedule, const std::string& weight_name) {
  const std::string packed = fitting_name(weight_name + "_packed");
  if (schedule.graph().has_name(packed)) return false;
  for (const auto& [name, stage] : schedule.stages()) {
    for (const Directive& d : stage.directives()) {
      const bool is_other = d.kind == DirectiveKind::pack && d.target != weight_name;
      if (is_other && fitting_name(d.target + "_packed") == packed) return false;
    }
  }
  return true;
}

std::optional<int64_t> packed_already(const Schedule& schedule, const std::string& weight_name) {
  for (const auto& [name, stage] : schedule.stages()) {
    for (const Directive& d : stage.directives()) {
      if (d.kind == DirectiveKind::pack && d.target == weight_name) return d.factor;
    }
  }
  return std::nullopt;
}

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

bool transposes_a_weight(const Op& op) {
  const bool copies = op.kind == OpKind::compute && op.combiner == Combiner::none &&
                      op.body->op == ExprOp::read && is_weight(*op.body->tensor);
  if (!copies) return false;
  std::set<std::string> axes;
  for (const Expr& index : op.body->args) {
    if (index->op != ExprOp::axis) return false;
    axes.insert(index->name);
  }
  return axes.size() == op.axes.size() && op.body->args.size() == op.axes.size();
}

Expr read_of_the_weight(const Expr& read) {
  const Op& op = *read->tensor;
  return substitute_axes(op.body, [&](const std::string& axis) {
    return read->args[axis_index(op.axes, axis).value()];
  });
}

std::optional<size_t> column_of_operand(const Op& op, const Expr& read, const std::string& column) {
  std::optional<size_t> found;
  for (size_t i = 0; i < read->args.size(); ++i) {
    if (read->args[i]->op != ExprOp::axis) return std::nullopt;
    if (read->args[i]->name == column) found = i;
  }
  return is_read_otherwise(op, read) ? std::nullopt : found;
}

std::optional<size_t> pays_to_copy_panels(const Op& op, const Expr& read, const std::string& column,
                                          const RegisterTile& tile, std::optional<int64_t> rows,
                                          std::optional<int64_t> columns, bool lies_across) {
  constexpr int64_t kLeastReuse = 4;  // tiles of rows that read each panel
  constexpr int64_t kPagesAtHand = 64, kPage = 4096;
  constexpr int64_t kMany = 1024;  // what a run-time size counts as: columns of a page
  std::optional<size_t> column_at = column_of_operand(op, read, column);
  if (!column_at) return std::nullopt;
  const Op& operand = *read->tensor;
  // A copy is gathered only once.
  if (*column_at + 1 != operand.shape.size() || lies_across) {
    return rows.value_or(kRowsForTurned) >= kRowsForTurned ? column_at : std::nullopt;
  }
  if (rows.value_or(kMany) < kLeastReuse * tile.rows) return std::nullopt;
  double bytes = static_cast<double>(columns.value_or(kMany)) * size_in_bytes(operand.dtype);
  for (const Axis& axis : op.reduction_axes) {
    bytes *= static_cast<double>(axis.extent().as_constant().value_or(kMany));
  }
  return bytes >= static_cast<double>(kPagesAtHand * kPage) ? column_at : std::nullopt;
}

std::optional<size_t> pays_to_turn_once(const Op& op, const Expr& read,
                                        const std::vector<size_t>& outer_axes,
                                        const Target& target) {
  if (outer_axes.empty() || is_along(read, op.axes.back())) return std::nullopt;
  for (const size_t at : outer_axes) {
    if (mentions(read, op.axes[at].name())) return std::nullopt;
  }
  int64_t rows = 1;  // of all; a run-time size counts as many
  for (size_t i = 0; i + 1 < op.axes.size(); ++i) {
    rows = saturated_product(rows, op.shape[i].as_constant().value_or(kRowsForTurned));
  }
  const Op& operand = *read->tensor;
  const std::optional<int64_t> elements = element_count(operand.shape);
  if (rows < kRowsForTurned || !elements) return std::nullopt;
  const int64_t bytes = saturated_product(*elements, size_in_bytes(operand.dtype));
  if (bytes > target.l1_bytes / 2) return std::nullopt;
  return column_of_operand(op, read, op.axes.back().name());
}

bool comes_from_memory(int64_t bytes, const Target& target) {
  return bytes > target.l2_bytes / 4 * 3;
}

size_t loops_around_panels(const Op& op, const Contraction& c,
                           const std::vector<size_t>& outer_axes, int64_t panels,
                           const Target& target) {
  constexpr double kLeastGain = 2;
  constexpr int64_t kPanelsForCore = 3;
  const size_t all = outer_axes.size();
  const std::optional<int64_t> elements = element_count(c.b->tensor->shape);
  if (!elements) return all;
  const int64_t weights = saturated_product(*elements, size_in_bytes(op.dtype));
  if (!comes_from_memory(weights, target)) return all;
  // Of a run-time batch, what is read of one of it.
  int64_t input = size_in_bytes(op.dtype);
  for (const Extent& e : c.a->tensor->shape) {
    input = saturated_product(input, e.as_constant().value_or(1));
  }
  // The bytes that panels take at `steps` steps of the loops around them.
  const auto bytes_read = [&](int64_t steps) {
    const int64_t of_step = input / std::max<int64_t>(steps, 1);
    const int64_t times = comes_from_memory(of_step, target) ? panels : 1;
    return static_cast<double>(steps) * (static_cast<double>(weights) +
                                         static_cast<double>(times) * static_cast<double>(of_step));
  };
  // The bytes of each number of loops that threads can share.
  std::vector<std::pair<double, size_t>> choices;
  int64_t steps = 1;
  const bool has_panels = target.cores < 2 || panels >= kPanelsForCore * target.cores;
  if (has_panels) choices.emplace_back(bytes_read(1), 0);
  for (size_t i = 0; i < all; ++i) {
    const Axis& axis = op.axes[outer_axes[i]];
    if (mentions(c.b, axis.name())) return all;
    const std::optional<int64_t> extent = axis.extent().as_constant();
    if (!extent) choices.clear();
    steps = saturated_product(steps, extent.value_or(1));
    const bool is_shared = target.cores < 2 || !extent || steps >= target.cores;
    if (!is_shared) continue;
    choices.emplace_back(bytes_read(steps) / (i + 1 == all ? kLeastGain : 1), i + 1);
  }
  return choices.empty() ? all : std::min_element(choices.begin(), choices.end())->second;
}

bool is_better_as_reduction(const Op& op, const Contraction& c, const Axis& column,
                            const Target& target) {
  const Axis& last = op.reduction_axes.back();
  if (is_along(c.b, column) || !steps_along(c.b, last, c)) return false;
  // What is behind several axes may be as short as the colours of a picture.
  if (!last.extent().is_constant()) return c.column_axes.size() == 1;
  return last.extent().constant_term() >= int64_t{2} * target.vector_lanes(op.dtype);
}

bool is_turned(const Op& op, const Expr& b, const Axis& column, std::optional<int64_t> rows) {
  return !is_along(b, column) && column_of_operand(op, b, column.name()) &&
         rows.value_or(kRowsForTurned) >= kRowsForTurned;
}

bool has_few_steps(const Op& op, int64_t most) {
  const int64_t steps = steps_of_sum(op, most + 1);
  return steps > 0 && steps <= most;
}

namespace {

constexpr int64_t kStepsOfFlat = 8;

// Those of fewer panels lie near one another.
int64_t least_columns_of_flat(const RegisterTile& tile) {
  constexpr int64_t kPanels = 2;
  return kPanels * tile.columns + 1;
}

}  // namespace

bool is_flat(const Op& op, const RegisterTile& tile, const Target& target) {
  const int64_t columns = op.shape.back().as_constant().value_or(0);
  const int64_t bytes = size_in_bytes(op.dtype) * kStepsOfFlat;
  return has_few_steps(op, kStepsOfFlat) && columns >= least_columns_of_flat(tile) &&
         saturated_product(columns, bytes) <= target.l1_bytes;
}

std::optional<Expr> may_be_flat(const Op& op, const RegisterTile& tile) {
  const Extent &steps = op.reduction_axes.back().extent(), &columns = op.shape.back();
  const int64_t least = least_columns_of_flat(tile);
  const int64_t most_steps = steps.as_constant().value_or(kStepsOfFlat);
  if (op.reduction_axes.size() > 1 || most_steps < 1 || most_steps > kStepsOfFlat ||
      columns.as_constant().value_or(least) < least || share_a_size(steps, columns)) {
    return std::nullopt;
  }
  const Expr few = extent_value(steps) <= int_constant(kStepsOfFlat);
  const Expr many = extent_value(columns) >= int_constant(least);
  if (columns.is_constant()) return steps.is_constant() ? std::nullopt : std::optional(few);
  return steps.is_constant() ? many : few && many;
}

bool pays_to_mask(const Op& op, size_t column_at, const Target& target) {
  const int64_t lanes = target.vector_lanes(op.dtype);
  const int64_t columns = op.shape[column_at].as_constant().value_or(lanes);
  const bool is_part = columns > 1 && lanes % columns == 0;
  if (!target.has("avx") || columns >= lanes || is_part || size_in_bytes(op.dtype) < 4)
    return false;
  return target.has("avx512_skylake") || !has_few_steps(op);
}

namespace {

// A copy of an operand whose columns lie one after another.
struct ColumnsCopy {
  StageSchedule& stage;
  Axis column, lane;
  std::vector<Axis> others;  // innermost first
};

// At the steps of a loop of `consumer`, if one is given; else whole, before all loops.
ColumnsCopy copy_columns(const Op& operand, size_t column_at, const std::string& suffix,
                         const std::string& reader, const std::string& consumer,
                         const std::optional<Axis>& at, Schedule* schedule) {
  const std::string copy = fresh_stage(*schedule, operand.name + suffix);
  if (at) {
    stage_operand(*schedule, reader, operand.name, copy, consumer, *at);
  } else {
    (*schedule)[reader].copy_in(operand.name, copy);
  }
  std::vector<Axis> axes = copy_axes(operand);  // outermost first
  const Axis column = axes[column_at];
  axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(column_at));
  ColumnsCopy made{(*schedule)[copy], column, Axis(fresh_axis(operand, "lane")),
                   std::vector<Axis>(axes.rbegin(), axes.rend())};
  std::vector<Axis> storage = made.others;
  storage.insert(storage.begin(), column);
  if (column_at != axes.size()) made.stage.reorder_storage(storage);
  return made;
}

}  // namespace

void copy_panels(const Op& operand, size_t column_at, const std::string& reader,
                 const std::string& consumer, const std::optional<Axis>& panel,
                 const RegisterTile& tile, Schedule* schedule) {
  auto [stage, column, lane, order] =
      copy_columns(operand, column_at, "_panel", reader, consumer, panel, schedule);
  order.insert(order.begin(), column);
  if (panel) {
    if (tile.columns > tile.lanes) {
      stage.split(column, column, lane, tile.lanes).unroll(column);
      order.insert(order.begin(), lane);
    }
    stage.vectorize(order.front());
  }
  stage.reorder(order);
}

void turn_columns(const Op& operand, size_t column_at, const std::string& reader,
                  const BlockLoops& blocks, int64_t lanes, Schedule* schedule) {
  auto [stage, column, lane, order] =
      copy_columns(operand, column_at, "_turned", reader, blocks.reader, blocks.around, schedule);
  const Extent& columns = operand.shape[column_at];
  stage.align_storage(column, odd_lines(columns, operand.dtype));
  const bool exact = columns.exact_quotient(lanes).has_value();
  const bool is_long = columns.as_constant().value_or(0) >= lanes;
  stage.split(column, column, lane, lanes,
              exact ? Tail::automatic : (is_long ? Tail::shift_inwards : Tail::predicate));
  const bool is_narrow = columns.as_constant().value_or(3 * lanes) <= 2 * lanes;  // like a panel
  if (is_narrow) stage.unroll(column);
  order.insert(order.begin() + (order.empty() || is_narrow ? 0 : 1), column);
  order.insert(order.begin(), lane);
  stage.reorder(order).vectorize(lane);
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
  return any_part(op.body, [&](const Expr& e) {
    return e->op == ExprOp::read && e->tensor->name == read->tensor->name && !equal(e, read);
  });
}

}  // namespace emulsion

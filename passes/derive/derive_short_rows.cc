// Sums of many rows of a run-time length, which may be as short as the coordinates of a point. Long
// rows are summed in lanes along them; of short ones such vectors would be nearly empty, and they
// are summed side by side, a row in each lane.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "dsl/expr.h"
#include "passes/derive/derive_stage.h"
#include "passes/index/simplify_index.h"
#include "passes/index/size_facts.h"

namespace emulsion {
namespace {

// Vectors of rows this long are made of as many vectors of memory.
constexpr int64_t kMostElements = 4;

bool mentions_any(const Expr& read, size_t first, size_t count, const Axis& axis) {
  const std::vector<Expr>& args = read->args;
  return std::any_of(args.begin() + static_cast<std::ptrdiff_t>(first),
                     args.begin() + static_cast<std::ptrdiff_t>(first + count),
                     [&](const Expr& index) { return mentions(index, axis.name()); });
}

bool is_axis_alone(const Expr& index, const Axis& axis) {
  return index->op == ExprOp::axis && index->name == axis.name();
}

// Whether rows side by side are so in memory: what has none, one element of each, or all of each.
bool lies_side_by_side(const Expr& read, const Axis& rows, const Axis& along) {
  const size_t count = read->args.size();
  if (count == 0 || !mentions_any(read, 0, count, rows)) return true;
  if (mentions_any(read, 0, count - 1, along)) return false;
  if (is_axis_alone(read->args.back(), rows)) return !mentions_any(read, 0, count - 1, rows);
  return count > 1 && is_axis_alone(read->args.back(), along) &&
         read->tensor->shape.back() == along.extent() &&
         is_axis_alone(read->args[count - 2], rows) && !mentions_any(read, 0, count - 2, rows);
}

// The loop that threads may share, of the vectors of rows `around` or of the axes in front of them.
Axis shared_loop(const Op& op, const Axis& around, const Target& target, StageSchedule* stage) {
  const std::vector<Axis> loops(op.axes.begin(), op.axes.end() - 1);
  const size_t count = count_shared(loops, target);
  if (count == 0) return around;
  return share_loops(op, loops, count, std::nullopt, target, stage).tasks;
}

// One vector of rows at a time: there are loops for each length, and compiling more takes longer.
Axis derive_short(const Op& sums, const Op& result, const Target& target, Schedule* schedule) {
  const Axis &rows = result.axes.back(), tile(fresh_axis(result, "tile"));
  const Axis lane(fresh_axis(result, "lane"));
  const int64_t lanes = value_lanes(sums, target);
  const bool exact = rows.extent().exact_quotient(lanes).has_value();
  StageSchedule& stage = (*schedule)[result.name];
  stage.split(rows, tile, lane, lanes, exact ? Tail::automatic : Tail::predicate).vectorize(lane);
  if (!exact) stage.partition(tile);
  std::vector<Axis> order = {rows};
  order.insert(order.end(), sums.reduction_axes.rbegin(), sums.reduction_axes.rend());
  (*schedule)[sums.name].compute_at(result.name, tile).reorder(order).vectorize(rows);
  return tile;
}

Op renamed(const Op& op, const std::string& name) {
  Op other = op;
  other.name = name;
  return other;
}

}  // namespace

std::optional<Expr> length_of_summed_rows(const Op& op, const Target& target) {
  if (op.axes.empty() || op.reduction_axes.empty()) return std::nullopt;
  const Axis &rows = op.axes.back(), &along = op.reduction_axes.back();
  if (!is_what_is_left_of_a_size(along.extent())) return std::nullopt;
  const auto has_size = [&](const Extent& extent) { return share_a_size(extent, along.extent()); };
  if (std::any_of(op.shape.begin(), op.shape.end(), has_size)) return std::nullopt;
  const auto is_as_long = [&](const Axis& axis) { return has_size(axis.extent()); };
  if (std::any_of(op.reduction_axes.begin(), op.reduction_axes.end() - 1, is_as_long)) {
    return std::nullopt;
  }
  const int64_t least = 2 * value_lanes(op, target);
  if (rows.extent().as_constant().value_or(least) < least) return std::nullopt;
  bool any = false, all = true;
  visit(op.body, [&](const Expr& e) {
    if (e->op != ExprOp::read) return;
    any = any || mentions_any(e, 0, e->args.size(), rows);
    all = all && lies_side_by_side(e, rows, along);
  });
  return any && all ? std::optional(extent_value(along.extent())) : std::nullopt;
}

void derive_rows_by_length(const Op& op, const Expr& length, const Target& target,
                           Schedule* schedule) {
  const Op of_long = renamed(op, fresh_stage(*schedule, op.name + "_long"));
  const Op of_short = renamed(op, fresh_stage(*schedule, op.name + "_short"));
  const Expr is_short = length <= int_constant(kMostElements);
  StageSchedule& stage = (*schedule)[op.name];
  stage.cache_write(of_long.name);
  (*schedule)[of_long.name].alternative(is_short, of_short.name);
  if (is_output(op, *schedule)) {
    (*schedule)[of_long.name].store_in_output(op.name);
  }
  derive_rows_in_lanes(of_long, target, schedule);

  const Axis around = derive_short(of_short, op, target, schedule);
  for (int64_t elements = 1; elements <= kMostElements; ++elements) {
    (*schedule)[of_short.name]
        .specialize(length == int_constant(elements))
        .unroll(op.reduction_axes.back());
  }
  if (wakes_threads_to_sum(op, target)) {
    const Axis shared = shared_loop(op, around, target, &stage);
    const std::optional<Expr> enough = reaches(work_of_sums(op), points_for_threads({&op}, target));
    const Expr both = enough && enough->defined() ? is_short && *enough : is_short;
    if (enough && !never_holds(both)) {
      stage.specialize(both).parallel(shared);
      if (!enough->defined()) return;
    }
  }
  stage.specialize(is_short);
}

}  // namespace emulsion

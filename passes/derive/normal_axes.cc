#include "passes/derive/normal_axes.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "dsl/index_arithmetic.h"
#include "passes/analyse/recognise_op.h"
#include "passes/derive/window_sums.h"
#include "passes/fuse/fused_group.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

using Axes = std::vector<Axis>;

bool is_unit(const Extent& extent) { return extent == Extent(1); }

// How many axes a tensor has up to the last one that has more than one step.
size_t rank_without(const Shape& shape) {
  size_t rank = shape.size();
  while (rank > 0 && is_unit(shape[rank - 1])) --rank;
  return rank;
}

bool has_last_units(const Op& op) { return rank_without(op.shape) < op.shape.size(); }

// The last axis of more than one step; null where there is none.
const Axis* last_axis(const Axes& axes) {
  const auto last = std::find_if(axes.rbegin(), axes.rend(),
                                 [](const Axis& axis) { return !is_unit(axis.extent()); });
  return last == axes.rend() ? nullptr : &*last;
}

// Whether an index steps with one of the axes: of those of one step, or of the others.
bool steps_with(const Expr& index, const Axes& axes, bool of_units) {
  return std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) {
    return is_unit(axis.extent()) == of_units && mentions(index, axis.name());
  });
}

bool is_contraction(const Op& op) { return classify(op) == OpClass::contraction; }

// In which indices of a read the axes are; nothing where one is in none, or in several.
std::optional<std::vector<size_t>> places_in(const Expr& read, const Axes& axes) {
  std::vector<size_t> places;
  for (const Axis& axis : axes) {
    const auto has_axis = [&](const Expr& index) { return mentions(index, axis.name()); };
    const auto at = std::find_if(read->args.begin(), read->args.end(), has_axis);
    if (at == read->args.end() ||
        std::find_if(at + 1, read->args.end(), has_axis) != read->args.end()) {
      return std::nullopt;
    }
    places.push_back(static_cast<size_t>(at - read->args.begin()));
  }
  return places;
}

// The axes in the order in which they are in memory, unless one operand is read in theirs. A
// contraction packs its operands.
Axes along_memory(const Axes& axes, const Op& op) {
  if (axes.size() < 2 || is_contraction(op)) return axes;
  std::optional<std::vector<size_t>> first;
  const bool is_in_order = any_part(op.body, [&](const Expr& e) {
    if (e->op != ExprOp::read) return false;
    const auto places = places_in(e, axes);
    if (places && !first) first = places;
    return places && std::is_sorted(places->begin(), places->end());
  });
  if (is_in_order || !first) return axes;
  std::multimap<size_t, Axis> in_memory;
  for (size_t i = 0; i < axes.size(); ++i) in_memory.emplace((*first)[i], axes[i]);
  Axes sorted;
  for (const auto& [place, axis] : in_memory) sorted.push_back(axis);
  return sorted;
}

// A sum has one axis at least: without any it would be no sum.
Axes without_units(const Axes& summed) {
  Axes rest;
  std::copy_if(summed.begin(), summed.end(), std::back_inserter(rest),
               [](const Axis& axis) { return !is_unit(axis.extent()); });
  if (rest.empty() && !summed.empty()) rest.push_back(summed.front());
  return rest;
}

Axes normal_sum(const Op& op) { return along_memory(without_units(op.reduction_axes), op); }

// Those of a graph that are read by what has more axes than they: what is kept of rows for these.
std::unordered_set<const Op*> read_by_rows(const Graph& graph) {
  std::unordered_set<const Op*> result;
  const std::function<void(const Op&)> add = [&](const Op& op) {
    for (const OpPtr& member : op.members) add(*member);
    if (op.kind != OpKind::compute) return;
    const size_t rank = rank_without(op.shape);
    visit(op.body, [&](const Expr& e) {
      const bool has_fewer = e->op == ExprOp::read && rank_without(e->tensor->shape) < rank;
      if (has_fewer) result.insert(e->tensor.get());
    });
  };
  for (const OpPtr& op : graph.ops()) add(*op);
  return result;
}

// Which operations would have other loops in normal form.
class WrittenOtherwise {
 public:
  explicit WrittenOtherwise(const Graph& graph) : read_by_rows_(read_by_rows(graph)) {}

  bool add(const Op& op) {
    bool is_otherwise = false;
    if (op.kind == OpKind::fused) {
      for (const OpPtr& member : op.members) is_otherwise = add(*member) || is_otherwise;
    } else if (op.kind == OpKind::compute) {
      const bool is_along = any_part(op.body, [&](const Expr& e) {
        return e->op == ExprOp::read && has_last_units(*e->tensor) && is_walked(e, op);
      });
      if (is_along) along_.insert(&op);
      is_otherwise = is_along || goes_across(op) || has_few_lanes_of_sums(op);
    }
    if (is_otherwise) along_.insert(&op);
    return is_otherwise;
  }

 private:
  // Whether another axis is the last one that is summed up in normal form, or one before it.
  static bool goes_across(const Op& op) {
    const Axes& summed = op.reduction_axes;
    if (summed.size() < 2 || is_contraction(op)) return false;
    const auto is_named = [](const Axis& a, const Axis& b) { return a.name() == b.name(); };
    const Axes rest = without_units(summed), normal = along_memory(rest, op);
    return !is_named(rest.back(), summed.back()) ||
           !std::equal(rest.begin(), rest.end(), normal.begin(), normal.end(), is_named);
  }

  // Whether some index steps both with an axis of the result and with one that is summed up.
  static bool has_windows(const Op& op) {
    return any_part(op.body, [&](const Expr& e) {
      return e->op == ExprOp::read &&
             std::any_of(e->args.begin(), e->args.end(), [&](const Expr& index) {
               return steps_with(index, op.axes, false) &&
                      steps_with(index, op.reduction_axes, false);
             });
    });
  }

  // Whether lanes along what is summed up would be few, or much would be added up in the end: of
  // windows over few channels, or of few steps.
  static bool sums_too_few(const Op& op) {
    constexpr int64_t kFewestSteps = 17;
    const int64_t steps = steps_of_sum(op, kFewestSteps);
    const Axis* const last = last_axis(op.reduction_axes);
    const int64_t channels = last == nullptr ? 1 : last->extent().as_constant().value_or(steps);
    return steps < kFewestSteps || (has_windows(op) && channels < kFewestChannels);
  }

  // The same of sums that are kept as [M, 1], and are no rows of others: without that axis they
  // have lanes along the results.
  bool has_few_lanes_of_sums(const Op& op) const {
    const bool is_kept = has_last_units(op) && !op.reduction_axes.empty() && !is_contraction(op);
    if (!is_kept || last_axis(op.axes) == nullptr || read_by_rows_.count(&op) > 0) return false;
    const Axis* const last = last_axis(op.reduction_axes);
    return sums_too_few(op) ||
           (last && last->extent().as_constant().value_or(kFewestChannels) < kFewestChannels);
  }

  // Whether the read goes along its tensor, but for axes of one step, as vectors of the operation
  // do: along a row of the result, or along what is summed up.
  bool is_walked(const Expr& read, const Op& op) const {
    const size_t rank = rank_without(read->tensor->shape);
    if (rank == 0) return false;
    const auto goes_along = [&](const Axes& axes) {
      const Axis* const last = last_axis(axes);
      return last != nullptr && mentions(read->args[rank - 1], last->name());
    };
    const bool of_result = goes_along(op.axes), of_sum = goes_along(op.reduction_axes);
    if (of_result && of_sum) return true;  // a window
    // The weights of a layer of one column are walked with its other operand.
    const bool is_column = has_last_units(op) && is_contraction(op) && !sums_too_few(op);
    return (of_result || (of_sum && !is_column)) && is_leaf_or_along(*read->tensor);
  }

  bool is_leaf_or_along(const Op& op) const { return !is_computed(op) || along_.count(&op) > 0; }

  static constexpr int64_t kFewestChannels = 8;

  const std::unordered_set<const Op*> read_by_rows_;
  // What is kept of a sum along rows, [M, 1], and what is computed of that value by value, is not
  // among these.
  std::unordered_set<const Op*> along_;
};

// Operations in normal form, of which each knows those that it reads.
class NormalOps {
 public:
  OpPtr add(const OpPtr& op) {
    auto copy = std::make_shared<Op>(*op);
    copy->shape.resize(rank_without(op->shape));
    if (op->kind == OpKind::fused) {
      for (OpPtr& member : copy->members) member = add(member);
    } else if (op->kind == OpKind::compute) {
      const auto units = static_cast<std::ptrdiff_t>(copy->shape.size());
      copy->axes.erase(copy->axes.begin() + units, copy->axes.end());
      copy->reduction_axes = normal_sum(*op);
      copy->body = normal_body(*op, *copy);
    }
    copies_[op.get()] = copy;
    return copy;
  }

  OpPtr at(const OpPtr& op) const { return copies_.at(op.get()); }

 private:
  Expr normal_body(const Op& op, const Op& copy) const {
    const std::set<std::string> gone = axes_gone(op, copy);
    return transform(op.body, [&](const Expr& e) -> Expr {
      if (e->op == ExprOp::axis && gone.count(e->name) > 0) return Expr(0);
      if (e->op != ExprOp::read) return Expr();
      std::vector<Expr> indices(
          e->args.begin(),
          e->args.begin() + static_cast<std::ptrdiff_t>(rank_without(e->tensor->shape)));
      if (!gone.empty()) {
        std::transform(indices.begin(), indices.end(), indices.begin(), simplify_index);
      }
      return read_op(at(e->tensor), std::move(indices));
    });
  }

  std::unordered_map<const Op*, OpPtr> copies_;
};

}  // namespace

std::set<std::string> axes_gone(const Op& op, const Op& normal) {
  std::set<std::string> gone;
  for (const Axes* axes : {&op.axes, &op.reduction_axes}) {
    for (const Axis& axis : *axes) gone.insert(axis.name());
  }
  for (const Axes* axes : {&normal.axes, &normal.reduction_axes}) {
    for (const Axis& axis : *axes) gone.erase(axis.name());
  }
  return gone;
}

namespace {

// Whether a place of what is computed is told by an axis of one step and another one together, as
// x[i + u]. What is computed there has the place that is written.
bool steps_with_units(const Op& op) {
  if (std::any_of(op.members.begin(), op.members.end(),
                  [](const OpPtr& member) { return steps_with_units(*member); })) {
    return true;
  }
  return op.kind == OpKind::compute && any_part(op.body, [&](const Expr& e) {
           return e->op == ExprOp::read && is_computed(*e->tensor) &&
                  std::any_of(e->args.begin(), e->args.end(), [&](const Expr& index) {
                    return steps_with(index, op.axes, true) && steps_with(index, op.axes, false);
                  });
         });
}

}  // namespace

std::optional<Graph> with_normal_axes(const Graph& graph) {
  const auto is_mixed = [](const OpPtr& op) { return steps_with_units(*op); };
  if (std::any_of(graph.ops().begin(), graph.ops().end(), is_mixed)) return std::nullopt;
  WrittenOtherwise otherwise(graph);
  bool any_is_otherwise = false;
  for (const OpPtr& op : graph.ops()) any_is_otherwise = otherwise.add(*op) || any_is_otherwise;
  if (!any_is_otherwise) return std::nullopt;
  NormalOps normal;
  std::vector<OpPtr> ops, outputs;
  for (const OpPtr& op : graph.ops()) ops.push_back(normal.add(op));
  for (const OpPtr& output : graph.outputs()) outputs.push_back(normal.at(output));
  std::vector<LoopGroup> groups = graph.loop_groups();
  for (LoopGroup& group : groups) {
    for (OpPtr& member : group.members) member = normal.at(member);
    const size_t rank = group.members.back()->shape.size();
    group.axes.erase(std::remove_if(group.axes.begin(), group.axes.end(),
                                    [&](size_t axis) { return axis >= rank; }),
                     group.axes.end());
    const bool is_columns = group.kind == LoopGroupKind::columns;
    if (group.axes.empty() || (is_columns && group.axes.back() + 1 < rank)) return std::nullopt;
  }
  return Graph(std::move(ops), std::move(outputs), std::move(groups));
}

Graph groups_as_written(const Graph& made, const Graph& graph) {
  std::vector<LoopGroup> groups = made.loop_groups();
  for (LoopGroup& group : groups) {
    const size_t rank = group.members.back()->shape.size();
    for (OpPtr& member : group.members) member = *graph.find(member->name);
    if (group.kind != LoopGroupKind::columns) continue;  // or the last axis is one of them
    for (size_t i = rank; i < group.members.back()->shape.size(); ++i) group.axes.push_back(i);
  }
  return with_loop_groups(graph, groups);
}

}  // namespace emulsion

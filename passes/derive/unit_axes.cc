#include "passes/derive/unit_axes.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "dsl/directive_table.h"
#include "dsl/fitting_name.h"
#include "dsl/schedule_axes.h"
#include "passes/fuse/fused_group.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

bool is_unit(const Extent& extent) { return extent == Extent(1); }

// How many axes a tensor has up to the last one that has more than one step.
size_t rank_without(const Shape& shape) {
  size_t rank = shape.size();
  while (rank > 0 && is_unit(shape[rank - 1])) --rank;
  return rank;
}

bool has_last_units(const Op& op) { return rank_without(op.shape) < op.shape.size(); }

// The last axis of more than one step; null where there is none.
const Axis* last_axis(const std::vector<Axis>& axes) {
  const auto last = std::find_if(axes.rbegin(), axes.rend(),
                                 [](const Axis& axis) { return !is_unit(axis.extent()); });
  return last == axes.rend() ? nullptr : &*last;
}

// Operations of which vectors would go along such an axis. What is kept of a sum along rows, [M,
// 1], and what is computed of that value by value, is not: its loops are those of the rows.
class AlongUnits {
 public:
  bool add(const Op& op) {
    bool is_along = false;
    if (op.kind == OpKind::fused) {
      for (const OpPtr& member : op.members) is_along = add(*member) || is_along;
    } else if (op.kind == OpKind::compute) {
      is_along = any_part(op.body, [&](const Expr& e) {
        return e->op == ExprOp::read && has_last_units(*e->tensor) && is_walked(e, op);
      });
    }
    if (is_along) along_.insert(&op);
    return is_along;
  }

 private:
  // Whether the read goes along its tensor, but for axes of one step, as vectors of the operation
  // do: along a row of the result, or along what is summed up.
  bool is_walked(const Expr& read, const Op& op) const {
    const size_t rank = rank_without(read->tensor->shape);
    if (rank == 0) return false;
    const auto goes_along = [&](const std::vector<Axis>& axes) {
      const Axis* const last = last_axis(axes);
      return last != nullptr && mentions(read->args[rank - 1], last->name());
    };
    const bool of_result = goes_along(op.axes), of_sum = goes_along(op.reduction_axes);
    if (of_result && of_sum) return true;  // a window
    // The weights of a layer of one column are walked with its other operand.
    const bool is_column = has_last_units(op) && classify(op) == OpClass::contraction;
    return (of_result || (of_sum && !is_column)) && is_leaf_or_along(*read->tensor);
  }

  bool is_leaf_or_along(const Op& op) const { return !is_computed(op) || along_.count(&op) > 0; }

  std::unordered_set<const Op*> along_;
};

// A sum has one axis at least: without any it would be no sum.
std::vector<Axis> sum_axes_without(const std::vector<Axis>& axes) {
  std::vector<Axis> rest;
  std::copy_if(axes.begin(), axes.end(), std::back_inserter(rest),
               [](const Axis& axis) { return !is_unit(axis.extent()); });
  if (rest.empty() && !axes.empty()) rest.push_back(axes.front());
  return rest;
}

// The axes of an operation that the one without them lacks.
std::set<std::string> axes_gone(const Op& op, const Op& without) {
  std::set<std::string> gone;
  for (const auto* axes : {&op.axes, &op.reduction_axes}) {
    for (const Axis& axis : *axes) gone.insert(axis.name());
  }
  for (const auto* axes : {&without.axes, &without.reduction_axes}) {
    for (const Axis& axis : *axes) gone.erase(axis.name());
  }
  return gone;
}

// Operations without these axes, of which each knows those that it reads.
class OpsWithoutUnits {
 public:
  OpPtr add(const OpPtr& op) {
    auto copy = std::make_shared<Op>(*op);
    copy->shape.resize(rank_without(op->shape));
    if (op->kind == OpKind::fused) {
      for (OpPtr& member : copy->members) member = add(member);
    } else if (op->kind == OpKind::compute) {
      const auto units = static_cast<std::ptrdiff_t>(copy->shape.size());
      copy->axes.erase(copy->axes.begin() + units, copy->axes.end());
      copy->reduction_axes = sum_axes_without(op->reduction_axes);
      copy->body = body_without(*op, *copy);
    }
    copies_[op.get()] = copy;
    return copy;
  }

  OpPtr at(const OpPtr& op) const { return copies_.at(op.get()); }

 private:
  Expr body_without(const Op& op, const Op& copy) const {
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

bool makes_loop_named(const Directive& d, const std::string& name) {
  if (!has_argument(d.kind, ArgumentKind::new_loop)) return false;
  return std::find(d.axes.begin(), d.axes.end(), name) != d.axes.end();
}

bool is_at_loop_of_target(const Directive& d) {
  return has_argument(d.kind, ArgumentKind::consumer_loop) || d.kind == DirectiveKind::compute_with;
}

// A schedule in the words of a graph that has these axes: loops may have got their names, and get
// others.
class Renamed {
 public:
  Renamed(const Schedule& made, const Graph& graph) : schedule_(graph) {
    find_names(made, graph);
    for (const auto& [name, stage] : made.stages()) {
      StageSchedule& copy = schedule_[name];
      for (Directive d : stage.directives()) {
        if (!is_possible(name, d)) continue;
        rename(is_at_loop_of_target(d) ? d.target : name, &d);
        copy.add(std::move(d));
      }
    }
  }

  const Schedule& schedule() const { return schedule_; }
  // The axes of a stage that it had not.
  const std::set<std::string>& gone(const std::string& stage) const { return gone_.at(stage); }

 private:
  using Names = std::map<std::string, std::string>;

  void find_names(const Schedule& made, const Graph& graph) {
    const Graph all = unfuse(graph);
    for (const std::string& name : stage_order(made.graph(), made.stages())) {
      const OpPtr *op = all.find(name), *without = made.graph().find(name);
      if (op != nullptr) shapes_[name] = (*op)->shape;
      if (op != nullptr && without != nullptr) gone_[name] = axes_gone(**op, **without);
      const std::set<std::string> gone = gone_[name];
      const StageSchedule* stage = made.find(name);
      if (stage == nullptr) continue;
      for (const Directive& d : stage->directives()) {
        if (makes_stage(d.kind)) gone_[d.target] = gone;
        if (makes_stage(d.kind)) shapes_[d.target] = shapes_[name];
        for (const std::string& axis : gone) {
          if (makes_loop_named(d, axis)) names_[name][axis] = free_loop(axis, *stage, gone);
        }
      }
    }
  }

  static std::string free_loop(const std::string& wanted, const StageSchedule& stage,
                               const std::set<std::string>& gone) {
    const std::vector<Directive>& all = stage.directives();
    return free_name(wanted, [&](const std::string& name) {
      return gone.count(name) > 0 || std::any_of(all.begin(), all.end(), [&](const Directive& d) {
               return std::find(d.axes.begin(), d.axes.end(), name) != d.axes.end();
             });
    });
  }

  void rename(const std::string& stage, Directive* d) const {
    const auto names = names_.find(stage);
    if (names == names_.end()) return;
    for (std::string& axis : d->axes) {
      const auto other = names->second.find(axis);
      if (other != names->second.end()) axis = other->second;
    }
  }

  // What is stored in an output has its shape, and what shares loops with another has their names.
  bool is_possible(const std::string& stage, const Directive& d) const {
    if (d.kind == DirectiveKind::compute_with) return names_.count(stage) == names_.count(d.target);
    return d.kind != DirectiveKind::store_in_output || shapes_.at(stage) == shapes_.at(d.target);
  }

  Schedule schedule_;
  std::map<std::string, std::set<std::string>> gone_;
  std::map<std::string, Shape> shapes_;  // of a stage; of one that is made that of the one before
  std::map<std::string, Names> names_;   // loops of a stage that get another name
};

// The loops in their order: those of one step outside of all others, or inside. Sums first.
std::vector<Axis> with_units_at_end(const std::vector<ScheduledLoop>& loops,
                                    const std::set<std::string>& units, bool inside) {
  std::vector<Axis> innermost_first;
  const auto add = [&](bool of_units, bool reduces) {
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
      if ((units.count(loop->name) > 0) == of_units && loop->is_reduction == reduces) {
        innermost_first.emplace_back(loop->name);
      }
    }
  };
  for (const bool reduces : {true, false}) {
    if (inside) add(true, reduces);
  }
  for (const bool reduces : {true, false}) {
    add(false, reduces);
    if (!inside) add(true, reduces);
  }
  return innermost_first;
}

// Stages that share their outermost loops with others, which need not have these.
std::set<std::string> sharing(const Schedule& schedule) {
  std::set<std::string> names;
  for (const auto& [name, stage] : schedule.stages()) {
    for (const Directive& d : stage.directives()) {
      if (d.kind == DirectiveKind::compute_with) names.insert({name, d.target});
    }
  }
  return names;
}

// The directives of a stage, behind the order of its loops. Stages are made first: of one that is
// made by rfactor loops may be split before, and no more.
StageSchedule with_units(const StageSchedule& stage, const std::vector<StageLoops>& loops_before,
                         const std::set<std::string>& units, bool inside) {
  const std::vector<Directive>& all = stage.directives();
  const auto has_scope = [](DirectiveScope scope) {
    return [scope](const Directive& d) { return form_of(d.kind).scope == scope; };
  };
  const auto stages = std::find_if(all.rbegin(), all.rend(), has_scope(DirectiveScope::stage));
  const auto loops = std::find_if(stages.base(), all.end(), has_scope(DirectiveScope::loop));
  StageSchedule result;
  for (auto d = all.begin(); d != all.end(); ++d) {
    const StageLoops& now = loops_before[static_cast<size_t>(d - all.begin())];
    if (d == loops) result.reorder(with_units_at_end(now.loops(), units, inside));
    Directive copy = *d;
    if (d->kind == DirectiveKind::reorder_storage) {
      for (const std::string& axis : now.pure()) {
        if (units.count(axis) > 0) copy.axes.push_back(axis);
      }
    }
    result.add(std::move(copy));
  }
  return result;
}

}  // namespace

std::optional<Graph> without_unit_axes(const Graph& graph) {
  const std::vector<OpPtr>& all = graph.ops();
  AlongUnits along;
  bool any_is_along = false;
  for (const OpPtr& op : all) any_is_along = along.add(*op) || any_is_along;
  if (!any_is_along) return std::nullopt;
  OpsWithoutUnits without;
  std::vector<OpPtr> ops, outputs;
  for (const OpPtr& op : all) ops.push_back(without.add(op));
  for (const OpPtr& output : graph.outputs()) outputs.push_back(without.at(output));
  std::vector<LoopGroup> groups = graph.loop_groups();
  for (LoopGroup& group : groups) {
    for (OpPtr& member : group.members) member = without.at(member);
    const size_t rank = group.members.back()->shape.size();
    group.axes.erase(std::remove_if(group.axes.begin(), group.axes.end(),
                                    [&](size_t axis) { return axis >= rank; }),
                     group.axes.end());
    const bool is_columns = group.kind == LoopGroupKind::columns;
    if (group.axes.empty() || (is_columns && group.axes.back() + 1 < rank)) return std::nullopt;
  }
  return Graph(std::move(ops), std::move(outputs), std::move(groups));
}

Schedule with_unit_axes(const Schedule& made, const Graph& graph) {
  const Renamed renamed(made, graph);
  Schedule schedule = renamed.schedule();
  const ScheduleLoops loops = replay(graph, schedule);
  const std::set<std::string> share = sharing(schedule);
  for (const auto& [name, stage] : renamed.schedule().stages()) {
    const std::set<std::string>& units = renamed.gone(name);
    if (units.empty() || stage.directives().empty()) continue;
    schedule[name] = with_units(stage, loops.before.at(name), units, share.count(name) > 0);
  }
  return schedule;
}

Graph with_groups_of(const Graph& made, const Graph& graph) {
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

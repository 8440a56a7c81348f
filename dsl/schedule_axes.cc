#include "dsl/schedule_axes.h"

#include <algorithm>
#include <utility>

#include "dsl/error.h"
#include "dsl/nearest_name.h"
#include "dsl/text_lexer.h"

namespace emulsion {
namespace {

using Names = std::vector<std::string>;

template <typename... Args>
[[noreturn]] void refuse(const std::string& stage, const Directive& directive,
                         fmt::format_string<Args...> format, Args&&... args) {
  throw ScheduleError(fmt::format("{}.{}: {}", stage, to_string(directive),
                                  fmt::format(format, std::forward<Args>(args)...)));
}

bool contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Names names_of(const AxesOfStages& stages) {
  Names names;
  for (const auto& [name, axes] : stages) names.push_back(name);
  return names;
}

StageAxes axes_of(const Op& op) {
  StageAxes axes;
  for (const Axis& axis : op.axes) axes.pure.push_back(axis.name());
  for (const Axis& axis : op.reduction_axes) axes.reduction.push_back(axis.name());
  axes.loops = axes.pure;
  axes.loops.insert(axes.loops.end(), axes.reduction.begin(), axes.reduction.end());
  axes.reduction_loops.insert(axes.reduction.begin(), axes.reduction.end());
  return axes;
}

}  // namespace

size_t axis_count(DirectiveKind kind) {
  switch (kind) {
    case DirectiveKind::split:
    case DirectiveKind::fuse:
      return 3;
    case DirectiveKind::reorder:
    case DirectiveKind::vectorize:
    case DirectiveKind::unroll:
    case DirectiveKind::parallel:
    case DirectiveKind::tensorize:
    case DirectiveKind::compute_at:
    case DirectiveKind::store_at:
    case DirectiveKind::pack:
    case DirectiveKind::hoist_storage:
    case DirectiveKind::fold_storage:
    case DirectiveKind::reorder_storage:
    case DirectiveKind::align_storage:
    case DirectiveKind::rfactor:
    case DirectiveKind::prefetch:
    case DirectiveKind::compute_with:
      return 1;
    case DirectiveKind::compute_root:
    case DirectiveKind::compute_inline:
    case DirectiveKind::store_in:
    case DirectiveKind::cache_write:
    case DirectiveKind::copy_in:
    case DirectiveKind::atomic:
    case DirectiveKind::store_root:
    case DirectiveKind::specialize:
      return 0;
  }
  EMULSION_CHECK(false, "no such directive {}", static_cast<int>(kind));
  return 0;
}

namespace {

// One directive on one stage.
class Applier {
 public:
  Applier(const std::string& name, const Directive& directive, const Graph& graph,
          AxesOfStages* stages)
      : name_(name), directive_(directive), graph_(graph), stages_(*stages), me_((*stages)[name]) {}

  void apply() {
    const Names& axes = directive_.axes;
    size_t count = axis_count(directive_.kind);
    bool any_number = directive_.kind == DirectiveKind::reorder ||
                      directive_.kind == DirectiveKind::reorder_storage;
    if (any_number ? axes.empty() : axes.size() != count) {
      refuse(name_, directive_, "expected {} axes, got {}", count, axes.size());
    }
    require_loops_only_behind_specialize();
    switch (directive_.kind) {
      case DirectiveKind::split:
        replace({axes[0]}, {axes[1], axes[2]});
        break;
      case DirectiveKind::fuse:
        replace({axes[0], axes[1]}, {axes[2]});
        break;
      case DirectiveKind::reorder:
        reorder();
        break;
      case DirectiveKind::vectorize:
      case DirectiveKind::unroll:
      case DirectiveKind::parallel:
      case DirectiveKind::tensorize:
      case DirectiveKind::prefetch:
      case DirectiveKind::compute_with:
        require_loop(axes[0]);
        break;
      case DirectiveKind::pack:
        pack();
        break;
      case DirectiveKind::cache_write:
        cache_write();
        break;
      case DirectiveKind::rfactor:
        rfactor();
        break;
      case DirectiveKind::copy_in:
        copy_in();
        break;
      case DirectiveKind::fold_storage:
      case DirectiveKind::reorder_storage:
      case DirectiveKind::align_storage:
        for (size_t i = 0; i < axes.size(); ++i) {
          require_stored(axes[i]);
          require_distinct(axes, i);
        }
        break;
      case DirectiveKind::specialize:
        specialize();
        break;
      case DirectiveKind::compute_at:
      case DirectiveKind::store_at:
      case DirectiveKind::store_root:
      case DirectiveKind::hoist_storage:
      case DirectiveKind::compute_root:
      case DirectiveKind::compute_inline:
      case DirectiveKind::store_in:
      case DirectiveKind::atomic:
        break;
    }
  }

 private:
  void require_loops_only_behind_specialize() const {
    if (me_.other_cases.empty()) return;
    switch (directive_.kind) {
      case DirectiveKind::split:
      case DirectiveKind::fuse:
      case DirectiveKind::reorder:
      case DirectiveKind::vectorize:
      case DirectiveKind::unroll:
      case DirectiveKind::parallel:
      case DirectiveKind::specialize:
        return;
      default:
        refuse(name_, directive_,
               "expected a directive on loops (split, tile, fuse, reorder, vectorize, unroll or "
               "parallel) behind specialize, got {}; legal: in front of the first specialize",
               to_string(directive_.kind));
    }
  }

  // The loops of the case so far are kept, those of the new case are the general ones.
  void specialize() {
    check_condition(directive_.condition);
    const std::vector<std::string> sizes = graph_.sizes();
    visit(directive_.condition, [&](const Expr& e) {
      if (e->op == ExprOp::size && !contains(sizes, e->name)) {
        refuse(name_, directive_, "expected a run-time size of the graph ({}), got {}",
               list_names(sizes), e->name);
      }
    });
    if (me_.other_cases.empty()) me_.general_reduction_loops = me_.reduction_loops;
    me_.other_cases.push_back(me_.loops);
    me_.loops = me_.other_cases.front();
    me_.reduction_loops = me_.general_reduction_loops;
  }

  void require_loop(const std::string& axis) const {
    if (!contains(me_.loops, axis)) {
      refuse(name_, directive_, "{}", expected_name("a loop of " + name_, me_.loops, axis));
    }
  }

  void require_stored(const std::string& axis) const {
    if (!contains(me_.pure, axis)) {
      refuse(name_, directive_, "{}",
             expected_name("an axis of " + name_ + " as it was written", me_.pure, axis));
    }
  }

  void replace(const Names& old_loops, const Names& new_loops) {
    bool reduction = false;
    for (size_t i = 0; i < old_loops.size(); ++i) {
      require_loop(old_loops[i]);
      require_distinct(old_loops, i);
      reduction = reduction || me_.reduction_loops.count(old_loops[i]);
    }
    Names rest;
    for (const std::string& loop : me_.loops) {
      if (!contains(old_loops, loop)) rest.push_back(loop);
    }
    for (size_t i = 0; i < new_loops.size(); ++i) {
      require_distinct(new_loops, i);
      require_unused(rest, new_loops[i]);
    }
    // A fused loop stands where its outer one stood.
    size_t place = std::find(me_.loops.begin(), me_.loops.end(), old_loops[0]) - me_.loops.begin();
    size_t before = 0;
    for (size_t i = 0; i < place; ++i) before += !contains(old_loops, me_.loops[i]);
    rest.insert(rest.begin() + static_cast<std::ptrdiff_t>(before), new_loops.begin(),
                new_loops.end());
    me_.loops = std::move(rest);
    for (const std::string& loop : old_loops) me_.reduction_loops.erase(loop);
    if (reduction) me_.reduction_loops.insert(new_loops.begin(), new_loops.end());
  }

  void require_distinct(const Names& names, size_t i) const {
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i)) {
      refuse(name_, directive_, "expected distinct loops, got {0} twice; legal: {0} once",
             names[i]);
    }
  }

  void require_unused(const Names& used, const std::string& axis) const {
    if (contains(used, axis)) {
      refuse(name_, directive_,
             "expected a name that no other loop of {0} has ({1}), got {2}; legal: {2}_1", name_,
             list_names(used), axis);
    }
  }

  void reorder() {
    const Names& innermost_first = directive_.axes;
    std::vector<size_t> places;
    for (size_t i = 0; i < innermost_first.size(); ++i) {
      require_loop(innermost_first[i]);
      require_distinct(innermost_first, i);
    }
    for (size_t i = 0; i < me_.loops.size(); ++i) {
      if (contains(innermost_first, me_.loops[i])) places.push_back(i);
    }
    // What is not named stays where it is.
    for (size_t i = 0; i < places.size(); ++i) {
      me_.loops[places[i]] = innermost_first[places.size() - 1 - i];
    }
  }

  void pack() const {
    const OpPtr* weight = graph_.find(directive_.target);
    if (!weight || (*weight)->kind == OpKind::compute || (*weight)->kind == OpKind::fused) {
      Names legal;
      for (const OpPtr& op : graph_.ops()) {
        if (op->kind == OpKind::weight || op->kind == OpKind::constant) legal.push_back(op->name);
      }
      refuse(name_, directive_, "{}",
             expected_name("a weight or a constant", legal, directive_.target));
    }
    Names own = me_.pure;
    own.insert(own.end(), me_.reduction.begin(), me_.reduction.end());
    if (!contains(own, directive_.axes[0])) {
      refuse(name_, directive_, "{}",
             expected_name("an axis of " + name_ + " as it was written", own, directive_.axes[0]));
    }
  }

  void require_new_stage() const {
    if (stages_.count(directive_.target) || graph_.find(directive_.target)) {
      refuse(name_, directive_, "expected a name that no operation has, got {0}; legal: {0}_1",
             directive_.target);
    }
  }

  // acc = the operation, y = a copy of acc: y keeps only what does not come from a reduction axis.
  void cache_write() {
    require_new_stage();
    StageAxes made;
    made.pure = me_.pure;
    made.reduction = me_.reduction;
    keep_pure_loops();
    me_.reduction.clear();
    add_stage(std::move(made));
  }

  // partial[.., axis] = reduce over the other reduction loops; me = reduce over axis.
  void rfactor() {
    const std::string& axis = directive_.axes[0];
    require_new_stage();
    Names reduction;
    for (const std::string& loop : me_.loops) {
      if (me_.reduction_loops.count(loop)) reduction.push_back(loop);
    }
    if (!contains(reduction, axis)) {
      refuse(name_, directive_, "{}",
             expected_name("a reduction loop of " + name_, reduction, axis));
    }
    StageAxes made;
    made.pure = me_.pure;
    made.pure.push_back(axis);
    for (const std::string& loop : reduction) {
      if (loop != axis) made.reduction.push_back(loop);
    }
    keep_pure_loops();
    me_.loops.push_back(axis);
    me_.reduction = {axis};
    me_.reduction_loops = {axis};
    add_stage(std::move(made));
  }

  // copy[..] = operand[..]: its axes are those of the operand, or numbered when it has no names.
  void copy_in() {
    require_new_stage();
    StageAxes made;
    auto stage = stages_.find(directive_.operand);
    const OpPtr* given = graph_.find(directive_.operand);
    if (directive_.operand != name_ && stage != stages_.end()) {
      made.pure = stage->second.pure;
    } else if (directive_.operand != name_ && given) {
      made.pure = numbered_axes((*given)->shape.size());
    } else {
      refuse(name_, directive_, "{}",
             expected_name("an operand of " + name_, operand_names(), directive_.operand));
    }
    add_stage(std::move(made));
  }

  Names operand_names() const {
    Names names;
    const OpPtr* op = graph_.find(name_);
    if (!op) return names;
    for (const OpPtr& operand : operands(**op)) names.push_back(operand->name);
    return names;
  }

  void keep_pure_loops() {
    Names pure;
    for (const std::string& loop : me_.loops) {
      if (!me_.reduction_loops.count(loop)) pure.push_back(loop);
    }
    me_.loops = std::move(pure);
    me_.reduction_loops.clear();
  }

  void add_stage(StageAxes made) {
    made.loops = made.pure;
    made.loops.insert(made.loops.end(), made.reduction.begin(), made.reduction.end());
    made.reduction_loops.insert(made.reduction.begin(), made.reduction.end());
    stages_[directive_.target] = std::move(made);
  }

  const std::string& name_;
  const Directive& directive_;
  const Graph& graph_;
  AxesOfStages& stages_;
  StageAxes& me_;
};

void append_stage(const std::string& name, const std::map<std::string, StageSchedule>& stages,
                  Names* order) {
  auto found = stages.find(name);
  if (found == stages.end() || contains(*order, name)) return;
  order->push_back(name);
  for (const Directive& directive : found->second.directives()) {
    if (makes_stage(directive.kind)) append_stage(directive.target, stages, order);
  }
}

}  // namespace

bool makes_stage(DirectiveKind kind) {
  return kind == DirectiveKind::cache_write || kind == DirectiveKind::rfactor ||
         kind == DirectiveKind::copy_in;
}

std::vector<std::string> common_loops(const StageAxes& axes) {
  Names common;
  for (const std::string& loop : axes.loops) {
    auto has = [&](const Names& loops) { return contains(loops, loop); };
    if (std::all_of(axes.other_cases.begin(), axes.other_cases.end(), has)) common.push_back(loop);
  }
  return common;
}

std::vector<std::string> numbered_axes(size_t count) {
  Names names;
  for (size_t i = 0; i < count; ++i) names.push_back("i" + std::to_string(i));
  return names;
}

AxesOfStages initial_axes(const Graph& graph) {
  AxesOfStages stages;
  for (const OpPtr& op : graph.ops()) {
    if (op->kind == OpKind::compute) stages[op->name] = axes_of(*op);
    for (const OpPtr& member : op->members) stages[member->name] = axes_of(*member);
  }
  return stages;
}

void apply_axes(const std::string& name, const Directive& directive, const Graph& graph,
                AxesOfStages* stages) {
  if (!stages->count(name)) {
    const OpPtr* leaf = graph.find(name);
    const Names legal = names_of(*stages);
    refuse(name, directive, "expected an operation that has loops ({}), got {}{}; nearest: {}",
           list_names(legal), name, leaf ? ", which is given and not computed" : "",
           nearest_name(name, legal));
  }
  Applier(name, directive, graph, stages).apply();
}

void check_target(const std::string& name, const Directive& directive, const AxesOfStages& stages) {
  if (directive.kind != DirectiveKind::compute_at && directive.kind != DirectiveKind::store_at &&
      directive.kind != DirectiveKind::hoist_storage &&
      directive.kind != DirectiveKind::compute_with) {
    return;
  }
  auto target = stages.find(directive.target);
  if (target == stages.end() || directive.target == name) {
    Names legal = names_of(stages);
    legal.erase(std::remove(legal.begin(), legal.end(), name), legal.end());
    refuse(name, directive, "{}",
           expected_name("another operation that has loops", legal, directive.target));
  }
  const Names loops = common_loops(target->second);
  if (!contains(loops, directive.axes[0])) {
    refuse(name, directive, "{}",
           expected_name("a loop of " + directive.target, loops, directive.axes[0]));
  }
}

AxesOfStages axes_after(const Schedule& schedule, DirectivePlace* place) {
  AxesOfStages stages = initial_axes(schedule.graph());
  DirectivePlace ignored;
  DirectivePlace& here = place ? *place : ignored;
  // A stage that a directive makes is known only after that directive: go round until all are done.
  Names waiting = stage_order(schedule.graph(), schedule.stages());
  while (!waiting.empty()) {
    Names left;
    for (const std::string& name : waiting) {
      if (!stages.count(name)) {
        left.push_back(name);
        continue;
      }
      const std::vector<Directive>& directives = schedule.find(name)->directives();
      for (size_t i = 0; i < directives.size(); ++i) {
        here = {name, i};
        apply_axes(name, directives[i], schedule.graph(), &stages);
      }
    }
    if (left.size() == waiting.size()) break;
    waiting = std::move(left);
  }
  for (const std::string& name : waiting) {
    here = {name, 0};
    const std::vector<Directive>& directives = schedule.find(name)->directives();
    if (!directives.empty()) apply_axes(name, directives[0], schedule.graph(), &stages);
  }
  for (const auto& [name, stage] : schedule.stages()) {
    for (size_t i = 0; i < stage.directives().size(); ++i) {
      here = {name, i};
      check_target(name, stage.directives()[i], stages);
    }
  }
  return stages;
}

std::vector<std::string> stage_order(const Graph& graph,
                                     const std::map<std::string, StageSchedule>& stages) {
  Names order;
  for (auto op = graph.ops().rbegin(); op != graph.ops().rend(); ++op) {
    if ((*op)->members.empty()) append_stage((*op)->name, stages, &order);
    for (auto member = (*op)->members.rbegin(); member != (*op)->members.rend(); ++member) {
      append_stage((*member)->name, stages, &order);
    }
  }
  for (const auto& [name, stage] : stages) append_stage(name, stages, &order);
  return order;
}

}  // namespace emulsion

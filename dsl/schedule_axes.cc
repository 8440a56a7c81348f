#include "dsl/schedule_axes.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "dsl/directive_table.h"
#include "dsl/error.h"
#include "dsl/nearest_name.h"
#include "dsl/schedule_refusal.h"
#include "dsl/text_lexer.h"

namespace emulsion {
namespace {

using Names = std::vector<std::string>;

bool contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Names names_of(const LoopsOfStages& stages) {
  Names names;
  for (const auto& [name, axes] : stages) names.push_back(name);
  return names;
}

StageLoops loops_of(const Op& op) {
  return {op.name, axis_names(op.axes), axis_names(op.reduction_axes)};
}

// One directive on one stage: the loops of that stage, and the stage that it makes.
class StageStep {
 public:
  StageStep(const std::string& name, const Directive& directive, const Graph& graph,
            LoopsOfStages* stages)
      : name_(name),
        directive_(directive),
        graph_(graph),
        stages_(*stages),
        me_(stages->at(name)) {}

  void apply() {
    if (has_argument(directive_.kind, ArgumentKind::condition)) check_condition_sizes();
    for (const auto& [size, coefficient] : directive_.at.coefficients()) check_size(size);
    me_.apply(directive_);
    if (makes_stage(directive_.kind)) require_new_stage();
    switch (form_of(directive_.kind).change) {
      case StageChange::none:
      case StageChange::compute_inline:  // no loop becomes another
        return;
      case StageChange::pack:
        return check_weight();
      case StageChange::cache_write:
        return cache_write();
      case StageChange::rfactor:
        return rfactor();
      case StageChange::copy_in:
        return copy_in();
      case StageChange::alternative:
        return add_stage(me_.pure(), me_.reduction());
      case StageChange::precompute:
        return add_stage({directive_.axes[0]}, {});
    }
  }

 private:
  void check_condition_sizes() const {
    try {
      check_condition(directive_.condition, to_string(directive_.kind));
    } catch (const ScheduleError& error) {
      throw ScheduleRefusal(name_, directive_, error.what());
    }
    visit(directive_.condition, [&](const Expr& e) {
      if (e->op == ExprOp::size) check_size(e->name);
    });
  }

  void check_size(const std::string& size) const {
    const std::vector<std::string>& sizes = graph_.sizes();
    if (contains(sizes, size)) return;
    refuse(
        name_, directive_,
        fmt::format("expected a run-time size of the graph ({}), got {}", list_names(sizes), size));
  }

  void check_weight() const {
    const OpPtr* weight = graph_.find(directive_.target);
    if (!weight || (*weight)->kind == OpKind::compute || (*weight)->kind == OpKind::fused) {
      Names legal;
      for (const OpPtr& op : graph_.ops()) {
        if (op->kind == OpKind::weight || op->kind == OpKind::constant) legal.push_back(op->name);
      }
      refuse(name_, directive_, expected_name("a weight or a constant", legal, directive_.target));
    }
  }

  void require_new_stage() const {
    if (stages_.count(directive_.target) || graph_.find(directive_.target)) {
      refuse(name_, directive_,
             fmt::format("expected a name that no operation has, got {0}; legal: {0}_1",
                         directive_.target));
    }
  }

  // acc = the operation, y = a copy of acc: y keeps only what does not come from a reduction axis.
  void cache_write() {
    add_stage(me_.pure(), me_.reduction());
    me_.reduce_only({});
  }

  // partial[.., axis] = reduce over the other reduction loops; me = reduce over axis.
  void rfactor() {
    const std::string& axis = directive_.axes[0];
    Names pure = me_.pure(), reduction;
    pure.push_back(axis);
    for (const ScheduledLoop& loop : me_.loops()) {
      if (loop.is_reduction && loop.name != axis) reduction.push_back(loop.name);
    }
    add_stage(std::move(pure), std::move(reduction));
    me_.reduce_only({axis});
  }

  // copy[..] = operand[..]: its axes are those of the operand, or numbered when it has no names.
  void copy_in() {
    auto stage = stages_.find(directive_.operand);
    const OpPtr* given = graph_.find(directive_.operand);
    if (directive_.operand != name_ && stage != stages_.end()) {
      add_stage(stage->second.pure(), {});
    } else if (directive_.operand != name_ && given) {
      add_stage(numbered_axes((*given)->shape.size()), {});
    } else {
      refuse(name_, directive_,
             expected_name("an operand of " + name_, operand_names(), directive_.operand));
    }
  }

  Names operand_names() const {
    Names names;
    const OpPtr* op = graph_.find(name_);
    if (!op) return names;
    for (const OpPtr& operand : operands(**op)) names.push_back(operand->name);
    return names;
  }

  void add_stage(Names pure, Names reduction) {
    stages_[directive_.target] =
        StageLoops(directive_.target, std::move(pure), std::move(reduction));
  }

  const std::string& name_;
  const Directive& directive_;
  const Graph& graph_;
  LoopsOfStages& stages_;
  StageLoops& me_;
};

// The stages in an order, each of them once.
class StageOrder {
 public:
  explicit StageOrder(const std::map<std::string, StageSchedule>& stages) : stages_(stages) {}

  void append(const std::string& name) {
    auto found = stages_.find(name);
    if (found == stages_.end() || !appended_.insert(name).second) return;
    order_.push_back(name);
    for (const Directive& directive : found->second.directives()) {
      if (makes_stage(directive.kind)) append(directive.target);
    }
  }

  Names take() { return std::move(order_); }

 private:
  const std::map<std::string, StageSchedule>& stages_;
  Names order_;
  std::unordered_set<std::string> appended_;
};

}  // namespace

std::vector<std::string> numbered_axes(size_t count) {
  Names names;
  for (size_t i = 0; i < count; ++i) names.push_back("i" + std::to_string(i));
  return names;
}

LoopsOfStages initial_loops(const Graph& graph) {
  LoopsOfStages stages;
  for (const OpPtr& op : graph.ops()) {
    if (op->kind == OpKind::compute) stages[op->name] = loops_of(*op);
    for (const OpPtr& member : op->members) stages[member->name] = loops_of(*member);
  }
  return stages;
}

void apply_to_loops(const std::string& name, const Directive& directive, const Graph& graph,
                    LoopsOfStages* stages) {
  if (!stages->count(name)) {
    const OpPtr* leaf = graph.find(name);
    const Names legal = names_of(*stages);
    refuse(name, directive,
           fmt::format("expected an operation that has loops ({}), got {}{}; nearest: {}",
                       list_names(legal), name, leaf ? ", which is given and not computed" : "",
                       nearest_name(name, legal)));
  }
  StageStep(name, directive, graph, stages).apply();
}

void check_target(const std::string& name, const Directive& directive,
                  const LoopsOfStages& stages) {
  if (!has_argument(directive.kind, ArgumentKind::consumer)) return;
  auto target = stages.find(directive.target);
  if (target == stages.end() || directive.target == name) {
    Names legal = names_of(stages);
    legal.erase(std::remove(legal.begin(), legal.end(), name), legal.end());
    refuse(name, directive,
           expected_name("another operation that has loops", legal, directive.target));
  }
  if (directive.axes.empty()) return;
  const Names loops = target->second.common_loops();
  if (!contains(loops, directive.axes[0])) {
    refuse(name, directive,
           expected_name("a loop of " + directive.target, loops, directive.axes[0]));
  }
}

ScheduleLoops replay(const Graph& graph, const Schedule& schedule, DirectivePlace* place) {
  ScheduleLoops result;
  LoopsOfStages& stages = result.after;
  stages = initial_loops(graph);
  DirectivePlace ignored;
  DirectivePlace& here = place ? *place : ignored;
  // A stage that a directive makes is known only after that directive: go round until all are done.
  Names waiting = stage_order(graph, schedule.stages());
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
        result.before[name].push_back(stages.at(name));
        apply_to_loops(name, directives[i], graph, &stages);
      }
    }
    if (left.size() == waiting.size()) break;
    waiting = std::move(left);
  }
  for (const std::string& name : waiting) {
    here = {name, 0};
    const std::vector<Directive>& directives = schedule.find(name)->directives();
    if (!directives.empty()) apply_to_loops(name, directives[0], graph, &stages);
  }
  for (const auto& [name, stage] : schedule.stages()) {
    for (size_t i = 0; i < stage.directives().size(); ++i) {
      here = {name, i};
      check_target(name, stage.directives()[i], stages);
    }
  }
  return result;
}

LoopsOfStages loops_after(const Schedule& schedule, DirectivePlace* place) {
  return replay(schedule.graph(), schedule, place).after;
}

std::vector<std::string> stage_order(const Graph& graph,
                                     const std::map<std::string, StageSchedule>& stages) {
  StageOrder order(stages);
  for (auto op = graph.ops().rbegin(); op != graph.ops().rend(); ++op) {
    if ((*op)->members.empty()) order.append((*op)->name);
    for (auto member = (*op)->members.rbegin(); member != (*op)->members.rend(); ++member) {
      order.append((*member)->name);
    }
  }
  for (const auto& [name, stage] : stages) order.append(name);
  return order.take();
}

}  // namespace emulsion

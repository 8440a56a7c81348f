#include "passes/derive_schedule.h"

#include <algorithm>
#include <set>

#include "dsl/error.h"
#include "passes/derive_stage.h"
#include "passes/fuse_epilogues.h"

namespace emulsion {
namespace {

void derive_op(const Op& op, const Target& target, Schedule* schedule) {
  switch (classify(op)) {
    case OpClass::contraction:
      if (derive_contraction({&op, &op}, target, schedule)) return;
      return derive_reduction(op, target, schedule);
    case OpClass::reduction:
      return derive_reduction(op, target, schedule);
    case OpClass::elementwise:
    case OpClass::data_movement:
      return derive_pointwise(op, target, schedule);
  }
}

void derive_group(const Op& group, const Target& target, Schedule* schedule) {
  const Op* contraction = nullptr;
  for (const OpPtr& member : group.members) {
    if (member->combiner != Combiner::none) contraction = member.get();
  }
  const Op* result = group.members.back().get();
  for (const OpPtr& member : group.members) {
    if (member.get() != contraction && member.get() != result) {
      (*schedule)[member->name].compute_inline();
    }
  }
  if (contraction && derive_contraction({contraction, result}, target, schedule)) return;
  if (contraction) derive_op(*contraction, target, schedule);
  derive_pointwise(*result, target, schedule);
}

}  // namespace

std::string fresh_axis(const Op& op, const std::string& wanted) {
  auto taken = [&](const std::string& name) {
    auto is = [&](const Axis& axis) { return axis.name() == name; };
    return std::any_of(op.axes.begin(), op.axes.end(), is) ||
           std::any_of(op.reduction_axes.begin(), op.reduction_axes.end(), is);
  };
  std::string name = wanted;
  for (int i = 1; taken(name); ++i) name = wanted + std::to_string(i);
  return name;
}

std::string fresh_stage(const Schedule& schedule, const std::string& wanted) {
  std::set<std::string> taken;
  for (const OpPtr& op : schedule.graph().ops()) {
    taken.insert(op->name);
    for (const OpPtr& member : op->members) taken.insert(member->name);
  }
  for (const auto& [name, stage] : schedule.stages()) taken.insert(name);
  for (const std::string& size : schedule.graph().sizes()) taken.insert(size);
  std::string name = wanted;
  for (int i = 1; taken.count(name); ++i) name = wanted + std::to_string(i);
  return name;
}

Schedule derive_schedule(const Graph& graph, const Target& target, const DeriveOptions& options) {
  return derive_schedule(graph, options.fuse ? fuse_epilogues(graph) : graph, target);
}

Schedule derive_schedule(const Graph& graph, const Graph& grouped, const Target& target) {
  Schedule schedule(graph);
  for (const OpPtr& op : grouped.ops()) {
    if (op->kind == OpKind::fused) {
      derive_group(*op, target, &schedule);
    } else if (op->kind == OpKind::compute) {
      derive_op(*op, target, &schedule);
    }
  }
  return schedule;
}

}  // namespace emulsion

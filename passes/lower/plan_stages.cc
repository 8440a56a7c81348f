#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "dsl/error.h"
#include "passes/lower/stage_plan.h"

namespace emulsion {
namespace {

// The value of a constant with one element.
std::optional<Expr> literal_of(const Op& op) {
  if (op.kind != OpKind::constant ||
      op.data->size() != static_cast<size_t>(size_in_bytes(op.dtype))) {
    return std::nullopt;
  }
  return visit_element(op.dtype, [&](auto value) {
    std::memcpy(&value, op.data->data(), sizeof(value));
    return constant(op.dtype, static_cast<double>(value));
  });
}

// The body as a nest holds it: reads by the buffer's name.
Expr in_buffers(const Expr& body) {
  return transform(body, [](const Expr& e) -> Expr {
    if (e->op != ExprOp::read || !e->tensor) return Expr();
    if (auto literal = literal_of(*e->tensor)) return *literal;
    return read_buffer(e->tensor->name, e->dtype, e->args);
  });
}

Buffer buffer_of(const Op& op, BufferRole role) {
  return Buffer{op.name, op.dtype, role, op.shape, op.data};
}

WrittenStage stage_of(const Op& op, bool is_output) {
  WrittenStage plan;
  plan.stage.name = op.name;
  plan.stage.dtype = op.dtype;
  plan.stage.axes = op.axes;
  plan.stage.reduction_axes = op.reduction_axes;
  plan.stage.combiner = op.combiner;
  plan.stage.body = in_buffers(op.body);
  plan.is_output = is_output;
  return plan;
}

}  // namespace

const Directive* WrittenStage::find_directive(DirectiveKind kind,
                                              const std::vector<std::string>& on_axes) const {
  for (auto d = directives.rbegin(); d != directives.rend(); ++d) {
    if (d->kind == kind && (on_axes.empty() || d->axes == on_axes)) return &*d;
  }
  return nullptr;
}

Directive WrittenStage::source_directive(DirectiveKind kind,
                                         const std::vector<std::string>& on_axes) const {
  if (const Directive* found = find_directive(kind, on_axes)) return *found;
  Directive implied;  // no line of its own
  implied.kind = kind;
  implied.axes = on_axes;
  return implied;
}

Directive WrittenStage::source_directive(const LoopTransform& t) const {
  if (t.kind == LoopTransform::Kind::fuse) {
    return source_directive(DirectiveKind::fuse, {t.outer, t.inner, t.axis});
  }
  return source_directive(DirectiveKind::split, {t.axis, t.outer, t.inner});
}

Directive LoopedStage::source_storage_directive() const {
  return source_directive(store_root ? DirectiveKind::store_root : DirectiveKind::store_at);
}

const Buffer* NestTables::find_buffer(const std::string& wanted) const {
  for (const Buffer& candidate : buffers) {
    if (candidate.name == wanted) return &candidate;
  }
  return nullptr;
}

const WrittenStage* WrittenNest::find(const std::string& wanted) const {
  for (const WrittenStage& candidate : stages) {
    if (candidate.stage.name == wanted) return &candidate;
  }
  return nullptr;
}

std::string NestPlan::variable(const LoopLevel& level) const {
  return loop_variable(name_of(level.stage), loop(level).name);
}

std::vector<StageId> NestPlan::group_of(StageId leader) const {
  std::vector<StageId> group = stages[leader].sharing;
  group.insert(std::lower_bound(group.begin(), group.end(), leader), leader);
  return group;
}

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<Expr> reads_of(const Stage& stage, const std::string& buffer) {
  std::vector<Expr> reads;
  visit(stage.body, [&](const Expr& e) {
    if (e->op == ExprOp::read && e->name == buffer) reads.push_back(e);
  });
  return reads;
}

std::set<std::string> buffers_read_by(const Stage& stage) {
  std::set<std::string> names;
  visit(stage.body, [&](const Expr& e) {
    if (e->op == ExprOp::read) names.insert(e->name);
  });
  return names;
}

std::vector<StageId> needed_before(const NestPlan& nest, StageId stage) {
  std::vector<StageId> needed = nest.stages[stage].producers;
  for (StageId made : nest.stages[stage].producers) {
    const ScheduledStage& plan = nest.stages[made];
    if (!plan.kept_whole || is_inside_place(nest, stage, *plan.compute_at)) continue;
    needed.push_back(plan.compute_at->stage);
  }
  return needed;
}

bool depends_on(const NestPlan& nest, StageId stage, StageId other) {
  std::set<StageId> seen = {stage};
  std::vector<StageId> waiting = {stage};
  while (!waiting.empty()) {
    const StageId reader = waiting.back();
    waiting.pop_back();
    for (StageId needed : needed_before(nest, reader)) {
      if (needed == other) return stage != other;
      // What a stage reads comes before it in the nest; the loops in which that is kept may not.
      if (needed < other && !nest.keeps_whole) continue;
      if (seen.insert(needed).second) waiting.push_back(needed);
    }
  }
  return false;
}

WrittenNest plan_stages(const Graph& graph) {
  WrittenNest plan;
  plan.sizes = graph.sizes();
  plan.name = graph.outputs().front()->name;
  for (const OpPtr& op : graph.arguments()) {
    plan.buffers.push_back(
        buffer_of(*op, op->kind == OpKind::input ? BufferRole::input : BufferRole::weight));
  }
  for (const OpPtr& op : graph.outputs()) {
    if (op->kind != OpKind::compute && op->kind != OpKind::fused) {
      fail("output {0}: expected an operation that computes, got {1}; legal: a copy, y(i) = {0}(i)",
           op->name,
           op->kind == OpKind::constant ? "a constant"
           : op->kind == OpKind::weight ? "a weight"
                                        : "an input");
    }
    plan.buffers.push_back(buffer_of(*op, BufferRole::output));
  }
  for (const OpPtr& op : graph.ops()) {
    if (op->kind == OpKind::constant && !literal_of(*op)) {
      plan.buffers.push_back(buffer_of(*op, BufferRole::constant));
    } else if (op->kind == OpKind::compute) {
      plan.stages.push_back(stage_of(*op, graph.is_output(*op)));
    } else if (op->kind == OpKind::fused) {
      for (const OpPtr& member : op->members) {
        plan.stages.push_back(
            stage_of(*member, member == op->members.back() && graph.is_output(*op)));
      }
    }
  }
  return plan;
}

}  // namespace emulsion

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

ScheduledStage stage_of(const Op& op, bool is_output) {
  ScheduledStage plan;
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

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

Directive ScheduledStage::source_directive(DirectiveKind kind,
                                           const std::vector<std::string>& on_axes) const {
  for (auto d = directives.rbegin(); d != directives.rend(); ++d) {
    if (d->kind == kind && (on_axes.empty() || d->axes == on_axes)) return *d;
  }
  Directive implied;  // no line of its own
  implied.kind = kind;
  implied.axes = on_axes;
  return implied;
}

Directive ScheduledStage::source_directive(const LoopTransform& t) const {
  if (t.kind == LoopTransform::Kind::fuse) {
    return source_directive(DirectiveKind::fuse, {t.outer, t.inner, t.axis});
  }
  return source_directive(DirectiveKind::split, {t.axis, t.outer, t.inner});
}

Directive ScheduledStage::source_storage_directive() const {
  return source_directive(store_root ? DirectiveKind::store_root : DirectiveKind::store_at);
}

ScheduledStage* NestPlan::find(const std::string& wanted) {
  for (ScheduledStage& candidate : stages) {
    if (candidate.stage.name == wanted) return &candidate;
  }
  return nullptr;
}

const ScheduledStage* NestPlan::find(const std::string& wanted) const {
  return const_cast<NestPlan*>(this)->find(wanted);
}

size_t NestPlan::position(const std::string& wanted) const {
  for (size_t i = 0; i < stages.size(); ++i) {
    if (stages[i].stage.name == wanted) return i;
  }
  EMULSION_CHECK(false, "no stage {}", wanted);
  return 0;
}

const Buffer* NestPlan::find_buffer(const std::string& wanted) const {
  for (const Buffer& candidate : buffers) {
    if (candidate.name == wanted) return &candidate;
  }
  return nullptr;
}

std::string NestPlan::stage_names() const {
  std::string names;
  for (const ScheduledStage& plan : stages) names += (names.empty() ? "" : ", ") + plan.stage.name;
  return names;
}

std::map<std::string, std::vector<size_t>> readers_of(const NestPlan& plan) {
  std::map<std::string, std::vector<size_t>> readers;
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    visit(plan.stages[i].stage.body, [&](const Expr& e) {
      if (e->op != ExprOp::read) return;
      std::vector<size_t>& mine = readers[e->name];
      if (mine.empty() || mine.back() != i) mine.push_back(i);
    });
  }
  return readers;
}

std::vector<Expr> reads_of(const Stage& stage, const std::string& buffer) {
  std::vector<Expr> reads;
  visit(stage.body, [&](const Expr& e) {
    if (e->op == ExprOp::read && e->name == buffer) reads.push_back(e);
  });
  return reads;
}

bool depends_on(const NestPlan& plan, const std::string& stage, const std::string& other) {
  std::set<std::string> seen = {stage};
  std::vector<std::string> waiting = {stage};
  while (!waiting.empty()) {
    const ScheduledStage* reader = plan.find(waiting.back());
    waiting.pop_back();
    if (!reader) continue;  // an argument or a constant
    visit(reader->stage.body, [&](const Expr& e) {
      if (e->op == ExprOp::read && seen.insert(e->name).second) waiting.push_back(e->name);
    });
  }
  return stage != other && seen.count(other) > 0;
}

NestPlan plan_stages(const Graph& graph) {
  NestPlan plan;
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

#include "dsl/schedule.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "dsl/directive_table.h"
#include "dsl/error.h"
#include "dsl/fitting_name.h"

namespace emulsion {
namespace {

Directive make(DirectiveKind kind, std::vector<std::string> axes = {}, int64_t factor = 0,
               Tail tail = Tail::automatic) {
  Directive directive;
  directive.kind = kind;
  directive.axes = std::move(axes);
  directive.factor = factor;
  directive.tail = tail;
  return directive;
}

void require_factor(const std::string& what, int argument, int64_t factor) {
  if (factor < 1) {
    throw ScheduleError(fmt::format(
        "argument {} (factor) of {}: expected a positive integer, got {}", argument, what, factor));
  }
}

}  // namespace

void check_condition(const Expr& condition, const std::string& directive) {
  const std::string wanted = "argument 1 (condition) of " + directive +
                             ": expected a condition over run-time sizes, such as "
                             "size_value(\"B\") == 1, got ";
  if (!condition.defined()) throw ScheduleError(wanted + "none");
  const bool has_size = any_part(condition, [](const Expr& e) { return e->op == ExprOp::size; });
  const bool has_other = any_part(condition, [](const Expr& e) {
    return e->op == ExprOp::axis || e->op == ExprOp::read || e->op == ExprOp::reduce ||
           e->op == ExprOp::cast || e->op == ExprOp::select ||
           (e->dtype != DType::i32 && e->dtype != DType::boolean);
  });
  if (!has_size || has_other || condition.dtype() != DType::boolean)
    throw ScheduleError(wanted + to_string(condition));
}

bool Directive::operator==(const Directive& other) const {
  return kind == other.kind && axes == other.axes && factor == other.factor && tail == other.tail &&
         memory == other.memory && target == other.target && operand == other.operand &&
         at == other.at &&
         (equal(condition, other.condition) ||
          (!condition.defined() && !other.condition.defined()));
}

std::string to_string(Tail tail) {
  static const char* const kNames[] = {"automatic",       "guard",         "predicate",
                                       "round_up",        "shift_inwards", "predicate_loads",
                                       "predicate_stores"};
  static_assert(std::size(kNames) == kTails, "a name for each");
  return kNames[static_cast<int>(tail)];
}

std::string to_string(Memory memory) {
  static const char* const kNames[] = {"automatic", "heap", "stack", "registers", "scratchpad"};
  static_assert(std::size(kNames) == kMemories, "a name for each");
  return kNames[static_cast<int>(memory)];
}

std::string to_string(LoopKind kind) {
  switch (kind) {
    case LoopKind::serial:
      return "serial";
    case LoopKind::parallel:
      return "parallel";
    case LoopKind::vectorized:
      return "vectorized";
    case LoopKind::unrolled:
      return "unrolled";
    case LoopKind::tile:
      return "a tile's";
  }
  return "?";
}

std::string to_string(DirectiveKind kind) { return form_of(kind).name; }

std::string to_string(const Directive& d) {
  std::vector<std::string> parts;
  bool has_axes = false;
  for (const DirectiveArgument& argument : form_of(d.kind).arguments) {
    switch (argument.kind) {
      case ArgumentKind::none:
        break;
      case ArgumentKind::loop:
      case ArgumentKind::loops:
      case ArgumentKind::reduction_loop:
      case ArgumentKind::new_loop:
      case ArgumentKind::axis:
      case ArgumentKind::stored_axis:
      case ArgumentKind::stored_axes:
      case ArgumentKind::consumer_loop:
      case ArgumentKind::shared_loop:
        if (!has_axes) parts.insert(parts.end(), d.axes.begin(), d.axes.end());
        has_axes = true;
        break;
      case ArgumentKind::consumer:
      case ArgumentKind::buffer:
      case ArgumentKind::new_stage:
        parts.push_back(d.target);
        break;
      case ArgumentKind::operand:
        parts.push_back(d.operand);
        break;
      case ArgumentKind::factor:
        if (d.factor != 0) parts.push_back(std::to_string(d.factor));
        break;
      case ArgumentKind::tail:
        if (d.tail != Tail::automatic) parts.push_back(to_string(d.tail));
        break;
      case ArgumentKind::memory:
        parts.push_back(to_string(d.memory));
        break;
      case ArgumentKind::condition:
        parts.push_back(to_string(d.condition));
        break;
      case ArgumentKind::index:
        parts.push_back(d.at.to_string());
        break;
    }
  }
  return fmt::format("{}({})", to_string(d.kind), fmt::join(parts, ", "));
}

StageSchedule& StageSchedule::add(Directive directive) {
  directives_.push_back(std::move(directive));
  return *this;
}

StageSchedule& StageSchedule::split(const Axis& axis, const Axis& outer, const Axis& inner,
                                    int64_t factor, Tail tail) {
  require_factor("split", 4, factor);
  return add(make(DirectiveKind::split, {axis.name(), outer.name(), inner.name()}, factor, tail));
}

StageSchedule& StageSchedule::tile(const Axis& m, const Axis& n, const Axis& mo, const Axis& no,
                                   const Axis& mi, const Axis& ni, int64_t m_factor,
                                   int64_t n_factor, Tail tail) {
  require_factor("tile", 7, m_factor);
  require_factor("tile", 8, n_factor);
  split(m, mo, mi, m_factor, tail);
  split(n, no, ni, n_factor, tail);
  return reorder({ni, mi, no, mo});
}

StageSchedule& StageSchedule::fuse(const Axis& outer, const Axis& inner, const Axis& fused) {
  return add(make(DirectiveKind::fuse, {outer.name(), inner.name(), fused.name()}));
}

StageSchedule& StageSchedule::reorder(const std::vector<Axis>& innermost_first) {
  return add(make(DirectiveKind::reorder, axis_names(innermost_first)));
}

StageSchedule& StageSchedule::vectorize(const Axis& axis) {
  return add(make(DirectiveKind::vectorize, {axis.name()}));
}

StageSchedule& StageSchedule::vectorize(const Axis& axis, int64_t lanes, Tail tail) {
  require_factor("vectorize", 2, lanes);
  Axis inner(fitting_name(axis.name() + "_v"));
  split(axis, axis, inner, lanes, tail);
  return vectorize(inner);
}

StageSchedule& StageSchedule::unroll(const Axis& axis) {
  return add(make(DirectiveKind::unroll, {axis.name()}));
}

StageSchedule& StageSchedule::unroll(const Axis& axis, int64_t factor, Tail tail) {
  require_factor("unroll", 2, factor);
  Axis inner(fitting_name(axis.name() + "_u"));
  split(axis, axis, inner, factor, tail);
  return unroll(inner);
}

StageSchedule& StageSchedule::parallel(const Axis& axis) {
  return add(make(DirectiveKind::parallel, {axis.name()}));
}

StageSchedule& StageSchedule::partition(const Axis& axis) {
  return add(make(DirectiveKind::partition, {axis.name()}));
}

StageSchedule& StageSchedule::cut(const Axis& axis, const Extent& at) {
  Directive directive = make(DirectiveKind::cut, {axis.name()});
  directive.at = at;
  return add(std::move(directive));
}

StageSchedule& StageSchedule::tensorize(const Axis& axis) {
  return add(make(DirectiveKind::tensorize, {axis.name()}));
}

StageSchedule& StageSchedule::compute_at(const Tensor& consumer, const Axis& axis) {
  return compute_at(owner_->name_of(consumer), axis);
}

StageSchedule& StageSchedule::compute_at(const std::string& consumer, const Axis& axis) {
  Directive directive = make(DirectiveKind::compute_at, {axis.name()});
  directive.target = consumer;
  return add(std::move(directive));
}

StageSchedule& StageSchedule::store_at(const Tensor& consumer, const Axis& axis) {
  return store_at(owner_->name_of(consumer), axis);
}

StageSchedule& StageSchedule::store_at(const std::string& consumer, const Axis& axis) {
  Directive directive = make(DirectiveKind::store_at, {axis.name()});
  directive.target = consumer;
  return add(std::move(directive));
}

StageSchedule& StageSchedule::store_root() { return add(make(DirectiveKind::store_root)); }

StageSchedule& StageSchedule::hoist_storage(const Tensor& consumer, const Axis& axis) {
  return hoist_storage(owner_->name_of(consumer), axis);
}

StageSchedule& StageSchedule::hoist_storage(const std::string& consumer, const Axis& axis) {
  Directive directive = make(DirectiveKind::hoist_storage, {axis.name()});
  directive.target = consumer;
  return add(std::move(directive));
}

StageSchedule& StageSchedule::fold_storage(const Axis& axis, int64_t size) {
  require_factor("fold_storage", 2, size);
  return add(make(DirectiveKind::fold_storage, {axis.name()}, size));
}

StageSchedule& StageSchedule::reorder_storage(const std::vector<Axis>& innermost_first) {
  return add(make(DirectiveKind::reorder_storage, axis_names(innermost_first)));
}

StageSchedule& StageSchedule::align_storage(const Axis& axis, int64_t multiple) {
  require_factor("align_storage", 2, multiple);
  return add(make(DirectiveKind::align_storage, {axis.name()}, multiple));
}

StageSchedule& StageSchedule::compute_root() { return add(make(DirectiveKind::compute_root)); }
StageSchedule& StageSchedule::compute_inline() { return add(make(DirectiveKind::compute_inline)); }

StageSchedule& StageSchedule::store_in(Memory memory) {
  Directive directive = make(DirectiveKind::store_in);
  directive.memory = memory;
  return add(std::move(directive));
}

StageSchedule& StageSchedule::store_in_output(const Tensor& output) {
  return store_in_output(owner_->name_of(output));
}

StageSchedule& StageSchedule::store_in_output(const std::string& output) {
  Directive directive = make(DirectiveKind::store_in_output);
  directive.target = output;
  return add(std::move(directive));
}

StageSchedule& StageSchedule::pack(const Tensor& weight, const Axis& axis, int64_t factor) {
  return pack(owner_->name_of(weight), axis, factor);
}

StageSchedule& StageSchedule::pack(const std::string& weight, const Axis& axis, int64_t factor) {
  require_factor("pack", 3, factor);
  Directive directive = make(DirectiveKind::pack, {axis.name()}, factor);
  directive.target = weight;
  return add(std::move(directive));
}

StageSchedule& StageSchedule::cache_write(const std::string& accumulator) {
  check_identifier("stage made by cache_write", accumulator);
  Directive directive = make(DirectiveKind::cache_write);
  directive.target = accumulator;
  return add(std::move(directive));
}

StageSchedule& StageSchedule::rfactor(const Axis& axis, const std::string& partial) {
  check_identifier("stage made by rfactor", partial);
  Directive directive = make(DirectiveKind::rfactor, {axis.name()});
  directive.target = partial;
  return add(std::move(directive));
}

StageSchedule& StageSchedule::copy_in(const Tensor& operand, const std::string& copy) {
  return copy_in(owner_->name_of(operand), copy);
}

StageSchedule& StageSchedule::copy_in(const std::string& operand, const std::string& copy) {
  check_identifier("stage made by copy_in", copy);
  Directive directive = make(DirectiveKind::copy_in);
  directive.operand = operand;
  directive.target = copy;
  return add(std::move(directive));
}

StageSchedule& StageSchedule::precompute(const Axis& axis, const std::string& part) {
  check_identifier("stage made by precompute", part);
  Directive directive = make(DirectiveKind::precompute, {axis.name()});
  directive.target = part;
  return add(std::move(directive));
}

StageSchedule& StageSchedule::alternative(const Expr& condition, const std::string& other) {
  check_condition(condition, "alternative");
  check_identifier("stage made by alternative", other);
  Directive directive = make(DirectiveKind::alternative);
  directive.condition = condition;
  directive.target = other;
  return add(std::move(directive));
}

StageSchedule& StageSchedule::prefetch(const Tensor& buffer, const Axis& axis, int64_t distance) {
  return prefetch(owner_->name_of(buffer), axis, distance);
}

StageSchedule& StageSchedule::prefetch(const std::string& buffer, const Axis& axis,
                                       int64_t distance) {
  if (distance < 1) {
    throw ScheduleError(fmt::format(
        "argument 3 (distance) of prefetch: expected a positive integer, got {}", distance));
  }
  Directive directive = make(DirectiveKind::prefetch, {axis.name()}, distance);
  directive.target = buffer;
  return add(std::move(directive));
}

StageSchedule& StageSchedule::compute_with(const Tensor& sibling, const Axis& axis) {
  return compute_with(owner_->name_of(sibling), axis);
}

StageSchedule& StageSchedule::compute_with(const std::string& sibling, const Axis& axis) {
  Directive directive = make(DirectiveKind::compute_with, {axis.name()});
  directive.target = sibling;
  return add(std::move(directive));
}

StageSchedule& StageSchedule::atomic() { return add(make(DirectiveKind::atomic)); }

StageSchedule& StageSchedule::specialize(const Expr& condition) {
  check_condition(condition);
  Directive directive = make(DirectiveKind::specialize);
  directive.condition = condition;
  return add(std::move(directive));
}

Schedule::Schedule(const Graph& graph) : graph_(std::make_shared<const Graph>(graph)) {}

Schedule::Schedule(std::shared_ptr<const Graph> graph) : graph_(std::move(graph)) {}

Schedule::Schedule(const Schedule& other) : graph_(other.graph_), stages_(other.stages_) {
  for (auto& [name, stage] : stages_) stage.owner_ = this;
}

Schedule& Schedule::operator=(const Schedule& other) {
  if (this == &other) return *this;
  graph_ = other.graph_;
  stages_ = other.stages_;
  for (auto& [name, stage] : stages_) stage.owner_ = this;
  return *this;
}

StageSchedule& Schedule::operator[](const Tensor& tensor) {
  return (*this)[graph_->name_of(tensor)];
}

StageSchedule& Schedule::operator[](const std::string& name) {
  StageSchedule& stage = stages_[name];
  stage.owner_ = this;
  return stage;
}

Schedule Schedule::without_directives() const { return Schedule(graph_); }

const StageSchedule* Schedule::find(const std::string& name) const {
  auto found = stages_.find(name);
  return found == stages_.end() ? nullptr : &found->second;
}

bool Schedule::operator==(const Schedule& other) const {
  // A stage that was only looked at, by schedule[y], says nothing.
  auto covers = [](const Schedule& a, const Schedule& b) {
    for (const auto& [name, stage] : a.stages_) {
      if (stage.directives_.empty()) continue;
      const StageSchedule* theirs = b.find(name);
      if (!theirs || !(theirs->directives_ == stage.directives_)) return false;
    }
    return true;
  };
  return covers(*this, other) && covers(other, *this);
}

std::string Schedule::name_of(const Tensor& tensor) const { return graph_->name_of(tensor); }

}  // namespace emulsion

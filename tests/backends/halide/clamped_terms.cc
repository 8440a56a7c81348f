#include "tests/backends/halide/clamped_terms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace emulsion::clamped_terms {

namespace hi = Halide::Internal;

const Expr kBase = hi::Variable::make(Halide::Int(32), "base");
const Expr kCount = hi::Variable::make(Halide::Int(32), "count");

int64_t Lane::value(const Expr& e) const {
  if (const auto number = hi::as_const_int(e)) return *number;
  if (const auto number = hi::as_const_uint(e)) return static_cast<int64_t>(*number);
  if (e.as<hi::FloatImm>()) return kNothing;
  if (const auto* op = e.as<hi::Variable>()) return op->name == "base" ? at_.base : at_.count;
  if (const auto* op = e.as<hi::Ramp>()) return value(op->base) + lane_ * value(op->stride);
  if (const auto* op = e.as<hi::Broadcast>()) return first().value(op->value);
  if (const auto* op = e.as<hi::Add>()) return value(op->a) + value(op->b);
  if (const auto* op = e.as<hi::Sub>()) return value(op->a) - value(op->b);
  if (const auto* op = e.as<hi::Mul>()) return value(op->a) * value(op->b);
  // Of none below zero.
  if (const auto* op = e.as<hi::Div>()) return value(op->a) / value(op->b);
  if (const auto* op = e.as<hi::Mod>()) return value(op->a) % value(op->b);
  if (const auto* op = e.as<hi::Min>()) return std::min(value(op->a), value(op->b));
  if (const auto* op = e.as<hi::Max>()) return std::max(value(op->a), value(op->b));
  if (const auto* op = e.as<hi::LT>()) return value(op->a) < value(op->b);
  if (const auto* op = e.as<hi::LE>()) return value(op->a) <= value(op->b);
  if (const auto* op = e.as<hi::GT>()) return value(op->a) > value(op->b);
  if (const auto* op = e.as<hi::GE>()) return value(op->a) >= value(op->b);
  if (const auto* op = e.as<hi::And>()) return value(op->a) != 0 && value(op->b) != 0;
  if (const auto* op = e.as<hi::Select>()) {  // both sides are computed
    const int64_t a = value(op->true_value), b = value(op->false_value);
    return value(op->condition) != 0 ? a : b;
  }
  if (const auto* op = e.as<hi::Load>()) return load(*op);
  if (const auto* op = e.as<hi::Shuffle>()) return shuffled(*op);
  const auto* call = e.as<hi::Call>();
  for (const auto mark : {hi::Call::likely, hi::Call::likely_if_innermost}) {
    if (call != nullptr && call->is_intrinsic(mark)) return value(call->args[0]);
  }
  if (call != nullptr && call->is_intrinsic(hi::Call::if_then_else)) {
    return value(call->args[value(call->args[0]) != 0 ? 1 : 2]);
  }
  ADD_FAILURE() << "unknown: " << e;
  return kNothing;
}

int64_t Lane::load(const hi::Load& op) const {
  if (value(op.predicate) == 0) return kNothing;
  const int64_t index = value(op.index);
  loaded_->insert(index);
  return kElement + index;
}

int64_t Lane::shuffled(const hi::Shuffle& op) const {
  int at = op.indices[static_cast<size_t>(lane_)];
  for (const Expr& part : op.vectors) {
    if (at < part.type().lanes()) return Lane(at_, at, loaded_).value(part);
    at -= part.type().lanes();
  }
  return kNothing;
}

Expr all(const Expr& value) { return hi::Broadcast::make(value, kLanes); }
Expr neighbours() { return hi::Ramp::make(kBase, 1, kLanes); }

Expr load(const Expr& index, const std::optional<Expr>& mask) {
  const int lanes = index.type().lanes();
  return hi::Load::make(Halide::Float(32, lanes), "x", index, Halide::Buffer<>(),
                        Halide::Parameter(), mask ? *mask : hi::const_true(lanes), {});
}

Expr zeros() { return hi::make_zero(Halide::Float(32, kLanes)); }

std::vector<Expr> clamps() {
  std::vector<Expr> all_of_them = {min(neighbours(), all(3)), max(neighbours(), all(-2)),
                                   min(Halide::likely(neighbours()), all(3))};
  for (const auto& [low, high] : {std::pair(-2, 3), {0, 0}, {2, -1}, {-5, 5}}) {
    all_of_them.push_back(max(min(neighbours(), all(high)), all(low)));
    all_of_them.push_back(min(max(neighbours(), all(low)), all(high)));
    all_of_them.push_back(max(Halide::likely(min(neighbours(), all(high))), all(low)));
    for (const int moved : {-2, 1, 2}) {
      const Expr tail = min(neighbours(), all(high)) + all(moved);
      all_of_them.push_back(max(min(tail, all(high)), all(low)));
      all_of_them.push_back(max(tail, all(low)));
      all_of_them.push_back(min(all(moved) + max(max(neighbours(), all(low)), all(0)), all(high)));
    }
  }
  return all_of_them;
}

std::vector<Expr> in_front() {
  const Expr first = hi::Ramp::make(Expr(0), 1, kLanes);
  return {neighbours() < all(kCount), neighbours() <= all(kCount - 1), first < all(kCount - kBase),
          Halide::likely(neighbours() < all(kCount)),
          hi::And::make(all(kCount > 1), neighbours() < all(kCount))};
}

Rows::Rows(int from)
    : row(hi::Div::make(hi::Ramp::make(from, 1, kLanes), all(3)) + all(kBase)),
      column(hi::Mod::make(hi::Ramp::make(from, 1, kLanes), all(3))) {}

std::vector<Expr> Rows::in_front() const {
  return {hi::LT::make(row, all(kCount)), hi::LE::make(row, all(kCount - 1)),
          hi::LT::make(row - all(kBase), all(kCount - kBase)),
          hi::And::make(all(kCount > 1), Halide::likely(hi::LT::make(row, all(kCount))))};
}

Expr Rows::clamped_at(const Expr& most) const {
  return load(hi::Min::make(Halide::likely_if_innermost(row), all(most)) * all(3) + column);
}

int count_loads(const Expr& value, const std::function<bool(const hi::Load& op)>& is_such) {
  struct Loads : hi::IRVisitor {
    using hi::IRVisitor::visit;
    std::function<bool(const hi::Load& op)> is_such;
    int count = 0;

    void visit(const hi::Load* op) override {
      hi::IRVisitor::visit(op);
      count += is_such(*op) ? 1 : 0;
    }
  } loads;
  loads.is_such = is_such;
  value.accept(&loads);
  return loads.count;
}

int edges(const Expr& value) {
  return count_loads(value, [](const hi::Load& op) { return op.type.is_scalar(); });
}

}  // namespace emulsion::clamped_terms

#include "tests/backends/halide/vector_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

// The operands of what is computed lane by lane, and how.
template <typename Compute>
std::optional<Lanes> combined(const Halide::Expr& e, const VectorValues& values,
                              const Compute& compute) {
  const auto of = [&](const Halide::Expr& a, const Halide::Expr& b) {
    const Lanes x = values.value(a), y = values.value(b);
    EXPECT_EQ(x.size(), y.size()) << e;
    Lanes result;
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) result.push_back(compute(x[i], y[i]));
    return result;
  };
  const auto* call = e.as<hi::Call>();
  if (call != nullptr && call->args.size() == 2) return of(call->args[0], call->args[1]);
  if (const auto* op = e.as<hi::Add>()) return of(op->a, op->b);
  if (const auto* op = e.as<hi::Sub>()) return of(op->a, op->b);
  if (const auto* op = e.as<hi::Mul>()) return of(op->a, op->b);
  if (const auto* op = e.as<hi::Div>()) return of(op->a, op->b);
  if (const auto* op = e.as<hi::Mod>()) return of(op->a, op->b);
  if (const auto* op = e.as<hi::Min>()) return of(op->a, op->b);
  if (const auto* op = e.as<hi::Max>()) return of(op->a, op->b);
  if (const auto* op = e.as<hi::LT>()) return of(op->a, op->b);
  if (const auto* op = e.as<hi::LE>()) return of(op->a, op->b);
  if (const auto* op = e.as<hi::GT>()) return of(op->a, op->b);
  if (const auto* op = e.as<hi::GE>()) return of(op->a, op->b);
  if (const auto* op = e.as<hi::EQ>()) return of(op->a, op->b);
  if (const auto* op = e.as<hi::NE>()) return of(op->a, op->b);
  if (const auto* op = e.as<hi::And>()) return of(op->a, op->b);
  if (const auto* op = e.as<hi::Or>()) return of(op->a, op->b);
  return std::nullopt;
}

std::optional<Lanes> combined(const Halide::Expr& e, const VectorValues& values) {
  return combined(e, values, [&](int64_t a, int64_t b) -> int64_t {
    switch (e.node_type()) {
      case hi::IRNodeType::Add:
        return a + b;
      case hi::IRNodeType::Sub:
        return a - b;
      case hi::IRNodeType::Mul:
        return a * b;
      case hi::IRNodeType::Div:  // of numbers that are not negative
        EXPECT_GE(a, 0) << e;
        return a / b;
      case hi::IRNodeType::Mod:
        return a % b;
      case hi::IRNodeType::Min:
        return std::min(a, b);
      case hi::IRNodeType::Max:
        return std::max(a, b);
      case hi::IRNodeType::LT:
        return a < b;
      case hi::IRNodeType::LE:
        return a <= b;
      case hi::IRNodeType::GT:
        return a > b;
      case hi::IRNodeType::GE:
        return a >= b;
      case hi::IRNodeType::EQ:
        return a == b;
      case hi::IRNodeType::NE:
        return a != b;
      case hi::IRNodeType::Or:
        return (a != 0 || b != 0) ? 1 : 0;
      case hi::IRNodeType::Call:
        EXPECT_TRUE(e.as<hi::Call>()->is_intrinsic(hi::Call::bitwise_and)) << e;
        return a & b;
      default:
        return (a != 0 && b != 0) ? 1 : 0;
    }
  });
}

}  // namespace

Lanes VectorValues::value(const Halide::Expr& e) const {
  if (const auto number = hi::as_const_int(e); number && e.type().is_scalar()) return {*number};
  if (const auto number = hi::as_const_uint(e); number && e.type().is_scalar()) {
    return {static_cast<int64_t>(*number)};
  }
  if (const auto* op = e.as<hi::Variable>()) return variables.at(op->name);
  if (const auto* op = e.as<hi::Broadcast>()) {
    return Lanes(static_cast<size_t>(op->lanes), value(op->value)[0]);
  }
  if (const auto* op = e.as<hi::Ramp>()) {
    Lanes result;
    for (int i = 0; i < op->lanes; ++i) {
      result.push_back(value(op->base)[0] + i * value(op->stride)[0]);
    }
    return result;
  }
  if (const auto* op = e.as<hi::Cast>()) {  // to so few bits only what they hold
    const Lanes result = value(op->value);
    for (const int64_t lane : result) EXPECT_TRUE(op->type.can_represent(lane)) << e;
    return result;
  }
  if (const auto* op = e.as<hi::Not>()) {
    Lanes result = value(op->a);
    for (int64_t& lane : result) lane = lane == 0 ? 1 : 0;
    return result;
  }
  if (const auto* op = e.as<hi::Select>()) {
    const Lanes which = value(op->condition);
    Lanes result = value(op->true_value);
    const Lanes other = value(op->false_value);
    for (size_t i = 0; i < result.size(); ++i) {
      if (which[which.size() == 1 ? 0 : i] == 0) result[i] = other[i];
    }
    return result;
  }
  if (const auto* op = e.as<hi::Load>()) {
    Lanes result = value(op->index);
    const Lanes mask = value(op->predicate);
    for (size_t i = 0; i < result.size(); ++i) {
      if (mask[i] != 0) loaded.insert(result[i]);
      result[i] = mask[i] != 0 ? 7 * result[i] : 0;
    }
    return result;
  }
  if (const auto* op = e.as<hi::Shuffle>()) {
    Lanes all, result;
    for (const Halide::Expr& part : op->vectors) {
      for (const int64_t lane : value(part)) all.push_back(lane);
    }
    for (const int index : op->indices) result.push_back(all.at(static_cast<size_t>(index)));
    return result;
  }
  const std::optional<Lanes> result = combined(e, *this);
  EXPECT_TRUE(result) << "unknown: " << e;
  return result.value_or(Lanes(static_cast<size_t>(e.type().lanes())));
}

void VectorValues::run(const hi::Stmt& statement) {
  if (const auto* op = statement.as<hi::Block>()) {
    run(op->first);
    return run(op->rest);
  }
  if (const auto* op = statement.as<hi::LetStmt>()) {
    variables[op->name] = value(op->value);
    return run(op->body);
  }
  if (const auto* op = statement.as<hi::IfThenElse>()) {
    if (value(op->condition)[0] != 0) return run(op->then_case);
    if (op->else_case.defined()) run(op->else_case);
    return;
  }
  const auto* op = statement.as<hi::Store>();
  ASSERT_NE(op, nullptr) << statement;
  const Lanes index = value(op->index), of = value(op->value), mask = value(op->predicate);
  for (size_t i = 0; i < index.size(); ++i) {
    if (mask[i] == 0) continue;
    const auto [place, is_new] = stored.emplace(index[i], of[i]);
    EXPECT_TRUE(is_new || (may_store_the_same_again && place->second == of[i])) << index[i];
  }
}

}  // namespace emulsion

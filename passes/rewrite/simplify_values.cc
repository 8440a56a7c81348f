#include "passes/rewrite/simplify_values.h"

#include <cmath>
#include <string>

#include "passes/rewrite/bindings.h"
#include "passes/rewrite/map_ops.h"

namespace emulsion {
namespace {

bool is_number(const Expr& e, double value) {
  if (e->op != ExprOp::constant) return false;
  if (!is_float(e.dtype())) return static_cast<double>(e->int_value) == value;
  return e->float_value == value && std::signbit(e->float_value) == std::signbit(value);
}

// What may be added and changes nothing: -0, and of integers, which have one zero, that one.
bool is_neutral_of_add(const Expr& e) { return is_number(e, is_float(e.dtype()) ? -0.0 : 0.0); }

// The value of which `e`, an argument of the sign `op`, is the sign: of the other operation too,
// when `e` reads one that only changes the sign of what it reads.
Expr below_sign(ExprOp op, const Expr& e) {
  if (e->op == op) return e->args[0];
  if (e->op != ExprOp::read || e->tensor->kind != OpKind::compute) return Expr();
  const Op& from = *e->tensor;
  const bool is_sign = from.combiner == Combiner::none && from.body->op == op;
  if (!is_sign || from.body->args[0]->op != ExprOp::read) return Expr();
  return substitute_axes(from.body->args[0], [&](const std::string& name) {
    return e->args[axis_index(from.axes, name).value()];
  });
}

// What `e` is the same as, when it is an argument of it; undefined otherwise.
Expr simplified(const Expr& e) {
  const auto arg = [&](size_t i) { return e->args[i]; };
  switch (e->op) {
    case ExprOp::mul:
      if (is_number(arg(1), 1)) return arg(0);
      if (is_number(arg(0), 1)) return arg(1);
      break;
    case ExprOp::div:
      if (is_number(arg(1), 1)) return arg(0);
      break;
    case ExprOp::sub:
      if (is_number(arg(1), 0.0)) return arg(0);
      break;
    case ExprOp::add:
      if (is_neutral_of_add(arg(1))) return arg(0);
      if (is_neutral_of_add(arg(0))) return arg(1);
      break;
    case ExprOp::neg:
    case ExprOp::logical_not:
      return below_sign(e->op, arg(0));
    case ExprOp::min:
    case ExprOp::max:
      if (same_value(arg(0), arg(1))) return arg(0);
      break;
    case ExprOp::select:
      if (arg(0)->op == ExprOp::constant) return arg(arg(0)->int_value != 0 ? 1 : 2);
      if (same_value(arg(1), arg(2))) return arg(1);
      break;
    case ExprOp::logical_and:
      if (is_number(arg(1), 1)) return arg(0);
      if (is_number(arg(0), 1)) return arg(1);
      break;
    case ExprOp::logical_or:
      if (is_number(arg(1), 0)) return arg(0);
      if (is_number(arg(0), 0)) return arg(1);
      break;
    default:
      break;
  }
  return Expr();
}

// What `op` copies from end to end.
OpPtr copied(const Op& op) {
  if (op.combiner != Combiner::none || op.body->op != ExprOp::read) return nullptr;
  const OpPtr& from = op.body->tensor;
  if (from->shape != op.shape) return nullptr;
  for (size_t i = 0; i < op.axes.size(); ++i) {
    const Expr& index = op.body->args[i];
    if (index->op != ExprOp::axis || index->name != op.axes[i].name()) return nullptr;
  }
  return from;
}

}  // namespace

Expr simplify_value(const Expr& root) { return transform(root, simplified); }

Graph simplify_values(const Graph& graph) {
  return map_ops(graph, [&](const OpPtr& op) -> OpPtr {
    if (op->kind != OpKind::compute) return op;
    OpPtr result = with_body(op, simplify_value(op->body));
    OpPtr from = copied(*result);
    if (from != nullptr && !graph.is_output(**graph.find(op->name))) return from;
    return result;
  });
}

}  // namespace emulsion

#include "passes/rewrite/may_match.h"

namespace emulsion {
namespace {

// How far may_fit() looks, and through how many operations.
constexpr int kLooksDown = 4;
constexpr int kLooksThrough = 8;

// False: `e` is not what the pattern says, whatever its names stand for.
bool may_fit(const Expr& pattern, const Expr& e, int depth) {
  if (depth == 0 || pattern->args.empty() || pattern->op == ExprOp::read) return true;
  const Expr* value = &e;
  for (int i = 0; (*value)->op == ExprOp::read; ++i) {
    const Op& op = *(*value)->tensor;
    if (op.kind != OpKind::compute) return op.kind == OpKind::constant;
    if (pattern->op == ExprOp::reduce && op.combiner == pattern->combiner) {
      return may_fit(pattern->args[0], op.body, depth - 1);
    }
    if (op.combiner != Combiner::none) return false;
    if (i == kLooksThrough) return true;
    value = &op.body;
  }
  const Expr& found = *value;
  if (found->op == ExprOp::constant) return true;  // what the sizes of the pattern may be
  const auto args_fit = [&](size_t first, size_t second) {
    return may_fit(pattern->args[0], found->args[first], depth - 1) &&
           may_fit(pattern->args[1], found->args[second], depth - 1);
  };
  if (flipped(pattern->op) == found->op) return args_fit(1, 0);
  if (found->op != pattern->op || found->args.size() != pattern->args.size()) return false;
  if (pattern->args.size() != 2) return may_fit(pattern->args[0], found->args[0], depth - 1);
  return args_fit(0, 1) || (is_commutative(pattern->op) && args_fit(1, 0));
}

}  // namespace

bool is_commutative(ExprOp op) {
  switch (op) {
    case ExprOp::add:
    case ExprOp::mul:
    case ExprOp::min:
    case ExprOp::max:
    case ExprOp::eq:
    case ExprOp::ne:
    case ExprOp::logical_and:
    case ExprOp::logical_or:
      return true;
    default:
      return false;
  }
}

// a > b is b < a.
std::optional<ExprOp> flipped(ExprOp op) {
  switch (op) {
    case ExprOp::lt:
      return ExprOp::gt;
    case ExprOp::gt:
      return ExprOp::lt;
    case ExprOp::le:
      return ExprOp::ge;
    case ExprOp::ge:
      return ExprOp::le;
    default:
      return std::nullopt;
  }
}

bool may_match(const CheckedRule& rule, size_t output, const Op& result) {
  const Expr& pattern = rule.outputs[output].value;
  if (result.dtype != pattern.dtype()) return false;
  if (!rule.pointwise && result.shape.size() != rule.outputs[output].axes.size()) return false;
  if (result.combiner == Combiner::none) return may_fit(pattern, result.body, kLooksDown);
  return pattern->op == ExprOp::reduce && result.combiner == pattern->combiner;
}

}  // namespace emulsion

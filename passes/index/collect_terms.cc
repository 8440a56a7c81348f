#include "passes/index/collect_terms.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace emulsion {
namespace {

// A sum of coefficient * term plus a constant, the terms in order of first appearance.
struct LinearSum {
  std::vector<std::pair<Expr, int64_t>> terms;
  int64_t constant = 0;

  void add_term(const Expr& term, int64_t coefficient) {
    for (size_t i = 0; i < terms.size(); ++i) {
      if (!equal(terms[i].first, term)) continue;
      terms[i].second += coefficient;
      if (terms[i].second == 0) terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
    if (coefficient != 0) terms.emplace_back(term, coefficient);
  }
};

bool is_number(const Expr& expr) { return expr->op == ExprOp::constant; }

void collect(const Expr& expr, int64_t factor, LinearSum* sum);
Expr with_simple_args(const Expr& expr);

LinearSum linear_sum(const Expr& expr) {
  LinearSum sum;
  collect(expr, 1, &sum);
  return sum;
}

Expr to_expr(const LinearSum& sum) {
  Expr result;
  auto append = [&](const Expr& term, int64_t coefficient) {
    int64_t size = coefficient < 0 ? -coefficient : coefficient;
    Expr scaled = size == 1 ? term : term * int_constant(size);
    if (!result.defined()) {
      result = coefficient < 0 ? term * int_constant(coefficient) : scaled;
    } else {
      result = coefficient < 0 ? result - scaled : result + scaled;
    }
  };
  // Positive terms first: B - 1 - i, not -i + B - 1.
  for (const auto& [term, coefficient] : sum.terms) {
    if (coefficient > 0) append(term, coefficient);
  }
  if (!result.defined() && (sum.constant > 0 || sum.terms.empty())) {
    result = int_constant(sum.constant);
    for (const auto& [term, coefficient] : sum.terms) append(term, coefficient);
    return result;
  }
  for (const auto& [term, coefficient] : sum.terms) {
    if (coefficient < 0) append(term, coefficient);
  }
  if (sum.constant > 0) result = result + int_constant(sum.constant);
  if (sum.constant < 0) result = result - int_constant(-sum.constant);
  return result;
}

// (c*q + r) / c = q + r / c and (c*q + r) % c = r % c: the terms that `divisor` divides, and the
// rest.
std::pair<LinearSum, LinearSum> divide(const LinearSum& sum, int64_t divisor) {
  LinearSum quotient, rest;
  for (const auto& [term, coefficient] : sum.terms) {
    if (coefficient % divisor == 0) {
      quotient.terms.emplace_back(term, coefficient / divisor);
    } else {
      rest.terms.emplace_back(term, coefficient);
    }
  }
  int64_t rest_constant = (sum.constant % divisor + divisor) % divisor;
  quotient.constant = (sum.constant - rest_constant) / divisor;
  rest.constant = rest_constant;
  return {quotient, rest};
}

void collect_quotient(const Expr& expr, int64_t factor, LinearSum* sum) {
  const int64_t divisor = expr->args[1]->int_value;
  auto [quotient, rest] = divide(linear_sum(expr->args[0]), divisor);
  bool is_mod = expr->op == ExprOp::mod;
  if (!is_mod) {
    for (const auto& [term, coefficient] : quotient.terms) {
      sum->add_term(term, coefficient * factor);
    }
    sum->constant += quotient.constant * factor;
  }
  if (rest.terms.empty()) {
    if (is_mod) sum->constant += rest.constant * factor;
    return;
  }
  sum->add_term(binary(expr->op, to_expr(rest), int_constant(divisor)), factor);
}

void collect(const Expr& expr, int64_t factor, LinearSum* sum) {
  switch (expr->op) {
    case ExprOp::constant:
      sum->constant += expr->int_value * factor;
      return;
    case ExprOp::add:
      collect(expr->args[0], factor, sum);
      collect(expr->args[1], factor, sum);
      return;
    case ExprOp::sub:
      collect(expr->args[0], factor, sum);
      collect(expr->args[1], -factor, sum);
      return;
    case ExprOp::neg:
      collect(expr->args[0], -factor, sum);
      return;
    case ExprOp::mul: {
      LinearSum a = linear_sum(expr->args[0]);
      LinearSum b = linear_sum(expr->args[1]);
      if (!b.terms.empty()) std::swap(a, b);
      if (b.terms.empty()) {
        for (const auto& [term, coefficient] : a.terms) {
          sum->add_term(term, coefficient * b.constant * factor);
        }
        sum->constant += a.constant * b.constant * factor;
        return;
      }
      sum->add_term(to_expr(b) * to_expr(a), factor);
      return;
    }
    case ExprOp::div:
    case ExprOp::mod:
      if (is_number(expr->args[1]) && expr->args[1]->int_value > 0) {
        collect_quotient(expr, factor, sum);
        return;
      }
      break;
    case ExprOp::min:
    case ExprOp::max: {
      LinearSum a = linear_sum(expr->args[0]);
      LinearSum b = linear_sum(expr->args[1]);
      if (a.terms.empty() && b.terms.empty()) {
        bool first = (a.constant < b.constant) == (expr->op == ExprOp::min);
        sum->constant += factor * (first ? a.constant : b.constant);
      } else {
        sum->add_term(binary(expr->op, to_expr(a), to_expr(b)), factor);
      }
      return;
    }
    default:
      break;
  }
  // Anything else is a term by itself, its arguments simplified.
  sum->add_term(with_simple_args(expr), factor);
}

Expr with_simple_args(const Expr& expr) {
  std::vector<Expr> args;
  for (const Expr& arg : expr->args) args.push_back(collect_terms(arg));
  return with_args(expr, std::move(args));
}

}  // namespace

Expr collect_terms(const Expr& expr) {
  if (expr->op == ExprOp::constant || expr->op == ExprOp::axis || expr->op == ExprOp::size) {
    return expr;
  }
  if (expr.dtype() == DType::i32) return to_expr(linear_sum(expr));
  return with_simple_args(expr);
}

}  // namespace emulsion

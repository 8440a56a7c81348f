#include "passes/index/size_facts.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "dsl/index_arithmetic.h"
#include "passes/index/index_interval.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

// B % 8 == 0: B and 8.
void record_divisor(const Expr& value, int64_t rest, SizeFacts* facts) {
  if (value->op != ExprOp::mod || rest != 0 || value->args[0]->op != ExprOp::size) return;
  std::optional<int64_t> divisor = constant_value(value->args[1]);
  if (!divisor || *divisor < 1) return;
  int64_t& known = facts->divisors.emplace(value->args[0]->name, 1).first->second;
  known = std::lcm(known, *divisor);
}

// sum of sizes <op> number
void record_bound(ExprOp op, const Extent& sum, int64_t number, SizeFacts* facts) {
  if (!is_sum_of_sizes(sum)) return;
  if (op == ExprOp::ge) facts->not_negative.push_back(sum - number);
  if (op == ExprOp::gt) facts->not_negative.push_back(sum - number - 1);
}

// size <op> number
void record_size(ExprOp op, const std::string& size, int64_t number, SizeFacts* facts) {
  if (op == ExprOp::eq) facts->values.emplace(size, number);
  if (op == ExprOp::ge || op == ExprOp::gt || op == ExprOp::eq) {
    int64_t& least = facts->least.emplace(size, 0).first->second;
    least = std::max(least, op == ExprOp::gt ? number + 1 : number);
  }
  if (op == ExprOp::le || op == ExprOp::lt || op == ExprOp::eq) {
    const int64_t here = op == ExprOp::lt ? number - 1 : number;
    int64_t& most = facts->most.emplace(size, here).first->second;
    most = std::min(most, here);
  }
}

// coefficient * size + more <op> number: 12 * B >= 13 says B >= 2.
void record_multiple(ExprOp op, const Extent& sum, int64_t number, SizeFacts* facts) {
  if (op != ExprOp::ge && op != ExprOp::gt) return;
  if (!is_sum_of_sizes(sum) || sum.coefficients().size() != 1) return;
  const auto& [size, coefficient] = *sum.coefficients().begin();
  const int64_t least = number - sum.constant_term() + (op == ExprOp::gt ? 1 : 0);
  if (least > 0) record_size(ExprOp::ge, size, (least - 1) / coefficient + 1, facts);
}

// value <op> number
void record_comparison(ExprOp op, const Expr& value, int64_t number, SizeFacts* facts) {
  if (op == ExprOp::eq) record_divisor(value, number, facts);
  const std::optional<Extent> sum = as_extent(value);
  if (!sum) return;
  record_bound(op, *sum, number, facts);
  record_multiple(op, *sum, number, facts);
  if (is_what_is_left_of_a_size(*sum)) {
    const std::string& size = sum->coefficients().begin()->first;
    record_size(op, size, number - sum->constant_term(), facts);
  }
}

ExprOp mirrored(ExprOp op) {
  switch (op) {
    case ExprOp::lt:
      return ExprOp::gt;
    case ExprOp::le:
      return ExprOp::ge;
    case ExprOp::gt:
      return ExprOp::lt;
    case ExprOp::ge:
      return ExprOp::le;
    default:
      return op;
  }
}

void note(const Expr& condition, SizeFacts* facts) {
  if (condition->op == ExprOp::logical_and) {
    note(condition->args[0], facts);
    note(condition->args[1], facts);
    return;
  }
  if (condition->args.size() != 2) return;
  const Expr &left = condition->args[0], &right = condition->args[1];
  if (std::optional<int64_t> number = constant_value(right)) {
    record_comparison(condition->op, left, *number, facts);
  } else if (std::optional<int64_t> first = constant_value(left)) {
    record_comparison(mirrored(condition->op), right, *first, facts);
  }
}

// How often an extent has the terms of another: 2 * B - 4 in 14 * B + 7 seven times.
int64_t times_within(const Extent& part, const Extent& extent) {
  std::optional<int64_t> times;
  for (const auto& [name, coefficient] : part.coefficients()) {
    const auto found = extent.coefficients().find(name);
    const int64_t terms = found == extent.coefficients().end() ? 0 : found->second / coefficient;
    times = std::min(times.value_or(terms), terms);
  }
  return std::max<int64_t>(times.value_or(0), 0);
}

}  // namespace

Expr SizeFacts::assume(const Expr& expr) const {
  if (values.empty()) return expr;
  return simplify_index(transform(expr, [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::size) return Expr();
    auto known = values.find(e->name);
    return known == values.end() ? Expr() : int_constant(known->second);
  }));
}

bool SizeFacts::divides(int64_t divisor, const Extent& extent) const {
  if (extent.constant_term() % divisor != 0) return false;
  return std::all_of(extent.coefficients().begin(), extent.coefficients().end(),
                     [&](const auto& term) {
                       auto known = divisors.find(term.first);
                       const int64_t multiple = known == divisors.end() ? 1 : known->second;
                       // coefficient * multiple could overflow; its greatest common divisor cannot
                       return divisor / std::gcd(divisor, multiple) == 1 ||
                              term.second % (divisor / std::gcd(divisor, multiple)) == 0;
                     });
}

std::optional<int64_t> SizeFacts::lower_bound(const Extent& extent) const {
  Extent shifted = extent;
  for (const auto& [name, coefficient] : extent.coefficients()) {
    auto known = least.find(name);
    if (known != least.end()) shifted = shifted + Extent(known->second) * Extent(coefficient);
  }
  std::optional<int64_t> lowest = shifted.lower_bound();
  for (const Extent& other : not_negative) {
    const Extent all = other * Extent(times_within(other, extent));
    const std::optional<int64_t> rest = (extent - all).lower_bound();
    if (rest && (!lowest || *rest > *lowest)) lowest = rest;
  }
  return lowest;
}

std::optional<int64_t> SizeFacts::upper_bound(const Extent& extent) const {
  std::optional<int64_t> highest = extent.constant_term();
  for (const auto& [name, coefficient] : extent.coefficients()) {
    if (coefficient < 0) continue;  // largest where the size is 0
    const auto known = most.find(name);
    if (known == most.end() || !highest) return std::nullopt;
    const auto term = index_operator(ExprOp::mul, coefficient, std::max<int64_t>(known->second, 0));
    highest = term ? index_operator(ExprOp::add, *highest, *term) : std::nullopt;
  }
  return highest;
}

bool is_sum_of_sizes(const Extent& extent) {
  // A sum that leaves i32 is compared as less than it is; a difference may be compared as more.
  const auto is_added = [](const auto& term) { return term.second > 0; };
  const auto& terms = extent.coefficients();
  return extent.constant_term() >= std::numeric_limits<int32_t>::min() &&
         std::all_of(terms.begin(), terms.end(), is_added);
}

bool is_what_is_left_of_a_size(const Extent& extent) {
  const auto& terms = extent.coefficients();
  return terms.size() == 1 && terms.begin()->second == 1 && extent.constant_term() <= 0 &&
         is_sum_of_sizes(extent);
}

SizeFacts facts_of(const Expr& condition) {
  SizeFacts facts;
  if (condition.defined()) note(condition, &facts);
  return facts;
}

bool never_holds(const Expr& condition) {
  const SizeFacts facts = facts_of(condition);
  return std::any_of(facts.most.begin(), facts.most.end(), [&](const auto& size_and_most) {
    const auto least = facts.least.find(size_and_most.first);
    return least != facts.least.end() && least->second > size_and_most.second;
  });
}

}  // namespace emulsion

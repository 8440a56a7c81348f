#include "passes/index/simplify_quotients.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "dsl/index_arithmetic.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

struct Bounds {
  int64_t low, high;
};

// A sum of terms, each a number times what is no sum, and a number.
struct Sum {
  struct Term {
    Expr of;
    int64_t times;
  };
  std::vector<Term> terms;  // none twice, none 0 times
  int64_t number = 0;
};

// Numbers that are no indices: nothing here can overflow with less.
constexpr int64_t kMostNumber = int64_t{1} << 31;

bool is_small(int64_t number) { return number > -kMostNumber && number < kMostNumber; }

// False where a number is out of bounds.
bool add(const Expr& e, int64_t times, Sum* sum) {
  if (!is_small(times)) return false;
  if (const std::optional<int64_t> number = constant_value(e)) {
    if (!is_small(*number)) return false;
    sum->number += *number * times;
    return is_small(sum->number);
  }
  if (e->op == ExprOp::add || e->op == ExprOp::sub) {
    return add(e->args[0], times, sum) &&
           add(e->args[1], e->op == ExprOp::add ? times : -times, sum);
  }
  if (e->op == ExprOp::mul) {
    for (size_t i : {size_t{0}, size_t{1}}) {
      const std::optional<int64_t> factor = constant_value(e->args[i]);
      if (factor) return is_small(*factor) && add(e->args[1 - i], *factor * times, sum);
    }
  }
  const auto same = std::find_if(sum->terms.begin(), sum->terms.end(),
                                 [&](const Sum::Term& term) { return equal(term.of, e); });
  if (same == sum->terms.end()) {
    if (times != 0) sum->terms.push_back({e, times});
    return true;
  }
  same->times += times;
  if (same->times == 0) sum->terms.erase(same);
  return true;
}

// The number that a term is divided by, or is the remainder by.
std::optional<int64_t> divisor_of(const Expr& term, ExprOp op) {
  if (term->op != op) return std::nullopt;
  const std::optional<int64_t> by = constant_value(term->args[1]);
  return by && *by > 0 && is_small(*by) ? by : std::nullopt;
}

// What a quotient by `by` of a term would be, x / 18 / 6 as x / 108: whether a term is that.
bool is_quotient(const Expr& term, const Expr& of, int64_t by) {
  const std::optional<int64_t> divisor = divisor_of(term, ExprOp::div);
  if (divisor == by && equal(term->args[0], of)) return true;
  const std::optional<int64_t> inner = divisor_of(of, ExprOp::div);
  return divisor && inner && is_small(*inner * by) && *divisor == *inner * by &&
         equal(term->args[0], of->args[0]);
}

// x / 64 * 64 + x % 64 is x. Whether there was one.
bool join_digits(Sum* sum) {
  for (const Sum::Term& low : sum->terms) {
    const std::optional<int64_t> by = divisor_of(low.of, ExprOp::mod);
    if (!by) continue;
    for (const Sum::Term& high : sum->terms) {
      if (high.times != low.times * *by || !is_quotient(high.of, low.of->args[0], *by)) continue;
      const Expr quotient = high.of, rest = low.of, whole = low.of->args[0];
      const int64_t times = low.times;
      Sum joined = *sum;
      const auto is_digit = [&](const Sum::Term& term) {
        return term.of.same_as(quotient) || term.of.same_as(rest);
      };
      joined.terms.erase(std::remove_if(joined.terms.begin(), joined.terms.end(), is_digit),
                         joined.terms.end());
      if (!add(whole, times, &joined)) return false;
      *sum = std::move(joined);
      return true;
    }
  }
  return false;
}

std::optional<Sum> sum_of(const Expr& e) {
  Sum sum;
  if (!add(e, 1, &sum)) return std::nullopt;
  while (join_digits(&sum)) {
  }
  return sum;
}

Expr written(const Sum& sum) {
  Expr result;
  for (const Sum::Term& term : sum.terms) {
    const int64_t times = term.times < 0 && result.defined() ? -term.times : term.times;
    const Expr product = times == 1 ? term.of : term.of * int_constant(times);
    result = !result.defined() ? product : term.times < 0 ? result - product : result + product;
  }
  if (!result.defined()) return int_constant(sum.number);
  if (sum.number == 0) return result;
  return sum.number < 0 ? result - int_constant(-sum.number) : result + int_constant(sum.number);
}

// The terms, and the number, that are whole multiples of `by`, over it; the others stay in `rest`.
Sum multiples_of(int64_t by, const Sum& sum, Sum* rest) {
  Sum whole;
  rest->terms.clear();
  for (const Sum::Term& term : sum.terms) {
    if (term.times % by == 0) {
      whole.terms.push_back({term.of, term.times / by});
    } else {
      rest->terms.push_back(term);
    }
  }
  whole.number = floor_div(sum.number, by);
  rest->number = floor_mod(sum.number, by);
  return whole;
}

class Simplifier {
 public:
  explicit Simplifier(const AxisExtents& axes) : axes_(axes) {}

  Expr simplify(const Expr& index) const {
    return transform(index, [&](const Expr& e) { return simplify_node(e); });
  }

 private:
  std::optional<Bounds> bounds_of(const Expr& e) const {
    if (const std::optional<int64_t> number = constant_value(e)) return Bounds{*number, *number};
    if (e->op == ExprOp::axis) {
      const auto found = axes_.find(e->name);
      if (found == axes_.end() || !found->second.is_constant()) return std::nullopt;
      return Bounds{0, std::max<int64_t>(found->second.constant_term() - 1, 0)};
    }
    if (const std::optional<int64_t> by = divisor_of(e, ExprOp::mod)) return Bounds{0, *by - 1};
    if (const std::optional<int64_t> by = divisor_of(e, ExprOp::div)) {
      const std::optional<Bounds> of = bounds_of(e->args[0]);
      if (!of) return std::nullopt;
      return Bounds{floor_div(of->low, *by), floor_div(of->high, *by)};
    }
    if (e->op != ExprOp::add && e->op != ExprOp::sub && e->op != ExprOp::mul) return std::nullopt;
    const std::optional<Sum> sum = sum_of(e);
    return sum ? bounds_of(*sum) : std::nullopt;
  }

  std::optional<Bounds> bounds_of(const Sum& sum) const {
    Bounds result{sum.number, sum.number};
    for (const Sum::Term& term : sum.terms) {
      // What is no sum, or this would not end.
      if (term.of->op == ExprOp::add || term.of->op == ExprOp::sub) return std::nullopt;
      if (term.of->op == ExprOp::mul) return std::nullopt;
      const std::optional<Bounds> one = bounds_of(term.of);
      if (!one || !is_small(one->low) || !is_small(one->high)) return std::nullopt;
      result.low += std::min(one->low * term.times, one->high * term.times);
      result.high += std::max(one->low * term.times, one->high * term.times);
      if (!is_small(result.low) || !is_small(result.high)) return std::nullopt;
    }
    return result;
  }

  bool is_below(const Sum& sum, int64_t end) const {
    const std::optional<Bounds> bounds = bounds_of(sum);
    return bounds && bounds->low >= 0 && bounds->high < end;
  }

  // The numbers that divide `by` and some of the terms, greatest first.
  static std::vector<int64_t> common_divisors(const Sum& sum, int64_t by) {
    std::vector<int64_t> divisors;
    for (const Sum::Term& term : sum.terms) divisors.push_back(std::gcd(term.times, by));
    std::sort(divisors.rbegin(), divisors.rend());
    divisors.erase(std::unique(divisors.begin(), divisors.end()), divisors.end());
    return divisors;
  }

  // sum / by and sum % by, where that can be simpler.
  Expr quotient(const Sum& sum, int64_t by) const {
    Sum rest;
    const Sum whole = multiples_of(by, sum, &rest);
    const Expr of_rest = quotient_of_rest(rest, by);
    if (!of_rest.defined()) {
      const bool changed = !whole.terms.empty() || whole.number != 0;
      return changed ? written_sum(whole, written(rest) / int_constant(by)) : Expr();
    }
    return written_sum(whole, of_rest);
  }

  static Expr written_sum(Sum sum, const Expr& more) {
    if (!add(more, 1, &sum)) return Expr();
    return written(sum);
  }

  Expr quotient_of_rest(const Sum& rest, int64_t by) const {
    if (is_below(rest, by)) return int_constant(0);
    if (rest.terms.size() == 1 && rest.terms[0].times == 1 && rest.number == 0) {
      const Expr& of = rest.terms[0].of;
      if (const auto inner = divisor_of(of, ExprOp::div)) {  // x / 4 / 8
        return is_small(*inner * by) ? of->args[0] / int_constant(*inner * by) : Expr();
      }
      const auto inner = divisor_of(of, ExprOp::mod);  // x % 256 / 64
      if (inner && *inner % by == 0) {
        return of->args[0] / int_constant(by) % int_constant(*inner / by);
      }
    }
    for (int64_t common : common_divisors(rest, by)) {
      Sum low;
      const Sum high = multiples_of(common, rest, &low);
      if (common > 1 && is_below(low, common)) {
        return simplify(written(high) / int_constant(by / common));
      }
    }
    return Expr();
  }

  Expr remainder(const Sum& sum, int64_t by) const {
    Sum rest;
    const Sum whole = multiples_of(by, sum, &rest);
    if (is_below(rest, by)) return written(rest);
    if (rest.terms.size() == 1 && rest.terms[0].times == 1 && rest.number == 0) {
      const Expr& of = rest.terms[0].of;  // x % 256 % 64
      const auto inner = divisor_of(of, ExprOp::mod);
      if (inner && *inner % by == 0) return of->args[0] % int_constant(by);
    }
    for (int64_t common : common_divisors(rest, by)) {
      Sum low;
      const Sum high = multiples_of(common, rest, &low);
      if (common > 1 && common < by && is_below(low, common)) {
        const Expr digit = simplify(written(high) % int_constant(by / common));
        return written_sum(low, digit * int_constant(common));
      }
    }
    const bool changed = !whole.terms.empty() || whole.number != 0;
    return changed ? written(rest) % int_constant(by) : Expr();
  }

  Expr simplify_node(const Expr& e) const {
    if (e.dtype() != DType::i32) return Expr();
    const std::optional<int64_t> by_quotient = divisor_of(e, ExprOp::div);
    const std::optional<int64_t> by_remainder = divisor_of(e, ExprOp::mod);
    if (by_quotient || by_remainder) {
      const std::optional<Sum> sum = sum_of(e->args[0]);
      if (!sum) return Expr();
      const Expr made = by_quotient ? quotient(*sum, *by_quotient) : remainder(*sum, *by_remainder);
      return made.defined() && !equal(made, e) ? made : Expr();
    }
    if (e->op == ExprOp::min || e->op == ExprOp::max) return without_clamp(e);
    if (e->op != ExprOp::add && e->op != ExprOp::sub) return Expr();
    Sum sum;
    return add(e, 1, &sum) && join_digits(&sum) ? written(*sum_of(written(sum))) : Expr();
  }

  // A clamp that moves nothing.
  Expr without_clamp(const Expr& e) const {
    for (size_t i : {size_t{0}, size_t{1}}) {
      const std::optional<int64_t> end = constant_value(e->args[i]);
      const std::optional<Bounds> bounds = end ? bounds_of(e->args[1 - i]) : std::nullopt;
      if (!bounds) continue;
      if (e->op == ExprOp::min ? bounds->high <= *end : bounds->low >= *end) return e->args[1 - i];
    }
    return Expr();
  }

  const AxisExtents& axes_;
};

}  // namespace

Expr simplify_quotients(const Expr& index, const AxisExtents& axes) {
  return simplify_index(Simplifier(axes).simplify(index));
}

}  // namespace emulsion

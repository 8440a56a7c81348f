#include "passes/nest/loop_steps.h"

#include <algorithm>
#include <tuple>

#include "dsl/index_arithmetic.h"
#include "passes/index/relax_clamps.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

// floor(dividend / divisor), over run-time sizes.
struct Quotient {
  Extent dividend;
  int64_t divisor;
};

std::optional<Quotient> as_quotient(const Expr& e) {
  if (auto affine = as_extent(e)) return Quotient{*affine, 1};
  if (e->op != ExprOp::div) return std::nullopt;
  const auto dividend = as_extent(e->args[0]);
  const auto divisor = constant_value(e->args[1]);
  if (!dividend || !divisor || *divisor < 1) return std::nullopt;
  return Quotient{*dividend, *divisor};
}

// The most that a remainder, or the difference of two quotients of one divisor, can be.
std::optional<int64_t> most_of(const Expr& e) {
  if (e->op == ExprOp::mod) {
    const auto divisor = constant_value(e->args[1]);
    if (divisor && *divisor > 0) return *divisor - 1;
  }
  if (e->op != ExprOp::sub) return std::nullopt;
  const auto x = as_quotient(e->args[0]), y = as_quotient(e->args[1]);
  if (!x || !y || x->divisor != y->divisor) return std::nullopt;
  const Extent more = x->dividend - y->dividend;
  if (!more.is_constant() || more.constant_term() < 0) return std::nullopt;
  return (more.constant_term() + x->divisor - 1) / x->divisor;
}

// With a variable in the place of each select between two numbers: it may be either.
Expr without_choices(const Expr& expr, std::map<std::string, Range>* ranges) {
  return transform(expr, [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::select) return Expr();
    const auto a = constant_value(e->args[1]), b = constant_value(e->args[2]);
    if (!a || !b) return Expr();
    const std::string name = "choice " + std::to_string(ranges->size());
    ranges->emplace(name, Range{Extent(std::min(*a, *b)), Extent(std::max(*a, *b))});
    return axis_value(name);
  });
}

// What an extent is where run-time sizes are large, and all the same: for choices that are right
// whatever they are. Nothing where that is beyond what a tensor has.
std::optional<int64_t> typical(const Extent& e) {
  constexpr int64_t kLargeSize = 4096, kMost = int64_t{1} << 40;
  __int128 value = e.constant_term();
  for (const auto& [name, coefficient] : e.coefficients())
    value += __int128{coefficient} * kLargeSize;
  if (value > kMost || value < -kMost) return std::nullopt;
  return static_cast<int64_t>(value);
}

// The quotient by `by` that most of [least, most] have, where that is at least half of them.
std::optional<int64_t> frequent_quotient(int64_t least, int64_t most, int64_t by) {
  constexpr int64_t kMostQuotients = 3;
  int64_t best = 0, widest = 0;
  const int64_t first = floor_div(least, by), last = floor_div(most, by);
  if (last - first >= kMostQuotients) return std::nullopt;
  for (int64_t quotient = first; quotient <= last; ++quotient) {
    const int64_t start = std::max(least, quotient * by);
    const int64_t width = std::min(most, quotient * by + by - 1) - start + 1;
    if (width > widest) std::tie(best, widest) = std::tuple(quotient, width);
  }
  if (2 * widest < most - least + 1) return std::nullopt;
  return best;
}

// Whether half of the sum of what `a` is the greatest of is more than b - 1: the greatest is a
// whole number, and no less than that half. max(2 * H - 1, 0) >= H.
bool is_half_at_least(const Expr& a, const Expr& b) {
  const auto x = as_extent(a->args[0]), y = as_extent(a->args[1]), z = as_extent(b);
  return x && y && z && never_negative(*x + *y - *z - *z + Extent(1));
}

}  // namespace

Expr floor_of(const Extent& dividend, int64_t divisor) {
  const int64_t number = dividend.constant_term();
  if (auto exact = (dividend - Extent(number)).exact_quotient(divisor)) {
    return extent_value(*exact + Extent(floor_div(number, divisor)));
  }
  return simplify_index(extent_value(dividend) / int_constant(divisor));
}

bool at_least(const Expr& a, const Expr& b) {
  if (equal(a, b)) return true;
  if (b->op == ExprOp::min && (at_least(a, b->args[0]) || at_least(a, b->args[1]))) return true;
  if (a->op == ExprOp::max && (at_least(a->args[0], b) || at_least(a->args[1], b))) return true;
  if (b->op == ExprOp::max) return at_least(a, b->args[0]) && at_least(a, b->args[1]);
  if (a->op == ExprOp::min) return at_least(a->args[0], b) && at_least(a->args[1], b);
  if (a->op == ExprOp::max && is_half_at_least(a, b)) return true;
  if (const auto least = constant_value(a), most = most_of(b); least && most && *least >= *most) {
    return true;
  }
  const auto x = as_quotient(a), y = as_quotient(b);
  if (!x || !y) return false;
  if (x->divisor == y->divisor && never_negative(x->dividend - y->dividend)) return true;
  // floor(n / d) >= c where n >= c * d, and floor(n / d) <= c where n < (c + 1) * d.
  if (auto least = constant_value(b)) {
    return never_negative(x->dividend - Extent(*least * x->divisor));
  }
  if (auto most = constant_value(a)) {
    return never_negative(Extent((*most + 1) * y->divisor - 1) - y->dividend);
  }
  return false;
}

Expr least_of(const Expr& a, const Expr& b) {
  if (at_least(b, a)) return a;
  return at_least(a, b) ? b : min(a, b);
}

Expr greatest_of(const Expr& a, const Expr& b) {
  if (at_least(a, b)) return a;
  return at_least(b, a) ? b : max(a, b);
}

Expr difference(const Expr& a, const Expr& b) {
  const auto x = as_extent(a), y = as_extent(b);
  if (x && y) return extent_value(*x - *y);
  if (b->op == ExprOp::max) {
    return least_of(difference(a, b->args[0]), difference(a, b->args[1]));
  }
  if (a->op == ExprOp::min) {
    return least_of(difference(a->args[0], b), difference(a->args[1], b));
  }
  return simplify_index(a - b);
}

Expr steps_between(const Expr& from, const Expr& to) {
  const Expr steps = difference(to, from);
  return at_least(to, from) ? steps : greatest_of(steps, int_constant(0));
}

Expr steps_left(const Extent& extent, const Expr& min) {
  const Expr whole = extent_value(extent);
  if (min->op == ExprOp::mul && min->args[0]->op == ExprOp::div &&
      equal(min->args[0]->args[1], min->args[1]) && equal(min->args[0]->args[0], whole)) {
    return simplify_index(whole % min->args[1]);
  }
  return difference(whole, min);
}

Range range_of(const Loop& loop) {
  Range range = range_below(loop.extent);
  if (!range.is_known) {  // of a stage whose window slides: at most as many steps as at first
    const auto steps =
        interval_of(loop.extent, [](const std::string&) { return Range::unknown(); });
    if (steps && steps->fixed.empty()) range = {0, steps->high - Extent(1)};
  }
  const auto min = as_extent(loop.min);
  if (!min || !range.is_known) return Range::unknown();
  if (range.divisor > 1) return *min == Extent(0) ? range : Range::unknown();
  return {range.low + *min, range.high + *min};
}

std::optional<Slope> slope_along(const Expr& index, const std::string& variable,
                                 const std::map<std::string, Range>& ranges) {
  std::map<std::string, Range> known = ranges;
  const Expr sum = without_choices(index, &known);
  const auto interval = interval_of(sum, [&](const std::string& name) -> std::optional<Range> {
    if (name == variable) return std::nullopt;
    auto found = known.find(name);
    return found == known.end() ? Range::unknown() : found->second;
  });
  if (!interval || interval->fixed.size() != 1) return std::nullopt;
  const auto& [term, factor] = interval->fixed.begin()->second;
  if (term->op != ExprOp::axis || term->name != variable) return std::nullopt;
  return Slope{factor, interval->low, interval->high};
}

bool SparedSteps::restrict_to(const Expr& spare) {
  const std::optional<Slope> slope = slope_along(spare, variable_, *others_);
  if (!slope) return false;
  const auto& [factor, low, high] = *slope;
  // factor * v + low >= 0
  if (factor > 0) {
    const Expr least = floor_of(Extent(factor - 1) - low, factor);
    if (kept_ && !at_least(kept_->first, least)) return false;
    first = first ? greatest_of(*first, least) : least;
  } else {
    const Expr past = floor_of(low + Extent(-factor), -factor);
    if (kept_ && !at_least(past, kept_->second)) return false;
    end = end ? least_of(*end, past) : past;
  }
  return true;
}

bool SparedSteps::holds_at_others(const Expr& spare) const {
  if (mentions(spare, variable_)) return false;
  const auto interval = interval_of(spare, [&](const std::string& name) {
    auto found = others_->find(name);
    return found == others_->end() ? Range::unknown() : found->second;
  });
  return interval && interval->fixed.empty() && never_negative(interval->low);
}

Expr SparedSteps::without_clamp(const Expr& e, const std::function<Expr(const Expr&)>& in_loops) {
  const std::optional<Clamp> clamp = clamp_of(e);
  if (!clamp) return Expr();
  const Expr at = in_loops ? in_loops(clamp->value) : clamp->value;
  const Expr bound = extent_value(clamp->bound);
  const Expr spare = clamp->is_most ? bound - at : at - bound;
  return restrict_to(spare) || holds_at_others(spare) ? clamp->value : Expr();
}

Expr SparedSteps::without_clamps(const Expr& index,
                                 const std::function<Expr(const Expr&)>& in_loops) {
  return transform(index, [&](const Expr& e) { return without_clamp(e, in_loops); });
}

int64_t SparedSteps::factor_of(const Expr& index) const {
  const std::optional<Slope> slope = slope_along(index, variable_, *others_);
  return slope ? slope->factor : 0;
}

Expr SparedSteps::not_reflected(const Expr& e, const std::function<Expr(const Expr&)>& in_loops) {
  if (e->dtype != i32) return Expr();
  if (e->op == ExprOp::abs) {
    const Expr at = in_loops(e->args[0]);
    const bool falls = factor_of(at) < 0;
    if (!restrict_to(falls ? int_constant(0) - at : at)) return Expr();
    return falls ? int_constant(0) - e->args[0] : e->args[0];
  }
  if (e->op != ExprOp::min && e->op != ExprOp::max) return Expr();
  const Expr a = in_loops(e->args[0]), b = in_loops(e->args[1]);
  const int64_t of_a = factor_of(a), of_b = factor_of(b);
  if (of_a == 0 || of_b == 0 || (of_a > 0) == (of_b > 0)) return Expr();
  const bool is_first = of_a > 0;
  const bool is_least = e->op == ExprOp::min;
  const Expr spare = is_first == is_least ? b - a : a - b;
  return restrict_to(spare) ? e->args[is_first ? 0 : 1] : Expr();
}

Expr SparedSteps::not_wrapped(const Expr& e, const std::function<Expr(const Expr&)>& in_loops,
                              const Range& own) {
  if (e->op != ExprOp::mod || e->dtype != i32 || !own.is_known) return Expr();
  const auto by = as_extent(e->args[1]);
  const Expr at = in_loops(e->args[0]);
  const std::optional<Slope> slope = slope_along(at, variable_, *others_);
  if (!by || !slope || slope->factor < 1) return Expr();
  const auto low = typical(slope->low), high = typical(slope->high), from = typical(own.low),
             to = typical(own.high), divisor = typical(*by);
  if (!low || !high || !from || !to || !divisor || *divisor < 1) return Expr();
  const std::optional<int64_t> quotient =
      frequent_quotient(slope->factor * floor_div(*from, own.divisor) + *low,
                        slope->factor * floor_div(*to, own.divisor) + *high, *divisor);
  if (!quotient) return Expr();
  const Extent start = *by * Extent(*quotient);
  const Expr first_of_it = extent_value(start), last_of_it = extent_value(start + *by - Extent(1));
  if (!restrict_to(at - first_of_it) || !restrict_to(last_of_it - at)) return Expr();
  return *quotient == 0 ? e->args[0] : e->args[0] - first_of_it;
}

Expr SparedSteps::between_ends(const Expr& index, const std::function<Expr(const Expr&)>& in_loops,
                               const Range& own) {
  return transform(index, [&](const Expr& e) {
    Expr result = without_clamp(e, in_loops);
    if (!result.defined()) result = not_reflected(e, in_loops);
    if (!result.defined()) result = not_wrapped(e, in_loops, own);
    return result;
  });
}

}  // namespace emulsion

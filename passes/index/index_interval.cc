#include "passes/index/index_interval.h"

#include <algorithm>
#include <utility>

#include "dsl/index_arithmetic.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

class IntervalOf {
 public:
  explicit IntervalOf(VariableRange range) : range_(std::move(range)) {}

  std::optional<Interval> operator()(const Expr& e) const {
    switch (e->op) {
      case ExprOp::constant:
        return number(Extent(e->int_value));
      case ExprOp::size:
        return number(Extent::size(e->name));
      case ExprOp::axis:
        return multiple_of(e, 1);
      case ExprOp::add:
      case ExprOp::sub: {
        auto a = (*this)(e->args[0]);
        auto b = (*this)(e->args[1]);
        if (!a || !b) return std::nullopt;
        return add(*a, e->op == ExprOp::add ? *b : scale(*b, -1));
      }
      case ExprOp::mul: {
        for (int side = 0; side < 2; ++side) {
          auto factor = constant_value(e->args[1 - side]);
          if (e->args[side]->op == ExprOp::axis && factor) {
            return multiple_of(e->args[side], *factor);
          }
        }
        auto a = (*this)(e->args[0]);
        auto b = (*this)(e->args[1]);
        if (!a || !b) return std::nullopt;
        if (is_number(*b)) return scale(*a, b->low.constant_term());
        if (is_number(*a)) return scale(*b, a->low.constant_term());
        return unless_varying(e);
      }
      case ExprOp::min:
      case ExprOp::max: {
        auto a = (*this)(e->args[0]);
        auto b = (*this)(e->args[1]);
        if (a && b && is_bounded(*a) && is_bounded(*b)) {
          auto pick = [&](int64_t x, int64_t y) {
            return e->op == ExprOp::min ? std::min(x, y) : std::max(x, y);
          };
          return Interval{{},
                          pick(a->low.constant_term(), b->low.constant_term()),
                          pick(a->high.constant_term(), b->high.constant_term())};
        }
        return unless_varying(e);
      }
      case ExprOp::div:
      case ExprOp::mod:
        return quotient(e);
      case ExprOp::select:
        if (auto fixed = unless_varying(e)) return fixed;
        return unite((*this)(e->args[1]), (*this)(e->args[2]));
      default:
        return unless_varying(e);
    }
  }

 private:
  static Interval number(const Extent& value) { return Interval{{}, value, value}; }
  static bool is_bounded(const Interval& i) {
    return i.fixed.empty() && i.low.is_constant() && i.high.is_constant();
  }
  static bool is_number(const Interval& i) { return is_bounded(i) && i.low == i.high; }

  // A variable times a number. Of the loop over ceil(E / d) tiles, d times its variable is known.
  std::optional<Interval> multiple_of(const Expr& variable, int64_t factor) const {
    auto range = range_(variable->name);
    if (!range) return scale(opaque(variable), factor);
    if (!range->is_known) return std::nullopt;
    if (factor % range->divisor != 0) return std::nullopt;
    return scale(Interval{{}, range->low, range->high}, factor / range->divisor);
  }

  static Interval opaque(const Expr& e) {
    Interval result;
    result.fixed[to_string(e)] = {e, 1};
    return result;
  }

  // An expression that this class cannot see through is one fixed term when nothing in it varies.
  std::optional<Interval> unless_varying(const Expr& e) const {
    const bool varies = any_part(e, [&](const Expr& node) {
      return node->op == ExprOp::read ||
             (node->op == ExprOp::axis && range_(node->name).has_value());
    });
    if (varies) return std::nullopt;
    return opaque(e);
  }

  static Interval scale(const Interval& a, int64_t factor) {
    if (factor == 0) return number(0);
    Interval result;
    for (const auto& [text, term] : a.fixed) {
      result.fixed[text] = {term.first, term.second * factor};
    }
    result.low = (factor > 0 ? a.low : a.high) * Extent(factor);
    result.high = (factor > 0 ? a.high : a.low) * Extent(factor);
    return result;
  }

  static Interval add(const Interval& a, const Interval& b) {
    Interval result = a;
    for (const auto& [text, term] : b.fixed) {
      auto& mine = result.fixed[text];
      mine = {term.first, mine.second + term.second};
      if (mine.second == 0) result.fixed.erase(text);
    }
    result.low = a.low + b.low;
    result.high = a.high + b.high;
    return result;
  }

  // floor((c*t + r) / c) = t + floor(r / c), and what is left of r for mod.
  std::optional<Interval> quotient(const Expr& e) const {
    if (auto fixed = unless_varying(e)) return fixed;
    auto a = (*this)(e->args[0]);
    auto b = (*this)(e->args[1]);
    if (a && b && !is_number(*b)) return quotient_by_size(e, *a, *b);
    if (!a || !b || b->low.constant_term() <= 0) return unless_varying(e);
    int64_t c = b->low.constant_term();
    bool divides = a->low.is_constant() && a->high.is_constant();
    for (const auto& [text, term] : a->fixed) divides = divides && term.second % c == 0;
    if (!divides) {
      if (e->op == ExprOp::mod) return Interval{{}, 0, c - 1};
      return unless_varying(e);
    }
    const int64_t low = floor_div(a->low.constant_term(), c);
    const int64_t high = floor_div(a->high.constant_term(), c);
    if (e->op == ExprOp::mod) {
      if (low != high) return Interval{{}, 0, c - 1};
      return Interval{{}, a->low.constant_term() - low * c, a->high.constant_term() - low * c};
    }
    Interval result{{}, low, high};
    for (const auto& [text, term] : a->fixed) {
      result.fixed[text] = {term.first, term.second / c};
    }
    return result;
  }

  // By run-time sizes: below k times the divisor, which is no number, the quotient is below k. With
  // a divisor of 0 nothing is below that.
  std::optional<Interval> quotient_by_size(const Expr& e, const Interval& a,
                                           const Interval& b) const {
    const Extent& divisor = b.low;
    const bool is_size = b.fixed.empty() && b.low == b.high && !divisor.is_constant();
    if (!is_size || !never_negative(divisor) || !a.fixed.empty() || !never_negative(a.low)) {
      return unless_varying(e);
    }
    const auto& [name, coefficient] = *divisor.coefficients().begin();
    const auto found = a.high.coefficients().find(name);
    const int64_t of_high = found == a.high.coefficients().end() ? 0 : found->second;
    const int64_t count = std::max<int64_t>(-floor_div(-of_high, coefficient), 1);
    if (!never_negative(divisor * Extent(count) - Extent(1) - a.high)) return unless_varying(e);
    if (e->op == ExprOp::mod) return Interval{{}, 0, divisor - Extent(1)};
    return Interval{{}, 0, count - 1};
  }

  VariableRange range_;
};

// a if a >= b for every size, b if b >= a; nothing when they cannot be ordered.
std::optional<Extent> ordered(const Extent& a, const Extent& b, bool larger) {
  Extent difference = a - b;
  if (!difference.is_constant()) return std::nullopt;
  return (difference.constant_term() >= 0) == larger ? a : b;
}

}  // namespace

std::optional<Extent> as_extent(const Expr& e) {
  auto affine = affine_of(e);
  if (!affine || !affine->coefficients.empty()) return std::nullopt;
  return affine->offset;
}

Range range_below(const Expr& extent) {
  if (auto affine = as_extent(extent)) return {0, *affine - Extent(1)};
  if (extent->op != ExprOp::div) return Range::unknown();
  auto dividend = as_extent(extent->args[0]);
  auto divisor = constant_value(extent->args[1]);
  if (!dividend || !divisor || *divisor < 1) return Range::unknown();
  return {0, *dividend - Extent(*divisor), *divisor};  // v <= floor(E / d) - 1
}

std::optional<Interval> interval_of(const Expr& index, const VariableRange& range) {
  return IntervalOf(range)(index);
}

std::optional<Interval> interval_within(const Expr& index, const AxisExtents& axes) {
  return interval_of(index, [&](const std::string& axis) -> std::optional<Range> {
    const auto extent = axes.find(axis);
    if (extent == axes.end()) return std::nullopt;
    return Range{0, extent->second - Extent(1)};
  });
}

std::optional<Interval> unite(const std::optional<Interval>& a, const std::optional<Interval>& b) {
  if (!a || !b || a->fixed.size() != b->fixed.size()) return std::nullopt;
  for (const auto& [text, term] : a->fixed) {
    auto found = b->fixed.find(text);
    if (found == b->fixed.end() || found->second.second != term.second) return std::nullopt;
  }
  auto low = ordered(a->low, b->low, false);
  auto high = ordered(a->high, b->high, true);
  if (!low || !high) return std::nullopt;
  return Interval{a->fixed, *low, *high};
}

Expr start_of(const Interval& interval) {
  Expr result;
  for (const auto& [text, term] : interval.fixed) {
    Expr scaled = term.second == 1 ? term.first : term.first * int_constant(term.second);
    result = result.defined() ? result + scaled : scaled;
  }
  Expr low = extent_value(interval.low);
  return simplify_index(result.defined() ? result + low : low);
}

}  // namespace emulsion

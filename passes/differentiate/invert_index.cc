#include "passes/differentiate/invert_index.h"

#include <algorithm>
#include <map>
#include <optional>

#include "dsl/checked_arithmetic.h"
#include "dsl/index_arithmetic.h"
#include "passes/index/collect_terms.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

void add_term(LinearSum* sum, const Expr& term, int64_t coefficient) {
  const auto same = std::find_if(sum->terms.begin(), sum->terms.end(),
                                 [&](const auto& other) { return equal(other.first, term); });
  if (same == sum->terms.end()) {
    if (coefficient != 0) sum->terms.emplace_back(term, coefficient);
    return;
  }
  same->second = checked_add(same->second, coefficient, "index");
  if (same->second == 0) sum->terms.erase(same);
}

LinearSum scaled(const LinearSum& sum, int64_t factor) {
  LinearSum result;
  for (const auto& [term, coefficient] : sum.terms) {
    add_term(&result, term, checked_mul(coefficient, factor, "index"));
  }
  result.offset = sum.offset * Extent(factor);
  return result;
}

LinearSum sum_of(LinearSum a, const LinearSum& b) {
  for (const auto& [term, coefficient] : b.terms) add_term(&a, term, coefficient);
  a.offset = a.offset + b.offset;
  return a;
}

Expr times_number(const Expr& e, int64_t factor) {
  return factor == 1 ? e : e * int_constant(factor);
}

Expr expr_of(const std::vector<std::pair<Expr, int64_t>>& terms) {
  Expr result;
  for (const auto& [term, coefficient] : terms) {
    if (!result.defined()) {
      result = times_number(term, coefficient);
    } else {
      result = coefficient > 0 ? result + times_number(term, coefficient)
                               : result - times_number(term, -coefficient);
    }
  }
  return result.defined() ? result : int_constant(0);
}

// sum(unknown) == known
struct Equation {
  std::vector<std::pair<Expr, int64_t>> unknown;
  Expr known;
};

class Inverter {
 public:
  Inverter(const std::vector<Axis>& points, size_t of_result, const std::vector<Expr>& index,
           const std::vector<Axis>& at)
      : points_(points), of_result_(of_result) {
    for (const Axis& axis : points) {
      extents_.emplace(axis.name(), axis.extent());
      unknown_.insert(axis.name());
    }
    for (const Axis& axis : at) extents_.emplace(axis.name(), axis.extent());
    for (size_t i = 0; i < at.size(); ++i) equations_.push_back(equation(index[i], at[i]));
  }

  IndexInverse run() {
    while (!equations_.empty()) {
      for (Equation& e : equations_) e = normalized(e);
      if (!step()) state_equation(0);
    }
    finish();
    return std::move(result_);
  }

 private:
  // One rewrite of the first equation that the first of these rules takes.
  bool step() {
    using Rule = bool (Inverter::*)(size_t);
    for (const Rule rule : {&Inverter::decided, &Inverter::one_axis, &Inverter::joined_digits,
                            &Inverter::split_digits, &Inverter::one_digit, &Inverter::of_several}) {
      for (size_t i = 0; i < equations_.size(); ++i) {
        if ((this->*rule)(i)) return true;
      }
    }
    return false;
  }

  bool is_unknown(const Expr& e) const {
    return std::any_of(unknown_.begin(), unknown_.end(),
                       [&](const std::string& axis) { return mentions(e, axis); });
  }

  Equation equation(const Expr& index, const Expr& known) const {
    return normalized({{{index, 1}}, known});
  }

  // What is known goes to the other side.
  Equation normalized(const Equation& e) const {
    LinearSum sum;
    for (const auto& [term, coefficient] : e.unknown) {
      sum = sum_of(std::move(sum), scaled(linear_sum(term), coefficient));
    }
    Equation result;
    Expr known = e.known - extent_value(sum.offset);
    for (const auto& [term, coefficient] : sum.terms) {
      if (is_unknown(term)) {
        result.unknown.emplace_back(term, coefficient);
      } else {
        known = known - times_number(term, coefficient);
      }
    }
    result.known = tidy_index(known);
    return result;
  }

  void remove(size_t i) { equations_.erase(equations_.begin() + static_cast<std::ptrdiff_t>(i)); }

  // Nothing can be made of it but a test.
  void state_equation(size_t i) {
    result_.equations.emplace_back(expr_of(equations_[i].unknown), equations_[i].known);
    remove(i);
  }

  bool decided(size_t i) {
    if (!equations_[i].unknown.empty()) return false;
    state_equation(i);
    return true;
  }

  bool one_axis(size_t i) {
    const Equation& e = equations_[i];
    if (e.unknown.size() != 1 || e.unknown[0].first->op != ExprOp::axis) return false;
    solve(i, 0);
    return true;
  }

  // The axis of that term, from equation i.
  void solve(size_t i, size_t term) {
    const Equation e = equations_[i];
    remove(i);
    const auto [axis, coefficient] = e.unknown[term];
    std::vector<std::pair<Expr, int64_t>> others = e.unknown;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(term));
    Expr numerator = others.empty() ? e.known : e.known - expr_of(others);
    if (coefficient < 0) numerator = -numerator;
    SolvedAxis solved;
    solved.name = axis->name;
    solved.numerator = tidy_index(numerator);
    solved.divisor = coefficient < 0 ? -coefficient : coefficient;
    solved.extent = extents_.at(axis->name);
    unknown_.erase(solved.name);
    put_in(solved.name, solved.value());
    result_.solved.push_back(std::move(solved));
  }

  // Writes the value of an axis wherever it stands.
  void put_in(const std::string& axis, const Expr& value) {
    const auto put = [&](const Expr& e) {
      return mentions(e, axis)
                 ? tidy_index(substitute_axes(
                       e, [&](const std::string& name) { return name == axis ? value : Expr(); }))
                 : e;
    };
    for (Equation& e : equations_) {
      for (auto& [term, coefficient] : e.unknown) term = put(term);
      e.known = put(e.known);
    }
    for (SolvedAxis& solved : result_.solved) solved.numerator = put(solved.numerator);
    for (auto& [a, b] : result_.equations) {
      a = put(a);
      b = put(b);
    }
    for (auto& [value_of, divisor] : result_.multiples) value_of = put(value_of);
    for (auto& [value_of, extent] : result_.ranges) value_of = put(value_of);
  }

  // The only term, when it is of this kind and has no factor.
  Expr single(size_t i, ExprOp op) const {
    const Equation& e = equations_[i];
    const bool is_it =
        e.unknown.size() == 1 && e.unknown[0].second == 1 && e.unknown[0].first->op == op;
    return is_it && !is_unknown(e.unknown[0].first->args[1]) ? e.unknown[0].first : Expr();
  }

  // x % m == v and x / m == w: x == w * m + v. With x = y / s, the second may be y / (s * m).
  bool joined_digits(size_t i) {
    const Expr low = single(i, ExprOp::mod);
    if (!low.defined()) return false;
    const Expr& x = low->args[0];
    const Expr& m = low->args[1];
    for (size_t j = 0; j < equations_.size(); ++j) {
      const Expr high = single(j, ExprOp::div);
      if (!high.defined()) continue;
      const bool same = equal(high->args[0], x) && equal(high->args[1], m);
      if (!same && !is_quotient_of(high, x, m)) continue;
      add_range(equations_[i].known, m);
      equations_[i] = {{{x, 1}}, tidy_index(equations_[j].known * m + equations_[i].known)};
      remove(j);
      return true;
    }
    return false;
  }

  // Whether high is floor(x / m) written as y / (s * m), with x = y / s.
  static bool is_quotient_of(const Expr& high, const Expr& x, const Expr& m) {
    if (x->op != ExprOp::div || !equal(high->args[0], x->args[0])) return false;
    const auto whole = affine_of(high->args[1]), inner = affine_of(x->args[1]), by = affine_of(m);
    if (!whole || !inner || !by) return false;
    const bool numbers = inner->offset.is_constant() || by->offset.is_constant();
    return numbers && whole->offset == inner->offset * by->offset;
  }

  // 0 <= value < m
  void add_range(const Expr& value, const Expr& m) {
    const std::optional<Affine> extent = affine_of(m);
    if (extent && extent->coefficients.empty()) result_.ranges.emplace_back(value, extent->offset);
  }

  // m * a + b == v with b from 0 to m - 1: a == v / m and b == v % m.
  bool split_digits(size_t i) {
    const Equation e = equations_[i];
    if (e.unknown.size() < 2) return false;
    std::set<int64_t, std::greater<>> factors;
    for (const auto& [term, coefficient] : e.unknown) {
      if (coefficient > 1) factors.insert(coefficient);
    }
    for (const int64_t m : factors) {
      Equation high, low;
      for (const auto& [term, coefficient] : e.unknown) {
        if (coefficient % m == 0) {
          high.unknown.emplace_back(term, coefficient / m);
        } else {
          low.unknown.emplace_back(term, coefficient);
        }
      }
      if (low.unknown.empty() || !proves_in_bounds(expr_of(low.unknown), Extent(m), extents_)) {
        continue;
      }
      high.known = tidy_index(e.known / int_constant(m));
      low.known = tidy_index(e.known % int_constant(m));
      equations_[i] = high;
      equations_.push_back(low);
      return true;
    }
    return false;
  }

  // c * (x / m) == v or c * (x % m) == v, m a number: x is known but for an axis.
  bool one_digit(size_t i) {
    Equation e = equations_[i];
    if (e.unknown.size() != 1) return false;
    auto [digit, coefficient] = e.unknown[0];
    if (digit->op != ExprOp::div && digit->op != ExprOp::mod) return false;
    const std::optional<int64_t> m = constant_value(digit->args[1]);
    if (!m || *m < 1) return false;
    Extent values(*m);  // of the new axis
    if (digit->op == ExprOp::mod) {
      const std::optional<Extent> quotients = quotient_count(digit->args[0], *m);
      if (!quotients) return false;
      values = *quotients;
    }
    if (coefficient < 0) {
      e.known = -e.known;
      coefficient = -coefficient;
    }
    if (coefficient > 1) {
      result_.multiples.emplace_back(e.known, coefficient);
      e.known = e.known / int_constant(coefficient);
    }
    const Expr t = new_axis(values);
    Expr known;
    if (digit->op == ExprOp::div) {
      known = e.known * int_constant(*m) + t;
    } else {
      add_range(e.known, digit->args[1]);
      known = t * int_constant(*m) + e.known;
    }
    equations_[i] = {{{digit->args[0], 1}}, tidy_index(known)};
    return true;
  }

  // How many values x / m may have, or more; x is never negative.
  std::optional<Extent> quotient_count(const Expr& x, int64_t m) const {
    const std::optional<Affine> affine = affine_of(x);
    if (!affine) return std::nullopt;
    const Extent largest = largest_value(*affine, extents_);
    if (!proves_in_bounds(x, largest + Extent(1), extents_)) return std::nullopt;
    if (largest.is_constant()) return Extent(floor_div(largest.constant_term(), m) + 1);
    const Extent count = largest + Extent(1);
    if (!never_negative(count)) return std::nullopt;
    return count.exact_quotient(m).value_or(count);
  }

  Expr new_axis(const Extent& extent) {
    std::set<std::string> taken;
    for (const auto& [axis, values] : extents_) taken.insert(axis);
    const std::string name = fresh_name("t", taken);
    extents_.emplace(name, extent);
    new_axes_.emplace_back(name, extent);
    return axis_value(name);
  }

  // Of several axes the one with most values, so that few are left over; rather one of the result
  // than one of a reduction: a window is left to be summed over.
  bool of_several(size_t i) {
    const Equation& e = equations_[i];
    std::optional<size_t> best;
    double most = 0;
    for (size_t t = 0; t < e.unknown.size(); ++t) {
      const Expr& term = e.unknown[t].first;
      if (term->op != ExprOp::axis) continue;
      const bool elsewhere =
          std::any_of(e.unknown.begin(), e.unknown.end(), [&](const auto& other) {
            return other.first->op != ExprOp::axis && mentions(other.first, term->name);
          });
      if (elsewhere) continue;
      const double values = weight_of(term->name);
      if (values > most) {
        most = values;
        best = t;
      }
    }
    if (best) solve(i, *best);
    return best.has_value();
  }

  double weight_of(const std::string& axis) const {
    constexpr double kLargeSize = 1 << 20;  // a run-time size, usually the batch
    constexpr double kRather = 8;
    const Extent& extent = extents_.at(axis);
    const auto known = extent.as_constant();
    const double values = 1 + (known ? static_cast<double>(*known) : kLargeSize);
    const std::optional<size_t> place = axis_index(points_, axis);
    return place && *place < of_result_ ? values * kRather : values;
  }

  void finish() {
    for (const Axis& axis : points_) {
      if (unknown_.count(axis.name())) result_.left_over.push_back(axis);
    }
    result_.left_over.insert(result_.left_over.end(), new_axes_.begin(), new_axes_.end());
  }

  const std::vector<Axis>& points_;
  const size_t of_result_;
  AxisExtents extents_;
  std::set<std::string> unknown_;
  std::vector<Axis> new_axes_;
  std::vector<Equation> equations_;
  IndexInverse result_;
};

}  // namespace

Expr SolvedAxis::value() const {
  return divisor == 1 ? numerator : numerator / int_constant(divisor);
}

LinearSum linear_sum(const Expr& index) {
  LinearSum result;
  switch (index->op) {
    case ExprOp::neg:
      return scaled(linear_sum(index->args[0]), -1);
    case ExprOp::add:
      return sum_of(linear_sum(index->args[0]), linear_sum(index->args[1]));
    case ExprOp::sub:
      return sum_of(linear_sum(index->args[0]), scaled(linear_sum(index->args[1]), -1));
    case ExprOp::mul:
      for (int side = 0; side < 2; ++side) {
        const auto factor = constant_value(simplify_index(index->args[side]));
        if (factor) return scaled(linear_sum(index->args[1 - side]), *factor);
      }
      break;
    default:
      break;
  }
  if (const auto affine = affine_of(index); affine && affine->coefficients.empty()) {
    result.offset = affine->offset;
  } else {
    result.terms.emplace_back(index, 1);
  }
  return result;
}

Expr tidy_index(const Expr& index) { return collect_terms(simplify_index(index)); }

std::string fresh_name(const std::string& name, const std::set<std::string>& taken) {
  std::string fresh = name;
  for (int i = 1; taken.count(fresh); ++i) fresh = name + std::to_string(i);
  return fresh;
}

IndexInverse invert_index(const std::vector<Axis>& points, size_t of_result,
                          const std::vector<Expr>& index, const std::vector<Axis>& at) {
  return Inverter(points, of_result, index, at).run();
}

}  // namespace emulsion

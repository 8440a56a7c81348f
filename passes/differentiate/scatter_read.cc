#include "passes/differentiate/scatter_read.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "dsl/affine.h"
#include "dsl/error.h"
#include "passes/differentiate/index_facts.h"
#include "passes/differentiate/invert_index.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

// An index max(min(e, high), low), one side of it or both, that is no plain e anywhere: e goes from
// `least` to `most`.
struct Clamp {
  Expr inner;
  std::optional<Extent> low, high;
  Extent least, most;

  // As the index it was, with another inner one.
  Expr around(Expr e) const {
    if (high) e = min(std::move(e), extent_value(*high));
    if (low) e = max(std::move(e), extent_value(*low));
    return e;
  }
};

std::optional<Extent> extent_of(const Expr& e) {
  const std::optional<Affine> affine = affine_of(e);
  if (!affine || !affine->coefficients.empty()) return std::nullopt;
  return affine->offset;
}

Extent least_value(const Expr& e, const AxisExtents& axes) {
  return Extent(0) - largest_value(*affine_of(-e), axes);
}

Expr zero_of(const Expr& e) { return constant(e.dtype(), 0); }

Expr replace_axis(const Expr& e, const std::string& axis, const Expr& value) {
  return substitute_axes(e, [&](const std::string& name) { return name == axis ? value : Expr(); });
}

Expr conjunction(const std::vector<Expr>& conditions) {
  Expr result;
  for (const Expr& condition : conditions) {
    result = result.defined() ? result && condition : condition;
  }
  return result;
}

std::vector<Axis> axes_used(const std::vector<Axis>& axes, const Expr& e) {
  std::vector<Axis> used;
  std::copy_if(axes.begin(), axes.end(), std::back_inserter(used),
               [&](const Axis& axis) { return mentions(e, axis.name()); });
  return used;
}

// The expression settled over these axes, and 0 where a tensor that it reads is empty.
Expr settled_over(const std::vector<Axis>& axes, const Expr& e) {
  std::vector<Extent> may_be_empty;
  Expr result = IndexFacts(axes).settled(e, &may_be_empty);
  for (const Extent& extent : may_be_empty) {
    result = select(extent_value(extent) > 0, result, zero_of(result));
  }
  return result;
}

// sum(summed, e) as an operation over those of `axes` that e uses, read there.
Expr summed_over(const std::vector<Axis>& axes, const std::vector<Axis>& summed, const Expr& e,
                 const std::string& name) {
  const std::vector<Axis> used = axes_used(axes, e);
  std::vector<Axis> scope = used;
  scope.insert(scope.end(), summed.begin(), summed.end());
  const Tensor total = compute("", used, sum(summed, settled_over(scope, e)), name);
  return total.at(std::vector<Expr>(used.begin(), used.end()));
}

// The conditions under which a value is an index below `extent`, as far as they are not proved.
std::vector<Expr> range_conditions(const Expr& value, const Extent& extent,
                                   const IndexFacts& facts) {
  std::vector<Expr> conditions;
  if (proves_in_bounds(value, extent, facts.axes())) return conditions;
  if (!facts.at_least(value, int_constant(0))) conditions.push_back(value >= int_constant(0));
  if (!facts.at_least(extent_value(extent - Extent(1)), value)) {
    conditions.push_back(value < extent_value(extent));
  }
  return conditions;
}

std::vector<Expr> conditions_of(const SolvedAxis& axis, const IndexFacts& facts) {
  std::vector<Expr> conditions;
  if (axis.divisor > 1) {
    conditions.push_back(axis.numerator % int_constant(axis.divisor) == int_constant(0));
  }
  for (Expr& condition : range_conditions(axis.value(), axis.extent, facts)) {
    conditions.push_back(std::move(condition));
  }
  return conditions;
}

class ReadScatter {
 public:
  ReadScatter(const PointsOfRead& points, const ReadDerivative& part, const std::vector<Axis>& at,
              const std::string& name)
      : points_(points), part_(part), at_(at), name_(name) {}

  Expr run() {
    for (const Axis& axis : points_.axes) {
      if (axis.extent() == Extent(0)) return Expr();
    }
    read_indices();
    Expr result = over_element();
    for (size_t d = 0; d < at_.size() && result.defined(); ++d) {
      if (clamps_[d]) result = folded(result, d);
    }
    return result;
  }

 private:
  // The indices without the clamps that do nothing, and axes of the element that is read before the
  // other clamps.
  void read_indices() {
    IndexFacts facts(points_.axes);
    for (const SelectSide& guard : part_.guards) facts.add(guard.condition, guard.holds);
    const Shape& shape = part_.read->tensor->shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      const Expr& index = part_.read->args[d];
      check_index(index, d);
      index_.push_back(without_idle_clamps(index, facts));
      clamps_.push_back(clamp_of(index_[d], shape[d]));
      element_.push_back(at_[d]);
      if (!clamps_[d]) continue;
      index_[d] = clamps_[d]->inner - extent_value(clamps_[d]->least);
      std::set<std::string> taken;
      for (const std::vector<Axis>* axes : {&points_.axes, &at_, &std::as_const(element_)}) {
        for (const Axis& axis : *axes) taken.insert(axis.name());
      }
      element_[d] = Axis(fresh_name("c", taken), clamps_[d]->most - clamps_[d]->least + Extent(1));
    }
  }

  void check_index(const Expr& index, size_t d) const {
    visit(index, [&](const Expr& e) {
      if (e->op != ExprOp::read) return;
      fail(
          "{0}: read of {1}, index {2}: expected an index made of axes, numbers and run-time sizes "
          "where a gradient by {1} is asked for, got {3}; legal: a sum of products with select({4} "
          "== j, 1, 0) instead, or no gradient by {1}",
          points_.what, part_.read->name, d, to_string(as_written(index)),
          to_string(as_written(e)));
    });
  }

  Expr as_written(const Expr& e) const {
    return substitute_axes(e, [&](const std::string& name) {
      for (size_t i = 0; i < points_.names_as_written.size(); ++i) {
        if (points_.axes[i].name() == name) return axis_value(points_.names_as_written[i]);
      }
      return Expr();
    });
  }

  static Expr without_idle_clamps(const Expr& index, const IndexFacts& facts) {
    return transform(index, [&](const Expr& e) {
      if (e->op != ExprOp::min && e->op != ExprOp::max) return Expr();
      const Expr& low = e->op == ExprOp::max ? e->args[1] : e->args[0];
      const Expr& high = e->op == ExprOp::max ? e->args[0] : e->args[1];
      if (facts.at_least(high, low)) return e->args[0];
      return facts.at_least(low, high) ? e->args[1] : Expr();
    });
  }

  std::optional<Clamp> clamp_of(const Expr& index, const Extent& extent) const {
    Clamp clamp;
    clamp.inner = index;
    for (int i = 0; i < 2; ++i) {
      const ExprOp op = clamp.inner->op;
      if (op != ExprOp::min && op != ExprOp::max) break;
      std::optional<Extent>& limit = op == ExprOp::max ? clamp.low : clamp.high;
      if (limit) return std::nullopt;
      size_t side = 1;
      limit = extent_of(clamp.inner->args[1]);
      if (!limit) {
        limit = extent_of(clamp.inner->args[0]);
        side = 0;
      }
      if (!limit) return std::nullopt;
      clamp.inner = Expr(clamp.inner->args[1 - side]);
    }
    if ((!clamp.low && !clamp.high) || !affine_of(clamp.inner)) return std::nullopt;
    const IndexFacts facts(points_.axes);
    clamp.least = least_value(clamp.inner, facts.axes());
    clamp.most = largest_value(*affine_of(clamp.inner), facts.axes());
    const auto counts = [](const Extent& count) {
      return count.is_constant() || never_negative(count);
    };
    const bool fits = (!clamp.low || counts(*clamp.low - clamp.least)) &&
                      (!clamp.high || counts(clamp.most - *clamp.high)) &&
                      never_negative(clamp.most - clamp.least + Extent(1));
    if (!fits) return std::nullopt;
    if (clamp.low && clamp.high) {  // where they cross, the order of the two would matter
      const Extent between = *clamp.high - *clamp.low;
      if (!never_negative(between) && between + Extent(1) != extent) return std::nullopt;
    }
    return clamp;
  }

  // The sum over the points that read this element, before clamps.
  Expr over_element() {
    IndexInverse inverse = invert_index(points_.axes, points_.of_result, index_, element_);
    std::map<std::string, Expr> values;
    std::vector<Axis> summed, scope = element_;
    for (const Axis& axis : inverse.left_over) {
      if (axis.extent() == Extent(1)) {
        values[axis.name()] = int_constant(0);
      } else {
        summed.push_back(axis);
      }
    }
    scope.insert(scope.end(), summed.begin(), summed.end());
    const auto put_in = [&](const Expr& e) {
      return substitute_axes(e, [&](const std::string& axis) {
        const auto found = values.find(axis);
        return found == values.end() ? Expr() : found->second;
      });
    };
    for (SolvedAxis& axis : inverse.solved) axis.numerator = tidy_index(put_in(axis.numerator));

    const IndexFacts facts(scope);
    Expr value = at_element(part_.value);
    if (!summed.empty() && part_.guards.empty()) value = spread(value, &inverse.solved, facts);
    std::vector<Expr> conditions;
    for (const SolvedAxis& axis : inverse.solved) {
      const std::vector<Expr> own = conditions_of(axis, facts);
      conditions.insert(conditions.end(), own.begin(), own.end());
      values[axis.name] = axis.value();
    }
    for (const auto& [of, divisor] : inverse.multiples) {
      conditions.push_back(put_in(of) % int_constant(divisor) == int_constant(0));
    }
    for (const auto& [of, extent] : inverse.ranges) {
      const std::vector<Expr> own = range_conditions(put_in(of), extent, facts);
      conditions.insert(conditions.end(), own.begin(), own.end());
    }
    for (const auto& [a, b] : inverse.equations) {
      conditions.push_back(tidy_index(put_in(a)) == tidy_index(put_in(b)));
    }

    value = put_in(value);
    for (size_t i = part_.guards.size(); i-- > 0;) {
      const SelectSide& guard = part_.guards[i];
      const Expr condition = put_in(at_element(guard.condition));
      if (const auto decided = facts.decided(condition)) {
        if (*decided != guard.holds) return Expr();
        continue;
      }
      value = guard.holds ? select(condition, value, zero_of(value))
                          : select(condition, zero_of(value), value);
    }
    if (!undecided(&conditions, facts)) return Expr();
    if (!conditions.empty()) value = select(conjunction(conditions), value, zero_of(value));
    return summed.empty() ? settled_over(scope, value)
                          : summed_over(element_, summed, value, name_);
  }

  // Leaves out what always holds; false when one never does.
  static bool undecided(std::vector<Expr>* conditions, const IndexFacts& facts) {
    std::vector<Expr> left;
    for (const Expr& condition : *conditions) {
      const std::optional<bool> decided = facts.decided(condition);
      if (decided == false) return false;
      if (!decided) left.push_back(condition);
    }
    *conditions = std::move(left);
    return true;
  }

  // With the element's axes for what equals them: its index, wherever that stands.
  Expr at_element(const Expr& e) const {
    std::vector<Expr> own;
    for (size_t d = 0; d < element_.size(); ++d) {
      const Expr inner = element_[d];
      own.push_back(clamps_[d] ? clamps_[d]->around(inner + extent_value(clamps_[d]->least))
                               : inner);
    }
    return transform(e, [&](const Expr& node) -> Expr {
      if (equal(node, part_.read)) return read_op(node->tensor, own);
      for (size_t d = 0; d < index_.size(); ++d) {
        const bool is_plain = index_[d]->op == ExprOp::axis || index_[d]->op == ExprOp::constant;
        if (!is_plain && !clamps_[d] && equal(node, index_[d])) return element_[d];
      }
      return Expr();
    });
  }

  // Whether the value is the cotangent times something, so that it is 0 where that is.
  bool is_linear(const Expr& value) const {
    switch (value->op) {
      case ExprOp::read:
        return value->tensor == points_.cotangent;
      case ExprOp::mul:
        return is_linear(value->args[0]) != is_linear(value->args[1]);
      case ExprOp::neg:
      case ExprOp::cast:
      case ExprOp::div:
        return is_linear(value->args[0]);
      default:
        return false;
    }
  }

  // Takes axes out of `solved` whose conditions zeros around the cotangent can stand for.
  Expr spread(const Expr& value, std::vector<SolvedAxis>* solved, const IndexFacts& facts) const {
    if (!points_.cotangent || !is_linear(value)) return value;
    std::vector<Axis> axes(points_.axes.begin(),
                           points_.axes.begin() + static_cast<std::ptrdiff_t>(points_.of_result));
    std::vector<Expr> reads_at(axes.begin(), axes.end()), source(axes.begin(), axes.end());
    const Expr whole = read_op(points_.cotangent, reads_at);
    const Expr without =
        transform(value, [&](const Expr& e) { return equal(e, whole) ? zero_of(e) : Expr(); });
    std::vector<Expr> conditions;
    std::vector<std::pair<size_t, SolvedAxis>> taken;
    for (const SolvedAxis& axis : *solved) {
      const std::optional<size_t> place = axis_index(axes, axis.name);
      if (!place || mentions(without, axis.name) || !affine_of(axis.numerator)) continue;
      if (conditions_of(axis, facts).empty()) continue;
      const Extent least = least_value(axis.numerator, facts.axes());
      const Extent count =
          largest_value(*affine_of(axis.numerator), facts.axes()) - least + Extent(1);
      if (!never_negative(count)) continue;
      axes[*place] = Axis(axis.name, count);
      SolvedAxis own = axis;
      own.numerator = tidy_index(Expr(axes[*place]) + extent_value(least));
      reads_at[*place] = tidy_index(axis.numerator - extent_value(least));
      taken.emplace_back(*place, std::move(own));
    }
    if (taken.empty()) return value;
    const IndexFacts own_facts(axes);
    for (const auto& [place, axis] : taken) {
      const std::vector<Expr> own = conditions_of(axis, own_facts);
      conditions.insert(conditions.end(), own.begin(), own.end());
      source[place] = axis.value();
      const std::string& name = axis.name;
      solved->erase(std::find_if(solved->begin(), solved->end(),
                                 [&](const SolvedAxis& other) { return other.name == name; }));
    }
    const Expr element = read_op(points_.cotangent, source);
    const Tensor zeros_around = compute(
        "", axes, settled_over(axes, select(conjunction(conditions), element, zero_of(element))),
        "spread_" + name_);
    const Expr instead = zeros_around.at(reads_at);
    return transform(value, [&](const Expr& e) { return equal(e, whole) ? instead : Expr(); });
  }

  // From the index before the clamp to the index behind it: what lies beyond an end is added there.
  Expr folded(const Expr& e, size_t d) {
    const Clamp& clamp = *clamps_[d];
    const std::string inner = element_[d].name();
    const Axis& axis = at_[d];
    element_[d] = axis;
    const Extent count = clamp.most - clamp.least + Extent(1);
    const Expr place = tidy_index(Expr(axis) - extent_value(clamp.least));
    std::vector<Expr> conditions = range_conditions(place, count, IndexFacts(element_));
    if (clamp.low) conditions.push_back(axis >= extent_value(*clamp.low));
    if (clamp.high) conditions.push_back(axis <= extent_value(*clamp.high));
    Expr result = replace_axis(e, inner, place);
    if (undecided(&conditions, IndexFacts(element_))) {
      if (!conditions.empty()) result = select(conjunction(conditions), result, zero_of(result));
      result = settled_over(element_, result);
    } else {
      result = zero_of(e);
    }
    if (clamp.low) {
      result = plus(result, border(e, d, inner, Extent(0), *clamp.low - clamp.least, *clamp.low));
    }
    if (clamp.high) {
      result = plus(result, border(e, d, inner, *clamp.high + Extent(1) - clamp.least,
                                   clamp.most - *clamp.high, *clamp.high));
    }
    return result;
  }

  // At `end`: the sum of `count` elements from `first` on, of those that there are: an end may be
  // further away than an index goes.
  Expr border(const Expr& e, size_t d, const std::string& inner, const Extent& first,
              const Extent& count, const Extent& end) const {
    if (count.is_constant() && count.constant_term() <= 0) return zero_of(e);
    std::vector<Axis> summed;
    if (count != Extent(1)) summed.emplace_back(inner, count);
    std::vector<Axis> scope = element_;
    scope.insert(scope.end(), summed.begin(), summed.end());
    const Expr place = summed.empty() ? extent_value(first) : summed[0] + extent_value(first);
    const IndexFacts facts(scope);
    const Extent all = clamps_[d]->most - clamps_[d]->least + Extent(1);
    std::vector<Expr> conditions;
    if (!proves_in_bounds(place, all, facts.axes(), {all})) {
      conditions = range_conditions(place, all, facts);
    }
    if (!undecided(&conditions, facts)) return zero_of(e);
    Expr value = replace_axis(e, inner, place);
    if (!conditions.empty()) value = select(conjunction(conditions), value, zero_of(value));
    const Expr total = summed.empty() ? settled_over(element_, value)
                                      : summed_over(element_, summed, value, name_);
    return select(element_[d] == extent_value(end), total, zero_of(total));
  }

  const PointsOfRead& points_;
  const ReadDerivative& part_;
  const std::vector<Axis>& at_;
  const std::string& name_;
  std::vector<Expr> index_;                   // as it is inverted
  std::vector<std::optional<Clamp>> clamps_;  // behind which index_ is the inner one from its least
  std::vector<Axis> element_;                 // at_, but before clamps
};

}  // namespace

Expr scatter_read(const PointsOfRead& points, const ReadDerivative& part,
                  const std::vector<Axis>& at, const std::string& name) {
  return ReadScatter(points, part, at, name).run();
}

}  // namespace emulsion

// What is proved of an index (affine.h).

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "dsl/affine.h"
#include "dsl/condition_facts.h"
#include "dsl/index_parts.h"
#include "dsl/range_arithmetic.h"

namespace emulsion {
namespace {

struct Range : IntegerRange {
  bool of_data = false;   // made of what was read
  bool of_sizes = false;  // of run-time sizes: a guess
};

// Of data, or of what wrapped around. A float is no index.
Range range_of_type(DType type) {
  return {is_float(type) ? IntegerRange() : integer_range(type), true, false};
}

// What numbers say of the values of an index, the same for all sizes. A size is taken for no more
// than a tensor has elements of four bytes.
class Ranges {
 public:
  explicit Ranges(const AxisExtents& axes) : axes_(axes) {}

  // Whether i32 holds the value: what is computed may leave it, and then wraps around. How large a
  // run-time size is nobody knows here: what axes and such sizes make is taken to fit.
  bool fits(const Expr& e) {
    const Range range = of(e);
    const bool is_guess = range.of_sizes && !range.of_data;
    if (!is_guess) return range_of_type(e->dtype).contains(range);
    // Of a sum with larger coefficients the second step leaves i32 already.
    const std::optional<Affine> sum = affine_of(e);
    return !sum || i32_holds_terms(*sum);
  }

  // As if nothing wrapped around.
  Range of(const Expr& e) {
    const std::optional<Range> sum = of_sum(e);
    return sum ? *sum : exact(e);
  }

 private:
  static constexpr Range kOfSizes = {{0, int64_t{1} << 29}, false, true};

  // Of a sum of axes each axis counts once, wherever it stands. Nothing where a size is in it.
  std::optional<Range> of_sum(const Expr& e) const {
    const std::optional<Affine> sum = affine_of(e);
    if (!sum || !sum->offset.is_constant()) return std::nullopt;
    const int64_t offset = sum->offset.constant_term();
    Range range{{offset, offset}, false, false};
    for (const auto& [name, coefficient] : sum->coefficients) {
      const auto found = axes_.find(name);
      if (found == axes_.end() || !found->second.is_constant()) return std::nullopt;
      const IntegerRange by{coefficient, coefficient};
      const IntegerRange term = range_of(ExprOp::mul, of_axis(found->second), by);
      range = {range_of(ExprOp::add, range, term), false, false};
    }
    return range;
  }

  static IntegerRange of_axis(const Extent& extent) {
    return {0, std::max<int64_t>(extent.constant_term() - 1, 0)};
  }

  Range value(const Expr& e) {
    const Range range = exact(e);
    return range_of_type(e->dtype).contains(range) ? range : range_of_type(e->dtype);
  }

  Range exact(const Expr& e) {
    const auto known = known_.find(&e.node());
    if (known != known_.end()) return known->second;
    return known_.emplace(&e.node(), new_range(e)).first->second;
  }

  Range new_range(const Expr& e) {
    if (is_float(e->dtype)) return range_of_type(e->dtype);
    switch (e->op) {
      case ExprOp::constant:
        return {{e->int_value, e->int_value}, false, false};
      case ExprOp::size:
        return kOfSizes;
      case ExprOp::axis: {
        const auto found = axes_.find(e->name);
        const bool is_number = found != axes_.end() && found->second.is_constant();
        return is_number ? Range{of_axis(found->second), false, false} : kOfSizes;
      }
      case ExprOp::neg:
        return combined(e->op, exact(e->args[0]));
      case ExprOp::abs:
        return combined(e->op, value(e->args[0]));
      case ExprOp::add:
      case ExprOp::sub:
      case ExprOp::mul:
        return combined(e->op, exact(e->args[0]), exact(e->args[1]));
      case ExprOp::div:
      case ExprOp::mod:
      case ExprOp::min:
      case ExprOp::max:
        return combined(e->op, value(e->args[0]), value(e->args[1]));
      case ExprOp::select: {
        const Range a = value(e->args[1]), b = value(e->args[2]);
        return of_either(united(a, b), a, b);
      }
      case ExprOp::cast: {
        const Range a = value(e->args[0]), all = range_of_type(e->dtype);
        return !is_float(e->args[0]->dtype) && all.contains(a) ? a : all;
      }
      default:
        return range_of_type(e->dtype);
    }
  }

  static Range combined(ExprOp op, const Range& a, const Range& b = {}) {
    return of_either(range_of(op, a, b), a, b);
  }

  static Range of_either(const IntegerRange& range, const Range& a, const Range& b) {
    return {range, a.of_data || b.of_data, a.of_sizes || b.of_sizes};
  }

  const AxisExtents& axes_;
  std::unordered_map<const ExprNode*, Range> known_;
};

// Proofs about one index under the extents of its axes. at_least and at_most are of its exact
// value; sums and products are what they are of exact values even where a part of them wraps
// around, all else of values that i32 holds.
class Prover {
 public:
  // `facts`, where given: with the conditions of clamped_as_conditions_say().
  Prover(const AxisExtents& axes, const std::vector<Extent>& not_empty,
         const std::vector<Expr>* facts = nullptr)
      : axes_(axes), not_empty_(not_empty), ranges_(axes), by_conditions_(facts != nullptr) {
    if (facts) facts_ = *facts;
    for (const auto& [name, extent] : axes) record_positive(extent);
    for (const Extent& extent : not_empty) record_positive(extent);
  }

  // e >= low
  bool at_least(const Expr& e, const Extent& low) const {
    if (is_at_least(e, low)) return true;
    const Range range = ranges_.of(e);
    return !range.of_sizes && non_negative(Extent(range.lowest) - low);
  }

  // e <= high
  bool at_most(const Expr& e, const Extent& high) const {
    if (is_at_most(e, high)) return true;
    const Range range = ranges_.of(e);
    return !range.of_sizes && non_negative(high - Extent(range.highest));
  }

 private:
  // By the parts of e, each against a limit of its own, in which sizes may be.
  bool is_at_least(const Expr& e, const Extent& low) const {
    if (auto affine = affine_of(e)) return is_sum_at_least(*affine, e, low);
    switch (e->op) {
      case ExprOp::min:
        return value_at_least(e->args[0], low) && value_at_least(e->args[1], low);
      case ExprOp::max:
        return value_at_least(e->args[0], low) || value_at_least(e->args[1], low);
      case ExprOp::select:
        return of_both_branches(e, [&](const Expr& arg) { return value_at_least(arg, low); });
      case ExprOp::cast:  // the value of a u8 is an index of a table of 256
        return !is_float(e->args[0].dtype()) &&
               non_negative(Extent(integer_range(e->args[0].dtype()).lowest) - low);
      case ExprOp::abs:
        return value_at_least(e->args[0], low) || value_at_most(e->args[0], Extent(0) - low) ||
               (non_negative(Extent(0) - low) && ranges_.fits(e->args[0]) && ranges_.fits(e));
      case ExprOp::mod:
        return positive_divisor(e->args[1]) && non_negative(Extent(0) - low);
      case ExprOp::div:  // floor(a / c) >= low  <=  a >= low * c
        return positive_number(e->args[1]) &&
               value_at_least(e->args[0], low * Extent(*number(e->args[1])));
      case ExprOp::mul:
        // a * c >= low  <=  a >= 0, where low is 0 or less
        if (!low.is_constant() || low.constant_term() > 0) return false;
        if (positive_number(e->args[1])) return at_least(e->args[0], 0);
        return positive_number(e->args[0]) && at_least(e->args[1], 0);
      case ExprOp::add:
        if (auto b = affine_of(e->args[1])) return at_least(e->args[0], low - extreme(*b, false));
        if (auto a = affine_of(e->args[0])) return at_least(e->args[1], low - extreme(*a, false));
        return low == Extent(0) && at_least(e->args[0], low) && at_least(e->args[1], low);
      case ExprOp::sub:
        if (auto b = affine_of(e->args[1])) return at_least(e->args[0], low + extreme(*b, true));
        if (auto a = affine_of(e->args[0])) return at_most(e->args[1], extreme(*a, false) - low);
        return false;
      default:
        return false;
    }
  }

  bool is_at_most(const Expr& e, const Extent& high) const {
    if (auto affine = affine_of(e)) return is_sum_at_most(*affine, e, high);
    switch (e->op) {
      case ExprOp::min:
        return value_at_most(e->args[0], high) || value_at_most(e->args[1], high);
      case ExprOp::max:
        return value_at_most(e->args[0], high) && value_at_most(e->args[1], high);
      case ExprOp::select:
        return of_both_branches(e, [&](const Expr& arg) { return value_at_most(arg, high); });
      case ExprOp::cast:
        return !is_float(e->args[0].dtype()) &&
               non_negative(high - Extent(integer_range(e->args[0].dtype()).highest));
      case ExprOp::abs:
        return value_at_most(e->args[0], high) && value_at_least(e->args[0], Extent(0) - high);
      case ExprOp::mod: {
        const std::optional<Extent> divisor = positive_divisor(e->args[1]);
        if (!divisor) return false;
        return non_negative(high - *divisor + Extent(1)) ||
               (value_at_least(e->args[0], 0) && value_at_most(e->args[0], high));
      }
      case ExprOp::div: {  // floor(a / c) <= high  <=  a <= high * c + c - 1
        if (!positive_number(e->args[1])) return false;
        int64_t c = *number(e->args[1]);
        return value_at_most(e->args[0], high * Extent(c) + Extent(c - 1));
      }
      case ExprOp::mul: {  // a * c <= high  <=  a <= floor(high / c), when the sizes divide
        const Expr& a = positive_number(e->args[1]) ? e->args[0] : e->args[1];
        const Expr& c = positive_number(e->args[1]) ? e->args[1] : e->args[0];
        if (!positive_number(c)) return false;
        const int64_t factor = *number(c);
        const int64_t rest = (high.constant_term() % factor + factor) % factor;
        const auto quotient = (high - Extent(rest)).exact_quotient(factor);
        return quotient && at_most(a, *quotient);
      }
      case ExprOp::add:
        if (auto b = affine_of(e->args[1])) return at_most(e->args[0], high - extreme(*b, true));
        if (auto a = affine_of(e->args[0])) return at_most(e->args[1], high - extreme(*a, true));
        return sum_at_most(e, high);
      case ExprOp::sub:
        if (auto b = affine_of(e->args[1])) return at_most(e->args[0], high + extreme(*b, false));
        if (auto a = affine_of(e->args[0])) return at_least(e->args[1], extreme(*a, true) - high);
        return false;
      default:
        return false;
    }
  }

  // A sum of axes and sizes: by its terms, or by those that are left of it after a fact.
  bool is_sum_at_least(const Affine& sum, const Expr& e, const Extent& low) const {
    return non_negative(extreme(sum, false) - low) ||
           std::any_of(facts_.begin(), facts_.end(), [&](const Expr& fact) {
             return non_negative(extreme(*affine_of(e - fact), false) - low);
           });
  }

  bool is_sum_at_most(const Affine& sum, const Expr& e, const Extent& high) const {
    return non_negative(high - extreme(sum, true)) ||
           std::any_of(facts_.begin(), facts_.end(), [&](const Expr& fact) {
             return non_negative(high - extreme(*affine_of(e + fact), true));
           });
  }

  // Of a select: each branch where it is chosen.
  bool of_both_branches(const Expr& e, const std::function<bool(const Expr&)>& holds) const {
    const size_t before = facts_.size();
    for (const int branch : {1, 2}) {
      if (by_conditions_) {
        for_each_fact(e->args[0], branch == 1, axes_,
                      [&](const Expr& fact) { facts_.push_back(fact); });
      }
      const bool all = holds(e->args[branch]);
      facts_.erase(facts_.begin() + before, facts_.end());
      if (!all) return false;
    }
    return true;
  }

  // Of what is computed further with: in a kernel it is the exact value only where i32 holds that.
  bool value_at_least(const Expr& e, const Extent& low) const {
    return at_least(e, low) && ranges_.fits(e);
  }
  bool value_at_most(const Expr& e, const Extent& high) const {
    return at_most(e, high) && ranges_.fits(e);
  }

  // a + b <= high with b bounded by a number of its own, as in (i / 4) * 4 + i % 4.
  bool sum_at_most(const Expr& e, const Extent& high) const {
    for (int side = 0; side < 2; ++side) {
      const Expr& bounded = e->args[side];
      const Expr& other = e->args[1 - side];
      if (bounded->op == ExprOp::mod && positive_number(bounded->args[1]) &&
          at_most(other, high - Extent(*number(bounded->args[1]) - 1))) {
        return true;
      }
    }
    return false;
  }

  static std::optional<int64_t> number(const Expr& e) {
    auto affine = affine_of(e);
    return affine && affine->coefficients.empty() ? affine->offset.as_constant() : std::nullopt;
  }
  static bool positive_number(const Expr& e) { return number(e).value_or(0) > 0; }

  // What is at least 1: a number, or an extent where conditions count.
  std::optional<Extent> positive_divisor(const Expr& e) const {
    const std::optional<Affine> affine = affine_of(e);
    if (!affine || !affine->coefficients.empty()) return std::nullopt;
    const Extent& divisor = affine->offset;
    if (!by_conditions_ && !divisor.is_constant()) return std::nullopt;
    return non_negative(divisor - Extent(1)) ? std::optional<Extent>(divisor) : std::nullopt;
  }

  Extent extreme(const Affine& a, bool largest) const {
    return largest ? largest_value(a, axes_) : least_value(a, axes_);
  }

  // An extent that is at least 1 bounds a size only when no other can be what makes it so: where
  // 2 * W - 5 is, W is at least 3.
  void record_positive(const Extent& extent) {
    constexpr int64_t kLeastTerm = std::numeric_limits<int32_t>::min();
    const int64_t term = extent.constant_term();
    if (term > 0 || term < kLeastTerm) return;
    std::vector<std::pair<std::string, int64_t>> added;
    for (const auto& [name, coefficient] : extent.coefficients()) {
      if (coefficient > 0) added.emplace_back(name, coefficient);
    }
    if (added.size() != 1) return;
    const auto& [name, coefficient] = added.front();
    int64_t& least = least_.emplace(name, 0).first->second;
    least = std::max(least, -term / coefficient + 1);  // the first above -term / coefficient
  }

  bool non_negative(const Extent& e) const {
    return non_negative_by_sizes(e) ||
           std::any_of(not_empty_.begin(), not_empty_.end(), [&](const Extent& other) {
             return non_negative_by_sizes(e - (other - Extent(1)));
           });
  }

  bool non_negative_by_sizes(const Extent& e) const {
    int64_t at_smallest = e.constant_term();
    bool is_beyond = false;  // all numbers
    for (const auto& [name, coefficient] : e.coefficients()) {
      if (coefficient < 0) return false;
      const auto known = least_.find(name);
      int64_t term = 0;
      is_beyond = is_beyond || (known != least_.end() &&
                                (__builtin_mul_overflow(coefficient, known->second, &term) ||
                                 __builtin_add_overflow(at_smallest, term, &at_smallest)));
    }
    return is_beyond || at_smallest >= 0;
  }

  const AxisExtents& axes_;
  const std::vector<Extent>& not_empty_;
  mutable Ranges ranges_;  // which remembers them
  const bool by_conditions_;
  mutable std::vector<Expr> facts_;       // each 0 or more; with those of the selects around
  std::map<std::string, int64_t> least_;  // of sizes of which more than 0 is known
};

}  // namespace

std::optional<BeyondI32> part_beyond_i32(const Expr& index, const AxisExtents& axes) {
  Ranges ranges(axes);
  for (const Expr& part : parts_within_i32(index)) {
    const Range range = ranges.of(part);
    if (!range.of_data && !ranges.fits(part)) return BeyondI32{part, range.lowest, range.highest};
  }
  return std::nullopt;
}

bool proves_in_bounds(const Expr& index, const Extent& extent, const AxisExtents& axes,
                      const std::vector<Extent>& not_empty) {
  for (const auto& [name, axis_extent] : axes) {
    if (axis_extent == Extent(0)) return true;  // nothing is ever read
  }
  Prover prover(axes, not_empty);
  return prover.at_least(index, 0) && prover.at_most(index, extent - Extent(1));
}

std::optional<NeededClamps> clamps_for_conditions(const Expr& index, const Extent& extent,
                                                  const AxisExtents& axes,
                                                  const std::vector<Extent>& not_empty,
                                                  const std::vector<Expr>& facts) {
  const Extent last = extent - Extent(1);
  const Prover by_conditions(axes, not_empty, &facts);
  if (!by_conditions.at_least(index, 0) || !by_conditions.at_most(index, last)) {
    return std::nullopt;
  }
  const std::vector<Extent> none;  // which the prover refers to
  const Prover plain(axes, none);
  NeededClamps needed;
  needed.at_most_last = !plain.at_most(index, last);
  needed.at_least_0 = !plain.at_least(clamped(index, extent, needed), 0);
  if (!proves_in_bounds(clamped(index, extent, needed), extent, axes, not_empty)) {
    return std::nullopt;
  }
  return needed;
}

Expr clamped(const Expr& index, const Extent& extent, const NeededClamps& needed) {
  Expr result = index;
  if (needed.at_most_last) result = min(result, extent_value(extent - Extent(1)));
  if (needed.at_least_0) result = max(result, int_constant(0));
  return result;
}

}  // namespace emulsion

#include "backends/entry/index_needs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "dsl/affine.h"
#include "dsl/error.h"
#include "dsl/index_arithmetic.h"
#include "dsl/index_parts.h"
#include "dsl/types.h"
#include "passes/index/index_interval.h"
#include "passes/index/simplify_index.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

// All values from low to high, over run-time sizes. No i32 has to hold the two: they are evaluated
// in 64 bits.
struct Bounds {
  Expr low, high;
};

Bounds between(int64_t low, int64_t high) { return {int_constant(low), int_constant(high)}; }
Bounds negated(const Bounds& a) { return {-a.high, -a.low}; }
Bounds united(const Bounds& a, const Bounds& b) { return {min(a.low, b.low), max(a.high, b.high)}; }
// How far from 0 the values are at most.
Expr magnitude(const Bounds& a) { return max(max(a.high, -a.low), int_constant(0)); }

Bounds product(const Bounds& a, const Bounds& b) {
  const std::optional<int64_t> factor = constant_value(b.low);
  if (factor && constant_value(b.high) == factor) {
    const Bounds result = {a.low * b.low, a.high * b.low};
    return *factor < 0 ? Bounds{result.high, result.low} : result;
  }
  const Expr first = a.low * b.low, second = a.low * b.high;
  const Expr third = a.high * b.low, fourth = a.high * b.high;
  return {min(min(first, second), min(third, fourth)), max(max(first, second), max(third, fourth))};
}

Bounds quotient(const Bounds& a, const Bounds& b) {
  const std::optional<int64_t> divisor = constant_value(b.low);
  if (divisor && *divisor > 0 && constant_value(b.high) == divisor) {
    return {a.low / b.low, a.high / b.low};
  }
  return {-magnitude(a), magnitude(a)};
}

// Of the divisor's sign (dsl/expr.h).
Bounds remainder(const Bounds& divisor) {
  const std::optional<int64_t> low = constant_value(divisor.low);
  const Expr most = magnitude(divisor);
  return {low && *low > 0 ? int_constant(0) : -most, most};
}

bool i32_holds(int64_t value) { return INT32_MIN <= value && value <= INT32_MAX; }

// Whether i32 holds it where it holds its parts and every size: N - 1, min(a, b).
bool always_fits(const Expr& part) {
  switch (part->op) {
    case ExprOp::axis:
    case ExprOp::size:
    case ExprOp::constant:
    case ExprOp::cast:
    case ExprOp::div:
    case ExprOp::mod:
    case ExprOp::min:
    case ExprOp::max:
    case ExprOp::select:
      return true;
    default:
      break;
  }
  const std::optional<Affine> sum = affine_of(part);
  if (!sum || !i32_holds(sum->offset.constant_term()) || sum->offset.constant_term() > 0) {
    return false;
  }
  const auto& axes = sum->coefficients;
  const auto& sizes = sum->offset.coefficients();
  return axes.size() + sizes.size() == 1 && (axes.empty() ? sizes : axes).begin()->second == 1;
}

// Of the indices of one stage: each axis goes from 0 up to its extent, which is at least 1.
class IndexBounds {
 public:
  explicit IndexBounds(const AxisExtents& axes) : axes_(axes) {}

  // Nothing where it is no arithmetic over axes and sizes, or too long to be asked at an entry.
  std::optional<Bounds> of(const Expr& e) {
    constexpr int kMostSteps = 200;
    if (++steps_ > kMostSteps) return std::nullopt;
    if (e.dtype() == DType::boolean) return between(0, 1);
    if (!is_integer(e.dtype())) return std::nullopt;
    if (e.dtype() != i32) {
      const IntegerRange range = integer_range(e.dtype());
      return between(range.lowest, range.highest);
    }
    const std::optional<Affine> sum = affine_of(e);
    if (sum && i32_holds_terms(*sum)) return of_sum(*sum);
    if (e->op == ExprOp::select) {
      const std::optional<Bounds> holds = of(e->args[1]), otherwise = of(e->args[2]);
      return holds && otherwise ? std::optional(united(*holds, *otherwise)) : std::nullopt;
    }
    if (e->args.empty() || e->args.size() > 2) return std::nullopt;
    const std::optional<Bounds> a = of(e->args[0]);
    const std::optional<Bounds> b = e->args.size() == 2 ? of(e->args[1]) : a;
    return a && b ? combined(e->op, *a, *b) : std::nullopt;
  }

 private:
  // Each axis once, wherever it stands.
  Bounds of_sum(const Affine& sum) const {
    Bounds result = {extent_value(sum.offset), extent_value(sum.offset)};
    for (const auto& [name, coefficient] : sum.coefficients) {
      const Expr last = max(extent_value(axes_.at(name)) - int_constant(1), int_constant(0));
      Expr& end = coefficient < 0 ? result.low : result.high;
      end = end + last * int_constant(coefficient);
    }
    return result;
  }

  // Of one argument, b is a.
  static std::optional<Bounds> combined(ExprOp op, const Bounds& a, const Bounds& b) {
    switch (op) {
      case ExprOp::cast:
        return a;
      case ExprOp::neg:
        return negated(a);
      case ExprOp::abs:
        return Bounds{int_constant(0), magnitude(a)};
      case ExprOp::add:
        return Bounds{a.low + b.low, a.high + b.high};
      case ExprOp::sub:
        return Bounds{a.low - b.high, a.high - b.low};
      case ExprOp::mul:
        return product(a, b);
      case ExprOp::div:
        return quotient(a, b);
      case ExprOp::mod:
        return remainder(b);
      case ExprOp::min:
        return Bounds{min(a.low, b.low), min(a.high, b.high)};
      case ExprOp::max:
        return Bounds{max(a.low, b.low), max(a.high, b.high)};
      default:
        return std::nullopt;
    }
  }

  const AxisExtents& axes_;
  int steps_ = 0;
};

class NeedsOfStage {
 public:
  NeedsOfStage(const LoopNest& nest, const Stage& stage, std::set<std::string>* seen,
               std::vector<IndexNeed>* needs)
      : nest_(nest), stage_(stage), seen_(*seen), needs_(*needs) {
    for (const std::vector<Axis>* axes : {&stage.axes, &stage.reduction_axes}) {
      for (const Axis& axis : *axes) add_axis(axis);
    }
    visit(stage.body, [&](const Expr& e) {
      if (e->op != ExprOp::read) return;
      for (size_t i = 0; i < e->args.size(); ++i) {
        for (const Expr& part : parts_within_i32(e->args[i])) {
          add(fmt::format("read of {}, axis {}", e->name, i), part);
        }
      }
    });
  }

  // The steps of a loop are counted in i32, too: (N + 63) / 64, which go up to the index N + 62.
  void add_loop(const Loop& loop) {
    std::vector<Expr> parts = parts_within_i32(loop.extent);
    parts.push_back(loop.extent);
    for (const Expr& part : parts) {
      const auto is_axis = [](const Expr& e) { return e->op == ExprOp::axis; };
      if (any_part(part, is_axis)) continue;  // of what is left in a step of another loop
      if (!is_within_arguments(part)) add("loop " + loop.variable(), part);
    }
  }

 private:
  void add_axis(const Axis& axis) {
    axes_[axis.name()] = axis.extent();
    if (axis.extent().is_constant()) return;
    const Expr has_steps = extent_value(axis.extent()) > int_constant(0);
    when_ = when_.defined() ? when_ && has_steps : has_steps;
  }

  // The most that a size can be where the stage computes something: of an argument with such an
  // extent there are less than 2 GiB.
  int64_t most_of(const std::string& size) const {
    int64_t most = INT32_MAX;
    for (const Buffer* argument : nest_.arguments()) {
      const Shape& shape = argument->shape;
      const auto at = std::find(shape.begin(), shape.end(), Extent::size(size));
      if (at == shape.end()) continue;
      int64_t bytes = size_in_bytes(argument->dtype);  // of an index along that axis, at the least
      for (auto other = shape.begin(); other != shape.end(); ++other) {
        if (other != at) bytes = saturated_product(bytes, least_steps(*other));
      }
      if (bytes > 0) most = std::min(most, INT32_MAX / bytes);
    }
    return most;
  }

  // 0 where nothing is known.
  int64_t least_steps(const Extent& extent) const {
    if (extent.is_constant()) return extent.constant_term();
    return std::any_of(axes_.begin(), axes_.end(),
                       [&](const auto& axis) { return axis.second == extent; });
  }

  // Whether i32 holds it because the arguments have less than 2 GiB. A product of sizes is taken to
  // be how many elements the stage has, and some more.
  bool is_within_arguments(const Expr& part) const {
    const std::optional<Extent> sum = as_extent(part);
    if (!sum) return size_in_bytes(stage_.dtype) > 1;
    int64_t most = sum->constant_term();
    for (const auto& [size, coefficient] : sum->coefficients()) {
      const int64_t term = coefficient > 0 ? saturated_product(coefficient, most_of(size)) : 0;
      if (term > INT32_MAX) return false;
      most += term;
    }
    return most <= INT32_MAX;
  }

  // `place`: where it stands, for the message.
  void add(const std::string& place, const Expr& part) {
    if (always_fits(part)) return;
    if (any_part(part, [](const Expr& e) { return e->op == ExprOp::read; })) return;
    const std::optional<Bounds> bounds = IndexBounds(axes_).of(part);
    if (!bounds) return;
    const Bounds ends = {simplify_index(bounds->low), simplify_index(bounds->high)};
    if (constant_value(ends.low) && constant_value(ends.high)) return;
    const std::string when = when_.defined() ? to_string(when_) : "";
    const std::string text = to_string(ends.low) + ", " + to_string(ends.high) + ", " + when;
    if (!seen_.insert(text).second) return;
    needs_.push_back({fmt::format("{}: {}", place, to_string(part)), ends.low, ends.high, when_});
  }

  const LoopNest& nest_;
  const Stage& stage_;
  AxisExtents axes_;
  Expr when_;
  std::set<std::string>& seen_;
  std::vector<IndexNeed>& needs_;
};

}  // namespace

std::vector<IndexNeed> index_needs(const LoopNest& nest) {
  std::set<std::string> seen;
  std::vector<IndexNeed> result;
  std::map<std::string, std::vector<const Loop*>> loops;  // by stage
  if (nest.root) {
    for_each_node(*nest.root, [&](const Node& node) {
      if (const Loop* loop = node.as<Loop>()) loops[loop->stage].push_back(loop);
    });
  }
  for (const Stage& stage : nest.stages) {
    NeedsOfStage needs(nest, stage, &seen, &result);
    for (const Loop* loop : loops[stage.name]) needs.add_loop(*loop);
  }
  return result;
}

void check_indices(const std::string& kernel, const std::vector<IndexNeed>& needs,
                   const SizeValues& sizes) {
  for (const IndexNeed& need : needs) {
    if (need.when.defined() && evaluate_index(need.when, sizes) == 0) continue;
    const int64_t low = evaluate_index(need.low, sizes), high = evaluate_index(need.high, sizes);
    if (i32_holds(low) && i32_holds(high)) continue;
    fail(
        "kernel {}: {}: expected an index that is computed within i32, got one that goes {} to {}; "
        "legal: smaller run-time sizes",
        kernel, need.part, high > INT32_MAX ? "up" : "down", high > INT32_MAX ? high : low);
  }
}

}  // namespace emulsion

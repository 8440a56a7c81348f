// Pixels whose values are all computed in one way: vectors go through pixels and values as they lie
// in memory. A vector for each value would be shuffled out of that memory, and back into it.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "dsl/affine.h"
#include "passes/derive/choices.h"
#include "passes/derive/derive_stage.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

constexpr int64_t kMostValues = 4;
constexpr int64_t kLeastPixels = 8;  // few vectors of them

// Whether the axis alone moves the index, by one a step.
bool steps_by_one(const Expr& index, const Axis& axis) {
  const std::optional<Affine> affine = affine_of(index);
  if (!affine) return false;
  const auto step = affine->coefficients.find(axis.name());
  return step != affine->coefficients.end() && step->second == 1;
}

// Whether vectors through pixels and values are made of few vectors of what is read: of the same
// pixels and values side by side, of one value of each pixel, or of the same values for all.
bool lies_near(const Expr& read, const Axis& x, const Axis& value) {
  const auto moved_by = [&](const Axis& axis) {
    return std::count_if(read->args.begin(), read->args.end(),
                         [&](const Expr& index) { return mentions(index, axis.name()); });
  };
  const bool by_pixels = moved_by(x) > 0, by_values = moved_by(value) > 0;
  if (!by_pixels) return true;
  if (moved_by(x) > 1 || (by_values && (moved_by(value) > 1 || !is_along(read, value)))) {
    return false;
  }
  const size_t count = read->args.size();
  if (!by_values && steps_by_one(read->args[count - 1], x)) return true;
  if (count < 2 || !steps_by_one(read->args[count - 2], x)) return false;
  const Extent& values = read->tensor->shape.back();
  return by_values ? values == value.extent() || !values.is_constant()
                   : values.as_constant().value_or(kMostValues + 1) <= kMostValues;
}

// How many steps of what is the same for all values of a pixel would be computed once for each of
// them. Those that take long count as many.
int64_t repeated_steps(const Expr& e, const Axis& x, const Axis& value) {
  constexpr int64_t kMany = 100;
  if (e->op == ExprOp::read || !mentions(e, x.name())) return 0;
  int64_t steps = 0;
  if (!mentions(e, value.name())) {
    switch (e->op) {
      case ExprOp::axis:
      case ExprOp::cast:
        break;
      case ExprOp::add:
      case ExprOp::sub:
      case ExprOp::mul:
      case ExprOp::min:
      case ExprOp::max:
        steps = 1;
        break;
      default:
        steps = kMany;
    }
  }
  for (const Expr& arg : e->args) steps += repeated_steps(arg, x, value);
  return steps;
}

// Whether the axis is more than a part of where to read.
bool is_beside_reads(const Expr& e, const Axis& axis) {
  if (e->op == ExprOp::read) return false;
  return (e->op == ExprOp::axis && e->name == axis.name()) ||
         std::any_of(e->args.begin(), e->args.end(),
                     [&](const Expr& arg) { return is_beside_reads(arg, axis); });
}

}  // namespace

bool lie_side_by_side(const Op& op) {
  constexpr int64_t kMostRepeated = 4;
  if (op.combiner != Combiner::none || op.axes.size() < 2) return false;
  const Axis &x = op.axes[op.axes.size() - 2], &value = op.axes.back();
  const int64_t values = value.extent().as_constant().value_or(1);
  if (values < 2 || values > kMostValues) return false;
  if (x.extent().as_constant().value_or(kLeastPixels) < kLeastPixels) return false;
  const bool is_compared = any_part(op.body, [&](const Expr& e) {
    return e->op == ExprOp::select &&
           (is_beside_reads(e->args[0], x) || is_beside_reads(e->args[0], value));
  });
  return !is_compared && repeated_steps(op.body, x, value) <= kMostRepeated &&
         reads_near(op, x, value);
}

bool reads_near(const Op& op, const Axis& x, const Axis& value) {
  const std::vector<Expr> reads = reads_in(op.body);
  return std::all_of(reads.begin(), reads.end(),
                     [&](const Expr& read) { return lies_near(read, x, value); });
}

int64_t pixels_side_by_side(const Op& op, const Target& target) {
  const int64_t lanes = value_lanes(op, target);
  return std::max(kLeastPixels, lanes / std::gcd(lanes, op.axes.back().extent().constant_term()));
}

}  // namespace emulsion

// Pixels whose values are all computed in one way: vectors go through pixels and values as they lie
// in memory. A vector for each value would be shuffled out of that memory, and back into it.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dsl/affine.h"
#include "passes/derive/choices.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/read_borders.h"
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
  const auto count_moved = [&](const Axis& axis) {
    return std::count_if(read->args.begin(), read->args.end(),
                         [&](const Expr& index) { return mentions(index, axis.name()); });
  };
  const bool by_pixels = count_moved(x) > 0, by_values = count_moved(value) > 0;
  if (!by_pixels) return true;
  if (count_moved(x) > 1 || (by_values && (count_moved(value) > 1 || !is_along(read, value)))) {
    return false;
  }
  const size_t count = read->args.size();
  if (!by_values && steps_by_one(read->args[count - 1], x)) return true;
  if (count < 2 || !steps_by_one(read->args[count - 2], x)) return false;
  const Extent& values = read->tensor->shape.back();
  return by_values ? values == value.extent() || !values.is_constant()
                   : values.as_constant().value_or(kMostValues + 1) <= kMostValues;
}

using Parts = std::unordered_set<const ExprNode*>;

// The parts of a body that an axis moves. Without `through_reads` no read counts, wherever it
// reads.
Parts moved_by(const Expr& body, const Axis& axis, bool through_reads) {
  Parts moved;
  visit(body, [&](const Expr& e) {
    const bool is_axis = e->op == ExprOp::axis && e->name == axis.name();
    const bool passes_on = through_reads || e->op != ExprOp::read;
    const bool has_moved = std::any_of(e->args.begin(), e->args.end(), [&](const Expr& arg) {
      return moved.count(&arg.node()) > 0;
    });
    if (is_axis || (passes_on && has_moved)) moved.insert(&e.node());
  });
  return moved;
}

// How many steps of what is the same for all values of a pixel would be computed once for each of
// them. Those that take long count as many, and what is used twice counts twice.
int64_t repeated_steps(const Expr& body, const Axis& x, const Axis& value) {
  constexpr int64_t kMany = 100;
  const Parts by_pixels = moved_by(body, x, true), by_values = moved_by(body, value, true);
  std::unordered_map<const ExprNode*, int64_t> steps;
  visit(body, [&](const Expr& e) {
    int64_t& own = steps[&e.node()];
    if (e->op == ExprOp::read) return;
    const bool is_same = by_pixels.count(&e.node()) > 0 && by_values.count(&e.node()) == 0;
    if (is_same) {
      switch (e->op) {
        case ExprOp::axis:
        case ExprOp::cast:
          break;
        case ExprOp::add:
        case ExprOp::sub:
        case ExprOp::mul:
        case ExprOp::min:
        case ExprOp::max:
          own = 1;
          break;
        default:
          own = kMany;
      }
    }
    for (const Expr& arg : e->args) own = std::min(own + steps.at(&arg.node()), kMany);
  });
  return steps.at(&body.node());
}

}  // namespace

bool lie_side_by_side(const Op& op) {
  constexpr int64_t kMostRepeated = 4;
  if (op.combiner != Combiner::none || op.axes.size() < 2) return false;
  const Axis &x = op.axes[op.axes.size() - 2], &value = op.axes.back();
  const int64_t values = value.extent().as_constant().value_or(1);
  if (values < 2 || values > kMostValues) return false;
  if (x.extent().as_constant().value_or(kLeastPixels) < kLeastPixels) return false;
  const Parts by_pixels = moved_by(op.body, x, false), by_values = moved_by(op.body, value, false);
  const bool is_compared = any_part(op.body, [&](const Expr& e) {
    if (e->op != ExprOp::select) return false;
    const ExprNode* condition = &e->args[0].node();
    return by_pixels.count(condition) > 0 || by_values.count(condition) > 0;
  });
  return !is_compared && repeated_steps(op.body, x, value) <= kMostRepeated &&
         reads_near(op, x, value);
}

bool reads_near(const Op& op, const Axis& x, const Axis& value) {
  const std::vector<Expr> reads = reads_in(op.body);
  return std::all_of(reads.begin(), reads.end(),
                     [&](const Expr& read) { return lies_near(read, x, value); });
}

bool are_pixels(const Op& chain, const Target& target) {
  const OpPtr whole = written_out(chain, {});
  return match_pixels(*whole, value_lanes(*whole, target)) && lie_side_by_side(*whole);
}

int64_t pixels_side_by_side(const Op& op, const Target& target) {
  const int64_t lanes = value_lanes(op, target);
  return std::max(kLeastPixels, lanes / std::gcd(lanes, op.axes.back().extent().constant_term()));
}

}  // namespace emulsion

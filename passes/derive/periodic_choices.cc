#include "passes/derive/periodic_choices.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "passes/derive/choices.h"
#include "passes/derive/derive_stage.h"
#include "passes/index/simplify_index.h"
#include "passes/index/simplify_quotients.h"

namespace emulsion {
namespace {

constexpr int64_t kMostTurns = 4;

// The remainders of an axis by which it chooses.
std::set<int64_t> periods_of(const Expr& body, const std::string& axis) {
  std::set<int64_t> periods;
  visit(body, [&](const Expr& e) {
    if (e->op != ExprOp::select || reads_data(e->args[0])) return;
    visit(e->args[0], [&](const Expr& part) {
      if (part->op != ExprOp::mod || !mentions(part, axis)) return;
      const int64_t period = constant_value(part->args[1]).value_or(0);
      if (period > 1 && period <= kMostTurns) periods.insert(period);
    });
  });
  return periods;
}

// Whether the turn decides a choice without the period that it is in.
bool decides_alone(const Expr& body, const PeriodicAxis& of) {
  return any_part(body, [&](const Expr& e) {
    if (e->op != ExprOp::select || reads_data(e->args[0])) return false;
    std::set<std::string> axes;
    visit(e->args[0], [&](const Expr& part) {
      if (part->op == ExprOp::axis) axes.insert(part->name);
    });
    return axes == std::set<std::string>{of.turn.name()};
  });
}

// The operation with the axis at that position in turns; nothing where these decide nothing.
std::optional<Op> in_turns(const Op& op, size_t at, int64_t period, const PeriodicAxis& made) {
  Op view = op;
  const auto place = static_cast<std::ptrdiff_t>(at);
  view.axes[at] = made.axis;
  view.axes.insert(view.axes.begin() + place + 1, made.turn);
  view.shape[at] = made.axis.extent();
  view.shape.insert(view.shape.begin() + place + 1, made.turn.extent());
  AxisExtents extents;
  for (const Axis& axis : view.axes) extents[axis.name()] = axis.extent();
  const Expr step =
      axis_value(made.axis.name()) * int_constant(period) + axis_value(made.turn.name());
  view.body = simplify_quotients(
      substitute_axes(
          op.body,
          [&](const std::string& name) { return name == op.axes[at].name() ? step : Expr(); }),
      extents);
  return decides_alone(view.body, made) ? std::optional(std::move(view)) : std::nullopt;
}

// Whether vectors go along the periods of the last axis, with the values of each side by side.
bool has_vectors_of_periods(const Op& view, const Target& target) {
  const std::optional<Pixels> pixels = match_pixels(view, value_lanes(view, target));
  return pixels && pixels->rows + 2 == view.axes.size();
}

// Whether vectors go along that axis, with the values of each pixel behind it, and would not go
// along the periods: of two pixels and their values there are more than match_pixels() takes. Then
// lanes choose by turns.
bool loses_pixels(const Op& op, size_t at, const Op& view, const Target& target) {
  const std::optional<Pixels> pixels = match_pixels(op, value_lanes(op, target));
  return pixels && pixels->rows == at && !match_pixels(view, value_lanes(view, target));
}

}  // namespace

void PeriodicChoices::split(StageSchedule* stage) const {
  for (const PeriodicAxis& one : axes) {
    stage->split(one.axis, one.axis, one.turn, one.turn.extent().constant_term());
  }
}

std::optional<PeriodicChoices> split_periods(const Op& op, const Target& target) {
  PeriodicChoices result{op, {}};
  for (const Axis& axis : op.axes) {
    for (const int64_t period : periods_of(op.body, axis.name())) {
      const std::optional<Extent> steps = axis.extent().exact_quotient(period);
      if (!steps || *steps == Extent(0)) continue;
      const PeriodicAxis made{Axis(axis.name(), *steps),
                              Axis(fresh_axis(result.view, "turn"), period)};
      const size_t at = *axis_index(result.view.axes, axis.name());
      std::optional<Op> view = in_turns(result.view, at, period, made);
      const bool is_last = at + 1 == result.view.axes.size();
      if (!view || (is_last && !has_vectors_of_periods(*view, target))) continue;
      if (loses_pixels(result.view, at, *view, target)) continue;
      result.view = *std::move(view);
      result.axes.push_back(made);
      break;
    }
  }
  return result.axes.empty() ? std::nullopt : std::optional(std::move(result));
}

}  // namespace emulsion

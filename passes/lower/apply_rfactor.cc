// rfactor: the loop of a reduction becomes an axis of a new stage, and what is left is reduced
// there.

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/directive_table.h"
#include "passes/index/index_interval.h"
#include "passes/index/simplify_index.h"
#include "passes/lower/refusal.h"
#include "passes/lower/stage_plan.h"
#include "passes/nest/map_point.h"
#include "passes/nest/read_indices.h"

namespace emulsion {
namespace {

bool is_of_reduction(const WrittenDirective& d, const std::set<std::string>& reduction) {
  const auto is_reduced = [&](const std::string& loop) { return reduction.count(loop) > 0; };
  const bool guarded = d.tail == Tail::automatic || d.tail == Tail::guard;
  switch (d.kind) {
    case DirectiveKind::split:
    case DirectiveKind::fuse:
      return guarded && is_reduced(d.axes[0]);
    case DirectiveKind::reorder:
      return std::all_of(d.axes.begin(), d.axes.end(), is_reduced);
    default:
      return false;
  }
}

// The splits, fuses and orders of reduction loops that stand before rfactor, applied; they leave
// `plan`.
LoopedStage with_reduction_transforms(WrittenStage* plan, const WrittenDirective& rfactor) {
  WrittenStage result = *plan;
  result.directives.clear();
  std::vector<WrittenDirective> others;
  std::set<std::string> reduction;
  for (const Axis& axis : plan->stage.reduction_axes) reduction.insert(axis.name());
  for (const WrittenDirective& d : plan->directives) {
    if (!is_loop_directive(d)) {
      others.push_back(d);
      continue;
    }
    if (!is_of_reduction(d, reduction)) {
      refuse(plan->stage.name, rfactor,
             fmt::format("expected nothing before it but splits, with a tail of guard, fuses and "
                         "reorders of reduction loops of {}, got {}; legal: that one after it",
                         plan->stage.name, to_string(d)));
    }
    reduction.insert(d.axes.begin(), d.axes.end());
    result.directives.push_back(d);
  }
  plan->directives = std::move(others);
  return apply_directives_of(std::move(result), rfactor.loops);
}

// The extents of the loops of a reduction, before any region is known: those of whole tensors.
// Marks the splits that divide.
std::map<std::string, Expr> whole_extents(Stage* stage) {
  std::vector<Expr> region;
  for (const Axis& axis : stage->axes) region.push_back(extent_value(axis.extent()));
  std::map<std::string, Expr> extents = axis_extents(*stage, region);
  for (LoopTransform& t : stage->transforms) {
    if (t.kind == LoopTransform::Kind::split) {
      auto extent = as_extent(extents.at(t.axis));
      const bool exact = extent && extent->exact_quotient(t.factor).has_value();
      t.tail = exact ? Tail::round_up : Tail::guard;
    }
    apply_transform(t, &extents);
  }
  return extents;
}

// The axis that the loop of a reduction becomes that rfactor names.
Axis lane_as_axis(const Stage& stage, const Directive& d,
                  const std::map<std::string, Expr>& extents) {
  const std::string& loop = d.axes[0];
  std::optional<Extent> extent = as_extent(extents.at(loop));
  if (!extent) {
    refuse(stage.name, d,
           fmt::format("expected a loop whose extent is affine in the run-time sizes, got {} in "
                       "{}; legal: the inner loop of a split, or an axis that is not split",
                       loop, to_string(extents.at(loop))));
  }
  return Axis(loop, *extent);
}

// The reduction axis that another loop becomes. What is no whole number of steps for every size, as
// (K + 15) / 16, becomes an axis as long as what is split, of which only each 16th element counts.
struct LeftAxis {
  Axis axis;
  int64_t step = 1;
};

LeftAxis loop_left(const Stage& stage, const Directive& d, const std::string& loop,
                   const Expr& steps) {
  if (const std::optional<Extent> extent = as_extent(steps)) return {Axis(loop, *extent)};
  const Expr quotient = simplify_index(steps);
  if (quotient->op == ExprOp::div) {
    const std::optional<Extent> rounded_up = as_extent(quotient->args[0]);
    const std::optional<int64_t> step = constant_value(quotient->args[1]);
    if (rounded_up && step && *step > 0) {
      return {Axis(loop, *rounded_up - Extent(*step - 1)), *step};
    }
  }
  refuse(stage.name, d,
         fmt::format("expected loops whose extents are affine in the run-time sizes, or that over "
                     "a number, got {} in {}; legal: rfactor of an axis that is not split",
                     loop, to_string(steps)));
}

// An expression over loops, when `loop` takes the multiples of `step` and not their numbers.
Expr in_steps(const Expr& expr, const std::string& loop, int64_t step) {
  const Expr number = axis_value(loop) / int_constant(step);
  const Expr numbered = substitute_axes(
      expr, [&](const std::string& name) { return name == loop ? number : Expr(); });
  return transform(numbered, [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::mul || !equal(e->args[0], number)) return Expr();
    const std::optional<int64_t> factor = constant_value(e->args[1]);
    if (!factor || *factor % step != 0) return Expr();
    return simplify_index(axis_value(loop) * int_constant(*factor / step));
  });
}

// The number that a place of an axis is a quotient of, where the axis was fused with others, and
// that number no farther than the last one. Nothing of other places.
std::optional<std::pair<Expr, Expr>> held_number(const Expr& place, const Extent& length) {
  const auto by = place->op == ExprOp::div ? constant_value(place->args[1]) : std::nullopt;
  if (!by || *by < 1) return std::nullopt;
  const Expr& number = place->args[0];
  return std::pair(number, min(number, extent_value(length * *by - Extent(1))));
}

// Places of axes, no farther than the last ones. Of axes that were fused the number is held that
// the places are quotients and remainders of: passes that cut loops compare it with the steps, and
// of one number they are neighbours in memory.
void hold_inside(const std::vector<Axis>& axes, std::map<std::string, Expr>* places) {
  const auto length = [](const Axis& axis) {
    return axis.extent() == Extent(0) ? Extent(1) : axis.extent();
  };
  std::vector<std::pair<Expr, Expr>> numbers;
  for (const Axis& axis : axes) {
    if (auto held = held_number(places->at(axis.name()), length(axis))) {
      numbers.push_back(std::move(*held));
    }
  }
  for (const Axis& axis : axes) {
    Expr& place = places->at(axis.name());
    if (place->op == ExprOp::axis) continue;
    const auto of_fused = [&](const Expr& e) -> Expr {
      for (const auto& [number, held] : numbers) {
        if (equal(e, number)) return held;
      }
      return Expr();
    };
    const Expr of_held = transform(place, of_fused);
    place = equal(of_held, place) ? min(place, extent_value(length(axis) - Extent(1))) : of_held;
  }
}

// The body with the reduction axes in terms of the loops. Past the end of an axis it is the
// identity, and nothing is read there.
Expr body_over_loops(const Stage& stage) {
  std::vector<Expr> region;
  for (const Axis& axis : stage.axes) region.push_back(extent_value(axis.extent()));
  const PointMap point = map_point(stage, Part::update, region);
  auto over_axes = [&](const Expr& e) {
    return substitute_axes(e, [&](const std::string& variable) {
      return axis_value(variable.substr(stage.name.size() + 1));
    });
  };
  std::map<std::string, Expr> values;
  for (const Axis& axis : stage.reduction_axes) {
    values[axis.name()] = over_axes(point.local.at(axis.name()));
  }
  if (!point.guards.empty()) hold_inside(stage.reduction_axes, &values);
  Expr body = substitute_axes(stage.body, [&](const std::string& name) {
    auto found = values.find(name);
    return found == values.end() ? Expr() : found->second;
  });
  if (point.guards.empty()) return body;
  Expr inside = over_axes(point.guards.front().condition);
  for (size_t i = 1; i < point.guards.size(); ++i) {
    inside = inside && over_axes(point.guards[i].condition);
  }
  return select(inside, body, identity_of(stage.combiner, stage.dtype));
}

}  // namespace

bool is_loop_directive(const Directive& d) {
  const DirectiveScope scope = form_of(d.kind).scope;
  return scope == DirectiveScope::loop || scope == DirectiveScope::nest;
}

WrittenStage rfactor(WrittenStage* plan, const WrittenDirective& d) {
  LoopedStage transformed = with_reduction_transforms(plan, d);
  Stage& stage = transformed.stage;
  const std::map<std::string, Expr> extents = whole_extents(&stage);
  const Axis lane = lane_as_axis(plan->stage, d, extents);
  std::vector<Axis> left;
  std::vector<LoopTransform> steps;
  for (const ScheduledLoop& loop : transformed.loops) {
    if (!loop.is_reduction || loop.name == lane.name()) continue;
    LeftAxis made = loop_left(plan->stage, d, loop.name, extents.at(loop.name));
    left.push_back(std::move(made.axis));
    if (made.step == 1) continue;
    LoopTransform step;
    step.kind = LoopTransform::Kind::step;
    step.axis = step.outer = loop.name;
    step.factor = made.step;
    steps.push_back(std::move(step));
  }
  Shape shape;
  for (const Axis& axis : plan->stage.axes) shape.push_back(axis.extent());
  shape.push_back(lane.extent());
  require_size(plan->stage.name, d, shape, plan->stage.dtype);

  stage.name = d.target;
  stage.body = body_over_loops(stage);
  for (const LoopTransform& t : steps) stage.body = in_steps(stage.body, t.axis, t.factor);
  stage.axes.push_back(lane);
  stage.reduction_axes = std::move(left);
  if (stage.reduction_axes.empty()) stage.combiner = Combiner::none;
  stage.transforms = std::move(steps);

  std::vector<Expr> indices(plan->stage.axes.begin(), plan->stage.axes.end());
  indices.emplace_back(lane);
  plan->stage.body = read_buffer(d.target, plan->stage.dtype, std::move(indices));
  plan->stage.reduction_axes = {lane};
  plan->stage.transforms.clear();  // steps of the axes before
  WrittenStage made;
  made.decided = plan->decided;
  made.stage = std::move(stage);
  return made;
}

}  // namespace emulsion

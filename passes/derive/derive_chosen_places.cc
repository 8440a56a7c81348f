#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "dsl/index_arithmetic.h"
#include "passes/derive/derive_stage.h"
#include "passes/index/simplify_index.h"
#include "passes/nest/chosen_places.h"

namespace emulsion {
namespace {

bool is_among(const std::vector<Axis>& axes, const Axis& axis) {
  return axis_index(axes, axis.name()).has_value();
}

// The axes of a result, outermost first.
struct PlaceLoops {
  std::vector<Axis> outside;  // around the reductions: the places depend on them, or stand behind
  std::vector<Axis> chosen;   // by data
  std::vector<Axis> inside;   // what one term is combined into
};

PlaceLoops loops_of_places(const Op& op) {
  PlaceLoops loops;
  const std::vector<ChosenPlace> places = chosen_places(op.body, op.combiner, op.axes);
  const auto decides = [&](const Axis& axis) {
    return std::any_of(places.begin(), places.end(),
                       [&](const ChosenPlace& one) { return mentions(one.place, axis.name()); });
  };
  for (const Axis& axis : op.axes) {
    const bool is_chosen = std::any_of(places.begin(), places.end(), [&](const ChosenPlace& one) {
      return one.axis == axis.name();
    });
    // One that says where others go has a loop around theirs.
    if (is_chosen && !decides(axis)) {
      loops.chosen.push_back(axis);
    } else if (loops.chosen.empty() || decides(axis)) {
      loops.outside.push_back(axis);
    } else {
      loops.inside.push_back(axis);
    }
  }
  return loops;
}

}  // namespace

bool combines_chosen_places(const Op& op) {
  // What a term takes where it is combined in memory, in steps of a sum in registers; in those of
  // vectors of places, where that is a single element.
  constexpr int64_t kLeast = 8, kLeastInVectors = 128;
  if (op.combiner == Combiner::none || op.axes.empty()) return false;
  const PlaceLoops loops = loops_of_places(op);
  if (loops.chosen.empty()) return false;
  int64_t places = 1;
  for (const Axis& axis : loops.chosen) {
    places = saturated_product(places, axis.extent().as_constant().value_or(INT64_MAX));
  }
  const Axis& last = op.axes.back();
  if (is_among(loops.inside, last)) {
    const int64_t columns = last.extent().as_constant().value_or(INT64_MAX);
    return places >= kLeast && columns > 1 && is_contiguous_in_a_read(op, last.name(), false);
  }
  // Vectors would be of places.
  return loops.inside.empty() && places >= kLeastInVectors;
}

void derive_chosen_places(const Op& op, const Target& target, Schedule* schedule) {
  StageSchedule& stage = (*schedule)[op.name];
  const PlaceLoops loops = loops_of_places(op);
  const Axis& last = op.axes.back();
  std::vector<Axis> order;
  if (is_among(loops.inside, last)) {
    const int64_t lanes = value_lanes(op, target);
    const Axis lane(fresh_axis(op, "lane"));
    const bool exact = last.extent().exact_quotient(lanes).has_value();
    stage.split(last, last, lane, lanes, exact ? Tail::automatic : Tail::predicate);
    stage.vectorize(lane);
    if (!exact) stage.partition(last);
    order.push_back(lane);
  }
  order.insert(order.end(), loops.inside.rbegin(), loops.inside.rend());
  order.insert(order.end(), loops.chosen.rbegin(), loops.chosen.rend());
  order.insert(order.end(), op.reduction_axes.rbegin(), op.reduction_axes.rend());
  order.insert(order.end(), loops.outside.rbegin(), loops.outside.rend());
  stage.reorder(order);
  size_t leading = 0;
  while (leading < op.axes.size() && is_among(loops.outside, op.axes[leading])) ++leading;
  share_sums(op, op, leading, target, std::nullopt, &stage);
}

}  // namespace emulsion

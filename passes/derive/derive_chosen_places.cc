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

// Whether there are so many places, or `least` of them where each is a single element.
bool combines_places(const Op& op, int64_t least) {
  constexpr int64_t kLeastOfRows = 8;  // each has a loop over vectors
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
    return places >= kLeastOfRows && columns > 1 && is_contiguous_in_a_read(op, last.name(), false);
  }
  return loops.inside.empty() && places >= least;
}

constexpr int64_t kManyPlaces = 128;

}  // namespace

bool combines_chosen_places(const Op& op) { return combines_places(op, kManyPlaces); }

bool combines_chosen_places(const Op& op, const Target& target) {
  // In registers a vector of terms is compared with each place in turn, by all threads.
  constexpr int64_t kFewPlaces = 4;
  const int64_t threads = wakes_threads_to_sum(op, target) ? target.cores : 1;
  const int64_t terms = saturated_product(value_lanes(op, target), threads);
  return combines_places(op, std::clamp(terms + 1, kFewPlaces, kManyPlaces));
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

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
// How many terms are combined in a step of the innermost loop, which takes as long as one of them.
constexpr int64_t kTermsOfStep = 4;

void add_reversed(const std::vector<Axis>& axes, std::vector<Axis>* order) {
  order->insert(order->end(), axes.rbegin(), axes.rend());
}

// Whether each term of a step has a table of its own: these stay in the first cache, and terms are
// so many, as a run-time number counts, that adding them up in the end is little.
bool has_tables(const Op& op, const PlaceLoops& loops, const Target& target) {
  constexpr int64_t kTermsOfPlace = 4;
  const std::optional<int64_t> places = element_count(op.shape);
  if (!places || !loops.outside.empty()) return false;
  int64_t terms = 1;
  for (const Axis& axis : op.reduction_axes) {
    terms = saturated_product(terms, axis.extent().as_constant().value_or(INT64_MAX));
  }
  const int64_t bytes = saturated_product(*places, kTermsOfStep * size_in_bytes(op.dtype));
  return bytes <= target.l1_bytes / 2 && terms >= saturated_product(*places, kTermsOfPlace);
}

// for c: unrolled term: lanes of c: y[c] += tables[c, term]
void add_up_tables(const Op& op, const Axis& term, const Target& target, StageSchedule* stage) {
  const Axis& last = op.axes.back();
  const int64_t lanes = value_lanes(op, target);
  std::vector<Axis> order = {term};
  add_reversed(op.axes, &order);
  if (last.extent().constant_term() >= lanes) {
    const Axis lane(fresh_axis(op, "lane"));
    const bool exact = last.extent().exact_quotient(lanes).has_value();
    stage->split(last, last, lane, lanes, exact ? Tail::automatic : Tail::predicate);
    stage->vectorize(lane);
    order.insert(order.begin(), lane);
  }
  stage->reorder(order).unroll(term);
}

// Where each place is a single element: several terms in each step, and a table for each of these.
// A place that comes many times in a row would wait until it is stored, and be loaded again.
//   for m: for c: y[c] += ..  ->  for m: unrolled term: for c: tables[c, term] += ..
//                                 y[c] = sum of the tables
void derive_elements(const Op& op, const PlaceLoops& loops, const Target& target,
                     Schedule* schedule) {
  const Axis &terms = op.reduction_axes.back(), term(fresh_axis(op, "term"));
  std::vector<Axis> order;
  add_reversed(loops.chosen, &order);
  std::string combined = op.name;
  if (terms.extent().as_constant().value_or(kTermsOfStep) >= kTermsOfStep) {
    StageSchedule& stage = (*schedule)[op.name];
    const bool exact = terms.extent().exact_quotient(kTermsOfStep).has_value();
    stage.split(terms, terms, term, kTermsOfStep, exact ? Tail::automatic : Tail::guard);
    if (has_tables(op, loops, target)) {
      combined = fresh_stage(*schedule, op.name + "_tables");
      stage.rfactor(term, combined);
      add_up_tables(op, term, target, &stage);
      std::vector<Axis> storage;
      add_reversed(op.axes, &storage);
      storage.push_back(term);
      (*schedule)[combined].reorder_storage(storage);
    }
    (*schedule)[combined].unroll(term);
    if (!exact) (*schedule)[combined].partition(terms);
    order.push_back(term);
  }
  add_reversed(op.reduction_axes, &order);
  add_reversed(loops.outside, &order);
  (*schedule)[combined].reorder(order);
}

// Where each place is a row: vectors along it.
void derive_rows_of_places(const Op& op, const PlaceLoops& loops, const Target& target,
                           StageSchedule* stage) {
  const Axis& last = op.axes.back();
  const int64_t lanes = value_lanes(op, target);
  const Axis lane(fresh_axis(op, "lane"));
  const bool exact = last.extent().exact_quotient(lanes).has_value();
  stage->split(last, last, lane, lanes, exact ? Tail::automatic : Tail::predicate);
  stage->vectorize(lane);
  if (!exact) stage->partition(last);
  std::vector<Axis> order = {lane};
  add_reversed(loops.inside, &order);
  add_reversed(loops.chosen, &order);
  add_reversed(op.reduction_axes, &order);
  add_reversed(loops.outside, &order);
  stage->reorder(order);
}

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
  const PlaceLoops loops = loops_of_places(op);
  if (loops.inside.empty()) {
    derive_elements(op, loops, target, schedule);
  } else {
    derive_rows_of_places(op, loops, target, &(*schedule)[op.name]);
  }
  size_t leading = 0;
  while (leading < op.axes.size() && is_among(loops.outside, op.axes[leading])) ++leading;
  share_sums(op, op, leading, target, std::nullopt, &(*schedule)[op.name]);
}

}  // namespace emulsion

#ifndef EMULSION_TESTS_RANDOM_DRAW_DIRECTIVES_H_
#define EMULSION_TESTS_RANDOM_DRAW_DIRECTIVES_H_

// The random moves that random schedules are grown from: a directive, or some that only make sense
// together (compute_at, store_at and fold_storage; a split and the rfactor of what it made). Of
// every kind in dsl/schedule.h, with names that are there and of what the operation really reads,
// so that many of them are legal; which are, is not looked at.

#include <string>
#include <vector>

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/schedule_axes.h"
#include "tests/random/random_numbers.h"

namespace emulsion {

using ScheduleLines = std::vector<std::string>;

// Lines to put behind a schedule whose stages have the loops `stages`; none when nothing fits.
// `number`: of the move, part of the names of new loops and stages.
ScheduleLines draw_directives(const Graph& graph, const Schedule& schedule,
                              const LoopsOfStages& stages, RandomNumbers* random, int number);

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_DRAW_DIRECTIVES_H_

#ifndef EMULSION_TESTS_RANDOM_RANDOM_SCHEDULE_H_
#define EMULSION_TESTS_RANDOM_RANDOM_SCHEDULE_H_

// Random schedules, legal and not. Both are drawn as lines of text, one directive each, so that
// they go the way of a user's file. Everything follows from the random numbers given.
//
// Legal ones are grown: a move (draw_directives.h) is kept when the schedule still lowers. What is
// refused on the way has to be an Error; anything else escapes.
// Illegal ones are legal ones with a mistake: another name, another number, two lines swapped.

#include <string>

#include "dsl/graph.h"
#include "tests/random/draw_directives.h"
#include "tests/random/random_numbers.h"

namespace emulsion {

// The text that parse_schedule reads.
std::string schedule_text(const Graph& graph, const ScheduleLines& lines);

// A schedule that lowers, into empty `lines`; when anything but an Error escapes, they hold what
// threw it. `refused`: how many directives were drawn and refused, is added to.
void draw_legal_schedule(const Graph& graph, RandomNumbers* random, ScheduleLines* lines,
                         int* refused);

// The same lines with one mistake or two; they may still be legal.
ScheduleLines with_a_mistake(const Graph& graph, const ScheduleLines& lines, RandomNumbers* random);

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_RANDOM_SCHEDULE_H_

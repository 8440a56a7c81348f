#ifndef EMULSION_DSL_SCHEDULE_JSON_H_
#define EMULSION_DSL_SCHEDULE_JSON_H_

// A schedule as JSON, for tools: the same directives as the text form (schedule_text.h), in the
// shape that Halide's ScheduleEditor writes (its main branch, version 1), so that one tool reads
// both:
//
//   {"version": 1, "directives": [
//     {"kind": "Split", "func": "y", "vars": [{"name": "m", "rvar": false}, ...], "exprs": [6],
//      "tail": "guard"},
//     {"kind": "ComputeAt", "func": "mm", "at_func": "y", "at_var": {"name": "mo", "rvar": false}},
//     ...]}
//
// What differs from Halide's: tails and memories are written by name and not as numbers of an enum;
// "stage" is 1 for the loops of a reduction (Halide's first update) and only says so, since a
// directive of ours speaks of the start value too; a condition is text; CacheWrite and Pack have no
// counterpart there. "rvar" is true for reduction axes and the loops made of them; reading refuses
// one that says otherwise, and takes a variable that says nothing.
//
// Reading refuses what it does not know: another version, a kind, a field, a type, a missing field,
// the same field twice: an Error that starts with the place, as a JSON pointer. Names are checked
// as those of the text form are: a ScheduleError, with that place in front.

#include <string>

#include "dsl/graph.h"
#include "dsl/schedule.h"

namespace emulsion {

// Indented, with a newline at the end. Directives in the order of the text form.
std::string to_json(const Schedule& schedule);
// `origin` stands in front of every place: "schedule y.json: " (schedule_file.h).
Schedule schedule_from_json(const std::string& json, const Graph& graph,
                            const std::string& origin = "schedule JSON: ");

}  // namespace emulsion

#endif  // EMULSION_DSL_SCHEDULE_JSON_H_

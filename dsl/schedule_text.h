#ifndef EMULSION_DSL_SCHEDULE_TEXT_H_
#define EMULSION_DSL_SCHEDULE_TEXT_H_

// A schedule as text: derive one, print it, edit it, keep it beside the code. It parses back to the
// same schedule.
//
//   emulsion schedule 1                  the format's version
//   y.split(m, mo, mi, 6, guard)         one directive a line, in the order in which they apply
//   y.parallel(mo)                       # a comment
//   mm.compute_at(y, mo)
//
// The directives are those of schedule.h; tile, and vectorize and unroll with a factor, may be
// written and become the directives that they are made of. What is no schedule is an Error with the
// line and column. A name of an operation, axis or stage that is not there is refused here too, as
// the ScheduleError that lower() would throw, with that place in front. Whether the rest can be
// honoured is lower()'s to say.

#include <string>

#include "dsl/graph.h"
#include "dsl/schedule.h"

namespace emulsion {

std::string to_string(const Schedule& schedule);
// `origin` stands in front of every place: "schedule y.schedule: " (schedule_file.h).
Schedule parse_schedule(const std::string& text, const Graph& graph,
                        const std::string& origin = "");

}  // namespace emulsion

#endif  // EMULSION_DSL_SCHEDULE_TEXT_H_

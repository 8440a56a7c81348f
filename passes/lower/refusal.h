#ifndef EMULSION_PASSES_LOWER_REFUSAL_H_
#define EMULSION_PASSES_LOWER_REFUSAL_H_

// How lower() says no. Everything that finds a directive illegal calls refuse()
// (dsl/schedule_refusal.h); lower() alone adds the picture: the nest as it stood before that
// directive, with the loop in question marked.
//
//   y.split(n, no, ni, 5): expected a serial loop, got n, which is vectorized already; legal: ...
//   the nest before it:
//       kernel y(x: f32[4, 10]) -> y: f32[4, 10]
//       for y.m in 4
//   -->   vectorized y.n in 10
//           store y[m, n] = x[m, n] * 2f
//
// The first line stands alone: the directive as it was written, what was expected, what was found,
// and behind "; nearest: " (for a name) or "; legal: " the nearest legal choice. Of a directive
// that was read from text or JSON the place stands in front: "line 4: ", "schedule JSON:
// /directives/3: ".

#include <optional>
#include <string>
#include <vector>

#include "dsl/schedule.h"
#include "dsl/schedule_refusal.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// What stands before the refused directive, in the order in which a schedule prints (consumers
// first), the longest first: the first of these that lowers is the nest to show. The last one is
// the empty schedule.
std::vector<Schedule> schedules_before(const Schedule& schedule, const ScheduleRefusal& refusal);

// The message with its place in front, and that nest, where there is one.
ScheduleError explain(const ScheduleRefusal& refusal, const std::optional<LoopNest>& before);

}  // namespace emulsion

#endif  // EMULSION_PASSES_LOWER_REFUSAL_H_

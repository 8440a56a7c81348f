#ifndef EMULSION_DSL_SCHEDULE_AXES_H_
#define EMULSION_DSL_SCHEDULE_AXES_H_

// Which loops every stage of a schedule has, directive by directive: from the schedule alone
// (stage_loops.h), with the stages that directives make. It is how a wrong axis in a schedule file
// is found where it is read, with the legal ones listed; and lower() decides by these loops whether
// a directive is legal, without taking the schedule through its directives again.

#include <map>
#include <string>
#include <vector>

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/stage_loops.h"

namespace emulsion {

using LoopsOfStages = std::map<std::string, StageLoops>;

// Every stage of the graph before any directive: its operations and the members of its fused
// operations.
LoopsOfStages initial_loops(const Graph& graph);

// The loops of stage `name` after `directive`. When the directive makes a new stage, that is added.
// Throws ScheduleRefusal when StageLoops refuses it, or when it gives a new stage a name in use.
// Where a compute_at or store_at points is not looked at: see check_target.
void apply_to_loops(const std::string& name, const Directive& directive, const Graph& graph,
                    LoopsOfStages* stages);

// Throws ScheduleRefusal when compute_at or store_at names a stage or a loop that is not there,
// when all the directives of that stage are taken together.
void check_target(const std::string& name, const Directive& directive, const LoopsOfStages& stages);

struct DirectivePlace {
  std::string stage;
  size_t index = 0;  // among the directives of that stage
};

// A schedule taken through its directives.
struct ScheduleLoops {
  // The loops of a stage before each of its directives; only of stages that have some.
  std::map<std::string, std::vector<StageLoops>> before;
  LoopsOfStages after;  // of every stage, after the whole schedule
};

// Both checks above for every directive, in the graph that is to be lowered. When it throws,
// `place` says which directive was looked at.
ScheduleLoops replay(const Graph& graph, const Schedule& schedule, DirectivePlace* place = nullptr);
// The same in the graph that the schedule was written for.
LoopsOfStages loops_after(const Schedule& schedule, DirectivePlace* place = nullptr);

// i0, i1, ...: the axes of what has none with names, an input, weight or constant.
std::vector<std::string> numbered_axes(size_t count);

// The names of the schedule's stages in the order in which it prints: consumers first, so that a
// loop is named after the line that makes it; a stage that a directive makes follows the one that
// it comes from.
std::vector<std::string> stage_order(const Graph& graph,
                                     const std::map<std::string, StageSchedule>& stages);

}  // namespace emulsion

#endif  // EMULSION_DSL_SCHEDULE_AXES_H_

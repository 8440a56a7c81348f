#ifndef EMULSION_DSL_SCHEDULE_AXES_H_
#define EMULSION_DSL_SCHEDULE_AXES_H_

// Which loops a stage has, directive by directive: the names only, from the schedule alone. It is
// how a wrong axis in a schedule file is found where it is read, with the legal ones listed, and
// lower() finds the loops of a stage by the same rules. Extents, tails and places are lower()'s
// business.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "dsl/graph.h"
#include "dsl/schedule.h"

namespace emulsion {

// The loops of one stage, outermost first.
struct StageAxes {
  std::vector<std::string>
      pure;  // the axes of the operation as it was written, or of the new stage
  std::vector<std::string> reduction;  // its reduction axes, likewise
  std::vector<std::string> loops;  // now: pure, then reduction, taken through the directives so far
  std::set<std::string> reduction_loops;  // those of `loops` that come from a reduction axis
  // Behind specialize, `loops` are those of the last specialization: these are those of the general
  // case, then of the specializations before it.
  std::vector<std::vector<std::string>> other_cases;
  std::set<std::string> general_reduction_loops;
};

// The loops that are there in every case.
std::vector<std::string> common_loops(const StageAxes& axes);

using AxesOfStages = std::map<std::string, StageAxes>;

// Every stage of the graph before any directive: its operations and the members of its fused
// operations.
AxesOfStages initial_axes(const Graph& graph);

// The loops of stage `name` after `directive`. When the directive makes a new stage, that is added.
// Throws ScheduleError, starting with the directive, when it names an axis that is not there (the
// legal ones are listed), gives a new axis a name in use, or a new stage a name in use. Where a
// compute_at or store_at points is not looked at: see check_target.
void apply_axes(const std::string& name, const Directive& directive, const Graph& graph,
                AxesOfStages* stages);

// Throws ScheduleError when compute_at or store_at names a stage or a loop that is not there, when
// all the directives of that stage are taken together.
void check_target(const std::string& name, const Directive& directive, const AxesOfStages& stages);

struct DirectivePlace {
  std::string stage;
  size_t index = 0;  // among the directives of that stage
};

// The loops of every stage after the whole schedule; both checks above. When it throws, `place`
// says which directive was looked at.
AxesOfStages axes_after(const Schedule& schedule, DirectivePlace* place = nullptr);

// How many axes a directive of this kind has; reorder, reorder_storage: at least.
size_t axis_count(DirectiveKind kind);

// Whether a directive of this kind makes the stage that is its target.
bool makes_stage(DirectiveKind kind);

// i0, i1, ...: the axes of what has none with names, an input, weight or constant.
std::vector<std::string> numbered_axes(size_t count);

// The names of the schedule's stages in the order in which it prints: consumers first, so that a
// loop is named after the line that makes it; a stage that a directive makes follows the one that
// it comes from.
std::vector<std::string> stage_order(const Graph& graph,
                                     const std::map<std::string, StageSchedule>& stages);

}  // namespace emulsion

#endif  // EMULSION_DSL_SCHEDULE_AXES_H_

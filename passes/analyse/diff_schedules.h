#ifndef EMULSION_PASSES_ANALYSE_DIFF_SCHEDULES_H_
#define EMULSION_PASSES_ANALYSE_DIFF_SCHEDULES_H_

// Two schedules of one graph side by side: the directives of every stage, and the loop nests that
// they make, so that a change to a schedule is seen together with what it changes.
//
//   directives
//   y
//     split(m, mo, mi, 4)              split(m, mo, mi, 4)
//     parallel(mo)                   |  unroll(mi)
//   ...
//   nest
//     parallel y.mo in 32            |  for y.mo in 32
//     ...
//
// Between the columns: nothing where both sides say the same, "|" where they differ, "<" and ">"
// where only one of them says something.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/extent.h"
#include "dsl/schedule.h"
#include "passes/analyse/measure_work.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// One line of each side; nothing where a side has no line here.
struct DiffRow {
  std::optional<std::string> left, right;

  bool same() const { return left == right; }
};

// The least number of rows that differ: a longest common subsequence of lines, and what is between
// its elements in pairs.
std::vector<DiffRow> diff_lines(const std::vector<std::string>& left,
                                const std::vector<std::string>& right);

struct ScheduleDiff {
  struct StageRows {
    std::string stage;
    std::vector<DiffRow> rows;
  };
  // What a schedule makes.
  struct Side {
    std::string error;  // of lower(), when it refuses the schedule; then there is no nest
    std::optional<UopCounts> counts;  // when every run-time size has a value
    std::optional<Work> work;         // likewise: what is computed again, locality, parallelism
  };

  std::vector<StageRows> stages;  // of the stages that either schedule names, consumers first
  std::vector<DiffRow> nest;
  Side left, right;
  std::optional<Work> unscheduled;  // of the graph without directives: nothing computed twice

  // Whether the two schedules say the same.
  bool same() const;
};

// Error when the schedules are of different graphs. A schedule that cannot be lowered is no error
// here: the other one is shown beside its message.
ScheduleDiff diff_schedules(const Schedule& left, const Schedule& right,
                            const SizeValues& sizes = {});

std::string to_string(const ScheduleDiff& diff);
// {"version": 1, "same": .., "stages": [{"stage": "y", "rows": [{"left": "..", "right": ".."}]}],
//  "nest": [..], "left": {"uops": {..}, "work": {..}} or {"error": ".."}, "right": ..}; a row
//  without "left" is
// only on the right.
std::string to_json(const ScheduleDiff& diff);

}  // namespace emulsion

#endif  // EMULSION_PASSES_ANALYSE_DIFF_SCHEDULES_H_

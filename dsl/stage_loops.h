#ifndef EMULSION_DSL_STAGE_LOOPS_H_
#define EMULSION_DSL_STAGE_LOOPS_H_

// The loops of one stage, taken through its directives one after another. Only here do loops come,
// go, change places and get their marks. A schedule is taken through once (schedule_axes.h), and
// lower() reads what each directive found. Extents, tails and what may be done with a loop are
// lower()'s business.

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/schedule.h"

namespace emulsion {

// One loop of a stage.
struct ScheduledLoop : LoopMarks {
  explicit ScheduledLoop(std::string plain_name, bool reduces = false)
      : name(std::move(plain_name)), is_reduction(reduces) {}

  std::string name;   // plain, unique within the stage
  bool is_reduction;  // of a reduction axis: not in the start value's nest
};

// Where the loop of that name is among `loops`; nothing when it is not there.
std::optional<size_t> position_of(const std::vector<ScheduledLoop>& loops, const std::string& name);
// That loop; null when it is not there.
const ScheduledLoop* find_loop(const std::vector<ScheduledLoop>& loops, const std::string& name);
std::vector<std::string> names_of(const std::vector<ScheduledLoop>& loops);

class StageLoops {
 public:
  StageLoops() = default;
  // Before any directive: its axes in order, those that it reduces over inside.
  StageLoops(std::string stage, std::vector<std::string> pure, std::vector<std::string> reduction);

  // The axes of the operation as it was written, or of the new stage.
  const std::vector<std::string>& pure() const { return pure_; }
  const std::vector<std::string>& reduction() const { return reduction_; }
  // The loops now, outermost first; behind specialize, those of the last specialization.
  const std::vector<ScheduledLoop>& loops() const { return cases_.back().loops; }
  std::set<std::string> reduction_loops() const;
  bool is_specialized() const { return cases_.size() > 1; }
  // Those of the general case, then those of each specialization.
  std::vector<std::vector<ScheduledLoop>> all_cases() const;
  // The loops that are there in every case.
  std::vector<std::string> common_loops() const;

  // The loops after the directive. Throws ScheduleRefusal when the directive has too many or too
  // few axes, names one that is not there (the legal ones are listed), gives a loop a name in use,
  // or may not stand behind specialize.
  void apply(const Directive& directive);

  // What cache_write and rfactor leave: the loops that are not reduced, and a reduction of these.
  void reduce_only(const std::vector<std::string>& reduction);

 private:
  struct Case {
    std::vector<ScheduledLoop> loops;
    std::set<std::string> gone;  // names of loops that were split or fused
  };

  void check(const Directive& directive) const;
  void check_axis_count(const Directive& directive) const;
  void check_behind_specialize(const Directive& directive) const;
  void check_names(const Directive& directive) const;
  void check_new_loops(const Directive& directive) const;
  void replace(const Directive& directive);
  void reorder(const Directive& directive);
  void mark(const Directive& directive);

  std::string stage_;
  std::vector<std::string> pure_, reduction_;
  std::vector<Case> cases_ = {{}};  // the general one, then the specializations
};

}  // namespace emulsion

#endif  // EMULSION_DSL_STAGE_LOOPS_H_

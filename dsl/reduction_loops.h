#ifndef EMULSION_DSL_REDUCTION_LOOPS_H_
#define EMULSION_DSL_REDUCTION_LOOPS_H_

// Which names in the directives of a schedule stand for a reduction axis, or for a loop made of
// one: from the schedule alone, like schedule_axes.h.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "dsl/schedule.h"
#include "dsl/schedule_axes.h"

namespace emulsion {

class ReductionLoops {
 public:
  // A directive that is not legal changes nothing.
  explicit ReductionLoops(const Schedule& schedule);

  // The names of reductions that directive `index` of a stage may use: of loops before and after
  // it; for pack of axes as they were written; none for the layout of a result.
  const std::set<std::string>& own(const std::string& stage, size_t index) const;
  // Whether `axis`, as directive `index` of a stage names it, is one; where the directive is a
  // place (compute_at and its like) the axis is a loop of its target.
  bool has(const std::string& stage, size_t index, const std::string& axis) const;

 private:
  struct Entry {
    std::set<std::string> names;
    std::string target;  // of a place
  };
  std::map<std::string, std::vector<Entry>> entries_;  // of the directives of each stage
  LoopsOfStages after_;                                // after all directives
};

}  // namespace emulsion

#endif  // EMULSION_DSL_REDUCTION_LOOPS_H_

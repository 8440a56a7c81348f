#ifndef EMULSION_PASSES_DERIVE_ALTERNATIVE_WAYS_H_
#define EMULSION_PASSES_DERIVE_ALTERNATIVE_WAYS_H_

// Several ways to compute an output, of which each call takes one: rows of a run-time length are
// computed otherwise where they are short. In the schedule these are alternatives
// (StageSchedule::alternative) of the output and of all that only it reads.

#include <string>
#include <vector>

#include "dsl/expr.h"
#include "dsl/schedule.h"
#include "dsl/tensor.h"

namespace emulsion {

// One way, for where a condition over run-time sizes holds.
struct AlternativeWay {
  std::string suffix;  // of the names of its stages
  Expr condition;
  Schedule schedule;  // of the graph, as if there were no other way; stages have their own names
};

// Whether an operation can have several ways: what others read cannot, nor what is one of several.
bool can_have_ways(const Op& reader, const Schedule& schedule);
// A schedule without directives for where no other way is taken, in which it can have no ways.
Schedule beside_way(const Op& reader, const AlternativeWay& way, const Schedule& schedule);
// Whether two ways compute the same operations inline: where only one does, they are no ways.
bool inline_the_same(const Schedule& a, const Schedule& b);
// Adds the ways of an output, `reader`, the first that holds being taken, and that of everywhere
// else.
void add_ways(const Op& reader, const std::vector<AlternativeWay>& ways, const Schedule& otherwise,
              Schedule* schedule);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_ALTERNATIVE_WAYS_H_

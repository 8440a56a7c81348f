#ifndef EMULSION_TESTS_RANDOM_SCHEDULE_PROGRAMS_H_
#define EMULSION_TESTS_RANDOM_SCHEDULE_PROGRAMS_H_

// The algorithms that random schedules are drawn for: a dozen and a few, small, each with a shape
// of dataflow that others lack. Their values are whole numbers, small enough that sums are exact in
// any order, so that results can be compared bit for bit. Programs that are drawn have the same
// form (random_comprehensions.h).

#include <functional>
#include <string>
#include <vector>

#include "backends/interpreter/tensor_value.h"
#include "dsl/extent.h"
#include "dsl/graph.h"

namespace emulsion {

struct ScheduleProgram {
  std::string name;
  Graph graph;
  std::vector<SizeValues> runs;  // at least one; 0 and 1 among them where there is a run-time size
  // Of a run; when it is empty, small whole numbers (tests/passes/check_nest.h).
  std::function<TensorValues(const Graph& graph, const SizeValues& sizes)> arguments = {};
  // Within which results agree, for values that are no whole numbers.
  double relative = 0, absolute = 0;
};

const std::vector<ScheduleProgram>& schedule_programs();

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_SCHEDULE_PROGRAMS_H_

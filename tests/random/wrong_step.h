#ifndef EMULSION_TESTS_RANDOM_WRONG_STEP_H_
#define EMULSION_TESTS_RANDOM_WRONG_STEP_H_

// Which step of the pipeline a wrong result comes from: what each step made is interpreted, and the
// first that the interpreter disagrees on is the step to look at.

#include <functional>
#include <string>
#include <vector>

#include "backends/interpreter/bind_arguments.h"
#include "backends/interpreter/tensor_value.h"
#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "passes/pipeline.h"

namespace emulsion {

// Whether these are the results that the graph has to have.
using Agrees = std::function<bool(const TensorValues& results)>;

struct GraphStep {
  std::string name;  // of the pass that made it
  Graph graph;
};

// The name of the first graph or nest pass that is wrong, "make_nest, no schedule" (of the first
// graph), "make_nest" (of the last one, by `schedule`), or "a backend" when all of these agree;
// behind it what was thrown, if that is how a step disagrees. `sizes` are the run-time sizes of
// `arguments`.
std::string first_wrong_step(const std::vector<GraphStep>& graphs, const Schedule& schedule,
                             const TensorValues& arguments, const SizeValues& sizes,
                             const Agrees& agrees,
                             const std::vector<NestPass>& passes = nest_passes());

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_WRONG_STEP_H_

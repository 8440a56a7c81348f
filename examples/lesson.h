#ifndef EMULSION_EXAMPLES_LESSON_H_
#define EMULSION_EXAMPLES_LESSON_H_

// What every lesson does with a schedule: it prints the schedule and the loop nest, compiles the
// nest into this process, and checks that the interpreter and the compiled kernel give the numbers
// of the definition.

#include <string>
#include <vector>

#include "backends/halide/jit.h"
#include "backends/interpreter/tensor_value.h"
#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "passes/nest/loop_nest.h"

namespace emulsion::lesson {

// Arguments to try kernels on, by name, and what the definition makes of them.
struct Trial {
  TensorValues arguments, expected;
};
Trial make_trial(const Graph& graph, TensorValues arguments);

// One schedule of a lesson, lowered and compiled.
struct Step {
  LoopNest nest;
  JitKernel kernel;
};

// Prints `title`, the schedule and its nest, and checks the nest. `relative`: how far a float may
// be from the definition's, for what computes exp() or sums in another order; 0 asks for every
// bit. Error: the first difference.
Step show(const std::string& title, const Schedule& schedule, const std::vector<Trial>& trials,
          double relative = 0);

// Error: the first element of an output, interpreted or compiled, that is not as expected.
void check_values(const Step& step, const Trial& trial, double relative = 0);

// The outputs of the compiled kernel.
TensorValues run_compiled(const Step& step, const TensorValues& arguments);
// The seconds of one call, the least of a few, weights packed beforehand. For information: lessons
// run as tests, and tests check no time.
double seconds(const Step& step, const TensorValues& arguments);

// Runs a lesson as a program. What main() returns: 0, or 1 after printing the error that `lesson`
// threw. `name` is the lesson's folder and `about` one line, both for --help. --lowering=FILE also
// measures each schedule (measure_lowering.h).
int run(int argc, char** argv, const std::string& name, const std::string& about, void (*lesson)());

}  // namespace emulsion::lesson

#endif  // EMULSION_EXAMPLES_LESSON_H_

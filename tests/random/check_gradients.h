#ifndef EMULSION_TESTS_RANDOM_CHECK_GRADIENTS_H_
#define EMULSION_TESTS_RANDOM_CHECK_GRADIENTS_H_

// Whether the gradients of a program are right: what the interpreter computes of their graph, fused
// and not, and what the compiled kernel does is what the program gives that runs backwards point by
// point (scattered_gradients.h), and its central differences.

#include <cstdint>
#include <string>

#include "dsl/target.h"
#include "passes/derive/derive_schedule.h"
#include "tests/random/gradient_programs.h"

namespace emulsion {

struct GradientWay {
  Target target;
  DeriveOptions options;
  bool is_twice = false;  // the gradients of the gradients, where these are not too long
};

// What is wrong, with the text of the graphs, or nothing. `program`: of f64; `rounded`: the same
// with f32, which is compiled in its place, or null.
std::string wrong_gradients(const GradientProgram& program, const GradientProgram* rounded,
                            const GradientWay& way, uint64_t seed);

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_CHECK_GRADIENTS_H_

#ifndef EMULSION_TESTS_RANDOM_ORACLE_H_
#define EMULSION_TESTS_RANDOM_ORACLE_H_

// Asks NumPy what recipes evaluate to: one Python process for a whole batch, since starting one
// takes longer than most graphs.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/interpreter/tensor_value.h"
#include "tests/random/recipe.h"

namespace emulsion {

// One output: values, and for each the bound on its error, infinite where nothing is known
// (numpy_values.py says how they come about).
struct Expected {
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<double> values, bounds;
  bool signs = false;  // whether a zero without a bound has the sign that it has to have
};

struct Answer {
  std::string error;                        // of the oracle itself; else empty
  std::vector<std::vector<Expected>> runs;  // by run, then by output
};

// Throws std::runtime_error, saying why, when Python or NumPy is missing or fails.
std::vector<Answer> ask_numpy(const std::vector<Recipe>& recipes);
// The gradients in JAX, of recipes whose floats are f64: in place of outputs one for each input and
// weight of f64, in the order of the nodes, of the sum over outputs of f64 times the cotangent.
// `site`: the folder that holds JAX.
std::vector<Answer> ask_jax(const std::vector<Recipe>& recipes, const std::string& site);
// What both take for the cotangent of an output at this row-major position.
inline double cotangent_at(int64_t position) {
  return static_cast<double>((position * 7 + 3) % 11 - 5) / 4;
}

// Nothing when they agree, else the first difference: "[3, 1]: expected 2 +- 1e-6, got 2.5". NaN
// has to meet NaN, and a zero whose sign is known a zero of that sign; what the oracle does not
// know agrees with anything.
std::optional<std::string> first_difference(const Expected& expected, const TensorValue& actual);

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_ORACLE_H_

#ifndef EMULSION_TESTS_BACKENDS_HALIDE_EVALUATE_HALIDE_H_
#define EMULSION_TESTS_BACKENDS_HALIDE_EVALUATE_HALIDE_H_

// Integers and conditions of Halide's as numbers. Not by Halide's simplifier: emitted code went
// through it already.

#include <cstdint>
#include <map>
#include <string>

#include "Halide.h"

namespace emulsion {

// Whether the value follows from variables alone: nothing is loaded for it, no float is in it.
bool follows_from_variables(const Halide::Expr& expr);

// std::runtime_error: an expression that does not, a variable without a value.
int64_t evaluate_halide(const Halide::Expr& expr, const std::map<std::string, int64_t>& variables);

}  // namespace emulsion

#endif  // EMULSION_TESTS_BACKENDS_HALIDE_EVALUATE_HALIDE_H_

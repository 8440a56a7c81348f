#ifndef EMULSION_TESTS_BACKENDS_HALIDE_VECTOR_TERMS_H_
#define EMULSION_TESTS_BACKENDS_HALIDE_VECTOR_TERMS_H_

// Indices in Halide's own terms, in fewer words.

#include <string>

#include "Halide.h"

namespace emulsion {

inline Halide::Expr number(const std::string& name) {
  return Halide::Internal::Variable::make(Halide::Int(32), name);
}
inline Halide::Expr same(const Halide::Expr& e, int lanes) {
  return Halide::Internal::Broadcast::make(e, lanes);
}
inline Halide::Expr ramp(const Halide::Expr& first, int step, int lanes) {
  return Halide::Internal::Ramp::make(first, step, lanes);
}

}  // namespace emulsion

#endif  // EMULSION_TESTS_BACKENDS_HALIDE_VECTOR_TERMS_H_

#ifndef EMULSION_BACKENDS_HALIDE_KERNEL_TARGET_H_
#define EMULSION_BACKENDS_HALIDE_KERNEL_TARGET_H_

// The target that a kernel's body is compiled for. Besides the instruction sets: strict floats; no
// query of bounds, which the nest knows. Halide's assertions stay on, since they are how it notices
// that memory ran out; those about arguments are taken out again (strip_argument_checks), because
// the entry function has checked more.

#include "Halide.h"
#include "dsl/target.h"

namespace emulsion {

// Error: a feature that Halide does not know.
Halide::Target kernel_target(const Target& target);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_KERNEL_TARGET_H_

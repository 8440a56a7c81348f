#ifndef EMULSION_BACKENDS_HALIDE_LOWER_STATEMENT_H_
#define EMULSION_BACKENDS_HALIDE_LOWER_STATEMENT_H_

// From an emitted nest to a module that Halide generates code for: Halide's own passes from
// storage flattening on.

#include <string>

#include "Halide.h"
#include "backends/entry/compile_options.h"
#include "dsl/target.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// What a kernel's body is compiled for. Besides the instruction sets: strict floats; no query of
// bounds, which the nest knows. Assertions stay on: they are how a kernel notices that memory ran
// out. Error: a feature that Halide does not know.
Halide::Target kernel_target(const Target& target);

// One function of that name. The nest is verified first: nothing behind it looks for mistakes. With
// Target::UserContext, its first argument is that context. To be called inside call_halide().
Halide::Module kernel_module(const LoopNest& nest, const std::string& function,
                             const Halide::Target& target, Halide::LinkageType linkage,
                             const CompileOptions& options);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_LOWER_STATEMENT_H_

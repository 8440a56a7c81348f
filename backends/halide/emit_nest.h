#ifndef EMULSION_BACKENDS_HALIDE_EMIT_NEST_H_
#define EMULSION_BACKENDS_HALIDE_EMIT_NEST_H_

// LoopNest -> Halide's own statement, node by node: a loop is a For of the same kind, start and
// extent, an alloc an Allocate, a uOp a Store at the offset that its point names, a guard an
// IfThenElse. Halide's scheduling and bounds inference never run, so nothing has to agree with a
// second opinion.
//
// Reads nothing but the nest. Run-time sizes are scalars of the function, before its buffers.

#include <map>
#include <string>
#include <vector>

#include "Halide.h"
#include "backends/entry/compile_options.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// The statement, and what a function needs that holds it.
struct EmittedNest {
  Halide::Internal::Stmt statement;
  std::vector<Halide::Internal::LoweredArgument> arguments;  // sizes, inputs and weights, outputs
  std::vector<Halide::Buffer<>> constants;
  std::map<std::string, Halide::Parameter> outputs;  // by name of the pointer
  std::map<std::string, Halide::Expr> elements;      // of inputs, outputs and constants, likewise
};

// The name of the argument that carries a run-time size.
std::string size_argument(const std::string& size);

// Whether any of it is left out for some steps.
bool is_masked(const Halide::Internal::Stmt& statement);

// To be called inside call_halide(), of a nest that check_cpu_limits.h accepts. `has_fma`: whether
// the target has an instruction for a * b + c.
EmittedNest emit_nest(const LoopNest& nest, bool has_fma, const CompileOptions& options);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_EMIT_NEST_H_

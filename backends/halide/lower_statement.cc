#include "backends/halide/lower_statement.h"

#include <utility>
#include <vector>

#include "passes/nest/verify_nest.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

// Names what the value of a store uses more than once. An emitted value is a graph (a maximum uses
// its operand twice), and Halide's passes would walk a chain of maxima as a tree of 2^n operations.
// Halide does this where a Func is defined. Atomic updates are found by their form and stay as they
// are.
class ShareValues : public hi::IRMutator {
  using hi::IRMutator::visit;

  Stmt visit(const hi::Store* op) override {
    return hi::Store::make(op->name, hi::common_subexpression_elimination(op->value), op->index,
                           op->param, op->predicate, op->alignment);
  }
  Stmt visit(const hi::Atomic* op) override { return op; }
};

// The passes of Halide's Lower.cpp (v21.0.0) behind storage flattening, in its order. Left out are
// those that look for what an emitted nest never has (GPU loops, asynchronous producers, tuples,
// tracing, prefetches of boxes).
// When Halide is upgraded, compare this list with that file.
Stmt run_passes(Stmt s, const Halide::Target& target) {
  s = ShareValues().mutate(s);
  s = hi::simplify(s);
  s = hi::unify_duplicate_lets(s);
  s = hi::simplify_correlated_differences(s);
  s = hi::bound_constant_extent_loops(s);
  s = hi::unroll_loops(s);
  s = hi::vectorize_loops(s, {});
  s = hi::simplify(s);
  s = hi::rewrite_interleavings(s);
  s = hi::simplify(s);
  // After vectors: what is likely is then known for whole vectors. Must run wherever something is
  // marked as likely, since code generation does not know the mark.
  s = hi::partition_loops(s);
  s = hi::simplify(s);
  s = hi::stage_strided_loads(s);
  s = hi::trim_no_ops(s);
  s = hi::rebase_loops_to_zero(s);
  s = hi::hoist_loop_invariant_if_statements(s);
  s = hi::inject_early_frees(s);
  s = hi::simplify_correlated_differences(s);
  s = hi::bound_small_allocations(s);
  s = hi::common_subexpression_elimination(s);
  s = hi::lower_unsafe_promises(s, target);
  s = hi::flatten_nested_ramps(s);
  s = hi::remove_dead_allocations(s);
  s = hi::simplify(s);
  s = hi::hoist_loop_invariant_values(s);
  s = hi::hoist_loop_invariant_if_statements(s);
  // After the last simplification, which would make divisions of the shifts again.
  s = hi::find_intrinsics(s);
  return hi::hoist_prefetches(s);
}

}  // namespace

Halide::Module kernel_module(const LoopNest& nest, const std::string& function,
                             const Halide::Target& target, Halide::LinkageType linkage,
                             const EmitOptions& options) {
  verify_nest(nest);
  EmittedNest emitted = emit_nest(nest, options);
  Stmt statement = run_passes(emitted.statement, target);
  std::vector<hi::LoweredFunc> closures;  // the bodies of parallel loops
  statement = hi::lower_parallel_tasks(statement, closures, function, target);
  std::vector<hi::LoweredArgument> arguments = std::move(emitted.arguments);
  if (target.has_feature(Halide::Target::UserContext)) {
    arguments.insert(arguments.begin(),
                     hi::LoweredArgument("__user_context", Halide::Argument::InputScalar,
                                         Halide::type_of<void*>(), 0, Halide::ArgumentEstimates{}));
  }
  Halide::Module module(function, target);
  module.set_any_strict_float(true);
  for (const Halide::Buffer<>& constant : emitted.constants) module.append(constant);
  for (const hi::LoweredFunc& closure : closures) module.append(closure);
  module.append(hi::LoweredFunc(function, arguments, statement, linkage));
  return module;
}

}  // namespace emulsion

#ifndef EMULSION_BACKENDS_HALIDE_EMIT_UOP_H_
#define EMULSION_BACKENDS_HALIDE_EMIT_UOP_H_

// One uOp as one store: its point becomes the offset that it is stored at, the body of its stage
// the value.

#include <map>
#include <string>
#include <vector>

#include "Halide.h"
#include "backends/halide/emit_places.h"
#include "backends/halide/translate_expr.h"
#include "dsl/schedule.h"
#include "passes/nest/read_indices.h"

namespace emulsion {

// What the loops and allocations around a node have made known.
struct EmitScope {
  std::map<std::string, Halide::Expr> variables;  // loop variables and run-time sizes
  std::map<std::string, Place> places;            // buffers that have memory here

  // An integer or a condition over loop variables and sizes.
  Halide::Expr index(const Expr& expr) const;
  std::vector<Halide::Expr> indices(const std::vector<Expr>& exprs) const;
  // The same of an affine extent.
  Halide::Expr extent(const Extent& extent) const;
  const Place& place(const std::string& buffer) const;
  // What the names in the body of a stage mean at a point, one index for each of its axes, then its
  // reduction axes. How the body reads is left to say.
  HalideScope body_at(const Stage& stage, const std::vector<Halide::Expr>& point) const;
};

// A condition on the instances of a uOp, and what of them it leaves out.
struct EmittedGuard {
  Halide::Expr condition;
  GuardMask mask = GuardMask::instance;
};

struct UopContext {
  const LoopNest& nest;
  const Stage& stage;
  const EmitScope& scope;
  const OwnReads& own_reads;        // of the stage
  bool has_fma = false;             // whether the target has fused multiply-adds
  bool fused_multiply_add = false;  // whether an update may be one
  bool checked = false;             // assert each offset: see compile_options.h
  // The variable of the innermost loop that is neither vectors nor copies; undefined without one.
  Halide::Expr innermost;
};

// The store, inside its checks, without the guards around it: those of masks are in it. `masks`:
// the guards that mask its loads or its stores only.
Halide::Internal::Stmt emit_uop(const UopNode& uop, const std::vector<EmittedGuard>& masks,
                                const UopContext& context);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_EMIT_UOP_H_

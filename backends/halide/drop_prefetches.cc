#include "backends/halide/drop_prefetches.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

class PrefetchDropper : public hi::IRMutator {
  using hi::IRMutator::visit;

  hi::Stmt visit(const hi::LetStmt* op) override {
    const hi::ScopedBinding<> known(known_, op->name);
    return hi::IRMutator::visit(op);
  }

  hi::Stmt visit(const hi::Allocate* op) override {
    const hi::ScopedBinding<> known(known_, op->name);
    return hi::IRMutator::visit(op);
  }

  // prefetch(memory, offset, ...)
  Halide::Expr visit(const hi::Call* op) override {
    if (!op->is_intrinsic(hi::Call::prefetch)) return hi::IRMutator::visit(op);
    const hi::Variable* memory = op->args[0].as<hi::Variable>();
    if (memory == nullptr || known_.contains(memory->name)) return hi::IRMutator::visit(op);
    return hi::make_zero(op->type);
  }

  hi::Scope<> known_;  // what has memory here
};

}  // namespace

void drop_prefetches(Halide::Pipeline* pipeline) {
  pipeline->add_custom_lowering_pass(new PrefetchDropper);
}

}  // namespace emulsion

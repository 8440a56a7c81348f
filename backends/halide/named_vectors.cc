#include "backends/halide/named_vectors.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

class Values : public hi::IRMutator {
 public:
  explicit Values(const hi::Scope<Halide::Expr>& vectors) : vectors_(vectors) {}

 private:
  using hi::IRMutator::visit;
  Halide::Expr visit(const hi::Variable* op) override {
    const Halide::Expr* value = vectors_.find(op->name);
    return value == nullptr ? Halide::Expr(op) : mutate(*value);
  }

  const hi::Scope<Halide::Expr>& vectors_;
};

}  // namespace

template <typename LetOrStmt>
auto NamedVectors::visit_let(const LetOrStmt* op) {
  const Halide::Expr value = mutate(op->value);
  const hi::ScopedBinding<Halide::Expr> name(value.type().is_vector(), vectors_, op->name, value);
  return LetOrStmt::make(op->name, value, mutate(op->body));
}

Halide::Expr NamedVectors::visit(const hi::Let* op) { return visit_let(op); }
hi::Stmt NamedVectors::visit(const hi::LetStmt* op) { return visit_let(op); }

Halide::Expr NamedVectors::with_values(const Halide::Expr& e) const {
  return Values(vectors_).mutate(e);
}

}  // namespace emulsion

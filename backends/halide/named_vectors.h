#ifndef EMULSION_BACKENDS_HALIDE_NAMED_VECTORS_H_
#define EMULSION_BACKENDS_HALIDE_NAMED_VECTORS_H_

// What the vectors are that have names: passes that ask what the lanes of an index are see it
// through its names.

#include "Halide.h"

namespace emulsion {

// A mutator that keeps all names, and knows the values of the vectors among them while it is in
// their scope. Vectors are mutated before they are kept.
class NamedVectors : public Halide::Internal::IRMutator {
 protected:
  using Halide::Internal::IRMutator::visit;
  Halide::Expr visit(const Halide::Internal::Let* op) override;
  Halide::Internal::Stmt visit(const Halide::Internal::LetStmt* op) override;

  // The expression with values in place of the names of vectors, in these values too.
  Halide::Expr with_values(const Halide::Expr& e) const;

 private:
  template <typename LetOrStmt>
  auto visit_let(const LetOrStmt* op);

  Halide::Internal::Scope<Halide::Expr> vectors_;
};

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_NAMED_VECTORS_H_

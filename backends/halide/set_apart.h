#ifndef EMULSION_BACKENDS_HALIDE_SET_APART_H_
#define EMULSION_BACKENDS_HALIDE_SET_APART_H_

// Parts of a statement that a pass of Halide's is not to see, or not to change.

#include <functional>
#include <map>
#include <string>

#include "Halide.h"

namespace emulsion {

// A mutator that says which, by its visits: each of them returns what set_apart() puts there.
//   class Choices : public SetApart { .. visit(const Select* op) { return set_apart(op); } .. };
//   made = Choices().run(pass, statement);
class SetApart : public Halide::Internal::IRMutator {
 public:
  using Pass = std::function<Halide::Internal::Stmt(const Halide::Internal::Stmt&)>;
  // What the pass makes of the statement without these parts, with them put back.
  Halide::Internal::Stmt run(const Pass& pass, const Halide::Internal::Stmt& statement);

 protected:
  // A name in place of a value; the evaluation of a name in place of a statement. Parts have no
  // others in them.
  Halide::Expr set_apart(const Halide::Expr& value);
  Halide::Internal::Stmt set_apart(const Halide::Internal::Stmt& statement);

 private:
  std::map<std::string, Halide::Expr> values_;
  std::map<std::string, Halide::Internal::Stmt> statements_;
};

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_SET_APART_H_

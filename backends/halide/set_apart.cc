#include "backends/halide/set_apart.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

class PutsBack : public hi::IRMutator {
 public:
  explicit PutsBack(const std::map<std::string, Stmt>& statements) : statements_(statements) {}

 private:
  using hi::IRMutator::visit;

  Stmt visit(const hi::Evaluate* op) override {
    const auto* name = op->value.as<hi::Variable>();
    const auto found = name == nullptr ? statements_.end() : statements_.find(name->name);
    return found == statements_.end() ? Stmt(op) : found->second;
  }

  const std::map<std::string, Stmt>& statements_;
};

}  // namespace

Stmt SetApart::run(const Pass& pass, const Stmt& statement) {
  const Stmt made = pass(mutate(statement));
  return hi::substitute(values_, PutsBack(statements_).mutate(made));
}

Halide::Expr SetApart::set_apart(const Halide::Expr& value) {
  const std::string name = hi::unique_name("apart");
  values_[name] = value;
  return hi::Variable::make(value.type(), name);
}

Stmt SetApart::set_apart(const Stmt& statement) {
  const std::string name = hi::unique_name("apart");
  statements_[name] = statement;
  return hi::Evaluate::make(hi::Variable::make(Halide::Int(32), name));
}

}  // namespace emulsion

#include "backends/halide/interleavings.h"

#include <map>
#include <string>
#include <utility>

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

// Whether lanes are divided by a number, and remainders are taken of lanes, in some index.
class FindsDigits : public hi::IRVisitor {
 public:
  bool found = false;

 private:
  using hi::IRVisitor::visit;

  void visit(const hi::Load* op) override {
    op->predicate.accept(this);
    const bool outside = std::exchange(is_index_, true);
    const bool divides = std::exchange(divides_, false);
    const bool has_remainder = std::exchange(has_remainder_, false);
    op->index.accept(this);
    found = found || (divides_ && has_remainder_);
    is_index_ = outside;
    divides_ = divides;
    has_remainder_ = has_remainder;
  }
  void visit(const hi::Let* op) override {
    values_[op->name] = op->value;
    hi::IRVisitor::visit(op);
  }
  void visit(const hi::Variable* op) override {
    const auto value = values_.find(op->name);
    if (is_index_ && value != values_.end()) value->second.accept(this);
  }
  void visit(const hi::Div* op) override {
    divides_ = divides_ || is_of_lanes(op->a, op->b);
    hi::IRVisitor::visit(op);
  }
  void visit(const hi::Mod* op) override {
    has_remainder_ = has_remainder_ || is_of_lanes(op->a, op->b);
    hi::IRVisitor::visit(op);
  }

  static bool is_of_lanes(const Halide::Expr& a, const Halide::Expr& b) {
    return a.type().is_vector() && a.as<hi::Broadcast>() == nullptr && hi::is_const(b);
  }

  bool is_index_ = false, divides_ = false, has_remainder_ = false;
  std::map<std::string, Halide::Expr> values_;
};

// What stays as it is, under names and apart.
class LanesTogether : public hi::IRMutator {
 public:
  std::map<std::string, Halide::Expr> values;
  std::map<std::string, Stmt> stores;

 private:
  using hi::IRMutator::visit;

  Halide::Expr visit(const hi::VectorReduce* op) override {
    const std::string name = hi::unique_name("together");
    const Stmt value = hi::rewrite_interleavings(hi::Evaluate::make(op->value));
    values[name] =
        hi::VectorReduce::make(op->op, value.as<hi::Evaluate>()->value, op->type.lanes());
    return hi::Variable::make(op->type, name);
  }
  Stmt visit(const hi::Store* op) override {
    FindsDigits finds;
    op->value.accept(&finds);
    if (!finds.found) return hi::IRMutator::visit(op);
    const std::string name = hi::unique_name("together");
    stores[name] = op;
    return hi::Evaluate::make(hi::Variable::make(Halide::Int(32), name));
  }
};

class PutsBack : public hi::IRMutator {
 public:
  explicit PutsBack(const std::map<std::string, Stmt>& stores) : stores_(stores) {}

 private:
  using hi::IRMutator::visit;

  Stmt visit(const hi::Evaluate* op) override {
    const auto* name = op->value.as<hi::Variable>();
    const auto store = name == nullptr ? stores_.end() : stores_.find(name->name);
    return store == stores_.end() ? Stmt(op) : store->second;
  }

  const std::map<std::string, Stmt>& stores_;
};

}  // namespace

Stmt with_interleavings(const Stmt& statement) {
  LanesTogether together;
  const Stmt apart = hi::rewrite_interleavings(together.mutate(statement));
  return hi::substitute(together.values, PutsBack(together.stores).mutate(apart));
}

}  // namespace emulsion

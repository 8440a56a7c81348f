#include "backends/halide/interleavings.h"

#include <map>
#include <string>
#include <utility>

#include "backends/halide/set_apart.h"

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

// What stays as it is; of a sum of lanes, what is added up is rewritten alone.
class LanesTogether : public SetApart {
  using SetApart::visit;

  Halide::Expr visit(const hi::VectorReduce* op) override {
    const Stmt value = hi::rewrite_interleavings(hi::Evaluate::make(op->value));
    return set_apart(
        hi::VectorReduce::make(op->op, value.as<hi::Evaluate>()->value, op->type.lanes()));
  }
  Stmt visit(const hi::Store* op) override {
    FindsDigits finds;
    op->value.accept(&finds);
    return finds.found ? set_apart(Stmt(op)) : SetApart::visit(op);
  }
};

}  // namespace

Stmt with_interleavings(const Stmt& statement) {
  return LanesTogether().run(hi::rewrite_interleavings, statement);
}

}  // namespace emulsion

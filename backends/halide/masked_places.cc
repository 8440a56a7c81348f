#include "backends/halide/masked_places.h"

#include <set>
#include <string>

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

using Names = std::set<std::string>;

// The names that are part of an index of a load, or of the value of such a name.
class NamesInIndices : public hi::IRVisitor {
 public:
  Names found;

 private:
  using hi::IRVisitor::visit;

  void visit(const hi::Load* op) override {
    op->predicate.accept(this);
    in_index([&] { op->index.accept(this); });
  }
  void visit(const hi::Variable* op) override {
    if (is_index_) found.insert(op->name);
  }
  // The body first: what it does with the name says what the value is for.
  void visit(const hi::Let* op) override { visit_let(op); }
  void visit(const hi::LetStmt* op) override { visit_let(op); }

  template <typename LetOrLetStmt>
  void visit_let(const LetOrLetStmt* op) {
    op->body.accept(this);
    if (found.count(op->name) == 0) return op->value.accept(this);
    in_index([&] { op->value.accept(this); });
  }

  template <typename Walk>
  void in_index(const Walk& walk) {
    const bool outside = is_index_;
    is_index_ = true;
    walk();
    is_index_ = outside;
  }

  bool is_index_ = false;
};

class MaskedPlaces : public hi::IRMutator {
 public:
  explicit MaskedPlaces(Names names) : names_(std::move(names)) {}

 private:
  using hi::IRMutator::visit;

  Halide::Expr visit(const hi::Load* op) override {
    const Halide::Expr mask = mutate(op->predicate);
    const bool outside = is_index_;
    is_index_ = true;
    const Halide::Expr index = mutate(op->index);
    is_index_ = outside;
    Halide::Expr made = op;
    if (!mask.same_as(op->predicate) || !index.same_as(op->index)) {
      made = hi::Load::make(op->type, op->name, index, op->image, op->param, mask, op->alignment);
    }
    if (!is_index_ || hi::is_const_one(mask)) return made;
    return hi::Select::make(mask, made, hi::make_zero(op->type));
  }

  Halide::Expr visit(const hi::Let* op) override {
    const Halide::Expr value = value_of(op->name, op->value), body = mutate(op->body);
    if (value.same_as(op->value) && body.same_as(op->body)) return op;
    return hi::Let::make(op->name, value, body);
  }
  Stmt visit(const hi::LetStmt* op) override {
    const Halide::Expr value = value_of(op->name, op->value);
    const Stmt body = mutate(op->body);
    if (value.same_as(op->value) && body.same_as(op->body)) return op;
    return hi::LetStmt::make(op->name, value, body);
  }

  Halide::Expr value_of(const std::string& name, const Halide::Expr& value) {
    const bool outside = is_index_;
    is_index_ = is_index_ || names_.count(name) > 0;
    Halide::Expr made = mutate(value);
    is_index_ = outside;
    return made;
  }

  const Names names_;
  bool is_index_ = false;
};

}  // namespace

Stmt define_masked_places(const Stmt& statement) {
  NamesInIndices names;
  statement.accept(&names);
  return MaskedPlaces(names.found).mutate(statement);
}

}  // namespace emulsion

#include "backends/halide/simplify_statement.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "dsl/error.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

bool is_number(const Halide::Type& type) {
  return type.is_int() && type.bits() >= 32 && type.is_scalar();
}

struct Casts : hi::IRGraphVisitor {
  using hi::IRGraphVisitor::visit;
  bool any = false;

  void visit(const hi::Cast* /*op*/) override { any = true; }
};

// The names of numbers, each with what is known of any number: that it is one more than a multiple
// of 1. What is known of a name from then on stands in front of it.
class Names : public hi::IRGraphVisitor {
 public:
  hi::Scope<hi::ModulusRemainder> known;

 private:
  using hi::IRGraphVisitor::visit;

  void visit(const hi::Variable* op) override {
    if (is_number(op->type)) add(op->name);
  }
  void visit(const hi::Let* op) override {
    add_rest(op->name, op->value);
    hi::IRGraphVisitor::visit(op);
  }
  void visit(const hi::LetStmt* op) override {
    add_rest(op->name, op->value);
    hi::IRGraphVisitor::visit(op);
  }

  // The simplifier names what is left of a value, as x of x + 1. A cast that it takes off may leave
  // a smaller type, whose bounds it knows only of names that it knows nothing else of.
  void add_rest(const std::string& name, const Halide::Expr& value) {
    Casts casts;
    value.accept(&casts);
    if (is_number(value.type()) && !casts.any) add(name + ".s");
  }
  void add(const std::string& name) {
    if (!known.contains(name)) known.push(name, hi::ModulusRemainder(1, 0));
  }
};

class UnrollLoops : public hi::IRMutator {
  using hi::IRMutator::visit;

  Stmt visit(const hi::For* op) override {
    if (op->for_type != hi::ForType::Unrolled) return hi::IRMutator::visit(op);
    const auto steps = hi::as_const_int(op->extent);
    EMULSION_CHECK(steps.has_value(), "{}", op->name);
    const Stmt body = mutate(op->body);
    std::vector<Stmt> made;
    for (int64_t step = 0; step < *steps; ++step) {
      const Halide::Expr index = op->min + static_cast<int32_t>(step);
      made.push_back(simplify_statement(hi::substitute(op->name, index, body)));
    }
    return hi::Block::make(made);
  }
};

// Whether a condition compares two names, as its parts are learnt: a < min(b, c) is a < b and
// a < c. Of a loop it is known that it starts at 0, and no number is less than that which a size
// is: there the record that is left over says nothing new.
class ComparesNames {
 public:
  ComparesNames(const std::set<std::string>& loops, const std::set<std::string>& lets)
      : loops_(loops), lets_(lets) {}

  bool operator()(const Halide::Expr& condition) const {
    if (const auto* tag = hi::Call::as_tag(condition)) return (*this)(tag->args[0]);
    if (const auto* op = condition.as<hi::Not>()) return (*this)(op->a);
    if (const auto* op = condition.as<hi::And>()) return (*this)(op->a) || (*this)(op->b);
    if (const auto* op = condition.as<hi::Or>()) return (*this)(op->a) || (*this)(op->b);
    if (const auto* op = condition.as<hi::LT>()) return compares(op->a, op->b);
    if (const auto* op = condition.as<hi::LE>()) return compares(op->a, op->b);
    return false;
  }

 private:
  bool compares(const Halide::Expr& a, const Halide::Expr& b) const {
    for (const Halide::Expr* side : {&a, &b}) {
      const Halide::Expr& other = side == &a ? b : a;
      const auto of = [&](const Halide::Expr& part) {
        return side == &a ? compares(part, other) : compares(other, part);
      };
      if (const auto* op = side->as<hi::Min>()) return of(op->a) || of(op->b);
      if (const auto* op = side->as<hi::Max>()) return of(op->a) || of(op->b);
    }
    const auto* less = a.as<hi::Variable>();
    const auto* more = b.as<hi::Variable>();
    if (less == nullptr || more == nullptr || loops_.count(less->name) > 0) return false;
    return loops_.count(more->name) == 0 || lets_.count(less->name) > 0;
  }

  const std::set<std::string>& loops_;
  const std::set<std::string>& lets_;
};

// What a pass is not to draw conclusions from, as the argument of a function that it does not know:
// - What is stored. The pass that trims loops leaves out what stores what is there, min(y[0], i)
//   where y[0] <= i, and takes y[0] for what it was before the loop.
// - Conditions of two names, and how many steps a loop has, where that there are any is one.
constexpr const char* kHidden = "emulsion_hidden";

class Hide : public hi::IRMutator {
  using hi::IRMutator::visit;

  static Halide::Expr hidden(const Halide::Expr& value) {
    return hi::Call::make(value.type(), kHidden, {value}, hi::Call::PureExtern);
  }
  bool misleads(const Halide::Expr& condition) const {
    return ComparesNames(loops_, lets_)(hi::simplify(condition));
  }

  Stmt visit(const hi::Store* op) override {
    return hi::Store::make(op->name, hidden(op->value), op->index, op->param, op->predicate,
                           op->alignment);
  }
  Stmt visit(const hi::LetStmt* op) override {
    lets_.insert(op->name);
    return hi::IRMutator::visit(op);
  }
  Stmt visit(const hi::IfThenElse* op) override {
    if (!misleads(op->condition)) return hi::IRMutator::visit(op);
    return hi::IfThenElse::make(hidden(op->condition), mutate(op->then_case),
                                mutate(op->else_case));
  }
  Stmt visit(const hi::For* op) override {
    loops_.insert(op->name);
    const Halide::Expr extent = misleads(op->extent > 0) ? hidden(op->extent) : op->extent;
    return hi::For::make(op->name, op->min, extent, op->for_type, op->partition_policy,
                         op->device_api, mutate(op->body));
  }

  std::set<std::string> loops_, lets_;  // names are unique
};

class Show : public hi::IRMutator {
  using hi::IRMutator::visit;

  Halide::Expr visit(const hi::Call* op) override {
    return op->name == kHidden ? mutate(op->args[0]) : hi::IRMutator::visit(op);
  }
};

}  // namespace

Stmt simplify_statement(const Stmt& statement) {
  Names names;
  statement.accept(&names);
  return hi::simplify(statement, true, hi::Scope<hi::Interval>::empty_scope(), names.known);
}

Stmt unroll_steps(const Stmt& statement) {
  return hi::uniquify_variable_names(UnrollLoops().mutate(statement));
}

Stmt trim_guarded(const Stmt& statement) {
  return Show().mutate(hi::trim_no_ops(Hide().mutate(statement)));
}

}  // namespace emulsion

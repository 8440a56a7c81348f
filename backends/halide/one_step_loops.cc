#include "backends/halide/one_step_loops.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

using Names = std::set<std::string>;

// The variables of an expression and the memory that it loads from. Of what has a mask, or is no
// value of these alone, nothing is known.
struct FindUses : hi::IRGraphVisitor {
  using hi::IRGraphVisitor::visit;

  void visit(const hi::Variable* op) override { variables.insert(op->name); }
  void visit(const hi::Load* op) override {
    loads.insert(op->name);
    is_known = is_known && hi::is_const_one(op->predicate);
    hi::IRGraphVisitor::visit(op);
  }
  void visit(const hi::Let*) override { is_known = false; }

  Names variables, loads;
  bool is_known = true;
};

FindUses uses_of(const Halide::Expr& e) {
  FindUses uses;
  e.accept(&uses);
  return uses;
}

bool have_common(const Names& a, const Names& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](const std::string& name) { return b.count(name) > 0; });
}

// What is in the body of a loop: stores, in loops and under guards.
struct Body {
  std::vector<const hi::Store*> stores;
  std::vector<Halide::Expr> guards;
  Names inside;  // the variables of the loops
  Names stored;  // memory
};

// False where there is anything else.
bool collect(const Stmt& s, Body* body) {
  if (const auto* block = s.as<hi::Block>()) {
    return collect(block->first, body) && collect(block->rest, body);
  }
  if (const auto* loop = s.as<hi::For>()) {
    body->inside.insert(loop->name);
    return collect(loop->body, body);
  }
  if (const auto* guard = s.as<hi::IfThenElse>()) {
    body->guards.push_back(guard->condition);
    return !guard->else_case.defined() && collect(guard->then_case, body);
  }
  const auto* store = s.as<hi::Store>();
  if (store == nullptr) return false;
  body->stores.push_back(store);
  body->stored.insert(store->name);
  return true;
}

// The guards around all that is stored.
std::vector<Halide::Expr> guards_of_all(const Stmt& s) {
  if (const auto* loop = s.as<hi::For>()) return guards_of_all(loop->body);
  const auto* guard = s.as<hi::IfThenElse>();
  if (guard == nullptr) return {};
  std::vector<Halide::Expr> all = guards_of_all(guard->then_case);
  all.push_back(guard->condition);
  return all;
}

Halide::Expr without_mark(const Halide::Expr& e) {
  const auto* call = e.as<hi::Call>();
  return call != nullptr && call->is_intrinsic(hi::Call::likely) ? call->args[0] : e;
}

// select(condition, changed, the element as it is), which is stored.
const hi::Select* as_change(const hi::Store& store) {
  const auto* select = store.value.as<hi::Select>();
  if (select == nullptr) return nullptr;
  const Halide::Expr otherwise = without_mark(select->false_value);
  const auto* kept = otherwise.as<hi::Load>();
  const bool is_kept =
      kept != nullptr && kept->name == store.name && hi::equal(kept->index, store.index);
  return is_kept ? select : nullptr;
}

std::vector<Halide::Expr> all_of(const Halide::Expr& condition) {
  const auto* both = condition.as<hi::And>();
  if (both == nullptr) return {condition};
  std::vector<Halide::Expr> all = all_of(both->a);
  for (Halide::Expr& one : all_of(both->b)) all.push_back(std::move(one));
  return all;
}

// place == loop variable + first, a condition of all changes.
struct OneStep {
  Halide::Expr equality, place, first;
  std::vector<Halide::Expr> guards;  // of the place, outermost first
};

std::optional<OneStep> as_step(const Halide::Expr& condition, const std::string& loop) {
  const auto* equality = condition.as<hi::EQ>();
  if (equality == nullptr || equality->a.type() != Halide::Int(32)) return std::nullopt;
  const Halide::Expr variable = hi::Variable::make(Halide::Int(32), loop);
  for (const bool swapped : {false, true}) {
    const Halide::Expr &place = swapped ? equality->b : equality->a,
                       &step = swapped ? equality->a : equality->b;
    if (hi::expr_uses_var(place, loop) || !hi::expr_uses_var(step, loop)) continue;
    const Halide::Expr first = hi::simplify(hi::substitute(loop, 0, step));
    if (!hi::is_const_zero(hi::simplify(step - (variable + first)))) continue;
    return OneStep{condition, place, first, {}};
  }
  return std::nullopt;
}

class HoldsThere : public hi::IRMutator {
 public:
  explicit HoldsThere(const Halide::Expr& equality) : equality_(equality) {}

 private:
  using hi::IRMutator::visit;

  Stmt visit(const hi::Store* op) override {
    const hi::Select* change = as_change(*op);
    Halide::Expr rest;
    for (const Halide::Expr& one : all_of(change->condition)) {
      if (hi::equal(one, equality_)) continue;
      rest = rest.defined() ? rest && one : one;
    }
    const Halide::Expr value = rest.defined()
                                   ? hi::Select::make(rest, change->true_value, change->false_value)
                                   : without_mark(change->true_value);
    return hi::Store::make(op->name, value, op->index, op->param, op->predicate, op->alignment);
  }

  const Halide::Expr& equality_;
};

class OneStepLoops : public hi::IRMutator {
  using hi::IRMutator::visit;

  Stmt visit(const hi::For* op) override {
    const bool has_lanes = op->for_type == hi::ForType::Vectorized;
    if (op->for_type == hi::ForType::Serial && lanes_ == 0) {
      if (const std::optional<OneStep> one = one_step(op)) return only(*one, op);
    }
    lanes_ += has_lanes ? 1 : 0;
    around_.insert(op->name);
    Stmt result = hi::IRMutator::visit(op);
    around_.erase(op->name);
    lanes_ -= has_lanes ? 1 : 0;
    return result;
  }

  // A value is a graph still, and has no loops inside.
  Stmt visit(const hi::Store* op) override { return op; }

  std::optional<OneStep> one_step(const hi::For* loop) const {
    Body body;
    if (!collect(loop->body, &body) || body.stores.empty()) return std::nullopt;
    std::vector<std::vector<Halide::Expr>> conditions;
    for (const hi::Store* store : body.stores) {
      const hi::Select* change = as_change(*store);
      if (change == nullptr) return std::nullopt;
      conditions.push_back(all_of(change->condition));
    }
    for (const Halide::Expr& condition : conditions.front()) {
      std::optional<OneStep> one = as_step(condition, loop->name);
      if (!one || !is_known_outside(*one, body)) continue;
      const std::optional<std::vector<Halide::Expr>> guards = guards_of_place(*one, body, loop);
      if (!guards) continue;
      one->guards = *guards;
      const bool is_of_all = std::all_of(conditions.begin(), conditions.end(), [&](const auto& of) {
        return std::any_of(of.begin(), of.end(),
                           [&](const Halide::Expr& e) { return hi::equal(e, condition); });
      });
      if (is_of_all) return one;
    }
    return std::nullopt;
  }

  // Whether the place is the same in all steps.
  bool is_known_outside(const OneStep& one, const Body& body) const {
    const FindUses place = uses_of(one.place), first = uses_of(one.first);
    if (!place.is_known || !first.is_known || !first.loads.empty()) return false;
    if (have_common(place.variables, body.inside) || have_common(first.variables, body.inside)) {
      return false;
    }
    return !have_common(place.loads, body.stored);
  }

  // The guards without which the place may be outside of its memory: those of the loops that say
  // which place. They can stand outside of the loop where they are the same in all steps, and
  // around all that it stores; nothing where they cannot.
  std::optional<std::vector<Halide::Expr>> guards_of_place(const OneStep& one, const Body& body,
                                                           const hi::For* loop) const {
    Names loops;
    for (const std::string& name : uses_of(one.place).variables) {
      if (around_.count(name) > 0) loops.insert(name);
    }
    const std::vector<Halide::Expr> of_all = guards_of_all(loop->body);
    Names changing = body.inside;
    changing.insert(loop->name);
    std::vector<Halide::Expr> guards;
    for (const Halide::Expr& guard : body.guards) {
      const FindUses uses = uses_of(guard);
      if (!have_common(uses.variables, loops)) continue;
      const bool is_of_all = std::any_of(
          of_all.begin(), of_all.end(), [&](const Halide::Expr& e) { return hi::equal(e, guard); });
      const bool changes =
          have_common(uses.variables, changing) || have_common(uses.loads, body.stored);
      if (!is_of_all || changes || !uses.is_known) return std::nullopt;
      guards.push_back(guard);
    }
    return guards;
  }

  Stmt only(const OneStep& one, const hi::For* loop) {
    const std::string name = hi::unique_name("place");
    const Halide::Expr place = hi::Variable::make(Halide::Int(32), name);
    const Halide::Expr begin = hi::simplify(one.first + loop->min);
    const Halide::Expr end = hi::simplify(one.first + loop->min + loop->extent);
    around_.insert(loop->name);
    const Stmt body = mutate(HoldsThere(one.equality).mutate(loop->body));
    around_.erase(loop->name);
    const Stmt step = hi::LetStmt::make(loop->name, place - one.first, body);
    Stmt result = hi::LetStmt::make(name, one.place,
                                    hi::IfThenElse::make(place >= begin && place < end, step));
    for (auto guard = one.guards.rbegin(); guard != one.guards.rend(); ++guard) {
      result = hi::IfThenElse::make(*guard, result);
    }
    return result;
  }

  int lanes_ = 0;  // loops that are about to become vectors, around
  Names around_;   // loops, whose names all differ
};

}  // namespace

Stmt one_step_loops(const Stmt& statement) { return OneStepLoops().mutate(statement); }

}  // namespace emulsion

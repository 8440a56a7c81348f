#include "backends/halide/odd_vectors.h"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

int next_power_of_two(int lanes) {
  int power = 1;
  while (power < lanes) power *= 2;
  return power;
}

Halide::Expr first_lanes_of(int lanes, int wide) {
  return hi::LT::make(hi::Ramp::make(0, 1, wide), hi::Broadcast::make(lanes, wide));
}

bool is_dense(const Halide::Expr& index) {
  const auto* ramp = index.as<hi::Ramp>();
  return ramp != nullptr && ramp->base.type().is_scalar() && hi::is_const_one(ramp->stride);
}

// Whether something is in the way of a vector of more lanes. `stored`: what is not loaded.
class FindObstacle : public hi::IRGraphVisitor {
 public:
  FindObstacle(int lanes, std::string stored) : lanes_(lanes), stored_(std::move(stored)) {}

  bool found = false;

 private:
  using hi::IRGraphVisitor::include;
  using hi::IRGraphVisitor::visit;

  void include(const Halide::Expr& e) override {
    if (found || e.type().is_scalar()) return;
    found = e.type().lanes() != lanes_;
    hi::IRGraphVisitor::include(e);
  }
  void visit(const hi::Broadcast* op) override { found = found || op->value.type().is_vector(); }
  void visit(const hi::Ramp* op) override { found = found || op->base.type().is_vector(); }
  void visit(const hi::Load* op) override {
    const bool is_whole = is_dense(op->index) && hi::is_const_one(op->predicate);
    found = found || !is_whole || op->name == stored_;
  }
  // The other lanes may divide by zero.
  void visit(const hi::Div* op) override { by_number(op); }
  void visit(const hi::Mod* op) override { by_number(op); }
  void visit(const hi::Let*) override { found = true; }
  void visit(const hi::Shuffle*) override { found = true; }
  void visit(const hi::VectorReduce*) override { found = true; }

  template <typename Quotient>
  void by_number(const Quotient* op) {
    found = found || !hi::is_const(op->b);
    hi::IRGraphVisitor::visit(op);
  }

  const int lanes_;
  const std::string stored_;
};

using Names = std::map<std::string, std::string>;

// A vector with more lanes, which hold anything, where nothing is in the way.
class Widen : public hi::IRMutator {
 public:
  // `wide`: of named vectors, what has as many lanes. `stack`: memory that LLVM keeps in registers.
  Widen(int lanes, const Names& wide, const std::set<std::string>& stack)
      : lanes_(lanes), wide_(next_power_of_two(lanes)), names_(wide), stack_(stack) {}

  Halide::Expr mutate(const Halide::Expr& e) override {
    return e.type().is_scalar() ? e : hi::IRMutator::mutate(e);
  }

 private:
  using hi::IRMutator::mutate;
  using hi::IRMutator::visit;

  Halide::Expr padded(const Halide::Expr& e) const {
    std::vector<int> lanes(static_cast<size_t>(wide_), 0);
    for (int lane = 0; lane < lanes_; ++lane) lanes[static_cast<size_t>(lane)] = lane;
    return hi::Shuffle::make({e}, lanes);
  }

  Halide::Expr visit(const hi::Broadcast* op) override {
    return hi::Broadcast::make(op->value, wide_);
  }
  Halide::Expr visit(const hi::Ramp* op) override {
    return hi::Ramp::make(op->base, op->stride, wide_);
  }
  Halide::Expr visit(const hi::Load* op) override {
    if (stack_.count(op->name) > 0) return padded(op);
    return hi::Load::make(op->type.with_lanes(wide_), op->name, mutate(op->index), op->image,
                          op->param, first_lanes_of(lanes_, wide_), op->alignment);
  }
  Halide::Expr visit(const hi::Variable* op) override {
    const auto found = names_.find(op->name);
    if (found == names_.end()) return padded(op);
    return hi::Variable::make(op->type.with_lanes(wide_), found->second);
  }
  Halide::Expr visit(const hi::Cast* op) override {
    return hi::Cast::make(op->type.with_lanes(wide_), mutate(op->value));
  }
  Halide::Expr visit(const hi::Reinterpret* op) override {
    return hi::Reinterpret::make(op->type.with_lanes(wide_), mutate(op->value));
  }
  Halide::Expr visit(const hi::Call* op) override {
    std::vector<Halide::Expr> args;
    for (const Halide::Expr& arg : op->args) args.push_back(mutate(arg));
    return hi::Call::make(op->type.with_lanes(wide_), op->name, args, op->call_type, op->func,
                          op->value_index, op->image, op->param);
  }

  const int lanes_, wide_;
  const Names& names_;
  const std::set<std::string>& stack_;
};

class OddVectors : public hi::IRMutator {
 public:
  OddVectors(const std::set<std::string>& names, int register_bits)
      : outputs_(names), register_bits_(register_bits) {}

 private:
  using hi::IRMutator::visit;

  // Of elements of 32 bits, and of four lanes, LLVM makes one vector by itself.
  bool is_odd(const Halide::Type& type) const {
    constexpr int kFewLanes = 4, kMostBits = 16;
    const int lanes = type.lanes(), wide = next_power_of_two(lanes);
    return lanes > kFewLanes && type.bits() <= kMostBits && wide != lanes &&
           wide * type.bits() <= register_bits_;
  }

  // What names stand in front of, if it is such a store of so many lanes; else null.
  const hi::Store* odd_store(const Stmt& statement, int lanes) const {
    const Stmt* rest = &statement;
    while (const auto* op = rest->as<hi::LetStmt>()) rest = &op->body;
    const auto* op = rest->as<hi::Store>();
    return op != nullptr && op->value.type().lanes() == lanes && is_odd_store(*op) ? op : nullptr;
  }

  bool is_odd_store(const hi::Store& op) const {
    const bool is_whole = is_dense(op.index) && hi::is_const_one(op.predicate);
    return outputs_.count(op.name) > 0 && is_whole && is_odd(op.value.type());
  }

  std::optional<Halide::Expr> widened(const Halide::Expr& e, const std::string& stored) const {
    FindObstacle obstacle(e.type().lanes(), stored);
    e.accept(&obstacle);
    if (obstacle.found) return std::nullopt;
    return Widen(e.type().lanes(), wide_, stack_).mutate(e);
  }

  Stmt visit(const hi::Allocate* op) override {
    const bool is_in_registers = op->memory_type == Halide::MemoryType::Stack;
    if (is_in_registers) stack_.insert(op->name);
    Stmt made = hi::IRMutator::visit(op);
    stack_.erase(op->name);
    return made;
  }

  // Both are there; LLVM leaves out what nothing uses.
  Stmt visit(const hi::LetStmt* op) override {
    const hi::Store* store = odd_store(op->body, op->value.type().lanes());
    if (store == nullptr) return hi::IRMutator::visit(op);
    const std::optional<Halide::Expr> wide = widened(op->value, store->name);
    if (!wide) return hi::IRMutator::visit(op);
    const std::string name = hi::unique_name(op->name);
    wide_[op->name] = name;
    const Stmt body = hi::LetStmt::make(name, *wide, mutate(op->body));
    wide_.erase(op->name);
    return hi::LetStmt::make(op->name, op->value, body);
  }

  Stmt visit(const hi::Store* op) override {
    if (!is_odd_store(*op)) return op;
    const int lanes = op->value.type().lanes(), wide = next_power_of_two(lanes);
    const std::optional<Halide::Expr> value = widened(op->value, op->name);
    if (!value) return op;
    const auto* ramp = op->index.as<hi::Ramp>();
    return hi::Store::make(op->name, *value, hi::Ramp::make(ramp->base, ramp->stride, wide),
                           op->param, first_lanes_of(lanes, wide), op->alignment);
  }

  const std::set<std::string>& outputs_;
  const int register_bits_;
  std::set<std::string> stack_;
  Names wide_;
};

}  // namespace

Stmt mask_odd_vectors(const Stmt& statement, const std::set<std::string>& names,
                      int register_bits) {
  return OddVectors(names, register_bits).mutate(statement);
}

}  // namespace emulsion

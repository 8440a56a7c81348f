#include "backends/halide/narrow_masks.h"

#include <set>
#include <string>

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

constexpr int kMostLanes = 64;  // i8 counts them

// Of a vector that is less than a register LLVM compares lanes that are none, too, and loads them
// where it merges such a mask and its load.
bool is_narrow(const Halide::Type& type) {
  constexpr int kRegister = 128;  // bits of the smallest
  return (type.bits() == 8 || type.bits() == 16) && type.bits() * type.lanes() >= kRegister;
}

// Whether it is a vector of neighbours.
const hi::Ramp* neighbours_in(const Halide::Expr& e) {
  const auto* ramp = hi::unwrap_tags(e).as<hi::Ramp>();
  const bool are = ramp != nullptr && hi::is_const_one(ramp->stride) && ramp->type.bits() == 32;
  return are ? ramp : nullptr;
}

const hi::Broadcast* same_in(const Halide::Expr& e) {
  const auto* same = hi::unwrap_tags(e).as<hi::Broadcast>();
  return same != nullptr && same->value.type().is_scalar() ? same : nullptr;
}

// Names of what is made of data.
using Names = std::set<std::string>;

bool is_of_data(const Halide::Expr& e, const Names& of_data) {
  struct Data : hi::IRVisitor {
    using hi::IRVisitor::visit;
    explicit Data(const Names& names) : names(names) {}
    const Names& names;
    bool any = false;

    void visit(const hi::Load* /*op*/) override { any = true; }
    void visit(const hi::Variable* op) override { any = any || names.count(op->name) > 0; }
  } data(of_data);
  e.accept(&data);
  return data.any;
}

class Conditions : public hi::IRMutator {
 public:
  Conditions(const Halide::Type& values, const Names& of_data)
      : type_(Halide::Int(values.bits())), of_data_(of_data) {}

 private:
  using hi::IRMutator::visit;

  // a < b, or, with `with_equal`, a <= b.
  Halide::Expr compared(const Halide::Expr& e, const Halide::Expr& a, const Halide::Expr& b,
                        bool with_equal) const {
    const hi::Ramp *before = neighbours_in(a), *behind = neighbours_in(b);
    const hi::Broadcast *begin = same_in(a), *end = same_in(b);
    const int lanes = a.type().lanes();  // others than the whole has where that is shuffled
    if (lanes == 1 || lanes > kMostLanes) return e;
    const Halide::Expr places = hi::Ramp::make(hi::make_zero(type_), hi::make_one(type_), lanes);
    if (before != nullptr && end != nullptr) {
      return places < count(end->value, before->base, with_equal ? 1 : 0, lanes);
    }
    if (begin != nullptr && behind != nullptr) {
      return count(begin->value, behind->base, with_equal ? 0 : 1, lanes) <= places;
    }
    return e;
  }

  // end - base + more, as far as there are lanes. Data may be any number: i32 does not hold the
  // difference of every two.
  Halide::Expr count(Halide::Expr end, Halide::Expr base, int more, int lanes) const {
    if (is_of_data(end, of_data_) || is_of_data(base, of_data_)) {
      end = hi::Cast::make(Halide::Int(64), end);
      base = hi::Cast::make(Halide::Int(64), base);
    }
    const Halide::Expr some = hi::simplify(max(min(end - base + more, lanes), 0));
    return hi::Broadcast::make(hi::Cast::make(type_, some), lanes);
  }

  Halide::Expr visit(const hi::LT* op) override { return compared(op, op->a, op->b, false); }
  Halide::Expr visit(const hi::LE* op) override { return compared(op, op->a, op->b, true); }
  Halide::Expr visit(const hi::GT* op) override { return compared(op, op->b, op->a, false); }
  Halide::Expr visit(const hi::GE* op) override { return compared(op, op->b, op->a, true); }

  const Halide::Type type_;
  const Names& of_data_;
};

class NarrowMasks : public hi::IRMutator {
  using hi::IRMutator::visit;

  Halide::Expr narrowed(const Halide::Expr& condition, const Halide::Type& values) const {
    const bool fits = is_narrow(values) && condition.type().lanes() == values.lanes();
    return fits ? Conditions(values, of_data_).mutate(condition) : condition;
  }

  Halide::Expr visit(const hi::Select* op) override {
    Halide::Expr made = hi::IRMutator::visit(op);
    const auto* select = made.as<hi::Select>();
    const Halide::Expr condition = narrowed(select->condition, op->type);
    if (condition.same_as(select->condition)) return made;
    return hi::Select::make(condition, select->true_value, select->false_value);
  }

  Halide::Expr visit(const hi::Load* op) override {
    Halide::Expr made = hi::IRMutator::visit(op);
    const auto* load = made.as<hi::Load>();
    const Halide::Expr mask = narrowed(load->predicate, load->type);
    if (mask.same_as(load->predicate)) return made;
    return hi::Load::make(load->type, load->name, load->index, load->image, load->param, mask,
                          load->alignment);
  }

  Stmt visit(const hi::Store* op) override {
    Stmt made = hi::IRMutator::visit(op);
    const auto* store = made.as<hi::Store>();
    const Halide::Expr mask = narrowed(store->predicate, store->value.type());
    if (mask.same_as(store->predicate)) return made;
    return hi::Store::make(store->name, store->value, store->index, store->param, mask,
                           store->alignment);
  }

  Stmt visit(const hi::LetStmt* op) override {
    if (is_of_data(op->value, of_data_)) of_data_.insert(op->name);
    return hi::IRMutator::visit(op);
  }
  Halide::Expr visit(const hi::Let* op) override {
    if (is_of_data(op->value, of_data_)) of_data_.insert(op->name);
    return hi::IRMutator::visit(op);
  }

  Names of_data_;
};

}  // namespace

Stmt narrow_masks(const Stmt& statement) { return NarrowMasks().mutate(statement); }

}  // namespace emulsion

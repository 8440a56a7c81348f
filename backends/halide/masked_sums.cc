#include "backends/halide/masked_sums.h"

#include <cstddef>
#include <string>
#include <vector>

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

// Where and under which mask the first of the statements stores.
class Place {
 public:
  explicit Place(const hi::Store& store) : store_(store) {}

  // Whether what is stored there changes neither.
  bool stays() const {
    return loads_nothing_else(store_.index, false) && loads_nothing_else(store_.predicate, false);
  }

  // Whether a statement stores there alone, and loads nothing else of that memory.
  bool is_of(const Stmt& statement) const {
    if (const auto* op = statement.as<hi::Store>()) {
      return op->name == store_.name && hi::equal(op->index, store_.index) &&
             hi::equal(op->predicate, store_.predicate) && loads_nothing_else(op->value);
    }
    if (const auto* op = statement.as<hi::Block>()) return is_of(op->first) && is_of(op->rest);
    if (const auto* op = statement.as<hi::LetStmt>()) {
      return loads_nothing_else(op->value) && is_of(op->body);
    }
    const auto* op = statement.as<hi::IfThenElse>();
    return op != nullptr && loads_nothing_else(op->condition) && is_of(op->then_case) &&
           (!op->else_case.defined() || is_of(op->else_case));
  }

  // Whether a load is of what is there.
  bool is_loaded_by(const hi::Load& load) const {
    return load.name == store_.name && load.type == store_.value.type() &&
           hi::equal(load.index, store_.index) && hi::equal(load.predicate, store_.predicate);
  }

 private:
  // Of that memory; `may_load_it`: what is there may be loaded.
  bool loads_nothing_else(const Halide::Expr& value, bool may_load_it = true) const {
    struct Loads : hi::IRGraphVisitor {
      using hi::IRGraphVisitor::visit;
      void visit(const hi::Load* op) override {
        hi::IRGraphVisitor::visit(op);
        const bool is_it = may_load_it && place->is_loaded_by(*op);
        holds = holds && (op->name != place->store_.name || is_it);
      }
      const Place* place = nullptr;
      bool may_load_it = true, holds = true;
    };
    Loads loads;
    loads.place = this;
    loads.may_load_it = may_load_it;
    value.accept(&loads);
    return loads.holds;
  }

  const hi::Store& store_;
};

// The same statements with memory of its own in the place of that.
class Kept : public hi::IRGraphMutator {
 public:
  Kept(const Place& place, const Halide::Type& type, const std::string& name)
      : place_(place), type_(type), name_(name) {}

  Halide::Expr loaded() const {
    return hi::Load::make(type_, name_, lanes(), {}, {}, hi::const_true(type_.lanes()), {});
  }
  Stmt stored(const Halide::Expr& value) const {
    return hi::Store::make(name_, value, lanes(), {}, hi::const_true(type_.lanes()), {});
  }

 private:
  using hi::IRGraphMutator::visit;

  Halide::Expr visit(const hi::Load* op) override {
    return place_.is_loaded_by(*op) ? loaded() : hi::IRGraphMutator::visit(op);
  }
  Stmt visit(const hi::Store* op) override { return stored(mutate(op->value)); }

  Halide::Expr lanes() const { return hi::Ramp::make(0, 1, type_.lanes()); }

  const Place& place_;
  const Halide::Type type_;
  const std::string name_;
};

class MaskedSums : public hi::IRMutator {
  using hi::IRMutator::visit;

  Stmt visit(const hi::Block* op) override {
    std::vector<Stmt> all, made;
    const hi::Block* block = op;
    for (; block->rest.as<hi::Block>(); block = block->rest.as<hi::Block>()) {
      all.push_back(block->first);
    }
    all.push_back(block->first);
    all.push_back(block->rest);
    bool same = true;
    for (size_t i = 0; i < all.size();) {
      const size_t end = end_of_sums(all, i);
      made.push_back(end > i + 1 ? kept(all, i, end) : mutate(all[i]));
      same = same && made.back().same_as(all[i]);
      i = end;
    }
    return same ? Stmt(op) : hi::Block::make(made);
  }

  // Behind the last of the statements that store where the one at `first` does.
  static size_t end_of_sums(const std::vector<Stmt>& all, size_t first) {
    const auto* store = all[first].as<hi::Store>();
    size_t end = first + 1;
    if (store == nullptr || hi::is_const_one(store->predicate)) return end;
    if (store->value.type().bits() < 8) return end;  // has no bytes of its own
    const Place place(*store);
    if (!place.stays() || !place.is_of(all[first])) return end;
    while (end < all.size() && place.is_of(all[end])) ++end;
    return end;
  }

  static Stmt kept(const std::vector<Stmt>& all, size_t first, size_t end) {
    const auto* store = all[first].as<hi::Store>();
    const Place place(*store);
    const Halide::Type type = store->value.type();
    const std::string name = hi::unique_name("kept");
    Kept sums(place, type, name);
    std::vector<Stmt> made = {sums.stored(store->value)};
    for (size_t i = first + 1; i < end; ++i) made.push_back(sums.mutate(all[i]));
    made.push_back(hi::Store::make(store->name, sums.loaded(), store->index, store->param,
                                   store->predicate, store->alignment));
    return hi::Allocate::make(name, type.element_of(), Halide::MemoryType::Stack, {type.lanes()},
                              hi::const_true(), hi::Block::make(made));
  }
};

}  // namespace

Stmt keep_masked_sums(const Stmt& statement) { return MaskedSums().mutate(statement); }

}  // namespace emulsion

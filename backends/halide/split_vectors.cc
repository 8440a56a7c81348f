#include "backends/halide/split_vectors.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/halide/scalar_ops.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

std::string name_of_part(const std::string& name, int part) {
  return name + ".part" + std::to_string(part);
}

constexpr char kLoaded[] = "loaded";
bool is_named_here(const std::string& name) { return name.rfind(kLoaded, 0) == 0; }

using Names = std::set<std::string>;
// What names stand for, in order; of what is loaded for shuffles, too.
using Named = std::vector<std::pair<std::string, Halide::Expr>>;

// One part of a vector: some neighbouring lanes. Scalars are the same in all parts.
class TakePart : public hi::IRMutator {
 public:
  // `split`: the names of vectors whose parts have names, too.
  TakePart(int part, int lanes, const Names& split, Named* loads)
      : part_(part), lanes_(lanes), split_(split), loads_(loads) {}

  // Whether it is better left whole: a part is shuffled out of more vectors than one instruction
  // takes, something has a name inside, which would be there once for each part, or a load has a
  // mask, which is for the partition of loops to see.
  bool is_better_whole() const { return is_better_whole_; }

  Halide::Expr mutate(const Halide::Expr& e) override {
    return e.type().is_scalar() ? e : hi::IRMutator::mutate(e);
  }

 private:
  using hi::IRMutator::mutate;
  using hi::IRMutator::visit;

  // Of what is not taken apart.
  Halide::Expr slice(const Halide::Expr& e) const {
    return hi::Shuffle::make_slice(e, part_ * lanes_, 1, lanes_);
  }
  Halide::Type part_of(const Halide::Type& type) const { return type.with_lanes(lanes_); }

  Halide::Expr visit(const hi::Broadcast* op) override {
    return op->value.type().is_scalar() ? hi::Broadcast::make(op->value, lanes_) : slice(op);
  }
  Halide::Expr visit(const hi::Ramp* op) override {
    if (op->base.type().is_vector()) return slice(op);
    const Halide::Expr first =
        op->base + hi::make_const(op->base.type(), part_ * lanes_) * op->stride;
    return hi::Ramp::make(hi::simplify(first), op->stride, lanes_);
  }
  Halide::Expr visit(const hi::Cast* op) override {
    return hi::Cast::make(part_of(op->type), mutate(op->value));
  }
  Halide::Expr visit(const hi::Reinterpret* op) override {
    if (op->value.type().lanes() != op->type.lanes()) return slice(op);
    return hi::Reinterpret::make(part_of(op->type), mutate(op->value));
  }
  Halide::Expr visit(const hi::Variable* op) override {
    if (split_.count(op->name) == 0) return slice(op);
    return hi::Variable::make(part_of(op->type), name_of_part(op->name, part_));
  }
  Halide::Expr visit(const hi::Load* op) override {
    is_better_whole_ = is_better_whole_ || !hi::is_const_one(op->predicate);
    return hi::Load::make(part_of(op->type), op->name, mutate(op->index), op->image, op->param,
                          mutate(op->predicate), {});
  }
  // A call for each lane.
  Halide::Expr visit(const hi::Call* op) override {
    std::vector<Halide::Expr> args;
    for (const Halide::Expr& arg : op->args) {
      if (arg.type().is_vector() && arg.type().lanes() != op->type.lanes()) return slice(op);
      args.push_back(mutate(arg));
    }
    if (is_fused_multiply_add(*op) && is_of_scalars(args[0])) std::swap(args[0], args[1]);
    return hi::Call::make(part_of(op->type), op->name, args, op->call_type, op->func,
                          op->value_index, op->image, op->param);
  }
  // LLVM makes one call of the calls for each lane again (scalar_ops.h). Which factor a value is of
  // it decides by the first lane and what the next ones have in common with it: of the same few
  // scalars in turn it mixes both.
  static bool is_of_scalars(const Halide::Expr& e) {
    const auto* shuffle = e.as<hi::Shuffle>();
    return shuffle != nullptr &&
           std::all_of(shuffle->vectors.begin(), shuffle->vectors.end(),
                       [](const Halide::Expr& from) { return from.type().is_scalar(); });
  }

  Halide::Expr visit(const hi::Let* op) override {
    is_better_whole_ = true;
    return slice(op);
  }
  Halide::Expr visit(const hi::VectorReduce* op) override { return slice(op); }

  Halide::Expr visit(const hi::Shuffle* op) override {
    std::vector<Halide::Expr> sources;
    std::vector<int> indices;
    int before = 0;  // lanes of the sources
    std::vector<int> first_lanes;
    for (int i = 0; i < lanes_; ++i) {
      auto [source, lane] = element(op, part_ * lanes_ + i);
      if (source.type().lanes() > lanes_ && source.type().lanes() % lanes_ == 0) {
        TakePart take(lane / lanes_, lanes_, split_, loads_);
        source = named(take.mutate(source));
        is_better_whole_ = is_better_whole_ || take.is_better_whole_;
        lane %= lanes_;
      }
      const auto same = std::find_if(sources.begin(), sources.end(),
                                     [&](const Halide::Expr& e) { return hi::equal(e, source); });
      const auto at = static_cast<size_t>(same - sources.begin());
      if (same == sources.end()) {
        sources.push_back(source);
        first_lanes.push_back(before);
        before += source.type().lanes();
      }
      indices.push_back(first_lanes[at] + lane);
    }
    const auto vectors = std::count_if(sources.begin(), sources.end(),
                                       [](const Halide::Expr& e) { return e.type().is_vector(); });
    const bool is_mixed = vectors > 0 && static_cast<size_t>(vectors) < sources.size();
    is_better_whole_ = is_better_whole_ || vectors > 2 || is_mixed;
    return hi::Shuffle::make(sources, indices);
  }

  Halide::Expr named(const Halide::Expr& e) {
    if (e.as<hi::Load>() == nullptr) return e;
    auto known = std::find_if(loads_->begin(), loads_->end(),
                              [&](const auto& one) { return hi::equal(one.second, e); });
    if (known == loads_->end()) known = loads_->insert(known, {hi::unique_name(kLoaded), e});
    return hi::Variable::make(e.type(), known->first);
  }

  // The vector or scalar that a lane of a shuffle is taken from, and the lane of it.
  static std::pair<Halide::Expr, int> element(const Halide::Expr& e, int lane) {
    if (const auto* same = e.as<hi::Broadcast>(); same && same->value.type().is_scalar()) {
      return {same->value, 0};
    }
    const auto* shuffle = e.as<hi::Shuffle>();
    if (shuffle == nullptr) return {e, lane};
    int rest = shuffle->indices[static_cast<size_t>(lane)];
    for (const Halide::Expr& from : shuffle->vectors) {
      if (rest < from.type().lanes()) return element(from, rest);
      rest -= from.type().lanes();
    }
    return {e, lane};
  }

  const int part_, lanes_;
  const Names& split_;
  Named* loads_;
  bool is_better_whole_ = false;
};

// How many lanes parts of such vectors have; 0 where it is no vector of several.
int lanes_of_part(const Halide::Type& type) {
  constexpr int kBits = 128;  // of the shortest registers
  const int lanes = type.lanes() & -type.lanes();
  const bool fills = lanes * type.bits() >= kBits;
  return fills && lanes < type.lanes() ? lanes : 0;
}

// Whether something is shuffled, or what is stored or loaded has one of the names.
struct FindShuffles : hi::IRVisitor {
  explicit FindShuffles(const Names& names) : names(names) {}
  using hi::IRVisitor::visit;

  void visit(const hi::Shuffle*) override { found = true; }
  void visit(const hi::Load* op) override {
    found = found || names.count(op->name) > 0;
    hi::IRVisitor::visit(op);
  }
  void visit(const hi::Store* op) override {
    found = found || names.count(op->name) > 0;
    hi::IRVisitor::visit(op);
  }

  const Names& names;
  bool found = false;
};

bool has_shuffles(const hi::Store* store, const Names& names = {}) {
  FindShuffles find(names);
  store->accept(&find);
  return find.found;
}

// What vectors that are shuffled, and have parts, are stored to.
struct ShuffledBuffers : hi::IRVisitor {
  using hi::IRVisitor::visit;

  void visit(const hi::Store* op) override {
    if (lanes_of_part(op->value.type()) > 0 && has_shuffles(op)) names.insert(op->name);
  }

  Names names;
};

struct FindStore : hi::IRVisitor {
  explicit FindStore(const std::string& name) : name(name) {}
  using hi::IRVisitor::visit;

  void visit(const hi::Store* op) override { found = found || op->name == name; }

  const std::string& name;
  bool found = false;
};

bool stores(const Stmt& statement, const std::string& name) {
  FindStore find(name);
  statement.accept(&find);
  return find.found;
}

std::vector<Stmt> list_of(const hi::Block* block) {
  std::vector<Stmt> list = {block->first};
  Stmt rest = block->rest;
  for (; const auto* more = rest.as<hi::Block>(); rest = more->rest) list.push_back(more->first);
  list.push_back(rest);
  return list;
}

class SplitVectors : public hi::IRMutator {
 public:
  explicit SplitVectors(Names shuffled) : shuffled_(std::move(shuffled)) {}

 private:
  using hi::IRMutator::visit;

  // What several statements load for shuffles is loaded once: of a vector that it sees few uses of
  // LLVM would load elements instead.
  Stmt visit(const hi::Block* op) override {
    std::vector<Stmt> list = list_of(op);
    std::vector<Named> loads(list.size());  // each for its statement and those behind
    bool has_changed = false;
    for (size_t i = 0; i < list.size(); ++i) {
      Stmt made = mutate(list[i]);
      has_changed = has_changed || !made.same_as(list[i]);
      list[i] = std::move(made);
      const auto* let = list[i].as<hi::LetStmt>();
      for (; let && is_named_here(let->name); let = list[i].as<hi::LetStmt>()) {
        const std::string name = same_load(let->value, list, loads, i);
        if (name.empty()) loads[i].emplace_back(let->name, let->value);
        list[i] =
            name.empty()
                ? let->body
                : hi::substitute(let->name, hi::Variable::make(let->value.type(), name), let->body);
      }
    }
    if (!has_changed) return op;
    Stmt result;
    for (size_t i = list.size(); i-- > 0;) {
      result = result.defined() ? hi::Block::make(list[i], result) : list[i];
      result = with(loads[i], result);
    }
    return result;
  }

  // The name of what one of the statements before loads from the same place, if nothing was stored
  // there since.
  static std::string same_load(const Halide::Expr& value, const std::vector<Stmt>& list,
                               const std::vector<Named>& loads, size_t at) {
    for (size_t i = at; i > 0; --i) {
      if (stores(list[i - 1], value.as<hi::Load>()->name)) break;
      for (const auto& [name, load] : loads[i - 1]) {
        if (hi::equal(load, value)) return name;
      }
    }
    return {};
  }

  Stmt visit(const hi::Store* op) override {
    const int lanes = lanes_of_part(op->value.type());
    const auto* ramp = op->index.as<hi::Ramp>();
    const bool is_dense = ramp != nullptr && hi::is_const_one(ramp->stride);
    if (lanes == 0 || !is_dense || !hi::is_const_one(op->predicate)) return op;
    if (!has_shuffles(op, shuffled_)) return op;
    // The names in front of the value are those of statements, then: of whole vectors and of parts.
    Halide::Expr value = op->value;
    Named named;
    Names split;
    for (const auto* let = value.as<hi::Let>(); let != nullptr; let = value.as<hi::Let>()) {
      named.emplace_back(let->name, let->value);
      if (let->value.type().lanes() == op->value.type().lanes()) {
        if (!add_parts(let->name, let->value, lanes, split, &named)) return op;
        split.insert(let->name);
      }
      value = let->body;
    }
    // All before the first is stored: they may read what is stored.
    const std::string name = hi::unique_name(op->name);
    if (!add_parts(name, value, lanes, split, &named)) return op;
    std::vector<Stmt> stores;
    for (int part = 0; part * lanes < value.type().lanes(); ++part) {
      const Halide::Expr index = hi::Ramp::make(hi::simplify(ramp->base + part * lanes), 1, lanes);
      const Halide::Expr made =
          hi::Variable::make(value.type().with_lanes(lanes), name_of_part(name, part));
      stores.push_back(
          hi::Store::make(op->name, made, index, op->param, hi::const_true(lanes), {}));
    }
    return with(named, hi::Block::make(stores));
  }
  Stmt visit(const hi::Atomic* op) override { return op; }

  // Adds the names of a value's parts, behind those of what they load; or finds that it is better
  // whole.
  static bool add_parts(const std::string& name, const Halide::Expr& value, int lanes,
                        const Names& split, Named* named) {
    Named loads;
    std::vector<Halide::Expr> parts;
    for (int part = 0; part * lanes < value.type().lanes(); ++part) {
      TakePart take(part, lanes, split, &loads);
      parts.push_back(take.mutate(value));
      if (take.is_better_whole()) return false;
    }
    named->insert(named->end(), loads.begin(), loads.end());
    for (size_t i = 0; i < parts.size(); ++i) {
      named->emplace_back(name_of_part(name, static_cast<int>(i)), parts[i]);
    }
    return true;
  }

  static Stmt with(const Named& named, Stmt body) {
    for (size_t i = named.size(); i-- > 0;) {
      body = hi::LetStmt::make(named[i].first, named[i].second, body);
    }
    return body;
  }

  const Names shuffled_;
};

}  // namespace

Stmt split_vectors(const Stmt& statement) {
  ShuffledBuffers shuffled;
  statement.accept(&shuffled);
  return SplitVectors(std::move(shuffled.names)).mutate(statement);
}

}  // namespace emulsion

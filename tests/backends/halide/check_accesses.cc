#include "tests/backends/halide/check_accesses.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "passes/index/index_table.h"
#include "tests/backends/halide/evaluate_halide.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

class LoadCollector : public hi::IRGraphVisitor {
 public:
  std::vector<EmittedLoad> loads;

 protected:
  using hi::IRGraphVisitor::visit;

  void visit(const hi::Load* op) override {
    loads.push_back({op->name, op->index, op->predicate, follows_from_variables(op->index)});
    hi::IRGraphVisitor::visit(op);
  }
};

struct Access {
  std::string memory;
  int64_t offset;
  bool operator<(const Access& other) const {
    return std::tie(memory, offset) < std::tie(other.memory, other.offset);
  }
};

class AccessCheck {
 public:
  AccessCheck(const EmittedPair& pair, size_t item, const std::vector<EmittedLoad>& loads,
              const EmittedPoint& point)
      : pair_(pair),
        item_(pair.wanted[item]),
        found_(pair.found[item]),
        uop_(*item_.uop),
        stage_(pair.nest.stage(uop_.stage)),
        store_(*found_.statement.as<hi::Store>()),
        loads_(loads),
        point_(point) {}

  bool check() {
    bool stores = true, loads = true;
    for (const Guard& guard : uop_.guards) {
      if (evaluate_index(guard.condition, point_.nest) != 0) continue;
      stores = stores && guard.mask == GuardMask::loads;
      loads = loads && guard.mask == GuardMask::stores;
    }
    bool inside = true;
    for (const Halide::Expr& guard : found_.guards) inside = inside && value(guard) != 0;
    const bool stored = inside && value(store_.predicate) != 0;
    expect(stored == stores, "the nest's guards {}, those of the store {}",
           stores ? "hold" : "do not hold", stored ? "hold" : "do not");
    const std::map<std::string, int64_t> axes = axis_values(pair_.nest, uop_, point_.nest);
    if (stores) check_store(axes);
    if (inside) {
      check_loads(axes, loads);
    } else {
      expect(!loads, "the nest loads, and the statement does nothing");
    }
    return stores;
  }

 private:
  int64_t value(const Halide::Expr& e) const { return evaluate_halide(e, point_.halide); }

  const Region& region(const std::string& buffer) {
    auto found = regions_.find(buffer);
    if (found != regions_.end()) return found->second;
    return regions_.emplace(buffer, region_of(pair_, item_, buffer, point_)).first->second;
  }

  void check_store(const std::map<std::string, int64_t>& axes) {
    const Region& target = region(stage_.name);
    std::vector<int64_t> index;
    for (const Axis& axis : stage_.axes) index.push_back(axes.at(axis.name()));
    expect(store_.name == target.memory, "a store to {}, expected {}", store_.name, target.memory);
    expect(target.holds(index), "the nest writes [{}], which is not there", fmt::join(index, ", "));
    const int64_t offset = target.offset(index), found = value(store_.index);
    expect(offset == found, "expected a store at offset {}, got {}", offset, found);
    if (uop_.part == Part::update) wanted_.insert({target.memory, offset});
  }

  // `wanted`: the nest's guards of its loads hold.
  void check_loads(const std::map<std::string, int64_t>& axes, bool wanted) {
    std::set<std::string> anywhere;  // memory that is also read where only data decide, or clamped
    if (uop_.part != Part::init) {
      visit(body_of(stage_, uop_), [&](const Expr& e) {
        if (e->op == ExprOp::read) add_read(e.node(), axes, &anywhere);
      });
    }
    std::set<Access> found;
    for (const EmittedLoad& load : loads_) {
      if (!load.known) {
        expect(anywhere.count(load.memory) > 0, "a load from {} that data decide", load.memory);
        continue;
      }
      const int64_t offset = value(load.index);
      const bool predicate = value(load.predicate) != 0;
      expect(predicate == wanted, "the nest's guards of its loads {}, those of a load from {} {}",
             wanted ? "hold" : "do not hold", load.memory, predicate ? "hold" : "do not");
      if (!predicate) continue;
      check_inside(load.memory, offset);
      expect(wanted_.count({load.memory, offset}) > 0 || anywhere.count(load.memory) > 0,
             "a load from {} at offset {}, which the nest does not read", load.memory, offset);
      found.insert({load.memory, offset});
    }
    if (!wanted) return;
    for (const Access& access : wanted_) {
      expect(found.count(access) > 0, "expected a load from {} at offset {}, got none",
             access.memory, access.offset);
    }
  }

  void add_read(const ExprNode& read, const std::map<std::string, int64_t>& axes,
                std::set<std::string>* anywhere) {
    const Buffer& buffer = pair_.nest.buffer(read.name);
    if (buffer.role == BufferRole::constant && buffer.data && buffer.data->empty()) return;
    const Region& from = region(read.name);
    memory_elements_[from.memory] = from.elements;
    if (!std::all_of(read.args.begin(), read.args.end(), is_index)) {
      anywhere->insert(from.memory);
      return;
    }
    const std::vector<int64_t> index = values_of(read.args, axes);
    if (from.holds(index) && from.is_of_buffer(index)) {
      wanted_.insert({from.memory, from.offset(index)});
    } else {
      anywhere->insert(from.memory);
    }
  }

  // Of an argument without elements, the first one is there.
  void check_inside(const std::string& memory, int64_t offset) {
    auto elements = memory_elements_.find(memory);
    const int64_t count =
        elements == memory_elements_.end() ? region(stage_.name).elements : elements->second;
    expect(offset >= 0 && offset < std::max<int64_t>(1, count),
           "a load from {} at offset {} of {} elements", memory, offset, count);
  }

  const EmittedPair& pair_;
  const NestItem& item_;
  const StatementItem& found_;
  const UopNode& uop_;
  const Stage& stage_;
  const hi::Store& store_;
  const std::vector<EmittedLoad>& loads_;
  const EmittedPoint& point_;
  std::map<std::string, Region> regions_;
  std::map<std::string, int64_t> memory_elements_;
  std::set<Access> wanted_;  // loads
};

}  // namespace

std::vector<EmittedLoad> loads_of(const hi::Store& store) {
  LoadCollector collector;
  store.value.accept(&collector);
  return collector.loads;
}

bool check_accesses(const EmittedPair& pair, size_t item, const std::vector<EmittedLoad>& loads,
                    const EmittedPoint& point) {
  return AccessCheck(pair, item, loads, point).check();
}

}  // namespace emulsion

#include "passes/nest/end_at_domains.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "dsl/affine.h"
#include "passes/index/index_interval.h"
#include "passes/index/simplify_index.h"
#include "passes/nest/end_guarded_loops.h"
#include "passes/nest/end_vectors.h"
#include "passes/nest/loop_steps.h"
#include "passes/nest/read_indices.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

// An axis of a stage: its name, and the position of the axis.
using StageAxis = std::pair<std::string, size_t>;

// Loops over an axis whose last steps may be beyond its domain.
struct Ending {
  Expr index;  // of the axis, in loop variables
  Expr extent;
  Expr steps;  // how many of them are in the domain, over run-time sizes
  // Of a number of them: from which step of the loop around them on there are no more in it.
  std::optional<Expr> from = std::nullopt;

  bool operator==(const Ending& other) const {
    const bool same_from = from && other.from ? equal(*from, *other.from) : !from && !other.from;
    return same_from && equal(index, other.index) && equal(extent, other.extent) &&
           equal(steps, other.steps);
  }
};
using Endings = std::map<StageAxis, Ending>;
using GuardedEnds = std::map<std::string, GuardedEnd>;

std::optional<StageAxis> axis_of(const LoopNest& nest, const Loop& loop) {
  const std::optional<size_t> axis = untransformed_axis(nest, loop);
  return axis ? std::optional(StageAxis(loop.stage, *axis)) : std::nullopt;
}

// Whether they are sums of the same terms, in whatever order.
bool same_index(const Expr& a, const Expr& b) {
  const auto apart = interval_of(a - b, [](const std::string&) { return std::nullopt; });
  return apart && apart->fixed.empty() && apart->low == Extent(0) && apart->high == Extent(0);
}

// Which loops are to end earlier, and after how many steps: those of vectors after a multiple of
// `lanes`, unrolled ones of sums in registers after a part of their rows, and serial ones wherever
// the domain ends.
enum class Rows : uint8_t { all_but_one, half, one };
struct Wanted {
  LoopKind kind = LoopKind::serial;
  int64_t lanes = 1;
  Rows rows = Rows::one;

  int64_t kept(int64_t all) const {
    if (kind != LoopKind::unrolled) return (all + 2 * lanes - 1) / (2 * lanes) * lanes;
    if (rows == Rows::one) return 1;
    return std::max<int64_t>(1, rows == Rows::half ? all / 2 : all - 1);
  }
};

// The loops that may end earlier, and those that take one step.
class LoopFinder : public NestVisitor {
 public:
  LoopFinder(const LoopNest& nest, const std::string& variable, const Expr& step,
             const Wanted& wanted = {})
      : nest_(nest), variable_(variable), step_(step), wanted_(wanted) {}

  Endings find(const Node& body) {
    walk(body);
    for (const StageAxis& one : others_) endings_.erase(one);
    return std::move(endings_);
  }
  std::set<std::string> take_one_step() { return std::move(take_one_step_); }
  // The stages of loops that end, whose values are in registers.
  std::set<std::string> in_registers() { return std::move(in_registers_); }

 private:
  void visit_alloc(const Alloc& alloc) override {
    allocs_[alloc.stage] = &alloc;
    NestVisitor::visit_alloc(alloc);
    allocs_.erase(alloc.stage);
  }

  void visit_loop(const Loop& loop) override {
    const bool from_start = constant_value(loop.min) == 0;
    if (from_start && constant_value(loop.extent) == 1) take_one_step_.insert(loop.variable());
    if (const std::optional<StageAxis> axis = axis_of(nest_, loop)) {
      const auto ending = ending_of(loop, axis->second);
      const auto known = endings_.find(*axis);
      const bool same = known == endings_.end() || (ending && known->second == *ending);
      if (ending && same) endings_.emplace(*axis, *ending);
      if (ending && allocs_.at(loop.stage)->memory == Memory::registers) {
        in_registers_.insert(loop.stage);
      }
      if (!ending || !same) others_.insert(*axis);
    }
    NestVisitor::visit_loop(loop);
  }

  std::optional<Ending> ending_of(const Loop& loop, size_t axis) const {
    const auto alloc = allocs_.find(loop.stage);
    const bool plain = loop.kind == wanted_.kind && loop.shared.empty() && !loop.partition &&
                       constant_value(loop.min) == 0;
    if (alloc == allocs_.end() || !plain || has_grid(loop.stage)) return std::nullopt;
    const Expr& min = alloc->second->mins[axis];
    const Expr at_step = simplify_index(substitute_axes(
        min, [&](const std::string& name) { return name == variable_ ? step_ : Expr(); }));
    if (depends_on_loops(at_step)) return std::nullopt;
    if (wanted_.kind != LoopKind::serial) return ending_at_number(loop, axis, min);
    const Expr steps = steps_left(nest_.stage(loop.stage).axes[axis].extent(), at_step);
    if (at_least(steps, loop.extent)) return std::nullopt;
    return Ending{simplify_index(min + axis_value(loop.variable())), loop.extent, steps};
  }

  // The domain is extent long: of steps that start at factor * v + offset no more than `kept` are
  // in it where factor * v >= extent - offset - kept.
  std::optional<Ending> ending_at_number(const Loop& loop, size_t axis, const Expr& min) const {
    const std::optional<int64_t> all = constant_value(loop.extent);
    const std::optional<Affine> start = affine_of(min);
    if (!all || !start || start->coefficients.size() != 1) return std::nullopt;
    const auto& [name, factor] = *start->coefficients.begin();
    const int64_t kept = wanted_.kept(*all);
    if (name != variable_ || factor < 1 || kept >= *all) return std::nullopt;
    const Extent past = nest_.stage(loop.stage).axes[axis].extent() - start->offset - Extent(kept);
    return Ending{simplify_index(min + axis_value(loop.variable())), loop.extent,
                  int_constant(kept), floor_of(past + Extent(factor - 1), factor)};
  }

  // A grid counts all the tiles of its stages.
  bool has_grid(const std::string& stage) const {
    return std::any_of(nest_.tile_grids.begin(), nest_.tile_grids.end(), [&](const TileGrid& grid) {
      return grid.stage == stage || grid.result == stage;
    });
  }

  const LoopNest& nest_;
  const std::string& variable_;
  const Expr& step_;
  const Wanted wanted_;
  std::map<std::string, const Alloc*> allocs_;  // around the node at hand
  Endings endings_;
  std::set<StageAxis> others_;  // with loops that cannot end earlier
  std::set<std::string> take_one_step_, in_registers_;
};

// Takes out those that somebody may read beyond their domain.
class ReadChecker : public NestVisitor {
 public:
  ReadChecker(const LoopNest& nest, const std::set<std::string>& take_one_step,
              const GuardedEnds& guarded, Endings* endings)
      : nest_(nest), take_one_step_(take_one_step), guarded_(guarded), endings_(*endings) {}

  // False when there were none.
  bool takes_some_out(const Node& body) {
    const size_t before = endings_.size();
    walk(body);
    return endings_.size() < before;
  }

 private:
  void visit_loop(const Loop& loop) override {
    loops_.push_back(&loop);
    NestVisitor::visit_loop(loop);
    loops_.pop_back();
  }

  void visit_window(const WindowNode& window) override {
    take_out(window.stage);  // what it keeps, a later step may read
    NestVisitor::visit_window(window);
  }

  void visit_uop(const UopNode& uop) override {
    if (uop.part == Part::init) return;
    const Stage& stage = nest_.stage(uop.stage);
    visit(body_of(stage, uop), [&](const Expr& read) {
      if (read->op != ExprOp::read) return;
      for (auto ending = endings_.begin(); ending != endings_.end();) {
        const auto& [name, axis] = ending->first;
        const bool stays = read->name != name ||
                           is_in_domain(uop, stage, read->args[axis],
                                        nest_.stage(name).axes[axis].extent(), ending->second);
        ending = stays ? std::next(ending) : endings_.erase(ending);
      }
    });
  }

  void take_out(const std::string& stage) {
    for (auto ending = endings_.begin(); ending != endings_.end();) {
      ending = ending->first.first == stage ? endings_.erase(ending) : std::next(ending);
    }
  }

  // Whether an index that a uOp reads at is below `extent` wherever it runs: as one of the loops
  // around it that end, as a guard says, or by its own clamp. Or whether it ends at the same
  // element as the loop that computes what is read, which is `computed`.
  bool is_in_domain(const UopNode& uop, const Stage& stage, const Expr& index, const Extent& extent,
                    const Ending& computed) const {
    const Expr domain = extent_value(extent);
    const std::map<std::string, Expr> point = point_of(stage, uop);
    const Expr at =
        in_loops(substitute_axes(index, [&](const std::string& axis) { return point.at(axis); }));
    if (at->op == ExprOp::min) {
      const Expr last = extent_value(extent - Extent(1));
      if (at_least(last, at->args[0]) || at_least(last, at->args[1])) return true;
    }
    for (const Loop* loop : loops_) {
      const auto guarded = guarded_.find(loop->variable());
      if (guarded != guarded_.end() && same_index(in_loops(guarded->second.index), at) &&
          at_least(domain, guarded->second.extent)) {
        return true;
      }
      const std::optional<StageAxis> axis = axis_of(nest_, *loop);
      const auto ending = axis ? endings_.find(*axis) : endings_.end();
      if (ending == endings_.end() || !same_index(in_loops(ending->second.index), at)) continue;
      if (ending->second.from) {  // the last lanes of a vector may be beyond the domain
        if (computed.from && equal(*ending->second.from, *computed.from)) return true;
        continue;
      }
      const Axis& of = nest_.stage(loop->stage).axes[axis->second];
      if (at_least(domain, extent_value(of.extent()))) return true;
    }
    return std::any_of(uop.guards.begin(), uop.guards.end(), [&](const Guard& guard) {
      const Expr& condition = guard.condition;
      return guard.mask != GuardMask::stores && condition->op == ExprOp::lt &&
             same_index(in_loops(condition->args[0]), at) && at_least(domain, condition->args[1]);
    });
  }

  // In terms of the loops that take more than one step.
  Expr in_loops(const Expr& index) const {
    return simplify_index(substitute_axes(index, [&](const std::string& variable) {
      return take_one_step_.count(variable) ? int_constant(0) : Expr();
    }));
  }

  const LoopNest& nest_;
  const std::set<std::string>& take_one_step_;
  const GuardedEnds& guarded_;
  Endings& endings_;
  std::vector<const Loop*> loops_;  // around the uOp at hand
};

class LoopEnder : public NestMutator {
 public:
  LoopEnder(const LoopNest& nest, const Endings& endings, const GuardedEnds& guarded = {})
      : nest_(nest), endings_(endings), guarded_(guarded) {}

 private:
  NodePtr mutate_loop(const NodePtr& node, const Loop& loop) override {
    const std::optional<StageAxis> axis = axis_of(nest_, loop);
    const auto ending = axis ? endings_.find(*axis) : endings_.end();
    const auto guarded = guarded_.find(loop.variable());
    const bool ends = ending != endings_.end();
    if (!ends && guarded == guarded_.end()) return mutate_inside(node);
    Loop made = loop;
    made.extent = least_of(ends ? ending->second.steps : guarded->second.steps, loop.extent);
    return mutate_inside(make_node(std::move(made)));
  }

  const LoopNest& nest_;
  const Endings& endings_;
  const GuardedEnds guarded_;
};

// Without those that somebody may read beyond their domain. A reader is in its domain where its own
// loops end there: as long as any has to go on.
void check_readers(const LoopNest& nest, const NodePtr& body,
                   const std::set<std::string>& take_one_step, const GuardedEnds& guarded,
                   Endings* endings) {
  while (!endings->empty() &&
         ReadChecker(nest, take_one_step, guarded, endings).takes_some_out(*body)) {
  }
}

// The lanes of the shortest vectors; nothing where there are none.
std::optional<int64_t> shortest_vector(const NodePtr& body) {
  std::optional<int64_t> shortest;
  for_each_node(*body, [&](const Node& node) {
    const Loop* loop = node.as<Loop>();
    if (loop == nullptr || loop->kind != LoopKind::vectorized) return;
    const int64_t lanes = constant_value(loop->extent).value_or(1);
    shortest = std::min(shortest.value_or(lanes), lanes);
  });
  return shortest;
}

}  // namespace

namespace {

Endings endings_in(const LoopNest& nest, const NodePtr& body, const std::string& variable,
                   const Expr& step, const GuardedEnds& guarded,
                   const std::map<std::string, size_t>& masked = {}) {
  LoopFinder finder(nest, variable, step);
  Endings endings = finder.find(*body);
  // What vectors leave out nobody may read either.
  const Expr none = int_constant(0);
  for (const auto& [stage, axis] : masked) endings.insert({{stage, axis}, {none, none, none}});
  check_readers(nest, body, finder.take_one_step(), guarded, &endings);
  return endings;
}

struct Ended {
  size_t loops = 0;  // how many end earlier
  NodePtr body;
};

// The same with masks on vectors, where more loops end for these; nothing where none do.
std::optional<Ended> end_with_vectors(const LoopNest& nest, const NodePtr& body,
                                      const std::string& variable, const Expr& step,
                                      const GuardedEnds& guarded, size_t without) {
  std::set<std::string> whole;
  while (true) {
    const EndedVectors vectors = end_vectors(nest, body, variable, step, whole);
    if (vectors.masked.empty()) return std::nullopt;
    Endings endings = endings_in(nest, vectors.body, variable, step, guarded, vectors.masked);
    const size_t known = whole.size();
    for (const auto& [stage, axis] : vectors.masked) {
      if (endings.erase({stage, axis}) == 0) whole.insert(stage);
    }
    if (whole.size() > known) continue;
    if (endings.size() <= without) return std::nullopt;
    return Ended{endings.size(), LoopEnder(nest, endings, guarded).mutate(vectors.body)};
  }
}

Ended end_with(const LoopNest& nest, const NodePtr& body, const std::string& variable,
               const Expr& step, const GuardedEnds& guarded) {
  const Endings endings = endings_in(nest, body, variable, step, guarded);
  const size_t loops = endings.size();
  if (auto more = end_with_vectors(nest, body, variable, step, guarded, loops)) return *more;
  return {loops, loops == 0 ? body : LoopEnder(nest, endings, guarded).mutate(body)};
}

}  // namespace

NodePtr end_at_domains(const LoopNest& nest, const NodePtr& body, const std::string& variable,
                       const Expr& step) {
  const Ended plain = end_with(nest, body, variable, step, {});
  const GuardedEnds guarded = guarded_ends(body, variable, step);
  if (guarded.empty()) return plain.body;
  const Ended more = end_with(nest, body, variable, step, guarded);
  return more.loops > plain.loops ? more.body : plain.body;
}

namespace {

std::optional<ShorterLoops> shorten(const LoopNest& nest, const NodePtr& body,
                                    const std::string& variable, const Expr& step,
                                    const Wanted& wanted) {
  LoopFinder finder(nest, variable, step, wanted);
  Endings endings = finder.find(*body);
  check_readers(nest, body, finder.take_one_step(), {}, &endings);
  const std::set<std::string> in_registers = finder.in_registers();
  const bool pays = wanted.kind != LoopKind::unrolled ||
                    std::any_of(endings.begin(), endings.end(), [&](const auto& ending) {
                      return in_registers.count(ending.first.first) > 0;
                    });
  if (endings.empty() || !pays) return std::nullopt;
  const Expr from = *endings.begin()->second.from;
  for (auto ending = endings.begin(); ending != endings.end();) {
    ending = equal(*ending->second.from, from) ? std::next(ending) : endings.erase(ending);
  }
  return ShorterLoops{from, LoopEnder(nest, endings).mutate(body)};
}

}  // namespace

std::optional<ShorterLoops> shorten_vectors(const LoopNest& nest, const NodePtr& body,
                                            const std::string& variable, const Expr& step) {
  const std::optional<int64_t> lanes = shortest_vector(body);
  if (!lanes || *lanes < 1) return std::nullopt;
  return shorten(nest, body, variable, step, {LoopKind::vectorized, *lanes});
}

std::vector<ShorterLoops> shorten_rows(const LoopNest& nest, const NodePtr& body,
                                       const std::string& variable, const Expr& step) {
  std::vector<ShorterLoops> shorter;
  for (const Rows rows : {Rows::all_but_one, Rows::half, Rows::one}) {
    auto fewer = shorten(nest, body, variable, step, {LoopKind::unrolled, 1, rows});
    if (fewer) shorter.push_back(*std::move(fewer));
  }
  return shorter;
}

}  // namespace emulsion

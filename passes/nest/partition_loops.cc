#include "passes/nest/partition_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "dsl/affine.h"
#include "dsl/error.h"
#include "dsl/stack_room.h"
#include "passes/index/index_interval.h"
#include "passes/index/relax_clamps.h"
#include "passes/index/simplify_index.h"
#include "passes/nest/end_at_domains.h"
#include "passes/nest/loop_steps.h"
#include "passes/nest/prefetch_box.h"
#include "passes/nest/read_indices.h"
#include "passes/nest/split_choices.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

// An index without the clamps around it.
struct Unclamped {
  Expr index;
  bool is_low_enough = false, is_high_enough = false;  // inside the buffer, by one of the clamps
};

Unclamped unclamped(const Expr& index, const Extent& buffer) {
  Unclamped result{index};
  while (const std::optional<Clamp> clamp = clamp_of(result.index)) {
    bool& is_enough = clamp->is_most ? result.is_low_enough : result.is_high_enough;
    const Extent spare = clamp->is_most ? buffer - clamp->bound - Extent(1) : clamp->bound;
    is_enough = is_enough || never_negative(spare);
    result.index = clamp->value;
  }
  return result;
}

// Whether an index is inside a buffer of that extent where none of the clamps around it does
// anything. The index with its clamps may be outside: the buffer may be empty.
bool is_inside_unclamped(const Expr& index, const Extent& buffer, const AxisExtents& domain) {
  const Unclamped free = unclamped(index, buffer);
  const std::optional<Interval> values = interval_within(free.index, domain);
  const bool is_known = values && values->fixed.empty();
  return (free.is_low_enough || (is_known && never_negative(buffer - Extent(1) - values->high))) &&
         (free.is_high_enough || (is_known && never_negative(values->low)));
}

// Between which places an index is where none of the clamps in it does anything; nothing of an end
// that nobody knows.
struct Ends {
  std::optional<Extent> low, high;
};

// Nothing of what is too large for sums and products of it to be computed.
std::optional<Extent> small(const Extent& e) {
  constexpr int64_t kMost = int64_t{1} << 31;
  const auto is_small = [](int64_t value) { return -kMost <= value && value <= kMost; };
  const auto& terms = e.coefficients();
  const bool all = std::all_of(terms.begin(), terms.end(),
                               [&](const auto& term) { return is_small(term.second); });
  return all && is_small(e.constant_term()) ? std::optional(e) : std::nullopt;
}

Ends times(const Ends& ends, int64_t factor) {
  const auto scaled = [&](const std::optional<Extent>& end) {
    return end ? small(*end * Extent(factor)) : std::nullopt;
  };
  const Ends result{scaled(ends.low), scaled(ends.high)};
  return factor < 0 ? Ends{result.high, result.low} : result;
}

// `left`: how many more parts are looked at. What is shared in an index may be there many times.
Ends ends_without_clamps(const Expr& index, const AxisExtents& domain, int64_t* left) {
  if (--*left < 0) return {};
  const auto ends_of = [&](const Expr& part) { return ends_without_clamps(part, domain, left); };
  if (const std::optional<Clamp> clamp = clamp_of(index)) {
    Ends ends = ends_of(clamp->value);
    (clamp->is_most ? ends.high : ends.low) = small(clamp->bound);
    return ends;
  }
  if (index->op == ExprOp::add || index->op == ExprOp::sub) {
    const Ends a = ends_of(index->args[0]);
    const Ends b = times(ends_of(index->args[1]), index->op == ExprOp::add ? 1 : -1);
    const auto sum = [](const std::optional<Extent>& x, const std::optional<Extent>& y) {
      return x && y ? small(*x + *y) : std::nullopt;
    };
    return {sum(a.low, b.low), sum(a.high, b.high)};
  }
  if (index->op == ExprOp::mul) {
    for (const size_t i : {0, 1}) {
      const std::optional<int64_t> factor = constant_value(index->args[i]);
      if (factor) return times(ends_of(index->args[1 - i]), *factor);
    }
  }
  const std::optional<Interval> values = interval_within(index, domain);
  if (!values || !values->fixed.empty()) return {};
  return {small(values->low), small(values->high)};
}

bool has_clamps(const Expr& index) {
  return any_part(index, [](const Expr& e) { return clamp_of(e).has_value(); });
}

// A sum of clamped indices, as the clamps of several axes make it: the same.
bool is_sum_inside_unclamped(const Expr& index, const Extent& buffer, const AxisExtents& domain) {
  if (clamp_of(index) || !has_clamps(index)) return false;
  int64_t most = 256;
  const Ends ends = ends_without_clamps(index, domain, &most);
  return ends.low && ends.high && never_negative(*ends.low) &&
         never_negative(buffer - Extent(1) - *ends.high);
}

// Rewrites what is inside one loop as if no guard and no clamp were needed there, and finds for
// which of its steps that is right.
class Interior : public NestMutator {
 public:
  Interior(const LoopNest& nest, const std::vector<const Loop*>& around, const Loop& loop)
      : steps(loop.variable(), &ranges_), nest_(nest), own_(range_of(loop)) {
    for (const Loop* outer : around) ranges_.insert_or_assign(outer->variable(), range_of(*outer));
  }

  SparedSteps steps;

 private:
  NodePtr mutate_loop(const NodePtr& node, const Loop& loop) override {
    ranges_.insert_or_assign(loop.variable(), range_of(loop));
    NodePtr result = mutate_inside(node);
    ranges_.erase(loop.variable());
    return result;
  }

  NodePtr mutate_uop(const NodePtr& node, const UopNode& uop) override {
    UopNode made = uop;
    made.guards.clear();
    for (const Guard& guard : uop.guards) {
      if (!holds(guard.condition)) made.guards.push_back(guard);
    }
    bool same = made.guards.size() == uop.guards.size();
    for (Expr& index : made.point) {
      Expr simpler = mutate_expr(index);
      same = same && simpler.same_as(index);
      index = std::move(simpler);
    }
    if (uop.part != Part::init) {
      const Expr& body = body_of(nest_.stage(uop.stage), uop);
      Expr simpler = body_without_clamps(body, uop);
      if (!simpler.same_as(body)) {
        made.body = std::move(simpler);
        same = false;
      }
    }
    return same ? node : make_node(std::move(made));
  }

  Expr mutate_expr(const Expr& expr) override { return steps.without_clamps(expr); }

  // The body of a uOp. Only indices that are proved to be inside their buffer lose their clamps,
  // before or where these do nothing: whoever runs it relies on that, and clamps the others.
  Expr body_without_clamps(const Expr& body, const UopNode& uop) {
    const Stage& stage = nest_.stage(uop.stage);
    const AxisExtents domain = domain_of(stage);
    const std::map<std::string, Expr> point = point_of(stage, uop);
    const auto in_loops = [&](const Expr& e) {
      return mutate_expr(
          substitute_axes(e, [&](const std::string& axis) { return point.at(axis); }));
    };
    const Expr chosen = with_conditions(
        body, [&](const Expr& condition) { return steps.without_clamps(condition, in_loops); });
    return with_indices(chosen, [&](const Expr& read) {
      const Shape& shape = nest_.buffer(read->name).shape;
      std::vector<Expr> indices = read->args;
      for (size_t d = 0; d < indices.size(); ++d) {
        const bool is_inside = proves_in_bounds(indices[d], shape[d], domain);
        if (!is_inside && is_sum_inside_unclamped(indices[d], shape[d], domain)) {
          SparedSteps fewer = steps;
          const Expr free = fewer.without_clamps(indices[d], in_loops);
          if (has_clamps(free)) continue;
          steps = fewer;
          indices[d] = free;
          continue;
        }
        if (is_inside) {
          indices[d] = steps.between_ends(indices[d], in_loops, own_);
        } else if (is_inside_unclamped(indices[d], shape[d], domain)) {
          SparedSteps fewer = steps;
          const Expr free = fewer.between_ends(indices[d], in_loops, own_);
          if (!free.same_as(unclamped(free, shape[d]).index)) continue;
          steps = fewer;
          indices[d] = free;
        }
      }
      return indices;
    });
  }

  // Guards are all `index < extent` (map_point.cc).
  bool holds(const Expr& condition) {
    if (condition->op != ExprOp::lt) return false;
    const Expr a = mutate_expr(condition->args[0]), b = mutate_expr(condition->args[1]);
    return steps.restrict_to(b - a - int_constant(1));
  }

  const LoopNest& nest_;
  const Range own_;                      // of the loop
  std::map<std::string, Range> ranges_;  // of the other loops
};

class Partitioner : public NestMutator {
 public:
  // `asked`: whether a loop is to be partitioned.
  Partitioner(const LoopNest& nest, std::function<bool(const Loop&)> asked)
      : nest_(nest), asked_(std::move(asked)) {}

 private:
  struct Parts {
    std::optional<Loop> first_edge;
    Loop interior;
    std::vector<Loop> last_edges;
  };

  NodePtr mutate_loop(const NodePtr& node, const Loop& loop) override {
    const bool in_order = loop.kind == LoopKind::serial || loop.kind == LoopKind::parallel;
    const bool may_be_cut = !in_edge_ || is_innermost_sum(loop);
    if (!in_order || !asked_(loop) || !may_be_cut) return with_inside(node, loop);
    Block block;
    for (const LoopPiece& piece : split_at_choices(nest_, around_, loop)) {
      add_parts(make_node(piece.loop), piece.loop, piece.past, &block);
    }
    if (block.children.empty()) {
      add_parts(node, loop, simplify_index(loop.min + loop.extent), &block);
    }
    return block.children.size() == 1 ? block.children.front() : make_node(std::move(block));
  }

  // The interior of a loop, which may hold loops to be partitioned in turn, and its edges. `past`:
  // the steps of the loop.
  void add_parts(const NodePtr& node, const Loop& loop, const Expr& past, Block* block) {
    const std::optional<Parts> parts = parts_of(loop, past);
    if (!parts) {
      block->children.push_back(with_inside(node, loop));
      return;
    }
    if (parts->first_edge) block->children.push_back(make_node(*parts->first_edge));
    block->children.push_back(with_inside(make_node(parts->interior), parts->interior));
    const bool is_inside_edge = std::exchange(in_edge_, true);
    for (const Loop& edge : parts->last_edges) {
      block->children.push_back(with_inside(make_node(edge), edge));
    }
    in_edge_ = is_inside_edge;
  }

  NodePtr with_inside(const NodePtr& node, const Loop& loop) {
    around_.push_back(&loop);
    NodePtr result = mutate_inside(node);
    around_.pop_back();
    return result;
  }

  // The parts of a loop go into the block that it is in.
  NodePtr mutate_block(const NodePtr& node, const Block& block) override {
    Block made;
    bool same = true;
    for (const NodePtr& child : block.children) {
      const NodePtr changed = mutate(child);
      same = same && changed == child;
      const Block* parts = child->as<Block>() ? nullptr : changed->as<Block>();
      const std::vector<NodePtr> one = {changed};
      const std::vector<NodePtr>& added = parts ? parts->children : one;
      made.children.insert(made.children.end(), added.begin(), added.end());
    }
    return same ? node : make_node(std::move(made));
  }

  // Nothing when no step can do without what is at the edges.
  std::optional<Parts> parts_of(const Loop& loop, const Expr& past) const {
    Interior inside(nest_, around_, loop);
    const auto part = [&](const NodePtr& body, const Expr& from, const Expr& extent) {
      Loop made = loop;
      made.partition = false;
      made.min = from;
      made.extent = extent;
      made.body = body;
      return made;
    };
    const NodePtr body = inside.mutate(loop.body);
    if (body == loop.body) return std::nullopt;
    const Expr first = inside.steps.first ? greatest_of(*inside.steps.first, loop.min) : loop.min;
    const Expr end = inside.steps.end ? least_of(*inside.steps.end, past) : past;
    if (at_least(first, end)) return std::nullopt;
    Parts parts{std::nullopt, part(body, first, steps_between(first, end)), {}};
    const Expr rest = greatest_of(end, first);
    const bool starts_inside = at_least(loop.min, first), ends_inside = at_least(rest, past);
    if (starts_inside && ends_inside) return parts;
    Interior everywhere(nest_, around_, loop);  // what the edges, too, can do without
    everywhere.steps.keep(loop.min, past);
    const NodePtr marked = everywhere.mutate(loop.body);
    const NodePtr edge = without_marks(marked, [](const Loop&) { return false; });
    if (!starts_inside) {
      parts.first_edge = part(edge, loop.min, difference(least_of(first, past), loop.min));
    }
    if (ends_inside) return parts;
    const bool one_step = at_least(int_constant(1), difference(past, rest));
    if (!one_step) {
      parts.last_edges.push_back(part(edge, rest, steps_between(rest, past)));
      return parts;
    }
    const NodePtr ended =
        end_at_domains(nest_, without_marks(marked, is_innermost_sum), loop.variable(), rest);
    std::vector<ShorterLoops> shorter;
    if (auto vectors = shorten_vectors(nest_, ended, loop.variable(), rest)) {
      shorter.push_back(*std::move(vectors));
    } else {
      shorter = shorten_rows(nest_, ended, loop.variable(), rest);
    }
    const auto add = [&](const NodePtr& inside_edge, const Expr& begin, const Expr& behind) {
      if (at_least(begin, behind)) return;
      Loop edge_of_one = part(inside_edge, begin, steps_between(begin, behind));
      edge_of_one.prefetches.clear();  // no step is ahead of it
      parts.last_edges.push_back(std::move(edge_of_one));
    };
    NodePtr next = ended;
    Expr from = rest;
    for (const ShorterLoops& fewer : shorter) {  // where the order of the steps is known
      if (!at_least(fewer.from, from) || !at_least(past, fewer.from)) continue;
      add(next, from, fewer.from);
      next = fewer.body;
      from = fewer.from;
    }
    add(next, from, past);
    return parts;
  }

  // Of the rows that are combined the last few are often a good part of all. So the loop over
  // vectors of them is partitioned, too: no other loop is in it, and little is written once more.
  static bool is_innermost_sum(const Loop& loop) {
    return loop.part == Part::update && !any_node(*loop.body, [](const Node& node) {
             const Loop* inner = node.as<Loop>();
             const bool is_at_once = inner && (inner->kind == LoopKind::vectorized ||
                                               inner->kind == LoopKind::unrolled);
             return inner ? !is_at_once : node.as<Alloc>() || node.as<HoistedAlloc>();
           });
  }

  static NodePtr without_marks(const NodePtr& node, bool (*keeps)(const Loop&)) {
    NodePtr inside;
    with_stack_room([&] {
      inside =
          change_children(node, [&](const NodePtr& child) { return without_marks(child, keeps); });
    });
    const Loop* loop = inside->as<Loop>();
    if (!loop || !loop->partition || keeps(*loop)) return inside;
    Loop unmarked = *loop;
    unmarked.partition = false;
    return make_node(std::move(unmarked));
  }

  const LoopNest& nest_;
  const std::function<bool(const Loop&)> asked_;
  std::vector<const Loop*> around_;
  bool in_edge_ = false;  // a last one
};

// Without prefetches of what nothing inside a loop reads any more: another side of a select is
// chosen in all of it.
class UsefulPrefetches : public NestMutator {
 public:
  explicit UsefulPrefetches(const LoopNest& nest) : nest_(nest) {}

 private:
  NodePtr mutate_loop(const NodePtr& node, const Loop& loop) override {
    const auto is_idle = [&](const Prefetch& prefetch) {
      return !reads_inside(nest_, *loop.body, prefetch.buffer);
    };
    NodePtr inside = mutate_inside(node);
    if (std::none_of(loop.prefetches.begin(), loop.prefetches.end(), is_idle)) return inside;
    Loop made = *inside->as<Loop>();
    std::vector<Prefetch>& all = made.prefetches;
    all.erase(std::remove_if(all.begin(), all.end(), is_idle), all.end());
    return make_node(std::move(made));
  }

  const LoopNest& nest_;
};

LoopNest partitioned(const LoopNest& nest, const std::function<bool(const Loop&)>& asked) {
  LoopNest result = nest;
  if (!nest.root) return result;
  result.root = Partitioner(nest, asked).mutate(nest.root);
  if (result.root != nest.root) result.root = UsefulPrefetches(nest).mutate(result.root);
  return result;
}

}  // namespace

LoopNest partition_loops(const LoopNest& nest) {
  return partitioned(nest, [](const Loop& loop) { return loop.partition; });
}

LoopNest partition_loops(const LoopNest& nest, const std::vector<std::string>& variables) {
  std::set<std::string> loops;
  if (nest.root) {
    for_each_node(*nest.root, [&](const Node& node) {
      if (const Loop* loop = node.as<Loop>()) loops.insert(loop->variable());
    });
  }
  for (const std::string& variable : variables) {
    if (loops.count(variable)) continue;
    fail("partition of {}: expected one of its loops, got {}; legal: {}", nest.name, variable,
         fmt::join(loops, ", "));
  }
  return partitioned(nest, [&](const Loop& loop) {
    return std::count(variables.begin(), variables.end(), loop.variable()) > 0;
  });
}

}  // namespace emulsion

#include "passes/nest/partition_loops.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "dsl/affine.h"
#include "dsl/error.h"
#include "passes/index/index_interval.h"
#include "passes/index/simplify_index.h"
#include "passes/nest/read_indices.h"
#include "passes/nest/stack_room.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

// floor(dividend / divisor), over run-time sizes.
struct Quotient {
  Extent dividend;
  int64_t divisor;
};

std::optional<Quotient> as_quotient(const Expr& e) {
  if (auto affine = as_extent(e)) return Quotient{*affine, 1};
  if (e->op != ExprOp::div) return std::nullopt;
  const auto dividend = as_extent(e->args[0]);
  const auto divisor = constant_value(e->args[1]);
  if (!dividend || !divisor || *divisor < 1) return std::nullopt;
  return Quotient{*dividend, *divisor};
}

Expr to_expr(const Quotient& q) {
  if (auto exact = q.dividend.exact_quotient(q.divisor)) return extent_value(*exact);
  return simplify_index(extent_value(q.dividend) / int_constant(q.divisor));
}

bool never_negative(const Extent& extent) { return extent.lower_bound().value_or(-1) >= 0; }

// Whether a >= b for all sizes, as far as that is known.
bool at_least(const Expr& a, const Expr& b) {
  if (equal(a, b)) return true;
  if (b->op == ExprOp::min && (at_least(a, b->args[0]) || at_least(a, b->args[1]))) return true;
  if (a->op == ExprOp::max && (at_least(a->args[0], b) || at_least(a->args[1], b))) return true;
  if (b->op == ExprOp::max) return at_least(a, b->args[0]) && at_least(a, b->args[1]);
  if (a->op == ExprOp::min) return at_least(a->args[0], b) && at_least(a->args[1], b);
  const auto x = as_quotient(a), y = as_quotient(b);
  if (!x || !y) return false;
  if (x->divisor == y->divisor && never_negative(x->dividend - y->dividend)) return true;
  // floor(n / d) >= c where n >= c * d, and floor(n / d) <= c where n < (c + 1) * d.
  if (auto least = constant_value(b)) {
    return never_negative(x->dividend - Extent(*least * x->divisor));
  }
  if (auto most = constant_value(a)) {
    return never_negative(Extent((*most + 1) * y->divisor - 1) - y->dividend);
  }
  return false;
}

Expr least_of(const Expr& a, const Expr& b) {
  if (at_least(b, a)) return a;
  return at_least(a, b) ? b : min(a, b);
}

Expr greatest_of(const Expr& a, const Expr& b) {
  if (at_least(a, b)) return a;
  return at_least(b, a) ? b : max(a, b);
}

Expr difference(const Expr& a, const Expr& b) {
  const auto x = as_extent(a), y = as_extent(b);
  if (x && y) return extent_value(*x - *y);
  if (b->op == ExprOp::max) {
    return least_of(difference(a, b->args[0]), difference(a, b->args[1]));
  }
  if (a->op == ExprOp::min) {
    return least_of(difference(a->args[0], b), difference(a->args[1], b));
  }
  return simplify_index(a - b);
}

// How many steps there are from one index to another; none where that is before it.
Expr steps_between(const Expr& from, const Expr& to) {
  const Expr steps = difference(to, from);
  return at_least(to, from) ? steps : greatest_of(steps, int_constant(0));
}

// Which values the variable of a loop takes.
Range range_of(const Loop& loop) {
  Range range = range_below(loop.extent);
  if (!range.is_known) {  // of a stage whose window slides: at most as many steps as at first
    const auto steps =
        interval_of(loop.extent, [](const std::string&) { return Range::unknown(); });
    if (steps && steps->fixed.empty()) range = {0, steps->high - Extent(1)};
  }
  const auto min = as_extent(loop.min);
  if (!min || !range.is_known) return Range::unknown();
  if (range.divisor > 1) return *min == Extent(0) ? range : Range::unknown();
  return {range.low + *min, range.high + *min};
}

// Rewrites what is inside one loop as if no guard and no clamp were needed there, and finds for
// which of its steps that is right.
class Interior : public NestMutator {
 public:
  Interior(const LoopNest& nest, const std::vector<const Loop*>& around, const Loop& loop)
      : nest_(nest), variable_(loop.variable()) {
    for (const Loop* outer : around) ranges_.insert_or_assign(outer->variable(), range_of(*outer));
  }

  std::optional<Expr> first, end;  // of the steps; nothing: as the loop

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

  Expr mutate_expr(const Expr& expr) override {
    return without_clamps(expr, [](const Expr& e) { return e; });
  }

  // The body of a uOp. Only indices that are proved to be inside their buffer lose their clamps:
  // whoever runs it relies on that, and clamps the others.
  Expr body_without_clamps(const Expr& body, const UopNode& uop) {
    const Stage& stage = nest_.stage(uop.stage);
    std::map<std::string, Expr> point;
    const AxisExtents domain = domain_of(stage);
    for (size_t i = 0; i < uop.point.size(); ++i) {
      const bool pure = i < stage.axes.size();
      const Axis& axis = pure ? stage.axes[i] : stage.reduction_axes[i - stage.axes.size()];
      point[axis.name()] = uop.point[i];
    }
    const auto in_loops = [&](const Expr& e) {
      return mutate_expr(
          substitute_axes(e, [&](const std::string& axis) { return point.at(axis); }));
    };
    return with_indices(body, [&](const Expr& read) {
      const Shape& shape = nest_.buffer(read->name).shape;
      std::vector<Expr> indices = read->args;
      for (size_t d = 0; d < indices.size(); ++d) {
        if (!proves_in_bounds(indices[d], shape[d], domain)) continue;
        indices[d] = without_clamps(indices[d], in_loops);
      }
      return indices;
    });
  }

  // Of each min(a, n) and max(a, n) the `a`, where the steps allow; from the inside outwards.
  // `in_loops`: takes what is over the axes of a stage to loop variables.
  Expr without_clamps(const Expr& index, const std::function<Expr(const Expr&)>& in_loops) {
    return transform(index, [&](const Expr& e) -> Expr {
      if (e->op != ExprOp::min && e->op != ExprOp::max) return Expr();
      const bool bound_first = as_extent(e->args[0]).has_value();
      const Expr &value = e->args[bound_first ? 1 : 0], &bound = e->args[bound_first ? 0 : 1];
      if (!as_extent(bound)) return Expr();
      const Expr at = in_loops(value);
      return restrict_to(e->op == ExprOp::min ? bound - at : at - bound) ? value : Expr();
    });
  }

  bool holds(const Expr& condition) {
    if (condition->args.size() != 2) return false;
    const Expr a = mutate_expr(condition->args[0]), b = mutate_expr(condition->args[1]);
    switch (condition->op) {
      case ExprOp::lt:
        return restrict_to(b - a - int_constant(1));
      case ExprOp::le:
        return restrict_to(b - a);
      case ExprOp::gt:
        return restrict_to(a - b - int_constant(1));
      case ExprOp::ge:
        return restrict_to(a - b);
      default:
        return false;
    }
  }

  // Leaves only the steps at which `spare` is not negative, whatever the other loops are at. False
  // when it does not depend on this loop, or nobody can say how.
  bool restrict_to(const Expr& spare) {
    std::map<std::string, Range> ranges = ranges_;
    const Expr sum = without_choices(spare, &ranges);
    const auto interval = interval_of(sum, [&](const std::string& name) -> std::optional<Range> {
      if (name == variable_) return std::nullopt;
      auto found = ranges.find(name);
      return found == ranges.end() ? Range::unknown() : found->second;
    });
    if (!interval || interval->fixed.size() != 1) return false;
    const auto& [term, factor] = interval->fixed.begin()->second;
    if (term->op != ExprOp::axis || term->name != variable_) return false;
    // factor * v + low >= 0
    if (factor > 0) {
      const Expr least = to_expr({Extent(factor - 1) - interval->low, factor});
      first = first ? greatest_of(*first, least) : least;
    } else {
      const Expr past = to_expr({interval->low + Extent(-factor), -factor});
      end = end ? least_of(*end, past) : past;
    }
    return true;
  }

  // With a variable in the place of each select between two numbers: it may be either.
  static Expr without_choices(const Expr& expr, std::map<std::string, Range>* ranges) {
    return transform(expr, [&](const Expr& e) -> Expr {
      if (e->op != ExprOp::select) return Expr();
      const auto a = constant_value(e->args[1]), b = constant_value(e->args[2]);
      if (!a || !b) return Expr();
      const std::string name = "choice " + std::to_string(ranges->size());
      ranges->emplace(name, Range{Extent(std::min(*a, *b)), Extent(std::max(*a, *b))});
      return axis_value(name);
    });
  }

  const LoopNest& nest_;
  const std::string variable_;
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
    std::optional<Loop> last_edge;
  };

  NodePtr mutate_loop(const NodePtr& node, const Loop& loop) override {
    const bool in_order = loop.kind == LoopKind::serial || loop.kind == LoopKind::parallel;
    const std::optional<Parts> parts = in_order && asked_(loop) ? parts_of(loop) : std::nullopt;
    if (!parts) return with_inside(node, loop);
    Block block;
    if (parts->first_edge) block.children.push_back(make_node(*parts->first_edge));
    // It may hold loops to be partitioned in turn.
    block.children.push_back(with_inside(make_node(parts->interior), parts->interior));
    if (parts->last_edge) block.children.push_back(make_node(*parts->last_edge));
    return block.children.size() == 1 ? block.children.front() : make_node(std::move(block));
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
  std::optional<Parts> parts_of(const Loop& loop) const {
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
    const Expr past = simplify_index(loop.min + loop.extent);
    const Expr first = inside.first ? greatest_of(*inside.first, loop.min) : loop.min;
    const Expr end = inside.end ? least_of(*inside.end, past) : past;
    if (at_least(first, end)) return std::nullopt;
    Parts parts{std::nullopt, part(body, first, steps_between(first, end)), std::nullopt};
    const NodePtr edge = without_marks(loop.body);
    if (!at_least(loop.min, first)) {
      parts.first_edge = part(edge, loop.min, difference(least_of(first, past), loop.min));
    }
    const Expr rest = greatest_of(end, first);
    if (!at_least(rest, past)) parts.last_edge = part(edge, rest, steps_between(rest, past));
    return parts;
  }

  static NodePtr without_marks(const NodePtr& node) {
    NodePtr inside;
    with_stack_room([&] { inside = change_children(node, without_marks); });
    const Loop* loop = inside->as<Loop>();
    if (!loop || !loop->partition) return inside;
    Loop unmarked = *loop;
    unmarked.partition = false;
    return make_node(std::move(unmarked));
  }

  const LoopNest& nest_;
  const std::function<bool(const Loop&)> asked_;
  std::vector<const Loop*> around_;
};

LoopNest partitioned(const LoopNest& nest, const std::function<bool(const Loop&)>& asked) {
  LoopNest result = nest;
  if (nest.root) result.root = Partitioner(nest, asked).mutate(nest.root);
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

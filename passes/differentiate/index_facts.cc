#include "passes/differentiate/index_facts.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "dsl/condition_facts.h"
#include "dsl/error.h"
#include "dsl/tensor.h"
#include "passes/differentiate/invert_index.h"
#include "passes/index/index_interval.h"

namespace emulsion {
namespace {

// x / m or x % m with m an extent, at least 1 where anything is read.
bool is_digit(const Expr& e) {
  if (e->op != ExprOp::div && e->op != ExprOp::mod) return false;
  const std::optional<Extent> m = as_extent(e->args[1]);
  return m && never_negative(*m);
}

bool is_data(const Expr& e) {
  return any_part(e, [](const Expr& node) { return node->op == ExprOp::read; });
}

// Whether an affine expression is 0 or more in every iteration.
bool never_negative(const Affine& affine, const Expr& e, const AxisExtents& axes) {
  const bool in_scope = std::all_of(affine.coefficients.begin(), affine.coefficients.end(),
                                    [&](const auto& term) { return axes.count(term.first) > 0; });
  return in_scope && proves_in_bounds(e, largest_value(affine, axes) + Extent(1), axes);
}

void add_missing(const std::vector<Extent>& extents, std::vector<Extent>* to) {
  for (const Extent& extent : extents) {
    if (std::find(to->begin(), to->end(), extent) == to->end()) to->push_back(extent);
  }
}

// Extents that have to be at least 1 for the reads within an expression to be legal.
class Needs {
 public:
  const std::vector<Extent>* find(const Expr& e) const {
    const auto found = e.defined() ? needs_.find(&e.node()) : needs_.end();
    return found == needs_.end() ? nullptr : &found->second.extents;
  }
  void set(const Expr& e, std::vector<Extent> extents) {
    if (!extents.empty()) needs_[&e.node()] = {e, std::move(extents)};
  }

 private:
  struct OfOne {
    Expr e;  // stays alive
    std::vector<Extent> extents;
  };
  std::unordered_map<const ExprNode*, OfOne> needs_;
};

bool is_zero(const Expr& e) {
  return e->op == ExprOp::constant && e->float_value == 0 && e->int_value == 0;
}

// What one side of a select alone needs stands around that side: where a tensor is empty that it
// reads, the other side is chosen, and counts.
Expr with_own_needs(const Expr& e, Needs* needs) {
  std::vector<Expr> sides = {e->args[1], e->args[2]};
  for (size_t i = 0; i < 2; ++i) {
    const std::vector<Extent>*own = needs->find(e->args[1 + i]),
          *others = needs->find(e->args[2 - i]);
    if (own == nullptr || is_zero(e->args[2 - i])) continue;
    std::vector<Extent> shared;
    for (const Extent& extent : *own) {
      if (others && std::find(others->begin(), others->end(), extent) != others->end()) {
        shared.push_back(extent);
      } else {
        sides[i] = select(extent_value(extent) > 0, sides[i], constant(e->dtype, 0));
      }
    }
    needs->set(sides[i], shared);
  }
  const bool changed = !sides[0].same_as(e->args[1]) || !sides[1].same_as(e->args[2]);
  return changed ? select(e->args[0], sides[0], sides[1]) : e;
}

}  // namespace

IndexFacts::IndexFacts(const std::vector<Axis>& axes) {
  for (const Axis& axis : axes) axes_.emplace(axis.name(), axis.extent());
}

void IndexFacts::add(const Expr& condition, bool holds) {
  for_each_fact(condition, holds, axes_, [this](const Expr& fact) { facts_.push_back(fact); });
}

bool IndexFacts::at_least(const Expr& a, const Expr& b) const {
  const Expr difference = a - b;
  if (const auto affine = affine_of(difference)) {
    if (never_negative(*affine, difference, axes_)) return true;
    return std::any_of(facts_.begin(), facts_.end(), [&](const Expr& fact) {
      const Expr rest = difference - fact;
      return never_negative(*affine_of(rest), rest, axes_);
    });
  }
  if (is_digit(a) && as_extent(b) == Extent(0)) {
    return a->op == ExprOp::mod || at_least(a->args[0], int_constant(0));
  }
  return is_quotient_at_most(b, a);
}

bool IndexFacts::is_quotient_at_most(const Expr& e, const Expr& most) const {
  const auto limit = as_extent(most);
  if (!limit || !is_digit(e)) return false;
  const auto m = as_extent(e->args[1]);
  if (e->op == ExprOp::mod) return at_least(most, extent_value(*m - Extent(1)));
  if (!m->is_constant() && !limit->is_constant()) return false;
  return at_least(extent_value((*limit + Extent(1)) * *m - Extent(1)), e->args[0]);
}

std::optional<bool> IndexFacts::decided(const Expr& condition) const {
  const std::vector<Expr>& args = condition->args;
  const auto both = [&](bool settles) -> std::optional<bool> {
    const std::optional<bool> a = decided(args[0]), b = decided(args[1]);
    if (a == settles || b == settles) return settles;
    return a && b ? std::optional<bool>(!settles) : std::nullopt;
  };
  const auto less = [&](const Expr& a, const Expr& b) -> std::optional<bool> {
    if (a.dtype() != DType::i32) return std::nullopt;
    if (at_least(b, a + int_constant(1))) return true;
    return at_least(a, b) ? std::optional<bool>(false) : std::nullopt;
  };
  const auto inverted = [](std::optional<bool> value) -> std::optional<bool> {
    return value ? std::optional<bool>(!*value) : std::nullopt;
  };
  switch (condition->op) {
    case ExprOp::logical_not:
      return inverted(decided(args[0]));
    case ExprOp::logical_and:
      return both(false);
    case ExprOp::logical_or:
      return both(true);
    case ExprOp::lt:
      return less(args[0], args[1]);
    case ExprOp::gt:
      return less(args[1], args[0]);
    case ExprOp::ge:
      return inverted(less(args[0], args[1]));
    case ExprOp::le:
      return inverted(less(args[1], args[0]));
    case ExprOp::eq:
      if (args[0].dtype() == DType::i32 && equal(args[0], args[1])) return true;
      if (less(args[0], args[1]) == true || less(args[1], args[0]) == true) return false;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

Expr IndexFacts::settled(const Expr& e, std::vector<Extent>* may_be_empty) const {
  Needs needs;
  const Expr result = transform(e, [&](const Expr& node) {
    std::vector<Extent> own;
    Expr made = settled_node(node, &own);
    if (needs.find(made) != nullptr) return made;  // a side
    if (!made.defined()) made = node->op == ExprOp::select ? with_own_needs(node, &needs) : node;
    for (const Expr& arg : made->args) {
      if (const auto* of_arg = needs.find(arg)) add_missing(*of_arg, &own);
    }
    needs.set(made, own);
    return made;
  });
  if (const auto* of_all = needs.find(result)) add_missing(*of_all, may_be_empty);
  return result;
}

Expr IndexFacts::settled_node(const Expr& e, std::vector<Extent>* may_be_empty) const {
  switch (e->op) {
    case ExprOp::read:
      return settled_read(e, may_be_empty);
    case ExprOp::select: {
      const std::optional<bool> side = decided(e->args[0]);
      return side ? e->args[*side ? 1 : 2] : Expr();
    }
    case ExprOp::logical_and:
    case ExprOp::logical_or: {
      const bool neutral = e->op == ExprOp::logical_and;
      if (decided(e->args[0]) == neutral) return e->args[1];
      return decided(e->args[1]) == neutral ? e->args[0] : Expr();
    }
    default:
      if (!is_comparison(e->op) || e->args[0].dtype() != DType::i32 || is_data(e)) return Expr();
      return binary(e->op, tidy_index(e->args[0]), tidy_index(e->args[1]));
  }
}

Expr IndexFacts::settled_read(const Expr& e, std::vector<Extent>* may_be_empty) const {
  const Shape& shape = e->tensor->shape;
  std::vector<Expr> indices;
  for (size_t i = 0; i < shape.size(); ++i) {
    Expr index = tidy_index(e->args[i]);
    if (!proves_in_bounds(index, shape[i], axes_, {shape[i]})) {
      const Expr last = extent_value(shape[i] - Extent(1));
      if (!at_least(last, index)) index = min(index, last);
      if (!proves_in_bounds(index, shape[i], axes_, {shape[i]}))
        index = max(index, int_constant(0));
    }
    if (!proves_in_bounds(index, shape[i], axes_) &&
        std::find(may_be_empty->begin(), may_be_empty->end(), shape[i]) == may_be_empty->end()) {
      may_be_empty->push_back(shape[i]);
    }
    indices.push_back(std::move(index));
  }
  return read_op(e->tensor, std::move(indices));
}

}  // namespace emulsion

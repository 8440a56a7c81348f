#include "passes/differentiate/scalar_derivatives.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "dsl/error.h"
#include "dsl/types.h"

namespace emulsion {
namespace {

bool is_number(const Expr& e) { return e->op == ExprOp::constant; }
bool is_number(const Expr& e, double value) { return is_number(e) && e->float_value == value; }

Expr number(const Expr& like, double value) { return constant(like.dtype(), value); }
Expr zero(const Expr& like) { return number(like, 0); }

Expr negative(const Expr& g) { return is_number(g) ? number(g, -g->float_value) : -g; }

// Whether both are made the same way of the same: g * x of x * x, by either x.
bool is_twin(const Expr& a, const Expr& b) {
  const auto is_same = [](const Expr& x, const Expr& y) {
    return x.same_as(y) || (x->op == ExprOp::read && equal(x, y));
  };
  return a->op == b->op && !a->args.empty() && a->op != ExprOp::read &&
         std::equal(a->args.begin(), a->args.end(), b->args.begin(), b->args.end(), is_same);
}

// The share of g that a side of max or min takes: where it is the greater, or the less, one.
Expr share_of(const Expr& wins, const Expr& mine, const Expr& other, const Expr& g) {
  if (is_number(other)) return select(wins, g, zero(g));
  return select(wins, g, select(mine == other, times(g, number(g, 0.5)), zero(g)));
}

Expr power_by_base(const Expr& a, const Expr& b, const Expr& g) {
  if (is_number(b, 0)) return Expr();
  if (is_number(b, 1)) return g;
  if (is_number(b, 2)) return times(g, 2 * a);
  if (is_number(b)) return times(g, b * pow(a, number(b, b->float_value - 1)));
  return times(g, select(b == zero(b), zero(b), b * pow(a, b - number(b, 1))));
}

// The table: what is added to the derivative by each argument of e when `g` is that by e, whose
// value is `value`. Undefined: nothing ever is.
std::vector<Expr> derivative_rule(const Expr& e, const Expr& value, const Expr& g) {
  const std::vector<Expr>& args = e->args;
  const Expr a = args.empty() ? Expr() : args[0];
  const Expr b = args.size() < 2 ? Expr() : args[1];
  switch (e->op) {
    case ExprOp::neg:
      return {negative(g)};
    case ExprOp::abs:
      return {select(a >= zero(a), g, negative(g))};
    case ExprOp::exp:
      return {times(g, value)};
    case ExprOp::log:
      return {g / a};
    case ExprOp::sqrt:
      return {times(g, number(g, 0.5)) / value};
    case ExprOp::tanh:
      return {times(g, 1 - value * value)};
    case ExprOp::erf:
      return {times(g, number(g, 2 / std::sqrt(std::acos(-1.0))) * exp(-(a * a)))};
    case ExprOp::cast:
      return {is_float(a.dtype()) ? cast(a.dtype(), g) : Expr()};
    case ExprOp::add:
      return {g, g};
    case ExprOp::sub:
      return {g, negative(g)};
    case ExprOp::mul:
      return {times(g, b), times(g, a)};
    case ExprOp::div:
      return {g / b, negative(times(g, value)) / b};
    case ExprOp::pow:
      return {power_by_base(a, b, g), times(g, select(a == zero(a), zero(a), log(a) * value))};
    case ExprOp::min:
      return {share_of(a < b, a, b, g), share_of(b < a, b, a, g)};
    case ExprOp::max:
      return {share_of(a > b, a, b, g), share_of(b > a, b, a, g)};
    case ExprOp::constant:
    case ExprOp::axis:
    case ExprOp::size:
    case ExprOp::read:
    case ExprOp::floor:
    case ExprOp::ceil:
    case ExprOp::round:
    case ExprOp::trunc:
    case ExprOp::logical_not:
    case ExprOp::mod:
    case ExprOp::eq:
    case ExprOp::ne:
    case ExprOp::lt:
    case ExprOp::le:
    case ExprOp::gt:
    case ExprOp::ge:
    case ExprOp::logical_and:
    case ExprOp::logical_or:
    case ExprOp::select:
    case ExprOp::reduce:
      break;  // leaves, steps, conditions, and what no float expression holds
  }
  return std::vector<Expr>(args.size());
}

// Which nodes of a body carry a gradient, from the leaves up.
class Carriers {
 public:
  Carriers(const Expr& body, const Wanted& wanted) {
    visit(body, [&](const Expr& e) {
      nodes_.push_back(e);
      carries_[&e.node()] = carries(e, wanted);
    });
  }
  bool contains(const Expr& e) const { return carries_.at(&e.node()); }
  const std::vector<Expr>& nodes() const { return nodes_; }  // arguments before their users

 private:
  bool carries(const Expr& e, const Wanted& wanted) const {
    if (e->op == ExprOp::read) return wanted(*e->tensor);
    if (e.dtype() == DType::boolean) return false;
    const size_t first = e->op == ExprOp::select ? 1 : 0;
    return std::any_of(e->args.begin() + static_cast<std::ptrdiff_t>(first), e->args.end(),
                       [&](const Expr& arg) { return carries_.at(&arg.node()); });
  }

  std::unordered_map<const ExprNode*, bool> carries_;
  std::vector<Expr> nodes_;
};

// Reverse accumulation over the DAG of a body. Under different guards a node has different sums.
class BodyDerivative {
 public:
  BodyDerivative(const std::string& what, const Expr& body, const Wanted& wanted)
      : what_(what), body_(body), carriers_(body, wanted) {}

  std::vector<ReadDerivative> run(const Expr& seed, const Expr& result) {
    add(body_, 0, seed);
    const std::vector<Expr>& nodes = carriers_.nodes();
    std::vector<ReadDerivative> parts;
    for (size_t i = nodes.size(); i-- > 0;) {
      const auto found = sums_.find(&nodes[i].node());
      if (found == sums_.end()) continue;
      // A copy: what is added goes to nodes before this one, in the same map.
      const std::map<size_t, Expr> by_guard = found->second;
      for (const auto& [guard, g] : by_guard) {
        if (nodes[i]->op == ExprOp::read) {
          parts.push_back({nodes[i], guards_of(guard), g});
        } else {
          pass_on(nodes[i], guard, g, nodes[i].same_as(body_) ? result : Expr());
        }
      }
    }
    std::reverse(parts.begin(), parts.end());
    return merged(std::move(parts));
  }

 private:
  using GuardKey = std::tuple<size_t, const ExprNode*, bool>;  // the one around it, condition, side

  void add(const Expr& e, size_t guard, const Expr& g) {
    if (!g.defined() || !carriers_.contains(e)) return;
    if (!is_float(e.dtype())) {
      fail(
          "{}: expected floats all the way from a tensor whose gradient is asked for, got the {} "
          "value {}, which has no derivative; legal: floats there, or no gradient by what it is "
          "made of",
          what_, to_string(e.dtype()), to_string(e));
    }
    Expr& sum = sums_[&e.node()][guard];
    sum = sum.defined() ? plus(sum, g) : g;
  }

  void pass_on(const Expr& e, size_t guard, const Expr& g, const Expr& result) {
    if (e->op == ExprOp::select) {
      add(e->args[1], guarded(guard, e->args[0], true), g);
      add(e->args[2], guarded(guard, e->args[0], false), g);
      return;
    }
    if (e->op == ExprOp::cast) add_cast(e, guard, g);
    const std::vector<Expr> by_args = derivative_rule(e, result.defined() ? result : e, g);
    for (size_t i = 0; i < e->args.size(); ++i) add(e->args[i], guard, by_args[i]);
  }

  // The rule has none for integers; that is an error only where a gradient would have passed.
  void add_cast(const Expr& e, size_t guard, const Expr& g) {
    if (!is_float(e->args[0].dtype())) add(e->args[0], guard, g);
  }

  size_t guarded(size_t around, const Expr& condition, bool holds) {
    const GuardKey key = {around, &condition.node(), holds};
    const auto [found, is_new] = ids_.emplace(key, guards_.size());
    if (is_new) guards_.push_back({around, {condition, holds}});
    return found->second;
  }

  std::vector<SelectSide> guards_of(size_t id) const {
    std::vector<SelectSide> guards;
    for (; id != 0; id = guards_[id].first) guards.push_back(guards_[id].second);
    std::reverse(guards.begin(), guards.end());
    return guards;
  }

  // What is read twice, as in x(i) * x(i), has one derivative.
  static std::vector<ReadDerivative> merged(std::vector<ReadDerivative> parts) {
    std::vector<ReadDerivative> result;
    for (ReadDerivative& part : parts) {
      const auto same =
          std::find_if(result.begin(), result.end(), [&](const ReadDerivative& other) {
            return equal(other.read, part.read) &&
                   std::equal(other.guards.begin(), other.guards.end(), part.guards.begin(),
                              part.guards.end(), [](const SelectSide& a, const SelectSide& b) {
                                return a.holds == b.holds && a.condition.same_as(b.condition);
                              });
          });
      if (same == result.end()) {
        result.push_back(std::move(part));
      } else {
        same->value = plus(same->value, part.value);
      }
    }
    return result;
  }

  const std::string& what_;
  const Expr body_;
  const Carriers carriers_;
  std::unordered_map<const ExprNode*, std::map<size_t, Expr>> sums_;
  std::map<GuardKey, size_t> ids_;
  std::vector<std::pair<size_t, SelectSide>> guards_ = {{0, {}}};  // the first one: no guard
};

}  // namespace

Expr plus(const Expr& a, const Expr& b) {
  if (is_number(a, 0)) return b;
  if (is_number(b, 0)) return a;
  return is_twin(a, b) ? times(number(a, 2), a) : a + b;
}

Expr times(const Expr& a, const Expr& b) {
  if (is_number(a, 1)) return b;
  if (is_number(b, 1)) return a;
  if (is_number(a) && is_number(b)) return number(a, a->float_value * b->float_value);
  return a * b;
}

bool depends_on_wanted(const Expr& body, const Wanted& wanted) {
  return Carriers(body, wanted).contains(body);
}

std::vector<ReadDerivative> read_derivatives(const std::string& what, const Expr& body,
                                             const Expr& seed, const Expr& result,
                                             const Wanted& wanted) {
  return BodyDerivative(what, body, wanted).run(seed, result);
}

}  // namespace emulsion

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "dsl/expr.h"

namespace emulsion {

Expr transform(const Expr& root, const std::function<Expr(const Expr&)>& rewrite) {
  std::unordered_map<const ExprNode*, Expr> done;  // shared subtrees once: trees may be DAGs
  std::function<Expr(const Expr&)> go = [&](const Expr& e) -> Expr {
    auto found = done.find(&e.node());
    if (found != done.end()) return found->second;
    std::vector<Expr> args;
    for (const Expr& arg : e->args) args.push_back(go(arg));
    Expr result = with_args(e, std::move(args));
    Expr replaced = rewrite(result);
    if (replaced.defined()) result = std::move(replaced);
    done[&e.node()] = result;
    return result;
  };
  return go(root);
}

void visit(const Expr& root, const std::function<void(const Expr&)>& visit) {
  std::unordered_set<const ExprNode*> done;
  std::function<void(const Expr&)> go = [&](const Expr& e) {
    if (!done.insert(&e.node()).second) return;
    for (const Expr& arg : e->args) go(arg);
    visit(e);
  };
  go(root);
}

bool any_part(const Expr& root, const std::function<bool(const Expr&)>& holds) {
  std::unordered_set<const ExprNode*> done;
  const std::function<bool(const Expr&)> go = [&](const Expr& e) {
    if (!done.insert(&e.node()).second) return false;
    for (const Expr& arg : e->args) {
      if (go(arg)) return true;
    }
    return holds(e);
  };
  return go(root);
}

ExprSize size_of(const Expr& root,
                 const std::function<std::optional<ExprSize>(const Expr&)>& of_read) {
  std::unordered_map<const ExprNode*, ExprSize> done;
  std::vector<const Expr*> stack = {&root};
  while (!stack.empty()) {
    const Expr& e = *stack.back();
    const size_t before = stack.size();
    for (const Expr& arg : e->args) {
      if (!done.count(&arg.node())) stack.push_back(&arg);
    }
    if (stack.size() > before) continue;
    stack.pop_back();
    ExprSize size;
    for (const Expr& arg : e->args) {
      const ExprSize& part = done.at(&arg.node());
      size.nodes = std::min(size.nodes + part.nodes, ExprSize::kMostNodes + 1);
      size.height = std::max(size.height, part.height + 1);
    }
    const auto in_its_place = of_read && e->op == ExprOp::read ? of_read(e) : std::nullopt;
    done[&e.node()] = in_its_place.value_or(size);
  }
  return done.at(&root.node());
}

Expr substitute_axes(const Expr& root, const std::function<Expr(const std::string&)>& value) {
  return transform(root,
                   [&](const Expr& e) { return e->op == ExprOp::axis ? value(e->name) : Expr(); });
}

bool equal(const Expr& a, const Expr& b) {
  if (a.same_as(b)) return true;
  if (!a.defined() || !b.defined()) return false;
  auto same_bits = [](double x, double y) {
    return (x == y && std::signbit(x) == std::signbit(y)) || (std::isnan(x) && std::isnan(y));
  };
  if (a->op != b->op || a->dtype != b->dtype || a->args.size() != b->args.size() ||
      a->name != b->name || a->tensor != b->tensor || a->int_value != b->int_value ||
      !same_bits(a->float_value, b->float_value) || a->combiner != b->combiner ||
      a->axes.size() != b->axes.size()) {
    return false;
  }
  for (size_t i = 0; i < a->axes.size(); ++i) {
    if (a->axes[i].name() != b->axes[i].name()) return false;
  }
  for (size_t i = 0; i < a->args.size(); ++i) {
    if (!equal(a->args[i], b->args[i])) return false;
  }
  return true;
}

}  // namespace emulsion

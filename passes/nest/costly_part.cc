#include "passes/nest/costly_part.h"

#include <cstddef>
#include <unordered_map>
#include <vector>

namespace emulsion {
namespace {

bool takes_long(const Expr& e) {
  const bool is_costly = e->op == ExprOp::div || e->op == ExprOp::sqrt || is_series(e->op);
  return is_costly && is_float(e.dtype());
}

struct Facts {
  bool is_on_axis = false;  // depends on the axis
  bool is_on_other = false;
  bool is_costly = false;
};

// How many of the arguments are computed in any case: those behind may be guarded by the first.
size_t always_computed(const Expr& e) {
  switch (e->op) {
    case ExprOp::read:
      return 0;  // indices
    case ExprOp::select:
    case ExprOp::logical_and:
    case ExprOp::logical_or:
      return 1;
    default:
      return e->args.size();
  }
}

}  // namespace

bool is_series(ExprOp op) {
  return op == ExprOp::exp || op == ExprOp::log || op == ExprOp::tanh || op == ExprOp::erf ||
         op == ExprOp::pow;
}

Expr costly_part(const Expr& root, const std::string& axis) {
  std::unordered_map<const ExprNode*, Facts> facts;
  visit(root, [&](const Expr& e) {
    Facts now;
    now.is_costly = takes_long(e);
    if (e->op == ExprOp::axis) (e->name == axis ? now.is_on_axis : now.is_on_other) = true;
    for (const Expr& argument : e->args) {
      const Facts& inside = facts.at(&argument.node());
      now.is_on_axis = now.is_on_axis || inside.is_on_axis;
      now.is_on_other = now.is_on_other || inside.is_on_other;
      now.is_costly = now.is_costly || inside.is_costly;
    }
    facts[&e.node()] = now;
  });
  if (!facts.at(&root.node()).is_on_other) return Expr();
  std::vector<Expr> left = {root};  // the first one last
  while (!left.empty()) {
    const Expr e = left.back();
    left.pop_back();
    Facts& here = facts.at(&e.node());
    if (!here.is_on_axis || !here.is_costly) continue;
    if (!here.is_on_other && is_float(e.dtype())) return e;
    here.is_costly = false;  // it is looked at once
    for (size_t i = always_computed(e); i-- > 0;) left.push_back(e->args[i]);
  }
  return Expr();
}

}  // namespace emulsion

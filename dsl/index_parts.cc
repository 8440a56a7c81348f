#include "dsl/index_parts.h"

#include <set>

namespace emulsion {
namespace {

// Whether the result wraps back where an argument has wrapped around. The arguments of a read are
// indices, whose values its tensor holds.
bool wraps_back(ExprOp op) {
  switch (op) {
    case ExprOp::neg:
    case ExprOp::add:
    case ExprOp::sub:
    case ExprOp::mul:
    case ExprOp::read:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<Expr> parts_within_i32(const Expr& index) {
  std::vector<Expr> result;
  std::set<const ExprNode*> seen;
  visit(index, [&](const Expr& e) {
    if (wraps_back(e->op)) return;
    for (const Expr& part : e->args) {
      if (part.dtype() == i32 && seen.insert(&part.node()).second) result.push_back(part);
    }
  });
  return result;
}

}  // namespace emulsion

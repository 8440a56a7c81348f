#include "passes/derive/choices.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "dsl/affine.h"

namespace emulsion {
namespace {

// Whether it compares one axis at a time, and no data.
bool is_by_place(const Expr& condition) {
  const ExprOp op = condition->op;
  if (op == ExprOp::logical_and || op == ExprOp::logical_or || op == ExprOp::logical_not) {
    return std::all_of(condition->args.begin(), condition->args.end(), is_by_place);
  }
  if (op != ExprOp::lt && op != ExprOp::le && op != ExprOp::gt && op != ExprOp::ge) return false;
  std::set<std::string> axes;
  visit(condition, [&](const Expr& part) {
    if (part->op == ExprOp::axis) axes.insert(part->name);
  });
  return axes.size() == 1 && !reads_data(condition);
}

bool is_chosen_by_place(const Expr& e, Choice choice) {
  if (e->op == ExprOp::select) {
    return is_by_place(e->args[0]) && is_chosen_by_place(e->args[1], choice) &&
           is_chosen_by_place(e->args[2], choice);
  }
  if (choice == Choice::of_elements && e->op != ExprOp::read) return e->op == ExprOp::constant;
  const std::vector<Expr> reads = reads_in(e);
  return std::all_of(reads.begin(), reads.end(), [](const Expr& read) {
    return std::none_of(read->args.begin(), read->args.end(), reads_data);
  });
}

}  // namespace

bool reads_data(const Expr& e) {
  return any_part(e, [](const Expr& part) { return part->op == ExprOp::read; });
}

bool chooses_by_place(const Expr& body, Choice choice) {
  return body->op == ExprOp::select && is_chosen_by_place(body, choice);
}

Expr without_clamps(const Expr& index) {
  return transform(index, [](const Expr& e) -> Expr {
    if (e->op != ExprOp::min && e->op != ExprOp::max) return Expr();
    const auto is_bound = [](const Expr& bound) {
      const auto affine = affine_of(bound);
      return affine && affine->coefficients.empty();
    };
    if (is_bound(e->args[1])) return e->args[0];
    return is_bound(e->args[0]) ? e->args[1] : Expr();
  });
}

Expr without_clamped_indices(const Expr& read) {
  std::vector<Expr> indices;
  for (const Expr& index : read->args) indices.push_back(without_clamps(index));
  return read_op(read->tensor, std::move(indices));
}

std::vector<Expr> reads_in(const Expr& body, const Op* of) {
  std::vector<Expr> reads;
  visit(body, [&](const Expr& e) {
    if (e->op == ExprOp::read && (of == nullptr || e->tensor.get() == of)) reads.push_back(e);
  });
  return reads;
}

}  // namespace emulsion

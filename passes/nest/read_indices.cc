#include "passes/nest/read_indices.h"

#include <algorithm>
#include <utility>

#include "passes/index/index_table.h"

namespace emulsion {

AxisExtents domain_of(const Stage& stage) {
  AxisExtents domain;
  for (const Axis& axis : stage.axes) domain.emplace(axis.name(), axis.extent());
  for (const Axis& axis : stage.reduction_axes) domain.emplace(axis.name(), axis.extent());
  return domain;
}

std::map<std::string, Expr> point_of(const Stage& stage, const UopNode& uop) {
  std::map<std::string, Expr> point;
  for (size_t d = 0; d < uop.point.size(); ++d) point[axis_at(stage, d).name()] = uop.point[d];
  return point;
}

OwnReads own_reads_of(const Stage& stage) {
  OwnReads reads;
  visit(stage.body, [&](const Expr& e) {
    if (e->op == ExprOp::read) reads[e->name].push_back(e);
  });
  return reads;
}

bool is_own_index(const OwnReads& own, const ExprNode& read, size_t d) {
  const auto of_buffer = own.find(read.name);
  return of_buffer != own.end() &&
         std::any_of(of_buffer->second.begin(), of_buffer->second.end(),
                     [&](const Expr& e) { return equal(e->args[d], read.args[d]); });
}

bool reads(const Expr& body, const std::string& buffer) {
  return any_part(body, [&](const Expr& e) { return e->op == ExprOp::read && e->name == buffer; });
}

Expr with_indices(const Expr& body,
                  const std::function<std::vector<Expr>(const Expr& read)>& indices) {
  return transform(body, [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::read) return Expr();
    std::vector<Expr> made = indices(e);
    const bool same = std::equal(made.begin(), made.end(), e->args.begin(), e->args.end(),
                                 [](const Expr& a, const Expr& b) { return a.same_as(b); });
    return same ? Expr() : read_buffer(e->name, e->dtype, std::move(made));
  });
}

Expr with_conditions(const Expr& body, const std::function<Expr(const Expr& condition)>& change) {
  return transform(body, [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::select || !is_index(e->args[0]) || is_index(e)) return Expr();
    const Expr condition = change(e->args[0]);
    return condition.same_as(e->args[0]) ? Expr() : select(condition, e->args[1], e->args[2]);
  });
}

}  // namespace emulsion

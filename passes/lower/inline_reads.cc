#include "passes/lower/inline_reads.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "passes/index/simplify_quotients.h"
#include "passes/nest/map_point.h"
#include "passes/nest/read_indices.h"

namespace emulsion {
namespace {

// The body of a stage where it is read at those indices.
Expr body_at(const Stage& stage, const std::vector<Expr>& indices) {
  // Or a long chain of such reads would be gone through again at each link.
  if (are_own_indices(stage.axes, indices)) return stage.body;
  return substitute_axes(stage.body, [&](const std::string& axis) -> Expr {
    const std::optional<size_t> i = axis_index(stage.axes, axis);
    return i ? indices[*i] : Expr();
  });
}

}  // namespace

bool are_own_indices(const std::vector<Axis>& axes, const std::vector<Expr>& indices) {
  const auto is_own = [](const Axis& axis, const Expr& index) {
    return index->op == ExprOp::axis && index->name == axis.name();
  };
  return std::equal(axes.begin(), axes.end(), indices.begin(), indices.end(), is_own);
}

Expr with_inlined(const Expr& body, const std::map<std::string, Stage>& inlined) {
  // Reads at equal indices share one copy of the body, or a chain of squares would double at each
  // link.
  std::map<std::string, std::vector<std::pair<std::vector<Expr>, Expr>>> all_copies;
  return transform(body, [&](const Expr& e) -> Expr {
    auto stage = e->op == ExprOp::read ? inlined.find(e->name) : inlined.end();
    if (stage == inlined.end()) return Expr();
    auto& copies = all_copies[e->name];
    for (const auto& [indices, copy] : copies) {
      if (std::equal(indices.begin(), indices.end(), e->args.begin(), equal)) return copy;
    }
    copies.emplace_back(e->args, body_at(stage->second, e->args));
    return copies.back().second;
  });
}

Expr with_simple_reads(const Expr& body, const Stage& stage) {
  const AxisExtents domain = domain_of(stage);
  return with_indices(body, [&](const Expr& read) {
    std::vector<Expr> indices = read->args;
    for (Expr& index : indices) index = simplify_quotients(index, domain);
    return indices;
  });
}

}  // namespace emulsion

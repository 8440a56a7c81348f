#include "passes/analyse/count_flops.h"

#include <limits>

#include "dsl/expr.h"
#include "dsl/tensor.h"

namespace emulsion {
namespace {

bool is_arithmetic(const Expr& node) {
  if (!is_float(node.dtype())) return false;
  switch (node->op) {
    case ExprOp::neg:
    case ExprOp::abs:
    case ExprOp::exp:
    case ExprOp::log:
    case ExprOp::sqrt:
    case ExprOp::tanh:
    case ExprOp::erf:
    case ExprOp::floor:
    case ExprOp::ceil:
    case ExprOp::round:
    case ExprOp::trunc:
    case ExprOp::add:
    case ExprOp::sub:
    case ExprOp::mul:
    case ExprOp::div:
    case ExprOp::mod:
    case ExprOp::pow:
    case ExprOp::min:
    case ExprOp::max:
      return true;
    case ExprOp::constant:
    case ExprOp::axis:
    case ExprOp::size:
    case ExprOp::read:
    case ExprOp::logical_not:
    case ExprOp::cast:
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
      return false;
  }
  return false;
}

void count(const Op& op, std::vector<FlopTerm>* terms) {
  for (const OpPtr& member : op.members) count(*member, terms);
  if (op.kind != OpKind::compute) return;
  FlopTerm term;
  if (op.combiner != Combiner::none && is_float(op.dtype)) term.operations = 1;
  visit(op.body, [&](const Expr& node) { term.operations += is_arithmetic(node) ? 1 : 0; });
  if (term.operations == 0) return;
  for (const Axis& axis : op.axes) term.extents.push_back(axis.extent());
  for (const Axis& axis : op.reduction_axes) term.extents.push_back(axis.extent());
  terms->push_back(term);
}

}  // namespace

std::vector<FlopTerm> count_flops(const Op& op) {
  std::vector<FlopTerm> terms;
  count(op, &terms);
  return terms;
}

std::vector<FlopTerm> count_flops(const Graph& graph) {
  std::vector<FlopTerm> terms;
  for (const OpPtr& op : graph.ops()) count(*op, &terms);
  return terms;
}

int64_t total_flops(const std::vector<FlopTerm>& terms, const SizeValues& sizes) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  int64_t total = 0;
  for (const FlopTerm& term : terms) {
    int64_t product = term.operations;
    bool empty = false;
    bool overflow = false;
    for (const Extent& extent : term.extents) {
      const int64_t value = extent.evaluate(sizes);
      empty = empty || value <= 0;
      overflow = overflow || __builtin_mul_overflow(product, value, &product);
    }
    if (empty) continue;
    if (overflow || __builtin_add_overflow(total, product, &total)) return kMost;
  }
  return total;
}

}  // namespace emulsion

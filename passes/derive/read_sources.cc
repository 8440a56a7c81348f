#include "passes/derive/read_sources.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "passes/analyse/recognise_op.h"
#include "passes/derive/derive_stage.h"
#include "passes/fuse/fused_group.h"
#include "passes/index/simplify_index.h"
#include "passes/index/simplify_quotients.h"

namespace emulsion {
namespace {

// Whether an index grows by one with the axis, whatever else it is a sum of.
bool counts(const Expr& index, const std::string& axis) {
  if (index->op == ExprOp::axis) return index->name == axis;
  if (index->op != ExprOp::add && index->op != ExprOp::sub) return false;
  const bool first = mentions(index->args[0], axis), second = mentions(index->args[1], axis);
  if (first) return !second && counts(index->args[0], axis);
  return second && index->op == ExprOp::add && counts(index->args[1], axis);
}

}  // namespace

bool is_move(const Op& op) {
  if (op.kind != OpKind::compute || op.combiner != Combiner::none) return false;
  return op.body->op == ExprOp::read && operands(op).size() == 1 && !op.axes.empty() &&
         std::find(op.shape.begin(), op.shape.end(), Extent(0)) == op.shape.end();
}

AxisExtents extents_of(const Op& op) {
  AxisExtents extents;
  for (const std::vector<Axis>* axes : {&op.axes, &op.reduction_axes}) {
    for (const Axis& axis : *axes) extents.emplace(axis.name(), axis.extent());
  }
  return extents;
}

bool is_affine(const Expr& read) {
  return std::all_of(read->args.begin(), read->args.end(),
                     [](const Expr& index) { return affine_of(index).has_value(); });
}

Expr composed(const Expr& read, const Source& source, const AxisExtents& extents) {
  const std::vector<Axis>& axes = source.written->axes;
  const Expr there = substitute_axes(source.written->body, [&](const std::string& axis) -> Expr {
    const std::optional<size_t> i = axis_index(axes, axis);
    return i ? read->args[*i] : Expr();
  });
  return transform(there, [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::read) return Expr();
    std::vector<Expr> indices;
    for (const Expr& index : e->args) indices.push_back(simplify_quotients(index, extents));
    return read_op(e->tensor, std::move(indices));
  });
}

Expr with_composed_reads(const Expr& body, const Source& source, const AxisExtents& extents) {
  return transform(body, [&](const Expr& e) {
    return e->op == ExprOp::read && e->tensor.get() == source.op ? composed(e, source, extents)
                                                                 : Expr();
  });
}

bool has_no_more_steps(const AxisExtents& extents, const Shape& shape) {
  std::vector<Extent> elements(shape.begin(), shape.end());
  Shape steps;
  for (const auto& [axis, extent] : extents) {
    const auto same = std::find(elements.begin(), elements.end(), extent);
    if (same == elements.end()) {
      steps.push_back(extent);
    } else {
      elements.erase(same);
    }
  }
  const std::optional<int64_t> more = element_count(steps), fewer = element_count(elements);
  return more && fewer && *more <= *fewer;
}

bool is_pointwise(const OpPtr& op) {
  const std::vector<OpPtr> parts = comprehensions(op);
  return is_computed(*op) && !is_always_empty(*op) && !op->shape.empty() &&
         fits_one_expression(*op) && std::all_of(parts.begin(), parts.end(), [](const OpPtr& part) {
           return part->combiner == Combiner::none;
         });
}

bool is_elementwise(const OpPtr& op) {
  const std::vector<OpPtr> parts = comprehensions(op);
  return is_pointwise(op) && std::all_of(parts.begin(), parts.end(), [](const OpPtr& part) {
           return classify(*part) == OpClass::elementwise;
         });
}

Step step_of(const Expr& read, const std::string& axis) {
  size_t last = read->args.size();
  while (last > 0 && read->tensor->shape[last - 1] == Extent(1)) --last;
  Step step = Step::none;
  for (size_t i = 0; i < read->args.size(); ++i) {
    if (!mentions(read->args[i], axis)) continue;
    if (i + 1 != last || !counts(read->args[i], axis)) return Step::elsewhere;
    step = Step::neighbour;
  }
  return step;
}

Step step_in_blocks(const Expr& read, const std::string& axis, int64_t lanes, AxisExtents extents) {
  const std::string block = axis + ".block", lane = axis + ".lane";
  extents.emplace(lane, lanes);
  const Expr place = axis_value(block) * int_constant(lanes) + axis_value(lane);
  std::vector<Expr> indices;
  for (const Expr& index : read->args) {
    const Expr in_blocks = substitute_axes(
        index, [&](const std::string& name) { return name == axis ? place : Expr(); });
    indices.push_back(simplify_quotients(in_blocks, extents));
  }
  return step_of(read_op(read->tensor, std::move(indices)), lane);
}

bool keeps_rows(const Op& move) {
  if (move.axes.empty()) return true;
  return step_of(move.body, move.axes.back().name()) != Step::elsewhere;
}

}  // namespace emulsion

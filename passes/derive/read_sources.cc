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

// A read with each index in blocks of `lanes` along the axis.
Expr in_blocks(const Expr& read, const std::string& axis, int64_t lanes,
               const AxisExtents& extents) {
  const Expr place = axis_value(axis + ".block") * int_constant(lanes) + axis_value(axis + ".lane");
  std::vector<Expr> indices;
  for (const Expr& index : read->args) {
    const Expr there = substitute_axes(
        index, [&](const std::string& name) { return name == axis ? place : Expr(); });
    indices.push_back(simplify_quotients(there, extents));
  }
  return read_op(read->tensor, std::move(indices));
}

// Where in memory an element lies, as far as the indices from `first` on say it. Nothing where a
// run-time size decides.
std::optional<Expr> place_in(const std::vector<Expr>& indices, const Shape& shape, size_t first) {
  Expr place = int_constant(0);
  int64_t step = 1;
  for (size_t i = indices.size(); i-- > first;) {
    place = place + indices[i] * int_constant(step);
    if (i == first) break;
    const std::optional<int64_t> extent = shape[i].as_constant();
    if (!extent) return std::nullopt;
    step *= *extent;  // no tensor has as many elements as would be too many
  }
  return place;
}

std::optional<Expr> place_of(const Expr& read, size_t first, const AxisExtents& extents) {
  const std::optional<Expr> place = place_in(read->args, read->tensor->shape, first);
  return place ? std::optional(simplify_quotients(*place, extents)) : std::nullopt;
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

bool keeps_neighbours(const Expr& read, const Expr& through, const AxisExtents& extents) {
  return std::all_of(extents.begin(), extents.end(), [&](const auto& axis) {
    return step_of(read, axis.first) != Step::neighbour ||
           step_of(through, axis.first) != Step::elsewhere;
  });
}

Step step_in_blocks(const Expr& read, const std::string& axis, int64_t lanes, AxisExtents extents) {
  const std::string lane = axis + ".lane";
  extents.emplace(lane, lanes);
  const Expr there = in_blocks(read, axis, lanes, extents);
  const Step step = step_of(there, lane);
  if (step != Step::elsewhere) return step;
  const auto first = std::find_if(there->args.begin(), there->args.end(),
                                  [&](const Expr& index) { return mentions(index, lane); });
  const std::optional<Expr> place =
      place_of(there, static_cast<size_t>(first - there->args.begin()), extents);
  return place && counts(*place, lane) ? Step::neighbour : Step::elsewhere;
}

bool repeats_in_blocks(const Expr& read, const std::string& axis, int64_t lanes,
                       AxisExtents extents) {
  const std::string lane = axis + ".lane", element = axis + ".element";
  extents.emplace(lane, lanes);
  const Expr there = in_blocks(read, axis, lanes, extents);
  std::vector<Expr> indices;
  for (const Expr& index : there->args) {
    indices.push_back(transform(index, [&](const Expr& e) -> Expr {
      if (e->op != ExprOp::div || e->args[0]->op != ExprOp::axis || e->args[0]->name != lane) {
        return Expr();
      }
      const std::optional<int64_t> times = constant_value(e->args[1]);
      return times && *times > 0 && lanes % *times == 0 ? axis_value(element) : Expr();
    }));
  }
  const Expr repeated = read_op(read->tensor, std::move(indices));
  return step_of(repeated, lane) == Step::none && step_of(repeated, element) == Step::neighbour;
}

bool is_view(const Op& move) {
  const AxisExtents extents = extents_of(move);
  const std::vector<Expr> own(move.axes.begin(), move.axes.end());
  const std::optional<Expr> to = place_in(own, move.shape, 0);
  const std::optional<Expr> from = place_in(move.body->args, move.body->tensor->shape, 0);
  if (!to || !from) return false;
  const std::optional<Affine> there = affine_of(simplify_quotients(*from, extents));
  const std::optional<Affine> here = affine_of(*to);
  return there && here && there->offset == here->offset &&
         there->coefficients == here->coefficients;
}

bool keeps_rows(const Op& move) {
  if (move.axes.empty()) return true;
  return step_of(move.body, move.axes.back().name()) != Step::elsewhere;
}

}  // namespace emulsion

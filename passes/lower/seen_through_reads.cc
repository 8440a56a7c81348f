#include "passes/lower/seen_through_reads.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

namespace emulsion {
namespace {

constexpr int64_t kMostNodes = 500;

}  // namespace

StagesByName stages_by_name(const WrittenNest& nest) {
  StagesByName stages;
  for (const WrittenStage& written : nest.stages) {
    stages.emplace(written.stage.name, &written.stage);
  }
  return stages;
}

bool is_small(const Expr& e) { return size_of(e).nodes <= kMostNodes; }

Expr over_reader(const Expr& e, const Stage& stage, const Expr& read) {
  return substitute_axes(e, [&](const std::string& axis) -> Expr {
    const std::optional<size_t> i = axis_index(stage.axes, axis);
    return i ? read->args[*i] : Expr();
  });
}

Expr value_read(const StagesByName& stages, const Expr& read) {
  const auto from = stages.find(read->name);
  if (from == stages.end() || from->second->is_reduction()) return Expr();
  const Stage& stage = *from->second;
  return is_small(stage.body) ? over_reader(stage.body, stage, read) : Expr();
}

StepOfReduction::StepOfReduction(const Stage& reduction, const std::vector<Expr>& indices,
                                 AxisExtents domain)
    : reduction_(reduction), domain_(std::move(domain)) {
  for (size_t i = 0; i < indices.size(); ++i) values_[reduction.axes[i].name()] = indices[i];
}

bool StepOfReduction::is(const Expr& value) {
  if (!is_small(reduction_.body) || !same(reduction_.body, value)) return false;
  for (const Axis& axis : reduction_.reduction_axes) {
    const auto found = values_.find(axis.name());
    if (found != values_.end() && !proves_in_bounds(found->second, axis.extent(), domain_)) {
      return false;
    }
  }
  return true;
}

bool StepOfReduction::is_each_of(const std::vector<Axis>& reader_axes) const {
  std::set<std::string> walked;
  for (const Axis& axis : reduction_.reduction_axes) {
    const auto found = values_.find(axis.name());
    if (found == values_.end() || found->second->op != ExprOp::axis) return false;
    const std::optional<size_t> i = axis_index(reader_axes, found->second->name);
    if (!i || reader_axes[*i].extent() != axis.extent()) return false;
    walked.insert(found->second->name);
  }
  return walked.size() == reduction_.reduction_axes.size() && walked.size() == reader_axes.size();
}

bool StepOfReduction::same(const Expr& step, const Expr& value) {
  if (step->op == ExprOp::axis) {
    // A reduction axis is what stands in its place first.
    return equal(values_.emplace(step->name, value).first->second, value);
  }
  if (step->args.empty()) return equal(step, value);
  if (step->op != value->op || step->dtype != value->dtype || step->name != value->name ||
      step->args.size() != value->args.size()) {
    return false;
  }
  for (size_t i = 0; i < step->args.size(); ++i) {
    if (!same(step->args[i], value->args[i])) return false;
  }
  return true;
}

}  // namespace emulsion

#include "passes/nest/verify_nest_values.h"

#include <algorithm>
#include <utility>

namespace emulsion {
namespace {

constexpr int64_t kSizes[] = {0, 1, 7, 37};

}  // namespace

ValueVisitor::ValueVisitor(const LoopNest& nest, IndexValues values)
    : nest_(nest), values_(std::move(values)) {}

void ValueVisitor::visit_branch(const Branch& branch) { walk(*chosen_side(branch, values_)); }

void ValueVisitor::walk_for_all_sizes() {
  for_all_sizes([&] { walk(*nest_.root); });
}

void ValueVisitor::for_all_sizes(const std::function<void()>& visit) {
  for (int64_t size : kSizes) {
    values_.clear();
    for (const std::string& name : nest_.sizes) values_[name] = size;
    visit();
    if (nest_.sizes.empty()) return;
  }
}

void ValueVisitor::walk_at(const Loop& loop, int64_t value) {
  const std::string variable = loop.variable();
  values_[variable] = value;
  walk(*loop.body);
  values_.erase(variable);
}

bool ValueVisitor::runs(const UopNode& uop) const {
  return std::all_of(uop.guards.begin(), uop.guards.end(),
                     [&](const Guard& guard) { return value_of(guard.condition) != 0; });
}

IndexValues ValueVisitor::axes_at(const Stage& stage, const UopNode& uop) const {
  IndexValues axes;
  for (const std::string& size : nest_.sizes) axes[size_key(size)] = values_.at(size);
  for (size_t d = 0; d < uop.point.size(); ++d) {
    axes[axis_at(stage, d).name()] = value_of(uop.point[d]);
  }
  return axes;
}

void EndsVisitor::verify() {
  for (bool last : {false, true}) {
    last_ = last;
    walk_for_all_sizes();
  }
}

void EndsVisitor::visit_loop(const Loop& loop) {
  const int64_t min = value_of(loop.min), extent = value_of(loop.extent);
  if (extent > 0) walk_at(loop, last_ ? min + extent - 1 : min);
}

}  // namespace emulsion

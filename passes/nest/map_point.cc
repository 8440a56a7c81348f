#include "passes/nest/map_point.h"

#include <algorithm>
#include <set>

#include "passes/index/simplify_index.h"
#include "passes/nest/guard_tails.h"

namespace emulsion {

PointMap map_point(const Stage& stage, Part part, const std::vector<Expr>& region_extents) {
  // Extents before each transform, then the transforms backwards from the loops.
  std::map<std::string, Expr> extents = axis_extents(stage, region_extents);
  std::vector<Expr> before;  // split: of its axis; fuse: of its inner loop
  for (const LoopTransform& t : stage.transforms) {
    before.push_back(extents.at(t.kind == LoopTransform::Kind::split ? t.axis : t.inner));
    apply_transform(t, &extents);
  }
  PointMap result;
  const std::set<std::string> reduction = reduction_loops(stage);
  for (const auto& [axis, extent] : extents) {
    if (part == Part::init && reduction.count(axis)) continue;
    result.local[axis] = axis_value(loop_variable(stage.name, axis));
  }
  for (size_t i = stage.transforms.size(); i-- > 0;) {
    const LoopTransform& t = stage.transforms[i];
    if (t.kind == LoopTransform::Kind::split) {
      if (!result.local.count(t.outer)) continue;
      Expr base = result.local.at(t.outer) * int_constant(t.factor);
      Expr inner = result.local.at(t.inner);
      if (t.tail == Tail::shift_inwards) base = min(base, before[i] - int_constant(t.factor));
      Expr value = simplify_index(base + inner);
      result.local.erase(t.outer);
      result.local.erase(t.inner);
      result.local[t.axis] = value;
      if (has_guard(t.tail)) result.guards.push_back(value < before[i]);
    } else {
      if (!result.local.count(t.axis)) continue;
      Expr fused = result.local.at(t.axis);
      result.local.erase(t.axis);
      result.local[t.outer] = simplify_index(fused / before[i]);
      result.local[t.inner] = simplify_index(fused % before[i]);
    }
  }
  std::reverse(result.guards.begin(), result.guards.end());
  return result;
}

}  // namespace emulsion

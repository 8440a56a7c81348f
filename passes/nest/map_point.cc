#include "passes/nest/map_point.h"

#include <algorithm>

#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

// What a split with that tail does past the end: a guard of the uOps, which masks this of them;
// nothing: no guard.
std::optional<GuardMask> mask_of(Tail tail) {
  switch (tail) {
    case Tail::round_up:
    case Tail::shift_inwards:
      return std::nullopt;
    case Tail::predicate:
      return GuardMask::loads_and_stores;
    case Tail::predicate_loads:
      return GuardMask::loads;
    case Tail::predicate_stores:
      return GuardMask::stores;
    case Tail::automatic:
    case Tail::guard:
      break;
  }
  return GuardMask::instance;
}

std::set<std::string> transformed(const Stage& stage, std::set<std::string> loops) {
  for (const LoopTransform& transform : stage.transforms) {
    if (transform.kind == LoopTransform::Kind::fuse) {
      if (loops.erase(transform.outer) + loops.erase(transform.inner) == 2) {
        loops.insert(transform.axis);
      }
    } else if (loops.erase(transform.axis) == 1) {
      loops.insert(transform.outer);
      if (transform.kind == LoopTransform::Kind::split) loops.insert(transform.inner);
    }
  }
  return loops;
}

std::set<std::string> names_of(const std::vector<Axis>& axes) {
  std::set<std::string> names;
  for (const Axis& axis : axes) names.insert(axis.name());
  return names;
}

}  // namespace

PointMap map_point(const Stage& stage, Part part, const std::vector<Expr>& region_extents) {
  // Extents before each transform, then the transforms backwards from the loops.
  std::map<std::string, Expr> extents = axis_extents(stage, region_extents);
  std::vector<Expr> before;  // split: of its axis; fuse: of its inner loop
  for (const LoopTransform& t : stage.transforms) {
    before.push_back(extents.at(t.kind == LoopTransform::Kind::fuse ? t.inner : t.axis));
    apply_transform(t, &extents);
  }
  PointMap result;
  for (const std::string& axis : loop_axes(stage, part)) {
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
      if (const auto mask = mask_of(t.tail)) result.guards.push_back({value < before[i], *mask});
    } else if (t.kind == LoopTransform::Kind::step) {
      auto loop = result.local.find(t.outer);
      if (loop == result.local.end()) continue;
      const Expr value = simplify_index(loop->second * int_constant(t.factor));
      result.local.erase(loop);
      result.local[t.axis] = value;
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

std::set<std::string> reduction_loop_axes(const Stage& stage) {
  return transformed(stage, names_of(stage.reduction_axes));
}

std::set<std::string> loop_axes(const Stage& stage, Part part) {
  std::set<std::string> loops = transformed(stage, names_of(stage.axes));
  if (part == Part::update) loops.merge(reduction_loop_axes(stage));
  return loops;
}

}  // namespace emulsion

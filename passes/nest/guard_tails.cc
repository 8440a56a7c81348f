#include "passes/nest/guard_tails.h"

namespace emulsion {

GuardMask mask_of(Tail tail) {
  switch (tail) {
    case Tail::predicate:
      return GuardMask::loads_and_stores;
    case Tail::predicate_loads:
      return GuardMask::loads;
    case Tail::predicate_stores:
      return GuardMask::stores;
    default:
      return GuardMask::instance;
  }
}

bool has_guard(Tail tail) { return tail != Tail::round_up && tail != Tail::shift_inwards; }

std::set<std::string> reduction_loops(const Stage& stage, std::vector<bool>* of_reduction) {
  std::set<std::string> reduction;
  for (const Axis& axis : stage.reduction_axes) reduction.insert(axis.name());
  for (const LoopTransform& t : stage.transforms) {
    const bool split = t.kind == LoopTransform::Kind::split;
    const bool is = reduction.count(split ? t.axis : t.outer) > 0;
    if (of_reduction) of_reduction->push_back(is);
    if (is && split) reduction.insert({t.outer, t.inner});
    if (is && !split) reduction.insert(t.axis);
  }
  return reduction;
}

std::vector<Tail> guard_tails(const Stage& stage, Part part) {
  std::vector<bool> of_reduction;
  reduction_loops(stage, &of_reduction);
  std::vector<Tail> tails;
  for (size_t i = 0; i < stage.transforms.size(); ++i) {
    const LoopTransform& t = stage.transforms[i];
    const bool here = part != Part::init || !of_reduction[i];
    const bool split = t.kind == LoopTransform::Kind::split;
    if (here && split && has_guard(t.tail)) tails.push_back(t.tail);
  }
  return tails;
}

}  // namespace emulsion

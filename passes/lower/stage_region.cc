#include "passes/lower/stage_region.h"

#include "passes/index/simplify_index.h"
#include "passes/index/size_facts.h"
#include "passes/nest/axis_pieces.h"
#include "passes/nest/map_point.h"

namespace emulsion {
namespace {

template <typename Get>
std::vector<Expr> collect(const std::vector<AxisRegion>& axes, const Get& get) {
  std::vector<Expr> result;
  result.reserve(axes.size());
  for (const AxisRegion& axis : axes) result.push_back(get(axis));
  return result;
}

using Covered = Coverage::Kind;

// Of what is split into `outer` * factor + `inner`.
Coverage coverage_of_split(const Coverage& outer, const Coverage& inner, int64_t factor) {
  if (outer.kind == Covered::nothing) {
    return inner.kind == Covered::all ? Coverage{Covered::tile, factor} : inner;
  }
  if (inner.kind != Covered::all) return {Covered::scattered};
  if (outer.kind == Covered::tile) return {Covered::tile, outer.size * factor};
  return outer;
}

}  // namespace

std::vector<Expr> StageRegion::mins() const {
  return collect(axes, [](const AxisRegion& axis) { return axis.min(); });
}
std::vector<Expr> StageRegion::extents() const {
  return collect(axes, [](const AxisRegion& axis) { return axis.extent(); });
}
std::vector<Expr> StageRegion::needed_mins() const {
  return collect(axes, [](const AxisRegion& axis) { return axis.needed_min; });
}
std::vector<Expr> StageRegion::needed_extents() const {
  return collect(axes, [](const AxisRegion& axis) { return axis.needed_extent; });
}

std::vector<Window> StageRegion::windows() const {
  std::vector<Window> result;
  for (const AxisRegion& axis : axes) {
    if (axis.window) result.push_back(*axis.window);
  }
  return result;
}

std::vector<Expr> StageCase::extents_in(const std::vector<AxisPiece>& pieces) const {
  std::vector<Expr> result = extents_in_pieces(stage, extents, pieces);
  for (Expr& extent : result) extent = facts.assume(extent);
  return result;
}

std::vector<StageCase> cases_of(const ScheduledStage& plan, const StageRegion& region) {
  std::vector<StageCase> cases = {{region.stage, plan.loops, region.extents(), {}}};
  for (size_t i = 0; i < plan.specialized_loops.size(); ++i) {
    StageCase one{specialized(region.stage, i), plan.specialized_loops[i], region.extents(),
                  facts_of(region.stage.specializations[i].condition)};
    one.stage.specializations.clear();
    const SizeFacts& facts = one.facts;
    for (Expr& extent : one.extents) extent = facts.assume(extent);
    for (Axis& axis : one.stage.reduction_axes) {
      const std::optional<Extent> here = as_extent(facts.assume(extent_value(axis.extent())));
      if (here) axis = Axis(axis.name(), *here);
    }
    cases.push_back(std::move(one));
  }
  return cases;
}

std::map<std::string, Coverage> coverage_of(const StageCase& one, size_t around) {
  std::map<std::string, Coverage> covered;
  for (size_t i = 0; i < one.loops.size(); ++i) {
    covered[one.loops[i].name].kind = i < around ? Covered::nothing : Covered::all;
  }
  const std::vector<LoopTransform>& made = one.stage.transforms;
  for (auto t = made.rbegin(); t != made.rend(); ++t) {
    if (t->kind == LoopTransform::Kind::split) {
      covered[t->axis] = coverage_of_split(covered[t->outer], covered[t->inner], t->factor);
    } else if (t->kind == LoopTransform::Kind::fuse) {
      Coverage both = covered[t->axis];
      if (both.kind == Covered::tile) both.kind = Covered::scattered;
      covered[t->outer] = covered[t->inner] = both;
    }
  }
  for (const Axis& axis : one.stage.axes) {  // one step is all of them
    if (axis.extent() == Extent(1)) covered[axis.name()].kind = Covered::all;
  }
  return covered;
}

std::map<std::string, Expr> axis_values(const Stage& stage, const StageRegion& region,
                                        bool inside) {
  const Part part = stage.is_reduction() ? Part::update : Part::pure;
  std::map<std::string, Expr> values =
      map_point(stage, part, inside ? region.extents() : region.needed_extents()).local;
  for (size_t i = 0; i < stage.axes.size(); ++i) {
    const AxisRegion& axis = region.axes[i];
    Expr& value = values.at(stage.axes[i].name());
    value = simplify_index((inside ? axis.min() : axis.needed_min) + value);
  }
  return values;
}

}  // namespace emulsion

#include "passes/lower/tile_grids.h"

#include <algorithm>
#include <optional>

#include "dsl/error.h"
#include "passes/analyse/recognise_op.h"
#include "passes/index/index_interval.h"
#include "passes/index/simplify_index.h"
#include "passes/nest/map_point.h"

namespace emulsion {
namespace {

bool has_tile_loop(const ScheduledStage& plan) {
  return std::any_of(plan.loops.begin(), plan.loops.end(),
                     [](const ScheduledLoop& loop) { return loop.kind == LoopKind::tile; });
}

// How many indices of each axis one tile covers.
class TileWidths {
 public:
  TileWidths(const ScheduledStage& plan, const StageRegion& region) : plan_(plan) {
    extents_ = loop_extents(region.stage, region.extents());
    values_ = map_point(region.stage, Part::update, region.extents()).local;
  }

  int64_t along(const std::string& axis) const {
    auto range = [&](const std::string& variable) -> std::optional<Range> {
      const ScheduledLoop* loop =
          find_loop(plan_.loops, variable.substr(plan_.stage.name.size() + 1));
      if (loop == nullptr || loop->kind != LoopKind::tile) return std::nullopt;
      return Range{0, Extent(*constant_value(extents_.at(loop->name)) - 1)};
    };
    std::optional<Interval> interval = interval_of(values_.at(axis), range);
    if (!interval) return 1;
    const Extent length = interval->high - interval->low + Extent(1);
    return std::max<int64_t>(1, length.as_constant().value_or(1));
  }

 private:
  const ScheduledStage& plan_;
  std::map<std::string, Expr> extents_;
  std::map<std::string, Expr> values_;
};

// One role of the contraction: how many tiles its axes make, and how long they are together.
void add_axes(const ScheduledStage& plan, const std::vector<std::string>& names,
              const TileWidths& widths, Expr* tiles, int64_t* tile) {
  Expr product = int_constant(1);
  for (const std::string& name : names) {
    const std::vector<Axis>& pure = plan.stage.axes;
    const std::vector<Axis>& axes = axis_index(pure, name) ? pure : plan.stage.reduction_axes;
    const std::optional<size_t> at = axis_index(axes, name);
    EMULSION_CHECK(at, "{} has no axis {}", plan.stage.name, name);
    const int64_t width = widths.along(name);
    product = product * ceil_div(extent_value(axes[*at].extent()), width);
    *tile *= width;
  }
  *tiles = simplify_index(product);
}

}  // namespace

std::vector<TileGrid> tile_grids(const NestPlan& nest, const std::vector<StageRegion>& regions) {
  std::vector<TileGrid> grids;
  for (size_t i = 0; i < nest.stages.size(); ++i) {
    const ScheduledStage& stage = nest.stages[i];
    if (!has_tile_loop(stage)) continue;
    // Of the stage as scheduled: the clamps of a region hide what a read is.
    const std::optional<Contraction> found = match_product(stage.stage);
    if (!found) continue;
    const Contraction& c = *found;
    const TileWidths widths(stage, regions[i]);
    TileGrid grid;
    grid.stage = stage.stage.name;
    grid.result = nest.name_of(stage.compute_at ? stage.compute_at->stage : i);
    int64_t batch_tile = 1;
    add_axes(stage, c.batch_axes, widths, &grid.batch, &batch_tile);
    add_axes(stage, c.row_axes, widths, &grid.m, &grid.tile_m);
    add_axes(stage, c.column_axes, widths, &grid.n, &grid.tile_n);
    add_axes(stage, c.reduction_axes, widths, &grid.k, &grid.tile_k);
    grids.push_back(std::move(grid));
  }
  return grids;
}

}  // namespace emulsion

// Windows: what of a stage is still to be computed when its storage is kept over loops between.

#include <algorithm>

#include "dsl/error.h"
#include "passes/index/simplify_index.h"
#include "passes/lower/stage_region.h"

namespace emulsion {
namespace {

// How far an index moves from one iteration of a loop to the next; nothing when that varies.
std::optional<int64_t> step_of(const Expr& index, const std::string& variable) {
  auto terms = interval_of(index, [](const std::string&) { return std::nullopt; });
  if (!terms) return std::nullopt;
  int64_t step = 0;
  for (const auto& [text, term] : terms->fixed) {
    if (term.first->op == ExprOp::axis && term.first->name == variable) {
      step = term.second;
    } else if (mentions(term.first, variable)) {
      return std::nullopt;
    }
  }
  return step;
}

bool has_one_step(const StageRegion& region, const std::string& loop) {
  const auto extents = loop_extents(region.stage, region.extents());
  return constant_value(extents.at(loop)).value_or(2) <= 1;
}

// A region slides along a loop when the loop moves exactly one axis of it, by less than its length,
// and no loop inside moves that axis too. Along other loops it is computed again, all of it.
void slide_along(const NestPlan& nest, const std::vector<LoopLevel>& around, size_t position,
                 StageRegion* region) {
  const std::string variable = nest.variable(around[position]);
  AxisRegion* moved = nullptr;
  for (AxisRegion& axis : region->axes) {
    if (!mentions(axis.needed_min, variable)) continue;
    if (moved != nullptr) return;
    moved = &axis;
  }
  if (moved == nullptr) return;
  const Expr& start = moved->needed_min;
  for (size_t inner = position + 1; inner < around.size(); ++inner) {
    if (mentions(start, nest.variable(around[inner]))) return;
  }
  const std::optional<int64_t> length = constant_value(moved->needed_extent);
  const int64_t step = step_of(start, variable).value_or(0);
  const int64_t fresh = step < 0 ? -step : step;
  if (!length || fresh == 0 || fresh >= *length) return;
  const auto axis = static_cast<size_t>(moved - region->axes.data());
  moved->window = AxisWindow{{axis, axis_value(variable), *length, step}, around[position]};
}

}  // namespace

void slide_window(const NestPlan& nest, const std::vector<StageRegion>& regions, StageId id,
                  StageRegion* region) {
  const ScheduledStage& plan = nest.stages[id];
  if (!plan.outlives_compute_loop() || plan.kept_whole) return;
  const std::vector<LoopLevel> around = loops_around(nest, id);
  for (size_t i = around.size(); i-- > loops_outside_storage(plan, around);) {
    const bool moves = !has_one_step(regions[around[i].stage], nest.loop(around[i]).name);
    if (moves) slide_along(nest, around, i, region);
  }
}

}  // namespace emulsion

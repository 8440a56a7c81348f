#include <algorithm>

#include "passes/derive_stage.h"

namespace emulsion {
namespace {

// Points of the op, or nothing when a run-time size decides.
std::optional<int64_t> known_points(const Op& op) { return element_count(op.shape); }

}  // namespace

void derive_pointwise(const Op& op, const Target& target, Schedule* schedule) {
  if (op.axes.empty()) return;
  StageSchedule& stage = (*schedule)[op.name];
  int64_t lanes = target.vector_lanes(op.dtype);
  visit(op.body,
        [&](const Expr& e) { lanes = std::min<int64_t>(lanes, target.vector_lanes(e.dtype())); });
  std::optional<int64_t> points = known_points(op);
  bool threads = target.cores > 1 && (!points || *points >= kWorkForThreads / 8);

  size_t rank = op.axes.size();
  if (threads && rank == 1) {  // one long row: a block of it for each task
    constexpr int64_t kBlock = 8192;
    Axis outer(fresh_axis(op, "block")), inner(fresh_axis(op, "within"));
    parallel_blocks(stage, op.axes[0], kBlock, outer, inner).vectorize(inner, lanes);
    return;
  }
  vectorize_last(stage, op.axes[rank - 1], lanes, op.combiner == Combiner::none);
  if (!threads) return;
  // Leading axes of known short extent are fused until there is enough to share out.
  std::vector<Axis> rows = {op.axes[0]}, fused;
  Extent extent = op.axes[0].extent();
  for (size_t i = 1; i + 1 < rank; ++i) {
    if (!extent.is_constant() || extent.constant() >= int64_t{8} * target.cores) break;
    if (!op.axes[i].extent().is_constant()) break;
    rows.push_back(op.axes[i]);
    fused.emplace_back(fresh_axis(op, "rows" + std::to_string(i)));
    extent = extent * op.axes[i].extent();
  }
  if (extent != Extent(1)) parallel_rows(stage, rows, fused);
}

}  // namespace emulsion

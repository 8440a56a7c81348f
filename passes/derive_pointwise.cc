#include <algorithm>
#include <set>
#include <unordered_set>

#include "passes/derive_stage.h"

namespace emulsion {
namespace {

// Points of the op, or nothing when a run-time size decides.
std::optional<int64_t> known_points(const Op& op) { return element_count(op.shape); }

// The types of the values under `e`, but not of what only says where to read.
void collect_types(const Expr& e, std::unordered_set<const ExprNode*>* done,
                   std::set<DType>* types) {
  if (!done->insert(&e.node()).second) return;
  types->insert(e.dtype());
  if (e->op == ExprOp::read) return;
  for (const Expr& arg : e->args) collect_types(arg, done, types);
}

}  // namespace

int64_t value_lanes(const Op& op, const Target& target) {
  std::unordered_set<const ExprNode*> done;
  std::set<DType> types = {op.dtype};
  collect_types(op.body, &done, &types);
  if (types.size() > 1) types.erase(DType::boolean);
  int64_t lanes = target.vector_lanes(*types.begin());
  for (DType type : types) lanes = std::min<int64_t>(lanes, target.vector_lanes(type));
  return lanes;
}

void derive_pointwise(const Op& op, const Target& target, Schedule* schedule) {
  if (op.axes.empty()) return;
  StageSchedule& stage = (*schedule)[op.name];
  int64_t lanes = value_lanes(op, target);
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
  if (extent == Extent(1)) return;
  const Axis outer = fuse_rows(stage, rows, fused);
  parallel_from(stage, outer, op.shape, kWorkForThreads / 8);
}

}  // namespace emulsion

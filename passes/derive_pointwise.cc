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

bool vectorize_last(const Op& op, const std::string& axis, const Extent& extent, int64_t lanes,
                    StageSchedule* stage) {
  bool pure = op.combiner == Combiner::none;
  std::optional<int64_t> least = extent.lower_bound();
  if (extent.is_constant() && extent.constant() < 2) return false;
  if (extent.is_constant() && extent.constant() <= lanes) {
    stage->vectorize(Axis(axis));
    return true;
  }
  bool exact = extent.exact_quotient(lanes).has_value();
  bool long_enough = least && *least >= lanes;
  Tail tail =
      exact ? Tail::automatic : (pure && long_enough ? Tail::shift_inwards : Tail::predicate);
  stage->vectorize(Axis(axis), lanes, tail);
  return true;
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
    stage.split(op.axes[0], outer, inner, kBlock, Tail::guard).parallel(outer);
    stage.vectorize(inner, lanes);
    return;
  }
  const Axis& last = op.axes[rank - 1];
  vectorize_last(op, last.name(), last.extent(), lanes, &stage);
  if (!threads) return;
  // Leading axes of known short extent are fused until there is enough to share out.
  std::string outer = op.axes[0].name();
  Extent extent = op.axes[0].extent();
  for (size_t i = 1; i + 1 < rank; ++i) {
    if (!extent.is_constant() || extent.constant() >= int64_t{8} * target.cores) break;
    if (!op.axes[i].extent().is_constant()) break;
    std::string fused = fresh_axis(op, "rows" + std::to_string(i));
    stage.fuse(Axis(outer), op.axes[i], Axis(fused));
    outer = fused;
    extent = extent * op.axes[i].extent();
  }
  if (extent != Extent(1)) stage.parallel(Axis(outer));
}

}  // namespace emulsion

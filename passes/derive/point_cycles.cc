#include "passes/derive/point_cycles.h"

#include <algorithm>
#include <unordered_set>

#include "dsl/affine.h"
#include "passes/derive/choices.h"
#include "passes/derive/graph_reads.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

// Instructions for one value.
int instructions_of(ExprOp op) {
  constexpr int kOfSeries = 10, kOfDivision = 4;
  switch (op) {
    case ExprOp::constant:
    case ExprOp::axis:
    case ExprOp::size:
    case ExprOp::read:
    case ExprOp::reduce:
      return 0;
    case ExprOp::exp:
    case ExprOp::log:
    case ExprOp::tanh:
    case ExprOp::erf:
    case ExprOp::pow:
      return kOfSeries;
    case ExprOp::div:
    case ExprOp::mod:
    case ExprOp::sqrt:
      return kOfDivision;
    default:
      return 1;
  }
}

// Whether the read walks memory with the axis, but for clamps.
bool walks_along(const Expr& read, const Axis& axis) {
  const Expr& last = read->args.back();
  const auto moves = [&](const Expr& index) { return mentions(index, axis.name()); };
  if (!moves(last) || std::any_of(read->args.begin(), read->args.end() - 1, moves)) return false;
  if (reads_data(last)) return false;
  const std::optional<Affine> index = affine_of(last);
  if (!index) return true;
  const auto step = index->coefficients.find(axis.name());  // none in i - i
  return step != index->coefficients.end() && step->second == 1;
}

class Points {
 public:
  explicit Points(const Op& op) : members_(op.members) {}

  // `share`: how many points of it there are for one that is counted.
  void add(const Op& op, double share) {
    axes_ = &op.axes;
    along_.clear();
    if (!op.axes.empty()) along_.push_back(op.axes.back());
    if (!op.reduction_axes.empty()) along_.push_back(op.reduction_axes.back());
    if (op.combiner != Combiner::none) instructions_ += share * size_in_bytes(op.dtype);
    seen_.clear();
    count(op.body, share);
  }
  void add_stores(DType dtype, double share) { bytes_ += share * size_in_bytes(dtype); }

  PointCost cost(const Target& target) const {
    constexpr double kInstructionsOfCycle = 2;
    const double vector = target.vector_bits() / 8.0;
    return {std::max(bytes_, instructions_ / kInstructionsOfCycle) / vector + elements_, bytes_};
  }

 private:
  void count(const Expr& e, double share) {
    if (!seen_.insert(&e.node()).second) return;
    if (e->op == ExprOp::read) return count_read(e, share);
    // A condition goes with what is compared.
    const int64_t bytes = size_in_bytes(e.dtype() == DType::boolean ? DType::f32 : e.dtype());
    instructions_ += share * static_cast<double>(instructions_of(e->op) * bytes);
    for (const Expr& argument : e->args) count(argument, share);
  }

  void count_read(const Expr& e, double share) {
    const auto is_read = [&](const OpPtr& member) { return member.get() == e->tensor.get(); };
    if (e->args.empty() || std::any_of(members_.begin(), members_.end(), is_read)) return;
    const auto moves = [&](const Axis& axis) { return mentions(e, axis.name()); };
    if (std::none_of(along_.begin(), along_.end(), moves)) return;  // one value for many points
    const auto walks = [&](const Axis& axis) { return walks_along(e, axis); };
    if (std::any_of(along_.begin(), along_.end(), walks)) {
      bytes_ += share * static_cast<double>(size_in_bytes(e.dtype()));
    } else {
      constexpr double kPartOfTurned = 0.4;  // vectors of it are turned in registers
      const bool is_turned = std::any_of(axes_->begin(), axes_->end(), walks);
      elements_ += is_turned ? kPartOfTurned * share : share;
    }
  }

  const std::vector<OpPtr>& members_;
  const std::vector<Axis>* axes_ = nullptr;
  std::vector<Axis> along_;  // what vectors may go along
  std::unordered_set<const ExprNode*> seen_;
  double bytes_ = 0;         // in vectors
  double instructions_ = 0;  // by the bytes of their values
  double elements_ = 0;
};

// For each point that sums are of, how many results there are: of a run-time number of them nearly
// none.
double results_of_point(const Op& sums) {
  double points = 1;
  for (const Axis& axis : sums.reduction_axes) {
    const std::optional<int64_t> extent = axis.extent().as_constant();
    if (!extent) return 0;
    points *= static_cast<double>(std::max<int64_t>(*extent, 1));
  }
  return 1 / points;
}

}  // namespace

PointCost cost_of_point(const Op& op, const Target& target) {
  Points points(op);
  double share = 1;
  const auto add = [&](const Op& one) {
    if (!one.body.defined()) return;
    points.add(one, share);
    if (one.combiner != Combiner::none) share = results_of_point(one);
  };
  for (const OpPtr& member : op.members) add(*member);
  if (op.members.empty()) add(op);
  points.add_stores(op.dtype, share);
  return points.cost(target);
}

}  // namespace emulsion

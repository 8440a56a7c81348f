#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "passes/lower/stage_plan.h"
#include "passes/nest/bounded_exponent.h"
#include "passes/nest/read_indices.h"

namespace emulsion {
namespace {

// How far a sign is looked for: through so many operations and reads, and in expressions of so many
// nodes.
constexpr int kMostSteps = 8;
constexpr int64_t kMostNodes = 500;

// Whether `value`, in a stage over `domain`, is what some step of `maximum`, a reduction that is
// read at `indices`, combines: the same operations of the same things, at reduction indices that
// are there.
class StepOfReduction {
 public:
  StepOfReduction(const Stage& maximum, const std::vector<Expr>& indices, AxisExtents domain)
      : maximum_(maximum), domain_(std::move(domain)) {
    for (size_t i = 0; i < indices.size(); ++i) values_[maximum.axes[i].name()] = indices[i];
  }

  bool is(const Expr& value) {
    if (size_of(maximum_.body).nodes > kMostNodes || !same(maximum_.body, value)) return false;
    for (const Axis& axis : maximum_.reduction_axes) {
      const auto found = values_.find(axis.name());
      if (found != values_.end() && !proves_in_bounds(found->second, axis.extent(), domain_)) {
        return false;
      }
    }
    return true;
  }

 private:
  bool same(const Expr& step, const Expr& value) {
    if (step->op == ExprOp::axis) {
      // A reduction axis is what stands in its place first.
      return equal(values_.emplace(step->name, value).first->second, value);
    }
    if (step->args.empty()) return equal(step, value);
    if (step->op != value->op || step->dtype != value->dtype || step->name != value->name ||
        step->args.size() != value->args.size()) {
      return false;
    }
    for (size_t i = 0; i < step->args.size(); ++i) {
      if (!same(step->args[i], value->args[i])) return false;
    }
    return true;
  }

  const Stage& maximum_;
  AxisExtents domain_;
  std::map<std::string, Expr> values_;  // of the axes of `maximum_`
};

using StagesByName = std::unordered_map<std::string, const Stage*>;

enum class Side { above, below };

// The signs of f32 values in the body of a stage. NaN has any sign, and -0 is 0.
class Signs {
 public:
  Signs(const StagesByName& stages, const Stage& stage)
      : stages_(stages), domain_(domain_of(stage)) {}

  bool never_above_zero(const Expr& e) const { return never(Side::above, e, kMostSteps); }

 private:
  // Whether a value is never on that side of zero.
  bool never(Side side, const Expr& e, int steps) const {
    if (steps == 0) return false;
    const Side other = side == Side::above ? Side::below : Side::above;
    const auto is = [&](Side where, size_t i) { return never(where, e->args[i], steps - 1); };
    switch (e->op) {
      case ExprOp::constant:
        return side == Side::above ? e->float_value <= 0 : e->float_value >= 0;
      case ExprOp::abs:
      case ExprOp::exp:
      case ExprOp::sqrt:
        return side == Side::below;
      case ExprOp::neg:
        return is(other, 0);
      case ExprOp::add:
        return is(side, 0) && is(side, 1);
      case ExprOp::sub:
        return is_apart_from_its_maximum(side, e) || (is(side, 0) && is(other, 1));
      case ExprOp::min:
      case ExprOp::max: {
        // The greater of two is above zero when one of them is.
        const bool takes_both = (e->op == ExprOp::max) == (side == Side::above);
        return takes_both ? is(side, 0) && is(side, 1) : is(side, 0) || is(side, 1);
      }
      case ExprOp::mul:
        return (side == Side::below && is_square(e)) || (is(side, 0) && is(Side::below, 1)) ||
               (is(other, 0) && is(Side::above, 1));
      case ExprOp::div:
        return is(side, 0) && e->args[1]->op == ExprOp::constant && e->args[1]->float_value > 0;
      case ExprOp::select:
        return is(side, 1) && is(side, 2);
      case ExprOp::read: {
        const Expr read = value_read(e);
        return read.defined() && never(side, read, steps - 1);
      }
      default:
        return false;
    }
  }

  static bool is_square(const Expr& product) {
    const Expr &a = product->args[0], &b = product->args[1];
    return a.same_as(b) || (size_of(a).nodes <= kMostNodes && equal(a, b));
  }

  // x[i] - m, where m is the maximum of values that x[i] is one of, is never above zero; m - x[i]
  // never below.
  bool is_apart_from_its_maximum(Side side, const Expr& difference) const {
    const size_t of_maximum = side == Side::above ? 1 : 0;
    const Expr &maximum = difference->args[of_maximum], &value = difference->args[1 - of_maximum];
    if (maximum->op != ExprOp::read) return false;
    const auto from = stages_.find(maximum->name);
    return from != stages_.end() && from->second->combiner == Combiner::max &&
           StepOfReduction(*from->second, maximum->args, domain_).is(value);
  }

  // What a read of a stage that is no reduction gives, over the axes of the reader.
  Expr value_read(const Expr& read) const {
    const auto from = stages_.find(read->name);
    if (from == stages_.end() || from->second->is_reduction()) return Expr();
    const Stage& stage = *from->second;
    if (size_of(stage.body).nodes > kMostNodes) return Expr();
    return substitute_axes(stage.body, [&](const std::string& axis) -> Expr {
      const std::optional<size_t> i = axis_index(stage.axes, axis);
      return i ? read->args[*i] : Expr();
    });
  }

  const StagesByName& stages_;
  AxisExtents domain_;
};

}  // namespace

WrittenNest bound_exponents(WrittenNest nest) {
  StagesByName stages;
  for (const WrittenStage& written : nest.stages) {
    stages.emplace(written.stage.name, &written.stage);
  }
  for (WrittenStage& written : nest.stages) {
    const Signs signs(stages, written.stage);
    written.stage.body = transform(written.stage.body, [&](const Expr& e) -> Expr {
      if (e->op != ExprOp::exp || e->dtype != DType::f32) return Expr();
      const Expr& exponent = e->args[0];
      if (is_bounded_exponent(exponent) || !signs.never_above_zero(exponent)) return Expr();
      return exp(bounded_exponent(exponent));
    });
  }
  return nest;
}

}  // namespace emulsion

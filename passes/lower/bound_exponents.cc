#include "passes/lower/seen_through_reads.h"
#include "passes/lower/stage_plan.h"
#include "passes/nest/bounded_exponent.h"
#include "passes/nest/read_indices.h"

namespace emulsion {
namespace {

// How far a sign is looked for: through so many operations and reads.
constexpr int kMostSteps = 8;

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
        const Expr read = value_read(stages_, e);
        return read.defined() && never(side, read, steps - 1);
      }
      default:
        return false;
    }
  }

  static bool is_square(const Expr& product) {
    const Expr &a = product->args[0], &b = product->args[1];
    return a.same_as(b) || (is_small(a) && equal(a, b));
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

  const StagesByName& stages_;
  AxisExtents domain_;
};

}  // namespace

WrittenNest bound_exponents(WrittenNest nest) {
  const StagesByName stages = stages_by_name(nest);
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

#include "passes/derive/repeated_reads.h"

#include <numeric>
#include <optional>

#include "dsl/expr.h"
#include "passes/derive/derive_stage.h"
#include "passes/index/simplify_index.h"

namespace emulsion {

int64_t block_of_repeats(const Op& op, const Target& target) {
  constexpr int64_t kMostSteps = 15, kMostVectors = 15;  // of a block
  const Axis& along = op.axes.back();
  int64_t steps = 1;
  visit(op.body, [&](const Expr& read) {
    if (read->op != ExprOp::read) return;
    for (const Expr& index : read->args) {
      visit(index, [&](const Expr& e) {
        if (e->op != ExprOp::div && e->op != ExprOp::mod) return;
        const std::optional<int64_t> divisor = constant_value(e->args[1]);
        if (!mentions(e->args[0], along.name())) return;
        const bool is_known = divisor && *divisor > 0 && *divisor <= kMostSteps;
        steps = is_known ? std::lcm(steps, *divisor) : 2 * kMostSteps;
      });
    }
  });
  const int64_t lanes = value_lanes(op, target), block = std::lcm(lanes, steps);
  if (steps > kMostSteps || block == lanes || block > kMostVectors * lanes) return 0;
  if (along.extent().as_constant().value_or(2 * block) < 2 * block) return 0;
  return block;
}

bool vectorize_repeats(const Op& op, const Axis& along, int64_t block, const Target& target,
                       StageSchedule* stage) {
  const Axis within(fresh_axis(op, "turn")), part(fresh_axis(op, "part"));
  const Axis lane(fresh_axis(op, "lane"));
  const bool is_exact = along.extent().exact_quotient(block).has_value();
  stage->split(along, along, within, block, is_exact ? Tail::automatic : Tail::guard)
      .split(within, part, lane, value_lanes(op, target))
      .vectorize(lane)
      .unroll(part);
  return !is_exact;
}

}  // namespace emulsion

#include "passes/derive/repeated_reads.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "dsl/expr.h"
#include "passes/derive/derive_stage.h"
#include "passes/index/simplify_index.h"

namespace emulsion {

namespace {

constexpr int64_t kMostSteps = 15, kMostInBlock = 15;  // of a block, and vectors of it
constexpr int64_t kTooMany = 2 * kMostSteps;

// After how many steps of the axis the same comes again in all that an expression divides, or takes
// remainders of.
int64_t steps_of_repeats(const Expr& e, const std::string& axis) {
  if (!mentions(e, axis)) return 1;
  int64_t steps = 1;
  for (const Expr& arg : e->args) steps = std::lcm(steps, steps_of_repeats(arg, axis));
  if (e->op == ExprOp::div || e->op == ExprOp::mod) {
    const std::optional<int64_t> by = constant_value(e->args[1]);
    if (!mentions(e->args[0], axis)) return steps;
    steps = by && *by > 0 && *by <= kMostSteps ? steps * *by : kTooMany;
  }
  return std::min(steps, kTooMany);
}

int64_t steps_of_repeats(const Op& op) {
  int64_t steps = 1;
  visit(op.body, [&](const Expr& read) {
    if (read->op != ExprOp::read || steps >= kTooMany) return;
    for (const Expr& index : read->args) {
      steps = std::min(std::lcm(steps, steps_of_repeats(index, op.axes.back().name())), kTooMany);
    }
  });
  return steps;
}

// Whether an index has quotients and another one remainders: of powers of two, too, LLVM does not
// find out what a vector reads.
bool has_digits(const Op& op) {
  const std::string& axis = op.axes.back().name();
  return any_part(op.body, [&](const Expr& read) {
    if (read->op != ExprOp::read) return false;
    const auto has = [&](ExprOp kind) {
      return std::any_of(read->args.begin(), read->args.end(), [&](const Expr& index) {
        return any_part(index, [&](const Expr& e) { return e->op == kind && mentions(e, axis); });
      });
    };
    return has(ExprOp::div) && has(ExprOp::mod);
  });
}

}  // namespace

int64_t block_of_repeats(const Op& op, const Target& target) {
  const Axis& along = op.axes.back();
  const int64_t steps = steps_of_repeats(op);
  const int64_t lanes = value_lanes(op, target), block = std::lcm(lanes, steps);
  if (steps > kMostSteps || block > kMostInBlock * lanes) return 0;
  if (block == lanes && (steps == 1 || !has_digits(op))) return 0;
  if (along.extent().as_constant().value_or(2 * block) < 2 * block) return 0;
  return block;
}

bool has_blocks_to_shift(const Op& op, int64_t block) {
  const Extent& extent = op.axes.back().extent();
  return !extent.exact_quotient(block) && extent.exact_quotient(steps_of_repeats(op)) &&
         extent.as_constant().value_or(block) >= block;
}

bool vectorize_repeats(const Op& op, const Axis& along, int64_t block, bool has_block,
                       const Target& target, StageSchedule* stage) {
  const Axis within(fresh_axis(op, "turn")), part(fresh_axis(op, "part"));
  const Axis lane(fresh_axis(op, "lane"));
  const bool is_exact = along.extent().exact_quotient(block).has_value();
  const bool shifts = has_block && has_blocks_to_shift(op, block);
  const Tail tail = shifts ? Tail::shift_inwards : Tail::guard;
  stage->split(along, along, within, block, is_exact ? Tail::automatic : tail)
      .split(within, part, lane, value_lanes(op, target))
      .vectorize(lane)
      .unroll(part);
  return !is_exact && !shifts;
}

}  // namespace emulsion

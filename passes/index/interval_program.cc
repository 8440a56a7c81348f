#include "passes/index/interval_program.h"

#include <algorithm>
#include <array>

#include "dsl/error.h"
#include "dsl/range_arithmetic.h"
#include "dsl/types.h"

namespace emulsion {
namespace {

// What was read, or is computed from floats.
bool is_data(const Expr& index) {
  return index->op == ExprOp::read ||
         std::any_of(index->args.begin(), index->args.end(),
                     [](const Expr& argument) { return is_float(argument.dtype()); });
}

}  // namespace

IntervalProgram::IntervalProgram(const Expr& index,
                                 const std::function<int(const std::string&)>& slot) {
  add(index, slot);
}

int IntervalProgram::add(const Expr& index, const std::function<int(const std::string&)>& slot) {
  EMULSION_CHECK(index.defined() && !is_float(index.dtype()), "not an index: {}",
                 index.defined() ? to_string(index) : "nothing");
  Step step;
  step.op = index->op;
  step.value = index->int_value;
  if (index->op == ExprOp::axis || index->op == ExprOp::size) {
    step.arguments[0] = slot(index->name);
  } else if (is_data(index)) {
    step.op = ExprOp::read;
    step.may_wrap = true;
  } else {
    for (size_t i = 0; i < index->args.size(); ++i) {
      step.arguments[i] = add(index->args[i], slot);
      step.may_wrap = step.may_wrap || steps_[static_cast<size_t>(step.arguments[i])].may_wrap;
    }
    step.may_wrap = step.may_wrap || (index->op == ExprOp::cast && index.dtype() != i32);
  }
  if (step.may_wrap) step.of_type = integer_range(index.dtype());
  steps_.push_back(step);
  return static_cast<int>(steps_.size()) - 1;
}

IntegerRange IntervalProgram::range(const std::vector<IntegerRange>& slots) const {
  constexpr size_t kFew = 48;
  if (steps_.size() <= kFew) {
    std::array<IntegerRange, kFew> values;
    for (size_t i = 0; i < steps_.size(); ++i) {
      values[i] = evaluate(steps_[i], slots, values.data());
    }
    return values[steps_.size() - 1];
  }
  std::vector<IntegerRange> values(steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    values[i] = evaluate(steps_[i], slots, values.data());
  }
  return values.back();
}

IntegerRange IntervalProgram::evaluate(const Step& step, const std::vector<IntegerRange>& slots,
                                       const IntegerRange* values) {
  if (!step.may_wrap) return compute(step, slots, values);
  if (step.op == ExprOp::read) return step.of_type;
  // What its type does not hold wraps around, and may be anything. So no number grows beyond i32.
  const IntegerRange computed = compute(step, slots, values);
  return step.of_type.contains(computed) ? computed : step.of_type;
}

IntegerRange IntervalProgram::compute(const Step& step, const std::vector<IntegerRange>& slots,
                                      const IntegerRange* values) {
  switch (step.op) {
    case ExprOp::constant:
      return {step.value, step.value};
    case ExprOp::axis:
    case ExprOp::size:
      return slots[static_cast<size_t>(step.arguments[0])];
    default:
      return range_of(step.op, values[step.arguments[0]], values[step.arguments[1]],
                      values[step.arguments[2]]);
  }
}

std::vector<int> IntervalProgram::slots() const {
  std::vector<int> result;
  for (const Step& step : steps_) {
    if (step.op != ExprOp::axis && step.op != ExprOp::size) continue;
    if (std::find(result.begin(), result.end(), step.arguments[0]) == result.end()) {
      result.push_back(step.arguments[0]);
    }
  }
  return result;
}

}  // namespace emulsion

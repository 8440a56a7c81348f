#include "passes/index/interval_program.h"

#include <algorithm>
#include <array>

#include "dsl/error.h"
#include "dsl/types.h"
#include "passes/index/index_arithmetic.h"

namespace emulsion {
namespace {

IndexRange around(std::initializer_list<int64_t> values) {
  return {std::min(values), std::max(values)};
}

IndexRange unite(const IndexRange& a, const IndexRange& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

IndexRange multiply(const IndexRange& a, const IndexRange& b) {
  return around({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
}

IndexRange divide(const IndexRange& a, const IndexRange& b) {
  if (b.low > 0 || b.is_point()) {
    return around({floor_div(a.low, b.low), floor_div(a.low, b.high), floor_div(a.high, b.low),
                   floor_div(a.high, b.high)});
  }
  int64_t most = std::max(std::abs(a.low), std::abs(a.high));  // a divisor of either sign, or 0
  return {-most, most};
}

IndexRange modulo(const IndexRange& a, const IndexRange& b) {
  if (b.is_point() && b.low > 0) {
    if (floor_div(a.low, b.low) == floor_div(a.high, b.low)) {
      int64_t start = floor_div(a.low, b.low) * b.low;
      return {a.low - start, a.high - start};
    }
    return {0, b.low - 1};
  }
  // The sign is the divisor's; by zero the rest is 0.
  return {std::min<int64_t>(0, b.low + 1), std::max<int64_t>(0, b.high - 1)};
}

// A comparison: certain, impossible, or open.
IndexRange truth(bool always, bool never) {
  return always ? IndexRange{1, 1} : never ? IndexRange{0, 0} : IndexRange{0, 1};
}

IndexRange negate(const IndexRange& a) { return truth(a.high == 0 && a.low == 0, a.low > 0); }

IndexRange is_equal(const IndexRange& a, const IndexRange& b) {
  return truth(a.is_point() && b.is_point() && a.low == b.low, a.high < b.low || b.high < a.low);
}

IndexRange is_true(const IndexRange& a) {
  return truth(a.low > 0 || a.high < 0, a.low == 0 && a.high == 0);
}

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
    step.of_data = true;
  } else {
    for (size_t i = 0; i < index->args.size(); ++i) {
      step.arguments[i] = add(index->args[i], slot);
      step.of_data = step.of_data || steps_[static_cast<size_t>(step.arguments[i])].of_data;
    }
  }
  if (step.of_data) {
    const IntegerRange holds = integer_range(index.dtype());
    step.of_type = {holds.lowest, holds.highest};
  }
  steps_.push_back(step);
  return static_cast<int>(steps_.size()) - 1;
}

IndexRange IntervalProgram::range(const std::vector<IndexRange>& slots) const {
  constexpr size_t kFew = 48;
  if (steps_.size() <= kFew) {
    std::array<IndexRange, kFew> values;
    for (size_t i = 0; i < steps_.size(); ++i) {
      values[i] = evaluate(steps_[i], slots, values.data());
    }
    return values[steps_.size() - 1];
  }
  std::vector<IndexRange> values(steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    values[i] = evaluate(steps_[i], slots, values.data());
  }
  return values.back();
}

IndexRange IntervalProgram::evaluate(const Step& step, const std::vector<IndexRange>& slots,
                                     const IndexRange* values) {
  if (!step.of_data) return compute(step, slots, values);
  if (step.op == ExprOp::read) return step.of_type;
  // What its type does not hold wraps around, and may be anything. So no number grows beyond i32.
  const IndexRange computed = compute(step, slots, values);
  const bool fits = step.of_type.low <= computed.low && computed.high <= step.of_type.high;
  return fits ? computed : step.of_type;
}

IndexRange IntervalProgram::compute(const Step& step, const std::vector<IndexRange>& slots,
                                    const IndexRange* values) {
  const IndexRange& a = values[step.arguments[0]];
  const IndexRange& b = values[step.arguments[1]];
  const IndexRange& c = values[step.arguments[2]];
  switch (step.op) {
    case ExprOp::constant:
      return {step.value, step.value};
    case ExprOp::axis:
    case ExprOp::size:
      return slots[static_cast<size_t>(step.arguments[0])];
    case ExprOp::neg:
      return {-a.high, -a.low};
    case ExprOp::abs:
      if (a.low >= 0) return a;
      return a.high <= 0 ? IndexRange{-a.high, -a.low} : IndexRange{0, std::max(-a.low, a.high)};
    case ExprOp::cast:
      return a;
    case ExprOp::logical_not:
      return negate(is_true(a));
    case ExprOp::add:
      return {a.low + b.low, a.high + b.high};
    case ExprOp::sub:
      return {a.low - b.high, a.high - b.low};
    case ExprOp::mul:
      return multiply(a, b);
    case ExprOp::div:
      return divide(a, b);
    case ExprOp::mod:
      return modulo(a, b);
    case ExprOp::min:
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case ExprOp::max:
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case ExprOp::eq:
      return is_equal(a, b);
    case ExprOp::ne:
      return negate(is_equal(a, b));
    case ExprOp::lt:
      return truth(a.high < b.low, a.low >= b.high);
    case ExprOp::le:
      return truth(a.high <= b.low, a.low > b.high);
    case ExprOp::gt:
      return truth(a.low > b.high, a.high <= b.low);
    case ExprOp::ge:
      return truth(a.low >= b.high, a.high < b.low);
    case ExprOp::logical_and: {
      IndexRange x = is_true(a), y = is_true(b);
      return {std::min(x.low, y.low), std::min(x.high, y.high)};
    }
    case ExprOp::logical_or: {
      IndexRange x = is_true(a), y = is_true(b);
      return {std::max(x.low, y.low), std::max(x.high, y.high)};
    }
    case ExprOp::select: {
      IndexRange condition = is_true(a);
      if (condition.is_point()) return condition.low ? b : c;
      return unite(b, c);
    }
    default:
      EMULSION_CHECK(false, "{} in an index expression", to_string(step.op));
      return {};
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

#include <algorithm>
#include <functional>
#include <numeric>

#include "dsl/count_text.h"
#include "dsl/operators.h"
#include "dsl/operators_support.h"

namespace emulsion {
namespace {

// Checks that a list has one entry for each axis of x.
template <typename T>
void check_length(const OperatorCall& call, Argument argument, const std::vector<T>& list,
                  const Tensor& x) {
  if (list.size() != x.shape().size()) {
    call.refuse(argument, "expected {}, one for each axis of x {}, got {}",
                count_text(x.rank(), "entry", "entries"), to_string(x.shape()), list.size());
  }
}

// How many positions lie between begin and end along one axis, all of them inside x.
Extent slice_extent(const OperatorCall& call, const Tensor& x, size_t axis, const Extent& begin,
                    const Extent& end, int64_t step) {
  constexpr Argument kBegin{2, "begin"};
  constexpr Argument kEnd{3, "end"};
  const Extent& extent = x.shape()[axis];
  auto check = [&](Argument argument, const Extent& value, const Extent& low, const Extent& high) {
    bool near = value.constant_term() <= kFurthest && value.constant_term() >= -kFurthest;
    if (near && never_negative(value - low) && never_negative(high - value)) return;
    // Between the ends of the axis, not between one of them and where it begins.
    const bool is_begin = argument.number == kBegin.number;
    const auto outside = [](const Extent& room) { return -room.lower_bound().value_or(0); };
    const int64_t below = near && (is_begin || step < 0) ? outside(value - low) : 0;
    const int64_t above = near && (is_begin || step > 0) ? outside(high - value) : 0;
    const int64_t by = std::max(below, above);
    call.refuse(argument, "axis {}: expected a position from {} to {} whatever the sizes, got {}{}",
                axis, low.to_string(), high.to_string(), value.to_string(),
                by > 0 ? legal_longer(extent, by) : "");
  };
  if (step == 0 || step > kFurthest || step < -kFurthest) {
    call.refuse({4, "step"}, "axis {}: expected a step other than 0 that fits i32, got {}", axis,
                step);
  }
  const Extent one(1);
  if (step > 0) {
    check(kBegin, begin, Extent(0), extent);
    check(kEnd, end, begin, extent);
  } else {
    check(kBegin, begin, Extent(-1), extent - one);
    check(kEnd, end, Extent(-1), begin);
  }
  Extent distance = step > 0 ? end - begin : begin - end;
  int64_t stride = step > 0 ? step : -step;
  std::optional<Extent> count = floor_quotient(distance + Extent(stride - 1), stride);
  if (!count) {
    call.refuse({4, "step"}, "axis {}: expected a step that divides the run-time extent {}, got {}",
                axis, distance.to_string(), step);
  }
  return *count;
}

}  // namespace

Tensor transpose(const Tensor& x, const std::vector<int>& perm, const std::string& name) {
  constexpr Argument kPerm{2, "perm"};
  OperatorCall call("transpose", name);
  call.check_computable(kX, x);
  std::vector<int> order(x.rank());
  std::iota(order.rbegin(), order.rend(), 0);
  if (!perm.empty()) {
    check_length(call, kPerm, perm, x);
    for (int i = 0; i < x.rank(); ++i) {
      int axis = call.normalize_axis(kPerm, perm[i], x.rank());
      if (std::find(order.begin(), order.begin() + i, axis) != order.begin() + i) {
        call.refuse(kPerm, "expected each axis once, got axis {} twice", axis);
      }
      order[i] = axis;
    }
  }
  Shape shape;
  for (int axis : order) shape.push_back(x.shape()[axis]);
  std::vector<Axis> axes = axes_over(shape);
  std::vector<Expr> indices(order.size());
  for (size_t i = 0; i < order.size(); ++i) indices[order[i]] = axes[i];
  return call.result(axes, x.at(std::move(indices)));
}

Tensor slice(const Tensor& x, const std::vector<Extent>& begin, const std::vector<Extent>& end,
             const std::vector<int64_t>& step, const std::string& name) {
  OperatorCall call("slice", name);
  call.check_computable(kX, x);
  check_length(call, {2, "begin"}, begin, x);
  check_length(call, {3, "end"}, end, x);
  if (!step.empty()) check_length(call, {4, "step"}, step, x);
  std::vector<int64_t> steps = step.empty() ? std::vector<int64_t>(x.rank(), 1) : step;
  Shape shape;
  for (size_t i = 0; i < begin.size(); ++i) {
    shape.push_back(slice_extent(call, x, i, begin[i], end[i], steps[i]));
  }
  std::vector<Axis> axes = axes_over(shape);
  std::vector<Expr> indices;
  for (size_t i = 0; i < axes.size(); ++i) {
    Expr index = scaled(axes[i], steps[i]);
    if (begin[i] != Extent(0)) index = index + extent_value(begin[i]);
    indices.push_back(index);
  }
  return call.result(axes, x.at(std::move(indices)));
}

Tensor concat(const std::vector<Tensor>& tensors, int axis, const std::string& name) {
  constexpr Argument kTensors{1, "tensors"};
  OperatorCall call("concat", name);
  if (tensors.empty()) call.refuse(kTensors, "expected at least one tensor, got none");
  call.check_computable(kTensors, tensors[0]);
  Shape shape = tensors[0].shape();
  int along = call.normalize_axis({2, "axis"}, axis, tensors[0].rank());
  for (size_t t = 1; t < tensors.size(); ++t) {
    call.check_defined(kTensors, tensors[t]);
    if (tensors[t].dtype() != tensors[0].dtype()) {
      call.refuse(kTensors, "expected tensors of one type, got {} and (number {}) {}; cast one",
                  to_string(tensors[0].dtype()), t + 1, to_string(tensors[t].dtype()));
    }
    Shape expected = tensors[0].shape();
    if (tensors[t].rank() == tensors[0].rank()) expected[along] = tensors[t].shape()[along];
    if (tensors[t].shape() != expected) {
      call.refuse(kTensors, "expected shapes that agree but for axis {}, got {} and (number {}) {}",
                  along, to_string(tensors[0].shape()), t + 1, to_string(tensors[t].shape()));
    }
    shape[along] = shape[along] + expected[along];
  }

  // Parts that are always empty are left out; one stays when all are.
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) {
    if (tensor.shape()[along] != Extent(0)) parts.push_back(tensor);
  }
  if (parts.empty()) parts.push_back(tensors[0]);

  std::vector<Axis> axes = axes_over(shape);
  Extent offset(0);
  std::vector<Expr> reads;
  std::vector<Extent> ends;
  for (size_t p = 0; p < parts.size(); ++p) {
    const Extent& extent = parts[p].shape()[along];
    Expr index = axes[along];
    if (parts.size() > 1) {  // clamped: a backend may ask for what an unchosen branch would read
      if (p > 0) index = index - extent_value(offset);
      if (p + 1 < parts.size()) index = min(index, extent_value(extent - Extent(1)));
      if (p > 0 || !extent.is_constant()) index = max(index, int_constant(0));
    }
    std::vector<Expr> indices = values_of(axes);
    indices[along] = index;
    reads.push_back(parts[p].at(std::move(indices)));
    offset = offset + extent;
    ends.push_back(offset);
  }
  // By halves, so that of many parts few comparisons lead to each.
  const std::function<Expr(size_t, size_t)> choose = [&](size_t first, size_t count) {
    if (count == 1) return reads[first];
    const size_t half = count / 2;
    return select(axes[along] < extent_value(ends[first + half - 1]), choose(first, half),
                  choose(first + half, count - half));
  };
  return call.result(axes, choose(0, parts.size()));
}

Tensor pad(const Tensor& x, const std::vector<int64_t>& low, const std::vector<int64_t>& high,
           double value, const std::string& name) {
  OperatorCall call("pad", name);
  call.check_computable(kX, x);
  auto check = [&](Argument argument, const std::vector<int64_t>& amounts) {
    check_length(call, argument, amounts, x);
    for (size_t i = 0; i < amounts.size(); ++i) {
      if (amounts[i] < 0 || amounts[i] > kFurthest) {
        call.refuse(argument, "axis {}: expected 0 to {} elements, got {}", i, kFurthest,
                    amounts[i]);
      }
    }
  };
  check({2, "low"}, low);
  check({3, "high"}, high);
  Expr filler = call.literal({4, "value"}, value, x.dtype());
  std::vector<Axis> axes = axes_over(padded_shape(x.shape(), low, high));
  return call.result(axes, padded_body(x, axes, low, high, filler));
}

}  // namespace emulsion

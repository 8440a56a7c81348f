#include <algorithm>

#include "dsl/operators.h"
#include "dsl/operators_support.h"

namespace emulsion {
namespace {

constexpr Argument kAxes{2, "axes"};

// Which axes of x go, and the comprehension that is left: `inner` indexes x, `outer` the result.
struct Reduction {
  Reduction(const OperatorCall& call, const Tensor& x, const std::vector<int>& axes,
            bool keepdims) {
    std::vector<int> reduced_axes = call.normalize_axes(kAxes, axes, x.rank());
    for (int i = 0; i < x.rank(); ++i) {
      const Extent& extent = x.shape()[i];
      if (std::binary_search(reduced_axes.begin(), reduced_axes.end(), i)) {
        reduced.emplace_back("r" + std::to_string(i), extent);
        inner.emplace_back(reduced.back());
        if (keepdims) outer.emplace_back("i" + std::to_string(i), Extent(1));
      } else {
        outer.emplace_back("i" + std::to_string(i), extent);
        inner.emplace_back(outer.back());
      }
    }
  }
  std::vector<Extent> reduced_extents() const {
    std::vector<Extent> extents;
    for (const Axis& axis : reduced) extents.push_back(axis.extent());
    return extents;
  }
  std::vector<Axis> outer, reduced;
  std::vector<Expr> inner;
};

bool has_zero(const std::vector<Axis>& axes) {
  return std::any_of(axes.begin(), axes.end(),
                     [](const Axis& axis) { return axis.extent() == Extent(0); });
}

// max and min have no value over nothing: a kernel that could only ever return the identity is a
// mistake.
void check_not_empty(const OperatorCall& call, const Tensor& x, const Reduction& reduction) {
  if (has_zero(reduction.reduced) && !has_zero(reduction.outer)) {
    call.refuse(kAxes, "expected axes with elements, got an axis of extent 0 in {}",
                to_string(x.shape()));
  }
}

}  // namespace

Tensor sum(const Tensor& x, const std::vector<int>& axes, bool keepdims, const std::string& name) {
  OperatorCall call("sum", name);
  call.check_numeric(kX, x);
  Reduction reduction(call, x, axes, keepdims);
  return call.result(reduction.outer, sum(reduction.reduced, x.at(reduction.inner)));
}

Tensor reduce_max(const Tensor& x, const std::vector<int>& axes, bool keepdims,
                  const std::string& name) {
  OperatorCall call("reduce_max", name);
  call.check_numeric(kX, x);
  Reduction reduction(call, x, axes, keepdims);
  check_not_empty(call, x, reduction);
  return call.result(reduction.outer, reduce_max(reduction.reduced, x.at(reduction.inner)));
}

Tensor reduce_min(const Tensor& x, const std::vector<int>& axes, bool keepdims,
                  const std::string& name) {
  OperatorCall call("reduce_min", name);
  call.check_numeric(kX, x);
  Reduction reduction(call, x, axes, keepdims);
  check_not_empty(call, x, reduction);
  return call.result(reduction.outer, reduce_min(reduction.reduced, x.at(reduction.inner)));
}

Tensor mean(const Tensor& x, const std::vector<int>& axes, bool keepdims, const std::string& name) {
  OperatorCall call("mean", name);
  call.check_float(kX, x);
  Reduction reduction(call, x, axes, keepdims);
  Tensor total = call.member("sum", reduction.outer, sum(reduction.reduced, x.at(reduction.inner)));
  return call.result(reduction.outer, total.at(values_of(reduction.outer)) /
                                          count_value(reduction.reduced_extents(), x.dtype()));
}

}  // namespace emulsion

#ifndef EMULSION_DSL_OPERATORS_SUPPORT_H_
#define EMULSION_DSL_OPERATORS_SUPPORT_H_

// What the operators share: one call of an operator, which knows how to complain about its
// arguments and how to name its results; broadcasting; exact quotients of extents. Private to
// dsl/operators_*.cc.

#include <fmt/core.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/error.h"
#include "dsl/expr.h"
#include "dsl/extent.h"
#include "dsl/tensor.h"
#include "dsl/types.h"

namespace emulsion {

// An argument of an operator, for messages: "argument 2 (b)".
struct Argument {
  int number;
  const char* name;
};

inline constexpr Argument kX{1, "x"};  // the first argument of most operators

// One call of an operator: "matmul", or "matmul fc1" when the user named the result fc1.
class OperatorCall {
 public:
  OperatorCall(const char* op, const std::string& name);

  // Throws Error("argument 2 (b) of matmul: " + message).
  template <typename... Args>
  [[noreturn]] void refuse(Argument argument, fmt::format_string<Args...> format,
                           Args&&... args) const {
    refuse_text(argument, fmt::format(format, std::forward<Args>(args)...));
  }

  void check_defined(Argument argument, const Tensor& x) const;
  // Each of these checks that x is defined, too.
  void check_computable(Argument argument, const Tensor& x) const;  // any type with kernels
  void check_numeric(Argument argument, const Tensor& x) const;     // these without bool
  void check_float(Argument argument, const Tensor& x) const;       // f32 or f64
  void check_bool(Argument argument, const Tensor& x) const;
  void check_rank(Argument argument, const Tensor& x, int rank, const char* axes) const;
  // That x has the type of `other`, an argument already checked.
  void check_same_type(Argument argument, const Tensor& x, Argument other_argument,
                       const Tensor& other) const;
  void check_at_least(Argument argument, const char* field, int64_t value, int64_t lowest) const;
  void check_epsilon(Argument argument, double eps) const;

  // An axis of a tensor of this rank, counted from 0.
  int normalize_axis(Argument argument, int axis, int rank) const;
  // Sorted, from 0, each once, at least one.
  std::vector<int> normalize_axes(Argument argument, const std::vector<int>& axes, int rank) const;
  // A C++ number as a constant of this type.
  Expr literal(Argument argument, double value, DType dtype) const;
  // The broadcast of a shape so far (of `so_far_name`) with one more.
  Shape broadcast(const Shape& so_far, const char* so_far_name, Argument argument,
                  const Shape& shape) const;

  // The operator's result, and a step on the way there: named softmax_max for suffix "max".
  Tensor result(std::vector<Axis> axes, Expr body) const;
  Tensor member(const std::string& suffix, std::vector<Axis> axes, Expr body) const;

 private:
  [[noreturn]] void refuse_text(Argument argument, const std::string& message) const;

  std::string op_;
  std::string name_;
};

constexpr int64_t kFurthest = std::numeric_limits<int32_t>::max();  // an index is i32

// Axes i0, i1, ... over a shape.
std::vector<Axis> axes_over(const Shape& shape, const std::string& prefix = "i");
std::vector<Expr> values_of(const std::vector<Axis>& axes);
// axis * factor, without a factor of 1: most strides and dilations are.
Expr scaled(const Axis& axis, int64_t factor);
// The index along an axis of extent `own` that meets `axis` of the result it broadcasts to.
Expr broadcast_index(const Extent& own, const Axis& axis);
// The element of x that meets the element `axes` of such a result: aligned at the last axis.
Expr read_broadcast(const Tensor& x, const std::vector<Axis>& axes);

// floor(extent / divisor), divisor > 0, where that is affine: every coefficient is a multiple.
std::optional<Extent> floor_quotient(const Extent& extent, int64_t divisor);
// "; B may be 0; legal: an axis of B + 2" of one that is `by` shorter than it has to be, where
// sizes only make it longer; else "".
std::string legal_longer(const Extent& extent, int64_t by);
// How many places a window has along one axis that is `padded` long: floor((padded - reach) /
// stride) + 1, where `reach` is what the window covers. Refuses what is not affine, and what a
// run-time size makes negative.
Extent window_extent(const OperatorCall& call, Argument argument, const char* axis,
                     const Extent& padded, int64_t reach, int64_t stride);
// The product of extents as a value of a float type, for means; run-time extents included.
Expr count_value(const std::vector<Extent>& extents, DType dtype);

// pad() with the value and the name decided by the caller: conv2d and the pools pad, too.
Expr padded_body(const Tensor& x, const std::vector<Axis>& axes, const std::vector<int64_t>& low,
                 const std::vector<int64_t>& high, const Expr& value);
Shape padded_shape(const Shape& shape, const std::vector<int64_t>& low,
                   const std::vector<int64_t>& high);

}  // namespace emulsion

#endif  // EMULSION_DSL_OPERATORS_SUPPORT_H_

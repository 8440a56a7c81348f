#include "dsl/operators_support.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace emulsion {
namespace {

std::string type_list(std::initializer_list<DType> types) {
  std::string text;
  size_t i = 0;
  for (DType type : types) {
    if (i > 0) text += i + 1 == types.size() ? " or " : ", ";
    text += to_string(type);
    ++i;
  }
  return text;
}

}  // namespace

OperatorCall::OperatorCall(const char* op, const std::string& name) : op_(op), name_(name) {}

void OperatorCall::refuse_text(Argument argument, const std::string& message) const {
  fail("argument {} ({}) of {}{}{}: {}", argument.number, argument.name, op_,
       name_.empty() ? "" : " ", name_, message);
}

void OperatorCall::check_defined(Argument argument, const Tensor& x) const {
  if (!x.defined()) refuse(argument, "expected a tensor, got an undefined one");
}

void OperatorCall::check_computable(Argument argument, const Tensor& x) const {
  check_defined(argument, x);
  if (!is_computable(x.dtype())) {
    refuse(argument, "expected a type with kernels ({}), got {}", computable_dtypes(),
           to_string(x.dtype()));
  }
}

void OperatorCall::check_numeric(Argument argument, const Tensor& x) const {
  check_computable(argument, x);
  if (x.dtype() == DType::boolean) {
    refuse(argument, "expected {}, got bool; cast it", numeric_dtypes());
  }
}

void OperatorCall::check_float(Argument argument, const Tensor& x) const {
  check_computable(argument, x);
  if (!is_float(x.dtype())) {
    refuse(argument, "expected {}, got {}; cast it", type_list({DType::f32, DType::f64}),
           to_string(x.dtype()));
  }
}

void OperatorCall::check_bool(Argument argument, const Tensor& x) const {
  check_defined(argument, x);
  if (x.dtype() != DType::boolean) {
    refuse(argument, "expected bool, got {}; compare it or cast it", to_string(x.dtype()));
  }
}

void OperatorCall::check_rank(Argument argument, const Tensor& x, int rank,
                              const char* axes) const {
  if (x.rank() != rank) {
    refuse(argument, "expected rank {} ({}), got rank {}, {}", rank, axes, x.rank(),
           to_string(x.shape()));
  }
}

void OperatorCall::check_same_type(Argument argument, const Tensor& x, Argument other_argument,
                                   const Tensor& other) const {
  check_defined(argument, x);
  if (x.dtype() != other.dtype()) {
    const std::optional<DType> wider = wider_type(x.dtype(), other.dtype());
    const char* narrow = wider == x.dtype() ? other_argument.name : argument.name;
    refuse(argument, "expected {}, the type of {}, got {}; cast one of them{}",
           to_string(other.dtype()), other_argument.name, to_string(x.dtype()),
           wider ? fmt::format(": cast({}, {})", narrow, to_string(*wider)) : "");
  }
}

void OperatorCall::check_at_least(Argument argument, const char* field, int64_t value,
                                  int64_t lowest) const {
  if (value < lowest) refuse(argument, "{}: expected {} or more, got {}", field, lowest, value);
}

void OperatorCall::check_epsilon(Argument argument, double eps) const {
  if (!(eps >= 0) || std::isinf(eps)) {
    refuse(argument, "expected a finite number of 0 or more, got {}", eps);
  }
}

int OperatorCall::normalize_axis(Argument argument, int axis, int rank) const {
  if (axis < -rank || axis >= rank) {
    if (rank == 0) refuse(argument, "expected a tensor that has axes, got axis {} of rank 0", axis);
    refuse(argument, "expected an axis from {} to {} for rank {}, got {}", -rank, rank - 1, rank,
           axis);
  }
  return axis < 0 ? axis + rank : axis;
}

std::vector<int> OperatorCall::normalize_axes(Argument argument, const std::vector<int>& axes,
                                              int rank) const {
  if (axes.empty()) refuse(argument, "expected at least one axis, got none");
  std::vector<int> result;
  for (int axis : axes) {
    int normal = normalize_axis(argument, axis, rank);
    if (std::find(result.begin(), result.end(), normal) != result.end()) {
      refuse(argument, "expected each axis once, got axis {} twice", normal);
    }
    result.push_back(normal);
  }
  std::sort(result.begin(), result.end());
  return result;
}

Expr OperatorCall::literal(Argument argument, double value, DType dtype) const {
  if (dtype == DType::f32 && std::isfinite(value) &&
      std::abs(value) > std::numeric_limits<float>::max()) {
    refuse(argument, "expected a number that f32 holds, got {}", value);
  }
  if (!is_float(dtype)) {
    IntegerRange range = integer_range(dtype);
    if (!(value >= static_cast<double>(range.lowest) &&
          value <= static_cast<double>(range.highest)) ||
        value != std::floor(value)) {
      refuse(argument, "expected a whole number from {} to {} beside a tensor of type {}, got {}",
             range.lowest, range.highest, to_string(dtype), value);
    }
  }
  return constant(dtype, value);
}

Shape OperatorCall::broadcast(const Shape& so_far, const char* so_far_name, Argument argument,
                              const Shape& shape) const {
  const Extent one(1);
  Shape result = so_far.size() >= shape.size() ? so_far : shape;
  size_t common = std::min(so_far.size(), shape.size());
  for (size_t back = 1; back <= common; ++back) {
    const Extent& mine = so_far[so_far.size() - back];
    const Extent& theirs = shape[shape.size() - back];
    if (mine != theirs && mine != one && theirs != one) {
      std::string legal = mine.to_string() + " or 1";
      refuse(argument,
             "expected a shape that broadcasts with {} of {}, got {}: axis -{} is {}, not {}",
             to_string(so_far), so_far_name, to_string(shape), back, theirs.to_string(), legal);
    }
    result[result.size() - back] = mine == one ? theirs : mine;
  }
  return result;
}

Tensor OperatorCall::result(std::vector<Axis> axes, Expr body) const {
  try {
    return compute(name_, std::move(axes), std::move(body), op_);
  } catch (const Error& error) {
    // compute() knows the result's name only: say which operator was asked for it.
    std::string message = error.what();
    std::string prefix = (name_.empty() ? op_ : name_) + ": ";
    if (message.compare(0, prefix.size(), prefix) == 0) message = message.substr(prefix.size());
    fail("result of {}{}{}: {}", op_, name_.empty() ? "" : " ", name_, message);
  }
}

Tensor OperatorCall::member(const std::string& suffix, std::vector<Axis> axes, Expr body) const {
  constexpr size_t kRoomForSuffix = 64;  // of the 128 characters of a name
  bool usable = !name_.empty() && name_.back() != '_' && name_.size() <= kRoomForSuffix;
  std::string member_name = (usable ? name_ : op_) + "_" + suffix;
  return OperatorCall(member_name.c_str(), "").result(std::move(axes), std::move(body));
}

std::vector<Axis> axes_over(const Shape& shape, const std::string& prefix) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < shape.size(); ++i) axes.emplace_back(prefix + std::to_string(i), shape[i]);
  return axes;
}

std::vector<Expr> values_of(const std::vector<Axis>& axes) {
  return std::vector<Expr>(axes.begin(), axes.end());
}

Expr scaled(const Axis& axis, int64_t factor) {
  return factor == 1 ? Expr(axis) : axis * int_constant(factor);
}

Expr broadcast_index(const Extent& own, const Axis& axis) {
  bool repeats = own == Extent(1) && axis.extent() != Extent(1);
  return repeats ? int_constant(0) : Expr(axis);
}

Expr read_broadcast(const Tensor& x, const std::vector<Axis>& axes) {
  std::vector<Expr> indices;
  size_t missing = axes.size() - x.shape().size();
  for (size_t i = 0; i < x.shape().size(); ++i) {
    indices.push_back(broadcast_index(x.shape()[i], axes[missing + i]));
  }
  return x.at(std::move(indices));
}

std::optional<Extent> floor_quotient(const Extent& extent, int64_t divisor) {
  int64_t remainder = extent.constant_term() % divisor;
  if (remainder < 0) remainder += divisor;
  return (extent - Extent(remainder)).exact_quotient(divisor);
}

std::string legal_longer(const Extent& extent, int64_t by) {
  if (extent.is_constant() || !extent.lower_bound()) return "";
  const auto& sizes = extent.coefficients();
  const std::string& first = sizes.begin()->first;
  return fmt::format("; {} may be 0; legal: an axis of {}", sizes.size() == 1 ? first : "sizes",
                     (extent + Extent(by)).to_string());
}

Extent window_extent(const OperatorCall& call, Argument argument, const char* axis,
                     const Extent& padded, int64_t reach, int64_t stride) {
  Extent room = padded - Extent(reach);
  std::optional<Extent> steps = floor_quotient(room, stride);
  if (!steps) {
    call.refuse(
        argument,
        "axis {}: expected a run-time extent that is a multiple of the stride {}, so that the "
        "output is affine in it, got {} with padding",
        axis, stride, padded.to_string());
  }
  Extent output = *steps + Extent(1);
  if (!never_negative(output)) {
    const std::string legal = legal_longer(padded, -output.lower_bound().value_or(0) * stride);
    call.refuse(argument,
                "axis {}: expected room for the window's reach of {} whatever the sizes, "
                "got {} with padding{}",
                axis, reach, padded.to_string(), legal.empty() ? "" : legal + " with padding");
  }
  return output;
}

Expr count_value(const std::vector<Extent>& extents, DType dtype) {
  double number = 1;
  Expr run_time;
  for (const Extent& extent : extents) {
    if (const auto known = extent.as_constant()) {
      number *= static_cast<double>(*known);
    } else {
      // Multiplied as floats: a product of sizes need not fit i32.
      Expr value = cast(dtype, extent_value(extent));
      run_time = run_time.defined() ? run_time * value : value;
    }
  }
  if (!run_time.defined()) return constant(dtype, number);
  return number == 1 ? run_time : run_time * constant(dtype, number);
}

Shape padded_shape(const Shape& shape, const std::vector<int64_t>& low,
                   const std::vector<int64_t>& high) {
  Shape result;
  for (size_t i = 0; i < shape.size(); ++i) {
    result.push_back(shape[i] + Extent(low[i]) + Extent(high[i]));
  }
  return result;
}

Expr padded_body(const Tensor& x, const std::vector<Axis>& axes, const std::vector<int64_t>& low,
                 const std::vector<int64_t>& high, const Expr& value) {
  Expr inside;
  auto require = [&](Expr condition) {
    inside = inside.defined() ? inside && condition : condition;
  };
  std::vector<Expr> indices;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Extent& extent = x.shape()[i];
    Expr index = axes[i];
    if (low[i] == 0 && high[i] == 0) {
      indices.push_back(index);
      continue;
    }
    if (extent == Extent(0)) return value;  // nothing of x is ever seen
    if (low[i] > 0) {
      require(index >= int_constant(low[i]));
      index = index - int_constant(low[i]);
    }
    if (high[i] > 0) {
      require(axes[i] < extent_value(extent + Extent(low[i])));
      index = min(index, extent_value(extent - Extent(1)));
    }
    // Without padding in front the index is never negative, unless a run-time extent is 0.
    if (low[i] > 0 || !extent.is_constant()) index = max(index, int_constant(0));
    indices.push_back(index);
  }
  Expr read = x.at(std::move(indices));
  return inside.defined() ? select(inside, read, value) : read;
}

}  // namespace emulsion

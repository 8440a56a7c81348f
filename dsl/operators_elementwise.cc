#include <cmath>

#include "dsl/operators.h"
#include "dsl/operators_support.h"

namespace emulsion {
namespace {

constexpr Argument kA{1, "a"};
constexpr Argument kB{2, "b"};

enum class Types { numeric, floats, boolean, any };

void check_types(const OperatorCall& call, Argument argument, const Tensor& x, Types types) {
  switch (types) {
    case Types::numeric:
      return call.check_numeric(argument, x);
    case Types::floats:
      return call.check_float(argument, x);
    case Types::boolean:
      return call.check_bool(argument, x);
    case Types::any:
      return call.check_computable(argument, x);
  }
}

// Two operands of one type and what they broadcast to.
class Pair {
 public:
  Pair(const OperatorCall& call, Types types, Argument arg_a, const Operand& a, Argument arg_b,
       const Operand& b)
      : a_(a), b_(b) {
    if (a.is_number() && b.is_number()) {
      call.refuse(arg_a, "expected a tensor here or in argument {} ({}), got two numbers",
                  arg_b.number, arg_b.name);
    }
    if (!a.is_number()) check_types(call, arg_a, a.tensor(), types);
    if (!b.is_number()) check_types(call, arg_b, b.tensor(), types);
    if (a.is_number()) {
      literal_ = call.literal(arg_a, a.number(), b.tensor().dtype());
      shape_ = b.tensor().shape();
    } else if (b.is_number()) {
      literal_ = call.literal(arg_b, b.number(), a.tensor().dtype());
      shape_ = a.tensor().shape();
    } else {
      call.check_same_type(arg_b, b.tensor(), arg_a, a.tensor());
      shape_ = call.broadcast(a.tensor().shape(), arg_a.name, arg_b, b.tensor().shape());
    }
  }
  const Shape& shape() const { return shape_; }
  Expr a_at(const std::vector<Axis>& axes) const { return at(a_, axes); }
  Expr b_at(const std::vector<Axis>& axes) const { return at(b_, axes); }

 private:
  Expr at(const Operand& operand, const std::vector<Axis>& axes) const {
    return operand.is_number() ? literal_ : read_broadcast(operand.tensor(), axes);
  }
  const Operand& a_;
  const Operand& b_;
  Expr literal_;
  Shape shape_;
};

Tensor two(const char* op, ExprOp expr_op, Types types, const Operand& a, const Operand& b,
           const std::string& name) {
  OperatorCall call(op, name);
  Pair pair(call, types, kA, a, kB, b);
  std::vector<Axis> axes = axes_over(pair.shape());
  return call.result(axes, binary(expr_op, pair.a_at(axes), pair.b_at(axes)));
}

// f(x) for an f from expression to expression.
template <typename F>
Tensor one(const char* op, Types types, const Tensor& x, const std::string& name, F f) {
  OperatorCall call(op, name);
  check_types(call, kX, x, types);
  std::vector<Axis> axes = axes_over(x.shape());
  return call.result(axes, f(x.at(values_of(axes))));
}

Tensor one(const char* op, ExprOp expr_op, Types types, const Tensor& x, const std::string& name) {
  return one(op, types, x, name, [expr_op](const Expr& e) { return unary(expr_op, e); });
}

}  // namespace

Tensor add(const Operand& a, const Operand& b, const std::string& name) {
  return two("add", ExprOp::add, Types::numeric, a, b, name);
}
Tensor sub(const Operand& a, const Operand& b, const std::string& name) {
  return two("sub", ExprOp::sub, Types::numeric, a, b, name);
}
Tensor mul(const Operand& a, const Operand& b, const std::string& name) {
  return two("mul", ExprOp::mul, Types::numeric, a, b, name);
}
Tensor div(const Operand& a, const Operand& b, const std::string& name) {
  return two("div", ExprOp::div, Types::numeric, a, b, name);
}
Tensor pow(const Operand& a, const Operand& b, const std::string& name) {
  return two("pow", ExprOp::pow, Types::floats, a, b, name);
}
Tensor min(const Operand& a, const Operand& b, const std::string& name) {
  return two("min", ExprOp::min, Types::numeric, a, b, name);
}
Tensor max(const Operand& a, const Operand& b, const std::string& name) {
  return two("max", ExprOp::max, Types::numeric, a, b, name);
}

Tensor operator+(const Operand& a, const Operand& b) { return add(a, b); }
Tensor operator-(const Operand& a, const Operand& b) { return sub(a, b); }
Tensor operator*(const Operand& a, const Operand& b) { return mul(a, b); }
Tensor operator/(const Operand& a, const Operand& b) { return div(a, b); }
Tensor operator-(const Tensor& x) { return neg(x); }

Tensor less(const Operand& a, const Operand& b, const std::string& name) {
  return two("less", ExprOp::lt, Types::numeric, a, b, name);
}
Tensor less_equal(const Operand& a, const Operand& b, const std::string& name) {
  return two("less_equal", ExprOp::le, Types::numeric, a, b, name);
}
Tensor greater(const Operand& a, const Operand& b, const std::string& name) {
  return two("greater", ExprOp::gt, Types::numeric, a, b, name);
}
Tensor greater_equal(const Operand& a, const Operand& b, const std::string& name) {
  return two("greater_equal", ExprOp::ge, Types::numeric, a, b, name);
}
Tensor equal(const Operand& a, const Operand& b, const std::string& name) {
  return two("equal", ExprOp::eq, Types::any, a, b, name);
}
Tensor not_equal(const Operand& a, const Operand& b, const std::string& name) {
  return two("not_equal", ExprOp::ne, Types::any, a, b, name);
}
Tensor logical_and(const Operand& a, const Operand& b, const std::string& name) {
  return two("logical_and", ExprOp::logical_and, Types::boolean, a, b, name);
}
Tensor logical_or(const Operand& a, const Operand& b, const std::string& name) {
  return two("logical_or", ExprOp::logical_or, Types::boolean, a, b, name);
}

Tensor where(const Tensor& condition, const Operand& a, const Operand& b, const std::string& name) {
  OperatorCall call("where", name);
  call.check_bool({1, "condition"}, condition);
  Pair pair(call, Types::any, {2, "a"}, a, {3, "b"}, b);
  Shape shape = call.broadcast(pair.shape(), "a and b", {1, "condition"}, condition.shape());
  std::vector<Axis> axes = axes_over(shape);
  return call.result(axes,
                     select(read_broadcast(condition, axes), pair.a_at(axes), pair.b_at(axes)));
}

Tensor neg(const Tensor& x, const std::string& name) {
  return one("neg", ExprOp::neg, Types::numeric, x, name);
}
Tensor abs(const Tensor& x, const std::string& name) {
  return one("abs", ExprOp::abs, Types::numeric, x, name);
}
Tensor exp(const Tensor& x, const std::string& name) {
  return one("exp", ExprOp::exp, Types::floats, x, name);
}
Tensor log(const Tensor& x, const std::string& name) {
  return one("log", ExprOp::log, Types::floats, x, name);
}
Tensor sqrt(const Tensor& x, const std::string& name) {
  return one("sqrt", ExprOp::sqrt, Types::floats, x, name);
}
Tensor tanh(const Tensor& x, const std::string& name) {
  return one("tanh", ExprOp::tanh, Types::floats, x, name);
}
Tensor floor(const Tensor& x, const std::string& name) {
  return one("floor", ExprOp::floor, Types::floats, x, name);
}
Tensor ceil(const Tensor& x, const std::string& name) {
  return one("ceil", ExprOp::ceil, Types::floats, x, name);
}
Tensor round(const Tensor& x, const std::string& name) {
  return one("round", ExprOp::round, Types::floats, x, name);
}
Tensor trunc(const Tensor& x, const std::string& name) {
  return one("trunc", ExprOp::trunc, Types::floats, x, name);
}
Tensor logical_not(const Tensor& x, const std::string& name) {
  return one("logical_not", ExprOp::logical_not, Types::boolean, x, name);
}

Tensor relu(const Tensor& x, const std::string& name) {
  return one("relu", Types::numeric, x, name,
             [](const Expr& e) { return max(e, constant(e.dtype(), 0)); });
}

Tensor sigmoid(const Tensor& x, const std::string& name) {
  return one("sigmoid", Types::floats, x, name, [](const Expr& e) {
    Expr decayed = exp(-abs(e));  // in [0, 1] for every x but NaN
    return select(e < 0, decayed, constant(e.dtype(), 1)) / (1 + decayed);
  });
}

Tensor gelu(const Tensor& x, Gelu form, const std::string& name) {
  const double pi = std::acos(-1.0);
  return one("gelu", Types::floats, x, name, [&](const Expr& e) {
    Expr inner = form == Gelu::erf ? erf(e * std::sqrt(0.5))
                                   : tanh(std::sqrt(2.0 / pi) * (e + 0.044715 * (e * e * e)));
    return 0.5 * e * (1 + inner);
  });
}

Tensor clamp(const Tensor& x, double low, double high, const std::string& name) {
  OperatorCall call("clamp", name);
  call.check_numeric(kX, x);
  constexpr Argument kLow{2, "low"};
  constexpr Argument kHigh{3, "high"};
  if (std::isnan(low)) call.refuse(kLow, "expected a number, got NaN");
  if (!(low <= high)) call.refuse(kHigh, "expected {} or more, the low end, got {}", low, high);
  Expr low_value = call.literal(kLow, low, x.dtype());
  Expr high_value = call.literal(kHigh, high, x.dtype());
  std::vector<Axis> axes = axes_over(x.shape());
  return call.result(axes, min(max(x.at(values_of(axes)), low_value), high_value));
}

Tensor cast(const Tensor& x, DType dtype, const std::string& name) {
  OperatorCall call("cast", name);
  call.check_computable(kX, x);
  if (!is_computable(dtype)) {
    call.refuse({2, "dtype"}, "expected a type with kernels ({}), got {}", computable_dtypes(),
                to_string(dtype));
  }
  std::vector<Axis> axes = axes_over(x.shape());
  return call.result(axes, cast(dtype, x.at(values_of(axes))));
}

}  // namespace emulsion

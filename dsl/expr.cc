#include "dsl/expr.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "dsl/error.h"

namespace emulsion {
namespace {

std::shared_ptr<ExprNode> make_node(ExprOp op, DType dtype, std::vector<Expr> args = {}) {
  auto node = std::make_shared<ExprNode>();
  node->op = op;
  node->dtype = dtype;
  node->args = std::move(args);
  return node;
}

Expr weak_constant(DType dtype, double float_value, int64_t int_value) {
  auto node = make_node(ExprOp::constant, dtype);
  node->float_value = float_value;
  node->int_value = int_value;
  node->weak = true;
  return Expr(std::move(node));
}

template <typename T>
Expr weak_integer(T value) {
  const auto as_int = static_cast<int>(value);
  const bool kept_sign = std::is_signed_v<T> || as_int >= 0;
  if (static_cast<T>(as_int) != value || !kept_sign) {
    fail(
        "expected a whole number that i32 holds, got {}; legal: a double, where the other side is "
        "f64 or f32",
        value);
  }
  return weak_constant(DType::i32, 0, as_int);
}

bool is_weak(const Expr& e) { return e->op == ExprOp::constant && e->weak; }

// A literal in the type of the other side; the literal itself when its type cannot become that one.
Expr adapt(const Expr& literal, DType to) {
  if (literal.dtype() == to || literal.dtype() == DType::boolean || to == DType::boolean) {
    return literal;
  }
  if (is_float(literal.dtype())) {
    return is_float(to) ? constant(to, literal->float_value) : literal;
  }
  return constant(to, static_cast<double>(literal->int_value));
}

void require_defined(const std::string& op, int argument, const Expr& e) {
  if (!e.defined()) fail("argument {} of {}: expected an expression, got none", argument, op);
}

void require_computable(const std::string& op, int argument, DType dtype) {
  if (!is_computable(dtype)) {
    fail("argument {} of {}: expected a type with kernels ({}), got {}", argument, op,
         computable_dtypes(), to_string(dtype));
  }
}

// Which one, where the type of the other holds all that it may be.
std::string cast_one_of(const Expr& a, const Expr& b) {
  const std::optional<DType> wider = wider_type(a.dtype(), b.dtype());
  if (!wider) return "cast one of them";
  return "cast one of them: " + cast_text(*wider, a.dtype() == *wider ? b : a);
}

[[noreturn]] void refuse_condition(const std::string& what, const Expr& e) {
  fail("{}: expected bool, got {}; compare it, as in x != 0", what, to_string(e.dtype()));
}

bool is_logical(ExprOp op) { return op == ExprOp::logical_and || op == ExprOp::logical_or; }

Expr reduce(Combiner combiner, std::vector<Axis> axes, Expr body) {
  std::string name = to_string(combiner);
  require_defined(name, 2, body);
  if (axes.empty()) fail("argument 1 (axes) of {}: expected at least one axis, got none", name);
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i].extent();  // Error when it has none
    for (size_t j = 0; j < i; ++j) {
      if (axes[i].name() == axes[j].name()) {
        fail("argument 1 (axes) of {}: expected distinct axes, got {} twice", name, axes[i].name());
      }
    }
  }
  if (!is_computable(body.dtype()) || body.dtype() == DType::boolean) {
    fail("argument 2 (body) of {}: expected {}, got {}", name, numeric_dtypes(),
         to_string(body.dtype()));
  }
  auto node = make_node(ExprOp::reduce, body.dtype(), {body});
  node->combiner = combiner;
  node->axes = std::move(axes);
  return Expr(std::move(node));
}

}  // namespace

bool is_order(ExprOp op) {
  return op == ExprOp::lt || op == ExprOp::le || op == ExprOp::gt || op == ExprOp::ge;
}

bool is_comparison(ExprOp op) { return is_order(op) || op == ExprOp::eq || op == ExprOp::ne; }

// An expression owns its arguments, and an operation what it reads: letting go of the last of a
// hundred thousand in a row would go that deep into the stack. So the first release on a thread
// empties a list to which the others add.
ExprNode::~ExprNode() {
  if (!tensor && args.empty()) return;
  using Owned = std::vector<std::shared_ptr<const void>>;
  thread_local Owned* pending = nullptr;
  const auto give_away = [this](Owned* list) {
    if (tensor) list->push_back(std::move(tensor));
    for (Expr& arg : args) list->push_back(std::move(arg.node_));
  };
  if (pending) {
    give_away(pending);
    return;
  }
  Owned list;
  pending = &list;
  give_away(&list);
  while (!list.empty()) {
    const std::shared_ptr<const void> released = std::move(list.back());
    list.pop_back();
  }
  pending = nullptr;
}

Axis::Axis(const std::string& name) : name_(name) { check_identifier("axis", name); }

Axis::Axis(const std::string& name, Extent extent) : name_(name), extent_(std::move(extent)) {
  check_identifier("axis", name);
  if (extent_->is_constant() && extent_->constant_term() < 0) {
    fail("axis {}: expected an extent of 0 or greater, got {}", name, extent_->constant_term());
  }
}

const Extent& Axis::extent() const {
  if (!extent_)
    fail("axis {}: expected an extent, as in Axis {}(\"{}\", 128)", name_, name_, name_);
  return *extent_;
}

std::optional<size_t> axis_index(const std::vector<Axis>& axes, const std::string& name) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].name() == name) return i;
  }
  return std::nullopt;
}

std::vector<std::string> axis_names(const std::vector<Axis>& axes) {
  std::vector<std::string> names;
  names.reserve(axes.size());
  for (const Axis& axis : axes) names.push_back(axis.name());
  return names;
}

Expr::Expr(int value) : Expr(weak_constant(DType::i32, 0, value)) {}
Expr::Expr(long value) : Expr(weak_integer(value)) {}       // NOLINT
Expr::Expr(long long value) : Expr(weak_integer(value)) {}  // NOLINT
Expr::Expr(unsigned value) : Expr(weak_integer(value)) {}
Expr::Expr(unsigned long value) : Expr(weak_integer(value)) {}       // NOLINT
Expr::Expr(unsigned long long value) : Expr(weak_integer(value)) {}  // NOLINT
Expr::Expr(float value) : Expr(weak_constant(DType::f32, value, 0)) {}
Expr::Expr(double value) : Expr(weak_constant(DType::f64, value, 0)) {}
Expr::Expr(bool value) : Expr(weak_constant(DType::boolean, 0, value ? 1 : 0)) {}
Expr::Expr(const Axis& axis) : Expr(axis_value(axis.name())) {}
Expr::Expr(const Extent& extent)
    : Expr(extent.is_constant() ? weak_integer(extent.constant_term()) : extent_value(extent)) {}

DType Expr::dtype() const {
  EMULSION_CHECK(node_ != nullptr, "the type of an undefined expression");
  return node_->dtype;
}

Expr constant(DType dtype, double value) {
  auto node = make_node(ExprOp::constant, dtype);
  if (is_float(dtype)) {
    node->float_value = dtype == DType::f32 ? static_cast<float>(value) : value;
    return Expr(std::move(node));
  }
  IntegerRange range = integer_range(dtype);
  bool inside = value >= static_cast<double>(range.lowest) &&
                value <= static_cast<double>(range.highest) && value == std::floor(value);
  if (!inside) {
    fail("constant of type {}: expected a whole number from {} to {}, got {}", to_string(dtype),
         range.lowest, range.highest, value);
  }
  node->int_value = static_cast<int64_t>(value);
  return Expr(std::move(node));
}

Expr int_constant(int64_t value) { return constant(DType::i32, static_cast<double>(value)); }

Expr axis_value(const std::string& name) {
  auto node = make_node(ExprOp::axis, DType::i32);
  node->name = name;
  return Expr(std::move(node));
}

Expr size_value(const std::string& name) {
  auto node = make_node(ExprOp::size, DType::i32);
  node->name = name;
  return Expr(std::move(node));
}

Expr extent_value(const Extent& extent) {
  Expr result;
  for (const auto& [name, coefficient] : extent.coefficients()) {
    Expr term = size_value(name);
    if (coefficient != 1) term = int_constant(coefficient) * term;
    result = result.defined() ? result + term : term;
  }
  if (!result.defined()) return int_constant(extent.constant_term());
  if (extent.constant_term() == 0) return result;
  return extent.constant_term() > 0 ? result + int_constant(extent.constant_term())
                                    : result - int_constant(-extent.constant_term());
}

Expr unary(ExprOp op, Expr a) {
  std::string name = to_string(op);
  require_defined(name, 1, a);
  require_computable(name, 1, a.dtype());
  if (op == ExprOp::logical_not) {
    if (a.dtype() != DType::boolean) {
      refuse_condition(fmt::format("argument 1 of {}", name), a);
    }
  } else if (op == ExprOp::neg || op == ExprOp::abs) {
    if (a.dtype() == DType::boolean) {
      fail("argument 1 of {}: expected {}, got bool", name, numeric_dtypes());
    }
  } else {
    EMULSION_CHECK(op >= ExprOp::exp && op <= ExprOp::trunc, "{} is not unary", name);
    if (!is_float(a.dtype())) {
      fail("argument 1 of {}: expected f32 or f64, got {}", name, to_string(a.dtype()));
    }
  }
  DType dtype = a.dtype();
  return Expr(make_node(op, dtype, {std::move(a)}));
}

Expr binary(ExprOp op, Expr a, Expr b) {
  std::string name = to_string(op);
  require_defined(name, 1, a);
  require_defined(name, 2, b);
  if (is_weak(a) && !is_weak(b)) a = adapt(a, b.dtype());
  if (is_weak(b) && !is_weak(a)) b = adapt(b, a.dtype());
  if (is_weak(a) && is_weak(b) &&
      a.dtype() != b.dtype()) {  // 1 + 2.5f: the wider literal type wins
    DType wider = std::max(a.dtype(), b.dtype());
    a = adapt(a, wider);
    b = adapt(b, wider);
  }
  if (a.dtype() != b.dtype()) {
    fail("arguments of {}: expected one type, got {} and {}; {}", name, to_string(a.dtype()),
         to_string(b.dtype()), cast_one_of(a, b));
  }
  require_computable(name, 1, a.dtype());
  bool boolean = a.dtype() == DType::boolean;
  if (is_logical(op)) {
    if (!boolean) refuse_condition(fmt::format("arguments of {}", name), a);
  } else if (boolean && op != ExprOp::eq && op != ExprOp::ne) {
    fail("arguments of {}: expected {}, got bool", name, numeric_dtypes());
  }
  if (op == ExprOp::mod && !is_integer(a.dtype())) {
    fail("arguments of mod: expected {}, got {}", integer_dtypes(), to_string(a.dtype()));
  }
  if (op == ExprOp::pow && !is_float(a.dtype())) {
    fail("arguments of pow: expected f32 or f64, got {}", to_string(a.dtype()));
  }
  DType result = is_comparison(op) ? DType::boolean : a.dtype();
  return Expr(make_node(op, result, {std::move(a), std::move(b)}));
}

Expr with_args(const Expr& e, std::vector<Expr> args) {
  const auto same = [](const Expr& a, const Expr& b) { return a.same_as(b); };
  if (std::equal(args.begin(), args.end(), e->args.begin(), e->args.end(), same)) return e;
  auto node = std::make_shared<ExprNode>(e.node());
  node->args = std::move(args);
  return Expr(std::move(node));
}

Expr cast(DType to, Expr a) {
  require_defined("cast", 2, a);
  require_computable("cast", 2, a.dtype());
  if (!is_computable(to)) {
    fail("argument 1 (type) of cast: expected {}, got {}", computable_dtypes(), to_string(to));
  }
  if (a.dtype() == to) {
    if (!is_weak(a)) return a;
    auto strong = std::make_shared<ExprNode>(a.node());  // a literal that no longer adapts
    strong->weak = false;
    return Expr(std::shared_ptr<const ExprNode>(std::move(strong)));
  }
  return Expr(make_node(ExprOp::cast, to, {std::move(a)}));
}

Expr select(Expr condition, Expr if_true, Expr if_false) {
  require_defined("select", 1, condition);
  require_defined("select", 2, if_true);
  require_defined("select", 3, if_false);
  if (condition.dtype() != DType::boolean) {
    refuse_condition("argument 1 (condition) of select", condition);
  }
  if (is_weak(if_true) && !is_weak(if_false)) if_true = adapt(if_true, if_false.dtype());
  if (is_weak(if_false) && !is_weak(if_true)) if_false = adapt(if_false, if_true.dtype());
  if (if_true.dtype() != if_false.dtype()) {
    fail("arguments 2 and 3 of select: expected one type, got {} and {}; {}",
         to_string(if_true.dtype()), to_string(if_false.dtype()), cast_one_of(if_true, if_false));
  }
  require_computable("select", 2, if_true.dtype());
  DType dtype = if_true.dtype();
  return Expr(make_node(ExprOp::select, dtype,
                        {std::move(condition), std::move(if_true), std::move(if_false)}));
}

Expr read_buffer(const std::string& buffer, DType dtype, std::vector<Expr> indices) {
  auto node = make_node(ExprOp::read, dtype, std::move(indices));
  node->name = buffer;
  return Expr(std::move(node));
}

Expr operator+(Expr a, Expr b) { return binary(ExprOp::add, std::move(a), std::move(b)); }
Expr operator-(Expr a, Expr b) { return binary(ExprOp::sub, std::move(a), std::move(b)); }
Expr operator*(Expr a, Expr b) { return binary(ExprOp::mul, std::move(a), std::move(b)); }
Expr operator/(Expr a, Expr b) { return binary(ExprOp::div, std::move(a), std::move(b)); }
Expr operator%(Expr a, Expr b) { return binary(ExprOp::mod, std::move(a), std::move(b)); }
Expr operator-(Expr a) { return unary(ExprOp::neg, std::move(a)); }
Expr operator<(Expr a, Expr b) { return binary(ExprOp::lt, std::move(a), std::move(b)); }
Expr operator<=(Expr a, Expr b) { return binary(ExprOp::le, std::move(a), std::move(b)); }
Expr operator>(Expr a, Expr b) { return binary(ExprOp::gt, std::move(a), std::move(b)); }
Expr operator>=(Expr a, Expr b) { return binary(ExprOp::ge, std::move(a), std::move(b)); }
Expr operator==(Expr a, Expr b) { return binary(ExprOp::eq, std::move(a), std::move(b)); }
Expr operator!=(Expr a, Expr b) { return binary(ExprOp::ne, std::move(a), std::move(b)); }
Expr operator&&(Expr a, Expr b) { return binary(ExprOp::logical_and, std::move(a), std::move(b)); }
Expr operator||(Expr a, Expr b) { return binary(ExprOp::logical_or, std::move(a), std::move(b)); }
Expr operator!(Expr a) { return unary(ExprOp::logical_not, std::move(a)); }
Expr pow(Expr a, Expr b) { return binary(ExprOp::pow, std::move(a), std::move(b)); }
Expr min(Expr a, Expr b) { return binary(ExprOp::min, std::move(a), std::move(b)); }
Expr max(Expr a, Expr b) { return binary(ExprOp::max, std::move(a), std::move(b)); }
Expr clamp(Expr a, Expr low, Expr high) {
  return max(min(std::move(a), std::move(high)), std::move(low));
}
Expr exp(Expr a) { return unary(ExprOp::exp, std::move(a)); }
Expr log(Expr a) { return unary(ExprOp::log, std::move(a)); }
Expr sqrt(Expr a) { return unary(ExprOp::sqrt, std::move(a)); }
Expr tanh(Expr a) { return unary(ExprOp::tanh, std::move(a)); }
Expr erf(Expr a) { return unary(ExprOp::erf, std::move(a)); }
Expr floor(Expr a) { return unary(ExprOp::floor, std::move(a)); }
Expr ceil(Expr a) { return unary(ExprOp::ceil, std::move(a)); }
Expr round(Expr a) { return unary(ExprOp::round, std::move(a)); }
Expr trunc(Expr a) { return unary(ExprOp::trunc, std::move(a)); }
Expr abs(Expr a) { return unary(ExprOp::abs, std::move(a)); }

Expr sum(std::vector<Axis> axes, Expr body) {
  return reduce(Combiner::sum, std::move(axes), std::move(body));
}
Expr product(std::vector<Axis> axes, Expr body) {
  return reduce(Combiner::product, std::move(axes), std::move(body));
}
Expr reduce_max(std::vector<Axis> axes, Expr body) {
  return reduce(Combiner::max, std::move(axes), std::move(body));
}
Expr reduce_min(std::vector<Axis> axes, Expr body) {
  return reduce(Combiner::min, std::move(axes), std::move(body));
}

std::string to_string(ExprOp op) {
  static const char* const kNames[] = {
      "constant", "axis", "size",  "read", "neg",   "abs",   "exp",    "log",   "sqrt",
      "tanh",     "erf",  "floor", "ceil", "round", "trunc", "not",    "cast",  "add",
      "sub",      "mul",  "div",   "mod",  "pow",   "min",   "max",    "eq",    "ne",
      "lt",       "le",   "gt",    "ge",   "and",   "or",    "select", "reduce"};
  static_assert(std::size(kNames) == static_cast<size_t>(ExprOp::reduce) + 1, "a name for each");
  return kNames[static_cast<int>(op)];
}

std::string to_string(Combiner combiner) {
  static const char* const kNames[] = {"none", "sum",        "product",   "min",
                                       "max",  "min_number", "max_number"};
  return kNames[static_cast<int>(combiner)];
}

Expr identity_of(Combiner combiner, DType dtype) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  auto as_double = [](int64_t value) { return static_cast<double>(value); };
  switch (combiner) {
    case Combiner::sum:
      return constant(dtype, 0);
    case Combiner::product:
      return constant(dtype, 1);
    case Combiner::min:
    case Combiner::min_number:
      return constant(dtype, is_float(dtype) ? kInf : as_double(integer_range(dtype).highest));
    case Combiner::max:
    case Combiner::max_number:
      return constant(dtype, is_float(dtype) ? -kInf : as_double(integer_range(dtype).lowest));
    case Combiner::none:
      break;
  }
  EMULSION_CHECK(false, "no combiner, no identity");
  return Expr();
}

Expr combine(Combiner combiner, Expr a, Expr b) {
  switch (combiner) {
    case Combiner::sum:
      return a + b;
    case Combiner::product:
      return a * b;
    case Combiner::min:
      return min(a, b);
    case Combiner::max:
      return max(a, b);
    case Combiner::min_number:
      return select(b < a, b, a);
    case Combiner::max_number:
      return select(a < b, b, a);
    case Combiner::none:
      break;
  }
  EMULSION_CHECK(false, "no combiner");
  return Expr();
}

}  // namespace emulsion

#include "backends/interpreter/scalar_functions.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "dsl/error.h"

namespace emulsion {
namespace {

// How a kind of value sits in a Scalar.
struct Integer {
  using Type = int64_t;
  static int64_t get(Scalar s) { return s.i; }
  static Scalar make(int64_t value) {
    Scalar s;
    s.i = value;
    return s;
  }
};

template <typename T>
struct Wrapped {
  using Type = int64_t;
  static int64_t get(Scalar s) { return s.i; }
  static Scalar make(int64_t value) { return Integer::make(static_cast<T>(value)); }
};

struct F32 {
  using Type = float;
  static float get(Scalar s) { return s.f; }
  static Scalar make(float value) {
    Scalar s;
    s.f = value;
    return s;
  }
};

struct F64 {
  using Type = double;
  static double get(Scalar s) { return s.d; }
  static Scalar make(double value) {
    Scalar s;
    s.d = value;
    return s;
  }
};

// The operators. Integers are added and multiplied as unsigned: what does not fit wraps, without
// UB.
struct Add {
  static int64_t of(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
  template <typename T>
  static T of(T a, T b) {
    return a + b;
  }
};

struct Sub {
  static int64_t of(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  }
  template <typename T>
  static T of(T a, T b) {
    return a - b;
  }
};

struct Mul {
  static int64_t of(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
  template <typename T>
  static T of(T a, T b) {
    return a * b;
  }
};

// Integers: towards minus infinity, and 0 when divided by zero.
struct Div {
  static int64_t of(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return Sub::of(int64_t{0}, a);
    int64_t quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
  }
  template <typename T>
  static T of(T a, T b) {
    return a / b;
  }
};

struct Mod {
  static int64_t of(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return 0;
    int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
};

// NaN on either side gives NaN, as in NumPy.
struct Min {
  template <typename T>
  static T of(T a, T b) {
    if (a != a) return a;
    if (b != b) return b;
    return b < a ? b : a;
  }
};

struct Max {
  template <typename T>
  static T of(T a, T b) {
    if (a != a) return a;
    if (b != b) return b;
    return a < b ? b : a;
  }
};

struct Neg {
  static int64_t of(int64_t a) { return Sub::of(int64_t{0}, a); }
  template <typename T>
  static T of(T a) {
    return -a;
  }
};

struct Abs {
  static int64_t of(int64_t a) { return a < 0 ? Neg::of(a) : a; }
  template <typename T>
  static T of(T a) {
    return std::fabs(a);
  }
};

template <typename Kind, typename Op>
Scalar binary_value(Scalar a, Scalar b) {
  return Kind::make(Op::of(Kind::get(a), Kind::get(b)));
}

template <typename Kind, typename Op>
Scalar unary_value(Scalar a, Scalar) {
  return Kind::make(Op::of(Kind::get(a)));
}

template <typename Kind, typename Kind::Type (*function)(typename Kind::Type)>
Scalar math_value(Scalar a, Scalar) {
  return Kind::make(function(Kind::get(a)));
}

template <typename Kind>
Scalar power_value(Scalar a, Scalar b) {
  return Kind::make(std::pow(Kind::get(a), Kind::get(b)));
}

// Comparisons: IEEE on NaN, so only ne is true.
template <typename Kind>
ScalarFunction comparison(ExprOp op) {
  switch (op) {
    case ExprOp::eq:
      return [](Scalar a, Scalar b) { return Integer::make(Kind::get(a) == Kind::get(b)); };
    case ExprOp::ne:
      return [](Scalar a, Scalar b) { return Integer::make(Kind::get(a) != Kind::get(b)); };
    case ExprOp::lt:
      return [](Scalar a, Scalar b) { return Integer::make(Kind::get(a) < Kind::get(b)); };
    case ExprOp::le:
      return [](Scalar a, Scalar b) { return Integer::make(Kind::get(a) <= Kind::get(b)); };
    case ExprOp::gt:
      return [](Scalar a, Scalar b) { return Integer::make(Kind::get(a) > Kind::get(b)); };
    case ExprOp::ge:
      return [](Scalar a, Scalar b) { return Integer::make(Kind::get(a) >= Kind::get(b)); };
    default:
      return nullptr;
  }
}

template <typename Kind>
ScalarFunction arithmetic(ExprOp op) {
  switch (op) {
    case ExprOp::neg:
      return unary_value<Kind, Neg>;
    case ExprOp::abs:
      return unary_value<Kind, Abs>;
    case ExprOp::add:
      return binary_value<Kind, Add>;
    case ExprOp::sub:
      return binary_value<Kind, Sub>;
    case ExprOp::mul:
      return binary_value<Kind, Mul>;
    case ExprOp::div:
      return binary_value<Kind, Div>;
    case ExprOp::min:
      return binary_value<Kind, Min>;
    case ExprOp::max:
      return binary_value<Kind, Max>;
    default:
      return comparison<Kind>(op);
  }
}

template <typename Kind>
ScalarFunction integer_function(ExprOp op) {
  switch (op) {
    case ExprOp::mod:
      return binary_value<Kind, Mod>;
    case ExprOp::logical_not:
      return [](Scalar a, Scalar) { return Integer::make(a.i == 0); };
    case ExprOp::logical_and:
      return [](Scalar a, Scalar b) { return Integer::make(a.i != 0 && b.i != 0); };
    case ExprOp::logical_or:
      return [](Scalar a, Scalar b) { return Integer::make(a.i != 0 || b.i != 0); };
    default:
      return arithmetic<Kind>(op);
  }
}

template <typename Kind>
ScalarFunction float_function(ExprOp op) {
  using T = typename Kind::Type;
  switch (op) {
    case ExprOp::exp:
      return math_value<Kind, static_cast<T (*)(T)>(std::exp)>;
    case ExprOp::log:
      return math_value<Kind, static_cast<T (*)(T)>(std::log)>;
    case ExprOp::sqrt:
      return math_value<Kind, static_cast<T (*)(T)>(std::sqrt)>;
    case ExprOp::tanh:
      return math_value<Kind, static_cast<T (*)(T)>(std::tanh)>;
    case ExprOp::erf:
      return math_value<Kind, static_cast<T (*)(T)>(std::erf)>;
    case ExprOp::floor:
      return math_value<Kind, static_cast<T (*)(T)>(std::floor)>;
    case ExprOp::ceil:
      return math_value<Kind, static_cast<T (*)(T)>(std::ceil)>;
    case ExprOp::round:
      return math_value<Kind, static_cast<T (*)(T)>(std::nearbyint)>;
    case ExprOp::trunc:
      return math_value<Kind, static_cast<T (*)(T)>(std::trunc)>;
    case ExprOp::pow:
      return power_value<Kind>;
    default:
      return arithmetic<Kind>(op);
  }
}

// The ends of i32 in an index, of the type itself elsewhere. highest + 1 is a power of two, so that
// every float type holds it.
template <typename Kind>
struct Ends : std::numeric_limits<int32_t> {};
template <typename T>
struct Ends<Wrapped<T>> : std::numeric_limits<T> {};

template <typename To, typename T>
int64_t truncate(T value) {
  if (value != value) return 0;
  if (value >= static_cast<T>(Ends<To>::max() + 1.0)) return Ends<To>::max();
  if (value <= static_cast<T>(Ends<To>::min())) return Ends<To>::min();
  return static_cast<int64_t>(value);
}

template <typename To, typename From>
Scalar cast_value(Scalar a, Scalar) {
  using Source = typename From::Type;
  using Result = typename To::Type;
  if constexpr (std::is_floating_point_v<Source> && std::is_integral_v<Result>) {
    return To::make(truncate<To>(From::get(a)));
  } else {
    return To::make(static_cast<Result>(From::get(a)));
  }
}

// visit(Kind()) with how this kind of value sits in a Scalar.
template <typename Visitor>
ScalarFunction visit_kind(ScalarKind kind, const Visitor& visit) {
  switch (kind) {
    case ScalarKind::integer:
      return visit(Integer());
    case ScalarKind::i8:
      return visit(Wrapped<int8_t>());
    case ScalarKind::u8:
      return visit(Wrapped<uint8_t>());
    case ScalarKind::i16:
      return visit(Wrapped<int16_t>());
    case ScalarKind::u16:
      return visit(Wrapped<uint16_t>());
    case ScalarKind::i32:
      return visit(Wrapped<int32_t>());
    case ScalarKind::f32:
      return visit(F32());
    case ScalarKind::f64:
      return visit(F64());
  }
  return nullptr;
}

}  // namespace

ScalarFunction scalar_function(ExprOp op, ScalarKind kind) {
  ScalarFunction function = visit_kind(kind, [op](auto as) {
    using Kind = decltype(as);
    if constexpr (std::is_integral_v<typename Kind::Type>) {
      return integer_function<Kind>(op);
    } else {
      return float_function<Kind>(op);
    }
  });
  EMULSION_CHECK(function != nullptr, "{} has no meaning for this type", to_string(op));
  return function;
}

ScalarFunction cast_function(DType to, ScalarKind to_kind, ScalarKind from_kind) {
  return visit_kind(from_kind, [&](auto from) -> ScalarFunction {
    using From = decltype(from);
    if (to == DType::boolean) {
      return [](Scalar a, Scalar) { return Integer::make(From::get(a) != 0); };
    }
    return visit_kind(
        to_kind, [](auto result) -> ScalarFunction { return cast_value<decltype(result), From>; });
  });
}

ScalarFunction move_function() {
  return [](Scalar a, Scalar) { return a; };
}

}  // namespace emulsion

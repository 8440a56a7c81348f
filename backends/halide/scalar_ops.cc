#include "backends/halide/scalar_ops.h"

#include <cmath>
#include <limits>
#include <map>

#include "backends/halide/vector_math.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

using Halide::Internal::Call, Halide::Internal::make_const, Halide::Internal::make_zero;

Halide::Expr strict(Call::IntrinsicOp op, const Halide::Expr& a, const Halide::Expr& b) {
  const bool compares = op == Call::strict_eq || op == Call::strict_lt;
  const Halide::Type type = compares ? Halide::Bool(a.type().lanes()) : a.type();
  return Call::make(type, op, {a, b}, Call::PureIntrinsic);
}

// Halide refuses to compile a division by a zero that it can see. x / 0 is x * inf in every case.
Halide::Expr float_div(const Halide::Expr& a, const Halide::Expr& b) {
  const auto divisor = Halide::Internal::as_const_float(b);
  if (divisor && *divisor == 0) {
    const double infinity = std::copysign(INFINITY, *divisor);
    return strict(Call::strict_mul, a, make_const(a.type(), infinity));
  }
  return strict(Call::strict_div, a, b);
}

// `b_is_better`: whether b goes before a. A NaN on either side wins, as in NumPy, and is one that
// has no other bits: of two selects with b in both LLVM would make one, whose condition waits for
// a. So the inner select is one max or min instruction, and the outer one its mask. A tie gives a.
Halide::Expr float_choice(const Halide::Expr& a, const Halide::Expr& b,
                          const Halide::Expr& b_is_better) {
  const auto value = Halide::Internal::as_const_float(b);
  Halide::Expr chosen = halide_select(b_is_better, b, a);
  if (value && !std::isnan(*value)) return chosen;
  return halide_select(strict(Call::strict_eq, b, b), chosen, make_const(b.type(), NAN));
}

// The same value, of which Halide does not know from where to where it goes. It would follow the
// range of what was an integer through all that is made of it, two copies of an expression for each
// one in it, until it no longer ends.
Halide::Expr of_unknown_range(const Halide::Expr& a) {
  const Halide::Type bits = a.type().with_code(Halide::Type::UInt);
  return Halide::reinterpret(a.type(), Halide::reinterpret(bits, a));
}

Halide::Expr float_binary(ExprOp op, const Halide::Expr& a, const Halide::Expr& b) {
  static const std::map<ExprOp, Call::IntrinsicOp> kStrict = {{ExprOp::add, Call::strict_add},
                                                              {ExprOp::sub, Call::strict_sub},
                                                              {ExprOp::mul, Call::strict_mul},
                                                              {ExprOp::eq, Call::strict_eq},
                                                              {ExprOp::lt, Call::strict_lt}};
  if (const auto found = kStrict.find(op); found != kStrict.end()) {
    return strict(found->second, a, b);
  }
  switch (op) {
    case ExprOp::div:
      return float_div(a, b);
    case ExprOp::min:
      return float_choice(a, b, strict(Call::strict_lt, b, a));
    case ExprOp::max:
      return float_choice(a, b, strict(Call::strict_lt, a, b));
    case ExprOp::pow:
      return float_pow(of_unknown_range(a), of_unknown_range(b));
    case ExprOp::ne:
      return !strict(Call::strict_eq, a, b);
    case ExprOp::le:
      // Halide 21 compiles strict_le as "not greater", which is true of NaN.
      return strict(Call::strict_lt, a, b) || strict(Call::strict_eq, a, b);
    default:
      EMULSION_CHECK(false, "{} of floats", to_string(op));
      return a;
  }
}

// Division and remainder. Halide's division leaves a remainder >= 0; ours rounds towards minus
// infinity. They differ only for a negative divisor. Both give 0 when divided by zero. Constants of
// the operands' own type: beside an i32, Halide would compute all of it in i32.
Halide::Expr integer_quotient(ExprOp op, const Halide::Expr& a, const Halide::Expr& b) {
  const bool divides = op == ExprOp::div;
  Halide::Expr plain = divides ? a / b : a % b;
  const auto number = Halide::Internal::as_const_int(b);
  // Halide would compute -2147483648 / -1, and end.
  if (number && *number == -1) {
    const Halide::Expr zero = make_zero(a.type());
    return divides ? halide_wrapping(ExprOp::sub, zero, a) : zero;
  }
  if (a.type().is_uint() || (number && *number > 0)) return plain;
  const Halide::Expr zero = make_zero(a.type());
  const Halide::Expr change = divides ? make_const(a.type(), -1) : b;
  const Halide::Expr adjusted = plain + Halide::select(b < 0 && a % b != 0, change, zero);
  return Halide::select(b == 0, zero, adjusted);
}

Halide::Expr integer_binary(ExprOp op, const Halide::Expr& a, const Halide::Expr& b) {
  using E = const Halide::Expr&;
  static const std::map<ExprOp, Halide::Expr (*)(E, E)> kOperators = {
      {ExprOp::add, [](E x, E y) { return x + y; }},
      {ExprOp::sub, [](E x, E y) { return x - y; }},
      {ExprOp::mul, [](E x, E y) { return x * y; }},
      {ExprOp::div, [](E x, E y) { return integer_quotient(ExprOp::div, x, y); }},
      {ExprOp::mod, [](E x, E y) { return integer_quotient(ExprOp::mod, x, y); }},
      {ExprOp::min, [](E x, E y) { return Halide::min(x, y); }},
      {ExprOp::max, [](E x, E y) { return Halide::max(x, y); }},
      {ExprOp::eq, [](E x, E y) { return x == y; }},
      {ExprOp::ne, [](E x, E y) { return x != y; }},
      {ExprOp::lt, [](E x, E y) { return x < y; }},
      {ExprOp::le, [](E x, E y) { return x <= y; }},
      {ExprOp::logical_and, [](E x, E y) { return x && y; }},
      {ExprOp::logical_or, [](E x, E y) { return x || y; }},
  };
  const auto found = kOperators.find(op);
  EMULSION_CHECK(found != kOperators.end(), "{} of integers", to_string(op));
  return found->second(a, b);
}

// Of bool there are only logic and comparisons; min and max are logic too.
Halide::Expr bool_binary(ExprOp op, const Halide::Expr& a, const Halide::Expr& b) {
  if (op == ExprOp::min || op == ExprOp::mul) return a && b;
  if (op == ExprOp::max || op == ExprOp::add) return a || b;
  if (op == ExprOp::lt) return !a && b;
  return op == ExprOp::le ? !a || b : integer_binary(op, a, b);
}

// By its bits. Halide's abs keeps the sign of a double -0, and takes vectors of f32 apart, four
// lanes each: LLVM then keeps the sums that it reads in memory, not in registers.
Halide::Expr float_abs(const Halide::Expr& a) {
  const Halide::Type bits = a.type().with_code(Halide::Type::UInt);
  const int64_t all_but_sign = std::numeric_limits<int64_t>::max() >> (64 - bits.bits());
  return Halide::reinterpret(a.type(),
                             Halide::reinterpret(bits, a) & make_const(bits, all_but_sign));
}

// By way of i32, which holds every value that the narrower types do. What i32 does not hold is
// never cast: of a number LLVM would make anything at all of it. Nor is what is cast the result: of
// that, cast again, Halide would make one cast, from float to u8 if need be.
Halide::Expr float_to_integer(DType to, const Halide::Expr& a) {
  const Halide::Type type = halide_type(to);
  const IntegerRange range = integer_range(to);
  const auto number = [&](int64_t value) {
    return make_const(a.type(), static_cast<double>(value));
  };
  const auto whole = [&](const Halide::Expr& value) {
    return Halide::cast(type, Halide::cast(Halide::Int(32), value));
  };
  const Halide::Expr zero = make_zero(a.type()), lowest = number(range.lowest);
  const Halide::Expr highest = number(range.highest);
  if (to == DType::i32 && a.type().bits() == 32) {
    // The greatest i32 is no f32, the one behind it is.
    const Halide::Expr value = Halide::select(halide_is_nan(a), zero, a);
    const Halide::Expr large =
        Halide::select(strict(Call::strict_lt, value, lowest), lowest, value);
    const Halide::Expr fits = strict(Call::strict_lt, large, number(range.highest + 1));
    return Halide::select(fits, whole(Halide::select(fits, large, zero)), type.max());
  }
  // Each one instruction, a maximum, which makes the lowest of NaN, and a minimum.
  const Halide::Expr large = Halide::select(strict(Call::strict_lt, lowest, a), a, lowest);
  const Halide::Expr inside =
      Halide::select(strict(Call::strict_lt, highest, large), highest, large);
  return Halide::select(halide_is_nan(a), make_zero(type), whole(inside));
}

}  // namespace

Halide::Type halide_type(DType dtype) {
  if (dtype == DType::boolean) return Halide::Bool();
  const int bits = 8 * static_cast<int>(size_in_bytes(dtype));
  if (is_float(dtype)) return dtype == DType::bf16 ? Halide::BFloat(bits) : Halide::Float(bits);
  return integer_range(dtype).lowest < 0 ? Halide::Int(bits) : Halide::UInt(bits);
}

Halide::Expr halide_is_nan(const Halide::Expr& a) { return !strict(Call::strict_eq, a, a); }

Halide::Expr halide_select(const Halide::Expr& condition, const Halide::Expr& a,
                           const Halide::Expr& b) {
  return Halide::select(condition, Halide::likely(a), Halide::likely(b));
}

Halide::Expr halide_unary(ExprOp op, const Halide::Expr& a, bool has_fma, bool is_bounded) {
  const bool is_float = a.type().is_float();
  switch (op) {
    case ExprOp::neg:
      // Not 0 - a, which would make +0 of +0.
      return is_float ? strict(Call::strict_mul, a, make_const(a.type(), -1)) : -a;
    case ExprOp::abs:
      if (a.type().is_uint()) return a;
      return is_float ? float_abs(a) : Halide::cast(a.type(), Halide::abs(a));
    case ExprOp::exp:
      return (is_bounded ? exp_of_nonpositive : float_exp)(of_unknown_range(a), has_fma);
    case ExprOp::log:
      return float_log(of_unknown_range(a), has_fma);
    case ExprOp::sqrt:
      return Halide::sqrt(a);
    case ExprOp::tanh:
      return float_tanh(of_unknown_range(a), has_fma);
    case ExprOp::erf:
      return float_erf(of_unknown_range(a), has_fma);
    case ExprOp::floor:
      return Halide::floor(a);
    case ExprOp::ceil:
      return Halide::ceil(a);
    case ExprOp::round:
      return Halide::round(a);
    case ExprOp::trunc:
      return Halide::trunc(a);
    case ExprOp::logical_not:
      return !a;
    default:
      EMULSION_CHECK(false, "{} is not a unary operator", to_string(op));
      return a;
  }
}

Halide::Expr halide_binary(ExprOp op, const Halide::Expr& a, const Halide::Expr& b) {
  EMULSION_CHECK(a.type() == b.type(), "{}: two types", to_string(op));
  if (op == ExprOp::gt) return halide_binary(ExprOp::lt, b, a);
  if (op == ExprOp::ge) return halide_binary(ExprOp::le, b, a);
  if (a.type().is_float()) return float_binary(op, a, b);
  return a.type().is_bool() ? bool_binary(op, a, b) : integer_binary(op, a, b);
}

Halide::Expr halide_wrapping(ExprOp op, const Halide::Expr& a, const Halide::Expr& b) {
  EMULSION_CHECK(a.type().is_int() && a.type() == b.type(), "{}: no integers", to_string(op));
  const Halide::Type bits = a.type().with_code(Halide::Type::UInt);
  return Halide::reinterpret(
      a.type(), integer_binary(op, Halide::reinterpret(bits, a), Halide::reinterpret(bits, b)));
}

Halide::Expr halide_cast(DType to, const Halide::Expr& a) {
  Halide::Type type = halide_type(to);
  if (a.type() == type) return a;
  if (to == DType::boolean) return halide_binary(ExprOp::ne, a, make_zero(a.type()));
  if (is_integer(to) && a.type().is_float()) return float_to_integer(to, a);
  const Halide::Expr value = Halide::cast(type, a);
  return type.is_float() && !a.type().is_float() ? of_unknown_range(value) : value;
}

Halide::Expr fused_multiply_add(const Halide::Expr& a, const Halide::Expr& b,
                                const Halide::Expr& c) {
  // Halide calls an external function once for each lane; LLVM knows this one, and makes the calls
  // of a vector one vector instruction again.
  const char* name = a.type().bits() == 32 ? "llvm.fma.f32" : "llvm.fma.f64";
  return Call::make(a.type(), name, {a, b, c}, Call::PureExtern);
}

bool is_fused_multiply_add(const Call& call) {
  return call.name == "llvm.fma.f32" || call.name == "llvm.fma.f64";
}

}  // namespace emulsion

#include "backends/halide/vector_math.h"

#include <cmath>
#include <limits>
#include <vector>

#include "backends/halide/scalar_ops.h"

namespace emulsion {
namespace {

using Halide::cast, Halide::Float, Halide::Int, Halide::reinterpret, Halide::select;
using HExpr = Halide::Expr;

HExpr add(const HExpr& a, const HExpr& b) { return halide_binary(ExprOp::add, a, b); }
HExpr sub(const HExpr& a, const HExpr& b) { return halide_binary(ExprOp::sub, a, b); }
HExpr mul(const HExpr& a, const HExpr& b) { return halide_binary(ExprOp::mul, a, b); }
HExpr div(const HExpr& a, const HExpr& b) { return halide_binary(ExprOp::div, a, b); }
HExpr less(const HExpr& a, const HExpr& b) { return halide_binary(ExprOp::lt, a, b); }

// a * b + c, rounded once where the target can.
HExpr multiply_add(const HExpr& a, const HExpr& b, const HExpr& c, bool has_fma) {
  return has_fma ? fused_multiply_add(a, b, c) : add(mul(a, b), c);
}

// c[0] + c[1] x + c[2] x^2 + ..., by Horner's rule; T is the type of x.
template <typename T = float>
HExpr polynomial(const HExpr& x, const std::vector<T>& c, bool has_fma = false) {
  HExpr sum(c.back());
  for (size_t i = c.size() - 1; i-- > 0;) sum = multiply_add(sum, x, HExpr(c[i]), has_fma);
  return sum;
}

// ln 2 in two parts; the first has few bits, so its product with a small whole number is exact.
constexpr float kLn2High = 355.0f / 512.0f, kLn2Low = -2.12194440e-4f;
constexpr int kMantissaBits = 23, kExponentBias = 127;

// 1.5 * 2^23: the sum of it and a far smaller number is a whole number. Its last 22 bits are zeros.
constexpr float kRoundsToWhole = 12582912.0f;

// Of f64.
constexpr double kLn2 = 0.69314718055994531;
constexpr int kWideMantissaBits = 52, kWideExponentBias = 1023;

// The power of two whose exponent field is in the last bits; those above it are zeros.
HExpr of_exponent(const HExpr& field) { return reinterpret(Float(32), field << kMantissaBits); }

HExpr f64_call(const char* function, const std::vector<HExpr>& arguments) {
  return Halide::Internal::Call::make(Float(64), function, arguments,
                                      Halide::Internal::Call::PureExtern);
}

// log2(x) of an f64 that holds an f32 >= 0, which is then no subnormal number. As in float_log, x =
// 2^k m and log(m) = 2 artanh(s); at |s| < 0.172 nine terms of the series leave 2^-52.
HExpr wide_log2(const HExpr& x) {
  const HExpr sqrt_half_bits = Halide::Internal::make_const(Int(64), 0x3fe6a09e667f3bcd);
  HExpr bits = reinterpret(Int(64), x);
  HExpr k = cast(Int(32), (bits - sqrt_half_bits) >> kWideMantissaBits);
  HExpr m = reinterpret(Float(64), bits - (cast(Int(64), k) << kWideMantissaBits));
  HExpr f = sub(m, HExpr(1.0));
  HExpr s = div(f, add(f, HExpr(2.0)));
  std::vector<double> artanh;
  artanh.reserve(9);
  for (int i = 0; i < 9; ++i) artanh.push_back(2 / kLn2 / (2 * i + 1));
  HExpr value = add(cast(Float(64), k), mul(s, polynomial(mul(s, s), artanh)));
  const double infinity = std::numeric_limits<double>::infinity();
  value = select(halide_binary(ExprOp::eq, x, HExpr(infinity)), HExpr(infinity), value);
  return select(halide_binary(ExprOp::eq, x, HExpr(0.0)), HExpr(-infinity), value);
}

// 2^x as f64, for what becomes an f32: below -160 that is 0, above 130 infinity. 2^r for |r| <= 0.5
// is the Taylor series of exp(r ln 2), of which eleven terms leave 2^-42.
HExpr wide_exp2(const HExpr& x) {
  const HExpr least(-160.0), greatest(130.0);
  HExpr bounded = select(less(x, least), least, select(less(greatest, x), greatest, x));
  HExpr whole = Halide::floor(add(bounded, HExpr(0.5)));
  std::vector<double> taylor = {1};
  for (int i = 1; i <= 10; ++i) taylor.push_back(taylor.back() * kLn2 / i);
  HExpr series = polynomial(sub(bounded, whole), taylor);
  HExpr exponent = cast(Int(64), cast(Int(32), whole) + kWideExponentBias);
  return mul(series, reinterpret(Float(64), exponent << kWideMantissaBits));
}

// exp(x) = 2^n exp(r) with n = round(x / ln 2), so |r| <= ln(2) / 2. exp(r) is 1 + r + r^2 p(r),
// where p interpolates at five Chebyshev nodes. Adding 1.5 * 2^23 and more whole numbers rounds to
// a whole number, which the last bits of the sum are: the exponent field of a power of two. 2^n is
// applied as two factors, since 2^128 and the scale of a subnormal result are no floats themselves:
// 2^(n/2), whose field is half of n and twice the bias, and what is left; or, where n is never
// above 0, a constant, which the terms of exp(r) have already, and what is left.
HExpr exp_of(const HExpr& x, bool has_fma, bool never_above_zero) {
  const int bias = kExponentBias, shift = bias / 2;
  const float overflow = 89.0f, underflow = -104.0f, constant = std::ldexp(1.0f, -shift);
  // Written in this order, each of the two selects is one max or min instruction, and keeps NaN.
  HExpr bounded = select(less(x, underflow), underflow, x);
  if (!never_above_zero) bounded = select(less(overflow, bounded), overflow, bounded);
  const float rounds = kRoundsToWhole + (never_above_zero ? bias + shift : 2 * bias);
  HExpr rounded = multiply_add(bounded, 1.44269504f, rounds, has_fma);
  HExpr whole = sub(rounded, rounds);
  HExpr high = multiply_add(whole, -kLn2High, bounded, has_fma);
  HExpr r = multiply_add(whole, -kLn2Low, high, has_fma);
  std::vector<float> terms = {1.0f,          1.0f,           0.5f,          0.166665778f,
                              0.0416665561f, 0.00836317334f, 0.00139261759f};
  for (float& term : terms) term *= never_above_zero ? constant : 1.0f;
  HExpr series = polynomial(r, terms, has_fma);
  HExpr bits = reinterpret(Halide::UInt(32), rounded), half = bits >> 1;
  if (never_above_zero) return mul(series, of_exponent(bits));
  return mul(mul(series, of_exponent(half)), of_exponent(bits - half));
}

}  // namespace

HExpr float_exp(const HExpr& x, bool has_fma) {
  return x.type().bits() == 64 ? f64_call("exp", {x}) : exp_of(x, has_fma, false);
}

HExpr exp_of_nonpositive(const HExpr& x, bool has_fma) { return exp_of(x, has_fma, true); }

// x = 2^k m with sqrt(1/2) <= m < sqrt(2); with f = m - 1 and s = f / (2 + f), log(m) = 2
// artanh(s), whose series in s^2 is rearranged as f - s (f - t), because f is exact and the rest is
// small beside it.
HExpr float_log(const HExpr& x, bool has_fma) {
  if (x.type().bits() == 64) return f64_call("log", {x});
  const int sqrt_half_bits = 0x3f3504f3;
  HExpr is_subnormal = less(x, std::numeric_limits<float>::min());
  HExpr scaled = select(is_subnormal, mul(x, 8388608.0f), x);
  HExpr bits = reinterpret(Int(32), scaled);
  HExpr k = (bits - sqrt_half_bits) >> kMantissaBits;
  HExpr m = reinterpret(Float(32), bits - (k << kMantissaBits));
  HExpr exponent = cast(Float(32), k - select(is_subnormal, kMantissaBits, 0));
  HExpr f = sub(m, 1.0f);
  HExpr s = div(f, add(f, 2.0f));
  HExpr z = mul(s, s);
  HExpr t = mul(z, polynomial<float>(z, {2 / 3.0f, 2 / 5.0f, 2 / 7.0f, 2 / 9.0f}, has_fma));
  HExpr low = sub(mul(exponent, kLn2Low), mul(s, sub(f, t)));
  HExpr value = add(mul(exponent, kLn2High), add(f, low));
  const float infinity = std::numeric_limits<float>::infinity();
  value = select(halide_binary(ExprOp::eq, x, infinity), x, value);
  value = select(halide_binary(ExprOp::eq, x, 0.0f), -infinity, value);
  value = select(less(x, 0.0f), std::numeric_limits<float>::quiet_NaN(), value);
  return select(halide_is_nan(x), x, value);
}

// |x|^y = 2^(y log2 |x|) in f64, rounded to f32 once; then the sign, and what C and NumPy say of
// NaN. 0 and infinity have an infinite logarithm, from which their powers follow.
HExpr float_pow(const HExpr& x, const HExpr& y) {
  if (x.type().bits() == 64) return f64_call("pow", {x, y});
  auto equal = [](const HExpr& a, const HExpr& b) { return halide_binary(ExprOp::eq, a, b); };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  HExpr size = halide_unary(ExprOp::abs, x);
  HExpr power = mul(cast(Float(64), y), wide_log2(cast(Float(64), size)));
  // 0 times an infinite y would be NaN.
  HExpr value = cast(Float(32), wide_exp2(select(equal(size, 1.0f), HExpr(0.0), power)));
  // Infinite and very large exponents are even.
  HExpr half = mul(y, 0.5f);
  HExpr is_whole = equal(Halide::floor(y), y);
  HExpr is_odd = is_whole && !equal(Halide::floor(half), half);
  HExpr has_sign = reinterpret(Int(32), x) < 0;
  value = select(is_odd && has_sign, halide_unary(ExprOp::neg, value), value);
  value = select(less(x, 0.0f) && less(-infinity, x) && !is_whole, nan, value);
  value = select(halide_is_nan(x) || halide_is_nan(y), nan, value);
  return select(equal(y, 0.0f) || equal(x, 1.0f), 1.0f, value);
}

// Near zero Lambert's continued fraction, cut off and written as one quotient; elsewhere by exp.
HExpr float_tanh(const HExpr& x, bool has_fma) {
  if (x.type().bits() == 64) return f64_call("tanh", {x});
  HExpr z = mul(x, x);
  const std::vector<float> above = {135135.0f, 17325.0f, 378.0f, 1.0f};
  const std::vector<float> below = {135135.0f, 62370.0f, 3150.0f, 28.0f};
  HExpr near = div(mul(x, polynomial(z, above, has_fma)), polynomial(z, below, has_fma));
  HExpr size = halide_unary(ExprOp::abs, x);
  HExpr far = sub(1.0f, div(2.0f, add(float_exp(mul(size, 2.0f), has_fma), 1.0f)));
  far = select(less(x, 0.0f), halide_unary(ExprOp::neg, far), far);
  return select(less(size, 0.625f), near, far);
}

// Near zero the Maclaurin series, (2 / sqrt(pi)) sum (-1)^n x^(2n+1) / (n! (2n+1)). From 1 to 4,
// where erf is 1 for a float, the polynomial that interpolates erf - 1 at 16 Chebyshev nodes, in u
// = (|x| - 2.5) / 1.5.
HExpr float_erf(const HExpr& x, bool has_fma) {
  if (x.type().bits() == 64) return f64_call("erf", {x});
  std::vector<float> maclaurin;
  double factorial = 1;
  for (int n = 0; n <= 10; ++n) {
    if (n > 0) factorial *= -n;
    maclaurin.push_back(static_cast<float>(1.1283791670955126 / (factorial * (2 * n + 1))));
  }
  HExpr near = mul(x, polynomial(mul(x, x), maclaurin, has_fma));
  static const std::vector<float> kInterpolated = {
      -0.000406952492f, 0.00326742533f,  -0.0122527875f,  0.0281816822f,
      -0.0436521242f,   0.0464508856f,   -0.0318647668f,  0.0092893637f,
      0.00662776527f,   -0.00970703843f, 0.00468133514f,  0.000624549625f,
      -0.00204290024f,  0.000704792605f, 0.000260819559f, -0.000162065819f};
  HExpr size = halide_unary(ExprOp::abs, x);
  HExpr bounded = select(less(4.0f, size), 4.0f, size);
  HExpr u = mul(sub(bounded, 2.5f), 1 / 1.5f);
  HExpr far = add(1.0f, polynomial(u, kInterpolated, has_fma));
  far = select(less(x, 0.0f), halide_unary(ExprOp::neg, far), far);
  return select(less(size, 1.0f), near, far);
}

}  // namespace emulsion

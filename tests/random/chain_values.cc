#include "tests/random/chain_values.h"

#include <algorithm>
#include <cmath>

#include "tests/random/comprehension_types.h"

namespace emulsion {
namespace {

constexpr double kMostInexact = 100;  // of a factor that is no whole number

// Of one operation, in the size of its result.
double rounding(DType dtype) { return dtype == DType::f64 ? 1e-15 : 3e-7; }

// The result of an operation: narrow types wrap around, floats that are no whole numbers round.
Value result(const Expr& e, double bound, double error) {
  if (is_narrow(e.dtype())) return {e, bound_of(e.dtype()), 0};
  return {e, bound, error > 0 ? error + rounding(e.dtype()) * bound : 0};
}

double most_of(const Value& a, double error) {
  return error > 0 ? kMostInexact * kMostInexact : limit_of(a.e.dtype());
}

}  // namespace

Value number(DType dtype, double value) { return {constant(dtype, value), std::abs(value), 0}; }

Value held(const Value& a, double most) {
  if (a.bound <= most || is_narrow(a.e.dtype())) return a;
  const double end = std::max(1.0, std::min(std::floor(most), 8.0));
  const DType dtype = a.e.dtype();
  return {clamp(a.e, constant(dtype, is_signed(dtype) ? -end : 0), constant(dtype, end)), end,
          a.error};
}

Value plus(const Value& a, const Value& b) {
  const double error = a.error + b.error, most = most_of(a, error) / 2;
  const Value x = held(a, most), y = held(b, most);
  return result(x.e + y.e, x.bound + y.bound, error);
}

Value minus(const Value& a, const Value& b) {
  const double error = a.error + b.error, most = most_of(a, error) / 2;
  const Value x = held(a, most), y = held(b, most);
  return result(x.e - y.e, x.bound + y.bound, error);
}

Value times(const Value& a, const Value& b) {
  Value x = a, y = b;
  if (x.bound * y.bound > most_of(a, a.error + b.error)) {
    x = held(x, 8);
    y = held(y, 8);
  }
  return result(x.e * y.e, x.bound * y.bound, x.error * y.bound + y.error * x.bound);
}

Value larger(const Value& a, const Value& b) {
  return {max(a.e, b.e), std::max(a.bound, b.bound), std::max(a.error, b.error)};
}

Value smaller(const Value& a, const Value& b) {
  return {min(a.e, b.e), std::max(a.bound, b.bound), std::max(a.error, b.error)};
}

Value chosen(const Expr& condition, const Value& a, const Value& b) {
  return {select(condition, a.e, b.e), std::max(a.bound, b.bound), std::max(a.error, b.error)};
}

Value size_of_value(const Value& a) {
  return is_signed(a.e.dtype()) ? Value{abs(a.e), a.bound, a.error} : a;
}

Value over(const Value& a, const Value& b) {
  const DType dtype = a.e.dtype();
  if (!is_float(dtype)) return {a.e / b.e, a.bound, 0};
  return result(a.e / b.e, a.bound, a.error + b.error * a.bound + rounding(dtype) * a.bound);
}

Value as_type(DType dtype, const Value& a) {
  if (a.e.dtype() == dtype) return a;
  if (a.error > 0 && !is_float(dtype)) return number(dtype, 1);
  if (is_narrow(dtype)) {
    // Of a float, what a narrow type does not hold becomes its end.
    return {cast(dtype, a.e), bound_of(dtype), 0};
  }
  const Value small = a.error > 0 ? a : held(a, limit_of(dtype));
  const double error = small.error > 0 ? small.error + rounding(dtype) * small.bound : 0;
  return {cast(dtype, small.e), small.bound, error};
}

Value series(Series kind, const Value& a) {
  const DType dtype = a.e.dtype();
  const double ulp = rounding(dtype);
  const Expr one = constant(dtype, 1), half = constant(dtype, 0.5);
  switch (kind) {
    case Series::exp: {
      const Value x = held(a, 4);
      const double most = std::exp(std::min(x.bound, 8.0));
      return {exp(x.e), most, (x.error + ulp) * most};
    }
    case Series::tanh:
      return {tanh(a.e), 1, a.error + ulp};
    case Series::erf:
      return {erf(a.e), 1, 1.2 * a.error + ulp};
    case Series::sqrt:
      return {sqrt(abs(a.e) + one), std::sqrt(a.bound + 1),
              a.error / 2 + ulp * std::sqrt(a.bound + 1)};
    case Series::log:
      return {log(abs(a.e) + one), std::log(a.bound + 1), a.error + ulp * (1 + a.bound)};
    case Series::sigmoid: {
      const Value x = held(a, 8);
      return {one / (one + exp(-x.e)), 1, x.error / 4 + ulp};
    }
    case Series::gelu: {
      const Value x = held(a, kMostInexact);
      return {half * x.e * (one + erf(x.e * constant(dtype, 0.70710678118))), x.bound,
              1.2 * x.error + ulp * (1 + x.bound)};
    }
  }
  return a;
}

Value reduced(Combiner combiner, const std::vector<Axis>& axes, double terms, const Value& a) {
  switch (combiner) {
    case Combiner::max:
      return {reduce_max(axes, a.e), a.bound, a.error};
    case Combiner::min:
      return {reduce_min(axes, a.e), a.bound, a.error};
    case Combiner::product:  // of others no number of factors is exact
      if (is_narrow(a.e.dtype())) return result(product(axes, a.e), a.bound, 0);
      return {reduce_max(axes, a.e), a.bound, a.error};
    default: {
      const Value x = held(a, most_of(a, a.error) / terms);
      return result(sum(axes, x.e), x.bound * terms, x.error * terms);
    }
  }
}

}  // namespace emulsion

#include "backends/halide/vector_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "backends/halide/halide_call.h"
#include "backends/halide/jit.h"
#include "backends/halide/lower_statement.h"
#include "bazel/testing/needs.h"
#include "dsl/extent.h"
#include "dsl/operators.h"
#include "dsl/schedule.h"
#include "dsl/target.h"
#include "passes/lower/lower.h"

namespace emulsion {
namespace {

using Build = Halide::Expr (*)(const Halide::Expr&, bool has_fma);

// With fused multiply-adds where the target has them.
template <typename T>
std::vector<T> run(Build build, const std::vector<T>& values, bool vectorized,
                   const Target& target = Target::host()) {
  Halide::Buffer<T> in(static_cast<int>(values.size())), out(static_cast<int>(values.size()));
  std::copy(values.begin(), values.end(), in.data());
  call_halide("test", [&] {
    Halide::Var i("i");
    Halide::Func f("f");
    f(i) = build(in(i), target.has_fma());
    if (vectorized) f.vectorize(i, 16, Halide::TailStrategy::GuardWithIf);
    f.realize(Halide::Pipeline::RealizationArg(out.raw_buffer()), kernel_target(target));
  });
  return std::vector<T>(out.data(), out.data() + values.size());
}

std::vector<float> samples(float low, float high) {
  std::vector<float> values;
  const int count = 200000;
  for (int i = 0; i <= count; ++i) {
    values.push_back(static_cast<float>(low + (double(high) - low) * i / count));
  }
  return values;
}

double units_in_the_last_place(double exact, float value) {
  float rounded = static_cast<float>(exact);
  float size = std::fabs(rounded);
  float unit = std::nextafter(size, std::numeric_limits<float>::infinity()) - size;
  return std::fabs(value - exact) / unit;
}

// On this machine, and as on one without fused multiply-adds.
void expect_accurate(Build build, double (*exact)(double), float low, float high,
                     const Target& target) {
  std::vector<float> x = samples(low, high), y = run(build, x, true, target);
  double worst = 0;
  float where = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double error = units_in_the_last_place(exact(x[i]), y[i]);
    if (!(error <= worst)) {
      worst = error;
      where = x[i];
    }
  }
  EXPECT_LE(worst, 4) << "at " << where;
}

void expect_accurate(Build build, double (*exact)(double), float low, float high) {
  expect_accurate(build, exact, low, high, Target::host());
  expect_accurate(build, exact, low, high, Target::parse("x86-64-linux"));
}

void expect_exactly(Build build, float x, float expected) {
  for (const Target& target : {Target::host(), Target::parse("x86-64-linux")}) {
    for (bool vectorized : {false, true}) {
      float y = run<float>(build, {x}, vectorized, target)[0];
      EXPECT_TRUE((y != y && expected != expected) || std::memcmp(&y, &expected, sizeof(y)) == 0)
          << x << " gave " << y << ", not " << expected;
    }
  }
}

const float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(VectorMath, Exp) {
  expect_accurate(float_exp, std::exp, -87, 88.7f);
  expect_accurate(float_exp, std::exp, -1, 1);
}

TEST(VectorMath, ExpOfWhatIsSubnormal) { expect_accurate(float_exp, std::exp, -103.9f, -87); }

TEST(VectorMath, ExpAtTheEnds) {
  expect_exactly(float_exp, kNan, kNan);
  expect_exactly(float_exp, kInfinity, kInfinity);
  expect_exactly(float_exp, -kInfinity, 0);
  expect_exactly(float_exp, 0, 1);
  expect_exactly(float_exp, 1000, kInfinity);
  expect_exactly(float_exp, -1000, 0);
}

TEST(VectorMath, ExpOfWhatIsNotAboveZeroIsExp) {
  std::vector<float> x = samples(-105, 0);
  for (float special : {kNan, -kNan, -kInfinity, -1000.0f, -0.0f}) x.push_back(special);
  for (const Target& target : {Target::host(), Target::parse("x86-64-linux")}) {
    for (bool vectorized : {false, true}) {
      const std::vector<float> y = run(exp_of_nonpositive, x, vectorized, target);
      const std::vector<float> expected = run(float_exp, x, vectorized, target);
      for (size_t i = 0; i < x.size(); ++i) {
        const bool same = std::memcmp(&y[i], &expected[i], sizeof(float)) == 0;
        ASSERT_TRUE(same || (y[i] != y[i] && x[i] != x[i])) << x[i] << ": " << y[i];
      }
    }
  }
}

TEST(VectorMath, Log) {
  expect_accurate(float_log, std::log, 1e-6f, 20);
  expect_accurate(float_log, std::log, 0.5f, 2);
  expect_accurate(float_log, std::log, 1, 3e38f);
}

TEST(VectorMath, LogOfSubnormals) { expect_accurate(float_log, std::log, 1e-42f, 1e-37f); }

TEST(VectorMath, LogAtTheEnds) {
  expect_exactly(float_log, kNan, kNan);
  expect_exactly(float_log, kInfinity, kInfinity);
  expect_exactly(float_log, 0.0f, -kInfinity);
  expect_exactly(float_log, -0.0f, -kInfinity);
  expect_exactly(float_log, -1, kNan);
  expect_exactly(float_log, -kInfinity, kNan);
  expect_exactly(float_log, 1, 0);
}

TEST(VectorMath, Tanh) {
  expect_accurate(float_tanh, std::tanh, -9.5f, 9.5f);
  expect_accurate(float_tanh, std::tanh, -1, 1);
}

TEST(VectorMath, TanhAtTheEnds) {
  expect_exactly(float_tanh, kNan, kNan);
  expect_exactly(float_tanh, kInfinity, 1);
  expect_exactly(float_tanh, -kInfinity, -1);
  expect_exactly(float_tanh, -0.0f, -0.0f);
  expect_exactly(float_tanh, 1e-40f, 1e-40f);
}

TEST(VectorMath, Erf) {
  expect_accurate(float_erf, std::erf, -4.5f, 4.5f);
  expect_accurate(float_erf, std::erf, -1, 1);
}

TEST(VectorMath, ErfAtTheEnds) {
  expect_exactly(float_erf, kNan, kNan);
  expect_exactly(float_erf, kInfinity, 1);
  expect_exactly(float_erf, -kInfinity, -1);
  expect_exactly(float_erf, -0.0f, -0.0f);
}

// One function of two arguments.
template <typename T>
std::vector<T> powers(const std::vector<T>& x, const std::vector<T>& y, bool vectorized,
                      const Target& target = Target::host()) {
  const int count = static_cast<int>(x.size());
  Halide::Buffer<T> bases(count), exponents(count), out(count);
  std::copy(x.begin(), x.end(), bases.data());
  std::copy(y.begin(), y.end(), exponents.data());
  call_halide("test", [&] {
    Halide::Var i("i");
    Halide::Func f("f");
    f(i) = float_pow(bases(i), exponents(i));
    if (vectorized) f.vectorize(i, 16, Halide::TailStrategy::GuardWithIf);
    f.realize(Halide::Pipeline::RealizationArg(out.raw_buffer()), kernel_target(target));
  });
  return std::vector<T>(out.data(), out.data() + count);
}

// Bases and exponents at random: of x ** y and of the result all sizes, subnormal ones too.
void random_powers(size_t count, std::vector<float>* x, std::vector<float>* y) {
  std::mt19937 random(1);
  auto real = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random()) * 0x1p-32;
  };
  for (size_t i = 0; i < count; ++i) {
    const bool near_one = i % 3 == 0;
    const double exponent = near_one ? real(-0.5, 0.5) : real(-149, 128);
    x->push_back(static_cast<float>(std::exp2(exponent)));
    // The result lies between 2^-150 and 2^128.
    const double result = real(-150, 128);
    y->push_back(static_cast<float>(i % 2 == 0 ? result / exponent : real(-4, 4)));
    if (random() % 4 == 0) y->back() = std::round(y->back());
    if (random() % 4 == 0) x->back() = -x->back();
  }
}

TEST(VectorMath, Pow) {
  std::vector<float> x, y;
  random_powers(400000, &x, &y);
  const std::vector<float> z = powers(x, y, true);
  double worst = 0;
  size_t where = 0, compared = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = std::pow(double{x[i]}, double{y[i]});
    const float rounded = static_cast<float>(exact);
    if (std::isnan(rounded) || std::isinf(rounded)) {
      EXPECT_TRUE(std::isnan(rounded) ? std::isnan(z[i]) : z[i] == rounded)
          << x[i] << " ** " << y[i] << " gave " << z[i];
      continue;
    }
    ++compared;
    EXPECT_EQ(std::signbit(z[i]), std::signbit(rounded)) << x[i] << " ** " << y[i];
    const double error = units_in_the_last_place(exact, z[i]);
    if (error <= worst) continue;
    worst = error;
    where = i;
  }
  EXPECT_LE(worst, 0.501) << x[where] << " ** " << y[where] << " gave " << z[where];
  EXPECT_GE(compared, 200000U);
}

// What is a float comes out exactly.
TEST(VectorMath, PowOfWholeNumbers) {
  std::vector<float> x, y, expected;
  for (int base = -40; base <= 40; ++base) {
    for (int exponent = -8; exponent <= 24; ++exponent) {
      const double power = std::pow(base, exponent);
      if (power != static_cast<double>(static_cast<float>(power)) && std::isfinite(power)) continue;
      x.push_back(static_cast<float>(base));
      y.push_back(static_cast<float>(exponent));
      expected.push_back(static_cast<float>(power));
    }
  }
  EXPECT_GE(x.size(), 500U);
  EXPECT_EQ(powers(x, y, true), expected);
}

// Every pair of them, as C and NumPy have it.
TEST(VectorMath, PowAtTheEnds) {
  std::vector<float> ends, x, y;
  const float greatest = std::numeric_limits<float>::max();
  const float least = std::numeric_limits<float>::denorm_min();
  for (float v : {0.0f, least, 1e-20f, 0.5f, 0x1.fffffep-1f, 1.0f, 0x1.000002p0f, 1.5f, 2.0f, 3.0f,
                  8388607.0f, 8388608.5f, 16777215.0f, 16777216.0f, 1e20f, greatest, kInfinity}) {
    ends.insert(ends.end(), {v, -v});
  }
  ends.push_back(kNan);
  for (float base : ends) {
    for (float exponent : ends) {
      x.push_back(base);
      y.push_back(exponent);
    }
  }
  for (bool vectorized : {false, true}) {
    const std::vector<float> z = powers(x, y, vectorized);
    for (size_t i = 0; i < x.size(); ++i) {
      const float expected = static_cast<float>(std::pow(double{x[i]}, double{y[i]}));
      const bool same = std::memcmp(&z[i], &expected, sizeof(float)) == 0;
      EXPECT_TRUE(same || (std::isnan(z[i]) && std::isnan(expected)))
          << x[i] << " ** " << y[i] << " gave " << z[i] << ", not " << expected;
    }
  }
}

// What a kernel for the target makes of each element, or pair of elements, in vectors of 16 or one
// by one: compiled as every kernel is, behind the expressions that this file looks at otherwise.
using Function = Expr (*)(const Expr& x, const Expr& z);

std::vector<float> run_kernel(Function function, std::vector<float> x, std::vector<float> z,
                              bool vectorized, const Target& target) {
  const Extent count = Extent::size("N");
  const Axis i("i", count);
  const Tensor y =
      compute("y", {i}, function(input("x", f32, {count})(i), input("z", f32, {count})(i)));
  Schedule schedule(y);
  if (vectorized) schedule[y].vectorize(i, 16);
  const LoopNest nest = lower(y, schedule);
  std::vector<float> out(x.size(), -1);
  std::map<std::string, JitBuffer> arguments;
  for (const Buffer* argument : nest.arguments()) {
    std::vector<float>& values = argument->name == "x" ? x : argument->name == "z" ? z : out;
    arguments[argument->name] = {f32, {static_cast<int64_t>(values.size())}, values.data()};
  }
  JitKernel(nest, target).run(arguments);
  return out;
}

// As it is in scalar code for the first of the targets that have fused multiply-adds, or of those
// that have none.
void expect_same_bits(Function function, const std::vector<float>& x, const std::vector<float>& z,
                      const Target& target) {
  const Target first = Target::parse(target.has_fma() ? "x86-64-v3" : "x86-64-linux");
  const std::vector<float> baseline = run_kernel(function, x, z, false, first);
  for (bool vectorized : {false, true}) {
    const std::vector<float> y = run_kernel(function, x, z, vectorized, target);
    for (size_t i = 0; i < x.size(); ++i) {
      const bool same = std::memcmp(&y[i], &baseline[i], sizeof(float)) == 0;
      ASSERT_TRUE(same || (std::isnan(y[i]) && std::isnan(baseline[i])))
          << (vectorized ? "vectors" : "scalars") << " at " << x[i] << ", " << z[i] << ": " << y[i]
          << ", not " << baseline[i];
    }
  }
}

class VectorMathOfTarget : public testing::TestWithParam<const char*> {};

// Numbers of all sizes, subnormals and both ends among them.
TEST_P(VectorMathOfTarget, ScalarsAndVectorsAgreeToTheBitWithTheBaseline) {
  const Target target = Target::parse(GetParam());
  SKIP_UNLESS_IT_RUNS(target);
  std::vector<float> x = samples(-10, 10);
  for (float more : samples(1e-42f, 1e-37f)) x.push_back(more);
  for (float more : {-0.0f, 1e-40f, -1e-40f, 88.0f, -103.0f, kInfinity, -kInfinity}) {
    x.push_back(more);
  }
  std::vector<float> z(x.rbegin(), x.rend());
  const std::pair<const char*, Function> kFunctions[] = {
      {"exp", [](const Expr& a, const Expr&) { return exp(a); }},
      {"log", [](const Expr& a, const Expr&) { return log(abs(a)); }},
      {"tanh", [](const Expr& a, const Expr&) { return tanh(a); }},
      {"erf", [](const Expr& a, const Expr&) { return erf(a); }},
      {"sqrt", [](const Expr& a, const Expr&) { return sqrt(abs(a)); }},
      {"quotient", [](const Expr& a, const Expr& b) { return a / b; }},
      {"sum of products", [](const Expr& a, const Expr& b) { return a * b + a * 3.7f; }},
  };
  for (const auto& [name, function] : kFunctions) {
    SCOPED_TRACE(name);
    expect_same_bits(function, x, z, target);
  }
}

TEST_P(VectorMathOfTarget, PowsOfScalarsAndVectorsAgreeToTheBitWithTheBaseline) {
  const Target target = Target::parse(GetParam());
  SKIP_UNLESS_IT_RUNS(target);
  std::vector<float> x, y;
  random_powers(20011, &x, &y);
  expect_same_bits([](const Expr& a, const Expr& b) { return pow(a, b); }, x, y, target);
}

INSTANTIATE_TEST_SUITE_P(Levels, VectorMathOfTarget,
                         testing::Values("x86-64-linux", "x86-64-v2", "x86-64-v3", "x86-64-v4"));

TEST(VectorMath, DoublesAreThoseOfLibm) {
  std::vector<double> x = {-0.0, 1e-310, -1e-310, 700, -700, NAN, INFINITY, -INFINITY};
  for (int i = -20000; i <= 20000; ++i) x.push_back(i / 1999.0);
  const std::pair<Build, double (*)(double)> kFunctions[] = {
      {float_exp, std::exp}, {float_log, std::log}, {float_tanh, std::tanh}, {float_erf, std::erf}};
  for (const auto& [build, exact] : kFunctions) {
    const std::vector<double> y = run(build, x, true);
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = exact(x[i]);
      const bool same = std::memcmp(&y[i], &expected, sizeof expected) == 0;
      ASSERT_TRUE(same || (y[i] != y[i] && expected != expected)) << x[i];
    }
  }
}

// The sign of a zero as well; of NaN there is one.
bool is_same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

double random_bits(std::mt19937_64* random) {
  const uint64_t bits = (*random)();
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Of all sizes, and any two that there are: most powers of such are no number, 0 or infinite.
void random_powers_of_doubles(size_t count, std::vector<double>* x, std::vector<double>* y) {
  std::mt19937_64 random(2);
  auto real = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
  };
  for (size_t i = 0; i < count; ++i) {
    if (i % 4 == 3) {
      x->push_back(random_bits(&random));
      y->push_back(random_bits(&random));
      continue;
    }
    const double exponent = i % 4 == 0 ? real(-0.5, 0.5) : real(-1074, 1024);
    x->push_back(std::exp2(exponent));
    // The result lies between 2^-1080 and 2^1024.
    y->push_back(i % 2 == 0 ? real(-1080, 1024) / exponent : real(-4, 4));
    if (random() % 4 == 0) y->back() = std::round(y->back());
    if (random() % 4 == 0) x->back() = -x->back();
  }
}

// Every pair of these.
void powers_on_a_grid(std::vector<double>* x, std::vector<double>* y) {
  using Limits = std::numeric_limits<double>;
  std::vector<double> grid;
  for (double v : {0.0,
                   Limits::denorm_min(),
                   1e-310,
                   Limits::min(),
                   1e-100,
                   1e-8,
                   0.1,
                   0.3,
                   1.0 / 3,
                   0.5,
                   1 - Limits::epsilon() / 2,
                   1.0,
                   1 + Limits::epsilon(),
                   1.5,
                   2.0,
                   2.5,
                   2.718281828459045,
                   3.0,
                   7.0,
                   10.0,
                   33.0,
                   512.5,
                   1023.0,
                   1074.0,
                   65537.0,
                   0x1p52 - 0.5,
                   0x1p52 + 1,
                   0x1p53 - 1,
                   0x1p53,
                   1e100,
                   Limits::max(),
                   Limits::infinity()}) {
    grid.insert(grid.end(), {v, -v});
  }
  grid.push_back(Limits::quiet_NaN());
  for (double base : grid) {
    for (double exponent : grid) {
      x->push_back(base);
      y->push_back(exponent);
    }
  }
}

// Against the power of long double, which is other code.
TEST(VectorMath, PowsOfDoubles) {
  std::vector<double> x, y;
  powers_on_a_grid(&x, &y);
  const size_t on_the_grid = x.size();
  random_powers_of_doubles(200000, &x, &y);
  const std::vector<double> z = powers(x, y, true);
  double worst = 0;
  size_t where = 0, compared = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const long double exact = std::pow(static_cast<long double>(x[i]), y[i]);
    const auto rounded = static_cast<double>(exact);
    if (std::isnan(rounded) || std::isinf(rounded) || rounded == 0) {
      ASSERT_TRUE(is_same(z[i], rounded)) << x[i] << " ** " << y[i] << " gave " << z[i];
      continue;
    }
    ++compared;
    const double size = std::fabs(rounded);
    const double above = std::nextafter(size, std::numeric_limits<double>::infinity());
    const double unit = std::isinf(above) ? size - std::nextafter(size, 0.0) : above - size;
    const auto error = static_cast<double>(std::fabs(z[i] - exact) / unit);
    if (error <= worst) continue;
    worst = error;
    where = i;
  }
  std::printf("pow of f64: at most %.4f units in the last place, at %a ** %a\n", worst, x[where],
              y[where]);
  EXPECT_LE(worst, 0.55) << x[where] << " ** " << y[where] << " gave " << z[where];
  EXPECT_GE(on_the_grid, 4000U);
  EXPECT_GE(compared, 100000U);
}

// As they are in scalar code, and as libm has them.
TEST(VectorMath, PowsOfDoublesAreThoseOfLibm) {
  std::vector<double> x, y;
  powers_on_a_grid(&x, &y);
  random_powers_of_doubles(20000, &x, &y);
  for (bool vectorized : {false, true}) {
    const std::vector<double> z = powers(x, y, vectorized);
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_TRUE(is_same(z[i], std::pow(x[i], y[i])))
          << x[i] << " ** " << y[i] << " gave " << z[i];
    }
  }
}

}  // namespace
}  // namespace emulsion

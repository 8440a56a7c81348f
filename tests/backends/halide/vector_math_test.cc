#include "backends/halide/vector_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "backends/halide/halide_call.h"
#include "backends/halide/kernel_target.h"
#include "bazel/testing/needs.h"
#include "dsl/target.h"

namespace emulsion {
namespace {

using Build = Halide::Expr (*)(const Halide::Expr&);

template <typename T>
std::vector<T> run(Build build, const std::vector<T>& values, bool vectorized,
                   const Target& target = Target::host()) {
  Halide::Buffer<T> in(static_cast<int>(values.size())), out(static_cast<int>(values.size()));
  std::copy(values.begin(), values.end(), in.data());
  call_halide("test", [&] {
    Halide::Var i("i");
    Halide::Func f("f");
    f(i) = build(in(i));
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

void expect_accurate(Build build, double (*exact)(double), float low, float high) {
  std::vector<float> x = samples(low, high), y = run(build, x, true);
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

void expect_exactly(Build build, float x, float expected) {
  for (bool vectorized : {false, true}) {
    float y = run<float>(build, {x}, vectorized)[0];
    EXPECT_TRUE((y != y && expected != expected) || std::memcmp(&y, &expected, sizeof(y)) == 0)
        << x << " gave " << y << ", not " << expected;
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

// Numbers for which each function has one, subnormals and both ends among them.
std::vector<float> samples_of(Build build) {
  if (build == float_log) {
    std::vector<float> x = samples(1e-6f, 20);
    for (float more : samples(1e-42f, 1e-37f)) x.push_back(more);
    return x;
  }
  std::vector<float> x = samples(-10, 10);
  for (float more : {-0.0f, 1e-40f, -1e-40f, 88.0f, -103.0f, kInfinity, -kInfinity}) {
    x.push_back(more);
  }
  return x;
}

class VectorMathOfTarget : public testing::TestWithParam<const char*> {};

TEST_P(VectorMathOfTarget, ScalarsAndVectorsAgreeToTheBitWithTheBaseline) {
  const Target target = Target::parse(GetParam());
  SKIP_UNLESS_IT_RUNS(target);
  for (Build build : {float_exp, float_log, float_tanh, float_erf}) {
    const std::vector<float> x = samples_of(build);
    const std::vector<float> baseline = run(build, x, false, Target::parse("x86-64-linux"));
    EXPECT_FALSE(std::any_of(baseline.begin(), baseline.end(), [](float y) { return y != y; }));
    for (bool vectorized : {false, true}) {
      const std::vector<float> y = run(build, x, vectorized, target);
      EXPECT_EQ(std::memcmp(y.data(), baseline.data(), x.size() * sizeof(float)), 0) << vectorized;
    }
  }
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

}  // namespace
}  // namespace emulsion

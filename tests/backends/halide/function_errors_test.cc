// How far the functions of f32 are from the exact result, in units in the last place, over all
// floats that there are: one in EMULSION_STRIDE of them, or every one (all_function_errors_test, by
// hand). The exact result is libm's of f64. The README states the bounds.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "backends/halide/jit.h"
#include "dsl/extent.h"
#include "dsl/graph.h"
#include "dsl/operators.h"
#include "dsl/target.h"
#include "passes/pipeline.h"

namespace emulsion {
namespace {

constexpr uint64_t kFloats = uint64_t{1} << 32;
constexpr size_t kBlock = size_t{1} << 20;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Function {
  const char* name;
  Tensor (*ours)(const Tensor& x);
  double (*exact)(double x);
  double bound;  // units in the last place
};

Tensor erf_of(const Tensor& x) {
  const Axis i("i", Extent::size("N"));
  return compute("y", {i}, erf(x(i)));
}

double exact_sigmoid(double x) {
  const double decayed = std::exp(-std::fabs(x));
  return (x < 0 ? decayed : 1) / (1 + decayed);
}

const std::vector<Function> kFunctions = {
    {"exp", [](const Tensor& x) { return exp(x, "y"); }, std::exp, 2},
    {"log", [](const Tensor& x) { return log(x, "y"); }, std::log, 1},
    {"sqrt", [](const Tensor& x) { return sqrt(x, "y"); }, std::sqrt, 0.5},
    {"tanh", [](const Tensor& x) { return tanh(x, "y"); }, std::tanh, 4},
    {"erf", erf_of, std::erf, 4},
    {"sigmoid", [](const Tensor& x) { return sigmoid(x, "y"); }, exact_sigmoid, 4},
};

uint64_t stride() {
  const char* text = std::getenv("EMULSION_STRIDE");
  return text == nullptr ? 1021 : std::strtoull(text, nullptr, 10);
}

// Infinite where NaN, an infinity or the sign of a zero is wrong.
double units_in_the_last_place(double exact, float value) {
  const float rounded = static_cast<float>(exact);
  if (std::isnan(rounded)) return std::isnan(value) ? 0 : kInfinity;
  if (std::isinf(rounded)) return value == rounded ? 0 : kInfinity;
  if (rounded == 0 && value == 0 && std::signbit(value) != std::signbit(exact)) return kInfinity;
  const float size = std::fabs(rounded);
  const double above = std::nextafter(size, kInfinity);
  const double unit =
      std::isinf(above) ? double{size} - std::nextafter(size, 0.0f) : above - double{size};
  const double error = std::fabs(double{value} - exact) / unit;
  return std::isnan(error) ? kInfinity : error;
}

float float_of(uint64_t bits) {
  const auto word = static_cast<uint32_t>(bits);
  float value = 0;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

// On this machine, and as on one without fused multiply-adds.
Target target_of(bool is_baseline) {
  return is_baseline ? Target::parse("x86-64-linux") : Target::host();
}

class FunctionErrors : public testing::TestWithParam<std::tuple<Function, bool>> {};

TEST_P(FunctionErrors, StayWithinTheBound) {
  const auto& [function, is_baseline] = GetParam();
  const Tensor x = input("x", f32, {Extent::size("N")});
  const Target target = target_of(is_baseline);
  const JitKernel kernel(run_pipeline(Graph(function.ours(x)), target).nest, target);
  std::vector<float> in, out;
  double worst = 0;
  float where = 0;
  uint64_t looked_at = 0;
  for (uint64_t bits = 0; bits < kFloats;) {
    in.clear();
    for (; bits < kFloats && in.size() < kBlock; bits += stride()) in.push_back(float_of(bits));
    out.assign(in.size(), -1);
    const std::vector<int64_t> shape = {static_cast<int64_t>(in.size())};
    kernel.run({{"x", {f32, shape, in.data()}}, {"y", {f32, shape, out.data()}}});
    for (size_t i = 0; i < in.size(); ++i) {
      const double error = units_in_the_last_place(function.exact(double{in[i]}), out[i]);
      if (!(error > worst)) continue;
      worst = error;
      where = in[i];
    }
    looked_at += in.size();
  }
  fmt::print("{}{}: at most {:.4f} units in the last place, at {:a}\n", function.name,
             target.has_fma() ? " with fused multiply-adds" : "", worst, where);
  EXPECT_LE(worst, function.bound) << "at " << where;
  EXPECT_GE(looked_at, kFloats / stride());
}

INSTANTIATE_TEST_SUITE_P(All, FunctionErrors,
                         testing::Combine(testing::ValuesIn(kFunctions), testing::Bool()),
                         [](const auto& info) {
                           const bool is_baseline = std::get<1>(info.param);
                           return std::get<0>(info.param).name +
                                  std::string(is_baseline ? "Baseline" : "Here");
                         });

TEST(UnitsInTheLastPlace, CountWhatIsWrong) {
  EXPECT_EQ(units_in_the_last_place(1, 1), 0);
  EXPECT_EQ(units_in_the_last_place(1, 1.0f + 0x1p-23f), 1);
  EXPECT_EQ(units_in_the_last_place(0x1p-149, 0x1p-148f), 1);
  EXPECT_EQ(units_in_the_last_place(-0.0, 0), kInfinity);
  EXPECT_EQ(units_in_the_last_place(NAN, 1), kInfinity);
  EXPECT_EQ(units_in_the_last_place(1, NAN), kInfinity);
  EXPECT_EQ(units_in_the_last_place(1e300, std::numeric_limits<float>::max()), kInfinity);
}

}  // namespace
}  // namespace emulsion

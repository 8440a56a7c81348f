#include "backends/tracker/benchmark_pattern.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/version.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

// A clock that was told how long each thing takes: in turns, a start and an end.
std::function<double()> clock_of(std::vector<double> seconds) {
  return [seconds = std::move(seconds), calls = size_t{0}, now = 0.0]() mutable {
    if (calls % 2 == 1) now += seconds.at(calls / 2);
    ++calls;
    return now;
  };
}

TEST(BenchmarkPattern, TheMediansInTurns) {
  BenchmarkPatternOptions options;
  options.repeats = 3;
  // One call of each to see how many make a millisecond; then unfused, fused, unfused, ..
  options.clock = clock_of({2, 1, 6, 1, 3, 2, 100, 8});
  const PatternMeasurement one = benchmark_pattern("add+relu", {5, 9}, options);
  EXPECT_DOUBLE_EQ(one.unfused.seconds, 6);
  EXPECT_DOUBLE_EQ(one.fused.seconds, 2);
  EXPECT_DOUBLE_EQ(one.fact.speed_up, 3);
  EXPECT_EQ(one.fact.runs, 3);
  EXPECT_EQ(one.fact.pattern, "add+relu");
  EXPECT_EQ(one.fact.shape_class, "4x8");
  EXPECT_EQ(one.fact.version, EMULSION_VERSION);
  EXPECT_EQ(one.fact.target, options.target.to_string_with_machine());
  EXPECT_EQ(one.shape, "5x9");
}

TEST(BenchmarkPattern, WhatIsShortIsCalledOften) {
  BenchmarkPatternOptions options;
  options.repeats = 2;
  options.clock = clock_of({1e-4, 5e-4, 4e-3, 1e-3, 6e-3, 1e-3});  // 10 calls, and 2
  const PatternMeasurement one = benchmark_pattern("mul+relu", {4, 8}, options);
  EXPECT_NEAR(one.unfused.seconds, 5e-4, 1e-9);
  EXPECT_NEAR(one.fused.seconds, 5e-4, 1e-9);
}

// Of what a clock does not see, nobody knows how many calls take a millisecond.
TEST(BenchmarkPattern, WhatTakesNoTimeAtFirstIsCalledOnce) {
  BenchmarkPatternOptions options;
  options.repeats = 1;
  options.clock = clock_of({0, 1, 6, 2});
  const PatternMeasurement one = benchmark_pattern("add+relu", {4, 8}, options);
  EXPECT_DOUBLE_EQ(one.unfused.seconds, 6);
}

TEST(BenchmarkPattern, WhatFusionSaves) {
  BenchmarkPatternOptions options;
  options.repeats = 1;
  options.clock = clock_of({1, 1, 1, 1});
  const PatternMeasurement one = benchmark_pattern("matmul+bias+relu", {8, 16, 4}, options);
  EXPECT_EQ(one.unfused.kernel_calls, 3);
  EXPECT_EQ(one.fused.kernel_calls, 1);
  EXPECT_EQ(one.unfused.traffic - one.fused.traffic, 4 * 8 * 16 * 4);
  EXPECT_GE(one.unfused.bytes_allocated, 8 * 16 * 4);
  EXPECT_LT(one.fused.bytes_allocated, one.unfused.bytes_allocated);
  EXPECT_EQ(one.fact.shape_class, "8x16x4");
}

TEST(BenchmarkPattern, Convolutions) {
  BenchmarkPatternOptions options;
  options.repeats = 1;
  options.clock = clock_of({1, 1, 1, 1});
  const PatternMeasurement one =
      benchmark_pattern("conv+bias+relu", {1, 10, 10, 4, 3, 3, 8}, options);
  EXPECT_EQ(one.unfused.kernel_calls, 3);
  EXPECT_EQ(one.fused.kernel_calls, 1);
  EXPECT_LT(one.fused.traffic, one.unfused.traffic);
  EXPECT_EQ(one.fact.shape_class, "64x8x32");  // 8 * 8 places, filters, 3 * 3 * 4 to sum
  EXPECT_EQ(one.shape, "1x10x10x4x3x3x8");
}

TEST(BenchmarkPattern, Siblings) {
  BenchmarkPatternOptions options;
  options.repeats = 1;
  options.clock = clock_of({1, 1, 17, 20});
  const PatternMeasurement one = benchmark_pattern("siblings", {40, 70}, options);
  EXPECT_EQ(one.unfused.kernel_calls, 2);
  EXPECT_EQ(one.fused.kernel_calls, 1) << "they share a loop, whatever the model says";
  EXPECT_DOUBLE_EQ(one.fact.speed_up, 0.85);
  EXPECT_EQ(one.fact.pattern, "siblings");
  EXPECT_EQ(one.fact.shape_class, "32x64");
  check_measured_fusion(one.fact);
}

// What is shared, or stored nowhere, is one pass less.
TEST(BenchmarkPattern, LoopsThatAreSharedAndWhatIsReadThrough) {
  for (const char* pattern : {"sliding windows", "moves read through", "borders read through"}) {
    BenchmarkPatternOptions options;
    options.repeats = 1;
    options.target.cores = 1;
    options.target.l2_bytes = 4096;
    options.clock = clock_of({1, 1, 17, 20});
    const PatternMeasurement one = benchmark_pattern(pattern, {64, 70}, options);
    EXPECT_EQ(one.unfused.kernel_calls, 2) << pattern;
    EXPECT_EQ(one.fused.kernel_calls, 1) << pattern;
    EXPECT_LT(one.fused.bytes_allocated, one.unfused.bytes_allocated) << pattern;
    EXPECT_DOUBLE_EQ(one.fact.speed_up, 0.85) << pattern;
    EXPECT_EQ(one.fact.pattern, pattern);
    EXPECT_EQ(one.fact.shape_class, "64x64") << pattern;
    check_measured_fusion(one.fact);
  }
}

TEST(BenchmarkPattern, LayersByBlocksOfRows) {
  BenchmarkPatternOptions options;
  options.repeats = 1;
  options.target.cores = 1;
  options.target.l2_bytes = 4096;
  options.clock = clock_of({1, 1, 17, 20});
  const PatternMeasurement one = benchmark_pattern("layer blocks", {70, 16}, options);
  EXPECT_EQ(one.unfused.kernel_calls, 2);
  EXPECT_EQ(one.fused.kernel_calls, 1);
  EXPECT_LT(one.fused.bytes_allocated, one.unfused.bytes_allocated);
  EXPECT_EQ(one.fact.shape_class, "64x16");
  check_measured_fusion(one.fact);
  EXPECT_ERROR(benchmark_pattern("layer blocks", {64, 16}, options),
               "layer blocks: expected a shape at which the derived schedule takes it, got 64x16");
}

// Both ways would be the same, and what is measured of them says nothing.
TEST(BenchmarkPattern, RefusesShapesAtWhichNothingIsShared) {
  EXPECT_ERROR(
      benchmark_pattern("sliding windows", {8, 16}),
      "sliding windows: expected a shape at which the derived schedule takes it, got 8x16");
}

TEST(BenchmarkPattern, RefusesShapesThatLoopsDoNotHave) {
  EXPECT_ERROR(benchmark_pattern("sliding windows", {40}), "windows: expected rows and columns");
  EXPECT_ERROR(benchmark_pattern("moves read through", {0, 4}),
               "moves read through: expected extents above 0, got 0");
  EXPECT_ERROR(benchmark_pattern("borders read through", {4, 4, 4}), "got 3 extents");
  EXPECT_ERROR(benchmark_pattern("waiting sums", {4, 4}), "expected matmul");
}

TEST(BenchmarkPattern, RefusesShapesThatSiblingsDoNotHave) {
  EXPECT_ERROR(benchmark_pattern("siblings", {40}), "siblings: expected rows and columns, as in");
  EXPECT_ERROR(benchmark_pattern("siblings", {40, 70, 2}), "got 3 extents");
  EXPECT_ERROR(benchmark_pattern("siblings", {40, 0}), "siblings: expected extents above 0, got 0");
}

TEST(BenchmarkPattern, RefusesPatternsAndShapesThatAreNone) {
  EXPECT_ERROR(benchmark_pattern("gemm+relu", {4, 4}), "benchmark_pattern: expected matmul");
  EXPECT_ERROR(benchmark_pattern("add+relu", {4, 4, 4}), "expected rows and columns");
  EXPECT_ERROR(benchmark_pattern("conv+relu", {4, 4, 4}), "as in 1x56x56x64x3x3x64, got 3");
}

TEST(BenchmarkPattern, RefusesNoRepeatsAndNoTime) {
  BenchmarkPatternOptions options;
  options.repeats = 0;
  EXPECT_ERROR(benchmark_pattern("add+relu", {4, 4}, options), "at least one repeat, got 0");
  options.repeats = 1;
  for (const std::vector<double>& seconds : {std::vector<double>{1, 1, 1, 0}, {1, 1, 0, 1}}) {
    options.clock = clock_of(seconds);
    EXPECT_ERROR(benchmark_pattern("add+relu", {4, 4}, options), "expected times above 0, got ");
  }
  options.clock = [] { return 0.0; };
  EXPECT_ERROR(benchmark_pattern("add+relu", {4, 4}, options), "expected times above 0, got 0 s");
}

TEST(ParsePatternShape, NumbersBetweenX) {
  EXPECT_EQ(parse_pattern_shape("512x64"), (std::vector<int64_t>{512, 64}));
  EXPECT_EQ(parse_pattern_shape("7"), (std::vector<int64_t>{7}));
  for (const char* text :
       {"", "x", "4x", "x4", "4x0", "4x-1", "4*4", "4x4.5", "4xB", "99999999999999999999x4"}) {
    EXPECT_ERROR(parse_pattern_shape(text), "expected extents above 0 as in 512x1024x64") << text;
  }
}

TEST(BenchmarkPattern, RefusesTargetsThatThisMachineIsNot) {
  BenchmarkPatternOptions options;
  options.repeats = 1;
  options.clock = clock_of({1, 1, 1, 1});
  const int here = options.target.cores;
  options.target.cores = here + 62;
  EXPECT_ERROR(
      benchmark_pattern("add+relu", {4, 8}, options),
      "benchmark_pattern, add+relu: expected a target of " + std::to_string(here) + " core");
  EXPECT_ERROR(benchmark_pattern("add+relu", {4, 8}, options),
               "as this machine has, got " + std::to_string(here + 62) + "; legal: 1");
  options.target.cores = 1;
  EXPECT_EQ(benchmark_pattern("add+relu", {4, 8}, options).fact.runs, 1);
  options.target.os = "elsewhere";
  EXPECT_ERROR(benchmark_pattern("add+relu", {4, 8}, options), "got elsewhere, which it has not");
}

}  // namespace
}  // namespace emulsion

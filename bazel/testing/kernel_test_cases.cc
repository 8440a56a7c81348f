// The test that emulsion_library makes of every kernel: its results are the interpreter's, for
// awkward sizes, for each of its targets, and nothing is written outside of the outputs. Where all
// data are whole numbers and stay so, sums are exact in any order and results are compared bit for
// bit. A target that this processor is not is compiled and not run: its cases are skipped with what
// they need, or the next target would run twice. EMULSION_TEST_TOLERANCE sets what may differ
// elsewhere, as a part of the largest result.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <optional>
#include <vector>

#include "backends/codegen/kernel_cases.h"
#include "backends/interpreter/interpret_graph.h"
#include "backends/runtime/emulsion_runtime.h"
#include "backends/runtime/skip_targets.h"
#include "bazel/testing/needs.h"
#include "dsl/error.h"
#include "dsl/target.h"

namespace emulsion {
namespace {

const runtime::KernelInfo& info() { return *kernel_under_test().info; }

struct Case {
  int target = 0;
  SizeValues sizes;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const SizeValues& sizes : awkward_sizes(graph_under_test())) {
    for (int target = 0; target < info().target_count; ++target) cases.push_back({target, sizes});
  }
  return cases;
}

std::string case_name(const ::testing::TestParamInfo<Case>& param) {
  std::string name = fmt::format("target{}", param.param.target);
  for (const auto& [size, value] : param.param.sizes) name += fmt::format("_{}_{}", size, value);
  return name;
}

std::optional<double> stated_tolerance() {
  const char* text = std::getenv("EMULSION_TEST_TOLERANCE");
  if (text == nullptr) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(value >= 0)) {
    fail("test_tolerance: expected a number of 0 or more, got \"{}\"", text);
  }
  return value;
}

double largest(const TensorValue& value) {
  double result = 0;
  for (int64_t i = 0; i < value.element_count(); ++i) {
    if (std::isfinite(value.value(i))) result = std::max(result, std::fabs(value.value(i)));
  }
  return result;
}

// What the interpreter makes of the arguments for these sizes.
struct Expected {
  SizeValues sizes;
  TensorValues arguments;
  TensorValues values;   // in double where floats are, then rounded
  TensorValues rounded;  // every operation rounded, where all are exact
};

Expected expected_for(const SizeValues& sizes) {
  const Graph graph = graph_under_test();
  InterpretOptions wide;
  wide.f64_accumulation = true;
  wide.sizes = sizes;
  InterpretOptions narrow;
  narrow.sizes = sizes;
  Expected result{sizes, make_arguments(graph, sizes, 1), {}, {}};
  result.values = interpret_graph(graph, result.arguments, wide);
  if (keeps_whole_numbers(graph)) {
    result.rounded = interpret_graph(graph, result.arguments, narrow);
  }
  return result;
}

// The interpreter takes far longer than the kernel: once for all targets, whose cases are next to
// one another.
const Expected& expected_once(const SizeValues& sizes) {
  static std::optional<Expected> last;
  if (!last || last->sizes != sizes) last = expected_for(sizes);
  return *last;
}

class KernelTest : public ::testing::TestWithParam<Case> {};

TEST_P(KernelTest, AgreesWithTheInterpreter) {
  SKIP_UNLESS_IT_RUNS(Target::parse(info().targets[GetParam().target]));
  const std::optional<double> stated = stated_tolerance();
  const Expected& expected = expected_once(GetParam().sizes);
  runtime::SkipTargets skip(GetParam().target);
  const TensorValues actual = run_kernel(info(), expected.arguments, expected.sizes);
  ASSERT_EQ(actual.size(), expected.values.size());
  for (const auto& [name, value] : expected.values) {
    const auto rounded = expected.rounded.find(name);
    const bool same =
        rounded != expected.rounded.end() && !first_difference(value, rounded->second);
    const double usual = value.dtype == DType::f64 ? 1e-10 : 1e-4;
    const double allowed = same || !is_float(value.dtype) ? 0 : stated.value_or(usual);
    const auto difference =
        first_difference(value, actual.at(name), allowed, allowed * largest(value));
    EXPECT_FALSE(difference) << name << *difference;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, KernelTest, ::testing::ValuesIn(all_cases()), case_name);

TEST(KernelRefusalTest, RefusesMissingBuffers) {
  std::vector<halide_buffer_t*> missing(static_cast<size_t>(info().argument_count), nullptr);
  EXPECT_EQ(info().call(missing.data()), EMULSION_ERROR_NULL_BUFFER);
  EXPECT_STRNE(emulsion_last_error(), "");
}

}  // namespace
}  // namespace emulsion

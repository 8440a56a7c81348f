// Large expressions and long chains on a thread whose stack has 1 MiB, as threads have by default
// on some systems.

#include "tests/small_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/analyse/measure_traffic.h"
#include "passes/analyse/measure_work.h"
#include "passes/analyse/uop_list.h"
#include "passes/lower/lower.h"
#include "passes/nest/verify_nest.h"
#include "passes/pipeline.h"
#include "tests/memory_limit.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

const Target kTarget = Target::parse("x86-64-v3,cores=2");

constexpr size_t kStackBytes = size_t{1} << 20;

// y(i) = x(i) + 1 * x(i) + 2 * x(i) + ...
Tensor terms(int count) {
  const Axis i("i", 16);
  const Tensor x = input("x", f32, {16});
  Expr value = x(i);
  for (int n = 1; n < count; ++n) value = value + x(i) * static_cast<float>(n % 3);
  return compute("y", {i}, value);
}

Graph chain(int length) {
  Tensor value = input("x", f32, {16});
  for (int n = 0; n < length; ++n) value = relu(value);
  return Graph(value);
}

TEST(SmallStack, AnExpressionAtTheLimitIsLoweredPrintedAndRun) {
  run_on_stack(kStackBytes, [] {
    const Graph graph(terms(ExprSize::kMostHeight - 2));
    EXPECT_EQ(to_string(parse_graph(to_string(graph))), to_string(graph));
    const Lowered lowered = run_pipeline(graph, kTarget);
    EXPECT_FALSE(to_string(lowered.nest).empty());
    EXPECT_TRUE(computes(lowered.nest, graph));
  });
}

TEST(SmallStack, RefusesAnExpressionBeyondIt) {
  run_on_stack(kStackBytes, [] {
    for (int count : {1000, 5000, 100000}) {
      EXPECT_TRUE(throws_with<Error>(
          [&] { terms(count); }, "y: expected at most 1000 operations inside one another, got " +
                                     std::to_string(count + 2)));
    }
  });
}

TEST(SmallStack, RefusesAnExpressionThatDoublesAgainAndAgain) {
  const Axis i("i", 16);
  Expr value = input("x", f32, {16})(i);
  for (int n = 0; n < 60; ++n) value = value + value;
  EXPECT_TRUE(throws_with<Error>([&] { compute("y", {i}, value); },
                                 "y: expected at most 100000 operations when it is written out"));
}

TEST(SmallStack, AChainOfManyOperationsIsLoweredPrintedAndRun) {
  run_on_stack(kStackBytes, [] {
    const Graph graph = chain(1000);
    EXPECT_EQ(to_string(parse_graph(to_string(graph))), to_string(graph));
    const Lowered lowered = run_pipeline(graph, kTarget);
    EXPECT_LE(lowered.grouped.ops().size(), 6U);
    EXPECT_FALSE(to_string(lowered.nest).empty());
    EXPECT_TRUE(computes(lowered.nest, graph));
    EXPECT_FALSE(to_string(run_pipeline(graph, Schedule(graph))).empty());
  });
}

// All of them in storage of their own, each of which is inside that of the one before.
TEST(SmallStack, TenThousandStoredStagesAreLoweredVerifiedPrintedAndRun) {
  run_on_stack(kStackBytes, [] {
    constexpr int kStages = 10000;
    const Graph graph = chain(kStages);
    const LoopNest nest = lower(graph, Schedule(graph));
    EXPECT_NO_THROW(verify_nest(nest));
    const std::string text = to_string(nest);  // indented all the way it would be 300 MB
    EXPECT_NE(text.find("\n" + std::string(200, ' ') + "[9999] "), std::string::npos);
    EXPECT_LT(text.size(), size_t{kStages} * 1000);
    EXPECT_TRUE(computes(nest, graph));
    EXPECT_EQ(count_uops(nest).total(), kStages * 16);
    const Work work = measure_work(nest);
    EXPECT_EQ(work.operations(), kStages * 16);
    EXPECT_EQ(work.stages.front().reuse_distance, kStages * 16);
    EXPECT_EQ(UopList(nest).size(), kStages * 16);
  });
}

TEST(SmallStack, TheTrafficOfManyStoredStagesIsMeasured) {
  run_on_stack(kStackBytes, [] {
    constexpr int kStages = 2000;
    const Graph graph = chain(kStages);
    EXPECT_EQ(measure_traffic(lower(graph, Schedule(graph))).buffers.size(), size_t{kStages} + 1);
  });
}

// Stages one behind another, all but the last computed inline.
Schedule all_inline(int count, const std::function<Expr(const Tensor&, const Axis&)>& next) {
  const Axis m("m", 64);
  Tensor value = input("x", f32, {64});
  std::vector<Tensor> stages;
  for (int n = 0; n < count; ++n) {
    value = compute("a" + std::to_string(n), {m}, next(value, m));
    stages.push_back(value);
  }
  Schedule schedule(value);
  stages.pop_back();
  for (const Tensor& stage : stages) schedule[stage].compute_inline();
  return schedule;
}

// Before it takes the memory that it would take were it not refused: without a limit of its own the
// test would take all that the machine has.
void refuses(const Schedule& schedule, const std::string& directive, const std::string& cause) {
  std::string message = "no ScheduleError";
  try {
    const MemoryLimit limit(rlim_t{1} << 28);
    run_pipeline(schedule.graph(), schedule);
  } catch (const ScheduleError& error) {
    message = error.what();
  } catch (const std::bad_alloc&) {
    message = "what takes more memory than there is";
  }
  EXPECT_THAT(message, testing::HasSubstr(directive));
  EXPECT_THAT(message, testing::HasSubstr(cause));
}

TEST(LargeInline, AChainThatIsTooHighIsRefusedByTheDirectiveThatMadeItSo) {
  const auto next = [](const Tensor& a, const Axis& m) { return -a(m); };
  run_on_stack(kStackBytes, [&] {
    EXPECT_NO_THROW(run_pipeline(all_inline(1998, next).graph(), all_inline(1998, next)));
  });
  refuses(all_inline(2200, next), "a1997.compute_inline()",
          "expected a1998 with at most 2000 operations inside one another, got 2001; legal: "
          "compute_at a loop of a1998, or compute_root");
}

TEST(LargeInline, ReadsThatDoubleAreRefused) {
  const auto next = [](const Tensor& a, const Axis& m) { return a(m) + a(m); };
  refuses(all_inline(60, next), "compute_inline()",
          "with at most 100000 operations when it is written out, got more");
}

TEST(LargeInline, IndicesThatDoubleAreRefused) {
  const auto next = [](const Tensor& a, const Axis& m) { return a(select(m < 32, m, 63 - m)); };
  refuses(all_inline(60, next), "compute_inline()",
          "with at most 100000 operations when it is written out, got more");
}

TEST(LargeInline, StencilsAreRefusedBeforeTheyAreWrittenOut) {
  const auto next = [](const Tensor& a, const Axis& m) {
    return a(max(m - 1, 0)) + a(m) + a(min(m + 1, 63));
  };
  refuses(all_inline(60, next), "compute_inline()",
          "with at most 100000 operations when it is written out, got more");
}

}  // namespace
}  // namespace emulsion

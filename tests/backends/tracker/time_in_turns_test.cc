#include "backends/tracker/time_in_turns.h"

#include <gtest/gtest.h>

#include "dsl/operators.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

// Seconds that grow by one with every look at them.
std::function<double()> ticks() {
  return [now = 0.0]() mutable { return now++; };
}

const Target kHost = Target::host();

Lowered lowered(const Tensor& result) { return run_pipeline(Graph(result), kHost); }

Tensor sum_of_two() { return add(input("x", f32, {4, 8}), input("z", f32, {4, 8}), "y"); }

TEST(TimeInTurns, TwoWaysOfOneGraph) {
  const auto [first, second] =
      time_in_turns("two", lowered(sum_of_two()), lowered(sum_of_two()), kHost, 3, ticks());
  EXPECT_DOUBLE_EQ(first.seconds, 1);
  EXPECT_DOUBLE_EQ(second.seconds, 1);
  EXPECT_EQ(first.kernel_calls, 1);
  EXPECT_EQ(first.traffic, 3 * 4 * 8 * 4);
}

TEST(TimeInTurns, ByTheClockOfTheMachine) {
  const auto [first, second] =
      time_in_turns("two", lowered(sum_of_two()), lowered(sum_of_two()), kHost, 1);
  EXPECT_GT(first.seconds, 0);
  EXPECT_LT(second.seconds, 1) << "of 32 sums";
}

// A kernel that is fast and wrong must not become a fact of the database.
TEST(TimeInTurns, RefusesResultsThatDiffer) {
  const Tensor x = input("x", f32, {4, 8}), z = input("z", f32, {4, 8});
  int looks = 0;
  const auto counted = [&] { return static_cast<double>(++looks); };
  EXPECT_ERROR(
      time_in_turns("two", lowered(add(x, z, "y")), lowered(sub(x, z, "y")), kHost, 1, counted),
      "two: fused and unfused differ: ");
  EXPECT_EQ(looks, 0) << "nothing was timed";
  EXPECT_ERROR(time_in_turns("two", lowered(add(x, z, "y")), lowered(add(add(x, z), 0.001f, "y")),
                             kHost, 1, counted),
               "two: fused and unfused differ: ");
  EXPECT_NO_THROW(time_in_turns("two", lowered(add(x, z, "y")), lowered(add(add(x, z), 1e-6f, "y")),
                                kHost, 1, counted));
}

TEST(TimeInTurns, RefusesADifferenceInTheLastOfSeveralResults) {
  const Tensor x = input("x", f32, {4, 8});
  const auto both = [&](const Tensor& second) {
    return run_pipeline(Graph({relu(x, "y"), second}), kHost);
  };
  EXPECT_ERROR(time_in_turns("two", both(neg(x, "z")), both(abs(x, "z")), kHost, 1, ticks()),
               "two: fused and unfused differ: ");
}

TEST(TimeInTurns, RefusesNoRepeatsAndNoTime) {
  EXPECT_ERROR(
      time_in_turns("two", lowered(sum_of_two()), lowered(sum_of_two()), kHost, 0, ticks()),
      "two: expected at least one repeat, got 0");
  EXPECT_ERROR(time_in_turns("two", lowered(sum_of_two()), lowered(sum_of_two()), kHost, 1,
                             [] { return 0.0; }),
               "two: expected times above 0, got 0 s and 0 s");
}

}  // namespace
}  // namespace emulsion

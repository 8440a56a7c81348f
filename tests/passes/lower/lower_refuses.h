#ifndef EMULSION_TESTS_PASSES_LOWER_LOWER_REFUSES_H_
#define EMULSION_TESTS_PASSES_LOWER_LOWER_REFUSES_H_

// What the tests of refused schedules share: a graph with a reduction, its epilogue and two
// weights, and a check that the ScheduleError starts with the directive and names the cause.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "dsl/error.h"
#include "dsl/schedule.h"
#include "dsl/tensor.h"
#include "passes/lower/lower.h"
#include "tests/passes/expect_error.h"

namespace emulsion {

// y = max(biased, v), biased = mm + b, mm = x * w
class LowerRefuses : public testing::Test {
 protected:
  const Axis m{"m", 4}, n{"n", 10}, k{"k", 6};
  const Axis mo{"mo"}, mi{"mi"}, no{"no"}, ni{"ni"}, t{"t"}, q{"q"};
  Tensor x_ = input("x", f32, {4, 6}), w_ = weight("w", f32, {6, 10}), b_ = weight("b", f32, {10});
  Tensor v_ = weight("v", f32, {10, 10});
  Tensor mm_ = compute("mm", {m, n}, sum(k, x_(m, k) * w_(k, n)));
  Tensor biased_ = compute("biased", {m, n}, mm_(m, n) + b_(n));
  Tensor y_ = compute("y", {m, n}, max(biased_(m, n), v_(n, n)));
  Schedule schedule_{y_};

  StageSchedule& y() { return schedule_[y_]; }
  StageSchedule& mm() { return schedule_[mm_]; }
  StageSchedule& biased() { return schedule_[biased_]; }

  // Refused with a message that starts with `directive` and names `cause`.
  void refused(const std::string& directive, const std::string& cause) {
    refused(schedule_, directive, cause);
  }
  static void refused(const Schedule& schedule, const std::string& directive,
                      const std::string& cause) {
    const auto lowering = [&] { lower(schedule.graph(), schedule); };
    EXPECT_TRUE(throws_with<ScheduleError>(lowering, cause));
    try {
      lowering();
    } catch (const ScheduleError& error) {
      EXPECT_EQ(std::string(error.what()).rfind(directive, 0), 0U) << error.what();
    }
  }
  static Directive directive(DirectiveKind kind, std::vector<std::string> axes, int64_t factor = 0,
                             const std::string& target = "") {
    Directive d;
    d.kind = kind;
    d.axes = std::move(axes);
    d.factor = factor;
    d.target = target;
    return d;
  }
};

}  // namespace emulsion

#endif  // EMULSION_TESTS_PASSES_LOWER_LOWER_REFUSES_H_

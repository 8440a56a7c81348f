#include "examples/lesson.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "dsl/error.h"
#include "dsl/operators.h"
#include "passes/lower/lower.h"

namespace emulsion::lesson {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

Graph times(float factor) {
  return Graph(mul(input("x", f32, {Extent::size("B"), 5}), factor, "y"));
}

TensorValues rows(int64_t count) { return {{"x", random_integers(f32, {count, 5}, 1)}}; }

Step compiled(const Graph& nest, const Graph& kernel) {
  return {lower(nest, Schedule(nest)), JitKernel(lower(kernel, Schedule(kernel)))};
}

TEST(Lesson, AgreesWithTheDefinition) {
  const Graph graph = times(2);
  for (int64_t count : {0, 1, 3}) {
    EXPECT_NO_THROW(check_values(compiled(graph, graph), make_trial(graph, rows(count))));
  }
}

TEST(Lesson, NoticesANestThatComputesSomethingElse) {
  EXPECT_THAT([] { check_values(compiled(times(3), times(2)), make_trial(times(2), rows(2))); },
              ThrowsMessage<Error>(HasSubstr("y, interpreted: [0, ")));
}

TEST(Lesson, NoticesAKernelThatComputesSomethingElse) {
  EXPECT_THAT([] { check_values(compiled(times(2), times(3)), make_trial(times(2), rows(2))); },
              ThrowsMessage<Error>(HasSubstr("y, compiled: [0, ")));
}

TEST(Lesson, AllowsOnlyTheDifferenceThatItIsTold) {
  const Step step = compiled(times(2), times(2));
  const Trial trial = make_trial(times(2.001F), rows(2));
  EXPECT_NO_THROW(check_values(step, trial, 1e-2));
  EXPECT_THROW(check_values(step, trial, 1e-6), Error);
}

TEST(Lesson, ShowsWhatItChecked) {
  testing::internal::CaptureStdout();
  show("A title.", Schedule(times(2)), {make_trial(times(2), rows(2))});
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              AllOf(HasSubstr("A title.\n\nemulsion schedule 1\n\nkernel y("),
                    HasSubstr("store y["), HasSubstr("the same numbers")));
}

TEST(Lesson, DoesNotShowWhatFails) {
  testing::internal::CaptureStdout();
  EXPECT_THROW(show("A title.", Schedule(times(2)), {make_trial(times(3), rows(2))}), Error);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), testing::Not(HasSubstr("the same numbers")));
}

int run_with(std::vector<std::string> arguments, void (*lesson)()) {
  arguments.insert(arguments.begin(), "lesson");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  return run(static_cast<int>(pointers.size()), pointers.data(), "lesson_00", "Teaches nothing.",
             lesson);
}

TEST(Lesson, EndsWithOneWhenItFails) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_with({}, [] { throw std::runtime_error("the reason"); }), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "error: the reason\n");
  EXPECT_EQ(run_with({}, [] {}), 0);
}

TEST(Lesson, WritesHowLongLoweringTakes) {
  const std::string file = testing::TempDir() + "/lowering";
  std::filesystem::remove(file);
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_with({"--lowering=" + file}, [] { show("A step.", Schedule(times(2)), {}); }), 0);
  testing::internal::GetCapturedStdout();
  const auto line = nlohmann::json::parse(std::ifstream(file));
  EXPECT_EQ(line.at("step"), "A step.");
  EXPECT_EQ(line.at("loops"), 2);
  EXPECT_GT(line.at("seconds").size(), 1U);
}

}  // namespace
}  // namespace emulsion::lesson

#include "backends/halide/halide_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "Halide.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

using testing::HasSubstr;

std::string internal_error_of(const std::function<void()>& body) {
  try {
    call_halide("making a kernel", body);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "no InternalError";
}

// A schedule that Halide refuses.
void ask_for_the_impossible() {
  Halide::Func f("f"), g("g");
  Halide::Var x("x"), y("y");
  f(x) = x;
  g(x) = f(x);
  f.compute_at(g, y);
  g.compile_to_module({}, "g", Halide::Target("x86-64-linux"));
}

TEST(HalideCall, RunsTheBody) {
  int runs = 0;
  call_halide("counting", [&] { ++runs; });
  EXPECT_EQ(runs, 1);
}

TEST(HalideCall, WhatHalideRefusesIsAnInternalErrorThatSaysWhatWasDone) {
  std::string message = internal_error_of(ask_for_the_impossible);
  EXPECT_THAT(message, HasSubstr("making a kernel: Halide: "));
  EXPECT_THAT(message, HasSubstr("compute"));
}

TEST(HalideCall, NothingIsPrinted) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  internal_error_of(ask_for_the_impossible);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST(HalideCall, AWarningIsNotPrinted) {
  testing::internal::CaptureStderr();
  call_halide("warning", [] { Halide::Internal::issue_warning("look out"); });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(HalideCall, AKernelThatIsKnownToFailIsAnInternalError) {
  EXPECT_THAT(internal_error_of([] {
                Halide::Internal::issue_warning(
                    "This pipeline is guaranteed to fail an assertion at runtime");
              }),
              HasSubstr("guaranteed to fail"));
}

// It may stand where no step of a loop comes.
TEST(HalideCall, TheCheckOfAnIndexMayBeKnownToFail) {
  EXPECT_NO_THROW(call_halide("checked", [] {
    Halide::Internal::issue_warning(
        "This pipeline is guaranteed to fail an assertion at runtime: an index inside its memory");
  }));
}

TEST(HalideCall, OurOwnErrorsPassThrough) {
  EXPECT_THROW(call_halide("x", [] { fail("expected a, got b"); }), Error);
  EXPECT_THROW(call_halide("x", [] { EMULSION_CHECK(false); }), InternalError);
  EXPECT_THROW(call_halide("x", [] { throw std::bad_alloc(); }), std::bad_alloc);
}

TEST(HalideCall, WorksAgainAfterAFailure) {
  internal_error_of(ask_for_the_impossible);
  Halide::Buffer<int> result;
  call_halide("again", [&] {
    Halide::Func f("f");
    Halide::Var x("x");
    f(x) = x + 1;
    result = f.realize({3});
  });
  EXPECT_EQ(result(2), 3);
}

TEST(HalideCall, CallsNest) {
  EXPECT_THAT(internal_error_of([] { call_halide("inside", ask_for_the_impossible); }),
              HasSubstr("inside: Halide: "));
}

TEST(HalideCall, ThreadsTakeTurns) {
  std::vector<std::thread> threads;
  int inside = 0, most = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 5; ++j) {
        call_halide("taking turns", [&] {
          most = std::max(most, ++inside);
          --inside;
        });
        internal_error_of(ask_for_the_impossible);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
}

// While another thread may be in Halide: the child waits for nobody.
TEST(HalideCallInChild, LosesWhatTheBodyDoesToMemoryAndOutlivesIt) {
  int runs = 0;
  call_halide_in_child("counting", [&] { ++runs; });
  EXPECT_EQ(runs, 0);
  EXPECT_THROW(call_halide_in_child("ending", [] { std::abort(); }), Error);
  call_halide("counting", [&] { ++runs; });
  EXPECT_EQ(runs, 1);
}

TEST(HalideCallInChild, WhatHalideRefusesThereIsAnInternalErrorHere) {
  EXPECT_THROW(call_halide_in_child("making", ask_for_the_impossible), InternalError);
}

TEST(HalideCallInChild, WorksBesideThreadsThatCompile) {
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      for (int turn = 0; turn < 5; ++turn) {
        const auto body = [] { EXPECT_THROW(ask_for_the_impossible(), std::exception); };
        (thread % 2 == 0 ? call_halide : call_halide_in_child)("making a kernel", body);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace emulsion

// What the benchmarks' plain Halide programs share: the threads, and errors as ours.

#include "benchmarks/peers/halide_peer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "Halide.h"
#include "dsl/error.h"

namespace emulsion::benchmarks {
namespace {

std::thread::id caller;
std::atomic<int> stores_by_others, stores;

int32_t record_thread(Halide::JITUserContext* /*context*/, const halide_trace_event_t* event) {
  if (event->event == halide_trace_store) {
    ++stores;
    if (std::this_thread::get_id() != caller) ++stores_by_others;
    // Or the caller is done with all of them before anybody has woken up.
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return 0;
}

// Runs a parallel loop of 64 stores, each of which says its thread.
void run_parallel_loop() {
  Halide::Var i("i");
  Halide::Func f("f");
  f(i) = i * i;
  f.parallel(i).trace_stores();
  f.jit_handlers().custom_trace = record_thread;
  caller = std::this_thread::get_id();
  stores = 0;
  stores_by_others = 0;
  Halide::Buffer<int> result = f.realize({64});
  EXPECT_EQ(stores, 64);
  for (int k = 0; k < 64; ++k) EXPECT_EQ(result(k), k * k);
}

class Threads : public testing::Test {
 protected:
  void TearDown() override { set_halide_threads(HalideThreads::all); }
};

// After Halide's pool has started: in the benchmarks both turns alternate.
TEST_F(Threads, OneIsTheCaller) {
  set_halide_threads(HalideThreads::all);
  run_parallel_loop();
  set_halide_threads(HalideThreads::one);
  for (int turn = 0; turn < 20; ++turn) {
    run_parallel_loop();
    EXPECT_EQ(stores_by_others, 0);
  }
}

TEST_F(Threads, AllAreHalidesPoolAgain) {
  set_halide_threads(HalideThreads::one);
  run_parallel_loop();
  set_halide_threads(HalideThreads::all);
  if (std::thread::hardware_concurrency() < 2)
    GTEST_SKIP() << "needs two cores; this machine has one";
  for (int turn = 0; turn < 1000 && stores_by_others == 0; ++turn) run_parallel_loop();
  EXPECT_GT(stores_by_others, 0);
}

TEST(CallingHalide, AnErrorIsOurs) {
  try {
    calling_halide("the test", [] {
      Halide::Func f("undefined");
      f.compile_jit();
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("the test in Halide: "), std::string::npos)
        << error.what();
  }
}

TEST(RunningHalide, ACodeIsAnError) {
  EXPECT_NO_THROW(running_halide("the test", [] { return 0; }));
  EXPECT_THROW(running_halide("the test", [] { return -7; }), Error);
}

}  // namespace
}  // namespace emulsion::benchmarks

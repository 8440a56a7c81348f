// JIT kernels in children of a process that runs others.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "backends/halide/jit.h"
#include "dsl/schedule.h"
#include "dsl/tensor.h"
#include "passes/lower/lower.h"

namespace emulsion {
namespace {

// What the threads of the pool hold when the process is copied stays locked in the child.
TEST(JitFork, RunsInChildrenOfAProcessWhosePoolIsAtWork) {
  const Axis i("i", 64), j("j", 256);
  const Tensor x = input("x", f32, {64, 256});
  const Graph graph(compute("y", {i, j}, x(i, j) + 1.0f));
  Schedule schedule(graph);
  schedule["y"].parallel(i);
  const JitKernel kernel(lower(graph, schedule));
  std::vector<float> ones(64 * 256, 1);
  const auto run = [&] {
    std::vector<float> y(64 * 256);
    kernel.run({{"x", {f32, {64, 256}, ones.data()}}, {"y", {f32, {64, 256}, y.data()}}});
    return y == std::vector<float>(64 * 256, 2.0f);
  };
  ASSERT_TRUE(run());
  std::atomic<bool> done{false};
  std::thread busy([&] {
    while (!done) run();
  });
  for (int count = 0; count < 20; ++count) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      _exit(run() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  done = true;
  busy.join();
  EXPECT_TRUE(run());
}

}  // namespace
}  // namespace emulsion

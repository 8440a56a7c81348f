// Kernels made by Halide, linked with the runtime: the hooks that they call are ours.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "HalideRuntime.h"
#include "backends/runtime/check_arguments.h"
#include "backends/runtime/emulsion_runtime.h"
#include "backends/runtime/kept_memory.h"
#include "backends/runtime/kernel_runtime.h"
#include "tests/backends/runtime/emulsion_test_async.h"
#include "tests/backends/runtime/emulsion_test_dispatch.h"
#include "tests/backends/runtime/emulsion_test_nested.h"
#include "tests/backends/runtime/emulsion_test_twice.h"
#include "tests/backends/runtime/test_buffer.h"
#include "tests/small_stack.h"

namespace emulsion::runtime {
namespace {

using ::testing::HasSubstr;

struct Visits {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::set<int> team_sizes;
};
Visits* visits = nullptr;  // written only while no kernel runs

constexpr int kRows = 64;
constexpr int kColumns = 8;

// What the Halide backend generates in front of every kernel.
int checked_twice(halide_buffer_t* x, halide_buffer_t* y) {
  const halide_buffer_t* arguments[] = {x, y};
  const int code =
      emulsion_check_arguments("twice\nB\ni x f32 0 2 B 8\no y f32 0 2 B 8\n", arguments);
  return code != 0 ? code : emulsion_test_twice(x, y);
}

class LinkedKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    omp_set_num_threads(4);
    for (int i = 0; i < kRows * kColumns; ++i) x.data<float>()[i] = static_cast<float>(i);
    emulsion_clear_error();
  }
  void TearDown() override { visits = nullptr; }

  int wrong_values() {
    int wrong = 0;
    for (int i = 0; i < kRows * kColumns; ++i)
      wrong += y.data<float>()[i] != 2.0f * static_cast<float>(i);
    return wrong;
  }

  TestBuffer x{kF32, {kRows, kColumns}};
  TestBuffer y{kF32, {kRows, kColumns}};
};

TEST_F(LinkedKernels, RunOnTheThreadsOfOneOpenMpTeam) {
  Visits seen;
  visits = &seen;
  EXPECT_EQ(checked_twice(&x.raw, &y.raw), 0) << emulsion_last_error();
  EXPECT_EQ(wrong_values(), 0);
  EXPECT_THAT(seen.team_sizes, ::testing::ElementsAre(4));
  EXPECT_LE(seen.threads.size(), 4u);

  // The very threads that the application's own regions run on: no second pool.
  std::set<std::thread::id> own;
#pragma omp parallel num_threads(4)
  {
#pragma omp critical
    own.insert(std::this_thread::get_id());
  }
  for (const std::thread::id& id : seen.threads) EXPECT_EQ(own.count(id), 1u);
}

TEST_F(LinkedKernels, StayOnTheirThreadInsideAParallelRegion) {
  Visits seen;
  visits = &seen;
  std::vector<int> codes(4, -1);
  std::vector<int> wrong(4, -1);
#pragma omp parallel num_threads(4)
  {
    TestBuffer out(kF32, {kRows, kColumns});
    const int thread = omp_get_thread_num();
    codes[thread] = checked_twice(&x.raw, &out.raw);
    wrong[thread] = 0;
    for (int i = 0; i < kRows * kColumns; ++i)
      wrong[thread] += out.data<float>()[i] != 2 * x.data<float>()[i];
  }
  EXPECT_THAT(codes, ::testing::Each(0));
  EXPECT_THAT(wrong, ::testing::Each(0));
  EXPECT_THAT(seen.team_sizes, ::testing::ElementsAre(4));
  EXPECT_LE(seen.threads.size(), 4u);
}

TEST_F(LinkedKernels, HonourTheThreadLimit) {
  Visits seen;
  visits = &seen;
  EXPECT_EQ(emulsion_set_max_threads(2), 0);
  EXPECT_EQ(checked_twice(&x.raw, &y.raw), 0);
  EXPECT_EQ(emulsion_set_max_threads(1), 2);
  EXPECT_EQ(checked_twice(&x.raw, &y.raw), 0);
  EXPECT_EQ(emulsion_set_max_threads(0), 1);
  EXPECT_THAT(seen.team_sizes, ::testing::ElementsAre(1, 2));
  EXPECT_EQ(wrong_values(), 0);
}

// What a child process returns; it is ended after some seconds when it hangs.
template <typename Callable>
int code_of_child(Callable&& callable) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(callable());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST_F(LinkedKernels, RunInAChildOfAProcessWithATeam) {
  ASSERT_EQ(checked_twice(&x.raw, &y.raw), 0);  // makes the team
  EXPECT_EQ(code_of_child([&] {
              std::fill_n(y.data<float>(), kRows * kColumns, 0.0f);
              return checked_twice(&x.raw, &y.raw) != 0 ? 1 : wrong_values() != 0 ? 2 : 0;
            }),
            0);
  ASSERT_EQ(checked_twice(&x.raw, &y.raw), 0);  // the parent's team is still there
}

TEST_F(LinkedKernels, RunInAChildOfAProcessWhoseTeamIsTheApplications) {
  std::atomic<int> threads{0};
#pragma omp parallel num_threads(4)
  ++threads;
  EXPECT_EQ(code_of_child([&] { return checked_twice(&x.raw, &y.raw); }), 0);
}

TEST_F(LinkedKernels, RunOnATeamInAThreadThatTheChildStarts) {
  ASSERT_EQ(checked_twice(&x.raw, &y.raw), 0);
  EXPECT_EQ(code_of_child([&] {
              Visits seen;
              visits = &seen;
              int code = 1;
              std::thread([&] {
                omp_set_num_threads(4);  // each thread has its own number
                code = checked_twice(&x.raw, &y.raw);
              }).join();
              return code != 0 ? 1 : seen.team_sizes == std::set<int>{4} ? 0 : 2;
            }),
            0);
}

TEST_F(LinkedKernels, RunFromSixtyFourThreadsAtOnce) {
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 64; ++t) {
    threads.emplace_back([&failures, t] {
      omp_set_num_threads(t % 3 + 1);
      TestBuffer in(kF32, {t, kColumns});
      TestBuffer out(kF32, {t, kColumns});
      for (int i = 0; i < t * kColumns; ++i) in.data<float>()[i] = static_cast<float>(t + i);
      for (int call = 0; call < 50; ++call) {
        failures += t > 0 && checked_twice(&in.raw, &out.raw) != 0;
        for (int i = 0; i < t * kColumns; ++i)
          failures += out.data<float>()[i] != 2 * in.data<float>()[i];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

TEST_F(LinkedKernels, RunOnASmallStack) {
  int code = -1;
  std::string message;
  run_on_stack(64 << 10, [&] {
    omp_set_num_threads(2);
    code = checked_twice(&x.raw, &y.raw);
    x.raw.dim[1].extent = 1;
    if (checked_twice(&x.raw, &y.raw) != 0) message = emulsion_last_error();
  });
  EXPECT_EQ(code, 0);
  EXPECT_THAT(message, HasSubstr("expected extent B = 1, got 64"));
  EXPECT_EQ(wrong_values(), 0);
}

TEST_F(LinkedKernels, NestedParallelLoopsRun) {
  TestBuffer in(kF32, {5, 6, 7});
  TestBuffer out(kF32, {5, 6, 7});
  for (int i = 0; i < 5 * 6 * 7; ++i) in.data<float>()[i] = static_cast<float>(i);
  Visits seen;
  visits = &seen;
  EXPECT_EQ(emulsion_test_nested(&in.raw, &out.raw), 0) << emulsion_last_error();
  EXPECT_THAT(seen.team_sizes, ::testing::ElementsAre(4));
  for (int i = 0; i < 5 * 6 * 7; ++i) EXPECT_EQ(out.data<float>()[i], 2.0f * static_cast<float>(i));
}

// Halide would start a thread for the producer. One that is not OpenMP's is worse than a clear
// refusal.
TEST_F(LinkedKernels, AsyncStagesThatNeedTwoThreadsAreAnErrorNotADeadlock) {
  Visits seen;
  visits = &seen;
  EXPECT_EQ(emulsion_test_async(&x.raw, &y.raw), halide_error_code_unimplemented);
  EXPECT_THAT(emulsion_last_error(),
              HasSubstr("asynchronous stages wait for each other on one thread"));
  EXPECT_THAT(seen.threads, ::testing::ElementsAre(std::this_thread::get_id()));
}

TEST_F(LinkedKernels, ChooseABodyAtRunTime) {
  TestBuffer in(kF32, {37});
  TestBuffer out(kF32, {37});
  for (int i = 0; i < 37; ++i) in.data<float>()[i] = static_cast<float>(i);
  EXPECT_EQ(emulsion_test_dispatch(&in.raw, &out.raw), 0) << emulsion_last_error();
  for (int i = 0; i < 37; ++i) EXPECT_EQ(out.data<float>()[i], 2.0f * static_cast<float>(i));
}

TEST_F(LinkedKernels, AFailedAllocationIsACodeAndAMessage) {
  {
    AllocationWatch watch(1);
    EXPECT_EQ(checked_twice(&x.raw, &y.raw), EMULSION_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(watch.live(), 0);
  }
  EXPECT_STREQ(emulsion_last_error(), "out of memory: a kernel asked for 2048 bytes");
  EXPECT_TRUE(y.untouched());
  EXPECT_EQ(checked_twice(&x.raw, &y.raw), 0);
  EXPECT_STREQ(emulsion_last_error(), "");
  EXPECT_EQ(wrong_values(), 0);
}

TEST_F(LinkedKernels, EveryAllocationMayFailAndNoneLeaks) {
  TestBuffer in(kF32, {5, 6, 7});
  TestBuffer out(kF32, {5, 6, 7});
  for (int i = 0; i < 5 * 6 * 7; ++i) in.data<float>()[i] = static_cast<float>(i);
  int failures = 0;
  for (int64_t fail_at = 1;; ++fail_at) {
    AllocationWatch watch(fail_at);
    const int code = emulsion_test_nested(&in.raw, &out.raw);
    EXPECT_EQ(watch.live(), 0) << fail_at;
    if (watch.requested() < fail_at) {
      EXPECT_EQ(code, 0);
      break;
    }
    ++failures;
    // The allocations are made by the iterations, on any thread; the message arrives here.
    EXPECT_EQ(code, EMULSION_ERROR_OUT_OF_MEMORY) << fail_at;
    EXPECT_THAT(emulsion_last_error(), HasSubstr("out of memory: a kernel asked for"));
    emulsion_clear_error();
  }
  EXPECT_GE(failures, 5);
  for (int i = 0; i < 5 * 6 * 7; ++i) EXPECT_EQ(out.data<float>()[i], 2.0f * static_cast<float>(i));
}

TEST_F(LinkedKernels, LargeStorageIsKeptForTheNextCall) {
  const int64_t before = set_kept_limit(0);
  set_kept_limit(kDefaultKept);
  constexpr int kManyRows = 8192;
  TestBuffer in(kF32, {kManyRows, kColumns});
  TestBuffer out(kF32, {kManyRows, kColumns});
  for (int call = 0; call < 3; ++call) {
    ASSERT_EQ(emulsion_test_twice(&in.raw, &out.raw), 0);
    EXPECT_GE(kept_bytes(), int64_t{kManyRows} * kColumns * 4) << call;
    EXPECT_LT(kept_bytes(), int64_t{kManyRows} * kColumns * 8) << "one block, whatever the call";
  }
  set_kept_limit(0);
  EXPECT_EQ(kept_bytes(), 0);
  set_kept_limit(before);
}

TEST_F(LinkedKernels, AWrongBufferLeavesTheOutputUntouched) {
  x.raw.dim[1].extent = kRows - 1;
  EXPECT_EQ(checked_twice(&x.raw, &y.raw), EMULSION_ERROR_INCONSISTENT_SIZE);
  EXPECT_THAT(emulsion_last_error(),
              HasSubstr("argument 2 (y), axis 0: expected extent B = 63, got 64"));
  EXPECT_TRUE(y.untouched());
}

TEST_F(LinkedKernels, ACheckOfHalidesOwnIsACodeAndAMessageToo) {
  x.raw.type = kI32;
  EXPECT_EQ(emulsion_test_twice(&x.raw, &y.raw), EMULSION_ERROR_BAD_TYPE);
  EXPECT_THAT(emulsion_last_error(), HasSubstr("type"));
  EXPECT_EQ(emulsion_test_twice(nullptr, &y.raw), EMULSION_ERROR_NULL_BUFFER);
  EXPECT_TRUE(y.untouched());
}

}  // namespace
}  // namespace emulsion::runtime

// Called by the kernels, from the innermost loop, on whatever thread that runs on.
extern "C" int emulsion_test_visit(int /*x*/, int /*y*/) {
  using emulsion::runtime::visits;
  if (visits == nullptr) return 0;
  const std::lock_guard<std::mutex> lock(visits->mutex);
  visits->threads.insert(std::this_thread::get_id());
  visits->team_sizes.insert(omp_get_num_threads());
  return 0;
}

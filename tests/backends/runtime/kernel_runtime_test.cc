#include "backends/runtime/kernel_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "HalideRuntime.h"
#include "backends/runtime/emulsion_runtime.h"

#ifdef __SANITIZE_ADDRESS__
// A malloc that refuses is what some of the tests are about.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
#endif

#ifndef __SANITIZE_ADDRESS__
// Takes the place of the C library's, to see what the runtime asks for: how much memory there is
// behind a block cannot be seen by reading it.
namespace {
thread_local uintptr_t asked_from = 0, asked_to = 0;
}
extern "C" void* __libc_malloc(size_t size);  // NOLINT: the C library's own name of it
extern "C" void* malloc(size_t size) {
  void* memory = __libc_malloc(size);
  asked_from = reinterpret_cast<uintptr_t>(memory);
  asked_to = asked_from + size;
  return memory;
}
#endif

namespace emulsion::runtime {
namespace {

using ::testing::HasSubstr;

// What the tasks below record. The closure of a parallel loop is a pointer to it.
struct Record {
  std::mutex mutex;
  std::multiset<int> indices;
  std::set<std::thread::id> threads;
  std::set<int> team_sizes;
  int64_t fail_from = INT64_MAX;  // iterations from here on return -100 - index
  bool with_message = false;
  bool off_the_calling_thread = false;
  std::atomic<bool> failed{false};
  std::thread::id caller = std::this_thread::get_id();

  uint8_t* closure() { return reinterpret_cast<uint8_t*>(this); }
};

int note(void* /*user_context*/, int index, uint8_t* closure) {
  auto& record = *reinterpret_cast<Record*>(closure);
  {
    const std::lock_guard<std::mutex> lock(record.mutex);
    record.indices.insert(index);
    record.threads.insert(std::this_thread::get_id());
    record.team_sizes.insert(omp_get_num_threads());
  }
  if (record.off_the_calling_thread) {
    // Holds the caller back until a worker has failed, so that the message has to travel.
    if (std::this_thread::get_id() == record.caller && omp_get_num_threads() > 1) {
      while (!record.failed) std::this_thread::yield();
      return 0;
    }
    halide_error(nullptr, "raised on a worker");
    record.failed = true;
    return -77;
  }
  if (index < record.fail_from) return 0;
  if (record.with_message) halide_error(nullptr, ("iteration " + std::to_string(index)).c_str());
  return -100 - index;
}

std::multiset<int> range(int min, int size) {
  std::multiset<int> indices;
  for (int i = 0; i < size; ++i) indices.insert(min + i);
  return indices;
}

class KernelRuntime : public ::testing::Test {
 protected:
  void SetUp() override {
    omp_set_num_threads(4);
    emulsion_clear_error();
  }

  Record record;
};

TEST_F(KernelRuntime, RunsEveryIterationOnce) {
  for (const int threads : {1, 2, 3, 4, 7, 40}) {
    omp_set_num_threads(threads);
    for (const int size : {2, 3, 4, 5, 31, 32, 33, 63, 64, 65, 1000, 12345}) {
      Record each;
      EXPECT_EQ(halide_do_par_for(nullptr, note, -3, size, each.closure()), 0);
      EXPECT_EQ(each.indices, range(-3, size)) << threads << " " << size;
      EXPECT_THAT(each.team_sizes, ::testing::ElementsAre(std::min(threads, size)));
    }
  }
}

TEST_F(KernelRuntime, RunsIterationsUpToTheLargestIndex) {
  EXPECT_EQ(halide_do_par_for(nullptr, note, INT_MAX - 4, 5, record.closure()), 0);
  EXPECT_EQ(record.indices, range(INT_MAX - 4, 5));
}

// Each thread of four at its first iteration, and then all fail: nobody goes on.
struct FirstIterations {
  std::mutex mutex;
  std::set<int> indices;
};

int record_the_first(void* /*user_context*/, int index, uint8_t* closure) {
  auto& first = *reinterpret_cast<FirstIterations*>(closure);
  const auto count = [&] {
    const std::lock_guard<std::mutex> lock(first.mutex);
    first.indices.insert(index);
    return first.indices.size();
  };
  const auto start = std::chrono::steady_clock::now();
  while (count() < 4 && std::chrono::steady_clock::now() - start < std::chrono::seconds(20)) {
    std::this_thread::yield();
  }
  return -1;
}

// Of two threads the one at 0 fails when the other is at its first iteration.
struct OneFails {
  static constexpr int kSize = 12800;
  std::atomic<bool> other_runs{false}, failed{false};
  std::atomic<int> of_the_other{0};
};

void wait_for(const std::atomic<bool>& what) {
  const auto start = std::chrono::steady_clock::now();
  while (!what && std::chrono::steady_clock::now() - start < std::chrono::seconds(20)) {
    std::this_thread::yield();
  }
}

int fail_at_0(void* /*user_context*/, int index, uint8_t* closure) {
  auto& loop = *reinterpret_cast<OneFails*>(closure);
  if (index == 0) {
    wait_for(loop.other_runs);
    loop.failed = true;
    return -1;
  }
  loop.other_runs = true;
  wait_for(loop.failed);
  // Long enough for the code of the one that failed.
  if (++loop.of_the_other == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  return 0;
}

TEST_F(KernelRuntime, AFailureEndsWhatAnotherThreadHasTaken) {
  omp_set_num_threads(2);
  OneFails loop;
  EXPECT_EQ(
      halide_do_par_for(nullptr, fail_at_0, 0, OneFails::kSize, reinterpret_cast<uint8_t*>(&loop)),
      -1);
  EXPECT_LE(loop.of_the_other, 2);  // of 100 that it took at a time
}

TEST_F(KernelRuntime, SharesOutTheLongestLoopThereIs) {
  FirstIterations first;
  EXPECT_EQ(
      halide_do_par_for(nullptr, record_the_first, -7, INT_MAX, reinterpret_cast<uint8_t*>(&first)),
      -1);
  EXPECT_EQ(first.indices, (std::set<int>{-7, INT_MAX / 4 - 7, INT_MAX / 2 - 7, 1610612735 - 7}));
}

TEST_F(KernelRuntime, RunsNoIterationOfAnEmptyLoop) {
  EXPECT_EQ(halide_do_par_for(nullptr, note, 5, 0, record.closure()), 0);
  EXPECT_EQ(halide_do_par_for(nullptr, note, 5, -1, record.closure()), 0);
  EXPECT_TRUE(record.indices.empty());
}

TEST_F(KernelRuntime, RunsOneIterationOnTheCallingThread) {
  EXPECT_EQ(halide_do_par_for(nullptr, note, 5, 1, record.closure()), 0);
  EXPECT_THAT(record.indices, ::testing::ElementsAre(5));
  EXPECT_THAT(record.threads, ::testing::ElementsAre(std::this_thread::get_id()));
  EXPECT_THAT(record.team_sizes, ::testing::ElementsAre(1));
}

TEST_F(KernelRuntime, StaysOnTheThreadInsideAParallelRegion) {
  std::vector<Record> records(3);
#pragma omp parallel num_threads(3)
  {
    Record& mine = records[omp_get_thread_num()];
    mine.caller = std::this_thread::get_id();
    halide_do_par_for(nullptr, note, 0, 100, mine.closure());
  }
  for (const Record& each : records) {
    EXPECT_EQ(each.indices, range(0, 100));
    EXPECT_THAT(each.threads, ::testing::ElementsAre(each.caller));
  }
}

TEST_F(KernelRuntime, StaysOnTheThreadInsideAnotherParallelLoop) {
  const auto outer = [](void*, int, uint8_t* closure) {
    auto& record = *reinterpret_cast<Record*>(closure);
    Record inner;
    const int code = halide_do_par_for(nullptr, note, 0, 10, inner.closure());
    const std::lock_guard<std::mutex> lock(record.mutex);
    record.indices.insert(static_cast<int>(inner.indices.size()));
    record.team_sizes.insert(static_cast<int>(inner.threads.size()));
    return code;
  };
  EXPECT_EQ(halide_do_par_for(nullptr, outer, 0, 8, record.closure()), 0);
  EXPECT_EQ(record.indices, (std::multiset<int>{10, 10, 10, 10, 10, 10, 10, 10}));
  EXPECT_THAT(record.team_sizes, ::testing::ElementsAre(1));
}

TEST_F(KernelRuntime, TheThreadLimitIsTheCallingThreadsOwn) {
  EXPECT_EQ(emulsion_set_max_threads(3), 0);
  EXPECT_EQ(halide_do_par_for(nullptr, note, 0, 100, record.closure()), 0);
  EXPECT_THAT(record.team_sizes, ::testing::ElementsAre(3));
  std::thread([] {
    omp_set_num_threads(4);
    Record other;
    EXPECT_EQ(halide_do_par_for(nullptr, note, 0, 100, other.closure()), 0);
    EXPECT_THAT(other.team_sizes, ::testing::ElementsAre(4));
    EXPECT_EQ(emulsion_set_max_threads(1), 0);
  }).join();
  EXPECT_EQ(emulsion_set_max_threads(-5), 3);
  EXPECT_EQ(emulsion_set_max_threads(0), 0);
}

TEST_F(KernelRuntime, ALimitAboveOpenMpsDoesNotAddThreads) {
  emulsion_set_max_threads(100);
  EXPECT_EQ(halide_do_par_for(nullptr, note, 0, 100, record.closure()), 0);
  EXPECT_THAT(record.team_sizes, ::testing::ElementsAre(4));
  emulsion_set_max_threads(0);
}

TEST_F(KernelRuntime, ReturnsTheCodeOfAnIterationThatFailed) {
  record.fail_from = 17;
  record.with_message = true;
  const int code = halide_do_par_for(nullptr, note, 0, 64, record.closure());
  EXPECT_LE(code, -117);
  EXPECT_EQ(emulsion_last_error(), "iteration " + std::to_string(-100 - code));
}

// Two iterations fail at once: code and message are those of one of them.
TEST_F(KernelRuntime, TheMessageIsThatOfTheCode) {
  struct Meeting {
    std::atomic<int> waiting{0};
  };
  const auto task = [](void*, int index, uint8_t* closure) -> int {
    auto& meeting = *reinterpret_cast<Meeting*>(closure);
    ++meeting.waiting;
    while (meeting.waiting < 2) std::this_thread::yield();
    halide_error(nullptr, ("iteration " + std::to_string(index)).c_str());
    return -100 - index;
  };
  omp_set_num_threads(2);
  for (int round = 0; round < 100; ++round) {
    Meeting meeting;
    const int code = halide_do_par_for(nullptr, task, 0, 2, reinterpret_cast<uint8_t*>(&meeting));
    ASSERT_EQ(emulsion_last_error(), "iteration " + std::to_string(-100 - code)) << round;
  }
}

TEST_F(KernelRuntime, StopsSoonAfterAFailure) {
  record.fail_from = 0;
  EXPECT_LE(halide_do_par_for(nullptr, note, 0, 100000, record.closure()), -100);
  EXPECT_LE(record.indices.size(), 4u);
}

// Only one iteration fails; the others of all threads are still to come.
TEST_F(KernelRuntime, StopsWhatOtherThreadsStillHaveToDo) {
  struct Progress {
    std::atomic<bool> failed{false};
    std::atomic<int> done{0};
  };
  const auto task = [](void*, int index, uint8_t* closure) -> int {
    auto& progress = *reinterpret_cast<Progress*>(closure);
    if (index == 0) {
      progress.failed = true;
      return -5;
    }
    while (!progress.failed) std::this_thread::yield();
    ++progress.done;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return 0;
  };
  Progress progress;
  auto* closure = reinterpret_cast<uint8_t*>(&progress);
  EXPECT_EQ(halide_do_par_for(nullptr, task, 0, 4000, closure), -5);
  EXPECT_LT(progress.done, 3000);
}

TEST_F(KernelRuntime, StopsAtAFailureOnTheCallingThread) {
  emulsion_set_max_threads(1);
  record.fail_from = 3;
  record.with_message = true;
  EXPECT_EQ(halide_do_par_for(nullptr, note, 0, 10, record.closure()), -103);
  EXPECT_STREQ(emulsion_last_error(), "iteration 3");
  EXPECT_EQ(record.indices, range(0, 4));
  emulsion_set_max_threads(0);
}

TEST_F(KernelRuntime, AFailureWithoutAMessageGetsOne) {
  halide_error(nullptr, "of an earlier kernel");
  record.fail_from = 0;
  const int code = halide_do_par_for(nullptr, note, 0, 2, record.closure());
  EXPECT_EQ(emulsion_last_error(), "iteration " + std::to_string(-100 - code) +
                                       " of a parallel loop returned code " + std::to_string(code));
}

TEST_F(KernelRuntime, CarriesAMessageFromAWorkerToTheCaller) {
  record.off_the_calling_thread = true;
  EXPECT_EQ(halide_do_par_for(nullptr, note, 0, 4, record.closure()), -77);
  EXPECT_STREQ(emulsion_last_error(), "raised on a worker");
  std::atomic<int> left_behind{0};
#pragma omp parallel num_threads(4)
  {
    if (omp_get_thread_num() != 0) left_behind += emulsion_last_error()[0] != '\0';
  }
  EXPECT_EQ(left_behind, 0);
}

TEST_F(KernelRuntime, AnExceptionInATaskIsACode) {
  const auto thrower = [](void*, int, uint8_t*) -> int { throw std::runtime_error("unexpected"); };
  EXPECT_EQ(halide_do_par_for(nullptr, thrower, 0, 64, nullptr), EMULSION_ERROR_GENERIC);
  EXPECT_THAT(emulsion_last_error(), HasSubstr("threw an exception"));
  EXPECT_EQ(halide_do_par_for(nullptr, thrower, 0, 1, nullptr), EMULSION_ERROR_GENERIC);
}

TEST_F(KernelRuntime, AllocatesAlignedMemoryThatMayBeReadAround) {
  for (const size_t size : {0, 1, 63, 64, 65, 4096, 1000003}) {
    auto* memory = static_cast<volatile uint8_t*>(halide_malloc(nullptr, size));
    ASSERT_NE(memory, nullptr) << size;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
    for (size_t i = 0; i < size; ++i) memory[i] = 1;
    uint8_t around = 0;
    for (int i = 1; i <= 8; ++i) around ^= memory[-i] ^ memory[(size + 63) / 64 * 64 + i - 1];
    static_cast<void>(around);
    halide_free(nullptr, const_cast<uint8_t*>(memory));
  }
  halide_free(nullptr, nullptr);
}

#ifndef __SANITIZE_ADDRESS__
// Halide's vectors may read 8 bytes before a block, and 8 behind its last 64.
TEST_F(KernelRuntime, AsksForMemoryAroundWhatItAllocates) {
  for (const size_t size : {0, 1, 64, 100, 128, 256, 4096}) {
    void* memory = halide_malloc(nullptr, size);
    const uintptr_t from = asked_from, to = asked_to;
    const auto start = reinterpret_cast<uintptr_t>(memory);
    EXPECT_GE(start, from + 8) << size;
    EXPECT_GE(to, start + (size + 63) / 64 * 64 + 8) << size;
    halide_free(nullptr, memory);
  }
}
#endif

TEST_F(KernelRuntime, RefusesSizesThatOverflow) {
  for (const size_t size : {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 127, SIZE_MAX - 400,
                            SIZE_MAX / 2 + 1, SIZE_MAX / 2, SIZE_MAX / 4}) {
    EXPECT_EQ(halide_malloc(nullptr, size), nullptr) << size;
  }
  halide_malloc(nullptr, size_t{1} << 62);
  EXPECT_EQ(halide_error_out_of_memory(nullptr), EMULSION_ERROR_OUT_OF_MEMORY);
  EXPECT_STREQ(emulsion_last_error(),
               "out of memory: a kernel asked for 4611686018427387904 bytes");
}

TEST_F(KernelRuntime, FailsExactlyTheChosenAllocation) {
  AllocationWatch watch(2);
  void* first = halide_malloc(nullptr, 8);
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(halide_malloc(nullptr, 8), nullptr);
  void* third = halide_malloc(nullptr, 8);
  EXPECT_NE(third, nullptr);
  EXPECT_EQ(watch.requested(), 3);
  EXPECT_EQ(watch.live(), 2);
  halide_free(nullptr, first);
  halide_free(nullptr, third);
  EXPECT_EQ(watch.live(), 0);
}

TEST_F(KernelRuntime, AnErrorNeitherPrintsNorAborts) {
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  halide_error(nullptr, "something is wrong");
  halide_print(nullptr, "and says so");
  EXPECT_EQ(halide_error_host_is_null(nullptr, "Input buffer x"), EMULSION_ERROR_NULL_HOST);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_THAT(emulsion_last_error(), HasSubstr("Input buffer x"));
}

TEST_F(KernelRuntime, AnErrorWithoutTextIsStillAnError) {
  halide_error(nullptr, nullptr);
  EXPECT_STREQ(emulsion_last_error(), "an error without a message");
}

// Two asynchronous stages, as Halide hands them over: `first` releases what `second` waits for.
struct Stages {
  halide_semaphore_t full = {};
  std::string order;
};

int produce(void*, int, int, uint8_t* closure, void*) {
  auto& stages = *reinterpret_cast<Stages*>(closure);
  stages.order += 'p';
  return halide_semaphore_release(&stages.full, 1) < 0;
}

int consume(void*, int, int, uint8_t* closure, void*) {
  reinterpret_cast<Stages*>(closure)->order += 'c';
  return 0;
}

int fail(void*, int, int, uint8_t*, void*) { return -9; }

halide_parallel_task_t make_task(halide_loop_task_t function, Stages* stages, int extent) {
  halide_parallel_task_t task = {};
  task.fn = function;
  task.closure = reinterpret_cast<uint8_t*>(stages);
  task.extent = extent;
  task.serial = true;
  return task;
}

TEST_F(KernelRuntime, AsyncTasksWaitForTheirSemaphores) {
  Stages stages;
  halide_semaphore_init(&stages.full, 0);
  halide_semaphore_acquire_t acquire = {&stages.full, 2};
  halide_parallel_task_t tasks[] = {make_task(consume, &stages, 2), make_task(produce, &stages, 4)};
  tasks[0].semaphores = &acquire;
  tasks[0].num_semaphores = 1;
  EXPECT_EQ(halide_do_parallel_tasks(nullptr, 2, tasks, nullptr), 0) << emulsion_last_error();
  EXPECT_EQ(stages.order, "ppppcc");
}

// The only slot is free again when the one who took it cannot go on.
TEST_F(KernelRuntime, AnAsyncTaskKeepsNoSemaphoreWhileItWaits) {
  Stages stages;
  halide_semaphore_t slot = {};
  halide_semaphore_init(&stages.full, 0);
  halide_semaphore_init(&slot, 1);
  halide_semaphore_acquire_t both[] = {{&slot, 1}, {&stages.full, 1}};
  halide_semaphore_acquire_t one = {&slot, 1};
  halide_parallel_task_t tasks[] = {make_task(consume, &stages, 1), make_task(produce, &stages, 1)};
  tasks[0].semaphores = both;
  tasks[0].num_semaphores = 2;
  tasks[1].semaphores = &one;
  tasks[1].num_semaphores = 1;
  // The consumer then has no slot: it took none while it waited, so the producer could take it.
  EXPECT_EQ(halide_do_parallel_tasks(nullptr, 2, tasks, nullptr), halide_error_code_unimplemented);
  EXPECT_EQ(stages.order, "p");
}

TEST_F(KernelRuntime, AsyncTasksThatNothingCanReleaseAreAnError) {
  Stages stages;
  halide_semaphore_init(&stages.full, 0);
  halide_semaphore_acquire_t acquire = {&stages.full, 1};
  halide_parallel_task_t tasks[] = {make_task(consume, &stages, 3), make_task(produce, &stages, 2)};
  tasks[0].semaphores = &acquire;
  tasks[0].num_semaphores = 1;
  EXPECT_EQ(halide_do_parallel_tasks(nullptr, 2, tasks, nullptr), halide_error_code_unimplemented);
  EXPECT_THAT(emulsion_last_error(), HasSubstr("wait for each other"));
}

TEST_F(KernelRuntime, AnAsyncTaskThatFailsEndsTheOthers) {
  Stages stages;
  halide_parallel_task_t tasks[] = {make_task(fail, &stages, 1), make_task(produce, &stages, 2)};
  EXPECT_EQ(halide_do_parallel_tasks(nullptr, 2, tasks, nullptr), -9);
  EXPECT_EQ(stages.order, "");
}

}  // namespace
}  // namespace emulsion::runtime

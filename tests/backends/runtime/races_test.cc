// Everything in the runtime that threads share, and kernels, from sixteen threads at once, for the
// thread sanitizer: races_test_thread, for which the kernels are compiled with it, too. What they
// compute is looked at as well.

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "HalideRuntime.h"
#include "backends/runtime/check_arguments.h"
#include "backends/runtime/emulsion_runtime.h"
#include "backends/runtime/kernel_runtime.h"
#include "tests/backends/runtime/emulsion_test_dispatch.h"
#include "tests/backends/runtime/emulsion_test_nested.h"
#include "tests/backends/runtime/emulsion_test_twice.h"
#include "tests/backends/runtime/test_buffer.h"

namespace emulsion::runtime {
namespace {

constexpr int kThreads = 16;
constexpr int kCalls = 40;

void from_all_threads(const std::function<void(int thread)>& work) {
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&work, t] {
      omp_set_num_threads(t % 4 + 1);
      work(t);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// An iteration of a parallel loop adds its number to its own element, which is no atomic.
int add_number(void* /*context*/, int i, uint8_t* closure) {
  reinterpret_cast<int*>(closure)[i] += i;
  return 0;
}

// Fails when a second iteration is about to fail, or none is in sight.
int fail_together(void* /*context*/, int i, uint8_t* closure) {
  auto& waiting = *reinterpret_cast<std::atomic<int>*>(closure);
  ++waiting;
  for (int turn = 0; turn < 100 && waiting < 2; ++turn) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  halide_error(nullptr, "together");
  return -100 - i;
}

TEST(Races, ParallelLoopsOfManyThreadsWhileLimitsChange) {
  std::atomic<int> wrong{0};
  from_all_threads([&](int thread) {
    std::vector<int> elements(100, 0);
    for (int call = 0; call < kCalls; ++call) {
      emulsion_set_max_threads((thread + call) % 5);
      wrong += halide_do_par_for(nullptr, add_number, 0, 100,
                                 reinterpret_cast<uint8_t*>(elements.data())) != 0;
    }
    for (int i = 0; i < 100; ++i) wrong += elements[static_cast<size_t>(i)] != kCalls * i;
  });
  EXPECT_EQ(wrong, 0);
}

// Twice what is in a buffer of this shape, by one of the kernels: how many elements are wrong.
class Doubled {
 public:
  explicit Doubled(const std::vector<int>& shape) : in_(kF32, shape), out_(kF32, shape) {
    for (const int extent : shape) count_ *= extent;
    for (int i = 0; i < count_; ++i) in_.data<float>()[i] = static_cast<float>(i);
  }

  int wrong_values(int (*kernel)(halide_buffer_t*, halide_buffer_t*)) {
    std::fill_n(out_.data<float>(), count_, -1.0f);
    if (kernel(&in_.raw, &out_.raw) != 0) return count_;
    int wrong = 0;
    for (int i = 0; i < count_; ++i) {
      wrong += out_.data<float>()[i] != 2.0f * static_cast<float>(i);
    }
    return wrong;
  }

 private:
  int count_ = 1;
  TestBuffer in_, out_;
};

TEST(Races, KernelsOfManyThreadsWhileLimitsChange) {
  std::atomic<int> wrong{0};
  const int64_t before = emulsion_set_kept_memory(0);
  from_all_threads([&](int thread) {
    // Storage that is kept for whoever asks next, and of one thread so large that the system maps
    // it.
    const int count = thread == 7 ? 1 << 17 : thread % 2 == 0 ? 2048 : 64 + thread;
    Doubled rows({count, 8}), planes({5, 6, 7}), line({37 + thread});
    for (int call = 0; call < kCalls; ++call) {
      emulsion_set_max_threads((thread + call) % 5);
      omp_set_num_threads((thread + call / 5) % 4 + 1);
      if (call % 4 == 0) emulsion_set_kept_memory(int64_t{thread} * call << 14);
      if (thread != 7 || call % 20 == 0) wrong += rows.wrong_values(emulsion_test_twice);
      wrong += planes.wrong_values(emulsion_test_nested);
      wrong += line.wrong_values(emulsion_test_dispatch);
    }
  });
  emulsion_set_kept_memory(before);
  EXPECT_EQ(wrong, 0);
}

TEST(Races, FailuresOfManyThreads) {
  std::atomic<int> wrong{0};
  from_all_threads([&](int thread) {
    if (thread >= 4) return;  // each of the others waits for a team of its own
    for (int call = 0; call < 10; ++call) {
      std::atomic<int> waiting{0};
      const int code =
          halide_do_par_for(nullptr, fail_together, 0, 4, reinterpret_cast<uint8_t*>(&waiting));
      wrong += code > -100 || std::string(emulsion_last_error()) != "together";
      emulsion_clear_error();
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Races, ArgumentsOfManyThreadsAreCheckedByOneDescriptor) {
  static const char kDescriptor[] = "twice\nB\ni x f32 0 2 B 8\no y f32 0 2 B 8\n";
  std::atomic<int> wrong{0};
  from_all_threads([&](int thread) {
    TestBuffer x(kF32, {thread + 1, 8}), y(kF32, {thread + 1, 8}), other(kF32, {thread + 2, 8});
    const std::string own = "twice" + std::to_string(thread) + (kDescriptor + 5);
    for (int call = 0; call < kCalls; ++call) {
      const halide_buffer_t* right[] = {&x.raw, &y.raw};
      const halide_buffer_t* not_right[] = {&x.raw, &other.raw};
      wrong += emulsion_check_arguments(kDescriptor, right) != 0;
      wrong += emulsion_check_arguments(own.c_str(), right) != 0;
      wrong += emulsion_check_arguments(kDescriptor, not_right) == 0;
      emulsion_clear_error();
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Races, MemoryOfManyThreadsWhileItIsWatched) {
  std::atomic<int> wrong{0};
  const AllocationWatch watch;
  from_all_threads([&](int thread) {
    for (int call = 0; call < kCalls; ++call) {
      void* memory = halide_malloc(nullptr, static_cast<size_t>(thread) * 100);
      wrong += memory == nullptr;
      halide_free(nullptr, memory);
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(watch.requested(), kThreads * kCalls);
  EXPECT_EQ(watch.live(), 0);
}

TEST(Races, SemaphoresOfManyThreads) {
  halide_semaphore_t semaphore;
  halide_semaphore_init(&semaphore, 0);
  std::atomic<int> taken{0};
  from_all_threads([&](int /*thread*/) {
    for (int call = 0; call < kCalls; ++call) {
      halide_semaphore_release(&semaphore, 1);
      while (!halide_semaphore_try_acquire(&semaphore, 1)) std::this_thread::yield();
      ++taken;
    }
  });
  EXPECT_EQ(taken, kThreads * kCalls);
  EXPECT_FALSE(halide_semaphore_try_acquire(&semaphore, 1));
}

}  // namespace
}  // namespace emulsion::runtime

// Called by the kernels.
extern "C" int emulsion_test_visit(int /*x*/, int /*y*/) { return 0; }

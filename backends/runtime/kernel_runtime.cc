#include "backends/runtime/kernel_runtime.h"

#include <dirent.h>
#include <omp.h>
#include <pthread.h>
#include <xmmintrin.h>

#include <algorithm>
#include <atomic>

#include "HalideRuntime.h"
#include "backends/runtime/float_control.h"
#include "backends/runtime/kept_memory.h"
#include "backends/runtime/thread_state.h"

#ifdef __SANITIZE_THREAD__
extern "C" void __tsan_acquire(void* of);
extern "C" void __tsan_release(void* of);
#endif

namespace emulsion::runtime {
namespace {

struct WatchCounters {
  std::atomic<bool> active{false};
  std::atomic<int64_t> requested{0};
  std::atomic<int64_t> live{0};
  int64_t fail_at = 0;
};
WatchCounters watch;

bool watch_refuses() {
  return watch.active.load(std::memory_order_acquire) && ++watch.requested == watch.fail_at;
}

void watch_live(int change) {
  if (watch.active.load(std::memory_order_acquire)) watch.live += change;
}

// Iterations that threads claim one at a time. Alone on its cache line: every claim writes to it.
struct alignas(64) Range {
  std::atomic<int64_t> next{0};
  int64_t end = 0;
};

// One parallel loop on its way through a team. Every thread starts in a contiguous range of its
// own, so that equal calls find their data in the same core's cache, and helps with the other
// ranges when that is done. Lives on the caller's stack, which may be small: hence the fixed number
// of ranges.
struct ParallelLoop {
  static constexpr int kMaxRanges = 32;

  void* user_context = nullptr;
  halide_task_t task = nullptr;
  uint8_t* closure = nullptr;
  unsigned float_control = _mm_getcsr();  // the caller's
  int range_count = 0;
  Range ranges[kMaxRanges];
  int64_t step = 1;          // how many iterations a thread takes from a range at a time
  std::atomic<int> code{0};  // of the first iteration that failed
  ErrorMessage message;      // of the same; written once, by whoever set `code`
};

// The task's code, 0 for success; a failure always leaves a message on this thread.
int run_iteration(void* user_context, halide_task_t task, int64_t index, uint8_t* closure) {
  const uint64_t errors_before = thread_state().errors;
  int code = halide_error_code_generic_error;
  try {
    code = task(user_context, static_cast<int>(index), closure);
  } catch (...) {  // an extern stage in C++; Halide's own frames and OpenMP's cannot be unwound
    new_error() << "a task of a parallel loop threw an exception";
  }
  if (code != 0 && thread_state().errors == errors_before) {
    new_error() << "iteration " << index << " of a parallel loop returned code " << int64_t{code};
  }
  return code;
}

int run_on_this_thread(void* user_context, halide_task_t task, int min, int size,
                       uint8_t* closure) {
  for (int64_t i = min; i < int64_t{min} + size; ++i) {
    const int code = run_iteration(user_context, task, i, closure);
    if (code != 0) return code;
  }
  return 0;
}

void work_as(int thread, ParallelLoop& loop) {
  const FloatControl as_the_caller(loop.float_control);
  for (int visited = 0; visited < loop.range_count; ++visited) {
    Range& range = loop.ranges[(thread + visited) % loop.range_count];
    const auto fails = [&] { return loop.code.load(std::memory_order_relaxed) != 0; };
    while (!fails()) {
      const int64_t first = range.next.fetch_add(loop.step, std::memory_order_relaxed);
      if (first >= range.end) break;
      int code = 0;
      for (int64_t i = first; i < std::min(first + loop.step, range.end); ++i) {
        code = run_iteration(loop.user_context, loop.task, i, loop.closure);
        if (code != 0 || fails()) break;
      }
      if (code == 0) continue;
      int none = 0;
      if (loop.code.compare_exchange_strong(none, code)) loop.message = thread_state().message;
      // The message belongs to the thread that called the kernel, which takes it from the loop.
      if (thread != 0) thread_state().message.clear();
      return;
    }
  }
}

int thread_limit(int size) {
  int threads = std::min(size, omp_get_max_threads());
  const int limit = thread_state().max_threads;
  return limit > 0 ? std::min(threads, limit) : threads;
}

// What a team of OpenMP's does in its region comes behind all before it and before all behind it.
// The thread sanitizer does not see that in libgomp, and is told.
#ifdef __SANITIZE_THREAD__
void comes_behind(void* what) { __tsan_acquire(what); }
void comes_before(void* what) { __tsan_release(what); }
#define EMULSION_UNSEEN_BY_TSAN __attribute__((no_sanitize("thread")))
#else
void comes_behind(void* /*what*/) {}
void comes_before(void* /*what*/) {}
#define EMULSION_UNSEEN_BY_TSAN
#endif

EMULSION_UNSEEN_BY_TSAN int run_on_team(ParallelLoop& loop, int threads) {
  void* const start = &loop.task;
  void* const end = &loop.code;
  comes_before(start);
#pragma omp parallel num_threads(threads)
  {
    comes_behind(start);
    work_as(omp_get_thread_num(), loop);
    comes_before(end);
  }
  comes_behind(end);
  // The end of the region is a barrier: code and message are visible here.
  const int code = loop.code.load(std::memory_order_relaxed);
  if (code != 0) new_error() = loop.message;
  return code;
}

// fork() copies one thread. In the child, OpenMP of GCC goes on waiting for the team that the
// thread had in the parent. So that thread runs kernels alone in the child; threads that the child
// starts have teams of their own. A parent of one thread had no team.
std::atomic<bool> forking_with_threads{false};

int count_threads_of_process() {
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return 2;  // nobody knows: as if there were a team
  int count = 0;
  while (const dirent* entry = readdir(tasks)) count += entry->d_name[0] != '.' ? 1 : 0;
  closedir(tasks);
  return count;
}

void before_fork() { forking_with_threads = count_threads_of_process() > 1; }

void in_child() {
  if (forking_with_threads) thread_state().lost_team = true;
}

[[maybe_unused]] const int atfork_code = pthread_atfork(before_fork, nullptr, in_child);

int threads_for(int size) {
  if (size <= 1 || thread_state().lost_team || omp_in_parallel() != 0) return 1;
  return thread_limit(size);
}

bool try_acquire(const halide_parallel_task_t& task) {
  for (int i = 0; i < task.num_semaphores; ++i) {
    const halide_semaphore_acquire_t& wanted = task.semaphores[i];
    if (halide_semaphore_try_acquire(wanted.semaphore, wanted.count)) continue;
    while (i-- > 0) {
      halide_semaphore_release(task.semaphores[i].semaphore, task.semaphores[i].count);
    }
    return false;
  }
  return true;
}

}  // namespace

AllocationWatch::AllocationWatch(int64_t fail_at) {
  watch.requested = 0;
  watch.live = 0;
  watch.fail_at = fail_at;
  watch.active.store(true, std::memory_order_release);
}

AllocationWatch::~AllocationWatch() { watch.active.store(false, std::memory_order_release); }

int64_t AllocationWatch::requested() const { return watch.requested; }

int64_t AllocationWatch::live() const { return watch.live; }

}  // namespace emulsion::runtime

using emulsion::runtime::new_error;
using emulsion::runtime::thread_state;
namespace runtime = emulsion::runtime;

extern "C" {

int halide_do_par_for(void* user_context, halide_task_t task, int min, int size, uint8_t* closure) {
  const int threads = runtime::threads_for(size);
  if (threads <= 1) return runtime::run_on_this_thread(user_context, task, min, size, closure);

  runtime::ParallelLoop loop;
  loop.user_context = user_context;
  loop.task = task;
  loop.closure = closure;
  loop.range_count = std::min(threads, runtime::ParallelLoop::kMaxRanges);
  // Few enough at a time that the threads end together, and many enough that it is not one atomic
  // addition for each iteration.
  constexpr int64_t kStepsOfRange = 64;
  loop.step = std::max<int64_t>(size / (loop.range_count * kStepsOfRange), 1);
  for (int i = 0; i < loop.range_count; ++i) {
    loop.ranges[i].next = min + int64_t{size} * i / loop.range_count;
    loop.ranges[i].end = min + int64_t{size} * (i + 1) / loop.range_count;
  }
  return runtime::run_on_team(loop, threads);
}

// Halide reaches this with async() only; parallel loops, nested ones too, come through
// halide_do_par_for. The tasks take turns on the calling thread, one iteration at a time, each as
// far as its semaphores let it: no thread is started, none can wait for ever, and what only several
// threads could run is an error.
int halide_do_parallel_tasks(void* user_context, int num_tasks, halide_parallel_task_t* tasks,
                             void* task_parent) {
  for (bool unfinished = true; unfinished;) {
    bool progress = false;
    unfinished = false;
    for (halide_parallel_task_t* task = tasks; task != tasks + num_tasks; ++task) {
      while (task->extent > 0 && runtime::try_acquire(*task)) {
        const int code = task->fn(user_context, task->min, 1, task->closure, task_parent);
        if (code != 0) return code;
        ++task->min;
        --task->extent;
        progress = true;
      }
      unfinished = unfinished || task->extent > 0;
    }
    if (unfinished && !progress) {
      new_error() << "asynchronous stages wait for each other on one thread";
      return halide_error_code_unimplemented;
    }
  }
  return 0;
}

void* halide_malloc(void* /*user_context*/, size_t size) {
  void* const memory = runtime::watch_refuses() ? nullptr : runtime::take_memory(size);
  if (memory == nullptr) {
    thread_state().refused_bytes = size;
    return nullptr;
  }
  runtime::watch_live(1);
  return memory;
}

void halide_free(void* /*user_context*/, void* pointer) {
  if (pointer == nullptr) return;
  runtime::watch_live(-1);
  runtime::give_memory_back(pointer);
}

void halide_error(void* /*user_context*/, const char* message) {
  new_error() << (message != nullptr ? message : "an error without a message");
}

int halide_error_out_of_memory(void* /*user_context*/) {
  new_error() << "out of memory: a kernel asked for "
              << static_cast<int64_t>(thread_state().refused_bytes) << " bytes";
  return halide_error_code_out_of_memory;
}

void halide_print(void* /*user_context*/, const char* /*message*/) {}

}  // extern "C"

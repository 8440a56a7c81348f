#include "dsl/stack_room.h"

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <exception>

namespace emulsion {
namespace {

// Enough for the highest expression and the walks over it (dsl/expr.h, ExprSize). A thread with
// less than this in all takes the large stack at once.
constexpr size_t kRoom = size_t{3} << 20;
// Pages that nothing touches cost nothing.
constexpr size_t kLargeStack = size_t{256} << 20;

struct Bounds {
  uintptr_t low = 0, high = 0;  // nothing between them: not known
};

Bounds bounds_of_this_thread() {
  Bounds bounds;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return bounds;
  void* low = nullptr;
  size_t size = 0;
  if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
    bounds.low = reinterpret_cast<uintptr_t>(low);
    bounds.high = bounds.low + size;
  }
  pthread_attr_destroy(&attributes);
  return bounds;
}

struct Job {
  const std::function<void()>& work;
  std::exception_ptr thrown;
};

void* run_job(void* given) {
  Job& job = *static_cast<Job*>(given);
  try {
    job.work();
  } catch (...) {
    job.thrown = std::current_exception();
  }
  return nullptr;
}

}  // namespace

bool stack_is_short() {
  thread_local const Bounds bounds = bounds_of_this_thread();
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here >= bounds.low && here < bounds.high && here - bounds.low < kRoom;
}

void run_on_large_stack(const std::function<void()>& work) {
  Job job{work, nullptr};
  pthread_attr_t attributes;
  pthread_t thread;
  bool started = pthread_attr_init(&attributes) == 0;
  if (started) {
    started = pthread_attr_setstacksize(&attributes, kLargeStack) == 0 &&
              pthread_create(&thread, &attributes, run_job, &job) == 0;
    pthread_attr_destroy(&attributes);
  }
  if (!started) {
    work();
    return;
  }
  pthread_join(thread, nullptr);
  if (job.thrown) std::rethrow_exception(job.thrown);
}

}  // namespace emulsion

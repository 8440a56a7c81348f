#ifndef EMULSION_BACKENDS_RUNTIME_KERNEL_RUNTIME_H_
#define EMULSION_BACKENDS_RUNTIME_KERNEL_RUNTIME_H_

// Replaces the parts of Halide's runtime that a library inside somebody else's process must not
// have: a second pool of threads, messages on standard error, and abort().
//
// Halide's archive defines its hooks weakly; kernel_runtime.cc defines halide_do_par_for,
// halide_do_parallel_tasks, halide_malloc, halide_free, halide_error, halide_error_out_of_memory
// and halide_print strongly, and is always linked. There is nothing to call here in an application:
// what follows lets a test look at allocations and make one fail. Handlers installed with Halide's
// halide_set_custom_... functions for these hooks are not consulted.

// After fork() in a process of several threads, the thread that the child starts with runs kernels
// by itself: its OpenMP team stayed in the parent. Threads that the child starts run them on teams
// of their own.

#include <cstdint>

namespace emulsion::runtime {

// Counts the allocations of kernels, in every thread of the process, from construction to
// destruction, and makes the `fail_at`-th (from 1) return null; 0 fails none. One at a time, and
// created and destroyed while no kernel runs.
class AllocationWatch {
 public:
  explicit AllocationWatch(int64_t fail_at = 0);
  ~AllocationWatch();
  AllocationWatch(const AllocationWatch&) = delete;
  AllocationWatch& operator=(const AllocationWatch&) = delete;

  int64_t requested() const;  // the failed one included
  int64_t live() const;       // allocated and not yet freed
};

}  // namespace emulsion::runtime

#endif  // EMULSION_BACKENDS_RUNTIME_KERNEL_RUNTIME_H_

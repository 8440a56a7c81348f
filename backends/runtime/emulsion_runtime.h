#ifndef EMULSION_BACKENDS_RUNTIME_EMULSION_RUNTIME_H_
#define EMULSION_BACKENDS_RUNTIME_EMULSION_RUNTIME_H_

/* What an application that links generated kernels may call, in plain C.
 *
 * A kernel returns 0 or a negative code and never ends the process, prints or throws. The code says
 * what kind of mistake it was; the message, kept for the thread that called the kernel, names the
 * kernel, the argument and the axis, what was found and what is legal.
 *
 * Parallel loops run on OpenMP's threads, so the application's own settings hold
 * (omp_set_num_threads, OMP_NUM_THREADS, OMP_THREAD_LIMIT). A kernel called inside a parallel
 * region stays on its thread. Note that it is the OpenMP runtime, not a kernel, that decides what
 * happens when the system refuses a thread: that of GCC ends the process. Under
 * emulsion_set_max_threads(1) kernels ask for none.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers from -1 to -999 mean what they mean in Halide's halide_error_code_t; ours start at -1001.
 */
enum emulsion_error_code {
  EMULSION_OK = 0,
  EMULSION_ERROR_GENERIC = -1,
  EMULSION_ERROR_BAD_TYPE = -3,
  EMULSION_ERROR_ALLOCATION_TOO_LARGE = -5, /* 2^31 bytes or more to store inside the kernel */
  EMULSION_ERROR_CONSTRAINT_VIOLATED = -8,  /* an extent that the kernel fixes to a number */
  EMULSION_ERROR_OUT_OF_MEMORY = -11,
  EMULSION_ERROR_NULL_BUFFER = -12,
  EMULSION_ERROR_INTERNAL = -22, /* our mistake, not the caller's */
  EMULSION_ERROR_UNALIGNED_HOST = -24,
  /* the processor is none of the kernel's targets; in a checked kernel also: an index is outside
   * its memory */
  EMULSION_ERROR_REQUIREMENT_FAILED = -27,
  EMULSION_ERROR_NULL_HOST = -34,
  EMULSION_ERROR_BAD_DIMENSIONS = -43, /* a wrong rank */

  EMULSION_ERROR_ALIASED_OUTPUT = -1001,
  EMULSION_ERROR_NONZERO_MIN = -1002,
  EMULSION_ERROR_NOT_DENSE = -1003,
  EMULSION_ERROR_NEGATIVE_EXTENT = -1004,
  EMULSION_ERROR_INCONSISTENT_SIZE = -1005, /* an extent that depends on a named run-time size */
  EMULSION_ERROR_TOO_LARGE = -1006,         /* 2^31 bytes or more in one buffer */
  EMULSION_ERROR_DEVICE_DIRTY = -1007,
  EMULSION_ERROR_NULL_DIMENSIONS = -1008, /* rank above 0 without an array of dimensions */
  EMULSION_ERROR_INDEX_TOO_LARGE = -1009  /* an index that i32 does not hold on its way */
};

/* The message of the last kernel called from this thread, "" when it succeeded. Never null; the
 * text stays as it is until this thread calls a kernel or emulsion_clear_error. Longer messages are
 * cut, not lost. */
const char* emulsion_last_error(void);

void emulsion_clear_error(void);

/* A short name for any code that a kernel can return, "unknown error" for other numbers. Never
 * null. */
const char* emulsion_error_name(int code);

/* Kernels called from this thread use at most `count` threads, itself included, and never more than
 * OpenMP allows; 0 or less takes the limit away. Returns the previous limit, 0 for none. Other
 * threads keep theirs: a limit for the whole process is omp_set_num_threads or OMP_NUM_THREADS. */
int emulsion_set_max_threads(int count);

/* What a kernel stores while it runs, and no stack holds, is kept for the next call of any kernel
 * when it ends, up to `bytes` in the whole process; 256 MiB unless this is called. What is beyond
 * is given back to the system, at once. 0 or less keeps nothing: each call then waits for the
 * system to give it memory. Returns the previous limit.
 */
int64_t emulsion_set_kept_memory(int64_t bytes);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* EMULSION_BACKENDS_RUNTIME_EMULSION_RUNTIME_H_ */

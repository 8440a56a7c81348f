#ifndef EMULSION_BACKENDS_RUNTIME_CHECK_ARGUMENTS_H_
#define EMULSION_BACKENDS_RUNTIME_CHECK_ARGUMENTS_H_

/* The first thing that every generated kernel calls, so that a wrong buffer is a code and a message
 * instead of a read outside it, and the output is still untouched when the kernel refuses. The
 * kernel's body behind it trusts its arguments. Plain C, since generated code declares and calls
 * it.
 */

#include <stdint.h>  // NOLINT(modernize-deprecated-headers): plain C

#ifdef __cplusplus
extern "C" {
#endif

struct halide_buffer_t;

/* Checks `buffers`, in the order of the descriptor's arguments, against `descriptor` (the grammar
 * is in descriptor.h), whose text has to stay as it is while it is in use. Returns 0, or an
 * emulsion_error_code with emulsion_last_error() set: every kernel's success and failure starts
 * with a clean message.
 *
 * Checked for every buffer: that it is there, rank, element type, min 0 in every dimension, extents
 * (a named size has one value in all of them), dense row-major strides, fewer than 2^31 bytes, data
 * on the host, the host pointer and its alignment; for every output: that it shares no byte with
 * another argument. An axis of extent 1 may have any stride, and a buffer without elements any
 * strides and host pointer. */
int emulsion_check_arguments(const char* descriptor, const struct halide_buffer_t* const* buffers);

/* The next thing, for what a kernel stores between its operations, where its size depends on the
 * run-time sizes. Returns 0, or a code with emulsion_last_error() set when the storage of `stage`,
 * `rank` extents of elements of `dtype` that take `element_bytes`, has 2^31 bytes or more. */
int emulsion_check_storage(const char* kernel, const char* stage, const char* dtype,
                           int element_bytes, int rank, const int64_t* extents);

/* Beside it, for `part` of an index, which goes from `low` to `high` for these run-time sizes.
 * Returns 0, or a code with emulsion_last_error() set where i32, in which the kernel computes it,
 * does not hold them. */
int emulsion_check_index(const char* kernel, const char* part, int64_t low, int64_t high);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* EMULSION_BACKENDS_RUNTIME_CHECK_ARGUMENTS_H_ */

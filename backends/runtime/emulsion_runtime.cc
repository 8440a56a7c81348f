#include "backends/runtime/emulsion_runtime.h"

#include "HalideRuntime.h"
#include "backends/runtime/kept_memory.h"
#include "backends/runtime/thread_state.h"

namespace {

using emulsion::runtime::thread_state;

// The codes that both sides name: a number that moved in Halide must not compile.
static_assert(int{EMULSION_ERROR_GENERIC} == int{halide_error_code_generic_error});
static_assert(int{EMULSION_ERROR_BAD_TYPE} == int{halide_error_code_bad_type});
static_assert(int{EMULSION_ERROR_ALLOCATION_TOO_LARGE} ==
              int{halide_error_code_buffer_allocation_too_large});
static_assert(int{EMULSION_ERROR_REQUIREMENT_FAILED} == int{halide_error_code_requirement_failed});
static_assert(int{EMULSION_ERROR_CONSTRAINT_VIOLATED} ==
              int{halide_error_code_constraint_violated});
static_assert(int{EMULSION_ERROR_OUT_OF_MEMORY} == int{halide_error_code_out_of_memory});
static_assert(int{EMULSION_ERROR_NULL_BUFFER} == int{halide_error_code_buffer_argument_is_null});
static_assert(int{EMULSION_ERROR_INTERNAL} == int{halide_error_code_internal_error});
static_assert(int{EMULSION_ERROR_UNALIGNED_HOST} == int{halide_error_code_unaligned_host_ptr});
static_assert(int{EMULSION_ERROR_NULL_HOST} == int{halide_error_code_host_is_null});
static_assert(int{EMULSION_ERROR_BAD_DIMENSIONS} == int{halide_error_code_bad_dimensions});

struct CodeName {
  int code;
  const char* name;
};

// clang-format off
constexpr CodeName kCodeNames[] = {
    {EMULSION_OK, "success"},
    {EMULSION_ERROR_GENERIC, "error"},
    {EMULSION_ERROR_BAD_TYPE, "bad type"},
    {EMULSION_ERROR_ALLOCATION_TOO_LARGE, "allocation too large"},
    {EMULSION_ERROR_CONSTRAINT_VIOLATED, "constraint violated"},
    {EMULSION_ERROR_OUT_OF_MEMORY, "out of memory"},
    {EMULSION_ERROR_NULL_BUFFER, "null buffer"},
    {EMULSION_ERROR_INTERNAL, "internal error"},
    {EMULSION_ERROR_UNALIGNED_HOST, "unaligned host pointer"},
    {EMULSION_ERROR_REQUIREMENT_FAILED, "requirement failed"},
    {EMULSION_ERROR_NULL_HOST, "null host pointer"},
    {EMULSION_ERROR_BAD_DIMENSIONS, "bad rank"},
    {EMULSION_ERROR_ALIASED_OUTPUT, "aliased output"},
    {EMULSION_ERROR_NONZERO_MIN, "non-zero min"},
    {EMULSION_ERROR_NOT_DENSE, "not dense"},
    {EMULSION_ERROR_NEGATIVE_EXTENT, "negative extent"},
    {EMULSION_ERROR_INCONSISTENT_SIZE, "inconsistent size"},
    {EMULSION_ERROR_TOO_LARGE, "buffer too large"},
    {EMULSION_ERROR_DEVICE_DIRTY, "device dirty"},
    {EMULSION_ERROR_NULL_DIMENSIONS, "null dimensions"},
    {EMULSION_ERROR_INDEX_TOO_LARGE, "index too large"},
    // Halide's own, from a check inside a kernel's body that ours did not foresee.
    {halide_error_code_explicit_bounds_too_small, "explicit bounds too small"},
    {halide_error_code_access_out_of_bounds, "access out of bounds"},
    {halide_error_code_buffer_extents_too_large, "extents too large"},
    {halide_error_code_constraints_make_required_region_smaller, "required region too small"},
    {halide_error_code_param_too_small, "parameter too small"},
    {halide_error_code_param_too_large, "parameter too large"},
    {halide_error_code_unimplemented, "unimplemented"},
    {halide_error_code_symbol_not_found, "symbol not found"},
    {halide_error_code_bad_fold, "bad fold"},
    {halide_error_code_fold_factor_too_small, "fold factor too small"},
    {halide_error_code_buffer_extents_negative, "negative extents"},
    {halide_error_code_specialize_fail, "no specialization applies"},
    {halide_error_code_bad_extern_fold, "bad fold of an extern stage"},
    {halide_error_code_buffer_is_null, "null buffer in the runtime"},
    {halide_error_code_device_dirty_with_no_device_support, "device dirty without device support"},
    {halide_error_code_storage_bound_too_small, "storage bound too small"},
    {halide_error_code_split_factor_not_positive, "split factor not positive"},
};
// clang-format on

}  // namespace

const char* emulsion_last_error(void) { return thread_state().message.text(); }

void emulsion_clear_error(void) { thread_state().message.clear(); }

const char* emulsion_error_name(int code) {
  for (const CodeName& entry : kCodeNames) {
    if (entry.code == code) return entry.name;
  }
  return "unknown error";
}

int emulsion_set_max_threads(int count) {
  const int previous = thread_state().max_threads;
  thread_state().max_threads = count > 0 ? count : 0;
  return previous;
}

int64_t emulsion_set_kept_memory(int64_t bytes) { return emulsion::runtime::set_kept_limit(bytes); }

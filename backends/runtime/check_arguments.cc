#include "backends/runtime/check_arguments.h"

#include <cstdint>
#include <new>

#include "HalideRuntime.h"
#include "backends/runtime/descriptor.h"
#include "backends/runtime/descriptor_cache.h"
#include "backends/runtime/emulsion_runtime.h"
#include "backends/runtime/thread_state.h"

namespace {

using emulsion::runtime::append_type;
using emulsion::runtime::ArgumentExtent;
using emulsion::runtime::ArgumentSpec;
using emulsion::runtime::Descriptor;
using emulsion::runtime::ErrorMessage;
using emulsion::runtime::find_descriptor;
using emulsion::runtime::new_error;
using emulsion::runtime::SizeBinding;
using emulsion::runtime::SizeTerm;
using emulsion::runtime::thread_state;

// Halide's kernels compute offsets in 32 bits.
constexpr int64_t kMaxBytes = INT32_MAX;
constexpr int64_t kSaturated = INT64_MAX;

// One call: what every check reads, so that each is a function of the argument it looks at.
class Checker {
 public:
  Checker(const Descriptor& descriptor, const halide_buffer_t* const* buffers)
      : descriptor_(descriptor), buffers_(buffers) {}

  int check();

 private:
  const ArgumentSpec& spec(int argument) const {
    return descriptor_.arguments[static_cast<size_t>(argument)];
  }
  int rank(int argument) const { return static_cast<int>(spec(argument).extents.size()); }
  const ArgumentExtent& expected(int argument, int axis) const {
    return spec(argument).extents[static_cast<size_t>(axis)];
  }
  // Halide's dimension 0 is the innermost, our last axis.
  const halide_dimension_t& dimension(int argument, int axis) const {
    return buffers_[argument]->dim[rank(argument) - 1 - axis];
  }
  int64_t bytes(int argument) const;
  int64_t evaluate(const ArgumentExtent& extent) const;

  // In this order: each relies on what those before it have made sure of.
  int check_header(int argument) const;
  int check_dimensions(int argument) const;
  int bind(const SizeBinding& binding);
  int check_extents(int argument) const;
  int check_strides(int argument) const;
  int check_host(int argument) const;
  int check_overlap(int output) const;

  // Messages.
  ErrorMessage& about(int argument) const;
  ErrorMessage& about(int argument, int axis) const {
    return about(argument) << ", axis " << int64_t{axis};
  }
  void append_packing(int argument, ErrorMessage* message) const;
  void append_origins(const ArgumentExtent& extent, int except, ErrorMessage* message) const;
  int refuse_extent(int argument, int axis, int64_t wanted) const;
  int refuse_binding(const SizeBinding& binding) const;
  int refuse_size(int argument) const;

  const Descriptor& descriptor_;
  const halide_buffer_t* const* buffers_;
  int64_t sizes_[Descriptor::kMaxSizes] = {};
};

// Reads as what it does: the message is this thread's already, the code goes to the caller.
int refuse(int code, const ErrorMessage& /*message*/) { return code; }

ErrorMessage& Checker::about(int argument) const {
  return new_error() << "kernel " << descriptor_.kernel << ": argument " << int64_t{argument} + 1
                     << " (" << spec(argument).name << ")";
}

// A weight that is not packed is what is there by mistake.
void Checker::append_packing(int argument, ErrorMessage* message) const {
  const std::string& weight = spec(argument).packed_from;
  if (weight.empty()) return;
  *message << "; legal: what " << descriptor_.kernel << "_pack_" << weight << "() makes of "
           << weight;
}

// " (B = 4 from argument 1 (x) axis 0)" for every size in the extent.
void Checker::append_origins(const ArgumentExtent& extent, int except,
                             ErrorMessage* message) const {
  const char* separator = " (";
  for (const SizeTerm& term : extent.terms) {
    if (term.size == except) continue;
    for (const SizeBinding& binding : descriptor_.bindings) {
      if (binding.size != term.size) continue;
      *message << separator << descriptor_.sizes[static_cast<size_t>(term.size)] << " = "
               << sizes_[term.size] << " from argument " << int64_t{binding.argument} + 1 << " ("
               << spec(binding.argument).name << ") axis " << int64_t{binding.axis};
      separator = ", ";
    }
  }
  if (separator[0] == ',') *message << ")";
}

int Checker::check_header(int argument) const {
  const halide_buffer_t* buffer = buffers_[argument];
  const ArgumentSpec& wanted = spec(argument);
  if (buffer == nullptr) {
    return refuse(EMULSION_ERROR_NULL_BUFFER, about(argument) << ": expected a buffer, got null");
  }
  if (buffer->dimensions != rank(argument)) {
    ErrorMessage& message = about(argument) << ": expected rank " << int64_t{rank(argument)}
                                            << ", got " << int64_t{buffer->dimensions};
    append_packing(argument, &message);
    return refuse(EMULSION_ERROR_BAD_DIMENSIONS, message);
  }
  if (buffer->dim == nullptr && rank(argument) > 0) {
    return refuse(EMULSION_ERROR_NULL_DIMENSIONS, about(argument) << ": expected an array of "
                                                                  << int64_t{rank(argument)}
                                                                  << " dimensions, got null");
  }
  if (buffer->type != wanted.type) {
    ErrorMessage& message = about(argument) << ": expected type " << wanted.dtype << ", got ";
    append_type(buffer->type, &message);
    return refuse(EMULSION_ERROR_BAD_TYPE, message);
  }
  if ((buffer->flags & halide_buffer_flag_device_dirty) != 0) {
    return refuse(
        EMULSION_ERROR_DEVICE_DIRTY,
        about(argument) << ": expected data on the host, got a buffer whose latest data is on "
                           "a device (device_dirty)");
  }
  return EMULSION_OK;
}

int Checker::check_dimensions(int argument) const {
  for (int axis = 0; axis < rank(argument); ++axis) {
    const halide_dimension_t& found = dimension(argument, axis);
    if (found.min != 0) {
      return refuse(EMULSION_ERROR_NONZERO_MIN,
                    about(argument, axis) << ": expected min 0, got " << int64_t{found.min});
    }
    if (found.extent < 0) {
      return refuse(EMULSION_ERROR_NEGATIVE_EXTENT, about(argument, axis)
                                                        << ": expected an extent of 0 or more, got "
                                                        << int64_t{found.extent});
    }
  }
  return EMULSION_OK;
}

// Exact, or kSaturated, which no extent equals. A product fits: both factors have 32 bits, but for
// a size that a negative coefficient made a little larger.
int64_t Checker::evaluate(const ArgumentExtent& extent) const {
  int64_t value = extent.constant;
  for (const SizeTerm& term : extent.terms) {
    int64_t product = 0;
    if (__builtin_mul_overflow(term.coefficient, sizes_[term.size], &product) ||
        __builtin_add_overflow(value, product, &value)) {
      return kSaturated;
    }
  }
  return value;
}

int Checker::refuse_binding(const SizeBinding& binding) const {
  const ArgumentExtent& extent = expected(binding.argument, binding.axis);
  ErrorMessage& message = about(binding.argument, binding.axis);
  message << ": expected extent " << extent.text << " for a whole number "
          << descriptor_.sizes[static_cast<size_t>(binding.size)] << " from 0 to "
          << int64_t{INT32_MAX} << ", got "
          << int64_t{dimension(binding.argument, binding.axis).extent};
  append_origins(extent, binding.size, &message);
  return refuse(EMULSION_ERROR_INCONSISTENT_SIZE, message);
}

int Checker::bind(const SizeBinding& binding) {
  const ArgumentExtent& extent = expected(binding.argument, binding.axis);
  int64_t coefficient = 0;
  for (const SizeTerm& term : extent.terms) {
    if (term.size == binding.size) coefficient = term.coefficient;
  }
  // sizes_[binding.size] is still 0, so this is the rest of the extent.
  const int64_t others = evaluate(extent);
  int64_t remainder = 0;
  if (others == kSaturated ||
      __builtin_sub_overflow(int64_t{dimension(binding.argument, binding.axis).extent}, others,
                             &remainder) ||
      remainder % coefficient != 0 || remainder / coefficient < 0) {
    return refuse_binding(binding);
  }
  if (remainder / coefficient > INT32_MAX) return refuse_binding(binding);
  sizes_[binding.size] = remainder / coefficient;
  return EMULSION_OK;
}

int Checker::refuse_extent(int argument, int axis, int64_t wanted) const {
  const ArgumentExtent& extent = expected(argument, axis);
  ErrorMessage& message = about(argument, axis) << ": expected extent " << extent.text;
  if (!extent.terms.empty()) message << " = " << wanted;
  message << ", got " << int64_t{dimension(argument, axis).extent};
  append_origins(extent, -1, &message);
  append_packing(argument, &message);
  return refuse(
      extent.terms.empty() ? EMULSION_ERROR_CONSTRAINT_VIOLATED : EMULSION_ERROR_INCONSISTENT_SIZE,
      message);
}

int Checker::check_extents(int argument) const {
  for (int axis = 0; axis < rank(argument); ++axis) {
    const int64_t wanted = evaluate(expected(argument, axis));
    if (dimension(argument, axis).extent != wanted) return refuse_extent(argument, axis, wanted);
  }
  return EMULSION_OK;
}

// 0 when any extent is 0, whatever the others are; kSaturated when there are too many.
int64_t Checker::bytes(int argument) const {
  int64_t total = buffers_[argument]->type.bytes();
  bool fits = true;
  for (int axis = 0; axis < rank(argument); ++axis) {
    const int64_t extent = dimension(argument, axis).extent;
    if (extent == 0) return 0;
    if (fits) total *= extent;  // below 2^62: both factors are below 2^31
    fits = total <= kMaxBytes;
  }
  return fits ? total : kSaturated;
}

int Checker::refuse_size(int argument) const {
  ErrorMessage& message = about(argument)
                          << ": expected at most " << kMaxBytes << " bytes, got shape [";
  for (int axis = 0; axis < rank(argument); ++axis) {
    message << (axis == 0 ? "" : ", ") << int64_t{dimension(argument, axis).extent};
  }
  return refuse(EMULSION_ERROR_TOO_LARGE, message << "] of " << spec(argument).dtype);
}

int Checker::check_strides(int argument) const {
  const int64_t total = bytes(argument);
  if (total == kSaturated) return refuse_size(argument);
  if (total == 0) return EMULSION_OK;
  int64_t dense = 1;
  for (int axis = rank(argument) - 1; axis >= 0; --axis) {
    const halide_dimension_t& found = dimension(argument, axis);
    if (found.extent != 1 && found.stride != dense) {
      return refuse(EMULSION_ERROR_NOT_DENSE,
                    about(argument, axis) << ": expected stride " << dense
                                          << " (dense, row-major: dim[0] is the last axis), got "
                                          << int64_t{found.stride});
    }
    dense *= found.extent;
  }
  return EMULSION_OK;
}

int Checker::check_host(int argument) const {
  if (bytes(argument) == 0) return EMULSION_OK;
  const uint8_t* host = buffers_[argument]->host;
  if (host == nullptr) {
    return refuse(EMULSION_ERROR_NULL_HOST, about(argument)
                                                << ": expected data, got a null host pointer");
  }
  const int64_t alignment = spec(argument).alignment;
  const int64_t past =
      static_cast<int64_t>(reinterpret_cast<uintptr_t>(host) % static_cast<uint64_t>(alignment));
  if (past != 0) {
    return refuse(EMULSION_ERROR_UNALIGNED_HOST,
                  about(argument) << ": expected data aligned to " << alignment
                                  << " bytes, got a host "
                                  << "pointer " << past << " past a multiple of that");
  }
  return EMULSION_OK;
}

int Checker::check_overlap(int output) const {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(buffers_[output]->host);
  const auto size = static_cast<uintptr_t>(bytes(output));
  for (int other = 0; other < static_cast<int>(descriptor_.arguments.size()); ++other) {
    const auto other_size = static_cast<uintptr_t>(bytes(other));
    if (other == output || size == 0 || other_size == 0) continue;
    const uintptr_t other_begin = reinterpret_cast<uintptr_t>(buffers_[other]->host);
    // Written as distances, so that the end of a range is never computed and cannot wrap.
    const bool apart =
        begin < other_begin ? other_begin - begin >= size : begin - other_begin >= other_size;
    if (apart) continue;
    return refuse(
        EMULSION_ERROR_ALIASED_OUTPUT,
        about(output)
            << ": expected memory that no other argument uses, got an overlap with argument "
            << int64_t{other} + 1 << " (" << spec(other).name << ")");
  }
  return EMULSION_OK;
}

int Checker::check() {
  const int count = static_cast<int>(descriptor_.arguments.size());
  for (int argument = 0; argument < count; ++argument) {
    if (const int code = check_header(argument)) return code;
    if (const int code = check_dimensions(argument)) return code;
  }
  for (const SizeBinding& binding : descriptor_.bindings) {
    if (const int code = bind(binding)) return code;
  }
  for (int argument = 0; argument < count; ++argument) {
    if (const int code = check_extents(argument)) return code;
    if (const int code = check_strides(argument)) return code;
    if (const int code = check_host(argument)) return code;
  }
  for (int argument = 0; argument < count; ++argument) {
    if (!spec(argument).is_output) continue;
    if (const int code = check_overlap(argument)) return code;
  }
  return EMULSION_OK;
}

const Descriptor* parse(const char* descriptor) {
  ErrorMessage reason;
  const Descriptor* parsed = emulsion::runtime::add_descriptor(descriptor, &reason);
  if (parsed == nullptr) {
    new_error() << "malformed kernel descriptor: " << reason.text();
  }
  return parsed;
}

}  // namespace

int emulsion_check_arguments(const char* descriptor, const halide_buffer_t* const* buffers) {
  thread_state().message.clear();
  if (descriptor == nullptr || buffers == nullptr) {
    return refuse(EMULSION_ERROR_INTERNAL,
                  new_error() << "a kernel was checked without "
                              << (descriptor == nullptr ? "a descriptor" : "buffers"));
  }
  try {
    const Descriptor* parsed = find_descriptor(descriptor);
    if (parsed == nullptr) parsed = parse(descriptor);
    return parsed == nullptr ? EMULSION_ERROR_INTERNAL : Checker(*parsed, buffers).check();
  } catch (const std::bad_alloc&) {
    return refuse(EMULSION_ERROR_OUT_OF_MEMORY,
                  new_error() << "out of memory while checking a kernel's arguments");
  } catch (...) {
    return refuse(EMULSION_ERROR_INTERNAL,
                  new_error() << "a check of a kernel's arguments threw an exception");
  }
}

int emulsion_check_storage(const char* kernel, const char* stage, const char* dtype,
                           int element_bytes, int rank, const int64_t* extents) {
  const auto extent_of = [&](int axis) { return extents[axis] > 1 ? extents[axis] : int64_t{1}; };
  int64_t bytes = element_bytes;
  for (int axis = 0; axis < rank; ++axis) {
    if (__builtin_mul_overflow(bytes, extent_of(axis), &bytes)) bytes = kSaturated;
  }
  if (bytes <= kMaxBytes) return EMULSION_OK;
  ErrorMessage& message = new_error() << "kernel " << kernel << ": storage of " << stage
                                      << ": expected at most " << kMaxBytes << " bytes, got "
                                      << bytes << " for shape [";
  for (int axis = 0; axis < rank; ++axis) message << (axis == 0 ? "" : ", ") << extent_of(axis);
  return refuse(EMULSION_ERROR_ALLOCATION_TOO_LARGE,
                message << "] of " << dtype
                        << "; legal: smaller run-time sizes, or a schedule that stores less");
}

int emulsion_check_index(const char* kernel, const char* part, int64_t low, int64_t high) {
  if (low >= INT32_MIN && high <= INT32_MAX) return EMULSION_OK;
  const bool is_above = high > INT32_MAX;
  return refuse(EMULSION_ERROR_INDEX_TOO_LARGE,
                new_error() << "kernel " << kernel << ": " << part
                            << ": expected an index that is computed within i32, got one that goes "
                            << (is_above ? "up" : "down") << " to " << (is_above ? high : low)
                            << "; legal: smaller run-time sizes");
}

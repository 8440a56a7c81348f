#ifndef EMULSION_BACKENDS_RUNTIME_KERNEL_CALL_H_
#define EMULSION_BACKENDS_RUNTIME_KERNEL_CALL_H_

// Between a kernel's C entry and the typed header that is generated over it: spans become
// halide_buffer_t, a code becomes a Status, and a table describes the kernel to programs that know
// none in particular (the generated tests and benchmarks). Header-only, and so cheap that a small
// kernel does not notice. What an argument has to be is checked behind the C entry, once, for
// callers in any language.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "HalideRuntime.h"
#include "backends/runtime/emulsion_runtime.h"
#include "backends/runtime/packed.h"
#include "backends/runtime/span.h"
#include "backends/runtime/status.h"

namespace emulsion::runtime {

enum class ElementType : uint8_t { boolean, i8, u8, i16, u16, i32, f32, f64 };

template <typename T>
constexpr ElementType element_type() {
  using Element = std::remove_const_t<T>;
  if constexpr (std::is_same_v<Element, bool>) {
    return ElementType::boolean;
  } else if constexpr (std::is_same_v<Element, int8_t>) {
    return ElementType::i8;
  } else if constexpr (std::is_same_v<Element, uint8_t>) {
    return ElementType::u8;
  } else if constexpr (std::is_same_v<Element, int16_t>) {
    return ElementType::i16;
  } else if constexpr (std::is_same_v<Element, uint16_t>) {
    return ElementType::u16;
  } else if constexpr (std::is_same_v<Element, int32_t>) {
    return ElementType::i32;
  } else if constexpr (std::is_same_v<Element, float>) {
    return ElementType::f32;
  } else {
    static_assert(
        std::is_same_v<Element, double>,
        "a kernel takes bool, int8_t, uint8_t, int16_t, uint16_t, int32_t, float or double");
    return ElementType::f64;
  }
}

inline halide_type_t halide_type(ElementType type) {
  switch (type) {
    case ElementType::boolean:
      return halide_type_t(halide_type_uint, 1);
    case ElementType::i8:
      return halide_type_t(halide_type_int, 8);
    case ElementType::u8:
      return halide_type_t(halide_type_uint, 8);
    case ElementType::i16:
      return halide_type_t(halide_type_int, 16);
    case ElementType::u16:
      return halide_type_t(halide_type_uint, 16);
    case ElementType::i32:
      return halide_type_t(halide_type_int, 32);
    case ElementType::f32:
      return halide_type_t(halide_type_float, 32);
    case ElementType::f64:
      break;
  }
  return halide_type_t(halide_type_float, 64);
}

// The dimensions of a dense row-major tensor as Halide's ABI wants them, innermost first. False
// when an extent does not fit the 32 bits that Halide has for it.
inline bool set_dimensions(const int64_t* shape, size_t rank, halide_dimension_t* dimensions) {
  constexpr int64_t kMin = std::numeric_limits<int32_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  bool fits = true;
  int64_t stride = 1;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t extent = shape[rank - 1 - d];
    fits = fits && extent >= kMin && extent <= kMax;
    dimensions[d] = {0, static_cast<int32_t>(extent), static_cast<int32_t>(stride), 0};
    // A stride that does not fit belongs to a buffer that is too large, and refused for that.
    if (__builtin_mul_overflow(stride, extent, &stride) || stride > kMax) stride = kMax;
    if (stride < kMin) stride = kMin;
  }
  return fits;
}

// `data` is read only when the argument is: Halide's ABI has one type for both.
inline void set_buffer(ElementType type, const void* data, size_t rank,
                       halide_dimension_t* dimensions, halide_buffer_t* buffer) {
  buffer->host = static_cast<uint8_t*>(const_cast<void*>(data));
  buffer->type = halide_type(type);
  buffer->dimensions = static_cast<int32_t>(rank);
  buffer->dim = dimensions;
}

// One argument of a call.
template <size_t Rank>
class KernelBuffer {
 public:
  template <typename T>
  explicit KernelBuffer(const Span<T, Rank>& span)
      : defined_(span.defined()),
        fits_(set_dimensions(span.shape().data(), Rank, dimensions_.data())) {
    set_buffer(element_type<T>(), span.data(), Rank, dimensions_.data(), &raw_);
  }
  KernelBuffer(const KernelBuffer&) = delete;
  KernelBuffer& operator=(const KernelBuffer&) = delete;

  // Null for an argument that is missing, which the kernel refuses.
  halide_buffer_t* raw() { return defined_ ? &raw_ : nullptr; }
  bool fits() const { return fits_; }

 private:
  std::array<halide_dimension_t, Rank == 0 ? 1 : Rank> dimensions_ = {};
  halide_buffer_t raw_ = {};
  bool defined_;
  bool fits_;
};

inline Status too_large(const char* kernel, const char* argument) {
  return {EMULSION_ERROR_TOO_LARGE, std::string("kernel ") + kernel + ": argument " + argument +
                                        ": expected extents of less than 2^31"};
}

inline Status status_of(int code) {
  return code == 0 ? Status{} : Status{code, emulsion_last_error()};
}

// The shape of an argument for these run-time sizes, which are in the order of KernelInfo::sizes.
using ShapeFunction = void (*)(const int64_t* sizes, int64_t* shape);

struct KernelArgument {
  const char* name;
  ElementType type;
  int rank;
  bool is_output;
  ShapeFunction shape;
};

// What brings a weight into the layout in which the kernel reads it. `packed` is the name of the
// argument.
struct KernelPack {
  const char* packed;
  KernelArgument weight;
  int (*call)(halide_buffer_t* weight, halide_buffer_t* packed);
};

struct KernelInfo {
  const char* name;
  int size_count;
  const char* const* sizes;
  int argument_count;
  const KernelArgument* arguments;  // inputs and weights, then outputs
  int pack_count;
  const KernelPack* packs;
  int target_count;
  const char* const* targets;  // the best first
  int (*call)(halide_buffer_t* const* arguments);
  int64_t (*flops)(const int64_t* sizes);
};

}  // namespace emulsion::runtime

#endif  // EMULSION_BACKENDS_RUNTIME_KERNEL_CALL_H_

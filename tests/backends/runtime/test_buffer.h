#ifndef EMULSION_TESTS_BACKENDS_RUNTIME_TEST_BUFFER_H_
#define EMULSION_TESTS_BACKENDS_RUNTIME_TEST_BUFFER_H_

// A halide_buffer_t with storage of its own, built from a row-major shape, every field of which a
// test can then spoil. Not Halide::Runtime::Buffer: that would correct or refuse some of the
// mistakes.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "HalideRuntime.h"

namespace emulsion::runtime {

class TestBuffer {
 public:
  TestBuffer(halide_type_t type, const std::vector<int>& shape) : dimensions_(shape.size()) {
    int64_t elements = 1;
    for (size_t axis = shape.size(); axis-- > 0;) {
      dimensions_[shape.size() - 1 - axis] = {0, shape[axis], static_cast<int32_t>(elements)};
      elements *= shape[axis];
    }
    bytes_ = static_cast<size_t>(elements * type.bytes());
    const size_t padded = (bytes_ + 2 * kAlignment) / kAlignment * kAlignment;
    storage_.reset(static_cast<uint8_t*>(std::aligned_alloc(kAlignment, padded)));
    std::fill_n(storage_.get(), padded, kCanary);
    raw.host = storage_.get();
    raw.type = type;
    raw.dimensions = static_cast<int32_t>(shape.size());
    raw.dim = dimensions_.data();
  }

  // By the user's axis: 0 is the outermost.
  halide_dimension_t& axis(int axis) { return raw.dim[dimensions_.size() - 1 - axis]; }
  // Whether nobody has written to the storage, the bytes behind the end included.
  bool untouched() const {
    for (size_t i = 0; i < bytes_ + kAlignment / 2; ++i) {
      if (storage_[i] != kCanary) return false;
    }
    return true;
  }
  template <typename T>
  T* data() {
    return reinterpret_cast<T*>(storage_.get());
  }

  halide_buffer_t raw = {};

 private:
  static constexpr size_t kAlignment = 128;
  static constexpr uint8_t kCanary = 0xa5;

  struct Free {
    void operator()(uint8_t* pointer) const { std::free(pointer); }
  };

  std::vector<halide_dimension_t> dimensions_;
  size_t bytes_ = 0;
  std::unique_ptr<uint8_t[], Free> storage_;
};

inline const halide_type_t kF32(halide_type_float, 32);
inline const halide_type_t kF64(halide_type_float, 64);
inline const halide_type_t kI32(halide_type_int, 32);
inline const halide_type_t kI8(halide_type_int, 8);
inline const halide_type_t kU8(halide_type_uint, 8);
inline const halide_type_t kI16(halide_type_int, 16);
inline const halide_type_t kU16(halide_type_uint, 16);
inline const halide_type_t kBf16(halide_type_bfloat, 16);
inline const halide_type_t kBool(halide_type_uint, 1);

}  // namespace emulsion::runtime

#endif  // EMULSION_TESTS_BACKENDS_RUNTIME_TEST_BUFFER_H_

#ifndef EMULSION_BACKENDS_CODEGEN_NPY_H_
#define EMULSION_BACKENDS_CODEGEN_NPY_H_

// Reads and writes NumPy's .npy files, so that an example's weights and expected results can come
// from the tools that made them. The reader is strict: it accepts versions 1.0 and 2.0, C order and
// little-endian elements of the types with kernels, and nothing else. What it cannot represent
// exactly is an Error that names the file, what was expected and what was found; no damaged file is
// half read.

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "backends/codegen/npy_header.h"
#include "dsl/count_text.h"
#include "dsl/error.h"
#include "dsl/types.h"

namespace emulsion {

// A row-major array. `bytes` holds the elements one after another, as they lie in the file.
struct NpyArray {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;  // empty for a scalar, which has one element
  std::vector<unsigned char> bytes;
};

// Throws Error for a file that is missing, damaged or outside of what is described above.
NpyArray read_npy(const std::string& path);

// Also throws unless the file holds f32 elements of exactly this shape.
std::vector<float> read_npy_f32(const std::string& path, const std::vector<int64_t>& shape);

// Writes to a new file beside `path` and renames it, so that a reader never sees half of it.
// Throws Error when `array` is inconsistent or the file cannot be written.
void write_npy(const std::string& path, const NpyArray& array);

// The product of the extents. Throws Error for a negative extent, and when the product of the
// others overflows even though an extent is 0: `name` starts the message.
int64_t npy_element_count(const std::string& name, const std::vector<int64_t>& shape);

// The elements of `array` in row-major order. Throws Error when they have another type than T.
template <typename T>
std::vector<T> npy_values(const NpyArray& array) {
  constexpr DType wanted = dtype_of<T>();
  if (array.dtype != wanted) {
    fail("npy_values: expected an array of {}, got {}", to_string(wanted), to_string(array.dtype));
  }
  std::vector<T> values(array.bytes.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, array.bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = value;
  }
  return values;
}

// Throws Error when the number of values is not that of the shape.
template <typename T>
NpyArray make_npy(const std::vector<int64_t>& shape, const std::vector<T>& values) {
  const int64_t count = npy_element_count("make_npy", shape);
  if (static_cast<uint64_t>(count) != values.size()) {
    fail("make_npy: expected {} for shape {}, got {}", count_text(count, "value", "values"),
         npy_shape_text(shape), values.size());
  }
  NpyArray array{dtype_of<T>(), shape, std::vector<unsigned char>(values.size() * sizeof(T))};
  for (size_t i = 0; i < values.size(); ++i) {
    const T value = values[i];
    std::memcpy(array.bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return array;
}

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_CODEGEN_NPY_H_

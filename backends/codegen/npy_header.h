#ifndef EMULSION_BACKENDS_CODEGEN_NPY_HEADER_H_
#define EMULSION_BACKENDS_CODEGEN_NPY_HEADER_H_

// The header of a .npy file is a Python dict written as text. It is apart from npy.h because it is
// the one part of the format that has a grammar, and so the one part where a hostile file has room.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/types.h"

namespace emulsion {

struct NpyHeader {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
};

// NumPy's own limit on the rank of an array.
inline constexpr size_t kNpyMaxRank = 32;

// Reads the text between the header's length and the data. Throws Error, starting with `path`, for
// anything but {'descr': ..., 'fortran_order': False, 'shape': (...)} with the keys in any order.
NpyHeader parse_npy_header(const std::string& path, std::string_view text);

// The same dict as text, without the padding. Throws Error for a type that .npy files cannot hold
// and for a rank above the limit.
std::string format_npy_header(const std::string& path, const NpyHeader& header);

// "(2, 3)", as Python writes it.
std::string npy_shape_text(const std::vector<int64_t>& shape);

// Text from a file, for a message: cut short, in quotes, with unprintable bytes escaped.
std::string npy_quoted(std::string_view text);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_CODEGEN_NPY_HEADER_H_

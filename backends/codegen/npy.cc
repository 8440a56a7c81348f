#include "backends/codegen/npy.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "dsl/count_text.h"
#include "dsl/error.h"
#include "dsl/files.h"

namespace emulsion {
namespace {

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "elements are copied as they lie in the file, which is little-endian"
#endif

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kAlignment = 64;              // of the data; NumPy's own files keep to it
constexpr uint32_t kMaxHeaderBytes = 1 << 16;  // a longer one could only be an attack on memory

// A file opened for reading; every read says which part was cut short.
class Input {
 public:
  explicit Input(const std::string& path) : path_(path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status)) {
      fail("{}: expected a .npy file, got: {}", path,
           error ? error.message() : "No such file or directory");
    }
    if (std::filesystem::is_directory(status)) {
      fail("{}: expected a .npy file, got a directory", path);
    }
    if (!std::filesystem::is_regular_file(status)) {
      fail("{}: expected a .npy file, got something that is not a regular file", path);
    }
    size_ = std::filesystem::file_size(path, error);
    stream_.open(path, std::ios::binary);
    if (error || !stream_) fail("{}: expected a readable .npy file, got: {}", path, last_error());
  }

  uint64_t remaining() const { return size_ - at_; }

  void read(void* to, uint64_t bytes, std::string_view what) {
    uint64_t got = std::min(bytes, remaining());
    if (got == bytes) {
      stream_.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
      got = static_cast<uint64_t>(stream_.gcount());
    }
    if (got != bytes) {
      fail("{}: npy {}: truncated: expected {} bytes, got {}", path_, what, bytes, got);
    }
    at_ += bytes;
  }

  static std::string last_error() { return std::generic_category().message(errno); }

 private:
  const std::string& path_;
  std::ifstream stream_;
  uint64_t size_ = 0;
  uint64_t at_ = 0;
};

std::string read_header_text(const std::string& path, Input& input) {
  std::array<unsigned char, 8> start{};
  const size_t found = std::min<uint64_t>(input.remaining(), kMagic.size());
  input.read(start.data(), found, "magic");
  const std::string_view magic(reinterpret_cast<const char*>(start.data()), found);
  if (magic != kMagic.substr(0, found)) {
    fail("{}: npy magic: expected {}, got {}", path, npy_quoted(kMagic), npy_quoted(magic));
  }
  if (found < kMagic.size()) {
    fail("{}: npy magic: truncated: expected {} bytes, got {}", path, kMagic.size(), found);
  }
  input.read(start.data() + kMagic.size(), 2, "version");
  const int major = start[6];
  const int minor = start[7];
  if ((major != 1 && major != 2) || minor != 0) {
    fail("{}: npy version: expected 1.0 or 2.0, got {}.{}", path, major, minor);
  }
  std::array<unsigned char, 4> length{};
  input.read(length.data(), major == 1 ? 2 : 4, "header length");
  uint32_t bytes = 0;
  for (size_t i = 0; i < length.size(); ++i) bytes |= static_cast<uint32_t>(length[i]) << (8 * i);
  if (bytes > kMaxHeaderBytes) {
    fail("{}: npy header: expected at most {} bytes, got {}", path, kMaxHeaderBytes, bytes);
  }
  std::string text(bytes, '\0');
  input.read(text.data(), bytes, "header");
  return text;
}

// The size of the elements in bytes, which fits in 63 bits.
int64_t byte_count(const std::string& path, DType dtype, const std::vector<int64_t>& shape) {
  int64_t bytes = 0;
  if (__builtin_mul_overflow(npy_element_count(path, shape), int64_t{size_in_bytes(dtype)},
                             &bytes)) {
    fail("{}: npy shape: expected fewer than 2^63 bytes, got an overflow: {}", path,
         npy_shape_text(shape));
  }
  return bytes;
}

void require_legal_bools(const std::string& path, const NpyArray& array) {
  if (array.dtype != DType::boolean) return;
  for (size_t i = 0; i < array.bytes.size(); ++i) {
    if (array.bytes[i] > 1) {
      fail("{}: npy data: expected a bool of 0 or 1 at element {}, got {}", path, i,
           array.bytes[i]);
    }
  }
}

// Everything before the data, padded with spaces so that the data is aligned.
std::string header_of(const std::string& path, const NpyArray& array) {
  std::string dict = format_npy_header(path, {array.dtype, array.shape});
  // The limit on the rank keeps every header far below the 65535 bytes that version 1.0 can
  // express.
  constexpr size_t kPrefix = 10;
  dict.append(kAlignment - 1 - (kPrefix + dict.size()) % kAlignment, ' ');
  dict += '\n';
  std::string header(kMagic);
  header += '\x01';
  header += '\x00';
  header += static_cast<char>(dict.size() & 0xff);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

}  // namespace

int64_t npy_element_count(const std::string& name, const std::vector<int64_t>& shape) {
  int64_t nonzero = 1;
  bool empty = false;
  for (const int64_t extent : shape) {
    if (extent < 0) {
      fail("{}: npy shape: expected extents of at least 0, got a negative one: {}", name,
           npy_shape_text(shape));
    }
    empty = empty || extent == 0;
    if (extent != 0 && __builtin_mul_overflow(nonzero, extent, &nonzero)) {
      fail("{}: npy shape: expected fewer than 2^63 elements, got an overflow: {}", name,
           npy_shape_text(shape));
    }
  }
  return empty ? 0 : nonzero;
}

NpyArray read_npy(const std::string& path) {
  Input input(path);
  const std::string text = read_header_text(path, input);
  NpyHeader header = parse_npy_header(path, text);
  const auto bytes = static_cast<uint64_t>(byte_count(path, header.dtype, header.shape));
  // Compared before anything is allocated: the header alone must not decide how much memory is
  // taken.
  if (input.remaining() != bytes) {
    const bool more = input.remaining() > bytes;
    fail("{}: npy data: {}: expected {} for shape {} of {}, got {}", path,
         more ? "trailing bytes" : "truncated", count_text(bytes, "byte", "bytes"),
         npy_shape_text(header.shape), to_string(header.dtype), input.remaining());
  }
  NpyArray array{header.dtype, std::move(header.shape), std::vector<unsigned char>(bytes)};
  input.read(array.bytes.data(), bytes, "data");
  require_legal_bools(path, array);
  return array;
}

std::vector<float> read_npy_f32(const std::string& path, const std::vector<int64_t>& shape) {
  const NpyArray array = read_npy(path);
  if (array.dtype != DType::f32) {
    fail("{}: npy dtype: expected f32, got {}", path, to_string(array.dtype));
  }
  if (array.shape != shape) {
    fail("{}: npy shape: expected {}, got {}", path, npy_shape_text(shape),
         npy_shape_text(array.shape));
  }
  return npy_values<float>(array);
}

void write_npy(const std::string& path, const NpyArray& array) {
  const std::string header = header_of(path, array);
  const int64_t bytes = byte_count(path, array.dtype, array.shape);
  if (static_cast<uint64_t>(bytes) != array.bytes.size()) {
    fail("{}: npy data: expected {} for shape {} of {}, got {}", path,
         count_text(bytes, "byte", "bytes"), npy_shape_text(array.shape), to_string(array.dtype),
         array.bytes.size());
  }
  require_legal_bools(path, array);

  FileWriter file("npy", path);
  file.stream().write(header.data(), static_cast<std::streamsize>(header.size()));
  file.stream().write(reinterpret_cast<const char*>(array.bytes.data()),
                      static_cast<std::streamsize>(array.bytes.size()));
  file.commit();
}

}  // namespace emulsion

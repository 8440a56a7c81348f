#ifndef EMULSION_BENCHMARKS_LINEAR_SHAPE_H_
#define EMULSION_BENCHMARKS_LINEAR_SHAPE_H_

// The size of one linear layer: m rows of x, n outputs, k inputs. Written "MxNxK" in build files,
// in the names of kernels and benchmarks, and in the table.

#include <cstdint>
#include <string>

namespace emulsion::benchmarks {

struct LinearShape {
  int64_t m = 0, n = 0, k = 0;

  int64_t flops() const { return 2 * m * n * k; }
  std::string to_string() const;  // "MxNxK"
  // Error: anything but three positive numbers with an x between them.
  static LinearShape parse(const std::string& text);

  bool operator==(const LinearShape& other) const {
    return m == other.m && n == other.n && k == other.k;
  }
};

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_LINEAR_SHAPE_H_

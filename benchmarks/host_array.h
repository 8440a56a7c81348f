#ifndef EMULSION_BENCHMARKS_HOST_ARRAY_H_
#define EMULSION_BENCHMARKS_HOST_ARRAY_H_

// Floats in memory, row-major, as a kernel's C function takes them: aligned to cache lines, as
// packed weights are.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "backends/runtime/kernel_call.h"
#include "dsl/error.h"

namespace emulsion::benchmarks {

class HostArray {
 public:
  explicit HostArray(const std::vector<int64_t>& shape) : dimensions_(shape.size()) {
    int64_t stride = 1;
    for (size_t d = 0; d < shape.size(); ++d) {  // Halide counts dimensions from the innermost
      const int64_t extent = shape[shape.size() - 1 - d];
      dimensions_[d] =
          halide_dimension_t(0, static_cast<int32_t>(extent), static_cast<int32_t>(stride));
      stride *= extent;
    }
    count_ = static_cast<size_t>(stride);
    constexpr size_t kLine = 64;
    data_.reset(static_cast<float*>(
        std::aligned_alloc(kLine, (count_ * sizeof(float) + kLine - 1) / kLine * kLine)));
    if (!data_) fail("{} bytes: out of memory", count_ * sizeof(float));
    raw_.host = reinterpret_cast<uint8_t*>(data_.get());
    raw_.type = runtime::halide_type(runtime::ElementType::f32);
    raw_.dimensions = static_cast<int32_t>(shape.size());
    raw_.dim = dimensions_.data();
  }
  HostArray(const HostArray&) = delete;
  HostArray& operator=(const HostArray&) = delete;

  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  size_t size() const { return count_; }
  size_t bytes() const { return count_ * sizeof(float); }
  halide_buffer_t* raw() { return &raw_; }

 private:
  struct Free {
    void operator()(float* data) const { std::free(data); }
  };
  size_t count_ = 0;
  std::unique_ptr<float, Free> data_;
  std::vector<halide_dimension_t> dimensions_;
  halide_buffer_t raw_ = {};
};

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_HOST_ARRAY_H_

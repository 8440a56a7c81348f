#ifndef EMULSION_BACKENDS_RUNTIME_SPAN_H_
#define EMULSION_BACKENDS_RUNTIME_SPAN_H_

// A dense row-major tensor in somebody else's memory: what the typed header of a kernel takes. Type
// and rank are checked by the compiler, extents by the kernel. Header-only and without
// dependencies, so that an application gets no more of Emulsion than it calls.
//
//   std::vector<float> x(batch * 64);
//   Span<const float, 2>(x.data(), {batch, 64})

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace emulsion {

template <typename T, size_t Rank>
class Span {
 public:
  Span() = default;
  // `data` may be null when the span has no elements.
  Span(T* data, const std::array<int64_t, Rank>& shape)
      : data_(data), shape_(shape), defined_(true) {}
  // A span that may be written is one that may be read.
  template <typename U, typename = std::enable_if_t<std::is_same_v<const U, T>>>
  Span(const Span<U, Rank>& other)  // NOLINT: f(output) where f takes Span<const float, 2>
      : data_(other.data()), shape_(other.shape()), defined_(other.defined()) {}

  // False for Span(), which a kernel refuses as an argument that is missing.
  bool defined() const { return defined_; }
  T* data() const { return data_; }
  const std::array<int64_t, Rank>& shape() const { return shape_; }
  int64_t extent(size_t axis) const { return shape_[axis]; }
  // The number of elements.
  int64_t size() const {
    int64_t elements = 1;
    for (int64_t extent : shape_) elements *= extent;
    return elements;
  }
  // One element: y(m, n). Not checked.
  template <typename... Indices>
  T& operator()(Indices... indices) const {
    static_assert(sizeof...(Indices) == Rank, "expected one index for each axis");
    int64_t offset = 0;
    size_t axis = 0;
    ((offset = offset * shape_[axis++] + static_cast<int64_t>(indices)), ...);
    return data_[offset];
  }

 private:
  T* data_ = nullptr;
  std::array<int64_t, Rank> shape_{};
  bool defined_ = false;
};

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_RUNTIME_SPAN_H_

#ifndef EMULSION_BACKENDS_RUNTIME_PACKED_H_
#define EMULSION_BACKENDS_RUNTIME_PACKED_H_

// A weight in the layout in which a kernel reads it, in somebody else's memory. A type of its own
// for each weight of each kernel (`Weight`): a packed weight has as many elements as one that is
// not packed, so that only the compiler can tell one for the other. Header-only, as span.h.
//
//   kernels::linear::packed_w w_packed;
//   Status status = kernels::linear::pack_w(w, memory, &w_packed);

#include <cstddef>

#include "backends/runtime/span.h"

namespace emulsion {

template <typename T, size_t Rank, typename Weight>
class Packed {
 public:
  Packed() = default;
  // Of memory that holds what this weight's pack function made before, from a file for example.
  // Nothing checks that it does.
  static Packed assume_packed(const Span<const T, Rank>& memory) {
    Packed packed;
    packed.span_ = memory;
    return packed;
  }
  const Span<const T, Rank>& span() const { return span_; }

 private:
  Span<const T, Rank> span_;
};

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_RUNTIME_PACKED_H_

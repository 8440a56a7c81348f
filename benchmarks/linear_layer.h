#ifndef EMULSION_BENCHMARKS_LINEAR_LAYER_H_
#define EMULSION_BENCHMARKS_LINEAR_LAYER_H_

// One layer with its data, ready to be called in each of the ways that are compared.

#include <memory>

#include "benchmarks/host_array.h"
#include "benchmarks/linear_kernel.h"

namespace emulsion::benchmarks {

enum class Way : uint8_t { fused, unfused, plain };

class LinearLayer {
 public:
  // Makes data of both signs and packs the weights. Error: a kernel refuses.
  LinearLayer(const LinearKernel& fused, const LinearKernel& unfused);

  const LinearShape& shape() const { return fused_.shape; }
  // One call; 0 or the kernel's code.
  int run(Way way);
  // Drops what run(way) reads and writes from the caches.
  void evict_for(Way way);
  // Error: a result differs from the sum in double by more than its rounding can.
  void check(Way way);

 private:
  HostArray* weights(Way way);

  LinearKernel fused_, unfused_;
  HostArray x_, w_, bias_, y_;
  std::unique_ptr<HostArray> fused_w_, unfused_w_;  // packed; null when read as they are
  bool shared_w_ = false;                           // both kernels read fused_w_
};

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_LINEAR_LAYER_H_

// The network alone: to measure what was learned.

#include "backends/codegen/kernel_context.h"
#include "examples/train_digits/layers.h"

using namespace emulsion;

Graph emulsion_kernel(const KernelContext& /*context*/) {
  const Tensor images = input("images", f32, {Extent::size("B"), 64});
  return network(images, declare_parameters());
}

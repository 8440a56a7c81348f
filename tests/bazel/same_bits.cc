// One operation of each family that threads may share, over a batch that each call says.

#include "backends/codegen/kernel_context.h"

using namespace emulsion;

Graph emulsion_kernel(const KernelContext& /*context*/) {
  const Extent batch = Extent::size("B");
  const Tensor x = input("x", f32, {batch, 96});
  const Tensor pixels = input("pixels", f32, {batch, 10, 10, 8});
  const Tensor w = weight("w", f32, {96, 200});
  const Tensor bias = weight("bias", f32, {200});
  const Tensor gamma = weight("gamma", f32, {200});
  const Tensor filter = weight("filter", f32, {3, 3, 8, 24});
  const Tensor layer = gelu(matmul(x, w) + bias, Gelu::tanh, "layer");
  return Graph(std::vector<Tensor>{
      layer,
      softmax(layer, -1, "rows"),
      layer_norm(layer, gamma, bias, 1e-5, "normalised"),
      sum(exp(x), {1}, false, "sums"),
      relu(conv2d(pixels, filter), "convolved"),
  });
}

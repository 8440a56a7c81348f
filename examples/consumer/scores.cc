// scores = softmax(x w + bias), for any number of rows.

#include "backends/codegen/kernel_context.h"

using namespace emulsion;

Graph emulsion_kernel(const KernelContext& context) {
  const Tensor x = input("x", f32, {Extent::size("B"), 16});
  const Tensor w = weight("w", f32, {16, 8});
  const Tensor bias = context.constant("bias", "weights/bias.npy");
  return softmax(add(matmul(x, w), bias), -1, "scores");
}

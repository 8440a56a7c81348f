// relu(x w + bias): a weight that has to be packed, a constant from a file, a run-time size.

#include "backends/codegen/kernel_context.h"

using namespace emulsion;

Graph emulsion_kernel(const KernelContext& context) {
  const Tensor x = input("x", f32, {Extent::size("B"), 20});
  const Tensor w = weight("w", f32, {20, 24});
  const Tensor bias = context.constant("bias", "//tests/bazel:tiny_bias.npy");
  return relu(add(matmul(x, w, "mm"), bias, "biased"), "y");
}

// A small convolution with a run-time batch: much to do for the interpreter behind its test. It
// needs nothing of its context, which is no warning.

#include "backends/codegen/kernel_context.h"

using namespace emulsion;

Graph emulsion_kernel(const KernelContext& context) {
  const Tensor x = input("x", f32, {Extent::size("B"), 32, 32, 8});
  const Tensor w = weight("w", f32, {3, 3, 8, 16});
  const Tensor b = weight("b", f32, {16});
  Conv2dOptions same;
  same.pad_top = same.pad_bottom = same.pad_left = same.pad_right = 1;
  return relu(add(conv2d(x, w, same, "conv"), b), "y");
}

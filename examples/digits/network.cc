// The network: three linear layers with ReLU between them, for any number of images. Its weights
// are constants of the kernel, known when it is built, so that they are packed then, too.

#include <string>

#include "backends/codegen/kernel_context.h"

using namespace emulsion;

Graph emulsion_kernel(const KernelContext& context) {
  auto linear = [&](const Tensor& x, const std::string& layer, const std::string& name) {
    const Tensor w = context.constant("w" + layer, "weights/w" + layer + ".npy");
    const Tensor b = context.constant("b" + layer, "weights/b" + layer + ".npy");
    return add(matmul(x, w, "matmul" + layer), b, name);
  };
  const Tensor images = input("images", f32, {Extent::size("B"), 64});
  const Tensor hidden1 = relu(linear(images, "1", "linear1"), "hidden1");
  const Tensor hidden2 = relu(linear(hidden1, "2", "linear2"), "hidden2");
  return linear(hidden2, "3", "logits");
}

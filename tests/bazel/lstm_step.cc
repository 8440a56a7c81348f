// One step of an LSTM with a run-time batch: four gates of sigmoid and tanh, two results.

#include "backends/codegen/kernel_context.h"

using namespace emulsion;

Graph emulsion_kernel(const KernelContext& /*context*/) {
  constexpr int kInputs = 64, kHidden = 128;
  const Extent batch = Extent::size("B");
  const Tensor x = input("x", f32, {batch, kInputs});
  const Tensor h = input("h", f32, {batch, kHidden});
  const Tensor c = input("c", f32, {batch, kHidden});
  const auto gate = [&](const std::string& name) {
    const Tensor w = weight("w" + name, f32, {kInputs, kHidden});
    const Tensor u = weight("u" + name, f32, {kHidden, kHidden});
    const Tensor b = weight("b" + name, f32, {kHidden});
    return matmul(x, w) + matmul(h, u) + b;
  };
  const Tensor forget = sigmoid(gate("f")), in = sigmoid(gate("i"));
  const Tensor cell = add(forget * c, in * tanh(gate("c")), "c_next");
  return Graph({mul(sigmoid(gate("o")), tanh(cell), "h_next"), cell});
}

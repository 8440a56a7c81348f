// One step of training as one kernel: the network forwards, the loss, its gradients by the
// parameters and the parameters after the step. The gradients are nowhere written down: they are
// what differentiation makes of the loss.

#include <string>
#include <vector>

#include "backends/codegen/kernel_context.h"
#include "examples/train_digits/layers.h"
#include "passes/differentiate/differentiate.h"

using namespace emulsion;

Graph emulsion_kernel(const KernelContext& /*context*/) {
  const Extent batch = Extent::size("B");
  const Tensor images = input("images", f32, {batch, 64});
  const Tensor labels = input("labels", DType::i32, {batch});
  const Tensor rate = input("rate", f32, {});
  const Parameters parameters = declare_parameters();
  const Tensor logits = network(images, parameters);

  // The mean over the batch of -log(softmax(logits)[label]).
  const Tensor above_highest = sub(logits, reduce_max(logits, {1}, true));
  const Axis b("b", batch), c("c", 10);
  const Tensor of_label =
      compute("of_label", {b}, sum(c, select(labels(b) == c, above_highest(b, c), 0.0f)));
  const Tensor loss = mean(sub(log(sum(exp(above_highest), {1})), of_label), {0}, false, "loss");

  const std::vector<Tensor> slopes = gradients(loss, parameters);
  std::vector<Tensor> outputs = {loss};
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& p = parameters[i];
    outputs.push_back(sub(p, mul(rate, slopes[i]), p.name() + "_next"));
  }
  return Graph(outputs);
}

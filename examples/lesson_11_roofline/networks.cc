#include "examples/lesson_11_roofline/networks.h"

#include "dsl/operators.h"

namespace emulsion {

Network resnet_block(int64_t size, int64_t channels) {
  Conv2dOptions same;
  same.pad_top = same.pad_bottom = same.pad_left = same.pad_right = 1;
  const Shape weights = {3, 3, channels, channels};
  const Tensor x = input("x", f32, {1, size, size, channels});
  const Tensor first =
      relu(conv2d(x, weight("w1", f32, weights), same, "conv1") + weight("b1", f32, {channels}));
  const Tensor second =
      conv2d(first, weight("w2", f32, weights), same, "conv2") + weight("b2", f32, {channels});
  return {"ResNet block", Graph(relu(second + x, "y"))};
}

Network bert_ffn(int64_t rows, int64_t width) {
  const int64_t inner = 4 * width;
  const Tensor x = input("x", f32, {rows, width});
  const Tensor hidden =
      gelu(matmul(x, weight("w1", f32, {width, inner}), "mm1") + weight("b1", f32, {inner}));
  const Tensor out =
      matmul(hidden, weight("w2", f32, {inner, width}), "mm2") + weight("b2", f32, {width}) + x;
  return {"BERT FFN", Graph(layer_norm(out, weight("gamma", f32, {width}),
                                       weight("beta", f32, {width}), 1e-5, "y"))};
}

Network mlp(int64_t rows, int64_t width) {
  Tensor layer = input("x", f32, {rows, width});
  for (const char* number : {"1", "2", "3"}) {
    const std::string suffix = number;
    layer = relu(matmul(layer, weight("w" + suffix, f32, {width, width}), "mm" + suffix) +
                     weight("b" + suffix, f32, {width}),
                 "y" + suffix);
  }
  return {"MLP", Graph(layer)};
}

std::vector<Network> full_networks() {
  return {resnet_block(56, 64), bert_ffn(128, 768), mlp(256, 256)};
}

std::vector<Network> small_networks() { return {resnet_block(6, 8), bert_ffn(5, 24), mlp(7, 20)}; }

}  // namespace emulsion

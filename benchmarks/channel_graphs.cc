#include "benchmarks/channel_graphs.h"

#include "dsl/operators.h"

namespace emulsion::benchmarks {

Graph softmax_of_channels(int pictures, int channels, int side) {
  return Graph(softmax(input("x", f32, {pictures, channels, side, side}), 1, "y"));
}

Graph norm_of_channels(int pictures, int channels, int side) {
  const Tensor x = input("x", f32, {pictures, channels, side, side});
  const Tensor centred = x - mean(x, {1}, true);
  const Tensor variance = mean(centred * centred, {1}, true);
  return Graph(div(centred, sqrt(variance + 1e-5f), "y"));
}

Tensor batch_norm_train(const Tensor& x) {
  const Tensor centred = x - mean(x, {0, 2, 3}, true);
  const Tensor variance = mean(centred * centred, {0, 2, 3}, true);
  const Extent channels = x.shape()[1];
  return centred / sqrt(variance + 1e-5f) * input("gamma", f32, {channels, 1, 1}) +
         input("beta", f32, {channels, 1, 1});
}

Tensor batch_norm_by_hand(const Tensor& x, float elements) {
  const Axis n("n", x.shape()[0]), c("c", x.shape()[1]), h("h", x.shape()[2]), w("w", x.shape()[3]);
  Tensor average = compute("average", {c}, sum({n, h, w}, x(n, c, h, w)) / elements);
  Tensor squares = compute(
      "squares", {c},
      sum({n, h, w}, (x(n, c, h, w) - average(c)) * (x(n, c, h, w) - average(c))) / elements);
  Tensor scale = compute("scale", {c}, 1.0f / sqrt(squares(c) + 1e-5f));
  return compute("y", {n, c, h, w}, (x(n, c, h, w) - average(c)) * scale(c));
}

}  // namespace emulsion::benchmarks

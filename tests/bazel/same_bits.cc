// One operation of each family that threads may share, over a batch that each call says.

#include "backends/codegen/kernel_context.h"

using namespace emulsion;

namespace {

// Each row so long that it is computed by itself, where its result will be.
Tensor long_rows(const Tensor& x) {
  constexpr int64_t kLong = 9000;
  const Axis b("b", x.shape()[0]), n("n", kLong);
  const Expr stretched = x(b, Expr(n) % 96) * (1.0f + cast(f32, Expr(n)) * 1e-5f);
  return softmax(compute("stretched", {b, n}, stretched), -1, "long_rows");
}

// The same weighted sum of nine points for each channel.
Tensor depthwise(const Tensor& pixels, const Tensor& taps) {
  const Axis b("b", pixels.shape()[0]), y("y", 8), x("x", 8), c("c", 8), dy("dy", 3), dx("dx", 3);
  const Expr tap = pixels(b, Expr(y) + dy, Expr(x) + dx, c) * taps(dy, dx, c);
  return compute("depthwise", {b, y, x, c}, sum({dy, dx}, tap));
}

// Whose rows are added where their number is the place: each class of rows by itself.
Tensor by_class(const Tensor& x, const Tensor& which) {
  const Axis c("c", 20), n("n", 96), b("b", x.shape()[0]);
  return compute("by_class", {c, n}, sum(b, select(which(b) == Expr(c), x(b, n), 0.0f)));
}

}  // namespace

Graph emulsion_kernel(const KernelContext& /*context*/) {
  const Extent batch = Extent::size("B");
  const Tensor x = input("x", f32, {batch, 96});
  const Tensor pixels = input("pixels", f32, {batch, 10, 10, 8});
  const Tensor w = weight("w", f32, {96, 200});
  const Tensor bias = weight("bias", f32, {200});
  const Tensor gamma = weight("gamma", f32, {200});
  const Tensor filter = weight("filter", f32, {3, 3, 8, 24});
  const Tensor keys = input("keys", f32, {96, 200});
  const Tensor values = input("values", f32, {200, 40});
  const Tensor taps = input("taps", f32, {3, 3, 8});
  const Tensor column = input("column", f32, {96});
  const Tensor which = input("which", i32, {batch});
  const Tensor layer = gelu(matmul(x, w) + bias, Gelu::tanh, "layer");
  const Tensor rows = softmax(layer, -1, "rows");
  const Tensor scores = matmul(x, keys);
  PoolOptions pool;
  pool.window_h = pool.window_w = pool.stride_h = pool.stride_w = 2;
  return Graph(std::vector<Tensor>{
      layer,
      rows,
      layer_norm(layer, gamma, bias, 1e-5, "normalised"),
      sum(exp(x), {1}, false, "sums"),
      relu(conv2d(pixels, filter), "convolved"),
      matmul(softmax(scores), values, "attended"),
      long_rows(x),
      max_pool(depthwise(pixels, taps), pool, "pooled"),
      matmul(x, column, "dots"),
      neg(log(exp(neg(x)) + 1.0f), "series"),
      sum(exp(pixels), {0, 1, 2, 3}, false, "total"),
      mean(x, {0}, false, "columns"),
      by_class(x, which),
  });
}

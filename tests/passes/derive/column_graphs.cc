#include "tests/passes/derive/column_graphs.h"

#include "dsl/operators.h"

namespace emulsion {
namespace {

Tensor matrix(const Extent& rows, const Extent& columns) {
  return input("x", f32, {rows, columns});
}

// (x - mean) / deviation along axis 0, as frameworks write it.
Graph standardized(const Extent& rows, const Extent& columns) {
  const Tensor x = matrix(rows, columns);
  const Tensor centred = sub(x, mean(x, {0}, true, "average"), "centred");
  const Tensor variance = mean(mul(centred, centred, "squares"), {0}, true, "variance");
  return Graph(mul(centred, 1.0f / sqrt(variance + 1e-5f, "deviation"), "y"));
}

// Over the channels of pictures, with what stands behind it.
Graph channel_norm_relu(const Extent& rows, const Extent& columns) {
  const Tensor x = input("x", f32, {2, rows, 3, columns});
  const Tensor centred = sub(x, mean(x, {1}, true), "centred");
  const Tensor variance = mean(centred * centred, {1}, true, "variance");
  const Tensor scale = input("scale", f32, {rows, 1, 1});
  return Graph(relu(centred / sqrt(variance + 1e-5f) * scale, "y"));
}

// log(sum of exp(x - max)) + max of each column: the last operation has nothing but columns.
Graph log_of_sums(const Extent& rows, const Extent& columns) {
  const Axis i("i", rows), n("n", columns);
  Tensor x = matrix(rows, columns);
  Tensor highest = compute("highest", {n}, reduce_max(i, x(i, n)));
  Tensor powers = compute("powers", {i, n}, exp(x(i, n) - highest(n)));
  Tensor total = compute("total", {n}, sum(i, powers(i, n)));
  return Graph(compute("y", {n}, log(total(n)) + highest(n)));
}

// The last operation is itself a sum, along a second axis too.
Graph variances(const Extent& rows, const Extent& columns) {
  const Axis i("i", rows), j("j", 4), n("n", columns);
  Tensor x = input("x", f32, {rows, 4, columns});
  Tensor total = compute("total", {n}, sum({i, j}, x(i, j, n)));
  Tensor centred = compute("centred", {i, j, n}, x(i, j, n) * 64.0f - total(n));
  Tensor part = compute("part", {j, n}, sum(i, centred(i, j, n) * centred(i, j, n)));
  return Graph(compute("y", {n}, reduce_max(j, part(j, n) * centred.at({0, Expr(j), Expr(n)}))));
}

}  // namespace

std::vector<std::pair<std::string, Graph>> column_graphs(const Extent& rows,
                                                         const Extent& columns) {
  const auto pictures = [&] { return input("x", f32, {2, rows, 3, columns}); };
  return {
      {"softmax", Graph(softmax(matrix(rows, columns), 0, "y"))},
      {"softmax of channels", Graph(softmax(pictures(), 1, "y"))},
      {"standardized", standardized(rows, columns)},
      {"norm of channels", channel_norm_relu(rows, columns)},
      {"log of sums", log_of_sums(rows, columns)},
      {"variances", variances(rows, columns)},
  };
}

}  // namespace emulsion

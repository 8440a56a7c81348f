#include "tests/passes/derive/row_graphs.h"

#include "dsl/operators.h"
#include "passes/differentiate/differentiate.h"
#include "passes/fuse/fuse_epilogues.h"

namespace emulsion {
namespace {

Tensor matrix(const Extent& rows, const Extent& columns) {
  return input("x", f32, {rows, columns});
}

Graph layer_norm_of(const Extent& rows, const Extent& columns) {
  return Graph(layer_norm(matrix(rows, columns), input("gamma", f32, {columns}),
                          input("beta", f32, {columns}), 1e-5, "y"));
}

Graph rms_norm_then_relu(const Extent& rows, const Extent& columns) {
  return Graph(relu(rms_norm(matrix(rows, columns), weight("gamma", f32, {columns})), "y"));
}

// What the softmax reads is computed too, and read twice.
Graph masked_softmax(const Extent& rows, const Extent& columns) {
  Tensor masked = add(mul(matrix(rows, columns), 0.5f), input("mask", f32, {columns}), "masked");
  return Graph(softmax(masked, -1, "y"));
}

// log(sum of exp(x - max)) + max of each row: the last operation has nothing behind the rows.
Graph log_of_sums(const Extent& rows, const Extent& columns) {
  const Axis i("i", rows), k("k", columns);
  Tensor x = matrix(rows, columns);
  Tensor highest = compute("highest", {i}, reduce_max(k, x(i, k)));
  Tensor powers = compute("powers", {i, k}, exp(x(i, k) - highest(i)));
  Tensor total = compute("total", {i}, sum(k, powers(i, k)));
  return Graph(compute("y", {i}, log(total(i)) + highest(i)));
}

// The last operation is itself a sum, of squares of what has its mean taken away.
Graph variances(const Extent& rows, const Extent& columns) {
  const Axis i("i", rows), k("k", columns);
  Tensor x = matrix(rows, columns);
  Tensor total = compute("total", {i}, sum(k, x(i, k)));
  Tensor centred = compute("centred", {i, k}, x(i, k) * 64.0f - total(i));
  return Graph(compute("y", {i}, sum(k, centred(i, k) * centred(i, k))));
}

Graph softmax_of_heads(const Extent& rows, const Extent& columns) {
  return Graph(softmax(input("x", f32, {2, rows, 3, columns}), -1, "y"));
}

Graph norm_of_two_axes(const Extent& rows, const Extent& columns) {
  Tensor x = input("x", f32, {rows, 3, columns});
  return Graph(layer_norm(x, input("gamma", f32, {3, columns}), input("beta", f32, {3, columns}),
                          1e-5, "y"));
}

// As frameworks write it: what has one element in a row keeps an axis of one step.
Graph norm_of_operators(const Extent& rows, const Extent& columns) {
  const Tensor x = matrix(rows, columns);
  const Tensor centred = sub(x, mean(x, {1}, true, "average"), "centred");
  const Tensor deviation = sqrt(mean(centred * centred, {1}, true) + 1e-5F, "deviation");
  return Graph(div(centred, deviation, "y"));
}

Graph log_softmax_of_operators(const Extent& rows, const Extent& columns) {
  const Tensor x = matrix(rows, columns);
  const Tensor below = sub(x, reduce_max(x, {1}, true, "highest"), "below");
  return Graph(sub(below, log(sum(exp(below), {1}, true)), "y"));
}

Graph log_of_sums_of_operators(const Extent& rows, const Extent& columns) {
  const Tensor x = matrix(rows, columns);
  const Tensor highest = reduce_max(x, {1}, true, "highest");
  return Graph(add(log(sum(exp(sub(x, highest)), {1}, true)), highest, "y"));
}

// A batch norm in training, as frameworks write it.
Tensor normal_of(const Tensor& x) {
  const Tensor centred = sub(x, mean(x, {0, 2, 3}, true), "centred");
  const Tensor variance = mean(mul(centred, centred, "squares"), {0, 2, 3}, true, "variance");
  return centred / sqrt(variance + 1e-5F);
}

Tensor of_channels(const std::string& name, const Tensor& x) {
  return input(name, f32, {x.shape()[1], 1, 1});
}

// The axes of pictures, and what is known of each channel.
struct Pictures {
  explicit Pictures(const Tensor& of)
      : x(of),
        n("n", of.shape()[0]),
        c("c", of.shape()[1]),
        h("h", of.shape()[2]),
        w("w", of.shape()[3]) {}

  Tensor x;
  Axis n, c, h, w;

  Tensor highest() const { return compute("highest", {c}, reduce_max({n, h, w}, x(n, c, h, w))); }
  Tensor powers() const {
    return compute("powers", {n, c, h, w}, exp(x(n, c, h, w) - highest()(c)));
  }
};

Graph softmax_of_channel(const Pictures& p) {
  const auto& [x, n, c, h, w] = p;
  Tensor powers = p.powers();
  Tensor total = compute("total", {c}, sum({n, h, w}, powers(n, c, h, w)));
  return Graph(compute("y", {n, c, h, w}, powers(n, c, h, w) / total(c)));
}

// The last operation has nothing but the channels.
Graph log_of_sums_of_channel(const Pictures& p) {
  const auto& [x, n, c, h, w] = p;
  Tensor powers = p.powers();
  return Graph(compute("y", {c}, log(1.0F + sum({n, h, w}, powers(n, c, h, w)))));
}

// The last operation is itself the sum, and reads nothing else that has nothing but the channels.
Graph sums_of_channel(const Pictures& p) {
  const auto& [x, n, c, h, w] = p;
  Tensor powers = p.powers();
  return Graph(compute("y", {c}, sum({n, h, w}, powers(n, c, h, w))));
}

// The last operation is itself a sum, of a part of the row, of which the channel is the last axis.
Graph pooled(const Pictures& p) {
  const auto& [x, n, c, h, w] = p;
  Tensor powers = p.powers();
  Tensor total = compute("total", {c}, sum({n, h, w}, powers(n, c, h, w)));
  return Graph(compute("y", {n, c}, sum({h, w}, powers(n, c, h, w) / total(c))));
}

}  // namespace

Groups::Groups(const Graph& graph, const Target& target)
    : grouped(fuse_epilogues(graph)), all(row_groups(grouped, target)) {}

Graph softmax_by_hand(const Extent& rows, const Extent& columns) {
  const Axis i("i", rows), k("k", columns), r("r", columns);
  Tensor x = matrix(rows, columns);
  Tensor highest = compute("highest", {i}, reduce_max(r, x(i, r)));
  Tensor p = compute("p", {i, k}, exp(x(i, k) - highest(i)));
  Tensor total = compute("total", {i}, sum(r, p(i, r)));
  return Graph(compute("y", {i, k}, p(i, k) / total(i)));
}

Graph roots_by_hand(const Extent& rows, const Extent& columns) {
  const Axis i("i", rows), k("k", columns), r("r", columns);
  Tensor x = matrix(rows, columns);
  Tensor highest = compute("highest", {i}, reduce_max(r, x(i, r)));
  Tensor p = compute("p", {i, k}, exp(x(i, k) - highest(i)));
  Tensor total = compute("total", {i}, sum(r, p(i, r) * p(i, r)));
  Tensor root = compute("root", {i}, sqrt(total(i)));
  return Graph(compute("y", {i, k}, p(i, k) / root(i)));
}

std::vector<std::pair<std::string, Graph>> row_graphs(const Extent& rows, const Extent& columns) {
  return {
      {"softmax", Graph(softmax(matrix(rows, columns), -1, "y"))},
      {"softmax_by_hand", softmax_by_hand(rows, columns)},
      {"softmax_of_heads", softmax_of_heads(rows, columns)},
      {"masked_softmax", masked_softmax(rows, columns)},
      {"layer_norm", layer_norm_of(rows, columns)},
      {"rms_norm_then_relu", rms_norm_then_relu(rows, columns)},
      {"norm_of_two_axes", norm_of_two_axes(rows, columns)},
      {"log_of_sums", log_of_sums(rows, columns)},
      {"variances", variances(rows, columns)},
      {"norm_of_operators", norm_of_operators(rows, columns)},
      {"log_softmax_of_operators", log_softmax_of_operators(rows, columns)},
      {"log_of_sums_of_operators", log_of_sums_of_operators(rows, columns)},
  };
}

std::vector<std::pair<std::string, Graph>> piece_graphs(const Extent& pictures,
                                                        const Extent& channels,
                                                        const Extent& height, const Extent& width) {
  const Tensor x = input("x", f32, {pictures, channels, height, width});
  const Tensor norm = normal_of(x) * of_channels("gamma", x);
  const Tensor by_x =
      gradients(normal_of(x), {x}, input("dy", f32, {pictures, channels, height, width}))[0];
  const Pictures p(x);
  return {
      {"batch_norm", Graph(add(norm, of_channels("beta", x), "y"))},
      {"batch_norm_relu", Graph(relu(norm + of_channels("beta", x), "y"))},
      {"batch_norm_gradient", Graph(mul(by_x, 2.0F, "y"))},
      {"softmax_of_channel", softmax_of_channel(p)},
      {"log_of_sums_of_channel", log_of_sums_of_channel(p)},
      {"sums_of_channel", sums_of_channel(p)},
      {"pooled", pooled(p)},
  };
}

}  // namespace emulsion

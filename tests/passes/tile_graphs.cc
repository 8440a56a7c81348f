#include "tests/passes/tile_graphs.h"

#include "dsl/operators.h"

namespace emulsion {

Graph linear_graph(const Extent& rows, const Extent& depth, const Extent& columns) {
  Tensor x = input("x", f32, {rows, depth});
  Tensor w = weight("w", f32, {depth, columns}), b = weight("b", f32, {columns});
  return Graph(relu(add(matmul(x, w, "mm"), b, "biased"), "y"));
}

namespace {

Graph matmul_graph(const Shape& a, const Shape& b, DType dtype = f32) {
  Tensor x = input("x", dtype, a), w = weight("w", dtype, b);
  return Graph(matmul(x, w, "y"));
}

// A matmul in index notation, its axes in another order and of other names than matmul's.
Graph written_by_hand() {
  Tensor p = input("p", f32, {6, 9}), q = input("q", f32, {6, 10});
  Axis i("i", 9), j("j", 10), r("r", 6);
  Func y("y");
  y(i, j) = sum(r, q(r, j) * p(r, i));
  return Graph(y);
}

Graph conv_graph(int64_t stride) {
  Conv2dOptions options;
  options.stride_h = options.stride_w = stride;
  Tensor x = input("x", f32, {2, 9, 9, 5}), w = weight("w", f32, {3, 3, 5, 10});
  return Graph(relu(conv2d(x, w, options, "conv"), "y"));
}

Graph mlp_graph(const Extent& rows) {
  Tensor x = input("x", f32, {rows, 6});
  Tensor w1 = weight("w1", f32, {6, 10}), b1 = weight("b1", f32, {10});
  Tensor w2 = weight("w2", f32, {10, 9}), b2 = weight("b2", f32, {9});
  Tensor h = relu(add(matmul(x, w1), b1), "h");
  return Graph(add(matmul(h, w2), b2, "y"));
}

Graph elementwise_graph(const Extent& rows) {
  Tensor x = input("x", f32, {rows, 11}), b = input("b", f32, {11});
  return Graph(relu(sub(mul(x, b), x), "y"));
}

}  // namespace

std::vector<NamedGraph> tile_graphs() {
  const Extent B = Extent::size("B");
  Tensor x = input("x", f32, {9, 11});
  Tensor vector = input("v", f32, {11});
  std::vector<NamedGraph> graphs = {
      {"linear_exact", linear_graph(8, 8, 16)},
      {"linear_edges", linear_graph(9, 7, 11)},
      {"linear_of_one", linear_graph(1, 1, 1)},
      {"linear_b", linear_graph(B, 7, 11)},
      {"linear_depth_b", linear_graph(5, B, 11)},
      {"matmul", matmul_graph({9, 7}, {7, 11})},
      {"matmul_i32", matmul_graph({9, 7}, {7, 11}, i32)},
      {"batched", matmul_graph({2, 9, 7}, {2, 7, 11})},
      {"batched_b", matmul_graph({B, 3, 7}, {7, 11})},
      {"matrix_times_vector", matmul_graph({9, 7}, {7})},
      {"vector_times_matrix", matmul_graph({7}, {7, 11})},
      {"by_hand", written_by_hand()},
      {"conv", conv_graph(1)},
      {"conv_stride", conv_graph(2)},
      {"mlp", mlp_graph(9)},
      {"mlp_b", mlp_graph(B)},
      {"elementwise", elementwise_graph(9)},
      {"elementwise_b", elementwise_graph(B)},
      {"copy_of_vector", Graph(mul(vector, vector, "y"))},
      {"transposed", Graph(transpose(x, {1, 0}, "y"))},
      {"sliced", Graph(slice(x, {2, 3}, {9, 9}, {}, "y"))},
      {"concat", Graph(concat({x, mul(x, 2.0)}, 0, "y"))},
      {"padded", Graph(pad(x, {1, 2}, {3, 0}, 0.0, "y"))},
      {"reshaped", Graph(reshape(x, {11, 9}, "y"))},
      {"row_sums", Graph(sum(x, {1}, false, "y"))},
      {"row_maxima", Graph(reduce_max(x, {1}, true, "y"))},
      {"column_sums", Graph(sum(x, {0}, false, "y"))},
      {"sum_of_all", Graph(sum(x, {0, 1}, false, "y"))},
      {"empty", linear_graph(0, 7, 11)},
      {"no_depth", linear_graph(5, 0, 11)},
  };
  return graphs;
}

TileMachine small_machine() {
  TileMachine machine;
  machine.tile_m = 4;
  machine.tile_n = 8;
  machine.tile_k = 4;
  machine.alignment = 16;
  machine.sram_bytes = 16384;
  return machine;
}

}  // namespace emulsion

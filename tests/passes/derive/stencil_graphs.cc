#include "tests/passes/derive/stencil_graphs.h"

#include "dsl/operators.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");

// Three neighbours of t along its axis `along`, weighed; `axes` are those of the result.
Expr three(const Tensor& t, const std::vector<Axis>& axes, size_t along) {
  auto neighbour = [&](int distance) {
    std::vector<Expr> indices(axes.begin(), axes.end());
    indices[along] = indices[along] + distance;
    return t.at(indices);
  };
  return neighbour(0) + neighbour(1) * cast(t.dtype(), Expr(2)) + neighbour(2);
}

// An operation of that shape that reads three neighbours.
Tensor stencil(const std::string& name, const Tensor& t, const Shape& shape, size_t along) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < shape.size(); ++i) axes.emplace_back("i" + std::to_string(i), shape[i]);
  return compute(name, axes, three(t, axes, along));
}

// Across the columns, then down the rows.
Tensor blur(const Tensor& x, const Shape& shape, size_t rows, size_t columns) {
  Shape wide = shape;
  wide[rows] = wide[rows] + Extent(2);
  return stencil("y", stencil("bx", x, wide, columns), shape, rows);
}

Graph chain_of_three(const Extent& rows, const Extent& columns) {
  Tensor x = input("x", f32, {rows + Extent(4), columns + Extent(2)});
  Tensor bx = stencil("bx", x, {rows + Extent(4), columns}, 1);
  Tensor by = stencil("by", bx, {rows + Extent(2), columns}, 0);
  return Graph(stencil("y", by, {rows, columns}, 0));
}

Graph two_producers(const Extent& rows, const Extent& columns) {
  Tensor x = input("x", f32, {rows + Extent(2), columns + Extent(2)});
  Tensor bx = stencil("bx", x, {rows + Extent(2), columns}, 1);
  Tensor scaled = compute("gain", bx.op()->axes, x.at({bx.op()->axes[0], bx.op()->axes[1]}) * 3.0f);
  const Axis i("i", rows), j("j", columns);
  return Graph(
      compute("y", {i, j}, three(bx, {i, j}, 0) - scaled.at({Expr(i) + 2, j}) + scaled(i, j)));
}

Graph down_then_across(const Extent& rows, const Extent& columns) {
  Tensor x = input("x", f32, {rows + Extent(2), columns + Extent(2)});
  return Graph(stencil("y", stencil("by", x, {rows, columns + Extent(2)}, 0), {rows, columns}, 1));
}

// Elementwise operations behind both stencils.
Graph groups(const Extent& rows, const Extent& columns) {
  Tensor x = input("x", f32, {rows + Extent(2), columns + Extent(2)});
  Tensor bx = relu(stencil("bx", x, {rows + Extent(2), columns}, 1) - 1.0f);
  return Graph(relu(stencil("by", bx, {rows, columns}, 0) - 2.0f, "y"));
}

// The same size as x, which is padded with zeros.
Graph padded(const Extent& rows, const Extent& columns) {
  Tensor x = pad(input("x", f32, {rows, columns}), {1, 1}, {1, 1}, 0.0, "padded");
  return Graph(blur(x, {rows, columns}, 0, 1));
}

// 3 x 3 of each channel by itself.
Tensor depthwise(const Tensor& x, const std::string& weights, const std::string& name) {
  const Extent& channels = x.shape()[3];
  Conv2dOptions options;
  options.groups = static_cast<int>(channels.constant_term());
  return conv2d(x, weight(weights, f32, {3, 3, 1, channels}), options, name);
}

// `rows` x `columns` of `channels` in `images`, from what is larger by 4.
Graph depthwise_twice(const Extent& images, const Extent& rows, int columns, int channels) {
  Tensor x = input("x", f32, {images, rows + Extent(4), columns + 4, channels});
  return Graph(depthwise(depthwise(x, "w1", "dw"), "w2", "y"));
}

// The first convolution has a bias and a ReLU, which are one operation with it.
Graph depthwise_groups(const Extent& rows) {
  Tensor x = input("x", f32, {1, rows + Extent(4), 11, 16});
  Tensor first = relu(depthwise(x, "w1", "dw") + weight("b", f32, {16}), "relu");
  return Graph(depthwise(first, "w2", "y"));
}

PoolOptions windows(int size, int stride, int padding = 0) {
  PoolOptions options;
  options.window_h = options.window_w = size;
  options.stride_h = options.stride_w = stride;
  options.pad_top = options.pad_bottom = options.pad_left = options.pad_right = padding;
  return options;
}

// Of `columns` columns; with 15, the last one is read by none.
Graph pooled(const Extent& rows, int columns, int window) {
  const Extent height = rows * Extent(2) + Extent(window - 2);
  Tensor x = input("x", f32, {2, height + Extent(2), columns + 2, 8});
  return Graph(max_pool(depthwise(x, "w", "dw"), windows(window, 2), "y"));
}

Graph every_second_row(const Extent& rows, const Extent& columns) {
  Tensor x = input("x", f32, {rows * Extent(2) + Extent(1), columns + Extent(2)});
  Tensor bx = stencil("bx", x, {rows * Extent(2) + Extent(1), columns}, 1);
  const Axis i("i0", rows), j("i1", columns);
  return Graph(compute("y", {i, j}, bx(i * 2, j) - bx(i * 2 + 1, j) + bx(i * 2 + 2, j)));
}

// All but two columns of bx are read.
Graph parts_of_rows(const Extent& rows) {
  Tensor x = input("x", f32, {rows + Extent(2), 29});
  Tensor bx = stencil("bx", x, {rows + Extent(2), 27}, 1);
  const Axis i("i0", rows), j("i1", 25);
  return Graph(compute("y", {i, j}, bx.at({i, Expr(j) + 1}) - bx.at({Expr(i) + 2, Expr(j) + 1})));
}

// What the blur takes away: bx is read by by and by y.
Graph two_readers(const Extent& rows, const Extent& columns) {
  Tensor x = input("x", f32, {rows + Extent(4), columns + Extent(2)});
  Tensor bx = stencil("bx", x, {rows + Extent(4), columns}, 1);
  Tensor by = stencil("by", bx, {rows + Extent(2), columns}, 0);
  const Axis i("i0", rows), j("i1", columns);
  return Graph(compute("y", {i, j}, three(by, {i, j}, 0) - bx.at({Expr(i) + 2, j})));
}

// Three neighbours along an axis; those at the border where there are none.
Tensor clamped(const std::string& name, const Tensor& t, size_t along) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < t.shape().size(); ++i) {
    axes.emplace_back("i" + std::to_string(i), t.shape()[i]);
  }
  auto neighbour = [&](int distance) {
    std::vector<Expr> indices(axes.begin(), axes.end());
    const Expr last = extent_value(t.shape()[along] - Extent(1));
    indices[along] = min(max(indices[along] + distance, 0), last);
    return t.at(indices);
  };
  return compute(name, axes,
                 neighbour(-1) + neighbour(0) * cast(t.dtype(), Expr(2)) - neighbour(1));
}

// Down the rows, along the columns, down the rows.
Graph clamped_chain(const Shape& shape, size_t rows, DType dtype = DType::f32) {
  Tensor down = clamped("down", input("x", dtype, shape), rows);
  return Graph(clamped("y", clamped("across", down, rows + 1), rows));
}

// Down the rows three times.
Graph clamped_rows(const Extent& rows, const Extent& columns) {
  Tensor x = input("x", f32, {rows, columns});
  return Graph(clamped("y", clamped("second", clamped("first", x, 0), 0), 0));
}

// x and what a blur takes away.
Graph clamped_unsharp(const Extent& rows, const Extent& columns) {
  Tensor x = input("x", f32, {rows, columns});
  Tensor blurred = clamped("down", clamped("across", x * 2.0f, 1), 0);
  return Graph(add(x, (x - blurred) * 3.0f, "y"));
}

// All columns but the last are read, and the one before it twice.
Graph clamped_parts(const Extent& rows) {
  Tensor bx = stencil("bx", input("x", f32, {rows, 29}), {rows, 27}, 1);
  const Axis i("i0", rows), j("i1", 25);
  const Expr last = extent_value(rows - Extent(1)), column = max(j - 1, 0);
  return Graph(compute("y", {i, j}, bx(min(i + 1, last), column) - bx(i, min(j + 3, 25))));
}

// How much two sums of windows of differences between rows differ.
Graph spread(const Extent& rows, const Extent& columns) {
  Tensor x = input("x", f32, {rows + Extent(4), columns + Extent(2)});
  Tensor d = stencil("d", x, {rows + Extent(2), columns + Extent(2)}, 0);
  const Axis i("i0", rows), j("i1", columns), a("a", 3), b("b", 3);
  const Expr at = d(i + a, j + b);
  const Tensor squares = compute("squares", {i, j}, sum({a, b}, at * at));
  const Tensor sums = compute("sums", {i, j}, sum({a, b}, at));
  return Graph(compute("y", {i, j}, squares(i, j) * 9.0f - sums(i, j) * sums(i, j)));
}

}  // namespace

Graph blur_graph(const Extent& rows, const Extent& columns, DType dtype) {
  Tensor x = input("x", dtype, {rows + Extent(2), columns + Extent(2)});
  return Graph(blur(x, {rows, columns}, 0, 1));
}

std::vector<std::pair<std::string, Graph>> stencil_graphs() {
  Tensor images = input("x", f32, {3, kSize + Extent(2), 26});
  Tensor batch = input("x", f32, {kSize, 72, 26});
  Tensor colours = input("x", u8, {kSize + Extent(2), 36, 3});
  Tensor channels = input("x", f32, {2, kSize + Extent(2), 9, 16});
  Tensor picture = input("x", u8, {1, kSize + Extent(2), 36, 3});
  return {
      {"rows", blur_graph(kSize, 24)},
      {"columns", blur_graph(70, kSize)},
      {"bytes", blur_graph(kSize, 67, u8)},
      {"shorts", blur_graph(kSize, 24, i16)},
      {"chain_of_three", chain_of_three(kSize, 24)},
      {"chain_of_wide_columns", chain_of_three(133, kSize)},
      {"two_producers", two_producers(kSize, 24)},
      {"down_then_across", down_then_across(kSize, 24)},
      {"groups", groups(kSize, 24)},
      {"padded", padded(kSize, 24)},
      {"images", Graph(blur(images, {3, kSize, 24}, 1, 2))},
      {"batch", Graph(blur(batch, {kSize, 70, 24}, 1, 2))},
      {"colours", Graph(blur(colours, {kSize, 34, 3}, 0, 1))},
      {"channels", Graph(blur(channels, {2, kSize, 7, 16}, 1, 2))},
      {"depthwise", depthwise_twice(1, kSize, 7, 16)},
      {"depthwise_of_five", depthwise_twice(1, kSize, 7, 5)},
      {"depthwise_of_images", depthwise_twice(kSize, 61, 3, 8)},
      {"depthwise_groups", depthwise_groups(kSize)},
      {"pooled", pooled(kSize, 14, 2)},
      {"pooled_windows_of_three", pooled(kSize, 15, 3)},
      {"pooled_parts_of_rows", pooled(kSize, 16, 3)},
      {"averages", Graph(avg_pool(input("x", f32, {2, kSize, 12, 8}), windows(3, 1, 1), "y"))},
      {"colours_of_windows",
       Graph(
           max_pool(stencil("bx", picture, {1, kSize + Extent(2), 34, 3}, 2), windows(3, 1), "y"))},
      {"every_second_row", every_second_row(kSize, 24)},
      {"parts_of_rows", parts_of_rows(kSize)},
      {"two_readers", two_readers(kSize, 24)},
      {"clamped_chain", clamped_chain({kSize, 24}, 0)},
      {"clamped_columns", clamped_chain({40, kSize}, 0)},
      {"clamped_images", clamped_chain({2, kSize, 24}, 1)},
      {"clamped_rows", clamped_rows(kSize, 24)},
      {"clamped_unsharp", clamped_unsharp(kSize, 24)},
      {"clamped_parts", clamped_parts(kSize)},
      {"spread", spread(kSize, 24)},
      {"spread_of_columns", spread(70, kSize)},
  };
}

std::vector<std::pair<std::string, Graph>> large_stencil_graphs() {
  Tensor images = input("x", u8, {2, 259, 258}), batch = input("x", u8, {kSize, 259, 258});
  return {
      {"wide_rows", blur_graph(kSize, 2050, u8)},
      {"tall", blur_graph(541, 250, u8)},
      {"images", Graph(blur(images, {2, 257, 256}, 1, 2))},
      {"batch", Graph(blur(batch, {kSize, 257, 256}, 1, 2))},
      {"depthwise", depthwise_twice(8, 64, 4, 8)},
      {"clamped_rows", clamped_chain({kSize, 2050}, 0, u8)},
      {"clamped_tall", clamped_rows(1100, 120)},
      {"spread", spread(1100, 120)},
  };
}

Target small_cache(int cores) {
  Target target = Target::parse("x86-64-v3");
  target.cores = cores;
  target.l2_bytes = 16384;
  return target;
}

}  // namespace emulsion

#include "tests/random/schedule_programs.h"

#include <utility>

#include "dsl/operators.h"

namespace emulsion {
namespace {

const Extent kB = Extent::size("B");

// blur 3x3: a stencil of a stencil, over a run-time number of rows.
Graph blur() {
  Tensor x = input("x", f32, {kB + Extent(2), 11});
  const Axis tall("i", kB + Extent(2)), i("i", kB), j("j", 9);
  Tensor bx = compute("bx", {tall, j}, x(tall, j) + x(tall, Expr(j) + 1) + x(tall, Expr(j) + 2));
  return Graph(compute("y", {i, j}, bx(i, j) + bx(Expr(i) + 1, j) + bx(Expr(i) + 2, j)));
}

// What takes long, and is exact.
Expr quarter(const Expr& value) { return (value + 1.0f) / 4.0f; }

// Four stages in a row, each wider than the next.
Graph stencil_chain() {
  Tensor x = input("x", i32, {kB + Extent(6)});
  Tensor value = x;
  for (int stage = 0; stage < 3; ++stage) {
    const Axis i("i", kB + Extent(4 - 2 * stage));
    const std::string name = stage == 2 ? "y" : std::string(1, static_cast<char>('a' + stage));
    value = compute(name, {i}, value(i) + value(Expr(i) + 1) * 2 - value(Expr(i) + 2));
  }
  return Graph(value);
}

// Neighbours down the rows, along the columns and down the rows twice, those at the border where
// there are none.
Graph clamped_chain() {
  const Axis i("i", kB), j("j", 9);
  const auto inside = [](const Expr& index, const Extent& extent) {
    return min(max(index, 0), extent_value(extent - Extent(1)));
  };
  Tensor value = input("x", i32, {kB, 9});
  for (const char* name : {"a", "b", "c", "y"}) {
    const auto at = [&, columns = *name == 'b'](int distance) {
      return columns ? value(i, inside(j + distance, 9)) : value(inside(i + distance, kB), j);
    };
    value = compute(name, {i, j}, at(-1) - value(i, j) * 2 + at(1));
  }
  return Graph(value);
}

Graph two_layers() {
  Tensor x = input("x", f32, {kB, 5}), b = weight("b", f32, {7});
  Tensor h = relu(add(matmul(x, weight("w1", f32, {5, 7}), "m1"), b, "b1"), "h");
  return Graph(relu(matmul(h, weight("w2", f32, {7, 4}), "m2"), "y"));
}

Graph convolution() {
  Conv2dOptions options;
  options.pad_top = options.pad_left = 1;
  Tensor x = input("x", f32, {kB, 5, 6, 3}), b = weight("b", f32, {4});
  Tensor c = conv2d(x, weight("w", f32, {3, 3, 3, 4}), options, "c");
  return Graph(relu(add(c, b, "cb"), "y"));
}

// The dataflow of a softmax, in whole numbers.
Graph rows() {
  Tensor x = input("x", i32, {kB, 9});
  Tensor top = reduce_max(x, {1}, true, "top");
  Tensor d = sub(x, top, "d");
  return Graph(sub(mul(d, 3, "d3"), sum(d, {1}, true, "s"), "y"));
}

Graph dot() {
  Tensor x = input("x", i32, {kB}), z = input("z", i32, {kB});
  const Axis r("r", kB);
  return Graph(compute("y", {}, sum(r, x(r) * z(r))));
}

// Two reduction axes and two combiners.
Graph two_sums() {
  Tensor x = input("x", f32, {6, 5, 8});
  const Axis m("m", 6), k("k", 5), l("l", 8);
  Tensor s = compute("s", {m}, sum({k, l}, x(m, k, l) * 2.0f));
  Tensor g = compute("g", {m}, reduce_min({k, l}, x(m, k, l) - s(m)));
  return Graph(compute("y", {m}, s(m) + g(m)));
}

Graph transposed() {
  Tensor x = input("x", f32, {6, kB});
  Tensor t = transpose(x, {}, "t");
  Tensor mm = matmul(t, transpose(weight("w", f32, {5, 6}), {}, "wt"), "mm");
  Tensor back = transpose(mm, {}, "back"), v = input("v", f32, {5});
  const Axis i("i0", 5), j("i1", kB);
  return Graph(compute("y", {i, j}, back(i, j) * quarter(v(i))));
}

Graph diamond() {
  Tensor x = input("x", i32, {10, 7});
  const Axis wide("i", 10), i("i", 8), j("j", 7);
  Tensor a = compute("a", {wide, j}, x(wide, j) * 3);
  Tensor left = compute("left", {i, j}, a(i, j) + a(Expr(i) + 2, 6 - Expr(j)));
  Tensor right = compute("right", {i, j}, a(Expr(i) + 1, j) - 1);
  return Graph(compute("y", {i, j}, left(i, j) * right(i, j)));
}

Graph two_outputs() {
  Tensor x = input("x", f32, {kB, 6});
  Tensor a = mul(x, 2, "a");
  const Axis i("i0", kB), j("i1", 6);
  const Tensor v = input("v", f32, {6});
  Tensor p = compute("p", {i, j}, a(i, j) * quarter(v(j)) + 1.0f);
  return Graph({p, sum(a, {1}, false, "q")});
}

// Rows and what is summed up of each, both outputs, and who reads them in the same row and in
// others.
Graph kept_rows() {
  Tensor x = input("x", i32, {kB, 6});
  const Axis i("i", kB), j("j", 6);
  Tensor r = compute("r", {i, j}, x(i, j) * 2 - 1);
  Tensor s = compute("s", {i}, sum(j, r(i, j)));
  Tensor y = compute("y", {i, j}, r(i, j) * 3 - s(i));
  Tensor z = compute("z", {i, j}, r(i, 5 - Expr(j)) + s(i));
  return Graph({y, z, r, s});
}

// Half the resolution and back, minus what it was.
Graph pyramid() {
  Tensor x = input("x", i32, {8, 10});
  const Axis i("i", 8), j("j", 10), hi("i", 4), hj("j", 5);
  Tensor wide = compute("wide", {i, j}, x(i, j) * 2);
  Tensor down =
      compute("down", {hi, hj},
              wide(Expr(hi) * 2, Expr(hj) * 2) + wide(Expr(hi) * 2 + 1, Expr(hj) * 2 + 1));
  Tensor up = compute("up", {i, j}, down(Expr(i) / 2, Expr(j) / 2));
  return Graph(compute("y", {i, j}, wide(i, j) - up(i, j)));
}

Graph pooled() {
  PoolOptions options;
  options.window_h = options.window_w = 2;
  options.stride_h = options.stride_w = 2;
  Tensor x = pad(input("x", f32, {1, 5, 6, 2}), {0, 1, 0, 0}, {0, 0, 2, 0}, 1, "padded");
  return Graph(
      concat({max_pool(x, options, "p"), max_pool(mul(x, -1, "neg"), options, "q")}, 3, "y"));
}

Graph batched() {
  Tensor x = input("x", f32, {3, kB, 4}), z = input("z", f32, {3, 4, 6});
  Tensor mm = matmul(x, z, "mm");
  Tensor top = reduce_max(mm, {2}, true, "top"), v = input("v", f32, {6});
  const Axis b("i0", 3), i("i1", kB), j("i2", 6);
  return Graph(compute("y", {b, i, j}, mm(b, i, j) * quarter(v(j)) + top(b, i, 0)));
}

// A value that two read, one of them only further on.
Graph residual() {
  Tensor x = input("x", f32, {kB, 8});
  Tensor h = relu(x, "h");
  Tensor mm = matmul(h, weight("w", f32, {8, 8}), "mm");
  return Graph(add(mm, h, "y"));
}

std::vector<SizeValues> runs_of(const Graph& graph) {
  if (graph.sizes().empty()) return {{}};
  return {{{"B", 0}}, {{"B", 1}}, {{"B", 5}}, {{"B", 13}}};
}

}  // namespace

const std::vector<ScheduleProgram>& schedule_programs() {
  static const auto* const programs = [] {
    auto* made = new std::vector<ScheduleProgram>;
    const std::vector<std::pair<std::string, Graph>> graphs = {
        {"blur", blur()},
        {"stencil_chain", stencil_chain()},
        {"two_layers", two_layers()},
        {"convolution", convolution()},
        {"rows", rows()},
        {"dot", dot()},
        {"two_sums", two_sums()},
        {"transposed", transposed()},
        {"diamond", diamond()},
        {"two_outputs", two_outputs()},
        {"pyramid", pyramid()},
        {"pooled", pooled()},
        {"batched", batched()},
        {"residual", residual()},
        {"clamped_chain", clamped_chain()},
        {"kept_rows", kept_rows()},
    };
    for (const auto& [name, graph] : graphs) made->push_back({name, graph, runs_of(graph)});
    return made;
  }();
  return *programs;
}

}  // namespace emulsion

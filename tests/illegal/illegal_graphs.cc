#include <functional>
#include <map>
#include <vector>

#include "dsl/error.h"
#include "dsl/operators.h"
#include "tests/illegal/illegal_case.h"

namespace emulsion {
namespace {

// mm = x * w, biased = mm + b, y = max(biased, diagonal of v)
Graph linear(const Extent& rows, DType dtype) {
  const Axis m("m", rows), n("n", 10), k("k", 6);
  Tensor x = input("x", dtype, {rows, 6}), w = weight("w", dtype, {6, 10});
  Tensor b = weight("b", dtype, {10}), v = weight("v", dtype, {10, 10});
  Tensor mm = compute("mm", {m, n}, sum(k, x(m, k) * w(k, n)));
  Tensor biased = compute("biased", {m, n}, mm(m, n) + b(n));
  return Graph(compute("y", {m, n}, max(biased(m, n), v(n, n))));
}

Graph stencil() {
  const Axis wide("i", 9), i("i", 7), j("j", 4);
  Tensor x = input("x", f32, {9, 4});
  Tensor a = compute("a", {wide, j}, x(wide, j) * 2.0f);
  Tensor b = compute("b", {i, j}, a(i, j) + a(Expr(i) + 2, 3 - Expr(j)));
  return Graph(compute("y", {i, j}, b(i, j) + a(Expr(i) + 1, j)));
}

// Every column of y reads the same of a.
Graph rows_and_columns() {
  const Axis wide("i", 9), i("i", 7), j("j", 4);
  Tensor x = input("x", f32, {9, 4});
  Tensor a = compute("a", {wide, j}, x(wide, j) * 2.0f);
  return Graph(compute("y", {i, j}, a(i, 0) + a(Expr(i) + 2, 3) + x(i, j)));
}

Graph repeated() {
  const Axis half("i", 6), i("i", 12);
  Tensor a = compute("a", {half}, input("x", f32, {6})(half) * 2.0f);
  return Graph(compute("y", {i}, a(Expr(i) / 2)));
}

Graph repeated_batch() {
  const Extent size = Extent::size("B");
  const Axis half("i", size + 1), i("i", size * 2);
  Tensor a = compute("a", {half}, input("x", f32, {size + 1})(half) * 2.0f);
  return Graph(compute("y", {i}, a(Expr(i) / 2)));
}

// Two outputs that read the same thing.
Graph diamond() {
  const Axis i("i", 8), j("j", 6);
  Tensor x = input("x", f32, {8, 6});
  Tensor a = compute("a", {i, j}, x(i, j) * 2.0f);
  Tensor p = compute("p", {i, j}, a(i, j) + 1.0f);
  return Graph({p, compute("q", {i, j}, a(i, j) - 1.0f)});
}

// s = sums of the rows, d = x - s, y = the greatest of each row
Graph rows() {
  Tensor x = input("x", i32, {5, 6});
  const Axis m("m", 5), j("j", 6);
  Tensor s = compute("s", {m}, sum(j, x(m, j)));
  Tensor d = compute("d", {m, j}, x(m, j) - s(m));
  return Graph(compute("y", {m}, reduce_max(j, d(m, j))));
}

Graph large() {
  const Axis i("i", 100), j("j", 100);
  Tensor a = compute("a", {i, j}, input("x", f32, {100, 100})(i, j) * 2.0f);
  return Graph(compute("y", {i, j}, a(i, j) + 1.0f));
}

// Wider where it is read than where it is stored.
Graph doubles() {
  const Axis i("i", 20);
  Tensor a = compute("a", {i}, cast(f32, input("x", f64, {20})(i) * 3.0) + 1.0f);
  return Graph(compute("y", {i}, cast(f32, cast(f64, a(i)) / 3.0)));
}

Graph batch_vector() {
  const Extent size = Extent::size("B");
  const Axis i("i", size);
  Tensor a = compute("a", {i}, weight("table", f32, {size})(i) * 2.0f);
  return Graph(compute("y", {i}, a(i) + 1.0f));
}

// Two chains, p -> u and q -> v.
Graph two_chains() {
  const Axis i("i", 8);
  Tensor x = input("x", f32, {8});
  Tensor p = compute("p", {i}, x(i) * 2.0f), q = compute("q", {i}, x(i) * 3.0f);
  return Graph({compute("u", {i}, p(i) + 1.0f), compute("v", {i}, q(i) + 1.0f)});
}

Graph scaled() {
  const Axis i("i", 6);
  const Tensor table = weight("table", f32, {6}), x = input("x", f32, {});
  return Graph(compute("y", {i}, table(i) * x()));
}

// p may be empty. Its first element is read where it is not: in an iteration over the batch, in a
// step of a sum over it, under a condition.
Tensor possibly_empty() {
  const Extent size = Extent::size("B");
  const Axis i("i", size);
  return compute("p", {i}, input("x", f32, {size})(i) * 2.0f);
}

Graph first_in_rows() {
  const Axis m("m", 4), n("n", Extent::size("B"));
  return Graph(compute("y", {m, n}, possibly_empty()(0) + cast(f32, Expr(n))));
}

Graph first_in_sums() {
  const Axis m("m", 4), n("n", Extent::size("B"));
  return Graph(compute("y", {m}, sum(n, possibly_empty()(0) * cast(f32, Expr(n)))));
}

Graph first_if_there() {
  const Axis m("m", 4);
  const Expr size = size_value("B");
  return Graph(compute("y", {m}, select(m < size, possibly_empty()(0), 0.0f)));
}

// There where a stage is computed that does not have the axis that may be empty.
Graph first_in_stages() {
  const Axis m("m", 4), n("n", Extent::size("B"));
  const Tensor q = compute("q", {m}, select(m < size_value("B"), possibly_empty()(0), 0.0f));
  return Graph(compute("y", {m, n}, q(m) + cast(f32, Expr(n))));
}

Graph one_more() {
  const Axis n("n", Extent::size("B") + 1);
  return Graph(compute("y", {n}, select(n < size_value("B"), possibly_empty()(0), 0.0f)));
}

Graph batch_sum() {
  const Extent size = Extent::size("B");
  const Axis r("r", size);
  return Graph(compute("y", {}, sum(r, input("x", i32, {size})(r))));
}

// Rows side by side, of B and of C elements, and 8 more.
Graph joined() {
  const Extent left = Extent::size("B"), right = Extent::size("C");
  const Axis i("i", 3), j("j", left + right + 8);
  const Tensor a = input("a", f32, {3, left}), b = input("b", f32, {3, right + 8});
  const Expr border = extent_value(left), last = extent_value(left - Extent(1));
  return Graph(
      compute("y", {i, j}, select(j < border, a(i, min(Expr(j), last)), b(i, max(j - border, 0)))));
}

// A fused loop of r and s would not fit 32 bits.
Graph pairs() {
  const Axis r("r", 50000), s("s", 50000);
  Tensor x = input("x", f32, {50000});
  return Graph(compute("y", {}, sum({r, s}, x(r) * x(s))));
}

Graph huge() {
  const Axis i("i", 1500000000);
  Tensor x = input("x", bool_, {1500000000});
  return Graph(compute("y", {i}, !x(i)));
}

// y reads a constant, a weight that is named like a packed one, and one shifted by 1.
Graph leaves() {
  const Axis i("i", 2), j("j", 3);
  Tensor c = constant("c", {2, 3}, std::vector<float>(6, 1));
  Tensor b = weight("b", f32, {10}), taken = weight("b_packed", f32, {10});
  Tensor s = weight("s", f32, {10});
  return Graph(compute("y", {i, j}, c(i, j) * b(j) + taken(j) + s(Expr(j) + 1)));
}

}  // namespace

Graph illegal_graph(const std::string& name) {
  static const std::map<std::string, std::function<Graph()>> kGraphs = {
      {"linear", [] { return linear(4, f32); }},
      {"integers", [] { return linear(4, i32); }},
      {"linear_f64", [] { return linear(4, f64); }},
      {"batch", [] { return linear(Extent::size("B"), f32); }},
      {"rows_and_columns", rows_and_columns},
      {"stencil", stencil},
      {"diamond", diamond},
      {"doubles", doubles},
      {"repeated", repeated},
      {"repeated_batch", repeated_batch},
      {"rows", rows},
      {"large", large},
      {"batch_vector", batch_vector},
      {"first_in_rows", first_in_rows},
      {"first_in_sums", first_in_sums},
      {"first_if_there", first_if_there},
      {"first_in_stages", first_in_stages},
      {"one_more", one_more},
      {"two_chains", two_chains},
      {"scaled", scaled},
      {"batch_sum", batch_sum},
      {"joined", joined},
      {"pairs", pairs},
      {"huge", huge},
      {"leaves", leaves},
  };
  auto found = kGraphs.find(name);
  EMULSION_CHECK(found != kGraphs.end(), "no graph {}", name);
  return found->second();
}

}  // namespace emulsion

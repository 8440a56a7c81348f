#include "benchmarks/peers/halide_memory_bound.h"

#include <string>
#include <tuple>
#include <vector>

#include "Halide.h"
#include "benchmarks/peers/halide_code.h"
#include "benchmarks/peers/halide_peer.h"

namespace emulsion::benchmarks {
namespace {

using Halide::Var;

// Arrays: of the parameters, then of y.
template <typename... Arrays>
std::function<void()> compiled(const std::string& what, Halide::Func y,
                               const std::vector<Halide::Argument>& parameters,
                               const Target& target, const Arrays&... arrays) {
  const Halide::Callable kernel =
      y.compile_to_callable(parameters, Halide::Target(target.to_string()));
  return [what, kernel, arrays = std::make_tuple(arrays...)] {
    running_halide(what, [&] { return std::apply(kernel, arrays); });
  };
}

}  // namespace

std::function<void()> halide_transpose(int rows, int columns, const Target& target, const float* x,
                                       float* y) {
  std::function<void()> kernel;
  calling_halide("the transpose", [&] {
    constexpr int kTile = 64;
    const int lanes = static_cast<int>(target.vector_lanes(f32));
    Halide::ImageParam from(Halide::Float(32), 2, "from");
    Halide::Func block("block"), turned("turned"), to("to");
    Var i("i"), j("j"), io("io"), jo("jo"), ii("ii"), ji("ji");
    block(i, j) = from(i, j);
    turned(i, j) = block(j, i);
    to(i, j) = turned(i, j);
    to.tile(i, j, io, jo, i, j, kTile, kTile).parallel(jo);
    to.tile(i, j, ii, ji, lanes, lanes).vectorize(ii).unroll(ji);
    block.compute_at(to, i).vectorize(i).unroll(j);
    turned.compute_at(to, i).vectorize(j).unroll(i);
    expect_dense(from, {columns, rows});
    expect_dense(to.output_buffer(), {rows, columns});
    kernel = compiled("the transpose", to, {from}, target, dense(x, {columns, rows}),
                      dense(y, {rows, columns}));
  });
  return kernel;
}

std::function<void()> halide_matrix_vector(int rows, int columns, const Target& target,
                                           const float* x, const float* v, float* y) {
  std::function<void()> kernel;
  calling_halide("the product with a vector", [&] {
    constexpr int kRows = 4, kTask = 32;
    const int lanes = static_cast<int>(target.vector_lanes(f32));
    Halide::ImageParam matrix(Halide::Float(32), 2, "matrix");
    Halide::ImageParam vector(Halide::Float(32), 1, "vector");
    Halide::Func sums("sums"), sum("sum"), product("product");
    Var m("m"), lane("lane"), task("task"), tile("tile"), row("row");
    Halide::RDom k(0, columns / lanes, "k"), l(0, lanes, "l");
    sums(lane, m) = 0.0F;
    sums(lane, m) += matrix(k * lanes + lane, m) * vector(k * lanes + lane);
    sum(m) = 0.0F;
    sum(m) += sums(l, m);
    product(m) = sum(m);
    product.split(m, task, m, kTask).split(m, tile, row, kRows).parallel(task).unroll(row);
    sum.compute_at(product, tile).unroll(m).update().atomic().vectorize(l).unroll(m);
    sums.compute_at(product, tile).vectorize(lane).unroll(m);
    sums.update().reorder(lane, m, k).vectorize(lane).unroll(m);
    expect_dense(matrix, {columns, rows});
    expect_dense(vector, {columns});
    expect_dense(product.output_buffer(), {rows});
    kernel = compiled("the product with a vector", product, {matrix, vector}, target,
                      dense(x, {columns, rows}), dense(v, {columns}), dense(y, {rows}));
  });
  return kernel;
}

}  // namespace emulsion::benchmarks

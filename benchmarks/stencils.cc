// What derived schedules gain by keeping the rows that a stencil reads in windows that slide: the
// kernel as derived beside the same operations one after the other, each in vectors and shared by
// the threads, as they are derived operator by operator.

#include <string>
#include <vector>

#include "benchmarks/nest_kernel.h"
#include "dsl/operators.h"
#include "passes/pipeline.h"

namespace emulsion::benchmarks {
namespace {

constexpr char kMeasures[] =
    "Measures chains of stencils over 4096 x 2880 pixels, and of depthwise convolutions and\n"
    "poolings over 4 images of 256 x 256 x 32, as derived, with windows that slide, against the\n"
    "same operations breadth first.";

constexpr int kRows = 2880, kColumns = 4096;

// Three neighbours of t along the rows (0) or the columns (1), weighed.
Tensor smoothed(const std::string& name, const Tensor& t, int rows, size_t along) {
  const Axis i("i", rows), j("j", kColumns);
  auto neighbour = [&](int distance) {
    return along == 0 ? t(i + distance, j) : t(i, j + distance);
  };
  return compute(name, {i, j},
                 neighbour(0) + neighbour(1) * cast(t.dtype(), Expr(2)) + neighbour(2));
}

Graph blur(DType dtype) {
  Tensor x = input("x", dtype, {kRows + 2, kColumns + 2});
  return Graph(smoothed("y", smoothed("bx", x, kRows + 2, 1), kRows, 0));
}

// The blur, and then how much a row differs from the one below.
Graph edges(DType dtype) {
  Tensor x = input("x", dtype, {kRows + 3, kColumns + 2});
  Tensor by = smoothed("by", smoothed("bx", x, kRows + 3, 1), kRows + 1, 0);
  const Axis i("i", kRows), j("j", kColumns);
  return Graph(compute("y", {i, j}, by(i + 1, j) - by(i, j)));
}

// Every second row of the blur.
Graph halved(DType dtype) {
  Tensor x = input("x", dtype, {kRows + 1, kColumns + 2});
  Tensor bx = smoothed("bx", x, kRows + 1, 1);
  const Axis i("i", kRows / 2), j("j", kColumns);
  return Graph(compute("y", {i, j}, bx(i * 2, j) + bx(i * 2 + 1, j) + bx(i * 2 + 2, j)));
}

// What the blur takes away: what is smoothed along the columns has two readers.
Graph details(DType dtype) {
  Tensor x = input("x", dtype, {kRows + 2, kColumns + 2});
  Tensor bx = smoothed("bx", x, kRows + 2, 1), by = smoothed("by", bx, kRows, 0);
  const Axis i("i", kRows), j("j", kColumns);
  return Graph(compute("y", {i, j}, bx(i + 1, j) * 4 - by(i, j)));
}

// Down the rows, along the columns and down the rows of a picture as large as the result: where
// there is no neighbour, the border is taken.
Graph clamped() {
  const Axis i("i", kRows), j("j", kColumns);
  const auto stencil = [&](const std::string& name, const Tensor& t, bool down) {
    const auto neighbour = [&](int distance) {
      return down ? t(min(max(i + distance, 0), kRows - 1), j)
                  : t(i, min(max(j + distance, 0), kColumns - 1));
    };
    return compute(name, {i, j}, neighbour(-1) + t(i, j) * 2.0F + neighbour(1));
  };
  Tensor x = input("x", f32, {kRows, kColumns});
  return Graph(stencil("y", stencil("t", stencil("s", x, true), false), true));
}

constexpr int kImages = 4, kHeight = 256, kWidth = 256, kChannels = 32;

// 3 x 3 of each channel by itself.
Tensor depthwise(const std::string& name, const Tensor& x, int stride) {
  Conv2dOptions options;
  options.groups = kChannels;
  options.stride_h = options.stride_w = stride;
  return conv2d(x, weight(name + "_weight", f32, {3, 3, 1, kChannels}), options, name);
}

// A second one behind it with that stride.
Graph depthwise_twice(int stride) {
  Tensor x = input("x", f32, {kImages, kHeight + 4, kWidth + 4, kChannels});
  return Graph(depthwise("y", depthwise("dw", x, 1), stride));
}

Graph depthwise_pooled(int window, int stride) {
  Tensor x = input("x", f32, {kImages, kHeight + window, kWidth + window, kChannels});
  PoolOptions options;
  options.window_h = options.window_w = window;
  options.stride_h = options.stride_w = stride;
  return Graph(max_pool(depthwise("dw", x, 1), options, "y"));
}

// `pixels`: of what is computed first.
void add_stencils(const std::string& name, const Graph& graph, double pixels,
                  std::vector<Comparison>* all) {
  const Target target = Target::host();
  DeriveOptions one_by_one;
  one_by_one.fuse = false;
  const Values values = values_of(graph);
  Comparison chain{name, "Mpixel/s", pixels * 1e-6};
  chain.emulsion.call = kernel_call(run_pipeline(graph, target).nest, values);
  chain.peers.push_back(
      {"breadth first", kernel_call(run_pipeline(graph, target, one_by_one).nest, values)});
  add_on_one_and_all_threads(chain, values, all);
}

Report run(const ProgramOptions& options) {
  std::vector<Comparison> all;
  constexpr double kPicture = double{kRows} * kColumns;
  add_stencils("blur_u16", blur(u16), kPicture, &all);
  add_stencils("blur_f32", blur(f32), kPicture, &all);
  add_stencils("edges_f32", edges(f32), kPicture, &all);
  add_stencils("halved_f32", halved(f32), kPicture, &all);
  add_stencils("details_f32", details(f32), kPicture, &all);
  add_stencils("clamped_f32", clamped(), kPicture, &all);
  constexpr double kAllImages = double{kImages} * kHeight * kWidth;
  add_stencils("depthwise_twice", depthwise_twice(1), kAllImages, &all);
  add_stencils("depthwise_strided", depthwise_twice(2), kAllImages, &all);
  add_stencils("depthwise_pooled_2", depthwise_pooled(2, 2), kAllImages, &all);
  add_stencils("depthwise_pooled_3", depthwise_pooled(3, 2), kAllImages, &all);
  return {measure(all, options)};
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  using namespace emulsion::benchmarks;
  return run_program(argc, argv, {"stencils", kMeasures, "--quick --json=/tmp/stencils.json", run});
}

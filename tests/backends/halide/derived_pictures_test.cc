// Pictures whose colours are too few for a vector: derived schedules put vectors across the pixels,
// and the kernels compute what the graph says, at every size.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "dsl/operators.h"
#include "passes/pipeline.h"
#include "tests/backends/halide/nest_cases.h"

namespace emulsion {
namespace {

const Extent kBatch = Extent::size("B");

Expr blurred_row(const Tensor& picture, const Axis& y, const Axis& x, const Axis& c) {
  return (picture.at({y, x, c}) + picture.at({y, Expr(x) + 1, c})) / 2;
}

std::vector<GraphCase> pictures(int colours) {
  std::vector<GraphCase> cases;
  const Axis y("y", 5), x("x", kBatch), c("c", colours), k("k", 3);
  Tensor bytes = input("bytes", u8, {5, kBatch, colours});
  Tensor floats = input("floats", f32, {5, kBatch, colours});
  Tensor grey = input("grey", f32, {5, kBatch}), gains = input("gains", f32, {colours});
  cases.push_back({"gains", compute("out", {y, x, c}, floats(y, x, c) * gains(c) + grey(y, x))});
  cases.push_back({"bytes", compute("out", {y, x, c},
                                    cast(u8, cast(f32, bytes(y, x, c)) + grey(y, x) * 0.5f))});
  Tensor planes = input("planes", u8, {colours, 5, kBatch});
  cases.push_back({"from_planes", transpose(planes, {1, 2, 0})});
  cases.push_back({"mirrored", compute("out", {y, x, c},
                                       bytes.at({y, extent_value(kBatch) - 1 - Expr(x), c}))});
  Tensor wide = input("wide", u8, {5, kBatch + Extent(2), colours});
  cases.push_back({"blur", compute("out", {y, x, c}, blurred_row(wide, y, x, c))});
  cases.push_back(
      {"largest", compute("out", {y, x, c}, reduce_max(k, wide.at({y, Expr(x) + Expr(k), c})))});
  cases.push_back({"points", relu(input("points", f32, {kBatch, colours}))});
  cases.push_back({"frames", sum(floats, {0})});
  return cases;
}

class DerivedPictures : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(DerivedPictures, AreWhatTheGraphSays) {
  const auto [colours, cores] = GetParam();
  Target target = Target::host();
  target.cores = cores;
  for (const auto& [name, graph] : pictures(colours)) {
    SCOPED_TRACE(name);
    expect_same_as_graph(graph, run_pipeline(graph, target).nest, {0, 1, 7, 64, 67}, 2e-6, target);
  }
}

INSTANTIATE_TEST_SUITE_P(Colours, DerivedPictures,
                         testing::Values(std::pair(1, 1), std::pair(2, 1), std::pair(3, 1),
                                         std::pair(4, 1), std::pair(3, 4)));

}  // namespace
}  // namespace emulsion

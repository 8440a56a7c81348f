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
    "Measures chains of stencils over 4096 x 2880 pixels as derived, with windows that slide,\n"
    "against the same operations breadth first.";

constexpr int kRows = 2880, kColumns = 4096;

// Three neighbours of t along the rows (0) or the columns (1), weighed.
Tensor smoothed(const std::string& name, const Tensor& t, int rows, size_t along) {
  const Axis i("i", rows), j("j", kColumns);
  auto neighbour = [&](int distance) {
    return along == 0 ? t.at({Expr(i) + distance, j}) : t.at({i, Expr(j) + distance});
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
  return Graph(compute("y", {i, j}, by.at({Expr(i) + 1, j}) - by(i, j)));
}

void add_stencils(const std::string& name, const Graph& graph, std::vector<Comparison>* all) {
  const Target target = Target::host();
  DeriveOptions one_by_one;
  one_by_one.fuse = false;
  const Values values = values_of(graph);
  Comparison chain{name, "Mpixel/s", double{kRows} * kColumns * 1e-6};
  chain.emulsion.call = kernel_call(run_pipeline(graph, target).nest, values);
  chain.peers.push_back(
      {"breadth first", kernel_call(run_pipeline(graph, target, one_by_one).nest, values)});
  add_on_one_and_all_threads(chain, values, all);
}

Report run(const ProgramOptions& options) {
  std::vector<Comparison> all;
  add_stencils("blur_u16", blur(u16), &all);
  add_stencils("blur_f32", blur(f32), &all);
  add_stencils("edges_f32", edges(f32), &all);
  return {measure(all, options)};
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  using namespace emulsion::benchmarks;
  return run_program(argc, argv, {"stencils", kMeasures, "--quick --json=/tmp/stencils.json", run});
}

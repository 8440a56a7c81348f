// What derived schedules gain by copying the second operand of a product of two inputs by panels:
// the kernel as derived beside the same schedule without the copies, and beside the same product
// with a weight that was packed before, which is as fast as a copy can get.

#include <fmt/format.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/halide/jit.h"
#include "backends/interpreter/interpret_nest.h"
#include "backends/interpreter/tensor_value.h"
#include "benchmarks/halide_peer.h"
#include "benchmarks/progress.h"
#include "benchmarks/side_by_side_benchmarks.h"
#include "dsl/error.h"
#include "dsl/operators.h"
#include "passes/pipeline.h"

namespace emulsion::benchmarks {
namespace {

constexpr char kHelp[] =
    "Measures products of two inputs as derived, which copies panels of the second one, against\n"
    "the same without the copies and against a weight that was packed before. Prints the table as\n"
    "text and as JSON; losses come first.\n"
    "\n"
    "  bazel run -c opt //benchmarks:products -- --quick --json=/tmp/products.json\n"
    "\n";

using Call = std::function<void()>;
// By name, of both kernels of a pair: so neither has the better place in memory.
using Values = std::shared_ptr<TensorValues>;

LoopNest derived(const Graph& graph) { return run_pipeline(graph, Target::host()).nest; }

Schedule without_copies(const Schedule& schedule) {
  std::set<std::string> copies;
  for (const auto& [name, stage] : schedule.stages()) {
    for (const Directive& d : stage.directives()) {
      if (d.kind == DirectiveKind::copy_in) copies.insert(d.target);
    }
  }
  Schedule rest(schedule.graph());
  for (const auto& [name, stage] : schedule.stages()) {
    if (copies.count(name)) continue;
    for (const Directive& d : stage.directives()) {
      if (d.kind != DirectiveKind::copy_in) rest[name].add(d);
    }
  }
  return rest;
}

// Small whole numbers, of which no order of summation rounds, and room for y.
Values values_of(const Graph& graph) {
  auto values = std::make_shared<TensorValues>();
  uint64_t seed = 0;
  auto shape_of = [](const OpPtr& op) {
    std::vector<int64_t> shape;
    for (const Extent& extent : op->shape) shape.push_back(extent.evaluate({}));
    return shape;
  };
  for (const OpPtr& op : graph.arguments()) {
    values->emplace(op->name, random_integers(op->dtype, shape_of(op), ++seed));
  }
  for (const OpPtr& op : graph.outputs()) {
    values->emplace(op->name, zeros(op->dtype, shape_of(op)));
  }
  return values;
}

// Weights are packed now.
Call emulsion_kernel(const LoopNest& nest, const Values& values) {
  for (auto& [name, value] : apply_packs(nest, *values)) values->emplace(name, value);
  std::map<std::string, JitBuffer> buffers;
  for (const Buffer* argument : nest.arguments()) {
    TensorValue& value = values->at(argument->name);
    buffers[argument->name] = {value.dtype, value.shape, value.bytes.data()};
  }
  return [kernel = JitKernel(nest), buffers, values] { kernel.run(buffers); };
}

// Error: they make different ys.
KernelPair pair_of(const std::string& name, const std::string& peer, double flops, Call emulsion,
                   Call call_peer, const Values& values) {
  announce(fmt::format("comparing {} with {}", name, peer));
  TensorValue& y = values->at("y");
  call_peer();
  const TensorValue expected = y;
  fill_with_poison(&y);
  emulsion();
  const auto difference = first_difference(expected, y);
  if (difference) fail("{} and {} differ: {}", name, peer, *difference);
  return {name,
          peer,
          "GF/s",
          flops * 1e-9,
          [] { set_halide_threads(HalideThreads::all); },
          std::move(emulsion),
          std::move(call_peer)};
}

// x[m, k] * w[n, k], as attention's scores.
Tensor scores(const Tensor& x, const Tensor& w) {
  const Axis m("m", x.shape()[0]), n("n", w.shape()[0]), k("k", x.shape()[1]);
  return compute("y", {m, n}, sum(k, x(m, k) * w(n, k)));
}

void add_without_copies(const std::string& name, const Graph& graph, double flops,
                        std::vector<KernelPair>* pairs) {
  const Values values = values_of(graph);
  const LoopNest in_place =
      run_pipeline(graph, without_copies(run_pipeline(graph, Target::host()).schedule));
  pairs->push_back(pair_of(name + "/in_place", "the same without copies", flops,
                           emulsion_kernel(derived(graph), values),
                           emulsion_kernel(in_place, values), values));
}

void add_packed_before(const std::string& name, int64_t n, double flops,
                       std::vector<KernelPair>* pairs) {
  const Tensor x = input("x", f32, {n, n});
  const Graph graph(matmul(x, input("w", f32, {n, n}), "y"));
  const Graph weighed(matmul(x, weight("w", f32, {n, n}), "y"));
  const Values values = values_of(graph);
  pairs->push_back(pair_of(name + "/packed", "a packed weight", flops,
                           emulsion_kernel(derived(graph), values),
                           emulsion_kernel(derived(weighed), values), values));
}

int run(const ProgramOptions& options) {
  check_writable(options);
  std::vector<KernelPair> pairs;
  for (int64_t n : {256, 512, 1024, 2048}) {
    const Tensor x = input("x", f32, {n, n}), w = input("w", f32, {n, n});
    const double flops = 2.0 * static_cast<double>(n * n * n);
    add_without_copies(fmt::format("by_rows/{}", n), Graph(matmul(x, w, "y")), flops, &pairs);
    add_packed_before(fmt::format("by_rows/{}", n), n, flops, &pairs);
    if (n == 512) {
      add_without_copies(fmt::format("by_columns/{}", n), Graph(scores(x, w)), flops, &pairs);
    }
  }
  const std::vector<SideBySide> all = measure_side_by_side(pairs, options);
  return report(options, report_text(all), report_json(all));
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  return emulsion::benchmarks::run_program(argc, argv, "products", emulsion::benchmarks::kHelp,
                                           emulsion::benchmarks::run);
}

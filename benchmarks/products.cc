// Kernels as derived, each beside the best peer there is: a transpose, a product with a transposed
// weight, one with a vector and attention's scores beside Halide, scheduled by hand; and products
// of two inputs, whose derived schedule copies the second one by panels, beside the same schedule
// without the copies and beside a weight that was packed before, which is as fast as a copy can
// get.

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/interpreter/tensor_value.h"
#include "benchmarks/halide_matmul.h"
#include "benchmarks/halide_memory_bound.h"
#include "benchmarks/hand_schedules.h"
#include "benchmarks/nest_pair.h"
#include "benchmarks/side_by_side_benchmarks.h"
#include "dsl/operators.h"
#include "passes/pipeline.h"

namespace emulsion::benchmarks {
namespace {

constexpr char kHelp[] =
    "Measures kernels as derived: a transpose, a product with a transposed weight, one with a "
    "vector\n"
    "and attention's scores against Halide, scheduled by hand; products of two inputs, of which "
    "the\n"
    "second is copied by panels, against the same without the copies and against a weight that "
    "was\n"
    "packed before. Prints the table as text and as JSON; losses come first.\n"
    "\n"
    "  bazel run -c opt //benchmarks:products -- --quick --json=/tmp/products.json\n"
    "\n";

using Call = std::function<void()>;

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

// x[m, k] * w[n, k], as attention's scores.
Tensor scores(const Tensor& x, const Tensor& w) {
  const Axis m("m", x.shape()[0]), n("n", w.shape()[0]), k("k", x.shape()[1]);
  return compute("y", {m, n}, sum(k, x(m, k) * w(n, k)));
}

double gigaflops(int64_t m, int64_t n, int64_t k) { return 2e-9 * static_cast<double>(m * n * k); }

void add_without_copies(const std::string& name, const Graph& graph, double work,
                        std::vector<KernelPair>* pairs) {
  const Values values = values_of(graph);
  KernelPair pair{name + "/in_place", "the same without copies", "GF/s", work};
  pair.emulsion = emulsion_kernel(derived(graph), values);
  const Schedule rest = without_copies(run_pipeline(graph, Target::host()).schedule);
  pair.call_peer = emulsion_kernel(run_pipeline(graph, rest), values);
  add(std::move(pair), values, pairs);
}

void add_packed_before(int64_t n, std::vector<KernelPair>* pairs) {
  const Tensor x = input("x", f32, {n, n});
  const Graph graph(matmul(x, input("w", f32, {n, n}), "y"));
  const Graph weighed(matmul(x, weight("w", f32, {n, n}), "y"));
  const Values values = values_of(graph);
  KernelPair pair{fmt::format("by_rows/{}/packed", n), "a packed weight", "GF/s",
                  gigaflops(n, n, n)};
  pair.emulsion = emulsion_kernel(derived(graph), values);
  pair.call_peer = emulsion_kernel(derived(weighed), values);
  add(std::move(pair), values, pairs);
}

// w[n, k] as the packed weight of HalideMatmul.
TensorValue panels_of(const TensorValue& w, int64_t columns) {
  const int64_t n = w.shape[0], depth = w.shape[1];
  TensorValue panels = zeros(f32, {n / columns, depth, columns});
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < depth; ++k) {
      panels.data<float>()[(i / columns * depth + k) * columns + i % columns] =
          w.data<float>()[i * depth + k];
    }
  }
  return panels;
}

// A graph's derived kernel against what `make_peer` makes of its values.
void add_against_halide(const std::string& name, const Graph& graph, const std::string& unit,
                        double work, const std::function<Call(TensorValues*)>& make_peer,
                        std::vector<KernelPair>* pairs) {
  const Values values = values_of(graph);
  KernelPair pair{name, "Halide by hand", unit, work};
  pair.call_peer = make_peer(values.get());
  pair.emulsion = emulsion_kernel(derived(graph), values);
  add(std::move(pair), values, pairs);
}

float* data_of(TensorValues* values, const std::string& name) {
  return values->at(name).data<float>();
}

// x[m, k] * w[n, k]
Call halide_product(int m, int n, int k, WeightLayout layout, TensorValues* values,
                    const std::string& w) {
  const Target target = Target::host();
  auto product = std::make_shared<HalideMatmul>(m, n, k, layout, matmul_tile(target), target,
                                                data_of(values, "x"), data_of(values, w),
                                                data_of(values, "y"));
  return [product] { product->run(); };
}

void add_transpose(int n, std::vector<KernelPair>* pairs) {
  add_against_halide(
      fmt::format("transpose/{}", n), Graph(transpose(input("x", f32, {n, n}), {}, "y")), "GB/s",
      8e-9 * n * n,
      [n](TensorValues* values) {
        return halide_transpose(n, n, Target::host(), data_of(values, "x"), data_of(values, "y"));
      },
      pairs);
}

void add_transposed_weight(int n, std::vector<KernelPair>* pairs) {
  const Tensor w = weight("w", f32, {n, n});
  add_against_halide(
      fmt::format("transposed_weight/{}", n),
      Graph(matmul(input("x", f32, {n, n}), transpose(w), "y")), "GF/s", gigaflops(n, n, n),
      [n](TensorValues* values) {
        const int64_t columns = matmul_tile(Target::host()).columns;
        values->emplace("panels", panels_of(values->at("w"), columns));
        return halide_product(n, n, n, WeightLayout::packed, values, "panels");
      },
      pairs);
}

void add_matrix_vector(int n, std::vector<KernelPair>* pairs) {
  add_against_halide(
      fmt::format("matrix_vector/{}", n),
      Graph(matmul(input("x", f32, {n, n}), input("v", f32, {n}), "y")), "GB/s", 4e-9 * n * n,
      [n](TensorValues* values) {
        return halide_matrix_vector(n, n, Target::host(), data_of(values, "x"),
                                    data_of(values, "v"), data_of(values, "y"));
      },
      pairs);
}

void add_scores(int m, int k, int n, std::vector<KernelPair>* pairs) {
  add_against_halide(
      fmt::format("scores/{}x{}x{}", m, k, n),
      Graph(scores(input("x", f32, {m, k}), input("w", f32, {n, k}))), "GF/s", gigaflops(m, n, k),
      [=](TensorValues* values) {
        return halide_product(m, n, k, WeightLayout::by_columns, values, "w");
      },
      pairs);
}

int run(const ProgramOptions& options) {
  check_writable(options);
  std::vector<KernelPair> pairs;
  add_transpose(2048, &pairs);
  add_transposed_weight(1024, &pairs);
  add_matrix_vector(4096, &pairs);
  add_scores(1024, 64, 1024, &pairs);
  for (int64_t n : {256, 512, 1024, 2048}) {
    const Graph graph(matmul(input("x", f32, {n, n}), input("w", f32, {n, n}), "y"));
    add_without_copies(fmt::format("by_rows/{}", n), graph, gigaflops(n, n, n), &pairs);
    add_packed_before(n, &pairs);
  }
  const Graph by_columns(scores(input("x", f32, {512, 512}), input("w", f32, {512, 512})));
  add_without_copies("by_columns/512", by_columns, gigaflops(512, 512, 512), &pairs);
  const std::vector<SideBySide> all = measure_side_by_side(pairs, options);
  return report(options, report_text(all), report_json(all));
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  return emulsion::benchmarks::run_program(argc, argv, "products", emulsion::benchmarks::kHelp,
                                           emulsion::benchmarks::run);
}

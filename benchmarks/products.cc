// Kernels as derived, each beside the best peer there is: a transpose, a product with a transposed
// weight, one with a vector and attention's scores beside Halide, scheduled by hand; and products
// of two inputs, whose derived schedule copies the second one by panels, beside the same schedule
// without the copies and beside a weight that was packed before, which is as fast as a copy can
// get; attention, which reads through its reshapes and transposes, beside the same that stores
// them; products of run-time sizes beside the same with numbers, and of few columns beside the same
// padded to a vector; and a product whose weight comes from memory, each panel of it for all rows,
// beside the same that goes through all panels for each tile of rows.

#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/interpreter/tensor_value.h"
#include "benchmarks/nest_kernel.h"
#include "benchmarks/peers/halide_matmul.h"
#include "benchmarks/peers/halide_memory_bound.h"
#include "benchmarks/peers/hand_schedules.h"
#include "dsl/operators.h"
#include "passes/pipeline.h"

namespace emulsion::benchmarks {
namespace {

constexpr char kMeasures[] =
    "Measures kernels as derived. A transpose, a product with a transposed weight, one with a "
    "vector\n"
    "and attention's scores stand against Halide, scheduled by hand. Products of two inputs, of "
    "which\n"
    "the second is copied by panels, stand against the same without the copies and against a "
    "weight\n"
    "that was packed before; attention, which reads through its transposes, against storing them;\n"
    "products of run-time sizes against the same with numbers, and those of\n"
    "few columns against as many as a vector holds. A weight that comes from memory is read once,\n"
    "against once for each tile of rows.";

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
                        std::vector<Comparison>* all) {
  const Values values = values_of(graph);
  Comparison one{name + "/in_place", "GF/s", work};
  one.emulsion.call = kernel_call(derived(graph), values);
  const Schedule rest = without_copies(run_pipeline(graph, Target::host()).schedule);
  one.peers.push_back({"the same without copies", kernel_call(run_pipeline(graph, rest), values)});
  add(std::move(one), values, all);
}

void add_packed_before(int64_t n, std::vector<Comparison>* all) {
  const Tensor x = input("x", f32, {n, n});
  const Graph graph(matmul(x, input("w", f32, {n, n}), "y"));
  const Graph weighed(matmul(x, weight("w", f32, {n, n}), "y"));
  const Values values = values_of(graph);
  Comparison one{fmt::format("by_rows/{}/packed", n), "GF/s", gigaflops(n, n, n)};
  one.emulsion.call = kernel_call(derived(graph), values);
  one.peers.push_back({"a packed weight", kernel_call(derived(weighed), values)});
  add(std::move(one), values, all);
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
                        double work, const std::function<Call(KernelValues*)>& make_peer,
                        std::vector<Comparison>* all) {
  const Values values = values_of(graph);
  Comparison one{name, unit, work};
  one.peers.push_back({"Halide by hand", make_peer(values.get())});
  one.emulsion.call = kernel_call(derived(graph), values);
  add(std::move(one), values, all);
}

// x[m, k] * w[n, k]
Call halide_product(int m, int n, int k, WeightLayout layout, KernelValues* values,
                    const std::string& w) {
  const Target target = Target::host();
  auto product = std::make_shared<HalideMatmul>(m, n, k, layout, matmul_tile(target), target,
                                                values->data<float>("x"), values->data<float>(w),
                                                values->data<float>("y"));
  return [product] { product->run(); };
}

void add_transpose(int n, std::vector<Comparison>* all) {
  add_against_halide(
      fmt::format("transpose/{}", n), Graph(transpose(input("x", f32, {n, n}), {}, "y")), "GB/s",
      8e-9 * n * n,
      [n](KernelValues* values) {
        return halide_transpose(n, n, Target::host(), values->data<float>("x"),
                                values->data<float>("y"));
      },
      all);
}

void add_transposed_weight(int n, std::vector<Comparison>* all) {
  const Tensor w = weight("w", f32, {n, n});
  add_against_halide(
      fmt::format("transposed_weight/{}", n),
      Graph(matmul(input("x", f32, {n, n}), transpose(w), "y")), "GF/s", gigaflops(n, n, n),
      [n](KernelValues* values) {
        const int64_t columns = matmul_tile(Target::host()).columns;
        values->by_name.emplace("panels", panels_of(values->by_name.at("w"), columns));
        return halide_product(n, n, n, WeightLayout::packed, values, "panels");
      },
      all);
}

void add_matrix_vector(int n, std::vector<Comparison>* all) {
  add_against_halide(
      fmt::format("matrix_vector/{}", n),
      Graph(matmul(input("x", f32, {n, n}), input("v", f32, {n}), "y")), "GB/s", 4e-9 * n * n,
      [n](KernelValues* values) {
        return halide_matrix_vector(n, n, Target::host(), values->data<float>("x"),
                                    values->data<float>("v"), values->data<float>("y"));
      },
      all);
}

void add_scores(int m, int k, int n, std::vector<Comparison>* all) {
  add_against_halide(
      fmt::format("scores/{}x{}x{}", m, k, n),
      Graph(scores(input("x", f32, {m, k}), input("w", f32, {n, k}))), "GF/s", gigaflops(m, n, k),
      [=](KernelValues* values) {
        return halide_product(m, n, k, WeightLayout::by_columns, values, "w");
      },
      all);
}

// The same product with its columns, or all its extents, of a run-time size, and with numbers.
void add_run_time_sizes(const std::string& name, int64_t m, int64_t k, int64_t n, bool all_sizes,
                        std::vector<Comparison>* all) {
  const Extent rows = all_sizes ? Extent::size("M") : Extent(m);
  const Extent depth = all_sizes ? Extent::size("K") : Extent(k);
  const Graph sizes(
      matmul(input("x", f32, {rows, depth}), input("w", f32, {depth, Extent::size("N")}), "y"));
  const Graph numbers(matmul(input("x", f32, {m, k}), input("w", f32, {k, n}), "y"));
  const Values values = values_of(numbers);
  Comparison one{fmt::format("{}/{}x{}x{}", name, m, k, n), "GF/s", gigaflops(m, n, k)};
  one.emulsion.call = kernel_call(derived(sizes), values);
  one.peers.push_back({"extents that are numbers", kernel_call(derived(numbers), values)});
  add(std::move(one), values, all);
}

// A product of few columns, and the same with as many columns as a vector has lanes, of which the
// first are taken: what padding would cost.
void add_few_columns(int64_t m, int64_t k, int64_t n, std::vector<Comparison>* all) {
  const int64_t lanes = Target::host().vector_lanes(f32);
  const Tensor x = input("x", f32, {m, k});
  const Graph graph(matmul(x, input("w", f32, {k, n}), "y"));
  const Graph padded(slice(matmul(x, pad(input("w", f32, {k, n}), {0, 0}, {0, lanes - n}), "mm"),
                           {0, 0}, {m, n}, {1, 1}, "y"));
  const Values values = values_of(graph);
  Comparison one{fmt::format("few_columns/{}x{}x{}", m, k, n), "GF/s", gigaflops(m, n, k)};
  one.emulsion.call = kernel_call(derived(graph), values);
  one.peers.push_back({"columns padded to a vector", kernel_call(derived(padded), values)});
  add(std::move(one), values, all);
}

// On one thread: each panel is in L2 for all tiles of rows but the first. The peer has these two
// loops the other way around.
void add_panels_from_memory(int64_t m, int64_t k, int64_t n, std::vector<Comparison>* all) {
  Target target = Target::host();
  target.cores = 1;
  const Graph graph(matmul(input("x", f32, {m, k}), weight("w", f32, {k, n}), "y"));
  const Schedule by_panels = run_pipeline(graph, target).schedule;
  Schedule by_rows(graph);
  const std::map<std::string, std::string> others = {{"panel", "tile"}, {"tile", "panel"}};
  for (const auto& [name, stage] : by_panels.stages()) {
    for (Directive d : stage.directives()) {
      const bool says_order =
          d.kind == DirectiveKind::reorder || d.kind == DirectiveKind::compute_at;
      for (std::string& loop : d.axes) {
        if (says_order && others.count(loop) > 0) loop = others.at(loop);
      }
      by_rows[name].add(std::move(d));
    }
  }
  const Values values = values_of(graph);
  Comparison one{fmt::format("panels_from_memory/{}x{}x{}", m, k, n), "GF/s", gigaflops(m, n, k)};
  one.emulsion.call = kernel_call(run_pipeline(graph, by_panels), values);
  one.peers.push_back(
      {"all panels for each tile of rows", kernel_call(run_pipeline(graph, by_rows), values)});
  add_on_one_thread(one, values, 0, all);
}

// Self-attention, as frameworks write it, and the reshapes and transposes in it.
struct Attention {
  Tensor said;
  std::vector<Tensor> moves;
};

Attention attention(int batch, int steps, int heads, int depth) {
  const int width = heads * depth;
  const Tensor x = input("x", f32, {batch * steps, width});
  std::vector<Tensor> moves;
  const auto moved = [&](const Tensor& move) { return moves.emplace_back(move); };
  const auto in_heads = [&](const char* name) {
    const Tensor rows = matmul(x, weight(name, f32, {width, width})) * (1.0F / 64);
    const Tensor split = moved(reshape(rows, {batch, steps, heads, depth}));
    return moved(transpose(split, {0, 2, 1, 3}));
  };
  const Tensor q = in_heads("wq"), k = in_heads("wk"), v = in_heads("wv");
  const Tensor scores = matmul(q, moved(transpose(k, {0, 1, 3, 2}))) * 0.125F;
  const Tensor said = moved(transpose(matmul(softmax(scores), v), {0, 2, 1, 3}));
  const Tensor rows = moved(reshape(said, {batch * steps, width}));
  return {matmul(rows, weight("wo", f32, {width, width}), "y"), std::move(moves)};
}

// As derived, and as derived where each move is stored, as an output would be.
void add_attention(int batch, int steps, int heads, int depth, std::vector<Comparison>* all) {
  const auto [said, moves] = attention(batch, steps, heads, depth);
  const Graph graph(said);
  std::vector<Tensor> kept = {said};
  kept.insert(kept.end(), moves.begin(), moves.end());
  const Schedule derived_kept = run_pipeline(Graph(kept), Target::host()).schedule;
  Schedule stored(graph);
  for (const auto& [name, stage] : derived_kept.stages()) {
    for (const Directive& d : stage.directives()) stored[name].add(d);
  }
  const Values values = values_of(graph);
  Comparison one{fmt::format("attention/{}x{}x{}x{}", batch, steps, heads, depth), "us"};
  one.emulsion.call = kernel_call(derived(graph), values);
  one.peers.push_back(
      {"reshapes and transposes stored", kernel_call(run_pipeline(graph, stored), values)});
  add_on_one_and_all_threads(one, values, all, 1e-4);
}

Report run(const ProgramOptions& options) {
  std::vector<Comparison> all;
  for (int steps : {1, 32, 128, 512}) add_attention(1, steps, 4, 64, &all);
  add_attention(4, 128, 8, 32, &all);
  add_attention(2, 200, 6, 40, &all);
  add_transpose(2048, &all);
  add_transposed_weight(1024, &all);
  add_matrix_vector(4096, &all);
  add_scores(1024, 64, 1024, &all);
  add_panels_from_memory(64, 512, 1376, &all);
  for (int64_t n : {256, 512, 1024, 2048}) {
    const Graph graph(matmul(input("x", f32, {n, n}), input("w", f32, {n, n}), "y"));
    add_without_copies(fmt::format("by_rows/{}", n), graph, gigaflops(n, n, n), &all);
    add_packed_before(n, &all);
  }
  const Graph by_columns(scores(input("x", f32, {512, 512}), input("w", f32, {512, 512})));
  for (int64_t n : {17, 64, 500, 512})
    add_run_time_sizes("run_time_columns", 128, 64, n, false, &all);
  for (int64_t rows : {1, 8, 64, 512}) {
    add_run_time_sizes("run_time_sizes", rows, 512, 512, true, &all);
  }
  for (int64_t n : {1, 2, 3, 4, 7}) add_few_columns(512, 512, n, &all);
  add_without_copies("by_columns/512", by_columns, gigaflops(512, 512, 512), &all);
  return {measure(all, options)};
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  using namespace emulsion::benchmarks;
  return run_program(
      argc, argv,
      {"products", kMeasures, "--benchmark_filter='transpose|matrix_vector|scores'", run});
}

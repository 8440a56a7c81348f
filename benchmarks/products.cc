// What derived schedules gain by copying the second operand of a product of two inputs by panels:
// BM_Copied is the schedule as derived, BM_InPlace the same without the copies, and BM_Weight the
// same product with a weight that was packed before, which is as fast as it can get. `by_columns`
// is x[m, k] * w[n, k], as attention's scores are. flops: operations a second.

#include <benchmark/benchmark.h>

#include <cstdio>
#include <set>
#include <string>

#include "backends/halide/jit.h"
#include "backends/interpreter/interpret_nest.h"
#include "backends/interpreter/tensor_value.h"
#include "dsl/operators.h"
#include "passes/pipeline.h"

namespace emulsion {
namespace {

Graph product(int64_t n, bool by_columns, bool weighed) {
  Tensor x = input("x", f32, {n, n});
  Tensor w = weighed ? weight("w", f32, {n, n}) : input("w", f32, {n, n});
  if (!by_columns) return Graph(matmul(x, w, "y"));
  const Axis m("m", n), columns("n", n), k("k", n);
  return Graph(compute("y", {m, columns}, sum(k, x(m, k) * w(columns, k))));
}

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

void run(benchmark::State& state, const LoopNest& nest) {
  const int64_t n = state.range(0);
  TensorValues arguments = apply_packs(
      nest, {{"x", random_integers(f32, {n, n}, 1)}, {"w", random_integers(f32, {n, n}, 2)}});
  arguments.emplace("y", zeros(f32, {n, n}));
  std::map<std::string, JitBuffer> buffers;
  for (auto& [name, value] : arguments) {
    buffers[name] = {value.dtype, value.shape, value.bytes.data()};
  }
  const JitKernel kernel(nest);
  kernel.run(buffers);
  for (auto _ : state) kernel.run(buffers);
  state.counters["flops"] = benchmark::Counter(2.0 * static_cast<double>(n * n * n),
                                               benchmark::Counter::kIsIterationInvariantRate);
}

void BM_Copied(benchmark::State& state, bool by_columns) {
  run(state, run_pipeline(product(state.range(0), by_columns, false), Target::host()).nest);
}

void BM_InPlace(benchmark::State& state, bool by_columns) {
  const Graph graph = product(state.range(0), by_columns, false);
  run(state, run_pipeline(graph, without_copies(run_pipeline(graph, Target::host()).schedule)));
}

void BM_Weight(benchmark::State& state, bool by_columns) {
  run(state, run_pipeline(product(state.range(0), by_columns, true), Target::host()).nest);
}

void sizes(benchmark::internal::Benchmark* one) {
  one->Arg(256)->Arg(512)->Arg(1024)->Arg(2048)->Unit(benchmark::kMillisecond)->UseRealTime();
}

BENCHMARK_CAPTURE(BM_Copied, by_rows, false)->Apply(sizes);
BENCHMARK_CAPTURE(BM_InPlace, by_rows, false)->Apply(sizes);
BENCHMARK_CAPTURE(BM_Weight, by_rows, false)->Apply(sizes);
BENCHMARK_CAPTURE(BM_Copied, by_columns, true)
    ->Arg(512)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_InPlace, by_columns, true)
    ->Arg(512)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace emulsion

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv, [] {
    std::puts(
        "Measures products of two inputs as derived, which copies panels of the second one,\n"
        "without the copies, and beside a weight that was packed before.\n"
        "\n"
        "Examples:\n"
        "  ./bazelw run -c opt //benchmarks:products -- --benchmark_filter=1024\n"
        "  ./bazelw run -c opt //benchmarks:products -- --benchmark_repetitions=11 \\\n"
        "      --benchmark_enable_random_interleaving=true "
        "--benchmark_report_aggregates_only=true\n"
        "\n"
        "The options are Google Benchmark's; --benchmark_list_tests prints the names.");
  });
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

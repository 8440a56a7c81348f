// The benchmark that emulsion_library makes of every kernel: one call on prepared arguments, on one
// thread and on all. GFLOP/s counts what the graph asks for (count_flops.h). Google Benchmark's
// flags apply (--benchmark_format=json).

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "backends/codegen/kernel_cases.h"
#include "backends/runtime/emulsion_runtime.h"

namespace emulsion {
namespace {

const runtime::KernelInfo& info() { return *kernel_under_test().info; }

void run_benchmark(benchmark::State& state, const Graph& graph, const SizeValues& sizes,
                   int threads) {
  PreparedCall call(info(), make_arguments(graph, sizes, 1), sizes);
  std::vector<int64_t> values;
  for (int s = 0; s < info().size_count; ++s) values.push_back(sizes.at(info().sizes[s]));
  emulsion_set_max_threads(threads);
  int code = call.run();  // not timed: the first call starts threads
  for (auto _ : state) {
    code = code == 0 ? call.run() : code;
    benchmark::ClobberMemory();
  }
  if (code != 0) state.SkipWithError(emulsion_last_error());
  emulsion_set_max_threads(0);
  state.counters["GFLOP/s"] =
      benchmark::Counter(static_cast<double>(info().flops(values.data())) * 1e-9,
                         benchmark::Counter::kIsIterationInvariantRate);
}

void print_help() {
  fmt::print(
      "Measures the kernel {0}: time and GFLOP/s, on one thread and on all.\n\n"
      "Examples:\n"
      "  bazel run -c opt //<package>:{0}_benchmark\n"
      "  bazel run -c opt //<package>:{0}_benchmark -- --benchmark_format=json\n\n"
      "The options are Google Benchmark's; --benchmark_list_tests prints the names.\n",
      info().name);
}

void register_benchmarks(const Graph& graph) {
  const std::vector<std::string>& names = graph.sizes();
  const std::vector<int64_t> values =
      names.empty() ? std::vector<int64_t>{0} : std::vector<int64_t>{1, 16, 64, 256};
  for (int64_t value : values) {
    SizeValues sizes;
    std::string text;
    for (const std::string& name : names) {
      sizes[name] = value;
      text += fmt::format("/{}:{}", name, value);
    }
    for (int threads : {1, 0}) {
      const std::string name =
          fmt::format("{}{}/threads:{}", info().name, text, threads == 0 ? "all" : "1");
      benchmark::RegisterBenchmark(name.c_str(), [graph, sizes, threads](benchmark::State& state) {
        run_benchmark(state, graph, sizes, threads);
      })->UseRealTime();
    }
  }
}

}  // namespace
}  // namespace emulsion

int main(int argc, char** argv) {
  try {
    benchmark::Initialize(&argc, argv, emulsion::print_help);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    emulsion::register_benchmarks(emulsion::graph_under_test());
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}

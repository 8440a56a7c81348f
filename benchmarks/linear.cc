// The linear layer, fused, unfused and as plain loops, beside the machine's own peak.

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/runtime/emulsion_runtime.h"
#include "benchmarks/comparison.h"
#include "benchmarks/kernel_seconds.h"
#include "benchmarks/linear_kernel.h"
#include "benchmarks/linear_layer.h"
#include "benchmarks/linear_rows.h"
#include "benchmarks/peers/fma_peak.h"
#include "benchmarks/peers/memory_traffic.h"
#include "dsl/error.h"

namespace emulsion::benchmarks {
namespace {

constexpr char kMeasures[] =
    "Measures the linear layer y = relu(x * w + bias): fused, unfused and as a plain loop, beside\n"
    "the machine's own peak.";

using Layer = std::shared_ptr<LinearLayer>;

std::vector<Layer> make_layers(const LinearKernelSet& set) {
  std::vector<Layer> layers;
  for (const LinearKernel& fused : set.kernels) {
    for (const LinearKernel& unfused : set.kernels) {
      if (!fused.fused || unfused.fused || !(fused.shape == unfused.shape)) continue;
      report_progress("checking " + fused.shape.to_string());
      layers.push_back(std::make_shared<LinearLayer>(fused, unfused));
      for (Way way : {Way::fused, Way::unfused, Way::plain}) layers.back()->check(way);
    }
  }
  return layers;
}

Contender contender(const std::string& name, const Layer& layer, Way way, bool cold) {
  Contender made{name, [layer, way] {
                   if (layer->run(way) != 0) fail("{}", emulsion_last_error());
                 }};
  if (cold) made.before_call = [layer, way] { layer->evict_for(way); };
  return made;
}

Comparison layer_comparison(const Layer& layer, const LinearSituation& at) {
  Comparison one{layer_name(at), layer_unit(at.shape), layer_work(at.shape)};
  one.prepare = [threads = at.threads] { emulsion_set_max_threads(threads); };
  one.emulsion = contender("fused", layer, Way::fused, at.cold);
  one.peers.push_back(contender("unfused", layer, Way::unfused, at.cold));
  one.peers.back().mark = 1;
  if (at.threads == 1) {
    one.peers.push_back(contender("plain loops", layer, Way::plain, at.cold));
    one.peers.back().mark.reset();
  }
  return one;
}

Comparison peak_comparison(int threads) {
  constexpr int64_t kRounds = 100000;  // long against starting the threads
  const double flops = static_cast<double>(run_fma_loop(1, 1)) * kRounds * threads;
  Comparison one{peak_name(threads), "GF/s", flops * 1e-9};
  one.emulsion.call = [threads] { benchmark::DoNotOptimize(run_fma_loop(kRounds, threads)); };
  return one;
}

Comparison read_comparison(const std::shared_ptr<std::vector<uint32_t>>& words, int threads,
                           bool cold) {
  const size_t bytes = words->size() * sizeof(uint32_t);
  Comparison one{read_name(threads, cold), "GB/s", static_cast<double>(bytes) * 1e-9};
  one.emulsion.call = [=] { benchmark::DoNotOptimize(read_all(*words, threads)); };
  if (cold) one.emulsion.before_call = [=] { evict(words->data(), bytes); };
  return one;
}

Report run(const ProgramOptions& options) {
  const LinearKernelSet set = linear_kernels_for_this_machine();
  const int all_threads = omp_get_max_threads();
  announce("comparing every way with a sum in double");
  const std::vector<Layer> layers = make_layers(set);
  std::vector<KernelSeconds> kernels;
  if (!options.list) {
    announce("compiling every kernel again, for its seconds");
    kernels = measure_kernel_seconds(set, options.quick);
  }
  size_t most = 1;  // to be read: as many words as the largest weights have
  for (const Layer& layer : layers) {
    most = std::max(most, static_cast<size_t>(layer->shape().n * layer->shape().k));
  }
  const auto words = std::make_shared<std::vector<uint32_t>>(most, 1);
  std::vector<LinearSituation> situations;
  std::vector<Comparison> all;
  for (int threads : {1, all_threads}) {
    all.push_back(peak_comparison(threads));
    for (bool cold : {false, true}) {
      all.push_back(read_comparison(words, threads, cold));
      for (const Layer& layer : layers) {
        situations.push_back({layer->shape(), threads, cold});
        all.push_back(layer_comparison(layer, situations.back()));
      }
    }
    if (all_threads == 1) break;
  }
  Report report;
  report.rows = measure(all, options);
  add_machine_peers(situations, fma_instructions(), &report.rows);
  report.warnings = noise_warnings(report.rows);
  report.notes = {
      fmt::format("kernels for {}, f32, weights packed outside the timing", set.target),
      fmt::format("the peak is of {}, all threads are {}", fma_instructions(), all_threads)};
  for (Row& row : rows_of(kernels)) report.rows.push_back(std::move(row));
  return report;
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  using namespace emulsion::benchmarks;
  return run_program(argc, argv, {"linear", kMeasures, "--quick --json=/tmp/linear.json", run});
}

#include "benchmarks/linear_benchmarks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "backends/runtime/emulsion_runtime.h"
#include "benchmarks/fma_peak.h"
#include "benchmarks/memory_traffic.h"
#include "benchmarks/progress.h"

namespace emulsion::benchmarks {
namespace {

// One iteration of the peak's benchmark: long against starting the threads.
constexpr int64_t kPeakRounds = 100000;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string situation(int threads, bool cold) {
  return fmt::format("{}/{}", threads == 1 ? "one_thread" : "all_threads", cold ? "cold" : "warm");
}

}  // namespace

LinearBenchmarks::LinearBenchmarks(std::vector<std::unique_ptr<LinearLayer>> layers,
                                   int all_threads)
    : layers_(std::move(layers)), all_threads_(all_threads) {
  size_t most = 1;
  for (const auto& layer : layers_) {
    most = std::max(most, static_cast<size_t>(layer->shape().n * layer->shape().k));
  }
  words_.assign(most, 1);
  for (int threads : {1, all_threads_}) {
    add_machine(threads);
    for (bool cold : {false, true}) {
      for (size_t layer = 0; layer < layers_.size(); ++layer) add_layer(layer, threads, cold);
    }
    if (all_threads_ == 1) break;
  }
}

LinearBenchmarks::Entry& LinearBenchmarks::add(Entry entry) {
  return entries_.emplace_back(std::move(entry));
}

void LinearBenchmarks::add_machine(int threads) {
  Entry& peak = add({"peak/" + std::string(threads == 1 ? "one_thread" : "all_threads"), Role::peak,
                     0, threads, false});
  benchmark::RegisterBenchmark(peak.name.c_str(), [this, &peak](benchmark::State& state) {
    measure_peak(state, peak);
  })->UseRealTime();
  for (bool cold : {false, true}) {
    Entry& read = add({"read/" + situation(threads, cold), Role::read, 0, threads, cold});
    benchmark::RegisterBenchmark(read.name.c_str(), [this, &read](benchmark::State& state) {
      measure_read(state, read);
    })->UseManualTime();
  }
}

void LinearBenchmarks::add_layer(size_t layer, int threads, bool cold) {
  const std::pair<Role, const char*> roles[] = {{Role::fused, "fused"},
                                                {Role::fused_again, "fused_again"},
                                                {Role::unfused, "unfused"},
                                                {Role::plain, "plain"}};
  for (const auto& [role, name] : roles) {
    if (role == Role::plain && threads != 1) continue;
    Entry& entry = add({fmt::format("linear/{}/{}/{}", layers_[layer]->shape().to_string(), name,
                                    situation(threads, cold)),
                        role, layer, threads, cold});
    auto* added = benchmark::RegisterBenchmark(
        entry.name.c_str(),
        [this, &entry](benchmark::State& state) { measure_layer(state, entry); });
    if (cold) {
      added->UseManualTime();
    } else {
      added->UseRealTime();
    }
  }
}

void LinearBenchmarks::measure_layer(benchmark::State& state, Entry& entry) {
  if (entry.interruptible.stop(state)) return;
  report_progress(entry.name);
  LinearLayer& layer = *layers_[entry.layer];
  Way way = Way::fused;
  if (entry.role == Role::unfused) way = Way::unfused;
  if (entry.role == Role::plain) way = Way::plain;
  const int limit = emulsion_set_max_threads(entry.threads);
  int code = layer.run(way);  // the first call after another benchmark finds nothing in the caches
  for (auto _ : state) {
    if (entry.cold) {
      layer.evict_for(way);
      const Clock::time_point start = Clock::now();
      code |= layer.run(way);
      state.SetIterationTime(seconds_since(start));
    } else {
      code |= layer.run(way);
    }
  }
  emulsion_set_max_threads(limit);
  if (code != 0) state.SkipWithError(emulsion_last_error());
  entry.interruptible.finished(state);
  state.counters["GF/s"] = benchmark::Counter(static_cast<double>(layer.shape().flops()) * 1e-9,
                                              benchmark::Counter::kIsIterationInvariantRate);
}

void LinearBenchmarks::measure_peak(benchmark::State& state, Entry& entry) {
  if (entry.interruptible.stop(state)) return;
  report_progress(entry.name);
  int64_t flops = run_fma_loop(kPeakRounds, entry.threads);
  for (auto _ : state) flops = run_fma_loop(kPeakRounds, entry.threads);
  state.counters["GF/s"] = benchmark::Counter(static_cast<double>(flops) * 1e-9,
                                              benchmark::Counter::kIsIterationInvariantRate);
  state.SetLabel(fma_instructions());
  entry.interruptible.finished(state);
}

void LinearBenchmarks::measure_read(benchmark::State& state, Entry& entry) {
  if (entry.interruptible.stop(state)) return;
  report_progress(entry.name);
  benchmark::DoNotOptimize(read_all(words_, entry.threads));
  for (auto _ : state) {
    if (entry.cold) evict(words_.data(), words_.size() * sizeof(uint32_t));
    const Clock::time_point start = Clock::now();
    benchmark::DoNotOptimize(read_all(words_, entry.threads));
    state.SetIterationTime(seconds_since(start));
  }
  state.SetBytesProcessed(state.iterations() *
                          static_cast<int64_t>(words_.size() * sizeof(uint32_t)));
  entry.interruptible.finished(state);
}

LinearRun LinearBenchmarks::collect(LinearRun run,
                                    const std::map<std::string, Samples>& seconds) const {
  const double peak_flops = static_cast<double>(run_fma_loop(1, 1)) * kPeakRounds;
  const double read_bytes = static_cast<double>(words_.size() * sizeof(uint32_t));
  auto machine = [&run](int threads, bool cold) -> MachineTimes& {
    for (MachineTimes& times : run.machine) {
      if (times.threads == threads && times.cold == cold) return times;
    }
    return run.machine.emplace_back(MachineTimes{threads, cold, {}, {}});
  };
  auto layer = [&run](const LinearShape& shape, int threads, bool cold) -> LinearTimes& {
    for (LinearTimes& times : run.times) {
      if (times.shape == shape && times.threads == threads && times.cold == cold) return times;
    }
    return run.times.emplace_back(LinearTimes{shape, threads, cold, {}, {}, {}, {}});
  };
  for (const Entry& entry : entries_) {
    auto found = seconds.find(entry.name);
    if (found == seconds.end()) continue;
    const Samples& samples = found->second;
    if (entry.role == Role::peak || entry.role == Role::read) {
      MachineTimes& times = machine(entry.threads, entry.cold);
      for (double s : samples) {
        if (entry.role == Role::peak) {
          times.flops_per_second.push_back(peak_flops * entry.threads / s);
        } else {
          times.bytes_per_second.push_back(read_bytes / s);
        }
      }
      continue;
    }
    LinearTimes& times = layer(layers_[entry.layer]->shape(), entry.threads, entry.cold);
    if (entry.role == Role::fused) times.fused = samples;
    if (entry.role == Role::fused_again) times.fused_again = samples;
    if (entry.role == Role::unfused) times.unfused = samples;
    if (entry.role == Role::plain) times.plain = samples;
  }
  return run;
}

}  // namespace emulsion::benchmarks

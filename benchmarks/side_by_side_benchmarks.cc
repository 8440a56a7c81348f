#include "benchmarks/side_by_side_benchmarks.h"

#include <benchmark/benchmark.h>

#include <deque>

#include "benchmarks/progress.h"

namespace emulsion::benchmarks {
namespace {

struct Entry {
  std::string name;
  const KernelPair& pair;
  const std::function<void()>& call;
  Interruptible interruptible = {};

  void measure(benchmark::State& state) {
    if (interruptible.stop(state)) return;
    report_progress(name);
    pair.prepare();
    call();  // the first call after another benchmark finds nothing in the caches
    for (auto _ : state) call();
    interruptible.finished(state);
  }
};

}  // namespace

std::vector<SideBySide> measure_side_by_side(const std::vector<KernelPair>& pairs,
                                             const ProgramOptions& options) {
  std::deque<Entry> entries;  // stay where they are
  for (const KernelPair& pair : pairs) {
    entries.push_back({pair.name + "/emulsion", pair, pair.emulsion});
    entries.push_back({pair.name + "/emulsion_again", pair, pair.emulsion});
    entries.push_back({pair.name + "/peer", pair, pair.call_peer});
  }
  for (Entry& entry : entries) {
    benchmark::RegisterBenchmark(entry.name.c_str(), [&entry](benchmark::State& state) {
      entry.measure(state);
    })->UseRealTime();
  }
  catch_interrupt();
  announce("measuring; Ctrl-C prints what there is");
  const std::map<std::string, Samples> seconds = measure(options);
  auto samples = [&seconds](const std::string& name) {
    auto found = seconds.find(name);
    return found == seconds.end() ? Samples() : found->second;
  };
  std::vector<SideBySide> all;
  all.reserve(pairs.size());
  for (const KernelPair& pair : pairs) {
    all.push_back({pair.name, pair.peer, pair.unit, pair.work, samples(pair.name + "/emulsion"),
                   samples(pair.name + "/emulsion_again"), samples(pair.name + "/peer")});
  }
  return all;
}

}  // namespace emulsion::benchmarks

#ifndef EMULSION_BENCHMARKS_LINEAR_BENCHMARKS_H_
#define EMULSION_BENCHMARKS_LINEAR_BENCHMARKS_H_

// The measurements, as Google Benchmark knows them: one for each layer, way, number of threads and
// state of the caches, named "linear/512x512x512/fused/one_thread/warm", and "peak/..." and
// "read/..." for the machine. They repeat in random order, so that what disturbs the machine for a
// while disturbs all of them alike.

#include <benchmark/benchmark.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/benchmark_program.h"
#include "benchmarks/linear_layer.h"
#include "benchmarks/linear_summary.h"

namespace emulsion::benchmarks {

class LinearBenchmarks {
 public:
  // `all_threads`: of OpenMP; 1 leaves out the rows for all threads.
  LinearBenchmarks(std::vector<std::unique_ptr<LinearLayer>> layers, int all_threads);

  // `run`: what is known before. The seconds of one call, by name, become its samples.
  LinearRun collect(LinearRun run, const std::map<std::string, Samples>& seconds) const;

 private:
  // Where the samples of one benchmark belong.
  enum class Role : uint8_t { fused, fused_again, unfused, plain, peak, read };
  struct Entry {
    std::string name;
    Role role;
    size_t layer;
    int threads;
    bool cold;
    Interruptible interruptible = {};
  };
  void add_layer(size_t layer, int threads, bool cold);
  void add_machine(int threads);
  void measure_layer(benchmark::State& state, Entry& entry);
  void measure_peak(benchmark::State& state, Entry& entry);
  void measure_read(benchmark::State& state, Entry& entry);
  Entry& add(Entry entry);

  std::vector<std::unique_ptr<LinearLayer>> layers_;
  std::vector<uint32_t> words_;  // to be read; as many bytes as the largest weights
  std::deque<Entry> entries_;    // stay where they are
  int all_threads_;
};

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_LINEAR_BENCHMARKS_H_

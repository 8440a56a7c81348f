#ifndef EMULSION_BENCHMARKS_BENCHMARK_PROGRAM_H_
#define EMULSION_BENCHMARKS_BENCHMARK_PROGRAM_H_

// What every benchmark is as a program: Google Benchmark's options and ours, repetitions in random
// order over the whole run (what disturbs the machine for a while disturbs all alike), Ctrl-C that
// prints what there is, and a report at the end, as text and as JSON.
//
//   --json=FILE   write the JSON there, and only the text to standard output
//   --quick       short measurements: to see that it works, not to quote
//   --help        the program's own text
//
// With --benchmark_format Google Benchmark's report goes to standard output, the text to standard
// error.

#include <benchmark/benchmark.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "benchmarks/samples.h"

namespace emulsion::benchmarks {

struct ProgramOptions {
  std::string json;
  bool quick = false;
  bool raw = false;   // --benchmark_format was given
  bool list = false;  // --benchmark_list_tests was given
};

// Calls `run` with the options and turns what it throws into a message. The options that all have
// stand below the program's own `help`. Returns what main() returns.
int run_program(int argc, char** argv, const std::string& name, const std::string& help,
                const std::function<int(const ProgramOptions&)>& run);

// Set by Ctrl-C, from catch_interrupt() on: what has not been measured is left out. A second Ctrl-C
// ends the process.
void catch_interrupt();
bool benchmarks_interrupted();

// One registered benchmark, as far as interruption goes; keep it where it is while they run.
class Interruptible {
 public:
  // Whether the user has had enough: then the repetition is over.
  bool stop(benchmark::State& state) const;
  void finished(const benchmark::State& state) { iterations_ = state.max_iterations; }

 private:
  benchmark::IterationCount iterations_ = 0;  // of the last complete repetition
};

// Runs what is registered; the seconds of one call in each repetition, by the benchmark's name.
std::map<std::string, Samples> measure(const ProgramOptions& options);

// Error when options.json cannot be written: before minutes of measuring, not after.
void check_writable(const ProgramOptions& options);
// Prints, or writes, both forms of the result. Returns what main() returns.
int report(const ProgramOptions& options, const std::string& text, const std::string& json);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_BENCHMARK_PROGRAM_H_

#ifndef EMULSION_BENCHMARKS_BENCHMARK_PROGRAM_H_
#define EMULSION_BENCHMARKS_BENCHMARK_PROGRAM_H_

// What every benchmark is as a program: Google Benchmark's options and ours, and a report at the
// end, as text and as JSON.
//
//   --json=FILE   write the JSON there, and only the text to standard output
//   --quick       short measurements: to see that it works, not to quote
//   --help        what it measures, with an example
//
// With --benchmark_format Google Benchmark's report goes to standard output, the text to standard
// error. Ctrl-C prints what has been measured by then.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "benchmarks/report.h"
#include "benchmarks/samples.h"

namespace emulsion::benchmarks {

struct ProgramOptions {
  std::string json;
  bool quick = false;
  bool raw = false;   // --benchmark_format was given
  bool list = false;  // --benchmark_list_tests was given
  std::vector<std::string> arguments;
};

struct Program {
  std::string name;      // //benchmarks:name
  std::string measures;  // lines for --help
  std::string example;   // the options of an example
  std::function<Report(const ProgramOptions&)> run;
  std::string arguments = {};  // what its arguments are; empty: it takes none
  // Whether it times its calls itself, and not by measure(): of Google Benchmark's options only
  // --benchmark_list_tests works then.
  bool times_itself = false;
};

// Reads the options, runs the program, and prints its report or what went wrong. Returns what
// main() returns.
int run_program(int argc, char** argv, const Program& program);

// What is timed: `call`, many times in each repetition.
struct TimedCall {
  std::string name;
  // Whether nothing but the calling thread computes. Then its processor's time counts, which what
  // else runs on the machine does not lengthen; otherwise the time that passes.
  bool on_one_thread = false;
  std::function<void()> prepare;      // before each repetition; or nothing
  std::function<void()> before_call;  // before each call, outside its time; or nothing
  std::function<void()> call;
  // What measures one call itself and returns its seconds, where that is done in another process:
  // it stands in place of `call` and `before_call`. Or nothing.
  std::function<double()> seconds = {};
};

// Repeats all of them in random order, as Google Benchmark does. The seconds of one call in each
// repetition, by name; what a filter or Ctrl-C left out has none.
std::map<std::string, Samples> measure(const std::vector<TimedCall>& calls,
                                       const ProgramOptions& options);

// A run takes minutes, and its result comes at the end. These lines on standard error say that it
// is alive: the first at most once in a few seconds, the second at once.
void report_progress(const std::string& what);
void announce(const std::string& what);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_BENCHMARK_PROGRAM_H_

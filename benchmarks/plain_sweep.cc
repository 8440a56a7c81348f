// Derived schedules against plain loops in C, over programs that nobody chose (drawn_loops.h), or
// over graphs of the user's own: it shows where a loop that an engineer writes in a minute is
// faster.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/drawn_loops.h"
#include "benchmarks/nest_kernel.h"
#include "benchmarks/peers/halide_peer.h"
#include "benchmarks/peers/plain_c.h"
#include "benchmarks/timed_in_turns.h"
#include "benchmarks/whole_number.h"
#include "dsl/error.h"
#include "dsl/files.h"
#include "dsl/graph_text.h"
#include "dsl/target.h"
#include "passes/pipeline.h"

namespace emulsion::benchmarks {
namespace {

constexpr char kMeasures[] =
    "Draws small programs with a seed: elementwise operations with broadcasts, in other orders of\n"
    "axes or at strange indices, reductions, windows, narrow integers, what follows a sum. Each "
    "is\n"
    "measured as derived against plain loops in C (cc -O3 -march=native, the fastest of three\n"
    "orders of loops), on one thread, in turns, by the time of that thread's processor. Graphs in\n"
    "files are measured in the same way.";

constexpr char kArguments[] =
    "COUNT SEED KIND, else 140, one seed for each day, and all kinds in turns; or\n"
    "                programs by name: window/7.231 transpose/7.1; or\n"
    "                graphs as text, and their run-time sizes: my.graph B=64";

constexpr double kTolerance = 2e-4;  // the order of sums

struct Program {
  std::string name;
  Graph graph;
  SizeValues sizes;
};

// The fastest of the ways to write a program in C, and all of them compared with the kernel.
Call fastest_plain(const Program& program, const Call& emulsion, const Values& values) {
  std::string source;
  std::vector<std::string> names;
  for (const PlainOrder order : all_plain_orders()) {
    names.push_back(fmt::format("plain_{}", names.size()));
    source += plain_c(program.graph, order, names.back());
  }
  const CompiledC compiled(source);
  std::optional<Call> fastest;
  double least = 0;
  for (const std::string& name : names) {
    const Call call = compiled.call(name, program.graph, program.sizes, &values->by_name);
    check_equal_outputs(program.name + ": plain C and Emulsion", call, emulsion, values,
                        kTolerance);
    constexpr int kTimes = 3;
    double seconds = processor_seconds(call, 1);
    constexpr double kShort = 1e-4;
    const auto calls = static_cast<int64_t>(kShort / std::max(seconds, 1e-8)) + 1;
    for (int i = 0; i < kTimes; ++i) seconds = std::min(seconds, processor_seconds(call, calls));
    if (!fastest || seconds < least) {
      fastest = call;
      least = seconds;
    }
  }
  return *fastest;
}

struct Measured {
  Row row;
  double ratio;
};

Measured measure_program(const Program& program, bool is_quick) {
  constexpr int kFew = 11, kMany = 60;
  constexpr double kShort = 3e-4, kLong = 1e-3;
  const LoopNest nest = run_pipeline(program.graph, Target::host()).nest;
  const Values values = values_of(program.graph, program.sizes);
  const Call call = kernel_call(nest, values);
  TimedInTurns turns(program.name, call,
                     {"plain C", fastest_plain(program, call, values), {}, kMark, {}});
  turns.measure(kFew, kShort);
  if (!is_quick && turns.ratio() < 1) turns.measure(kMany, kLong);
  announce(fmt::format("{:.2f}  {}", turns.ratio(), program.name));
  return {turns.row(), turns.ratio()};
}

std::vector<Program> drawn(const std::vector<std::string>& names) {
  std::vector<Program> programs;
  for (const std::string& name : names) {
    const DrawnLoops loops = loops_named(name);
    programs.push_back({name, parse_graph(loops.text), loops.sizes});
  }
  return programs;
}

// COUNT SEED KIND, as far as they are given.
std::vector<Program> draw(const std::vector<std::string>& arguments) {
  constexpr int64_t kCount = 140, kHoursOfDay = 24;
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const int64_t day = std::chrono::duration_cast<std::chrono::hours>(since).count() / kHoursOfDay;
  const auto number = [&](size_t at, int64_t otherwise) {
    if (at >= arguments.size()) return otherwise;
    const std::optional<int64_t> value = whole_number(arguments[at]);
    if (!value) fail("expected a number, a program by name or a file, got {}", arguments[at]);
    return *value;
  };
  if (arguments.size() > 3) fail("expected COUNT SEED KIND, got also {}", arguments[3]);
  return drawn(draw_loops(static_cast<uint64_t>(number(1, day)),
                          static_cast<size_t>(number(0, kCount)),
                          arguments.size() > 2 ? arguments[2] : ""));
}

// Files, and NAME=VALUE for all of them.
std::vector<Program> read_graphs(const std::vector<std::string>& arguments) {
  SizeValues sizes;
  std::vector<Program> programs;
  for (const std::string& argument : arguments) {
    const size_t equals = argument.find('=');
    if (equals == std::string::npos) {
      programs.push_back({argument, parse_graph(read_file("the graph", argument)), {}});
      continue;
    }
    const std::optional<int64_t> value = whole_number(argument.substr(equals + 1));
    if (!value) fail("expected a run-time size and its value, as B=64, got {}", argument);
    sizes[argument.substr(0, equals)] = *value;
  }
  for (Program& program : programs) {
    for (const std::string& size : program.graph.sizes()) {
      if (sizes.count(size) == 0)
        fail("{} has a run-time size {}: say its value, as {}=64", program.name, size, size);
      program.sizes[size] = sizes.at(size);
    }
  }
  return programs;
}

std::vector<Program> programs_of(const std::vector<std::string>& arguments) {
  if (arguments.empty() || whole_number(arguments[0])) return draw(arguments);
  const std::vector<std::string> kinds = loop_kinds();
  const std::string kind = arguments[0].substr(0, arguments[0].find('/'));
  if (std::count(kinds.begin(), kinds.end(), kind) > 0) return drawn(arguments);
  return read_graphs(arguments);
}

Report run(const ProgramOptions& options) {
  set_halide_threads(HalideThreads::one);
  const std::vector<Program> programs = programs_of(options.arguments);
  if (options.list) {
    for (const Program& program : programs) {
      fmt::print("# {}", program.name);
      for (const auto& [size, value] : program.sizes) fmt::print(" {}={}", size, value);
      fmt::print("\n{}\n", to_string(program.graph));
    }
    return {};
  }
  Report report;
  size_t lost = 0;
  double logarithms = 0;
  for (const Program& program : programs) {
    report_progress(program.name);
    const Measured measured = measure_program(program, options.quick);
    lost += measured.ratio < kMark ? 1 : 0;
    logarithms += std::log(measured.ratio);
    report.rows.push_back(measured.row);
  }
  if (programs.empty()) return report;
  report.notes.push_back(fmt::format(
      "{} programs: the geometric mean of their ratios is {:.2f}; {} are below {}. "
      "--benchmark_list_tests prints their graphs",
      programs.size(), std::exp(logarithms / static_cast<double>(programs.size())), lost, kMark));
  return report;
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  using namespace emulsion::benchmarks;
  return run_program(argc, argv,
                     {"plain_sweep", kMeasures, "--quick 70 7 window", run, kArguments, true});
}

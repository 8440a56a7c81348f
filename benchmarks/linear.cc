// The benchmark of the linear layer: a Google Benchmark program, with a table of its own at the
// end.

#include <benchmark/benchmark.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/fma_peak.h"
#include "benchmarks/kernel_seconds.h"
#include "benchmarks/linear_benchmarks.h"
#include "benchmarks/linear_kernel.h"
#include "benchmarks/linear_report.h"
#include "benchmarks/progress.h"
#include "dsl/error.h"

namespace emulsion::benchmarks {
namespace {

constexpr char kHelp[] =
    "Measures the linear layer y = relu(x * w + bias): fused, unfused and as a plain loop, beside\n"
    "the machine's own peak. Prints the table as text and as JSON; losses come first.\n"
    "\n"
    "  bazel run -c opt //benchmarks:linear -- --quick --json=/tmp/linear.json\n"
    "\n"
    "  --json=FILE   write the JSON there, and only the text to standard output\n"
    "  --quick       short measurements: to see that it works, not to quote\n"
    "  --help        this text\n"
    "\n"
    "Google Benchmark's options work too, for example\n"
    "  --benchmark_filter='512x512x512|peak'   fewer rows\n"
    "  --benchmark_repetitions=25              more certainty\n"
    "  --benchmark_format=json                 every measurement; the table goes to standard "
    "error\n"
    "  --benchmark_list_tests                  the names\n";

struct Options {
  std::string json;
  bool quick = false;
  bool raw = false;   // --benchmark_format was given
  bool list = false;  // --benchmark_list_tests was given
};

void print_help() { std::fputs(kHelp, stdout); }

void on_interrupt(int) { interrupt_benchmarks(); }  // a second Ctrl-C ends the process

// Relative to where the user is: `bazel run` starts programs elsewhere.
std::filesystem::path user_path(const std::string& path) {
  const char* directory = std::getenv("BUILD_WORKING_DIRECTORY");
  return directory ? std::filesystem::path(directory) / path : std::filesystem::path(path);
}

// Takes Google Benchmark's options, then ours. False: the program ends with *status. `arguments`
// has to live as long as the benchmarks, which keep a pointer into it.
bool parse_options(std::vector<std::string>* all, Options* options, int* status) {
  std::vector<std::string>& arguments = *all;
  auto given = [&arguments](const std::string& flag) {
    for (const std::string& argument : arguments) {
      if (argument == flag || argument.rfind(flag + "=", 0) == 0) return true;
    }
    return false;
  };
  const bool quick = given("--quick");
  options->raw = given("--benchmark_format");
  options->list = given("--benchmark_list_tests");
  // Ahead of the user's, which then win.
  arguments.insert(arguments.begin() + 1,
                   {quick ? "--benchmark_repetitions=3" : "--benchmark_repetitions=11",
                    quick ? "--benchmark_min_time=0.005" : "--benchmark_min_time=0.05",
                    "--benchmark_enable_random_interleaving=true"});
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  int count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  benchmark::Initialize(&count, pointers.data(), print_help);
  CLI::App app;
  app.set_help_flag();
  bool help = false;
  app.add_flag("--help,-h", help);
  app.add_option("--json", options->json);
  app.add_flag("--quick", options->quick);
  try {
    app.parse(count, pointers.data());
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "linear: %s; see --help\n", error.what());
    *status = 2;
    return false;
  }
  if (help) print_help();
  return !help;
}

std::vector<std::unique_ptr<LinearLayer>> make_layers(const LinearKernelSet& set) {
  std::vector<std::unique_ptr<LinearLayer>> layers;
  for (const LinearKernel& fused : set.kernels) {
    for (const LinearKernel& unfused : set.kernels) {
      if (!fused.fused || unfused.fused || !(fused.shape == unfused.shape)) continue;
      report_progress("checking " + fused.shape.to_string());
      layers.push_back(std::make_unique<LinearLayer>(fused, unfused));
      for (Way way : {Way::fused, Way::unfused, Way::plain}) layers.back()->check(way);
    }
  }
  return layers;
}

void write(const std::string& file, const std::string& text) {
  std::filesystem::path path = user_path(file);
  std::ofstream stream(path);
  stream << text;
  stream.close();
  if (!stream) fail("{}: cannot be written", path.string());
}

int run(const Options& options) {
  if (!options.json.empty()) write(options.json, "");  // before minutes of measuring, not after
  LinearKernelSet set = linear_kernels_for_this_machine();
  LinearRun run;
  run.instructions = fma_instructions();
  run.target = set.target;
  run.all_threads = omp_get_max_threads();
  announce("comparing every way with a sum in double");
  LinearBenchmarks benchmarks(make_layers(set), run.all_threads);
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  if (!options.list) {
    announce("compiling every kernel again, for its seconds");
    run.kernels = measure_kernel_seconds(set, options.quick);
    announce("measuring; Ctrl-C prints what there is");
  }
  std::unique_ptr<benchmark::BenchmarkReporter> display;
  if (options.raw) display.reset(benchmark::CreateDefaultDisplayReporter());
  SampleCollector collector(display.get());
  benchmark::RunSpecifiedBenchmarks(&collector);
  benchmark::Shutdown();
  if (options.list) return 0;
  run = benchmarks.collect(std::move(run), collector.seconds());
  std::string text = report_text(run);
  if (benchmarks_interrupted()) text = "interrupted: not everything was measured\n" + text;
  std::fputs(text.c_str(), options.raw ? stderr : stdout);
  if (!options.json.empty()) {
    write(options.json, report_json(run));
  } else if (!options.raw) {
    std::printf("\n%s", report_json(run).c_str());
  }
  constexpr int kInterrupted = 128 + SIGINT;
  return benchmarks_interrupted() ? kInterrupted : 0;
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  using emulsion::benchmarks::Options;
  Options options;
  int status = 0;
  std::vector<std::string> arguments(argv, argv + argc);
  if (!emulsion::benchmarks::parse_options(&arguments, &options, &status)) return status;
  try {
    return emulsion::benchmarks::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "linear: %s\n", error.what());
    return 1;
  }
}

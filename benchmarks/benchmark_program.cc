#include "benchmarks/benchmark_program.h"

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>

#include "bazel/user_path.h"
#include "dsl/files.h"

namespace emulsion::benchmarks {
namespace {

// The counter of a repetition that did nothing.
constexpr char kInterrupted[] = "interrupted";

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal handler");

constexpr char kCommonHelp[] =
    "  --json=FILE   write the JSON there, and only the text to standard output\n"
    "  --quick       short measurements: to see that it works, not to quote\n"
    "  --help        this text\n"
    "\n"
    "Google Benchmark's options work too, for example\n"
    "  --benchmark_filter=WORDS                fewer rows\n"
    "  --benchmark_repetitions=100             more certainty\n"
    "  --benchmark_format=json                 every measurement; the table goes to standard "
    "error\n"
    "  --benchmark_list_tests                  the names\n";

std::string help_text;  // Google Benchmark asks for a function without arguments
void print_help() { std::fputs(help_text.c_str(), stdout); }

// Keeps the seconds of every repetition, and passes everything on to `next`, which may be null.
class SampleCollector : public benchmark::BenchmarkReporter {
 public:
  explicit SampleCollector(benchmark::BenchmarkReporter* next) : next_(next) {}

  bool ReportContext(const Context& context) override {
    return !next_ || next_->ReportContext(context);
  }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.error_occurred || run.iterations == 0) continue;
      if (run.counters.count(kInterrupted) > 0) continue;
      seconds[run.run_name.function_name].push_back(run.real_accumulated_time /
                                                    static_cast<double>(run.iterations));
    }
    if (next_) next_->ReportRuns(runs);
  }
  void Finalize() override {
    if (next_) next_->Finalize();
  }

  std::map<std::string, Samples> seconds;

 private:
  benchmark::BenchmarkReporter* next_;
};

// Takes Google Benchmark's options, then ours. Nothing: the program ends with *status. `arguments`
// has to live as long as the benchmarks, which keep a pointer into it.
std::optional<ProgramOptions> parse_options(const std::string& name,
                                            std::vector<std::string>* arguments, int* status) {
  auto given = [arguments](const std::string& flag) {
    for (const std::string& argument : *arguments) {
      if (argument == flag || argument.rfind(flag + "=", 0) == 0) return true;
    }
    return false;
  };
  ProgramOptions options;
  const bool quick = given("--quick");
  options.raw = given("--benchmark_format");
  options.list = given("--benchmark_list_tests");
  // Ahead of the user's, which then win.
  arguments->insert(arguments->begin() + 1,
                    {quick ? "--benchmark_repetitions=3" : "--benchmark_repetitions=25",
                     quick ? "--benchmark_min_time=0.005" : "--benchmark_min_time=0.05",
                     "--benchmark_enable_random_interleaving=true"});
  std::vector<char*> pointers;
  for (std::string& argument : *arguments) pointers.push_back(argument.data());
  int count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  benchmark::Initialize(&count, pointers.data(), print_help);
  CLI::App app;
  app.set_help_flag();
  bool help = false;
  app.add_flag("--help,-h", help);
  app.add_option("--json", options.json);
  app.add_flag("--quick", options.quick);
  try {
    app.parse(count, pointers.data());
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "%s: %s; see --help\n", name.c_str(), error.what());
    *status = 2;
    return std::nullopt;
  }
  if (!help) return options;
  print_help();
  return std::nullopt;
}

}  // namespace

int run_program(int argc, char** argv, const std::string& name, const std::string& help,
                const std::function<int(const ProgramOptions&)>& run) {
  help_text = help + kCommonHelp;
  int status = 0;
  std::vector<std::string> arguments(argv, argv + argc);
  const std::optional<ProgramOptions> options = parse_options(name, &arguments, &status);
  if (!options) return status;
  try {
    return run(*options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
    return 1;
  }
}

void catch_interrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

bool benchmarks_interrupted() { return interrupted; }

bool Interruptible::stop(benchmark::State& state) const {
  if (!interrupted) return false;
  if (iterations_ != state.max_iterations) {
    state.SkipWithError("interrupted");
    return true;
  }
  // Google Benchmark wants as many iterations from each repetition, also from those that failed.
  for (auto _ : state) {
  }
  state.counters[kInterrupted] = 1;
  return true;
}

std::map<std::string, Samples> measure(const ProgramOptions& options) {
  std::unique_ptr<benchmark::BenchmarkReporter> display;
  if (options.raw) display.reset(benchmark::CreateDefaultDisplayReporter());
  SampleCollector collector(display.get());
  benchmark::RunSpecifiedBenchmarks(&collector);
  benchmark::Shutdown();
  return std::move(collector.seconds);
}

void check_writable(const ProgramOptions& options) {
  if (!options.json.empty()) emulsion::check_writable("results", user_path(options.json));
}

int report(const ProgramOptions& options, const std::string& text, const std::string& json) {
  if (options.list) return 0;
  const std::string remark =
      benchmarks_interrupted() ? "interrupted: not everything was measured\n" : "";
  std::fputs((remark + text).c_str(), options.raw ? stderr : stdout);
  if (!options.json.empty()) {
    write_file("results", user_path(options.json), json);
  } else if (!options.raw) {
    std::printf("\n%s", json.c_str());
  }
  constexpr int kInterruptedStatus = 128 + SIGINT;
  return benchmarks_interrupted() ? kInterruptedStatus : 0;
}

}  // namespace emulsion::benchmarks

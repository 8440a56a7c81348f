#include "benchmarks/benchmark_program.h"

#include <benchmark/benchmark.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <set>

#include "bazel/user_path.h"
#include "benchmarks/processor_clock.h"
#include "dsl/files.h"

namespace emulsion::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kSilence{5};

// The counter of a repetition that did nothing.
constexpr char kInterrupted[] = "interrupted";

// Set by Ctrl-C while calls are measured: the others are left out. A second one ends the process.
std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal handler");

const Clock::time_point program_start = Clock::now();
Clock::time_point last_line = program_start;

constexpr char kCommonHelp[] =
    "  --json=FILE   write the JSON there, and only the text to standard output\n"
    "  --quick       short measurements: to see that it works, not to quote\n"
    "  --help        this text\n"
    "\n";

constexpr char kOptionsOfGoogleBenchmark[] =
    "Google Benchmark's options work too, for example\n"
    "  --benchmark_filter=WORDS                fewer rows\n"
    "  --benchmark_repetitions=100             more certainty\n"
    "  --benchmark_format=json                 every measurement; the table goes to standard "
    "error\n";

// Of a program that times its calls itself.
constexpr char kNoOtherOptions[] = "Of Google Benchmark's options it knows\n";

constexpr char kListHelp[] = "  --benchmark_list_tests                  the names\n";

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

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
      const std::string& name = run.run_name.function_name;
      const double total =
          by_processor.count(name) > 0 ? run.cpu_accumulated_time : run.real_accumulated_time;
      seconds[name].push_back(total / static_cast<double>(run.iterations));
    }
    if (next_) next_->ReportRuns(runs);
  }
  void Finalize() override {
    if (next_) next_->Finalize();
  }

  std::map<std::string, Samples> seconds;
  std::set<std::string> by_processor;  // the names of those whose processor's time counts

 private:
  benchmark::BenchmarkReporter* next_;
};

bool has_manual_time(const TimedCall& call) { return call.before_call || call.seconds; }

// Repeats one call.
class Repeater {
 public:
  explicit Repeater(const TimedCall& call) : call_(call) {}

  void operator()(benchmark::State& state) {
    if (interrupted) return give_up(state);
    report_progress(call_.name);
    if (call_.prepare) call_.prepare();
    // The first call after another benchmark finds nothing in the caches.
    if (call_.seconds) {
      call_.seconds();
    } else {
      call_.call();
    }
    for (auto _ : state) {
      if (call_.seconds) {
        state.SetIterationTime(call_.seconds());
        continue;
      }
      if (!call_.before_call) {
        call_.call();
        continue;
      }
      call_.before_call();
      const double start = now();
      call_.call();
      state.SetIterationTime(now() - start);
    }
    iterations_ = state.max_iterations;
  }

 private:
  double now() const { return call_.on_one_thread ? processor_clock() : seconds_since({}); }

  // Google Benchmark wants as many iterations from each repetition, also from those that failed.
  void give_up(benchmark::State& state) const {
    if (iterations_ != state.max_iterations) return state.SkipWithError(kInterrupted);
    for (auto _ : state) {
      if (has_manual_time(call_)) state.SetIterationTime(0);
    }
    state.counters[kInterrupted] = 1;
  }

  const TimedCall& call_;
  benchmark::IterationCount iterations_ = 0;  // of the last complete repetition
};

void catch_interrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

// Takes Google Benchmark's options, then ours. Nothing: the program ends with *status. `words` has
// to live as long as the benchmarks, which keep a pointer into it.
std::optional<ProgramOptions> parse_options(const Program& program, const std::string& help_text,
                                            std::vector<std::string>* words, int* status) {
  auto given = [words](const std::string& flag) {
    for (const std::string& word : *words) {
      if (word == flag || word.rfind(flag + "=", 0) == 0) return true;
    }
    return false;
  };
  if (given("--help") || given("-h")) {  // for which Google Benchmark would end the process
    std::fputs(help_text.c_str(), stdout);
    return std::nullopt;
  }
  ProgramOptions options;
  const bool quick = given("--quick");
  if (!program.times_itself) {
    options.raw = given("--benchmark_format");
    options.list = given("--benchmark_list_tests");
    // Ahead of the user's, which then win.
    words->insert(words->begin() + 1,
                  {quick ? "--benchmark_repetitions=3" : "--benchmark_repetitions=25",
                   quick ? "--benchmark_min_time=0.005" : "--benchmark_min_time=0.05",
                   "--benchmark_enable_random_interleaving=true"});
  }
  std::vector<char*> pointers;
  for (std::string& word : *words) pointers.push_back(word.data());
  int count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  CLI::App app;
  if (program.times_itself) {
    // The others of Google Benchmark's would do nothing: they are left for the check below.
    app.add_flag("--benchmark_list_tests", options.list);
  } else {
    benchmark::Initialize(&count, pointers.data());
  }
  app.set_help_flag();
  app.add_option("--json", options.json);
  app.add_flag("--quick", options.quick);
  if (!program.arguments.empty()) app.add_option("arguments", options.arguments);
  try {
    app.parse(count, pointers.data());
  } catch (const CLI::ParseError& error) {
    std::fprintf(
        stderr, "%s: %s; %ssee --help\n", program.name.c_str(), error.what(),
        program.times_itself ? "what is measured is chosen by name, as an argument; " : "");
    *status = 2;
    return std::nullopt;
  }
  return options;
}

// Prints, or writes, both forms.
void print(const Report& report, const ProgramOptions& options) {
  std::fputs(report_text(report).c_str(), options.raw ? stderr : stdout);
  if (!options.json.empty()) {
    write_file("results", user_path(options.json), report_json(report));
  } else if (!options.raw) {
    std::printf("\n%s", report_json(report).c_str());
  }
}

}  // namespace

int run_program(int argc, char** argv, const Program& program) {
  std::string help_text = program.measures +
                          "\n\nExample:\n  ./bazelw run -c opt //benchmarks:" + program.name +
                          " -- " + program.example + "\n\n";
  if (!program.arguments.empty()) help_text += "  ...           " + program.arguments + '\n';
  help_text += kCommonHelp;
  help_text += program.times_itself ? kNoOtherOptions : kOptionsOfGoogleBenchmark;
  help_text += kListHelp;
  int status = 0;
  std::vector<std::string> words(argv, argv + argc);
  const std::optional<ProgramOptions> options = parse_options(program, help_text, &words, &status);
  if (!options) return status;
  try {
    // Before minutes of measuring, not after.
    if (!options->json.empty()) check_writable("results", user_path(options->json));
    Report report = program.run(*options);
    if (interrupted) report.warnings.emplace_back("interrupted: not everything was measured");
    if (!options->list) print(report, *options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program.name.c_str(), error.what());
    return 1;
  }
  constexpr int kInterruptedStatus = 128 + SIGINT;
  return interrupted ? kInterruptedStatus : 0;
}

std::map<std::string, Samples> measure(const std::vector<TimedCall>& calls,
                                       const ProgramOptions& options) {
  for (const TimedCall& call : calls) {
    auto* added = benchmark::RegisterBenchmark(
        call.name.c_str(), [repeater = std::make_shared<Repeater>(call)](benchmark::State& state) {
          (*repeater)(state);
        });
    if (has_manual_time(call)) {
      added->UseManualTime();
    } else if (!call.on_one_thread) {
      added->UseRealTime();
    }
  }
  catch_interrupt();
  if (!options.list) announce("measuring; Ctrl-C prints what there is");
  std::unique_ptr<benchmark::BenchmarkReporter> display;
  if (options.raw) display.reset(benchmark::CreateDefaultDisplayReporter());
  SampleCollector collector(display.get());
  for (const TimedCall& call : calls) {
    if (call.on_one_thread && !has_manual_time(call)) collector.by_processor.insert(call.name);
  }
  benchmark::RunSpecifiedBenchmarks(&collector);
  benchmark::ClearRegisteredBenchmarks();
  benchmark::Shutdown();
  return std::move(collector.seconds);
}

void announce(const std::string& what) {
  last_line = Clock::now();
  const double seconds = std::chrono::duration<double>(last_line - program_start).count();
  std::fprintf(stderr, "%4.0f s  %s\n", seconds, what.c_str());
}

void report_progress(const std::string& what) {
  if (Clock::now() - last_line >= kSilence) announce(what);
}

}  // namespace emulsion::benchmarks

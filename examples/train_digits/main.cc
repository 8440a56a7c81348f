// Trains the digits network with a kernel of our own for each step, and prints the time of an epoch
// beside the same training in JAX.
//
//   ./bazelw run //examples/train_digits
//   ./bazelw run //examples/train_digits -- --epochs=100 --threads=1 --no-jax

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "backends/runtime/emulsion_runtime.h"
#include "bazel/user_path.h"
#include "benchmarks/child_program.h"
#include "dsl/error.h"
#include "dsl/files.h"
#include "examples/digits/digits_data.h"
#include "examples/train_digits/trainer.h"
#include "tools/cpp/runfiles/runfiles.h"

using namespace emulsion;
using bazel::tools::cpp::runfiles::Runfiles;
using nlohmann::ordered_json;

namespace {

constexpr int kInterrupted = 130;  // as a shell has it: 128 + SIGINT

volatile std::sig_atomic_t interrupted = 0;
void on_interrupt(int /*signal*/) { interrupted = 1; }

struct Options {
  std::string data, json;
  int epochs = 60;
  int64_t batch = 32;
  double rate = 0.2;
  uint64_t seed = 1;
  int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  bool jax = true;
};

double percent_of(int64_t correct, const Digits& digits) {
  return 100.0 * static_cast<double>(correct) / static_cast<double>(digits.size());
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// One line that is written over in a terminal, else a line now and then.
class Progress {
 public:
  explicit Progress(int epochs) : epochs_(epochs) {}

  void show(int epoch, double loss, double percent) const {
    const bool is_last = epoch == epochs_;
    if (!is_terminal_ && !is_last && epoch % std::max(1, epochs_ / 10) != 0) return;
    fmt::print("{}epoch     {:>4} of {}: loss {:.4f}, held out {:.2f} %{}",
               is_terminal_ ? "\r" : "", epoch, epochs_, loss, percent,
               is_terminal_ && !is_last ? "" : "\n");
    std::fflush(stdout);
  }
  void end_line() const {
    if (is_terminal_) fmt::print("\n");
  }

 private:
  const int epochs_;
  const bool is_terminal_ = isatty(STDOUT_FILENO) == 1;
};

// The same training in a process of its own; nothing where there is no JAX, with the reason.
ordered_json train_in_jax(const Options& options, const std::string& data,
                          const Runfiles& runfiles) {
  const std::string why_not =
      read_file("reason", runfiles.Rlocation("emulsion_test_jax/why_not.txt"));
  if (!why_not.empty()) {
    fmt::print("JAX       skipped: {}\n", why_not);
    return {};
  }
  const std::string command = fmt::format(
      "/usr/bin/python3 -I {} --site={} --data={} --epochs={} --batch={} --rate={} --seed={} "
      "--threads={}",
      benchmarks::quoted(runfiles.Rlocation("emulsion/examples/train_digits/train_in_jax.py")),
      benchmarks::quoted(runfiles.Rlocation("emulsion_test_jax/site")), benchmarks::quoted(data),
      options.epochs, options.batch, options.rate, options.seed, options.threads);
  std::string last;
  benchmarks::run_program_lines("train_in_jax.py", command,
                                [&](const std::string& line) { last = line; });
  return ordered_json::parse(last);
}

int run(const Options& options, const Runfiles& runfiles) {
  const std::string data = options.data.empty() ? runfiles.Rlocation("scikit_learn_data/digits.csv")
                                                : user_path(options.data);
  const DigitsSplit split = split_digits(read_digits(data));
  emulsion_set_max_threads(options.threads);
  fmt::print("network   64-128-64-10, ReLU between the layers, f32\n");
  fmt::print("training  {} images in batches of {}, rate {}, on {} thread{}\n", split.train.size(),
             options.batch, options.rate, options.threads, options.threads == 1 ? "" : "s");
  std::fflush(stdout);
  Trainer trainer(split.train, options.batch, options.seed);
  const Progress progress(options.epochs);
  std::vector<double> seconds;
  for (int epoch = 1; epoch <= options.epochs; ++epoch) {
    const auto start = std::chrono::steady_clock::now();
    const double loss =
        trainer.run_epoch(static_cast<float>(options.rate), [] { return interrupted != 0; });
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (interrupted != 0) {
      progress.end_line();
      fmt::print("stopped   in epoch {} of {}: held out {:.2f} %\n", epoch, options.epochs,
                 percent_of(trainer.count_correct(split.held_out), split.held_out));
      return kInterrupted;
    }
    seconds.push_back(elapsed.count());
    progress.show(epoch, loss, percent_of(trainer.count_correct(split.held_out), split.held_out));
  }
  const int64_t correct = trainer.count_correct(split.held_out);
  fmt::print("accuracy  {} of {} held-out images, {:.2f} %\n", correct, split.held_out.size(),
             percent_of(correct, split.held_out));
  ordered_json json = {{"epochs", options.epochs},
                       {"threads", options.threads},
                       {"percent", percent_of(correct, split.held_out)},
                       {"epoch_seconds", median(seconds)}};
  const ordered_json jax = options.jax ? train_in_jax(options, data, runfiles) : ordered_json();
  fmt::print("epoch     {:.2f} ms, the median of {}\n", 1e3 * median(seconds), seconds.size());
  if (!jax.is_null()) {
    const double theirs = jax.at("epoch_seconds");
    fmt::print("JAX       {:.2f} ms, jitted, held out {:.2f} %: {:.2f} of its time here\n",
               1e3 * theirs, jax.at("percent").get<double>(), median(seconds) / theirs);
    json["jax"] = jax;
  }
  if (!options.json.empty()) write_file("results", user_path(options.json), json.dump(2) + "\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Trains the digits network with kernels of Emulsion, forwards and backwards in one, and "
      "prints\n"
      "the time of an epoch beside the same training in JAX. Ctrl-C ends it after the step it is "
      "in.\n\n"
      "  ./bazelw run //examples/train_digits -- --epochs=100 --threads=1 "
      "--json=/tmp/train.json\n");
  Options options;
  bool no_jax = false;
  app.add_option("--data", options.data,
                 "digits.csv; by default the one of the scikit-learn wheel");
  app.add_option("--json", options.json, "Also write the results to this file, as JSON");
  app.add_option("--epochs", options.epochs, "How often each image is seen")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--batch", options.batch, "Images in a step")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--rate", options.rate, "How far a step goes along the gradient")
      ->check(CLI::Range(1e-6, 10.0))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Of the first parameters and the order of the images")
      ->capture_default_str();
  app.add_option("--threads", options.threads, "At most; JAX gets as many processors")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_flag("--no-jax", no_jax, "Do not train in JAX");
  CLI11_PARSE(app, argc, argv);
  options.jax = !no_jax;
  std::signal(SIGINT, on_interrupt);
  try {
    std::string error;
    const std::unique_ptr<Runfiles> runfiles(Runfiles::Create(argv[0], &error));
    if (!runfiles) fail("expected to be run by Bazel or from bazel-bin: {}", error);
    return run(options, *runfiles);
  } catch (const std::exception& error) {
    if (interrupted != 0) return kInterrupted;  // what ended with us, like the program in Python
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}

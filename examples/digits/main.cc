// Classifies handwritten digits that the network was not trained on, with two kernels of the same
// network: one as Emulsion derives it, one operator by operator.
//
//   ./bazelw run //examples/digits
//   ./bazelw run //examples/digits -- --json=/tmp/digits.json --repeats=31

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "backends/runtime/emulsion_runtime.h"
#include "bazel/user_path.h"
#include "dsl/error.h"
#include "dsl/files.h"
#include "examples/digits/classify.h"
#include "examples/digits/digits_data.h"
#include "tools/cpp/runfiles/runfiles.h"

using namespace emulsion;
using bazel::tools::cpp::runfiles::Runfiles;
using nlohmann::ordered_json;

namespace {

struct Options {
  std::string data;
  std::string json;
  int repeats = 15;
  bool schedules = true;
};

// One line of the table, in images per second.
struct Rates {
  int64_t images = 0;
  std::string threads;
  std::vector<double> fused, unfused;  // one for each repeat, measured in turns
};

// `part` from 0 to 1: 0.5 is the median.
double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  const double place = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

double median(const std::vector<double>& values) { return quantile(values, 0.5); }

// Half of the distance between the quartiles, as a part of the median.
double spread(const std::vector<double>& values) {
  return (quantile(values, 0.75) - quantile(values, 0.25)) / 2 / median(values);
}

std::vector<double> ratios(const Rates& rates) {
  std::vector<double> result;
  for (size_t i = 0; i < rates.fused.size(); ++i) {
    result.push_back(rates.fused[i] / rates.unfused[i]);
  }
  return result;
}

// Calls per second, over at least 20 ms.
double rate(const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  for (int64_t calls = 1;; ++calls) {
    call();
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    if (elapsed.count() >= 0.02) return static_cast<double>(calls) / elapsed.count();
  }
}

Rates measure(const Digits& digits, int64_t images, int threads, int repeats) {
  Rates rates;
  rates.images = images;
  rates.threads = threads == 0 ? "all" : std::to_string(threads);
  std::vector<float> logits(static_cast<size_t>(images * kDigitClasses));
  auto once = [&](Network network) {
    return rate([&] { compute_logits(network, images, digits.images.data(), logits.data()); }) *
           static_cast<double>(images);
  };
  emulsion_set_max_threads(threads);
  once(Network::fused);  // not counted: starts threads, warms caches
  once(Network::unfused);
  for (int i = 0; i < repeats; ++i) {
    rates.fused.push_back(once(Network::fused));
    rates.unfused.push_back(once(Network::unfused));
  }
  emulsion_set_max_threads(0);
  return rates;
}

// One line for each operation: its directives side by side.
std::string compact(const std::string& schedule) {
  std::string result;
  std::string current;
  std::istringstream lines(schedule);
  for (std::string line; std::getline(lines, line);) {
    const size_t dot = line.find('.');
    if (line.empty() || line[0] == '#' || dot == std::string::npos) continue;
    const std::string stage = line.substr(0, dot);
    if (stage != current) result += (current.empty() ? "" : "\n") + fmt::format("    {}:", stage);
    current = stage;
    result += " " + line.substr(dot + 1);
  }
  return result + "\n";
}

std::string schedule_text(const Runfiles& runfiles, Network network) {
  const std::string name = network == Network::fused ? "digits_network" : "digits_unfused";
  const int target = running_target(network);
  const std::string number = target == 0 ? "" : "." + std::to_string(target);
  return read_file("schedule", runfiles.Rlocation("emulsion/examples/digits/" + name + number +
                                                  ".schedule.txt"));
}

ordered_json to_json(const std::vector<double>& values) {
  return {{"median", median(values)}, {"spread", spread(values)}, {"repeats", values}};
}

void run(const Options& options, const Runfiles& runfiles) {
  const std::string path = options.data.empty() ? runfiles.Rlocation("scikit_learn_data/digits.csv")
                                                : user_path(options.data);
  const Digits held_out = split_digits(read_digits(path)).held_out;
  ordered_json json;
  fmt::print(
      "network   64-128-64-10, ReLU between the layers; f32; weights of examples/digits/weights\n");
  for (Network network : {Network::fused, Network::unfused}) {
    const char* name = network == Network::fused ? "fused" : "unfused";
    const std::string text = schedule_text(runfiles, network);
    const char* target = target_name(network, running_target(network));
    json["schedules"][name] = {{"target", target}, {"text", text}};
    if (options.schedules)
      fmt::print("schedule  {}, derived for {}\n{}", name, target, compact(text));
  }
  const int64_t correct = count_correct(Network::fused, held_out);
  const int64_t correct_unfused = count_correct(Network::unfused, held_out);
  const double percent =
      100.0 * static_cast<double>(correct) / static_cast<double>(held_out.size());
  fmt::print("accuracy  {} of {} held-out images, {:.2f} % (unfused: {})\n", correct,
             held_out.size(), percent, correct_unfused);
  json["accuracy"] = {{"correct", correct}, {"images", held_out.size()}, {"percent", percent}};

  fmt::print(
      "speed     images per second, median of {} runs in turns (+- half of the distance of the "
      "quartiles)\n",
      options.repeats);
  fmt::print("    {:>6}  {:>7}  {:>22}  {:>22}  {:>16}\n", "images", "threads", "fused",
             "operator by operator", "ratio");
  auto cell = [](const std::vector<double>& values) {
    return fmt::format("{:.0f} +- {:.0f} %", median(values), 100 * spread(values));
  };
  json["speed"] = ordered_json::array();
  for (int64_t images : {held_out.size(), int64_t{1}}) {
    for (int threads : {1, 0}) {
      const Rates rates = measure(held_out, images, threads, options.repeats);
      const std::vector<double> ratio = ratios(rates);
      fmt::print("    {:>6}  {:>7}  {:>22}  {:>22}  {:>9.2f} +- {:.0f} %\n", images, rates.threads,
                 cell(rates.fused), cell(rates.unfused), median(ratio), 100 * spread(ratio));
      json["speed"].push_back({{"images", images},
                               {"threads", rates.threads},
                               {"fused", to_json(rates.fused)},
                               {"unfused", to_json(rates.unfused)},
                               {"ratio", to_json(ratio)}});
    }
  }
  fmt::print("    all threads: {}\n", std::thread::hardware_concurrency());
  json["hardware_threads"] = std::thread::hardware_concurrency();
  if (options.json.empty()) return;
  write_file("results", user_path(options.json), json.dump(2) + "\n");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Classifies handwritten digits with a fused and an unfused kernel of one network.\n\n"
      "  ./bazelw run //examples/digits -- --json=/tmp/digits.json --repeats=31\n");
  Options options;
  bool no_schedules = false;
  app.add_option("--data", options.data,
                 "digits.csv; by default the one of the scikit-learn wheel");
  app.add_option("--json", options.json, "Also write the results to this file, as JSON");
  app.add_option("--repeats", options.repeats, "How often each speed is measured")
      ->check(CLI::Range(1, 1000));
  app.add_flag("--no-schedules", no_schedules, "Do not print the schedules");
  CLI11_PARSE(app, argc, argv);
  options.schedules = !no_schedules;
  try {
    std::string error;
    const std::unique_ptr<Runfiles> runfiles(Runfiles::Create(argv[0], &error));
    if (!runfiles) fail("expected to be run by Bazel or from bazel-bin: {}", error);
    run(options, *runfiles);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}

#include "examples/measure_lowering.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bazel/user_path.h"
#include "dsl/error.h"
#include "passes/lower/lower.h"
#include "passes/nest/verify_nest.h"
#include "passes/nest/visit_nest.h"

namespace emulsion::lesson {
namespace {

std::string lowering_file;  // empty: nothing is measured

int64_t count_loops(const Node& root) {
  int64_t loops = 0;
  for_each_node(root, [&](const Node& node) { loops += node.as<Loop>() ? 1 : 0; });
  return loops;
}

}  // namespace

LoweringTimes time_lowering(const Schedule& schedule) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRepetitions = 11;
  LoweringTimes times;
  for (int i = 0; i < kRepetitions; ++i) {
    const auto start = Clock::now();
    const LoopNest nest = lower(schedule.graph(), schedule);
    verify_nest(nest);
    times.seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    times.loops = count_loops(*nest.root);
  }
  return times;
}

void add_lowering_option(CLI::App* app) {
  app->add_option_function<std::string>(
      "--lowering",
      [](const std::string& file) { lowering_file = std::filesystem::absolute(user_path(file)); },
      "Write how long each nest takes to lower there");
}

void measure_lowering(const std::string& step, const Schedule& schedule) {
  if (lowering_file.empty()) return;
  const LoweringTimes times = time_lowering(schedule);
  const nlohmann::json line = {{"step", step}, {"loops", times.loops}, {"seconds", times.seconds}};
  std::ofstream file(lowering_file, std::ios::app);
  file << line.dump() << '\n';
  file.close();
  if (!file) fail("{}: cannot be written", lowering_file);
}

}  // namespace emulsion::lesson

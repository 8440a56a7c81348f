#include "tests/random/scheduled_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "dsl/graph_text.h"
#include "dsl/schedule_text.h"
#include "passes/lower/lower.h"
#include "tests/random/check_recipe.h"
#include "tests/random/check_schedule.h"
#include "tests/random/expect_in_children.h"
#include "tests/random/level_batches.h"
#include "tests/random/random_schedule.h"
#include "tests/random/run_in_children.h"
#include "tests/random/test_environment.h"

namespace emulsion {
namespace {

using nlohmann::json;

// Of a run: interpreters walk them, several times. What is computed again and again has more.
constexpr int64_t kMostUops = 200'000;

int64_t uops_of(const LoopNest& nest, const std::vector<SizeValues>& runs) {
  int64_t most = 0;
  for (const SizeValues& sizes : runs) most = std::max(most, count_uops(nest, sizes).total());
  return most;
}

struct Checked : ScheduledPrograms {
  std::string failure;
};

class Case {
 public:
  Case(ScheduleProgram program, uint64_t seed, int index)
      : program_(std::move(program)),
        target_(level_of(index)),
        random_(RandomNumbers(~seed ^ (static_cast<uint64_t>(index) << 32)).next()) {}

  Checked run(int count) {
    for (int i = 0; i < count && result_.failure.empty(); ++i) {
      options_ = options_of_turn(i);
      lines_.clear();
      try {
        check();
      } catch (const std::exception& error) {
        result_.failure = described(error.what());
      }
    }
    return result_;
  }

 private:
  // One that is drawn, and the same with mistakes.
  void check() {
    const Graph& graph = program_.graph;
    draw_legal_schedule(graph, &random_, &lines_, &result_.refused);
    announce(described(""));
    const Schedule schedule = parse_schedule(schedule_text(graph, lines_), graph);
    if (!is_checked(lower(graph, schedule))) return;
    check_schedule(program_, lines_, options_, target_);
    for (const auto& [kind, times] : directive_kinds(graph, lines_)) {
      result_.kinds[to_string(kind)] += times;
    }
    check_mistakes(graph, &random_, &lines_, [&](const LoopNest& nest) {
      if (is_checked(nest)) check_nest(program_, nest, options_, target_);
    });
  }

  bool is_checked(const LoopNest& nest) {
    const bool is_short = uops_of(nest, program_.runs) <= kMostUops;
    ++(is_short ? result_.schedules : result_.too_long);
    return is_short;
  }

  std::string described(const std::string& what) const {
    return fmt::format("{}\n{}{}{}{}\n", what, to_string(program_.graph),
                       schedule_text(program_.graph, lines_),
                       options_.checked ? "checked, target " : "target ", target_.to_string());
  }

  const ScheduleProgram program_;
  const Target target_;
  RandomNumbers random_;
  ScheduleLines lines_;
  CompileOptions options_;
  Checked result_;
};

}  // namespace

ScheduledPrograms expect_scheduled(const std::vector<int>& numbers, uint64_t seed, int schedules,
                                   const std::function<ScheduleProgram(int)>& program) {
  const auto count =
      static_cast<int>(number_from("EMULSION_SCHEDULES", static_cast<uint64_t>(schedules)));
  std::vector<std::function<std::string()>> tasks;
  tasks.reserve(numbers.size());
  for (const int number : numbers) {
    tasks.emplace_back([&program, seed, count, number] {
      const Checked checked = Case(program(number), seed, number).run(count);
      return json({checked.failure, checked.schedules, checked.too_long, checked.refused,
                   checked.kinds})
          .dump();
    });
  }
  start_jit();
  const std::vector<TaskResult> results = run_in_children(tasks);
  ScheduledPrograms total;
  for (size_t i = 0; i < results.size(); ++i) {
    std::string failure = results[i].crash;
    if (failure.empty()) {
      const json values = json::parse(results[i].text);
      values[0].get_to(failure);
      total.schedules += values[1].get<int>();
      total.too_long += values[2].get<int>();
      total.refused += values[3].get<int>();
      for (const auto& [kind, times] : values[4].get<std::map<std::string, int>>()) {
        total.kinds[kind] += times;
      }
    }
    if (!failure.empty()) add_failure_of(seed, numbers[i], failure);
  }
  fmt::print("seed {}: {} graphs, {} schedules run, {} too long to be run, {} refusals\n", seed,
             numbers.size(), total.schedules, total.too_long, total.refused);
  for (const auto& [kind, times] : total.kinds) fmt::print("{:6} {}\n", times, kind);
  return total;
}

}  // namespace emulsion

#include "tests/random/check_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "backends/entry/check_cpu_limits.h"
#include "backends/halide/jit.h"
#include "backends/interpreter/interpret_graph.h"
#include "dsl/error.h"
#include "dsl/graph_text.h"
#include "dsl/schedule_text.h"
#include "passes/lower/lower.h"
#include "passes/nest/visit_nest.h"
#include "tests/passes/check_nest.h"
#include "tests/random/check_recipe.h"
#include "tests/random/guarded_run.h"
#include "tests/random/run_in_children.h"
#include "tests/random/sizes_text.h"
#include "tests/random/test_environment.h"
#include "tests/random/wrong_step.h"

namespace emulsion {
namespace {

using nlohmann::json;

const ScheduleProgram& program_of(int index) {
  const auto& programs = schedule_programs();
  return programs[static_cast<size_t>(index) % programs.size()];
}

// Independent of the index's neighbours: SplitMix64 scrambles.
RandomNumbers numbers_of(uint64_t seed, int index) {
  return RandomNumbers(RandomNumbers(seed ^ (static_cast<uint64_t>(index) << 32)).next());
}

bool has_tiles(const Node& root) {
  return any_node(root, [](const Node& node) {
    const Loop* loop = node.as<Loop>();
    return loop && loop->kind == LoopKind::tile;
  });
}

void expect_not_compiled(const LoopNest& nest, const Target& target) {
  try {
    const JitKernel kernel(nest, target);
  } catch (const ScheduleError&) {
    return;
  }
  throw std::runtime_error("what no CPU runs, or too much code, was compiled");
}

bool is_too_large(const LoopNest& nest, const Target& target) {
  try {
    check_cpu_limits(nest, code_limits(target));
    return false;
  } catch (const ScheduleError&) {
    return true;
  }
}

NestRun run_of(const ScheduleProgram& program, const SizeValues& sizes) {
  return {sizes,
          program.arguments ? program.arguments(program.graph, sizes)
                            : integer_arguments(program.graph, sizes),
          program.relative, program.absolute};
}

std::string describe(const ScheduleProgram& program, const ScheduleLines& lines,
                     const std::string& what) {
  return fmt::format("{}\nprogram {}:\n{}{}", what, program.name, to_string(program.graph),
                     schedule_text(program.graph, lines));
}

// What a refused schedule has to say: see passes/lower/refusal.h. The parser's errors have a line
// instead of a nest.
std::string fault_of_message(const std::string& message) {
  const std::string first = message.substr(0, message.find('\n'));
  const std::string place = first.substr(0, first.find(": "));
  if (place.rfind("line ", 0) != 0) return "a refusal without its line: " + message;
  if (place.find(", column ") != std::string::npos) return "";  // the parser has no nest to show
  const bool choice = first.find("; legal: ") != std::string::npos ||
                      first.find("; nearest: ") != std::string::npos;
  if (!choice) return "a refusal without the nearest legal choice: " + message;
  const bool nest = message.find("\nthe nest before it:\n") != std::string::npos;
  return nest ? "" : "a refusal without a nest: " + message;
}

// For the first run of the program that a step is wrong for.
std::string first_wrong_step(const ScheduleProgram& program, const std::vector<GraphStep>& graphs,
                             const Schedule& schedule) {
  std::string step;
  for (const SizeValues& sizes : program.runs) {
    const NestRun run = run_of(program, sizes);
    InterpretOptions options;
    options.sizes = sizes;
    const TensorValues expected = interpret_graph(program.graph, run.arguments, options);
    const auto agrees = [&](const TensorValues& results) {
      return std::all_of(expected.begin(), expected.end(), [&](const auto& output) {
        return !first_difference(output.second, results.at(output.first), run.relative,
                                 run.absolute);
      });
    };
    step = first_wrong_step(graphs, schedule, run.arguments, sizes, agrees);
    if (step != "a backend") break;
  }
  return step;
}

json to_json(const ScheduleResult& result) {
  return {result.failure, result.refused, result.checked, result.kinds, numbers_of(result.emitted)};
}

CompileOptions options_of(int index) {
  return options_of_turn(index / static_cast<int>(schedule_programs().size()));
}

}  // namespace

void check_interpreted(const ScheduleProgram& program, const LoopNest& nest) {
  for (const SizeValues& sizes : program.runs) {
    const testing::AssertionResult same =
        computes_with(nest, program.graph, run_of(program, sizes));
    if (!same) throw std::runtime_error(same.message());
  }
}

CompileOptions options_of_turn(int turn) {
  CompileOptions options;
  options.checked = turn % 2 == 0 || number_from("EMULSION_CHECKED", 0) != 0;
  return options;
}

void check_compiled(const ScheduleProgram& program, const LoopNest& nest,
                    const CompileOptions& options, const Target& target) {
  const JitKernel kernel(nest, target, options);
  for (const SizeValues& sizes : program.runs) {
    const NestRun run = run_of(program, sizes);
    InterpretOptions with_sizes;
    with_sizes.sizes = sizes;
    const TensorValues expected = interpret_graph(program.graph, run.arguments, with_sizes);
    for (auto side : {GuardedBuffer::Side::start, GuardedBuffer::Side::end}) {
      const TensorValues actual = run_guarded(kernel, program.graph, run.arguments, sizes, side);
      for (const auto& [name, value] : expected) {
        const auto difference =
            first_difference(value, actual.at(name), run.relative, run.absolute);
        if (!difference) continue;
        throw std::runtime_error("JIT: " + name + *difference + sizes_text(sizes));
      }
    }
  }
}

bool is_compiled(const LoopNest& nest, const Target& target) {
  return !has_tiles(*nest.root) && !is_too_large(nest, target);
}

EmittedCounts check_statement(const LoopNest& nest) {
  const EmittedCheck check = check_emitted(nest);
  if (check.difference.empty()) return check.counts;
  throw std::runtime_error("statement: " + check.difference + "\n" + to_string(nest));
}

EmittedCounts check_nest(const ScheduleProgram& program, const LoopNest& nest,
                         const CompileOptions& options, const Target& target) {
  check_interpreted(program, nest);
  if (!is_compiled(nest, target)) {
    expect_not_compiled(nest, target);
    return {};
  }
  check_compiled(program, nest, options, target);
  return check_statement(nest);
}

EmittedCounts check_schedule(const ScheduleProgram& program, const ScheduleLines& lines,
                             const CompileOptions& options, const Target& target) {
  const Schedule schedule = parse_schedule(schedule_text(program.graph, lines), program.graph);
  const LoopNest nest = lower(program.graph, schedule);
  try {
    return check_nest(program, nest, options, target);
  } catch (const std::exception& error) {
    throw std::runtime_error(
        fmt::format("{}\nfirst wrong after: {}", error.what(),
                    first_wrong_step(program, {{"the graph", program.graph}}, schedule)));
  }
}

void check_lowered(const ScheduleProgram& program, const Lowered& lowered, const Target& target) {
  try {
    check_compiled(program, lowered.nest, {}, target);
  } catch (const std::exception& error) {
    const std::string step = first_wrong_step(
        program, {{"the graph", program.graph}, {"the groups", lowered.grouped}}, lowered.schedule);
    throw std::runtime_error(fmt::format("{}\nfirst wrong after: {}", error.what(), step));
  }
}

void check_both_codes(const ScheduleProgram& program, const ScheduleLines& lines) {
  CompileOptions options;
  for (bool checked : {false, true}) {
    options.checked = checked;
    check_schedule(program, lines, options);
  }
}

std::map<DirectiveKind, int> directive_kinds(const Graph& graph, const ScheduleLines& lines) {
  std::map<DirectiveKind, int> kinds;
  const Schedule schedule = parse_schedule(schedule_text(graph, lines), graph);
  for (const auto& [name, stage] : schedule.stages()) {
    for (const Directive& d : stage.directives()) ++kinds[d.kind];
  }
  return kinds;
}

void draw_legal_schedule(uint64_t seed, int index, ScheduleLines* lines, int* refused) {
  RandomNumbers random = numbers_of(seed, index);
  draw_legal_schedule(program_of(index).graph, &random, lines, refused);
}

ScheduleResult check_legal(uint64_t seed, int index) {
  ScheduleResult result;
  const ScheduleProgram& program = program_of(index);
  ScheduleLines lines;
  try {
    draw_legal_schedule(seed, index, &lines, &result.refused);
    announce(describe(program, lines, ""));
    result.emitted += check_schedule(program, lines, options_of(index));
    ++result.checked;
    for (const auto& [kind, count] : directive_kinds(program.graph, lines)) {
      result.kinds[to_string(kind)] += count;
    }
  } catch (const std::exception& error) {
    result.failure = describe(program, lines, error.what());
  }
  return result;
}

MistakeCounts check_mistakes(const Graph& graph, RandomNumbers* random, ScheduleLines* lines,
                             const NestCheck& accepted) {
  constexpr int kTries = 40;
  MistakeCounts counts;
  for (int tries = 0; tries < kTries && counts.refused == 0; ++tries) {
    if (lines->empty()) {  // at first, and when the mistakes were that lines are missing
      int ignored = 0;
      draw_legal_schedule(graph, random, lines, &ignored);
      continue;
    }
    *lines = with_a_mistake(graph, *lines, random);
    const std::string text = schedule_text(graph, *lines);
    announce(to_string(graph) + text);
    std::optional<LoopNest> nest;
    try {
      nest = lower(graph, parse_schedule(text, graph));
    } catch (const Error& error) {
      ++counts.refused;
      const std::string fault = fault_of_message(error.what());
      if (!fault.empty()) throw std::runtime_error(fault);
      continue;
    }
    accepted(*nest);
    ++counts.accepted;
  }
  return counts;
}

ScheduleResult check_illegal(uint64_t seed, int index) {
  ScheduleResult result;
  const ScheduleProgram& program = program_of(index);
  RandomNumbers random = numbers_of(~seed, index);
  ScheduleLines lines;
  try {
    const MistakeCounts counts =
        check_mistakes(program.graph, &random, &lines, [&](const LoopNest& nest) {
          result.emitted += check_nest(program, nest, options_of(index));
        });
    result.refused = counts.refused;
    result.checked = counts.accepted;
  } catch (const std::exception& error) {
    result.failure = describe(program, lines, error.what());
  }
  return result;
}

std::vector<ScheduleResult> check_in_children(ScheduleCheck check, uint64_t seed,
                                              const std::vector<int>& indices) {
  std::vector<std::function<std::string()>> tasks;
  tasks.reserve(indices.size());
  for (int index : indices) {
    tasks.emplace_back([=] { return to_json(check(seed, index)).dump(); });
  }
  start_jit();
  const std::vector<TaskResult> done = run_in_children(tasks);
  std::vector<ScheduleResult> results(indices.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!done[i].crash.empty()) {
      results[i].failure = done[i].crash;
      continue;
    }
    const json values = json::parse(done[i].text);
    values[0].get_to(results[i].failure);
    values[1].get_to(results[i].refused);
    values[2].get_to(results[i].checked);
    values[3].get_to(results[i].kinds);
    results[i].emitted = counts_of(values[4].get<std::vector<int64_t>>());
  }
  return results;
}

}  // namespace emulsion

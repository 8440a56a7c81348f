#include "tests/random/wrong_step.h"

#include <exception>
#include <optional>
#include <utility>

#include "backends/interpreter/interpret_graph.h"
#include "backends/interpreter/interpret_nest.h"
#include "passes/lower/make_nest.h"
#include "passes/nest/verify_nest.h"

namespace emulsion {

std::string first_wrong_step(const std::vector<GraphStep>& graphs, const Schedule& schedule,
                             const TensorValues& arguments, const SizeValues& sizes,
                             const Agrees& agrees, const std::vector<NestPass>& passes) {
  InterpretOptions forwards, backwards;
  forwards.sizes = backwards.sizes = sizes;
  backwards.reverse_parallel = true;
  std::optional<LoopNest> nest;
  const auto nest_agrees = [&](LoopNest made) {
    nest = std::move(made);
    verify_nest(*nest);
    return agrees(interpret_nest(*nest, arguments, forwards)) &&
           agrees(interpret_nest(*nest, arguments, backwards));
  };
  const Graph &first = graphs.front().graph, &last = graphs.back().graph;
  std::vector<std::pair<std::string, std::function<bool()>>> steps;
  for (const GraphStep& made : graphs) {
    const Graph& graph = made.graph;
    steps.emplace_back(made.name,
                       [&] { return agrees(interpret_graph(graph, arguments, forwards)); });
  }
  steps.emplace_back("make_nest, no schedule",
                     [&] { return nest_agrees(make_nest(first, Schedule(first))); });
  steps.emplace_back("make_nest", [&] { return nest_agrees(make_nest(last, schedule)); });
  for (const NestPass& pass : passes) {
    steps.emplace_back(pass.name, [&] { return nest_agrees(pass.run(*nest)); });
  }
  for (const auto& [name, step] : steps) {
    try {
      if (!step()) return name;
    } catch (const std::exception& error) {
      return name + ": " + error.what();
    }
  }
  return "a backend";
}

}  // namespace emulsion

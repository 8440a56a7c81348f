// What a failure of a random test says of itself: the step that it comes from, and the smallest
// part of the graph that fails. Both are asked of what is wrong on purpose.

#include "tests/random/wrong_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/interpreter/interpret_graph.h"
#include "dsl/operators.h"
#include "passes/lower/make_nest.h"
#include "tests/random/check_recipe.h"
#include "tests/random/recipe.h"

namespace emulsion {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Graph plus(double number) {
  const Tensor x = input("x", f32, {5});
  return Graph(add(x, number, "y"));
}

const TensorValues kArguments = {{"x", make_tensor({5}, std::vector<float>{1, 2, 3, 4, 5})}};

bool is_plus_one(const TensorValues& results) {
  return !first_difference(interpret_graph(plus(1), kArguments).at("y"), results.at("y"));
}

std::string wrong_step(const Graph& graph, const Schedule& schedule,
                       const std::vector<NestPass>& passes) {
  return first_wrong_step({{"the graph", graph}}, schedule, kArguments, {}, is_plus_one, passes);
}

LoopNest same(const LoopNest& nest) { return nest; }
LoopNest of_another_graph(const LoopNest& /*nest*/) {
  return make_nest(plus(2), Schedule(plus(2)));
}
LoopNest throws(const LoopNest& /*nest*/) { throw std::runtime_error("no nest"); }

TEST(FirstWrongStep, IsThePassThatIsWrong) {
  const Graph graph = plus(1);
  const Schedule none(graph);
  EXPECT_EQ(wrong_step(graph, none, {{"first", same}, {"second", of_another_graph}}), "second");
  EXPECT_EQ(wrong_step(graph, none, {{"first", of_another_graph}, {"second", same}}), "first");
}

TEST(FirstWrongStep, IsThePassThatThrows) {
  const Graph graph = plus(1);
  EXPECT_EQ(wrong_step(graph, Schedule(graph), {{"first", same}, {"second", throws}}),
            "second: no nest");
}

TEST(FirstWrongStep, MayBeTheGraphItself) {
  const Graph graph = plus(2);
  EXPECT_EQ(wrong_step(graph, Schedule(graph), nest_passes()), "the graph");
}

TEST(FirstWrongStep, MayBeAPassOverGraphs) {
  const auto step = [](double fused, double shared) {
    const Schedule schedule(plus(shared));
    return first_wrong_step(
        {{"the graph", plus(1)}, {"fuse", plus(fused)}, {"share", plus(shared)}}, schedule,
        kArguments, {}, is_plus_one);
  };
  EXPECT_EQ(step(2, 1), "fuse");
  EXPECT_EQ(step(1, 2), "share");
  EXPECT_EQ(step(1, 1), "a backend");
}

TEST(FirstWrongStep, MayBeTheLoweringOfTheSchedule) {
  const Graph graph = plus(1);
  Schedule schedule(graph);
  schedule["y"].vectorize(Axis("nowhere"));
  EXPECT_THAT(wrong_step(graph, schedule, nest_passes()), HasSubstr("make_nest: "));
}

TEST(FirstWrongStep, IsABackendWhereAllNestsAgree) {
  const Graph graph = plus(1);
  EXPECT_EQ(wrong_step(graph, Schedule(graph), nest_passes()), "a backend");
}

// %0 = x, then these, each of the one before; the outputs are the last two.
Recipe chain(const std::vector<std::string>& operators) {
  Recipe recipe;
  Step leaf;
  leaf.op = "input";
  leaf.dtype = f32;
  leaf.shape = {3};
  recipe.nodes.push_back(leaf);
  for (const std::string& name : operators) {
    Step call;
    call.op = name;
    call.args = {node_arg(static_cast<int>(recipe.nodes.size()) - 1)};
    recipe.nodes.push_back(call);
  }
  const int last = static_cast<int>(recipe.nodes.size()) - 1;
  recipe.outputs = {last - 1, last};
  recipe.runs = {SizeValues()};
  return recipe;
}

std::vector<std::string> operators_of(const Recipe& recipe) {
  std::vector<std::string> names;
  for (const Step& node : recipe.nodes) names.push_back(node.op);
  return names;
}

bool calls(const Recipe& recipe, const std::string& name) {
  const std::vector<std::string> names = operators_of(recipe);
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(SmallestFailure, EndsWithTheFirstValueThatFails) {
  const Recipe part = smallest_failure(chain({"neg", "tanh", "abs", "relu"}),
                                       [](const std::vector<Recipe>& recipes) {
                                         std::vector<bool> fails;
                                         for (const Recipe& recipe : recipes)
                                           fails.push_back(calls(recipe, "tanh"));
                                         return fails;
                                       });
  EXPECT_THAT(operators_of(part), ElementsAre("input", "neg", "tanh"));
  EXPECT_THAT(part.outputs, ElementsAre(2));
}

TEST(SmallestFailure, LeavesOutOutputsThatAreNotNeededForIt) {
  Recipe recipe = chain({"neg", "tanh", "abs", "relu"});
  recipe.outputs = {1, 2, 3, 4};
  const Recipe part = smallest_failure(recipe, [](const std::vector<Recipe>& recipes) {
    std::vector<bool> fails;
    for (const Recipe& each : recipes) {
      fails.push_back(each.outputs.size() > 1 && calls(each, "abs"));
    }
    return fails;
  });
  EXPECT_THAT(operators_of(part), ElementsAre("input", "neg", "tanh", "abs", "relu"));
  EXPECT_THAT(part.outputs, ElementsAre(3, 4));
}

TEST(SmallestFailure, OfARecipeThatAgreesIsAllOfIt) {
  const Recipe recipe = chain({"neg", "abs"});
  EXPECT_EQ(to_string(smallest_failure(recipe)), to_string(recipe));
}

}  // namespace
}  // namespace emulsion

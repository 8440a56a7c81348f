// The gradients of random graphs, by the interpreter, against JAX. A failure prints what reproduces
// it: EMULSION_SEED and EMULSION_GRAPH, as for random_graph_test.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/interpreter/interpret_graph.h"
#include "dsl/error.h"
#include "dsl/files.h"
#include "dsl/graph_text.h"
#include "passes/differentiate/differentiate.h"
#include "tests/random/oracle.h"
#include "tests/random/random_graph.h"
#include "tests/random/test_environment.h"

namespace emulsion {
namespace {

constexpr int kBatches = 12;  // each starts JAX once
constexpr int kGraphs = 500;
constexpr uint64_t kSeed = 20261122;

// The same with f64 for f32, so that rounding explains no difference.
Recipe in_f64(Recipe recipe) {
  for (Step& step : recipe.nodes) {
    if (step.dtype == DType::f32) step.dtype = DType::f64;
    if (step.params.value("dtype", "") == "f32") step.params["dtype"] = "f64";
  }
  return recipe;
}

// Of floats and conditions alone, with ordinary values and something to differentiate: integers
// have no gradients, and JAX counts with them otherwise.
bool is_differentiable(const Recipe& recipe) {
  if (recipe.exact || recipe.specials) return false;
  const Graph graph = build_graph(recipe);
  const auto is_fit = [](const OpPtr& op) {
    return is_float(op->dtype) || op->dtype == DType::boolean;
  };
  const auto is_float_op = [](const OpPtr& op) { return is_float(op->dtype); };
  // Those that no output needs are not in the graph, and JAX is given them.
  const auto is_fit_leaf = [](const Step& step) {
    return !step.is_leaf() || is_float(step.dtype) || step.dtype == DType::boolean;
  };
  const std::vector<OpPtr> arguments = graph.arguments();
  return std::all_of(recipe.nodes.begin(), recipe.nodes.end(), is_fit_leaf) &&
         std::all_of(graph.ops().begin(), graph.ops().end(), is_fit) &&
         std::any_of(graph.outputs().begin(), graph.outputs().end(), is_float_op) &&
         std::any_of(arguments.begin(), arguments.end(), is_float_op);
}

struct Drawn {
  int number = 0;
  Recipe recipe;
};

// The first so many that are differentiable, and what they are made of.
const std::vector<Drawn>& drawn_graphs() {
  static const auto* const drawn = [] {
    auto* result = new std::vector<Drawn>();
    for (int number = 0; static_cast<int>(result->size()) < kGraphs; ++number) {
      Recipe recipe = in_f64(random_recipe(number_from("EMULSION_SEED", kSeed), number));
      if (is_differentiable(recipe)) result->push_back({number, std::move(recipe)});
    }
    return result;
  }();
  return *drawn;
}

struct Gradients {
  Graph graph;
  // Of the gradients, in the order of the recipe's leaves; empty for one that no output needs.
  std::vector<std::string> names;
  double cotangent = 1;  // of the only output, when that is a loss: the pass takes 1
};

Gradients gradients_of(const Recipe& recipe) {
  const Graph graph = build_graph(recipe);
  std::vector<Tensor> by;
  std::vector<bool> is_needed;
  for (const Step& step : recipe.nodes) {
    const bool is_argument = step.op == "input" || step.op == "weight";
    if (!is_argument || step.dtype != DType::f64) continue;
    const OpPtr* op = graph.find(leaf_name(step));
    is_needed.push_back(op != nullptr);
    if (op != nullptr) by.emplace_back(*op);
  }
  Gradients result = {differentiate(graph, by), {}};
  const Shape& shape = graph.outputs()[0]->shape;
  const bool is_loss =
      graph.outputs().size() == 1 &&
      std::all_of(shape.begin(), shape.end(), [](const Extent& e) { return e == Extent(1); });
  if (is_loss) result.cotangent = cotangent_at(0);
  size_t next = graph.outputs().size();
  for (const bool needed : is_needed) {
    result.names.push_back(needed ? result.graph.outputs()[next++]->name : "");
  }
  return result;
}

std::vector<TensorValue> evaluate(const Gradients& gradients, const Recipe& recipe,
                                  const SizeValues& sizes) {
  TensorValues arguments = arguments_of(recipe, build_graph(recipe), sizes);
  for (const OpPtr& op : gradients.graph.arguments()) {
    if (arguments.count(op->name)) continue;
    TensorValue cotangent = zeros(op->dtype, evaluate_shape(op->name, op->shape, sizes));
    for (int64_t i = 0; i < cotangent.element_count(); ++i) {
      cotangent.set_value(i, cotangent_at(i));
    }
    arguments[op->name] = std::move(cotangent);
  }
  InterpretOptions options;
  options.sizes = sizes;
  const TensorValues results = interpret_graph(gradients.graph, arguments, options);
  std::vector<TensorValue> values;
  for (const std::string& name : gradients.names) {
    TensorValue value = name.empty() ? TensorValue() : results.at(name);
    for (int64_t i = 0; !name.empty() && i < value.element_count(); ++i) {
      value.set_value(i, value.value(i) * gradients.cotangent);
    }
    values.push_back(std::move(value));
  }
  return values;
}

TEST(RandomGradients, HaveEveryOperator) {
  std::map<std::string, int> counts;
  for (const Drawn& drawn : drawn_graphs()) {
    for (const Step& step : drawn.recipe.nodes) ++counts[step.op];
  }
  for (const std::string& op : operator_names()) EXPECT_GE(counts[op], 5) << op;
}

class AgainstJax : public ::testing::TestWithParam<int> {};

TEST_P(AgainstJax, GradientsAgree) {
  const std::string why_not = read_file("reason", std::getenv("EMULSION_WHY_NOT_JAX"));
  if (!why_not.empty()) GTEST_SKIP() << "JAX: " << why_not;
  const uint64_t only = number_from("EMULSION_GRAPH", UINT64_MAX);
  std::vector<Drawn> batch;
  for (size_t i = static_cast<size_t>(GetParam()); i < drawn_graphs().size(); i += kBatches) {
    const Drawn& drawn = drawn_graphs()[i];
    if (only == UINT64_MAX || only == static_cast<uint64_t>(drawn.number)) batch.push_back(drawn);
  }
  std::vector<Recipe> recipes;
  for (const Drawn& drawn : batch) recipes.push_back(drawn.recipe);
  const std::vector<Answer> answers = ask_jax(recipes, std::getenv("EMULSION_JAX_SITE"));
  ASSERT_EQ(answers.size(), recipes.size());
  int64_t elements = 0, unknown = 0;
  for (size_t i = 0; i < batch.size(); ++i) {
    const Recipe& recipe = recipes[i];
    SCOPED_TRACE(fmt::format("EMULSION_SEED={} EMULSION_GRAPH={}\n{}",
                             number_from("EMULSION_SEED", kSeed), batch[i].number,
                             to_string(recipe)));
    ASSERT_EQ(answers[i].error, "");
    std::optional<Gradients> gradients;
    ASSERT_NO_THROW(gradients = gradients_of(recipe));
    SCOPED_TRACE(to_string(gradients->graph));
    for (size_t run = 0; run < recipe.runs.size(); ++run) {
      const std::vector<TensorValue> found = evaluate(*gradients, recipe, recipe.runs[run]);
      const std::vector<Expected>& expected = answers[i].runs[run];
      ASSERT_EQ(found.size(), expected.size());
      for (size_t g = 0; g < found.size(); ++g) {
        if (gradients->names[g].empty()) continue;
        EXPECT_EQ(first_difference(expected[g], found[g]), std::nullopt)
            << gradients->names[g] << " in run " << run;
        elements += static_cast<int64_t>(expected[g].bounds.size());
        unknown += std::count_if(expected[g].bounds.begin(), expected[g].bounds.end(),
                                 [](double bound) { return std::isinf(bound); });
      }
    }
  }
  fmt::print("{} graphs, {} elements of gradients, {} not finite in JAX\n", batch.size(), elements,
             unknown);
  EXPECT_LE(unknown * 10, elements);
}

INSTANTIATE_TEST_SUITE_P(All, AgainstJax, ::testing::Range(0, kBatches));

}  // namespace
}  // namespace emulsion

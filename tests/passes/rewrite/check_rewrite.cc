#include "tests/passes/rewrite/check_rewrite.h"

#include <gtest/gtest.h>

#include "backends/interpreter/bind_arguments.h"
#include "backends/interpreter/interpret_graph.h"
#include "dsl/graph_text.h"

namespace emulsion {
namespace {

// Of those of `graph`: what a rewrite does not need any more, it may leave out.
TensorValues arguments_of(const Graph& graph, const SizeValues& sizes) {
  TensorValues values;
  uint64_t seed = 1;
  for (const OpPtr& op : graph.arguments()) {
    values[op->name] =
        random_integers(op->dtype, evaluate_shape(op->name, op->shape, sizes), seed++, 1, 4);
  }
  return values;
}

void expect_same_at(const Graph& before, const Graph& after, const SizeValues& sizes,
                    double relative) {
  const TensorValues arguments = arguments_of(before, sizes);
  TensorValues wanted;
  for (const OpPtr& op : after.arguments()) wanted[op->name] = arguments.at(op->name);
  InterpretOptions options;
  options.sizes = sizes;
  InterpretOptions of_after;
  for (const std::string& size : after.sizes()) of_after.sizes[size] = sizes.at(size);
  const TensorValues expected = interpret_graph(before, arguments, options);
  const TensorValues actual = interpret_graph(after, wanted, of_after);
  ASSERT_EQ(expected.size(), actual.size());
  for (const auto& [name, value] : expected) {
    ASSERT_TRUE(actual.count(name)) << "no output " << name << "\n" << to_string(after);
    EXPECT_EQ(first_difference(value, actual.at(name), relative).value_or(""), "")
        << name << "\n"
        << to_string(before) << to_string(after);
  }
}

}  // namespace

void expect_same_values(const Graph& before, const Graph& after, double relative) {
  SizeValues sizes, ones, zeros;
  int64_t next = 3;
  for (const std::string& size : before.sizes()) {
    sizes[size] = next++;
    ones[size] = 1;
    zeros[size] = 0;
  }
  expect_same_at(before, after, sizes, relative);
  if (sizes.empty()) return;
  expect_same_at(before, after, ones, relative);
  expect_same_at(before, after, zeros, relative);
}

Rewritten rewritten(const Graph& graph, const std::vector<RewriteRule>& rules, double relative) {
  Rewritten result = apply_rules(graph, rules);
  verify_graph(result.graph);
  expect_same_values(graph, result.graph, relative);
  const Rewritten again = apply_rules(result.graph, rules);
  EXPECT_TRUE(again.matches().empty());
  EXPECT_EQ(again.graph.ops(), result.graph.ops());
  EXPECT_EQ(again.graph.outputs(), result.graph.outputs());
  if (result.matches().empty()) {
    EXPECT_EQ(result.graph.ops(), graph.ops());
  }
  return result;
}

std::vector<std::string> computed(const Graph& graph) {
  std::vector<std::string> names;
  for (const OpPtr& op : graph.ops()) {
    if (op->kind == OpKind::compute || op->kind == OpKind::fused) names.push_back(op->name);
  }
  return names;
}

}  // namespace emulsion

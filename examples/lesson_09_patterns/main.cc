// Lesson 9: patterns. What to look for in a graph, and what to put there, as two small graphs.
//
//   ./bazelw run //examples/lesson_09_patterns
//
// The inputs of a pattern are wildcards, its run-time sizes stand for any extent. Names play no
// part, nor does how somebody cut a computation into operations.

#include <cstdio>
#include <string>
#include <vector>

#include "dsl/emulsion.h"
#include "examples/lesson.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/pipeline.h"
#include "passes/rewrite/apply_rules.h"
#include "passes/rewrite/replace_pattern.h"
using namespace emulsion;

namespace {

constexpr double kRounding = 1e-5;

void print(const std::string& title, const Graph& graph) {
  std::printf("%s\n\n%s\n", title.c_str(), to_string(graph).c_str());
}

void print(const Rewritten& rewritten) {
  for (const RewriteDecision& decision : rewritten.decisions) {
    std::string inner;
    for (const std::string& name : decision.inner) inner += " " + name;
    std::string results = decision.result;
    for (const std::string& name : decision.other_results) results += ", " + name;
    std::printf("%s at %s: %s\n", decision.rule.c_str(), results.c_str(),
                decision.applied ? ("replaced with" + inner).c_str() : decision.reason.c_str());
  }
  std::printf("\n%s\n", to_string(rewritten.graph).c_str());
}

// Compiles a graph with its derived schedule, and checks it against another's numbers.
void check(const std::string& title, const Graph& before, const Graph& after) {
  TensorValues arguments;
  uint64_t seed = 1;
  for (const OpPtr& op : before.arguments()) {
    std::vector<int64_t> shape;
    for (const Extent& extent : op->shape) shape.push_back(extent.evaluate({{"B", 7}}));
    arguments[op->name] = random_integers(op->dtype, shape, seed++);
  }
  lesson::show(title, run_pipeline(after, Target::host()).schedule,
               {lesson::make_trial(before, std::move(arguments))}, kRounding);
}

// relu(x * w + b), of any size. In its place: the same as one group, which is one loop nest.
void linear_lesson() {
  const Extent m = Extent::size("M"), k = Extent::size("K"), n = Extent::size("N");
  Tensor any_x = input("any_x", f32, {m, k});
  Tensor any_w = input("any_w", f32, {k, n});
  Tensor any_b = input("any_b", f32, {n});
  const Graph pattern(relu(matmul(any_x, any_w) + any_b));
  const Graph group = fuse_epilogues(pattern);

  // Two layers: operators, and by hand with the bias first and the zero before the comma.
  Tensor x = input("x", f32, {Extent::size("B"), 64});
  Tensor w1 = weight("w1", f32, {64, 48}), b1 = weight("b1", f32, {48});
  Tensor w2 = weight("w2", f32, {48, 32}), b2 = weight("b2", f32, {32});
  Tensor hidden = relu(matmul(x, w1) + b1, "hidden");
  Axis row("row", Extent::size("B")), column("column", 32), inner("inner", 48);
  Func product("product"), y("y");
  product(row, column) = sum(inner, w2(inner, column) * hidden(row, inner));
  y(row, column) = max(0.0f, b2(column) + product(row, column));

  const Graph graph(y);
  print("1. A graph of two layers.", graph);
  const Rewritten rewritten = replace_pattern(graph, pattern, group);
  std::printf(
      "2. matmul + add + relu becomes a group, wherever it is and however it is written.\n\n");
  print(rewritten);
  check("3. Each group is one loop nest.", graph, rewritten.graph);

  std::printf("4. What somebody else needs is not replaced.\n\n");
  print(replace_pattern(Graph({y.tensor(), exp(product, "e")}), pattern, group));
}

// A pattern of rank 0 is one of elements: it fits values of any shape.
void silu_lesson() {
  Tensor any = input("any", f32, {});
  RewriteRule silu{"silu", Graph(any * sigmoid(any)), Graph(any / (1 + exp(-any)))};
  silu.why_not = [](const Match& match) -> std::optional<std::string> {
    if (!match.result->shape.empty()) return std::nullopt;
    return "expected a value with axes, got a number";
  };
  Tensor x = input("x", f32, {Extent::size("B"), 96});
  const Graph graph(mul(sigmoid(x, "gate"), x, "y"));
  const Rewritten rewritten = apply_rules(graph, {silu});
  std::printf("5. A pattern of your own, with a condition: x * sigmoid(x).\n\n");
  print(rewritten);
  check("6. The rewritten graph, compiled.", graph, rewritten.graph);
}

// A pattern of two outputs: both values are replaced together, and each keeps its name.
void pair_lesson() {
  Tensor any = input("any", f32, {}), once = exp(any, "once");
  const Graph pattern({exp(any), exp(-any)}), replacement({once, 1 / once});
  Tensor x = input("x", f32, {Extent::size("B"), 96});
  Tensor up = exp(x, "up"), down = exp(-x, "down");
  const Graph graph(div(up - down, up + down, "y"));
  const Rewritten rewritten = replace_pattern(graph, pattern, replacement);
  std::printf("7. A pattern of two outputs: exp(x) and exp(-x) of one exp.\n\n");
  print(rewritten);
  check("8. The rewritten graph, compiled.", graph, rewritten.graph);

  std::printf("9. What would need itself is not replaced.\n\n");
  Tensor product = mul(x, x, "product");
  Tensor any_other = input("any_other", f32, {}), any_third = input("any_third", f32, {});
  print(replace_pattern(Graph(add(product, x, "sum")), Graph({any * any_other, any + any_third}),
                        Graph({any_other * any * 1.0f, any_third + any + 0.0f})));
}

void teach() {
  linear_lesson();
  silu_lesson();
  pair_lesson();
}

}  // namespace

int main(int argc, char** argv) {
  return lesson::run(argc, argv, "lesson_09_patterns",
                     "Patterns: what to look for in a graph, and what to put there.", teach);
}

// Lesson 13: fusion by hand. A pass of your own that walks a graph and fuses linear + relu.
//
//   ./bazelw run //examples/lesson_13_manual_fusion
//
// Lesson 9 says what to look for as a pattern. This one looks itself: at the nodes, one after
// another. A pass is a function from a graph to a graph. Nodes never change: what has to be another
// is made anew, and whoever read the old one reads the new one.

#include <cstdio>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backends/interpreter/tensor_value.h"
#include "dsl/emulsion.h"
#include "examples/lesson.h"
#include "passes/analyse/recognise_op.h"
#include "passes/fuse/fuse_epilogues.h"
using namespace emulsion;

namespace {

constexpr double kRounding = 1e-5;

// What an operation reads where it is `what` of a read and of something else, the larger of a value
// and zero, say; null when it is not.
OpPtr operand_of(const Op& op, ExprOp what, bool (*fits)(const Expr& read, const Expr& other)) {
  if (op.kind != OpKind::compute || op.combiner != Combiner::none) return nullptr;
  if (op.body->op != what) return nullptr;
  const Expr &a = op.body->args[0], &b = op.body->args[1];
  if (a->op == ExprOp::read && fits(a, b)) return a->tensor;
  if (b->op == ExprOp::read && fits(b, a)) return b->tensor;
  return nullptr;
}

OpPtr below_relu(const Op& op) {
  return operand_of(op, ExprOp::max, [](const Expr&, const Expr& other) {
    return other->op == ExprOp::constant && other->float_value == 0 && other->int_value == 0;
  });
}

OpPtr below_bias(const Op& op) {
  return operand_of(op, ExprOp::add, [](const Expr& read, const Expr&) {
    return read->tensor->kind == OpKind::compute && match_product(*read->tensor).has_value();
  });
}

struct Linear {
  OpPtr product, sum, relu;
};

// The three operations that end in `relu`, if that is what it ends.
std::optional<Linear> linear_at(const OpPtr& relu) {
  const OpPtr sum = below_relu(*relu);
  const OpPtr product = sum ? below_bias(*sum) : nullptr;
  if (!product) return std::nullopt;
  return Linear{product, sum, relu};
}

// Fuses every relu(product + bias) of which nobody else needs the inner values.
Graph fuse_linear_relu(const Graph& graph) {
  std::vector<Linear> found;
  std::unordered_set<const Op*> inner;
  for (const OpPtr& op : graph.ops()) {
    const std::optional<Linear> linear = linear_at(op);
    if (!linear) continue;
    // Is it legal? The library knows, and says why not.
    auto why_not = why_not_fusable(graph, *linear->product, *linear->sum);
    if (!why_not) why_not = why_not_fusable(graph, *linear->sum, *linear->relu);
    std::printf("%s: %s\n", op->name.c_str(), why_not ? why_not->c_str() : "fused");
    if (why_not) continue;
    found.push_back(*linear);
    inner.insert({linear->product.get(), linear->sum.get()});
  }

  std::unordered_map<const Op*, OpPtr> moved;  // what took the place of which node
  std::unordered_map<const Op*, Linear> ends;
  for (const Linear& linear : found) ends[linear.relu.get()] = linear;
  std::vector<OpPtr> ops;
  for (const OpPtr& op : graph.ops()) {
    if (inner.count(op.get())) continue;  // a member of a group that is still to come
    OpPtr now = replace_reads(op, moved);
    const auto end = ends.find(op.get());
    if (end != ends.end()) {
      // Two at a time: first product and sum, then that group and the relu, which has to read it.
      const OpPtr product = replace_reads(end->second.product, moved);
      const OpPtr sum = replace_reads(end->second.sum, {{end->second.product.get(), product}});
      const OpPtr both = fuse(product, replace_reads(sum, moved));
      now = fuse(both, replace_reads(now, {{end->second.sum.get(), both}}));
    }
    if (now != op) moved[op.get()] = now;
    ops.push_back(now);
  }
  std::vector<OpPtr> outputs;
  for (const OpPtr& output : graph.outputs()) {
    outputs.push_back(moved.count(output.get()) ? moved.at(output.get()) : output);
  }
  Graph result(ops, outputs);
  verify_graph(result);  // order, names, types: what every graph promises
  return result;
}

void teach() {
  Tensor x = input("x", f32, {Extent::size("B"), 64});
  Tensor w1 = weight("w1", f32, {64, 48}), b1 = weight("b1", f32, {48});
  Tensor w2 = weight("w2", f32, {48, 32}), b2 = weight("b2", f32, {32});
  Tensor hidden = relu(matmul(x, w1, "product1") + b1, "hidden");
  Tensor scores = add(matmul(hidden, w2, "product2"), b2, "scores");
  Tensor y = relu(scores, "y");

  const Graph graph(y);
  std::printf("1. A graph of two layers.\n\n%s\n2. The pass.\n\n", to_string(graph).c_str());
  const Graph fused = fuse_linear_relu(graph);
  std::printf("\n%s\n", to_string(fused).c_str());

  std::printf("3. Where somebody else reads the sum, it stays.\n\n");
  const Graph both = fuse_linear_relu(Graph({y, exp(scores, "e")}));
  std::printf("\n%s\n", to_string(both).c_str());

  TensorValues arguments = {{"x", random_integers(f32, {7, 64}, 1)}};
  uint64_t seed = 2;
  for (const Tensor& argument : {w1, b1, w2, b2}) {
    std::vector<int64_t> shape;
    for (const Extent& extent : argument.shape()) shape.push_back(extent.constant_term());
    arguments[argument.name()] = random_integers(f32, shape, seed++);
  }
  // `fused` is decided already, so the schedule is derived for it as it is.
  lesson::show("4. What was fused by hand, scheduled and compiled.",
               derive_schedule(graph, fused, Target::host()),
               {lesson::make_trial(graph, arguments)}, kRounding);
}

}  // namespace

int main(int argc, char** argv) {
  return lesson::run(argc, argv, "lesson_13_manual_fusion",
                     "Fusion by hand: a pass of your own that fuses linear + relu.", teach);
}

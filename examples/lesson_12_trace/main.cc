// Lesson 12: a trace. Operators build a graph; here every node of it is printed.
//
//   ./bazelw run //examples/lesson_12_trace
//
// An operation is one comprehension: axes, a combiner over reduction axes, an expression. Operators
// are functions that write such comprehensions, so nothing behind them asks for their names: what
// an operation is, is told from its expression.

#include <cstdio>
#include <string>
#include <vector>

#include "backends/interpreter/tensor_value.h"
#include "dsl/emulsion.h"
#include "dsl/group_kind.h"
#include "examples/lesson.h"
#include "passes/analyse/recognise_op.h"
#include "passes/fuse/fuse_epilogues.h"
using namespace emulsion;

namespace {

constexpr double kRounding = 1e-5;

std::string kind_of(const Op& op) {
  switch (op.kind) {
    case OpKind::input:
      return "input";
    case OpKind::weight:
      return "weight";
    case OpKind::constant:
      return "constant";
    case OpKind::compute:
      return "compute";
    case OpKind::fused:
      return group_kind(op);
  }
  return "";
}

std::string names_of(const std::vector<OpPtr>& ops) {
  std::string names;
  for (const OpPtr& op : ops) names += (names.empty() ? "" : ", ") + op->name;
  return names.empty() ? "nothing" : names;
}

std::string list(const std::vector<Axis>& axes) {
  std::string text;
  for (const Axis& axis : axes) {
    text += (text.empty() ? "" : ", ") + axis.name() + " < " + axis.extent().to_string();
  }
  return text;
}

// One comprehension: what it is, its axes and its expression.
void print_comprehension(const Op& op, const char* indent) {
  std::printf("%swhat       %s\n", indent, to_string(classify(op)).c_str());
  std::printf("%saxes      %s\n", indent, list(op.axes).c_str());
  if (op.combiner != Combiner::none) {
    std::printf("%scombines  %s over %s\n", indent, to_string(op.combiner).c_str(),
                list(op.reduction_axes).c_str());
  }
  std::printf("%sbody      %s\n", indent, to_string(op.body).c_str());
}

void print_node(const Graph& graph, const Op& op) {
  std::printf("%s: %s %s%s%s\n", op.name.c_str(), kind_of(op).c_str(), to_string(op.dtype).c_str(),
              to_string(op.shape).c_str(), graph.is_output(op) ? ", an output" : "");
  if (op.kind == OpKind::compute) print_comprehension(op, "  ");
  for (const OpPtr& member : op.members) {
    std::printf("  member %s\n", member->name.c_str());
    print_comprehension(*member, "    ");
  }
  if (op.kind == OpKind::compute || op.kind == OpKind::fused) {
    std::printf("  reads     %s\n", names_of(operands(op)).c_str());
  }
  std::vector<OpPtr> users;
  for (const OpPtr& user : graph.ops()) {
    for (const OpPtr& operand : operands(*user)) {
      if (operand.get() == &op) users.push_back(user);
    }
  }
  std::printf("  read by   %s\n", names_of(users).c_str());
}

void print(const std::string& title, const Graph& graph) {
  std::printf("%s\n\n", title.c_str());
  for (const OpPtr& op : graph.ops()) print_node(graph, *op);
  std::printf("%zu nodes, of them %zu arguments and %zu outputs\n\n", graph.ops().size(),
              graph.arguments().size(), graph.outputs().size());
}

void teach() {
  // Each line makes operations. The ones without a name get one in the graph.
  const Extent batch = Extent::size("B");
  Tensor x = input("x", f32, {batch, 64});
  Tensor w = weight("w", f32, {64, 10}), b = weight("b", f32, {10});
  Tensor scores = matmul(x, w) + b;
  Tensor classes = softmax(relu(scores), -1, "classes");

  // And one in index notation: it is a node like any other.
  Axis row("row", batch), column("column", 10);
  Func total("total");
  total(row) = sum(column, classes(row, column) * classes(row, column));

  const Graph graph({classes, total});
  print("1. Every node, producers before users.", graph);

  const Graph grouped = fuse_epilogues(graph);
  print("2. After fusion: a group is a node, which holds its members unchanged.", grouped);

  // The text of a graph has all that is in it: it parses back to the same text.
  const std::string text = to_string(graph);
  if (to_string(parse_graph(text)) != text) fail("expected the same graph from its text");
  std::printf("3. The same graph as text, from which it is read again.\n\n%s\n", text.c_str());

  const TensorValues arguments = {{"x", random_integers(f32, {7, 64}, 1)},
                                  {"w", random_integers(f32, {64, 10}, 2)},
                                  {"b", random_integers(f32, {10}, 3)}};
  lesson::show("4. What becomes of the nodes: a nest of loops for each, or for several.",
               derive_schedule(graph, grouped, Target::host()),
               {lesson::make_trial(graph, arguments)}, kRounding);
}

}  // namespace

int main(int argc, char** argv) {
  return lesson::run(argc, argv, "lesson_12_trace", "A graph, every node of it printed.", teach);
}

// Lesson 14: siblings. Values of one tensor in one loop, and a value that its users compute again.
//
//   ./bazelw run //examples/lesson_14_siblings
//
// Lessons 9 and 13 fuse a producer into its one user. Here nobody is the only user: two operations
// read one tensor, and what they save by it is a decision of its own, with a line in the ledger.

#include <cstdio>
#include <string>

#include "backends/interpreter/tensor_value.h"
#include "dsl/emulsion.h"
#include "examples/lesson.h"
#include "passes/fuse/find_siblings.h"
#include "passes/fuse/fusion_config.h"
#include "passes/pipeline.h"
using namespace emulsion;

namespace {

constexpr int kRows = 64, kColumns = 512;
constexpr double kRounding = 1e-5;

Lowered lower_with(const Graph& graph, const FusionConfig& config) {
  // Sharing a loop pays where no cache holds what both read; so small a lesson asks for it.
  DeriveOptions options;
  options.siblings = share_always;
  return run_pipeline(graph, Target::host(), options, nullptr, config);
}

void print_ledger(const std::string& title, const Lowered& lowered) {
  std::printf("%s\n\n%s\n", title.c_str(), to_string(lowered.fusion).c_str());
}

void check(const std::string& title, const Graph& graph, const Lowered& lowered) {
  TensorValues arguments;
  uint64_t seed = 1;
  for (const OpPtr& op : graph.arguments()) {
    arguments[op->name] = random_integers(op->dtype, {kRows, kColumns}, seed++);
  }
  lesson::show(title, lowered.schedule, {lesson::make_trial(graph, arguments)}, kRounding);
}

void siblings_lesson() {
  Tensor x = input("x", f32, {kRows, kColumns}), z = input("z", f32, {kRows, kColumns});
  const Graph graph({add(x, z, "total"), sub(x, z, "difference")});
  const Lowered lowered = lower_with(graph, FusionConfig());
  print_ledger("1. Two values of the same tensors: the ledger.", lowered);
  check("2. One loop computes both (compute_with), and reads x and z once.", graph, lowered);

  Tensor first = add(x, z, "first");
  print_ledger("3. One that needs the other comes behind it, in a loop of its own.",
               lower_with(Graph({first, mul(first, x, "second")}), FusionConfig()));
}

void copies_lesson() {
  Tensor x = input("x", f32, {kRows, kColumns});
  Tensor s = relu(x, "s");
  const Graph graph({mul(s, 2.0f, "a"), add(s, 1.0f, "b")});
  print_ledger("4. A value with two users is stored, unless somebody asks for more.",
               lower_with(graph, FusionConfig()));
  FusionConfig config;
  config.patterns.emplace_back("recomputed values");
  const Lowered lowered = lower_with(graph, config);
  print_ledger("5. Asked for: each user computes it again, for that costs less than storing it.",
               lowered);
  check("6. Nothing is stored between x and the two results.", graph, lowered);
}

void teach() {
  siblings_lesson();
  copies_lesson();
}

}  // namespace

int main(int argc, char** argv) {
  return lesson::run(argc, argv, "lesson_14_siblings",
                     "Siblings: values of one tensor in one loop, and values computed again.",
                     teach);
}

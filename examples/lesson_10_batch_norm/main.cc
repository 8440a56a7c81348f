// Lesson 10: a normalisation after a convolution, folded into the convolution's weights.
//
//   ./bazelw run //examples/lesson_10_batch_norm
//
//   (sum(x * w) - mean) * scale + beta = sum(x * (w * scale)) + (beta - mean * scale)
//
// What stands on the right of it is computed once, while the kernel is built, when the weights and
// the statistics are constants: the same numbers up to rounding, and one operation less.

#include <cstdio>
#include <string>
#include <vector>

#include "dsl/emulsion.h"
#include "examples/lesson.h"
#include "passes/pipeline.h"
#include "passes/rewrite/clean_up.h"
#include "passes/rewrite/fold_batch_norm.h"
using namespace emulsion;

namespace {

constexpr int64_t kSide = 16, kChannels = 8, kOutputs = 16, kImages = 16;
constexpr double kRounding = 1e-4;

// Whole numbers from `low` to `high`, in eighths.
Tensor parameter(const std::string& name, const Shape& shape, int low, int high) {
  std::vector<float> values(static_cast<size_t>(element_count(shape).value()));
  uint32_t state = static_cast<uint32_t>(name[0]) * 2654435761u;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    const int whole = low + static_cast<int>((state >> 8) % static_cast<uint32_t>(high - low + 1));
    value = static_cast<float>(whole) / 8;
  }
  return constant(name, shape, values);
}

// The lines of a graph that compute: without the data of its constants.
int print(const std::string& title, const Graph& graph) {
  std::printf("%s\n\n", title.c_str());
  int operations = 0;
  for (const OpPtr& op : graph.ops()) {
    const bool computes = op->kind == OpKind::compute || op->kind == OpKind::fused;
    operations += computes;
    const std::string constant = "constant " + op->name + ": " + to_string(op->shape);
    std::printf("  %s\n", op->kind == OpKind::constant ? constant.c_str() : to_string(*op).c_str());
  }
  std::printf("%d operations\n\n", operations);
  return operations;
}

void teach() {
  Tensor x = input("x", f32, {Extent::size("B"), kSide, kSide, kChannels});
  Tensor w = parameter("w", {3, 3, kChannels, kOutputs}, -8, 8);
  Tensor mean = parameter("mean", {kOutputs}, -16, 16);
  Tensor variance = parameter("variance", {kOutputs}, 4, 32);
  Tensor gamma = parameter("gamma", {kOutputs}, 4, 12);
  Tensor beta = parameter("beta", {kOutputs}, -8, 8);
  Tensor normal = batch_norm(conv2d(x, w, {}, "conv"), mean, variance, gamma, beta, 1e-5, -1, "bn");
  const Graph graph(relu(normal, "y"));

  const int before = print("1. conv2d, batch_norm, relu.", graph);
  const Rewritten folded = fold_batch_norm(graph);
  for (const RewriteDecision& match : folded.matches()) {
    std::printf("%s is folded: %s\n\n", match.result.c_str(), match.rule.c_str());
  }
  print("2. The weights and the statistics together.", folded.graph);
  const Graph cleaned = clean_up(folded.graph);
  const int after = print("3. Computed while the kernel is built.", cleaned);
  std::printf("from %d operations to %d\n\n", before, after);

  const auto images = [](int64_t count) -> TensorValues {
    return {{"x", random_integers(f32, {count, kSide, kSide, kChannels}, 1)}};
  };
  std::vector<lesson::Trial> trials;
  for (int64_t count : {0, 1, 3}) trials.push_back(lesson::make_trial(graph, images(count)));
  const lesson::Step plain = lesson::show(
      "4. As it was.", run_pipeline(graph, Target::host()).schedule, trials, kRounding);
  const lesson::Step less =
      lesson::show("5. Folded.", run_pipeline(cleaned, Target::host()).schedule, trials, kRounding);
  std::printf("%lld images: %.3f ms, folded %.3f ms\n", static_cast<long long>(kImages),
              1e3 * lesson::seconds(plain, images(kImages)),
              1e3 * lesson::seconds(less, images(kImages)));
}

}  // namespace

int main(int argc, char** argv) {
  return lesson::run(argc, argv, "lesson_10_batch_norm",
                     "A normalisation after a convolution, folded into its weights.", teach);
}

#include "tests/passes/derive/sibling_graphs.h"

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "passes/fuse/fuse_epilogues.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {

Graph pair_of(const Shape& shape) {
  const Tensor x = input("x", f32, shape);
  return Graph({relu(x, "a"), mul(x, x, "b")});
}

Graph pair_of_polynomials(const Shape& shape) {
  constexpr int kSteps = 12;
  const Tensor x = input("x", f32, shape);
  std::vector<Axis> axes;
  for (size_t i = 0; i < shape.size(); ++i) axes.emplace_back("i" + std::to_string(i), shape[i]);
  const Expr at = x.at({axes.begin(), axes.end()});
  Expr first = at, second = at;
  for (int i = 0; i < kSteps; ++i) {
    first = first * at + 1.0f;
    second = second * at + 2.0f;
  }
  return Graph({compute("a", axes, first), compute("b", axes, second)});
}

Graph pair_and_more(const Shape& shape) {
  const Tensor x = input("x", f32, shape), y = input("y", f32, shape), z = input("z", f32, shape);
  const Tensor bias = input("bias", f32, {shape.back()});
  return Graph({add(x, bias, "a"), mul(add(x * y, bias), z, "b")});
}

Graph planes_of_pixels(const Extent& rows, const Extent& columns) {
  const Tensor x = input("x", f32, {rows, columns, 3});
  const Axis i("i", rows), j("j", columns);
  const auto plane = [&](const char* name, float r, float g, float b) {
    return compute(name, {i, j}, r * x(i, j, 0) + g * x(i, j, 1) + b * x(i, j, 2));
  };
  return Graph({plane("a", 0.25f, 0.5f, 0.25f), plane("b", -0.5f, -0.25f, 0.75f)});
}

Schedule shared(const Graph& graph, const std::string& target, FusionReport* report,
                const std::optional<SiblingPolicy>& policy) {
  DeriveOptions options;
  options.siblings = policy;
  return derive_schedule(graph, fuse_epilogues(graph), Target::parse(target), options, report);
}

std::string text_of(const Graph& graph, const std::string& target) {
  return to_string(shared(graph, target));
}

testing::AssertionResult computes_at(const Graph& graph, const std::string& target,
                                     const std::vector<int64_t>& batches) {
  const Schedule schedule = shared(graph, target);
  if (!has(to_string(schedule), "compute_with")) {
    return testing::AssertionFailure() << "nothing is shared: " << to_string(schedule);
  }
  for (const int64_t batch : batches) {
    SizeValues sizes;
    for (const std::string& size : graph.sizes()) sizes[size] = batch;
    auto result = lowers(graph, schedule, sizes);
    if (!result) return result << "\nsize " << batch << "\n" << to_string(schedule);
  }
  return testing::AssertionSuccess();
}

}  // namespace emulsion

#include "backends/tracker/benchmark_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>
#include <tuple>

#include "backends/tracker/time_in_turns.h"
#include "dsl/count_text.h"
#include "dsl/error.h"
#include "dsl/operators.h"
#include "dsl/version.h"
#include "passes/fuse/find_siblings.h"
#include "passes/fuse/measured_fusions.h"
#include "passes/fuse/named_pattern.h"
#include "passes/pipeline.h"

namespace emulsion {
namespace {

// Of patterns_by_shape(), by rows and columns of the result.

// Two operations that read one tensor, and each another one.
Graph siblings_of(int64_t rows, int64_t columns) {
  const Shape shape = {rows, columns};
  const Tensor x = input("x", f32, shape);
  return Graph({add(x, input("a", f32, shape)), mul(x, input("b", f32, shape))});
}

// Two layers, as wide as what they are of.
Graph layers_of(int64_t rows, int64_t columns) {
  const Shape square = {columns, columns};
  const Tensor hidden = matmul(input("x", f32, {rows, columns}), weight("w", f32, square));
  return Graph(matmul(hidden, weight("v", f32, square)));
}

// A blur: three neighbours across, then three down.
Graph windows_of(int64_t rows, int64_t columns) {
  const Axis i("i", rows), j("j", columns), wide("i", rows + 2);
  const Tensor x = input("x", f32, {rows + 2, columns + 2});
  const Expr at(j);
  const Tensor across =
      compute("across", {wide, j}, x.at({wide, at}) + x.at({wide, at + 1}) + x.at({wide, at + 2}));
  return Graph(
      compute("down", {i, j},
              across.at({i, j}) + across.at({Expr(i) + 1, j}) + across.at({Expr(i) + 2, j})));
}

Graph move_of(int64_t rows, int64_t columns) {
  const Tensor turned = transpose(input("x", f32, {columns, rows}), {1, 0});
  return Graph(add(turned, input("z", f32, {rows, columns})));
}

// Two halves, one below the other.
Graph borders_of(int64_t rows, int64_t columns) {
  const Tensor above = input("a", f32, {rows / 2, columns});
  return Graph(relu(concat({above, input("b", f32, {rows - rows / 2, columns})}, 0)));
}

Graph graph_by_shape(const std::string& pattern, const std::vector<int64_t>& shape) {
  if (shape.size() != 2) {
    fail("benchmark_pattern, {}: expected rows and columns, as in 512x1024, got {}", pattern,
         count_text(shape.size(), "extent", "extents"));
  }
  for (const int64_t extent : shape) {
    if (extent < 1)
      fail("benchmark_pattern, {}: expected extents above 0, got {}", pattern, extent);
  }
  if (pattern == kSiblings) return siblings_of(shape[0], shape[1]);
  if (pattern == kLayerBlocks) return layers_of(shape[0], shape[1]);
  if (pattern == kSlidingWindows) return windows_of(shape[0], shape[1]);
  if (pattern == kReadThrough) return move_of(shape[0], shape[1]);
  EMULSION_CHECK(pattern == kBordersThrough, "no graph for {}", pattern);
  return borders_of(shape[0], shape[1]);
}

// A fact says of which machine it is, so it must not be measured on another one.
void check_cores(const std::string& pattern, const Target& target) {
  static const int kHere = Target::host().cores;
  if (target.cores == 1 || target.cores == kHere) return;
  fail("benchmark_pattern, {}: expected a target of {}, as this machine has, got {}; legal: {}",
       pattern, count_text(kHere, "core", "cores"), target.cores,
       kHere == 1 ? "1" : fmt::format("1 or {}", kHere));
}

// Or both ways would be the same.
void check_taken(const std::string& pattern, const std::string& shape, const FusionReport& report) {
  const auto of_pattern = [&](const FusionDecision& decision) {
    return decision.fused && decision.pattern == pattern;
  };
  if (std::any_of(report.decisions.begin(), report.decisions.end(), of_pattern)) return;
  fail(
      "benchmark_pattern, {}: expected a shape at which the derived schedule takes it, got {}; "
      "legal: one that is larger than the caches",
      pattern, shape);
}

// The class of shapes by which the measurement is looked up.
std::string class_of(NamedPattern* named, const Graph& graph) {
  const OpPtr& output = graph.outputs().at(0);
  const std::optional<Match> match = named ? named->match(output) : std::nullopt;
  EMULSION_CHECK(!named || match, "{} does not match itself", named->name());
  const std::optional<std::string> its_class =
      match ? shape_class_of(*match) : shape_class(output->shape, {});
  EMULSION_CHECK(its_class, "no class of shapes for {}", to_string(output->shape));
  return *its_class;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text;
  for (const int64_t extent : shape) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

}  // namespace

PatternMeasurement benchmark_pattern(const std::string& pattern, const std::vector<int64_t>& shape,
                                     const BenchmarkPatternOptions& options) {
  const std::vector<std::string>& by_shape = patterns_by_shape();
  std::optional<NamedPattern> named;  // those are none
  if (std::count(by_shape.begin(), by_shape.end(), pattern) == 0) {
    named.emplace("benchmark_pattern", pattern);
  }
  const Graph graph = named ? named->graph_of(shape) : graph_by_shape(pattern, shape);
  const Target& target = options.target;
  require_this_machine(target);
  check_cores(pattern, target);
  DeriveOptions apart, together;
  apart.fuse = false;
  if (!named) together.siblings = share_always;  // whatever the model says
  const FusionConfig everything;
  const Lowered one_by_one = run_pipeline(graph, target, apart, nullptr, everything);
  const Lowered as_one = run_pipeline(graph, target, together, nullptr, everything);
  if (!named) check_taken(pattern, shape_text(shape), as_one.fusion);

  PatternMeasurement result;
  std::tie(result.unfused, result.fused) = time_in_turns(
      "benchmark_pattern, " + pattern, one_by_one, as_one, target, options.repeats, options.clock);
  result.shape = shape_text(shape);
  result.fact = {pattern,
                 class_of(named ? &*named : nullptr, graph),
                 target.to_string_with_machine(),
                 EMULSION_VERSION,
                 result.unfused.seconds / result.fused.seconds,
                 options.repeats};
  return result;
}

std::vector<int64_t> parse_pattern_shape(const std::string& text) {
  std::vector<int64_t> shape;
  std::istringstream parts(text + "x");
  for (std::string part; std::getline(parts, part, 'x');) {
    int64_t extent = 0;
    const char* end = part.data() + part.size();
    const auto [stopped, error] = std::from_chars(part.data(), end, extent);
    if (error != std::errc() || stopped != end || extent < 1) {
      fail("shape: expected extents above 0 as in 512x1024x64, got {}", text);
    }
    shape.push_back(extent);
  }
  return shape;
}

}  // namespace emulsion

#include "examples/lesson_08_photo/unsharp.h"

#include <cmath>
#include <functional>
#include <vector>

#include "dsl/tensor.h"

namespace emulsion {
namespace {

constexpr int kRadius = 3;
constexpr double kSigma = 1.5;

// exp(-d^2 / (2 sigma^2)) for d from -radius to radius, divided by their sum.
std::vector<double> gaussian() {
  std::vector<double> weights;
  double total = 0;
  for (int d = -kRadius; d <= kRadius; ++d) {
    weights.push_back(std::exp(-d * d / (2 * kSigma * kSigma)));
    total += weights.back();
  }
  for (double& weight : weights) weight /= total;
  return weights;
}

// The weighted sum of what `at` gives for each tap.
Expr weighted(const std::function<Expr(int tap)>& at) {
  const std::vector<double> weights = gaussian();
  Expr sum;
  for (int tap = 0; tap <= 2 * kRadius; ++tap) {
    Expr term = constant(f32, weights[static_cast<size_t>(tap)]) * at(tap);
    sum = sum.defined() ? sum + term : term;
  }
  return sum;
}

// The nearest index inside the picture of one that may lie beyond its edge.
Expr nearest(const Axis& with_border, const Extent& extent) {
  return clamp(with_border - kRadius, 0, extent - 1);
}

}  // namespace

Graph unsharp_mask() {
  const Extent height = Extent::size("H"), width = Extent::size("W");
  Tensor photo = input("photo", u8, {height, width, 3});
  Tensor amount = input("amount", f32, {});

  // v and u count from the border's first row and column.
  Axis v("v", height + 2 * kRadius), u("u", width + 2 * kRadius);
  Axis y("y", height), x("x", width), c("c", 3);
  Func border("border"), grey("grey"), blur_y("blur_y"), blur("blur"), sharper("sharper");
  // A picture without pixels has no edge to repeat.
  border(v, u, c) =
      select(height > 0 && width > 0, photo(nearest(v, height), nearest(u, width), c), 0);
  auto channel = [&](int which) { return cast(u16, border(v, u, which)); };
  grey(v, u) = channel(0) * 77 + channel(1) * 150 + channel(2) * 29;
  blur_y(y, u) = weighted([&](int tap) { return cast(f32, grey(y + tap, u)); });
  blur(y, x) = weighted([&](int tap) { return blur_y(y, x + tap); });
  Expr edges = (cast(f32, grey(y + kRadius, x + kRadius)) - blur(y, x)) * (1.0f / 256);
  sharper(y, x, c) = cast(u8, cast(f32, photo(y, x, c)) + amount() * edges + 0.5f);
  return Graph(sharper);
}

Schedule tiled_unsharp_mask(const Graph& graph, const Target& target) {
  const int lanes = target.vector_lanes(f32);
  Axis y("y"), x("x"), c("c"), yo("yo"), xo("xo"), yi("yi"), xi("xi"), u("u");
  Schedule schedule(graph);
  schedule["sharper"]
      .tile(y, x, yo, xo, yi, xi, 32, 128)
      .reorder({xi, c, yi, xo, yo})
      .vectorize(xi, lanes)
      .unroll(c)
      .parallel(yo);
  schedule["border"].compute_inline();
  schedule["grey"].compute_at("sharper", xo).vectorize(u, 2 * lanes, Tail::round_up);
  schedule["blur_y"].compute_at("sharper", xo).vectorize(u, lanes, Tail::round_up);
  schedule["blur"].compute_at("sharper", yi).vectorize(x, lanes);
  return schedule;
}

}  // namespace emulsion

#include "tests/random/rewrite_graph.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "dsl/operators.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/rewrite/fold_batch_norm.h"
#include "tests/random/random_numbers.h"

namespace emulsion {
namespace {

class GraphMaker {
 public:
  explicit GraphMaker(uint64_t seed) : random_(seed) {}

  Graph make() {
    const int steps = random_.between(4, 19);
    for (int i = 0; i < steps; ++i) keep(step());
    outputs_.push_back(pool_.back());
    for (int more = random_.below(5); more > 0; --more) outputs_.push_back(random_.of(pool_));
    std::unordered_set<const Op*> seen;
    std::vector<Tensor> distinct;
    for (const Tensor& output : outputs_) {
      if (seen.insert(output.op().get()).second) distinct.push_back(output);
    }
    return Graph(distinct);
  }

 private:
  bool coin() { return random_.chance(0.5); }

  Extent extent() {
    static const std::vector<Extent> kExtents = {0, 1, 1, 2, 3, 4, 5, Extent::size("B")};
    return random_.of(kExtents);
  }
  Tensor leaf(const Shape& shape, bool is_weight = false) {
    const std::string number = std::to_string(leaves_++);
    return is_weight ? weight("w" + number, f32, shape) : input("x" + number, f32, shape);
  }
  // Weights of one shape are shared as often as not.
  Tensor weight_of(const Shape& shape) {
    for (const Tensor& one : weights_) {
      if (one.shape() == shape && coin()) return one;
    }
    weights_.push_back(leaf(shape, true));
    return weights_.back();
  }
  Tensor any() {
    if (!pool_.empty() && random_.chance(0.85)) return random_.of(pool_);
    static const std::vector<int> kRanks = {0, 1, 2, 2, 2, 2, 3, 5};
    Shape shape(static_cast<size_t>(random_.of(kRanks)));
    for (Extent& one : shape) one = extent();
    return leaf(shape);
  }
  Tensor matrix() {
    for (int tries = 0; tries < 6; ++tries) {
      Tensor t = any();
      if (t.rank() == 2) return t;
    }
    return leaf({extent(), extent()});
  }
  Tensor of_shape(const Shape& shape) {
    for (int tries = 0; tries < 4 && !pool_.empty(); ++tries) {
      const Tensor& t = random_.of(pool_);
      if (t.shape() == shape) return t;
    }
    return leaf(shape);
  }

  void keep(const Tensor& t) { pool_.push_back(t); }
  // An inner value of a pattern, which sometimes somebody else needs.
  Tensor inner(const Tensor& t) {
    if (random_.chance(0.18)) keep(clamp(t, -8, 8));
    if (random_.chance(0.06)) outputs_.push_back(t);
    return t;
  }

  // Values stay small, so that everything is exact.
  static Tensor small(const Tensor& t) { return clamp(t, -8, 8); }

  Tensor step() {
    switch (random_.below(16)) {
      case 0:
        return small(linear_relu());
      case 1:
        return small(normalized());
      case 2:
      case 9:
        return small(difference_of_squares());
      case 3:
      case 8:
        return small(sum_of_sums());
      case 4:
      case 10:
        return small(sum_of_products());
      case 5:
        return chosen_relu();
      case 6:
        return same_again();
      case 7:
        return siblings();
      case 11:
      case 13:
      case 14:
        return small(two_squares());
      case 12:
        return small(two_products());
      default:
        return filler();
    }
  }

  Tensor product(const Tensor& x, const Tensor& w) {
    if (coin()) return inner(matmul(x, w));
    const Axis row("row", x.shape()[0]), column("column", w.shape()[1]), k("k", x.shape()[1]);
    const Expr left = x(row, k), right = w(k, column);
    return inner(compute("", {row, column}, sum(k, coin() ? left * right : right * left)));
  }
  Tensor sum_of(const Tensor& a, const Tensor& b) { return inner(coin() ? a + b : b + a); }
  // One value for each column: [n], [1, n], or of every column the same.
  Tensor bias_of(const Extent& columns) {
    const int form = random_.below(8);
    if (form == 0) return weight_of({1, columns});
    if (form == 1) return weight_of({1});
    return weight_of({columns});
  }

  Tensor linear_relu() {
    Tensor x = matrix();
    Tensor w = weight_of({x.shape()[1], extent()});
    Tensor biased = sum_of(product(x, w), bias_of(w.shape()[1]));
    const int form = random_.below(3);
    return form == 0 ? relu(biased) : form == 1 ? max(biased, 0) : max(0, biased);
  }

  Tensor normalized() {
    Tensor x = matrix();
    Tensor w = weight_of({x.shape()[1], extent()});
    const Extent& columns = w.shape()[1];
    Tensor value = product(x, w);
    const bool has_bias = random_.chance(0.3), has_mean = random_.chance(0.7);
    if (has_bias) value = sum_of(value, bias_of(columns));
    if (has_mean) value = inner(value - bias_of(columns));
    const int form = random_.below(3);
    if (form == 0) value = inner(coin() ? value * bias_of(columns) : bias_of(columns) * value);
    if (form != 0) value = inner(value / 2);
    if (form == 2) value = inner(value * bias_of(columns));
    return random_.chance(0.7) ? sum_of(value, bias_of(columns)) : value;
  }

  Tensor difference_of_squares() {
    Tensor x = any();
    Tensor y = of_shape(x.shape());
    Tensor sum = inner(coin() ? x + y : y + x), difference = inner(x - y);
    return coin() ? sum * difference : difference * sum;
  }

  // Two values that are made of the same two.
  Tensor two_squares() {
    Tensor x = any();
    Tensor y = of_shape(x.shape());
    Tensor sum = inner(coin() ? x + y : y + x), difference = inner(x - y);
    if (random_.chance(0.75)) keep(small(sum));
    keep(small(sum * sum));
    return difference * difference;
  }

  Tensor two_products() {
    Tensor x = matrix();
    const Shape shape = {x.shape()[1], extent()};
    keep(small(product(x, weight_of(shape))));
    return product(x, weight_of(shape));
  }

  Tensor sum_of_sums() {
    Tensor x = matrix();
    Tensor y = of_shape(x.shape());
    return inner(emulsion::sum(x, {1})) + inner(emulsion::sum(y, {1}));
  }

  Tensor sum_of_products() {
    Tensor x = matrix();
    const Extent columns = extent();
    Tensor left = product(x, weight_of({x.shape()[1], columns}));
    return left + product(coin() ? x : of_shape(x.shape()), weight_of({x.shape()[1], columns}));
  }

  // Products of one input, of different widths, with a bias and an activation or without.
  Tensor siblings() {
    Tensor x = matrix();
    const Extent& depth = x.shape()[1];
    const bool is_known = depth.is_constant() && random_.chance(0.7);
    const bool is_biased = coin(), is_active = coin();
    for (int more = random_.between(2, 4); more > 0; --more) {
      const Extent columns = random_.between(1, 5);
      Tensor t = product(x, is_known ? known({depth, columns}) : weight_of({depth, columns}));
      if (is_biased) t = sum_of(t, is_known ? known({columns}) : bias_of(columns));
      if (is_active) t = inner(relu(t));
      keep(small(t));
    }
    return pool_.back();
  }

  Tensor chosen_relu() {
    Tensor x = any();
    return where(coin() ? greater(x, 0) : less(0, x), x, 0);
  }

  // What the clean-up passes take away.
  Tensor same_again() {
    Tensor x = any();
    switch (random_.below(9)) {
      case 0:
        return x * 1;
      case 1:
        return x / 1;
      case 2:
        return inner(-x) * -1 * 1;
      case 3:
        return -inner(-x);
      case 4:
        return x + -0.0f;
      case 5:
        return max(inner(x - 0), x);
      case 6:
        return small(inner(x + 1) * inner(x + 1));
      case 7:
        return small(x * (scalar(3.0f) - scalar(1.0f)));
      default:
        return small(x + 0 + constant_like(x));
    }
  }
  // Computed of constants, of the shape of the last axis of x.
  Tensor constant_like(const Tensor& x) {
    const auto columns = x.rank() == 0 ? std::optional<int64_t>(1) : x.shape().back().as_constant();
    if (!columns) return scalar(2.0f);
    return known(x.rank() == 0 ? Shape{} : Shape{*columns}) * 2 - 1;
  }
  Tensor known(const Shape& shape) {
    std::vector<float> values(static_cast<size_t>(element_count(shape).value()));
    for (float& value : values) value = static_cast<float>(random_.between(-3, 3));
    return constant("c" + std::to_string(leaves_++), shape, values);
  }

  Tensor filler() {
    Tensor x = any();
    switch (random_.below(5)) {
      case 0:
        return small(x + of_shape(x.shape()));
      case 1:
        return x.rank() == 2 ? transpose(x) : abs(x);
      case 2:
        return min(x, of_shape(x.shape()));
      case 3:
        return x.rank() > 0 ? small(emulsion::sum(x, {-1}, true)) : neg(x);
      default:
        return relu(x);
    }
  }

  RandomNumbers random_;
  int leaves_ = 0;
  std::vector<Tensor> pool_, outputs_, weights_;
};

}  // namespace

std::vector<RewriteRule> exact_rules() {
  const Extent m = Extent::size("M"), k = Extent::size("K"), n = Extent::size("N");
  Tensor x = input("x", f32, {m, k});
  Tensor w = input("w", f32, {k, n});
  Tensor b = input("b", f32, {n});
  const Graph linear(relu(matmul(x, w) + b));
  Tensor known = weight("known", f32, {k, n}), other = weight("other", f32, {k, n});
  Tensor p = input("p", f32, {}), q = input("q", f32, {});
  Tensor r = input("r", f32, {m, n}), s = input("s", f32, {m, n});
  Tensor both = matmul(x, concat({known, other}, 1)), squares = p * p + q * q, twice = 2 * p * q;
  std::vector<RewriteRule> rules = {
      {"linear_relu", linear, fuse_epilogues(linear)},
      {"difference_of_squares", (p + q) * (p - q), p * p - q * q},
      {"sum_of_sums", sum(r, {1}) + sum(s, {1}), sum(r + s, {1})},
      {"sum_of_products", matmul(x, known) + matmul(x, other), matmul(x, known + other)},
      {"chosen_relu", where(greater(p, 0), p, 0), emulsion::max(p, 0)},
      {"two_squares", Graph({(p + q) * (p + q), (p - q) * (p - q)}),
       Graph({squares + twice, squares - twice})},
      {"two_products", Graph({matmul(x, known), matmul(x, other)}),
       Graph({slice(both, {0, 0}, {m, n}), slice(both, {0, n}, {m, 2 * n})})},
  };
  for (RewriteRule& rule : batch_norm_rules({f32, 2, 1, 1})) rules.push_back(std::move(rule));
  return rules;
}

Graph rewrite_graph(uint64_t seed, int index) {
  RandomNumbers seeds(seed);
  const uint64_t first = seeds.next();
  return GraphMaker(first + static_cast<uint64_t>(index) * 0x9e3779b97f4a7c15ULL).make();
}

}  // namespace emulsion

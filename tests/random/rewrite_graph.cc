#include "tests/random/rewrite_graph.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "dsl/operators.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/rewrite/fold_batch_norm.h"
#include "tests/random/random_numbers.h"

namespace emulsion {
namespace {

class RecipeMaker {
 public:
  explicit RecipeMaker(uint64_t seed) : random_(seed) {}

  Recipe make() {
    Recipe recipe = draw();
    for (int calls = calls_of(recipe); calls < kFewestCalls || calls > kMostCalls;
         calls = calls_of(recipe)) {
      recipe = draw();
    }
    return recipe;
  }

 private:
  bool coin() { return random_.chance(0.5); }

  static int calls_of(const Recipe& recipe) {
    return static_cast<int>(std::count_if(recipe.nodes.begin(), recipe.nodes.end(),
                                          [](const Step& step) { return !step.is_leaf(); }));
  }

  Recipe draw() {
    recipe_ = Recipe();
    recipe_.seed = random_.next() >> 16;
    recipe_.exact = true;
    tensors_.clear();
    pool_.clear();
    outputs_.clear();
    weights_.clear();
    const int wanted = random_.between(16, 36);
    for (int steps = 0; steps < 4 || calls_of(recipe_) < wanted; ++steps) keep(step());
    outputs_.push_back(pool_.back());
    for (int more = random_.below(5); more > 0; --more) outputs_.push_back(random_.of(pool_));
    std::vector<int> distinct;
    for (const int output : outputs_) {
      if (std::count(distinct.begin(), distinct.end(), output) == 0) distinct.push_back(output);
    }
    Recipe recipe = with_outputs(recipe_, distinct);
    recipe.runs = {{}};
    if (!build_graph(recipe).sizes().empty()) recipe.runs = {{{"B", 3}}, {{"B", 0}}};
    return recipe;
  }

  // --- Nodes ---

  const Shape& shape(int node) const { return tensors_[static_cast<size_t>(node)].shape(); }
  size_t rank(int node) const { return shape(node).size(); }

  int add_step(Step step) {
    tensors_.push_back(step.is_leaf() ? leaf_tensor(recipe_, step) : call_operator(step, tensors_));
    recipe_.nodes.push_back(std::move(step));
    return static_cast<int>(recipe_.nodes.size()) - 1;
  }
  int leaf(const Shape& of, const std::string& kind = "input") {
    Step step;
    step.op = kind;
    step.shape = of;
    step.label = static_cast<int>(recipe_.nodes.size());
    return add_step(std::move(step));
  }
  int call(const std::string& op, const std::vector<Arg>& args,
           const nlohmann::json& params = nlohmann::json::object()) {
    Step step;
    step.op = op;
    step.args = args;
    step.params = params;
    return add_step(std::move(step));
  }
  int one(const std::string& op, int x) { return call(op, {node_arg(x)}); }
  int two(const std::string& op, int x, int y) { return call(op, {node_arg(x), node_arg(y)}); }
  // Written with the signs of C++.
  int infix(const char* op, const Arg& x, const Arg& y) {
    return call(op, {x, y}, {{"infix", true}});
  }
  int with_number(const char* op, int x, double number) {
    return infix(op, node_arg(x), number_arg(number));
  }
  int add(int x, int y) { return infix("add", node_arg(x), node_arg(y)); }
  int either_way(const char* op, int x, int y) {
    if (coin()) std::swap(x, y);
    return infix(op, node_arg(x), node_arg(y));
  }
  int minus(int x) { return call("neg", {node_arg(x)}, {{"infix", true}}); }
  // Values stay small, so that everything is exact.
  int small(int x) { return call("clamp", {node_arg(x)}, {{"low", -8}, {"high", 8}}); }
  int summed(int x, const std::vector<int>& axes, bool keepdims = false) {
    return call("sum", {node_arg(x)}, {{"axes", axes}, {"keepdims", keepdims}});
  }

  // --- Operands ---

  Extent extent() {
    static const std::vector<Extent> kExtents = {0, 1, 1, 2, 3, 4, 5, Extent::size("B")};
    return random_.of(kExtents);
  }
  // Weights of one shape are shared as often as not.
  int weight_of(const Shape& of) {
    for (const int known : weights_) {
      if (shape(known) == of && coin()) return known;
    }
    weights_.push_back(leaf(of, "weight"));
    return weights_.back();
  }
  int constant(const Shape& of) { return leaf(of, "constant"); }
  int any() {
    if (!pool_.empty() && random_.chance(0.85)) return random_.of(pool_);
    static const std::vector<int> kRanks = {0, 0, 1, 2, 2, 2, 3, 3, 4, 5, 5};
    Shape of(static_cast<size_t>(random_.of(kRanks)));
    for (Extent& one : of) one = extent();
    return leaf(of);
  }
  int of_rank_2() {
    for (int tries = 0; tries < 6; ++tries) {
      const int x = any();
      if (rank(x) == 2) return x;
    }
    return leaf({extent(), extent()});
  }
  int of_shape(const Shape& of) {
    for (int tries = 0; tries < 4 && !pool_.empty(); ++tries) {
      const int x = random_.of(pool_);
      if (shape(x) == of) return x;
    }
    return leaf(of);
  }

  void keep(int x) { pool_.push_back(x); }
  // An inner value of a pattern, which sometimes somebody else needs.
  int inner(int x) {
    if (random_.chance(0.18)) keep(small(x));
    if (random_.chance(0.06)) outputs_.push_back(x);
    return x;
  }

  // --- What rules look for, in the ways in which people write it ---

  int step() {
    switch (random_.below(20)) {
      case 0:
        return small(linear_relu());
      case 1:
        return small(normalized_product());
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
      case 17:
        return small(two_squares());
      case 12:
        return small(two_products());
      case 15:
      case 16:
        return small(convolution());
      default:
        return filler();
    }
  }

  int product(int x, int w) {
    if (coin()) return inner(two("matmul", x, w));
    return inner(
        call("matmul", {node_arg(x), node_arg(w)}, {{"by_hand", true}, {"turned", coin()}}));
  }
  int sum_of(int a, int b) { return inner(either_way("add", a, b)); }
  // One value for each column: [n], [1, n], or of every column the same.
  int bias_of(const Extent& columns) {
    const int form = random_.below(8);
    if (form == 0) return weight_of({1, columns});
    if (form == 1) return weight_of({1});
    return weight_of({columns});
  }
  int relu(int x) {
    const int form = random_.below(3);
    if (form == 0) return one("relu", x);
    const Arg zero = number_arg(0);
    return form == 1 ? call("max", {node_arg(x), zero}) : call("max", {zero, node_arg(x)});
  }

  int linear_relu() {
    const int x = of_rank_2();
    const int w = weight_of({shape(x)[1], extent()});
    return relu(sum_of(product(x, w), bias_of(shape(w)[1])));
  }

  int normalized_product() {
    const int x = of_rank_2();
    const int w = weight_of({shape(x)[1], extent()});
    return normalized(product(x, w));
  }
  int normalized(int value) {
    const Extent columns = shape(value).back();
    const bool has_bias = random_.chance(0.3), has_mean = random_.chance(0.7);
    if (has_bias) value = sum_of(value, bias_of(columns));
    if (has_mean) value = inner(infix("sub", node_arg(value), node_arg(bias_of(columns))));
    const int form = random_.below(3);
    if (form == 0) value = inner(either_way("mul", value, bias_of(columns)));
    if (form != 0) value = inner(with_number("div", value, 2));
    if (form == 2) value = inner(either_way("mul", value, bias_of(columns)));
    return random_.chance(0.7) ? sum_of(value, bias_of(columns)) : value;
  }

  // Of few pixels, grouped or not; normalised, or with a bias and an activation.
  int convolution() {
    const int groups = coin() ? 1 : 2, channels = groups * random_.between(1, 2);
    const int height = random_.between(1, 3), width = random_.between(1, 3);
    const int x = leaf({extent(), height, width, channels});
    const int filters = groups * random_.between(1, 3);
    const int high = random_.between(1, std::min(height, 2)), wide = random_.between(1, width);
    const int w = weight_of({high, wide, channels / groups, filters});
    const std::vector<int> ones = {1, 1};
    const int value = inner(call("conv2d", {node_arg(x), node_arg(w)},
                                 {{"stride", ones},
                                  {"dilation", ones},
                                  {"pad", {0, random_.below(2), 0, 0}},
                                  {"groups", groups}}));
    return random_.chance(0.8) ? normalized(value) : relu(sum_of(value, bias_of(filters)));
  }

  int difference_of_squares() {
    const int x = any();
    const int y = of_shape(shape(x));
    const int sum = inner(either_way("add", x, y));
    return either_way("mul", sum, inner(infix("sub", node_arg(x), node_arg(y))));
  }

  // Two values that are made of the same two.
  int two_squares() {
    const int x = any();
    const int y = of_shape(shape(x));
    const int sum = inner(either_way("add", x, y));
    const int difference = inner(infix("sub", node_arg(x), node_arg(y)));
    if (random_.chance(0.75)) keep(small(sum));
    keep(small(either_way("mul", sum, sum)));
    return either_way("mul", difference, difference);
  }

  int two_products() {
    const int x = of_rank_2();
    const Shape of = {shape(x)[1], extent()};
    keep(small(product(x, weight_of(of))));
    return product(x, weight_of(of));
  }

  int sum_of_sums() {
    const int x = of_rank_2();
    const int y = of_shape(shape(x));
    const int left = inner(summed(x, {1}));
    if (random_.chance(0.2)) keep(small(left));
    return add(left, inner(summed(y, {1})));
  }

  int sum_of_products() {
    const int x = of_rank_2();
    const Shape of = {shape(x)[1], extent()};
    const int left = product(x, weight_of(of));
    if (random_.chance(0.3)) keep(small(left));
    return add(left, product(coin() ? x : of_shape(shape(x)), weight_of(of)));
  }

  // Products of one input, of different widths, with a bias and an activation or without.
  int siblings() {
    const int x = of_rank_2();
    const Extent depth = shape(x)[1];
    const bool is_known = depth.is_constant() && random_.chance(0.7);
    const bool is_biased = coin(), is_active = coin();
    for (int more = random_.between(2, 4); more > 0; --more) {
      const Extent columns = random_.between(1, 5);
      const Shape of = {depth, columns};
      int value = product(x, is_known ? constant(of) : weight_of(of));
      if (is_biased) value = sum_of(value, is_known ? constant({columns}) : bias_of(columns));
      if (is_active) value = inner(one("relu", value));
      keep(small(value));
    }
    return pool_.back();
  }

  int chosen_relu() {
    const int x = any();
    const Arg zero = number_arg(0);
    const int is_above =
        coin() ? call("greater", {node_arg(x), zero}) : call("less", {zero, node_arg(x)});
    return call("where", {node_arg(is_above), node_arg(x), zero});
  }

  // What the clean-up passes take away.
  int same_again() {
    const int x = any();
    switch (random_.below(9)) {
      case 0:
        return with_number("mul", x, 1);
      case 1:
        return with_number("div", x, 1);
      case 2:
        return with_number("mul", with_number("mul", inner(minus(x)), -1), 1);
      case 3:
        return minus(inner(minus(x)));
      case 4:
        return with_number("add", x, -0.0);
      case 5:
        return two("max", inner(with_number("sub", x, 0)), x);
      case 6: {
        const int left = inner(with_number("add", x, 1));
        return small(infix("mul", node_arg(left), node_arg(inner(with_number("add", x, 1)))));
      }
      case 7: {
        const int left = constant({}), right = constant({});
        return small(
            infix("mul", node_arg(x), node_arg(infix("sub", node_arg(left), node_arg(right)))));
      }
      default:
        return small(add(with_number("add", x, 0), constant_like(x)));
    }
  }
  // Computed of constants, of the shape of the last axis of x.
  int constant_like(int x) {
    Shape of;
    if (rank(x) > 0 && shape(x).back().is_constant()) of = {shape(x).back()};
    return with_number("sub", with_number("mul", constant(of), 2), 1);
  }

  int filler() {
    const int x = any();
    switch (random_.below(5)) {
      case 0:
        return small(add(x, of_shape(shape(x))));
      case 1:
        if (rank(x) != 2) return one("abs", x);
        return call("transpose", {node_arg(x)}, {{"perm", std::vector<int>()}});
      case 2:
        return two("min", x, of_shape(shape(x)));
      case 3:
        return rank(x) > 0 ? small(summed(x, {-1}, true)) : one("neg", x);
      default:
        return one("relu", x);
    }
  }

  static constexpr int kFewestCalls = 5, kMostCalls = 40;

  RandomNumbers random_;
  Recipe recipe_;
  std::vector<Tensor> tensors_;  // of its nodes
  std::vector<int> pool_, outputs_, weights_;
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
  for (const ContractionForm& form : {ContractionForm{f32, 2, 1, 1}, {f32, 4, 3, 3}}) {
    for (RewriteRule& rule : batch_norm_rules(form)) rules.push_back(std::move(rule));
  }
  return rules;
}

Recipe rewrite_recipe(uint64_t seed, int index) {
  RandomNumbers seeds(seed);
  const uint64_t first = seeds.next();
  return RecipeMaker(first + static_cast<uint64_t>(index) * 0x9e3779b97f4a7c15ULL).make();
}

}  // namespace emulsion

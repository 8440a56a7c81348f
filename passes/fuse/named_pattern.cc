#include "passes/fuse/named_pattern.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <sstream>
#include <string_view>

#include "dsl/count_text.h"
#include "dsl/error.h"
#include "dsl/operators.h"
#include "passes/rewrite/match_pattern.h"

namespace emulsion {
namespace {

Tensor leaf(const std::string& name, DType dtype, const std::vector<Axis>& over) {
  Shape shape;
  for (const Axis& axis : over) shape.push_back(axis.extent());
  return input(name, dtype, shape);
}

// Steps that combine the elements of a row and go on with it.
bool is_of_rows(const std::string& step) {
  return step == "softmax" || step == "layer_norm" || step == "rms_norm";
}

constexpr std::array<const char*, 10> kFirstSteps = {
    "matmul", "conv", "add", "sub", "mul", "div", "affine", "softmax", "layer_norm", "rms_norm"};
constexpr std::array<const char*, 7> kLaterSteps = {"bias", "relu",  "gelu",    "sigmoid",
                                                    "tanh", "clamp", "residual"};

template <size_t n>
bool is_one_of(const std::array<const char*, n>& steps, const std::string& step) {
  return std::count(steps.begin(), steps.end(), step) > 0;
}

// A softmax or a norm, in a way in which it may be written; the operators multiply.
Tensor row_step(const std::string& step, DType dtype, const std::vector<Axis>& axes, bool divides) {
  const Tensor x = leaf("x", dtype, axes);
  const auto scaled = [&](const Tensor& value, const Tensor& by) {
    return divides ? value / by : value * (1 / by);
  };
  if (step == "softmax") {
    const Tensor powers = exp(x - reduce_max(x, {-1}, true));
    return scaled(powers, sum(powers, {-1}, true));
  }
  const Tensor from_mean = step == "layer_norm" ? x - mean(x, {-1}, true) : x;
  const Tensor variance = mean(from_mean * from_mean, {-1}, true);
  const Tensor eps = leaf("eps", dtype, {});  // any number
  const Tensor normal =
      scaled(from_mean, sqrt(variance + eps)) * leaf("gamma", dtype, {axes.back()});
  return step == "layer_norm" ? normal + leaf("beta", dtype, {axes.back()}) : normal;
}

// The first steps without a sum.
Tensor pointwise_step(const std::string& step, DType dtype, const std::vector<Axis>& axes) {
  const Tensor x = leaf("x", dtype, axes);
  if (step == "affine") {
    return x * leaf("scale", dtype, {axes.back()}) + leaf("shift", dtype, {axes.back()});
  }
  const Tensor z = leaf("z", dtype, axes);
  if (step == "add") return x + z;
  if (step == "sub") return x - z;
  if (step == "mul") return x * z;
  return x / z;
}

// At numbers a clamp has some; in a pattern it has any.
Tensor with_later_steps(Tensor value, const std::vector<std::string>& steps, const Axis& columns,
                        bool at_numbers) {
  const DType dtype = value.dtype();
  for (size_t i = 1; i < steps.size(); ++i) {
    const std::string number = std::to_string(i);
    if (steps[i] == "bias") {
      value = value + leaf("bias" + number, dtype, {columns});
    } else if (steps[i] == "residual") {
      value = value + input("residual" + number, dtype, value.shape());
    } else if (steps[i] == "clamp" && at_numbers) {
      value = clamp(value, 0, 6);
    } else if (steps[i] == "clamp") {
      value = min(max(value, leaf("low" + number, dtype, {})), leaf("high" + number, dtype, {}));
    } else if (steps[i] == "relu") {
      value = relu(value);
    } else if (steps[i] == "gelu") {
      value = gelu(value);
    } else if (steps[i] == "sigmoid") {
      value = sigmoid(value);
    } else {
      value = tanh(value);
    }
  }
  return value;
}

}  // namespace

NamedPattern::NamedPattern(const std::string& what, const std::string& name)
    : what_(what), name_(name) {
  std::istringstream text(name);
  for (std::string step; std::getline(text, step, '+');) steps_.push_back(step);
  if (steps_.empty() || !is_one_of(kFirstSteps, steps_[0]) ||
      (steps_.size() < 2 && !is_of_rows(steps_[0]))) {
    fail(
        "{}: expected matmul, conv, add, sub, mul, div or affine and what follows it, or softmax, "
        "layer_norm or rms_norm, got {}; legal: as in matmul+bias+relu",
        what, name.empty() ? "nothing" : name);
  }
  for (size_t i = 1; i < steps_.size(); ++i) {
    if (is_one_of(kLaterSteps, steps_[i])) continue;
    fail("{}, {}: expected bias, relu, gelu, sigmoid, tanh, clamp or residual, got {}", what, name,
         steps_[i].empty() ? "nothing" : steps_[i]);
  }
  if (name.back() == '+') fail("{}, {}: expected a step behind the last +", what, name);
}

size_t NamedPattern::summed_axes() const {
  return steps_[0] == "matmul" ? 1 : steps_[0] == "conv" ? 3 : 0;
}

// Rows, one column axis, axes to sum over.
Graph NamedPattern::pattern_of(DType dtype, size_t rank, bool divides) const {
  std::vector<Axis> axes, summed;
  for (size_t i = 0; i < rank; ++i) {
    axes.emplace_back("i" + std::to_string(i), Extent::size("S" + std::to_string(i)));
  }
  for (size_t i = 0; i < summed_axes(); ++i) {
    summed.emplace_back("k" + std::to_string(i), Extent::size("K" + std::to_string(i)));
  }
  const auto with_steps = [&](const Tensor& value) {
    return Graph(with_later_steps(value, steps_, axes.back(), false));
  };
  if (is_of_rows(steps_[0])) return with_steps(row_step(steps_[0], dtype, axes, divides));
  if (summed.empty()) return with_steps(pointwise_step(steps_[0], dtype, axes));
  std::vector<Axis> of_x = axes;  // the columns too: a group of a convolution reads channels of its
  of_x.insert(of_x.end(), summed.begin(), summed.end());  // own
  std::vector<Axis> of_w = summed;
  of_w.push_back(axes.back());
  const auto at = [](const Tensor& tensor, const std::vector<Axis>& over) {
    return tensor.at({over.begin(), over.end()});
  };
  const Tensor x = leaf("x", dtype, of_x), w = leaf("w", dtype, of_w);
  return with_steps(compute("", axes, sum(summed, at(x, of_x) * at(w, of_w))));
}

std::optional<Match> NamedPattern::match(const OpPtr& op) {
  if (op->kind != OpKind::compute || op->shape.empty() || !is_float(op->dtype)) return std::nullopt;
  const std::pair<DType, size_t> form(op->dtype, op->shape.size());
  std::vector<RewriteRule>& rules = rules_[form];
  if (rules.empty()) {
    for (const bool divides : {false, true}) {
      if (divides && !is_of_rows(steps_[0])) continue;
      const Graph pattern = pattern_of(form.first, form.second, divides);
      rules.push_back(RewriteRule{name_, pattern, pattern});
    }
  }
  GraphAround around;  // whoever else needs an inner value: it is a candidate all the same
  around.is_known = [](const Op&) { return true; };
  around.why_not = [](const Match&) { return std::nullopt; };
  for (const RewriteRule& rule : rules) {
    if (auto match = match_pattern(check_rule(rule), op, around).match) return match;
  }
  return std::nullopt;
}

Graph NamedPattern::graph_of(const std::vector<int64_t>& extents) const {
  struct Form {
    size_t extents;
    const char* text;
  };
  const Form form = steps_[0] == "matmul" ? Form{3, "rows, columns and depth, as in 512x1024x64"}
                    : steps_[0] == "conv"
                        ? Form{7,
                               "images, height, width, channels, height and width of a filter and "
                               "filters, as in 1x56x56x64x3x3x64"}
                        : Form{2, "rows and columns, as in 512x1024"};
  if (extents.size() != form.extents) {
    fail("{}, {}: expected {}, got {}", what_, name_, form.text,
         count_text(extents.size(), "extent", "extents"));
  }
  for (const int64_t extent : extents) {
    if (extent < 1) fail("{}, {}: expected extents above 0, got {}", what_, name_, extent);
  }
  const auto with_steps = [&](const Tensor& value) {
    return Graph(with_later_steps(value, steps_, Axis("columns", value.shape().back()), true));
  };
  if (steps_[0] == "matmul") {
    const Tensor x = input("x", f32, {extents[0], extents[2]});
    return with_steps(matmul(x, weight("w", f32, {extents[2], extents[1]})));
  }
  if (steps_[0] == "conv") {
    if (extents[4] > extents[1] || extents[5] > extents[2]) {
      fail("{}, {}: expected a filter that fits the image, {}x{}, got {}x{}", what_, name_,
           extents[1], extents[2], extents[4], extents[5]);
    }
    const Tensor x = input("x", f32, {extents[0], extents[1], extents[2], extents[3]});
    return with_steps(
        conv2d(x, weight("w", f32, {extents[4], extents[5], extents[3], extents[6]})));
  }
  const std::vector<Axis> axes = {Axis("i0", extents[0]), Axis("i1", extents[1])};
  if (!is_of_rows(steps_[0])) return with_steps(pointwise_step(steps_[0], f32, axes));
  const Tensor x = leaf("x", f32, axes);
  if (steps_[0] == "softmax") return with_steps(softmax(x));
  const Tensor gamma = leaf("gamma", f32, {axes[1]});
  if (steps_[0] == "rms_norm") return with_steps(rms_norm(x, gamma));
  return with_steps(layer_norm(x, gamma, leaf("beta", f32, {axes[1]})));
}

std::vector<std::string> named_patterns_of(const Graph& graph) {
  constexpr size_t kMostSteps = 5;  // of a message; longer ones have these in front
  const auto is_there = [&](const std::string& name) {
    NamedPattern pattern("named_patterns_of", name);
    return std::any_of(graph.ops().begin(), graph.ops().end(),
                       [&](const OpPtr& op) { return pattern.match(op).has_value(); });
  };
  std::vector<std::string> longest, last(kFirstSteps.begin(), kFirstSteps.end());
  for (size_t steps = 1; steps < kMostSteps && !last.empty(); ++steps) {
    std::vector<std::string> longer;
    for (const std::string& name : last) {
      const size_t before = longer.size();
      for (const std::string_view step : kLaterSteps) {
        // Whatever is a bias is a residual too.
        const bool has_bias =
            longer.size() > before && longer[before] == fmt::format("{}+bias", name);
        if (step == "residual" && has_bias) break;
        const std::string with_step = fmt::format("{}+{}", name, step);
        if (is_there(with_step)) longer.push_back(with_step);
      }
      if (longer.size() > before) continue;
      if (steps > 1 || (is_of_rows(name) && is_there(name))) longest.push_back(name);
    }
    last = longer;
  }
  longest.insert(longest.end(), last.begin(), last.end());
  return longest;
}

}  // namespace emulsion

#include "passes/rewrite/fold_batch_norm.h"

#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "dsl/error.h"

namespace emulsion {
namespace {

// How the normalisation is written.
struct Writing {
  bool bias, mean, beta;
  enum class Scale { product, quotient, both } scale;  // * scale, / deviation, / deviation * gamma
};

std::string name_of(const ContractionForm& form, const Writing& writing) {
  static const char* const kScales[] = {"scale", "deviation", "deviation_gamma"};
  std::string name = fmt::format("batch_norm_{}_rank{}_channel{}_k{}", to_string(form.dtype),
                                 form.rank, form.channel, form.reduction);
  if (writing.bias) name += "_bias";
  if (writing.mean) name += "_mean";
  name += std::string("_") + kScales[static_cast<int>(writing.scale)];
  if (writing.beta) name += "_beta";
  return name;
}

// Builds pattern and replacement over the same wildcards.
class RuleMaker {
 public:
  explicit RuleMaker(const ContractionForm& form) : form_(form), channel_("i") {
    for (size_t i = 0; i < form.rank; ++i) {
      const Axis axis("i" + std::to_string(i), Extent::size("S" + std::to_string(i)));
      axes_.push_back(axis);
      if (i == form.channel) channel_ = axis;
    }
    for (size_t i = 0; i < form.reduction; ++i) {
      reduced_.emplace_back("k" + std::to_string(i), Extent::size("K" + std::to_string(i)));
    }
    // The channel is among the axes of x: a group of a convolution reads channels of its own.
    x_axes_ = axes_;
    x_axes_.insert(x_axes_.end(), reduced_.begin(), reduced_.end());
    w_axes_ = reduced_;
    w_axes_.push_back(channel_);
    x_ = input("x", form.dtype, shape_of(x_axes_));
    w_ = weight("w", form.dtype, shape_of(w_axes_));
    bias_ = per_channel("bias");
    mean_ = per_channel("mean");
    scale_ = per_channel("scale");
    deviation_ = per_channel("deviation");
    gamma_ = per_channel("gamma");
    beta_ = per_channel("beta");
  }

  RewriteRule make(const Writing& writing) const {
    Expr value = contraction("sum", w_);
    if (writing.bias) value = value + bias_(channel_);
    if (writing.mean) value = value - mean_(channel_);
    if (writing.scale == Writing::Scale::product) value = value * scale_(channel_);
    if (writing.scale != Writing::Scale::product) value = value / deviation_(channel_);
    if (writing.scale == Writing::Scale::both) value = value * gamma_(channel_);
    if (writing.beta) value = value + beta_(channel_);
    RewriteRule rule{name_of(form_, writing), compute("y", axes_, value), replacement(writing)};
    if (!writing.bias && !writing.mean) rule.why_not = why_not_empty;
    return rule;
  }

 private:
  // What is folded adds no scale to an empty sum, so a scale of NaN would be lost.
  static std::optional<std::string> why_not_empty(const Match& match) {
    for (const auto& [size, extent] : match.sizes) {
      if (size[0] != 'K' || extent.lower_bound().value_or(0) > 0) continue;
      return fmt::format("expected a sum of at least one element, got {}", extent.to_string());
    }
    return std::nullopt;
  }

  static Shape shape_of(const std::vector<Axis>& axes) {
    Shape shape;
    for (const Axis& axis : axes) shape.push_back(axis.extent());
    return shape;
  }
  static std::vector<Expr> values_of(const std::vector<Axis>& axes) {
    return {axes.begin(), axes.end()};
  }
  Tensor per_channel(const char* name) const {
    return weight(name, form_.dtype, {channel_.extent()});
  }

  Expr contraction(const char* name, const Tensor& w) const {
    const Expr term = x_.at(values_of(x_axes_)) * w.at(values_of(w_axes_));
    return compute(name, axes_, sum(reduced_, term)).at(values_of(axes_));
  }

  Graph replacement(const Writing& writing) const {
    const Expr one = constant(form_.dtype, 1);
    Expr scale = scale_(channel_);
    if (writing.scale == Writing::Scale::quotient) scale = one / deviation_(channel_);
    if (writing.scale == Writing::Scale::both) scale = gamma_(channel_) / deviation_(channel_);
    Tensor scaled = compute("weights", w_axes_, w_.at(values_of(w_axes_)) * scale);
    Expr shift;
    if (writing.bias && writing.mean) shift = (bias_(channel_) - mean_(channel_)) * scale;
    if (writing.bias && !writing.mean) shift = bias_(channel_) * scale;
    if (!writing.bias && writing.mean && writing.beta) {
      shift = beta_(channel_) - mean_(channel_) * scale;
    } else if (!writing.bias && writing.mean) {
      shift = -(mean_(channel_) * scale);
    } else if (writing.beta) {
      shift = shift.defined() ? shift + beta_(channel_) : beta_(channel_);
    }
    Tensor offset = compute("offset", {channel_}, shift);
    return Graph(compute("y", axes_, contraction("sum", scaled) + offset(channel_)));
  }

  ContractionForm form_;
  Axis channel_;
  std::vector<Axis> axes_, reduced_, x_axes_, w_axes_;
  Tensor x_, w_, bias_, mean_, scale_, deviation_, gamma_, beta_;
};

}  // namespace

std::vector<RewriteRule> batch_norm_rules(const ContractionForm& form) {
  const RuleMaker maker(form);
  std::vector<RewriteRule> rules;
  for (bool bias : {false, true}) {
    for (bool mean : {false, true}) {
      for (bool beta : {false, true}) {
        // A product with a scale alone is no normalisation, nor is what has a bias before it only.
        if (!mean && !beta) continue;
        for (auto scale :
             {Writing::Scale::product, Writing::Scale::quotient, Writing::Scale::both}) {
          rules.push_back(maker.make({bias, mean, beta, scale}));
        }
      }
    }
  }
  return rules;
}

Rewritten fold_batch_norm(const Graph& graph) {
  std::set<std::tuple<DType, size_t, size_t>> forms;
  for (const OpPtr& op : graph.ops()) {
    if (op->kind == OpKind::compute && op->combiner == Combiner::sum && is_float(op->dtype)) {
      forms.insert({op->dtype, op->shape.size(), op->reduction_axes.size()});
    }
  }
  std::vector<RewriteRule> rules;
  for (const auto& [dtype, rank, reduction] : forms) {
    for (size_t channel = 0; channel < rank; ++channel) {
      for (RewriteRule& rule : batch_norm_rules({dtype, rank, channel, reduction})) {
        rules.push_back(std::move(rule));
      }
    }
  }
  return apply_rules(graph, rules);
}

}  // namespace emulsion

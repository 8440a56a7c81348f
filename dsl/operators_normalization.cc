#include "dsl/operators.h"
#include "dsl/operators_support.h"

namespace emulsion {
namespace {

constexpr Argument kGamma{2, "gamma"};

// x seen as rows of what is normalised together: its last axes, as many as gamma has.
struct Rows {
  Rows(const OperatorCall& call, const Tensor& x, const Tensor& gamma) {
    call.check_float(kX, x);
    call.check_same_type(kGamma, gamma, kX, x);
    if (gamma.rank() < 1 || gamma.rank() > x.rank()) {
      call.refuse(kGamma, "expected rank 1 to {}, the shape of the last axes of x {}, got {}",
                  x.rank(), to_string(x.shape()), to_string(gamma.shape()));
    }
    int first = x.rank() - gamma.rank();
    Shape normalized(x.shape().begin() + first, x.shape().end());
    check_shape(call, kGamma, gamma, x, normalized);
    outer = axes_over(Shape(x.shape().begin(), x.shape().begin() + first));
    for (int i = first; i < x.rank(); ++i) {
      reduced.emplace_back("r" + std::to_string(i), x.shape()[i]);
      scaled.emplace_back("i" + std::to_string(i), x.shape()[i]);
    }
    count = count_value(normalized, x.dtype());
    all = outer;
    all.insert(all.end(), scaled.begin(), scaled.end());
    inner = values_of(outer);
    inner.insert(inner.end(), reduced.begin(), reduced.end());
  }
  static void check_shape(const OperatorCall& call, Argument argument, const Tensor& parameter,
                          const Tensor& x, const Shape& normalized) {
    if (parameter.shape() != normalized) {
      call.refuse(argument, "expected {}, the last axes of x {}, got {}", to_string(normalized),
                  to_string(x.shape()), to_string(parameter.shape()));
    }
  }
  std::vector<Axis> outer;    // of a row
  std::vector<Axis> reduced;  // along a row, as reduction axes
  std::vector<Axis> scaled;   // along a row, as axes of the result
  std::vector<Axis> all;      // outer, scaled
  std::vector<Expr> inner;    // outer, reduced: indices of x
  Expr count;                 // elements in a row
};

}  // namespace

Tensor softmax(const Tensor& x, int axis, const std::string& name) {
  OperatorCall call("softmax", name);
  call.check_float(kX, x);
  int along = call.normalize_axis({2, "axis"}, axis, x.rank());
  std::vector<Axis> axes = axes_over(x.shape());
  Axis reduced("r" + std::to_string(along), x.shape()[along]);
  std::vector<Axis> rows = axes;
  rows.erase(rows.begin() + along);
  std::vector<Expr> inner = values_of(axes);
  inner[along] = reduced;

  Tensor highest = call.member("max", rows, reduce_max(reduced, x.at(inner)));
  Tensor powers =
      call.member("exp", axes, exp(x.at(values_of(axes)) - highest.at(values_of(rows))));
  Tensor total = call.member("sum", rows, sum(reduced, powers.at(inner)));
  // One division a row.
  return call.result(axes, powers.at(values_of(axes)) * (1 / total.at(values_of(rows))));
}

Tensor layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps,
                  const std::string& name) {
  constexpr Argument kBeta{3, "beta"};
  OperatorCall call("layer_norm", name);
  Rows rows(call, x, gamma);
  call.check_same_type(kBeta, beta, kX, x);
  Rows::check_shape(call, kBeta, beta, x, gamma.shape());
  call.check_epsilon({4, "eps"}, eps);

  std::vector<Expr> row = values_of(rows.outer);
  Tensor total = call.member("sum", rows.outer, sum(rows.reduced, x.at(rows.inner)));
  Tensor mean = call.member("mean", rows.outer, total.at(row) / rows.count);
  Expr deviation = x.at(rows.inner) - mean.at(row);
  Tensor squares = call.member("squares", rows.outer, sum(rows.reduced, deviation * deviation));
  Tensor scale = call.member(
      "scale", rows.outer,
      1 / sqrt(squares.at(row) / rows.count + call.literal({4, "eps"}, eps, x.dtype())));
  Expr normal = (x.at(values_of(rows.all)) - mean.at(row)) * scale.at(row);
  std::vector<Expr> along = values_of(rows.scaled);
  return call.result(rows.all, normal * gamma.at(along) + beta.at(along));
}

Tensor rms_norm(const Tensor& x, const Tensor& gamma, double eps, const std::string& name) {
  OperatorCall call("rms_norm", name);
  Rows rows(call, x, gamma);
  call.check_epsilon({3, "eps"}, eps);

  std::vector<Expr> row = values_of(rows.outer);
  Expr element = x.at(rows.inner);
  Tensor squares = call.member("squares", rows.outer, sum(rows.reduced, element * element));
  Tensor scale = call.member(
      "scale", rows.outer,
      1 / sqrt(squares.at(row) / rows.count + call.literal({3, "eps"}, eps, x.dtype())));
  return call.result(rows.all,
                     x.at(values_of(rows.all)) * scale.at(row) * gamma.at(values_of(rows.scaled)));
}

Tensor batch_norm(const Tensor& x, const Tensor& mean, const Tensor& variance, const Tensor& gamma,
                  const Tensor& beta, double eps, int axis, const std::string& name) {
  OperatorCall call("batch_norm", name);
  call.check_float(kX, x);
  int channel = call.normalize_axis({7, "axis"}, axis, x.rank());
  const Extent& channels = x.shape()[channel];
  auto check = [&](Argument argument, const Tensor& statistic) {
    call.check_same_type(argument, statistic, kX, x);
    if (statistic.shape() != Shape{channels}) {
      call.refuse(argument, "expected [{}], the extent of axis {} of x {}, got {}",
                  channels.to_string(), channel, to_string(x.shape()),
                  to_string(statistic.shape()));
    }
  };
  check({2, "mean"}, mean);
  check({3, "variance"}, variance);
  check({4, "gamma"}, gamma);
  check({5, "beta"}, beta);
  call.check_epsilon({6, "eps"}, eps);

  std::vector<Axis> axes = axes_over(x.shape());
  Axis c = axes[channel];
  Tensor scale = call.member(
      "scale", {c}, gamma(c) / sqrt(variance(c) + call.literal({6, "eps"}, eps, x.dtype())));
  return call.result(axes, (x.at(values_of(axes)) - mean(c)) * scale(c) + beta(c));
}

}  // namespace emulsion

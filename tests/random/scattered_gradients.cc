#include "tests/random/scattered_gradients.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>

#include "backends/interpreter/bind_arguments.h"
#include "dsl/error.h"
#include "dsl/expr.h"

namespace emulsion {
namespace {

// What is added to a derivative, and its size.
struct Share {
  double value = 0, size = 0;

  Share times(double factor) const { return {value * factor, size * std::abs(factor)}; }
};

double truth(bool value) { return value ? 1 : 0; }

double floored(double a, double b) { return b == 0 ? 0 : std::floor(a / b); }

double binary_value(ExprOp op, double a, double b, bool is_float) {
  switch (op) {
    case ExprOp::add:
      return a + b;
    case ExprOp::sub:
      return a - b;
    case ExprOp::mul:
      return a * b;
    case ExprOp::div:
      return is_float ? a / b : floored(a, b);
    case ExprOp::mod:
      return a - floored(a, b) * b;
    case ExprOp::pow:
      return std::pow(a, b);
    case ExprOp::min:
      return std::min(a, b);
    case ExprOp::max:
      return std::max(a, b);
    case ExprOp::eq:
      return truth(a == b);
    case ExprOp::ne:
      return truth(a != b);
    case ExprOp::lt:
      return truth(a < b);
    case ExprOp::le:
      return truth(a <= b);
    case ExprOp::gt:
      return truth(a > b);
    case ExprOp::ge:
      return truth(a >= b);
    case ExprOp::logical_and:
      return truth(a != 0 && b != 0);
    case ExprOp::logical_or:
      return truth(a != 0 || b != 0);
    default:
      fail("scattered_gradients: expected an operation of two, got {}", to_string(op));
  }
}

double unary_value(ExprOp op, double a) {
  switch (op) {
    case ExprOp::neg:
      return -a;
    case ExprOp::abs:
      return std::abs(a);
    case ExprOp::exp:
      return std::exp(a);
    case ExprOp::log:
      return std::log(a);
    case ExprOp::sqrt:
      return std::sqrt(a);
    case ExprOp::tanh:
      return std::tanh(a);
    case ExprOp::erf:
      return std::erf(a);
    case ExprOp::floor:
      return std::floor(a);
    case ExprOp::ceil:
      return std::ceil(a);
    case ExprOp::round:
      return std::nearbyint(a);
    case ExprOp::trunc:
      return std::trunc(a);
    case ExprOp::logical_not:
      return truth(a == 0);
    default:
      fail("scattered_gradients: expected an operation of one, got {}", to_string(op));
  }
}

struct Values {
  std::vector<int64_t> shape;
  std::vector<double> value;
  std::vector<Share> gradient;
};

class Scatterer {
 public:
  Scatterer(const Graph& graph, const TensorValues& arguments, const SizeValues& sizes)
      : graph_(graph), sizes_(sizes) {
    for (const OpPtr& op : graph.ops()) {
      Values& values = values_[op.get()];
      values.shape = evaluate_shape(op->name, op->shape, sizes);
      int64_t count = 1;
      for (const int64_t extent : values.shape) count *= extent;
      values.value.resize(static_cast<size_t>(count));
      values.gradient.resize(values.value.size());
      if (op->kind == OpKind::compute) {
        run(*op, &values);
        continue;
      }
      TensorValue known = {op->dtype, values.shape, {}};
      if (op->kind == OpKind::constant) {
        known.bytes = *op->data;
      } else {
        known = arguments.at(op->name);
      }
      for (size_t i = 0; i < values.value.size(); ++i) {
        values.value[i] = known.value(static_cast<int64_t>(i));
      }
    }
  }

  bool all_finite() const {
    for (const auto& [op, values] : values_) {
      for (const double value : values.value) {
        if (!std::isfinite(value)) return false;
      }
    }
    return true;
  }

  void start(const std::string& output, const TensorValue& cotangent) {
    std::vector<Share>& gradient = values_.at(graph_.find(output)->get()).gradient;
    for (size_t i = 0; i < gradient.size(); ++i) {
      const double value = cotangent.value(static_cast<int64_t>(i));
      gradient[i].value += value;
      gradient[i].size += std::abs(value);
    }
  }

  void run_back() {
    for (size_t i = graph_.ops().size(); i-- > 0;) {
      const Op& op = *graph_.ops()[i];
      if (op.kind != OpKind::compute || !is_float(op.dtype)) continue;
      const Values& own = values_.at(&op);
      for_each_point(op.axes, [&] {
        const size_t at = offset_of(own.shape, places_of(op.axes));
        const Share share = own.gradient[at];
        if (share.size != 0) reduce_back(op, own.value[at], share);
      });
    }
  }

  ScatteredGradient gradient_of(const Op& op) const {
    const Values& values = values_.at(&op);
    ScatteredGradient result = {values.shape, {}, {}};
    for (const Share& share : values.gradient) {
      result.value.push_back(share.value);
      result.magnitude.push_back(share.size);
    }
    return result;
  }

 private:
  void for_each_point(const std::vector<Axis>& axes, const std::function<void()>& act,
                      size_t from = 0) {
    if (from == axes.size()) return act();
    const int64_t extent = axes[from].extent().evaluate(sizes_);
    for (int64_t i = 0; i < extent; ++i) {
      place_[axes[from].name()] = static_cast<double>(i);
      for_each_point(axes, act, from + 1);
    }
  }

  std::vector<double> places_of(const std::vector<Axis>& axes) const {
    std::vector<double> places;
    for (const Axis& axis : axes) places.push_back(place_.at(axis.name()));
    return places;
  }

  static size_t offset_of(const std::vector<int64_t>& shape, const std::vector<double>& places) {
    int64_t offset = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      const auto place = static_cast<int64_t>(places[d]);
      if (place < 0 || place >= shape[d]) fail("scattered_gradients: expected a read inside");
      offset = offset * shape[d] + place;
    }
    return static_cast<size_t>(offset);
  }

  void run(const Op& op, Values* values) {
    for_each_point(op.axes, [&] {
      double result = 0;
      if (op.combiner == Combiner::none) {
        result = value_of(op.body);
      } else {
        const Expr start = identity_of(op.combiner, op.dtype);
        result = is_float(op.dtype) ? start->float_value : static_cast<double>(start->int_value);
        for_each_point(op.reduction_axes,
                       [&] { result = combined(op.combiner, result, value_of(op.body)); });
      }
      values->value[offset_of(values->shape, places_of(op.axes))] = result;
    });
  }

  static double combined(Combiner combiner, double a, double b) {
    switch (combiner) {
      case Combiner::product:
        return a * b;
      case Combiner::min:
        return std::min(a, b);
      case Combiner::max:
        return std::max(a, b);
      default:
        return a + b;
    }
  }

  size_t place_of_read(const Expr& read) {
    std::vector<double> places;
    for (const Expr& index : read->args) places.push_back(value_of(index));
    return offset_of(values_.at(read->tensor.get()).shape, places);
  }

  double value_of(const Expr& e) {
    switch (e->op) {
      case ExprOp::constant:
        return is_float(e.dtype()) ? e->float_value : static_cast<double>(e->int_value);
      case ExprOp::axis:
        return place_.at(e->name);
      case ExprOp::size:
        return static_cast<double>(sizes_.at(e->name));
      case ExprOp::read:
        return values_.at(e->tensor.get()).value[place_of_read(e)];
      case ExprOp::select:
        return value_of(e->args[value_of(e->args[0]) != 0 ? 1 : 2]);
      case ExprOp::cast: {
        const double a = value_of(e->args[0]);
        if (e.dtype() == DType::boolean) return truth(a != 0);
        return is_float(e.dtype()) ? a : std::trunc(a);
      }
      default:
        break;
    }
    const double a = value_of(e->args[0]);
    if (e->args.size() == 1) return unary_value(e->op, a);
    return binary_value(e->op, a, value_of(e->args[1]), is_float(e->args[0].dtype()));
  }

  void reduce_back(const Op& op, double result, const Share& share) {
    switch (op.combiner) {
      case Combiner::none:
        back(op.body, share);
        break;
      case Combiner::sum:
        for_each_point(op.reduction_axes, [&] { back(op.body, share); });
        break;
      case Combiner::min:
      case Combiner::max:
      case Combiner::min_number:
      case Combiner::max_number: {
        double ties = 0;
        for_each_point(op.reduction_axes, [&] { ties += truth(value_of(op.body) == result); });
        for_each_point(op.reduction_axes, [&] {
          if (value_of(op.body) == result) back(op.body, share.times(1 / ties));
        });
        break;
      }
      case Combiner::product: {
        std::vector<double> factors;
        for_each_point(op.reduction_axes, [&] { factors.push_back(value_of(op.body)); });
        size_t own = 0;
        for_each_point(op.reduction_axes, [&] {
          double others = 1;
          for (size_t i = 0; i < factors.size(); ++i) others *= i == own ? 1 : factors[i];
          ++own;
          back(op.body, share.times(others));
        });
        break;
      }
    }
  }

  // Passes the share of a value on to what it is made of.
  void back(const Expr& e, const Share& share) {
    if (!is_float(e.dtype()) || share.size == 0) return;
    const auto arg = [&](size_t i) { return value_of(e->args[i]); };
    const auto pass = [&](size_t i, double factor) { back(e->args[i], share.times(factor)); };
    switch (e->op) {
      case ExprOp::read: {
        Share& gradient = values_.at(e->tensor.get()).gradient[place_of_read(e)];
        gradient.value += share.value;
        gradient.size += share.size;
        break;
      }
      case ExprOp::select:
        pass(arg(0) != 0 ? 1 : 2, 1);
        break;
      case ExprOp::cast:
        pass(0, 1);
        break;
      case ExprOp::neg:
        pass(0, -1);
        break;
      case ExprOp::abs:
        pass(0, arg(0) >= 0 ? 1 : -1);
        break;
      case ExprOp::exp:
        pass(0, std::exp(arg(0)));
        break;
      case ExprOp::log:
        pass(0, 1 / arg(0));
        break;
      case ExprOp::sqrt:
        pass(0, 0.5 / std::sqrt(arg(0)));
        break;
      case ExprOp::tanh:
        pass(0, 1 - std::pow(std::tanh(arg(0)), 2));
        break;
      case ExprOp::erf:
        pass(0, 2 / std::sqrt(std::acos(-1.0)) * std::exp(-arg(0) * arg(0)));
        break;
      case ExprOp::add:
        pass(0, 1);
        pass(1, 1);
        break;
      case ExprOp::sub:
        pass(0, 1);
        pass(1, -1);
        break;
      case ExprOp::mul:
        pass(0, arg(1));
        pass(1, arg(0));
        break;
      case ExprOp::div:
        pass(0, 1 / arg(1));
        pass(1, -arg(0) / (arg(1) * arg(1)));
        break;
      case ExprOp::pow:
        pass(0, arg(1) == 0 ? 0 : arg(1) * std::pow(arg(0), arg(1) - 1));
        pass(1, arg(0) == 0 ? 0 : std::log(arg(0)) * std::pow(arg(0), arg(1)));
        break;
      case ExprOp::min:
      case ExprOp::max: {
        const bool takes_least = e->op == ExprOp::min;
        for (const size_t i : {0, 1}) {
          const double own = arg(i), other = arg(1 - i);
          const bool is_number = e->args[1 - i]->op == ExprOp::constant;
          pass(i, own == other ? (is_number ? 0 : 0.5) : truth((own < other) == takes_least));
        }
        break;
      }
      default:
        break;
    }
  }

  const Graph& graph_;
  const SizeValues& sizes_;
  std::unordered_map<const Op*, Values> values_;
  std::unordered_map<std::string, double> place_;  // of the axes
};

}  // namespace

std::map<std::string, ScatteredGradient> scattered_gradients(const Graph& graph,
                                                             const TensorValues& arguments,
                                                             const SizeValues& sizes,
                                                             const TensorValues& cotangents) {
  Scatterer scatterer(graph, arguments, sizes);
  if (!scatterer.all_finite()) return {};
  for (const auto& [output, cotangent] : cotangents) scatterer.start(output, cotangent);
  scatterer.run_back();
  std::map<std::string, ScatteredGradient> result;
  for (const OpPtr& op : graph.arguments()) result[op->name] = scatterer.gradient_of(*op);
  return result;
}

}  // namespace emulsion

#include "tests/passes/differentiate/gradient_cases.h"

#include <random>

#include "backends/interpreter/bind_arguments.h"

namespace emulsion {

std::vector<GradientCase> all_gradient_cases() {
  std::vector<GradientCase> all = operator_cases();
  for (GradientCase& c : comprehension_cases()) all.push_back(std::move(c));
  return all;
}

TensorValues draw_arguments(const Graph& graph, const GradientCase& c, uint64_t seed) {
  std::mt19937_64 random(seed);
  // Not std::uniform_real_distribution, whose values a library may choose.
  const auto draw = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
  };
  TensorValues arguments;
  for (const OpPtr& op : graph.arguments()) {
    TensorValue value = zeros(op->dtype, evaluate_shape(op->name, op->shape, c.sizes));
    for (int64_t i = 0; i < value.element_count(); ++i) {
      const bool is_bool = op->dtype == DType::boolean;
      value.set_value(i, is_bool ? static_cast<double>(random() & 1) : draw(c.low, c.high));
    }
    arguments[op->name] = std::move(value);
  }
  return arguments;
}

}  // namespace emulsion

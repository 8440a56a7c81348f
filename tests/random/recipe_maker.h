#ifndef EMULSION_TESTS_RANDOM_RECIPE_MAKER_H_
#define EMULSION_TESTS_RANDOM_RECIPE_MAKER_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/random/recipe.h"

namespace emulsion {

// Writes a recipe down, call by call.
class Maker {
 public:
  explicit Maker(bool exact = true, bool specials = false) {
    recipe_.seed = 7;
    recipe_.exact = exact;
    recipe_.specials = specials;
    recipe_.runs = {SizeValues()};
  }
  int leaf(const std::string& kind, const Shape& shape, DType dtype = f32, Fill fill = Fill::any) {
    Step step;
    step.op = kind;
    step.dtype = dtype;
    step.shape = shape;
    step.fill = fill;
    step.label = static_cast<int>(recipe_.nodes.size());
    return add(step);
  }
  int input(const Shape& shape, DType dtype = f32) { return leaf("input", shape, dtype); }
  int weight(const Shape& shape, DType dtype = f32) { return leaf("weight", shape, dtype); }
  int call(const std::string& op, const std::vector<int>& args,
           const nlohmann::json& params = nlohmann::json::object()) {
    Step step;
    step.op = op;
    for (int arg : args) step.args.push_back(node_arg(arg));
    step.params = params;
    return add(step);
  }
  int plus(int x, double number) {
    Step step;
    step.op = "add";
    step.args = {node_arg(x), number_arg(number)};
    return add(step);
  }
  int times(int x, double number) {
    Step step;
    step.op = "mul";
    step.args = {node_arg(x), number_arg(number)};
    return add(step);
  }
  // relu(x * w + b)
  int layer(int x, int w, const Shape& bias) {
    return call("relu", {call("add", {call("matmul", {x, w}), weight(bias)})});
  }
  Maker& sizes(const std::vector<int64_t>& values) {
    recipe_.runs.clear();
    for (int64_t value : values) recipe_.runs.push_back({{"B", value}});
    return *this;
  }
  Recipe outputs(const std::vector<int>& outputs) {
    recipe_.outputs = outputs;
    return recipe_;
  }

 private:
  int add(Step step) {
    recipe_.nodes.push_back(std::move(step));
    return static_cast<int>(recipe_.nodes.size()) - 1;
  }
  Recipe recipe_;
};

// The parameters of a reduction.
inline nlohmann::json axes(const std::vector<int>& list, bool keepdims = false) {
  return {{"axes", list}, {"keepdims", keepdims}};
}

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_RECIPE_MAKER_H_

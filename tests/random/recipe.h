#ifndef EMULSION_TESTS_RANDOM_RECIPE_H_
#define EMULSION_TESTS_RANDOM_RECIPE_H_

// A graph as somebody asked for it: which operators were called, with which arguments. Neither a
// Graph nor a comprehension, so that it can be handed to two parties that share no code: the
// operators of dsl/operators.h here, NumPy in numpy_oracle.py. It also says what to run: the values
// of the run-time sizes and what the inputs hold.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "backends/interpreter/tensor_value.h"
#include "dsl/extent.h"
#include "dsl/graph.h"
#include "dsl/tensor.h"

namespace emulsion {

// What the elements of a leaf are. `whole` numbers when the recipe is exact, else any reals.
enum class Fill : uint8_t {
  any,           // -4..4, or reals in (-2, 2)
  positive,      // 1..4, or reals in (0.5, 2)
  power_of_two,  // 0.5, 1, 2 (whole: i32 1, 2, 4)
  variance,      // exact: 0.75 or 3.75, which with an epsilon of 0.25 has an exact square root
};

struct Step;

// An argument of a call: the node with this number, or a C++ number.
struct Arg {
  int node = -1;
  double number = 0;
};
inline Arg node_arg(int node) { return {node, 0}; }
inline Arg number_arg(double number) { return {-1, number}; }

struct Step {
  // A leaf: op is "input", "weight" or "constant".
  // A call: op is the operator's name ("matmul"); the rest of its arguments are in `params`, by
  // name.
  std::string op;
  DType dtype = DType::f32;  // leaf
  Shape shape;               // leaf
  Fill fill = Fill::any;     // leaf
  int label = 0;             // leaf: its name and its data, which stay when steps before it go
  std::vector<Arg> args;
  nlohmann::json params = nlohmann::json::object();

  bool is_leaf() const { return op == "input" || op == "weight" || op == "constant"; }
};

struct Recipe {
  uint64_t seed = 0;
  bool exact = false;       // whole numbers, every result representable: compared bit for bit
  bool specials = false;    // NaN, infinities, -0 and denormals among the inputs
  std::vector<Step> nodes;  // arguments before their users
  std::vector<int> outputs;
  std::vector<SizeValues> runs;  // at least one; {} without run-time sizes
};

nlohmann::json extent_to_json(const Extent& extent);

// Calls the operator. `arguments`: the tensors of all nodes before this one.
Tensor call_operator(const Step& call, const std::vector<Tensor>& tensors);
// The name of a leaf, as in kernels: x0, w3, c5.
std::string leaf_name(const Step& leaf);
TensorValue leaf_data(const Recipe& recipe, const Step& leaf, const SizeValues& sizes);
Tensor leaf_tensor(const Recipe& recipe, const Step& leaf);

// The same with these of its nodes as outputs, and without what they do not need.
Recipe with_outputs(const Recipe& recipe, const std::vector<int>& outputs);
// Through the operators of dsl/operators.h.
Graph build_graph(const Recipe& recipe);
// Inputs and weights, by name.
TensorValues arguments_of(const Recipe& recipe, const Graph& graph, const SizeValues& sizes);
// For the oracle, without the data; one line a node when printed.
nlohmann::json to_json(const Recipe& recipe);
std::string to_string(const Recipe& recipe);

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_RECIPE_H_

#ifndef EMULSION_TESTS_RANDOM_GRAPH_BUILDER_H_
#define EMULSION_TESTS_RANDOM_GRAPH_BUILDER_H_

// A recipe in the making: what has been built so far, what is known of the values, and the choice
// of operands for the next call. Private to tests/random.

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dsl/tensor.h"
#include "tests/random/random_numbers.h"
#include "tests/random/recipe.h"

namespace emulsion {

// What a generator has to know of a value to keep results meaningful.
struct Traits {
  double bound = 4;       // |elements| at most
  int quantum = 0;        // elements are multiples of 2^-quantum (exact recipes)
  bool positive = false;  // at least 0.1 or so: fit for a logarithm or a denominator
};

class GraphBuilder {
 public:
  GraphBuilder(uint64_t seed, bool exact, bool specials);

  using Wanted = std::function<bool(int node)>;

  // A value for which `wanted` holds, results rather than leaves, and those with one user or none
  // rather than others: graphs shall be deep and their values shared. -1: there is none.
  int pick(const Wanted& wanted);
  int leaf(DType dtype, const Shape& shape, Fill fill = Fill::any, const std::string& kind = "");
  int pick_or_leaf(const Wanted& wanted, DType dtype, const Shape& shape, Fill fill = Fill::any);
  // A value of rank low..high of a numeric type, or of a float type.
  int numeric(int low_rank = 0, int high_rank = 5);
  int floating(int low_rank = 0, int high_rank = 5);
  int boolean(const Shape& shape);
  // A second operand that broadcasts with `node` and has its type.
  int partner(int node, Fill fill = Fill::any);

  // Calls the operator and keeps the result: its number. -1 and nothing changed: the result would
  // be too large, or its values would leave what the recipe promises.
  int emit(Step call, const Traits& traits);
  // Declares outputs and run-time sizes.
  Recipe finish();

  Shape random_shape(int low_rank, int high_rank);
  int64_t random_extent();
  Extent random_size();  // B, B + 2, 2*B, ...

  RandomNumbers& random() { return random_; }
  const Tensor& tensor(int node) const { return tensors_[static_cast<size_t>(node)]; }
  const Traits& traits(int node) const { return traits_[static_cast<size_t>(node)]; }
  DType dtype(int node) const { return tensor(node).dtype(); }
  const Shape& shape(int node) const { return tensor(node).shape(); }
  int rank(int node) const { return tensor(node).rank(); }
  bool is_number(int node) const;  // not bool
  // From low to high, or what of that the node's type holds.
  int number_for(int node, int low, int high);
  bool exact() const { return recipe_.exact; }
  DType main_type() const { return main_type_; }
  int calls() const { return calls_; }
  // With the largest values of the run-time sizes.
  int64_t extent_of(const Extent& extent) const { return extent.evaluate(largest_); }
  int64_t count_of(const Shape& shape) const;

 private:
  bool fits(DType dtype, const Traits& traits) const;

  Recipe recipe_;
  RandomNumbers random_;
  DType main_type_ = DType::f32;
  std::vector<std::string> sizes_;
  SizeValues largest_;
  std::vector<Tensor> tensors_;
  std::vector<Traits> traits_;
  std::vector<int> users_;
  int calls_ = 0;
};

inline Step call(const std::string& op, const std::vector<Arg>& args,
                 nlohmann::json params = nlohmann::json::object()) {
  Step step;
  step.op = op;
  step.args = args;
  step.params = std::move(params);
  return step;
}
// The integers that wrap around: their values need no bounds.
inline bool wraps(DType dtype) { return is_integer(dtype) && dtype != DType::i32; }
inline bool added(int node) { return node >= 0; }
// Of a value that is one of two, or made of both.
inline Traits largest_of(const Traits& x, const Traits& y) {
  return {std::max(x.bound, y.bound), std::max(x.quantum, y.quantum), x.positive && y.positive};
}

// Adds one call of this operator (or what leads to it). False: no such call could be made here.
using Adder = std::function<bool(GraphBuilder* builder, const std::string& op)>;
const std::map<std::string, Adder>& elementwise_adders();  // reductions and normalisations, too
const std::map<std::string, Adder>& structural_adders();
// matmul, bias, activation, in one of the ways in which people write a layer.
bool add_layer(GraphBuilder* builder);
// One value, two ways, one result.
bool add_diamond(GraphBuilder* builder);
// Rows long enough to be cut at borders, joined or padded, and read once or twice.
bool add_borders(GraphBuilder* builder);
// Queries, keys, softmax, values: of reals alone.
bool add_attention(GraphBuilder* builder);
// Products of weights, one of the rows of the other.
bool add_layers(GraphBuilder* builder);
// What is combined along some axes and goes on with the results: along all but the last, which is
// long enough for vectors, or all but one that is not.
bool add_channels(GraphBuilder* builder);
// Maxima of windows of rows, one behind the other.
bool add_stencils(GraphBuilder* builder);

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_GRAPH_BUILDER_H_

#include "tests/random/random_graph.h"

#include <algorithm>

#include "tests/random/graph_builder.h"

namespace emulsion {
namespace {

using B = GraphBuilder;

int emit(B* b, const std::string& op, const std::vector<int>& args, const Traits& traits) {
  Step node;
  node.op = op;
  for (int arg : args) node.args.push_back(node_arg(arg));
  return b->emit(node, traits);
}

int activation(B* b, int x) {
  Traits traits = b->traits(x);
  static const std::vector<std::string> kAlways = {"relu", "relu", "abs", "neg"};
  static const std::vector<std::string> kReals = {"relu",     "relu", "gelu_tanh",
                                                  "gelu_erf", "tanh", "sigmoid"};
  bool reals = !b->exact() && is_float(b->dtype(x));
  traits.positive = false;
  return emit(b, b->random().of(reals ? kReals : kAlways), {x}, traits);
}

bool add_operator(B* b, const std::string& op) {
  auto found = elementwise_adders().find(op);
  return found != elementwise_adders().end() ? found->second(b, op)
                                             : structural_adders().at(op)(b, op);
}

}  // namespace

bool add_layer(B* b) {
  auto rows = [&](int node) {
    return b->rank(node) == 2 && b->is_number(node) && b->shape(node)[1].is_constant() &&
           b->traits(node).bound <= 64;
  };
  static const std::vector<int64_t> kWidths = {1, 3, 8, 15, 16, 17, 31, 33, 48, 63, 64, 65};
  Shape shape = b->random_shape(2, 2);
  shape[1] = Extent(b->random().of(kWidths));
  int x = b->pick_or_leaf(rows, b->main_type(), shape);
  Extent depth = b->shape(x)[1];
  bool square = b->random().chance(0.2) && b->shape(x)[0].is_constant();
  Extent columns = square ? b->shape(x)[0] : Extent(b->random().of(kWidths));
  if (b->count_of(b->shape(x)) * b->extent_of(columns) > 80000) return false;
  auto shared = [&](int node) {
    return b->dtype(node) == b->dtype(x) && b->rank(node) == 2 && b->shape(node)[0] == depth &&
           b->traits(node).bound <= 4;
  };
  int w = b->random().chance(0.3) ? b->pick(shared) : -1;
  if (w < 0) {
    w = b->leaf(b->dtype(x), {depth, columns}, Fill::any,
                b->random().chance(0.7) ? "weight" : "constant");
  }
  columns = b->shape(w)[1];
  Traits traits{b->traits(x).bound * b->traits(w).bound *
                    static_cast<double>(std::max<int64_t>(b->extent_of(depth), 1)),
                b->traits(x).quantum + b->traits(w).quantum, false};
  int y = emit(b, "matmul", {x, w}, traits);
  if (y < 0) return false;
  // The bias along the columns, or a column of it, or of one element; then perhaps a residual.
  int form = b->random().below(8);
  Shape bias = form < 5   ? Shape{columns}
               : form < 6 ? Shape{1, columns}
               : form < 7 ? Shape{b->shape(y)[0], 1}
                          : Shape{};
  traits.bound += 4;
  y = emit(b, "add", {y, b->leaf(b->dtype(x), bias)}, traits);
  if (y >= 0 && b->random().chance(0.2) && b->shape(x) == b->shape(y)) {
    traits.bound += b->traits(x).bound;
    y = emit(b, "add", {y, x}, traits);
  }
  return y >= 0 && activation(b, y) >= 0;
}

bool add_diamond(B* b) {
  int x = b->numeric();
  int left = activation(b, x);
  if (left < 0) return false;
  int right = b->random().chance(0.5) ? x : emit(b, "neg", {x}, b->traits(x));
  if (right < 0) return false;
  Traits traits = b->traits(left);
  traits.bound += b->traits(right).bound;
  traits.quantum = std::max(traits.quantum, b->traits(right).quantum);
  return emit(b, b->random().chance(0.5) ? "add" : "max", {left, right}, traits) >= 0;
}

namespace {

// Two read it, and one of them the other.
bool read_twice(B* b, int x) {
  if (x < 0) return false;
  const int left = activation(b, x);
  if (left < 0) return false;
  Traits traits = b->traits(x);
  traits.bound *= 2;
  traits.positive = false;
  return emit(b, "add", {left, x}, traits) >= 0;
}

}  // namespace

bool add_borders(B* b) {
  static const std::vector<int64_t> kColumns = {40, 70, 100, 130};
  const int64_t rows = b->random().between(1, 6), columns = b->random().of(kColumns);
  const Extent all = b->random().chance(0.3) ? b->random_shape(1, 1)[0] : Extent(rows);
  if (b->extent_of(all) * columns > 700) return false;
  const int x = b->leaf(b->main_type(), {all, columns});
  int joined = -1;
  if (b->random().chance(0.4)) {
    const nlohmann::json params = {{"low", {b->random().below(3), b->random().below(3)}},
                                   {"high", {b->random().below(3), b->random().below(3)}},
                                   {"value", b->number_for(x, -2, 2)}};
    joined = b->emit(call("pad", {node_arg(x)}, params), b->traits(x));
  } else {
    const bool by_rows = b->random().chance(0.5);
    const Shape shape = {by_rows ? Extent(b->random().between(1, 4)) : all,
                         by_rows ? columns : b->random().of(kColumns)};
    std::vector<Arg> parts = {node_arg(x), node_arg(b->leaf(b->main_type(), shape))};
    if (b->random().chance(0.5)) std::swap(parts[0], parts[1]);
    joined = b->emit(call("concat", parts, {{"axis", by_rows ? 0 : 1}}), b->traits(x));
  }
  if (joined < 0) return false;
  return b->random().chance(0.5) ? read_twice(b, joined) : read_twice(b, activation(b, joined));
}

bool add_attention(B* b) {
  if (b->exact() || !is_float(b->main_type())) return false;
  const int64_t rows = 48, keys = b->random().between(40, 56), depth = 8;
  const auto leaf = [&](int64_t height, int64_t width) {
    return b->leaf(b->main_type(), {height, width});
  };
  const Traits traits{64, 0, false};
  const int scores = emit(b, "matmul", {leaf(rows, depth), leaf(depth, keys)}, traits);
  if (scores < 0) return false;
  const int p = b->emit(call("softmax", {node_arg(scores)}, {{"axis", -1}}), {1, 0, false});
  if (p < 0) return false;
  const int64_t width = b->random().of(std::vector<int64_t>{8, 16, 17});
  return read_twice(b, emit(b, "matmul", {p, leaf(keys, width)}, traits));
}

// Products of weights, of the same rows: more of them than the smallest cache holds, or any number.
bool add_layers(B* b) {
  const int64_t width = b->random().between(5, 16);
  const Extent any = b->random_shape(1, 1)[0];
  const Extent rows = any.is_constant() ? Extent(b->random().between(110, 130)) : any;
  int x = b->leaf(b->main_type(), {rows, width});
  const int64_t hidden = b->random().between(10, 16);
  int64_t depth = width;
  for (const int64_t columns : {hidden, int64_t{b->random().between(5, 16)}}) {
    const int w = b->leaf(b->main_type(), {depth, columns}, Fill::any, "weight");
    Traits traits = b->traits(x);
    traits.bound *= b->traits(w).bound * static_cast<double>(depth);
    traits.quantum += b->traits(w).quantum;
    traits.positive = false;
    x = b->emit(call("matmul", {node_arg(x), node_arg(w)}), traits);
    if (x < 0) return false;
    if (b->random().chance(0.5)) x = activation(b, x);
    depth = columns;
  }
  return read_twice(b, x);
}

bool add_channels(B* b) {
  static const std::vector<int64_t> kColumns = {16, 17, 31, 40, 70};
  const bool in_rows = b->random().chance(0.4);
  const bool pictures = in_rows || b->random().chance(0.5);
  Shape shape = {b->random().between(2, 5), b->random().of(kColumns)};
  if (pictures) shape.insert(shape.begin(), b->random().between(1, 4));
  std::vector<int> axes = {pictures ? 1 : 0};
  if (in_rows) {
    axes = {0, 2};
    shape[2] = b->random().between(48, 60);
  }
  const Extent any = b->random_shape(1, 1)[0];
  if (pictures && !any.is_constant() && b->random().chance(0.5)) shape[0] = any;
  if (b->count_of(shape) > 700) return false;
  const int x = b->leaf(b->main_type(), shape);
  int64_t combined = 1;
  for (const int axis : axes) combined *= b->extent_of(shape[static_cast<size_t>(axis)]);
  const nlohmann::json params = {{"axes", axes}, {"keepdims", true}};
  Traits traits = b->traits(x);
  traits.positive = false;
  traits.bound *= static_cast<double>(combined);
  const int total = b->emit(call("sum", {node_arg(x)}, params), traits);
  if (total < 0) return false;
  traits.bound += b->traits(x).bound;
  int y = emit(b, "sub", {x, total}, traits);
  if (y >= 0 && b->random().chance(0.5)) y = activation(b, y);
  if (y < 0) return false;
  traits.bound *= static_cast<double>(combined);
  const int again = b->emit(call("sum", {node_arg(y)}, params), traits);
  if (again < 0) return false;
  traits.bound += b->traits(y).bound;
  return read_twice(b, emit(b, "add", {y, again}, traits));
}

bool add_stencils(B* b) {
  const Extent rows = 40, columns = b->random().between(16, 20);
  const int image = b->leaf(b->main_type(), {1, rows, columns, b->random().between(1, 3)});
  const nlohmann::json params = {{"window", {3, b->random().between(1, 2)}},
                                 {"stride", {1, 1}},
                                 {"pad", {0, 0, 0, 0}},
                                 {"count_include_pad", false}};
  int x = activation(b, image);
  for (int i = b->random().between(1, 2); i > 0 && x >= 0; --i) {
    x = b->emit(call("max_pool", {node_arg(x)}, params), b->traits(x));
  }
  return read_twice(b, x);
}

const std::vector<std::string>& operator_names() {
  static const auto* const names = [] {
    auto* result = new std::vector<std::string>();
    for (const auto* adders : {&elementwise_adders(), &structural_adders()}) {
      for (const auto& [name, adder] : *adders) result->push_back(name);
    }
    return result;
  }();
  return *names;
}

Recipe random_recipe(uint64_t base_seed, int index) {
  RandomNumbers numbers(base_seed * 1000003 + static_cast<uint64_t>(index));
  uint64_t seed = numbers.next() >> 16;
  const std::vector<std::string>& names = operator_names();
  const std::string& first = names[static_cast<size_t>(index) % names.size()];
  // An operator that makes no whole numbers of whole numbers has its turn in a recipe of reals.
  static const std::vector<std::string> kReals = {"exp",     "log",        "pow",       "sqrt",
                                                  "tanh",    "sigmoid",    "gelu_tanh", "gelu_erf",
                                                  "softmax", "layer_norm", "rms_norm"};
  bool needs_reals = std::find(kReals.begin(), kReals.end(), first) != kReals.end();
  bool exact = !needs_reals && numbers.chance(0.6);
  B builder(seed, exact, !exact && numbers.chance(0.25));

  for (int attempt = 0; attempt < 20 && !add_operator(&builder, first); ++attempt) {
  }
  int wanted = numbers.between(2, 12);
  for (int attempt = 0; attempt < 200 && builder.calls() < wanted; ++attempt) {
    int kind = builder.random().below(10);
    if (kind < 2) {
      add_layer(&builder);
    } else if (kind < 3) {
      add_diamond(&builder);
    } else {
      add_operator(&builder, builder.random().of(names));
    }
  }
  // What operators that are drawn one by one seldom make.
  if (index % 8 == 0) add_borders(&builder);
  if (index % 4 == 2) add_attention(&builder);
  if (index % 8 == 4) add_stencils(&builder);
  if (index % 8 == 3) add_layers(&builder);
  if (index % 8 == 7 || index % 8 == 1) add_channels(&builder);
  return builder.finish();
}

}  // namespace emulsion

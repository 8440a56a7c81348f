#include "tests/random/recipe.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "dsl/error.h"
#include "dsl/operators.h"
#include "tests/random/random_numbers.h"

namespace emulsion {
namespace {

using nlohmann::json;

Extent extent_from_json(const json& value) {
  Extent extent(value.at(0).get<int64_t>());
  for (const auto& [name, coefficient] : value.at(1).items()) {
    extent = extent + Extent::size(name) * Extent(coefficient.get<int64_t>());
  }
  return extent;
}

std::vector<Extent> extents_from_json(const json& values) {
  std::vector<Extent> extents;
  for (const json& value : values) extents.push_back(extent_from_json(value));
  return extents;
}

// The arguments of one call, as an operator wants them.
class CallArguments {
 public:
  CallArguments(const Step& call, const std::vector<Tensor>& tensors)
      : call_(call), tensors_(tensors) {}

  const Tensor& tensor(size_t i) const {
    return tensors_.at(static_cast<size_t>(call_.args.at(i).node));
  }
  Operand operand(size_t i) const {
    const Arg& arg = call_.args.at(i);
    return arg.node < 0 ? Operand(arg.number) : Operand(tensor(i));
  }
  std::vector<Tensor> all() const {
    std::vector<Tensor> result;
    for (size_t i = 0; i < call_.args.size(); ++i) result.push_back(tensor(i));
    return result;
  }
  const json& param(const char* name) const { return call_.params.at(name); }
  template <typename T>
  T get(const char* name) const {
    return param(name).get<T>();
  }
  std::string name() const { return call_.params.value("name", std::string()); }
  bool flag(const char* name) const { return call_.params.value(name, false); }
  // Written as C++ operators, not as functions.
  bool infix() const { return flag("infix"); }

 private:
  const Step& call_;
  const std::vector<Tensor>& tensors_;
};

using A = CallArguments;
using Caller = std::function<Tensor(const A&)>;

template <typename F>
Caller two(F f) {
  return [f](const A& a) { return f(a.operand(0), a.operand(1), a.name()); };
}

template <typename F>
Caller one(F f) {
  return [f](const A& a) { return f(a.tensor(0), a.name()); };
}

template <typename F>
Caller reduction(F f) {
  return [f](const A& a) {
    return f(a.tensor(0), a.get<std::vector<int>>("axes"), a.get<bool>("keepdims"), a.name());
  };
}

Conv2dOptions conv_options(const A& a) {
  Conv2dOptions o;
  auto stride = a.get<std::vector<int>>("stride"), dilation = a.get<std::vector<int>>("dilation");
  auto pad = a.get<std::vector<int>>("pad");
  o.stride_h = stride[0], o.stride_w = stride[1];
  o.dilation_h = dilation[0], o.dilation_w = dilation[1];
  o.pad_top = pad[0], o.pad_bottom = pad[1], o.pad_left = pad[2], o.pad_right = pad[3];
  o.groups = a.get<int>("groups");
  return o;
}

PoolOptions pool_options(const A& a) {
  PoolOptions o;
  auto window = a.get<std::vector<int>>("window"), stride = a.get<std::vector<int>>("stride");
  auto pad = a.get<std::vector<int>>("pad");
  o.window_h = window[0], o.window_w = window[1];
  o.stride_h = stride[0], o.stride_w = stride[1];
  o.pad_top = pad[0], o.pad_bottom = pad[1], o.pad_left = pad[2], o.pad_right = pad[3];
  o.count_include_pad = a.get<bool>("count_include_pad");
  return o;
}

Tensor slice_call(const A& a) {
  return slice(a.tensor(0), extents_from_json(a.param("begin")), extents_from_json(a.param("end")),
               a.get<std::vector<int64_t>>("step"), a.name());
}

Tensor pad_call(const A& a) {
  return pad(a.tensor(0), a.get<std::vector<int64_t>>("low"), a.get<std::vector<int64_t>>("high"),
             a.get<double>("value"), a.name());
}

// Written in index notation where `by_hand` says so, then with its operands in whichever order.
Tensor matmul_call(const A& a) {
  const Tensor x = a.tensor(0), w = a.tensor(1);
  if (!a.flag("by_hand")) return matmul(x, w, a.name());
  const Axis row("row", x.shape()[0]), column("column", w.shape()[1]), k("k", x.shape()[1]);
  const Expr left = x(row, k), right = w(k, column);
  return compute(a.name(), {row, column}, sum(k, a.flag("turned") ? right * left : left * right));
}

const std::map<std::string, Caller>& callers() {
  static const auto* const table = new std::map<std::string, Caller>{
      {"add",
       [](const A& a) {
         return a.infix() ? a.operand(0) + a.operand(1) : add(a.operand(0), a.operand(1), a.name());
       }},
      {"sub",
       [](const A& a) {
         return a.infix() ? a.operand(0) - a.operand(1) : sub(a.operand(0), a.operand(1), a.name());
       }},
      {"mul",
       [](const A& a) {
         return a.infix() ? a.operand(0) * a.operand(1) : mul(a.operand(0), a.operand(1), a.name());
       }},
      {"div",
       [](const A& a) {
         return a.infix() ? a.operand(0) / a.operand(1) : div(a.operand(0), a.operand(1), a.name());
       }},
      {"neg", [](const A& a) { return a.infix() ? -a.tensor(0) : neg(a.tensor(0), a.name()); }},
      {"min", two([](auto... x) { return min(x...); })},
      {"max", two([](auto... x) { return max(x...); })},
      {"pow", two([](auto... x) { return pow(x...); })},
      {"less", two(less)},
      {"less_equal", two(less_equal)},
      {"greater", two(greater)},
      {"greater_equal", two(greater_equal)},
      {"equal", two([](auto... x) { return equal(x...); })},
      {"not_equal", two(not_equal)},
      {"logical_and", two(logical_and)},
      {"logical_or", two(logical_or)},
      {"where",
       [](const A& a) { return where(a.tensor(0), a.operand(1), a.operand(2), a.name()); }},
      {"abs", one([](auto... x) { return abs(x...); })},
      {"relu", one(relu)},
      {"exp", one([](auto... x) { return exp(x...); })},
      {"log", one([](auto... x) { return log(x...); })},
      {"sqrt", one([](auto... x) { return sqrt(x...); })},
      {"tanh", one([](auto... x) { return tanh(x...); })},
      {"floor", one([](auto... x) { return floor(x...); })},
      {"ceil", one([](auto... x) { return ceil(x...); })},
      {"round", one([](auto... x) { return round(x...); })},
      {"trunc", one([](auto... x) { return trunc(x...); })},
      {"sigmoid", one(sigmoid)},
      {"gelu_tanh", [](const A& a) { return gelu(a.tensor(0), Gelu::tanh, a.name()); }},
      {"gelu_erf", [](const A& a) { return gelu(a.tensor(0), Gelu::erf, a.name()); }},
      {"logical_not", one(logical_not)},
      {"clamp",
       [](const A& a) {
         return clamp(a.tensor(0), a.get<double>("low"), a.get<double>("high"), a.name());
       }},
      {"cast",
       [](const A& a) {
         return cast(a.tensor(0), parse_dtype(a.get<std::string>("dtype")).value(), a.name());
       }},
      {"sum", reduction([](const Tensor& x, const std::vector<int>& axes, bool keepdims,
                           const std::string& name) { return sum(x, axes, keepdims, name); })},
      {"reduce_max",
       reduction([](const Tensor& x, const std::vector<int>& axes, bool keepdims,
                    const std::string& name) { return reduce_max(x, axes, keepdims, name); })},
      {"reduce_min",
       reduction([](const Tensor& x, const std::vector<int>& axes, bool keepdims,
                    const std::string& name) { return reduce_min(x, axes, keepdims, name); })},
      {"mean", reduction(mean)},
      {"softmax", [](const A& a) { return softmax(a.tensor(0), a.get<int>("axis"), a.name()); }},
      {"layer_norm",
       [](const A& a) {
         return layer_norm(a.tensor(0), a.tensor(1), a.tensor(2), a.get<double>("eps"), a.name());
       }},
      {"rms_norm",
       [](const A& a) {
         return rms_norm(a.tensor(0), a.tensor(1), a.get<double>("eps"), a.name());
       }},
      {"batch_norm",
       [](const A& a) {
         return batch_norm(a.tensor(0), a.tensor(1), a.tensor(2), a.tensor(3), a.tensor(4),
                           a.get<double>("eps"), a.get<int>("axis"), a.name());
       }},
      {"matmul", matmul_call},
      {"conv2d",
       [](const A& a) { return conv2d(a.tensor(0), a.tensor(1), conv_options(a), a.name()); }},
      {"max_pool", [](const A& a) { return max_pool(a.tensor(0), pool_options(a), a.name()); }},
      {"avg_pool", [](const A& a) { return avg_pool(a.tensor(0), pool_options(a), a.name()); }},
      {"transpose",
       [](const A& a) {
         return transpose(a.tensor(0), a.get<std::vector<int>>("perm"), a.name());
       }},
      {"reshape",
       [](const A& a) {
         return reshape(a.tensor(0), extents_from_json(a.param("shape")), a.name());
       }},
      {"slice", slice_call},
      {"concat", [](const A& a) { return concat(a.all(), a.get<int>("axis"), a.name()); }},
      {"pad", pad_call},
  };
  return *table;
}

double special_value(RandomNumbers* random) {
  switch (random->below(8)) {
    case 0:
    case 1:
    case 2:
      return std::numeric_limits<double>::quiet_NaN();
    case 3:
    case 4:
      return std::numeric_limits<double>::infinity();
    case 5:
      return -std::numeric_limits<double>::infinity();
    case 6:
      return -0.0;
    default:
      return 1e-40;  // a denormal of f32
  }
}

double element(const Recipe& recipe, const Step& leaf, RandomNumbers* random) {
  if (leaf.dtype == DType::boolean) return random->below(2);
  bool whole = recipe.exact || !is_float(leaf.dtype);
  if (leaf.fill == Fill::any && is_integer(leaf.dtype) && leaf.dtype != DType::i32) {
    return random->between(-(1 << 16), 1 << 16);  // of which the type keeps the last bits
  }
  switch (leaf.fill) {
    case Fill::any:
      return whole ? random->between(-4, 4) : random->real(-2, 2);
    case Fill::positive:
      return whole ? random->between(1, 4) : random->real(0.5, 2);
    case Fill::power_of_two:
      return std::ldexp(is_float(leaf.dtype) ? 0.5 : 1.0, random->between(0, 2));
    case Fill::variance:
      return recipe.exact ? random->between(0, 1) * 3 + 0.75 : random->real(0.5, 2);
  }
  return 0;
}

}  // namespace

json extent_to_json(const Extent& extent) {
  return json::array({extent.constant_term(), extent.coefficients()});
}

std::string leaf_name(const Step& leaf) {
  return (leaf.op == "input" ? "x" : leaf.op == "weight" ? "w" : "c") + std::to_string(leaf.label);
}

Tensor call_operator(const Step& call, const std::vector<Tensor>& tensors) {
  return callers().at(call.op)(CallArguments(call, tensors));
}

TensorValue leaf_data(const Recipe& recipe, const Step& leaf, const SizeValues& sizes) {
  std::vector<int64_t> shape;
  for (const Extent& extent : leaf.shape) shape.push_back(extent.evaluate(sizes));
  TensorValue value = zeros(leaf.dtype, shape);
  RandomNumbers random(recipe.seed * 1000 + static_cast<uint64_t>(leaf.label));
  // One special value in sixteen spoils enough: what follows them keeps most of its numbers.
  bool special = recipe.specials && is_float(leaf.dtype) && leaf.fill == Fill::any;
  for (int64_t i = 0; i < value.element_count(); ++i) {
    bool here = special && random.below(16) == 0;
    value.set_value(i, here ? special_value(&random) : element(recipe, leaf, &random));
  }
  return value;
}

Tensor leaf_tensor(const Recipe& recipe, const Step& leaf) {
  std::string name = leaf_name(leaf);
  if (leaf.op == "input") return input(name, leaf.dtype, leaf.shape);
  if (leaf.op == "weight") return weight(name, leaf.dtype, leaf.shape);
  return constant(name, leaf.dtype, leaf.shape, leaf_data(recipe, leaf, {}).bytes);
}

Recipe with_outputs(const Recipe& recipe, const std::vector<int>& outputs) {
  std::vector<bool> needed(recipe.nodes.size(), false);
  for (int output : outputs) needed.at(static_cast<size_t>(output)) = true;
  for (size_t i = recipe.nodes.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const Arg& arg : recipe.nodes[i].args) {
      if (arg.node >= 0) needed[static_cast<size_t>(arg.node)] = true;
    }
  }
  Recipe result = recipe;
  result.nodes.clear();
  result.outputs.clear();
  std::vector<int> moved(recipe.nodes.size(), -1);
  for (size_t i = 0; i < recipe.nodes.size(); ++i) {
    if (!needed[i]) continue;
    moved[i] = static_cast<int>(result.nodes.size());
    result.nodes.push_back(recipe.nodes[i]);
    for (Arg& arg : result.nodes.back().args) {
      if (arg.node >= 0) arg.node = moved[static_cast<size_t>(arg.node)];
    }
  }
  for (int output : outputs) result.outputs.push_back(moved[static_cast<size_t>(output)]);
  return result;
}

Graph build_graph(const Recipe& recipe) {
  std::vector<Tensor> tensors;
  for (const Step& step : recipe.nodes) {
    tensors.push_back(step.is_leaf() ? leaf_tensor(recipe, step) : call_operator(step, tensors));
  }
  std::vector<Tensor> outputs;
  for (int output : recipe.outputs) outputs.push_back(tensors.at(static_cast<size_t>(output)));
  return Graph(outputs);
}

TensorValues arguments_of(const Recipe& recipe, const Graph& graph, const SizeValues& sizes) {
  TensorValues values;
  for (const Step& step : recipe.nodes) {
    if (!step.is_leaf() || step.op == "constant") continue;
    if (graph.find(leaf_name(step)))
      values.emplace(leaf_name(step), leaf_data(recipe, step, sizes));
  }
  return values;
}

json to_json(const Recipe& recipe) {
  json nodes = json::array();
  for (const Step& node : recipe.nodes) {
    json entry = {{"op", node.op}, {"params", node.params}};
    if (node.is_leaf()) entry["dtype"] = to_string(node.dtype);
    for (const Arg& arg : node.args) {
      entry["args"].push_back(arg.node >= 0 ? json{{"node", arg.node}}
                                            : json{{"number", arg.number}});
    }
    nodes.push_back(entry);
  }
  return {{"nodes", nodes}, {"outputs", recipe.outputs}};
}

std::string to_string(const Recipe& recipe) {
  std::string text = fmt::format("# seed {}, {}{}\n", recipe.seed, recipe.exact ? "exact" : "real",
                                 recipe.specials ? ", special values" : "");
  for (size_t i = 0; i < recipe.nodes.size(); ++i) {
    const Step& node = recipe.nodes[i];
    text += fmt::format("%{} = {}", i, node.op);
    if (node.is_leaf()) {
      text +=
          fmt::format(" {}: {}{}", leaf_name(node), to_string(node.dtype), to_string(node.shape));
    }
    for (const Arg& arg : node.args) {
      text += arg.node >= 0 ? fmt::format(" %{}", arg.node) : fmt::format(" {}", arg.number);
    }
    if (!node.params.empty()) text += " " + node.params.dump();
    text += "\n";
  }
  return text + fmt::format("outputs {}\n", fmt::join(recipe.outputs, ", "));
}

}  // namespace emulsion

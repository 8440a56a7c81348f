#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tests/random/graph_builder.h"

// How the elementwise operators, the reductions and the normalisations are called at random. A
// function either adds a legal call or adds none.

namespace emulsion {
namespace {

using B = GraphBuilder;
using nlohmann::json;

// Whole numbers do not survive this operator.
bool only_reals(B* b) { return b->exact(); }

// A number beside a tensor: whole in exact recipes and for integers.
double random_number(B* b, int node) {
  if (b->exact() || !is_float(b->dtype(node))) return b->number_for(node, -3, 3);
  return b->random().real(-2, 2);
}

bool add_arithmetic(B* b, const std::string& op) {
  int x = b->numeric();
  Arg first = node_arg(x), second;
  Traits other;
  if (b->random().chance(0.2)) {
    second = number_arg(random_number(b, x));
    other = {std::abs(second.number), 0, second.number > 0.1};
  } else {
    int y = b->partner(x);
    second = node_arg(y);
    other = b->traits(y);
  }
  const Traits& own = b->traits(x);
  Traits result = largest_of(own, other);
  if (op == "add" || op == "sub") result.bound = own.bound + other.bound;
  if (op == "sub") result.positive = false;
  if (op == "mul") {
    result.bound = own.bound * other.bound;
    result.quantum = own.quantum + other.quantum;
    result.positive = result.positive && own.bound > 1;
  }
  if (op == "max") result.positive = own.positive || other.positive;
  if (b->random().chance(0.5)) std::swap(first, second);
  json params = json::object();
  if (op != "min" && op != "max" && b->random().chance(0.3)) params["infix"] = true;
  return added(b->emit(call(op, {first, second}, params), result));
}

bool add_division(B* b, const std::string& op) {
  int x = b->numeric();
  bool is_float_type = is_float(b->dtype(x));
  Traits result = b->traits(x);
  if (b->exact() && is_float_type) {  // only powers of two keep whole numbers exact
    if (b->random().chance(0.5)) {
      static const std::vector<double> kDivisors = {0.5, 2, 4};
      double divisor = b->random().of(kDivisors);
      result.bound *= 2;
      result.quantum += 2;
      return added(b->emit(call(op, {node_arg(x), number_arg(divisor)}), result));
    }
    int y = b->leaf(b->dtype(x), b->shape(x), Fill::power_of_two);
    result.bound *= 2;
    result.quantum += 1;
    return added(b->emit(call(op, {node_arg(x), node_arg(y)}), result));
  }
  bool any = b->random().chance(is_float_type ? 0.1 : 0.5);  // zeros among the divisors
  int y = b->partner(x, any ? Fill::any : Fill::positive);
  result.bound *= is_float_type ? 10 : 1;
  result.positive = false;
  return added(b->emit(call(op, {node_arg(x), node_arg(y)}), result));
}

// Mostly of positive bases; a negative one gives NaN but for whole exponents.
bool add_power(B* b, const std::string& op) {
  if (only_reals(b)) return false;
  auto positive = [&](int node) { return is_float(b->dtype(node)) && b->traits(node).positive; };
  int x = b->random().chance(0.7) ? b->pick(positive) : b->floating();
  if (x < 0) x = b->leaf(DType::f32, b->random_shape(0, 5), Fill::positive);
  const Traits own = b->traits(x);
  const double largest = std::max(own.bound, 10.0);  // of x and of 1 / x
  if (b->random().chance(0.2)) {                     // 2 ** x
    if (own.bound > 10) return false;
    return added(
        b->emit(call(op, {number_arg(2), node_arg(x)}), {std::exp2(own.bound), 0, own.bound <= 3}));
  }
  Arg exponent;
  double power = 3;
  if (b->random().chance(0.5)) {
    static const std::vector<double> kPowers = {-2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3};
    exponent = number_arg(b->random().of(kPowers));
    power = std::abs(exponent.number);
  } else {
    const int y = b->partner(x);
    exponent = node_arg(y);
    power = b->traits(y).bound;
  }
  const double bound = std::pow(largest, power);
  if (bound > 1e5) return false;
  return added(b->emit(call(op, {node_arg(x), exponent}),
                       {bound, 0, own.positive && power <= 0.5 && own.bound <= 100}));
}

bool add_comparison(B* b, const std::string& op) {
  int x = (op == "equal" || op == "not_equal") && b->random().chance(0.2)
              ? b->boolean(b->random_shape(0, 4))
              : b->numeric();
  Arg second = b->is_number(x) && b->random().chance(0.3) ? number_arg(random_number(b, x))
                                                          : node_arg(b->partner(x));
  return added(b->emit(call(op, {node_arg(x), second}), {1, 0, false}));
}

bool add_logical(B* b, const std::string& op) {
  int x = b->boolean(b->random_shape(0, 4));
  std::vector<Arg> args = {node_arg(x)};
  if (op != "logical_not") args.push_back(node_arg(b->partner(x)));
  return added(b->emit(call(op, args), {1, 0, false}));
}

bool add_where(B* b, const std::string& op) {
  int x = b->numeric();
  Shape shape = b->shape(x);
  if (!shape.empty() && b->random().chance(0.3)) shape[0] = Extent(1);
  int condition = b->boolean(shape);
  if (b->random().chance(0.3)) {
    double number = random_number(b, x);
    Traits result = b->traits(x);
    result.bound = std::max(result.bound, std::abs(number));
    result.positive = false;
    return added(b->emit(call(op, {node_arg(condition), node_arg(x), number_arg(number)}), result));
  }
  int y = b->partner(x);
  return added(b->emit(call(op, {node_arg(condition), node_arg(x), node_arg(y)}),
                       largest_of(b->traits(x), b->traits(y))));
}

bool add_sign(B* b, const std::string& op) {
  int x = b->numeric();
  Traits result = b->traits(x);
  if (op == "neg") result.positive = false;
  json params = json::object();
  if (op == "neg" && b->random().chance(0.3)) params["infix"] = true;
  return added(b->emit(call(op, {node_arg(x)}, params), result));
}

bool add_clamp(B* b, const std::string& op) {
  int x = b->numeric();
  double low = b->number_for(x, -3, 1), high = low + b->random().between(0, 4);
  Traits result = b->traits(x);
  result.bound = std::max(std::abs(low), std::abs(high));
  result.positive = low >= 1 || (result.positive && high >= 1);
  return added(b->emit(call(op, {node_arg(x)}, {{"low", low}, {"high", high}}), result));
}

bool add_real_function(B* b, const std::string& op) {
  if (only_reals(b)) return false;
  int x = -1;
  if (op == "log" || op == "sqrt") {  // now and then of what gives NaN
    auto positive = [&](int node) { return is_float(b->dtype(node)) && b->traits(node).positive; };
    x = b->random().chance(0.9) ? b->pick(positive) : b->floating();
    if (x < 0) x = b->leaf(DType::f32, b->random_shape(0, 5), Fill::positive);
  } else {
    x = b->floating();
  }
  double bound = b->traits(x).bound;
  Traits result{1, 0, false};
  if (op == "exp") {
    if (bound > 10) return false;
    result = {std::exp(bound), 0, bound <= 4};
  }
  if (op == "log") result.bound = std::max(3.0, std::log(bound));
  if (op == "sqrt") result = {std::sqrt(bound), 0, b->traits(x).positive};
  if (op == "sigmoid") result.positive = bound <= 4;
  if (op == "gelu_tanh" || op == "gelu_erf") result.bound = bound;
  return added(b->emit(call(op, {node_arg(x)}), result));
}

// Also of whole numbers, which stay what they are.
bool add_rounding(B* b, const std::string& op) {
  const int x = b->floating();
  return added(b->emit(call(op, {node_arg(x)}), {b->traits(x).bound + 1, 0, false}));
}

bool add_cast(B* b, const std::string& op) {
  static const std::vector<DType> kTypes = {bool_, i32, f32, f64, f32, f64, i8, u8, i16, u16};
  int x = b->random().chance(0.3) ? b->boolean(b->random_shape(0, 4)) : b->numeric();
  DType to = b->random().of(kTypes);
  const Traits& own = b->traits(x);
  Traits result{to == DType::boolean ? 1 : own.bound, is_float(to) ? own.quantum : 0, false};
  if (is_float(to) && b->is_number(x)) result.positive = own.positive;
  return added(b->emit(call(op, {node_arg(x)}, {{"dtype", to_string(to)}}), result));
}

bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

bool add_reduction(B* b, const std::string& op) {
  if (op == "mean" && only_reals(b) && b->random().chance(0.5)) return false;
  int x = op == "mean" ? b->floating(1) : b->numeric(1);
  std::vector<int> axes(static_cast<size_t>(b->rank(x)));
  std::iota(axes.begin(), axes.end(), 0);
  while (axes.size() > 1 && b->random().chance(0.6)) {
    axes.erase(axes.begin() + b->random().below(static_cast<int>(axes.size())));
  }
  if (b->random().chance(0.3)) std::reverse(axes.begin(), axes.end());
  int64_t count = 1;
  bool constant = true, empty = false;
  for (int axis : axes) {
    const Extent& extent = b->shape(x)[static_cast<size_t>(axis)];
    count *= b->extent_of(extent);
    constant = constant && extent.is_constant();
    empty = empty || extent == Extent(0);
  }
  if (empty && op != "sum" && op != "mean") return false;  // an Error, and rightly
  Traits result = b->traits(x);
  if (op == "sum") result.bound *= static_cast<double>(std::max<int64_t>(count, 1));
  if (op == "sum" && (!constant || count == 0)) result.positive = false;
  if (op == "mean" && b->exact()) {
    if (!constant || !is_power_of_two(count)) return false;
    result.quantum += static_cast<int>(std::log2(count));
  }
  // The identity of max and min over a size that is 0 at run time is the end of i32: no sums of
  // that.
  if (!constant && !is_float(b->dtype(x)) && op != "sum") result.bound = 1 << 30;
  for (int& axis : axes) {
    if (b->random().chance(0.3)) axis -= b->rank(x);
  }
  json params = {{"axes", axes}, {"keepdims", b->random().chance(0.4)}};
  return added(b->emit(call(op, {node_arg(x)}, params), result));
}

bool add_softmax(B* b, const std::string& op) {
  if (only_reals(b)) return false;
  int x = b->floating(1);
  int axis = b->random().chance(0.5) ? -1 : b->random().below(b->rank(x));
  if (b->shape(x)[static_cast<size_t>((axis + b->rank(x)) % b->rank(x))] == Extent(0)) return false;
  return added(b->emit(call(op, {node_arg(x)}, {{"axis", axis}}), {1, 0, false}));
}

bool add_row_norm(B* b, const std::string& op) {
  if (only_reals(b)) return false;
  int x = b->floating(1);
  int last = b->random().chance(0.7) ? 1 : b->random().between(1, b->rank(x));
  Shape shape(b->shape(x).end() - last, b->shape(x).end());
  auto same = [&](int node) { return b->dtype(node) == b->dtype(x) && b->shape(node) == shape; };
  std::vector<Arg> args = {node_arg(x), node_arg(b->pick_or_leaf(same, b->dtype(x), shape))};
  double bound = b->traits(args[1].node).bound;
  if (op == "layer_norm") {
    args.push_back(node_arg(b->pick_or_leaf(same, b->dtype(x), shape)));
  }
  double spread = std::sqrt(static_cast<double>(std::max<int64_t>(b->count_of(shape), 1)));
  double eps = b->random().chance(0.5) ? 1e-5 : 0.1;
  return added(b->emit(call(op, args, {{"eps", eps}}), {spread * bound + 4, 0, false}));
}

bool add_batch_norm(B* b, const std::string& op) {
  int x = b->floating(1);
  int axis = b->random().chance(0.6) ? -1 : b->random().below(b->rank(x));
  Shape shape = {b->shape(x)[static_cast<size_t>((axis + b->rank(x)) % b->rank(x))]};
  DType type = b->dtype(x);
  std::vector<Arg> args = {
      node_arg(x), node_arg(b->leaf(type, shape)), node_arg(b->leaf(type, shape, Fill::variance)),
      node_arg(b->leaf(type, shape, b->exact() ? Fill::power_of_two : Fill::any)),
      node_arg(b->leaf(type, shape))};
  Traits result = b->traits(x);
  result.bound = (result.bound + 4) * 4 + 4;
  result.quantum += 2;
  result.positive = false;
  double eps = b->exact() ? 0.25 : 1e-3;
  return added(b->emit(call(op, args, {{"eps", eps}, {"axis", axis}}), result));
}

}  // namespace

const std::map<std::string, Adder>& elementwise_adders() {
  static const auto* const table = new std::map<std::string, Adder>{
      {"add", add_arithmetic},
      {"sub", add_arithmetic},
      {"mul", add_arithmetic},
      {"min", add_arithmetic},
      {"max", add_arithmetic},
      {"div", add_division},
      {"pow", add_power},
      {"less", add_comparison},
      {"less_equal", add_comparison},
      {"greater", add_comparison},
      {"greater_equal", add_comparison},
      {"equal", add_comparison},
      {"not_equal", add_comparison},
      {"logical_and", add_logical},
      {"logical_or", add_logical},
      {"logical_not", add_logical},
      {"where", add_where},
      {"neg", add_sign},
      {"abs", add_sign},
      {"relu", add_sign},
      {"clamp", add_clamp},
      {"exp", add_real_function},
      {"log", add_real_function},
      {"sqrt", add_real_function},
      {"tanh", add_real_function},
      {"sigmoid", add_real_function},
      {"gelu_tanh", add_real_function},
      {"gelu_erf", add_real_function},
      {"floor", add_rounding},
      {"ceil", add_rounding},
      {"round", add_rounding},
      {"trunc", add_rounding},
      {"cast", add_cast},
      {"sum", add_reduction},
      {"reduce_max", add_reduction},
      {"reduce_min", add_reduction},
      {"mean", add_reduction},
      {"softmax", add_softmax},
      {"layer_norm", add_row_norm},
      {"rms_norm", add_row_norm},
      {"batch_norm", add_batch_norm},
  };
  return *table;
}

}  // namespace emulsion

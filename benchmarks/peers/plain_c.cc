#include "benchmarks/peers/plain_c.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>

#include "backends/interpreter/bind_arguments.h"
#include "benchmarks/child_program.h"
#include "dsl/error.h"
#include "dsl/files.h"

namespace emulsion::benchmarks {
namespace {

constexpr char kPrelude[] =
    "#include <math.h>\n"
    "#include <stdint.h>\n"
    "static inline long floor_div(long a, long b) {\n"
    "  return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));\n"
    "}\n"
    "static inline long floor_mod(long a, long b) { return b == 0 ? 0 : a - floor_div(a, b) * b; "
    "}\n"
    "static inline float clampf(float a, float low, float high) {\n"
    "  return a < low ? low : a > high ? high : a;\n"
    "}\n"
    "static inline double clamp(double a, double low, double high) {\n"
    "  return a < low ? low : a > high ? high : a;\n"
    "}\n";

std::string c_type(DType type) {
  switch (type) {
    case DType::boolean:
      return "uint8_t";
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
    case DType::bf16:
      fail("plain C has no bf16");
    default:
      return fmt::format("{}int{}_t", to_string(type)[0] == 'u' ? "u" : "",
                         8 * size_in_bytes(type));
  }
}

std::string c_extent(const Extent& extent) {
  std::string text = fmt::format("{}L", extent.constant_term());
  for (const auto& [size, factor] : extent.coefficients())
    text += fmt::format(" + {}L * size_{}", factor, size);
  return fmt::format("({})", text);
}

std::string c_constant(const ExprNode& node) {
  if (!is_float(node.dtype)) return fmt::format("{}", node.int_value);
  const double value = node.float_value;
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value < 0 ? "(-INFINITY)" : "INFINITY";
  return fmt::format("({:a}{})", value, node.dtype == DType::f32 ? "f" : "");
}

// Whether an index is never negative, so far as its form tells: C's division is the floor's then.
bool is_never_negative(const Expr& index) {
  return !any_part(index, [](const Expr& part) {
    const bool is_negative = part->op == ExprOp::constant && part->int_value < 0;
    return is_negative || part->op == ExprOp::sub || part->op == ExprOp::neg ||
           part->op == ExprOp::read;
  });
}

class CExpr {
 public:
  std::string operator()(const Expr& expr) const {
    const ExprNode& node = expr.node();
    switch (node.op) {
      case ExprOp::constant:
        return c_constant(node);
      case ExprOp::axis:
        return "axis_" + node.name;
      case ExprOp::size:
        return "size_" + node.name;
      case ExprOp::read:
        return read(node);
      case ExprOp::cast:
        return cast(node);
      case ExprOp::select:
        return fmt::format("({} ? {} : {})", arg(node, 0), arg(node, 1), arg(node, 2));
      case ExprOp::reduce:
        fail("a reduction inside an expression has no plain loops");
      default:
        return narrowed(node, node.args.size() == 1 ? of_one(node) : of_two(expr));
    }
  }

 private:
  std::string arg(const ExprNode& node, size_t i) const { return (*this)(node.args[i]); }

  // What an integer type does not hold becomes its nearest end, for which C has no rule. NaN is
  // left out.
  std::string cast(const ExprNode& node) const {
    const DType from = node.args[0].dtype();
    const std::string value = arg(node, 0);
    if (node.dtype == DType::boolean) return fmt::format("({} != 0)", value);
    if (!is_float(from) || !is_integer(node.dtype))
      return fmt::format("(({}){})", c_type(node.dtype), value);
    constexpr int64_t kMostOfFloat = 2147483520;  // the highest i32 that an f32 holds
    const IntegerRange range = integer_range(node.dtype);
    const bool is_single = from == DType::f32;
    return fmt::format("(({})clamp{}({}, {}, {}))", c_type(node.dtype), is_single ? "f" : "", value,
                       range.lowest,
                       is_single ? std::min(range.highest, kMostOfFloat) : range.highest);
  }

  // C computes in int, where the narrow types wrap around.
  static std::string narrowed(const ExprNode& node, const std::string& text) {
    const bool is_narrow = is_integer(node.dtype) && size_in_bytes(node.dtype) < 4;
    return is_narrow ? fmt::format("(({}){})", c_type(node.dtype), text) : text;
  }

  std::string of_one(const ExprNode& node) const {
    const std::string value = arg(node, 0), suffix = node.dtype == DType::f32 ? "f" : "";
    if (node.op == ExprOp::neg) return fmt::format("(-{})", value);
    if (node.op == ExprOp::logical_not) return fmt::format("(!{})", value);
    if (node.op == ExprOp::round) return fmt::format("rint{}({})", suffix, value);
    if (node.op == ExprOp::abs) {
      return is_float(node.dtype) ? fmt::format("fabs{}({})", suffix, value)
                                  : fmt::format("({0} < 0 ? -{0} : {0})", value);
    }
    return fmt::format("{}{}({})", to_string(node.op), suffix, value);
  }

  std::string of_two(const Expr& expr) const {
    const ExprNode& node = expr.node();
    const std::string a = arg(node, 0), b = arg(node, 1);
    switch (node.op) {
      case ExprOp::min:
        return fmt::format("({0} < {1} ? {0} : {1})", a, b);
      case ExprOp::max:
        return fmt::format("({0} > {1} ? {0} : {1})", a, b);
      case ExprOp::pow:
        return fmt::format("pow{}({}, {})", node.dtype == DType::f32 ? "f" : "", a, b);
      case ExprOp::div:
      case ExprOp::mod: {
        const bool is_div = node.op == ExprOp::div;
        const bool is_plain = is_float(node.dtype) ||
                              (is_never_negative(expr) && node.args[1]->op == ExprOp::constant);
        if (is_plain) return fmt::format("({} {} {})", a, is_div ? "/" : "%", b);
        return fmt::format("floor_{}({}, {})", is_div ? "div" : "mod", a, b);
      }
      default:
        return fmt::format("({} {} {})", a, sign_of(node.op), b);
    }
  }

  static std::string sign_of(ExprOp op) {
    switch (op) {
      case ExprOp::add:
        return "+";
      case ExprOp::sub:
        return "-";
      case ExprOp::mul:
        return "*";
      case ExprOp::eq:
        return "==";
      case ExprOp::ne:
        return "!=";
      case ExprOp::lt:
        return "<";
      case ExprOp::le:
        return "<=";
      case ExprOp::gt:
        return ">";
      case ExprOp::ge:
        return ">=";
      case ExprOp::logical_and:
        return "&&";
      case ExprOp::logical_or:
        return "||";
      default:
        fail("plain C has no {}", to_string(op));
    }
  }

  std::string read(const ExprNode& node) const {
    std::string at = "0L";
    for (size_t i = 0; i < node.args.size(); ++i)
      at = fmt::format("({} * {} + {})", at, c_extent(node.tensor->shape[i]), arg(node, i));
    return fmt::format("{}[{}]", element_name(*node.tensor), at);
  }

 public:
  static std::string element_name(const Op& op) { return "tensor_" + op.name; }
};

std::string loops_over(const std::vector<Axis>& axes) {
  std::string text;
  for (const Axis& axis : axes) {
    text += fmt::format("  for (long axis_{0} = 0; axis_{0} < {1}; ++axis_{0}) {{\n", axis.name(),
                        c_extent(axis.extent()));
  }
  return text;
}

std::string ends_of(const std::vector<Axis>& axes) {
  return "  " + std::string(axes.size(), '}') + "\n";
}

// The element of the result that the loops are at.
std::string element_of(const Op& op) {
  std::string at = "0L";
  for (const Axis& axis : op.axes)
    at = fmt::format("({} * {} + axis_{})", at, c_extent(axis.extent()), axis.name());
  return fmt::format("{}[{}]", CExpr::element_name(op), at);
}

std::string combined(const Op& op, const std::string& so_far, const std::string& value) {
  switch (op.combiner) {
    case Combiner::product:
      return fmt::format("{} * {}", so_far, value);
    case Combiner::min:
    case Combiner::max:
      return fmt::format("{0} {1} {2} ? {0} : {2}", so_far,
                         op.combiner == Combiner::min ? '<' : '>', value);
    default:
      return fmt::format("{} + {}", so_far, value);
  }
}

std::string identity(const Op& op) { return CExpr()(identity_of(op.combiner, op.dtype)); }

// The whole tile of the result that `inside` walks over is made ready, and then added to.
std::string added_in_memory(const Op& op, const std::vector<Axis>& outside,
                            const std::vector<Axis>& inside) {
  const std::string element = element_of(op);
  return loops_over(outside) + loops_over(inside) +
         fmt::format("    {} = {};\n", element, identity(op)) + ends_of(inside) +
         loops_over(op.reduction_axes) + loops_over(inside) +
         fmt::format("    const {} value = {};\n    {} = {};\n", c_type(op.dtype), CExpr()(op.body),
                     element, combined(op, element, "value")) +
         ends_of(inside) + ends_of(op.reduction_axes) + ends_of(outside);
}

std::string nest_of(const Op& op, PlainOrder order) {
  const std::string type = c_type(op.dtype), value = CExpr()(op.body);
  if (op.combiner == Combiner::none) {
    std::vector<Axis> axes = op.axes;
    if (order == PlainOrder::by_rows && axes.size() > 1)
      std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
    return loops_over(axes) + fmt::format("    {} = {};\n", element_of(op), value) + ends_of(axes);
  }
  if (order == PlainOrder::sums_outside) return added_in_memory(op, {}, op.axes);
  if (order == PlainOrder::by_rows && !op.axes.empty()) {
    return added_in_memory(op, {op.axes.begin(), op.axes.end() - 1}, {op.axes.back()});
  }
  return loops_over(op.axes) + fmt::format("    {} sum = {};\n", type, identity(op)) +
         loops_over(op.reduction_axes) +
         fmt::format("    const {} value = {};\n    sum = {};\n", type, value,
                     combined(op, "sum", "value")) +
         ends_of(op.reduction_axes) + fmt::format("    {} = sum;\n", element_of(op)) +
         ends_of(op.axes);
}

}  // namespace

std::vector<PlainOrder> all_plain_orders() {
  return {PlainOrder::as_written, PlainOrder::by_rows, PlainOrder::sums_outside};
}

std::string plain_c(const Graph& graph, PlainOrder order, const std::string& name) {
  std::string text = fmt::format("void {}(char** tensors, const long* sizes) {{\n", name);
  for (size_t i = 0; i < graph.sizes().size(); ++i)
    text += fmt::format("  const long size_{} = sizes[{}];\n", graph.sizes()[i], i);
  for (size_t i = 0; i < graph.ops().size(); ++i) {
    const Op& op = *graph.ops()[i];
    if (op.kind == OpKind::fused)
      fail("plain C is written operation by operation, got fused {}", op.name);
    text += fmt::format("  {0}{1}* restrict {2} = ({0}{1}*)tensors[{3}];\n",
                        op.kind == OpKind::compute ? "" : "const ", c_type(op.dtype),
                        CExpr::element_name(op), i);
  }
  for (const OpPtr& op : graph.ops())
    if (op->kind == OpKind::compute) text += nest_of(*op, order);
  return text + "}\n";
}

CompiledC::CompiledC(const std::string& source) {
  const ScratchDirectory scratch;
  const std::string c_file = scratch.path() + "/plain.c", library = scratch.path() + "/plain.so";
  write_file("plain C", c_file, kPrelude + source);
  const char* compiler = std::getenv("CC");
  run_program_lines(
      "the C compiler",
      fmt::format("{} -O3 -march=native -shared -fPIC -o {} {} -lm",
                  compiler == nullptr ? "cc" : compiler, quoted(library), quoted(c_file)),
      [](const std::string&) {});
  library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) fail("plain C cannot be loaded: {}", dlerror());
}

std::function<void()> CompiledC::call(const std::string& name, const Graph& graph,
                                      const SizeValues& sizes, TensorValues* values) const {
  using Function = void (*)(char**, const long*);
  const auto function = reinterpret_cast<Function>(dlsym(library_, name.c_str()));
  if (function == nullptr) fail("plain C has no function {}", name);
  const auto own = std::make_shared<TensorValues>();
  std::vector<char*> tensors;
  for (const OpPtr& op : graph.ops()) {
    TensorValues* const among = values->count(op->name) > 0 ? values : own.get();
    if (among == own.get()) {
      TensorValue value = zeros(op->dtype, evaluate_shape(op->name, op->shape, sizes));
      if (op->kind == OpKind::constant) value.bytes = *op->data;
      own->emplace(op->name, std::move(value));
    }
    tensors.push_back(reinterpret_cast<char*>(among->at(op->name).bytes.data()));
  }
  std::vector<long> numbers;
  for (const std::string& size : graph.sizes()) numbers.push_back(sizes.at(size));
  return [function, own, tensors, numbers]() mutable { function(tensors.data(), numbers.data()); };
}

}  // namespace emulsion::benchmarks

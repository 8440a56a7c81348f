#include "dsl/tensor.h"

#include <atomic>
#include <cstring>
#include <set>
#include <unordered_map>
#include <utility>

#include "dsl/affine.h"
#include "dsl/check_body.h"
#include "dsl/count_text.h"
#include "dsl/error.h"
#include "dsl/fitting_name.h"

namespace emulsion {
namespace {

constexpr int64_t kMaxBytes = (int64_t{1} << 31) - 1;  // a kernel addresses a buffer with 32 bits
constexpr int kMaxRank = 8;

void check_shape(const std::string& what, DType dtype, const Shape& shape) {
  if (shape.size() > kMaxRank) {
    fail("{}: expected rank {} or less, got {}", what, kMaxRank, shape.size());
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].is_constant() && shape[i].constant_term() < 0) {
      fail("{}: axis {}: expected an extent of 0 or greater, got {}", what, i,
           shape[i].constant_term());
    }
  }
  std::optional<int64_t> count;
  try {
    count = element_count(shape);
  } catch (const Error&) {
    count = kMaxBytes + 1;
  }
  if (count && *count > kMaxBytes / size_in_bytes(dtype)) {
    fail("{}: expected at most {} bytes, got shape {} of {}", what, kMaxBytes, to_string(shape),
         to_string(dtype));
  }
}

void check_computable(const std::string& what, DType dtype) {
  if (!is_computable(dtype)) {
    fail("{}: expected a type with kernels ({}), got {}", what, computable_dtypes(),
         to_string(dtype));
  }
}

Tensor leaf(OpKind kind, const std::string& what, const std::string& name, DType dtype,
            Shape shape) {
  check_identifier(what, name);
  check_computable(what + " " + name, dtype);
  check_shape(what + " " + name, dtype, shape);
  auto op = std::make_shared<Op>();
  op->kind = kind;
  op->name = name;
  op->dtype = dtype;
  op->shape = std::move(shape);
  return Tensor(OpPtr(std::move(op)));
}

// An input or a weight. One count for all threads: what one thread makes, or several that wait for
// each other, has an order.
Tensor argument(OpKind kind, const std::string& what, const std::string& name, DType dtype,
                Shape shape) {
  static std::atomic<uint64_t> last = 0;
  const Tensor made = leaf(kind, what, name, dtype, std::move(shape));
  auto op = std::make_shared<Op>(*made.op());
  op->declared = ++last;
  return Tensor(OpPtr(std::move(op)));
}

Tensor constant_of_bytes(const std::string& name, DType dtype, Shape shape,
                         std::vector<uint8_t> bytes) {
  Tensor made = leaf(OpKind::constant, "constant", name, dtype, std::move(shape));
  std::optional<int64_t> count = element_count(made.shape());
  if (!count) {
    fail("constant {}: expected a shape of numbers, got {}", name, to_string(made.shape()));
  }
  int64_t expected = *count * size_in_bytes(dtype);
  if (static_cast<int64_t>(bytes.size()) != expected) {
    fail("constant {}: expected {} ({}) for shape {}, got {} ({})", name,
         count_text(*count, "value", "values"), count_text(expected, "byte", "bytes"),
         to_string(made.shape()), bytes.size() / size_in_bytes(dtype),
         count_text(bytes.size(), "byte", "bytes"));
  }
  if (dtype == DType::boolean) {
    for (uint8_t byte : bytes) {
      if (byte > 1) fail("constant {}: expected bool values 0 or 1, got {}", name, byte);
    }
  }
  auto op = std::make_shared<Op>(*made.op());
  op->data = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  return Tensor(OpPtr(std::move(op)));
}

template <typename T>
Tensor constant_of(const std::string& name, Shape shape, const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return constant_of_bytes(name, dtype_of<T>(), std::move(shape), std::move(bytes));
}

template <typename T>
Tensor scalar_of(T value) {
  Tensor result = constant_of<T>("scalar", {}, {value});
  auto op = std::make_shared<Op>(*result.op());
  op->auto_named = true;
  return Tensor(OpPtr(std::move(op)));
}

void check_size(const std::string& what, const Expr& body) {
  const ExprSize size = size_of(body);
  if (size.height > ExprSize::kMostHeight) {
    fail(
        "{}: expected at most {} operations inside one another, got {}; legal: a reduction over an "
        "axis, or parts of it as functions of their own",
        what, ExprSize::kMostHeight, size.height);
  }
  if (size.nodes > ExprSize::kMostNodes) {
    fail(
        "{}: expected at most {} operations when it is written out (what is used twice counts "
        "twice), got more; legal: what is used often as a function of its own",
        what, ExprSize::kMostNodes);
  }
}

// Takes reductions out of an expression: each becomes an operation over those axes in scope that it
// uses.
class Lifter {
 public:
  explicit Lifter(std::string name) : name_(std::move(name)) {}

  // Each node once: what is used twice is lifted into one operation, and costs no more.
  Expr lift(const Expr& e, const std::vector<Axis>& scope) {
    auto found = done_.find(&e.node());
    if (found != done_.end()) return found->second;
    Expr lifted = e->op == ExprOp::reduce ? lift_reduce(e, scope) : lift_args(e, scope);
    done_[&e.node()] = lifted;
    return lifted;
  }

 private:
  Expr lift_args(const Expr& e, const std::vector<Axis>& scope) {
    std::vector<Expr> args;
    for (const Expr& arg : e->args) args.push_back(lift(arg, scope));
    return with_args(e, std::move(args));
  }

  Expr lift_reduce(const Expr& e, const std::vector<Axis>& scope) {
    std::set<std::string> used;
    visit(e->args[0], [&](const Expr& node) {
      if (node->op == ExprOp::axis) used.insert(node->name);
    });
    std::vector<Axis> axes;
    std::vector<Expr> indices;
    for (const Axis& axis : scope) {
      if (!used.count(axis.name())) continue;
      axes.push_back(axis);
      indices.emplace_back(axis);
    }
    // The reduce node stays at the top, where compute() accepts it.
    Tensor lifted = compute("", axes, e, fitting_name(name_ + "_" + to_string(e->combiner)));
    return lifted.at(std::move(indices));
  }
  std::string name_;
  std::unordered_map<const ExprNode*, Expr> done_;
};

}  // namespace

Expr read_op(OpPtr op, std::vector<Expr> indices) {
  auto node = std::make_shared<ExprNode>();
  node->op = ExprOp::read;
  node->dtype = op->dtype;
  node->args = std::move(indices);
  node->name = op->name;
  node->tensor = std::move(op);
  return Expr(std::shared_ptr<const ExprNode>(std::move(node)));
}

Expr Tensor::at(std::vector<Expr> indices) const {
  if (!op_) fail("read of an undefined tensor: expected a tensor made by an operator");
  if (indices.size() != op_->shape.size()) {
    fail("read of {}: expected {} for shape {}, got {}", name(),
         count_text(rank(), "index", "indices"), to_string(op_->shape), indices.size());
  }
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i].defined()) fail("read of {}, index {}: expected an expression", name(), i);
    if (indices[i].dtype() != DType::i32) {
      fail("read of {}, index {}: expected i32, got {}; cast it: {}", name(), i,
           to_string(indices[i].dtype()), cast_text(DType::i32, indices[i]));
    }
  }
  return read_op(op_, std::move(indices));
}

Tensor input(const std::string& name, DType dtype, Shape shape) {
  return argument(OpKind::input, "input", name, dtype, std::move(shape));
}

Tensor weight(const std::string& name, DType dtype, Shape shape) {
  return argument(OpKind::weight, "weight", name, dtype, std::move(shape));
}

Tensor constant(const std::string& name, DType dtype, const Shape& shape,
                std::vector<uint8_t> bytes) {
  return constant_of_bytes(name, dtype, shape, std::move(bytes));
}

Tensor constant(const std::string& name, Shape shape, const std::vector<float>& values) {
  return constant_of(name, std::move(shape), values);
}
Tensor constant(const std::string& name, Shape shape, const std::vector<double>& values) {
  return constant_of(name, std::move(shape), values);
}
Tensor constant(const std::string& name, Shape shape, const std::vector<int32_t>& values) {
  return constant_of(name, std::move(shape), values);
}
Tensor constant(const std::string& name, Shape shape, const std::vector<int8_t>& values) {
  return constant_of(name, std::move(shape), values);
}
Tensor constant(const std::string& name, Shape shape, const std::vector<uint8_t>& values) {
  return constant_of(name, std::move(shape), values);
}
Tensor constant(const std::string& name, Shape shape, const std::vector<int16_t>& values) {
  return constant_of(name, std::move(shape), values);
}
Tensor constant(const std::string& name, Shape shape, const std::vector<uint16_t>& values) {
  return constant_of(name, std::move(shape), values);
}
Tensor scalar(float value) { return scalar_of(value); }
Tensor scalar(double value) { return scalar_of(value); }
Tensor scalar(int32_t value) { return scalar_of(value); }

Tensor compute(const std::string& name, std::vector<Axis> axes, Expr body,
               const std::string& auto_name) {
  bool named = !name.empty();
  std::string what = named ? name : auto_name;
  check_identifier("operation", what);
  if (!body.defined()) fail("{}: expected an expression, got none", what);

  auto op = std::make_shared<Op>();
  op->kind = OpKind::compute;
  op->name = what;
  op->auto_named = !named;
  op->axes = std::move(axes);
  AxisExtents extents;
  auto declare = [&](const Axis& axis) {
    if (!extents.emplace(axis.name(), axis.extent()).second) {
      fail("{}: expected axes of distinct names, got {} twice", what, axis.name());
    }
  };
  for (const Axis& axis : op->axes) declare(axis);

  std::vector<Axis> scope = op->axes;
  if (body->op == ExprOp::reduce) {
    op->combiner = body->combiner;
    op->reduction_axes = body->axes;
    for (const Axis& axis : body->axes) {
      declare(axis);
      scope.push_back(axis);
    }
    body = body->args[0];
  }
  check_size(what, body);
  body = Lifter(what).lift(body, scope);
  op->dtype = body.dtype();
  check_computable(what, op->dtype);
  for (const Axis& axis : op->axes) op->shape.push_back(axis.extent());
  check_shape(what, op->dtype, op->shape);
  op->body = checked_body(what, extents, body);
  return Tensor(OpPtr(std::move(op)));
}

Func::Func(const std::string& name) : name_(name) { check_identifier("function", name); }

const Tensor& Func::tensor() const {
  if (!tensor_.defined()) {
    fail(
        "function {0}: expected a definition before its use, as in {0}(m, n) = ..., with nothing "
        "but axes on the left; recursion, as in {0}(i) = {0}(i - 1) + x(i), is not possible; "
        "legal: a reduction over an axis (sum, product, reduce_max, reduce_min), or a kernel for "
        "one step that is called for each",
        name_);
  }
  return tensor_;
}

void Func::Definition::operator=(Expr body) {  // NOLINT
  if (func_->tensor_.defined()) {
    fail("function {}: expected one definition, got a second one", func_->name_);
  }
  func_->tensor_ = compute(func_->name_, axes_, std::move(body));
}

Func::Definition::operator Expr() const {
  std::vector<Expr> indices(axes_.begin(), axes_.end());
  return func_->tensor().at(std::move(indices));
}

}  // namespace emulsion

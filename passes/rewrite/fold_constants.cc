#include "passes/rewrite/fold_constants.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "passes/rewrite/fold_scalars.h"
#include "passes/rewrite/literal_of.h"
#include "passes/rewrite/map_ops.h"

namespace emulsion {
namespace {

// A body as a list of operations, arguments first: run once for each element.
class Evaluator {
 public:
  explicit Evaluator(const Op& op) : op_(op) {
    visit(op.body, [&](const Expr& e) {
      at_[&e.node()] = nodes_.size();
      nodes_.push_back(e);
    });
    values_.resize(nodes_.size());
  }

  int64_t nodes() const { return static_cast<int64_t>(nodes_.size()); }

  // The value at these indices, or nothing.
  std::optional<Number> at(const std::vector<int64_t>& indices) {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const std::optional<Number> value = value_of(nodes_[i], indices);
      if (!value) return std::nullopt;
      values_[i] = *value;
    }
    return values_.back();
  }

 private:
  std::optional<Number> value_of(const Expr& e, const std::vector<int64_t>& indices) {
    switch (e->op) {
      case ExprOp::constant:
        return number_of(e);
      case ExprOp::axis:
        return Number{DType::i32, 0, indices[axis_index(op_.axes, e->name).value()]};
      case ExprOp::size:
        return std::nullopt;
      case ExprOp::read:
        return read(e);
      default:
        break;
    }
    Number args[3];
    for (size_t i = 0; i < e->args.size(); ++i) args[i] = values_[at_.at(&e->args[i].node())];
    return fold_operation(e->op, e.dtype(), args);
  }

  std::optional<Number> read(const Expr& e) const {
    int64_t position = 0;
    for (size_t i = 0; i < e->args.size(); ++i) {
      const int64_t extent = e->tensor->shape[i].constant_term();
      const int64_t index = values_[at_.at(&e->args[i].node())].int_value;
      if (index < 0 || index >= extent) return std::nullopt;  // a branch that is not chosen
      position = position * extent + index;
    }
    return number_of(element_of(*e->tensor, position));
  }

  const Op& op_;
  std::vector<Expr> nodes_;
  std::vector<Number> values_;
  std::unordered_map<const ExprNode*, size_t> at_;
};

void append(const Number& number, std::vector<uint8_t>* bytes) {
  visit_element(number.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T value = is_float(number.dtype) ? static_cast<T>(number.float_value)
                                           : static_cast<T>(number.int_value);
    const size_t end = bytes->size();
    bytes->resize(end + sizeof(T));
    std::memcpy(bytes->data() + end, &value, sizeof(T));
  });
}

// Whether the value of `op` can be and should be stored: it reads constants, and they are not fewer
// than what it would become.
bool is_worth_folding(const Op& op) {
  if (op.combiner != Combiner::none) return false;
  const std::optional<int64_t> count = element_count(op.shape);
  if (!count) return false;
  int64_t largest = kSmallConstant;
  bool folds = true, reads = false;
  visit(op.body, [&](const Expr& e) {
    folds = folds && e->op != ExprOp::size;
    if (e->op != ExprOp::read) return;
    reads = true;
    folds = folds && e->tensor->kind == OpKind::constant;
    if (folds) largest = std::max(largest, element_count(e->tensor->shape).value());
  });
  return folds && (reads || *count <= kSmallConstant) && *count <= largest;
}

OpPtr folded(const OpPtr& op) {
  if (!is_worth_folding(*op)) return op;
  Evaluator evaluator(*op);
  const int64_t count = element_count(op->shape).value();
  if (count > kMostFolding / evaluator.nodes()) return op;
  std::vector<uint8_t> bytes;
  std::vector<int64_t> indices(op->shape.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    const std::optional<Number> value = evaluator.at(indices);
    if (!value) return op;
    append(*value, &bytes);
    for (size_t axis = indices.size(); axis-- > 0;) {
      if (++indices[axis] < op->shape[axis].constant_term()) break;
      indices[axis] = 0;
    }
  }
  return constant(op->name, op->dtype, op->shape, std::move(bytes)).op();
}

Expr with_literals(const Expr& body) {
  return transform(body, [](const Expr& e) { return literal_of(e).value_or(Expr()); });
}

}  // namespace

Graph fold_constants(const Graph& graph) {
  return map_ops(graph, [&](const OpPtr& op) -> OpPtr {
    if (op->kind != OpKind::compute) return op;
    if (!graph.is_output(**graph.find(op->name))) {
      OpPtr result = folded(op);
      if (result != op) return result;
    }
    return with_body(op, fold_scalars(with_literals(op->body)));
  });
}

}  // namespace emulsion

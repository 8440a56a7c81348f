#include "passes/index/index_table.h"

#include <limits>
#include <optional>
#include <utility>

#include "dsl/error.h"
#include "dsl/index_arithmetic.h"

namespace emulsion {
namespace {

// In place of a value that does not fit 64 bits: an error only where it is asked for, which the
// side of a select that is not taken is not.
constexpr int64_t kUnknown = std::numeric_limits<int64_t>::min();

int64_t apply(const ExprNode& node, int64_t a, int64_t b) {
  if (node.op == ExprOp::logical_and && a == 0) return 0;
  if (node.op == ExprOp::logical_or && a != 0 && a != kUnknown) return 1;
  if (a == kUnknown || b == kUnknown) return kUnknown;
  const std::optional<int64_t> value = index_operator(node.op, a, b);
  return value ? index_in_type(node.dtype, *value) : kUnknown;
}

}  // namespace

bool is_index(const Expr& expr) {
  return !any_part(expr, [](const Expr& e) { return e->op == ExprOp::read || is_float(e->dtype); });
}

void IndexTable::set(const std::string& variable, IndexColumn values) {
  check_length(variable, values);
  variables_[variable] = std::move(values);
}

void IndexTable::set_size(const std::string& size, IndexColumn values) {
  check_length(size, values);
  sizes_[size] = std::move(values);
}

void IndexTable::check_length(const std::string& variable, const IndexColumn& values) const {
  EMULSION_CHECK(values.size() == points_, "{} values of {} for {} points", values.size(), variable,
                 points_);
}

const IndexColumn& IndexTable::values(const Expr& index, const PointMask& where) {
  const IndexColumn& column = compute(index);
  for (size_t i = 0; any_unknown_ && i < points_; ++i) {
    if (where[i] && column[i] == kUnknown) fail("{}: does not fit 64 bits", to_string(index));
  }
  return column;
}

const IndexColumn& IndexTable::compute(const Expr& index) {
  if (index->op == ExprOp::size) {
    const auto size = sizes_.find(index->name);
    if (size != sizes_.end()) return size->second;
  }
  if (index->op == ExprOp::axis || index->op == ExprOp::size) {
    auto found = variables_.find(index->name);
    if (found == variables_.end()) {
      fail("{} {}: expected a value, got none", to_string(index->op), index->name);
    }
    return found->second;
  }
  auto found = computed_.find(&index.node());
  if (found != computed_.end()) return found->second.values;
  IndexColumn column = compute_node(index);
  return computed_.emplace(&index.node(), Computed{index, std::move(column)}).first->second.values;
}

IndexColumn IndexTable::compute_node(const Expr& index) {
  EMULSION_CHECK(!is_float(index->dtype) && index->op != ExprOp::read,
                 "{} in an index expression: {}", to_string(index->op), to_string(index));
  if (index->op == ExprOp::constant) return IndexColumn(points_, index->int_value);
  return index->op == ExprOp::select ? compute_select(index) : compute_operator(index);
}

IndexColumn IndexTable::compute_select(const Expr& index) {
  const IndexColumn& condition = compute(index->args[0]);
  const IndexColumn& yes = compute(index->args[1]);
  const IndexColumn& no = compute(index->args[2]);
  IndexColumn result(points_);
  for (size_t i = 0; i < points_; ++i) {
    result[i] = condition[i] == kUnknown ? kUnknown : condition[i] != 0 ? yes[i] : no[i];
  }
  return result;
}

IndexColumn IndexTable::compute_operator(const Expr& index) {
  const IndexColumn& a = compute(index->args[0]);
  const IndexColumn& b = index->args.size() > 1 ? compute(index->args[1]) : a;
  const ExprNode& node = index.node();
  IndexColumn result(points_);
  for (size_t i = 0; i < points_; ++i) {
    result[i] = apply(node, a[i], b[i]);
    any_unknown_ = any_unknown_ || result[i] == kUnknown;
  }
  return result;
}

}  // namespace emulsion

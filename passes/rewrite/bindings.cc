#include "passes/rewrite/bindings.h"

#include <cmath>
#include <cstdint>

#include "dsl/affine.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

// Of a value, which may have any coefficients: those of an index fit 64 bits.
std::optional<Affine> affine_if_it_fits(const Expr& value) {
  try {
    return affine_of(value);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool same_affine(const Expr& a, const Expr& b) {
  if (a.dtype() != DType::i32 || b.dtype() != DType::i32) return false;
  const std::optional<Affine> left = affine_if_it_fits(a), right = affine_if_it_fits(b);
  return left && right && left->coefficients == right->coefficients &&
         left->offset == right->offset;
}

bool same_constant(const ExprNode& a, const ExprNode& b) {
  if (!is_float(a.dtype)) return a.int_value == b.int_value;
  return a.float_value == b.float_value &&
         std::signbit(a.float_value) == std::signbit(b.float_value);
}

}  // namespace

std::optional<bool> unify(const Extent& pattern, const Extent& extent, SizeBindings* sizes) {
  Extent rest = extent;
  std::string unbound;
  int64_t factor = 0;
  for (const auto& [name, coefficient] : pattern.coefficients()) {
    auto found = sizes->find(name);
    if (found != sizes->end()) {
      rest = rest - found->second * Extent(coefficient);
    } else if (unbound.empty()) {
      unbound = name;
      factor = coefficient;
    } else {
      return std::nullopt;
    }
  }
  rest = rest - Extent(pattern.constant_term());
  if (unbound.empty()) return rest == Extent(0);
  const std::optional<Extent> value = rest.exact_quotient(factor);
  if (!value || !never_negative(*value)) return false;  // a size is 0 or more
  (*sizes)[unbound] = *value;
  return true;
}

Extent extent_of(const Extent& pattern, const SizeBindings& sizes) {
  Extent result(pattern.constant_term());
  for (const auto& [name, coefficient] : pattern.coefficients()) {
    auto found = sizes.find(name);
    EMULSION_CHECK(found != sizes.end(), "size {} of a pattern is not bound", name);
    result = result + found->second * Extent(coefficient);
  }
  return result;
}

Expr with_sizes(const Expr& pattern, const SizeBindings& sizes) {
  return transform(pattern, [&](const Expr& e) {
    return e->op == ExprOp::size ? extent_value(extent_of(Extent::size(e->name), sizes)) : Expr();
  });
}

std::string parameter_name(size_t dimension) { return "$" + std::to_string(dimension); }
std::string result_axis_name(size_t dimension) { return "@" + std::to_string(dimension); }

Expr value_at(const Expr& wildcard, const std::vector<Expr>& indices) {
  return substitute_axes(wildcard, [&](const std::string& name) {
    return name[0] == '$' ? indices.at(std::stoul(name.substr(1))) : Expr();
  });
}

bool same_value(const Expr& a, const Expr& b) {
  if (a.same_as(b)) return true;
  if (same_affine(a, b)) return true;
  if (a->op != b->op || a->dtype != b->dtype || a->args.size() != b->args.size() ||
      a->name != b->name || a->tensor != b->tensor) {
    return false;
  }
  if (a->op == ExprOp::constant) return same_constant(a.node(), b.node());
  for (size_t i = 0; i < a->args.size(); ++i) {
    if (!same_value(a->args[i], b->args[i])) return false;
  }
  return true;
}

}  // namespace emulsion

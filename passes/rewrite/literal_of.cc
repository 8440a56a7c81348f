#include "passes/rewrite/literal_of.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "dsl/error.h"

namespace emulsion {

Expr element_of(const Op& constant, int64_t index) {
  EMULSION_CHECK(constant.kind == OpKind::constant, "{} is no constant", constant.name);
  auto node = std::make_shared<ExprNode>();
  node->op = ExprOp::constant;
  node->dtype = constant.dtype;
  visit_element(constant.dtype, [&](auto zero) {
    using T = decltype(zero);
    const size_t at = static_cast<size_t>(index) * sizeof(T);
    EMULSION_CHECK(at + sizeof(T) <= constant.data->size(), "element {} of {}", index,
                   constant.name);
    if constexpr (std::is_same_v<T, bool>) {
      node->int_value = constant.data->at(at);
    } else {
      T value;
      std::memcpy(&value, constant.data->data() + at, sizeof(T));
      if constexpr (std::is_floating_point_v<T>) {
        node->float_value = value;
      } else {
        node->int_value = int64_t{value};
      }
    }
  });
  return Expr(std::shared_ptr<const ExprNode>(std::move(node)));
}

std::optional<Expr> literal_of(const Expr& read) {
  if (read->op != ExprOp::read || read->tensor->kind != OpKind::constant) return std::nullopt;
  if (element_count(read->tensor->shape) != 1) return std::nullopt;
  Expr element = element_of(*read->tensor, 0);
  if (std::isnan(element->float_value)) return std::nullopt;  // whose bits only data keep
  return element;
}

}  // namespace emulsion

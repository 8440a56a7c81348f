// Rows of a run-time length that may be the values of pixels.

#include <algorithm>
#include <cstdint>
#include <optional>

#include "passes/derive/derive_stage.h"
#include "passes/index/simplify_index.h"
#include "passes/index/size_facts.h"

namespace emulsion {

Op with_rows_of(const Op& op, int64_t values) {
  Op known = op;
  known.axes.back() = Axis(op.axes.back().name(), values);
  known.shape.back() = values;
  return known;
}

std::optional<Expr> length_of_short_rows(const Op& op, const Target& target) {
  const Extent& length = op.axes.back().extent();
  if (!is_what_is_left_of_a_size(length)) return std::nullopt;
  const bool is_other = std::any_of(op.axes.begin(), op.axes.end() - 1, [&](const Axis& axis) {
    return share_a_size(axis.extent(), length);
  });
  if (is_other || has_borders(op)) return std::nullopt;
  const Axis& last = op.axes.back();
  const bool reads_otherwise = any_part(op.body, [&](const Expr& e) {
    return e->op == ExprOp::read && mentions(e, last.name()) && !is_along(e, last);
  });
  if (reads_otherwise) return std::nullopt;
  const bool are_pixels =
      match_pixels(with_rows_of(op, kMostValuesOfPixel), value_lanes(op, target)).has_value();
  return are_pixels ? std::optional(extent_value(length)) : std::nullopt;
}

}  // namespace emulsion

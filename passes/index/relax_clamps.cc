#include "passes/index/relax_clamps.h"

#include <algorithm>
#include <optional>
#include <string>

#include "passes/index/index_interval.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

class Relaxer {
 public:
  explicit Relaxer(const AxisExtents& axes) : axes_(axes) {}

  std::vector<Expr> relax(const Expr& index) const {
    switch (index->op) {
      case ExprOp::min:
      case ExprOp::max:
        return relax_clamp(index);
      case ExprOp::add:
      case ExprOp::sub:
      case ExprOp::mul: {
        std::vector<Expr> result;
        for (const Expr& a : relax(index->args[0])) {
          for (const Expr& b : relax(index->args[1])) {
            result.push_back(simplify_index(binary(index->op, a, b)));
          }
        }
        return result;
      }
      default:
        return {index};
    }
  }

 private:
  // min(a, c) = a - max(0, a - c), and max(a, c) = a + max(0, c - a). Of two around each other only
  // one moves an index.
  std::vector<Expr> relax_clamp(const Expr& clamp) const {
    Expr inner = clamp;
    std::optional<Extent> least, most;
    while (const std::optional<Clamp> one = clamp_of(inner)) {
      std::optional<Extent>& side = one->is_most ? most : least;
      if (side) break;
      side = one->bound;
      inner = one->value;
    }
    if (!least && !most) return {clamp};
    std::vector<Expr> result = relax(inner);
    int64_t up = 0, down = 0;
    for (const Expr& index : result) {
      const std::optional<Interval> values = interval_within(index, axes_);
      if (!values || !values->fixed.empty()) return {clamp};
      const Extent below = least ? *least - values->low : Extent(0);
      const Extent above = most ? values->high - *most : Extent(0);
      if (!below.is_constant() || !above.is_constant()) return {clamp};
      up = std::max(up, below.constant_term());
      down = std::max(down, above.constant_term());
    }
    const size_t count = result.size();
    for (const int64_t moved : {up, -down}) {
      for (size_t i = 0; moved != 0 && i < count; ++i) {
        result.push_back(simplify_index(result[i] + int_constant(moved)));
      }
    }
    return result;
  }

  const AxisExtents& axes_;
};

}  // namespace

std::optional<Clamp> clamp_of(const Expr& index) {
  const bool bounds = index->op == ExprOp::min || index->op == ExprOp::max;
  if (!bounds || index->dtype != i32) return std::nullopt;
  const std::optional<Extent> first = as_extent(index->args[0]);
  const std::optional<Extent> bound = first ? first : as_extent(index->args[1]);
  if (!bound) return std::nullopt;
  return Clamp{Expr(index->args[first ? 1 : 0]), *bound, index->op == ExprOp::min};
}

std::vector<Expr> relax_clamps(const Expr& index, const AxisExtents& axes) {
  return Relaxer(axes).relax(index);
}

}  // namespace emulsion

#include "passes/index/relax_clamps.h"

#include <algorithm>
#include <optional>

#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

class Relaxer {
 public:
  explicit Relaxer(const VariableRange& range) : range_(range) {}

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
  // min(a, c) = a - max(0, a - c), and max(a, c) = a + max(0, c - a).
  std::vector<Expr> relax_clamp(const Expr& clamp) const {
    const bool is_min = clamp->op == ExprOp::min;
    const bool bound_first = as_extent(clamp->args[0]).has_value();
    const std::optional<Extent> bound = as_extent(clamp->args[bound_first ? 0 : 1]);
    if (!bound) return {clamp};
    std::vector<Expr> result = relax(clamp->args[bound_first ? 1 : 0]);
    int64_t farthest = 0;
    for (const Expr& index : result) {
      const std::optional<Interval> values = over_the_run(index);
      if (!values) return {clamp};
      const Extent beyond = is_min ? values->high - *bound : *bound - values->low;
      if (!beyond.is_constant()) return {clamp};
      farthest = std::max(farthest, beyond.constant_term());
    }
    if (farthest == 0) return result;
    for (size_t i = 0, count = result.size(); i < count; ++i) {
      result.push_back(simplify_index(result[i] + int_constant(is_min ? -farthest : farthest)));
    }
    return result;
  }

  std::optional<Interval> over_the_run(const Expr& index) const {
    std::optional<Interval> values = interval_of(index, range_);
    if (!values || !values->fixed.empty()) return std::nullopt;
    return values;
  }

  const VariableRange& range_;
};

}  // namespace

std::vector<Expr> relax_clamps(const Expr& index, const VariableRange& range) {
  return Relaxer(range).relax(index);
}

}  // namespace emulsion

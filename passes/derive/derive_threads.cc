#include <algorithm>
#include <optional>
#include <vector>

#include "dsl/expr.h"
#include "passes/derive/derive_stage.h"
#include "passes/index/index_arithmetic.h"

namespace emulsion {
namespace {

// The product of run-time sizes, which fits an i32 for every value of theirs: of several, each
// counts only as far as that needs. Enough to compare with a threshold.
Expr product_of(const std::vector<Expr>& sizes) {
  constexpr int kBits = 30;
  if (sizes.size() == 1) return sizes[0];
  const int64_t most = int64_t{1} << (kBits / static_cast<int>(sizes.size()));
  Expr product = min(sizes[0], int_constant(most));
  for (size_t i = 1; i < sizes.size(); ++i) product = product * min(sizes[i], int_constant(most));
  return product;
}

}  // namespace

std::optional<Expr> reaches(const std::vector<Extent>& extents, int64_t least) {
  int64_t numbers = 1, at_least = 1;
  std::vector<Expr> sizes;
  for (const Extent& extent : extents) {
    if (const auto number = extent.as_constant()) {
      numbers = saturated_product(numbers, *number);
    } else {
      sizes.push_back(extent_value(extent));
      // 1: where there is nothing to do, there is nothing to decide.
      at_least =
          saturated_product(at_least, std::max<int64_t>(extent.lower_bound().value_or(1), 1));
    }
  }
  if (numbers == 0) return std::nullopt;
  const int64_t needed = (least - 1) / numbers + 1;
  if (needed <= at_least) return Expr();
  if (sizes.empty()) return std::nullopt;
  return product_of(sizes) >= int_constant(needed);
}

void parallel_from(StageSchedule& stage, const Axis& loop, const std::vector<Extent>& extents,
                   int64_t least) {
  const std::optional<Expr> condition = reaches(extents, least);
  if (!condition) return;
  (condition->defined() ? stage.specialize(*condition) : stage).parallel(loop);
}

}  // namespace emulsion

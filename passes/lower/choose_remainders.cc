// a % n as a choice of a and of what is n apart from it (stage_plan.h).

#include <algorithm>
#include <cstdint>
#include <optional>

#include "dsl/affine.h"
#include "passes/index/index_interval.h"
#include "passes/lower/stage_plan.h"
#include "passes/nest/read_indices.h"

namespace emulsion {
namespace {

// Whether e is 0 or more, given that n is 1 or more.
bool never_negative_for(const Extent& e, const Extent& n) {
  constexpr int64_t kMost = 2;  // what an index may lack of [-n, 2 n) is made of two of n
  const Extent more = n - Extent(1);
  for (int64_t times = 0; times <= kMost; ++times) {
    if (never_negative(e - more * Extent(times))) return true;
  }
  return false;
}

// Whether no iteration happens over that extent where n is 0.
bool has_no_steps_without(const Extent& n, const Extent& extent) {
  constexpr int64_t kMost = 2;  // halves of a row that are n long
  for (int64_t times = 1; times <= kMost; ++times) {
    if (never_negative(n * Extent(times) - extent)) return true;
  }
  return false;
}

// Nothing where the index may be n or more away from the ends of [0, n), or n may be 0.
Expr chosen_remainder(const Expr& e, const AxisExtents& axes) {
  if (e->op != ExprOp::mod || e->dtype != i32) return Expr();
  const std::optional<Extent> n = as_extent(e->args[1]);
  const std::optional<Affine> sum = affine_of(e->args[0]);
  if (!n || n->is_constant() || !sum) return Expr();
  const bool is_at_least_1 = std::any_of(axes.begin(), axes.end(), [&](const auto& axis) {
    return has_no_steps_without(*n, axis.second);
  });
  const Extent low = least_value(*sum, axes), high = largest_value(*sum, axes);
  if (!is_at_least_1 || !never_negative_for(low + *n, *n) ||
      !never_negative_for(*n * Extent(2) - Extent(1) - high, *n)) {
    return Expr();
  }
  const Expr &a = e->args[0], &by = e->args[1];
  Expr result = a;
  if (!never_negative_for(*n - Extent(1) - high, *n)) result = select(a < by, a, a - by);
  if (!never_negative_for(low, *n)) result = select(a < 0, a + by, result);
  return result;
}

}  // namespace

WrittenNest choose_remainders(WrittenNest nest) {
  for (WrittenStage& written : nest.stages) {
    const AxisExtents axes = domain_of(written.stage);
    written.stage.body = transform(
        written.stage.body, [&](const Expr& e) -> Expr { return chosen_remainder(e, axes); });
  }
  return nest;
}

}  // namespace emulsion

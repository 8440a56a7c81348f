#include "passes/derive/window_sums.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "dsl/affine.h"
#include "dsl/index_arithmetic.h"
#include "passes/derive/choices.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

constexpr int64_t kMostOfWindow = 64;            // steps that are added without loops
constexpr int64_t kFarthest = int64_t{1} << 32;  // that a step goes

// Of how many places along one index of what it reads `rows` results are made, side by side along
// the axis; nothing where no number says so.
std::optional<int64_t> places_of_rows(const Op& sums, const Affine& index, const Axis& axis,
                                      int64_t rows) {
  std::set<int64_t> places;
  for (const auto& [name, factor] : index.coefficients) {
    if (factor > kFarthest || factor < -kFarthest) return std::nullopt;
  }
  const int64_t step = index.coefficients.at(axis.name());
  for (int64_t row = 0; row < rows; ++row) places.insert(row * step);
  for (const auto& [name, factor] : index.coefficients) {
    if (name == axis.name()) continue;
    const std::optional<size_t> reduced = axis_index(sums.reduction_axes, name);
    if (!reduced) return std::nullopt;
    const std::optional<int64_t> extent = sums.reduction_axes[*reduced].extent().as_constant();
    if (!extent || *extent > kMostOfWindow) return std::nullopt;
    std::set<int64_t> all;
    for (int64_t k = 0; k < *extent; ++k) {
      for (const int64_t place : places) all.insert(place + k * factor);
    }
    places = std::move(all);
  }
  return static_cast<int64_t>(places.size());
}

// How many short steps one of its steps counts for, where each is written out.
int64_t weight_of_step(const Op& sums) {
  constexpr int64_t kShort = 32, kSeries = 16;  // parts of an expression; short steps
  int64_t parts = 0;
  visit(sums.body, [&](const Expr&) { ++parts; });
  return std::max<int64_t>(parts / kShort, takes_series(sums) ? kSeries : 1);
}

// The indices of what it reads that say the row: of the last axis but one.
std::vector<Affine> indices_of_rows(const Op& sums) {
  const std::string& row = sums.axes[sums.axes.size() - 2].name();
  std::vector<Affine> indices;
  visit(sums.body, [&](const Expr& e) {
    if (e->op != ExprOp::read) return;
    for (const Expr& at : e->args) {
      const std::optional<Affine> index = affine_of(at);
      if (index && index->coefficients.count(row) > 0) indices.push_back(*index);
    }
  });
  return indices;
}

}  // namespace

int64_t steps_of_sum(const Op& sums, int64_t most) {
  int64_t steps = 1;
  for (const Axis& axis : sums.reduction_axes) {
    steps = saturated_product(steps, axis.extent().as_constant().value_or(most));
  }
  return steps;
}

int64_t step_of_windows(const Op& sums) {
  if (sums.axes.empty()) return 0;
  const std::string& columns = sums.axes.back().name();
  int64_t farthest = 0;
  visit(sums.body, [&](const Expr& e) {
    const bool reads = e->op == ExprOp::read && !e->args.empty();
    const std::optional<Affine> last =
        reads ? affine_of(between_ends(e->args.back(), sums, columns)) : std::nullopt;
    const auto step = [&](const Axis& axis) -> int64_t {
      if (!last || axis.extent() == Extent(1) || !last->coefficients.count(axis.name())) return 0;
      return std::abs(last->coefficients.at(axis.name()));
    };
    if (std::any_of(sums.reduction_axes.begin(), sums.reduction_axes.end(), step)) {
      farthest = std::max(farthest, step(sums.axes.back()));
    }
  });
  return farthest;
}

int64_t rows_of_windows(const Op& sums, int64_t most) {
  constexpr int64_t kAnyRows = 12;  // of a run-time number
  if (sums.axes.size() < 2 || takes_series(sums)) return 1;
  const Axis& row = sums.axes[sums.axes.size() - 2];
  const int64_t steps = steps_of_sum(sums, kMostOfWindow + 1);
  const std::vector<Affine> indices = indices_of_rows(sums);
  if (indices.empty() || steps < 1 || steps > kMostOfWindow) return 1;
  const auto places = [&](int64_t rows) -> std::optional<int64_t> {
    int64_t all = 0;
    for (const Affine& index : indices) {
      const std::optional<int64_t> of_one = places_of_rows(sums, index, row, rows);
      if (!of_one) return std::nullopt;
      all += *of_one;
    }
    return all;
  };
  if (!places(1)) return 1;
  const std::optional<int64_t> extent = row.extent().as_constant();
  int64_t best = 1, least = 0;
  for (int64_t rows = 1; rows <= std::min(most, extent.value_or(most)); ++rows) {
    const int64_t tiles = extent ? (*extent + rows - 1) / rows : kAnyRows / rows;
    const int64_t cost = tiles * (*places(rows) + rows);
    if (rows == 1 || cost < least) std::tie(best, least) = std::tuple(rows, cost);
  }
  return best;
}

bool reads_windows(const Op& op, const Expr& read) {
  const auto moves_with = [](const Expr& index, const std::vector<Axis>& axes) {
    return std::any_of(axes.begin(), axes.end(),
                       [&](const Axis& axis) { return mentions(index, axis.name()); });
  };
  return std::any_of(read->args.begin(), read->args.end(), [&](const Expr& index) {
    return moves_with(index, op.axes) && moves_with(index, op.reduction_axes);
  });
}

bool reach_over_ends(const std::vector<const Op*>& sums) {
  return std::any_of(sums.begin(), sums.end(), [](const Op* op) {
    const std::string& columns = op->axes.back().name();
    return any_part(op->body, [&](const Expr& e) {
      const bool reads = e->op == ExprOp::read && !e->args.empty();
      return reads && mentions(e->args.back(), columns) && !affine_of(e->args.back()) &&
             affine_of(between_ends(e->args.back(), *op, columns));
    });
  });
}

bool strides_a_little(const Op& op) {
  constexpr int64_t kFewColumns = 8;
  if (op.axes.empty()) return false;
  const Axis& last = op.axes.back();
  return last.extent().as_constant().value_or(kFewColumns) >= kFewColumns &&
         step_of_windows(op) > 0 && steps_of_sum(op, kMostOfWindow) < kMostOfWindow &&
         steps_a_little(op, last);
}

void unroll_windows(const Op& sums, int64_t vectors, int64_t most, StageSchedule* stage) {
  const int64_t steps =
      saturated_product(std::max<int64_t>(vectors, 1), steps_of_sum(sums, most + 1));
  if (steps < 1 || saturated_product(steps, weight_of_step(sums)) > most) return;
  for (size_t i = sums.reduction_axes.size(); i-- > 0;) {
    if (sums.reduction_axes[i].extent() != Extent(1)) stage->unroll(sums.reduction_axes[i]);
  }
}

void unroll_short_windows(const Op& sums, int64_t vectors, StageSchedule* stage) {
  constexpr int64_t kMost = 16;
  unroll_windows(sums, vectors, step_of_windows(sums) > 0 ? kMostOfWindow : kMost, stage);
}

}  // namespace emulsion

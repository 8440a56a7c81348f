#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/expr.h"
#include "dsl/index_arithmetic.h"
#include "passes/derive/contraction_operands.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/point_cycles.h"
#include "passes/derive/window_sums.h"
#include "passes/index/simplify_index.h"

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

// The largest number that divides an extent whatever its sizes are: 64 of 64 T.
int64_t common_factor(const Extent& extent) {
  int64_t factor = extent.constant_term();
  for (const auto& [size, coefficient] : extent.coefficients()) {
    factor = std::gcd(factor, coefficient);
  }
  return std::max<int64_t>(factor, 1);
}

constexpr int64_t kTasksForCore = 8;
// Of tiles whose panels come from memory, as a part of that of tiles whose panels are in L2
// (panels_from_memory of //benchmarks:products).
constexpr double kSpeedFromMemory = 0.7;
constexpr int64_t kPointsOfTask = 16384;

// How many steps of the last shared loop make one task: enough that calling the task costs little.
int64_t steps_of_task(const std::vector<Axis>& loops, size_t count, int64_t points,
                      const Target& target) {
  int64_t all = 1;
  for (size_t i = 0; i < count; ++i) all *= loops[i].extent().constant_term();
  if (all == 0) return 1;
  const int64_t extent = loops[count - 1].extent().constant_term();
  const int64_t most = kPointsOfTask / std::max<int64_t>(points / all, 1);
  int64_t steps = std::min({extent, most, all / (kTasksForCore * target.cores)});
  while (steps > 1 && extent % steps != 0) --steps;
  return std::max<int64_t>(steps, 1);
}

// What a member takes: of sums the extents that they are of, too.
std::vector<Extent> points_of(const Op& op) {
  std::vector<Extent> extents = op.shape;
  if (const Op* sums = sums_of(op)) {
    for (const Axis& axis : sums->reduction_axes) {
      if (axis.extent() != Extent(0)) extents.push_back(axis.extent());
    }
  }
  return extents;
}

int64_t numbers_in(const std::vector<Extent>& extents) {
  int64_t product = 1;
  for (const Extent& e : extents) product = saturated_product(product, e.as_constant().value_or(1));
  return product;
}

// How many of these points there are for one of `most`: of a run-time number nearly none.
double part_of_points(const std::vector<Extent>& points, const std::vector<Extent>& most) {
  const auto sizes_in = [](const std::vector<Extent>& extents) {
    return std::count_if(extents.begin(), extents.end(),
                         [](const Extent& e) { return !e.is_constant(); });
  };
  if (sizes_in(points) < sizes_in(most)) return 0;
  const auto all = static_cast<double>(std::max<int64_t>(numbers_in(most), 1));
  return std::min(static_cast<double>(numbers_in(points)) / all, 1.0);
}

double balance(int64_t tasks, int64_t cores) {
  if (tasks == 0) return 0;
  const int64_t rounded_up = (tasks + cores - 1) / cores * cores;
  return static_cast<double>(tasks) / static_cast<double>(rounded_up);
}

}  // namespace

Shared choose_shares(const Op& op, const RegisterTile& tile, std::optional<int64_t> rows,
                     std::optional<int64_t> columns, bool has_outer, std::optional<int64_t> outer,
                     bool copied, const Target& target) {
  std::optional<int64_t> depth = 1;
  for (const Axis& axis : op.reduction_axes) {
    auto extent = axis.extent().as_constant();
    depth = depth && extent ? std::optional<int64_t>(*depth * *extent) : std::nullopt;
  }
  bool known = depth && rows && columns && (!has_outer || outer);
  const bool is_little =
      known && *depth * *rows * *columns * outer.value_or(1) < products_for_threads(target);
  if (target.cores < 2 || is_little) return Shared::nothing;
  if (has_outer && (!outer || *outer >= target.cores)) return Shared::outer;
  if (!columns) {
    // Few rows are no work for all threads, however many columns a call brings.
    const bool few_rows =
        rows && (*rows + tile.rows - 1) / tile.rows < kTilesForCore * target.cores;
    return few_rows || copied ? Shared::columns : Shared::rows;
  }
  int64_t panels = (*columns + tile.columns - 1) / tile.columns;
  if (!rows) {
    // Panels are shared whatever the batch: so one row must be worth the threads.
    bool wide = !depth || *depth * *columns >= kProductsOfRow;
    return wide && panels >= target.cores ? Shared::columns : Shared::rows;
  }
  if (copied && panels >= target.cores) return Shared::columns;
  int64_t row_tiles = (*rows + tile.rows - 1) / tile.rows;
  double of_columns = balance(panels, target.cores), of_rows = balance(row_tiles, target.cores);
  // Inside of the rows, all panels are read for each tile: from memory, where L2 cannot hold them.
  const int64_t bytes = saturated_product(depth.value_or(1), *columns * size_in_bytes(op.dtype));
  if (comes_from_memory(bytes, target)) of_rows *= kSpeedFromMemory;
  return of_columns >= std::min(of_rows, 0.95) ? Shared::columns : Shared::rows;
}

std::vector<Extent> most_points(const std::vector<const Op*>& members) {
  std::vector<Extent> most;
  for (const Op* op : members) {
    std::vector<Extent> points = points_of(*op);
    const bool more = points.size() > most.size() ||
                      (points.size() == most.size() && numbers_in(points) > numbers_in(most));
    if (more) most = std::move(points);
  }
  return most;
}

int64_t points_for_threads(const std::vector<const Op*>& members, const Target& target) {
  const std::vector<Extent> most = most_points(members);
  const double vector = target.vector_bits() / 8.0;
  double cycles = 0, bytes = 0;
  for (const Op* op : members) {
    const PointCost cost = cost_of_point(*op, target);
    const double part = part_of_points(points_of(*op), most);
    cycles += cost.cycles * part;
    bytes = std::max(bytes, cost.bytes * part);  // those of one go through the others, too
  }
  cycles = std::max(cycles, 1 / vector);  // a byte that is stored
  bytes = std::max(bytes, 1.0);
  const auto all = static_cast<double>(kCyclesForThreads);
  const double in_cache = static_cast<double>(target.l2_bytes) / bytes;
  const double points = std::min(all / cycles, std::max(all / (cycles + bytes / vector), in_cache));
  return std::max<int64_t>(static_cast<int64_t>(points), 1);
}

int64_t least_shared(const Op& op, size_t axis, const Target& target) {
  int64_t others = 1;
  for (size_t d = 0; d < op.shape.size(); ++d) {
    if (d == axis) continue;
    if (!op.shape[d].is_constant()) return 0;
    others = saturated_product(others, std::max<int64_t>(op.shape[d].constant_term(), 1));
  }
  return (points_for_threads({&op}, target) - 1) / others + 1;
}

int64_t products_for_threads(const Target& target) {
  constexpr int64_t kCycles = kCyclesForThreads * 4 / 3;
  return kCycles * target.vector_lanes(DType::f32) * (target.has_fma() ? 2 : 1);
}

bool wakes_threads(const std::vector<const Op*>& members, const Target& target) {
  return wakes_threads_from(most_points(members), points_for_threads(members, target), target);
}

bool wakes_threads_from(const std::vector<Extent>& points, int64_t least, const Target& target) {
  return target.cores > 1 && element_count(points).value_or(least) >= least;
}

std::optional<Expr> reaches(const std::vector<Extent>& extents, int64_t least) {
  int64_t numbers = 1, at_least = 1;
  std::vector<Expr> sizes;
  for (const Extent& extent : extents) {
    if (const auto number = extent.as_constant()) {
      numbers = saturated_product(numbers, *number);
      continue;
    }
    const int64_t factor = common_factor(extent);
    numbers = saturated_product(numbers, factor);
    const Extent size = extent.exact_quotient(factor).value();
    sizes.push_back(extent_value(size));
    // 1: where there is nothing to do, there is nothing to decide.
    at_least = saturated_product(at_least, std::max<int64_t>(size.lower_bound().value_or(1), 1));
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

size_t count_shared(const std::vector<Axis>& loops, const Target& target) {
  Extent extent = 1;
  size_t count = 0;
  for (const Axis& loop : loops) {
    const bool is_known = extent.is_constant() && loop.extent().is_constant();
    if (count > 0 && extent != Extent(1) &&
        (!is_known || extent.constant_term() >= kTasksForCore * target.cores)) {
      break;
    }
    extent = extent * loop.extent();
    ++count;
  }
  return extent == Extent(1) ? 0 : count;
}

bool shares_tiles(const Op& sums, const Op& result, const Target& target) {
  const std::vector<Axis> around(result.axes.begin(), result.axes.end() - 1);
  return wakes_threads_to_sum(sums, target) && count_shared(around, target) == 0 &&
         result.axes.back().extent() != Extent(1);
}

int64_t tiles_of_task(const Op& sums, int64_t width, const Target& target) {
  const int64_t points = saturated_product(width, steps_of_sum(sums, kPointsOfTask));
  const int64_t most = kPointsOfTask / std::max<int64_t>(points, 1);
  const std::optional<int64_t> columns = sums.axes.back().extent().as_constant();
  const int64_t tiles =
      columns ? (*columns + width - 1) / width : most * kTasksForCore * target.cores;
  return std::max<int64_t>(std::min(most, tiles / (kTasksForCore * target.cores)), 1);
}

Axis fuse_leading(const Op& op, std::vector<Axis> loops, size_t count, StageSchedule* stage) {
  std::vector<Axis> fused;
  for (size_t i = 1; i < count; ++i) fused.emplace_back(fresh_axis(op, "rows" + std::to_string(i)));
  loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(count), loops.end());
  return fuse_rows(*stage, loops, fused);
}

RowTasks share_loops(const Op& op, std::vector<Axis> loops, size_t count,
                     std::optional<int64_t> points, const Target& target, StageSchedule* stage) {
  const Axis last = loops[count - 1];
  const int64_t steps = points ? steps_of_task(loops, count, *points, target) : 1;
  if (steps == 1) {
    const Axis tasks = fuse_leading(op, std::move(loops), count, stage);
    return {tasks, tasks, 1};
  }
  const Axis block(fresh_axis(op, "block"), last.extent().constant_term() / steps);
  stage->split(last, block, last, steps);
  loops[count - 1] = block;
  return {fuse_leading(op, std::move(loops), count, stage), last, steps};
}

int64_t uneven_steps_of_task(const std::vector<Axis>& loops, int64_t points, const Target& target) {
  constexpr int64_t kEnough = 1024;
  int64_t all = 1;
  for (const Axis& loop : loops) all *= loop.extent().constant_term();
  const int64_t of_step = points / std::max<int64_t>(all, 1);
  if (of_step == 0 || of_step >= kEnough) return 1;
  return std::max<int64_t>(std::min(kPointsOfTask / of_step, all / (kTasksForCore * target.cores)),
                           1);
}

}  // namespace emulsion

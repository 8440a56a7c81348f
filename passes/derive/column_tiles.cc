#include "passes/derive/column_tiles.h"

#include <algorithm>
#include <utility>

#include "dsl/index_arithmetic.h"
#include "passes/derive/choices.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/vector_lanes.h"
#include "passes/derive/window_sums.h"
#include "passes/index/simplify_index.h"
#include "passes/index/size_facts.h"

namespace emulsion {
namespace {

bool is_long(const Op& sums) {
  constexpr int64_t kLong = 64;
  return steps_of_sum(sums, kLong) >= kLong;
}

// Whether it sums up more rows than processors fetch ahead of time by themselves, each in other
// lines and pages of memory, and computes so little of them that registers are free for sums.
bool sums_up_some_rows(const Op& sums) {
  constexpr int64_t kFewRows = 8, kMostParts = 16;
  if (is_long(sums) || steps_of_sum(sums, 0) <= kFewRows) return false;
  if (step_of_windows(sums) > 0 || takes_series(sums) || shares_columns(sums)) return false;
  int64_t parts = 0;
  visit(sums.body, [&](const Expr&) { ++parts; });
  return parts <= kMostParts && is_contiguous_in_a_read(sums, sums.axes.back().name(), true);
}

// The vectors of a tile for that many columns of such sums: the place of another part of each row
// costs as much as a few vectors of it. The last tile may start earlier, where a sum may be there
// twice. Threads that share the tiles of one row have some each.
int64_t vectors_of_some_rows(const Op& sums, int64_t columns, int64_t lanes, bool twice,
                             const Target& target) {
  constexpr int64_t kMost = 16, kOthers = 4, kOfPlace = 8, kLeast = 4;
  const int64_t most = std::min<int64_t>(kMost, target.vector_registers() - kOthers);
  int64_t best = 0, least = 0;
  for (int64_t vectors = 1; vectors <= most && vectors * lanes <= columns; ++vectors) {
    if (!twice && columns % (vectors * lanes) != 0) continue;
    const int64_t tiles = (columns + vectors * lanes - 1) / (vectors * lanes);
    const bool has_tasks = vectors <= kLeast || tiles >= int64_t{2} * target.cores ||
                           !shares_tiles(sums, sums, target);
    const int64_t cost = tiles * (vectors + kOfPlace);
    if (!has_tasks || (best > 0 && cost > least)) continue;
    best = vectors;
    least = cost;
  }
  return std::max<int64_t>(best, 1);
}

// The tile for rows of a run-time length that are as long as it or longer, where the target lacks
// the masks for the end of a row, or has none for windows that stride, or a vector is so long that
// much of a row is its end. Of a short sum a few columns are enough to keep the vector units busy,
// and more rows are as long.
std::optional<ColumnTile> filled_columns(const Op& sums, const Op& result, const ColumnTile& tile,
                                         int64_t lanes, const Target& target) {
  constexpr int64_t kFewColumns = 32;
  if (!is_sum_of_sizes(sums.axes.back().extent())) return std::nullopt;
  const bool has_masks = !lacks_masks(sums, target) && !lacks_masks(result, target);
  const bool is_plain = step_of_windows(sums) <= 1 && !reach_over_ends({&sums});
  if (has_masks && lanes < kFewColumns && is_plain) return std::nullopt;
  const int64_t few = std::min(tile.width, std::max(lanes, kFewColumns));
  return ColumnTile{tile.rows, is_long(sums) ? tile.width : few, true, tile.rows_fill};
}

// The same of windows, whose last rows and columns are then computed with others again: with masks
// they would take longer than the others.
std::optional<ColumnTile> filled_windows(const std::vector<const Op*>& sums, int64_t lanes) {
  const Op& op = *sums.front();
  const ColumnTile filled = tile_of_windows(sums, lanes, true);
  const bool has_rows = filled.rows == 1 || is_sum_of_sizes(op.axes[op.axes.size() - 2].extent());
  if (!has_rows || !is_sum_of_sizes(op.axes.back().extent())) return std::nullopt;
  return filled;
}

// Several vectors where no number of them divides the columns, which are so many that few are
// computed twice in the last tile; else one.
int64_t vectors_of_columns(int64_t columns, int64_t lanes) {
  constexpr int64_t kMost = 4, kFew = 16;  // one in so many
  return count_in_block(columns, lanes, kMost, kFew);
}

// The same of windows: what each step weighs with is loaded once for them.
int64_t vectors_of_windows(const Op& sums, int64_t columns, int64_t lanes) {
  return step_of_windows(sums) == 0 ? 1 : vectors_of_columns(columns, lanes);
}

constexpr int64_t kLine = 64;  // bytes of a line of the cache

// How many columns are computed at a time where tasks are made of whole tiles, so that none is
// computed for little: of windows of a run-time number, which have one vector otherwise, as many as
// of a known number.
int64_t width_in_tasks(const Op& sums, const Op& result, int64_t width, const Target& target) {
  constexpr int64_t kVectors = 4;
  if (sums.axes.back().extent().is_constant() || step_of_windows(sums) == 0) return width;
  const int64_t lanes = std::min(value_lanes(sums, target), value_lanes(result, target));
  return std::max(width, kVectors * lanes);
}

// How many rows of windows are computed at a time, where these have rows in common. Each row of a
// picture is a stream of its own, and processors seem to fetch few of them ahead of time: sums of
// few steps wait for that longer than a second load of each row takes. They are computed one row at
// a time. Vectors as long as a line of the cache take two accesses where rows do not start at
// lines, so that sums of more steps wait, too: two rows at a time. No more than `most`.
int64_t rows_of_tile(const std::vector<const Op*>& sums, int64_t lanes, int64_t most) {
  constexpr int64_t kMostSums = 8, kFewSteps = 4, kStepsOfLine = 12, kRowsOfLine = 2;
  const Op& op = *sums.front();
  const auto count = static_cast<int64_t>(sums.size());
  const int64_t steps = count * steps_of_sum(op, kMostOfWindows);
  if (steps <= kFewSteps) return 1;
  const bool is_line = lanes * size_in_bytes(op.dtype) >= kLine;
  if (is_line && steps <= kStepsOfLine) most = std::min(most, kRowsOfLine);
  return rows_of_windows(op, std::min({most, kMostSums / count, kMostRowsOfWindows}));
}

// How many vectors of those windows are side by side. Where a vector is as long as a line of the
// cache and rows do not start at lines, what it leaves of a line is stored after vectors of the
// other rows, and takes as long as a line of its own: two vectors have a line in common.
int64_t vectors_side_by_side(const Op& sums, int64_t rows, int64_t lanes) {
  constexpr int64_t kMostRows = 2;
  const std::optional<int64_t> columns = sums.axes.back().extent().as_constant();
  if (!columns || rows > kMostRows) return 1;
  if (rows > 1 && lanes * size_in_bytes(sums.dtype) < kLine) return 1;
  const int64_t vectors = vectors_of_columns(*columns, lanes);
  const int64_t steps = saturated_product(rows * vectors, steps_of_sum(sums, kMostOfWindows + 1));
  return steps <= kMostOfWindows ? vectors : 1;
}

// So many columns, less than a vector, that are loaded and stored in three or more pieces are a
// vector with a mask, where sums are so short that these are most of the work. Of two operands of
// f32 the masks take as long.
int64_t width_with_mask(const Op& sums, int64_t width, int64_t lanes, const Target& target) {
  constexpr int64_t kLeastPieces = 3, kFewSteps = 8;
  if (!target.has("avx512_skylake") || sums.axes.back().extent() != Extent(width)) return width;
  int64_t pieces = 0, whole = 1;
  for (int64_t rest = width; rest > 0; rest /= 2) pieces += rest % 2;
  while (whole < width) whole *= 2;
  const std::vector<Expr> reads = reads_in(sums.body);
  const bool is_narrow = std::any_of(reads.begin(), reads.end(), [](const Expr& read) {
    return size_in_bytes(read.dtype()) < size_in_bytes(f32);
  });
  const bool pays = pieces >= kLeastPieces && whole <= lanes && (is_narrow || reads.size() == 1) &&
                    steps_of_sum(sums, kFewSteps + 1) <= kFewSteps && !reads_apart(sums);
  return pays ? whole : width;
}

}  // namespace

int64_t sums_at_a_time(const Op& sums, int64_t lanes, bool twice, const Target& target) {
  const Extent& extent = sums.axes.back().extent();
  const std::optional<int64_t> columns = extent.as_constant();
  if (columns && *columns >= lanes && sums_up_some_rows(sums)) {
    return lanes * vectors_of_some_rows(sums, *columns, lanes, twice, target);
  }
  for (int64_t more = is_long(sums) ? 8 : 4; more >= 2; more /= 2) {
    if (extent.exact_quotient(lanes * more)) return lanes * more;
  }
  if (!extent.is_constant()) {
    return step_of_windows(sums) > 0 ? lanes : lanes * (is_long(sums) ? 4 : 2);
  }
  const int64_t several = twice ? vectors_of_windows(sums, extent.constant_term(), lanes) : 1;
  return std::min(several * lanes, extent.constant_term());
}

ColumnTile tile_of_windows(const std::vector<const Op*>& sums, int64_t lanes, bool fills) {
  constexpr int64_t kFewRows = 2;
  const Op& op = *sums.front();
  const int64_t most = rows_of_tile(sums, lanes, kMostRowsOfWindows);
  const int64_t width = std::min(op.axes.back().extent().as_constant().value_or(lanes), lanes);
  const bool known = most == 1 || op.axes[op.axes.size() - 2].extent().is_constant();
  const int64_t rows = known || fills ? most : rows_of_tile(sums, lanes, kFewRows);
  return {rows, width, fills, known || fills || rows == 1, true};
}

namespace {

ColumnTile exact_column_tile(const std::vector<const Op*>& sums, int64_t lanes,
                             const Target& target) {
  constexpr int64_t kMostRows = 5, kRunTimeRows = 4, kMostOfTile = 10, kFewVectors = 2;
  const Op& op = *sums.front();
  if (sums.size() > 1) return tile_of_windows(sums, lanes, false);
  if (rows_of_windows(op) > 1) {
    ColumnTile tile = tile_of_windows(sums, lanes, false);
    if (tile.rows_fill) tile.width *= vectors_side_by_side(op, tile.rows, lanes);
    return tile;
  }
  const int64_t width = sums_at_a_time(op, lanes, true, target);
  const bool shared = shares_columns(op);
  if (op.axes.size() < 2 || (!is_long(op) && !shared)) return {1, width};
  const Extent& rows = op.axes[op.axes.size() - 2].extent();
  const int64_t vectors = (width + lanes - 1) / lanes;
  const int64_t few = shared ? std::min(vectors, kFewVectors) : vectors;
  const int64_t of_tile = few < vectors ? few * lanes : width;
  for (int64_t count = std::min(kMostRows, kMostOfTile / few); count > 1; --count) {
    if (rows.exact_quotient(count)) return {count, of_tile};
  }
  const bool has_many = rows.as_constant().value_or(kRunTimeRows) >= kRunTimeRows;
  return has_many && (shared || vectors == 1) ? ColumnTile{kRunTimeRows, of_tile}
                                              : ColumnTile{1, width};
}

}  // namespace

ColumnTile column_tile(const std::vector<const Op*>& sums, int64_t lanes, const Target& target) {
  ColumnTile tile = exact_column_tile(sums, lanes, target);
  if (sums.size() == 1) tile.width = width_with_mask(*sums.front(), tile.width, lanes, target);
  return tile;
}

std::optional<FilledTile> filled_tile(const std::vector<const Op*>& sums, const Op& result,
                                      const ColumnTile& tile, int64_t lanes, const Target& target) {
  const std::vector<Axis>& axes = sums.front()->axes;
  std::vector<std::pair<Extent, int64_t>> least;  // of extents that are no numbers
  const auto add = [&](const Axis& axis, int64_t count) {
    if (!axis.extent().is_constant()) least.emplace_back(axis.extent(), count);
  };
  const std::optional<ColumnTile> filled =
      tile.has_windows ? filled_windows(sums, lanes)
                       : filled_columns(*sums.front(), result, tile, lanes, target);
  if (!filled) return std::nullopt;
  add(axes.back(), filled->width);
  if (tile.has_windows && filled->rows > 1) add(axes[axes.size() - 2], filled->rows);
  if (least.empty()) return std::nullopt;
  Expr all;
  for (const auto& [extent, count] : least) {
    const Expr one = extent_value(extent) >= int_constant(count);
    all = all.defined() ? all && one : one;
  }
  return FilledTile{*filled, all};
}

std::optional<FilledTile> tile_of_tasks(const std::vector<const Op*>& sums, const Op& result,
                                        const ColumnTile& tile, const Target& target) {
  const Extent& columns = sums.front()->axes.back().extent();
  if (tile.rows > 1 || !(columns.is_constant() || is_sum_of_sizes(columns))) return std::nullopt;
  if (!shares_tiles(*sums.front(), result, target) || reach_over_ends(sums)) return std::nullopt;
  const int64_t width = width_in_tasks(*sums.front(), result, tile.width, target);
  const int64_t count = tiles_of_task(*sums.front(), width, target);
  if (count == 1) return std::nullopt;
  const ColumnTile of_tasks = {1, width, true, tile.rows_fill, tile.has_windows, count};
  if (columns.is_constant()) return FilledTile{of_tasks, Expr()};
  return FilledTile{of_tasks, extent_value(columns) >= int_constant(width * count)};
}

bool may_be_narrow(const Op& sums, const ColumnTile& tile, int64_t lanes) {
  const Extent& columns = sums.axes.back().extent();
  return !columns.is_constant() && !columns.exact_quotient(lanes) && tile.width > lanes &&
         tile.rows > 1 && is_long(sums) && step_of_windows(sums) == 0;
}

}  // namespace emulsion

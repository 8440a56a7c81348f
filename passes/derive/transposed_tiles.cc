#include "passes/derive/transposed_tiles.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>
#include <string>
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

// A tile of elements of four bytes has a line of the cache of each of its rows, on either side. Of
// narrower ones more are shuffled than are loaded, and of wider ones a line has no more.
constexpr int64_t kSideOfWords = 16, kSide = 8;
// Of an axis that is shorter than that.
constexpr int64_t kShortest = 8;
// Of one or two bytes, so many elements of a row: vectors across the rows are interleaved, and lie
// then as one piece of memory, which takes less than tiles of half a vector.
constexpr int64_t kBytesOfNarrow = 2, kMostOfNarrow = 16;
// What is computed of an element is written once for each row.
constexpr int64_t kMostNodes = 24;
constexpr size_t kMostReads = 3;

// The one axis that a read lies along, which is not the last one of the result; nothing where it
// lies along none, or where data or a choice say where it reads.
std::optional<size_t> axis_of(const Expr& read, const Op& op) {
  const bool is_affine = std::all_of(read->args.begin(), read->args.end(), [](const Expr& index) {
    return affine_of(index).has_value();
  });
  if (!is_affine) return std::nullopt;
  for (size_t i = 0; i + 1 < op.axes.size(); ++i) {
    if (is_along(read, op.axes[i])) return i;
  }
  return std::nullopt;
}

// How many steps of an axis a tile has; nothing where it is shorter than `least`.
std::optional<int64_t> steps_of_tile(const Axis& axis, int64_t side, int64_t least) {
  const std::optional<int64_t> extent = axis.extent().as_constant();
  if (extent && *extent < least) return std::nullopt;
  return std::min(extent.value_or(side), side);
}

// The fewest rows of a tile. Where there are fewer rows of words, gathering each row by itself is
// as fast: the lines of the cache that one row loads serve the next. No instruction gathers
// narrower elements, and one that gathers wider ones has few lanes.
int64_t fewest_rows(const Op& op) {
  constexpr int64_t kOfWords = 5, kOfOthers = 2;
  return size_in_bytes(op.dtype) == size_in_bytes(f32) ? kOfWords : kOfOthers;
}

// Of so many rows that few are computed twice, or none; `most` where their number is not known.
int64_t rows_of_tile(const Axis& rows, int64_t most, int64_t side) {
  constexpr int64_t kOneTileOfWords = 24;
  constexpr int64_t kManyTiles = 4;
  const std::optional<int64_t> extent = rows.extent().as_constant();
  if (!extent || side != kSideOfWords || *extent >= kManyTiles * side) return most;
  if (*extent <= kOneTileOfWords) return *extent;
  const int64_t tiles = (*extent + side - 1) / side;
  return (*extent + tiles - 1) / tiles;
}

int64_t side_of(const Op& op) { return size_in_bytes(op.dtype) == 4 ? kSideOfWords : kSide; }
bool are_narrow(const Op& op) { return size_in_bytes(op.dtype) <= kBytesOfNarrow; }

// Whether so many columns of several operands that lie across stay in the first cache until they
// are turned: lines that are a page apart have few places in it. True of one operand.
bool stay_in_cache(const Op& op, int64_t columns) {
  constexpr int64_t kPage = 4096, kPlaces = 8;
  const Axis& along = op.axes.back();
  std::set<std::string> operands;
  int64_t places = 0;
  for (const Expr& read : reads_in(op.body)) {
    if (is_along(read, along) || !mentions(read, along.name())) continue;
    if (!operands.insert(to_string(read)).second) continue;
    const std::optional<int64_t> step = elements_of_step(read, along);
    const int64_t bytes = step ? std::abs(*step) * size_in_bytes(read->dtype) : kPage;
    places += columns * std::gcd(bytes, kPage) / kPage;
  }
  return operands.size() < 2 || places <= kPlaces;
}

// How many tiles of a known number of columns are stored row by row: none of them is computed for
// little. `length`: nothing where there are enough.
int64_t tiles_side_by_side(const Op& op, int64_t lanes, std::optional<int64_t> length) {
  constexpr int64_t kColumns = 32;  // of more the registers hold too little
  constexpr int64_t kFew = 8;       // one in so many is computed twice
  if (are_narrow(op) || lanes != side_of(op) || !stay_in_cache(op, kColumns)) return 1;
  const int64_t most = kColumns / lanes;
  return length ? count_in_block(*length, lanes, most, kFew) : most;
}

// Of the reads of a body those that mention the axis at all.
template <typename Holds>
bool all_reads(const Expr& body, const Axis& axis, const Holds& holds) {
  return !any_part(body, [&](const Expr& e) {
    return e->op == ExprOp::read && mentions(e, axis.name()) && !holds(e);
  });
}

bool steps_at_most(const Expr& read, const Axis& axis, int64_t elements) {
  const std::optional<int64_t> step = elements_of_step(read, axis);
  return step && std::abs(*step) <= elements;
}

// How many rows of a few elements vectors go across.
int64_t rows_across(const Op& op, std::optional<int64_t> rows) {
  constexpr int64_t kManyRows = 64, kManyMore = 32;
  constexpr int64_t kMostBytes = 448;  // of so many more rows, interleaved in registers
  if (size_in_bytes(op.dtype) > size_in_bytes(f32) || rows.value_or(kManyRows) < kManyRows) {
    return kSide;
  }
  const int64_t bytes = op.shape.back().constant_term() * size_in_bytes(op.dtype);
  const bool are_longer = op.shape.back().constant_term() >= kShortest;
  return are_longer && kManyMore * bytes <= kMostBytes ? kManyMore : kSideOfWords;
}

// Of rows that are shorter than a tile: the innermost long axis along which all operands step a
// little, while the elements of a row are far apart in some.
std::optional<TransposedTile> tile_across_short_rows(const Op& op) {
  constexpr int64_t kMostOfRow = 1024;  // elements that each step of the axis stores
  constexpr int64_t kNear = 16;
  constexpr int64_t kFew = 4;  // of such rows the axes before the last one count, too
  bool is_far = false;         // what a row of so few reads
  int64_t behind = 1;
  for (size_t i = op.axes.size(); i-- > 0; behind *= op.axes[i].extent().constant_term()) {
    const Axis& axis = op.axes[i];
    const std::optional<int64_t> extent = axis.extent().as_constant();
    const bool steps_a_little =
        all_reads(op.body, axis, [&](const Expr& e) { return steps_at_most(e, axis, kNear); });
    const bool is_row = i + 1 == op.axes.size() || op.axes.back().extent().constant_term() <= kFew;
    if (is_row && !steps_a_little) is_far = true;
    if (is_far && steps_a_little && extent.value_or(kShortest) >= kShortest) {
      TransposedTile tile{i, rows_across(op, extent), 0, {}};
      if (!extent) tile.condition = extent_value(axis.extent()) >= int_constant(tile.rows);
      return tile;
    }
    if (!extent || behind * *extent > kMostOfRow) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<TransposedTile> transposed_tile(const Op& op, const Target& target) {
  if (op.kind != OpKind::compute || op.axes.size() < 2 || has_borders(op) ||
      vector_axis(op, target) + 1 != op.axes.size() || size_of(op.body).nodes > kMostNodes) {
    return std::nullopt;
  }
  const Axis& along = op.axes.back();
  const std::optional<int64_t> length = along.extent().as_constant();
  if (length && *length < kShortest) return tile_across_short_rows(op);
  if (length && *length <= kMostOfNarrow && are_narrow(op)) {
    const std::optional<TransposedTile> tile = tile_across_short_rows(op);
    if (tile && tile->rows > kSide) return tile;
  }
  std::set<std::string> reads;
  std::set<std::optional<size_t>> axes;
  visit(op.body, [&](const Expr& e) {
    if (e->op != ExprOp::read || is_along(e, along) || !mentions(e, along.name())) return;
    reads.insert(to_string(e));
    axes.insert(axis_of(e, op));
  });
  if (axes.size() != 1 || !*axes.begin() || reads.size() > kMostReads) return std::nullopt;
  const size_t across = **axes.begin();
  const int64_t side = side_of(op);
  const std::optional<int64_t> rows = steps_of_tile(op.axes[across], side, fewest_rows(op)),
                               lanes = steps_of_tile(along, side, kShortest);
  if (!rows || !lanes) return std::nullopt;
  TransposedTile tile{across, rows_of_tile(op.axes[across], *rows, side), *lanes, {}};
  for (const auto& [axis, steps] : {std::pair(op.axes[across], *rows), std::pair(along, *lanes)}) {
    if (axis.extent().is_constant()) continue;
    const Expr is_long = extent_value(axis.extent()) >= int_constant(steps);
    tile.condition = tile.condition.defined() ? tile.condition && is_long : is_long;
  }
  if (length) tile.count = tiles_side_by_side(op, tile.lanes, length);
  return tile;
}

std::optional<TransposedTile> several_tiles(const Op& op, const TransposedTile& tile) {
  const Axis& along = op.axes.back();
  if (tile.lanes == 0 || along.extent().is_constant()) return std::nullopt;
  TransposedTile several = tile;
  several.count = tiles_side_by_side(op, tile.lanes, std::nullopt);
  if (several.count == 1) return std::nullopt;
  constexpr int64_t kMany = 4;  // of which few are computed twice in the last one
  const int64_t least = kMany * several.count * tile.lanes;
  several.condition = extent_value(along.extent()) >= int_constant(least);
  const Extent& rows = op.axes[tile.across].extent();
  if (!rows.is_constant()) {
    several.condition = extent_value(rows) >= int_constant(tile.rows) && several.condition;
  }
  return several;
}

std::optional<TransposedTile> tile_of_sizes(const Op& op, const Target& target) {
  std::optional<TransposedTile> tile = transposed_tile(op, target);
  return tile && tile->condition.defined() ? tile : std::nullopt;
}

namespace {

void derive_across_short_rows(const Op& op, const TransposedTile& tile, StageSchedule* stage) {
  constexpr int64_t kMostUnrolled = 16;
  const Axis& rows = op.axes[tile.across];
  const Axis lane(fresh_axis(op, "lane"));
  const bool is_exact = rows.extent().exact_quotient(tile.rows).has_value();
  stage->split(rows, rows, lane, tile.rows, is_exact ? Tail::automatic : Tail::shift_inwards);
  std::vector<Axis> order = {lane};
  order.insert(order.end(), op.axes.rbegin(),
               op.axes.rend() - static_cast<std::ptrdiff_t>(tile.across) - 1);
  stage->reorder(order).vectorize(lane);
  int64_t unrolled = 1;
  for (size_t i = 1; i < order.size(); ++i) {
    unrolled *= order[i].extent().as_constant().value_or(kMostUnrolled + 1);
    if (unrolled > kMostUnrolled) break;
    if (order[i].extent() != Extent(1)) stage->unroll(order[i]);
  }
}

}  // namespace

int64_t tiles_of_task(const Op& op, const TransposedTile& tile) {
  constexpr int64_t kPoints = 4096;  // calling a task takes as long as a few small tiles
  if (tile.lanes != 0 || tile.across != 0) return 1;
  const int64_t points = saturated_product(tile.rows, elements_from(op, 1).value_or(kPoints));
  return std::max<int64_t>(kPoints / std::max<int64_t>(points, 1), 1);
}

bool gathers_rows(const Op& op) {
  const Axis& last = op.axes.back();
  return any_part(op.body, [&](const Expr& e) {
    return e->op == ExprOp::read && e->args.size() > 1 &&
           std::any_of(e->args.begin(), e->args.end() - 1, [&](const Expr& index) {
             const std::optional<Affine> affine = affine_of(index);
             return affine && affine->coefficients.count(last.name()) > 0;
           });
  });
}

void derive_gathered_rows(const Op& op, StageSchedule* stage) {
  constexpr int64_t kNear = 4;
  for (size_t i = op.axes.size() - 1; i-- > 0;) {
    const Axis& axis = op.axes[i];
    const bool is_long = axis.extent().as_constant().value_or(0) >= kShortest;
    const bool steps_a_little =
        all_reads(op.body, axis, [&](const Expr& e) { return steps_at_most(e, axis, kNear); });
    if (is_long && steps_a_little)
      return derive_across_short_rows(op, {i, kShortest, 0, {}}, stage);
  }
}

void derive_transposed(const Op& op, const TransposedTile& tile, StageSchedule* stage) {
  if (tile.lanes == 0) return derive_across_short_rows(op, tile, stage);
  const Axis& rows = op.axes[tile.across];
  const Axis& along = op.axes.back();
  const Axis row(fresh_axis(op, "row")), lane(fresh_axis(op, "lane"));
  const int64_t columns = tile.count * tile.lanes;
  const auto tail = [](const Axis& axis, int64_t steps) {
    return axis.extent().exact_quotient(steps) ? Tail::automatic : Tail::shift_inwards;
  };
  cache_block(*stage, {{rows, tile.rows, tail(rows, tile.rows), rows, row},
                       {along, columns, tail(along, columns), along, lane}});
  if (tile.count > 1) {
    stage->vectorize(lane, tile.lanes).unroll(lane);
  } else {
    stage->vectorize(lane);
  }
  stage->unroll(row);
  // The tiles' loops came one after another.
  std::vector<Axis> inside(op.axes.rbegin(),
                           op.axes.rend() - static_cast<std::ptrdiff_t>(tile.across) - 1);
  if (inside.size() > 1) stage->reorder(inside);
}

void block_rows(const Op& op, size_t across, size_t last, int64_t lanes, StageSchedule* stage) {
  const Axis& rows = op.axes[across];
  const Axis& along = op.axes[last];
  const Axis row(fresh_axis(op, "row")), lane(fresh_axis(op, "lane"));
  auto exact_or = [](const Axis& axis, int64_t block, Tail tail) {
    return axis.extent().exact_quotient(block) ? Tail::automatic : tail;
  };
  const Tail of_lanes = along.extent().is_constant() ? Tail::shift_inwards : Tail::predicate;
  cache_block(*stage, {{rows, kBlockedRows, exact_or(rows, kBlockedRows, Tail::guard), rows, row},
                       {along, lanes, exact_or(along, lanes, of_lanes), along, lane}});
  stage->vectorize(lane);
  if (of_lanes == Tail::predicate && !along.extent().exact_quotient(lanes)) stage->partition(along);
  std::vector<Axis> between(op.axes.begin() + static_cast<std::ptrdiff_t>(across) + 1,
                            op.axes.begin() + static_cast<std::ptrdiff_t>(last) + 1);
  std::reverse(between.begin(), between.end());
  if (between.size() > 1) stage->reorder(between);
}

}  // namespace emulsion

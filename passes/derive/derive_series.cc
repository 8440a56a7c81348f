#include "passes/derive/derive_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dsl/error.h"
#include "dsl/index_arithmetic.h"
#include "dsl/schedule_idioms.h"
#include "passes/derive/alternative_ways.h"
#include "passes/derive/choices.h"
#include "passes/derive/contraction_operands.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/merge_row_axes.h"
#include "passes/derive/row_groups.h"
#include "passes/index/size_facts.h"

namespace emulsion {
namespace {

constexpr int64_t kBlock = 1024;  // elements
constexpr int64_t kLeastRowsOfBlock = 4;

bool is_axis_read(const Expr& index, const Axis& axis) {
  return index->op == ExprOp::axis && index->name == axis.name();
}

// Whether an index is the same for all points: of an axis of one step, too.
bool is_one_place(const Expr& index, const Op& op) {
  return index->op == ExprOp::constant ||
         std::any_of(op.axes.begin(), op.axes.end(), [&](const Axis& axis) {
           return axis.extent() == Extent(1) && is_axis_read(index, axis);
         });
}

// Whether it is read as it lies, or is one value for all points.
bool lies_as(const Expr& read, const Op& op) {
  const bool is_one_value = std::all_of(read->args.begin(), read->args.end(),
                                        [&](const Expr& index) { return is_one_place(index, op); });
  if (is_one_value) return true;
  return read->tensor->shape == op.shape && read->args.size() == op.axes.size() &&
         std::equal(op.axes.begin(), op.axes.end(), read->args.begin(),
                    [](const Axis& axis, const Expr& index) { return is_axis_read(index, axis); });
}

// Whether each index is an axis of the operation, in their order, or a number: so vectors along the
// last axis are loaded as they lie, or are one value.
bool is_plain(const Expr& read, const Op& op) {
  size_t from = 0;
  for (const Expr& index : read->args) {
    if (index->op == ExprOp::constant) continue;
    while (from < op.axes.size() && !is_axis_read(index, op.axes[from])) ++from;
    if (from++ >= op.axes.size()) return false;
  }
  const bool is_last = from == op.axes.size() && !read->args.empty();
  return !is_last || read->args.back()->op != ExprOp::constant;
}

bool all_reads(const Op& op, const std::function<bool(const Expr&)>& holds) {
  const std::vector<Expr> reads = reads_in(op.body);
  return std::all_of(reads.begin(), reads.end(), holds);
}

bool reads_as_it_lies(const Op& op) {
  return all_reads(op, [&](const Expr& read) { return lies_as(read, op); });
}

// A chain of members of one shape and type, cut into parts. Of each but the last the last member is
// stored.
class Parts {
 public:
  // `are_pixels`: whether vectors that go through several rows of few elements fill their lanes.
  Parts(const Op& chain, const Target& target, bool are_pixels = false)
      : target_(target), are_pixels_(are_pixels) {
    for (const OpPtr& member : chain.members) members_.push_back(member.get());
    if (chain.members.empty()) members_.push_back(&chain);
  }

  const Op& member(size_t at) const { return *members_[at]; }
  size_t size() const { return members_.size(); }
  bool are_pixels() const { return are_pixels_; }

  // False where it is no such chain. `product`: what may stand before it, and what it reads is not
  // looked at.
  bool match(const Op* product = nullptr) {
    const Op& result = *members_.back();
    if (result.axes.empty() || !is_vector_type(result.dtype)) return false;
    if (!result.shape.back().is_constant()) return false;
    for (size_t i = 0; i < members_.size(); ++i) {
      const Op& member = *members_[i];
      positions_[&member] = i;
      if (&member == product && i == 0 && product->shape == result.shape) continue;
      const bool is_alike = member.combiner == Combiner::none && member.dtype == result.dtype &&
                            member.shape == result.shape;
      if (!is_alike || !all_reads(member, [&](const Expr& e) { return is_plain(e, member); })) {
        return false;
      }
    }
    return true;
  }

  // The last members of all parts but the last one; none where the chain is best in one.
  std::vector<size_t> ends() const {
    std::vector<size_t> ends;
    size_t first = 0;
    for (size_t at = 0; at < members_.size(); ++at) {
      const bool is_end = at + 1 == members_.size() || is_worth_cutting(first, at);
      if (!is_end) continue;
      // What was to lie flat, and does not.
      const size_t before = ends.size() < 2 ? 0 : ends[ends.size() - 2] + 1;
      if (!ends.empty() && !is_flat(first, at) && !has_series(before, ends.back())) {
        ends.pop_back();
        first = before;
      }
      if (at + 1 < members_.size()) ends.push_back(at);
      first = at + 1;
    }
    return ends;
  }

  // Whether the vectors of a part may go through several rows.
  bool is_flat(size_t first, size_t last) const {
    for (size_t at = first; at <= last; ++at) {
      if (!reads_as_it_lies(*members_[at])) return false;
    }
    return true;
  }
  bool has_series(size_t first, size_t last) const {
    for (size_t at = first; at <= last; ++at) {
      if (takes_series(*members_[at])) return true;
    }
    return false;
  }
  // Whether rows leave so many lanes empty that it pays.
  bool has_empty_lanes() const {
    constexpr int64_t kFew = 16;  // one of so many
    if (are_pixels_) return false;
    const Op& result = *members_.back();
    const int64_t row = result.shape.back().constant_term();
    const int64_t lanes = target_.vector_lanes(result.dtype);
    return result.axes.size() > 1 && kFew * ((lanes - row % lanes) % lanes) > row;
  }

 private:
  static bool is_vector_type(DType type) { return type == DType::f32 || type == DType::f64; }

  // Whether what is behind a member reads of what is before no more than this, at its own place.
  bool is_all_that_is_read(size_t end) const {
    for (size_t at = end + 1; at < members_.size(); ++at) {
      for (const Expr& read : reads_in(members_[at]->body)) {
        const auto found = positions_.find(read->tensor.get());
        if (found == positions_.end() || found->second > end) continue;
        if (found->second < end || !lies_as(read, *members_[at])) return false;
      }
    }
    return true;
  }

  bool is_worth_cutting(size_t first, size_t end) const {
    if (!is_all_that_is_read(end) || !has_series(end + 1, members_.size() - 1)) {
      return is_end_of_flat_part(first, end);
    }
    if (has_series(first, end)) return true;
    if (!has_empty_lanes() || is_flat(first, end)) return false;
    size_t series = end + 1;
    while (!takes_series(*members_[series])) ++series;
    return is_flat(end + 1, series);
  }

  // Whether rows go on behind a series that does not need them.
  bool is_end_of_flat_part(size_t first, size_t end) const {
    return is_all_that_is_read(end) && has_empty_lanes() && has_series(first, end) &&
           is_flat(first, end) && !reads_as_it_lies(*members_[end + 1]);
  }

  std::vector<const Op*> members_;
  const Target& target_;
  const bool are_pixels_;
  std::unordered_map<const Op*, size_t> positions_;
};

// Whether blocks are of rows: of long ones each is cut into blocks.
bool is_by_rows(const Op& result) {
  return result.axes.size() > 1 && result.shape.back().constant_term() <= kBlock;
}

// The rows of a block, all of them up to `most` elements. No row is computed again, or few are,
// since the last block starts earlier.
std::optional<int64_t> rows_of_block(int64_t rows, int64_t of_row, int64_t most) {
  constexpr int64_t kFew = 32;  // one of so many
  if (saturated_product(rows, of_row) <= most) return rows;
  const int64_t block = std::max<int64_t>(kBlock / of_row, 1);
  std::optional<int64_t> best;
  int64_t least = rows / kFew + 1;
  for (int64_t count = std::min(2 * block, rows); 2 * count >= block; --count) {
    const int64_t again = (rows + count - 1) / count * count - rows;
    if (again >= least) continue;
    least = again;
    best = count;
  }
  return best;
}

// How long a tile of sums takes for a step, in multiply-adds: more where there are too few of them
// to hide their latency, or more loads than one for two of them.
double cost_of_tile(const RegisterTile& tile) {
  constexpr double kHiddenLatency = 12, kFreeLoads = 0.5, kLoadCost = 0.5;
  const auto rows = static_cast<double>(tile.rows);
  const int64_t of_row = (tile.columns + tile.lanes - 1) / tile.lanes;
  const auto vectors = static_cast<double>(of_row);
  const double sums = rows * vectors;
  const double loads = std::max(0.0, rows + vectors - kFreeLoads * sums);
  return static_cast<double>(tile.lanes) * (std::max(sums, kHiddenLatency) + kLoadCost * loads);
}

// The same of a product and what follows it, of a known number of rows: of about as many the block
// that takes least. Each block takes as long as its whole register tiles, and the last one as long
// as the others, since it starts earlier.
int64_t rows_of_product_block(const Op& product, int64_t all, const Target& target) {
  constexpr int64_t kSeries = 40;  // multiply-adds take as long as a series of one element
  constexpr double kLess = 0.99;
  const int64_t columns = product.shape.back().constant_term();
  const int64_t wanted = std::max<int64_t>(kBlock / columns, kLeastRowsOfBlock);
  int64_t steps = 1;
  for (const Axis& axis : product.reduction_axes) {
    steps = saturated_product(steps, axis.extent().as_constant().value_or(kBlock));
  }
  int64_t best = 0;
  double least = 0;
  for (int64_t block = all <= 2 * wanted ? all : 3 * wanted / 2; block > 0; --block) {
    if (best != 0 && 2 * block < wanted) break;
    const RegisterTile tile = tile_of_block(product, block, target);
    const int64_t tiles =
        (block + tile.rows - 1) / tile.rows * ((columns + tile.columns - 1) / tile.columns);
    const double sums =
        static_cast<double>(tiles) * cost_of_tile(tile) * static_cast<double>(steps);
    const int64_t blocks = (all + block - 1) / block;
    const double cost = static_cast<double>(blocks) *
                        (sums + static_cast<double>(saturated_product(block, columns * kSeries)));
    if (best != 0 && cost >= kLess * least) continue;
    best = block;
    least = cost;
  }
  return best;
}

// Where parts are computed: in that loop of a reader, so many rows at a time, or none: a piece of
// one.
struct ChainBlock {
  std::string reader;
  Axis at;
  int64_t rows;
  int64_t elements;              // of a row or a piece
  bool has_one_between = false;  // an axis of one step, between the rows and the last axis

  const Axis& rows_of(const Op& op) const {
    return op.axes[op.axes.size() - (has_one_between ? 3 : 2)];
  }
};

// Vectors along the rows, or through several of them.
void vectorize_part(const Parts& parts, size_t first, size_t end, const ChainBlock& block,
                    const Axis& rows, const Axis& along, const Target& target,
                    StageSchedule* stage) {
  const Op& op = parts.member(end);
  const int64_t pixels = parts.are_pixels() ? pixels_side_by_side(op, target) : 0;
  const bool has_short_rows = parts.has_empty_lanes() || parts.are_pixels();
  if (block.rows > 1 && has_short_rows && parts.is_flat(first, end)) {
    const Axis flat(fresh_axis(op, "flat"), block.rows * block.elements);
    Axis inner = along;
    if (block.has_one_between) {
      inner = Axis(fresh_axis(op, "along"), block.elements);
      stage->fuse(op.axes[op.axes.size() - 2], along, inner);
    }
    stage->fuse(rows, inner, flat);
    vectorize_row(op, flat, target.vector_lanes(op.dtype), true, target, stage);
  } else if (pixels > 0 && block.rows >= pixels) {
    const Axis pixel(fresh_axis(op, "pixel")), lane(fresh_axis(op, "lane"));
    stage->split(rows, rows, pixel, pixels,
                 block.rows % pixels == 0 ? Tail::automatic : Tail::shift_inwards);
    stage->fuse(pixel, along, lane).vectorize(lane);
  } else {
    vectorize_row(op, along, target.vector_lanes(op.dtype), true, target, stage);
  }
}

// All members from one on but the last: those at the ends of parts are stored, the others computed
// inline.
void derive_stored(const Parts& parts, const std::vector<size_t>& ends, const ChainBlock& block,
                   const Target& target, Schedule* schedule, size_t from = 0) {
  size_t first = from;
  for (size_t at = from; at + 1 < parts.size(); ++at) {
    const Op& op = parts.member(at);
    StageSchedule& stage = (*schedule)[op.name];
    if (std::count(ends.begin(), ends.end(), at) == 0) {
      stage.compute_inline();
      continue;
    }
    const Axis along(op.axes.back().name(), block.elements);
    const Axis& rows = op.axes.size() > 1 ? block.rows_of(op) : along;
    vectorize_part(parts, first, at, block, rows, along, target, &stage);
    stage.compute_at(block.reader, block.at);
    first = at + 1;
  }
}

// The loops of a chain of which so many rows are computed at a time, or as many elements of one.
void derive_blocks(const Op& group, const Parts& parts, const std::vector<size_t>& ends,
                   bool by_rows, int64_t steps, const Target& target, Schedule* schedule) {
  const Op& result = *group.members.back();
  const Axis& last = result.axes.back();
  const Axis& outer = by_rows ? result.axes[result.axes.size() - 2] : last;
  StageSchedule& y = (*schedule)[result.name];
  const Axis within(fresh_axis(result, by_rows ? "row" : "within"), steps);
  const bool is_exact = outer.extent().exact_quotient(steps).has_value();
  y.split(outer, outer, within, steps, is_exact ? Tail::automatic : Tail::shift_inwards);
  const int64_t elements = by_rows ? last.extent().constant_term() : steps;
  const ChainBlock block{result.name, outer, by_rows ? steps : 0, elements};
  derive_stored(parts, ends, block, target, schedule);
  vectorize_part(parts, ends.back() + 1, parts.size() - 1, block, within, by_rows ? last : within,
                 target, &y);
  if (!wakes_threads(group, target)) return;
  const Axis& shared = result.axes.size() > 1 ? result.axes.front() : outer;
  parallel_from(y, shared, result.shape, points_for_threads({&group}, target));
}

// Blocks of a run-time number of rows: of at least so many, so many at a time. The last block
// starts earlier, and of few rows computes up to a third again: 7 of 25, where 8 are computed at
// a time.
constexpr std::pair<int64_t, int64_t> kBlocks[] = {{256, 32}, {24, 8}};

// How many elements of one row are computed at a time. A row of a few vectors is computed vector by
// vector: in the loops of so few there is nothing to do while a value is waited for. The last piece
// of a row starts earlier: of pieces of equal length it computes few elements again.
int64_t piece_of_row(int64_t elements, int64_t lanes) {
  constexpr int64_t kFewVectors = 4;
  if (elements < kFewVectors * lanes) return std::min(elements, lanes);
  const int64_t pieces = (elements + kBlock - 1) / kBlock;
  const int64_t vectors = ((elements + pieces - 1) / pieces + lanes - 1) / lanes;
  return std::min(elements, vectors * lanes);
}

// Of a run-time number of rows: many at a time, or a few, where there are as many, or one.
bool derive_run_time_rows(const Op& group, const Parts& parts, const std::vector<size_t>& ends,
                          const Target& target, Schedule* schedule) {
  const Op& result = *group.members.back();
  if (!is_by_rows(result) || !can_have_ways(result, *schedule)) return false;
  const Extent& all = result.shape[result.axes.size() - 2];
  if (!is_sum_of_sizes(all)) return false;
  std::vector<AlternativeWay> ways;
  for (const auto& [least, rows] : kBlocks) {
    ways.push_back({fmt::format("_rows{}", rows), extent_value(all) >= int_constant(least),
                    schedule->without_directives()});
    derive_blocks(group, parts, ends, true, rows, target, &ways.back().schedule);
  }
  const int64_t row = result.shape.back().constant_term(),
                lanes = target.vector_lanes(result.dtype);
  Schedule otherwise = schedule->without_directives();
  const bool fills_vector = row >= lanes;
  derive_blocks(group, parts, ends, !fills_vector, fills_vector ? piece_of_row(row, lanes) : 1,
                target, &otherwise);
  add_ways(result, ways, otherwise, schedule);
  return true;
}

// How many rows of the last axis that says which row are computed at a time; 0 where it is not
// built for more axes of these.
int64_t rows_at_a_time(const Op& group, const Target& target) {
  const Op& result = result_of(group);
  const Extent& rows = result.shape[result.axes.size() - 2];
  if (!element_count(result.shape)) return rows.as_constant().value_or(kBlocks[0].second);
  if (result.axes.size() > 2 && wakes_threads(group, target)) return 0;
  return rows_of_block(rows.constant_term(), result.shape.back().constant_term(), kBlock)
      .value_or(0);
}

bool derive_chain(const Op& group, const Target& target, Schedule* schedule) {
  Parts parts(group, target, are_pixels(group, target));
  const Op& result = *group.members.back();
  if (!parts.match()) return false;
  const std::vector<size_t> ends = parts.ends();
  const bool has_threads = wakes_threads(group, target);
  if (ends.empty() || (has_threads && result.axes.size() > 2)) return false;
  const int64_t row = result.shape.back().constant_term();
  const bool by_rows = is_by_rows(result);
  const Extent& outer = result.shape[result.axes.size() - (by_rows ? 2 : 1)];
  if (row == 0 || outer == Extent(0)) return false;
  const bool are_known = by_rows && outer.is_constant();  // whatever is outside of them
  if (!element_count(result.shape) && !are_known) {
    return derive_run_time_rows(group, parts, ends, target, schedule);
  }
  const int64_t extent = outer.constant_term();
  const int64_t most =
      target.l1_bytes / 2 / size_in_bytes(result.dtype) / static_cast<int64_t>(ends.size());
  const std::optional<int64_t> of_block =
      by_rows ? rows_of_block(extent, row, has_threads ? kBlock : most)
              : piece_of_row(extent, target.vector_lanes(result.dtype));
  if (of_block) derive_blocks(group, parts, ends, by_rows, *of_block, target, schedule);
  return of_block.has_value();
}

}  // namespace

bool derive_series(const Op& group, const Target& target, Schedule* schedule) {
  if (group.kind != OpKind::fused) return false;
  const size_t rank = result_of(group).axes.size();
  const Extent row = rank > 0 ? result_of(group).shape.back() : Extent(1);
  if (rank < 3 || !row.is_constant() || !is_by_rows(result_of(group))) {
    return derive_chain(group, target, schedule);
  }
  // The axes that say which row are one where they lie one after another.
  const RowGroup rows{{{&group, first_axes(rank - 1)}}};
  bool is_derived = false;
  derive_with_merged_axes(
      rows, [&](const RowGroup& of) { return rows_at_a_time(of.reader(), target); },
      [&](const RowGroup& of, Schedule* made) {
        is_derived = derive_chain(of.reader(), target, made);
      },
      schedule);
  return is_derived;
}

std::optional<size_t> product_before_series(const Op& group, const Target& target) {
  if (group.kind != OpKind::fused) return std::nullopt;
  Parts parts(group, target);
  const Op& product = parts.member(0);
  if (!has_rows_for_tiles(product, target) || !parts.match(&product)) return std::nullopt;
  if (!parts.has_empty_lanes()) return std::nullopt;
  const std::vector<size_t> ends = parts.ends();
  if (ends.empty() || parts.has_series(0, ends.front())) return std::nullopt;
  return ends.front();
}

bool derive_series_of_product(const Op& group, size_t end, const Target& target,
                              const DeriveOptions& options, Schedule* schedule) {
  Parts parts(group, target);
  const Op &product = parts.member(0), &result = *group.members.back();
  const std::optional<int64_t> all = result.shape[result.axes.size() - 2].as_constant();
  const bool can_have_blocks = packs_columns(product, match_contraction(product).value()) ||
                               has_blocks_of_rows(product, target);
  if (!all || *all < kLeastRowsOfBlock || !can_have_blocks || !parts.match(&product)) return false;
  const std::vector<size_t> ends = parts.ends();
  const Axis& outer = result.axes[result.axes.size() - 2];
  const int64_t rows = rows_of_product_block(product, *all, target);

  StageSchedule& y = (*schedule)[result.name];
  const Axis within(fresh_axis(result, "row"), rows);
  const bool exact = *all % rows == 0;
  y.split(outer, outer, within, rows, exact ? Tail::automatic : Tail::shift_inwards);
  for (size_t at = 1; at < end; ++at) (*schedule)[parts.member(at).name].compute_inline();
  derive_product_in_blocks({&product, &parts.member(end)},
                           {rows, result.name, outer, std::nullopt, outer}, target, options,
                           schedule);
  const ChainBlock block{result.name, outer, rows, result.shape.back().constant_term()};
  derive_stored(parts, ends, block, target, schedule, end + 1);
  vectorize_part(parts, ends.back() + 1, parts.size() - 1, block, within, result.axes.back(),
                 target, &y);
  if (!wakes_threads({&group}, target)) return true;
  const std::vector<Axis> around(result.axes.begin(), result.axes.end() - 2);
  const size_t count = count_shared(around, target);
  parallel_from(y, count > 0 ? fuse_leading(result, around, count, &y) : outer,
                most_points({&group}), points_for_threads({&group}, target));
  return true;
}

bool has_flat_series(const Op& op, const Target& target) {
  Parts parts(op, target);
  if (!takes_series(op) || !parts.match() || !parts.has_empty_lanes()) return false;
  if (result_of(op).shape.back() == Extent(1)) return false;
  return !parts.ends().empty() || parts.is_flat(0, parts.size() - 1);
}

bool lies_flat(const Op& op) {
  if (op.kind != OpKind::fused) return reads_as_it_lies(op);
  return std::all_of(op.members.begin(), op.members.end(),
                     [](const OpPtr& member) { return reads_as_it_lies(*member); });
}

void derive_flat_series(const Op& op, const FlatRows& rows, const std::string& reader,
                        const Axis& at, const Target& target, Schedule* schedule) {
  Parts parts(op, target);
  EMULSION_CHECK(parts.match(), "{} is no chain", op.name);
  const std::vector<size_t> ends = parts.ends();
  const Op& result = parts.member(parts.size() - 1);
  const ChainBlock block{reader, at, rows.steps, result.shape.back().constant_term(),
                         rows.has_one_between};
  derive_stored(parts, ends, block, target, schedule);
  const size_t first = ends.empty() ? 0 : ends.back() + 1;
  vectorize_part(parts, first, parts.size() - 1, block, block.rows_of(result), result.axes.back(),
                 target, &(*schedule)[result.name]);
}

}  // namespace emulsion

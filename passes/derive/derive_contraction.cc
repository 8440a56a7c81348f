#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "dsl/error.h"
#include "passes/derive/alternative_ways.h"
#include "passes/derive/contraction_operands.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/read_sources.h"
#include "passes/derive/stage_directives.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

// One contraction: what its operands, its extents and the machine ask for, and then its loops.
class ContractionDeriver {
 public:
  ContractionDeriver(const ContractionGroup& group, const Target& target,
                     const DeriveOptions& options, Schedule* schedule)
      : op_(*group.contraction),
        result_(*group.result),
        target_(target),
        options_(options),
        schedule_(schedule),
        column_at_(op_.axes.size() - 1) {}

  // A nest of its own. False when no strategy covers it; then nothing was added.
  bool derive() {
    if (!match() || !fits_panel()) return false;
    const std::optional<Dots> narrow = match_dots(op_, c_, packed_, target_);
    if (narrow && narrow->columns && !panel_) return derive_as(narrow);
    choose_tile(rows_);
    const bool lies_across = lies_across_columns();
    std::optional<size_t> copied;
    if (!packed_) {
      copied = pays_to_copy_panels(op_, c_.b, column().name(), tile_, rows_, columns_, lies_across);
    }
    if (!packed_ && !copied && !lies_across) {
      copied = turned_once_ = pays_to_turn_once(op_, c_.b, outer_axes_, target_);
    }
    if (!packed_ && !copied && has_rows_of_any_length()) return false;
    if (!packed_ && !copied && is_better_as_reduction(op_, c_, column(), target_)) {
      return derive_as(narrow);
    }
    // One row of results: what has its columns is read once, and best as it lies.
    const bool is_row = rows_ == 1 && !lies_across && !shares_columns(op_);
    if (!packed_ && is_row && combines_many_for_each_row(op_, target_)) return false;
    if (!packed_ && !lies_across && row_at_ &&
        streams_for_few_rows(op_, op_.axes[*row_at_], c_.b->dtype, target_)) {
      combine_few_rows(schedule_);
      return true;
    }
    if (!packed_ && !copied && !lies_across && !is_along(c_.b, column())) choose_lanes_apart();
    is_flat_ = is_flat(op_, tile_, target_);
    derive_in_ways(copied, lies_across);
    return true;
  }

  // The reader of what is computed by blocks of `rows` rows.
  BlockLoops derive_blocks(std::optional<int64_t> rows, const BlockOptions& of_blocks) {
    EMULSION_CHECK(match() && row_at_, "{} has no blocks of rows", op_.name);
    if (!rows) return derive_all_rows(of_blocks);
    least_work_ = std::max<int64_t>(
        static_cast<int64_t>(of_blocks.part * static_cast<double>(least_work_)), 1);
    const Axis block(fresh_axis(result_, "block"));
    BlockLoops blocks{rows, result_.name, block, std::nullopt, block};
    choose_tile_in_block(*rows);
    derive_loops(false, &blocks);
    // As in derive(): a run-time number of rows may be one, or leave one over. Where it is combined
    // with rows in between, as in attention, that would take twice as long to compile.
    if (!rows_ && *rows > 1 && packed_) y().partition(block);
    if (!outer_axes_.empty()) blocks.around = result_.axes[outer_axes_.back()];
    const bool by_outer =
        !outer_axes_.empty() && (!outer_extent_ || *outer_extent_ >= target_.cores);
    if (target_.cores > 1 && by_outer) blocks.around = share_outer();
    if (target_.cores > 1 && !by_outer && rows_ != rows) {
      parallel_from(y(), blocks.block, work(), least_work_);
    } else {
      blocks.storage = blocks.around.value_or(blocks.block);
    }
    copy_for_blocks(blocks);
    return blocks;
  }

  // The product whose blocks that reader reads.
  Axis derive_inside(const BlockLoops& blocks) {
    EMULSION_CHECK(match() && row_at_, "{} has no blocks of rows", op_.name);
    if (blocks.rows) {
      choose_tile_in_block(*blocks.rows);
      derive_loops(false);
    } else {
      derive_tiles_of_all_rows();
    }
    y().compute_at(blocks.reader, blocks.block);
    copy_for_blocks(blocks);
    return is_one_tile() ? blocks.block : row_loop(result_.axes[*row_at_], tile_, loops_);
  }

 private:
  const Axis& column() const { return op_.axes[column_at_]; }
  StageSchedule& y() { return (*schedule_)[result_.name]; }

  // The reader of what is computed of all rows, a run-time number, at a step of the loop outside.
  BlockLoops derive_all_rows(const BlockOptions& of_blocks) {
    least_work_ = std::max<int64_t>(
        static_cast<int64_t>(of_blocks.part * static_cast<double>(least_work_)), 1);
    derive_tiles_of_all_rows();
    const bool is_shared = target_.cores > 1 && of_blocks.may_share;
    const Axis outer = is_shared ? share_outer() : result_.axes[outer_axes_.back()];
    const BlockLoops blocks{std::nullopt, result_.name, outer, outer, outer};
    copy_for_blocks(blocks);
    return blocks;
  }

  // Few rows and columns at a time, so that of short ones not too many are computed in vain.
  void derive_tiles_of_all_rows() {
    constexpr int64_t kMostRows = 8;
    masked_ = pays_to_mask(op_, column_at_, target_);
    const std::optional<int64_t> panel =
        columns_ ? std::nullopt : std::optional(columns_at_a_time(op_.dtype));
    tile_ = register_tile_of(op_, std::nullopt, masked_, panel, target_);
    tile_.rows = std::min(tile_.rows, kMostRows);
    name_loops();
    derive_loops(false);
    if (tile_.rows > 1) y().partition(row_loop(result_.axes[*row_at_], tile_, loops_));
  }

  void combine_few_rows(Schedule* schedule) const {
    derive_combined_rows(op_, target_, schedule, op_.axes[*row_at_]);
    if (&op_ != &result_) derive_pointwise(result_, target_, schedule);
  }

  // Tiles of rows or, where a call has a few columns or rows only, these in ways of their own:
  //   if N <= 4: dots  else if N <= 8: narrow tiles  else if M <= 3: rows  else: for panel: ..
  void derive_in_ways(std::optional<size_t> copied, bool lies_across) {
    std::vector<AlternativeWay> ways;
    if (!packed_ && !lies_across && can_have_ways(result_, *schedule_)) {
      if (const std::optional<DotsOfFew> few = match_dots_of_few(op_, c_, target_)) {
        ways.push_back({"_dots", few->where, schedule_->without_directives()});
        derive_dots({&op_, &result_}, few->dots, c_, target_, &ways.back().schedule);
      }
      add_narrow_tiles(copied, &ways);
      if (std::optional<AlternativeWay> flat = flat_tiles(copied)) ways.push_back(*flat);
      if (row_at_ && !rows_ && combines_many_for_each_row(op_, target_)) {
        const Expr has_few = extent_value(op_.shape[*row_at_]) <= int_constant(kFewRows);
        ways.push_back({"_few", has_few, schedule_->without_directives()});
        combine_few_rows(&ways.back().schedule);
      }
    }
    if (ways.empty()) return derive_tiles(copied, lies_across);
    Schedule many = schedule_->without_directives();
    Schedule* const all = std::exchange(schedule_, &many);
    derive_tiles(copied, lies_across);
    schedule_ = all;
    add_ways(result_, ways, many, all);
  }

  // Of columns that may be half a vector or less: of wider tiles most would be computed in vain,
  // and of what lies along them panels be copied for little. A batch of squares of a few elements
  // has a way for each of a few lengths, whose tiles have as many rows.
  void add_narrow_tiles(std::optional<size_t> copied, std::vector<AlternativeWay>* ways) const {
    constexpr int64_t kRows = 6, kLeast = 2, kMost = 4;
    const int64_t width = target_.vector_lanes(op_.dtype) / 2;
    const Extent& columns = op_.shape[column_at_];
    const bool has_masks = target_.has("avx") && size_in_bytes(op_.dtype) >= 4;
    if (!row_at_ || columns_ || !has_masks || columns.exact_quotient(width)) return;
    const auto add = [&](const std::string& suffix, const Expr& where, int64_t rows) {
      ways->push_back({suffix, where, schedule_->without_directives()});
      ContractionDeriver narrow = *this;
      narrow.schedule_ = &ways->back().schedule;
      narrow.columns_ = width;
      narrow.masked_ = true;
      narrow.tile_ = {rows, width, width};
      narrow.derive_tiles(is_along(c_.b, column()) ? std::nullopt : copied, false);
    };
    const Expr length = extent_value(columns);
    const int64_t most = are_squares(op_, c_) ? std::min(kMost, width) : 0;
    for (int64_t size = kLeast; size <= most; ++size) {
      add(fmt::format("_of_{}", size), length == int_constant(size), size);
    }
    add("_narrow", length <= int_constant(width), std::min(rows_.value_or(kRows), kRows));
  }

  // Of run-time sizes of which the results may be most of what a call touches.
  std::optional<AlternativeWay> flat_tiles(std::optional<size_t> copied) const {
    constexpr int64_t kRows = 4;  // enough, and less to compile
    const std::optional<Expr> where = row_at_ ? may_be_flat(op_, tile_) : std::nullopt;
    if (!where) return std::nullopt;
    AlternativeWay way{"_flat", *where, schedule_->without_directives()};
    ContractionDeriver flat = *this;
    flat.schedule_ = &way.schedule;
    flat.is_flat_ = true;
    flat.tile_.rows = std::min(tile_.rows, kRows);
    flat.derive_tiles(copied, false);
    return way;
  }

  // Whether panels are inside of the rows, along which the results lie.
  bool goes_along_rows(Shared over) const {
    if (!row_at_ || over == Shared::rows) return row_at_.has_value();
    const int64_t least = tile_.rows * kTilesForCore * target_.cores;
    return is_flat_ && (over != Shared::columns || rows_.value_or(least) >= least);
  }

  // `copied`: of which axis of the columns' operand panels are copied.
  void derive_tiles(std::optional<size_t> copied, bool lies_across) {
    Shared over = choose_shares(op_, tile_, rows_, columns_, !outer_axes_.empty(), outer_extent_,
                                copied.has_value(), target_);
    if (packed_ && row_at_ && columns_) {
      const int64_t panels = (*columns_ + tile_.columns - 1) / tile_.columns;
      around_panels_ = loops_around_panels(op_, c_, outer_axes_, panels, target_);
    }
    const bool has_loops_inside = around_panels_ < outer_axes_.size();
    if (has_loops_inside && over != Shared::nothing) {
      over = around_panels_ == 0 ? Shared::columns : Shared::outer;
    }
    const bool rows_outside = !has_loops_inside && goes_along_rows(over);
    if (rows_outside && over == Shared::columns) over = Shared::rows;
    derive_loops(rows_outside);
    // A run-time number of rows may be one, for which a tile is not to compute several.
    const bool may_be_one = row_at_ && !rows_ && columns_ && tile_.rows > 1;
    if (may_be_one) y().partition(row_loop(result_.axes[*row_at_], tile_, loops_));
    share(over);
    const bool contiguous = copied && *copied + 1 == c_.b->args.size() && !lies_across;
    if (copied && !(rows_outside && contiguous)) {
      copy_panels(*c_.b->tensor, *copied, accumulator_, result_.name,
                  rows_outside || turned_once_ ? std::nullopt : std::optional(loops_.panel), tile_,
                  schedule_);
    }
  }

  bool match() {
    if (!has_register_tiles(op_)) return false;
    c_ = match_tiles(op_).value();
    columns_ = op_.shape[column_at_].as_constant();
    if (!c_.row_axes.empty()) row_at_ = axis_index(op_.axes, c_.row_axes.back());
    rows_ = row_at_ ? op_.shape[*row_at_].as_constant() : std::optional<int64_t>(1);
    if (columns_ == 0 || rows_ == 0) return false;
    for (size_t i = 0; i < column_at_; ++i) {
      if (row_at_ && i == *row_at_) continue;
      outer_axes_.push_back(i);
      const std::optional<int64_t> extent = op_.shape[i].as_constant();
      outer_extent_ =
          outer_extent_ && extent ? std::optional(*outer_extent_ * *extent) : std::nullopt;
    }
    around_panels_ = outer_axes_.size();
    if (is_inline(*schedule_, c_.b->tensor->name) && transposes_a_weight(*c_.b->tensor)) {
      c_.b = read_of_the_weight(c_.b);
    }
    const std::string& name = c_.b->tensor->name;
    packed_ = can_pack(c_.b, column().name()) && is_packed_name_free(*schedule_, name);
    if (!packed_) return true;
    const std::optional<int64_t> earlier = packed_already(*schedule_, name);
    const auto fixed = options_.panels.find(name);
    if (fixed != options_.panels.end()) panel_ = fixed->second;
    if (earlier) panel_ = earlier;
    is_packed_already_ = earlier.has_value();
    return true;
  }
  // Whether the panels of another target are made of vectors of this one.
  bool fits_panel() const { return !panel_ || *panel_ % target_.vector_lanes(op_.dtype) == 0; }

  // Rows behind several axes, to be summed up with one vector, which derive_reduction computes by
  // their length: they may be as short as the colours of a picture.
  bool has_rows_of_any_length() const {
    return &op_ == &result_ && c_.row_axes.empty() && c_.column_axes.size() > 1 &&
           has_sums_in_lanes(op_, target_) && length_of_summed_rows(op_, target_);
  }

  bool derive_as(const std::optional<Dots>& narrow) {
    if (!narrow) return false;
    derive_dots({&op_, &result_}, *narrow, c_, target_, schedule_);
    return true;
  }

  bool lies_across_columns() const {
    return is_inline(*schedule_, c_.b->tensor->name) && !keeps_rows(*c_.b->tensor);
  }

  // `rows`: of those that are computed at a time.
  void choose_tile(std::optional<int64_t> rows) {
    const bool along = is_along(c_.b, column()) || is_turned(op_, c_.b, column(), rows);
    masked_ = !packed_ && along && pays_to_mask(op_, column_at_, target_);
    tile_ = register_tile_of(op_, rows, packed_ || masked_, panel_, target_);
    name_loops();
  }
  // Of columns that do not lie side by side, and that no panels are copied of.
  void choose_lanes_apart() {
    const int64_t lanes = lanes_apart(op_, target_), vectors = tile_.columns / tile_.lanes;
    if (lanes < tile_.lanes) tile_ = {tile_.rows, vectors * lanes, lanes};
  }
  void choose_tile_in_block(int64_t rows) {
    block_rows_ = rows;
    if (packed_) {
      choose_tile(rows);
      constexpr int64_t kRows = 4;
      if (!fits_panel()) {
        tile_ = {std::min(rows, kRows), *panel_, std::gcd(*panel_, tile_.lanes)};
      }
      return;
    }
    masked_ = pays_to_mask(op_, column_at_, target_);
    tile_ = tile_in_block(op_, rows, masked_, target_);
    name_loops();
  }
  bool is_one_tile() const { return block_rows_ == tile_.rows && tile_.rows > 1; }
  // The last tile of a block of known rows starts earlier: rows beyond the block would be computed
  // of all that it is made of, and of each product of these by whole tiles again.
  bool is_shifted_tile() const {
    return block_rows_ && rows_ && tile_.rows > 1 && *block_rows_ % tile_.rows != 0;
  }
  void name_loops() {
    loops_ = {Axis(fresh_axis(result_, "panel")), Axis(fresh_axis(result_, "column")),
              Axis(fresh_axis(result_, "lane")), Axis(fresh_axis(result_, "tile")),
              Axis(fresh_axis(result_, "row"))};
  }

  // The result's loops: outer.., block, panel, tile, row, column, lane (or tile outside panel), and
  // the sums of a tile. Where a block has the rows of one tile, they are not split again.
  void derive_loops(bool rows_outside, const BlockLoops* blocks = nullptr) {
    accumulator_ = op_.name;
    const bool stores = row_at_ && stores_tile(op_, result_, tile_, *schedule_, target_);
    if (&op_ == &result_ || stores) {
      accumulator_ = fresh_stage(*schedule_, op_.name + "_acc");
      (*schedule_)[op_.name].cache_write(accumulator_);
    }
    std::optional<Axis> m, rows_of_acc;
    if (row_at_) m = result_.axes[*row_at_];
    if (row_at_) rows_of_acc = op_.axes[*row_at_];
    // Around a tile, innermost first: the rows inside a panel, or a panel inside the rows.
    std::vector<Axis> outside;
    for (size_t i = outer_axes_.size(); i-- > around_panels_;) {
      outside.push_back(result_.axes[outer_axes_[i]]);
    }
    outside.push_back(loops_.panel);
    if (m && !is_one_tile()) {
      outside.insert(rows_outside ? outside.end() : outside.begin(), row_loop(*m, tile_, loops_));
    }
    const Axis innermost = outside.front();
    // Rows that register_tile() does not split, or unroll.
    const bool has_rows = is_one_tile() || is_shifted_tile() || stores;
    if (has_rows) outside.insert(outside.begin(), is_one_tile() ? *m : loops_.row);
    if (blocks != nullptr) {
      const bool exact = m->extent().exact_quotient(*blocks->rows).has_value();
      y().split(*m, blocks->block, *m, *blocks->rows,
                exact ? Tail::automatic : (rows_ ? Tail::shift_inwards : Tail::guard));
      outside.push_back(blocks->block);
    }
    for (size_t i = around_panels_; i-- > 0;) outside.push_back(result_.axes[outer_axes_[i]]);
    const bool exact = op_.shape[column_at_].exact_quotient(tile_.columns).has_value();
    const bool shifted = !packed_ && !masked_ && columns_;
    if (has_rows && !is_one_tile()) {
      y().split(*m, loops_.tile, loops_.row, tile_.rows,
                is_shifted_tile() ? Tail::shift_inwards : Tail::guard);
      if (!stores) y().unroll(loops_.row);
    }
    register_tile(y(), has_rows ? std::nullopt : m, result_.axes[column_at_], tile_, loops_,
                  outside,
                  exact ? Tail::automatic : (shifted ? Tail::shift_inwards : Tail::predicate));
    if (is_one_tile() && !stores) y().unroll(*m);
    // Only the last of many panels has masks.
    if (!exact && !columns_) y().partition(loops_.panel);
    StageSchedule& acc = (*schedule_)[accumulator_];
    accumulate_tile(op_, result_.name, innermost, rows_of_acc, column(), tile_, &acc);
    if (stores) store_tile(op_, *row_at_, result_.name, innermost, tile_, schedule_);
    const bool is_narrow = tile_.columns < target_.vector_lanes(op_.dtype);
    if ((is_narrow || (tile_.rows == 1 && !packed_)) && has_few_steps(op_)) unroll_steps(&acc);
    if (packed_ && !is_packed_already_) {
      acc.pack(c_.b->tensor->name, column(), panel_.value_or(tile_.columns));
    }
  }

  // In products of small matrices the loops cost as much as what they compute.
  void unroll_steps(StageSchedule* sums) const {
    for (size_t i = op_.reduction_axes.size(); i-- > 0;) {
      if (op_.reduction_axes[i].extent() != Extent(1)) sums->unroll(op_.reduction_axes[i]);
    }
  }

  std::vector<Extent> work() const {
    std::vector<Extent> work = op_.shape;
    for (const Axis& axis : op_.reduction_axes) work.push_back(axis.extent());
    return work;
  }

  void share(Shared over) {
    if (over == Shared::columns && columns_) {
      y().parallel(loops_.panel);
    } else if (over == Shared::columns) {
      share_panels();
    }
    if (over == Shared::rows && row_at_) {
      parallel_from(y(), row_loop(result_.axes[*row_at_], tile_, loops_), work(), least_work_);
    }
    if (over == Shared::outer) share_outer();
  }

  // Of a run-time number of panels. The number of rows may be one too, and large where there is no
  // panel for each core: then the threads share the rows of one panel at a time.
  void share_panels() {
    const std::optional<Expr> worth = reaches(work(), least_work_);
    const Expr enough = reaches({op_.shape[column_at_]}, tile_.columns * target_.cores).value();
    if (rows_ || !worth || !worth->defined() || !enough.defined()) {
      return parallel_from(y(), loops_.panel, work(), least_work_);
    }
    y().specialize(*worth && enough).parallel(loops_.panel);
    y().specialize(*worth).parallel(row_loop(result_.axes[*row_at_], tile_, loops_));
  }

  // Threads share the loops around the panels as one, which it returns.
  Axis share_outer() {
    std::vector<Axis> shared, fused;
    for (size_t i = 0; i < around_panels_; ++i) shared.push_back(result_.axes[outer_axes_[i]]);
    for (size_t i = 1; i < around_panels_; ++i) {
      fused.emplace_back(fresh_axis(result_, "outer" + std::to_string(i)));
    }
    const Axis all = fuse_rows(y(), shared, fused);
    parallel_from(y(), all, work(), least_work_);
    return all;
  }

  // What does not lie along the columns is turned once for all blocks that read it; in panels where
  // a block has all rows.
  void copy_for_blocks(const BlockLoops& blocks) {
    if (packed_ || (is_along(c_.b, column()) && !lies_across_columns())) return;
    // One tile of rows reads it once.
    if (blocks.rows && rows_ && *rows_ <= std::min(*blocks.rows, tile_.rows)) return;
    const std::optional<size_t> copied = column_of_operand(op_, c_.b, column().name());
    EMULSION_CHECK(copied, "{} is read in several ways", c_.b->tensor->name);
    if (!blocks.rows) {
      copy_panels(*c_.b->tensor, *copied, accumulator_, result_.name, loops_.panel, tile_,
                  schedule_);
      return;
    }
    turn_columns(*c_.b->tensor, *copied, accumulator_, blocks, target_.vector_lanes(op_.dtype),
                 schedule_);
  }

  const Op& op_;
  const Op& result_;
  const Target& target_;
  int64_t least_work_ = products_for_threads(target_);
  const DeriveOptions& options_;
  Schedule* schedule_;
  const size_t column_at_;
  Contraction c_;
  std::optional<size_t> row_at_;
  std::optional<int64_t> rows_, columns_;
  std::optional<int64_t> block_rows_;  // of a block of them, where they are computed by blocks
  std::vector<size_t> outer_axes_;
  size_t around_panels_ = 0;  // how many of them; others are inside of a panel
  std::optional<int64_t> outer_extent_ = 1;
  bool packed_ = false, is_packed_already_ = false, masked_ = false, is_flat_ = false;
  std::optional<size_t> turned_once_;  // of the columns' operand the axis, as `copied`
  std::optional<int64_t> panel_;       // its width, when that is fixed already
  RegisterTile tile_;
  TileLoops loops_;
  std::string accumulator_;
};

}  // namespace

bool derive_contraction(const ContractionGroup& group, const Target& target,
                        const DeriveOptions& options, Schedule* schedule) {
  return ContractionDeriver(group, target, options, schedule).derive();
}

BlockLoops derive_reader_of_blocks(const ContractionGroup& group, std::optional<int64_t> rows,
                                   const Target& target, const DeriveOptions& options,
                                   Schedule* schedule, const BlockOptions& of_blocks) {
  return ContractionDeriver(group, target, options, schedule).derive_blocks(rows, of_blocks);
}

Axis derive_product_in_blocks(const ContractionGroup& group, const BlockLoops& blocks,
                              const Target& target, const DeriveOptions& options,
                              Schedule* schedule) {
  return ContractionDeriver(group, target, options, schedule).derive_inside(blocks);
}

}  // namespace emulsion

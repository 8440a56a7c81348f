// Sums of pixels: of a few colours of each of many. Vectors go along the pixels, one for each
// colour, or, of colours of four bytes that are four or sums of few steps, through the pixels and
// their colours as they lie in memory.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/affine.h"
#include "dsl/index_arithmetic.h"
#include "passes/derive/alternative_ways.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/window_sums.h"
#include "passes/index/simplify_index.h"
#include "passes/index/size_facts.h"

namespace emulsion {
namespace {

// Whether some read walks memory from pixel to pixel and within each from colour to colour.
bool walks_pixels(const Op& op, const Pixels& pixels) {
  const size_t behind = op.axes.size() - pixels.rows - 1;
  return any_part(op.body, [&](const Expr& e) {
    if (e->op != ExprOp::read || e->args.size() <= behind) return false;
    auto moves_with = [&](const Expr& index, const Axis& axis) {
      const auto affine = affine_of(index);
      return affine && affine->coefficients.count(axis.name()) > 0;
    };
    bool walks = moves_with(e->args[e->args.size() - 1 - behind], pixels.x);
    for (size_t i = 0; i < behind; ++i) {
      const Axis& axis = op.axes[pixels.rows + 1 + i];
      walks = walks && moves_with(e->args[e->args.size() - behind + i], axis);
    }
    return walks;
  });
}

// Whether sums of four bytes are of so few steps.
bool has_few_small_steps(const Op& op, int64_t most) {
  constexpr int64_t kBytes = 4;
  int64_t steps = 1;
  for (const Axis& axis : op.reduction_axes) {
    steps = saturated_product(steps, axis.extent().as_constant().value_or(most + 1));
  }
  return size_in_bytes(op.dtype) == kBytes && steps > 0 && steps <= most;
}

std::optional<Pixels> match_quarters(const Op& op) {
  constexpr int64_t kColours = 4, kMostSteps = 16, kLeastPixels = 16;
  if (op.axes.size() < 2 || !has_few_small_steps(op, kMostSteps)) return std::nullopt;
  const Axis &x = op.axes[op.axes.size() - 2], &colour = op.axes.back();
  if (colour.extent() != Extent(kColours)) return std::nullopt;
  if (x.extent().as_constant().value_or(kLeastPixels) < kLeastPixels) return std::nullopt;
  return steps_a_little(op, x) ? std::optional(Pixels{x, colour, op.axes.size() - 2})
                               : std::nullopt;
}

// Of fewer colours, where few vectors hold all that the sums are made of besides pixels.
std::optional<Pixels> match_few_colours(const Op& op, int64_t lanes) {
  constexpr int64_t kStepsOfFew = 4;
  const std::optional<Pixels> pixels = pixels_to_sum(op, lanes);
  if (!pixels || !has_few_small_steps(op, kStepsOfFew)) return std::nullopt;
  const bool is_last = pixels->rows + 2 == op.axes.size() && pixels->colour.extent() != Extent(1);
  return is_last && reads_near(op, pixels->x, pixels->colour) ? pixels : std::nullopt;
}

// How many pixels are computed at a time, and how.
struct PixelSums {
  Pixels pixels;
  size_t colour;  // position of that axis
  int64_t at_a_time;
  bool side_by_side;  // their colours, in one vector
};

std::optional<PixelSums> match_sums(const Op& sums, const Op& result, const Target& target) {
  const int64_t lanes = std::min(value_lanes(sums, target), value_lanes(result, target));
  if (const std::optional<Pixels> few = match_few_colours(sums, value_lanes(sums, target))) {
    const int64_t count = pixels_side_by_side(sums, target);
    if (few->x.extent().as_constant().value_or(count) >= count) {
      return PixelSums{*few, sums.axes.size() - 1, count, true};
    }
  }
  if (const std::optional<Pixels> pixels = pixels_to_sum(sums, value_lanes(sums, target))) {
    return PixelSums{*pixels, *axis_index(sums.axes, pixels->colour.name()), lanes, false};
  }
  const std::optional<Pixels> quarters = match_quarters(sums);
  if (!quarters) return std::nullopt;
  const int64_t in_a_vector = lanes / quarters->colour.extent().constant_term();
  if (in_a_vector == 0) return std::nullopt;
  return PixelSums{*quarters, sums.axes.size() - 1, 2 * in_a_vector, true};
}

// The sums of some pixels, in the loop of the result over these.
void accumulate_pixels(const Op& sums, const Op& result, const PixelSums& some,
                       Schedule* schedule) {
  const Pixels& pixels = some.pixels;
  const std::string name = accumulator_of(sums, result, schedule);
  StageSchedule& acc = (*schedule)[name];
  const Axis& x = result.axes[pixels.rows];
  const std::vector<Axis> steps(sums.reduction_axes.rbegin(), sums.reduction_axes.rend());
  if (some.side_by_side) {
    std::vector<Axis> order = {pixels.colour, pixels.x};
    order.insert(order.end(), steps.begin(), steps.end());
    const Axis lane(fresh_axis(sums, "lane"));
    acc.compute_at(result.name, x).store_in(Memory::registers).reorder(order);
    acc.fuse(pixels.x, pixels.colour, lane).vectorize(lane);
    for (const Axis& step : steps) {
      if (step.extent() != Extent(1)) acc.unroll(step);
    }
    return;
  }
  const int64_t colours = pixels.colour.extent().constant_term();
  std::vector<Axis> storage = {pixels.x};  // innermost first
  for (size_t i = sums.axes.size(); i-- > 0;) {
    if (i != pixels.rows) storage.push_back(sums.axes[i]);
  }
  accumulate_in_registers(acc, result.name, x, pixels.colour, pixels.x, sums.reduction_axes,
                          {colours, some.at_a_time, some.at_a_time})
      .reorder_storage(storage);
  // What a colour is made of lies together: vectors of it are then made of the same lines.
  unroll_short_windows(sums, colours, &acc);
}

// The loops of the result over pixels, some at a time. `otherwise`: the tail where these do not
// divide their number.
void split_pixels(const Op& result, const PixelSums& some, Tail otherwise, StageSchedule* stage) {
  const Axis &x = result.axes[some.pixels.rows], &colour = result.axes[some.colour];
  const Axis lane(fresh_axis(result, "lane"));
  const Tail tail = x.extent().exact_quotient(some.at_a_time) ? Tail::automatic : otherwise;
  if (!some.side_by_side) {
    stage->split(x, x, lane, some.at_a_time, tail).reorder({lane, colour});
    stage->vectorize(lane).unroll(colour);
    return;
  }
  const Axis pixel(fresh_axis(result, "pixel"));
  stage->split(x, x, pixel, some.at_a_time, tail).fuse(pixel, colour, lane).vectorize(lane);
}

// How many pixels, a number of vectors of them, make one task: calling it costs little then. 0: as
// many as are computed at a time are enough.
int64_t pixels_of_task(const Op& sums, const PixelSums& some, const Target& target) {
  constexpr int64_t kSumsOfTask = 16384, kTasksForCore = 8;
  const std::vector<Extent> all = work_of_sums(sums);
  int64_t work = 1;  // of a pixel
  for (size_t i = 0; i < all.size(); ++i) {
    if (i != some.pixels.rows) work = saturated_product(work, all[i].as_constant().value_or(1));
  }
  int64_t most = kSumsOfTask / work;
  if (const std::optional<int64_t> pixels = all[some.pixels.rows].as_constant()) {
    most = std::min(most, *pixels / (kTasksForCore * target.cores));
  }
  const int64_t count = most / some.at_a_time;
  return count > 1 ? count * some.at_a_time : 0;
}

// Whether the loop over pixels is the first that has steps, and their number the one run-time size
// of all, if that is none.
bool is_one_row(const Op& sums, const PixelSums& some) {
  const std::vector<Extent> all = work_of_sums(sums);
  for (size_t i = 0; i < all.size(); ++i) {
    if (i < some.pixels.rows && all[i] != Extent(1)) return false;
    if (i != some.pixels.rows && !all[i].is_constant()) return false;
  }
  const Extent& pixels = all[some.pixels.rows];
  return pixels.is_constant() || is_what_is_left_of_a_size(pixels);
}

// Rows of pixels: the last vectors start earlier where a row `fills` them; else they have masks.
void derive_rows_of_pixels(const Op& sums, const Op& result, const PixelSums& some, bool fills,
                           const Target& target, Schedule* schedule) {
  accumulate_pixels(sums, result, some, schedule);
  StageSchedule& stage = (*schedule)[result.name];
  const Axis& x = result.axes[some.pixels.rows];
  split_pixels(result, some, fills ? Tail::shift_inwards : Tail::predicate, &stage);
  if (!fills && !x.extent().exact_quotient(some.at_a_time)) stage.partition(x);
  share_sums(sums, result, some.pixels.rows, target, x, &stage);
}

// As many at a time as fit vectors whose masks are made element by element: those of a colour, but
// of four colours.
PixelSums with_masks(const Op& sums, const Op& result, PixelSums some, const Target& target) {
  if (some.side_by_side && match_quarters(sums)) return some;
  some.side_by_side = false;
  some.at_a_time = std::min(lanes_apart(sums, target), lanes_apart(result, target));
  return some;
}

// Blocks of so many pixels, of which there are more: the last one starts earlier.
void derive_blocks(const Op& sums, const Op& result, const PixelSums& some, int64_t block,
                   const Target& target, Schedule* schedule) {
  accumulate_pixels(sums, result, some, schedule);
  StageSchedule& stage = (*schedule)[result.name];
  const Axis &x = result.axes[some.pixels.rows], tasks(fresh_axis(result, "block"));
  stage.split(x, tasks, x, block,
              x.extent().exact_quotient(block) ? Tail::automatic : Tail::shift_inwards);
  split_pixels(result, some, Tail::automatic, &stage);
  parallel_from(stage, tasks, work_of_sums(sums), points_for_threads({&sums}, target));
}

}  // namespace

bool sums_up_quarters(const Op& op) { return match_quarters(op).has_value(); }

bool sums_up_pixels(const Op& op) {
  constexpr int64_t kLongestVector = 16;
  if (sums_up_quarters(op)) return true;
  const std::optional<Pixels> pixels = match_pixels(op, kLongestVector);
  return pixels && steps_a_little(op, pixels->x);
}

std::optional<Pixels> pixels_to_sum(const Op& op, int64_t lanes) {
  const std::optional<Pixels> pixels = match_pixels(op, lanes);
  // Of one value a pixel is what is summed up of it, which may lie along a row.
  if (pixels && pixels->colour.extent() == Extent(1) &&
      is_contiguous_in_a_read(op, op.reduction_axes.back().name(), true)) {
    return std::nullopt;
  }
  return pixels && (walks_pixels(op, *pixels) || steps_a_little(op, pixels->x)) ? pixels
                                                                                : std::nullopt;
}

Axis sum_pixels(const Op& sums, const Op& result, const Pixels& pixels, int64_t lanes,
                bool whole_rows, Schedule* schedule) {
  const size_t colour = axis_index(sums.axes, pixels.colour.name()).value();
  accumulate_pixels(sums, result, {pixels, colour, lanes, false}, schedule);
  const Axis& x = result.axes[pixels.rows];
  vectorize_pixels((*schedule)[result.name], x, result.axes[colour],
                   Axis(fresh_axis(result, "lane")), lanes, whole_rows);
  return x;
}

bool derive_sums_of_pixels(const Op& sums, const Op& result, const Target& target,
                           Schedule* schedule) {
  constexpr int64_t kManyBlocks = 8;  // of which one may be computed twice
  const std::optional<PixelSums> some = match_sums(sums, result, target);
  if (!some) return false;
  const bool in_blocks = is_one_row(sums, *some) && wakes_threads_to_sum(sums, target);
  const int64_t block = in_blocks ? pixels_of_task(sums, *some, target) : 0;
  const Axis& x = result.axes[some->pixels.rows];
  if (block > 0 && x.extent().is_constant()) {
    derive_blocks(sums, result, *some, block, target, schedule);
    return true;
  }
  if (x.extent().is_constant() || x.extent().exact_quotient(some->at_a_time)) {
    derive_rows_of_pixels(sums, result, *some, true, target, schedule);
    return true;
  }
  const PixelSums masked = with_masks(sums, result, *some, target);
  if (!is_sum_of_sizes(x.extent()) || !can_have_ways(result, *schedule)) {
    derive_rows_of_pixels(sums, result, masked, false, target, schedule);
    return true;
  }
  const auto has_pixels = [&](int64_t least) {
    return extent_value(x.extent()) >= int_constant(least);
  };
  std::vector<AlternativeWay> ways;
  if (block > 0) {
    ways.push_back({"_blocks", has_pixels(kManyBlocks * block), schedule->without_directives()});
    derive_blocks(sums, result, *some, block, target, &ways.back().schedule);
  }
  ways.push_back({"_filled", has_pixels(some->at_a_time), schedule->without_directives()});
  derive_rows_of_pixels(sums, result, *some, true, target, &ways.back().schedule);
  Schedule otherwise = schedule->without_directives();
  derive_rows_of_pixels(sums, result, masked, false, target, &otherwise);
  add_ways(result, ways, otherwise, schedule);
  return true;
}

}  // namespace emulsion

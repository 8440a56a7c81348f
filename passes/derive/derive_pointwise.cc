#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "dsl/index_arithmetic.h"
#include "passes/derive/choice_turns.h"
#include "passes/derive/choices.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/planes_of_pixels.h"
#include "passes/derive/read_borders.h"
#include "passes/derive/repeated_reads.h"
#include "passes/derive/stage_directives.h"
#include "passes/derive/transposed_tiles.h"
#include "passes/index/simplify_index.h"
#include "passes/index/size_facts.h"

namespace emulsion {
namespace {

// Whether vectors along the axis leave no loop behind.
bool is_one_vector(const Op& op, const Axis& axis, const Target& target) {
  const std::optional<int64_t> extent = axis.extent().as_constant();
  return extent && *extent <= value_lanes(op, target);
}

// Whether a vector with masks is made element by element, or of more than it has.
bool needs_elements(const Op& op, const Target& target) {
  return lacks_masks(op, target) || reads_apart(op);
}

constexpr int64_t kBlockOfRow = 8192;
// Of blocks the last of which starts earlier, so that little is computed twice.
constexpr int64_t kShiftedBlock = 4096;

// Threads are woken for each piece of a loop that they share.
constexpr int64_t kMostBordersOfShared = 4;

int64_t borders_at(const Axis& axis, const Borders& borders) {
  const auto found = borders.find(axis.name());
  return found == borders.end() ? 0 : found->second;
}

bool has_borders_among(const std::vector<Axis>& loops, const Borders& borders) {
  return std::any_of(loops.begin(), loops.end(),
                     [&](const Axis& loop) { return borders_at(loop, borders) > 0; });
}

// The leading loops that the threads share as one. A loop is cut where it stands for one axis: so
// of one with borders those of a single step are left out.
std::vector<Axis> loops_to_share(const Op& op, const Borders& borders, const Target& target) {
  std::vector<Axis> loops;
  if (!wakes_threads(op, target)) return loops;
  const size_t rows = vector_axis(op, target);
  while (loops.size() < rows &&
         borders_at(op.axes[loops.size()], borders) <= kMostBordersOfShared) {
    loops.push_back(op.axes[loops.size()]);
  }
  loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(count_shared(loops, target)),
              loops.end());
  const auto has_steps = [](const Axis& loop) { return loop.extent() != Extent(1); };
  const bool is_one = std::count_if(loops.begin(), loops.end(), has_steps) == 1;
  if (is_one && has_borders_among(loops, borders)) {
    loops = {*std::find_if(loops.begin(), loops.end(), has_steps)};
  }
  return loops;
}

}  // namespace

bool has_borders(const Op& op) {
  if (op.kind == OpKind::fused) return has_borders(*written_out(op, {}));
  return !borders_by_axis(op).empty();
}

std::optional<std::string> why_not_cut(const Op& op, const Target& target) {
  constexpr int64_t kMostPieces = 16;
  const Borders borders = borders_by_axis(op);
  if (crosses(op, target)) {
    return fmt::format("expected {} to read along its rows, got an operand that lies across them",
                       op.name);
  }
  const size_t along = vector_axis(op, target);
  int64_t pieces = 1;
  for (size_t i = 0; i < op.axes.size(); ++i) {
    const Axis& axis = op.axes[i];
    const int64_t cuts = borders_at(axis, borders);
    if (cuts > 0 && i > along) {
      return fmt::format("expected a loop over {} of {}, at which borders are, got vectors of it",
                         axis.name(), op.name);
    }
    // At a border a vector has some of either side, and all that is computed of it is for a part.
    const int64_t least = 2 * cuts * value_lanes(op, target);
    const std::optional<int64_t> extent = axis.extent().as_constant();
    if (i == along && cuts > 0 && extent && *extent <= least) {
      return fmt::format("expected more than {} steps of {} along {}, where borders are, got {}",
                         least, op.name, axis.name(), *extent);
    }
    pieces = saturated_product(pieces, cuts + 1);
  }
  if (pieces > kMostPieces) {
    return fmt::format("expected loops of {} to be cut into at most {} pieces, got {}", op.name,
                       kMostPieces, pieces);
  }
  const std::vector<Axis> shared = loops_to_share(op, borders, target);
  if (shared.size() > 1 && has_borders_among(shared, borders)) {
    return fmt::format("expected borders of {} outside of the loops that threads share as one",
                       op.name);
  }
  return std::nullopt;
}

bool needs_what_it_lacks(const Op& op, const Target& target) {
  const Axis& along = op.axes[vector_axis(op, target)];
  const bool is_exact = along.extent().exact_quotient(value_lanes(op, target)).has_value();
  if (along.extent().is_constant() || is_exact || crosses(op, target)) return false;
  if (!lacks_masks(op, target) && !turns_to_cut_at(op, target).empty()) return false;
  if (borders_at(along, borders_by_axis(op)) > 0) return lacks_masks(op, target);
  return needs_elements(op, target) || is_clamped_along(op, along);
}

bool wakes_threads(const Op& op, const Target& target) {
  return wakes_threads(std::vector<const Op*>{&op}, target);
}

namespace {

// for i  ->  for i in a part: unrolled part: unrolled vectors: vectorized lane
void vectorize_parts(const Op& op, const Axis& along, int64_t parts, const Target& target,
                     StageSchedule* stage) {
  const Axis part(fresh_axis(op, "part"), parts);
  const Axis within(along.name(), along.extent().constant_term() / parts);
  stage->split(along, part, within, within.extent().constant_term());
  const PlaneRow row{within, steps_of_whole(op, target), false, true};
  if (vectors_of_row(op, part, row) > 1) {
    stage->reorder({part, within});
    vectorize_planes(op, part, row, Axis(fresh_axis(op, "lane")), stage);
    return;
  }
  vectorize_points(op, {within}, target, stage);
  if (!is_one_vector(op, within, target)) stage->reorder({part, within});
  stage->unroll(part);
}

// What is known of the run-time sizes: rows are as long as a vector, or as several of each plane,
// or shorter than one; there is a transposed tile, or several side by side.
enum class Length : uint8_t {
  any,
  vector_or_more,
  block_or_more,
  less_than_a_vector,
  tile_or_more,
  tiles_or_more
};

// That, and what is wanted.
struct PointLoops {
  bool threads;  // share them
  Length length = Length::any;

  bool fills_block() const { return length == Length::block_or_more; }
  bool fills_vector() const { return length == Length::vector_or_more || fills_block(); }
  bool fills_tiles() const { return length == Length::tiles_or_more; }
  bool fills_tile() const { return length == Length::tile_or_more || fills_tiles(); }
  bool is_short() const { return length == Length::less_than_a_vector; }
};

struct Points {
  const Op& op;                // of several planes what one is
  std::optional<Axis> planes;  // that are computed side by side
};

// Whether a row of a run-time length that fills a vector is cut near its ends.
bool has_ends_to_cut(const Points& points, const Target& target) {
  const Op& op = points.op;
  return !points.planes && !op.axes.back().extent().is_constant() &&
         turns_to_cut_at(op, target).empty() &&
         !ends_to_cut_at(op, steps_of_whole(op, target), target).empty();
}

// Whether a row of a run-time length that fills a vector is not cut at its turns.
bool has_straddling_vectors(const Points& points, const Target& target) {
  return !points.planes && has_steps_without_reads_at_ends(points.op, target);
}

// The steps of blocks of vectors that go along the row; 0 where none do.
int64_t block_along_row(const Points& points, const Target& target) {
  const Op& op = points.op;
  const bool has_blocks = !points.planes && !crosses(op, target) && borders_by_axis(op).empty() &&
                          (!reads_apart(op) || parts_at_a_time(op, op.axes.back(), target) == 1) &&
                          vector_axis(op, target) + 1 == op.axes.size();
  return has_blocks ? block_of_repeats(op, target) : 0;
}

// The loops of an operation, and of these the one that threads may share.
std::optional<Axis> derive_points(const Points& points, const Target& target,
                                  const PointLoops& wanted, StageSchedule* loops_of) {
  const Op& op = points.op;
  StageSchedule& stage = *loops_of;
  if (points.planes) bring_planes_inside(op, *points.planes, &stage);
  const size_t rows = vector_axis(op, target);
  const Borders borders = borders_by_axis(op);
  const auto borders_of = [&](const Axis& axis) { return borders_at(axis, borders); };
  Axis along = op.axes[rows];
  std::vector<Axis> cut;  // the loops that say on which side of a border they are
  const bool is_in_blocks = wanted.threads && rows == 0;  // of one long row: a task each
  auto tile = points.planes ? std::nullopt : transposed_tile(op, target);
  if (tile && tile->condition.defined() && !wanted.fills_tile()) tile.reset();
  if (tile && wanted.fills_tiles()) tile = several_tiles(op, *tile);
  const auto across = tile ? std::optional(tile->across) : crosses(op, target);
  const bool is_gathered = wanted.is_short() && !points.planes && gathers_rows(op);
  const bool has_parts =
      !is_in_blocks && !across && !points.planes && rows + 1 == op.axes.size() && reads_apart(op);
  const int64_t parts = has_parts ? parts_at_a_time(op, along, target) : 1;
  const bool has_pieces = !is_in_blocks && !points.planes && parts == 1 &&
                          (wanted.fills_vector() || !lacks_masks(op, target));
  const int64_t repeats = tile || is_gathered ? 0 : block_along_row(points, target);
  const bool straddles = wanted.fills_vector() && has_steps_without_reads_at_ends(op, target);
  std::vector<Extent> turns;
  if (has_pieces && !straddles) turns = turns_to_cut_at(op, target);
  const bool has_ends = parts == 1 && (!turns.empty() || straddles || borders_of(along) > 0 ||
                                       is_clamped_along(op, along));
  const bool is_whole = wanted.fills_vector() || along.extent().is_constant();  // of vectors
  if (turns.empty() && has_pieces && has_ends && !straddles && is_whole) {
    turns = ends_to_cut_at(op, steps_of_whole(op, target), target);
  }
  const bool has_masks =
      is_in_blocks && !along.extent().exact_quotient(kBlockOfRow) && needs_elements(op, target);
  // Where a row that threads share is longer than a block, the last one may start earlier.
  const int64_t least = along.extent().as_constant().value_or(least_shared(op, rows, target));
  const bool shifts =
      has_masks && !has_ends && is_sum_of_sizes(along.extent()) && least >= kShiftedBlock;
  const bool is_cut = (has_ends && !is_one_vector(op, along, target)) || (has_masks && !shifts);
  std::optional<Axis> shared;
  if (is_in_blocks) {
    int64_t block = shifts && repeats == 0 ? kShiftedBlock : kBlockOfRow;
    if (repeats > 0) block -= block % repeats;
    shared = Axis(fresh_axis(op, "block"));
    const Axis within(fresh_axis(op, "within"), block);
    stage.split(along, *shared, within, block,
                shifts && repeats == 0 ? Tail::shift_inwards : Tail::guard);
    along = within;
  }
  if (is_cut || (repeats > 0 && is_in_blocks)) cut.push_back(shared.value_or(along));
  if (repeats > 0) {
    const bool has_block = !is_in_blocks && is_whole;
    const bool is_odd = vectorize_repeats(op, along, repeats, has_block, target, &stage);
    if (is_odd && cut.empty() && !wanted.is_short()) cut.push_back(along);  // which has no block
  } else if (is_gathered) {
    derive_gathered_rows(op, &stage);
    cut.clear();
  } else if (across) {
    tile ? derive_transposed(op, *tile, &stage)
         : block_rows(op, *across, rows, lanes_apart(op, target), &stage);
    cut.clear();
  } else if (!turns.empty()) {
    vectorize_pieces(op, turns, target, &stage);
  } else if (parts > 1) {
    vectorize_parts(op, along, parts, target, &stage);
  } else if (straddles) {
    stage.vectorize(along, lanes_without_masks(op, target), Tail::predicate);
  } else {
    PointLoop loop{along};
    loop.fills_vector = wanted.fills_vector() && !is_in_blocks;
    loop.fills_block = wanted.fills_block() && !is_in_blocks;
    loop.planes = points.planes;
    vectorize_points(op, loop, target, &stage);
  }
  std::vector<Axis> loops = loops_to_share(op, borders, target);
  if (tile && tile->lanes == 0 && loops.size() > tile->across + 1) {  // the others are inside
    loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(tile->across) + 1, loops.end());
  }
  const size_t count = loops.size();
  if (count > 0) {
    const bool has_cuts = across || is_gathered || borders_of(loops.back()) > 0;
    const auto all = has_cuts ? std::nullopt : element_count(op.shape);
    const RowTasks tasks = share_loops(op, loops, count, all, target, &stage);
    shared = tasks.tasks;
    int64_t steps = 1;
    if (tile && wanted.threads && count == 1) {
      steps = tiles_of_task(op, *tile);
    } else if (all && wanted.threads && tasks.steps == 1) {
      steps = uneven_steps_of_task(loops, *all, target);
    }
    if (steps > 1) {
      const Axis task(fresh_axis(op, "task")), of_steps = *shared;
      stage.split(of_steps, task, of_steps, steps, Tail::guard);
      shared = task;
    }
  }
  for (size_t i = count > 1 ? count : 0; i < rows && !across && !is_gathered; ++i) {
    if (borders_of(op.axes[i]) > 0) cut.push_back(op.axes[i]);
  }
  const bool has_rows = is_whole && !wanted.threads && !across && !points.planes && count <= 1;
  if (has_rows && has_other_rows_at_ends(op, target)) cut.push_back(op.axes[rows - 1]);
  for (const Axis& loop : cut) stage.partition(loop);
  return shared;
}

// Of short rows a task has several: calling it takes as long as one of them.
constexpr int64_t kRowsOfTask = 4;

// Where threads share rows of a run-time number that may be short: the condition under which there
// are enough tasks of several. Undefined where all that is worth the threads has so many rows.
std::optional<Expr> has_many_rows(const Op& op, const Target& target, Length length = Length::any) {
  constexpr int64_t kTasksForCore = 8, kPointsOfLong = 4096;
  const Borders borders = borders_by_axis(op);
  const std::vector<Axis> loops = loops_to_share(op, borders, target);
  if (loops.size() != 1 || loops[0].extent().is_constant() || crosses(op, target) ||
      PointLoops{true, length}.fills_tile() || has_borders_among(loops, borders) ||
      elements_from(op, 1).value_or(0) >= kPointsOfLong) {
    return std::nullopt;
  }
  const int64_t least = kRowsOfTask * kTasksForCore * target.cores;
  const bool are_all_short = length == Length::less_than_a_vector && op.axes.size() == 2;
  if (are_all_short || least_shared(op, 0, target) >= least) return Expr();
  return extent_value(loops[0].extent()) >= int_constant(least);
}

Expr both(const Expr& a, const Expr& b) {
  if (!a.defined() || !b.defined()) return a.defined() ? a : b;
  return a && b;
}

// for row  ->  parallel task: for row in the task
void share_rows(const Op& op, const Axis& row, StageSchedule* stage) {
  const Axis task(fresh_axis(op, "task"));
  stage->split(row, task, row, kRowsOfTask, Tail::guard).parallel(task);
}

// The steps for which each plane has several vectors; 0 where they have one.
int64_t steps_of_planes(const Points& points, const Target& target) {
  if (match_pixels(points.op, value_lanes(points.op, target))) return 0;
  const int64_t vectors = vectors_of_plane(points.op, *points.planes);
  return vectors > 1 ? vectors * steps_of_whole(points.op, target) : 0;
}

// The loops where a condition over run-time sizes holds.
void derive_where(const Expr& condition, const Points& points, const Target& target, Length length,
                  StageSchedule* stage) {
  const Op& op = points.op;
  const PointLoops alone{false, length};
  PointLoops shared_by_threads = alone;
  shared_by_threads.threads = true;
  const std::optional<Expr> enough = wakes_threads(op, target)
                                         ? reaches(op.shape, points_for_threads({&op}, target))
                                         : std::nullopt;
  const bool always = enough && !enough->defined();
  if (enough && !always && !has_case(*stage, condition && *enough)) {
    const std::optional<Expr> many = has_many_rows(op, target, length);
    if (many) {
      stage->specialize(both(condition && *enough, *many));
      share_rows(op, *derive_points(points, target, shared_by_threads, stage), stage);
    }
    if (!many || many->defined()) {
      stage->specialize(condition && *enough);
      if (const auto shared = derive_points(points, target, shared_by_threads, stage)) {
        stage->parallel(*shared);
      }
    }
  }
  stage->specialize(condition);
  const auto shared = derive_points(points, target, always ? shared_by_threads : alone, stage);
  if (shared && always) stage->parallel(*shared);
}

// A condition that holds wherever there is something to compute, of what has run-time extents.
Expr has_elements(const Op& op) {
  const auto last = std::find_if(op.axes.rbegin(), op.axes.rend(),
                                 [](const Axis& axis) { return !axis.extent().is_constant(); });
  return extent_value(last->extent()) >= int_constant(1);
}

// Of rows of a run-time length, where a condition holds, if there is one. Where they are as long as
// a vector, the last one starts earlier, if the target lacks the masks that it would need. Without
// `has_short_rows` nothing is said of others.
void derive_where_vectors_fill(const Expr& condition, const Points& points, const Target& target,
                               StageSchedule* stage, bool has_short_rows = true) {
  const Op& op = points.op;
  const Axis& along = op.axes[vector_axis(op, target)];
  const int64_t repeats = block_along_row(points, target);
  const int64_t steps = repeats > 0 ? repeats : steps_of_whole(op, target);
  const auto where = [&](const Expr& more) { return both(condition, more); };
  const Expr length = extent_value(along.extent());
  const Expr any = condition.defined() ? condition : has_elements(op);
  const bool fills = repeats > 0
                         ? has_blocks_to_shift(op, repeats)
                         : needs_what_it_lacks(op, target) || has_ends_to_cut(points, target) ||
                               has_straddling_vectors(points, target);
  const std::vector<Extent> turns =
      points.planes ? std::vector<Extent>() : turns_to_cut_at(op, target);
  const std::optional<Expr> enough = wakes_threads(op, target)
                                         ? reaches(op.shape, points_for_threads({&op}, target))
                                         : std::nullopt;
  const bool in_blocks = vector_axis(op, target) == 0 && enough && enough->defined();
  bool is_tile_of_long = false;  // whether rows that are no tile are short
  if (const auto tile = points.planes ? std::nullopt : tile_of_sizes(op, target)) {
    if (const auto several = several_tiles(op, *tile)) {
      derive_where(where(several->condition), points, target, Length::tiles_or_more, stage);
    }
    derive_where(where(tile->condition), points, target, Length::tile_or_more, stage);
    is_tile_of_long = tile->lanes > 0 && op.axes[tile->across].extent().is_constant();
  }
  if (in_blocks) {  // which are longer than a vector
    stage->specialize(where(*enough));
    if (const auto shared = derive_points(points, target, {true}, stage)) {
      stage->parallel(*shared);
    }
  }
  const auto derive_so = [&](const Expr& holds, Length is_so) {
    if (!in_blocks) return derive_where(holds, points, target, is_so, stage);
    stage->specialize(holds);
    derive_points(points, target, {false, is_so}, stage);
  };
  if (const int64_t block = fills && points.planes ? steps_of_planes(points, target) : 0) {
    derive_so(where(length >= int_constant(block)), Length::block_or_more);
  }
  for (const bool filled : {true, false}) {
    if (filled ? !fills : (fills && !has_short_rows)) continue;
    const Expr holds = filled ? where(turns.empty() ? length >= int_constant(steps)
                                                    : pieces_reach(turns, along, steps))
                              : any;
    if (has_case(*stage, holds)) continue;  // that of a tile
    const bool is_short = fills || is_tile_of_long;
    const Length otherwise = is_short ? Length::less_than_a_vector : Length::any;
    derive_so(holds, filled ? Length::vector_or_more : otherwise);
  }
}

// Of all sizes alike, unless its vectors need what the target lacks.
void derive_alike(const Points& points, const Target& target, StageSchedule* stage) {
  const Op& op = points.op;
  const Axis& along = op.axes[vector_axis(op, target)];
  const bool in_blocks = vector_axis(op, target) == 0 && wakes_threads(op, target);
  if ((!points.planes && tile_of_sizes(op, target)) ||
      (!along.extent().is_constant() &&
       (in_blocks || needs_what_it_lacks(op, target) || has_ends_to_cut(points, target) ||
        has_straddling_vectors(points, target)))) {
    return derive_where_vectors_fill(Expr(), points, target, stage);
  }
  const PointLoops loops{wakes_threads(op, target)};
  if (const std::optional<Axis> shared = derive_points(points, target, loops, stage)) {
    const int64_t least = points_for_threads({&op}, target);
    const std::optional<Expr> many = has_many_rows(op, target);
    const std::optional<Expr> enough = many ? reaches(op.shape, least) : std::nullopt;
    if (enough) {
      const Expr condition = both(*enough, *many);
      share_rows(op, *shared, condition.defined() ? &stage->specialize(condition) : stage);
      if (!many->defined()) return;
    }
    parallel_from(*stage, *shared, op.shape, least);
  }
}

// Of planes of pixels whose number is a run-time size: loops for each of a few numbers.
void derive_by_planes(const Op& op, size_t planes, const Target& target, StageSchedule* stage) {
  constexpr int64_t kMostPlanes = 4;
  const Expr number = extent_value(op.axes[planes].extent());
  for (int64_t count = 2; count <= kMostPlanes; ++count) {
    const Op known = with_planes(op, planes, count), one = one_plane(known, planes);
    derive_where_vectors_fill(number == int_constant(count), {one, known.axes[planes]}, target,
                              stage, false);
  }
  derive_where_vectors_fill(number >= int_constant(1), {op, {}}, target, stage);
}

}  // namespace

void derive_pointwise(const Op& op, const Target& target, Schedule* schedule) {
  if (op.axes.empty()) return;
  StageSchedule& stage = (*schedule)[op.name];
  if (const std::optional<size_t> planes = match_planes(op, target)) {
    const Op one = one_plane(op, *planes);
    return derive_alike({one, op.axes[*planes]}, target, &stage);
  }
  if (const std::optional<Expr> length = length_of_short_rows(op, target)) {
    for (int64_t values = 1; values <= kMostValuesOfPixel; ++values) {
      const Op known = with_rows_of(op, values);
      derive_where_vectors_fill(*length == int_constant(values), {known, {}}, target, &stage);
    }
    return derive_where_vectors_fill(*length > int_constant(kMostValuesOfPixel), {op, {}}, target,
                                     &stage);
  }
  if (const std::optional<size_t> planes = planes_of_run_time_number(op, target)) {
    return derive_by_planes(op, *planes, target, &stage);
  }
  derive_alike({without_moves_by_data(op), {}}, target, &stage);
}

}  // namespace emulsion

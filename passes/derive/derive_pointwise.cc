#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "dsl/error.h"
#include "passes/derive/choices.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/read_borders.h"
#include "passes/index/index_arithmetic.h"
#include "passes/index/simplify_index.h"
#include "passes/index/size_facts.h"

namespace emulsion {
namespace {

constexpr int64_t kBlockedRows = 16;  // a cache line of f32

// for r: for between: for i  ->  for r: for between: for i: for row: vectorized lane
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

// How many comparisons with that axis alone decide what is computed: the borders of what is
// concatenated or padded, masks. Those that are equal count once.
std::map<std::string, int64_t> borders_by_axis(const Op& op) {
  std::map<std::string, int64_t> borders;
  std::set<std::string> counted;
  const auto add = [&](const Expr& condition) {
    visit(condition, [&](const Expr& e) {
      const bool compares =
          e->op == ExprOp::lt || e->op == ExprOp::le || e->op == ExprOp::gt || e->op == ExprOp::ge;
      const auto is_read = [](const Expr& part) { return part->op == ExprOp::read; };
      if (!compares || any_part(e, is_read)) return;
      std::set<std::string> axes;
      visit(e, [&](const Expr& part) {
        if (part->op == ExprOp::axis) axes.insert(part->name);
      });
      if (axes.size() != 1) return;
      if (counted.insert(to_string(e)).second) ++borders[*axes.begin()];
    });
  };
  visit(op.body, [&](const Expr& e) {
    if (e->op == ExprOp::select) add(e->args[0]);
  });
  return borders;
}

// Whether reads are turned at the ends of what they read, or those of a run-time number of columns
// held there, so that vectors of neighbours are there between the ends alone. An index that is data
// has no ends.
bool is_clamped_along(const Op& op, const Axis& axis) {
  if (is_turned_at_ends(op, axis.name())) return true;
  if (axis.extent().is_constant()) return false;
  const auto clamps = [&](const Expr& e) {
    return (e->op == ExprOp::min || e->op == ExprOp::max) && mentions(e, axis.name()) &&
           !reads_data(e);
  };
  return any_part(op.body, [&](const Expr& read) {
    return read->op == ExprOp::read &&
           std::any_of(read->args.begin(), read->args.end(),
                       [&](const Expr& index) { return any_part(index, clamps); });
  });
}

// Whether vectors along the axis leave no loop behind.
bool is_one_vector(const Op& op, const Axis& axis, const Target& target) {
  const std::optional<int64_t> extent = axis.extent().as_constant();
  return extent && *extent <= value_lanes(op, target);
}

// Of vectors without masks. Of a run-time length those that are made element by element, since what
// they read lies far apart, are short: there are several loops of them to compile.
int64_t lanes_without_masks(const Op& op, const Target& target) {
  const Axis& along = op.axes[vector_axis(op, target)];
  const bool far_apart = !along.extent().is_constant() && steps_far(op, along);
  return far_apart ? lanes_apart(op, target) : value_lanes(op, target);
}

// How many steps of the axis of vectors are computed at a time where none of them has masks.
int64_t steps_of_whole(const Op& op, const Target& target) {
  return lie_side_by_side(op) ? pixels_side_by_side(op, target) : lanes_without_masks(op, target);
}

// Whether a vector with masks is made element by element.
bool needs_elements(const Op& op, const Target& target) {
  return lacks_masks(op, target) || reads_apart(op);
}

constexpr int64_t kBlockOfRow = 8192;
// Of blocks the last of which starts earlier, so that little is computed twice.
constexpr int64_t kShiftedBlock = 4096;

// Threads are woken for each piece of a loop that they share.
constexpr int64_t kMostBordersOfShared = 4;

using Borders = std::map<std::string, int64_t>;  // by axis

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

// Whether all that it reads and writes has fewer than four bytes, and it combines nothing. Four
// such elements are shorter than a vector of any machine, so that they are a pixel, too.
bool is_narrow(const Op& op) {
  constexpr int64_t kBytes = 4;
  return op.reduction_axes.empty() && size_in_bytes(op.dtype) < kBytes &&
         !any_part(op.body, [](const Expr& e) {
           return e->op == ExprOp::read && size_in_bytes(e->dtype) >= kBytes;
         });
}

// Whether it chooses what it computes by the step of the axis: of a vector along that, all choices
// would be computed for each step.
bool chooses_by(const Op& op, const Axis& axis) {
  const auto is_read = [](const Expr& e) { return e->op == ExprOp::read; };
  return any_part(op.body, [&](const Expr& e) {
    return e->op == ExprOp::select && mentions(e->args[0], axis.name()) &&
           !any_part(e->args[0], is_read);
  });
}

}  // namespace

bool is_along(const Expr& read, const Axis& axis) {
  if (read->args.empty()) return false;
  const Expr& last = read->args.back();
  return last->op == ExprOp::axis && last->name == axis.name();
}

std::optional<Pixels> match_pixels(const Op& op, int64_t lanes) {
  constexpr int64_t kShortestVector = 4;
  const bool may_fill =
      is_narrow(op) || lie_side_by_side(op) || (!op.axes.empty() && chooses_by(op, op.axes.back()));
  const int64_t most = may_fill ? kShortestVector : kShortestVector - 1;
  int64_t values = 1;  // of a pixel
  std::optional<Axis> colour;
  size_t at = op.axes.size();
  for (; at > 0; --at) {
    const Axis& axis = op.axes[at - 1];
    const std::optional<int64_t> extent = axis.extent().as_constant();
    if (!extent || *extent == 0 || values * *extent > most) break;
    values *= *extent;
    if (!colour || *extent > 1) colour = axis;
  }
  if (at == 0 || !colour || values > lanes || (values == lanes && !may_fill)) return std::nullopt;
  const Axis& x = op.axes[at - 1];
  if (x.extent().as_constant().value_or(lanes) < lanes) return std::nullopt;
  return Pixels{x, *colour, at - 1};
}

size_t vector_axis(const Op& op, const Target& target) {
  const std::optional<Pixels> pixels = match_pixels(op, value_lanes(op, target));
  return pixels ? pixels->rows : op.axes.size() - 1;
}

int64_t lines_in_cache(const Op& op, size_t at, const Target& target) {
  constexpr int64_t kLine = 64, kWay = 4096;
  const std::optional<int64_t> elements = elements_from(op, at + 1);
  if (!elements) return target.l1_bytes / kLine;
  const int64_t step = saturated_product(size_in_bytes(op.dtype), *elements);
  if (step % kLine != 0) return target.l1_bytes / kLine;
  return target.l1_bytes / std::gcd(step, kWay);
}

std::optional<size_t> crosses(const Op& op, const Target& target) {
  if (op.kind == OpKind::fused) return crosses(*written_out(op, {}), target);
  const size_t last = vector_axis(op, target);
  if (last + 1 != op.axes.size()) return std::nullopt;
  const Axis& along = op.axes[last];
  constexpr int64_t kMany = int64_t{1} << 30;
  const int64_t extent = along.extent().as_constant().value_or(kMany);
  if (extent <= value_lanes(op, target)) return std::nullopt;
  std::map<std::string, Expr> reads;  // each once; not those of one value for a row
  visit(op.body, [&](const Expr& e) {
    if (e->op != ExprOp::read || is_along(e, along) || !mentions(e, along.name())) return;
    reads.emplace(to_string(e), e);
  });
  const int64_t lines = saturated_product(extent, static_cast<int64_t>(reads.size()));
  std::optional<size_t> across;
  for (const auto& [text, e] : reads) {
    const auto moves = [&](const Expr& index) { return mentions(index, along.name()); };
    const auto moved = std::find_if(e->args.begin(), e->args.end(), moves);
    const auto at = static_cast<size_t>(moved - e->args.begin());
    if (lines <= lines_in_cache(*e->tensor, at, target)) continue;
    for (size_t i = 0; i < last; ++i) {
      if (is_along(e, op.axes[i])) across = i;
    }
  }
  if (across && op.axes[*across].extent().as_constant().value_or(kBlockedRows) < kBlockedRows) {
    return std::nullopt;
  }
  return across;
}

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

void vectorize_points(const Op& op, const Axis& along, const Target& target, StageSchedule* stage,
                      bool whole_rows, bool fills_vector) {
  const std::optional<Pixels> pixels = match_pixels(op, value_lanes(op, target));
  const int64_t whole = steps_of_whole(op, target);
  const Axis lane(fresh_axis(op, "lane"));
  const bool is_exact = along.extent().exact_quotient(whole).has_value();
  const bool may_shift = whole_rows && along.extent().is_constant();
  if (pixels && lie_side_by_side(op) && (fills_vector || is_exact || may_shift)) {
    const Axis pixel(fresh_axis(op, "pixel"));
    stage->split(along, along, pixel, whole, is_exact ? Tail::automatic : Tail::shift_inwards);
    stage->fuse(pixel, pixels->colour, lane).vectorize(lane);
    return;
  }
  if (fills_vector) {
    stage->split(along, along, lane, whole, Tail::shift_inwards).vectorize(lane);
    if (pixels) stage->reorder({lane, pixels->colour}).unroll(pixels->colour);
    return;
  }
  const bool by_elements = !along.extent().is_constant() && (pixels || reads_apart(op));
  const int64_t at_a_time = by_elements ? lanes_apart(op, target) : lanes_without_masks(op, target);
  if (pixels) {
    vectorize_pixels(*stage, along, pixels->colour, lane, at_a_time, whole_rows);
  } else {
    vectorize_last(*stage, along, at_a_time, whole_rows);
  }
}

bool wakes_threads(const Op& op, const Target& target) {
  return wakes_threads(std::vector<const Op*>{&op}, target);
}

namespace {

// for i  ->  for i in a part: unrolled part: vectorized lane
void vectorize_parts(const Op& op, const Axis& along, int64_t parts, const Target& target,
                     StageSchedule* stage) {
  const Axis part(fresh_axis(op, "part"));
  const Axis within(along.name(), along.extent().constant_term() / parts);
  stage->split(along, part, within, within.extent().constant_term());
  vectorize_points(op, within, target, stage);
  if (!is_one_vector(op, within, target)) stage->reorder({part, within});
  stage->unroll(part);
}

// What is known of the run-time sizes, or wanted.
struct PointLoops {
  bool threads;       // share them
  bool fills_vector;  // a row is as long as a vector or longer
};

// The loops of an operation, and of these the one that threads may share.
std::optional<Axis> derive_points(const Op& op, const Target& target, const PointLoops& wanted,
                                  StageSchedule* loops_of) {
  StageSchedule& stage = *loops_of;
  const size_t rows = vector_axis(op, target);
  const Borders borders = borders_by_axis(op);
  const auto borders_of = [&](const Axis& axis) { return borders_at(axis, borders); };
  Axis along = op.axes[rows];
  std::vector<Axis> cut;  // the loops that say on which side of a border they are
  const bool is_in_blocks = wanted.threads && rows == 0;  // of one long row: a task each
  const auto across = crosses(op, target);
  const bool has_parts = !is_in_blocks && !across && rows + 1 == op.axes.size() && reads_apart(op);
  const int64_t parts = has_parts ? parts_at_a_time(op, along, target) : 1;
  const bool has_ends = parts == 1 && (borders_of(along) > 0 || is_clamped_along(op, along));
  const bool has_masks =
      is_in_blocks && !along.extent().exact_quotient(kBlockOfRow) && needs_elements(op, target);
  // Where a row that threads share is longer than a block, the last one may start earlier.
  const int64_t least = along.extent().as_constant().value_or(least_shared(op, rows, target));
  const bool shifts =
      has_masks && !has_ends && is_sum_of_sizes(along.extent()) && least >= kShiftedBlock;
  const bool is_cut = (has_ends && !is_one_vector(op, along, target)) || (has_masks && !shifts);
  std::optional<Axis> shared;
  if (is_in_blocks) {
    const int64_t block = shifts ? kShiftedBlock : kBlockOfRow;
    shared = Axis(fresh_axis(op, "block"));
    const Axis within(fresh_axis(op, "within"), block);
    stage.split(along, *shared, within, block, shifts ? Tail::shift_inwards : Tail::guard);
    along = within;
  }
  if (is_cut) cut.push_back(shared.value_or(along));
  if (across) {
    block_rows(op, *across, rows, lanes_apart(op, target), &stage);
    cut.clear();
  } else if (parts > 1) {
    vectorize_parts(op, along, parts, target, &stage);
  } else {
    vectorize_points(op, along, target, &stage, true, wanted.fills_vector && !is_in_blocks);
  }
  const std::vector<Axis> loops = loops_to_share(op, borders, target);
  const size_t count = loops.size();
  if (count > 0) {
    const bool has_cuts = across || borders_of(loops.back()) > 0;
    const auto points = has_cuts ? std::nullopt : element_count(op.shape);
    shared = share_loops(op, loops, count, points, target, &stage).tasks;
  }
  for (size_t i = count > 1 ? count : 0; i < rows && !across; ++i) {
    if (borders_of(op.axes[i]) > 0) cut.push_back(op.axes[i]);
  }
  for (const Axis& loop : cut) stage.partition(loop);
  return shared;
}

// The most values of a pixel (match_pixels).
constexpr int64_t kMostValues = 3;

Op with_rows_of(const Op& op, int64_t values) {
  Op known = op;
  known.axes.back() = Axis(op.axes.back().name(), values);
  known.shape.back() = values;
  return known;
}

// The run-time length of rows of which there are many and which may be as short as pixels: vectors
// along them would then be nearly empty.
std::optional<Expr> length_of_short_rows(const Op& op, const Target& target) {
  const Extent& length = op.axes.back().extent();
  if (!is_what_is_left_of_a_size(length)) return std::nullopt;
  const bool is_other = std::any_of(op.axes.begin(), op.axes.end() - 1, [&](const Axis& axis) {
    return share_a_size(axis.extent(), length);
  });
  if (is_other || has_borders(op)) return std::nullopt;
  const Axis& last = op.axes.back();
  const bool reads_otherwise = any_part(op.body, [&](const Expr& e) {
    return e->op == ExprOp::read && mentions(e, last.name()) && !is_along(e, last);
  });
  if (reads_otherwise) return std::nullopt;
  const bool are_pixels =
      match_pixels(with_rows_of(op, kMostValues), value_lanes(op, target)).has_value();
  return are_pixels ? std::optional(extent_value(length)) : std::nullopt;
}

// The loops where a condition over run-time sizes holds.
void derive_where(const Expr& condition, const Op& op, const Target& target, bool fills_vector,
                  StageSchedule* stage) {
  const std::optional<Expr> enough = wakes_threads(op, target)
                                         ? reaches(op.shape, points_for_threads({&op}, target))
                                         : std::nullopt;
  const bool always = enough && !enough->defined();
  if (enough && !always && !has_case(*stage, condition && *enough)) {
    stage->specialize(condition && *enough);
    if (const auto shared = derive_points(op, target, {true, fills_vector}, stage)) {
      stage->parallel(*shared);
    }
  }
  stage->specialize(condition);
  const auto shared = derive_points(op, target, {always, fills_vector}, stage);
  if (shared && always) stage->parallel(*shared);
}

// Whether rows whose length is no number need masks in their last vector that the target lacks, or
// between the ends of what they read.
bool needs_what_it_lacks(const Op& op, const Target& target) {
  const Axis& along = op.axes[vector_axis(op, target)];
  const bool is_exact = along.extent().exact_quotient(value_lanes(op, target)).has_value();
  const bool has_ends = borders_at(along, borders_by_axis(op)) > 0;
  return !along.extent().is_constant() && !is_exact && !has_ends && !crosses(op, target) &&
         (needs_elements(op, target) || is_clamped_along(op, along));
}

// Of rows of a run-time length, where a condition holds, if there is one. Where they are as long as
// a vector, the last one starts earlier, if the target lacks the masks that it would need.
void derive_where_vectors_fill(const Expr& condition, const Op& op, const Target& target,
                               StageSchedule* stage) {
  const Axis& along = op.axes[vector_axis(op, target)];
  const int64_t steps = steps_of_whole(op, target);
  const auto where = [&](const Expr& more) {
    return condition.defined() ? condition && more : more;
  };
  const Expr length = extent_value(along.extent());
  const Expr any = condition.defined() ? condition : length >= int_constant(1);
  const bool fills = needs_what_it_lacks(op, target);
  const std::optional<Expr> enough = wakes_threads(op, target)
                                         ? reaches(op.shape, points_for_threads({&op}, target))
                                         : std::nullopt;
  const bool in_blocks = vector_axis(op, target) == 0 && enough && enough->defined();
  if (in_blocks) {  // which are longer than a vector
    stage->specialize(where(*enough));
    if (const auto shared = derive_points(op, target, {true, false}, stage)) {
      stage->parallel(*shared);
    }
  }
  for (const bool filled : {true, false}) {
    if (filled && !fills) continue;
    const Expr holds = filled ? where(length >= int_constant(steps)) : any;
    if (in_blocks) {
      stage->specialize(holds);
      derive_points(op, target, {false, filled}, stage);
    } else {
      derive_where(holds, op, target, filled, stage);
    }
  }
}

}  // namespace

void derive_pointwise(const Op& op, const Target& target, Schedule* schedule) {
  if (op.axes.empty()) return;
  StageSchedule& stage = (*schedule)[op.name];
  if (const std::optional<Expr> length = length_of_short_rows(op, target)) {
    for (int64_t values = 1; values <= kMostValues; ++values) {
      derive_where_vectors_fill(*length == int_constant(values), with_rows_of(op, values), target,
                                &stage);
    }
    return derive_where_vectors_fill(*length > int_constant(kMostValues), op, target, &stage);
  }
  const Axis& along = op.axes[vector_axis(op, target)];
  const bool in_blocks = vector_axis(op, target) == 0 && wakes_threads(op, target);
  if (!along.extent().is_constant() && (in_blocks || needs_what_it_lacks(op, target))) {
    return derive_where_vectors_fill(Expr(), op, target, &stage);
  }
  const PointLoops loops{wakes_threads(op, target), false};
  if (const std::optional<Axis> shared = derive_points(op, target, loops, &stage)) {
    parallel_from(stage, *shared, op.shape, points_for_threads({&op}, target));
  }
}

}  // namespace emulsion

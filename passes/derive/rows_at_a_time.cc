#include "passes/derive/rows_at_a_time.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"

namespace emulsion {
namespace {

// The points of a row of the member that has most of them; nothing when a run-time size decides.
std::optional<int64_t> points_of_row(const RowGroup& group) {
  int64_t most = 1;
  for (const RowGroup::Member& member : group.members) {
    const std::optional<int64_t> points = points_beside(*member.op, member.axes);
    if (!points) return std::nullopt;
    most = std::max(most, *points);
  }
  return most;
}

// The largest number up to `most` that divides `all`; a multiple of `lanes`, if one does.
int64_t rows_that_divide(int64_t all, int64_t most, int64_t lanes = 1) {
  for (int64_t rows = most / lanes * lanes; rows > 0; rows -= lanes) {
    if (all % rows == 0) return rows;
  }
  int64_t rows = std::min(most, all);
  while (rows > 1 && all % rows != 0) --rows;
  return std::max<int64_t>(rows, 1);
}

// The largest power of two up to `most`: of so many rows all vectors across them are full.
int64_t power_of_two(int64_t most) {
  int64_t rows = 1;
  while (2 * rows <= most) rows *= 2;
  return rows;
}

// As many as there are in each of the fewest parts of `most` at most: few are left over of these.
int64_t equal_part(int64_t all, int64_t most) {
  const int64_t parts = std::max<int64_t>((all + most - 1) / most, 1);
  return std::max<int64_t>((all + parts - 1) / parts, 1);
}

// Whether vectors lie across the rows, in something that there is once in a row.
bool has_vectors_across(const RowGroup& group) {
  return std::any_of(group.members.begin(), group.members.end(),
                     [](const RowGroup::Member& member) {
                       return !member.is_inline && sums_of(*member.op) == nullptr &&
                              is_one_in_a_row(result_of(*member.op), member.axes);
                     });
}

// Whether there is something to compute while the memory of the output is waited for.
bool computes_series(const RowGroup& group) {
  return std::any_of(group.members.begin() + 1, group.members.end(),
                     [](const RowGroup::Member& member) {
                       return !member.is_inline && member.whole_rows && takes_series(*member.op);
                     });
}

// Whether some rows at a time leave none over, or a call says how many rows there are. Else the
// last few are computed with some that were computed before, which nothing that waits in the
// output's memory can be.
bool may_be_tiles(const RowGroup& group) {
  const Extent& rows = group.reader().shape[group.axes().back()];
  return !rows.is_constant() || rows.exact_quotient(kRowsAtATime).has_value();
}

constexpr int64_t kVectorsAtATime = 24;

// The vectors of a row in which more is done than sums, and across which no vectors lie (softmax);
// nothing of others.
std::optional<int64_t> vectors_along(const RowGroup& group, const Target& target) {
  const std::optional<int64_t> points = points_of_row(group);
  if (!points || sums_of(group.reader()) != nullptr || group.members.size() == 1) {
    return std::nullopt;
  }
  if (has_vectors_across(group)) return std::nullopt;
  const int64_t lanes = target.vector_lanes(group.reader().dtype);
  return (*points + lanes - 1) / lanes;
}

// How many of such rows are computed at a time, at most: as many as have 24 vectors, and at least
// four. Loops over so few are unrolled, sums and maxima stay in registers, and what is stored of a
// row is loaded again soon. Nothing where a row is one vector.
std::optional<int64_t> rows_of_tens_of_vectors(const RowGroup& group, const Target& target) {
  const std::optional<int64_t> vectors = vectors_along(group, target);
  if (!vectors || *vectors == 1) return std::nullopt;
  return std::max(power_of_two(kVectorsAtATime / *vectors), kRowsAtATime);
}

// How many rows are computed at a time, at most, where the first cache holds them. Of rows of a
// known length several vectors: what is stored of a row has then left the processor's buffer when
// it is loaded again, sums of many rows are under way while a division is waited for, and vectors
// lie across the rows in what there is once in a row. One vector where there is nothing else of a
// row, however many elements it sums up.
int64_t most_rows(const RowGroup& group, const Target& target) {
  if (const auto few = rows_of_tens_of_vectors(group, target)) return *few;
  constexpr int64_t kShort = 4, kVectorsOfRows = 4, kEnough = 32;
  const int64_t lanes = target.vector_lanes(group.reader().dtype);
  const std::optional<int64_t> points = points_of_row(group);
  if (!points) return are_sums_of_rows(group) ? std::max(lanes, kRowsAtATime) : kRowsAtATime;
  return *points <= kShort * lanes ? std::max(kVectorsOfRows * lanes, kEnough) : kEnough;
}

// How many of a run-time number of rows are computed at a time, if they are short and the first
// cache holds half of them.
constexpr int64_t kManyRows = 32;
// How many steps of an axis around few rows there are at least, of which several are computed at a
// time.
constexpr int64_t kLeastSteps = 8;

bool are_many_at_a_time(const RowGroup& group, const Target& target) {
  if (!may_end_with_last_row(group)) return false;
  const std::optional<int64_t> points = points_of_row(group);
  const std::optional<int64_t> in_cache = rows_in_cache(group, target);
  return points && in_cache && are_short_rows(*points) && 2 * *in_cache >= kManyRows;
}

// All that is read and computed of a row; nothing where a run-time size decides.
std::optional<int64_t> bytes_of_row(const RowGroup& group) {
  int64_t bytes = 0, most = 0;
  for (const RowGroup::Member& member : group.members) {
    if (member.is_inline) continue;
    const std::optional<int64_t> elements = elements_of_row(*member.op, member.axes);
    if (!elements) return std::nullopt;
    const int64_t of_member = *elements * size_in_bytes(member.op->dtype);
    bytes += of_member;
    most = std::max(most, of_member);
  }
  if (stored_for_series(group) != nullptr) bytes += most;
  return bytes + most;  // with what comes from outside
}

}  // namespace

bool is_one_at_a_time(const RowGroup& group, const Target& target) {
  const std::optional<int64_t> vectors = vectors_along(group, target);
  return vectors && *vectors > kVectorsAtATime && !are_short_rows(*points_of_row(group));
}

bool may_be_in_output_memory(const RowGroup& group, const Target& target) {
  if (rows_in_cache(group, target).value_or(1) <= 1 || is_one_at_a_time(group, target)) return true;
  const Op& reader = result_of(group.reader());
  if (group.is_merged || group.is_across_steps() || is_one_in_a_row(reader, group.axes())) {
    return false;
  }
  if (sums_of(group.reader()) != nullptr) return false;
  if (has_vectors_across(group) && !(computes_series(group) && may_be_tiles(group))) return false;
  return points_of_row(group).value_or(1) > target.vector_lanes(group.reader().dtype) &&
         reader.shape.back().exact_quotient(value_lanes(reader, target)).has_value();
}

bool are_results_in_rows(const RowGroup& group, const Target& target) {
  const std::optional<int64_t> bytes = bytes_of_row(group);
  return bytes && *bytes <= std::max<int64_t>(target.l1_bytes, target.l2_bytes / 2);
}

bool has_few_again(const RowGroup& group, const Extent& all, int64_t rows) {
  constexpr int64_t kFew = 32;  // one of so many
  const std::optional<int64_t> count = all.as_constant();
  if (!count || *count < rows || keeps_any(group) || has_results(group)) return false;
  if (sums_of(group.reader()) != nullptr) return false;
  return kFew * (rows - *count % rows) <= *count;
}

bool may_end_with_last_row(const RowGroup& group) {
  return are_first(group) && !keeps_any(group) && !has_results(group);
}

bool are_short_rows(int64_t elements) {
  constexpr int64_t kMost = 128;
  return elements <= kMost;
}

std::optional<int64_t> rows_in_cache(const RowGroup& group, const Target& target) {
  const std::optional<int64_t> bytes = bytes_of_row(group);
  if (!bytes) return std::nullopt;
  return std::max<int64_t>(target.l1_bytes / std::max<int64_t>(*bytes, 1), 1);
}

std::optional<FewRows> few_rows_in_step(const RowGroup& group, const Target& target,
                                        std::optional<int64_t> of_lanes) {
  const std::vector<size_t>& axes = group.axes();
  if (axes.size() < 2 || (!of_lanes && !are_many_at_a_time(group, target))) return std::nullopt;
  const Extent &rows = group.reader().shape[axes.back()],
               &steps = group.reader().shape[axes[axes.size() - 2]];
  const int64_t known = steps.as_constant().value_or(kManyRows);
  if (rows.is_constant() || known < kLeastSteps) return std::nullopt;
  const int64_t most = std::min(of_lanes.value_or(kManyRows), known) / 2;
  if (rows.lower_bound().value_or(0) > most) return std::nullopt;
  const Expr are_few = extent_value(rows) <= int_constant(most);
  FewRows few{group, steps.is_constant()
                         ? are_few
                         : are_few && extent_value(steps) >= int_constant(kManyRows)};
  few.group.most_in_step = most;
  return few;
}

int64_t rows_at_a_time(const RowGroup& group, const Extent& all, bool are_tasks, int64_t of_short,
                       const Target& target) {
  constexpr int64_t kTasksOfCore = 2;
  if (group.are_few || is_one_at_a_time(group, target)) return 1;
  const int64_t in_cache = rows_in_cache(group, target).value_or(std::max<int64_t>(of_short, 1));
  const int64_t known = all.is_constant() ? most_rows(group, target) : kRowsAtATime;
  int64_t most = std::min(in_cache, std::max(known, of_short));
  if (!all.is_constant() && are_many_at_a_time(group, target)) {
    most = rows_of_tens_of_vectors(group, target).value_or(kManyRows);
  }
  std::optional<int64_t> least = all.as_constant();
  if (!least) {  // from how many on there are threads
    const std::optional<int64_t> points = points_of_row(group);
    if (points)
      least = points_for_threads(members_of(group), target) / std::max<int64_t>(*points, 1);
  }
  if (are_tasks && least) {
    const int64_t enough = group.is_across_steps() ? std::min(kLeastSteps, most) : 1;
    most = std::clamp<int64_t>(*least / (kTasksOfCore * target.cores), enough, most);
  }
  if (!all.is_constant()) {
    return most > std::max(kRowsAtATime, of_short) ? power_of_two(most) : most;
  }
  const int64_t count = all.constant_term();
  const int64_t exact = rows_that_divide(count, most);
  if (most <= std::max(kRowsAtATime, of_short)) {
    if (2 * exact > most || count < 2 * most) return exact;
    // A few more, but where these are the tasks of threads.
    const int64_t more = are_tasks ? most : std::min(2 * most, in_cache);
    return std::max(rows_that_divide(count, more), most);
  }
  if (4 * count <= 5 * most) return std::max<int64_t>(count, 1);
  const int64_t vectors = rows_that_divide(count, most, target.vector_lanes(group.reader().dtype));
  if (4 * vectors >= 3 * most) return vectors;
  if (3 * exact >= most) return exact;
  const int64_t more = rows_that_divide(count, std::min(most + most / 4, in_cache));
  return more > most ? more : equal_part(count, most);
}

int64_t rows_of_block_at_a_time(const RowGroup& group, int64_t block, const Target& target) {
  constexpr int64_t kEnough = 2 * kRowsAtATime;
  const int64_t in_cache = rows_in_cache(group, target).value_or(kEnough);
  return block <= in_cache ? block : rows_that_divide(block, std::min(in_cache, kEnough));
}

}  // namespace emulsion

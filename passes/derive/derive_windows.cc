#include <algorithm>

#include "dsl/index_arithmetic.h"
#include "passes/derive/alternative_ways.h"
#include "passes/derive/choices.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/waiting_sums.h"
#include "passes/derive/window_chains.h"
#include "passes/derive/window_sums.h"

namespace emulsion {
namespace {

// What one element costs, in scalar operations of its sum; nothing when a run-time size decides.
std::optional<int64_t> steps_of(const Op& op) {
  int64_t steps = 1;
  if (const Op* sums = sums_of(op)) {
    for (const Axis& axis : sums->reduction_axes) {
      if (!axis.extent().is_constant()) return std::nullopt;
      steps = saturated_product(steps, std::max<int64_t>(axis.extent().constant_term(), 1));
    }
  }
  return steps;
}

// The points of all operations that go to rows of the reader, from its dimension `from` on; nothing
// when a run-time size decides.
std::optional<int64_t> work_from(const WindowChain& chain, size_t from) {
  int64_t most = 0;
  const auto add = [&](const Op& op, int64_t rows) {
    const auto elements = elements_from(op, from), steps = steps_of(op);
    if (!elements || !steps) return false;
    most = std::max(most, saturated_product(saturated_product(*elements, *steps), rows));
    return true;
  };
  const bool of_rows = from > chain.row;
  bool known = add(*chain.reader, 1);
  for (const WindowChain::Producer& producer : chain.producers) {
    known = known && add(*producer.op, of_rows ? producer.window.step : 1);
  }
  return known ? std::optional(most) : std::nullopt;
}

int64_t points_for_threads(const WindowChain& chain, const Target& target) {
  return points_for_threads(members_of(chain), target);
}

bool wakes_threads(const WindowChain& chain, const Target& target) {
  const std::optional<int64_t> work = work_from(chain, 0);
  return target.cores > 1 && (!work || *work >= points_for_threads(chain, target));
}

// Whether tasks that take equally long keep all cores busy, but for a fifth of the time.
bool are_even(int64_t tasks, const Target& target) {
  const int64_t turns = (tasks + target.cores - 1) / target.cores;
  return 5 * tasks >= 4 * turns * target.cores;
}

// The loops around the rows of a strip, the strips innermost; what is not known has the extent of
// all rows. Strips of one row are the loop over these.
std::vector<Axis> loops_of_strips(const WindowChain& chain, int64_t rows) {
  const Op& op = result_of(*chain.reader);
  std::vector<Axis> loops(op.axes.begin(),
                          op.axes.begin() + static_cast<std::ptrdiff_t>(chain.row));
  const Axis& row = op.axes[chain.row];
  const Extent& extent = row.extent();
  if (!extent.is_constant()) {
    loops.push_back(rows == 1 ? row : Axis(fresh_axis(op, "strip"), extent));
  } else {
    loops.emplace_back(fresh_axis(op, "strip"), Extent((extent.constant_term() + rows - 1) / rows));
  }
  return loops;
}

// Whether there is work for threads in two strips of so many rows, whatever the sizes are.
bool has_enough_in_two_tasks(const WindowChain& chain, int64_t rows, const Target& target) {
  const std::vector<Axis> loops = loops_of_strips(chain, rows);
  std::optional<int64_t> work = work_from(chain, chain.row + 1);
  if (work) *work = saturated_product(*work, 2 * rows);
  for (size_t i = count_shared(loops, target); work && i < loops.size(); ++i) {
    if (!loops[i].extent().is_constant()) return false;
    *work = saturated_product(*work, loops[i].extent().constant_term());
  }
  return work && *work >= points_for_threads(chain, target);
}

// Rows of a strip: at least ten for each that is computed again, and shared out evenly; fewer, down
// to half, where threads would not have equally many strips. All of the last strip are computed,
// also those beyond the end of a run-time number: where none is computed again, a strip has no more
// than are work enough for a task.
int64_t rows_of_strip(const WindowChain& chain, const Target& target) {
  constexpr int64_t kRowsForKept = 10, kLeastRows = 16, kRowsOfTask = 4;
  int64_t rows = kLeastRows;
  bool keeps = false;
  for (const WindowChain::Producer& producer : chain.producers) {
    keeps = keeps || producer.window.kept() > 0;
    while (rows * producer.window.step < kRowsForKept * producer.window.kept()) rows *= 2;
  }
  const Extent& extent = chain.reader->shape[chain.row];
  if (!extent.is_constant()) {
    const bool is_task =
        !wakes_threads(chain, target) || has_enough_in_two_tasks(chain, rows, target);
    return keeps ? rows : is_task ? 1 : kRowsOfTask;
  }
  int64_t strips = std::max<int64_t>(extent.constant_term() / rows, 1);
  if (chain.row == 0 && wakes_threads(chain, target) && !are_even(strips, target)) {
    const int64_t even = (strips + target.cores - 1) / target.cores * target.cores;
    if (even * rows <= 2 * extent.constant_term()) strips = even;
  }
  return (extent.constant_term() + strips - 1) / strips;
}

// The same of its strips. Of rows one by one threads are woken for enough of them.
bool has_enough_in_two_tasks(const WindowChain& chain, const Target& target) {
  const int64_t rows = rows_of_strip(chain, target);
  return rows == 1 || has_enough_in_two_tasks(chain, rows, target);
}

// Whether of all rows many are computed for nothing: those that the first one needs, and, of a
// run-time number, those beyond the end in the last strip, which is as long as the others.
bool computes_too_many(const WindowChain& chain, const Target& target) {
  constexpr int64_t kMostRows = 256;
  const Extent& extent = chain.reader->shape[chain.row];
  if (!extent.is_constant()) return rows_of_strip(chain, target) > kMostRows;
  return std::any_of(chain.producers.begin(), chain.producers.end(), [&](const auto& producer) {
    return 2 * producer.window.kept() > extent.constant_term() * producer.window.step;
  });
}

// Sums of the chain that its reader alone reads, which are in registers while it is computed. They
// have no window: a row needs one row of theirs.
std::vector<const Op*> waiting_sums_of(const WindowChain& chain, const Target& target) {
  std::vector<const Op*> sums;
  const auto reads = [](const Op& reader, const Op& op) {
    const std::vector<OpPtr> read = operands(reader);
    return std::any_of(read.begin(), read.end(),
                       [&](const OpPtr& one) { return one.get() == &op; });
  };
  for (const WindowChain::Producer& producer : chain.producers) {
    const Op& op = *producer.op;
    if (why_not_wait(op, *chain.reader, target)) continue;
    const bool is_read_otherwise =
        std::any_of(chain.producers.begin(), chain.producers.end(),
                    [&](const WindowChain::Producer& other) { return reads(*other.op, op); });
    if (is_read_otherwise) continue;
    sums.push_back(&op);
    if (!can_wait_together(sums, target)) sums.pop_back();
  }
  return sums;
}

// The vectors of an operation in the chain, and what is computed for them inside.
void derive_vectors(const Op& op, size_t row, bool whole_rows, const Target& target,
                    Schedule* schedule) {
  const Op& result = result_of(op);
  const Op* sums = sums_of(op);
  if (sums == nullptr) {
    const Axis& along = result.axes[vector_axis(result, target)];
    StageSchedule& stage = (*schedule)[result.name];
    vectorize_points(result, {along, whole_rows}, target, &stage);
    const bool is_known = along.extent().is_constant();
    if (whole_rows && !is_known && (needs_what_it_lacks(result, target) || has_borders(result))) {
      stage.partition(along);
    }
  } else {
    derive_sums_of_row(*sums, result, row, target, whole_rows, schedule);
  }
  inline_members(op, sums, schedule);
}

// For which run-time sizes there is: those for which the reader has points enough, and rows for
// several strips. Nothing where no size says so: for none or all, or of a run-time number of terms.
std::optional<Expr> enough_for_threads(const WindowChain& chain, const Target& target) {
  constexpr int64_t kStrips = 2;
  const std::optional<int64_t> steps = steps_of(*chain.reader);
  if (!steps) return std::nullopt;
  std::vector<Extent> points = chain.reader->shape;
  points.emplace_back(*steps);
  const std::optional<Expr> has_points = reaches(points, points_for_threads(chain, target));
  if (!has_points || !has_points->defined()) return std::nullopt;
  const Extent& rows = chain.reader->shape[chain.row];
  const int64_t least = kStrips * rows_of_strip(chain, target);
  if (!rows.is_constant()) return *has_points && extent_value(rows) >= int_constant(least);
  return rows.constant_term() >= least ? has_points : std::nullopt;
}

void derive_strips(const WindowChain& chain, const Target& target, Schedule* schedule) {
  const Op& reader = result_of(*chain.reader);
  StageSchedule& stage = (*schedule)[reader.name];
  const Axis& row = reader.axes[chain.row];
  const int64_t rows = rows_of_strip(chain, target);
  const std::vector<Axis> loops = loops_of_strips(chain, rows);
  const bool exact = row.extent().exact_quotient(rows).has_value();
  const std::vector<const Op*> waiting = waiting_sums_of(chain, target);
  if (waiting.empty()) {
    derive_vectors(*chain.reader, chain.row, true, target, schedule);
  } else {
    derive_sums_together(waiting, reader, target, schedule);
    inline_members(*chain.reader, nullptr, schedule);
  }
  Axis kept = loops.back();
  const bool has_strips = kept.name() != row.name();
  if (has_strips) {
    cache_block(stage, {{row, rows, exact ? Tail::automatic : Tail::guard, kept}});
  }
  const size_t shared = wakes_threads(chain, target) ? count_shared(loops, target) : 0;
  std::optional<Axis> tasks;
  if (shared > 0) {
    tasks = fuse_leading(reader, loops, shared, &stage);
    if (has_strips) stage.parallel(*tasks);
    if (shared == loops.size()) kept = *tasks;
  }
  for (const WindowChain::Producer& producer : chain.producers) {
    if (std::count(waiting.begin(), waiting.end(), producer.op) > 0) continue;
    const Op& op = result_of(*producer.op);
    derive_vectors(*producer.op, chain.row, producer.whole_rows, target, schedule);
    StageSchedule& produced = (*schedule)[op.name];
    has_strips ? sliding_window(produced, reader.name, kept, row)
               : produced.compute_at(reader.name, kept);
  }
  if (tasks && !has_strips) {
    parallel_from(stage, *tasks, most_points(members_of(chain)), points_for_threads(chain, target));
  }
}

// Each operation by itself, but for sums that wait for the reader in registers.
void derive_without_windows(const WindowChain& chain, const Target& target,
                            const DeriveOptions& options, Schedule* schedule) {
  const std::vector<const Op*> waiting = waiting_sums_of(chain, target);
  if (waiting.empty()) {
    derive_apart(*chain.reader, target, options, schedule);
  } else {
    derive_with_reader(waiting, *chain.reader, target, options, schedule);
  }
  for (const WindowChain::Producer& producer : chain.producers) {
    if (std::count(waiting.begin(), waiting.end(), producer.op) > 0) continue;
    derive_apart(*producer.op, target, options, schedule);
  }
}

// Whether a row is read once, where one of the two chooses elements by their place. The clamps of a
// reader that does make its window larger than the one row that it reads.
bool is_read_once(const WindowChain::Producer& producer, const Op& reader) {
  const auto chooses = [](const Op& op) {
    return op.kind == OpKind::compute && op.combiner == Combiner::none &&
           chooses_by_place(op.body, Choice::of_elements);
  };
  if (producer.window.rows() == 1 && chooses(*producer.op)) return true;
  return chooses(reader) && reads_in(reader.body, producer.op).size() == 1;
}

}  // namespace

bool pays_to_keep(const WindowChain::Producer& producer, const Op& reader, size_t row,
                  const Target& target) {
  const Op& result = result_of(*producer.op);
  if (row >= vectors_of(*producer.op, target)) return false;
  if (sums_of(*producer.op) == nullptr && crosses(*producer.op, target)) return false;
  constexpr int64_t kShortRow = 128, kVectorsOfShortRow = 4;
  const int64_t bytes = size_in_bytes(result.dtype);
  const std::optional<int64_t> all = elements_from(result, 0),
                               kept = elements_from(result, row + 1);
  // A short row, where it or what reads it is padded or joined, is read before it is in the cache
  // and at other places than it was written at, and nothing of it again.
  if (kept && *kept * bytes < kShortRow &&
      *kept * bytes <= kVectorsOfShortRow * target.vector_bits() / 8 &&
      is_read_once(producer, reader)) {
    return false;
  }
  // Rows of a window that slides are read from the first cache. Elements gain by that where the
  // second cache would hold all of them, too; sums take so long themselves that they do not.
  constexpr int64_t kFirstCaches = 4;
  const int64_t least = sums_of(*producer.op) != nullptr
                            ? target.l2_bytes / 2
                            : std::min(kFirstCaches * target.l1_bytes, target.l2_bytes);
  const bool is_large = !all || *all * bytes > least;
  return is_large && (!kept || *kept * producer.window.rows() * bytes <= target.l2_bytes / 2);
}

bool pays_to_slide(const WindowChain& chain, const Readers& readers, const Target& target) {
  if (waiting_sums_of(chain, target).size() == chain.producers.size()) return false;
  if (sums_of(*chain.reader) == nullptr && crosses(*chain.reader, target)) return false;
  if (computes_too_many(chain, target)) return false;
  if (!wakes_threads(chain, target)) return true;
  if (elements_from(*chain.reader, 0)) {
    const std::vector<Axis> loops = loops_of_strips(chain, rows_of_strip(chain, target));
    const size_t shared = count_shared(loops, target);
    int64_t tasks = 1;
    for (size_t i = 0; i < shared; ++i) tasks *= loops[i].extent().constant_term();
    return are_even(tasks, target);
  }
  if (has_enough_in_two_tasks(chain, target)) return true;
  const bool is_output = readers.only_readers(*chain.reader) == nullptr;
  return is_output && enough_for_threads(chain, target);
}

void derive_windows(const WindowChain& chain, const Target& target, const DeriveOptions& options,
                    Schedule* schedule) {
  const bool is_decided = !wakes_threads(chain, target) || elements_from(*chain.reader, 0) ||
                          has_enough_in_two_tasks(chain, target);
  if (is_decided) return derive_strips(chain, target, schedule);
  // Storage is not kept around a specialization (specialize), which would wake the threads for some
  // sizes only: those have a way of their own.
  const Op& reader = result_of(*chain.reader);
  AlternativeWay way{"_sliding", enough_for_threads(chain, target).value(),
                     schedule->without_directives()};
  derive_strips(chain, target, &way.schedule);
  Schedule otherwise = beside_way(reader, way, *schedule);
  derive_without_windows(chain, target, options, &otherwise);
  add_ways(reader, {way}, otherwise, schedule);
}

}  // namespace emulsion

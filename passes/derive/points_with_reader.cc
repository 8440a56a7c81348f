#include "passes/derive/points_with_reader.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>

#include "dsl/error.h"
#include "dsl/index_arithmetic.h"
#include "passes/derive/choices.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/read_borders.h"
#include "passes/fuse/fused_group.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

constexpr int64_t kMostPlanesOfReader = 8;

// Whether all that `reader` reads of the producer is at the place that it computes, but for the
// axis of its planes.
bool reads_at_place(const Op& producer, const Op& reader, std::optional<size_t> planes) {
  const std::optional<Reads> reads = reads_of(producer, reader, producer.shape.size());
  if (!reads || producer.shape.size() + (planes ? 1 : 0) != reader.shape.size()) return false;
  for (size_t at = 0; at < producer.shape.size(); ++at) {
    const size_t of_reader = planes && at >= *planes ? at + 1 : at;
    if (!reads_same_place(producer, at, reader, of_reader, *reads)) return false;
  }
  return true;
}

// The shape without an axis.
Shape without_axis(Shape shape, std::optional<size_t> axis) {
  if (axis) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*axis));
  return shape;
}

class Finder {
 public:
  Finder(const Graph& graph, const Target& target, const std::unordered_set<const Op*>& done)
      : readers_(graph), target_(target), done_(done) {}

  std::optional<PointsWithReader> ending_in(const Op& reader) const {
    if (!is_open(reader) || !has_candidate(reader) || why_not_with_others(reader, target_)) {
      return std::nullopt;
    }
    PointsWithReader points{&reader, {}, std::nullopt};
    for (bool changed = true; changed;) {
      changed = false;
      for (const Op* member : members_of(points)) {
        for (const OpPtr& operand : operands(*member)) changed |= join(*operand, &points);
      }
    }
    if (points.producers.empty()) return std::nullopt;
    std::sort(points.producers.begin(), points.producers.end(), [&](const Op* a, const Op* b) {
      return readers_.position_of(*a) > readers_.position_of(*b);
    });
    return points;
  }

 private:
  static constexpr size_t kMostProducers = 8;

  bool is_open(const Op& op) const { return is_computed(op) && done_.count(&op) == 0; }

  // What is looked at: an output, or what several read.
  bool is_candidate(const Op& op) const {
    const std::vector<const Op*>* const only = readers_.only_readers(op);
    return is_open(op) && (only == nullptr || only->size() > 1);
  }

  bool has_candidate(const Op& reader) const {
    const std::vector<OpPtr> read = operands(reader);
    return std::any_of(read.begin(), read.end(),
                       [&](const OpPtr& operand) { return is_candidate(*operand); });
  }

  // Whether the operation became a producer.
  bool join(const Op& op, PointsWithReader* points) const {
    const std::vector<const Op*> members = members_of(*points);
    const auto is_member = [&](const Op* one) {
      return std::find(members.begin(), members.end(), one) != members.end();
    };
    const std::vector<const Op*>& reading = readers_.readers_of(op);
    if (members.size() > kMostProducers || is_member(&op) || !is_candidate(op)) return false;
    if (!std::all_of(reading.begin(), reading.end(), is_member)) return false;
    if (why_not_with_others(op, target_)) return false;
    std::optional<size_t> planes = points->planes;
    if (points->producers.empty()) {
      if (op.shape.size() + 1 == points->reader->shape.size()) {
        planes = planes_of(*points->reader, op);
        if (!planes) return false;
      }
    }
    if (without_axis(points->reader->shape, planes) != op.shape) return false;
    // What is stored whole has the axes of the loops around it, one after another.
    if (planes.value_or(0) > 0 && readers_.only_readers(op) == nullptr) return false;
    const bool are_at_place = std::all_of(reading.begin(), reading.end(), [&](const Op* reader) {
      return reads_at_place(op, *reader, reader == points->reader ? planes : std::nullopt);
    });
    if (!are_at_place) return false;
    points->planes = planes;
    points->producers.push_back(&op);
    return true;
  }

  // The axis of the reader that the producer has not.
  static std::optional<size_t> planes_of(const Op& reader, const Op& producer) {
    for (size_t at = 0; at + 1 < reader.shape.size(); ++at) {
      const int64_t planes = reader.shape[at].as_constant().value_or(0);
      if (planes < 1 || planes > kMostPlanesOfReader) continue;
      if (without_axis(reader.shape, at) != producer.shape) continue;
      if (reads_at_place(producer, reader, at)) return at;
    }
    return std::nullopt;
  }

  const Readers readers_;
  const Target& target_;
  const std::unordered_set<const Op*>& done_;
};

// What goes between memory and a point: each element that is read along the rows, and what is
// written.
int64_t streams_of(const PointsWithReader& points, const Op& reader) {
  std::set<std::string> producers, reads;
  for (const Op* op : points.producers) producers.insert(op->name);
  int64_t written = points.planes ? reader.shape[*points.planes].constant_term() : 1;
  for (const Op* op : members_of(points)) {
    const OpPtr whole = written_out(*op, {});
    for (const Expr& read : reads_in(whole->body)) {
      if (mentions(read, whole->axes.back().name()) && producers.count(read->tensor->name) == 0) {
        reads.insert(to_string(read));
      }
    }
    if (op != points.reader) ++written;
  }
  return written + static_cast<int64_t>(reads.size());
}

// How much of a row is computed at a time: a vector of each member, or several where that is a
// small part of the row. Several lines of each stream are then read, and written, one after
// another.
int64_t elements_at_a_time(const std::vector<const Op*>& members, const Extent& row,
                           const Target& target) {
  constexpr int64_t kMostAtATime = 4, kSmallPart = 8;
  int64_t lanes = std::numeric_limits<int64_t>::max();
  for (const Op* op : members) lanes = std::min(lanes, value_lanes(*written_out(*op, {}), target));
  for (int64_t vectors = kMostAtATime; vectors > 1; vectors /= 2) {
    const int64_t width = vectors * lanes;
    const bool is_small = row.as_constant().value_or(kSmallPart * width) >= kSmallPart * width;
    if (is_small || row.exact_quotient(width)) return width;
  }
  return lanes;
}

// How much of a producer is computed before what reads it.
enum class AtATime : uint8_t { vectors, block, row };
constexpr int64_t kBlock = 256;

// Where all are stored, not a vector: stores to several arrays by turns take longer than what the
// reader loads again. A row, if the second cache holds all of it, or a block.
AtATime at_a_time(const PointsWithReader& points, const Schedule& schedule, const Target& target) {
  const Op& reader = *points.reader;
  const bool are_stored =
      std::all_of(points.producers.begin(), points.producers.end(),
                  [&](const Op* op) { return is_output(result_of(*op), schedule); });
  if (points.planes || !are_stored) return AtATime::vectors;
  const std::optional<int64_t> row = reader.shape.back().as_constant();
  const int64_t bytes = streams_of(points, reader) * size_in_bytes(reader.dtype);
  const bool is_held = row && saturated_product(*row, bytes) <= target.l2_bytes / 2;
  if (is_held && reader.shape.size() > 1) return AtATime::row;
  return row.value_or(kBlock) < kBlock ? AtATime::vectors : AtATime::block;
}

}  // namespace

std::vector<const Op*> members_of(const PointsWithReader& points) {
  std::vector<const Op*> members = {points.reader};
  members.insert(members.end(), points.producers.begin(), points.producers.end());
  return members;
}

std::optional<std::string> why_not_with_others(const Op& op, const Target& target) {
  if (!is_computed(op)) return fmt::format("expected {} to be computed", op.name);
  if (sums_of(op) != nullptr) return fmt::format("expected {} to combine nothing", op.name);
  if (!fits_one_expression(op)) {
    return fmt::format("expected {} to be a group that fits one expression", op.name);
  }
  if (is_always_empty(op) || op.shape.empty()) {
    return fmt::format("expected {} to have rows, got shape {}", op.name, to_string(op.shape));
  }
  if (takes_series(op)) {
    return fmt::format("expected {} to wait for memory, got a series of each element", op.name);
  }
  const OpPtr whole = written_out(op, {});
  const Axis& last = whole->axes.back();
  if (vector_axis(*whole, target) + 1 != whole->axes.size() || reads_apart(*whole)) {
    return fmt::format("expected {} to read neighbours along its rows", op.name);
  }
  if (has_borders(*whole) || chooses_by(whole->body, last.name())) {
    return fmt::format("expected {} to be the same at all places of a row, got choices", op.name);
  }
  return std::nullopt;
}

std::optional<std::string> why_not_worth_with_reader(const PointsWithReader& points,
                                                     const Target& target) {
  constexpr int64_t kMostStreams = 24, kMostOperations = 2000, kLeastVectors = 4;
  const Op& first = *points.producers.front();
  int64_t bytes = 0, operations = 0, lanes = std::numeric_limits<int64_t>::max();
  for (const Op* op : members_of(points)) {
    const OpPtr whole = written_out(*op, {});
    const bool has_planes = op == points.reader && points.planes.has_value();
    if (op != points.reader) bytes += size_in_bytes(op->dtype);
    operations += static_cast<int64_t>(size_of(whole->body).nodes) *
                  (has_planes ? whole->shape[*points.planes].constant_term() : 1);
    lanes = std::min(lanes, value_lanes(*whole, target));
  }
  const std::optional<int64_t> row = first.shape.back().as_constant();
  if (first.shape.size() > 1 && row.value_or(0) < kLeastVectors * lanes) {
    return fmt::format("expected rows of {} of {} elements or more, got {}", first.name,
                       kLeastVectors * lanes, first.shape.back().to_string());
  }
  if (operations > kMostOperations) {
    return fmt::format("expected at most {} operations in one loop, got {}", kMostOperations,
                       operations);
  }
  if (const int64_t streams = streams_of(points, *points.reader); streams > kMostStreams) {
    return fmt::format("expected at most {} streams to and from memory, got {}", kMostStreams,
                       streams);
  }
  const std::optional<int64_t> elements = element_count(first.shape);
  if (!elements || saturated_product(*elements, bytes) > target.l1_bytes / 2) return std::nullopt;
  return fmt::format("expected more than the {} bytes that stay in a cache from {} to {}, got {}",
                     target.l1_bytes / 2, first.name, points.reader->name,
                     saturated_product(*elements, bytes));
}

std::vector<PointsWithReader> points_with_readers(
    const Graph& grouped, const Target& target, const std::unordered_set<const Op*>& done,
    const std::function<bool(const std::vector<const Op*>& members)>& wants) {
  std::unordered_set<const Op*> taken = done;
  std::vector<PointsWithReader> found;
  const Finder finder(grouped, target, taken);
  for (size_t i = grouped.ops().size(); i-- > 0;) {
    std::optional<PointsWithReader> points = finder.ending_in(*grouped.ops()[i]);
    if (!points || why_not_worth_with_reader(*points, target)) continue;
    const std::vector<const Op*> members = members_of(*points);
    if (!wants(members)) continue;
    taken.insert(members.begin(), members.end());
    found.push_back(*std::move(points));
  }
  return found;
}

void derive_points_with_reader(const PointsWithReader& points, const Target& target,
                               Schedule* schedule) {
  const Op& reader = result_of(*points.reader);
  const std::vector<const Op*> members = members_of(points);
  StageSchedule& stage = (*schedule)[reader.name];
  inline_members(*points.reader, nullptr, schedule);
  std::vector<Axis> rows = reader.axes;
  if (points.planes) rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(*points.planes));
  const AtATime at_once = at_a_time(points, *schedule, target);
  const Axis along = rows.back(), lane(fresh_axis(reader, "lane"));
  std::vector<Axis> order(rows.rbegin(), rows.rend());
  if (points.planes) order.insert(order.begin(), reader.axes[*points.planes]);
  const int64_t width = elements_at_a_time(members, along.extent(), target);
  const bool exact = along.extent().exact_quotient(width).has_value();
  const Tail tail = exact ? Tail::automatic : Tail::predicate;
  if (at_once == AtATime::block) {
    const Axis within(fresh_axis(reader, "within"));
    const bool divides = along.extent().exact_quotient(kBlock).has_value();
    stage.split(along, along, within, kBlock, divides ? Tail::automatic : Tail::guard)
        .split(within, within, lane, width);
    order.insert(order.begin(), {lane, within});
    if (!divides) stage.partition(along);
  } else {
    stage.split(along, along, lane, width, tail);
    order.insert(order.begin(), lane);
    if (!exact) stage.partition(along);
  }
  stage.reorder(order).vectorize(lane);
  if (points.planes) stage.unroll(reader.axes[*points.planes]);
  rows.pop_back();
  const std::vector<Extent> work = most_points(members);
  const int64_t least = points_for_threads(members, target);
  const bool has_threads = wakes_threads_from(work, least, target);
  std::optional<Axis> tasks;
  if (has_threads && rows.empty()) tasks = along;
  Axis at = at_once == AtATime::row ? rows.back() : along;
  if (const size_t count = has_threads ? count_shared(rows, target) : 0; count > 0) {
    const RowTasks shared = share_loops(reader, rows, count, element_count(work), target, &stage);
    tasks = shared.tasks;
    if (at_once == AtATime::row && count == rows.size()) at = shared.last;
  }
  for (const Op* op : points.producers) {
    const Op& result = result_of(*op);
    inline_members(*op, nullptr, schedule);
    StageSchedule& producer = (*schedule)[result.name];
    const Axis& last = result.axes.back();
    if (at_once == AtATime::vectors) {
      producer.vectorize(last);
    } else {
      const Axis lanes(fresh_axis(result, "lane"));
      producer.split(last, last, lanes, width, tail).vectorize(lanes);
      if (!exact) producer.partition(last);
    }
    producer.compute_at(reader.name, at);
  }
  if (tasks) parallel_from(stage, *tasks, work, least);
}

}  // namespace emulsion

// Groups of rows of a few elements: vectors across the rows.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "dsl/expr.h"
#include "passes/derive/choices.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

// Of a tile of rows, steps of the axis at `at`: vectors across them, the elements of each row one
// after another.
void derive_across_rows(const Op& op, size_t at, const std::string& name, Schedule* schedule) {
  const Axis& row = op.axes[at];
  std::vector<Axis> order = {row}, storage = {row};
  order.insert(order.end(), op.reduction_axes.rbegin(), op.reduction_axes.rend());
  for (size_t i = op.axes.size(); i-- > 0;) {
    if (i != at) storage.push_back(op.axes[i]);
  }
  order.insert(order.end(), storage.begin() + 1, storage.end());
  StageSchedule& stage = (*schedule)[name];
  stage.reorder(order).vectorize(row);
  if (op.axes.size() > at + 1) stage.reorder_storage(storage);
}

constexpr int64_t kMostOfLength = 4;  // of a length that conditions choose

// Loops over the elements of a row, of one operation: outermost first.
struct ElementLoops {
  std::vector<Axis> loops;
  int64_t body_nodes = 1;
};

// Unrolls the innermost loops while the unrolled code has at most kMostNodes nodes: LLVM takes long
// to compile more.
void unroll_all(const ElementLoops& of, StageSchedule* stage) {
  constexpr int64_t kMostNodes = 4096;
  size_t first = of.loops.size();
  for (int64_t nodes = of.body_nodes; first > 0; --first) {
    nodes *= of.loops[first - 1].extent().as_constant().value_or(kMostOfLength);
    if (nodes > kMostNodes) break;
  }
  for (size_t i = first; i < of.loops.size(); ++i) stage->unroll(of.loops[i]);
}

// Of what has loops over the elements of a row, others for each of a few lengths, if it has not one
// that is known. `enough`: the condition under which threads share `tasks`, if there is one.
void unroll_by_length(const ElementLoops& loops, const Expr& length,
                      const std::optional<Expr>& enough, const Axis& tasks, StageSchedule* stage) {
  constexpr int64_t kLeastElements = 2;
  if (!length.defined()) unroll_all(loops, stage);
  if (!length.defined() || loops.loops.empty()) return;
  for (int64_t elements = kLeastElements; elements <= kMostOfLength; ++elements) {
    const Expr is_so_long = length == int_constant(elements);
    if (enough) {
      StageSchedule& shared = stage->specialize(is_so_long && *enough);
      unroll_all(loops, &shared);
      shared.parallel(tasks);
    }
    unroll_all(loops, &stage->specialize(is_so_long));
  }
}

// The loops over the elements of a row: those that are as long as it, or, of a known length, all.
ElementLoops elements_of_rows(const Op& op, size_t rows, const Expr& length) {
  ElementLoops of = {{}, size_of(op.body).nodes};
  const auto add = [&](const Axis& loop) {
    const bool is_one =
        length.defined() ? equal(extent_value(loop.extent()), length) : loop.extent() != Extent(1);
    if (is_one) of.loops.push_back(loop);
  };
  std::for_each(op.axes.begin() + static_cast<std::ptrdiff_t>(rows), op.axes.end(), add);
  std::for_each(op.reduction_axes.begin(), op.reduction_axes.end(), add);
  return of;
}

// Whether the first indices of a read are these axes of its reader.
bool starts_at(const Expr& read, const Op& reader, size_t first, size_t count) {
  if (read->args.size() < count) return false;
  const auto axes = reader.axes.begin() + static_cast<std::ptrdiff_t>(first);
  return std::equal(axes, axes + static_cast<std::ptrdiff_t>(count), read->args.begin(),
                    [](const Axis& axis, const Expr& index) {
                      return index->op == ExprOp::axis && index->name == axis.name();
                    });
}

// Whether something takes long and is the same for all elements of a row or of a column: in lanes
// it is computed once for these.
bool takes_long_once(const Op& part, const Shape& elements) {
  const auto is_element = [&](const Expr& e) {
    return e->op == ExprOp::read && e->tensor->shape == elements;
  };
  return any_part(part.body, [&](const Expr& e) {
    return instructions_of(e.node()) > kAsALoad && !any_part(e, is_element);
  });
}

// Whether what the reader computes of the rows of a tile lies as they do in memory, one behind the
// other: it reads whole tensors at its own place, and what there is once in a row or in a column.
// Then its elements need not be turned over, as those that are summed up are. A few elements are
// turned over as fast.
bool lies_along_rows(const RowGroup& group, const Target& target) {
  const int64_t least = target.has("avx512_skylake") ? 4 : 5;
  const Op& reader = result_of(group.reader());
  const size_t rows = group.axes().size(), rank = reader.axes.size();
  if (group.is_across_steps() || rank != rows + 1) return false;
  if (reader.shape.back().as_constant().value_or(0) < least) return false;
  const std::vector<const Op*> members = members_of(group);
  const auto lies = [&](const Op& part, const Expr& read) {
    const Op& tensor = *read->tensor;
    const bool is_of_row = starts_at(read, part, 0, rows);
    if (is_of_row && is_one_in_a_row(tensor, group.axes())) return true;
    if (std::count(members.begin(), members.end(), &tensor) > 0) return false;
    if (tensor.shape == part.shape) return starts_at(read, part, 0, rank);
    return read->args.size() == 1 && starts_at(read, part, rows, 1);
  };
  const auto all_lie = [&](const Op& part) {
    if (takes_long_once(part, reader.shape)) return false;
    const std::vector<Expr> reads = reads_in(part.body);
    return std::all_of(reads.begin(), reads.end(),
                       [&](const Expr& read) { return lies(part, read); });
  };
  if (group.reader().kind != OpKind::fused) return all_lie(reader);
  return std::all_of(group.reader().members.begin(), group.reader().members.end(),
                     [&](const OpPtr& part) { return all_lie(*part); });
}

}  // namespace

void derive_rows_in_each_lane(const RowGroup& group, const Expr& length, const Target& target,
                              Schedule* schedule, bool fills_lanes) {
  const Op& reader = result_of(group.reader());
  const size_t rows = group.axes().size();
  const Axis& row = reader.axes[group.at_a_time()];
  const auto lanes_of = [&](const Op& op) { return lanes_apart(op, target); };
  int64_t lanes = lanes_of(reader);
  for (const Op* op : members_of(group)) {
    lanes = std::min(lanes, lanes_of(result_of(*op)));
    if (const Op* sums = sums_of(*op)) lanes = std::min(lanes, lanes_of(*sums));
  }
  while (lanes > std::max<int64_t>(row.extent().as_constant().value_or(lanes), 1)) lanes /= 2;
  StageSchedule& stage = (*schedule)[reader.name];
  const auto place = [&](const Op& op, const std::string& name, const Axis& tile) {
    derive_across_rows(op, group.at_a_time(), name, schedule);
    StageSchedule& placed = (*schedule)[name].compute_at(reader.name, tile);
    unroll_by_length(elements_of_rows(op, rows, length), length, std::nullopt, tile, &placed);
  };
  const Axis tile(fresh_axis(reader, "tile")), lane(fresh_axis(reader, "lane"));
  const Axis inner = group.is_across_steps() ? reader.axes[rows - 1] : tile;
  if (!reader.reduction_axes.empty()) {
    place(reader, accumulator_of(reader, reader, schedule), inner);
  }
  const bool exact = row.extent().exact_quotient(lanes).has_value();
  const bool shifts = !length.defined() && (fills_lanes || row.extent().is_constant());
  const Tail tail = exact ? Tail::automatic : shifts ? Tail::shift_inwards : Tail::predicate;
  // Under masks, as in the last tile of others, what there is once in a row would be gathered.
  const bool is_whole = exact || shifts;
  const bool along_rows = !length.defined() && is_whole && lies_along_rows(group, target);
  const Axis flat(fresh_axis(reader, "flat"), reader.shape.back());
  if (along_rows) {
    const Axis one(fresh_axis(reader, "row"));
    stage.split(row, tile, one, lanes, tail).fuse(one, reader.axes.back(), flat);
    stage.split(flat, flat, lane, lanes);
  } else {
    std::vector<Axis> order = {lane};
    for (size_t i = reader.axes.size(); i-- > rows;) order.push_back(reader.axes[i]);
    if (group.is_across_steps()) order.push_back(inner);
    order.push_back(tile);
    stage.split(row, tile, lane, lanes, tail);
    if (order.size() > 2) stage.reorder(order);
  }
  stage.vectorize(lane);
  if (!is_whole) stage.partition(tile);
  for (const Op* op : members_of(group)) {
    const Op& result = result_of(*op);
    const Op* sums = sums_of(*op);
    inline_members(*op, sums, schedule);
    if (op != &group.reader()) place(result, result.name, inner);
    if (sums != nullptr && sums != &result) place(*sums, sums->name, inner);
  }
  Op values = reader;  // without its sums, which are placed
  values.reduction_axes.clear();
  ElementLoops elements = elements_of_rows(values, rows, length);
  if (along_rows) elements.loops = {flat};
  if (!wakes_threads(group, target)) {
    return unroll_by_length(elements, length, std::nullopt, tile, &stage);
  }
  Axis tasks = tile;
  const std::vector<Axis> outer(
      reader.axes.begin(), reader.axes.begin() + static_cast<std::ptrdiff_t>(group.at_a_time()));
  if (const size_t count = count_shared(outer, target); count > 0) {
    tasks = share_loops(reader, outer, count, std::nullopt, target, &stage).tasks;
  }
  const std::vector<Extent> points = most_points(members_of(group));
  const int64_t least = points_for_threads(members_of(group), target);
  const std::optional<Expr> enough = reaches(points, least);
  if (enough && !enough->defined()) {  // threads share rows of every length
    stage.parallel(tasks);
    return unroll_by_length(elements, length, std::nullopt, tasks, &stage);
  }
  unroll_by_length(elements, length, enough, tasks, &stage);
  if (enough) stage.specialize(*enough).parallel(tasks);
}

}  // namespace emulsion

#include "passes/derive/graph_reads.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "dsl/error.h"
#include "dsl/expr.h"
#include "passes/index/relax_clamps.h"
#include "passes/index/simplify_index.h"
#include "passes/lower/inline_reads.h"
#include "passes/nest/costly_part.h"

namespace emulsion {
namespace {

using Indices = std::vector<Affine>;  // of one read

// What is computed at each point: of a group, all members written out in the axes of the last.
struct WrittenOut {
  Expr body;
  AxisExtents reduction_axes;  // under names of their own
};

WrittenOut written_out(const Op& op) {
  WrittenOut result;
  std::unordered_map<const Op*, Expr> bodies;
  const auto write = [&](const Op& member) {
    const auto own_name = [&](const std::string& axis) { return member.name + "." + axis; };
    std::set<std::string> reduced;
    for (const Axis& axis : member.reduction_axes) {
      reduced.insert(axis.name());
      result.reduction_axes.emplace(own_name(axis.name()), axis.extent());
    }
    const Expr body = substitute_axes(member.body, [&](const std::string& axis) {
      return reduced.count(axis) ? axis_value(own_name(axis)) : Expr();
    });
    bodies[&member] = transform(body, [&](const Expr& e) {
      auto read = e->op == ExprOp::read ? bodies.find(e->tensor.get()) : bodies.end();
      if (read == bodies.end()) return Expr();
      const std::vector<Axis>& axes = read->first->axes;
      if (are_own_indices(axes, e->args)) return read->second;
      std::map<std::string, Expr> indices;
      for (size_t i = 0; i < e->args.size(); ++i) {
        indices[axes[i].name()] = e->args[i];
      }
      return substitute_axes(read->second, [&](const std::string& axis) {
        auto index = indices.find(axis);
        return index == indices.end() ? Expr() : index->second;
      });
    });
  };
  if (op.kind == OpKind::compute) write(op);
  for (const OpPtr& member : op.members) write(*member);
  result.body = bodies.at(&result_of(op));
  return result;
}

// The first and the last place of an index that a clamp may have moved, the index alone without
// one. Nothing when they are not affine.
std::optional<Indices> ends_of(const Expr& index, const AxisExtents& extents) {
  Indices ends;
  for (const Expr& end : relax_clamps(index, extents)) {
    const std::optional<Affine> affine = affine_of(end);
    if (!affine) return std::nullopt;
    ends.push_back(*affine);
  }
  return ends;
}

// Every combination of the ends of its first indices. Nothing when they are not affine.
std::optional<std::vector<Indices>> corners_of(const Expr& read, size_t dimensions,
                                               const AxisExtents& extents) {
  std::vector<Indices> corners = {{}};
  for (size_t i = 0; i < dimensions; ++i) {
    const std::optional<Indices> ends = ends_of(read->args[i], extents);
    if (!ends) return std::nullopt;
    std::vector<Indices> longer;
    for (const Indices& corner : corners) {
      for (const Affine& end : *ends) {
        longer.push_back(corner);
        longer.back().push_back(end);
      }
    }
    corners = std::move(longer);
  }
  return corners;
}

}  // namespace

const Op* sums_of(const Op& op) {
  if (op.kind == OpKind::compute && op.combiner != Combiner::none) return &op;
  for (const OpPtr& member : op.members) {
    if (member->combiner != Combiner::none) return member.get();
  }
  return nullptr;
}

int64_t series_in(const Op& op) {
  int64_t count = 0;
  if (op.body.defined()) {
    visit(op.body, [&](const Expr& e) { count += is_series(e->op) ? 1 : 0; });
  }
  for (const OpPtr& member : op.members) count += series_in(*member);
  return count;
}

bool takes_series(const Op& op) { return series_in(op) > 0; }

int64_t instructions_of(const ExprNode& e) {
  switch (e.op) {
    case ExprOp::constant:
    case ExprOp::axis:
    case ExprOp::size:
    case ExprOp::read:
      return 0;
    case ExprOp::neg:
    case ExprOp::abs:
    case ExprOp::add:
    case ExprOp::sub:
    case ExprOp::mul:
    case ExprOp::min:
    case ExprOp::max:
      return 1;
    default:
      return kAsALoad + 1;
  }
}

int64_t instructions_of(const Op& op) {
  int64_t count = 0;
  if (op.body.defined()) {
    visit(op.body, [&](const Expr& e) { count += instructions_of(e.node()); });
  }
  for (const OpPtr& member : op.members) count += instructions_of(*member);
  return count;
}

AxisExtents Reads::extents() const {
  AxisExtents result = reduction_axes;
  for (const Axis& axis : axes) result[axis.name()] = axis.extent();
  return result;
}

std::optional<Reads> reads_of(const Op& producer, const Op& reader, size_t dimensions) {
  const WrittenOut written = written_out(reader);
  Reads reads{{}, result_of(reader).axes, written.reduction_axes};
  const AxisExtents extents = reads.extents();
  std::vector<Expr> found;
  visit(written.body, [&](const Expr& e) {
    if (e->op == ExprOp::read && e->tensor->name == producer.name) found.push_back(e);
  });
  for (const Expr& read : found) {
    const std::optional<std::vector<Indices>> corners = corners_of(read, dimensions, extents);
    if (!corners) return std::nullopt;
    reads.all.insert(reads.all.end(), corners->begin(), corners->end());
  }
  return reads;
}

bool reads_op(const Op& reader, const Op& op) {
  const std::vector<OpPtr> read = operands(reader);
  return std::any_of(read.begin(), read.end(),
                     [&](const OpPtr& operand) { return operand.get() == &op; });
}

bool is_axis(const Affine& index, const Axis& axis) {
  return index.coefficients == std::map<std::string, int64_t>{{axis.name(), 1}} &&
         index.offset == Extent(0);
}

bool reads_same_place(const Op& producer, size_t position, const Op& reader, size_t at,
                      const Reads& reads) {
  if (producer.shape[position] != reader.shape[at] || reads.all.empty()) return false;
  return std::all_of(reads.all.begin(), reads.all.end(),
                     [&](const Indices& read) { return is_axis(read[position], reads.axes[at]); });
}

bool reads_at_own_place(const Op& producer, const Op& reader) {
  const Op& result = result_of(reader);
  const std::optional<Reads> reads = reads_of(producer, reader, producer.shape.size());
  if (!reads || reads->all.empty() || result.shape != producer.shape) return false;
  return std::all_of(reads->all.begin(), reads->all.end(), [&](const Indices& read) {
    for (size_t i = 0; i < read.size(); ++i) {
      if (!is_axis(read[i], reads->axes[i])) return false;
    }
    return true;
  });
}

bool reads_whole(const Op& producer, const Reads& reads, size_t first, const RowPositions& rows) {
  const AxisExtents extents = reads.extents();
  const auto moves_with_rows = [&](const Affine& index) {
    return std::any_of(rows.of_reader.begin(), rows.of_reader.end(), [&](size_t row) {
      return index.coefficients.count(reads.axes[row].name()) > 0;
    });
  };
  const auto reaches = [](const Extent& place, const Extent& end) {
    return never_negative(place - end);
  };
  for (size_t at = first; at < producer.shape.size(); ++at) {
    bool has_first = false, has_last = false;
    const bool is_row = std::count(rows.of_producer.begin(), rows.of_producer.end(), at) > 0;
    for (const Indices& read : reads.all) {
      if (!is_row && moves_with_rows(read[at])) continue;
      Affine opposite{{}, Extent(0) - read[at].offset};
      for (const auto& [axis, factor] : read[at].coefficients) {
        opposite.coefficients[axis] = -factor;
      }
      has_first = has_first || reaches(largest_value(opposite, extents), Extent(0));
      has_last =
          has_last || reaches(largest_value(read[at], extents) + Extent(1), producer.shape[at]);
    }
    if (!has_first || !has_last) return false;
  }
  return true;
}

std::optional<int64_t> elements_from(const Op& op, size_t from) {
  return element_count(Shape(op.shape.begin() + static_cast<std::ptrdiff_t>(from), op.shape.end()));
}

Shape extents_beside(const Op& op, const std::vector<size_t>& positions) {
  Shape beside;
  for (size_t at = 0; at < op.shape.size(); ++at) {
    if (std::count(positions.begin(), positions.end(), at) == 0) beside.push_back(op.shape[at]);
  }
  return beside;
}

std::optional<int64_t> points_beside(const Op& op, const std::vector<size_t>& positions) {
  Shape points = extents_beside(op, positions);
  if (const Op* sums = sums_of(op)) {
    for (const Axis& axis : sums->reduction_axes) points.push_back(axis.extent());
  }
  return element_count(points);
}

bool combines_windows(const Op& op) {
  AxisExtents extents;
  for (const std::vector<Axis>* axes : {&op.axes, &op.reduction_axes}) {
    for (const Axis& axis : *axes) extents.emplace(axis.name(), axis.extent());
  }
  const auto mentions_one = [](const Affine& index, const std::vector<Axis>& axes) {
    return std::any_of(axes.begin(), axes.end(),
                       [&](const Axis& axis) { return index.coefficients.count(axis.name()) > 0; });
  };
  return any_part(op.body, [&](const Expr& e) {
    if (e->op != ExprOp::read) return false;
    return std::any_of(e->args.begin(), e->args.end(), [&](const Expr& argument) {
      const std::optional<Indices> ends = ends_of(argument, extents);
      return ends && mentions_one(ends->front(), op.axes) &&
             mentions_one(ends->front(), op.reduction_axes);
    });
  });
}

Readers::Readers(const Graph& graph) {
  for (const OpPtr& op : graph.ops()) {
    positions_.emplace(op.get(), positions_.size());
    for (const OpPtr& operand : operands(*op)) readers_[operand.get()].push_back(op.get());
  }
  for (const OpPtr& output : graph.outputs()) outputs_.insert(output.get());
}

const std::vector<const Op*>& Readers::readers_of(const Op& producer) const {
  static const std::vector<const Op*> kNone;
  const auto found = readers_.find(&producer);
  return found == readers_.end() ? kNone : found->second;
}

const std::vector<const Op*>* Readers::only_readers(const Op& producer) const {
  return outputs_.count(&producer) ? nullptr : &readers_of(producer);
}

std::optional<std::string> Readers::why_not_only(
    const Op& producer, const std::function<bool(const Op&)>& is_inside) const {
  const std::vector<const Op*>* const reading = only_readers(producer);
  if (reading == nullptr) {
    return fmt::format("expected {} to be no output of the graph", producer.name);
  }
  for (const Op* reader : *reading) {
    if (is_inside(*reader)) continue;
    return fmt::format("expected {} to be read in the same loops alone, got {} outside of them",
                       producer.name, reader->name);
  }
  return std::nullopt;
}

std::vector<const Op*> in_their_place(
    const std::vector<const Op*>& readers,
    const std::unordered_map<const Op*, std::vector<const Op*>>& inside) {
  std::vector<const Op*> all;
  for (const Op* reader : readers) {
    const auto inlined = inside.find(reader);
    const std::vector<const Op*> stored =
        inlined == inside.end() ? std::vector<const Op*>{reader} : inlined->second;
    for (const Op* one : stored) {
      if (std::count(all.begin(), all.end(), one) == 0) all.push_back(one);
    }
  }
  return all;
}

bool is_read_once(const Op& op, const Readers& readers) {
  const std::vector<const Op*>* const reading = readers.only_readers(op);
  if (reading == nullptr || reading->size() != 1) return false;
  const Op* by = nullptr;  // the one comprehension that reads it
  Expr read;
  int reads = 0;
  const auto look = [&](const Op& comprehension) {
    visit(comprehension.body, [&](const Expr& e) {
      if (e->op != ExprOp::read || e->tensor->name != op.name) return;
      ++reads;
      by = &comprehension;
      read = e;
    });
  };
  if (reading->front()->kind == OpKind::compute) look(*reading->front());
  for (const OpPtr& member : reading->front()->members) look(*member);
  if (reads != 1) return false;
  const auto is_told = [&](const Axis& axis) {
    return axis.extent() == Extent(1) ||
           std::any_of(read->args.begin(), read->args.end(),
                       [&](const Expr& index) { return mentions(index, axis.name()); });
  };
  return std::all_of(by->axes.begin(), by->axes.end(), is_told) &&
         std::all_of(by->reduction_axes.begin(), by->reduction_axes.end(), is_told);
}

}  // namespace emulsion

#include "passes/derive/window_chains.h"

#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "dsl/affine.h"
#include "dsl/error.h"
#include "passes/derive/derive_stage.h"
#include "passes/index/relax_clamps.h"

namespace emulsion {
namespace {

using Reason = std::optional<std::string>;
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
      std::map<std::string, Expr> indices;
      for (size_t i = 0; i < e->args.size(); ++i) {
        indices[read->first->axes[i].name()] = e->args[i];
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

// How one operation reads another: what is read lies between these.
struct Reads {
  std::vector<Indices> all;
  std::vector<Axis> axes;      // of the reader
  AxisExtents reduction_axes;  // of the reader

  AxisExtents extents() const {
    AxisExtents result = reduction_axes;
    for (const Axis& axis : axes) result[axis.name()] = axis.extent();
    return result;
  }
};

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

// Nothing when an index is not affine, but for clamps.
std::optional<Reads> reads_of(const Op& producer, const Op& reader) {
  const WrittenOut written = written_out(reader);
  Reads reads{{}, result_of(reader).axes, written.reduction_axes};
  const AxisExtents extents = reads.extents();
  bool affine = true;
  visit(written.body, [&](const Expr& e) {
    if (e->op != ExprOp::read || e->tensor->name != producer.name || !affine) return;
    std::vector<Indices> corners = {{}};
    for (const Expr& index : e->args) {
      const std::optional<Indices> ends = ends_of(index, extents);
      affine = affine && ends;
      if (!affine) return;
      std::vector<Indices> longer;
      for (const Indices& corner : corners) {
        for (const Affine& end : *ends) {
          longer.push_back(corner);
          longer.back().push_back(end);
        }
      }
      corners = std::move(longer);
    }
    reads.all.insert(reads.all.end(), corners.begin(), corners.end());
  });
  return affine ? std::optional(std::move(reads)) : std::nullopt;
}

bool is_axis(const Affine& index, const Axis& axis) {
  return index.coefficients == std::map<std::string, int64_t>{{axis.name(), 1}} &&
         index.offset == Extent(0);
}

// The rows that one read touches of its producer; nothing when they do not go forward with the
// reader's, or how far away they are is not known.
std::optional<RowWindow> rows_of_read(const Reads& reads, const Affine& index, size_t row) {
  if (!index.offset.is_constant()) return std::nullopt;
  RowWindow window{0, index.offset.constant_term(), index.offset.constant_term()};
  for (const auto& [axis, factor] : index.coefficients) {
    if (axis == reads.axes[row].name()) {
      window.step = factor;
      continue;
    }
    auto reduced = reads.reduction_axes.find(axis);
    if (reduced == reads.reduction_axes.end() || !reduced->second.is_constant()) {
      return std::nullopt;
    }
    const int64_t reach = factor * (reduced->second.constant_term() - 1);
    (reach < 0 ? window.first : window.last) += reach;
  }
  return window.step > 0 ? std::optional(window) : std::nullopt;
}

// The smallest window around both; nothing when they go forward at different rates.
std::optional<RowWindow> unite(const RowWindow& a, const RowWindow& b) {
  if (a.step != b.step) return std::nullopt;
  return RowWindow{a.step, std::min(a.first, b.first), std::max(a.last, b.last)};
}

// The rows that a row of the reader needs.
std::optional<RowWindow> rows_read(const Reads& reads, size_t row) {
  std::optional<RowWindow> all;
  for (const Indices& read : reads.all) {
    const std::optional<RowWindow> one = rows_of_read(reads, read[row], row);
    if (one) all = all ? unite(*all, *one) : one;
    if (!one || !all) return std::nullopt;
  }
  return all;
}

Reason why_not_reads(const Op& producer, const Reads& reads, size_t row) {
  const std::string& along = reads.axes[row].name();
  std::optional<int64_t> step;
  for (const Indices& read : reads.all) {
    for (size_t i = 0; i < row; ++i) {
      if (is_axis(read[i], reads.axes[i])) continue;
      return fmt::format("expected reads of {} at the same {}", producer.name,
                         reads.axes[i].name());
    }
    const std::optional<RowWindow> window = rows_of_read(reads, read[row], row);
    if (!window) {
      return fmt::format("expected reads of {} at constant distances from a multiple of {}",
                         producer.name, along);
    }
    if (step.value_or(window->step) != window->step) {
      return fmt::format("expected reads of {} that go down its rows at one rate, got {} and {}",
                         producer.name, *step, window->step);
    }
    step = window->step;
    for (size_t at = row + 1; at < producer.shape.size(); ++at) {
      for (size_t i = 0; i <= row; ++i) {
        if (read[at].coefficients.count(reads.axes[i].name()) == 0) continue;
        return fmt::format("expected columns of {} that are the same for each {}", producer.name,
                           reads.axes[i].name());
      }
    }
  }
  return std::nullopt;
}

// Whether the first and the last element of every dimension behind the rows are read, or places
// beyond them if no clamp were there.
bool reads_whole_rows(const Op& producer, const Reads& reads, size_t row) {
  const AxisExtents extents = reads.extents();
  const auto reaches = [](const Extent& place, const Extent& end) {
    return (place - end).lower_bound().value_or(-1) >= 0;
  };
  for (size_t at = row + 1; at < producer.shape.size(); ++at) {
    bool has_first = false, has_last = false;
    for (const Indices& read : reads.all) {
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

// Whether it combines the places of a window that moves with one of its axes: x[i + k], clamped or
// not.
bool combines_windows(const Op& op) {
  AxisExtents extents;
  for (const std::vector<Axis>* axes : {&op.axes, &op.reduction_axes}) {
    for (const Axis& axis : *axes) extents.emplace(axis.name(), axis.extent());
  }
  const auto mentions_one = [](const Affine& index, const std::vector<Axis>& axes) {
    return std::any_of(axes.begin(), axes.end(),
                       [&](const Axis& axis) { return index.coefficients.count(axis.name()) > 0; });
  };
  bool found = false;
  visit(op.body, [&](const Expr& e) {
    if (e->op != ExprOp::read) return;
    for (const Expr& argument : e->args) {
      const std::optional<Indices> ends = ends_of(argument, extents);
      found = found || (ends && mentions_one(ends->front(), op.axes) &&
                        mentions_one(ends->front(), op.reduction_axes));
    }
  });
  return found;
}

Reason why_not_operation(const Op& op, const Target& target) {
  if (op.kind != OpKind::compute && op.kind != OpKind::fused) {
    return fmt::format("expected {} to be computed", op.name);
  }
  if (op.kind == OpKind::fused && !fits_one_expression(op)) {
    return fmt::format("expected {} to be a group that fits one expression", op.name);
  }
  const Op* sums = sums_of(op);
  if (sums == nullptr) return std::nullopt;
  if (!combines_windows(*sums)) {
    return fmt::format("expected {} to combine windows, if it combines anything", op.name);
  }
  if (has_register_tiles(*sums)) {
    return fmt::format("expected {} to be no product that is computed in register tiles", op.name);
  }
  if (!keeps_sums_in_registers(*sums, target)) {
    return fmt::format("expected {} to keep its sums in registers", op.name);
  }
  return std::nullopt;
}

// Who reads what, once for the whole graph.
class Readers {
 public:
  explicit Readers(const Graph& graph) {
    for (const OpPtr& op : graph.ops()) {
      for (const OpPtr& operand : operands(*op)) readers_[operand.get()].push_back(op.get());
    }
    for (const OpPtr& output : graph.outputs()) outputs_.insert(output.get());
  }

  // Nothing of what the outside reads.
  const std::vector<const Op*>* only_readers(const Op& producer) const {
    return outputs_.count(&producer) ? nullptr : &readers_.at(&producer);
  }

 private:
  std::unordered_map<const Op*, std::vector<const Op*>> readers_;
  std::unordered_set<const Op*> outputs_;
};

// The chain that ends in an operation, along one of its axes, as long as it goes.
class ChainBuilder {
 public:
  ChainBuilder(const Op& reader, size_t row, const Readers& readers, const Target& target)
      : readers_(readers), target_(target), chain_{&reader, {}, row} {}

  WindowChain build() {
    members_[chain_.reader] = {chain_.reader, RowWindow(), true};
    std::vector<const Op*> open = {chain_.reader};
    for (size_t next = 0; next < open.size(); ++next) {
      for (const OpPtr& operand : operands(*open[next])) {
        if (members_.count(operand.get())) continue;
        const std::optional<WindowChain::Producer> producer = producer_of(*operand);
        if (!producer || !pays_to_keep(*producer, chain_.row, target_)) continue;
        members_[operand.get()] = *producer;
        chain_.producers.push_back(*producer);
        open.push_back(operand.get());
      }
    }
    return std::move(chain_);
  }

 private:
  // When all that read it are in the chain and need its rows at one rate.
  std::optional<WindowChain::Producer> producer_of(const Op& op) const {
    const std::vector<const Op*>* readers = readers_.only_readers(op);
    if (readers == nullptr) return std::nullopt;
    std::optional<WindowChain::Producer> result;
    for (const Op* reader : *readers) {
      auto member = members_.find(reader);
      if (member == members_.end() || why_not_slide(op, *reader, chain_.row, target_)) {
        return std::nullopt;
      }
      const std::optional<Reads> reads = reads_of(op, *reader);
      EMULSION_CHECK(reads, "{} has no window of {}", reader->name, op.name);
      const std::optional<RowWindow> rows = rows_read(*reads, chain_.row);
      EMULSION_CHECK(rows, "{} has no window of {}", reader->name, op.name);
      const RowWindow& of_reader = member->second.window;
      const RowWindow window{rows->step * of_reader.step,
                             rows->step * of_reader.first + rows->first,
                             rows->step * of_reader.last + rows->last};
      const std::optional<RowWindow> all = result ? unite(result->window, window) : window;
      if (!all) return std::nullopt;
      const bool whole = member->second.whole_rows && reads_whole_rows(op, *reads, chain_.row);
      result = WindowChain::Producer{&op, *all, whole && (!result || result->whole_rows)};
    }
    return result;
  }

  const Readers& readers_;
  const Target& target_;
  WindowChain chain_;
  std::unordered_map<const Op*, WindowChain::Producer> members_;
};

// The outermost axis along which something is kept from row to row, or several rows make one; or
// rows that are needed once, ahead of the row that needs them.
std::optional<WindowChain> chain_of(const Op& reader, const Readers& readers,
                                    const Target& target) {
  const size_t vectors = vectors_of(reader, target);
  for (size_t row = 0; row < vectors; ++row) {
    WindowChain chain = ChainBuilder(reader, row, readers, target).build();
    if (!pays_to_slide(chain, target)) continue;
    auto slides = [](const WindowChain::Producer& producer) { return producer.window.rows() > 1; };
    if (row + 1 == vectors || std::any_of(chain.producers.begin(), chain.producers.end(), slides)) {
      return chain;
    }
  }
  return std::nullopt;
}

}  // namespace

const Op& result_of(const Op& op) { return op.kind == OpKind::fused ? *op.members.back() : op; }

const Op* sums_of(const Op& op) {
  if (op.kind == OpKind::compute && op.combiner != Combiner::none) return &op;
  for (const OpPtr& member : op.members) {
    if (member->combiner != Combiner::none) return member.get();
  }
  return nullptr;
}

size_t vectors_of(const Op& op, const Target& target) {
  const size_t of_result = vector_axis(result_of(op), target);
  const Op* sums = sums_of(op);
  return sums == nullptr ? of_result : std::min(of_result, vector_axis(*sums, target));
}

std::optional<std::string> why_not_slide(const Op& producer, const Op& reader, size_t row,
                                         const Target& target) {
  for (const Op* op : {&producer, &reader}) {
    if (Reason reason = why_not_operation(*op, target)) return reason;
    if (row + 1 >= op->shape.size()) {
      return fmt::format("expected {} to have columns behind axis {}", op->name, row);
    }
    if (std::count(op->shape.begin(), op->shape.end(), Extent(0)) > 0) {
      return fmt::format("expected {} to have elements", op->name);
    }
  }
  const std::optional<Reads> reads = reads_of(producer, reader);
  if (!reads) {
    return fmt::format("expected indices of {} that are affine, but for clamps", producer.name);
  }
  if (reads->all.empty()) return fmt::format("expected {} to read {}", reader.name, producer.name);
  return why_not_reads(producer, *reads, row);
}

std::vector<WindowChain> window_chains(const Graph& grouped, const Target& target) {
  const Readers readers(grouped);
  std::vector<WindowChain> chains;
  std::unordered_set<const Op*> taken;
  for (size_t i = grouped.ops().size(); i-- > 0;) {
    const Op& op = *grouped.ops()[i];
    if (op.shape.empty() || taken.count(&op) || why_not_operation(op, target)) continue;
    const std::optional<WindowChain> chain = chain_of(op, readers, target);
    if (!chain) continue;
    for (const WindowChain::Producer& producer : chain->producers) taken.insert(producer.op);
    chains.push_back(*chain);
  }
  return chains;
}

}  // namespace emulsion

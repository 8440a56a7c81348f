#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "dsl/affine.h"
#include "dsl/error.h"
#include "passes/derive/derive_stage.h"

namespace emulsion {
namespace {

using Reason = std::optional<std::string>;
using Indices = std::vector<Affine>;  // of one read

// The comprehension whose loops an operation of a grouped graph has.
const Op& result_of(const Op& op) { return op.kind == OpKind::fused ? *op.members.back() : op; }

bool is_pointwise(const Op& op) {
  if (op.kind == OpKind::compute) return op.combiner == Combiner::none;
  auto has_none = [](const OpPtr& member) { return member->combiner == Combiner::none; };
  return op.kind == OpKind::fused && std::all_of(op.members.begin(), op.members.end(), has_none) &&
         fits_one_expression(op);
}

// What is computed at each point: of a group, all members written out in the axes of the last.
Expr written_out(const Op& op) {
  if (op.kind == OpKind::compute) return op.body;
  std::unordered_map<const Op*, Expr> bodies;
  for (const OpPtr& member : op.members) {
    bodies[member.get()] = transform(member->body, [&](const Expr& e) {
      auto read = e->op == ExprOp::read ? bodies.find(e->tensor.get()) : bodies.end();
      if (read == bodies.end()) return Expr();
      std::map<std::string, Expr> indices;
      for (size_t i = 0; i < e->args.size(); ++i) {
        indices[read->first->axes[i].name()] = e->args[i];
      }
      return substitute_axes(read->second,
                             [&](const std::string& axis) { return indices.at(axis); });
    });
  }
  return bodies.at(op.members.back().get());
}

// How `reader` reads `producer`; nothing when an index is not affine.
std::optional<std::vector<Indices>> reads_of(const Op& producer, const Op& reader) {
  std::vector<Indices> reads;
  bool affine = true;
  visit(written_out(reader), [&](const Expr& e) {
    if (e->op != ExprOp::read || e->tensor->name != producer.name) return;
    reads.emplace_back();
    for (const Expr& index : e->args) {
      const std::optional<Affine> value = affine_of(index);
      affine = affine && value;
      reads.back().push_back(value.value_or(Affine()));
    }
  });
  return affine ? std::optional(reads) : std::nullopt;
}

// Whether the index is that axis, a constant away.
bool is_near(const Affine& index, const Axis& axis) {
  return index.coefficients == std::map<std::string, int64_t>{{axis.name(), 1}} &&
         index.offset.is_constant();
}

// Of one dimension behind the rows: its columns are the same for each row, and all are read. So
// what is computed for a row has the producer's own extents.
Reason why_not_column(const Op& producer, const std::vector<Axis>& axes, size_t row, size_t at,
                      const std::vector<Indices>& reads) {
  AxisExtents extents;
  for (const Axis& axis : axes) extents[axis.name()] = axis.extent();
  bool has_first = false, has_last = false;
  for (const Indices& read : reads) {
    Affine opposite{{}, Extent(0) - read[at].offset};
    for (const auto& [axis, factor] : read[at].coefficients) opposite.coefficients[axis] = -factor;
    for (size_t i = 0; i <= row; ++i) {
      if (opposite.coefficients.count(axes[i].name()) > 0) {
        return fmt::format("expected columns of {} that are the same for each {}", producer.name,
                           axes[i].name());
      }
    }
    has_first = has_first || largest_value(opposite, extents) == Extent(0);
    has_last = has_last || largest_value(read[at], extents) + Extent(1) == producer.shape[at];
  }
  if (has_first && has_last) return std::nullopt;
  return fmt::format("expected whole rows of {} to be read", producer.name);
}

Reason why_not_reads(const Op& producer, const std::vector<Axis>& axes, size_t row,
                     const std::vector<Indices>& reads) {
  for (const Indices& read : reads) {
    for (size_t i = 0; i < row; ++i) {
      if (is_near(read[i], axes[i]) && read[i].offset == Extent(0)) continue;
      return fmt::format("expected reads of {} at the same {}", producer.name, axes[i].name());
    }
    if (!is_near(read[row], axes[row])) {
      return fmt::format("expected reads of {} at constant distances from {}", producer.name,
                         axes[row].name());
    }
  }
  for (size_t at = row + 1; at < producer.shape.size(); ++at) {
    if (Reason reason = why_not_column(producer, axes, row, at, reads)) return reason;
  }
  return std::nullopt;
}

// How many rows of `producer` a row of `reader` reads, from the first to the last.
int64_t window_rows(const Op& producer, const Op& reader, size_t row) {
  const auto reads = reads_of(producer, reader);
  EMULSION_CHECK(reads && !reads->empty(), "{} has no window of {}", reader.name, producer.name);
  int64_t least = reads->front()[row].offset.constant_term(), greatest = least;
  for (const Indices& read : *reads) {
    least = std::min(least, read[row].offset.constant_term());
    greatest = std::max(greatest, read[row].offset.constant_term());
  }
  return greatest - least + 1;
}

// The elements of the dimensions from `from` on; nothing when a run-time size decides.
std::optional<int64_t> elements_from(const Op& op, size_t from) {
  return element_count(Shape(op.shape.begin() + static_cast<std::ptrdiff_t>(from), op.shape.end()));
}

// Whether the rows of the window stay in the cache, and the whole result would not.
bool pays_to_keep(const Op& producer, int64_t window, size_t row, const Target& target) {
  const Op& result = result_of(producer);
  if (row >= vector_axis(result, target) || crosses(result, target)) return false;
  const int64_t bytes = size_in_bytes(producer.dtype);
  const std::optional<int64_t> all = elements_from(result, 0),
                               kept = elements_from(result, row + 1);
  const bool is_large = !all || *all * bytes > target.l2_bytes;
  return is_large && (!kept || *kept * window * bytes <= target.l2_bytes / 2);
}

// Rows of a strip: at least ten for each that is computed again, and shared out evenly.
int64_t rows_of_strip(const WindowChain& chain) {
  constexpr int64_t kRowsForHalo = 10, kLeastRows = 16;
  int64_t rows = kLeastRows;
  for (const WindowChain::Producer& producer : chain.producers) {
    while (rows < kRowsForHalo * producer.halo) rows *= 2;
  }
  const Extent& extent = chain.reader->shape[chain.row];
  if (!extent.is_constant()) return rows;
  const int64_t strips = std::max<int64_t>(extent.constant_term() / rows, 1);
  return (extent.constant_term() + strips - 1) / strips;
}

// The loops around the rows of a strip, the strips innermost; what is not known has the extent of
// all rows.
std::vector<Axis> loops_of_strips(const WindowChain& chain, int64_t rows) {
  const Op& op = result_of(*chain.reader);
  std::vector<Axis> loops(op.axes.begin(),
                          op.axes.begin() + static_cast<std::ptrdiff_t>(chain.row));
  const Extent& extent = op.shape[chain.row];
  loops.emplace_back(
      fresh_axis(op, "strip"),
      extent.is_constant() ? Extent((extent.constant_term() + rows - 1) / rows) : extent);
  return loops;
}

void inline_members(const Op& op, Schedule* schedule) {
  for (const OpPtr& member : op.members) {
    if (member != op.members.back()) (*schedule)[member->name].compute_inline();
  }
}

// Who reads what, once for the whole graph.
class Readers {
 public:
  explicit Readers(const Graph& graph) {
    for (const OpPtr& op : graph.ops()) {
      for (const OpPtr& operand : operands(*op)) ++readers_[operand.get()];
    }
    for (const OpPtr& output : graph.outputs()) ++readers_[output.get()];
  }
  bool is_only_one(const Op& producer) const { return readers_.at(&producer) == 1; }

 private:
  std::unordered_map<const Op*, int> readers_;
};

// The chain that ends in `reader`, along that axis, as long as it goes.
WindowChain chain_along(const OpPtr& reader, size_t row, const Readers& readers,
                        const Target& target) {
  WindowChain chain{reader.get(), {}, row};
  std::vector<WindowChain::Producer> open = {{reader.get(), 0}};
  for (size_t next = 0; next < open.size(); ++next) {
    const auto [op, halo] = open[next];
    for (const OpPtr& operand : operands(*op)) {
      if (!readers.is_only_one(*operand) || why_not_slide(*operand, *op, row)) continue;
      const int64_t window = window_rows(*operand, *op, row);
      if (!pays_to_keep(*operand, window, row, target)) continue;
      open.push_back({operand.get(), halo + window - 1});
      chain.producers.push_back(open.back());
    }
  }
  return chain;
}

// The outermost axis along which something is kept from row to row; or rows that are needed once,
// ahead of the row that needs them.
std::optional<WindowChain> chain_of(const OpPtr& reader, const Readers& readers,
                                    const Target& target) {
  const size_t vectors = vector_axis(result_of(*reader), target);
  for (size_t row = 0; row < vectors; ++row) {
    WindowChain chain = chain_along(reader, row, readers, target);
    if (!pays_to_slide(chain, target)) continue;
    auto keeps = [](const WindowChain::Producer& producer) { return producer.halo > 0; };
    const bool slides = std::any_of(chain.producers.begin(), chain.producers.end(), keeps);
    if (slides || row + 1 == vectors) return chain;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_not_slide(const Op& producer, const Op& reader, size_t row) {
  for (const Op* op : {&producer, &reader}) {
    if (!is_pointwise(*op))
      return fmt::format("expected {} to be an operation without reductions", op->name);
    if (row + 1 >= op->shape.size()) {
      return fmt::format("expected {} to have columns behind axis {}", op->name, row);
    }
    if (std::count(op->shape.begin(), op->shape.end(), Extent(0)) > 0) {
      return fmt::format("expected {} to have elements", op->name);
    }
  }
  const auto reads = reads_of(producer, reader);
  if (!reads) return fmt::format("expected indices of {} that are affine", producer.name);
  if (reads->empty()) return fmt::format("expected {} to read {}", reader.name, producer.name);
  return why_not_reads(producer, result_of(reader).axes, row, *reads);
}

bool pays_to_slide(const WindowChain& chain, const Target& target) {
  constexpr int64_t kTasksForThread = 4;
  if (chain.producers.empty()) return false;
  const Op& result = result_of(*chain.reader);
  if (crosses(result, target)) return false;
  if (!wakes_threads(result, target)) return true;
  const int64_t rows = rows_of_strip(chain);
  const std::vector<Axis> loops = loops_of_strips(chain, rows);
  const size_t shared = count_shared(loops, target);
  if (elements_from(*chain.reader, 0)) {
    int64_t tasks = 1;
    for (size_t i = 0; i < shared; ++i) tasks *= loops[i].extent().constant_term();
    return tasks >= kTasksForThread * target.cores;
  }
  // Storage is not kept around a specialization (specialize), which would wake the threads for some
  // sizes only. So two tasks are work enough.
  std::optional<int64_t> work = elements_from(*chain.reader, chain.row + 1);
  if (work) *work *= 2 * rows;
  for (size_t i = shared; work && i < loops.size(); ++i) {
    if (!loops[i].extent().is_constant()) return false;
    *work *= loops[i].extent().constant_term();
  }
  return work && *work >= kPointsForThreads;
}

std::vector<WindowChain> window_chains(const Graph& grouped, const Target& target) {
  const Readers readers(grouped);
  std::vector<WindowChain> chains;
  std::set<const Op*> taken;
  for (size_t i = grouped.ops().size(); i-- > 0;) {
    const OpPtr& op = grouped.ops()[i];
    if (!is_pointwise(*op) || op->shape.empty() || taken.count(op.get())) continue;
    const std::optional<WindowChain> chain = chain_of(op, readers, target);
    if (!chain) continue;
    for (const WindowChain::Producer& producer : chain->producers) taken.insert(producer.op);
    chains.push_back(*chain);
  }
  return chains;
}

void derive_windows(const WindowChain& chain, const Target& target, Schedule* schedule) {
  const Op& reader = result_of(*chain.reader);
  StageSchedule& stage = (*schedule)[reader.name];
  const Axis& row = reader.axes[chain.row];
  const int64_t rows = rows_of_strip(chain);
  const std::vector<Axis> loops = loops_of_strips(chain, rows);
  const bool exact = row.extent().exact_quotient(rows).has_value();
  cache_block(stage, {{row, rows, exact ? Tail::automatic : Tail::guard, loops.back()}});
  vectorize_points(reader, reader.axes[vector_axis(reader, target)], target, &stage);
  inline_members(*chain.reader, schedule);
  Axis kept = loops.back();
  const size_t shared = wakes_threads(reader, target) ? count_shared(loops, target) : 0;
  if (shared > 0) {
    const Axis tasks = fuse_leading(reader, loops, shared, &stage);
    stage.parallel(tasks);
    if (shared == loops.size()) kept = tasks;
  }
  for (const WindowChain::Producer& producer : chain.producers) {
    const Op& op = result_of(*producer.op);
    StageSchedule& window = (*schedule)[op.name];
    sliding_window(window, reader.name, kept, row);
    vectorize_points(op, op.axes[vector_axis(op, target)], target, &window);
    inline_members(*producer.op, schedule);
  }
}

}  // namespace emulsion

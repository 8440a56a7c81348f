#include "passes/derive/window_chains.h"

#include <unordered_map>
#include <utility>

#include "dsl/affine.h"
#include "dsl/error.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"

namespace emulsion {
namespace {

using Reason = std::optional<std::string>;

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
  for (const std::vector<Affine>& read : reads.all) {
    const std::optional<RowWindow> one = rows_of_read(reads, read[row], row);
    if (one) all = all ? unite(*all, *one) : one;
    if (!one || !all) return std::nullopt;
  }
  return all;
}

Reason why_not_reads(const Op& producer, const Reads& reads, size_t row) {
  const std::string& along = reads.axes[row].name();
  std::optional<int64_t> step;
  for (const std::vector<Affine>& read : reads.all) {
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

Reason why_not_operation(const Op& op, const Target& target) {
  if (op.kind != OpKind::compute && op.kind != OpKind::fused) {
    return fmt::format("expected {} to be computed", op.name);
  }
  if (!fits_one_expression(op)) {
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
  if (!has_sums_in_vectors(*sums, target)) {
    return fmt::format("expected {} to keep its sums in registers", op.name);
  }
  return std::nullopt;
}

// Whether `reader` is 0 wherever `producer` is.
bool vanishes_with(const Extent& reader, const Extent& producer) {
  if (producer.lower_bound().value_or(0) >= 1 || never_negative(producer - reader)) return true;
  const auto& of_reader = reader.coefficients();
  const auto& of_producer = producer.coefficients();
  const bool are_multiples = of_reader.size() == 1 && of_producer.size() == 1 &&
                             of_reader.begin()->first == of_producer.begin()->first;
  return are_multiples && reader.constant_term() == 0 && producer.constant_term() == 0;
}

class ChainBuilder {
 public:
  ChainBuilder(const Op& reader, size_t row, const Readers& readers, const Target& target,
               const std::unordered_set<const Op*>& taken)
      : readers_(readers), target_(target), taken_(taken), chain_{&reader, {}, row} {}

  WindowChain build() {
    members_[chain_.reader] = {chain_.reader, RowWindow(), true};
    std::vector<const Op*> open = {chain_.reader};
    for (size_t next = 0; next < open.size(); ++next) {
      for (const OpPtr& operand : operands(*open[next])) {
        if (members_.count(operand.get())) continue;
        const std::optional<WindowChain::Producer> producer = producer_of(*operand);
        if (!producer || !pays_to_keep(*producer, *open[next], chain_.row, target_)) continue;
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
    const auto is_inside = [&](const Op& reader) { return members_.count(&reader) > 0; };
    if (taken_.count(&op) || readers_.why_not_only(op, is_inside)) return std::nullopt;
    std::optional<WindowChain::Producer> result;
    for (const Op* reader : *readers_.only_readers(op)) {
      if (why_not_slide(op, *reader, chain_.row, target_)) return std::nullopt;
      const RowWindow read_rows = window_of(op, *reader, chain_.row);
      const std::optional<Reads> reads = reads_of(op, *reader, op.shape.size());
      const WindowChain::Producer& member = members_.at(reader);
      const RowWindow& of_reader = member.window;
      const RowWindow window{read_rows.step * of_reader.step,
                             read_rows.step * of_reader.first + read_rows.first,
                             read_rows.step * of_reader.last + read_rows.last};
      const std::optional<RowWindow> all = result ? unite(result->window, window) : window;
      if (!all) return std::nullopt;
      const std::vector<size_t> rows = first_axes(chain_.row + 1);
      const bool whole = member.whole_rows && reads_whole(op, *reads, chain_.row + 1, {rows, rows});
      result = WindowChain::Producer{&op, *all, whole && (!result || result->whole_rows)};
    }
    return result;
  }

  const Readers& readers_;
  const Target& target_;
  const std::unordered_set<const Op*>& taken_;
  WindowChain chain_;
  std::unordered_map<const Op*, WindowChain::Producer> members_;
};

// The outermost axis along which something is kept from row to row, or several rows make one; or
// rows that are needed once, ahead of the row that needs them.
std::optional<WindowChain> chain_of(const Op& reader, const Readers& readers,
                                    const Target& target) {
  const size_t vectors = vectors_of(reader, target);
  for (size_t row = 0; row < vectors; ++row) {
    WindowChain chain = build_window_chain(reader, row, readers, target);
    if (!pays_to_slide(chain, readers, target)) continue;
    auto slides = [](const WindowChain::Producer& producer) { return producer.window.rows() > 1; };
    if (row + 1 == vectors || std::any_of(chain.producers.begin(), chain.producers.end(), slides)) {
      return chain;
    }
  }
  return std::nullopt;
}

}  // namespace

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
  const std::optional<Reads> reads = reads_of(producer, reader, producer.shape.size());
  if (!reads) {
    return fmt::format("expected indices of {} that are affine, but for clamps", producer.name);
  }
  if (reads->all.empty()) return fmt::format("expected {} to read {}", reader.name, producer.name);
  for (size_t d = 0; d <= row; ++d) {
    if (vanishes_with(reader.shape[d], producer.shape[d])) continue;
    return fmt::format("expected {} to have elements wherever {} has, got {} and {} along axis {}",
                       producer.name, reader.name, producer.shape[d].to_string(),
                       reader.shape[d].to_string(), d);
  }
  return why_not_reads(producer, *reads, row);
}

RowWindow window_of(const Op& producer, const Op& reader, size_t row) {
  const std::optional<Reads> reads = reads_of(producer, reader, producer.shape.size());
  EMULSION_CHECK(reads, "{} has no window of {}", reader.name, producer.name);
  const std::optional<RowWindow> rows = rows_read(*reads, row);
  EMULSION_CHECK(rows, "{} has no window of {}", reader.name, producer.name);
  return *rows;
}

WindowChain build_window_chain(const Op& reader, size_t row, const Readers& readers,
                               const Target& target, const std::unordered_set<const Op*>& taken) {
  return ChainBuilder(reader, row, readers, target, taken).build();
}

std::vector<const Op*> members_of(const WindowChain& chain) {
  std::vector<const Op*> members = {chain.reader};
  for (const WindowChain::Producer& producer : chain.producers) members.push_back(producer.op);
  return members;
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

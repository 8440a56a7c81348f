#include "passes/derive/values_in_sums.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "passes/derive/choices.h"
#include "passes/derive/contraction_operands.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/read_borders.h"
#include "passes/derive/read_sources.h"
#include "passes/derive/values_in_points.h"
#include "passes/fuse/fused_group.h"

namespace emulsion {
namespace {

// Whether derive_reduction() has the same loops for both.
bool have_same_loops(const Op& a, const Op& b, const Target& target) {
  return !has_register_tiles(b) && combines_many_rows(a, target) == combines_many_rows(b, target) &&
         has_sums_in_vectors(a, target) == has_sums_in_vectors(b, target) &&
         has_sums_in_lanes(a, target) == has_sums_in_lanes(b, target);
}

class ValueFinder {
 public:
  ValueFinder(const Graph& grouped, const Target& target, const std::unordered_set<const Op*>& done,
              const std::function<bool(const Op&)>& wanted)
      : grouped_(grouped), target_(target), done_(done), wanted_(wanted), readers_(grouped) {}

  // What reads an operation comes behind it and is decided by then.
  ValuesInSums find() {
    for (size_t i = grouped_.ops().size(); i-- > 0;) {
      const OpPtr& op = grouped_.ops()[i];
      if (done_.count(op.get()) == 0 && is_elementwise(op))
        consider({op.get(), written_out(*op, {})});
    }
    return std::move(found_);
  }

 private:
  void consider(const Source& value) {
    const std::vector<const Op*>* const reading = readers_.only_readers(*value.op);
    if (reading == nullptr) return;  // an output
    const std::vector<const Op*> readers = in_their_place(*reading, computed_in_);
    if (readers.size() > 1 && !is_as_a_load(*value.written)) return;
    const bool has_sums =
        std::any_of(readers.begin(), readers.end(), [](const Op* op) { return is_sum(*op); });
    if (!has_sums && readers.size() > 1) return;
    std::vector<OpPtr> computes;
    for (const Op* reader : readers) {
      computes.push_back(with_value(*reader, value, has_sums));
      if (computes.back() == nullptr) return;
    }
    if (wanted_ && !wanted_(*value.op)) return;
    found_.inlined.insert(value.op->name);
    for (size_t i = 0; i < readers.size(); ++i) found_.readers[readers[i]] = std::move(computes[i]);
    computed_in_[value.op] = readers;
  }

  static bool is_sum(const Op& op) {
    return op.kind == OpKind::compute && op.combiner != Combiner::none && !has_register_tiles(op);
  }

  // Whether to compute it takes no longer than to load it: of what it reads, one is as large.
  static bool is_as_a_load(const Op& value) {
    const std::vector<OpPtr> read = operands(value);
    const auto is_large = [&](const OpPtr& operand) {
      const std::optional<Reads> reads = reads_of(*operand, value, operand->shape.size());
      if (!reads) return true;
      return std::all_of(value.axes.begin(), value.axes.end(), [&](const Axis& axis) {
        return axis.extent() == Extent(1) ||
               std::any_of(reads->all.begin(), reads->all.end(), [&](const auto& indices) {
                 return std::any_of(indices.begin(), indices.end(), [&](const Affine& index) {
                   return index.coefficients.count(axis.name()) > 0;
                 });
               });
      });
    };
    return instructions_of(value) <= kAsALoad &&
           std::count_if(read.begin(), read.end(), is_large) <= 1;
  }

  // Whether many threads share what the value takes, and few would share the sums: it is much for
  // these.
  bool loses_threads(const Op& sums, const Op& value) const {
    constexpr int64_t kLittle = 8, kResultsOfThread = 64;
    const int64_t most = target_.cores * kResultsOfThread;
    return target_.cores > 1 && element_count(sums.shape).value_or(most) < most &&
           (takes_series(value) || instructions_of(value) > kLittle) &&
           wakes_threads(value, target_);
  }

  // Whether derive_reduction() has any for it. Where it has none, a series would be computed
  // element by element.
  bool has_vectors(const Op& sums) const {
    return has_vectors_to_reduce(sums, target_) ||
           (!sums.axes.empty() && sums.axes.back().extent().as_constant().value_or(0) > 1);
  }

  // What a reader computes then; null where it cannot, or would be slower. `beside_sums`: some sum
  // computes the value.
  OpPtr with_value(const Op& reader, const Source& value, bool beside_sums) const {
    constexpr int64_t kMostOperations = 100, kMostWritten = 10 * kMostOperations;
    if (done_.count(&reader) > 0) return nullptr;
    const auto so_far = found_.readers.find(&reader);
    if (so_far == found_.readers.end() && sums_of(reader) != nullptr && !is_sum(reader)) {
      return nullptr;  // a group
    }
    const OpPtr now = so_far == found_.readers.end() ? written_out(reader, {}) : so_far->second;
    // A body that is far too long is not written out: that of a chain whose operations read their
    // operand twice has 2^n nodes. Written out it may be shorter, for its indices are simplified.
    const ExprSize size_of_value = size_of(value.written->body);
    const ExprSize size = size_of(now->body, [&](const Expr& read) {
      return read->tensor.get() == value.op ? std::optional(size_of_value) : std::nullopt;
    });
    if (size.nodes > kMostWritten) return nullptr;
    const std::vector<Expr> reads = reads_in(now->body, value.op);
    if (reads.empty()) return nullptr;
    auto made = std::make_shared<Op>(*now);
    const AxisExtents extents = extents_of(*now);
    made->body = with_composed_reads(now->body, value, extents);
    if (size_of(made->body).nodes > kMostOperations) return nullptr;
    if (!is_sum(reader) && !(beside_sums && is_at_own_place(*now, value, reads[0]))) {
      // A group with one has loops for it (derive_series.h).
      if (reader.kind == OpKind::fused && takes_series(reader)) return nullptr;
      return suits_value({*now, now->body, extents}, value, true, target_) ? made : nullptr;
    }
    const bool one_place =
        std::all_of(reads.begin(), reads.end(), [&](const Expr& e) { return equal(e, reads[0]); });
    if (!one_place || !is_affine(reads[0])) return nullptr;
    if (!is_sum(reader)) return made;
    if (!has_no_more_steps(extents, value.op->shape)) return nullptr;
    if (loses_threads(reader, *value.written)) return nullptr;
    if (takes_series(*value.written) && !has_vectors(reader)) return nullptr;
    for (const Expr& through : reads_in(composed(reads[0], value, extents))) {
      if (!is_affine(through) || !keeps_neighbours(reads[0], through, extents)) return nullptr;
    }
    return have_same_loops(*now, *made, target_) ? made : nullptr;
  }

  static bool is_at_own_place(const Op& reader, const Source& value, const Expr& read) {
    if (reader.combiner != Combiner::none || reader.shape != value.op->shape) return false;
    for (size_t i = 0; i < reader.axes.size(); ++i) {
      const Expr& index = read->args[i];
      const bool is_axis = index->op == ExprOp::axis && index->name == reader.axes[i].name();
      if (!is_axis && reader.axes[i].extent() != Extent(1)) return false;
    }
    return true;
  }

  const Graph& grouped_;
  const Target& target_;
  const std::unordered_set<const Op*>& done_;
  const std::function<bool(const Op&)>& wanted_;
  const Readers readers_;
  std::unordered_map<const Op*, std::vector<const Op*>> computed_in_;  // of a value
  ValuesInSums found_;
};

}  // namespace

void add_computed(const ValuesInSums& values, const Graph& grouped,
                  std::unordered_set<const Op*>* done) {
  for (const OpPtr& op : grouped.ops()) {
    if (values.inlined.count(op->name) > 0 || values.readers.count(op.get()) > 0) {
      done->insert(op.get());
    }
  }
}

std::vector<const Op*> with_values(std::vector<const Op*> operations, const ValuesInSums& values) {
  for (const Op*& op : operations) {
    const auto computes = values.readers.find(op);
    if (computes != values.readers.end()) op = computes->second.get();
  }
  return operations;
}

ValuesInSums values_in_sums(const Graph& grouped, const Target& target,
                            const std::unordered_set<const Op*>& done,
                            const std::function<bool(const Op& value)>& wanted) {
  return ValueFinder(grouped, target, done, wanted).find();
}

}  // namespace emulsion

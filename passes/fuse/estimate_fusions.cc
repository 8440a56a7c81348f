#include "passes/fuse/estimate_fusions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dsl/error.h"
#include "dsl/types.h"
#include "passes/analyse/count_flops.h"
#include "passes/fuse/fused_group.h"

namespace emulsion {
namespace {

bool all_known(const std::vector<Extent>& extents, const SizeValues& sizes) {
  for (const Extent& extent : extents) {
    for (const auto& [size, coefficient] : extent.coefficients()) {
      if (!sizes.count(size)) return false;
    }
  }
  return true;
}

// As doubles, which do not overflow, and are exact as far as any tensor that fits into memory.
double bytes_of(const Op& op, const SizeValues& sizes) {
  double bytes = size_in_bytes(op.dtype);
  for (const Extent& extent : op.shape) {
    bytes *= static_cast<double>(std::max<int64_t>(0, extent.evaluate(sizes)));
  }
  return bytes;
}

constexpr double kMostBytes = 9e18;  // that an int64_t holds

int64_t whole_number(double value) { return static_cast<int64_t>(std::min(kMostBytes, value)); }

// What is one pass.
struct Pass {
  bool known = true;  // all sizes in it
  double operations = 0;
  double written = 0;                              // bytes
  double read = 0;                                 // bytes: the sum of `operands`
  std::unordered_map<const Op*, double> operands;  // bytes

  double bytes() const { return read + written; }
};

Pass pass_of(const Op& op, const SizeValues& sizes) {
  Pass pass;
  const std::vector<FlopTerm> flops = count_flops(op);
  pass.known = all_known(op.shape, sizes);
  for (const FlopTerm& term : flops) pass.known = pass.known && all_known(term.extents, sizes);
  for (const OpPtr& operand : operands(op)) {
    pass.known = pass.known && all_known(operand->shape, sizes);
    pass.operands[operand.get()] = pass.known ? bytes_of(*operand, sizes) : 0;
  }
  if (!pass.known) return pass;
  pass.operations = static_cast<double>(total_flops(flops, sizes));
  pass.written = bytes_of(op, sizes);
  for (const auto& [operand, bytes] : pass.operands) pass.read += bytes;
  pass.known = pass.bytes() < kMostBytes;
  return pass;
}

double seconds_of(const Pass& pass, const MachineModel& machine) {
  return machine.seconds(pass.operations, pass.bytes());
}

// Of several passes.
struct Sums {
  double seconds = 0, bytes = 0, operations = 0;

  void add(const Pass& pass, const MachineModel& machine) {
    seconds += seconds_of(pass, machine);
    bytes += pass.bytes();
    operations += pass.operations;
  }
};

// Nothing when a size is not known.
std::optional<Sums> sums_of(const std::vector<OpPtr>& ops, const MachineModel& machine,
                            const SizeValues& sizes) {
  Sums sums;
  for (const OpPtr& op : ops) {
    if (!is_computed(*op)) continue;
    const Pass pass = pass_of(*op, sizes);
    if (!pass.known) return std::nullopt;
    sums.add(pass, machine);
  }
  return sums;
}

// The passes so far, each at the place of the last op in it.
class Passes {
 public:
  Passes(const Graph& graph, const MachineModel& machine, const SizeValues& sizes)
      : machine_(machine), ops_(graph.ops()), passes_(ops_.size()) {
    for (size_t i = 0; i < ops_.size(); ++i) {
      const OpPtr& op = ops_[i];
      position_[op->name] = i;
      if (!is_computed(*op)) continue;
      passes_[i] = pass_of(*op, sizes);
      for (const auto& [operand, bytes] : passes_[i].operands) ++readers_[operand];
    }
    for (const OpPtr& output : graph.outputs()) ++readers_[output.get()];
  }

  // Fills in what the decision gains, and joins the two where it was taken.
  void decide(FusionDecision* decision) {
    if (is_read_through(*decision)) return read_through(decision);
    const size_t p = position_of(decision->producer), c = position_of(decision->consumer);
    Pass& producer = passes_[p];
    Pass& consumer = passes_[c];
    const bool siblings = is_of_siblings(*decision);
    // In loops that are not shared, what is between the two still stands between them.
    if (!siblings && !decision->fused && consumer.operands.count(op_at(p)) == 0) return;
    if (producer.known && consumer.known) {
      const double apart = producer.bytes() + consumer.bytes();
      const double bytes =
          siblings ? apart - shared(producer, consumer) : together(p, producer, consumer);
      estimate(bytes, siblings ? bytes : 0, producer, consumer, decision);
    }
    if (!decision->fused) return;
    if (siblings) {  // both results stay, and the first goes on as the pass of all
      join_siblings(&producer, &consumer);
      consumer = Pass();
    } else {
      join(p, &producer, &consumer);
      producer = Pass();
    }
  }

  // Every reader of a move, or of what has borders, reads what that reads, no more of it than the
  // move has. A value that several read is computed by each of them.
  void read_through(FusionDecision* decision) {
    std::vector<size_t> readers = {position_of(decision->consumer)};
    for (const std::string& name : decision->other_consumers) readers.push_back(position_of(name));
    const size_t at = position_of(decision->producer);
    Pass& move = passes_[at];
    Sums before, after;
    before.add(move, machine_);
    bool known = move.known;
    for (const size_t reader : readers) {
      known = known && passes_[reader].known;
      before.add(passes_[reader], machine_);
      Pass changed = passes_[reader];
      changed.read -= changed.operands[op_at(at)];
      changed.operands.erase(op_at(at));
      changed.operations += move.operations;
      for (const auto& [source, bytes] : move.operands) {
        const double part = std::min(bytes, move.written);
        if (!changed.operands.emplace(source, part).second) continue;
        changed.read += part;
        if (decision->fused) ++readers_[source];
      }
      after.add(changed, machine_);
      if (decision->fused) passes_[reader] = std::move(changed);
    }
    if (known) {
      const double again = move.operations * static_cast<double>(readers.size() - 1);
      decision->gain = {whole_number(before.bytes - after.bytes), before.seconds, after.seconds,
                        whole_number(again)};
    }
    if (!decision->fused) return;
    for (const auto& [source, bytes] : move.operands) --readers_[source];
    move = Pass();
  }

  // Of all passes; nothing when a size is not known.
  std::optional<Sums> sums() const {
    Sums sums;
    for (const Pass& pass : passes_) {
      if (!pass.known) return std::nullopt;
      sums.add(pass, machine_);
    }
    return sums;
  }

 private:
  size_t position_of(const std::string& name) const {
    const auto found = position_.find(name);
    EMULSION_CHECK(found != position_.end(), "the report names {}, the graph does not", name);
    return found->second;
  }

  const Op* op_at(size_t position) const { return ops_[position].get(); }

  // Bytes that both read: once, when they are one.
  static double shared(const Pass& a, const Pass& b) {
    const bool a_is_less = a.operands.size() < b.operands.size();
    const auto& few = a_is_less ? a.operands : b.operands;
    const auto& many = a_is_less ? b.operands : a.operands;
    double bytes = 0;
    for (const auto& [operand, size] : few) bytes += many.count(operand) ? size : 0;
    return bytes;
  }

  // Of an operation, by a pass: none of a result beside it that it does not need.
  double bytes_read(size_t p, const Pass& consumer) const {
    const auto found = consumer.operands.find(op_at(p));
    return found == consumer.operands.end() ? 0 : found->second;
  }
  // Whether others than the pass need it.
  bool is_kept(size_t p, const Pass& consumer) const {
    const int own = consumer.operands.count(op_at(p)) > 0 ? 1 : 0;
    return readers_.at(op_at(p)) > own;
  }

  // The bytes of the pass that both are together.
  double together(size_t p, const Pass& producer, const Pass& consumer) const {
    const bool others_read_it = is_kept(p, consumer);
    return producer.read + consumer.bytes() - bytes_read(p, consumer) - shared(producer, consumer) +
           (others_read_it ? producer.written : 0);
  }

  // `bytes`: of the pass that both are together. `touched`: what both go through one by one, which
  // of siblings is the same, so that what one reads is no nearer than it is for both.
  void estimate(double bytes, double touched, const Pass& producer, const Pass& consumer,
                FusionDecision* decision) const {
    FusionGain gain;
    gain.bytes_saved = whole_number(producer.bytes() + consumer.bytes() - bytes);
    for (const Pass* pass : {&producer, &consumer}) {
      gain.seconds_before += machine_.seconds(pass->operations, pass->bytes(), touched);
    }
    gain.seconds_after = machine_.seconds(producer.operations + consumer.operations, bytes);
    decision->gain = gain;
  }

  void join(size_t p, Pass* producer, Pass* consumer) {
    if (is_kept(p, *consumer)) consumer->written += producer->written;
    consumer->read += producer->read - bytes_read(p, *consumer) - shared(*producer, *consumer);
    for (const auto& [operand, size] : producer->operands) {
      if (consumer->operands.count(operand)) --readers_[operand];
    }
    consumer->operands.erase(op_at(p));
    consumer->operations += producer->operations;
    consumer->known = consumer->known && producer->known;
    if (producer->operands.size() > consumer->operands.size()) {  // few go to many
      std::swap(producer->operands, consumer->operands);
    }
    consumer->operands.insert(producer->operands.begin(), producer->operands.end());
  }

  void join_siblings(Pass* first, Pass* sibling) {
    first->read += sibling->read - shared(*first, *sibling);
    for (const auto& [operand, size] : sibling->operands) {
      if (first->operands.count(operand)) --readers_[operand];
    }
    first->written += sibling->written;
    first->operations += sibling->operations;
    first->known = first->known && sibling->known;
    first->operands.insert(sibling->operands.begin(), sibling->operands.end());
  }

  const MachineModel& machine_;
  const std::vector<OpPtr>& ops_;
  std::unordered_map<std::string, size_t> position_;
  std::vector<Pass> passes_;  // empty: of an argument, and of what went into another
  std::unordered_map<const Op*, int> readers_;  // passes, and the graph's own caller
};

}  // namespace

FusionReport estimate_fusions(const Graph& graph, FusionReport report, const MachineModel& machine,
                              const SizeValues& sizes) {
  check_machine_model(machine);
  Passes passes(graph, machine, sizes);
  const auto before = passes.sums();
  for (FusionDecision& decision : report.decisions) passes.decide(&decision);
  const auto after = passes.sums();
  if (before && after) {
    report.gain = {whole_number(before->bytes - after->bytes), before->seconds, after->seconds};
  }
  return report;
}

std::optional<FusionGain> estimate_change(const std::vector<OpPtr>& before,
                                          const std::vector<OpPtr>& after,
                                          const MachineModel& machine, const SizeValues& sizes) {
  const std::optional<Sums> was = sums_of(before, machine, sizes);
  const std::optional<Sums> now = sums_of(after, machine, sizes);
  if (!was || !now) return std::nullopt;
  FusionGain gain{whole_number(was->bytes - now->bytes), was->seconds, now->seconds};
  gain.operations_added = whole_number(now->operations - was->operations);
  return gain;
}

}  // namespace emulsion

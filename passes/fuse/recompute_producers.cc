#include "passes/fuse/recompute_producers.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "dsl/error.h"
#include "passes/fuse/estimate_fusions.h"
#include "passes/fuse/fused_group.h"
#include "passes/fuse/fusion_legality.h"
#include "passes/rewrite/graph_names.h"

namespace emulsion {
namespace {

using Reason = FusionLegality::Reason;

bool reads(const Op& reader, const Op& op) {
  const std::vector<OpPtr> read = operands(reader);
  return std::any_of(read.begin(), read.end(),
                     [&](const OpPtr& operand) { return operand.get() == &op; });
}

// All names of a graph, and those of copies that may come to be.
class Names {
 public:
  explicit Names(const Graph& graph) : taken_(names_of(graph)) {}

  std::string of_copy(const std::string& of, const std::string& in) {
    constexpr size_t kRoom = 56;  // of the 128 characters of a name, for each, and for a number
    proposed_.push_back(take_name(of.substr(0, kRoom) + "_in_" + in.substr(0, kRoom), &taken_));
    return proposed_.back();
  }
  void keep() { proposed_.clear(); }
  void drop() {
    for (const std::string& name : proposed_) taken_.erase(name);
    proposed_.clear();
  }

 private:
  std::set<std::string> taken_;
  std::vector<std::string> proposed_;
};

// `user`, which reads `original`, with copies of `producer`, which took its place: one for each of
// its comprehensions that does, so that what is in a group has one reader.
OpPtr with_copies(const OpPtr& producer, const OpPtr& original, const OpPtr& user, Names* names) {
  std::vector<OpPtr> members;
  Replaced replaced;
  for (const OpPtr& reader : comprehensions(user)) {
    if (reads(*reader, *original)) {
      Replaced copies;
      for (const OpPtr& part : comprehensions(producer)) {
        auto copy = std::make_shared<Op>(*rewired(part, copies));
        copy->name = names->of_copy(part->name, reader->name);
        copies[part.get()] = copy;
        members.push_back(std::move(copy));
      }
      replaced[original.get()] = members.back();
    }
    append_members(reader, &members, &replaced);
  }
  return make_group(std::move(members));
}

// One look at every value of a graph, producers first.
class Sweep {
 public:
  Sweep(const Graph& graph, const MachineModel& machine, const SizeValues& sizes)
      : graph_(graph),
        machine_(machine),
        sizes_(sizes),
        legality_(graph),
        names_(graph),
        current_(graph.ops()),
        users_(graph.ops().size()),
        is_gone_(graph.ops().size(), false) {
    std::unordered_map<const Op*, size_t> position;
    for (size_t i = 0; i < current_.size(); ++i) {
      position[current_[i].get()] = i;
      for (const OpPtr& operand : operands(*current_[i])) {
        users_[position.at(operand.get())].push_back(i);
      }
    }
  }

  // Decisions are appended to these.
  Graph run(const RecomputePolicy& policy, std::vector<FusionDecision>* taken,
            std::vector<FusionDecision>* refused) {
    const std::vector<OpPtr>& ops = graph_.ops();
    Replaced replaced;
    for (size_t i = 0; i < ops.size(); ++i) {
      keep(i, rewired(current_[i], replaced));
      if (is_computed(*ops[i]) && legality_.readers_of(*ops[i]).size() > 1) {
        FusionDecision decision = decide(i, policy);
        (decision.fused ? taken : refused)->push_back(std::move(decision));
      }
      if (!is_gone_[i] && current_[i] != ops[i]) replaced[ops[i].get()] = current_[i];
    }
    if (replaced.empty()) return graph_;
    std::vector<OpPtr> left, outputs;
    for (size_t i = 0; i < ops.size(); ++i) {
      if (!is_gone_[i]) left.push_back(current_[i]);
    }
    for (const OpPtr& output : graph_.outputs()) {
      const auto found = replaced.find(output.get());
      outputs.push_back(found == replaced.end() ? output : found->second);
    }
    return Graph(std::move(left), std::move(outputs));
  }

  // Why the value there cannot be computed again in each of its readers, or these with copies.
  Reason why_not(size_t at, std::vector<OpPtr>* fused) {
    const OpPtr &original = graph_.ops()[at], &producer = current_[at];
    ExprSize written;
    if (is_computed(*producer)) written = FusionLegality::written_out(*producer, {});
    if (Reason reason = legality_.why_not_recomputed(*original, written)) return reason;
    for (const size_t user : users_[at]) {
      if (Reason reason = legality_.why_not_pair(*original, *current_[user])) return reason;
    }
    for (const size_t user : users_[at]) {
      fused->push_back(with_copies(producer, original, current_[user], &names_));
      const ExprSize size = FusionLegality::written_out(*fused->back(), {});
      if (Reason reason = FusionLegality::why_not_size(*original, *current_[user], size)) {
        return reason;
      }
    }
    return std::nullopt;
  }

 private:
  // The legality remembers operations by their addresses, so none may be freed before it.
  void keep(size_t at, OpPtr op) {
    kept_.push_back(op);
    current_[at] = std::move(op);
  }

  FusionDecision decide(size_t at, const RecomputePolicy& policy) {
    const OpPtr& original = graph_.ops()[at];
    std::vector<OpPtr> users, before = {current_[at]}, fused;
    for (const size_t user : users_[at]) users.push_back(current_[user]);
    before.insert(before.end(), users.begin(), users.end());
    FusionDecision decision{original->name, users[0]->name, false, "", ""};
    for (size_t i = 1; i < users.size(); ++i) decision.other_consumers.push_back(users[i]->name);
    if (legality_.pattern_of(*original) == kElementwiseChain) decision.pattern = kRecomputedValues;
    Reason reason = why_not(at, &fused);
    if (!reason) {
      decision.gain = estimate_change(before, fused, machine_, sizes_);
      const auto unwanted =
          policy({*original, users, fused, legality_.readers_of(*original), decision.gain});
      if (unwanted) {
        reason = unwanted->reason;
        decision.measured = unwanted->measured;
      }
    }
    decision.fused = !reason;
    decision.reason = reason.value_or("");
    if (reason) {
      names_.drop();
      return decision;
    }
    names_.keep();
    is_gone_[at] = true;
    for (size_t i = 0; i < fused.size(); ++i) keep(users_[at][i], fused[i]);
    return decision;
  }

  const Graph& graph_;
  const MachineModel& machine_;
  const SizeValues& sizes_;
  FusionLegality legality_;
  Names names_;
  // What stands for each operation of the graph by now. Until its turn comes, it still reads the
  // operations of the graph.
  std::vector<OpPtr> current_;
  std::vector<std::vector<size_t>> users_;
  std::vector<bool> is_gone_;
  std::vector<OpPtr> kept_;
};

}  // namespace

std::optional<std::string> why_not_recomputed(const Graph& graph, const Op& producer) {
  const std::vector<OpPtr>& ops = graph.ops();
  const auto found =
      std::find_if(ops.begin(), ops.end(), [&](const OpPtr& op) { return op.get() == &producer; });
  EMULSION_CHECK(found != ops.end(), "{} is none of the graph's operations", producer.name);
  std::vector<OpPtr> fused;
  const MachineModel machine;  // which nobody asks
  return Sweep(graph, machine, {}).why_not(static_cast<size_t>(found - ops.begin()), &fused);
}

std::optional<FusionRefusal> recompute_what_pays(const RecomputeCandidate& candidate) {
  const Op& producer = candidate.producer;
  if (!candidate.gain) {
    return FusionRefusal(fmt::format("expected sizes that are known, got {} of shape {}",
                                     producer.name, to_string(producer.shape)));
  }
  constexpr double kLeastGain = 1.05;
  if (candidate.gain->speed_up() >= kLeastGain) return std::nullopt;
  return FusionRefusal(
      fmt::format("expected to be {} times as fast by the model when {} is computed in {} places, "
                  "got {:.2f} times",
                  kLeastGain, producer.name, candidate.readers.size(), candidate.gain->speed_up()));
}

Graph recompute_producers(const Graph& graph, const MachineModel& machine,
                          const RecomputePolicy& policy, FusionReport* report,
                          const SizeValues& sizes) {
  check_machine_model(machine);
  std::vector<FusionDecision> taken, refused;
  Graph result = graph;
  for (bool changed = true; changed;) {
    refused.clear();
    const size_t before = taken.size();
    result = Sweep(result, machine, sizes).run(policy, &taken, &refused);
    changed = taken.size() > before;
  }
  if (report == nullptr) return result;
  report->decisions = std::move(taken);
  report->decisions.insert(report->decisions.end(), refused.begin(), refused.end());
  report->gain = estimate_change(graph.ops(), result.ops(), machine, sizes);
  return result;
}

}  // namespace emulsion

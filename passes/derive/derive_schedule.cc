#include "passes/derive/derive_schedule.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "dsl/error.h"
#include "dsl/schedule_axes.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/derive_tiles.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/read_through.h"
#include "passes/derive/sibling_loops.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/fuse/fusion_legality.h"
#include "passes/rewrite/graph_names.h"

namespace emulsion {
namespace {

void derive_op(const Op& op, const Target& target, const DeriveOptions& options,
               Schedule* schedule) {
  switch (classify(op)) {
    case OpClass::contraction:
      if (derive_contraction({&op, &op}, target, options, schedule)) return;
      return derive_reduction(op, target, schedule);
    case OpClass::reduction:
      return derive_reduction(op, target, schedule);
    case OpClass::elementwise:
    case OpClass::data_movement:
      return derive_pointwise(op, target, schedule);
  }
}

// Whether sums that have no register tiles can be in registers while `result`, which reads them at
// its own places, is computed.
bool can_wait_in_registers(const Op& sums, const Op& result, const Target& target) {
  return !has_register_tiles(sums) && keeps_sums_in_registers(sums, target) &&
         !combines_many_rows(sums, target) && !crosses(result, target);
}

void derive_group(const Op& group, const Target& target, const DeriveOptions& options,
                  Schedule* schedule) {
  const Op* contraction = nullptr;
  for (const OpPtr& member : group.members) {
    if (member->combiner != Combiner::none) contraction = member.get();
  }
  const Op* result = group.members.back().get();
  if (!fits_one_expression(group)) {
    for (const OpPtr& member : group.members) derive_op(*member, target, options, schedule);
    return;
  }
  inline_members(group, contraction, schedule);
  if (contraction && derive_contraction({contraction, result}, target, options, schedule)) return;
  if (contraction && can_wait_in_registers(*contraction, *result, target)) {
    return derive_shared_sums(*contraction, *result, target, schedule);
  }
  if (contraction) derive_op(*contraction, target, options, schedule);
  derive_pointwise(*result, target, schedule);
}

// Nothing to derive: and a loop that shares out no iterations would be divided by its extent.
bool is_always_empty(const Op& op) {
  return std::find(op.shape.begin(), op.shape.end(), Extent(0)) != op.shape.end();
}

struct SumsAndReader {
  const Op *sums, *reader;
};

// Sums that can be in registers while what alone reads them is computed there.
std::vector<SumsAndReader> sums_with_readers(const Graph& grouped, const Target& target) {
  const Readers readers(grouped);
  std::vector<SumsAndReader> found;
  for (const OpPtr& op : grouped.ops()) {
    if (op->kind != OpKind::compute || op->combiner == Combiner::none || is_always_empty(*op)) {
      continue;
    }
    const std::vector<const Op*>* const reading = readers.only_readers(*op);
    if (reading == nullptr || reading->size() != 1) continue;
    const Op& reader = *reading->front();
    if (!fits_one_expression(reader)) continue;
    if (sums_of(reader) != nullptr || !can_wait_in_registers(*op, result_of(reader), target)) {
      continue;
    }
    if (reads_at_own_place(*op, reader)) found.push_back({op.get(), &reader});
  }
  return found;
}

// The sums, and what reads them at its own places.
void derive_with_reader(const Op& sums, const Op& reader, const Target& target,
                        Schedule* schedule) {
  const Op& result = result_of(reader);
  inline_members(reader, nullptr, schedule);
  derive_shared_sums(sums, result, target, schedule);
}

// Of what has loops of its own: nothing in `done`.
std::vector<std::vector<OpPtr>> siblings_of(const Graph& grouped, const Target& target,
                                            const DeriveOptions& options,
                                            const std::unordered_set<const Op*>& done,
                                            FusionReport* report) {
  const SiblingPolicy wanted = wanted_siblings(options, target);
  const auto policy = [&](const SiblingCandidate& candidate) -> std::optional<std::string> {
    const Op &first = *candidate.group[0], &sibling = *candidate.sibling;
    for (const Op* op : {&first, &sibling}) {
      if (!done.count(op)) continue;
      return fmt::format("expected loops of its own for {}, got those of what it is computed in",
                         op->name);
    }
    if (auto reason = why_not_share_loops(first, sibling, target)) return reason;
    return wanted(candidate);
  };
  return find_siblings(grouped, policy, report);
}

// Asks whether operations are wanted in loops of another, and writes down what was decided.
class LoopDecisions {
 public:
  explicit LoopDecisions(const LoopPolicy& policy) : policy_(policy) {}

  // `operations`: the last one first, each behind all that read it.
  bool wants(const std::string& pattern, const std::vector<const Op*>& operations) {
    const std::optional<std::string> reason = policy_({pattern, operations});
    for (size_t i = 1; i < operations.size(); ++i) {
      loops_.push_back(
          {operations[i]->name, operations[0]->name, !reason, reason.value_or(""), pattern});
    }
    return !reason;
  }
  bool wants_through(const Op& move) {
    const std::string pattern = kReadThrough;
    const std::vector<const Op*> operations = {&move};
    const std::optional<std::string> reason = policy_({pattern, operations});
    if (reason) refused_[move.name] = *reason;
    return !reason;
  }

  // `inlined`: the moves that are read through, by name.
  void add_to(const Graph& grouped, const std::set<std::string>& inlined, FusionReport* report) {
    std::unordered_map<const Op*, size_t> place;  // of a move's decision
    std::vector<FusionDecision> moves;
    for (const OpPtr& op : grouped.ops()) {
      for (const OpPtr& operand : operands(*op)) {
        const auto move = place.find(operand.get());
        if (move == place.end()) continue;
        FusionDecision& decision = moves[move->second];
        if (decision.consumer.empty()) {
          decision.consumer = op->name;
        } else {
          decision.other_consumers.push_back(op->name);
        }
      }
      const auto refused = refused_.find(op->name);
      const bool is_through = inlined.count(op->name) > 0;
      if (!is_through && refused == refused_.end()) continue;
      place[op.get()] = moves.size();
      moves.push_back({op->name, "", is_through, is_through ? "" : refused->second, kReadThrough});
    }
    for (FusionDecision& decision : moves) {
      if (!decision.consumer.empty()) report->decisions.push_back(std::move(decision));
    }
    report->decisions.insert(report->decisions.end(), loops_.begin(), loops_.end());
  }

 private:
  const LoopPolicy& policy_;
  std::map<std::string, std::string> refused_;  // moves, and why
  std::vector<FusionDecision> loops_;
};

}  // namespace

void inline_members(const Op& group, const Op* sums, Schedule* schedule) {
  for (const OpPtr& member : group.members) {
    if (member.get() == sums || member == group.members.back()) continue;
    (*schedule)[member->name].compute_inline();
  }
}

bool fits_one_expression(const Op& op) {
  return op.kind != OpKind::fused ||
         FusionLegality::written_out(op, {}).nodes <= FusionLegality::kMostOperations;
}

std::vector<Axis> copy_axes(const Op& operand) {
  if (operand.kind == OpKind::fused) return operand.members.back()->axes;
  if (operand.kind == OpKind::compute) return operand.axes;
  std::vector<Axis> axes;
  for (const std::string& name : numbered_axes(operand.shape.size())) axes.emplace_back(name);
  return axes;
}

std::string fresh_axis(const Op& op, const std::string& wanted) {
  auto taken = [&](const std::string& name) {
    return axis_index(op.axes, name) || axis_index(op.reduction_axes, name);
  };
  std::string name = wanted;
  for (int i = 1; taken(name); ++i) name = wanted + std::to_string(i);
  return name;
}

std::string fresh_stage(const Schedule& schedule, const std::string& wanted) {
  std::set<std::string> taken = names_of(schedule.graph());
  for (const auto& [name, stage] : schedule.stages()) taken.insert(name);
  std::string name = wanted;
  for (int i = 1; taken.count(name); ++i) name = wanted + std::to_string(i);
  return name;
}

SiblingPolicy wanted_siblings(const DeriveOptions& options, const Target& target) {
  if (options.siblings) return *options.siblings;
  return [target](const SiblingCandidate& candidate) {
    return why_not_worth_sharing(candidate, target);
  };
}

Schedule derive_schedule(const Graph& graph, const Target& target, const DeriveOptions& options) {
  return derive_schedule(graph, options.fuse ? fuse_epilogues(graph) : graph, target, options);
}

Schedule derive_schedule(const Graph& graph, const Graph& as_grouped, const Target& target,
                         const DeriveOptions& options, FusionReport* report) {
  if (target.is_tile_machine()) return derive_tiles(graph, as_grouped, *target.tiles);
  Schedule schedule(graph);
  LoopDecisions loops(options.loops);
  const auto [grouped, moves] =
      options.fuse ? read_through(as_grouped, target,
                                  [&](const Op& move) { return loops.wants_through(move); })
                   : ReadThrough{as_grouped, {}};
  std::set<std::string> inlined = transposed_weights(grouped);
  std::unordered_set<const Op*> done;
  if (options.fuse) {
    for (const WindowChain& chain : window_chains(grouped, target)) {
      std::vector<const Op*> members = {chain.reader};
      for (const WindowChain::Producer& producer : chain.producers) members.push_back(producer.op);
      if (!loops.wants(kSlidingWindows, members)) continue;
      derive_windows(chain, target, &schedule);
      done.insert(members.begin(), members.end());
    }
  }
  for (const std::string& name : moves) {
    const OpPtr* op = grouped.find(name);
    if (op != nullptr && done.count(op->get())) continue;  // in a window of its readers
    inlined.insert(name);
  }
  for (const std::string& name : inlined) {
    schedule[name].compute_inline();
    if (const OpPtr* op = grouped.find(name)) done.insert(op->get());
  }
  if (options.fuse) {
    for (const BlockGroup& blocks : row_blocks(grouped, target, done)) {
      const std::vector<const Op*> members = members_of(blocks);
      if (!loops.wants(kSharedRows, members)) continue;
      derive_row_blocks(blocks, target, options, &schedule);
      done.insert(members.begin(), members.end());
    }
    for (const RowGroup& group : row_groups(grouped, target, done)) {
      const std::vector<const Op*> members = members_of(group);
      if (!loops.wants(kSharedRows, members)) continue;
      derive_rows(group, target, &schedule);
      done.insert(members.begin(), members.end());
    }
    for (const auto& [sums, reader] : sums_with_readers(grouped, target)) {
      if (done.count(reader) || done.count(sums)) continue;
      if (!loops.wants(kWaitingSums, {reader, sums})) continue;
      derive_with_reader(*sums, *reader, target, &schedule);
      done.insert({reader, sums});
    }
    if (report != nullptr) loops.add_to(as_grouped, inlined, report);
    for (const std::vector<OpPtr>& group : siblings_of(grouped, target, options, done, report)) {
      derive_siblings(group, target, &schedule);
      for (const OpPtr& op : group) done.insert(op.get());
    }
  }
  for (const OpPtr& op : grouped.ops()) {
    if (is_always_empty(*op) || done.count(op.get())) continue;
    if (op->kind == OpKind::fused) {
      derive_group(*op, target, options, &schedule);
    } else if (op->kind == OpKind::compute) {
      derive_op(*op, target, options, &schedule);
    }
  }
  return schedule;
}

std::vector<Schedule> derive_schedules(const Graph& graph, const std::vector<Target>& targets,
                                       const DeriveOptions& options) {
  std::vector<Schedule> schedules;
  DeriveOptions same_layout = options;
  for (const Target& target : targets) {
    schedules.push_back(derive_schedule(graph, target, same_layout));
    keep_layout(schedules.back(), &same_layout);
  }
  return schedules;
}

void keep_layout(const Schedule& schedule, DeriveOptions* options) {
  for (const auto& [name, stage] : schedule.stages()) {
    for (const Directive& d : stage.directives()) {
      if (d.kind == DirectiveKind::pack) options->panels.emplace(d.target, d.factor);
    }
  }
}

}  // namespace emulsion

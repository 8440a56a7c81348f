#include "passes/derive/share_loops.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "passes/derive/loop_groups.h"

namespace emulsion {
namespace {

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

// The groups on their way, in names: what is decided is decided of a graph in which moves are read
// through.
class Groups {
 public:
  // `operations`: the last one first.
  void add(LoopGroupKind kind, const std::vector<const Op*>& operations, size_t axes) {
    for (const Op* op : operations) group_of_[op->name] = groups_.size();
    groups_.push_back({kind, {}, axes});
    last_.push_back(operations.front()->name);
  }

  // A move that is read through between two members is one of them, or the group would need what is
  // outside of it, and that needs the group.
  std::vector<LoopGroup> of(const Graph& grouped, const std::set<std::string>& inlined) {
    for (const OpPtr& op : grouped.ops()) {
      auto group = group_of_.find(op->name);
      if (group == group_of_.end() && inlined.count(op->name) > 0) {
        const auto source = group_of_.find(operands(*op)[0]->name);
        if (source == group_of_.end() || last_[source->second] == source->first) continue;
        group = group_of_.emplace(op->name, source->second).first;
      }
      if (group != group_of_.end()) groups_[group->second].members.push_back(op);
    }
    return std::move(groups_);
  }

 private:
  std::unordered_map<std::string, size_t> group_of_;
  std::vector<LoopGroup> groups_;
  std::vector<std::string> last_;
};

}  // namespace

Graph share_loops(const Graph& grouped, const Target& target, const LoopPolicy& policy,
                  FusionReport* report) {
  LoopDecisions decisions(policy);
  const ReadThrough through =
      read_through(grouped, target, [&](const Op& move) { return decisions.wants_through(move); });
  Groups groups;
  std::unordered_set<const Op*> done;
  const auto share = [&](const char* pattern, LoopGroupKind kind,
                         const std::vector<const Op*>& operations, size_t axes) {
    if (!decisions.wants(pattern, operations)) return;
    groups.add(kind, operations, axes);
    done.insert(operations.begin(), operations.end());
  };
  for (const WindowChain& chain : window_chains(through.graph, target)) {
    share(kSlidingWindows, LoopGroupKind::windows, members_of(chain), chain.row + 1);
  }
  const std::set<std::string> inlined = inlined_moves(through, done);
  for (const std::string& name : inlined) {
    if (const OpPtr* op = through.graph.find(name)) done.insert(op->get());
  }
  for (const BlockGroup& blocks : row_blocks(through.graph, target, done)) {
    share(kSharedRows, LoopGroupKind::row_blocks, members_of(blocks), blocks.rows.rows);
  }
  for (const RowGroup& rows : row_groups(through.graph, target, done)) {
    share(kSharedRows, LoopGroupKind::rows, members_of(rows), rows.rows);
  }
  for (const WaitingSums& waiting : waiting_sums(through.graph, target)) {
    if (done.count(waiting.reader) || done.count(waiting.sums)) continue;
    share(kWaitingSums, LoopGroupKind::waiting_sums, members_of(waiting),
          waiting.sums->shape.size());
  }
  if (report != nullptr) decisions.add_to(grouped, inlined, report);
  return with_loop_groups(grouped, groups.of(grouped, inlined));
}

Graph with_loop_groups(const Graph& graph, const std::vector<LoopGroup>& groups) {
  if (groups.empty() && graph.loop_groups().empty()) return graph;
  std::unordered_map<const Op*, const LoopGroup*> ends, inside;
  for (const LoopGroup& group : groups) {
    for (const OpPtr& member : group.members) inside[member.get()] = &group;
    if (!group.members.empty()) ends[group.members.back().get()] = &group;
  }
  std::vector<OpPtr> ops;
  std::vector<LoopGroup> in_order;
  for (const OpPtr& op : graph.ops()) {
    const auto end = ends.find(op.get());
    if (end != ends.end()) {
      ops.insert(ops.end(), end->second->members.begin(), end->second->members.end());
      in_order.push_back(*end->second);
    } else if (inside.count(op.get()) == 0) {
      ops.push_back(op);
    }
  }
  Graph result(std::move(ops), graph.outputs(), std::move(in_order));
  verify_graph(result);
  return result;
}

}  // namespace emulsion

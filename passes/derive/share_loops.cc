#include "passes/derive/share_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "passes/derive/loop_groups.h"
#include "passes/derive/normal_axes.h"
#include "passes/derive/read_borders.h"
#include "passes/derive/small_rows.h"
#include "passes/derive/values_in_sums.h"
#include "passes/fuse/fused_group.h"

namespace emulsion {
namespace {

// Asks whether operations are wanted in loops of another, and writes down what was decided.
class LoopDecisions {
 public:
  explicit LoopDecisions(const LoopPolicy& policy) : policy_(policy) {}

  // `operations`: the last one first, each behind all that read it.
  bool wants(const std::string& pattern, const std::vector<const Op*>& operations) {
    for (size_t i = 1; i < operations.size(); ++i) said_of_.insert(operations[i]->name);
    return wanted_in_loops(pattern, operations, policy_, &loops_);
  }
  // The same, and nothing is written down.
  bool would_want(const std::string& pattern, const std::vector<const Op*>& operations) const {
    std::vector<FusionDecision> not_kept;
    return wanted_in_loops(pattern, operations, policy_, &not_kept);
  }
  bool wants_through(const Op& move) {
    const auto refusal = unwanted_through(kReadThrough, move, policy_);
    if (refusal) refuse_through(move.name, kReadThrough, *refusal);
    return !refusal;
  }
  // Of what is read through, by one of two patterns.
  void take_through(const std::string& name, const std::string& pattern) {
    through_.insert_or_assign(name, Through{pattern, std::nullopt});
  }
  void refuse_through(const std::string& name, const std::string& pattern, FusionRefusal refusal) {
    through_.insert_or_assign(name, Through{pattern, std::move(refusal)});
  }

  void decline(const DeclinedLayer& layer) {
    said_of_.insert(layer.layer->name);
    loops_.push_back({layer.layer->name, layer.reader->name, false, layer.reason, kLayerBlocks});
  }
  // Of what is in no other loops.
  void decline(const DeclinedRows& rows) {
    for (size_t i = 1; i < rows.members.size(); ++i) {
      could_be({rows.members[i]->name, rows.members[0]->name, false, rows.reason, kSharedRows});
      said_of_.insert(rows.members[i]->name);
    }
  }
  // Unless something was said of it already.
  void could_be(FusionDecision decision) {
    if (said_of_.count(decision.producer) == 0) loops_.push_back(std::move(decision));
  }

  void add_to(const Graph& grouped, FusionReport* report) {
    std::unordered_map<const Op*, size_t> place;  // of the decision on what may be read through
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
      const auto through = through_.find(op->name);
      if (through == through_.end()) continue;
      place[op.get()] = moves.size();
      const auto& [pattern, refusal] = through->second;
      moves.push_back({op->name, "", !refusal, refusal ? refusal->reason : "", pattern,
                       refusal && refusal->measured});
    }
    for (FusionDecision& decision : moves) {
      if (!decision.consumer.empty()) report->decisions.push_back(std::move(decision));
    }
    report->decisions.insert(report->decisions.end(), loops_.begin(), loops_.end());
  }

 private:
  struct Through {
    std::string pattern;
    std::optional<FusionRefusal> refusal;
  };

  const LoopPolicy& policy_;
  std::map<std::string, Through> through_;  // by name
  std::vector<FusionDecision> loops_;
  std::unordered_set<std::string> said_of_;  // as producers
};

// The groups on their way, in names: what is decided is decided of a graph in which moves are read
// through.
class Groups {
 public:
  void add(LoopGroupKind kind, const std::vector<const Op*>& operations, std::vector<size_t> axes) {
    for (const Op* op : operations) group_of_[op->name] = groups_.size();
    groups_.push_back({kind, {}, std::move(axes)});
  }

  bool are_together(const Op& a, const Op& b) const {
    const auto of_a = group_of_.find(a.name), of_b = group_of_.find(b.name);
    return of_a != group_of_.end() && of_b != group_of_.end() && of_a->second == of_b->second;
  }
  bool is_in_rows(const Op& op) const {
    const auto found = group_of_.find(op.name);
    return found != group_of_.end() && groups_[found->second].kind == LoopGroupKind::rows;
  }

  // A move that is read through between two members is one of them, or the group would need what is
  // outside of it, and that needs the group.
  std::vector<LoopGroup> of(const Graph& grouped, const std::set<std::string>& inlined) {
    const std::unordered_map<const Op*, size_t> moves = moves_between(grouped, inlined);
    for (const OpPtr& op : grouped.ops()) {
      const auto group = group_of_.find(op->name);
      const auto move = moves.find(op.get());
      if (group != group_of_.end()) groups_[group->second].members.push_back(op);
      if (move != moves.end()) groups_[move->second].members.push_back(op);
    }
    return std::move(groups_);
  }

 private:
  // Those of which a member is the source, and one the reader.
  std::unordered_map<const Op*, size_t> moves_between(const Graph& grouped,
                                                      const std::set<std::string>& inlined) const {
    std::unordered_map<const Op*, std::set<size_t>> behind;  // a member of these
    for (const OpPtr& op : grouped.ops()) {
      if (group_of_.count(op->name) > 0 || inlined.count(op->name) == 0) continue;
      for (const OpPtr& operand : operands(*op)) {
        const auto source = group_of_.find(operand->name);
        const auto move = behind.find(operand.get());
        if (move != behind.end()) behind[op.get()].insert(move->second.begin(), move->second.end());
        if (source != group_of_.end()) behind[op.get()].insert(source->second);
      }
    }
    std::unordered_map<const Op*, size_t> between;
    for (auto op = grouped.ops().rbegin(); op != grouped.ops().rend(); ++op) {
      const auto group = group_of_.find((*op)->name);
      const auto move = between.find(op->get());
      if (group == group_of_.end() && move == between.end()) continue;
      const size_t reader = group == group_of_.end() ? move->second : group->second;
      for (const OpPtr& operand : operands(**op)) {
        const auto source = behind.find(operand.get());
        if (source == behind.end() || source->second.count(reader) == 0) continue;
        between.emplace(operand.get(), reader);
      }
    }
    return between;
  }

  std::unordered_map<std::string, size_t> group_of_;
  std::vector<LoopGroup> groups_;
};

// Those of declined rows that are not in loops of another kind; none where the last one is.
DeclinedRows without(const std::unordered_set<const Op*>& done, DeclinedRows rows) {
  std::vector<const Op*>& members = rows.members;
  if (done.count(members.front()) > 0) members.resize(1);
  members.erase(std::remove_if(members.begin() + 1, members.end(),
                               [&](const Op* op) { return done.count(op) > 0; }),
                members.end());
  return rows;
}

// The sums that wait, and the values that sums compute. Of sums that no longer can wait when they
// compute values, the reader has loops of its own.
std::pair<std::vector<WaitingSums>, ValuesInSums> waiting_with_values(
    const Graph& graph, const Target& target, const std::unordered_set<const Op*>& done,
    LoopDecisions* decisions) {
  std::vector<WaitingSums> waiting;
  for (const WaitingSums& sums : waiting_sums(graph, target)) {
    const std::vector<const Op*> members = members_of(sums);
    const auto is_done = [&](const Op* op) { return done.count(op) > 0; };
    if (std::any_of(members.begin(), members.end(), is_done)) continue;
    if (decisions->would_want(kWaitingSums, members)) {
      waiting.push_back(sums);
    } else {
      decisions->wants(kWaitingSums, members);  // writes down why not
    }
  }
  for (;;) {
    std::unordered_set<const Op*> computed = done;  // but for sums that wait
    for (const WaitingSums& sums : waiting) computed.insert(sums.reader);
    ValuesInSums values = values_in_sums(
        graph, target, computed, [&](const Op& value) { return decisions->wants_through(value); });
    const auto left = std::remove_if(waiting.begin(), waiting.end(), [&](const WaitingSums& sums) {
      if (can_wait_with(values, sums, target)) return false;
      for (const Op* op : sums.sums) {
        decisions->could_be(
            {op->name, sums.reader->name, false,
             fmt::format("threads share the rows of {}, which computes what it reads", op->name),
             kWaitingSums});
      }
      return true;
    });
    if (left == waiting.end()) return {std::move(waiting), std::move(values)};
    waiting.erase(left, waiting.end());
  }
}

// How an operation could be computed in the loops of one that reads it, for all that the two tell:
// null, or a pattern.
const char* pattern_of(const Op& op, const Op& reader, const Groups& groups, const Target& target) {
  const size_t rank = std::min(op.shape.size(), reader.shape.size());
  if (!why_not_by_columns(op, reader)) {
    const ColumnGroup columns{{{&reader, {reader.shape.size() - 1}}, {&op, {op.shape.size() - 1}}}};
    if (combines_columns(columns) && columns_of_block(columns, target)) return kSharedColumns;
  }
  if (sums_of(op) != nullptr || sums_of(reader) != nullptr || groups.is_in_rows(reader)) {
    const auto may_share = [&](const std::vector<size_t>& axes) {
      if (why_not_by_rows(op, reader, axes)) return false;
      const RowGroup rows{{{&reader, axes}, {&op, row_axes_of(op, reader, axes).value()}}};
      return !why_not_worth_rows(rows, target);
    };
    for (size_t rows = rank; rows > 0; --rows) {
      if (may_share(first_axes(rows))) return kSharedRows;
    }
    for (size_t at = 1; at < reader.shape.size(); ++at) {
      if (may_share({at})) return kSharedRows;
    }
  }
  if (!why_not_next_layer(op, reader, target) && !why_not_worth_blocks({&reader, &op}, target)) {
    return kLayerBlocks;
  }
  if (groups.is_in_rows(op) && may_read_blocks(op, reader, target)) return kSharedRows;
  for (size_t row = 0; row + 1 < rank; ++row) {
    if (why_not_slide(op, reader, row, target)) continue;
    const RowWindow window = window_of(op, reader, row);
    if (window.rows() > 1 && pays_to_keep({&op, window, true}, reader, row, target)) {
      return kSlidingWindows;
    }
  }
  return nullptr;
}

// Of what several need, or the outside: one decision for each, with the first of its readers in
// whose loops it could be.
void record_what_else_needs(const Graph& graph, const Groups& groups, const Target& target,
                            LoopDecisions* decisions) {
  constexpr size_t kMostReaders = 4;  // that are looked at
  const Readers readers(graph);
  for (const OpPtr& op : graph.ops()) {
    const std::vector<const Op*>& reading = readers.readers_of(*op);
    const bool is_output = readers.only_readers(*op) == nullptr;
    if (!is_computed(*op) || (!is_output && reading.size() < 2)) continue;
    for (size_t i = 0; i < std::min(kMostReaders, reading.size()); ++i) {
      const Op& reader = *reading[i];
      const auto is_inside = [&](const Op& other) {
        return &other == &reader || groups.are_together(reader, other);
      };
      const std::optional<std::string> reason = readers.why_not_only(*op, is_inside);
      const char* pattern = reason ? pattern_of(*op, reader, groups, target) : nullptr;
      if (pattern == nullptr) continue;
      FusionDecision decision{op->name, reader.name, false, *reason, pattern};
      decision.needed_elsewhere = true;
      decisions->could_be(std::move(decision));
      break;
    }
  }
}

}  // namespace

Graph share_loops(const Graph& grouped, const Target& target, const LoopPolicy& policy,
                  FusionReport* report) {
  if (const std::optional<Graph> normal = with_normal_axes(grouped)) {
    return groups_as_written(share_loops(*normal, target, policy, report), grouped);
  }
  LoopDecisions decisions(policy);
  const ReadThrough through =
      read_through(grouped, target, [&](const Op& move) { return decisions.wants_through(move); });
  Groups groups;
  std::unordered_set<const Op*> done;
  const auto share = [&](const char* pattern, LoopGroupKind kind,
                         const std::vector<const Op*>& operations, std::vector<size_t> axes) {
    if (!decisions.wants(pattern, operations)) return;
    groups.add(kind, operations, std::move(axes));
    done.insert(operations.begin(), operations.end());
  };
  for (const WindowChain& chain : window_chains(through.graph, target)) {
    std::vector<const Op*> members = members_of(chain);
    if (chooses_all({members.begin() + 1, members.end()}, *members[0], target) &&
        std::none_of(members.begin() + 1, members.end(), [&](const Op* op) {
          return unwanted_through(kBordersThrough, *op, policy);
        })) {
      continue;
    }
    share(kSlidingWindows, LoopGroupKind::windows, members, first_axes(chain.row + 1));
  }
  const std::set<std::string> inlined = inlined_moves(through, done);
  for (const std::string& name : inlined) {
    if (const OpPtr* op = through.graph.find(name)) done.insert(op->get());
  }
  for (const BlockGroup& blocks : row_blocks(through.graph, target, done)) {
    share(kSharedRows, LoopGroupKind::row_blocks, members_of(blocks), blocks.rows.axes());
  }
  std::vector<DeclinedLayer> declined;
  for (const LayerBlocks& layers : layer_blocks(through.graph, target, done, &declined)) {
    share(kLayerBlocks, LoopGroupKind::row_blocks, members_of(layers),
          first_axes(layers.layers.front()->shape.size() - 1));
  }
  for (const DeclinedLayer& layer : declined) decisions.decline(layer);
  for (const ColumnGroup& columns : column_groups(through.graph, target, done)) {
    share(kSharedColumns, LoopGroupKind::columns, members_of(columns),
          columns.members.front().axes);
  }
  std::vector<DeclinedRows> not_small, not_worth;
  for (const RowGroup& rows : small_rows(through.graph, target, done, &not_small)) {
    share(kSharedRows, LoopGroupKind::rows, members_of(rows), rows.axes());
  }
  for (const RowGroup& rows : row_groups(through.graph, target, done, &not_worth)) {
    share(kSharedRows, LoopGroupKind::rows, members_of(rows), rows.axes());
  }
  const auto [waiting, values] = waiting_with_values(through.graph, target, done, &decisions);
  for (const WaitingSums& sums : waiting) {
    share(kWaitingSums, LoopGroupKind::waiting_sums, members_of(sums),
          first_axes(sums.reader->shape.size()));
  }
  if (report != nullptr) {
    for (const std::string& name : inlined) decisions.take_through(name, kReadThrough);
    for (const std::string& name : values.inlined) decisions.take_through(name, kReadThrough);
    add_computed(values, through.graph, &done);
    const ReadBorders borders = read_borders(through.graph, target, done, [&](const Op& op) {
      return unwanted_through(kBordersThrough, op, policy);
    });
    for (const std::string& name : borders.inlined) decisions.take_through(name, kBordersThrough);
    for (const auto& [name, refusal] : borders.refused) {
      decisions.refuse_through(name, kBordersThrough, refusal);
    }
    record_what_else_needs(through.graph, groups, target, &decisions);
    for (const DeclinedRows& rows : not_worth) decisions.decline(rows);
    for (const DeclinedRows& rows : not_small) decisions.decline(without(done, rows));
    decisions.add_to(grouped, report);
  }
  return with_loop_groups(grouped, groups.of(grouped, inlined));
}

}  // namespace emulsion

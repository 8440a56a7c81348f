#include "passes/fuse/fuse_epilogues.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "dsl/error.h"
#include "passes/fuse/fused_group.h"
#include "passes/fuse/fusion_legality.h"

namespace emulsion {
namespace {

using Reason = FusionLegality::Reason;

// Which operations become one, decided in one sweep over the consumers.
class Sweep {
 public:
  Sweep(const Graph& graph, const FusionPolicy& policy, FusionReport* report)
      : ops_(graph.ops()),
        policy_(policy),
        report_(report),
        legality_(graph),
        into_(ops_.size(), kRoot),
        taken_(ops_.size()),
        waiting_(ops_.size()),
        contraction_(ops_.size(), nullptr),
        size_(ops_.size()),
        members_(ops_.size(), 0),
        refused_(ops_.size()) {
    for (size_t i = 0; i < ops_.size(); ++i) {
      position_[ops_[i].get()] = i;
      for (const OpPtr& part : comprehensions(ops_[i])) position_[part.get()] = i;
    }
  }

  void run(size_t step_limit) {
    if (step_limit == 0) step_limit = legality_.edge_count();
    size_t steps = 0;
    for (size_t i = 0; i < ops_.size(); ++i) {
      const Op& consumer = *ops_[i];
      if (!is_computed(consumer)) continue;
      contraction_[i] = legality_.contraction_in(consumer);
      members_[i] = static_cast<int64_t>(comprehensions(ops_[i]).size());
      size_[i] = FusionLegality::written_out(consumer, {});
      FusionLegality::Sizes taken_in;
      for (const OpPtr& producer : operands(consumer)) {
        if (!is_computed(*producer)) continue;
        ++steps;
        EMULSION_CHECK(steps <= step_limit, "fuse_epilogues takes more than {} steps", step_limit);
        consider(position_.at(producer.get()), i, &taken_in);
      }
      while (!ready_.empty()) {
        const size_t p = ready_.back();
        ready_.pop_back();
        consider_shared(p, i);
      }
    }
    drop_decisions();
  }

  bool changed() const { return changed_; }
  // For each operation the last one of its group, which may be itself.
  std::vector<size_t> roots() const {
    std::vector<size_t> root(ops_.size());
    for (size_t i = ops_.size(); i-- > 0;) {  // a consumer comes after its producers
      root[i] = into_[i] == kRoot ? i : root[into_[i]];
    }
    return root;
  }

 private:
  static constexpr size_t kRoot = static_cast<size_t>(-1);

  // A consumer and what it reads. `taken_in`: what it writes out of those that it has taken.
  void consider(size_t p, size_t i, FusionLegality::Sizes* taken_in) {
    const Op &producer = *ops_[p], &consumer = *ops_[i];
    Reason reason = legality_.why_not_pair(producer, consumer);
    if (!reason && legality_.has_several_users(producer)) wait_for_others(p, i);
    if (!reason) reason = legality_.why_not_users(producer);
    if (reason) return record(p, i, FusionRefusal(*reason));
    (*taken_in)[&producer] = size_[p];
    const ExprSize together = FusionLegality::written_out(consumer, *taken_in);
    const std::optional<FusionRefusal> refusal = why_not_joined(p, i, together);
    record(p, i, refusal);
    if (refusal) {
      taken_in->erase(&producer);
    } else {
      join(p, i, together);
    }
  }

  // A producer whose readers are all in the group by now: what leaves it leaves through the last
  // one of the group, as if that read it alone.
  void consider_shared(size_t p, size_t i) {
    const ExprSize together = size_with(p, i);
    const std::optional<FusionRefusal> refusal = why_not_joined(p, i, together);
    if (refusal && report_) {
      for (const size_t at : refused_[p]) {
        report_->decisions[at].reason = refusal->reason;
        report_->decisions[at].measured = refusal->measured;
      }
    }
    if (refusal) return;
    dropped_.insert(dropped_.end(), refused_[p].begin(), refused_[p].end());
    record(p, i, std::nullopt);
    join(p, i, together);
  }

  // Contractions, size and policy.
  std::optional<FusionRefusal> why_not_joined(size_t p, size_t i, const ExprSize& together) {
    const Op &producer = *ops_[p], &consumer = *ops_[i];
    Reason reason = FusionLegality::why_not_contractions(contraction_[p], contraction_[i]);
    if (!reason) reason = FusionLegality::why_not_size(producer, consumer, together);
    if (reason) return FusionRefusal(*reason);
    return policy_({producer, consumer, legality_.pattern_of(producer), members_[p] + members_[i]});
  }

  // What the group of one writes out, were the group of another in it.
  ExprSize size_with(size_t p, size_t i) const {
    std::vector<size_t> group = {i, p};
    for (size_t at = 0; at < group.size(); ++at) {
      const std::vector<size_t>& taken = taken_[group[at]];
      group.insert(group.end(), taken.begin(), taken.end());
    }
    std::sort(group.begin(), group.end());
    FusionLegality::Sizes sizes;
    for (const size_t at : group) {
      sizes[ops_[at].get()] = FusionLegality::written_out(*ops_[at], sizes);
    }
    return sizes.at(ops_[i].get());
  }

  // For its other readers to come into the group of `i`.
  void wait_for_others(size_t p, size_t i) {
    if (report_) refused_[p].push_back(report_->decisions.size());
    const std::vector<const Op*>& readers = legality_.readers_of(*ops_[p]);
    wait(p, i, std::count_if(readers.begin(), readers.end(), [&](const Op* reader) {
           return position_.at(reader) == i;
         }));
  }

  // So many readers of `p` more are in the group of `i`.
  void wait(size_t p, size_t i, int64_t readers) {
    int64_t& there = waiting_[i][p];
    there += readers;
    if (there < static_cast<int64_t>(legality_.readers_of(*ops_[p]).size())) return;
    waiting_[i].erase(p);  // once: what is refused now would be refused in a larger group
    ready_.push_back(p);
  }

  void join(size_t p, size_t i, const ExprSize& together) {
    EMULSION_CHECK(into_[p] == kRoot, "{} is fused twice", ops_[p]->name);
    changed_ = true;
    into_[p] = i;
    taken_[i].push_back(p);
    size_[i] = together;
    members_[i] += members_[p];
    if (contraction_[p]) contraction_[i] = contraction_[p];
    if (waiting_[p].size() > waiting_[i].size()) std::swap(waiting_[p], waiting_[i]);
    for (const auto& [producer, readers] : waiting_[p]) wait(producer, i, readers);
    waiting_[p].clear();
  }

  void record(size_t p, size_t i, const std::optional<FusionRefusal>& refusal) {
    if (!report_) return;
    const Op& producer = *ops_[p];
    report_->decisions.push_back({producer.name, ops_[i]->name, !refusal,
                                  refusal ? refusal->reason : "", legality_.pattern_of(producer),
                                  refusal && refusal->measured});
  }

  // Those that were refused first and taken then.
  void drop_decisions() {
    if (dropped_.empty()) return;
    std::vector<bool> is_dropped(report_->decisions.size(), false);
    for (const size_t at : dropped_) is_dropped[at] = true;
    std::vector<FusionDecision> left;
    for (size_t at = 0; at < is_dropped.size(); ++at) {
      if (!is_dropped[at]) left.push_back(std::move(report_->decisions[at]));
    }
    report_->decisions = std::move(left);
  }

  const std::vector<OpPtr>& ops_;
  const FusionPolicy& policy_;
  FusionReport* const report_;
  FusionLegality legality_;
  std::unordered_map<const Op*, size_t> position_;  // of members too: that of their group
  // Groups as a forest: the consumer into which each operation goes.
  std::vector<size_t> into_;
  std::vector<std::vector<size_t>> taken_;
  // By the last operation of a group: producers with several users, and how many of these the
  // group has.
  std::vector<std::unordered_map<size_t, int64_t>> waiting_;
  std::vector<size_t> ready_;                 // all of whose users it has
  std::vector<const Op*> contraction_;        // of the group so far
  std::vector<ExprSize> size_;                // of what it writes out
  std::vector<int64_t> members_;              // of it
  std::vector<std::vector<size_t>> refused_;  // decisions about a producer with several users
  std::vector<size_t> dropped_;
  bool changed_ = false;
};

}  // namespace

std::optional<std::string> why_not_fusable(const Graph& graph, const Op& producer,
                                           const Op& consumer) {
  FusionLegality legality(graph);
  Reason reason = legality.why_not_pair(producer, consumer);
  if (!reason &&
      !(legality.has_several_users(producer) && legality.has_all_users(consumer, producer)))
    reason = legality.why_not_users(producer);
  if (reason) return reason;
  return FusionLegality::why_not_contractions(legality.contraction_in(producer),
                                              legality.contraction_in(consumer));
}

OpPtr fuse(const OpPtr& producer, const OpPtr& consumer) {
  FusionLegality legality;
  Reason reason = legality.why_not_pair(*producer, *consumer);
  if (!reason) {
    reason = FusionLegality::why_not_contractions(legality.contraction_in(*producer),
                                                  legality.contraction_in(*consumer));
  }
  EMULSION_CHECK(!reason, "fuse {} into {}: {}", producer->name, consumer->name, *reason);
  std::vector<OpPtr> members;
  Replaced replaced;
  append_members(producer, &members, &replaced);
  append_members(consumer, &members, &replaced);
  return make_group(std::move(members));
}

Graph fuse_epilogues(const Graph& graph, const FusionPolicy& policy, FusionReport* report,
                     size_t step_limit) {
  const std::vector<OpPtr>& ops = graph.ops();
  Sweep sweep(graph, policy, report);
  sweep.run(step_limit);
  if (!sweep.changed()) return graph;

  const std::vector<size_t> root = sweep.roots();
  std::vector<bool> is_group(ops.size(), false);
  for (size_t i = 0; i < ops.size(); ++i) {
    if (root[i] != i) is_group[root[i]] = true;
  }

  std::vector<std::vector<OpPtr>> members(ops.size());
  std::vector<OpPtr> result;
  std::unordered_set<const Op*> placed;
  Replaced replaced;
  for (size_t i = 0; i < ops.size(); ++i) {
    OpPtr op = ops[i];
    if (is_group[root[i]]) {
      append_members(op, &members[root[i]], &replaced);
      if (root[i] != i) continue;
      op = make_group(std::move(members[i]));
    } else {
      op = rewired(op, replaced);
    }
    if (op != ops[i]) replaced[ops[i].get()] = op;
    for (const OpPtr& operand : operands(*op)) {
      EMULSION_CHECK(placed.count(operand.get()), "{} reads {} in a cycle", op->name,
                     operand->name);
    }
    placed.insert(op.get());
    result.push_back(std::move(op));
  }

  std::vector<OpPtr> outputs;
  for (const OpPtr& output : graph.outputs()) {
    auto found = replaced.find(output.get());
    outputs.push_back(found == replaced.end() ? output : found->second);
  }
  return Graph(std::move(result), std::move(outputs));
}

}  // namespace emulsion

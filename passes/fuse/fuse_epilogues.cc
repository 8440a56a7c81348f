#include "passes/fuse/fuse_epilogues.h"

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

// Groups as a forest: the consumer into which each op goes. An op that goes into another has one
// user, so no op goes twice.
struct Forest {
  explicit Forest(size_t size) : into(size, kRoot) {}
  static constexpr size_t kRoot = static_cast<size_t>(-1);
  std::vector<size_t> into;
  bool changed = false;
};

Forest decide(const Graph& graph, const FusionPolicy& policy, FusionReport* report,
              size_t step_limit) {
  const std::vector<OpPtr>& ops = graph.ops();
  Forest forest(ops.size());
  FusionLegality legality(graph);
  std::unordered_map<const Op*, size_t> position;
  std::vector<const Op*> contraction(ops.size(), nullptr);  // of the group so far
  std::vector<ExprSize> size(ops.size());                   // of what its group writes out
  std::vector<int64_t> members(ops.size(), 0);
  size_t steps = 0;
  if (step_limit == 0) step_limit = legality.edge_count();
  for (size_t i = 0; i < ops.size(); ++i) {
    const Op& consumer = *ops[i];
    position[&consumer] = i;
    if (!is_computed(consumer)) continue;
    contraction[i] = legality.contraction_in(consumer);
    members[i] = consumer.kind == OpKind::fused ? static_cast<int64_t>(consumer.members.size()) : 1;
    FusionLegality::Sizes taken_in;
    size[i] = FusionLegality::written_out(consumer, taken_in);
    for (const OpPtr& producer : operands(consumer)) {
      if (!is_computed(*producer)) continue;
      ++steps;
      EMULSION_CHECK(steps <= step_limit, "fuse_epilogues takes more than {} steps", step_limit);
      size_t p = position.at(producer.get());
      Reason reason = legality.why_not_pair(*producer, consumer);
      if (!reason) reason = legality.why_not_users(*producer);
      if (!reason) reason = FusionLegality::why_not_contractions(contraction[p], contraction[i]);
      ExprSize together;
      if (!reason) {
        taken_in[producer.get()] = size[p];
        together = FusionLegality::written_out(consumer, taken_in);
        reason = FusionLegality::why_not_size(*producer, consumer, together);
      }
      const std::string& pattern = legality.pattern_of(*producer);
      bool measured = false;
      if (!reason) {
        const auto unwanted = policy({*producer, consumer, pattern, members[p] + members[i]});
        if (unwanted) {
          reason = unwanted->reason;
          measured = unwanted->measured;
        }
      }
      if (report) {
        report->decisions.push_back(
            {producer->name, consumer.name, !reason, reason.value_or(""), pattern, measured});
      }
      if (reason) {
        taken_in.erase(producer.get());
        continue;
      }
      EMULSION_CHECK(forest.into[p] == Forest::kRoot, "{} is fused twice", producer->name);
      forest.into[p] = i;
      forest.changed = true;
      size[i] = together;
      members[i] += members[p];
      if (contraction[p]) contraction[i] = contraction[p];
    }
  }
  return forest;
}

}  // namespace

std::optional<std::string> why_not_fusable(const Graph& graph, const Op& producer,
                                           const Op& consumer) {
  FusionLegality legality(graph);
  Reason reason = legality.why_not_pair(producer, consumer);
  if (!reason) reason = legality.why_not_users(producer);
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
  Forest forest = decide(graph, policy, report, step_limit);
  if (!forest.changed) return graph;

  std::vector<size_t> root(ops.size());
  std::vector<bool> is_group(ops.size(), false);
  for (size_t i = ops.size(); i-- > 0;) {  // a consumer comes after its producers
    root[i] = forest.into[i] == Forest::kRoot ? i : root[forest.into[i]];
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

#include "passes/fuse/expect_fused.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "dsl/error.h"
#include "dsl/text_lexer.h"
#include "passes/fuse/named_pattern.h"

namespace emulsion {
namespace {

// Names of comprehensions -> of the group that holds them: of one in a loop group, of that.
std::unordered_map<std::string, std::string> groups_of(const Graph& grouped) {
  std::unordered_map<std::string, std::string> groups;
  for (const OpPtr& op : grouped.ops()) {
    for (const OpPtr& member : op->members) groups[member->name] = op->name;
  }
  for (const LoopGroup& group : grouped.loop_groups()) {
    for (const OpPtr& op : group.members) {
      groups[op->name] = group.members.back()->name;
      for (const OpPtr& member : op->members) groups[member->name] = group.members.back()->name;
    }
  }
  return groups;
}

// Of an operation that no one expression holds with its readers, why it has loops apart from
// theirs.
std::string reason_for(const std::string& name, const FusionReport& report) {
  const FusionDecision* found = nullptr;
  for (const FusionDecision& decision : report.decisions) {
    if (decision.producer != name || decision.fused) continue;
    if (found == nullptr || (is_of_loops(decision) && !is_of_loops(*found))) found = &decision;
  }
  return found == nullptr ? "nothing was fused" : found->reason;
}

// Those that decisions are looked up for.
const std::vector<std::string>& patterns_of_decisions() {
  static const std::vector<std::string> kPatterns = {
      kSiblings,    kSiblingProducts, kRecomputedValues, kSharedRows,  kSharedColumns,
      kLayerBlocks, kSlidingWindows,  kWaitingSums,      kReadThrough, kBordersThrough};
  return kPatterns;
}

constexpr char kWhat[] = "fail_on_unfused";

// Error: a name that is none, with those that are.
void check_name(const std::string& name) {
  try {
    NamedPattern(kWhat, name);
  } catch (const Error& error) {
    fail("{}; or {}", error.what(), fmt::join(patterns_of_decisions(), ", "));
  }
}

// Every decision of that pattern: siblings are no group of the graph, and a value that is computed
// again is in several. What another pattern computes together is not apart.
void expect_decisions(const std::string& pattern, const FusionReport& report,
                      const std::unordered_map<std::string, std::string>& groups) {
  const auto is_together = [&](const FusionDecision& decision) {
    const auto one = groups.find(decision.producer), other = groups.find(decision.consumer);
    return one != groups.end() && other != groups.end() && one->second == other->second;
  };
  bool found = false;
  for (const FusionDecision& decision : report.decisions) {
    if (decision.pattern != pattern || decision.needed_elsewhere) continue;
    found = true;
    if (decision.fused || (pattern == kSiblings && is_together(decision))) continue;
    if (pattern == kRecomputedValues) {
      fail(
          "fail_on_unfused: expected {} to be computed again by each of its users, got it stored: "
          "{}",
          decision.producer, decision.reason);
    }
    fail("fail_on_unfused: expected the {} {} and {} to be computed together, got them apart: {}",
         pattern, decision.producer, decision.consumer, decision.reason);
  }
  if (!found) fail("fail_on_unfused: expected {} in the graph, got none", pattern);
}

}  // namespace

void expect_fused(const Graph& graph, const Graph& grouped, const FusionReport& report,
                  const std::vector<std::string>& names) {
  if (names.empty()) return;
  const std::unordered_map<std::string, std::string> groups = groups_of(grouped);
  const auto group_of = [&](const OpPtr& op) {
    auto found = groups.find(op->name);
    return found == groups.end() ? op->name : found->second;
  };
  for (const std::string& name : names) {
    const std::vector<std::string>& of_decisions = patterns_of_decisions();
    if (std::count(of_decisions.begin(), of_decisions.end(), name) > 0) {
      expect_decisions(name, report, groups);
      continue;
    }
    check_name(name);
    NamedPattern pattern(kWhat, name);
    bool found = false;
    for (const OpPtr& op : graph.ops()) {
      const std::optional<Match> match = pattern.match(op);
      if (!match) continue;
      found = true;
      for (const OpPtr& inner : match->inner) {
        if (group_of(inner) == group_of(op)) continue;
        fail("fail_on_unfused: expected {} at {} to be one group, got {} apart from it: {}", name,
             op->name, inner->name, reason_for(inner->name, report));
      }
    }
    if (!found) {
      const std::vector<std::string> there = named_patterns_of(graph);
      fail("fail_on_unfused: expected {} in the graph, got none; legal: {}", name,
           there.empty() ? "nothing, since nothing there has such a name" : list_names(there));
    }
  }
}

}  // namespace emulsion

#include "passes/fuse/loop_policy.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "passes/fuse/fused_group.h"

namespace emulsion {

FusionReport without_what_loops_do(FusionReport fusions, const Graph& grouped,
                                   const FusionReport& loops) {
  std::unordered_map<std::string, std::string> group_of, into;
  for (const OpPtr& op : grouped.ops()) {
    for (const OpPtr& member : comprehensions(op)) group_of[member->name] = op->name;
  }
  std::set<std::pair<std::string, std::string>> through;  // what is stored nowhere, its readers
  for (const FusionDecision& decision : loops.decisions) {
    if (!decision.fused || !is_of_loops(decision)) continue;
    if (is_read_through(decision)) {
      through.emplace(decision.producer, decision.consumer);
      for (const std::string& other : decision.other_consumers) {
        through.emplace(decision.producer, other);
      }
    } else {
      into[decision.producer] = into[decision.consumer] = decision.consumer;
    }
  }
  // Whether the one's value stays inside the nest of the other, which reads it.
  const auto is_inside = [&](const std::string& producer_name, const std::string& consumer_name) {
    const auto producer = group_of.find(producer_name);
    const auto consumer = group_of.find(consumer_name);
    if (producer == group_of.end() || consumer == group_of.end()) return false;
    if (through.count({producer->second, consumer->second}) > 0) return true;
    const auto one = into.find(producer->second), other = into.find(consumer->second);
    return one != into.end() && other != into.end() && one->second == other->second;
  };
  const auto is_undone = [&](const FusionDecision& decision) {
    if (decision.fused || !is_inside(decision.producer, decision.consumer)) return false;
    return std::all_of(
        decision.other_consumers.begin(), decision.other_consumers.end(),
        [&](const std::string& other) { return is_inside(decision.producer, other); });
  };
  std::vector<FusionDecision>& all = fusions.decisions;
  all.erase(std::remove_if(all.begin(), all.end(), is_undone), all.end());
  return fusions;
}

}  // namespace emulsion

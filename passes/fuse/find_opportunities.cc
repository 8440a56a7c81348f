#include "passes/fuse/find_opportunities.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "dsl/error.h"
#include "dsl/nearest_name.h"
#include "passes/fuse/estimate_fusions.h"
#include "passes/fuse/find_siblings.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/fuse/join_products.h"
#include "passes/fuse/loop_policy.h"
#include "passes/fuse/recompute_producers.h"

namespace emulsion {
namespace {

using Json = nlohmann::ordered_json;

// A group on its way: where its consumer ends up is known when all edges have been looked at.
class Groups {
 public:
  void join(const FusionDecision& edge) {
    Group producer = take(edge.producer), consumer = take(edge.consumer);
    producer.operations.insert(producer.operations.end(), consumer.operations.begin(),
                               consumer.operations.end());
    Group group;
    group.operations = std::move(producer.operations);
    const bool has_contraction = edge.pattern == kContractionEpilogue ||
                                 producer.pattern == kContractionEpilogue ||
                                 consumer.pattern == kContractionEpilogue;
    group.pattern = has_contraction ? kContractionEpilogue : edge.pattern;
    group.known = producer.known && consumer.known && edge.gain.has_value();
    if (group.known) {  // what the parts gained, and now the whole
      group.gain.bytes_saved =
          producer.gain.bytes_saved + consumer.gain.bytes_saved + edge.gain->bytes_saved;
      group.gain.seconds_after = edge.gain->seconds_after;
      group.gain.seconds_before = edge.gain->seconds_after + producer.gain.seconds_saved() +
                                  consumer.gain.seconds_saved() + edge.gain->seconds_saved();
    }
    groups_[edge.consumer] = std::move(group);
  }

  // In the order of their last operations.
  std::vector<FusionOpportunity> found(const Graph& graph) const {
    std::vector<FusionOpportunity> found;
    std::map<std::string, size_t> position;
    for (const OpPtr& op : graph.ops()) {
      position[op->name] = position.size();
      const auto group = groups_.find(op->name);
      if (group == groups_.end()) continue;
      FusionOpportunity one{group->second.pattern, group->second.operations};
      std::sort(one.operations.begin(), one.operations.end(),
                [&](const std::string& a, const std::string& b) {
                  return position.at(a) < position.at(b);
                });
      if (group->second.known) one.gain = group->second.gain;
      found.push_back(std::move(one));
    }
    return found;
  }

 private:
  struct Group {
    std::string pattern;
    std::vector<std::string> operations;
    bool known = true;
    FusionGain gain;
  };

  Group take(const std::string& name) {
    const auto found = groups_.find(name);
    if (found == groups_.end()) return {"", {name}, true, {}};
    Group group = std::move(found->second);
    groups_.erase(found);
    return group;
  }

  std::map<std::string, Group> groups_;  // by the last operation
};

// What two decisions save, the second one taken after the first; nothing when one is not known.
std::optional<FusionGain> joined_gain(const std::optional<FusionGain>& first,
                                      const std::optional<FusionGain>& second) {
  if (!first || !second) return std::nullopt;
  const double saved = first->seconds_saved() + second->seconds_saved();
  return FusionGain{first->bytes_saved + second->bytes_saved, second->seconds_after + saved,
                    second->seconds_after};
}

// One for each first of siblings, with all that join it.
std::vector<FusionOpportunity> siblings_of(const FusionReport& report) {
  std::vector<FusionOpportunity> found;
  std::map<std::string, size_t> of_first;
  for (const FusionDecision& d : report.decisions) {
    if (!d.fused || !is_of_siblings(d)) continue;
    const auto [at, is_new] = of_first.emplace(d.producer, found.size());
    if (is_new) {
      found.push_back({d.pattern, {d.producer, d.consumer}, std::nullopt, d.gain});
      continue;
    }
    FusionOpportunity& one = found[at->second];
    one.operations.push_back(d.consumer);
    one.gain = joined_gain(one.gain, d.gain);
  }
  return found;
}

// One for each move that is read through, with its readers, and one for each last operation, with
// all that is computed in its loops.
std::vector<FusionOpportunity> loops_of(const FusionReport& report) {
  std::vector<FusionOpportunity> found;
  std::map<std::string, size_t> of_last;
  for (const FusionDecision& d : report.decisions) {
    if (!d.fused || !is_of_loops(d)) continue;
    const bool is_move = is_read_through(d);
    const auto at = of_last.find(d.consumer);
    if (is_move || at == of_last.end()) {
      if (!is_move) of_last.emplace(d.consumer, found.size());
      found.push_back({d.pattern, {d.producer, d.consumer}, std::nullopt, d.gain});
      std::vector<std::string>& operations = found.back().operations;
      operations.insert(operations.end(), d.other_consumers.begin(), d.other_consumers.end());
      continue;
    }
    FusionOpportunity& one = found[at->second];
    one.operations.insert(one.operations.begin(), d.producer);  // each is before what reads it
    one.gain = joined_gain(one.gain, d.gain);
  }
  return found;
}

// What each decision on a value with several readers speaks of.
std::vector<FusionOpportunity> copies_of(const FusionReport& report) {
  std::vector<FusionOpportunity> found;
  for (const FusionDecision& d : report.decisions) {
    FusionOpportunity one{d.pattern, {d.producer, d.consumer}, std::nullopt, d.gain};
    one.operations.insert(one.operations.end(), d.other_consumers.begin(), d.other_consumers.end());
    if (!d.fused) one.why_not = d.reason;
    found.push_back(std::move(one));
  }
  return found;
}

std::string names(const std::vector<std::string>& operations) {
  std::string text;
  for (const std::string& name : operations) text += (text.empty() ? "" : " + ") + name;
  return text;
}

}  // namespace

void check_sizes_of(const Graph& graph, const SizeValues& sizes) {
  for (const auto& [name, value] : sizes) {
    const std::vector<std::string>& legal = graph.sizes();
    if (std::find(legal.begin(), legal.end(), name) == legal.end()) {
      fail("{}", expected_name("a run-time size of the graph", legal, name));
    }
    if (value < 0) fail("run-time size {}: expected 0 or greater, got {}", name, value);
  }
}

std::vector<FusionOpportunity> find_opportunities(const Graph& graph, const MachineModel& machine,
                                                  const SizeValues& sizes,
                                                  const FusionReport& loops) {
  check_sizes_of(graph, sizes);
  FusionReport report;
  const Graph grouped = fuse_epilogues(graph, always_fuse, &report);
  find_siblings(grouped, share_always, &report);
  FusionReport products, copies;
  join_products(graph, always_join, &products);
  recompute_producers(grouped, machine, recompute_always, &copies, sizes);
  products = estimate_fusions(graph, std::move(products), machine, sizes);
  report = estimate_fusions(graph, std::move(report), machine, sizes);
  report = without_what_loops_do(std::move(report), grouped, loops);
  copies = without_what_loops_do(std::move(copies), grouped, loops);
  Groups groups;
  for (const FusionDecision& edge : report.decisions) {
    if (edge.fused && !is_of_siblings(edge)) groups.join(edge);
  }
  std::vector<FusionOpportunity> found = groups.found(graph);
  for (const FusionReport* of : {&report, &products}) {
    for (FusionOpportunity& siblings : siblings_of(*of)) found.push_back(std::move(siblings));
  }
  const FusionReport of_loops = estimate_fusions(grouped, loops, machine, sizes);
  for (FusionOpportunity& one : loops_of(of_loops)) found.push_back(std::move(one));
  for (FusionOpportunity& one : copies_of(copies)) found.push_back(std::move(one));
  for (const std::vector<FusionDecision>& more : {products.decisions, of_loops.decisions}) {
    report.decisions.insert(report.decisions.end(), more.begin(), more.end());
  }
  for (const FusionDecision& edge : report.decisions) {
    if (edge.fused) continue;
    found.push_back({edge.pattern, {edge.producer, edge.consumer}, edge.reason, edge.gain});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const FusionOpportunity& a, const FusionOpportunity& b) {
                     if (!a.gain || !b.gain) return a.gain.has_value() && !b.gain;
                     return a.gain->seconds_saved() > b.gain->seconds_saved();
                   });
  return found;
}

std::string to_string(const std::vector<FusionOpportunity>& opportunities) {
  std::string text;
  for (const FusionOpportunity& one : opportunities) {
    text += (one.pattern.empty() ? "" : one.pattern + ", ") + names(one.operations);
    text += one.legal() ? ": legal" : ": not legal: " + *one.why_not;
    if (one.gain) text += (one.legal() ? ": saves " : "; would save ") + to_string(*one.gain);
    text += "\n";
  }
  return text;
}

std::string to_json(const std::vector<FusionOpportunity>& opportunities) {
  Json list = Json::array();
  for (const FusionOpportunity& one : opportunities) {
    Json json = {{"pattern", one.pattern},
                 {"operations", one.operations},
                 {"legal", one.legal()},
                 {"reason", one.why_not.value_or("")}};
    json["bytes_saved"] = one.gain ? Json(one.gain->bytes_saved) : Json(nullptr);
    json["estimated_speed_up"] = one.gain ? Json(one.gain->speed_up()) : Json(nullptr);
    json["operations_added"] = one.gain ? Json(one.gain->operations_added) : Json(nullptr);
    json["seconds_saved"] = one.gain ? Json(one.gain->seconds_saved()) : Json(nullptr);
    list.push_back(std::move(json));
  }
  return list.dump(2);
}

}  // namespace emulsion

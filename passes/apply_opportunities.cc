#include "passes/apply_opportunities.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <utility>

#include "dsl/error.h"
#include "passes/fuse/fused_group.h"

namespace emulsion {
namespace {

using Names = std::set<std::string>;
using Opportunities = std::vector<FusionOpportunity>;

constexpr char kNotChosen[] = "expected an opportunity that was chosen";

// Of a group the policies are asked before it is whole, and of another part of it than the graph
// had: so operations are compared as the comprehensions in them.
Names names_in(const OpPtr& op) {
  Names names;
  for (const OpPtr& one : comprehensions(op)) names.insert(one->name);
  return names;
}

bool is_group(const FusionOpportunity& one) {
  return one.pattern == kContractionEpilogue || one.pattern == kElementwiseChain;
}

// Whether one value is spoken of, and whoever reads it.
bool is_of_value(const FusionOpportunity& one) {
  return one.pattern == kRecomputedValues || one.pattern == kReadThrough ||
         one.pattern == kBordersThrough;
}

bool is_same(const FusionOpportunity& a, const FusionOpportunity& b) {
  return a.pattern == b.pattern && a.operations == b.operations;
}

// "layer blocks, a + y", as to_string() begins.
std::string title_of(const FusionOpportunity& one) {
  std::string title;
  for (const std::string& name : one.operations) title += (title.empty() ? "" : " + ") + name;
  if (title.empty()) title = "no operations";
  return (one.pattern.empty() ? "" : one.pattern + ", ") + title;
}

bool holds(const Names& names, const std::string& name) { return names.count(name) > 0; }

// Those that speak of one of the operations, or all, where none does; a few of them.
std::string legal_instead_of(const FusionOpportunity& one, const Opportunities& found) {
  constexpr size_t kMostNamed = 4;
  const Names asked(one.operations.begin(), one.operations.end());
  std::vector<std::string> near, all;
  for (const FusionOpportunity& other : found) {
    const bool is_near = std::any_of(other.operations.begin(), other.operations.end(),
                                     [&](const std::string& name) { return holds(asked, name); });
    (is_near ? near : all).push_back("\"" + title_of(other) + "\"");
  }
  if (near.empty()) near = std::move(all);
  if (near.empty()) return "nothing, since none is found";
  if (near.size() > kMostNamed) {
    near.resize(kMostNamed);
    near.emplace_back("..");
  }
  return fmt::format("{}", fmt::join(near, ", "));
}

// `chosen` as it is found: what is not legal there is not legal.
Opportunities checked(const Graph& graph, Opportunities chosen, const Opportunities& found) {
  for (FusionOpportunity& one : chosen) {
    for (const std::string& name : one.operations) {
      if (graph.find(name) != nullptr) continue;
      fail("apply_opportunities: expected an operation of the graph, got {}", name);
    }
    const auto same = std::find_if(found.begin(), found.end(), [&](const FusionOpportunity& other) {
      return is_same(one, other);
    });
    if (same == found.end()) {
      fail("apply_opportunities: expected one of find_opportunities(), got \"{}\"; legal: {}",
           title_of(one), legal_instead_of(one, found));
    }
    if (one.legal()) one.why_not = same->why_not;
  }
  return chosen;
}

class Chosen {
 public:
  // `chosen`: checked().
  Chosen(const Graph& graph, const Opportunities& chosen) : chosen_(chosen) {
    // As find_opportunities() names them: what loops are shared of may be a group of these.
    std::unordered_map<std::string, OpPtr> by_name;
    for (const OpPtr& op : graph.ops()) by_name[op->name] = op;
    const Graph grouped = fuse_epilogues(graph);
    for (const OpPtr& op : grouped.ops()) by_name[op->name] = op;
    for (const FusionOpportunity& one : chosen) {
      Names names;
      for (const std::string& name : one.operations) {
        const auto op = by_name.find(name);
        names.insert(name);
        if (!is_group(one)) names.merge(names_in(op->second));
      }
      names_.push_back(std::move(names));
    }
  }

  const Names& names_of(size_t i) const { return names_[i]; }

  // Whether all of these are in one that is legal and that `is_such` holds of.
  template <typename IsSuch>
  bool has(const Names& names, const IsSuch& is_such) const {
    for (size_t i = 0; i < chosen_.size(); ++i) {
      if (!chosen_[i].legal() || !is_such(chosen_[i])) continue;
      if (std::includes(names_[i].begin(), names_[i].end(), names.begin(), names.end())) {
        return true;
      }
    }
    return false;
  }

  FusionPolicies policies() const {
    const auto refusal = [](bool wanted) -> std::optional<FusionRefusal> {
      if (wanted) return std::nullopt;
      return FusionRefusal(kNotChosen);
    };
    const auto of_pattern = [](const std::string& pattern) {
      return [pattern](const FusionOpportunity& one) { return one.pattern == pattern; };
    };
    FusionPolicies by_choice;
    by_choice.products = [=](const JoinCandidate& candidate) -> std::optional<std::string> {
      Names names;
      for (const OpPtr& product : candidate.products) names.insert(product->name);
      if (has(names, of_pattern(kSiblingProducts))) return std::nullopt;
      return kNotChosen;
    };
    by_choice.groups = [=](const FusionCandidate& candidate) {
      return refusal(has({candidate.producer.name, candidate.consumer.name}, is_group));
    };
    by_choice.copies = [=](const RecomputeCandidate& candidate) {
      return refusal(has({candidate.producer.name}, [&](const FusionOpportunity& one) {
        return one.pattern == kRecomputedValues && one.operations[0] == candidate.producer.name;
      }));
    };
    by_choice.loops = [=](const LoopCandidate& candidate) {
      Names names;
      for (const Op* op : candidate.operations) names.insert(op->name);
      return refusal(has(names, of_pattern(candidate.pattern)));
    };
    by_choice.siblings = [=](const SiblingCandidate& candidate) {
      Names names = {candidate.sibling->name};
      for (const OpPtr& op : candidate.group) names.insert(op->name);
      return refusal(has(names, of_pattern(kSiblings)));
    };
    return by_choice;
  }

 private:
  const Opportunities& chosen_;
  std::vector<Names> names_;  // of each, of comprehensions
};

std::vector<std::string> named_in(const FusionDecision& decision) {
  std::vector<std::string> names = {decision.producer, decision.consumer};
  names.insert(names.end(), decision.other_consumers.begin(), decision.other_consumers.end());
  return names;
}

bool has_name(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What of it stays apart in what was made; nothing when it was applied.
std::optional<std::string> left_apart(const FusionOpportunity& one, const Names& names,
                                      const Lowered& lowered) {
  Names together;
  if (is_group(one)) {
    for (const OpPtr& op : lowered.grouped.ops()) {
      if (op->name == one.operations.back()) together = names_in(op);
    }
  }
  for (const FusionDecision& decision : lowered.fusion.decisions) {
    if (!decision.fused || decision.pattern != one.pattern) continue;
    if (!holds(names, decision.producer) || !holds(names, decision.consumer)) continue;
    for (const std::string& name : named_in(decision)) together.insert(name);
  }
  const size_t count = is_of_value(one) ? 1 : one.operations.size();
  for (size_t i = 0; i < count; ++i) {
    if (!holds(together, one.operations[i])) return one.operations[i];
  }
  return std::nullopt;
}

// A reason of another pattern, or that others were not chosen, says nothing of this one.
bool says_why(const FusionDecision& decision, const FusionOpportunity& one) {
  if (decision.fused || decision.reason == kNotChosen) return false;
  if (is_group(one)) {
    return decision.pattern == kContractionEpilogue || decision.pattern == kElementwiseChain;
  }
  return decision.pattern == one.pattern;
}

// As the passes say it; nothing when they do not speak of it.
std::optional<std::string> why_failed(const FusionOpportunity& one, const std::string& apart,
                                      const Names& names, const Lowered& lowered) {
  for (const FusionDecision& decision : lowered.fusion.decisions) {
    if (!says_why(decision, one) || !holds(names, decision.producer)) continue;
    if (decision.producer != apart && decision.consumer != apart) continue;
    if (holds(names, decision.consumer)) return decision.reason;
  }
  return std::nullopt;
}

// Which others an opportunity needs that failed, or which one excludes it. That depends on loops
// that only a derived schedule has, so it is tried out.
class Trials {
 public:
  Trials(const Graph& graph, const Target& target, const SizeValues& sizes,
         const Opportunities& chosen, const Opportunities& found)
      : graph_(graph), target_(target), sizes_(sizes), chosen_(chosen), found_(found) {}

  // None that could be left out. Empty when nothing helped.
  Opportunities needs_of(const FusionOpportunity& one, const Names& names) {
    const std::vector<Opportunities> near = by_nearness(one, names);
    Opportunities needs;
    for (const Opportunities& more : near) {
      if (more.empty()) continue;
      needs.insert(needs.end(), more.begin(), more.end());
      if (helps(one, names, needs)) return fewest_of(std::move(needs), one, names);
    }
    return {};
  }

  // One that was chosen and without which it is there.
  std::optional<FusionOpportunity> excluding(const FusionOpportunity& one, const Names& names) {
    for (size_t i = 0; i < chosen_.size(); ++i) {
      const bool shares = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        return has_name(chosen_[i].operations, name);
      });
      if (!shares || !chosen_[i].legal() || is_same(chosen_[i], one)) continue;
      Opportunities fewer = chosen_;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (is_there(one, names, fewer)) return chosen_[i];
    }
    return std::nullopt;
  }

 private:
  // Of those that were not chosen, a few: groups that it speaks of by their last operations; what
  // is read through beside it; and the others beside it. Beside it is what shares an operation with
  // it, with what it reads, or with what reads it.
  std::vector<Opportunities> by_nearness(const FusionOpportunity& one, const Names& names) const {
    size_t left = 12;
    Names around = names;
    for (const OpPtr& op : graph_.ops()) {
      for (const OpPtr& operand : operands(*op)) {
        if (holds(names, op->name)) around.insert(operand->name);
        if (holds(names, operand->name)) around.insert(op->name);
      }
    }
    const Chosen all(graph_, found_);
    const auto kind_of = [&](size_t i) {
      const FusionOpportunity& other = found_[i];
      if (is_group(other) && has_name(one.operations, other.operations.back())) return 0;
      const Names& others = all.names_of(i);
      const bool is_beside =
          std::any_of(others.begin(), others.end(),
                      [&](const std::string& name) { return holds(around, name); });
      if (!is_beside) return -1;
      return other.pattern == kReadThrough || other.pattern == kBordersThrough ? 1 : 2;
    };
    std::vector<Opportunities> near(3);
    for (int kind = 0; kind < 3; ++kind) {
      for (size_t i = 0; i < found_.size() && left > 0; ++i) {
        if (!found_[i].legal() || kind_of(i) != kind || has_chosen(found_[i])) continue;
        near[static_cast<size_t>(kind)].push_back(found_[i]);
        --left;
      }
    }
    return near;
  }

  bool has_chosen(const FusionOpportunity& other) const {
    return std::any_of(chosen_.begin(), chosen_.end(),
                       [&](const FusionOpportunity& one) { return is_same(one, other); });
  }

  Opportunities fewest_of(Opportunities needs, const FusionOpportunity& one, const Names& names) {
    for (size_t i = needs.size(); i-- > 0 && needs.size() > 1;) {
      Opportunities fewer = needs;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (helps(one, names, fewer)) needs = std::move(fewer);
    }
    return needs;
  }

  bool helps(const FusionOpportunity& one, const Names& names, const Opportunities& others) {
    Opportunities all = chosen_;
    all.insert(all.end(), others.begin(), others.end());
    return is_there(one, names, all);
  }

  bool is_there(const FusionOpportunity& one, const Names& names, const Opportunities& chosen) {
    if (left_ == 0) return false;
    --left_;
    const Chosen choice(graph_, chosen);
    try {
      return !left_apart(one, names, run_pipeline(graph_, target_, choice.policies(), sizes_));
    } catch (const InternalError&) {
      return false;  // nobody asked for this choice, which must not fail what somebody asked for
    }
  }

  const Graph& graph_;
  const Target& target_;
  const SizeValues& sizes_;
  const Opportunities& chosen_;
  const Opportunities& found_;
  int left_ = 48;  // each takes as long as apply_opportunities() does
};

// "expected "layer blocks, a + y" to be fused as well", "expected "layer blocks, a + y" not to be
// fused", or what the passes say.
std::string reason_for(const FusionOpportunity& one, const std::string& apart, const Names& names,
                       const Lowered& lowered, Trials* trials) {
  const Opportunities needs = trials->needs_of(one, names);
  if (!needs.empty()) {
    std::string titles;
    for (size_t i = 0; i < needs.size(); ++i) {
      const char* between = i + 1 < needs.size() ? ", " : " and ";
      titles += (i > 0 ? between : "") + ("\"" + title_of(needs[i]) + "\"");
    }
    return "expected " + titles + " to be fused as well";
  }
  if (const auto other = trials->excluding(one, names)) {
    return "expected \"" + title_of(*other) + "\" not to be fused";
  }
  if (const auto reason = why_failed(one, apart, names, lowered)) return *reason;
  return fmt::format(
      "expected loops for {} with what was chosen, got none: others of find_opportunities() have "
      "to be fused as well, or not to be",
      apart);
}

}  // namespace

AppliedOpportunities apply_opportunities(const Graph& graph, const Target& target,
                                         const std::vector<FusionOpportunity>& chosen,
                                         const SizeValues& sizes) {
  const Opportunities found = find_opportunities(graph, target, sizes);  // Error: a tile machine
  const Opportunities all = checked(graph, chosen, found);
  const Chosen choice(graph, all);
  AppliedOpportunities made{
      run_pipeline(graph, target, choice.policies(), sizes), {}, {}, {}, std::nullopt};
  Trials trials(graph, target, sizes, all, found);
  for (size_t i = 0; i < all.size(); ++i) {
    FusionOpportunity one = all[i];
    if (!one.legal()) {
      made.refused.push_back(std::move(one));
      continue;
    }
    const Names& names = choice.names_of(i);
    const std::optional<std::string> apart = left_apart(one, names, made.lowered);
    if (apart) one.why_not = reason_for(one, *apart, names, made.lowered, &trials);
    (apart ? made.failed : made.applied).push_back(std::move(one));
  }
  made.gain = made.lowered.fusion.gain;
  return made;
}

std::string to_string(const AppliedOpportunities& made) {
  std::string text;
  const auto add = [&](const char* what, const std::vector<FusionOpportunity>& list) {
    for (const FusionOpportunity& one : list) text += std::string(what) + ": " + to_string({one});
  };
  add("applied", made.applied);
  add("refused", made.refused);
  add("failed", made.failed);
  if (made.gain) text += "saves " + to_string(*made.gain) + "\n";
  return text;
}

std::string to_json(const AppliedOpportunities& made) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["applied"] = Json::parse(to_json(made.applied));
  json["refused"] = Json::parse(to_json(made.refused));
  json["failed"] = Json::parse(to_json(made.failed));
  json["bytes_saved"] = made.gain ? Json(made.gain->bytes_saved) : Json(nullptr);
  json["estimated_speed_up"] = made.gain ? Json(made.gain->speed_up()) : Json(nullptr);
  return json.dump(2);
}

}  // namespace emulsion

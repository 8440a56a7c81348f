#include "passes/fuse/fusion_config.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "dsl/count_text.h"
#include "dsl/error.h"
#include "dsl/extent.h"
#include "dsl/files.h"
#include "dsl/nearest_name.h"
#include "dsl/strict_json.h"
#include "passes/fuse/fused_group.h"

namespace emulsion {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& field, const char* expected, const Json& value) {
  fail("fusion config, {}: expected {}, got {}", field, expected, json_kind_of(value));
}

bool read_bool(const std::string& field, const Json& value) {
  if (!value.is_boolean()) refuse(field, "true or false", value);
  return value.get<bool>();
}

int64_t read_count(const std::string& field, const Json& value) {
  if (!is_int64(value)) refuse(field, "a whole number", value);
  return value.get<int64_t>();
}

std::string read_text(const std::string& field, const Json& value) {
  if (!value.is_string()) refuse(field, "a text", value);
  return value.get<std::string>();
}

std::vector<std::string> read_names(const std::string& field, const Json& value) {
  if (!value.is_array()) refuse(field, "a list of names", value);
  std::vector<std::string> names;
  for (const Json& name : value) {
    if (!name.is_string()) refuse(field, "names", name);
    names.push_back(name.get<std::string>());
  }
  return names;
}

void check_name(const std::string& what, const std::string& name,
                const std::vector<std::string>& legal) {
  if (std::count(legal.begin(), legal.end(), name)) return;
  fail("fusion config: {}", expected_name(what, legal, name));
}

const std::vector<std::string>& rule_fields() {
  static const std::vector<std::string> kFields = {"enabled", "patterns", "least_elements",
                                                   "largest_group", "fail_on_unfused"};
  return kFields;
}

// Of both forms, JSON and code.
void check_rules(const FusionRules& rules) {
  for (const std::string& name : rules.patterns) check_name("a pattern", name, fusion_patterns());
  const auto check_count = [](const char* field, int64_t count) {
    if (count < 0) fail("fusion config, {}: expected 0 or greater, got {}", field, count);
  };
  check_count("least_elements", rules.least_elements);
  check_count("largest_group", rules.largest_group);
}

// `field` is one of rule_fields().
void read_rule(const std::string& field, const Json& value, FusionRules* rules) {
  if (field == "enabled") {
    rules->enabled = read_bool(field, value);
  } else if (field == "patterns") {
    rules->patterns = read_names(field, value);
  } else if (field == "least_elements") {
    rules->least_elements = read_count(field, value);
  } else if (field == "largest_group") {
    rules->largest_group = read_count(field, value);
  } else {
    rules->fail_on_unfused = read_names(field, value);
  }
}

// What is not said of the target is as for `all`.
TargetFusionRules read_target(const std::string& name, const Json& value, const FusionRules& all) {
  TargetFusionRules one{Target::parse(name), all};
  if (!value.is_object()) refuse("targets, " + name, "an object", value);
  for (const auto& [field, rule] : value.items()) {
    check_name("a field of target " + name, field, rule_fields());
    read_rule(field, rule, &one.rules);
  }
  return one;
}

MeasuredFusion read_measured(const Json& value) {
  if (!value.is_object()) refuse("measured", "objects", value);
  const std::vector<std::string> fields = {"pattern", "shape_class", "target",
                                           "version", "speed_up",    "runs"};
  for (const auto& [field, unused] : value.items()) check_name("a measured field", field, fields);
  for (const std::string& field : fields) {
    if (!value.contains(field)) fail("fusion config, measured: expected the field {}", field);
  }
  const Json& speed_up = value["speed_up"];
  if (!speed_up.is_number()) refuse("speed_up", "a number", speed_up);
  return {read_text("pattern", value["pattern"]),
          read_text("shape_class", value["shape_class"]),
          read_text("target", value["target"]),
          read_text("version", value["version"]),
          speed_up.get<double>(),
          read_count("runs", value["runs"])};
}

Json rules_as_json(const FusionRules& rules) {
  return {{"enabled", rules.enabled},
          {"patterns", rules.patterns},
          {"least_elements", rules.least_elements},
          {"largest_group", rules.largest_group},
          {"fail_on_unfused", rules.fail_on_unfused}};
}

bool has_all_features_of(const Target& target, const Target& other) {
  return target.arch == other.arch && target.os == other.os &&
         std::includes(target.features.begin(), target.features.end(), other.features.begin(),
                       other.features.end());
}

// Why the rules do not allow a fusion of `op` by which `members` comprehensions become one.
std::optional<std::string> why_not_by(const FusionRules& rules, const std::string& pattern,
                                      const Op& op, int64_t members) {
  if (!rules.enabled) return "expected fusion to be enabled by the config";
  if (!std::count(rules.patterns.begin(), rules.patterns.end(), pattern)) {
    return fmt::format("expected a pattern that the config enables, got {}", pattern);
  }
  const std::optional<int64_t> elements = element_count(op.shape);
  if (elements && *elements < rules.least_elements) {
    return fmt::format("expected {} of at least {}, got {}", op.name,
                       count_text(rules.least_elements, "element", "elements"), *elements);
  }
  if (rules.largest_group > 0 && members > rules.largest_group) {
    return fmt::format("expected a group of at most {}, got {} with {}",
                       count_text(rules.largest_group, "operation", "operations"), members,
                       op.name);
  }
  return std::nullopt;
}

Json parse(const std::string& text) {
  try {
    return parse_strict_json(text);
  } catch (const Error& error) {
    fail("fusion config: {}", error.what());
  }
}

}  // namespace

FusionConfig parse_fusion_config(const std::string& json) {
  const Json object = parse(json);
  if (!object.is_object()) {
    fail("fusion config: expected an object, got {}", json_kind_of(object));
  }
  std::vector<std::string> fields = rule_fields();
  fields.insert(fields.end(), {"targets", "measured"});
  FusionConfig config;
  for (const auto& [field, value] : object.items()) {
    check_name("a field", field, fields);
    if (field == "measured") {
      if (!value.is_array()) refuse(field, "a list", value);
      for (const Json& one : value) config.measured.push_back(read_measured(one));
    } else if (field != "targets") {
      read_rule(field, value, &config);
    }
  }
  if (object.contains("targets")) {
    const Json& targets = object["targets"];
    if (!targets.is_object()) refuse("targets", "an object", targets);
    for (const auto& [name, rules] : targets.items()) {
      config.targets.push_back(read_target(name, rules, config));
    }
  }
  check_fusion_config(config);
  return config;
}

void check_fusion_config(const FusionConfig& config) {
  check_rules(config);
  for (const TargetFusionRules& one : config.targets) check_rules(one.rules);
  for (const MeasuredFusion& one : config.measured) check_measured_fusion(one);
}

FusionConfig read_fusion_config(const std::string& path) {
  const std::string text = read_file("fusion config", path);
  try {
    return parse_fusion_config(text);
  } catch (const Error& error) {
    fail("{}: {}", path, error.what());
  }
}

FusionConfig fusion_config_from_environment() {
  const char* value = std::getenv("EMULSION_FUSION");
  const std::string text = value == nullptr ? "" : value;
  FusionConfig config;
  if (text.empty() || text == "on") return config;
  if (text == "off") {
    config.enabled = false;
    return config;
  }
  const size_t begin = text.find_first_not_of(" \t\r\n");
  const bool is_json = begin != std::string::npos && text[begin] == '{';
  try {
    return is_json ? parse_fusion_config(text) : read_fusion_config(text);
  } catch (const Error& error) {
    fail(
        "EMULSION_FUSION: expected on, off, a fusion config that begins with {{, or a file of one: "
        "{}",
        error.what());
  }
}

std::string to_json(const FusionConfig& config) {
  Json json = rules_as_json(config);
  json["targets"] = Json::object();
  for (const TargetFusionRules& one : config.targets) {
    json["targets"][one.target.to_string()] = rules_as_json(one.rules);
  }
  json["measured"] = Json::array();
  for (const MeasuredFusion& one : config.measured) {
    json["measured"].push_back({{"pattern", one.pattern},
                                {"shape_class", one.shape_class},
                                {"target", one.target},
                                {"version", one.version},
                                {"speed_up", one.speed_up},
                                {"runs", one.runs}});
  }
  return json.dump(2) + "\n";
}

const FusionRules& rules_for(const FusionConfig& config, const Target& target) {
  const TargetFusionRules* best = nullptr;
  for (const TargetFusionRules& one : config.targets) {
    if (!has_all_features_of(target, one.target)) continue;
    if (best == nullptr || one.target.features.size() > best->target.features.size()) best = &one;
  }
  if (best != nullptr) return best->rules;
  return config;
}

FusionPolicy policy_of(const FusionRules& rules) {
  check_rules(rules);
  return [rules](const FusionCandidate& candidate) -> std::optional<FusionRefusal> {
    auto reason = why_not_by(rules, candidate.pattern, candidate.producer, candidate.members);
    if (reason) return *reason;
    return std::nullopt;
  };
}

SiblingPolicy sibling_policy_of(const FusionRules& rules, SiblingPolicy otherwise) {
  check_rules(rules);
  return [rules, otherwise = std::move(otherwise)](
             const SiblingCandidate& candidate) -> std::optional<FusionRefusal> {
    size_t members = comprehensions(candidate.sibling).size();
    for (const OpPtr& op : candidate.group) members += comprehensions(op).size();
    if (auto reason =
            why_not_by(rules, kSiblings, *candidate.sibling, static_cast<int64_t>(members))) {
      return FusionRefusal(*reason);
    }
    return otherwise(candidate);
  };
}

JoinPolicy join_policy_of(const FusionRules& rules, JoinPolicy otherwise) {
  check_rules(rules);
  return [rules, otherwise = std::move(otherwise)](
             const JoinCandidate& candidate) -> std::optional<std::string> {
    for (const OpPtr& product : candidate.products) {
      const auto count = static_cast<int64_t>(candidate.products.size());
      if (auto reason = why_not_by(rules, kSiblingProducts, *product, count)) return reason;
    }
    return otherwise(candidate);
  };
}

RecomputePolicy recompute_policy_of(const FusionRules& rules, RecomputePolicy otherwise) {
  check_rules(rules);
  return [rules, otherwise = std::move(otherwise)](
             const RecomputeCandidate& candidate) -> std::optional<FusionRefusal> {
    for (const OpPtr& group : candidate.fused) {
      const auto members = static_cast<int64_t>(group->members.size());
      auto reason = why_not_by(rules, kRecomputedValues, candidate.producer, members);
      if (reason) return FusionRefusal(*reason);
    }
    return otherwise(candidate);
  };
}

LoopPolicy loop_policy_of(const FusionRules& rules) {
  check_rules(rules);
  return [rules](const LoopCandidate& candidate) -> std::optional<FusionRefusal> {
    const std::vector<const Op*>& operations = candidate.operations;
    int64_t members = 0;
    for (const Op* op : operations) {
      members += std::max<int64_t>(1, static_cast<int64_t>(op->members.size()));
    }
    for (size_t i = operations.size() > 1 ? 1 : 0; i < operations.size(); ++i) {
      if (auto reason = why_not_by(rules, candidate.pattern, *operations[i], members)) {
        return FusionRefusal(*reason);
      }
    }
    return std::nullopt;
  };
}

}  // namespace emulsion

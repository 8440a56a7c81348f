#include "passes/fuse/fusion_config.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "dsl/error.h"
#include "dsl/extent.h"
#include "dsl/files.h"
#include "dsl/nearest_name.h"
#include "dsl/strict_json.h"

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
  if (!value.is_number_integer()) refuse(field, "a whole number", value);
  const auto count = value.get<int64_t>();
  if (count < 0) fail("fusion config, {}: expected 0 or greater, got {}", field, count);
  return count;
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
  fail("fusion config: expected {}, got {}; nearest: {}", what, name, nearest_name(name, legal));
}

}  // namespace

FusionConfig parse_fusion_config(const std::string& json) {
  const Json object = parse_strict_json(json);
  if (!object.is_object()) {
    fail("fusion config: expected an object, got {}", json_kind_of(object));
  }
  FusionConfig config;
  for (const auto& [field, value] : object.items()) {
    if (field == "enabled") {
      config.enabled = read_bool(field, value);
    } else if (field == "patterns") {
      config.patterns = read_names(field, value);
      for (const std::string& name : config.patterns) {
        check_name("a pattern", name, fusion_patterns());
      }
    } else if (field == "least_elements") {
      config.least_elements = read_count(field, value);
    } else if (field == "largest_group") {
      config.largest_group = read_count(field, value);
    } else if (field == "fail_on_unfused") {
      config.fail_on_unfused = read_names(field, value);
    } else {
      check_name("a field", field,
                 {"enabled", "patterns", "least_elements", "largest_group", "fail_on_unfused"});
    }
  }
  return config;
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
  if (text != "off") return read_fusion_config(text);
  config.enabled = false;
  return config;
}

FusionPolicy policy_of(const FusionConfig& config) {
  return [config](const FusionCandidate& candidate) -> std::optional<std::string> {
    if (!config.enabled) return "expected fusion to be enabled by the config";
    const auto& patterns = config.patterns;
    if (!std::count(patterns.begin(), patterns.end(), candidate.pattern)) {
      return fmt::format("expected a pattern that the config enables, got {}", candidate.pattern);
    }
    const std::optional<int64_t> elements = element_count(candidate.producer.shape);
    if (elements && *elements < config.least_elements) {
      return fmt::format("expected {} of at least {} elements, got {}", candidate.producer.name,
                         config.least_elements, *elements);
    }
    if (config.largest_group > 0 && candidate.members > config.largest_group) {
      return fmt::format("expected a group of at most {} operations, got {} with {}",
                         config.largest_group, candidate.members, candidate.producer.name);
    }
    return std::nullopt;
  };
}

}  // namespace emulsion

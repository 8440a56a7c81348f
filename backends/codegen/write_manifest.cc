#include "backends/codegen/write_manifest.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "dsl/error.h"
#include "dsl/text_hash.h"

namespace emulsion {
namespace {

using nlohmann::ordered_json;

// A number, or text over the run-time sizes.
ordered_json extent_json(const Extent& extent) {
  if (const auto number = extent.as_constant()) return *number;
  return extent.to_string();
}

ordered_json shape_json(const Shape& shape) {
  ordered_json result = ordered_json::array();
  for (const Extent& extent : shape) result.push_back(extent_json(extent));
  return result;
}

ordered_json buffer_json(const Buffer& buffer) {
  return {{"name", buffer.name},
          {"role", to_string(buffer.role)},
          {"dtype", to_string(buffer.dtype)},
          {"shape", shape_json(buffer.shape)}};
}

}  // namespace

std::string kernel_manifest(const KernelDescription& kernel,
                            const std::vector<TargetSchedule>& schedules,
                            const std::vector<std::string>& warnings) {
  EMULSION_CHECK(schedules.size() == kernel.targets.size(), "{} schedules for {} targets",
                 schedules.size(), kernel.targets.size());
  ordered_json root;
  root["format"] = 1;
  root["kernel"] = kernel.name;
  root["label"] = kernel.label;
  root["sizes"] = kernel.nest->sizes;
  root["arguments"] = ordered_json::array();
  for (const Buffer* argument : kernel.nest->arguments()) {
    root["arguments"].push_back(buffer_json(*argument));
  }
  root["packs"] = ordered_json::array();
  for (const Pack& pack : kernel.nest->packs) {
    root["packs"].push_back({{"function", kernel.name + "_pack_" + pack.weight},
                             {"weight", buffer_json(*pack.nest->arguments().front())},
                             {"packed", pack.packed}});
  }
  root["targets"] = ordered_json::array();
  for (size_t i = 0; i < schedules.size(); ++i) {
    root["targets"].push_back({{"target", kernel.targets[i].to_string_with_machine()},
                               {"schedule", schedules[i].derived ? "derived" : "file"},
                               {"schedule_hash", text_hash(schedules[i].text)}});
  }
  root["warnings"] = warnings;
  root["flops"] = ordered_json::array();
  for (const FlopTerm& term : kernel.flops) {
    root["flops"].push_back(
        {{"operations", term.operations}, {"extents", shape_json(term.extents)}});
  }
  // A label may hold anything that a file name may.
  return root.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace emulsion

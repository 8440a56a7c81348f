#include "passes/fuse/fusion_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "dsl/count_text.h"

namespace emulsion {
namespace {

using Json = nlohmann::ordered_json;

// The fields of a gain, null where it is not known.
void add_gain(const std::optional<FusionGain>& gain, Json* json) {
  (*json)["bytes_saved"] = gain ? Json(gain->bytes_saved) : Json(nullptr);
  (*json)["estimated_speed_up"] = gain ? Json(gain->speed_up()) : Json(nullptr);
  (*json)["operations_added"] = gain ? Json(gain->operations_added) : Json(nullptr);
}

}  // namespace

const std::vector<std::string>& fusion_patterns() {
  static const std::vector<std::string> kPatterns = {
      kContractionEpilogue, kElementwiseChain, kSiblings,      kSiblingProducts,
      kRecomputedValues,    kSharedRows,       kSharedColumns, kLayerBlocks,
      kSlidingWindows,      kWaitingSums,      kReadThrough,   kBordersThrough};
  return kPatterns;
}

const std::vector<std::string>& default_fusion_patterns() {
  static const std::vector<std::string> kPatterns = {
      kContractionEpilogue, kElementwiseChain, kSiblings,    kSharedRows,  kSharedColumns,
      kLayerBlocks,         kSlidingWindows,   kWaitingSums, kReadThrough, kBordersThrough};
  return kPatterns;
}

bool is_of_siblings(const FusionDecision& decision) {
  return decision.pattern == kSiblings || decision.pattern == kSiblingProducts;
}

bool is_of_loops(const FusionDecision& decision) {
  return decision.pattern == kSharedRows || decision.pattern == kSharedColumns ||
         decision.pattern == kLayerBlocks || decision.pattern == kSlidingWindows ||
         decision.pattern == kWaitingSums || is_read_through(decision);
}

bool is_read_through(const FusionDecision& decision) {
  return decision.pattern == kReadThrough || decision.pattern == kBordersThrough;
}

int FusionReport::fused_count() const {
  return static_cast<int>(std::count_if(decisions.begin(), decisions.end(),
                                        [](const FusionDecision& d) { return d.fused; }));
}

std::string to_string(const FusionGain& gain) {
  const std::string added = gain.operations_added > 0
                                ? fmt::format(" for {} more", count_text(gain.operations_added,
                                                                         "operation", "operations"))
                                : "";
  return fmt::format("{} bytes{}, {:.2f} times as fast by the model", gain.bytes_saved, added,
                     gain.speed_up());
}

std::string to_string(const FusionReport& report) {
  std::string text;
  for (const FusionDecision& d : report.decisions) {
    text += (d.pattern.empty() ? "" : d.pattern + ", ") + d.producer + " -> " + d.consumer;
    for (const std::string& other : d.other_consumers) text += ", " + other;
    text += d.fused ? ": fused" : ": not fused: " + d.reason;
    if (d.gain) text += (d.fused ? ": saves " : "; would save ") + to_string(*d.gain);
    text += "\n";
  }
  if (!report.gain) return text;
  const int fused = report.fused_count();
  return text + fmt::format("{} fused, {} not: saves {}\n", fused,
                            report.decisions.size() - static_cast<size_t>(fused),
                            to_string(*report.gain));
}

std::string to_json(const FusionReport& report) {
  Json decisions = Json::array();
  for (const FusionDecision& d : report.decisions) {
    Json decision = {
        {"producer", d.producer}, {"consumer", d.consumer}, {"other_consumers", d.other_consumers},
        {"fused", d.fused},       {"reason", d.reason},     {"pattern", d.pattern},
        {"measured", d.measured}};
    add_gain(d.gain, &decision);
    decisions.push_back(std::move(decision));
  }
  const int fused = report.fused_count();
  Json json = {{"fused", fused}, {"refused", static_cast<int>(report.decisions.size()) - fused}};
  add_gain(report.gain, &json);
  json["decisions"] = std::move(decisions);
  return json.dump(2);
}

}  // namespace emulsion

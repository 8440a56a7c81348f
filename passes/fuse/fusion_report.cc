#include "passes/fuse/fusion_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace emulsion {

const std::vector<std::string>& fusion_patterns() {
  static const std::vector<std::string> kPatterns = {"contraction epilogue", "elementwise chain"};
  return kPatterns;
}

int FusionReport::fused_count() const {
  return static_cast<int>(std::count_if(decisions.begin(), decisions.end(),
                                        [](const FusionDecision& d) { return d.fused; }));
}

std::string to_string(const FusionReport& report) {
  std::string text;
  for (const FusionDecision& d : report.decisions) {
    text += (d.pattern.empty() ? "" : d.pattern + ", ") + d.producer + " -> " + d.consumer +
            (d.fused ? ": fused" : ": not fused: " + d.reason);
    text += "\n";
  }
  return text;
}

std::string to_json(const FusionReport& report) {
  nlohmann::ordered_json decisions = nlohmann::ordered_json::array();
  for (const FusionDecision& d : report.decisions) {
    decisions.push_back({{"producer", d.producer},
                         {"consumer", d.consumer},
                         {"fused", d.fused},
                         {"reason", d.reason},
                         {"pattern", d.pattern}});
  }
  const int fused = report.fused_count();
  nlohmann::ordered_json json = {{"fused", fused},
                                 {"refused", static_cast<int>(report.decisions.size()) - fused},
                                 {"decisions", std::move(decisions)}};
  return json.dump(2);
}

}  // namespace emulsion

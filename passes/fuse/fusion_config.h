#ifndef EMULSION_PASSES_FUSE_FUSION_CONFIG_H_
#define EMULSION_PASSES_FUSE_FUSION_CONFIG_H_

// What a user says about fusion: in code, in a JSON file, or in the environment.
//
//   {"enabled": true, "patterns": ["contraction epilogue"], "least_elements": 1024,
//    "largest_group": 8, "fail_on_unfused": ["matmul+bias+relu"]}
//
// Every field may be left out. EMULSION_FUSION in the environment is "on", "off", or the path of
// such a file.

#include <cstdint>
#include <string>
#include <vector>

#include "passes/fuse/fuse_epilogues.h"

namespace emulsion {

struct FusionConfig {
  bool enabled = true;
  std::vector<std::string> patterns = fusion_patterns();  // those that may be fused
  // A value of fewer elements is not fused into its user, where its shape has no run-time size.
  int64_t least_elements = 0;
  int64_t largest_group = 0;  // comprehensions; 0: as many as are legal
  // What must not stay apart (expect_fused.h).
  std::vector<std::string> fail_on_unfused;
};

// Error: no JSON object, a field or a pattern that there is not (the nearest is named), a value of
// another kind, a negative number.
FusionConfig parse_fusion_config(const std::string& json);
// Error: as above, with the path; a file that cannot be read.
FusionConfig read_fusion_config(const std::string& path);
// Without the variable, or with an empty one: FusionConfig().
FusionConfig fusion_config_from_environment();

// Refuses what the config does not allow. With enabled = false that is everything.
FusionPolicy policy_of(const FusionConfig& config);

}  // namespace emulsion

#endif  // EMULSION_PASSES_FUSE_FUSION_CONFIG_H_

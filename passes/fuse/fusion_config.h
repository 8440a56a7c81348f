#ifndef EMULSION_PASSES_FUSE_FUSION_CONFIG_H_
#define EMULSION_PASSES_FUSE_FUSION_CONFIG_H_

// What a user says about fusion: in code, in a JSON file, or in the environment.
//
//   {"enabled": true, "patterns": ["contraction epilogue"], "least_elements": 1024,
//    "largest_group": 8, "fail_on_unfused": ["matmul+bias+relu"],
//    "targets": {"x86-64-v4": {"largest_group": 4}},
//    "measured": [{"pattern": "matmul+relu", "shape_class": "512x512x64", "target": "...",
//                  "version": "0.12.0", "speed_up": 0.93, "runs": 7}]}
//
// Every field may be left out. "patterns" turns on what is off by itself, too: "sibling products"
// and "recomputed values". What stands under a target is said of it alone, in place of what is
// said of all. EMULSION_FUSION in the environment is "on", "off", the path of such a file, or, when
// its first letter that is no blank is "{", its text.

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/target.h"
#include "passes/fuse/find_siblings.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/fuse/join_products.h"
#include "passes/fuse/loop_policy.h"
#include "passes/fuse/measured_fusions.h"
#include "passes/fuse/recompute_producers.h"

namespace emulsion {

struct FusionRules {
  bool enabled = true;
  // Those of fusion_patterns() that may be fused.
  std::vector<std::string> patterns = default_fusion_patterns();
  // A value of fewer elements is not fused into its user, where its shape has no run-time size.
  int64_t least_elements = 0;
  int64_t largest_group = 0;  // comprehensions; 0: as many as are legal
  // What must not stay apart: "matmul+bias+relu", "siblings" (expect_fused.h says which names).
  std::vector<std::string> fail_on_unfused = {};
};

struct TargetFusionRules {
  Target target;
  FusionRules rules;
};

struct FusionConfig : FusionRules {
  // For a target that has all features of one of these, that one's; of several, those of the one
  // with most features, the first of equals. Caches and cores do not count.
  std::vector<TargetFusionRules> targets = {};
  // What was measured (measured_fusions.h): backends/tracker writes it.
  std::vector<MeasuredFusion> measured = {};
};

// Error: a pattern that there is not (the nearest is named), a negative number, a measurement that
// check_measured_fusion() refuses. What uses a config asks this first, so one that is made in code
// is refused as its JSON form is.
void check_fusion_config(const FusionConfig& config);
// Error: check_fusion_config(); no JSON object, a field or a target that there is not (the nearest
// is named), a value of another kind.
FusionConfig parse_fusion_config(const std::string& json);
// Error: as above, with the path; a file that cannot be read.
FusionConfig read_fusion_config(const std::string& path);
// Without the variable, or with an empty one: FusionConfig(). Error: as above, with the name of the
// variable and what it may be.
FusionConfig fusion_config_from_environment();
// Parses back to an equal config.
std::string to_json(const FusionConfig& config);

const FusionRules& rules_for(const FusionConfig& config, const Target& target);

// Refuses what the rules do not allow. With enabled = false that is everything. Error, here and
// below: rules that check_fusion_config() refuses.
FusionPolicy policy_of(const FusionRules& rules);
// The same of siblings: `least_elements` of each, `largest_group` of all comprehensions in their
// loop. What the rules allow, `otherwise` decides.
SiblingPolicy sibling_policy_of(const FusionRules& rules, SiblingPolicy otherwise);
// The same of products that may be joined: `least_elements` of each, `largest_group` of how many.
JoinPolicy join_policy_of(const FusionRules& rules, JoinPolicy otherwise);
// The same of values that may be computed again: `largest_group` of each user with its copies.
RecomputePolicy recompute_policy_of(const FusionRules& rules, RecomputePolicy otherwise);

// The same of loops that are shared: `least_elements` of each but the last, `largest_group` of all
// comprehensions in them.
LoopPolicy loop_policy_of(const FusionRules& rules);

}  // namespace emulsion

#endif  // EMULSION_PASSES_FUSE_FUSION_CONFIG_H_

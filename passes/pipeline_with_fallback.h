#ifndef EMULSION_PASSES_PIPELINE_WITH_FALLBACK_H_
#define EMULSION_PASSES_PIPELINE_WITH_FALLBACK_H_

// For who needs a kernel today. A derived schedule that cannot be lowered is a bug of this library,
// and run_pipeline() says so; nothing that a user may write changes it. Here a simpler schedule is
// taken then, and a warning says why: the kernel is right, and slower.

#include <string>
#include <vector>

#include "passes/pipeline.h"

namespace emulsion {

struct LoweredForTargets {
  std::vector<Lowered> targets;
  // Empty where all is as run_pipeline() has it: else one text for each schedule that was given up.
  std::vector<std::string> warnings;
};

// run_pipeline() for each target; where it throws an InternalError, for all of them in turn: with
// no operation in the loops of another; operation by operation; every operation in plain loops.
// Error: as run_pipeline(). InternalError: the first one, where none of these helps; at once for a
// tile machine, and where `fusion` names what must be fused (fail_on_unfused).
LoweredForTargets run_pipeline_with_fallback(
    const Graph& graph, const std::vector<Target>& targets, const DeriveOptions& options = {},
    std::string* dump = nullptr, const FusionConfig& fusion = fusion_config_from_environment());

}  // namespace emulsion

#endif  // EMULSION_PASSES_PIPELINE_WITH_FALLBACK_H_

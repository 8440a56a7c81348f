#ifndef EMULSION_PASSES_PIPELINE_H_
#define EMULSION_PASSES_PIPELINE_H_

// From a graph to the loop nest that runs, every pass in order. EMULSION_DUMP=1 in the environment
// prints the representation to standard error after each step that changed it; the same is appended
// to `dump` where there is one. `fusion` says what may be fused; left out, EMULSION_FUSION does
// (fuse/fusion_config.h).

#include <optional>
#include <string>
#include <vector>

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"
#include "passes/derive/derive_schedule.h"
#include "passes/fuse/find_opportunities.h"
#include "passes/fuse/find_siblings.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/fuse/fusion_config.h"
#include "passes/fuse/fusion_report.h"
#include "passes/fuse/join_products.h"
#include "passes/fuse/loop_policy.h"
#include "passes/fuse/recompute_producers.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// What rewrites a nest between make_nest (lower/make_nest.h) and a backend. The values that the
// nest computes, and what verify_nest() proves of it, stay.
struct NestPass {
  const char* name;  // as EMULSION_DUMP shows it
  LoopNest (*run)(const LoopNest& nest);
};
// All of them, in the order in which run_pipeline() and lower() run them.
const std::vector<NestPass>& nest_passes();
LoopNest run_nest_passes(LoopNest nest);

struct Lowered {
  // What is lowered: the graph after fusion, with its loop groups, and after joins and copies where
  // the config names them.
  Graph grouped;
  FusionReport fusion;  // with gains by machine_model(), but for a tile machine
  Schedule schedule;
  LoopNest nest;
};

// Who decides what is fused, of what is legal.
struct FusionPolicies {
  JoinPolicy products = join_what_saves;
  FusionPolicy groups = always_fuse;
  RecomputePolicy copies = recompute_what_pays;
  LoopPolicy loops = share_all_loops;
  SiblingPolicy siblings = share_always;  // of those that the target's loops allow
};

// Derives the schedule for `target`. Error: check_fusion_config(), expect_fused(). InternalError:
// it cannot be lowered; a kernel is to be had all the same by pipeline_with_fallback.h.
Lowered run_pipeline(const Graph& graph, const Target& target, const DeriveOptions& options = {},
                     std::string* dump = nullptr,
                     const FusionConfig& fusion = fusion_config_from_environment());
// For each target, with weights packed as for the first: see derive_schedules.
std::vector<Lowered> run_pipeline(const Graph& graph, const std::vector<Target>& targets,
                                  const DeriveOptions& options = {}, std::string* dump = nullptr,
                                  const FusionConfig& fusion = fusion_config_from_environment());
// By policies in place of a config, and with gains at `sizes`. Error: a size that the graph does
// not have.
Lowered run_pipeline(const Graph& graph, const Target& target, const FusionPolicies& policies,
                     const SizeValues& sizes);
// find_opportunities() for a target: with what its derived schedule computes in the loops of
// others. Error: a tile machine, a size that the graph does not have.
std::vector<FusionOpportunity> find_opportunities(const Graph& graph, const Target& target,
                                                  const SizeValues& sizes = {});
// With a schedule made by hand or read from a file.
LoopNest run_pipeline(const Graph& graph, const Schedule& schedule, std::string* dump = nullptr);

}  // namespace emulsion

#endif  // EMULSION_PASSES_PIPELINE_H_

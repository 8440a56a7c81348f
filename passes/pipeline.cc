#include "passes/pipeline.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "dsl/graph_text.h"
#include "dsl/schedule_text.h"
#include "passes/analyse/machine_model.h"
#include "passes/derive/sibling_loops.h"
#include "passes/fuse/estimate_fusions.h"
#include "passes/fuse/expect_fused.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/fuse/measured_fusions.h"
#include "passes/lower/lower.h"
#include "passes/nest/nest_passes.h"
#include "passes/nest/verify_nest.h"

namespace emulsion {
namespace {

// Prints a representation under the name of the step that made it, when it differs from the one
// before: to standard error when the environment says so, and to `text` when there is one.
class Dump {
 public:
  explicit Dump(std::string* text) : text_(text) {
    const char* value = std::getenv("EMULSION_DUMP");
    prints_ = value && std::string(value) == "1";
  }

  template <typename Ir>
  void operator()(const char* step, const Ir& ir) {
    if (!prints_ && text_ == nullptr) return;
    std::string made = to_string(ir);
    const bool same = made == last_;
    const std::string shown =
        std::string("--- after ") + step + (same ? " (unchanged)\n" : "\n") + (same ? "" : made);
    if (prints_) std::fputs(shown.c_str(), stderr);
    if (text_ != nullptr) *text_ += shown;
    last_ = std::move(made);
  }

 private:
  std::string* text_;
  bool prints_;
  std::string last_;
};

// make_nest, then every pass over the nest.
LoopNest lower_in_steps(const Graph& graph, const Schedule& schedule, Dump* dump) {
  LoopNest nest = make_nest(graph, schedule);
  (*dump)("make_nest", nest);
  for (const NestPass& pass : nest_passes()) {
    nest = pass.run(nest);
    (*dump)(pass.name, nest);
  }
  verify_nest(nest);
  return nest;
}

}  // namespace

Lowered run_pipeline(const Graph& graph, const Target& target, const DeriveOptions& options,
                     std::string* dump_text, const FusionConfig& fusion) {
  Dump dump(dump_text);
  FusionReport report;
  dump("graph", graph);
  const FusionRules& rules = rules_for(fusion, target);
  const Graph grouped =
      options.fuse
          ? fuse_epilogues(graph, learn_from(graph, target, fusion.measured, policy_of(rules)),
                           &report)
          : graph;
  dump("fuse_epilogues", grouped);
  DeriveOptions derive = options;
  derive.siblings = sibling_policy_of(rules, [&](const SiblingCandidate& candidate) {
    return options.siblings ? (*options.siblings)(candidate)
                            : why_not_worth_sharing(candidate, target);
  });
  Schedule schedule = derive_schedule(graph, grouped, target, derive, &report);
  dump("derive_schedule", schedule);
  if (options.fuse) expect_fused(graph, grouped, report, rules.fail_on_unfused);
  if (!target.is_tile_machine()) {
    report = estimate_fusions(graph, std::move(report), machine_model(target));
  }
  LoopNest nest = lower_in_steps(grouped, schedule, &dump);
  verify_graph(grouped);
  return {grouped, report, schedule, nest};
}

std::vector<Lowered> run_pipeline(const Graph& graph, const std::vector<Target>& targets,
                                  const DeriveOptions& options, std::string* dump,
                                  const FusionConfig& fusion) {
  std::vector<Lowered> lowered;
  DeriveOptions same_layout = options;
  for (const Target& target : targets) {
    if (dump != nullptr) *dump += "=== for " + target.to_string_with_machine() + "\n";
    lowered.push_back(run_pipeline(graph, target, same_layout, dump, fusion));
    keep_layout(lowered.back().schedule, &same_layout);
  }
  return lowered;
}

LoopNest run_pipeline(const Graph& graph, const Schedule& schedule, std::string* dump_text) {
  Dump dump(dump_text);
  dump("graph", graph);
  dump("schedule", schedule);
  return lower_in_steps(graph, schedule, &dump);
}

}  // namespace emulsion

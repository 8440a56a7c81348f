#include "passes/pipeline.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "dsl/graph_text.h"
#include "dsl/schedule_text.h"
#include "passes/analyse/machine_model.h"
#include "passes/derive/share_loops.h"
#include "passes/fuse/estimate_fusions.h"
#include "passes/fuse/expect_fused.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/fuse/fused_group.h"
#include "passes/fuse/join_products.h"
#include "passes/fuse/loop_policy.h"
#include "passes/fuse/measured_fusions.h"
#include "passes/fuse/recompute_producers.h"
#include "passes/lower/make_nest.h"
#include "passes/nest/partition_loops.h"
#include "passes/nest/simplify_nest.h"
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

// Products of one input as one, where the rules allow it and it pays. The arguments stay in their
// order, which a kernel's callers know.
Graph with_products_joined(const Graph& graph, const FusionRules& rules, const Target& target,
                           FusionReport* report) {
  const Graph joined =
      join_products(graph, join_policy_of(rules, join_what_pays(machine_model(target))), report);
  if (joined.ops() == graph.ops()) return graph;
  std::vector<OpPtr> ops = graph.arguments();
  for (const OpPtr& op : joined.ops()) {
    if (op->kind != OpKind::input && op->kind != OpKind::weight) ops.push_back(op);
  }
  return Graph(std::move(ops), joined.outputs());
}

// The decisions of both, and what both gain.
FusionReport together(FusionReport first, const FusionReport& second) {
  first.decisions.insert(first.decisions.end(), second.decisions.begin(), second.decisions.end());
  if (first.gain && second.gain) {
    first.gain->bytes_saved += second.gain->bytes_saved;
    first.gain->seconds_after -= second.gain->seconds_saved();
    first.gain->operations_added += second.gain->operations_added;
  } else {
    first.gain = std::nullopt;
  }
  return first;
}

}  // namespace

const std::vector<NestPass>& nest_passes() {
  static const std::vector<NestPass> kPasses = {
      {"partition_loops", [](const LoopNest& nest) { return partition_loops(nest); }},
      {"simplify_nest", simplify_nest},
  };
  return kPasses;
}

LoopNest run_nest_passes(LoopNest nest) {
  for (const NestPass& pass : nest_passes()) nest = pass.run(nest);
  return nest;
}

Lowered run_pipeline(const Graph& graph, const Target& target, const DeriveOptions& options,
                     std::string* dump_text, const FusionConfig& fusion) {
  Dump dump(dump_text);
  dump("graph", graph);
  const FusionRules& rules = rules_for(fusion, target);
  FusionReport joins, fusions, copies, loops;
  const bool weighs_by_model = options.fuse && !target.is_tile_machine();
  Graph joined = graph;
  if (weighs_by_model) {
    joined = with_products_joined(graph, rules, target, &joins);
    if (joins.fused_count() > 0) dump("join_products", joined);
  }
  Graph grouped =
      options.fuse
          ? fuse_epilogues(joined, learn_from(joined, target, fusion.measured, policy_of(rules)),
                           &fusions)
          : joined;
  dump("fuse_epilogues", grouped);
  Graph apart = joined;  // what is grouped, operation by operation
  if (weighs_by_model) {
    grouped = recompute_producers(grouped, machine_model(target),
                                  learn_from(joined, target, fusion.measured,
                                             recompute_policy_of(rules, recompute_what_pays)),
                                  &copies);
    if (copies.fused_count() > 0) {
      dump("recompute_producers", grouped);
      apart = unfuse(grouped);
    }
  }
  DeriveOptions derive = options;
  derive.siblings = learn_from(target, fusion.measured,
                               sibling_policy_of(rules, wanted_siblings(options, target)));
  const LoopPolicy by_rules = loop_policy_of(rules);
  const LoopPolicy wanted = [&](const LoopCandidate& candidate) {
    auto refusal = options.loops(candidate);
    return refusal ? refusal : by_rules(candidate);
  };
  derive.loops = learn_from(joined, target, fusion.measured, wanted);
  Graph shared = grouped;
  if (weighs_by_model) {
    shared = share_loops(grouped, target, derive.loops, &loops);
    dump("share_loops", shared);
  }
  Schedule schedule = derive_stages(apart, shared, target, derive, &loops);
  dump("derive_schedule", schedule);
  if (!target.is_tile_machine()) {
    const MachineModel machine = machine_model(target);
    joins = estimate_fusions(graph, std::move(joins), machine);
    fusions = estimate_fusions(joined, std::move(fusions), machine);
    loops = estimate_fusions(grouped, std::move(loops), machine);
  }
  FusionReport report =
      together(std::move(joins), without_what_loops_do(std::move(fusions), grouped, loops));
  if (weighs_by_model) {
    report = together(std::move(report), without_what_loops_do(copies, grouped, loops));
  }
  report = together(std::move(report), loops);
  if (options.fuse) expect_fused(apart, shared, report, rules.fail_on_unfused);
  LoopNest nest = lower_in_steps(shared, schedule, &dump);
  verify_graph(shared);
  return {shared, report, schedule, nest};
}

std::vector<FusionOpportunity> find_opportunities(const Graph& graph, const Target& target,
                                                  const SizeValues& sizes) {
  const MachineModel machine = machine_model(target);  // Error: a tile machine, which has no loops
  FusionReport loops;
  share_loops(fuse_epilogues(graph), target, share_all_loops, &loops);
  return find_opportunities(graph, machine, sizes, loops);
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

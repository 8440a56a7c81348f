#include "passes/pipeline.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "dsl/error.h"
#include "dsl/graph_text.h"
#include "dsl/schedule_text.h"
#include "passes/analyse/machine_model.h"
#include "passes/derive/share_loops.h"
#include "passes/fuse/estimate_fusions.h"
#include "passes/fuse/expect_fused.h"
#include "passes/fuse/fused_group.h"
#include "passes/fuse/measured_fusions.h"
#include "passes/lower/make_nest.h"
#include "passes/nest/partition_loops.h"
#include "passes/nest/simplify_nest.h"
#include "passes/nest/spread_prefetches.h"
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

// Products of one input as one, where the policy wants it. The arguments stay in their
// order, which a kernel's callers know.
Graph with_products_joined(const Graph& graph, const JoinPolicy& policy, FusionReport* report) {
  const Graph joined = join_products(graph, policy, report);
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

// Of a derived schedule: that a directive is refused is nothing that a user could mend. A tile
// machine may be too small for a graph.
template <typename Step>
auto derived_in(const Target& target, const Step& step) {
  if (target.is_tile_machine()) return step();
  try {
    return step();
  } catch (const ScheduleError& error) {
    throw InternalError("the schedule that was derived cannot be lowered: " + error.message());
  }
}

// What is fused, and the schedule that is derived for it.
struct Fused {
  Graph apart;   // operation by operation, with what was joined and copied
  Graph shared;  // with groups and loop groups
  FusionReport report;
  Schedule schedule;
};

Fused fuse_by(const Graph& graph, const Target& target, const DeriveOptions& options,
              const FusionPolicies& policies, const std::vector<MeasuredFusion>& measured,
              const SizeValues& sizes, Dump* dump) {
  (*dump)("graph", graph);
  FusionReport joins, fusions, copies, loops;
  const bool weighs_by_model = options.fuse && !target.is_tile_machine();
  Graph joined = graph;
  if (weighs_by_model) {
    joined = with_products_joined(graph, policies.products, &joins);
    if (joins.fused_count() > 0) (*dump)("join_products", joined);
  }
  Graph grouped = joined;
  if (options.fuse) {
    grouped =
        fuse_epilogues(joined, learn_from(joined, target, measured, policies.groups), &fusions);
  }
  (*dump)("fuse_epilogues", grouped);
  Graph apart = joined;  // what is grouped, operation by operation
  if (weighs_by_model) {
    grouped =
        recompute_producers(grouped, machine_model(target),
                            learn_from(joined, target, measured, policies.copies), &copies, sizes);
    if (copies.fused_count() > 0) {
      (*dump)("recompute_producers", grouped);
      apart = unfuse(grouped);
    }
  }
  DeriveOptions derive = options;
  derive.siblings = learn_from(target, measured, policies.siblings);
  derive.loops = learn_from(joined, target, measured, policies.loops);
  Graph shared = grouped;
  if (weighs_by_model) {
    shared = share_loops(grouped, target, derive.loops, &loops);
    (*dump)("share_loops", shared);
  }
  Schedule schedule =
      derived_in(target, [&] { return derive_stages(apart, shared, target, derive, &loops); });
  (*dump)("derive_schedule", schedule);
  if (!target.is_tile_machine()) {
    const MachineModel machine = machine_model(target);
    joins = estimate_fusions(graph, std::move(joins), machine, sizes);
    fusions = estimate_fusions(joined, std::move(fusions), machine, sizes);
    loops = estimate_fusions(grouped, std::move(loops), machine, sizes);
  }
  FusionReport report =
      together(std::move(joins), without_what_loops_do(std::move(fusions), grouped, loops));
  if (weighs_by_model) {
    report = together(std::move(report), without_what_loops_do(copies, grouped, loops));
  }
  report = together(std::move(report), loops);
  return {std::move(apart), std::move(shared), std::move(report), schedule};
}

Lowered lowered_of(const Fused& fused, const Target& target, Dump* dump) {
  LoopNest nest =
      derived_in(target, [&] { return lower_in_steps(fused.shared, fused.schedule, dump); });
  verify_graph(fused.shared);
  return {fused.shared, fused.report, fused.schedule, std::move(nest)};
}

}  // namespace

const std::vector<NestPass>& nest_passes() {
  static const std::vector<NestPass> kPasses = {
      {"partition_loops", [](const LoopNest& nest) { return partition_loops(nest); }},
      {"simplify_nest", simplify_nest},
      {"spread_prefetches", spread_prefetches},
  };
  return kPasses;
}

LoopNest run_nest_passes(LoopNest nest) {
  for (const NestPass& pass : nest_passes()) nest = pass.run(nest);
  return nest;
}

Lowered run_pipeline(const Graph& graph, const Target& target, const DeriveOptions& options,
                     std::string* dump_text, const FusionConfig& fusion) {
  check_fusion_config(fusion);
  const FusionRules& rules = rules_for(fusion, target);
  const LoopPolicy by_rules = loop_policy_of(rules);
  FusionPolicies policies;
  if (!target.is_tile_machine()) {
    policies.products = join_policy_of(rules, join_what_pays(machine_model(target)));
  }
  policies.groups = policy_of(rules);
  policies.copies = recompute_policy_of(rules, recompute_what_pays);
  policies.loops = [&](const LoopCandidate& candidate) {
    auto refusal = options.loops(candidate);
    return refusal ? refusal : by_rules(candidate);
  };
  policies.siblings = sibling_policy_of(rules, wanted_siblings(options, target));
  Dump dump(dump_text);
  const Fused fused = fuse_by(graph, target, options, policies, fusion.measured, {}, &dump);
  if (options.fuse) {
    expect_fused(fused.apart, fused.shared, fused.report, rules.fail_on_unfused);
  }
  return lowered_of(fused, target, &dump);
}

Lowered run_pipeline(const Graph& graph, const Target& target, const FusionPolicies& policies,
                     const SizeValues& sizes) {
  check_sizes_of(graph, sizes);
  Dump dump(nullptr);
  return lowered_of(fuse_by(graph, target, {}, policies, {}, sizes, &dump), target, &dump);
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

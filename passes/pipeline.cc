#include "passes/pipeline.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "dsl/graph_text.h"
#include "dsl/schedule_text.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/lower/lower.h"
#include "passes/nest/nest_passes.h"
#include "passes/nest/verify_nest.h"

namespace emulsion {
namespace {

// Prints a representation under the name of the step that made it, when it differs from the one
// before.
class Dump {
 public:
  Dump() {
    const char* value = std::getenv("EMULSION_DUMP");
    on_ = value && std::string(value) == "1";
  }

  template <typename Ir>
  const Ir& operator()(const char* step, const Ir& ir) {
    if (!on_) return ir;
    std::string text = to_string(ir);
    bool same = text == last_;
    std::fprintf(stderr, "--- after %s%s\n%s", step, same ? " (unchanged)\n" : "",
                 same ? "" : text.c_str());
    last_ = std::move(text);
    return ir;
  }

 private:
  bool on_;
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

Lowered run_pipeline(const Graph& graph, const Target& target, const DeriveOptions& options) {
  Dump dump;
  FusionReport report;
  dump("graph", graph);
  Graph grouped = options.fuse ? fuse_epilogues(graph, always_fuse, &report) : graph;
  dump("fuse_epilogues", grouped);
  Schedule schedule = derive_schedule(graph, grouped, target, options);
  dump("derive_schedule", schedule);
  LoopNest nest = lower_in_steps(grouped, schedule, &dump);
  verify_graph(grouped);
  return {grouped, report, schedule, nest};
}

std::vector<Lowered> run_pipeline(const Graph& graph, const std::vector<Target>& targets,
                                  const DeriveOptions& options) {
  std::vector<Lowered> lowered;
  DeriveOptions same_layout = options;
  for (const Target& target : targets) {
    lowered.push_back(run_pipeline(graph, target, same_layout));
    keep_layout(lowered.back().schedule, &same_layout);
  }
  return lowered;
}

LoopNest run_pipeline(const Graph& graph, const Schedule& schedule) {
  Dump dump;
  dump("graph", graph);
  dump("schedule", schedule);
  return lower_in_steps(graph, schedule, &dump);
}

}  // namespace emulsion

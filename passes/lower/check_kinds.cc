#include <algorithm>

#include "dsl/error.h"
#include "passes/lower/stage_plan.h"

namespace emulsion {
namespace {

// The last of the first `applied` directives that names one of these loops.
const Directive& last_that_names(const WrittenStage& plan, size_t applied,
                                 const std::set<std::string>& loops) {
  auto names = [&](const std::string& axis) { return loops.count(axis) > 0; };
  size_t at = applied;
  while (at > 0 && std::none_of(plan.directives[at - 1].axes.begin(),
                                plan.directives[at - 1].axes.end(), names)) {
    --at;
  }
  EMULSION_CHECK(at > 0, "no directive of {} names such a loop", plan.stage.name);
  return plan.directives[at - 1];
}

// A vectorized loop is one instruction: in it there is no other one, and no thread.
[[noreturn]] void refuse_inside(const WrittenStage& plan, size_t applied,
                                const std::string& vectorized, const ScheduledLoop& loop) {
  refuse(plan.stage.name, last_that_names(plan, applied, {vectorized, loop.name}),
         fmt::format("expected no {} loop inside a vectorized loop, got {} inside {}; legal: {}",
                     to_string(loop.kind), loop.name, vectorized,
                     loop.kind == LoopKind::parallel
                         ? fmt::format("reorder({}, {})", vectorized, loop.name)
                         : fmt::format("unroll({})", vectorized)),
         {plan.stage.name, loop.name});
}

}  // namespace

void check_kinds(const WrittenStage& plan, const std::vector<ScheduledLoop>& loops,
                 size_t applied) {
  std::string vectorized, tile;  // the innermost one so far
  for (const ScheduledLoop& loop : loops) {
    if (loop.kind == LoopKind::tile) tile = loop.name;
    if (!tile.empty() && (loop.kind != LoopKind::tile || !vectorized.empty())) {
      refuse(plan.stage.name, last_that_names(plan, applied, {tile, loop.name, vectorized}),
             fmt::format("expected {}, a tile's loop, innermost and in no vectorized loop, got "
                         "the loops {}, outermost first; legal: {}",
                         tile, joined(names_of(loops)),
                         vectorized.empty() ? "tensorize(" + loops.back().name + ")"
                                            : "a serial or parallel " + vectorized),
             {plan.stage.name, loop.name});
    }
    const bool refused = loop.kind == LoopKind::vectorized || loop.kind == LoopKind::parallel;
    if (!vectorized.empty() && refused) refuse_inside(plan, applied, vectorized, loop);
    if (loop.kind == LoopKind::vectorized) vectorized = loop.name;
  }
}

// Every combiner is associative and commutative, but a float is rounded at each step: in what
// order, the nest says, and neither threads nor a reduction across lanes would keep to it.
void check_carried(const WrittenStage& plan, const Directive& d, LoopKind kind) {
  const Stage& stage = plan.stage;
  const std::string combiner = to_string(stage.combiner);
  const std::string& axis = d.axes[0];
  const std::string partial = fmt::format("rfactor({}, ...) and this in the new stage", axis);
  if (is_float(stage.dtype)) {
    refuse(
        stage.name, d,
        fmt::format("expected a loop without a dependence, got {}, which carries the {} of {}, "
                    "rounded in the order of the loop{}; legal: {}",
                    axis, combiner, stage.name,
                    plan.find_directive(DirectiveKind::atomic) ? " (atomic() is for integers)" : "",
                    partial));
  }
  // Where it stands among the directives does not matter, as in Halide.
  if (!plan.find_directive(DirectiveKind::atomic)) {
    refuse(stage.name, d,
           fmt::format("expected a loop without a dependence, got {}, which carries the {} of {}; "
                       "legal: atomic() on {}, or {}",
                       axis, combiner, stage.name, stage.name, partial));
  }
  if (kind == LoopKind::parallel && stage.combiner == Combiner::product) {
    refuse(stage.name, d,
           fmt::format("expected a sum, a min or a max, which processors have as atomic "
                       "operations, got a product of {}; legal: {}",
                       to_string(stage.dtype), partial));
  }
}

}  // namespace emulsion

#include <algorithm>

#include "dsl/error.h"
#include "dsl/nearest_name.h"
#include "passes/lower/refusal.h"
#include "passes/lower/stage_plan.h"

namespace emulsion {
namespace {

Directive at_loop(DirectiveKind kind, const LoopLevel& level) {
  Directive d;
  d.kind = kind;
  d.target = level.stage;
  d.axes = {level.loop};
  return d;
}

// The loop of `consumer` around everything that stage `plan` computes there; -1 when it is not
// inside.
int depth_inside(const NestPlan& nest, const ScheduledStage& plan, const ScheduledStage& consumer) {
  const ScheduledStage* walker = &plan;
  for (size_t steps = 0; steps <= nest.stages.size(); ++steps) {
    if (!walker->compute_at) return -1;
    const ScheduledStage* parent = nest.find(walker->compute_at->stage);
    if (!parent) return -1;  // refused when its own place is checked
    if (parent == &consumer) {
      const auto found = position_of(parent->loops, walker->compute_at->loop);
      return static_cast<int>(found.value_or(parent->loops.size()));
    }
    walker = parent;
  }
  return -1;
}

std::vector<std::string> other_stages(const NestPlan& nest, const std::string& name) {
  std::vector<std::string> names;
  for (const ScheduledStage& plan : nest.stages) {
    if (plan.stage.name != name) names.push_back(plan.stage.name);
  }
  return names;
}

// The same directive at the loop outside loops[i]; where that is the outermost, at the root.
std::string outside_of(const Directive& d, const std::vector<ScheduledLoop>& loops, size_t i) {
  if (i > 0) return to_string(at_loop(d.kind, {d.target, loops[i - 1].name}));
  return d.kind == DirectiveKind::compute_at ? "compute_root()" : "store_root()";
}

// No loop that is a vector's or a tile's may be around a place: of `loops`, the first `count`.
void check_outside_vectors(const std::string& name, const Directive& d,
                           const std::vector<ScheduledLoop>& loops, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const ScheduledLoop& outer = loops[i];
    if (outer.kind == LoopKind::vectorized) {
      refuse(name, d,
             fmt::format("expected a loop outside the vectorized loop {} of {}, got {}; legal: {}",
                         outer.name, d.target, d.axes[0], outside_of(d, loops, i)));
    }
    if (outer.kind == LoopKind::tile) {
      refuse(name, d,
             fmt::format("expected a loop outside the tile of {}, which is one uOp from {} on, got "
                         "{}; legal: {}",
                         d.target, outer.name, d.axes[0], outside_of(d, loops, i)));
    }
  }
}

// Whether the outermost loops of a specialization are `around`, made by the general directives.
bool has_same_loops(const ScheduledStage& target, size_t i,
                    const std::vector<std::string>& around) {
  const std::vector<std::string> loops = names_of(target.specialized_loops[i]);
  if (loops.size() < around.size() || !std::equal(around.begin(), around.end(), loops.begin())) {
    return false;
  }
  const std::vector<LoopTransform>& all = target.stage.specializations[i].transforms;
  return std::none_of(all.begin() + static_cast<std::ptrdiff_t>(target.stage.transforms.size()),
                      all.end(), [&](const LoopTransform& t) {
                        return std::count(around.begin(), around.end(), t.axis) > 0 ||
                               std::count(around.begin(), around.end(), t.outer) > 0 ||
                               std::count(around.begin(), around.end(), t.inner) > 0;
                      });
}

void check_loop_of(const NestPlan& nest, const ScheduledStage& plan, const Directive& d) {
  const std::string& name = plan.stage.name;
  const ScheduledStage* target = nest.find(d.target);
  if (!target || target == &plan) {
    refuse(name, d, expected_name("another operation", other_stages(nest, name), d.target));
  }
  const std::vector<std::string> loops = names_of(target->loops);
  const std::optional<size_t> position = position_of(target->loops, d.axes[0]);
  if (!position) refuse(name, d, expected_name("a loop of " + d.target, loops, d.axes[0]));
  const size_t count = *position + 1;
  const std::vector<std::string> around(loops.begin(),
                                        loops.begin() + static_cast<std::ptrdiff_t>(count));
  check_outside_vectors(name, d, target->loops, count);
  for (size_t i = 0; i < target->specialized_loops.size(); ++i) {
    if (!has_same_loops(*target, i, around)) {
      refuse(
          name, d,
          fmt::format("expected a loop that {} has in every case, inside the same loops, got {}, "
                      "which specialize({}) changes; legal: compute_root()",
                      d.target, d.axes[0], to_string(target->stage.specializations[i].condition)));
    }
    check_outside_vectors(name, d, target->specialized_loops[i], count);
  }
}

// Every reader of a stage must be inside the loop where the stage is computed.
void check_place(const NestPlan& nest,
                 const std::map<std::string, std::vector<size_t>>& all_readers, size_t position) {
  const ScheduledStage& plan = nest.stages[position];
  if (!plan.compute_at) return;
  const Directive d = plan.source_directive(DirectiveKind::compute_at);
  check_loop_of(nest, plan, d);
  const ScheduledStage& target = *nest.find(plan.compute_at->stage);
  const int depth = static_cast<int>(position_of(target.loops, plan.compute_at->loop).value());
  if (nest.position(d.target) < position) {
    refuse(plan.stage.name, d,
           fmt::format("expected an operation that needs {}, got {}, which comes before it; legal: "
                       "compute_root()",
                       plan.stage.name, d.target));
  }
  bool used = false;
  auto readers = all_readers.find(plan.stage.name);
  for (size_t at : readers == all_readers.end() ? std::vector<size_t>{} : readers->second) {
    const ScheduledStage& reader = nest.stages[at];
    used = true;
    if (&reader == &target) continue;
    const int around = depth_inside(nest, reader, target);
    if (around < depth) {
      refuse(plan.stage.name, d,
             fmt::format("expected a loop around everything that reads {}, got {}, which is not "
                         "around {}; legal: {}",
                         plan.stage.name, plan.compute_at->variable(), reader.stage.name,
                         outside_of(d, target.loops, static_cast<size_t>(around) + 1)));
    }
  }
  if (!used) {
    refuse(
        plan.stage.name, d,
        "expected an operation that something reads, got one that nothing reads any more; legal: "
        "compute_root()");
  }
}

std::string loops_text(const std::vector<EnclosingLoop>& loops) {
  std::string text;
  for (const EnclosingLoop& loop : loops) text += (text.empty() ? "" : ", ") + loop.variable();
  return text;
}

// What a window keeps follows from the loops around it and from those of its readers: there may be
// only one case of each.
void check_kept_in_one_case(const NestPlan& nest, const ScheduledStage& plan, const Directive& d,
                            const std::vector<EnclosingLoop>& around) {
  const auto refuse_cases = [&](const ScheduledStage& other) {
    if (other.specialized_loops.empty()) return;
    refuse(plan.stage.name, d,
           fmt::format("expected operations without specialize where storage is kept, got {}; "
                       "legal: store it where it is computed",
                       other.stage.name));
  };
  refuse_cases(plan);
  for (const EnclosingLoop& loop : around) refuse_cases(*loop.stage);
  const auto readers = readers_of(nest);
  auto found = readers.find(plan.stage.name);
  if (found == readers.end()) return;
  for (size_t reader : found->second) refuse_cases(nest.stages[reader]);
}

// Storage must be around the place where its values are computed, and no loop in between may run
// its iterations at once: they would share what they write.
void check_store(const NestPlan& nest, const ScheduledStage& plan) {
  if (!plan.outlives_compute_loop()) return;
  const Directive d = plan.source_storage_directive();
  std::vector<EnclosingLoop> around = loops_around(nest, plan);
  if (!plan.store_root) {
    check_loop_of(nest, plan, d);
    if (!position_of(around, *plan.store_at)) {
      refuse(plan.stage.name, d,
             fmt::format("expected a loop around {}, where it is computed ({}), got {}; legal: "
                         "store_at({}, {})",
                         plan.compute_at->variable(), loops_text(around), plan.store_at->variable(),
                         plan.compute_at->stage, plan.compute_at->loop));
    }
  }
  check_kept_in_one_case(nest, plan, d, around);
  const bool shares =
      std::any_of(nest.stages.begin(), nest.stages.end(), [&](const ScheduledStage& s) {
        return s.compute_with && (&s == &plan || s.compute_with->stage == plan.stage.name);
      });
  if (shares) {
    refuse(plan.stage.name, d,
           "expected an operation that shares no loops (compute_with), got storage that is kept; "
           "legal: store it where it is computed");
  }
  for (size_t i = loops_outside_storage(plan, around); i < around.size(); ++i) {
    if (around[i].loop.kind != LoopKind::parallel) continue;
    const LoopLevel level = around[i].level();
    refuse(plan.stage.name, d,
           fmt::format("expected no parallel loop between the storage and {}, where it is "
                       "computed, got {}: its iterations would share what they write; legal: "
                       "store_at({}, {}) or an inner loop",
                       plan.compute_at->variable(), level.variable(), level.stage, level.loop));
  }
}

void check_hoist(const NestPlan& nest, const ScheduledStage& plan) {
  if (!plan.hoist_at) return;
  const Directive d = plan.source_directive(DirectiveKind::hoist_storage);
  if (!plan.compute_at) {
    refuse(plan.stage.name, d,
           "expected together with compute_at; legal: compute_at the same loop, or one inside it, "
           "too");
  }
  check_loop_of(nest, plan, d);
  const std::vector<EnclosingLoop> around = loops_around(nest, plan);
  const auto place = position_of(around, *plan.hoist_at);
  const size_t outside = loops_outside_storage(plan, around);
  if (!place || *place + 1 > outside) {
    refuse(plan.stage.name, d,
           fmt::format("expected a loop around its storage ({}), got {}; legal: {}",
                       outside == 0 ? "none: it is at the root"
                                    : loops_text({around.begin(), around.begin() + outside}),
                       plan.hoist_at->variable(),
                       outside == 0 ? "no hoist_storage"
                                    : to_string(at_loop(d.kind, around[outside - 1].level()))));
  }
  const EnclosingLoop& target = around[*place];
  if (target.stage->stage.is_reduction() && !target.loop.is_reduction) {
    refuse(plan.stage.name, d,
           fmt::format("expected a loop of one nest, got {}, a loop of the start value and of "
                       "the update; legal: a loop of a reduction axis, or one around {}",
                       plan.hoist_at->variable(), plan.hoist_at->stage));
  }
  for (size_t i = *place + 1; i < outside; ++i) {
    if (around[i].loop.kind != LoopKind::parallel) continue;
    refuse(plan.stage.name, d,
           fmt::format("expected no parallel loop between the allocation and the storage, got {0}: "
                       "its iterations would share the memory; legal: {0} or an inner loop",
                       around[i].variable()));
  }
}

}  // namespace

std::vector<EnclosingLoop> loops_around(const NestPlan& nest, const ScheduledStage& plan) {
  std::vector<EnclosingLoop> loops;  // innermost first, then turned round
  for (const ScheduledStage* walker = &plan; walker->compute_at;) {
    const size_t position = nest.position(walker->compute_at->stage);
    const ScheduledStage* parent = &nest.stages[position];
    const size_t innermost = position_of(parent->loops, walker->compute_at->loop).value();
    for (size_t i = innermost + 1; i-- > 0;) {
      loops.push_back({position, parent, parent->loops[i]});
    }
    walker = parent;
  }
  std::reverse(loops.begin(), loops.end());
  return loops;
}

std::optional<size_t> position_of(const std::vector<EnclosingLoop>& loops, const LoopLevel& level) {
  for (size_t i = 0; i < loops.size(); ++i) {
    if (loops[i].level() == level) return i;
  }
  return std::nullopt;
}

size_t loops_outside_storage(const ScheduledStage& plan, const std::vector<EnclosingLoop>& loops) {
  if (plan.store_root) return 0;
  if (!plan.outlives_compute_loop()) return loops.size();
  return position_of(loops, *plan.store_at).value() + 1;
}

void check_places(const NestPlan& nest) {
  const auto readers = readers_of(nest);
  for (size_t i = 0; i < nest.stages.size(); ++i) check_place(nest, readers, i);
  for (const ScheduledStage& plan : nest.stages) {
    check_store(nest, plan);
    check_hoist(nest, plan);
  }
}

}  // namespace emulsion

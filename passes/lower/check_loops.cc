// prefetch and compute_with: what they ask of the loops, once all directives are applied.

#include <algorithm>
#include <set>

#include "dsl/error.h"
#include "passes/lower/stage_plan.h"

namespace emulsion {
namespace {

// The loops of a stage from the outermost to `axis`; all when it has no such loop.
std::vector<ScheduledLoop> loops_to(const ScheduledStage& plan, const std::string& axis) {
  const std::optional<size_t> found = position_of(plan.loops, axis);
  if (!found) return plan.loops;
  return {plan.loops.begin(), plan.loops.begin() + static_cast<std::ptrdiff_t>(*found) + 1};
}

std::string place_text(const ScheduledStage& plan) {
  return plan.compute_at ? plan.compute_at->variable() : "the root";
}

// By which splits and fusions of which axes a loop is made.
std::map<std::string, std::string> origins(const ScheduledStage& plan) {
  std::map<std::string, std::string> made;
  for (const Axis& axis : plan.stage.axes) made[axis.name()] = axis.name();
  for (const Axis& axis : plan.stage.reduction_axes) made[axis.name()] = axis.name();
  for (const LoopTransform& t : plan.stage.transforms) {
    if (t.kind == LoopTransform::Kind::fuse) {
      made[t.axis] = fmt::format("{} of {} and {}", t.axis, made[t.outer], made[t.inner]);
    } else {
      const std::string from = made[t.axis];
      made[t.outer] = fmt::format("{} of {}", t.outer, from);
      made[t.inner] = fmt::format("{} of {}", t.inner, from);
    }
  }
  return made;
}

// compute_with: the loops that two stages share must be the same loops of both.
void check_shared_loops(const ScheduledStage& plan, const ScheduledStage& leader,
                        const Directive& d) {
  const std::string &name = plan.stage.name, &other = leader.stage.name;
  const std::vector<ScheduledLoop> mine = loops_to(plan, d.axes[0]);
  const std::vector<ScheduledLoop> theirs = loops_to(leader, d.axes[0]);
  if (names_of(mine) != names_of(theirs) || mine.empty() || mine.back().name != d.axes[0]) {
    refuse(name, d,
           fmt::format("expected the same loops from the outermost to {}, got {} of {} and {} of "
                       "{}; legal: split, name and reorder the loops of one as those of the other",
                       d.axes[0], joined(names_of(mine)), name, joined(names_of(theirs)), other));
  }
  std::map<std::string, std::string> my_origins = origins(plan), their_origins = origins(leader);
  for (size_t i = 0; i < mine.size(); ++i) {
    const std::string& loop = mine[i].name;
    if (my_origins[loop] != their_origins[loop]) {
      refuse(name, d,
             fmt::format("expected loops made of the same axes by the same splits, got {} and {} "
                         "of {}; legal: a loop outside {}, or the same splits by the same names",
                         my_origins[loop], their_origins[loop], other, loop));
    }
    if (mine[i].is_reduction || theirs[i].is_reduction) {
      refuse(name, d,
             fmt::format("expected loops of axes that are not reduced, got {}; legal: reorder so "
                         "that it is inside",
                         loop));
    }
    const LoopKind kind = mine[i].kind;
    if (kind != theirs[i].kind || (kind != LoopKind::serial && kind != LoopKind::parallel)) {
      refuse(name, d,
             fmt::format("expected loops that are serial for both or parallel for both, got {}; "
                         "legal: a loop outside {}, or the same kind for both",
                         loop, loop));
    }
  }
}

const std::string& leader_of(const ScheduledStage& plan) {
  return plan.compute_with ? plan.compute_with->stage : plan.stage.name;
}

// Stages that share loops are computed together: what one of them needs must not need another, be
// it by way of loops that others share.
void check_order_of_shared(const NestPlan& nest, const ScheduledStage& plan, const Directive& d) {
  std::set<std::string> seen;
  std::vector<const ScheduledStage*> waiting;
  auto add_group = [&](const std::string& leader) {
    if (!seen.insert(leader).second) return;
    for (const ScheduledStage& other : nest.stages) {
      if (leader_of(other) == leader) waiting.push_back(&other);
    }
  };
  add_group(plan.compute_with->stage);
  while (!waiting.empty()) {
    const ScheduledStage& reader = *waiting.back();
    waiting.pop_back();
    visit(reader.stage.body, [&](const Expr& e) {
      const ScheduledStage* made = e->op == ExprOp::read ? nest.find(e->name) : nullptr;
      if (made == nullptr) return;
      if (leader_of(*made) == plan.compute_with->stage) {
        refuse(plan.stage.name, d,
               fmt::format("expected operations that can be computed together, got {} and {}, "
                           "between which comes {}, which needs {}; legal: loops of its own",
                           plan.stage.name, plan.compute_with->stage, reader.stage.name,
                           made->stage.name));
      }
      add_group(leader_of(*made));
    });
  }
}

void check_shared(const NestPlan& nest, const ScheduledStage& plan) {
  if (!plan.compute_with) return;
  const Directive d = plan.source_directive(DirectiveKind::compute_with);
  const std::string& name = plan.stage.name;
  const ScheduledStage* leader = nest.find(d.target);
  if (!leader || leader == &plan) {
    refuse(name, d,
           fmt::format("expected another operation with loops, got {}; legal: {}", d.target,
                       nest.stage_names()));
  }
  if (leader->compute_with) {
    refuse(
        name, d,
        fmt::format("expected an operation with loops of its own, got {}, which shares those of "
                    "{}; legal: compute_with({}, {})",
                    d.target, leader->compute_with->stage, leader->compute_with->stage, d.axes[0]));
  }
  for (const ScheduledStage* member : {&plan, leader}) {
    if (member->specialized_loops.empty()) continue;
    refuse(name, d,
           fmt::format("expected operations without specialize, got {}; legal: loops of its own",
                       member->stage.name));
  }
  if (leader->stage.is_reduction() != plan.stage.is_reduction()) {
    refuse(name, d,
           fmt::format("expected two reductions or two operations without, got {}, which {} one, "
                       "and {}; legal: cache_write makes a copy, which is none",
                       name, plan.stage.is_reduction() ? "is" : "is not", d.target));
  }
  if (place_text(plan) != place_text(*leader) || plan.store_at || leader->store_at) {
    refuse(name, d,
           fmt::format("expected operations computed and stored at one place, got {} at {} and {} "
                       "at {}; legal: the same compute_at for both, without store_at",
                       name, place_text(plan), d.target, place_text(*leader)));
  }
  for (const ScheduledStage& other : nest.stages) {
    const std::string& sibling = other.stage.name;
    if (&other == &plan || (&other != leader && leader_of(other) != d.target)) continue;
    if (!depends_on(nest, name, sibling) && !depends_on(nest, sibling, name)) continue;
    refuse(
        name, d,
        fmt::format("expected operations of which neither needs the other, got {} and {}; legal: "
                    "compute_at the loop",
                    name, sibling));
  }
  check_order_of_shared(nest, plan, d);
  check_shared_loops(plan, *leader, d);
}

// What is computed, stored or allocated at a loop that stages share would be inside the loops of
// both.
void check_outside_shared(const NestPlan& nest, const ScheduledStage& plan) {
  struct Spot {
    DirectiveKind kind;
    const std::optional<LoopLevel>& level;
    const char* otherwise;
  };
  const Spot spots[] = {
      {DirectiveKind::compute_at, plan.compute_at, ", or compute_root()"},
      {DirectiveKind::store_at, plan.store_at, ", or store_root()"},
      {DirectiveKind::hoist_storage, plan.hoist_at, ""},
  };
  for (const Spot& spot : spots) {
    if (!spot.level) continue;
    for (const ScheduledStage& child : nest.stages) {
      if (!child.compute_with) continue;
      if (spot.level->stage != child.stage.name && spot.level->stage != child.compute_with->stage) {
        continue;
      }
      if (!find_loop(loops_to(child, child.compute_with->loop), spot.level->loop)) continue;
      refuse(plan.stage.name, plan.source_directive(spot.kind),
             fmt::format("expected a loop that is not shared, got {}, which is a loop of {} and "
                         "of {}; legal: a loop inside {}{}",
                         spot.level->variable(), child.compute_with->stage, child.stage.name,
                         child.compute_with->loop, spot.otherwise));
    }
  }
}

// What a stage reads that can be prefetched, by the names that the nest has.
std::vector<std::string> prefetchable(const NestPlan& nest, const Stage& stage) {
  std::set<std::string> names;
  visit(stage.body, [&](const Expr& e) {
    if (e->op != ExprOp::read) return;
    const ScheduledStage* made = nest.find(e->name);
    const Buffer* buffer = nest.find_buffer(e->name);
    if (e->args.empty()) return;  // Halide fetches no single value
    const bool given =
        buffer && (buffer->role == BufferRole::input || buffer->role == BufferRole::weight);
    if (given || (made && !made->is_output)) names.insert(e->name);
  });
  return {names.begin(), names.end()};
}

// Whether `made` is computed by each step of loop `axis` of `plan`.
bool is_computed_inside(const ScheduledStage& made, const ScheduledStage& plan,
                        const std::string& axis) {
  if (!made.compute_at || made.compute_at->stage != plan.stage.name) return false;
  return position_of(plan.loops, made.compute_at->loop).value() >=
         position_of(plan.loops, axis).value();
}

// `where`: " where B == 1", of a specialization.
void check_prefetch_loop(const ScheduledStage& plan, const std::vector<ScheduledLoop>& loops,
                         const std::string& where, const Directive& d) {
  static const char* const kNames[] = {"serial", "parallel", "vectorized", "unrolled", "of a tile"};
  const std::string& axis = d.axes[0];
  const std::optional<size_t> position = position_of(loops, axis);
  if (!position) {
    refuse(plan.stage.name, d,
           fmt::format("expected a loop that stays, got {}, which another directive takes{}; "
                       "legal: {}",
                       axis, where, loops.empty() ? "none" : joined(names_of(loops))));
  }
  for (size_t i = 0; i <= *position; ++i) {
    const ScheduledLoop& loop = loops[i];
    if (loop.kind == LoopKind::serial) continue;
    if (i != *position && loop.kind != LoopKind::vectorized) continue;
    refuse(plan.stage.name, d,
           fmt::format("expected a serial loop outside vectorized ones, got {}{}, which is {}{}; "
                       "legal: a serial loop around it",
                       i == *position ? "" : axis + " inside ", loop.name,
                       kNames[static_cast<int>(loop.kind)], where));
  }
}

// A packed weight has its new name from here on.
void check_prefetch(const NestPlan& nest, const ScheduledStage& plan, Directive* d) {
  const Directive asked = *d;
  const std::string &name = plan.stage.name, &axis = d->axes[0];
  check_prefetch_loop(plan, plan.loops, "", asked);
  for (size_t i = 0; i < plan.specialized_loops.size(); ++i) {
    check_prefetch_loop(plan, plan.specialized_loops[i],
                        " where " + to_string(plan.stage.specializations[i].condition), asked);
  }
  const std::vector<std::string> legal = prefetchable(nest, plan.stage);
  auto is_read = [&](const std::string& buffer) {
    return std::find(legal.begin(), legal.end(), buffer) != legal.end();
  };
  if (!is_read(d->target) && is_read(d->target + "_packed")) d->target += "_packed";
  if (!is_read(d->target)) {
    refuse(name, asked,
           fmt::format("expected an input, a weight or an inner operation that {} reads, got {}; "
                       "legal: {}",
                       name, d->target, legal.empty() ? "none" : joined(legal)));
  }
  const ScheduledStage* made = nest.find(d->target);
  if (made && is_computed_inside(*made, plan, axis)) {
    refuse(name, asked,
           fmt::format("expected a buffer that is complete before loop {}, got {}, of which each "
                       "step computes its part; legal: a loop inside the one where {} is computed",
                       axis, d->target, d->target));
  }
  for (const Directive& other : plan.prefetches) {
    if (&other == d) break;
    if (other.target == d->target && other.axes == d->axes) {
      refuse(name, asked,
             fmt::format("expected one prefetch of {} at {}, got a second one; legal: the "
                         "greater distance",
                         d->target, axis));
    }
  }
}

// predicate_loads: what is stored past the end of a region must not be what is kept.
// predicate_stores: what is loaded past the end is of whole buffers, into which it is clamped; the
// part of an operation that a step needs ends where the step does.
void check_masks(const NestPlan& nest, const ScheduledStage& plan) {
  for (const Directive& d : plan.directives) {
    if (d.kind != DirectiveKind::split) continue;
    if (d.tail == Tail::predicate_loads && plan.outlives_compute_loop()) {
      refuse(plan.stage.name, d,
             fmt::format("expected storage of its own for each computation, got storage of {} that "
                         "is kept, where a step past the end stores over what is needed; legal: "
                         "guard or predicate",
                         plan.stage.name));
    }
    if (d.tail != Tail::predicate_stores) continue;
    for (const ScheduledStage& other : nest.stages) {
      if (!other.compute_at || other.compute_at->stage != plan.stage.name) continue;
      refuse(plan.stage.name, d,
             fmt::format("expected that all it loads is complete, got {}, which is computed at {}; "
                         "legal: guard or predicate, or {}.compute_root()",
                         other.stage.name, place_text(other), other.stage.name));
    }
  }
}

}  // namespace

void check_loops(NestPlan* nest) {
  for (ScheduledStage& plan : nest->stages) {
    for (Directive& d : plan.prefetches) check_prefetch(*nest, plan, &d);
    check_shared(*nest, plan);
    check_outside_shared(*nest, plan);
    check_masks(*nest, plan);
  }
}

}  // namespace emulsion

// prefetch and compute_with: what they ask of the loops, once all directives are applied.

#include <algorithm>
#include <set>

#include "dsl/error.h"
#include "passes/lower/stage_plan.h"

namespace emulsion {
namespace {

std::string place_text(const NestPlan& nest, const ScheduledStage& plan) {
  return plan.compute_at ? nest.variable(*plan.compute_at) : "the root";
}

// By which splits and fusions of which axes a loop is made; `numbered`: axes by position, as those
// of another operation go by other names.
std::map<std::string, std::string> origins(const ScheduledStage& plan, bool numbered) {
  std::map<std::string, std::string> made;
  for (const std::vector<Axis>* axes : {&plan.stage.axes, &plan.stage.reduction_axes}) {
    for (const Axis& axis : *axes) {
      made[axis.name()] = numbered ? fmt::format("axis {}", made.size()) : axis.name();
    }
  }
  for (const LoopTransform& t : plan.stage.transforms) {
    if (t.kind == LoopTransform::Kind::fuse) {
      made[t.axis] = fmt::format("{} of {} and {}", t.axis, made[t.outer], made[t.inner]);
    } else if (t.kind == LoopTransform::Kind::step) {
      made[t.outer] = fmt::format("{} of every {}th of {}", t.outer, t.factor, made[t.axis]);
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
  std::map<std::string, std::string> my_origins = origins(plan, false),
                                     their_origins = origins(leader, false),
                                     my_numbers = origins(plan, true),
                                     their_numbers = origins(leader, true);
  for (size_t i = 0; i <= plan.compute_with->loop; ++i) {
    const ScheduledLoop &mine = plan.loops[i], &theirs = leader.loops[i];
    const std::string& loop = mine.name;
    if (my_origins[loop] != their_origins[loop] && my_numbers[loop] != their_numbers[loop]) {
      refuse(
          name, d,
          fmt::format("expected loops made of the same axes by the same splits, got {} and {} "
                      "of {}; legal: {}, or the same splits by the same names",
                      my_origins[loop], their_origins[loop], other, loops_outside(plan, i, other)));
    }
    if (mine.is_reduction || theirs.is_reduction) {
      refuse(name, d,
             fmt::format("expected loops of axes that are not reduced, got {}; legal: reorder so "
                         "that it is inside",
                         loop));
    }
    if (mine.kind != theirs.kind ||
        (mine.kind != LoopKind::serial && mine.kind != LoopKind::parallel)) {
      refuse(name, d,
             fmt::format("expected loops that are serial for both or parallel for both, got {}; "
                         "legal: {}, or the same kind for both",
                         loop, loops_outside(plan, i, other)));
    }
    if (mine.partition) {  // the loops that are shared are marked by the stage that has them
      refuse(name, plan.source_directive(DirectiveKind::partition, {loop}),
             fmt::format("expected a loop of its own, got {0}, which {1} shares with {2}; legal: "
                         "{2}.partition({0})",
                         loop, name, other));
    }
  }
}

// The leader may have several cases, as long as all have the loops that are shared.
void check_shared_cases(const ScheduledStage& plan, const ScheduledStage& leader,
                        const Directive& d) {
  if (!plan.specialized_loops.empty()) {
    refuse(plan.stage.name, d,
           fmt::format("expected an operation without specialize, got {}; legal: loops of its own, "
                       "or specialize {}",
                       plan.stage.name, leader.stage.name));
  }
  const size_t count = plan.compute_with->loop + 1;
  for (size_t i = 0; i < leader.specialized_loops.size(); ++i) {
    const std::vector<ScheduledLoop>& loops = leader.specialized_loops[i];
    const bool same =
        keeps_loops(leader, i, count) &&
        std::all_of(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(count),
                    [](const ScheduledLoop& loop) {
                      return loop.kind == LoopKind::serial || loop.kind == LoopKind::parallel;
                    });
    if (same) continue;
    refuse(plan.stage.name, d,
           fmt::format(
               "expected loops that {} has in every case, serial or parallel, got {}, which "
               "specialize({}) changes; legal: loops of its own",
               leader.stage.name, d.axes[0], to_string(leader.stage.specializations[i].condition)));
  }
}

// Stages that share loops are computed together: what one of them needs must not need another, be
// it by way of loops that others share.
void check_order_of_shared(const NestPlan& nest, StageId id, const Directive& d) {
  const StageId leader = nest.leader_of(id);
  std::set<StageId> seen;
  std::vector<StageId> waiting;
  auto add_group = [&](StageId group) {
    if (!seen.insert(group).second) return;
    for (StageId member : nest.group_of(group)) waiting.push_back(member);
  };
  add_group(leader);
  while (!waiting.empty()) {
    const StageId reader = waiting.back();
    waiting.pop_back();
    for (StageId made : needed_before(nest, reader)) {
      if (nest.leader_of(made) == leader) {
        refuse(nest.name_of(id), d,
               fmt::format("expected operations that can be computed together, got {} and {}, "
                           "between which comes {}, which needs {}; legal: loops of its own",
                           nest.name_of(id), nest.name_of(leader), nest.name_of(reader),
                           nest.name_of(made)));
      }
      add_group(nest.leader_of(made));
    }
  }
}

void check_shared(const NestPlan& nest, StageId id) {
  const ScheduledStage& plan = nest.stages[id];
  if (!plan.compute_with) return;
  const Directive d = plan.source_directive(DirectiveKind::compute_with);
  const std::string& name = plan.stage.name;
  const StageId leader_id = plan.compute_with->stage;
  const ScheduledStage& leader = nest.stages[leader_id];
  if (leader.compute_with) {
    const std::string& other = nest.name_of(leader.compute_with->stage);
    refuse(name, d,
           fmt::format("expected an operation with loops of its own, got {0}, which shares those "
                       "of {1}; legal: compute_with({1}, {2})",
                       d.target, other, d.axes[0]));
  }
  if (leader.stage.is_reduction() != plan.stage.is_reduction()) {
    refuse(name, d,
           fmt::format("expected two reductions or two operations without, got {}, which {} one, "
                       "and {}; legal: cache_write makes a copy, which is none",
                       name, plan.stage.is_reduction() ? "is" : "is not", d.target));
  }
  if (!(plan.compute_at == leader.compute_at) || plan.store_at || leader.store_at) {
    refuse(name, d,
           fmt::format("expected operations computed and stored at one place, got {} at {} and {} "
                       "at {}; legal: the same compute_at for both, without store_at",
                       name, place_text(nest, plan), d.target, place_text(nest, leader)));
  }
  for (StageId other : nest.group_of(leader_id)) {
    if (!depends_on(nest, id, other) && !depends_on(nest, other, id)) continue;
    refuse(
        name, d,
        fmt::format("expected operations of which neither needs the other, got {} and {}; legal: "
                    "compute_at the loop",
                    name, nest.name_of(other)));
  }
  check_order_of_shared(nest, id, d);
  check_shared_loops(plan, leader, d);
  check_shared_cases(plan, leader, d);
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
    for (StageId id : nest.group_of(spot.level->stage)) {
      const std::optional<LoopLevel>& shared = nest.stages[id].compute_with;
      if (!shared || spot.level->loop > shared->loop) continue;
      refuse(plan.stage.name, plan.source_directive(spot.kind),
             fmt::format("expected a loop that is not shared, got {}, which is a loop of {} and "
                         "of {}; legal: a loop inside {}{}",
                         nest.variable(*spot.level), nest.name_of(shared->stage), nest.name_of(id),
                         nest.loop(*shared).name, spot.otherwise));
    }
  }
}

bool is_computed_inside(const NestPlan& nest, const std::string& buffer, const LoopLevel& place) {
  const std::optional<StageId> made = nest.find(buffer);
  return made && is_inside_place(nest, *made, place);
}

// What is read inside a loop and can be prefetched there, by the names that the nest has.
std::vector<std::string> prefetchable(const NestPlan& nest, const LoopLevel& place) {
  std::vector<std::string> names;
  for (const std::string& name : buffers_read_inside(nest, place)) {
    const std::optional<StageId> made = nest.find(name);
    const Buffer* buffer = nest.find_buffer(name);
    const bool given =
        buffer && (buffer->role == BufferRole::input || buffer->role == BufferRole::weight);
    const bool is_there =
        made && !nest.stages[*made].is_output && !is_computed_inside(nest, name, place);
    if (given || is_there) names.push_back(name);
  }
  return names;
}

// `where`: " where B == 1", of a specialization.
void check_prefetch_loop(const ScheduledStage& plan, const std::vector<ScheduledLoop>& loops,
                         const std::string& where, const Directive& d) {
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
    if (loop.kind == LoopKind::serial || loop.kind == LoopKind::parallel) continue;
    if (i != *position && loop.kind != LoopKind::vectorized) continue;
    refuse(plan.stage.name, d,
           fmt::format("expected a serial or parallel loop outside vectorized ones, got {}{}, "
                       "which is {}{}; legal: a serial or parallel loop around it",
                       i == *position ? "" : axis + " inside ", loop.name, to_string(loop.kind),
                       where));
  }
}

// The loops that stages share are those of the one that has them, and so is what they fetch.
void check_prefetch_shared(const NestPlan& nest, StageId id, const Directive& d) {
  const ScheduledStage& plan = nest.stages[id];
  const std::optional<LoopLevel>& shared = plan.compute_with;
  if (!shared || position_of(plan.loops, d.axes[0]).value() > shared->loop) return;
  const ScheduledStage& leader = nest.stages[shared->stage];
  const std::vector<Expr> reads = reads_of(leader.stage, prefetched_buffer(nest, id, d));
  refuse(plan.stage.name, d,
         fmt::format("expected a loop of its own, got {}, which {} shares with {}; legal: {}a loop "
                     "inside {}",
                     d.axes[0], plan.stage.name, leader.stage.name,
                     reads.empty() ? "" : leader.stage.name + "." + to_string(d) + ", or ",
                     plan.loops[shared->loop].name));
}

// `d` is one of those of the stage.
void check_prefetch(const NestPlan& nest, StageId id, const Directive& d) {
  const ScheduledStage& plan = nest.stages[id];
  const std::string &name = plan.stage.name, &axis = d.axes[0];
  check_prefetch_loop(plan, plan.loops, "", d);
  for (size_t i = 0; i < plan.specialized_loops.size(); ++i) {
    check_prefetch_loop(plan, plan.specialized_loops[i],
                        " where " + to_string(plan.stage.specializations[i].condition), d);
  }
  check_prefetch_shared(nest, id, d);
  const LoopLevel place{id, position_of(plan.loops, axis).value()};
  const std::string buffer = prefetched_buffer(nest, id, d);
  if (is_computed_inside(nest, buffer, place)) {
    refuse(name, d,
           fmt::format("expected a buffer that is complete before loop {0}, got {1}, of which each "
                       "step computes its part; legal: a loop inside the one where {1} is computed",
                       axis, buffer));
  }
  const std::vector<std::string> legal = prefetchable(nest, place);
  if (!std::count(legal.begin(), legal.end(), buffer)) {
    refuse(name, d,
           fmt::format("expected an input, a weight or an inner operation that is read inside {}, "
                       "got {}; legal: {}",
                       axis, d.target, legal.empty() ? "none" : joined(legal)));
  }
  for (const Directive& other : plan.prefetches) {
    if (&other == &d) break;
    if (prefetched_buffer(nest, id, other) != buffer || other.axes != d.axes) continue;
    refuse(name, d,
           fmt::format("expected one prefetch of {} at {}, got a second one; legal: the "
                       "greater distance",
                       buffer, axis));
  }
}

// predicate_loads: what is stored past the end of a region must not be what is kept.
// predicate_stores: what is loaded past the end is of whole buffers, into which it is clamped; the
// part of an operation that a step needs ends where the step does.
void check_masks(const NestPlan& nest, StageId id) {
  const ScheduledStage& plan = nest.stages[id];
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
      if (!other.compute_at || other.compute_at->stage != id) continue;
      refuse(plan.stage.name, d,
             fmt::format("expected that all it loads is complete, got {0}, which is computed at "
                         "{1}; legal: guard or predicate, or {0}.compute_root()",
                         other.stage.name, place_text(nest, other)));
    }
  }
}

}  // namespace

std::set<std::string> buffers_read_inside(const NestPlan& nest, const LoopLevel& place) {
  std::set<std::string> names;
  for (StageId id = 0; id < nest.stages.size(); ++id) {
    if (!is_inside_place(nest, id, place)) continue;
    names.merge(buffers_read_by(nest.stages[id].stage));
  }
  return names;
}

std::string prefetched_buffer(const NestPlan& nest, StageId id, const Directive& d) {
  const LoopLevel place{id, position_of(nest.stages[id].loops, d.axes[0]).value()};
  return buffers_read_inside(nest, place).count(d.target) > 0 ? d.target : packed_name(d.target);
}

void check_loops(const NestPlan& nest) {
  for (StageId id = 0; id < nest.stages.size(); ++id) {
    const ScheduledStage& plan = nest.stages[id];
    for (const Directive& d : plan.prefetches) check_prefetch(nest, id, d);
    check_shared(nest, id);
    check_outside_shared(nest, plan);
    check_masks(nest, id);
  }
}

}  // namespace emulsion

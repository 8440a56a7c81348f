#include <algorithm>
#include <limits>

#include "dsl/error.h"
#include "dsl/index_arithmetic.h"
#include "passes/index/simplify_index.h"
#include "passes/index/size_facts.h"
#include "passes/lower/refusal.h"
#include "passes/lower/stage_region.h"
#include "passes/nest/axis_pieces.h"

namespace emulsion {
namespace {

DirectiveKind directive_of(LoopKind kind) {
  if (kind == LoopKind::vectorized) return DirectiveKind::vectorize;
  return kind == LoopKind::tile ? DirectiveKind::tensorize : DirectiveKind::unroll;
}

[[noreturn]] void refuse_extent(const ScheduledStage& plan, const ScheduledLoop& loop,
                                const std::string& found) {
  const DirectiveKind asked = directive_of(loop.kind);
  const bool tile = asked == DirectiveKind::tensorize;
  refuse(plan.stage.name,
         tile ? plan.source_directive(asked) : plan.source_directive(asked, {loop.name}),
         fmt::format(
             "expected a loop whose extent is a number, got {}; legal: {}", found,
             tile ? "split it first"
                  : fmt::format("{}({}, 8), which splits it first", to_string(asked), loop.name)),
         {plan.stage.name, loop.name});
}

// Loop variables are 32 bits.
void require_index(const ScheduledStage& plan, const LoopTransform& t, const Expr& outer,
                   const Expr& inner) {
  auto x = constant_value(outer), y = constant_value(inner);
  if (x && y && *x * *y > std::numeric_limits<int32_t>::max()) {
    refuse(plan.stage.name, plan.source_directive(t),
           fmt::format("expected an extent of at most {}, got {}; legal: two loops",
                       std::numeric_limits<int32_t>::max(), *x * *y));
  }
}

void require_index(const ScheduledStage& plan, const LoopTransform& t, const Extent& extent) {
  if (!extent.is_constant()) return;
  int64_t rounded = (extent.constant_term() + t.factor - 1) / t.factor * t.factor;
  if (rounded <= std::numeric_limits<int32_t>::max()) return;
  refuse(plan.stage.name, plan.source_directive(t),
         fmt::format("expected a factor that takes {}, {} long, to at most {}, got {}; legal: a "
                     "factor of {}",
                     t.axis, extent.constant_term(), std::numeric_limits<int32_t>::max(), rounded,
                     extent.constant_term()));
}

int64_t least_steps(const Expr& extent) {
  return std::max<int64_t>(constant_value(extent).value_or(1), 1);
}

// Of an axis that is split again and again each part may be small, and yet the index that they make
// together too large: index arithmetic has 32 bits. A loop of a run-time extent counts as one step.
// Checks the last transform so far. `extents`: of the loops that the transforms so far leave.
// `inner`: one entry for each of them; of a fuse, the extent of its inner loop.
void require_indices(const ScheduledStage& plan, const std::vector<LoopTransform>& transforms,
                     const std::vector<int64_t>& inner,
                     const std::map<std::string, Expr>& extents) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  std::map<std::string, int64_t> highest;
  for (const auto& [loop, extent] : extents) highest[loop] = least_steps(extent) - 1;
  for (size_t i = inner.size(); i-- > 0;) {
    const LoopTransform& t = transforms[i];
    if (t.kind == LoopTransform::Kind::fuse) {
      highest[t.outer] = highest.at(t.axis) / inner[i];
      highest[t.inner] = inner[i] - 1;
      continue;
    }
    int64_t index = saturated_product(highest.at(t.outer), t.factor);
    if (index < kMost && t.kind == LoopTransform::Kind::split) index += highest.at(t.inner);
    highest[t.axis] = index;
    if (index < kMost) continue;
    refuse(plan.stage.name, plan.source_directive(transforms[inner.size() - 1]),
           fmt::format("expected loops that take {} to at most {}, got {}; legal: smaller factors, "
                       "or fewer splits",
                       t.axis, kMost, index < INT64_MAX ? index + 1 : index));
  }
}

// `whole`: no earlier transform has made what is split of an axis.
void resolve_tail(const ScheduledStage& plan, LoopTransform* t, const Expr& extent, bool whole,
                  const SizeFacts& facts, StageRegion* region) {
  auto affine = as_extent(extent);
  if (affine) require_index(plan, *t, *affine);
  const bool exact = affine && facts.divides(t->factor, *affine);
  if (exact) {
    t->tail = Tail::round_up;
    return;
  }
  if (t->tail == Tail::automatic) t->tail = Tail::guard;
  if (t->tail == Tail::shift_inwards) {
    auto least = affine ? facts.lower_bound(*affine) : std::nullopt;
    if (!least || *least < t->factor) {
      const bool some = least && *least > 0;
      refuse(plan.stage.name, plan.source_directive(*t),
             fmt::format("expected an extent of at least {}, got {}; legal: guard or predicate{}",
                         t->factor, to_string(extent),
                         some ? fmt::format(", or a factor of {}", *least) : ""));
    }
  }
  if (t->tail != Tail::round_up) return;
  const std::optional<size_t> d = axis_index(plan.stage.axes, t->axis);
  if (d && whole && affine && affine->is_constant()) {
    int64_t rounded = (affine->constant_term() + t->factor - 1) / t->factor * t->factor;
    AxisRegion& axis = region->axes[*d];
    axis.needed_extent = int_constant(rounded);
    if (axis.highest) axis.highest = *axis.highest + Extent(rounded - affine->constant_term());
    return;
  }
  refuse(plan.stage.name, plan.source_directive(*t),
         fmt::format("expected an axis of {} of constant extent, got {} of extent {}; legal: guard "
                     "or predicate",
                     plan.stage.name, t->axis, to_string(extent)));
}

// The transforms of a case of the stage, with every tail chosen. What that makes of the region it
// changes. A reduction is over one domain in every case: its transforms are those of `general`,
// when that is chosen already.
std::vector<LoopTransform> resolve_piece(const ScheduledStage& plan, StageCase one,
                                         const std::vector<LoopTransform>& general,
                                         const SizeFacts& facts, StageRegion* region) {
  Stage& stage = one.stage;
  std::map<std::string, Expr> extents = axis_extents(stage, one.extents);
  std::set<std::string> reduced;  // loops of reduction axes
  std::set<std::string> made;     // loops that transforms have made
  for (const Axis& axis : stage.reduction_axes) reduced.insert(axis.name());
  const auto make = [&](const std::string& loop, bool is_reduced) {
    made.insert(loop);
    if (is_reduced) {
      reduced.insert(loop);
    } else {
      reduced.erase(loop);
    }
  };
  std::vector<int64_t> inner;  // see require_indices
  for (size_t i = 0; i < stage.transforms.size(); ++i) {
    LoopTransform& t = stage.transforms[i];
    inner.push_back(t.kind == LoopTransform::Kind::fuse ? least_steps(extents.at(t.inner)) : 1);
    if (t.kind == LoopTransform::Kind::fuse) {
      require_index(plan, t, extents.at(t.outer), extents.at(t.inner));
      make(t.axis, reduced.count(t.outer) > 0);
    } else if (t.kind == LoopTransform::Kind::split) {
      resolve_tail(plan, &t, extents.at(t.axis), !made.count(t.axis), facts, region);
      const bool is_reduced = reduced.count(t.axis) > 0;
      if (i < general.size() && is_reduced) t = general[i];
      // What is loaded past the end is clamped. It is an axis that is split: apply_directives.
      if (t.tail == Tail::predicate_stores) {
        region->axes[axis_index(stage.axes, t.axis).value()].highest = std::nullopt;
      }
      make(t.outer, is_reduced);
      make(t.inner, is_reduced);
    }
    apply_transform(t, &extents);
    require_indices(plan, stage.transforms, inner, extents);
  }
  for (const ScheduledLoop& loop : one.loops) {
    if (loop.kind == LoopKind::serial || loop.kind == LoopKind::parallel) continue;
    if (constant_value(extents.at(loop.name))) continue;
    refuse_extent(plan, loop, to_string(extents.at(loop.name)));
  }
  return stage.transforms;
}

// An axis is cut where all of it is computed at once: a piece is no part of what readers need.
void check_cut_axes(const ScheduledStage& plan, const Stage& stage, const StageRegion& region) {
  for (const AxisCut& cut : stage.cuts) {
    const AxisRegion& axis = region.axes[axis_index(stage.axes, cut.axis).value()];
    if (axis.is_whole && !axis.window) continue;
    refuse(stage.name, plan.source_directive(DirectiveKind::cut, {cut.axis}),
           fmt::format("expected all of {} of {} to be computed at a time, got a part; legal: "
                       "compute_root(), or compute_at a loop outside",
                       cut.axis, stage.name));
  }
}

// A tail is for all pieces of the axes that are cut: an exact one where each is whole tiles.
std::vector<LoopTransform> resolve_case(const ScheduledStage& plan, const StageCase& one,
                                        const std::vector<LoopTransform>& general,
                                        const SizeFacts& facts, StageRegion* region) {
  check_cut_axes(plan, one.stage, *region);
  std::vector<LoopTransform> result;
  for (const auto& pieces : combinations_of_pieces(one.stage, cut_axes(one.stage))) {
    StageCase here = one;
    here.extents = one.extents_in(pieces);
    const std::vector<LoopTransform> resolved =
        resolve_piece(plan, std::move(here), general, facts, region);
    for (size_t i = 0; i < result.size(); ++i) {
      if (result[i].tail == Tail::round_up) result[i].tail = resolved[i].tail;
    }
    if (result.empty()) result = resolved;
  }
  return result;
}

// What a condition says of the sizes decides tails and what may be unrolled or vectorized. The
// region is that of the general case.
void resolve_specialization(const ScheduledStage& plan, const Expr& condition, size_t i,
                            StageRegion* region) {
  Specialization& specialization = region->stage.specializations[i];
  const Expr& own = specialization.condition;
  specialization.transforms =
      resolve_case(plan, cases_of(plan, *region)[i + 1], region->stage.transforms,
                   facts_of(condition.defined() ? condition && own : own), region);
}

}  // namespace

void resolve_tails(const ScheduledStage& plan, const Expr& condition, StageRegion* region) {
  region->stage.transforms =
      resolve_case(plan, cases_of(plan, *region).front(), {}, facts_of(condition), region);
  for (size_t i = 0; i < plan.specialized_loops.size(); ++i) {
    resolve_specialization(plan, condition, i, region);
  }
}

}  // namespace emulsion

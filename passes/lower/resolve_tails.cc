#include <limits>

#include "dsl/error.h"
#include "passes/index/simplify_index.h"
#include "passes/index/size_facts.h"
#include "passes/lower/refusal.h"
#include "passes/lower/stage_plan.h"

namespace emulsion {
namespace {

DirectiveKind directive_of(LoopKind kind) {
  if (kind == LoopKind::vectorized) return DirectiveKind::vectorize;
  return kind == LoopKind::tile ? DirectiveKind::tensorize : DirectiveKind::unroll;
}

[[noreturn]] void refuse_extent(const StagePlan& plan, const std::string& loop,
                                const std::string& found) {
  const DirectiveKind asked = directive_of(plan.kinds.at(loop));
  const bool tile = asked == DirectiveKind::tensorize;
  refuse(
      plan.stage.name, tile ? plan.written(asked) : plan.written(asked, {loop}),
      fmt::format("expected a loop whose extent is a number, got {}; legal: {}", found,
                  tile ? "split it first"
                       : fmt::format("{}({}, 8), which splits it first", to_string(asked), loop)),
      {plan.stage.name, loop});
}

// Loop variables are 32 bits.
void require_index(const StagePlan& plan, const LoopTransform& t, const Expr& outer,
                   const Expr& inner) {
  auto x = constant_value(outer), y = constant_value(inner);
  if (x && y && *x * *y > std::numeric_limits<int32_t>::max()) {
    refuse(plan.stage.name, plan.written(t),
           fmt::format("expected an extent of at most {}, got {}; legal: two loops",
                       std::numeric_limits<int32_t>::max(), *x * *y));
  }
}

void require_index(const StagePlan& plan, const LoopTransform& t, const Extent& extent) {
  if (!extent.is_constant()) return;
  int64_t rounded = (extent.constant() + t.factor - 1) / t.factor * t.factor;
  if (rounded <= std::numeric_limits<int32_t>::max()) return;
  refuse(plan.stage.name, plan.written(t),
         fmt::format("expected a factor that takes {}, {} long, to at most {}, got {}; legal: a "
                     "factor of {}",
                     t.axis, extent.constant(), std::numeric_limits<int32_t>::max(), rounded,
                     extent.constant()));
}

// `whole`: no earlier transform has made what is split of an axis.
void resolve_tail(StagePlan* plan, LoopTransform* t, const Expr& extent, bool whole,
                  const SizeFacts& facts) {
  auto affine = as_extent(extent);
  if (affine) require_index(*plan, *t, *affine);
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
      refuse(plan->stage.name, plan->written(*t),
             fmt::format("expected an extent of at least {}, got {}; legal: guard or predicate{}",
                         t->factor, to_string(extent),
                         some ? fmt::format(", or a factor of {}", *least) : ""));
    }
  }
  if (t->tail != Tail::round_up) return;
  for (size_t i = 0; i < plan->stage.axes.size(); ++i) {
    bool first = whole && plan->stage.axes[i].name() == t->axis;
    if (!first || !affine || !affine->is_constant()) continue;
    int64_t rounded = (affine->constant() + t->factor - 1) / t->factor * t->factor;
    plan->extents[i] = int_constant(rounded);
    if (plan->highest[i]) {
      plan->highest[i] = *plan->highest[i] + Extent(rounded - affine->constant());
    }
    return;
  }
  refuse(plan->stage.name, plan->written(*t),
         fmt::format("expected an axis of {} of constant extent, got {} of extent {}; legal: guard "
                     "or predicate",
                     plan->stage.name, t->axis, to_string(extent)));
}

void resolve_case(StagePlan* plan, const SizeFacts& facts) {
  Stage& stage = plan->stage;
  std::map<std::string, Expr> extents = axis_extents(stage, plan->extents);
  std::map<std::string, std::set<size_t>> sources;  // the axes that a loop comes from
  std::set<std::string> made;                       // loops that transforms have made
  for (size_t i = 0; i < stage.axes.size(); ++i) sources[stage.axes[i].name()] = {i};
  for (LoopTransform& t : stage.transforms) {
    if (t.kind == LoopTransform::Kind::fuse) {
      require_index(*plan, t, extents.at(t.outer), extents.at(t.inner));
      std::set<size_t> both = sources[t.outer];
      both.insert(sources[t.inner].begin(), sources[t.inner].end());
      sources[t.axis] = both;
      made.insert(t.axis);
    } else {
      resolve_tail(plan, &t, extents.at(t.axis), !made.count(t.axis), facts);
      made.insert({t.outer, t.inner});
      // What is loaded past the end is clamped.
      if (t.tail == Tail::predicate_stores) {
        for (size_t axis : sources[t.axis]) plan->highest[axis] = std::nullopt;
      }
      sources[t.outer] = sources[t.inner] = std::set<size_t>(sources[t.axis]);
    }
    apply_transform(t, &extents);
  }
  for (const std::string& loop : plan->loops) {
    auto kind = plan->kinds.find(loop);
    if (kind == plan->kinds.end() || kind->second == LoopKind::parallel) continue;
    if (constant_value(extents.at(loop))) continue;
    refuse_extent(*plan, loop, to_string(extents.at(loop)));
  }
}

// What a condition says of the sizes decides tails and what may be unrolled or vectorized. The
// region is that of the general case, and so is the domain of a reduction.
void resolve_special_cases(StagePlan* plan) {
  for (size_t i = 0; i < plan->special_cases.size(); ++i) {
    StagePlan special = specialized(*plan, i);
    resolve_case(&special, facts_of(plan->stage.specializations[i].condition));
    std::vector<LoopTransform>& resolved = plan->stage.specializations[i].transforms;
    resolved = special.stage.transforms;
    const std::vector<bool> of_reduction = reduction_transforms(plan->stage);
    for (size_t t = 0; t < of_reduction.size(); ++t) {
      if (of_reduction[t]) resolved[t] = plan->stage.transforms[t];
    }
    for (size_t axis = 0; axis < plan->highest.size(); ++axis) {
      if (!special.highest[axis]) plan->highest[axis] = std::nullopt;
    }
  }
}

}  // namespace

void resolve_tails(StagePlan* plan) {
  resolve_case(plan, SizeFacts());
  resolve_special_cases(plan);
}

}  // namespace emulsion

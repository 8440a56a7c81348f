// cut: what it asks of the axis, of the loops that are made of it, and of other stages.

#include <algorithm>

#include "dsl/count_text.h"
#include "dsl/error.h"
#include "dsl/index_arithmetic.h"
#include "passes/index/size_facts.h"
#include "passes/lower/stage_plan.h"
#include "passes/nest/axis_pieces.h"

namespace emulsion {
namespace {

constexpr int64_t kMostPieces = 64;  // each has loops of its own

bool is_negative_nowhere(const Extent& extent, const SizeFacts& facts) {
  return never_negative(extent) || facts.lower_bound(extent).value_or(-1) >= 0;
}

int64_t count_pieces(const Stage& stage) {
  int64_t count = 1;
  for (const std::string& axis : cut_axes(stage)) {
    count = saturated_product(count, static_cast<int64_t>(pieces_of(stage, axis).size()));
  }
  return count;
}

// Those of all cases.
std::vector<std::vector<ScheduledLoop>> loops_of_cases(const ScheduledStage& plan) {
  std::vector<std::vector<ScheduledLoop>> all = plan.specialized_loops;
  all.insert(all.begin(), plan.loops);
  return all;
}

bool has_cuts(const ScheduledStage& plan) {
  const auto is_cut = [](const Specialization& one) { return !one.cuts.empty(); };
  return !plan.stage.cuts.empty() ||
         std::any_of(plan.stage.specializations.begin(), plan.stage.specializations.end(), is_cut);
}

// The outermost loop of an axis that is cut; nothing where no loop of that case is.
std::optional<size_t> outermost_cut_loop(const Stage& one,
                                         const std::vector<ScheduledLoop>& loops) {
  for (size_t i = 0; i < loops.size(); ++i) {
    if (is_of_cut_axis(one, loops[i].name)) return i;
  }
  return std::nullopt;
}

// Of all cases.
std::optional<size_t> outermost_cut_loop(const ScheduledStage& plan) {
  const auto all = loops_of_cases(plan);
  std::optional<size_t> outermost = outermost_cut_loop(plan.stage, all[0]);
  for (size_t i = 1; i < all.size(); ++i) {
    const auto loop = outermost_cut_loop(specialized(plan.stage, i - 1), all[i]);
    if (loop && (!outermost || *loop < *outermost)) outermost = loop;
  }
  return outermost;
}

// `place`: a loop at which the stage does what the directive says.
void check_place(const NestPlan& nest, StageId id, DirectiveKind kind,
                 const std::optional<LoopLevel>& place, const std::string& legal) {
  if (!place) return;
  const ScheduledStage& target = nest.stages[place->stage];
  const std::optional<size_t> cut = outermost_cut_loop(target);
  if (!cut || place->loop < *cut) return;
  const ScheduledStage& plan = nest.stages[id];
  refuse(plan.stage.name, plan.source_directive(kind),
         fmt::format("expected a loop of {} around those of an axis that is cut, got {}; legal: {}",
                     target.stage.name, target.loops[place->loop].name,
                     *cut == 0 ? legal
                               : fmt::format("{}({}, {})", to_string(kind), target.stage.name,
                                             target.loops[*cut - 1].name)));
}

}  // namespace

void add_cut(const WrittenStage& plan, const Directive& d, const Expr& condition,
             std::vector<AxisCut>* cuts) {
  const Stage& stage = plan.stage;
  const std::string& axis = d.axes[0];
  const auto refuse_here = [&](const std::string& message) { refuse(stage.name, d, message); };
  if (stage.is_reduction()) {
    refuse_here(
        fmt::format("expected an operation that is no reduction, got {}; legal: cache_write on "
                    "it, which leaves a copy that may be cut",
                    stage.name));
  }
  const SizeFacts facts = facts_of(condition);
  const Extent& extent = stage.axes[axis_index(stage.axes, axis).value()].extent();
  const bool is_inside =
      is_negative_nowhere(d.at, facts) && is_negative_nowhere(extent - d.at, facts);
  if (!is_inside || d.at == Extent(0) || d.at == extent) {
    refuse_here(
        fmt::format("expected an index inside {}, which has {}, for all sizes, got "
                    "{}; legal: a number from 1 up, or an expression that never is beyond "
                    "the ends",
                    axis, count_text(extent.to_string(), "step", "steps"), d.at.to_string()));
  }
  auto place = cuts->begin();
  for (auto cut = cuts->begin(); cut != cuts->end(); ++cut) {
    if (cut->axis != axis) continue;
    if (cut->at == d.at) {
      refuse_here(fmt::format("expected one cut of {} at {}, got a second one; legal: one", axis,
                              d.at.to_string()));
    }
    if (is_negative_nowhere(d.at - cut->at, facts)) {
      place = cut + 1;
    } else if (!is_negative_nowhere(cut->at - d.at, facts)) {
      refuse_here(
          fmt::format("expected an index that is before or behind {}, where {} is cut, for "
                      "all sizes, got {}; legal: either",
                      cut->at.to_string(), axis, d.at.to_string()));
    }
  }
  cuts->insert(place, {axis, d.at});
  Stage one = stage;
  one.cuts = *cuts;
  if (const int64_t pieces = count_pieces(one); pieces > kMostPieces) {
    refuse_here(fmt::format("expected at most {} pieces of {}, got {}; legal: fewer cuts",
                            kMostPieces, stage.name, pieces));
  }
}

void check_cut_loops(const WrittenStage& plan, const Stage& one,
                     const std::vector<ScheduledLoop>& loops) {
  if (one.cuts.empty()) return;
  for (const ScheduledLoop& loop : loops) {
    if (loop.kind != LoopKind::tile) continue;
    refuse(one.name, plan.source_directive(DirectiveKind::tensorize),
           fmt::format("expected no tile of {}, whose {} is cut; legal: one of them", one.name,
                       one.cuts.front().axis));
  }
  for (const LoopTransform& t : one.transforms) {
    const bool goes_past = t.tail == Tail::round_up || t.tail == Tail::predicate_loads ||
                           t.tail == Tail::predicate_stores;
    if (t.kind != LoopTransform::Kind::split || !goes_past || !is_of_cut_axis(one, t.axis))
      continue;
    refuse(one.name, plan.source_directive(t),
           fmt::format("expected a tail of guard, predicate or shift_inwards, for nothing past the "
                       "end of a piece may be computed, got {}; legal: predicate",
                       to_string(t.tail)));
  }
}

void check_cuts(const NestPlan& nest) {
  for (StageId id = 0; id < nest.stages.size(); ++id) {
    const ScheduledStage& plan = nest.stages[id];
    // Storage is at that loop, or at one around it.
    check_place(nest, id, DirectiveKind::compute_at, plan.compute_at, "compute_root()");
    const std::optional<LoopLevel>& shared = plan.joins ? plan.joins : plan.compute_with;
    check_place(nest, id, DirectiveKind::compute_with, shared, "loops of its own");
    if (!shared || !has_cuts(plan)) continue;
    refuse(plan.stage.name, plan.source_directive(DirectiveKind::compute_with),
           fmt::format("expected an operation of which no axis is cut, got {}; legal: one of both",
                       plan.stage.name));
  }
}

}  // namespace emulsion

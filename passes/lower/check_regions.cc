// What is illegal of a stage's region, by who reads it and how. Called by infer_regions, stage by
// stage, before the stage's tails are settled and after those of its readers.

#include <fmt/format.h>

#include <algorithm>

#include "dsl/affine.h"
#include "passes/lower/refusal.h"
#include "passes/lower/stage_region.h"

namespace emulsion {
namespace {

// A case of a stage that reads another.
struct Reader {
  const ScheduledStage& plan;
  const StageRegion& region;
  Stage stage;
};

// The general case of each reader of a stage, then its special ones.
std::vector<Reader> readers_of_stage(const NestPlan& nest, const std::vector<StageRegion>& regions,
                                     const std::string& stage) {
  std::vector<Reader> result;
  auto readers = readers_of(nest);
  for (size_t position : readers[stage]) {
    const StageRegion& region = regions[position];
    result.push_back({nest.stages[position], region, region.stage});
    for (size_t i = 0; i < region.stage.specializations.size(); ++i) {
      result.push_back({nest.stages[position], region, specialized(region.stage, i)});
    }
  }
  return result;
}

// Halide asks for what masked loads past the end would read, too. Of a part of constant size that
// is there; a whole axis ends before it.
void refuse_masked_readers(const NestPlan& nest, const std::vector<StageRegion>& regions,
                           const ScheduledStage& plan, const Axis& axis) {
  const std::vector<EnclosingLoop> around = loops_around(nest, plan);
  for (const Reader& reader : readers_of_stage(nest, regions, plan.stage.name)) {
    const bool is_inside =
        std::any_of(around.begin(), around.end(),
                    [&](const EnclosingLoop& loop) { return loop.stage == &reader.plan; });
    if (!is_inside) continue;
    for (const LoopTransform& t : reader.stage.transforms) {
      if (t.kind != LoopTransform::Kind::split || t.tail != Tail::predicate_loads) continue;
      refuse(
          reader.stage.name, reader.plan.written(t),
          fmt::format("expected that all it loads is complete, got {}, whose axis {} is "
                      "computed whole at {}; legal: guard or predicate, or {}.compute_root()",
                      plan.stage.name, axis.name(), plan.compute_at->variable(), plan.stage.name));
    }
  }
}

// What predicate_loads stores past the end Halide cannot be told: it would compute as little of the
// axis as it finds that is read.
void refuse_masked_whole(const ScheduledStage& plan, const Axis& axis) {
  for (const LoopTransform& t : plan.stage.transforms) {
    if (t.axis != axis.name() || t.tail != Tail::predicate_loads) continue;
    refuse(plan.stage.name, plan.written(t),
           fmt::format("expected an axis of which {} needs a part of known size, got {}, which is "
                       "computed whole there; legal: guard or predicate, or compute_root()",
                       plan.compute_at->variable(), axis.name()));
  }
}

// Whether the place at `loop` is inside a loop that runs 0 times when `axis` is empty. The same in
// every special case: check_places has seen to that.
bool is_inside(const ScheduledStage& plan, const std::string& loop, const std::string& axis) {
  std::set<std::string> empty = {axis};
  for (const LoopTransform& t : plan.stage.transforms) {
    const bool split = t.kind == LoopTransform::Kind::split;
    if (split ? empty.count(t.axis) > 0 : empty.count(t.outer) + empty.count(t.inner) > 0) {
      empty.insert(split ? t.outer : t.axis);
    }
  }
  for (const Loop& around : plan.loops) {
    if (empty.count(around.name)) return true;
    if (around.name == loop) return false;
  }
  return false;
}

bool is_rounded_up(const StageRegion& region, const std::string& axis) {
  for (size_t d = 0; d < region.axes.size(); ++d) {
    if (region.stage.axes[d].name() == axis) return region.axes[d].is_rounded_up;
  }
  return false;
}

// A split of an axis that moves index `d` of a read of `stage`, with a masked tail or one that
// rounds up what is not a multiple.
const LoopTransform* inexact_split(const Reader& reader, const std::string& stage, size_t d) {
  std::set<std::string> moving;
  for (const Expr& read : reads_of(reader.stage, stage)) {
    visit(read->args[d], [&](const Expr& index) {
      if (index->op == ExprOp::axis) moving.insert(index->name);
    });
  }
  for (const LoopTransform& t : reader.stage.transforms) {
    if (t.kind == LoopTransform::Kind::fuse) {
      if (moving.count(t.outer) + moving.count(t.inner) > 0) moving.insert(t.axis);
      continue;
    }
    if (!moving.count(t.axis)) continue;
    if (t.tail != Tail::round_up || is_rounded_up(reader.region, t.axis)) return &t;
    moving.insert({t.outer, t.inner});
  }
  return nullptr;
}

}  // namespace

void check_whole_axis(const NestPlan& nest, const std::vector<StageRegion>& regions,
                      const ScheduledStage& plan, const Axis& axis, bool all_is_read) {
  refuse_masked_readers(nest, regions, plan, axis);
  if (!all_is_read) refuse_masked_whole(plan, axis);
}

// It is computed from clamped reads. When the domain can be empty at run time there is nothing to
// clamp to, so the loops around it must be empty then too.
void check_partial_axis(const NestPlan& nest, const ScheduledStage& plan, const Axis& axis) {
  const Extent& extent = axis.extent();
  if (extent.is_constant() || extent.lower_bound().value_or(0) > 0) return;
  for (const ScheduledStage* walker = &plan; walker->compute_at;) {
    const std::string& loop = walker->compute_at->loop;
    walker = nest.find(walker->compute_at->stage);
    for (const std::vector<Axis>* axes : {&walker->stage.axes, &walker->stage.reduction_axes}) {
      for (const Axis& around : *axes) {
        if (around.extent() == extent && is_inside(*walker, loop, around.name())) return;
      }
    }
  }
  refuse(
      plan.stage.name, plan.written(DirectiveKind::compute_at),
      fmt::format("expected a loop that runs 0 times whenever {} is empty, or one inside such a "
                  "loop, got {} while axis {} has the run-time extent {}; legal: compute_root()",
                  plan.stage.name, plan.compute_at->variable(), axis.name(), extent.to_string()));
}

// What a masked tail leaves out of a reader, or what rounding up adds to it, Halide counts to the
// window at first, and later not: it would slide over values that it never computes.
void check_window(const NestPlan& nest, const std::vector<StageRegion>& regions,
                  const ScheduledStage& plan, const StageRegion& region) {
  for (size_t d = 0; d < region.axes.size(); ++d) {
    const std::string& along = region.axes[d].slides_along;
    if (along.empty()) continue;
    for (const Reader& reader : readers_of_stage(nest, regions, plan.stage.name)) {
      if (along.rfind(reader.stage.name + ".", 0) == 0) continue;
      const LoopTransform* split = inexact_split(reader, plan.stage.name, d);
      if (split == nullptr) continue;
      refuse(plan.stage.name, plan.written_store(),
             fmt::format("expected readers whose splits divide the part of the window that they "
                         "read, got {}, whose split of {} by {} {}; legal: storage where {} is "
                         "computed, or a factor that divides",
                         reader.stage.name, split->axis, split->factor,
                         split->tail == Tail::round_up ? "goes past it" : "is masked",
                         plan.stage.name));
    }
  }
}

}  // namespace emulsion

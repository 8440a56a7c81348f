// compute_at of what is stored whole: of an output, and with store_root of what others read once
// the loops around it are done.
//
//   for r.m: r[m] = ..                  for y.m:
//   for y.m: y[m] = .. r[m] ..    ->      for r.m in y.m .. +1: r[m] = ..
//   rest, which reads r                   y[m] = .. r[m] ..
//                                       rest
//
// Each step of these loops computes a part of it, and each part is computed by one step: of the
// axes that the loops are made of what the step has of them, of all others everything. Threads may
// share the loops, for none of them needs what another one has computed.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "passes/lower/alternatives.h"
#include "passes/lower/refusal.h"
#include "passes/lower/stage_plan.h"
#include "passes/lower/stage_region.h"

namespace emulsion {
namespace {

class Checker {
 public:
  Checker(const NestPlan& nest, const std::map<StageId, PartOfCases>& parts, StageId id)
      : nest_(nest),
        parts_(parts),
        id_(id),
        plan_(nest.stages[id]),
        place_(*plan_.compute_at),
        walker_(nest.stages[place_.stage]) {}

  void check() const {
    check_walker();
    check_cases();
    check_loops();
    check_axes();
    check_tails();
    for (StageId reader : plan_.readers) check_reader(reader);
  }

 private:
  [[noreturn]] void refuse_here(const std::string& message) const {
    refuse(plan_.stage.name, plan_.source_directive(DirectiveKind::compute_at),
           message + "; legal: compute_root()");
  }

  const std::string& name() const { return plan_.stage.name; }
  const std::string& walker() const { return walker_.stage.name; }

  void check_walker() const {
    if (walker_.compute_at) {
      refuse_here(
          fmt::format("expected a loop of an operation that is computed at the root, for {} "
                      "is stored whole, got one of {}",
                      name(), walker()));
    }
    const bool joined =
        std::any_of(nest_.stages.begin(), nest_.stages.end(), [&](const ScheduledStage& other) {
          return other.joins && other.joins->stage == place_.stage;
        });
    if (joined || walker_.joins || walker_.compute_with || !walker_.sharing.empty() ||
        plan_.joins || plan_.compute_with || !plan_.sharing.empty()) {
      refuse_here(
          fmt::format("expected loops of {} and {} without compute_with, for {} is stored "
                      "whole",
                      name(), walker(), name()));
    }
  }

  // In every case the whole of it is computed.
  void check_cases() const {
    const bool any = std::any_of(parts_.begin(), parts_.end(), [&](const auto& part) {
      return part.first == id_ || part.second.reader == id_ || part.second.reader == place_.stage;
    });
    if (!any) return;
    refuse_here(fmt::format("expected {} and {} without an alternative, for {} is stored whole",
                            name(), walker(), name()));
  }

  void check_loops() const {
    for (size_t i = 0; i <= place_.loop; ++i) {
      if (!walker_.loops[i].is_reduction) continue;
      refuse_here(
          fmt::format("expected no loop of a reduction around {}, which is stored whole, "
                      "got {}",
                      name(), nest_.variable({place_.stage, i})));
    }
  }

  // That the loops go through all of it, each element once: they are made of axes that it has, too.
  void check_axes() const {
    const StageCase general{walker_.stage, walker_.loops, {}};
    const std::map<std::string, Coverage> covered = coverage_of(general, place_.loop + 1);
    const size_t before = axes_before_kept(plan_.stage.axes, walker_.stage.axes, covered);
    for (size_t d = 0; d < walker_.stage.axes.size(); ++d) {
      const Axis& axis = walker_.stage.axes[d];
      const Coverage::Kind kind = covered.at(axis.name()).kind;
      if (kind == Coverage::Kind::all) continue;
      if (kind == Coverage::Kind::scattered) {
        refuse_here(
            fmt::format("expected loops whose steps have indices of {} of {} that are next "
                        "to each other",
                        axis.name(), walker()));
      }
      const std::vector<Axis>& own = plan_.stage.axes;
      const size_t at = d - before;
      if (d >= before && at < own.size() && own[at].extent() == axis.extent()) continue;
      refuse_here(fmt::format(
          "expected an axis {} of {} of the extent {}, as {} of {} has, the loop around it, got {}",
          d + 1, name(), axis.extent().to_string(), axis.name(), walker(),
          d < own.size() ? own[d].extent().to_string() : "none"));
    }
    for (const LoopTransform& t : walker_.stage.transforms) {
      const bool again = t.tail == Tail::shift_inwards || t.tail == Tail::predicate_stores;
      if (t.kind != LoopTransform::Kind::split || !again) continue;
      if (covered.at(t.axis).kind == Coverage::Kind::all) continue;
      refuse_here(
          fmt::format("expected loops that compute each part of {} once, got {}.{}, whose "
                      "last tile computes some again",
                      name(), walker(), to_string(walker_.source_directive(t))));
    }
  }

  // Nothing is stored past its end.
  void check_tails() const {
    for (const LoopTransform& t : plan_.stage.transforms) {
      if (t.kind != LoopTransform::Kind::split || t.tail != Tail::round_up) continue;
      refuse(name(), plan_.source_directive(t),
             fmt::format("expected a tail of guard, predicate or shift_inwards: nothing past the "
                         "end of {} may be written, which is stored whole; legal: guard",
                         name()));
    }
  }

  // Who reads it outside comes when the loops are done.
  void check_reader(StageId reader) const {
    if (is_inside_place(nest_, reader, place_)) return;
    StageId at = reader;
    while (nest_.stages[at].compute_at) at = nest_.stages[at].compute_at->stage;
    const auto refuse_reader = [&](const std::string& why) {
      refuse_here(
          fmt::format("expected what reads {} to be computed inside {} or behind the loops of {}, "
                      "got {}, {}",
                      name(), nest_.variable(place_), walker(), nest_.name_of(reader), why));
    };
    if (at == place_.stage) refuse_reader("which is computed around it");
    for (StageId needed : nest_.group_of(nest_.leader_of(at))) {
      if (depends_on(nest_, place_.stage, needed)) {
        refuse_reader(fmt::format("and {} is needed before", nest_.name_of(needed)));
      }
    }
  }

  const NestPlan& nest_;
  const std::map<StageId, PartOfCases>& parts_;
  const StageId id_;
  const ScheduledStage& plan_;
  const LoopLevel place_;
  const ScheduledStage& walker_;
};

// Whether the stage has every axis of which a step computes a part, `before` places earlier.
bool has_parts_at(const std::vector<Axis>& kept, const std::vector<Axis>& walker,
                  const std::map<std::string, Coverage>& covered, size_t before) {
  for (size_t d = 0; d < walker.size(); ++d) {
    if (covered.at(walker[d].name()).kind == Coverage::Kind::all) continue;
    if (d < before || d - before >= kept.size()) return false;
    if (kept[d - before].extent() != walker[d].extent()) return false;
  }
  return true;
}

}  // namespace

size_t axes_before_kept(const std::vector<Axis>& kept, const std::vector<Axis>& walker,
                        const std::map<std::string, Coverage>& covered) {
  // Axes of one step may be before it, too: of [N, 1] in the loops of [1, N].
  for (size_t before = 0; before < walker.size(); ++before) {
    if (has_parts_at(kept, walker, covered, before)) return before;
  }
  return 0;
}

bool is_inside_place(const NestPlan& nest, StageId id, const LoopLevel& place) {
  return id == place.stage || loop_around(nest, id, place.stage) >= place.loop;
}

bool is_kept_whole(const NestPlan& nest, StageId id) {
  const ScheduledStage& plan = nest.stages[id];
  if (!plan.compute_at) return false;
  if (plan.is_output) return true;
  return plan.store_root &&
         std::any_of(plan.readers.begin(), plan.readers.end(), [&](StageId reader) {
           return !is_inside_place(nest, reader, *plan.compute_at);
         });
}

void check_kept_whole(const NestPlan& nest) {
  const std::map<StageId, PartOfCases> parts = parts_of_cases(nest);
  for (StageId id = 0; id < nest.stages.size(); ++id) {
    if (nest.stages[id].kept_whole) Checker(nest, parts, id).check();
  }
}

}  // namespace emulsion

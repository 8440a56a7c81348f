#include <fmt/format.h>

#include <algorithm>

#include "dsl/count_text.h"
#include "dsl/directive_table.h"
#include "dsl/error.h"
#include "passes/lower/join_loops.h"
#include "passes/lower/stage_plan.h"

namespace emulsion {
namespace {

// Honours one directive after another of one stage. What each makes of the loops is known: the next
// one found it, or it is there at the end.
class Applier {
 public:
  Applier(WrittenStage written, const StageLoops& last) : last_(last) {
    static_cast<WrittenStage&>(plan_) = std::move(written);
    cases_.front().transforms = plan_.stage.transforms;  // of rfactor
  }

  LoopedStage apply() {
    for (const WrittenDirective& d : plan_.directives) {
      ++applied_;
      honour(d);
    }
    finish();
    return std::move(plan_);
  }

 private:
  // The loops before the directive at hand, and after it.
  const StageLoops& before() const { return plan_.directives[applied_ - 1].loops; }
  const StageLoops& after() const {
    return applied_ < plan_.directives.size() ? plan_.directives[applied_].loops : last_;
  }

  void finish() {
    for (const Directive& d : plan_.directives) {
      const bool is_stored_there = form_of(d.kind).scope == DirectiveScope::store;
      if (!is_stored_there || plan_.find_directive(DirectiveKind::compute_at)) continue;
      refuse_here(d,
                  "expected together with compute_at; legal: compute_at the same loop, or "
                  "one inside it, too");
    }
    check_kinds(plan_, last_.loops(), applied_);
    check_cut_loops();
    plan_.specialized_loops = last_.all_cases();
    plan_.loops = std::move(plan_.specialized_loops.front());
    plan_.specialized_loops.erase(plan_.specialized_loops.begin());
    plan_.stage.transforms = std::move(cases_.front().transforms);
    plan_.stage.cuts = std::move(cases_.front().cuts);
    for (size_t i = 1; i < cases_.size(); ++i) {
      plan_.stage.specializations.push_back(
          {cases_[i].condition, std::move(cases_[i].transforms), std::move(cases_[i].cuts)});
    }
  }

  void check_cut_loops() const {
    const std::vector<std::vector<ScheduledLoop>> loops = last_.all_cases();
    for (size_t i = 0; i < cases_.size(); ++i) {
      Stage one = plan_.stage;
      one.transforms = cases_[i].transforms;
      one.cuts = cases_[i].cuts;
      emulsion::check_cut_loops(plan_, one, loops[i]);
    }
  }

  // What is known beside the loops: of the general case, or of a specialization.
  struct Case {
    Expr condition;
    std::vector<LoopTransform> transforms;
    std::vector<AxisCut> cuts;
  };

  // Whether the directive is legal, and all that it does but to change and mark the loops.
  void honour(const Directive& d) {
    switch (d.kind) {
      case DirectiveKind::split:
        return split(d);
      case DirectiveKind::fuse:
        return fuse(d);
      case DirectiveKind::reorder:
        return reorder(d);
      case DirectiveKind::vectorize:
        return check_kind(d, LoopKind::vectorized);
      case DirectiveKind::unroll:
        return check_kind(d, LoopKind::unrolled);
      case DirectiveKind::parallel:
        return check_kind(d, LoopKind::parallel);
      case DirectiveKind::partition:
        return partition(d);
      case DirectiveKind::cut:
        return add_cut(plan_, d, cases_.back().condition, &cases_.back().cuts);
      case DirectiveKind::tensorize:
        return tensorize(d);
      case DirectiveKind::atomic:
        return atomic(d);
      case DirectiveKind::compute_with:
        return require_first(d, {d.kind});
      case DirectiveKind::prefetch:
        plan_.prefetches.push_back(d);
        return;
      case DirectiveKind::specialize:
        return specialize(d);
      case DirectiveKind::compute_at:
      case DirectiveKind::compute_root:
        return place(d);
      case DirectiveKind::store_at:
      case DirectiveKind::store_root:
        return store_outside(d);
      case DirectiveKind::hoist_storage:
      case DirectiveKind::store_in_output:
        return require_own_storage(d, {d.kind});
      case DirectiveKind::fold_storage:
        return fold_storage(d);
      case DirectiveKind::reorder_storage:
        return reorder_storage(d);
      case DirectiveKind::align_storage:
        return align_storage(d);
      case DirectiveKind::store_in:
        return store_in(d);
      case DirectiveKind::compute_inline:
      case DirectiveKind::pack:
      case DirectiveKind::cache_write:
      case DirectiveKind::rfactor:
      case DirectiveKind::copy_in:
      case DirectiveKind::alternative:
      case DirectiveKind::precompute:
        EMULSION_CHECK(false, "{} is left for apply_directives", to_string(d));
    }
  }

  // Refuses a second directive of these kinds, which say the same thing: of an axis of the storage,
  // when they speak of one.
  void require_first(const Directive& d, const std::vector<DirectiveKind>& kinds,
                     const std::string& legal = "either") const {
    const bool of_axis =
        d.kind == DirectiveKind::fold_storage || d.kind == DirectiveKind::align_storage;
    for (size_t i = 0; i + 1 < applied_; ++i) {
      const Directive& earlier = plan_.directives[i];
      if (!std::count(kinds.begin(), kinds.end(), earlier.kind)) continue;
      if (of_axis && earlier.axes != d.axes) continue;
      std::vector<std::string> names;
      names.reserve(kinds.size());
      for (DirectiveKind kind : kinds) names.push_back(to_string(kind));
      refuse_here(
          d, fmt::format("expected one {}{}, got a second one; legal: {}", fmt::join(names, " or "),
                         of_axis ? " of " + d.axes[0] : "", legal));
    }
  }

  void specialize(const Directive& d) {
    check_kinds(plan_, before().loops(), applied_);
    for (size_t i = 1; i < cases_.size(); ++i) {
      if (!equal(cases_[i].condition, d.condition)) continue;
      refuse_here(d, fmt::format("expected a condition that {} has no specialization for yet, got "
                                 "{}; legal: what stands behind it, behind the first",
                                 plan_.stage.name, to_string(d.condition)));
    }
    cases_.push_back(cases_.front());
    cases_.back().condition = d.condition;
  }

  [[noreturn]] void refuse_here(const Directive& d, const std::string& message) const {
    refuse(plan_.stage.name, d, message);
  }

  // Those that are pure, as the loop is, or reduce, as it does.
  std::vector<std::string> loops_like(const ScheduledLoop& loop) const {
    std::vector<std::string> result;
    for (const ScheduledLoop& other : before().loops()) {
      if (other.is_reduction == loop.is_reduction) result.push_back(other.name);
    }
    return result;
  }

  const ScheduledLoop& loop_of(const std::string& axis) const {
    return *find_loop(before().loops(), axis);
  }

  // Only a loop that is run step by step can be partitioned, and only such a loop replaced.
  void require_serial(const Directive& d, const ScheduledLoop& loop) const {
    const bool replaces = d.kind == DirectiveKind::split || d.kind == DirectiveKind::fuse;
    if (loop.kind != LoopKind::serial) {
      refuse_here(d, fmt::format("expected a serial loop, got {}, which is {} already; legal: {}",
                                 loop.name, to_string(loop.kind),
                                 replaces ? to_string(d.kind) + " first" : "one kind for a loop"));
    }
    if (loop.partition && d.kind != DirectiveKind::parallel) {
      refuse_here(d, fmt::format("expected a loop that is not partitioned, got {}; legal: {}",
                                 loop.name, replaces ? to_string(d.kind) + " first" : "either"));
    }
  }

  // A reduction is over one domain in every case; and what is stored is the same in every case.
  void check_specialization(const Directive& d, const ScheduledLoop& loop) const {
    if (!before().is_specialized()) return;
    if (loop.is_reduction) {
      refuse_here(d, fmt::format("expected a loop of no reduction axis behind specialize, got {}; "
                                 "legal: in front of the first specialize",
                                 loop.name));
    }
    if (d.tail == Tail::round_up || d.tail == Tail::predicate_loads) {
      refuse_here(d,
                  fmt::format("expected a tail that stores nothing past the end behind specialize, "
                              "got {}; legal: guard, predicate, predicate_stores or shift_inwards",
                              to_string(d.tail)));
    }
  }

  void split(const Directive& d) {
    const std::string &axis = d.axes[0], &outer = d.axes[1], &inner = d.axes[2];
    const ScheduledLoop& loop = loop_of(axis);
    check_specialization(d, loop);
    require_serial(d, loop);
    if (d.tail == Tail::predicate_loads || d.tail == Tail::predicate_stores) check_mask(d);
    if (d.tail == Tail::shift_inwards && plan_.stage.is_reduction()) {
      refuse_here(
          d,
          "expected a tail of guard or predicate: a reduction cannot compute a point twice; legal: "
          "guard");
    }
    if (d.tail == Tail::round_up && (plan_.is_output || loop.is_reduction)) {
      refuse_here(
          d, fmt::format("expected a tail of guard{}: nothing past the end of {} may be {}; legal: "
                         "guard",
                         loop.is_reduction ? " or predicate" : ", predicate or shift_inwards",
                         loop.is_reduction ? axis : plan_.stage.name,
                         loop.is_reduction ? "added" : "written"));
    }
    LoopTransform transform;
    transform.kind = LoopTransform::Kind::split;
    transform.axis = axis;
    transform.outer = outer;
    transform.inner = inner;
    transform.factor = d.factor;
    transform.tail = d.tail;  // automatic is resolved by infer_regions, which knows the extents
    cases_.back().transforms.push_back(transform);
  }

  // predicate_loads and predicate_stores: one side of the operation runs past the end.
  void check_mask(const Directive& d) {
    if (plan_.stage.is_reduction()) {
      refuse_here(d, fmt::format("expected a tail of guard or predicate: a reduction loads what it "
                                 "stores, got {}; legal: predicate",
                                 to_string(d.tail)));
    }
    if (d.tail == Tail::predicate_loads && plan_.is_output) {
      refuse_here(
          d,
          fmt::format("expected a tail of guard, predicate, predicate_stores or "
                      "shift_inwards: nothing past the end of {} may be written; legal: predicate",
                      plan_.stage.name));
    }
    // What is stored past the end widens the storage, and what is loaded past it is cut off at the
    // end: by a known amount, of a known axis.
    const std::vector<Axis>& axes = plan_.stage.axes;
    const std::vector<LoopTransform>& made = cases_.back().transforms;
    const bool was_made = std::any_of(made.begin(), made.end(),
                                      [&](const LoopTransform& t) { return t.axis == d.axes[0]; });
    if (!axis_index(axes, d.axes[0]) || was_made) {
      refuse_here(d, fmt::format("expected an axis of {} that is not split yet, got {}; legal: "
                                 "guard or predicate",
                                 plan_.stage.name, d.axes[0]));
    }
  }

  void fuse(const Directive& d) {
    const std::string &outer = d.axes[0], &inner = d.axes[1], &fused = d.axes[2];
    const std::vector<ScheduledLoop>& loops = before().loops();
    const size_t at = position_of(loops, outer).value(),
                 inner_at = position_of(loops, inner).value();
    require_serial(d, loops[at]);
    require_serial(d, loops[inner_at]);
    if (inner_at != at + 1) {
      refuse_here(d,
                  fmt::format("expected {} directly inside {}, got the loops {}, outermost first; "
                              "legal: reorder({}, {}) first",
                              inner, outer, joined(names_of(loops)), inner, outer));
    }
    check_specialization(d, loops[at]);
    if (loops[at].is_reduction != loops[inner_at].is_reduction) {
      refuse_here(d, fmt::format("expected two pure loops or two reduction loops, got one of each; "
                                 "legal: two of {}",
                                 joined(loops_like(loops[at]))));
    }
    LoopTransform transform;
    transform.kind = LoopTransform::Kind::fuse;
    transform.axis = fused;
    transform.outer = outer;
    transform.inner = inner;
    cases_.back().transforms.push_back(transform);
  }

  void reorder(const Directive& d) const {
    if (!before().is_specialized()) return;
    const std::vector<std::string> asked = reduction_loops_of(after().loops());
    const std::vector<std::string> now = reduction_loops_of(before().loops());
    if (asked == now) return;
    refuse_here(d, fmt::format("expected the reduction loops in their order behind specialize, "
                               "{}, got {}; legal: in front of the first specialize",
                               joined(now), joined(asked)));
  }

  static std::vector<std::string> reduction_loops_of(const std::vector<ScheduledLoop>& loops) {
    std::vector<std::string> result;
    for (const ScheduledLoop& loop : loops) {
      if (loop.is_reduction) result.push_back(loop.name);
    }
    return result;
  }

  void check_kind(const Directive& d, LoopKind kind) const {
    const ScheduledLoop& loop = loop_of(d.axes[0]);
    require_serial(d, loop);
    if (loop.is_reduction && kind != LoopKind::unrolled) check_carried(plan_, d, kind);
  }

  void partition(const Directive& d) const {
    const ScheduledLoop& loop = loop_of(d.axes[0]);
    if (loop.partition) {
      refuse_here(
          d, fmt::format("expected one partition of {}, got a second one; legal: one", loop.name));
    }
    if (loop.kind != LoopKind::serial && loop.kind != LoopKind::parallel) {
      refuse_here(d, fmt::format("expected a serial or parallel loop, got {}, which is {}; legal: "
                                 "a loop around it",
                                 loop.name, to_string(loop.kind)));
    }
  }

  // The loop and all inside it; a later reorder that takes one of them out is found by finish().
  void tensorize(const Directive& d) const {
    bool is_inside = false;
    for (const ScheduledLoop& loop : before().loops()) {
      is_inside = is_inside || loop.name == d.axes[0];
      if (is_inside) require_serial(d, loop);
    }
  }

  void atomic(const Directive& d) {
    if (!plan_.stage.is_reduction()) {
      refuse_here(d, fmt::format("expected a reduction, got {}, which has none; legal: no atomic",
                                 plan_.stage.name));
    }
    require_first(d, {d.kind}, "one");
    plan_.atomic = true;
  }

  // The loops that places name are found when all loops are known: find_places.
  void place(const Directive& d) const {
    require_first(d, {DirectiveKind::compute_at, DirectiveKind::compute_root});
  }

  // Where and how the values are kept, of which `kinds` say the same thing.
  void require_own_storage(const Directive& d, const std::vector<DirectiveKind>& kinds) const {
    if (plan_.is_output) {
      refuse_here(
          d,
          "expected an operation that is not an output: the caller stores it; legal: this of "
          "one that it reads");
    }
    require_first(d, kinds);
  }

  void store_outside(const Directive& d) {
    require_own_storage(d, {DirectiveKind::store_at, DirectiveKind::store_root});
    plan_.store_root = d.kind == DirectiveKind::store_root;
  }

  void fold_storage(const Directive& d) {
    require_own_storage(d, {d.kind});
    set_of_axis(d, 0, &plan_.layout.folds);
  }

  void align_storage(const Directive& d) {
    require_own_storage(d, {d.kind});
    set_of_axis(d, 1, &plan_.layout.alignments);
  }

  // The factor of one axis; of those that no directive speaks of, `otherwise`.
  void set_of_axis(const Directive& d, int64_t otherwise, std::vector<int64_t>* factors) const {
    const std::vector<Axis>& axes = plan_.stage.axes;
    factors->resize(axes.size(), otherwise);
    (*factors)[axis_index(axes, d.axes[0]).value()] = d.factor;
  }

  void reorder_storage(const Directive& d) {
    require_own_storage(d, {d.kind});
    const std::vector<Axis>& axes = plan_.stage.axes;
    if (d.axes.size() != axes.size()) {
      refuse_here(d, fmt::format("expected all {} of {}, got {}; legal: those of {}",
                                 count_text(axes.size(), "axis", "axes"), plan_.stage.name,
                                 d.axes.size(), joined(axis_names(axes))));
    }
    for (auto axis = d.axes.rbegin(); axis != d.axes.rend(); ++axis) {
      plan_.layout.order.push_back(axis_index(axes, *axis).value());
    }
  }

  void store_in(const Directive& d) {
    require_own_storage(d, {d.kind});
    plan_.memory = d.memory;
  }

  LoopedStage plan_;
  const StageLoops& last_;          // the loops after all directives
  std::vector<Case> cases_ = {{}};  // the general one, then the specializations
  size_t applied_ = 0;              // directives
};

// Each stage with its loops.
LoopedNest with_loops(WrittenNest nest, const LoopsOfStages& loops) {
  LoopedNest looped;
  static_cast<NestTables&>(looped) = std::move(static_cast<NestTables&>(nest));
  for (WrittenStage& written : nest.stages) {
    const std::string name = written.stage.name;
    looped.ids.emplace(name, looped.stages.size());
    looped.stages.push_back(apply_directives_of(std::move(written), loops.at(name)));
  }
  return looped;
}

std::vector<StageLinks> link_stages(const LoopedNest& nest,
                                    const std::vector<StagePlaces>& places) {
  std::vector<StageLinks> links(nest.stages.size());
  for (StageId reader = 0; reader < nest.stages.size(); ++reader) {
    visit(nest.stages[reader].stage.body, [&](const Expr& e) {
      const auto producer = e->op == ExprOp::read ? nest.find(e->name) : std::nullopt;
      if (!producer) return;
      std::vector<StageId>& readers = links[*producer].readers;
      if (!readers.empty() && readers.back() == reader) return;
      readers.push_back(reader);
      links[reader].producers.push_back(*producer);
    });
    const std::optional<LoopLevel>& shared = places[reader].compute_with;
    if (shared) links[shared->stage].sharing.push_back(reader);
  }
  return links;
}

}  // namespace

LoopedStage apply_directives_of(WrittenStage written, const StageLoops& loops) {
  return Applier(std::move(written), loops).apply();
}

NestPlan apply_directives(WrittenNest nest, const LoopsOfStages& loops) {
  LoopedNest looped = with_loops(std::move(nest), loops);
  const std::vector<StagePlaces> places = find_places(looped);
  std::vector<StageLinks> links = link_stages(looped, places);
  NestPlan plan;
  static_cast<NestTables&>(plan) = std::move(static_cast<NestTables&>(looped));
  plan.ids = std::move(looped.ids);
  for (StageId id = 0; id < places.size(); ++id) {
    plan.stages.push_back({std::move(looped.stages[id]), places[id], std::move(links[id])});
  }
  for (StageId id = 0; id < plan.stages.size(); ++id) {
    plan.stages[id].kept_whole = is_kept_whole(plan, id);
    plan.keeps_whole = plan.keeps_whole || plan.stages[id].kept_whole;
  }
  check_places(plan);
  check_cuts(plan);
  check_kept_whole(plan);
  check_loops(plan);
  check_joins(plan);
  return plan;
}

}  // namespace emulsion

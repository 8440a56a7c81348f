#include <algorithm>

#include "dsl/error.h"
#include "dsl/nearest_name.h"
#include "passes/lower/stage_plan.h"

namespace emulsion {
namespace {

std::vector<std::string> axis_names(const std::vector<Axis>& axes) {
  std::vector<std::string> names;
  names.reserve(axes.size());
  for (const Axis& axis : axes) names.push_back(axis.name());
  return names;
}

// Of a directive that names a place.
LoopLevel level_of(const Directive& d) { return {d.target, d.axes[0]}; }

// Applies one directive after another to one stage.
class Applier {
 public:
  explicit Applier(ScheduledStage* plan) : plan_(*plan) {
    // Where it stands among the directives does not matter, as in Halide.
    has_atomic_ = std::any_of(plan->directives.begin(), plan->directives.end(),
                              [](const Directive& d) { return d.kind == DirectiveKind::atomic; });
  }

  void apply(const Directive& d) {
    ++applied_;
    switch (d.kind) {
      case DirectiveKind::split:
        return split(d);
      case DirectiveKind::fuse:
        return fuse(d);
      case DirectiveKind::reorder:
        return reorder(d);
      case DirectiveKind::vectorize:
        return set_kind(d, LoopKind::vectorized);
      case DirectiveKind::unroll:
        return set_kind(d, LoopKind::unrolled);
      case DirectiveKind::parallel:
        return set_kind(d, LoopKind::parallel);
      case DirectiveKind::tensorize:
        return tensorize(d);
      case DirectiveKind::atomic:
        return atomic(d);
      case DirectiveKind::compute_with:
        if (plan_.compute_with)
          refuse_here(d, "expected one compute_with, got a second one; legal: either");
        plan_.compute_with = level_of(d);
        return;
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
      case DirectiveKind::hoist_storage:
      case DirectiveKind::fold_storage:
      case DirectiveKind::reorder_storage:
      case DirectiveKind::align_storage:
      case DirectiveKind::store_in:
        return store(d);
      default:
        EMULSION_CHECK(false, "{} is left for apply_directives", to_string(d));
    }
  }

  void finish() {
    if (stored_ && !plan_.compute_at) {
      refuse_here(*stored_,
                  "expected together with compute_at; legal: compute_at the same loop, or "
                  "one inside it, too");
    }
    check_kinds(plan_, applied_);
    if (general_) close_case();
  }

 private:
  // The state of the stage's loops: of the general case, or of the specialization that is open.
  struct Case {
    std::vector<LoopTransform> transforms;
    std::vector<ScheduledLoop> loops;
    std::set<std::string> used;
  };

  void specialize(const Directive& d) {
    check_kinds(plan_, applied_);
    const std::vector<Specialization>& closed = plan_.stage.specializations;
    const bool again = std::any_of(closed.begin(), closed.end(), [&](const Specialization& other) {
      return equal(other.condition, d.condition);
    });
    if (again || (general_ && equal(condition_, d.condition))) {
      refuse_here(d, fmt::format("expected a condition that {} has no specialization for yet, got "
                                 "{}; legal: what stands behind it, behind the first",
                                 plan_.stage.name, to_string(d.condition)));
    }
    if (general_) {
      close_case();
    } else {
      general_ = Case{plan_.stage.transforms, plan_.loops, used_};
    }
    condition_ = d.condition;
  }

  // Puts the specialization that is open into the plan's table and goes back to the general case.
  void close_case() {
    plan_.stage.specializations.push_back({condition_, plan_.stage.transforms});
    plan_.specialized_loops.push_back(plan_.loops);
    plan_.stage.transforms = general_->transforms;
    plan_.loops = general_->loops;
    used_ = general_->used;
  }

  [[noreturn]] void refuse_here(const Directive& d, const std::string& message) const {
    refuse(plan_.stage.name, d, message);
  }

  // Those that are pure, as the loop is, or reduce, as it does.
  std::vector<std::string> loops_like(const ScheduledLoop& loop) const {
    std::vector<std::string> result;
    for (const ScheduledLoop& other : plan_.loops) {
      if (other.is_reduction == loop.is_reduction) result.push_back(other.name);
    }
    return result;
  }

  size_t require_loop(const Directive& d, const std::string& axis) const {
    const std::optional<size_t> found = position_of(plan_.loops, axis);
    if (!found) {
      refuse_here(d, expected_name("a loop of " + plan_.stage.name, names_of(plan_.loops), axis));
    }
    return *found;
  }

  void require_serial(const Directive& d, const ScheduledLoop& loop) const {
    static const char* const kNames[] = {"serial", "parallel", "vectorized", "unrolled",
                                         "a tile's"};
    if (loop.kind != LoopKind::serial) {
      const bool replaces = d.kind == DirectiveKind::split || d.kind == DirectiveKind::fuse;
      refuse_here(d, fmt::format("expected a serial loop, got {}, which is {} already; legal: {}",
                                 loop.name, kNames[static_cast<int>(loop.kind)],
                                 replaces ? to_string(d.kind) + " first" : "one kind for a loop"));
    }
  }

  void require_new(const Directive& d, const std::string& name, const std::string& replaced) {
    if (name == replaced) return;
    if (position_of(plan_.loops, name) || used_.count(name)) {
      refuse_here(d, fmt::format("expected a new name, got {}, which {} has or had; legal: {}_1",
                                 name, plan_.stage.name, name));
    }
  }

  // A reduction is over one domain in every case; and what is stored is the same in every case.
  void check_specialization(const Directive& d, const ScheduledLoop& loop) const {
    if (!general_) return;
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
    const size_t at = require_loop(d, axis);
    check_specialization(d, plan_.loops[at]);
    require_serial(d, plan_.loops[at]);
    require_new(d, outer, axis);
    require_new(d, inner, axis);
    const bool reduction = plan_.loops[at].is_reduction;
    if (d.tail == Tail::predicate_loads || d.tail == Tail::predicate_stores) check_mask(d);
    if (d.tail == Tail::shift_inwards && plan_.stage.is_reduction()) {
      refuse_here(
          d,
          "expected a tail of guard or predicate: a reduction cannot compute a point twice; legal: "
          "guard");
    }
    if (d.tail == Tail::round_up && (plan_.is_output || reduction)) {
      refuse_here(
          d, fmt::format("expected a tail of guard{}: nothing past the end of {} may be {}; legal: "
                         "guard",
                         reduction ? " or predicate" : ", predicate or shift_inwards",
                         reduction ? axis : plan_.stage.name, reduction ? "added" : "written"));
    }
    LoopTransform transform;
    transform.kind = LoopTransform::Kind::split;
    transform.axis = axis;
    transform.outer = outer;
    transform.inner = inner;
    transform.factor = d.factor;
    transform.tail = d.tail;  // automatic is resolved by infer_regions, which knows the extents
    plan_.stage.transforms.push_back(transform);
    used_.insert(axis);
    plan_.loops[at].name = outer;
    plan_.loops.insert(plan_.loops.begin() + at + 1, {inner, LoopKind::serial, reduction});
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
    const std::vector<LoopTransform>& made = plan_.stage.transforms;
    const bool is_axis = std::any_of(axes.begin(), axes.end(),
                                     [&](const Axis& axis) { return axis.name() == d.axes[0]; });
    const bool was_made = std::any_of(made.begin(), made.end(), [&](const LoopTransform& t) {
      return t.axis == d.axes[0] || t.outer == d.axes[0] || t.inner == d.axes[0];
    });
    if (!is_axis || was_made) {
      refuse_here(d, fmt::format("expected an axis of {} that is not split yet, got {}; legal: "
                                 "guard or predicate",
                                 plan_.stage.name, d.axes[0]));
    }
  }

  void fuse(const Directive& d) {
    const std::string &outer = d.axes[0], &inner = d.axes[1], &fused = d.axes[2];
    const size_t at = require_loop(d, outer);
    const size_t inner_at = require_loop(d, inner);
    require_serial(d, plan_.loops[at]);
    require_serial(d, plan_.loops[inner_at]);
    if (inner_at != at + 1) {
      refuse_here(d,
                  fmt::format("expected {} directly inside {}, got the loops {}, outermost first; "
                              "legal: reorder({}, {}) first",
                              inner, outer, joined(names_of(plan_.loops)), inner, outer));
    }
    check_specialization(d, plan_.loops[at]);
    if (plan_.loops[at].is_reduction != plan_.loops[inner_at].is_reduction) {
      refuse_here(d, fmt::format("expected two pure loops or two reduction loops, got one of each; "
                                 "legal: two of {}",
                                 joined(loops_like(plan_.loops[at]))));
    }
    if (fused != outer && fused != inner) require_new(d, fused, "");
    LoopTransform transform;
    transform.kind = LoopTransform::Kind::fuse;
    transform.axis = fused;
    transform.outer = outer;
    transform.inner = inner;
    plan_.stage.transforms.push_back(transform);
    used_.insert({outer, inner});
    plan_.loops.erase(plan_.loops.begin() + inner_at);
    plan_.loops[at].name = fused;
  }

  void reorder(const Directive& d) {
    std::vector<size_t> slots;
    std::vector<ScheduledLoop> wanted;  // innermost first, as the directive names them
    for (const std::string& axis : d.axes) {
      slots.push_back(require_loop(d, axis));
      wanted.push_back(plan_.loops[slots.back()]);
    }
    std::sort(slots.rbegin(), slots.rend());
    std::vector<ScheduledLoop> loops = plan_.loops;
    for (size_t i = 0; i < slots.size(); ++i) loops[slots[i]] = wanted[i];
    if (general_ && reduction_loops_of(loops) != reduction_loops_of(plan_.loops)) {
      refuse_here(d, fmt::format("expected the reduction loops in their order behind specialize, "
                                 "{}, got {}; legal: in front of the first specialize",
                                 joined(reduction_loops_of(plan_.loops)),
                                 joined(reduction_loops_of(loops))));
    }
    plan_.loops = std::move(loops);
  }

  static std::vector<std::string> reduction_loops_of(const std::vector<ScheduledLoop>& loops) {
    std::vector<std::string> result;
    for (const ScheduledLoop& loop : loops) {
      if (loop.is_reduction) result.push_back(loop.name);
    }
    return result;
  }

  void set_kind(const Directive& d, LoopKind kind) {
    const std::string& axis = d.axes[0];
    ScheduledLoop& loop = plan_.loops[require_loop(d, axis)];
    require_serial(d, loop);
    if (loop.is_reduction && kind != LoopKind::unrolled) {
      check_carried(plan_, d, kind, has_atomic_);
    }
    loop.kind = kind;
  }

  // The loop and all inside it; a later reorder that takes one of them out is found by finish().
  void tensorize(const Directive& d) {
    for (size_t i = require_loop(d, d.axes[0]); i < plan_.loops.size(); ++i) {
      require_serial(d, plan_.loops[i]);
      plan_.loops[i].kind = LoopKind::tile;
    }
  }

  void atomic(const Directive& d) {
    if (!plan_.stage.is_reduction()) {
      refuse_here(d, fmt::format("expected a reduction, got {}, which has none; legal: no atomic",
                                 plan_.stage.name));
    }
    if (plan_.atomic) refuse_here(d, "expected one atomic, got a second one; legal: one");
    plan_.atomic = true;
  }

  void place(const Directive& d) {
    if (placed_)
      refuse_here(d, "expected one compute_at or compute_root, got a second one; legal: either");
    placed_ = true;
    if (d.kind == DirectiveKind::compute_root) return;
    if (plan_.is_output) {
      refuse_here(d,
                  fmt::format("expected an operation that is not an output: {} is computed at the "
                              "root; legal: compute_root()",
                              plan_.stage.name));
    }
    plan_.compute_at = level_of(d);
  }

  // Where and how the values are kept. Places are checked when all loops are known.
  void store(const Directive& d) {
    if (plan_.is_output) {
      refuse_here(
          d,
          "expected an operation that is not an output: the caller stores it; legal: this of "
          "one that it reads");
    }
    switch (d.kind) {
      case DirectiveKind::store_at:
      case DirectiveKind::store_root:
        if (stored_) {
          refuse_here(d, "expected one store_at or store_root, got a second one; legal: either");
        }
        stored_ = d;
        plan_.store_root = d.kind == DirectiveKind::store_root;
        if (!plan_.store_root) plan_.store_at = level_of(d);
        return;
      case DirectiveKind::hoist_storage:
        if (plan_.hoist_at) {
          refuse_here(d, "expected one hoist_storage, got a second one; legal: either");
        }
        plan_.hoist_at = level_of(d);
        return;
      case DirectiveKind::fold_storage:
        if (!plan_.fold_sizes.emplace(d.axes[0], d.factor).second) {
          refuse_here(
              d, fmt::format("expected one fold_storage of {}, got a second one; legal: either",
                             d.axes[0]));
        }
        return;
      case DirectiveKind::align_storage:
        if (!plan_.alignments.emplace(d.axes[0], d.factor).second) {
          refuse_here(d, fmt::format("expected one align_storage of {}, got a second one; legal: "
                                     "either",
                                     d.axes[0]));
        }
        return;
      case DirectiveKind::reorder_storage:
        if (!plan_.storage_order.empty()) {
          refuse_here(d, "expected one reorder_storage, got a second one; legal: either");
        }
        if (d.axes.size() != plan_.stage.axes.size()) {
          refuse_here(d, fmt::format("expected all {} axes of {}, got {}; legal: those of {}",
                                     plan_.stage.axes.size(), plan_.stage.name, d.axes.size(),
                                     joined(axis_names(plan_.stage.axes))));
        }
        plan_.storage_order = d.axes;
        return;
      default:
        plan_.memory = d.memory;
        return;
    }
  }

  ScheduledStage& plan_;
  std::optional<Case> general_;  // once a specialization is open
  Expr condition_;               // of the specialization that is open
  std::set<std::string> used_;   // names that were split or fused away
  size_t applied_ = 0;           // directives
  bool placed_ = false;
  bool has_atomic_ = false;
  std::optional<Directive> stored_;  // store_at or store_root
};

}  // namespace

void apply_directives_of(ScheduledStage* plan) {
  Applier applier(plan);
  for (const Directive& d : plan->directives) applier.apply(d);
  applier.finish();
}

void apply_directives(NestPlan* nest) {
  for (ScheduledStage& plan : nest->stages) apply_directives_of(&plan);
  check_places(*nest);
  check_loops(nest);
}

}  // namespace emulsion

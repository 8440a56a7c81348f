#include <algorithm>

#include "dsl/error.h"
#include "passes/stage_plan.h"

namespace emulsion {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// Applies one directive after another to one stage.
class Applier {
 public:
  explicit Applier(StagePlan* plan) : plan_(*plan) {
    // Where it stands among the directives does not matter, as in Halide.
    has_atomic_ = std::any_of(plan->directives.begin(), plan->directives.end(),
                              [](const Directive& d) { return d.kind == DirectiveKind::atomic; });
  }

  void apply(const Directive& d) {
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
        if (!plan_.with_stage.empty()) refuse_here(d, "expected one compute_with, got a second one");
        plan_.with_stage = d.target;
        plan_.with_loop = d.axes[0];
        return;
      case DirectiveKind::prefetch:
        plan_.prefetches.push_back(d);
        return;
      case DirectiveKind::compute_at:
      case DirectiveKind::compute_root:
        return place(d);
      case DirectiveKind::store_at:
        if (!plan_.store_stage.empty()) refuse_here(d, "expected one store_at, got a second one");
        plan_.store_stage = d.target;
        plan_.store_loop = d.axes[0];
        return;
      case DirectiveKind::store_in:
        if (plan_.is_output) refuse_here(d, "expected an operation that is not an output");
        plan_.memory = d.memory;
        return;
      default:
        EMULSION_CHECK(false, "{} is left for apply_directives", to_string(d));
    }
  }

  void finish() {
    if (!plan_.store_stage.empty() && plan_.place != StagePlan::Place::at) {
      throw ScheduleError(fmt::format("{}.store_at({}, {}): expected together with compute_at",
                                      plan_.stage.name, plan_.store_stage, plan_.store_loop));
    }
    int vectorized = 0;
    std::string tile;  // the loop of a tile that came last
    for (const std::string& loop : plan_.loops) {
      LoopKind kind = kind_of(loop);
      if (kind == LoopKind::tile) tile = loop;
      if (!tile.empty() && (kind != LoopKind::tile || vectorized > 0)) {
        throw ScheduleError(fmt::format(
            "{}.tensorize: expected {} innermost and in no vectorized loop, got the loops {}, "
            "outermost first",
            plan_.stage.name, tile, joined(plan_.loops)));
      }
      if (kind == LoopKind::vectorized) ++vectorized;
      bool inside_vector = vectorized > 0 && kind != LoopKind::vectorized;
      if (vectorized > 1 || (inside_vector && kind == LoopKind::parallel)) {
        throw ScheduleError(fmt::format(
            "{}: expected no {} loop inside a vectorized loop, got {}; loops, outermost first: {}",
            plan_.stage.name, vectorized > 1 ? "vectorized" : "parallel", loop,
            joined(plan_.loops)));
      }
    }
  }

 private:
  [[noreturn]] void refuse_here(const Directive& d, const std::string& message) const {
    refuse(plan_.stage.name, d, message);
  }

  LoopKind kind_of(const std::string& loop) const {
    auto found = plan_.kinds.find(loop);
    return found == plan_.kinds.end() ? LoopKind::serial : found->second;
  }

  size_t position_of(const Directive& d, const std::string& axis) {
    auto found = std::find(plan_.loops.begin(), plan_.loops.end(), axis);
    if (found == plan_.loops.end()) {
      refuse_here(d, fmt::format("expected a loop of {} ({}), got {}", plan_.stage.name,
                                 plan_.loops.empty() ? "it has none" : joined(plan_.loops), axis));
    }
    return found - plan_.loops.begin();
  }

  void require_serial(const Directive& d, const std::string& axis) {
    static const char* const kNames[] = {"serial", "parallel", "vectorized", "unrolled",
                                         "a tile's"};
    if (kind_of(axis) != LoopKind::serial) {
      refuse_here(d, fmt::format("expected a serial loop, got {}, which is {} already", axis,
                                 kNames[static_cast<int>(kind_of(axis))]));
    }
  }

  void require_new(const Directive& d, const std::string& name, const std::string& replaced) {
    if (name == replaced) return;
    if (std::find(plan_.loops.begin(), plan_.loops.end(), name) != plan_.loops.end() ||
        used_.count(name)) {
      refuse_here(d, fmt::format("expected a new name, got {}, which {} has or had", name,
                                 plan_.stage.name));
    }
  }

  void split(const Directive& d) {
    const std::string &axis = d.axes[0], &outer = d.axes[1], &inner = d.axes[2];
    size_t at = position_of(d, axis);
    require_serial(d, axis);
    require_new(d, outer, axis);
    require_new(d, inner, axis);
    if (outer == inner) refuse_here(d, fmt::format("expected two names, got {} twice", outer));
    bool reduction = plan_.reduction_loops.count(axis) > 0;
    require_not_masked(d, axis);
    if (d.tail == Tail::predicate_loads || d.tail == Tail::predicate_stores) check_mask(d);
    if (d.tail == Tail::shift_inwards && plan_.stage.is_reduction()) {
      refuse_here(
          d, "expected a tail of guard or predicate: a reduction cannot compute a point twice");
    }
    if (d.tail == Tail::round_up && (plan_.is_output || reduction)) {
      refuse_here(
          d, fmt::format("expected a tail of guard{}: nothing past the end of {} may be {}",
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
    note_inner(d, inner_.count(axis) > 0);
    plan_.loops[at] = outer;
    plan_.loops.insert(plan_.loops.begin() + at + 1, inner);
    if (reduction) {
      plan_.reduction_loops.erase(axis);
      plan_.reduction_loops.insert({outer, inner});
    }
  }

  // predicate_loads and predicate_stores: one side of the operation runs past the end.
  void check_mask(const Directive& d) {
    if (plan_.stage.is_reduction()) {
      refuse_here(d, fmt::format("expected a tail of guard or predicate: a reduction loads what it "
                                 "stores, got {}",
                                 to_string(d.tail)));
    }
    if (d.tail == Tail::predicate_stores) return;
    if (plan_.is_output) {
      refuse_here(d, fmt::format("expected a tail of guard, predicate, predicate_stores or "
                                 "shift_inwards: nothing past the end of {} may be written",
                                 plan_.stage.name));
    }
    if (inner_.count(d.axes[0])) {
      refuse_here(d, fmt::format("expected a loop that is not inside a split axis, got {}, whose "
                                 "last step may be followed by others; legal: guard or predicate",
                                 d.axes[0]));
    }
  }

  // A mask holds for whole steps of the inner loop of its split.
  void require_not_masked(const Directive& d, const std::string& axis) const {
    auto found = masked_.find(axis);
    if (found == masked_.end()) return;
    refuse_here(d, fmt::format("expected a loop that no split masks, got {}, the inner loop of a "
                               "split with {}; legal: that split with guard or predicate",
                               axis, to_string(found->second)));
  }

  void note_inner(const Directive& split, bool is_inner) {
    const std::string &outer = split.axes[1], &inner = split.axes[2];
    inner_.erase(split.axes[0]);
    if (is_inner) inner_.insert(outer);
    inner_.insert(inner);
    if (split.tail == Tail::predicate_loads || split.tail == Tail::predicate_stores) {
      masked_[inner] = split.tail;
    }
  }

  void fuse(const Directive& d) {
    const std::string &outer = d.axes[0], &inner = d.axes[1], &fused = d.axes[2];
    size_t at = position_of(d, outer);
    size_t inner_at = position_of(d, inner);
    require_serial(d, outer);
    require_serial(d, inner);
    require_not_masked(d, outer);
    require_not_masked(d, inner);
    if (inner_at != at + 1) {
      refuse_here(
          d, fmt::format("expected {} directly inside {}, got the loops {}, outermost first", inner,
                         outer, joined(plan_.loops)));
    }
    bool reduction = plan_.reduction_loops.count(outer) > 0;
    if (reduction != (plan_.reduction_loops.count(inner) > 0)) {
      refuse_here(d, "expected two pure loops or two reduction loops, got one of each");
    }
    if (fused != outer && fused != inner) require_new(d, fused, "");
    LoopTransform transform;
    transform.kind = LoopTransform::Kind::fuse;
    transform.axis = fused;
    transform.outer = outer;
    transform.inner = inner;
    plan_.stage.transforms.push_back(transform);
    used_.insert({outer, inner});
    if (inner_.count(outer) || inner_.count(inner)) inner_.insert(fused);
    plan_.loops.erase(plan_.loops.begin() + inner_at);
    plan_.loops[at] = fused;
    if (reduction) {
      plan_.reduction_loops.erase(outer);
      plan_.reduction_loops.erase(inner);
      plan_.reduction_loops.insert(fused);
    }
  }

  void reorder(const Directive& d) {
    std::vector<size_t> slots;
    for (const std::string& axis : d.axes) {
      size_t at = position_of(d, axis);
      if (std::find(slots.begin(), slots.end(), at) != slots.end()) {
        refuse_here(d, fmt::format("expected distinct loops, got {} twice", axis));
      }
      slots.push_back(at);
    }
    std::sort(slots.rbegin(), slots.rend());  // innermost slot first, as the directive names them
    std::vector<std::string> loops = plan_.loops;
    for (size_t i = 0; i < slots.size(); ++i) loops[slots[i]] = d.axes[i];
    plan_.loops = std::move(loops);
  }

  void set_kind(const Directive& d, LoopKind kind) {
    const std::string& axis = d.axes[0];
    position_of(d, axis);
    require_serial(d, axis);
    if (plan_.reduction_loops.count(axis) && kind != LoopKind::unrolled) {
      require_atomic(d, kind);
    }
    plan_.kinds[axis] = kind;
  }

  // The loop and all inside it; a later reorder that takes one of them out is found by finish().
  void tensorize(const Directive& d) {
    for (size_t i = position_of(d, d.axes[0]); i < plan_.loops.size(); ++i) {
      require_serial(d, plan_.loops[i]);
      plan_.kinds[plan_.loops[i]] = LoopKind::tile;
    }
  }

  void atomic(const Directive& d) {
    if (!plan_.stage.is_reduction()) {
      refuse_here(d, fmt::format("expected a reduction, got {}, which has none", plan_.stage.name));
    }
    if (plan_.atomic) refuse_here(d, "expected one atomic, got a second one");
    plan_.atomic = true;
  }

  // Whether the steps of a reduction loop may be taken together. Every combiner is associative and
  // commutative, but a float is rounded at each step: in what order, the nest says, and neither
  // threads nor a reduction across lanes would keep to it.
  void require_atomic(const Directive& d, LoopKind kind) const {
    const std::string combiner = to_string(plan_.stage.combiner);
    const std::string dtype = to_string(plan_.stage.dtype);
    const std::string& axis = d.axes[0];
    const std::string partial = fmt::format("rfactor({}, ...) and this in the new stage", axis);
    if (is_float(plan_.stage.dtype)) {
      refuse_here(d, fmt::format("expected a loop without a dependence, got {}, which carries the "
                                 "{} of {}, rounded in the order of the loop; legal: {}",
                                 axis, combiner, plan_.stage.name, partial));
    }
    if (!has_atomic_) {
      refuse_here(d, fmt::format("expected a loop without a dependence, got {}, which carries the "
                                 "{} of {}; legal: atomic() on {}, or {}",
                                 axis, combiner, plan_.stage.name, plan_.stage.name, partial));
    }
    if (kind == LoopKind::parallel && plan_.stage.combiner == Combiner::product) {
      refuse_here(d, fmt::format("expected a sum, a min or a max, which processors have as atomic "
                                 "operations, got a product of {}; legal: {}",
                                 dtype, partial));
    }
  }

  void place(const Directive& d) {
    if (placed_) refuse_here(d, "expected one compute_at or compute_root, got a second one");
    placed_ = true;
    if (d.kind == DirectiveKind::compute_root) return;
    if (plan_.is_output) {
      refuse_here(d,
                  fmt::format("expected an operation that is not an output: {} is computed at the "
                              "root",
                              plan_.stage.name));
    }
    plan_.place = StagePlan::Place::at;
    plan_.at_stage = d.target;
    plan_.at_loop = d.axes[0];
  }

  StagePlan& plan_;
  std::set<std::string> used_;  // names that were split or fused away
  std::set<std::string> inner_;         // loops inside the steps of a split axis
  std::map<std::string, Tail> masked_;  // inner loops of splits that mask one side
  bool placed_ = false;
  bool has_atomic_ = false;
};

// The loop of `consumer` around everything that stage `plan` computes there; -1 when it is not
// inside.
int depth_inside(const NestPlan& nest, const StagePlan& plan, const StagePlan& consumer) {
  const StagePlan* walker = &plan;
  for (size_t steps = 0; steps <= nest.stages.size(); ++steps) {
    if (walker->place != StagePlan::Place::at) return -1;
    const StagePlan* parent = nest.find(walker->at_stage);
    if (!parent) return -1;  // refused when its own place is checked
    if (parent == &consumer) {
      auto found = std::find(parent->loops.begin(), parent->loops.end(), walker->at_loop);
      return static_cast<int>(found - parent->loops.begin());
    }
    walker = parent;
  }
  return -1;
}

void check_loop_of(const NestPlan& nest, const StagePlan& plan, const Directive& d) {
  const std::string& name = plan.stage.name;
  const StagePlan* target = nest.find(d.target);
  if (!target || target == &plan) {
    refuse(name, d,
           fmt::format("expected another operation ({}), got {}", nest.stage_names(), d.target));
  }
  auto loop = std::find(target->loops.begin(), target->loops.end(), d.axes[0]);
  if (loop == target->loops.end()) {
    refuse(name, d,
           fmt::format("expected a loop of {} ({}), got {}", d.target,
                       target->loops.empty() ? "it has none" : joined(target->loops), d.axes[0]));
  }
  for (auto outer = target->loops.begin(); outer <= loop; ++outer) {
    auto kind = target->kinds.find(*outer);
    if (kind != target->kinds.end() && kind->second == LoopKind::vectorized) {
      refuse(name, d,
             fmt::format("expected a loop outside the vectorized loop {} of {}, got {}", *outer,
                         d.target, d.axes[0]));
    }
    if (kind != target->kinds.end() && kind->second == LoopKind::tile) {
      refuse(name, d,
             fmt::format("expected a loop outside the tile of {}, which is one uOp from {} on, got "
                         "{}",
                         d.target, *outer, d.axes[0]));
    }
  }
}

// Every reader of a stage must be inside the loop where the stage is computed.
void check_place(const NestPlan& nest,
                 const std::map<std::string, std::vector<size_t>>& all_readers, size_t position) {
  const StagePlan& plan = nest.stages[position];
  if (plan.place != StagePlan::Place::at) return;
  Directive d;
  d.kind = DirectiveKind::compute_at;
  d.target = plan.at_stage;
  d.axes = {plan.at_loop};
  check_loop_of(nest, plan, d);
  const StagePlan& target = *nest.find(plan.at_stage);
  int depth = static_cast<int>(std::find(target.loops.begin(), target.loops.end(), plan.at_loop) -
                               target.loops.begin());
  if (&target < &plan) {
    refuse(plan.stage.name, d,
           fmt::format("expected an operation that needs {}, got {}, which comes before it",
                       plan.stage.name, d.target));
  }
  bool used = false;
  auto readers = all_readers.find(plan.stage.name);
  for (size_t at : readers == all_readers.end() ? std::vector<size_t>{} : readers->second) {
    const StagePlan& reader = nest.stages[at];
    used = true;
    if (&reader == &target) continue;
    if (depth_inside(nest, reader, target) < depth) {
      refuse(plan.stage.name, d,
             fmt::format("expected a loop around everything that reads {}, got {}.{}, which is not "
                         "around {}; legal: compute_root()",
                         plan.stage.name, d.target, plan.at_loop, reader.stage.name));
    }
  }
  if (!used) refuse(plan.stage.name, d, "expected an operation that something reads");
}

void check_store(const NestPlan& nest, const StagePlan& plan) {
  if (plan.store_stage.empty()) return;
  Directive d;
  d.kind = DirectiveKind::store_at;
  d.target = plan.store_stage;
  d.axes = {plan.store_loop};
  check_loop_of(nest, plan, d);
  if (plan.store_stage != plan.at_stage || plan.store_loop != plan.at_loop) {
    refuse(
        plan.stage.name, d,
        fmt::format("expected the loop where it is computed, {}.{}, got {}.{}: storage kept over "
                    "several computations is not there yet",
                    plan.at_stage, plan.at_loop, d.target, plan.store_loop));
  }
}

}  // namespace

void apply_directives_of(StagePlan* plan) {
  Applier applier(plan);
  for (const Directive& d : plan->directives) applier.apply(d);
  applier.finish();
}

void apply_directives(NestPlan* nest) {
  for (StagePlan& plan : nest->stages) apply_directives_of(&plan);
  const auto readers = readers_of(*nest);
  for (size_t i = 0; i < nest->stages.size(); ++i) {
    check_place(*nest, readers, i);
    check_store(*nest, nest->stages[i]);
  }
  check_loops(nest);
}

}  // namespace emulsion

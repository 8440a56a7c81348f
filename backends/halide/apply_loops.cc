#include "backends/halide/apply_loops.h"

#include <set>

#include "Halide.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

Halide::Var pure_variable(const std::string& axis) { return Halide::Var(halide_name(axis)); }

using Halide::TailStrategy;

TailStrategy tail_strategy(Tail tail) {
  switch (tail) {
    case Tail::guard:
      return TailStrategy::GuardWithIf;
    case Tail::predicate:
      return TailStrategy::Predicate;
    case Tail::round_up:
      return TailStrategy::RoundUp;
    case Tail::shift_inwards:
      return TailStrategy::ShiftInwards;
    case Tail::predicate_loads:
      return TailStrategy::PredicateLoads;
    case Tail::predicate_stores:
      return TailStrategy::PredicateStores;
    case Tail::automatic:
      break;
  }
  EMULSION_CHECK(false, "a tail that lower() left open");
  return TailStrategy::Auto;
}

class StageScheduler {
 public:
  StageScheduler(const Stage& stage, const StagePlace& place, const StageDefiner& defined)
      : stage_(stage), place_(place), defined_(defined), made_(defined.stages().at(stage.name)) {}

  // After apply() of all stages.
  void share_loops() {
    Halide::Func func = made_.func;
    if (const Node* loop = place_.pure.innermost_shared()) {
      Halide::Func leader = defined_.stages().at(loop->stage).func;
      Halide::Stage(func).compute_with(Halide::Stage(leader), variable(loop->axis));
    }
    const Node* loop = place_.update ? place_.update->innermost_shared() : nullptr;
    if (loop == nullptr) return;
    Halide::Func leader = defined_.stages().at(loop->stage).func;
    func.update().compute_with(leader.update(), variable(loop->axis));
  }

  void apply() {
    Halide::Func func = made_.func;
    apply_part(place_.pure, Halide::Stage(func));
    if (place_.update) apply_part(*place_.update, func.update());
    if (place_.alloc == nullptr) {
      EMULSION_CHECK(place_.computed_in == nullptr, "output {}: computed inside a loop",
                     stage_.name);
      return;
    }
    if (place_.computed_in == nullptr) {
      func.compute_root();
    } else {
      func.compute_at(level_of(*place_.computed_in));
      if (place_.stored_in == nullptr) {
        func.store_root();
      } else if (place_.stored_in != place_.computed_in) {
        func.store_at(level_of(*place_.stored_in));
      }
    }
    apply_alloc(func);
  }

 private:
  void apply_part(const PartLoops& part, Halide::Stage halide_stage) {
    // A transform of reduction axes is in the domain already: none of its results is a pure axis.
    std::set<std::string> pure;
    for (const Axis& axis : stage_.axes) pure.insert(axis.name());
    for (const LoopTransform& t : stage_.transforms) {
      if (t.kind == LoopTransform::Kind::split && pure.count(t.axis)) {
        halide_stage.split(pure_variable(t.axis), pure_variable(t.outer), pure_variable(t.inner),
                           static_cast<int>(t.factor), tail_strategy(t.tail));
        pure.insert({t.outer, t.inner});
      } else if (t.kind == LoopTransform::Kind::fuse && pure.count(t.outer)) {
        halide_stage.fuse(pure_variable(t.inner), pure_variable(t.outer), pure_variable(t.axis));
        pure.insert(t.axis);
      }
    }
    std::vector<Halide::VarOrRVar> innermost_first;
    for (size_t i = part.loops.size(); i-- > 0;) {
      innermost_first.push_back(variable(part.loops[i]->axis));
    }
    if (innermost_first.size() > 1) halide_stage.reorder(innermost_first);
    if (part.uop->atomic) halide_stage.atomic();
    for (const Node* loop : part.loops) {
      for (const Prefetch& prefetch : loop->prefetches) {
        apply_prefetch(variable(loop->axis), prefetch, &halide_stage);
      }
      switch (loop->loop_kind) {
        case LoopKind::serial:
          break;
        case LoopKind::parallel:
          halide_stage.parallel(variable(loop->axis));
          break;
        case LoopKind::vectorized:
          halide_stage.vectorize(variable(loop->axis));
          break;
        case LoopKind::unrolled:
          halide_stage.unroll(variable(loop->axis));
          break;
        case LoopKind::tile:
          EMULSION_CHECK(false, "stage {}: the loop {} of a tile", stage_.name, loop->axis);
      }
    }
  }

  void apply_prefetch(const Halide::VarOrRVar& at, const Prefetch& prefetch,
                      Halide::Stage* halide_stage) const {
    const int distance = static_cast<int>(prefetch.distance);
    if (const Halide::ImageParam* input = defined_.input(prefetch.buffer)) {
      halide_stage->prefetch(*input, at, at, distance);
    } else {
      halide_stage->prefetch(defined_.stages().at(prefetch.buffer).func, at, at, distance);
    }
  }

  Halide::VarOrRVar variable(const std::string& axis) const { return variable_of(made_, axis); }

  static Halide::VarOrRVar variable_of(const StageFunc& made, const std::string& axis) {
    auto found = made.reduction_loops.find(axis);
    if (found != made.reduction_loops.end()) return found->second;
    return pure_variable(axis);
  }

  Halide::LoopLevel level_of(const Node& loop) const {
    const StageFunc& other = defined_.stages().at(loop.stage);
    return Halide::LoopLevel(other.func, variable_of(other, loop.axis));
  }

  void apply_alloc(Halide::Func func) {
    const Node& alloc = *place_.alloc;
    EMULSION_CHECK(alloc.memory != Memory::automatic, "stage {}: an open memory", stage_.name);
    // LLVM takes what it can from the stack to the registers; Halide has no better word for it.
    func.store_in(alloc.memory == Memory::heap ? Halide::MemoryType::Heap
                                               : Halide::MemoryType::Stack);
    for (size_t d = 0; d < stage_.axes.size(); ++d) {
      const Axis& axis = stage_.axes[d];
      const bool from_zero = alloc.mins[d]->op == ExprOp::constant && alloc.mins[d]->int_value == 0;
      if (alloc.extents[d]->op == ExprOp::constant) {
        int32_t extent = static_cast<int32_t>(alloc.extents[d]->int_value);
        if (from_zero) {
          func.bound(pure_variable(axis.name()), 0, extent);
        } else {
          func.bound_extent(pure_variable(axis.name()), extent);
        }
      } else {
        EMULSION_CHECK(alloc.memory == Memory::heap,
                       "stage {}: a region of no constant size on the {}", stage_.name,
                       to_string(alloc.memory));
        if (from_zero) func.bound(pure_variable(axis.name()), 0, defined_.extent(axis.extent()));
      }
    }
  }

  const Stage& stage_;
  const StagePlace& place_;
  const StageDefiner& defined_;
  const StageFunc& made_;
};

}  // namespace

void apply_loops(const LoopNest& nest, const std::map<std::string, StagePlace>& places,
                 const StageDefiner& defined) {
  for (const Stage& stage : nest.stages) {
    StageScheduler(stage, places.at(stage.name), defined).apply();
  }
  for (const Stage& stage : nest.stages) {
    StageScheduler(stage, places.at(stage.name), defined).share_loops();
  }
}

}  // namespace emulsion

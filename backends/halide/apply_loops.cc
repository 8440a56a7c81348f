#include "backends/halide/apply_loops.h"

#include <algorithm>
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
  StageScheduler(const Stage& stage, const StagePlace& place,
                 const std::set<std::string>& shrinking, const StageDefiner& defined)
      : stage_(stage),
        place_(place),
        shrinking_(shrinking),
        defined_(defined),
        made_(defined.stages().at(stage.name)) {}

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
    apply_cases(place_.pure, place_.pure_cases, Halide::Stage(func));
    if (place_.update) apply_cases(*place_.update, place_.update_cases, func.update());
    if (place_.alloc == nullptr) {
      EMULSION_CHECK(place_.computed_in == nullptr, "output {}: computed inside a loop",
                     stage_.name);
      return;
    }
    apply_places(func);
    if (!place_.is_empty()) {
      apply_region(func, place_.produce != nullptr ? *place_.produce : *place_.alloc);
    }
    apply_alloc(func);
  }

 private:
  // Halide's special case starts from what was said before it: so all of them come before anything
  // is said.
  void apply_cases(const PartLoops& general, const std::vector<PartLoops>& cases,
                   Halide::Stage halide_stage) {
    std::vector<Halide::Stage> special;
    special.reserve(cases.size());
    for (const PartLoops& part : cases) {
      special.push_back(halide_stage.specialize(defined_.condition(part.condition)));
    }
    for (size_t i = 0; i < cases.size(); ++i) {
      apply_part(cases[i], stage_.specializations[i].transforms, special[i]);
    }
    apply_part(general, stage_.transforms, halide_stage);
  }

  void apply_part(const PartLoops& part, const std::vector<LoopTransform>& transforms,
                  Halide::Stage halide_stage) {
    // A transform of reduction axes is in the domain already: none of its results is a pure axis.
    std::set<std::string> pure, of_a_tile;  // of_a_tile: counts within an earlier split
    const bool update = part.uop->part == Part::update;
    for (const Axis& axis : stage_.axes) pure.insert(axis.name());
    for (const LoopTransform& t : transforms) {
      if (t.kind == LoopTransform::Kind::split && pure.count(t.axis)) {
        TailStrategy tail = tail_strategy(t.tail);
        // Exact, since lower() rounds up whole axes only; but an update that rounds up within a
        // tile is one that Halide refuses without looking. Of this guard it leaves nothing.
        if (update && of_a_tile.count(t.axis) && t.tail == Tail::round_up) {
          tail = TailStrategy::GuardWithIf;
        }
        halide_stage.split(pure_variable(t.axis), pure_variable(t.outer), pure_variable(t.inner),
                           static_cast<int>(t.factor), tail);
        pure.insert({t.outer, t.inner});
        if (of_a_tile.count(t.axis)) of_a_tile.insert(t.outer);
        of_a_tile.insert(t.inner);
      } else if (t.kind == LoopTransform::Kind::fuse && pure.count(t.outer)) {
        halide_stage.fuse(pure_variable(t.inner), pure_variable(t.outer), pure_variable(t.axis));
        pure.insert(t.axis);
        if (of_a_tile.count(t.outer) + of_a_tile.count(t.inner) > 0) of_a_tile.insert(t.axis);
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

  // Halide slides along every loop between store and compute level that it can, some of them in its
  // own way: so that only the loops are between along which the nest slides, and what is kept over
  // others without need of it is memory alone.
  void apply_places(Halide::Func func) {
    if (place_.computed_in == nullptr) {
      func.compute_root();
      return;
    }
    func.compute_at(level_of(*place_.computed_in));
    if (place_.kept_in == nullptr) {
      func.store_root();
    } else if (place_.kept_in != place_.computed_in) {
      func.store_at(level_of(*place_.kept_in));
    }
    if (place_.allocated_in == place_.kept_in || is_of_two_nests(place_.allocated_in)) return;
    if (place_.allocated_in == nullptr) {
      func.hoist_storage_root();
    } else {
      func.hoist_storage(level_of(*place_.allocated_in));
    }
  }

  // A loop of the start value and of the update: Halide would look for the memory in both. It is
  // then taken where the values are kept.
  bool is_of_two_nests(const Node* loop) const {
    return loop != nullptr && loop->part != Part::whole &&
           defined_.stages().at(loop->stage).reduction_loops.count(loop->axis) == 0;
  }

  // Whether one iteration leaves values for the next.
  bool slides() const { return place_.kept_in != place_.computed_in; }

  // The region that is computed each time: Halide would find one of its own, as a rule smaller at
  // the edges. Where a window slides it is left to find it.
  void apply_region(Halide::Func func, const Node& region) {
    for (size_t d = 0; d < stage_.axes.size(); ++d) {
      // Halide's bounds hold for what is stored too.
      if (slides() && (!equal(region.mins[d], place_.alloc->mins[d]) ||
                       !equal(region.extents[d], place_.alloc->extents[d]))) {
        continue;
      }
      const Axis& axis = stage_.axes[d];
      if (is_widened(axis.name())) continue;
      const bool from_zero =
          region.mins[d]->op == ExprOp::constant && region.mins[d]->int_value == 0;
      if (from_zero && equal(region.extents[d], extent_value(axis.extent()))) {
        func.bound(pure_variable(axis.name()), 0, defined_.extent(axis.extent()));
      } else if (region.extents[d]->op == ExprOp::constant && !shrinking_.count(axis.name())) {
        int32_t extent = static_cast<int32_t>(region.extents[d]->int_value);
        if (from_zero) {
          func.bound(pure_variable(axis.name()), 0, extent);
        } else {
          func.bound_extent(pure_variable(axis.name()), extent);
        }
      }
    }
  }

  // Halide counts what PredicateLoads stores past the end to the region.
  bool is_widened(const std::string& axis) const {
    return std::any_of(
        stage_.transforms.begin(), stage_.transforms.end(),
        [&](const LoopTransform& t) { return t.axis == axis && t.tail == Tail::predicate_loads; });
  }

  void apply_alloc(Halide::Func func) {
    const Node& alloc = *place_.alloc;
    func.store_in(memory_type(alloc.memory));
    const StorageLayout& layout = alloc.layout;
    std::vector<Halide::Var> innermost_first;
    for (size_t i = layout.order.size(); i-- > 0;) {
      innermost_first.push_back(pure_variable(stage_.axes[layout.order[i]].name()));
    }
    if (innermost_first.size() > 1) func.reorder_storage(innermost_first);
    for (size_t d = 0; d < stage_.axes.size(); ++d) {
      const Halide::Var variable = pure_variable(stage_.axes[d].name());
      if (!layout.alignments.empty() && layout.alignments[d] > 1) {
        func.align_storage(variable, static_cast<int32_t>(layout.alignments[d]));
      }
      // A power of two is what Halide folds to by itself, with less to check.
      const int64_t fold = slides() ? layout.fold(d) : 0;
      if ((fold & (fold - 1)) != 0) func.fold_storage(variable, static_cast<int32_t>(fold));
    }
  }

  Halide::MemoryType memory_type(Memory memory) const {
    // What is kept over loops has the size that Halide finds for it: on the stack when constant.
    const bool kept = place_.produce != nullptr;
    switch (memory) {
      case Memory::heap:
        return Halide::MemoryType::Heap;
      case Memory::stack:
      case Memory::registers:  // LLVM takes what it can from the stack to the registers
        return kept ? Halide::MemoryType::Auto : Halide::MemoryType::Stack;
      case Memory::scratchpad:
        throw ScheduleError(
            fmt::format("{}.store_in(scratchpad): expected a memory of a CPU (heap, stack, "
                        "registers), got that "
                        "of the tile machine",
                        stage_.name));
      case Memory::automatic:
        break;
    }
    EMULSION_CHECK(false, "stage {}: an open memory", stage_.name);
    return Halide::MemoryType::Auto;
  }

  const Stage& stage_;
  const StagePlace& place_;
  const std::set<std::string>& shrinking_;  // axes of which a reader that slides needs less
  const StageDefiner& defined_;
  const StageFunc& made_;
};

}  // namespace

void apply_loops(const LoopNest& nest, const std::map<std::string, StagePlace>& places,
                 const StageDefiner& defined) {
  std::map<std::string, std::set<std::string>> shrinking = shrinking_axes(nest, places);
  for (const Stage& stage : nest.stages) {
    StageScheduler(stage, places.at(stage.name), shrinking[stage.name], defined).apply();
  }
  for (const Stage& stage : nest.stages) {
    StageScheduler(stage, places.at(stage.name), shrinking[stage.name], defined).share_loops();
  }
}

}  // namespace emulsion

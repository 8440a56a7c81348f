#include <algorithm>

#include "dsl/error.h"
#include "passes/index/index_interval.h"
#include "passes/index/simplify_index.h"
#include "passes/index/size_facts.h"
#include "passes/lower/alternatives.h"
#include "passes/lower/refusal.h"
#include "passes/lower/stage_storage.h"

namespace emulsion {
namespace {

// The outermost of the loops around a stage, from position `outside` on, along which anything is
// kept; else the number of loops.
size_t first_sliding(const StageRegion& region, const std::vector<LoopLevel>& around,
                     size_t outside) {
  for (size_t i = outside; i < around.size(); ++i) {
    for (const AxisRegion& axis : region.axes) {
      if (axis.window && axis.window->along == around[i]) return i;
    }
  }
  return around.size();
}

int64_t power_of_two_from(int64_t n) {
  int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

// Whether an index moves with a vectorized loop of the stage.
bool is_vectorized(const ScheduledStage& plan, const Expr& index) {
  return std::any_of(plan.loops.begin(), plan.loops.end(), [&](const ScheduledLoop& loop) {
    return loop.kind == LoopKind::vectorized &&
           mentions(index, loop_variable(plan.stage.name, loop.name));
  });
}

// Of each axis of a stage, whether it is written or read along it by vectors.
std::vector<bool> vectorized_axes(const NestPlan& nest, const std::vector<StageRegion>& regions,
                                  StageId id) {
  const ScheduledStage& plan = nest.stages[id];
  const std::map<std::string, Expr> own = axis_values(regions[id].stage, regions[id], false);
  std::vector<bool> result;
  for (const Axis& axis : plan.stage.axes) {
    result.push_back(is_vectorized(plan, own.at(axis.name())));
  }
  for (StageId at : plan.readers) {
    const StageRegion& reader = regions[at];
    const std::map<std::string, Expr> values = axis_values(reader.stage, reader, false);
    for (const Expr& read : reads_of(reader.stage, plan.stage.name)) {
      for (size_t d = 0; d < result.size(); ++d) {
        const Expr index = substitute_axes(
            read->args[d], [&](const std::string& axis) { return values.at(axis); });
        result[d] = result[d] || is_vectorized(nest.stages[at], index);
      }
    }
  }
  return result;
}

constexpr int64_t kStackBytes = int64_t{32} << 10;

class StorageInferrer {
 public:
  // `facts`: what the conditions say of the sizes, of the cases that alone have the stage, or none.
  StorageInferrer(const NestPlan& nest, const std::vector<StageRegion>& regions, StageId id,
                  std::vector<SizeFacts> facts)
      : facts_(std::move(facts)),
        regions_(regions),
        vectorized_(vectorized_axes(nest, regions, id)),
        plan_(nest.stages[id]),
        region_(regions[id]),
        around_(loops_around(nest, id)),
        outside_(loops_outside_storage(plan_, around_)),
        keeping_(around_.size()) {
    for (const LoopLevel& level : around_) variables_.push_back(nest.variable(level));
  }

  StageStorage infer(const NestPlan& nest) {
    storage_.mins = region_.needed_mins();
    storage_.extents = region_.needed_extents();
    if (plan_.kept_whole) store_whole();
    widen();
    lay_out();
    if (keeps_windows()) store_kept();
    make_room();
    choose_memory();
    if (plan_.in_output) storage_.output = nest.name_of(*plan_.in_output);
    return std::move(storage_);
  }

 private:
  struct Part {
    Expr min;
    Extent extent;
  };

  // With predicate_loads the last step stores past the end of the region. check_loops refuses that
  // of storage that is kept, where it would be over what is needed. The loop that is split is the
  // axis itself, and none that was given its name: apply_directives refuses any other.
  void widen() {
    for (const LoopTransform& t : region_.stage.transforms) {
      if (t.kind != LoopTransform::Kind::split || t.tail != Tail::predicate_loads) continue;
      const std::optional<size_t> d = axis_index(plan_.stage.axes, t.axis);
      if (!d) continue;
      const Expr steps =
          (storage_.extents[*d] + int_constant(t.factor - 1)) / int_constant(t.factor);
      storage_.extents[*d] = simplify_index(steps * int_constant(t.factor));
    }
  }

  void store_whole() {
    for (size_t d = 0; d < plan_.stage.axes.size(); ++d) {
      storage_.mins[d] = int_constant(0);
      storage_.extents[d] = extent_value(plan_.stage.axes[d].extent());
    }
  }

  bool keeps_windows() const { return plan_.outlives_compute_loop() && !plan_.kept_whole; }

  void store_kept() {
    keeping_ = first_sliding(region_, around_, outside_);
    for (size_t d = 0; d < plan_.stage.axes.size(); ++d) store_axis(d);
  }

  void lay_out() {
    const StorageLayout& asked = plan_.layout;
    const auto folded =
        std::find_if(asked.folds.begin(), asked.folds.end(), [](int64_t n) { return n > 0; });
    if (!keeps_windows() && folded != asked.folds.end()) {
      refuse_fold(static_cast<size_t>(folded - asked.folds.begin()),
                  "expected storage that is kept over a loop, got storage for one computation; "
                  "legal: with store_at, store_root");
    }
    storage_.layout.alignments = asked.alignments;
    if (!std::is_sorted(asked.order.begin(), asked.order.end())) {
      storage_.layout.order = asked.order;
    }
  }

  // What is touched of axis d while the loops between from position `first` on run.
  std::optional<Part> part_touched(size_t d, size_t first) const {
    const VariableRange inner = [&](const std::string& variable) -> std::optional<Range> {
      const auto found = std::find(variables_.begin() + static_cast<std::ptrdiff_t>(first),
                                   variables_.end(), variable);
      if (found == variables_.end()) return std::nullopt;
      const auto& [stage, loop] = around_[found - variables_.begin()];
      return range_below(regions_[stage].loop_extents[loop]);
    };
    auto starts = interval_of(region_.axes[d].needed_min, inner);
    auto length = as_extent(region_.axes[d].needed_extent);
    if (!starts || !length) return std::nullopt;
    return Part{start_of({starts->fixed, starts->low, starts->low}),
                starts->high - starts->low + *length};
  }

  // What must be there at once: values live through the loops inside the outermost one along which
  // anything is kept.
  std::optional<int64_t> window(size_t d) const {
    std::optional<Part> part = part_touched(d, std::min(keeping_ + 1, around_.size()));
    return part ? part->extent.as_constant() : std::nullopt;
  }

  bool moves(size_t d) const {
    for (size_t i = outside_; i < around_.size() && i <= keeping_; ++i) {
      if (mentions(region_.axes[d].needed_min, variables_[i])) return true;
    }
    return false;
  }

  void store_axis(size_t d) {
    const std::optional<Part> whole = part_touched(d, outside_);
    int64_t fold = explicit_fold(d);
    if (fold == 0 && moves(d) && window(d) && !vectorized_[d]) {
      fold = power_of_two_from(*window(d));
      if (whole && whole->extent.is_constant() && whole->extent.constant_term() <= fold) fold = 0;
    }
    if (fold > 0) {
      storage_.layout.folds.resize(plan_.stage.axes.size());
      storage_.layout.folds[d] = fold;
      storage_.mins[d] = int_constant(0);
      storage_.extents[d] = int_constant(fold);
      return;
    }
    if (!whole) {
      refuse(
          plan_.stage.name, plan_.source_storage_directive(),
          fmt::format("expected a loop inside which the part of {} that is kept is bounded by the "
                      "run-time sizes, got one whose bounds are not affine; legal: an inner "
                      "loop, or a factor that divides the extent",
                      plan_.stage.axes[d].name()));
    }
    storage_.mins[d] = whole->min;
    storage_.extents[d] = extent_value(whole->extent);
  }

  // What is there only where the sizes are small has room for as much as there is then, where that
  // is little enough for the stack: memory of the heap would be asked for at each step.
  void make_room() {
    const bool may_be_near = plan_.memory == Memory::automatic || plan_.memory == Memory::stack ||
                             plan_.memory == Memory::registers;
    if (facts_.empty() || !may_be_near || !plan_.compute_at || plan_.in_output) return;
    StorageLayout layout = storage_.layout;
    layout.rooms.assign(storage_.extents.size(), 0);
    int64_t bytes = size_in_bytes(plan_.stage.dtype);
    for (size_t d = 0; d < storage_.extents.size(); ++d) {
      const std::optional<int64_t> most = most_of(storage_.extents[d]);
      if (!most || *most < 1 || *most > kStackBytes) return;
      if (!constant_value(storage_.extents[d])) {
        layout.rooms[d] = storage_.layout.padded(d, *most);
      }
      bytes *= layout.padded(d, *most);
      if (bytes > kStackBytes) return;
    }
    const bool any = std::any_of(layout.rooms.begin(), layout.rooms.end(),
                                 [](int64_t room) { return room > 0; });
    if (any) storage_.layout = std::move(layout);
  }

  std::optional<int64_t> most_of(const Expr& expr) const {
    const std::optional<Extent> extent = as_extent(expr);
    if (!extent) return std::nullopt;
    std::optional<int64_t> most = extent->as_constant();
    if (most) return most;
    for (const SizeFacts& facts : facts_) {
      const std::optional<int64_t> here = facts.upper_bound(*extent);
      if (!here) return std::nullopt;
      most = std::max(most.value_or(*here), *here);
    }
    return most;
  }

  void choose_memory() {
    int64_t bytes = size_in_bytes(plan_.stage.dtype);
    bool known = true;
    for (size_t d = 0; d < storage_.extents.size(); ++d) {
      std::optional<int64_t> value = constant_value(storage_.extents[d]);
      known = known && (value.has_value() || storage_.layout.room(d) > 0);
      if (bytes <= kStackBytes) {
        bytes *= std::max<int64_t>(storage_.layout.padded(d, value.value_or(1)), 1);
      }
    }
    const bool small = known && bytes <= kStackBytes;
    storage_.memory = plan_.memory;
    if (plan_.memory == Memory::automatic) {
      const bool near = small && plan_.compute_at && !plan_.in_output && !plan_.kept_whole;
      storage_.memory = near ? Memory::stack : Memory::heap;
    }
    const bool scratchpad = storage_.memory == Memory::scratchpad;
    const bool fits = scratchpad ? known : small;
    if (storage_.memory == Memory::heap || fits) return;
    refuse(plan_.stage.name, plan_.source_directive(DirectiveKind::store_in),
           fmt::format(
               "expected a region of a constant size{}, got {}; legal: heap, or compute_at an "
               "inner loop",
               scratchpad ? "" : fmt::format(" of at most {} bytes", kStackBytes),
               known ? std::to_string(bytes) + " bytes" : "one that depends on a run-time size"),
           {plan_.stage.name, ""});
  }

  int64_t explicit_fold(size_t d) const {
    const int64_t fold = plan_.layout.fold(d);
    if (fold == 0) return 0;
    const bool turns_back =
        any_part(region_.axes[d].needed_min, [](const Expr& e) { return e->op == ExprOp::mod; });
    if (turns_back) {
      refuse_fold(d,
                  fmt::format("expected an axis along which the loops between only go forward, got "
                              "one that starts again in a fused loop ({}); legal: no fold_storage, "
                              "or no fuse",
                              to_string(region_.axes[d].needed_min)));
    }
    const std::optional<int64_t> least = window(d);
    if (!least) {
      refuse_fold(d,
                  fmt::format("expected an axis of which one iteration keeps a constant number of "
                              "indices, got {}; legal: no fold_storage",
                              to_string(region_.axes[d].needed_extent)));
    }
    if (fold < *least) {
      refuse_fold(d, fmt::format("expected at least {0}, the indices of {1} that are kept at once, "
                                 "got {2}; legal: {0}",
                                 *least, plan_.stage.axes[d].name(), fold));
    }
    return fold;
  }

  [[noreturn]] void refuse_fold(size_t d, const std::string& message) const {
    const std::string& axis = plan_.stage.axes[d].name();
    refuse(plan_.stage.name, plan_.source_directive(DirectiveKind::fold_storage, {axis}), message);
  }

  const std::vector<SizeFacts> facts_;
  const std::vector<StageRegion>& regions_;
  const std::vector<bool> vectorized_;  // by axis
  const ScheduledStage& plan_;
  const StageRegion& region_;
  StageStorage storage_;
  std::vector<LoopLevel> around_;
  std::vector<std::string> variables_;  // of these loops
  size_t outside_;                      // loops around the storage; the loops between follow
  size_t keeping_;  // the outermost loop along which something is kept; else the number of loops
};

}  // namespace

std::vector<StageStorage> infer_storage(const NestPlan& nest,
                                        const std::vector<StageRegion>& regions) {
  std::vector<StageStorage> storage(nest.stages.size());
  const std::map<StageId, PartOfCases> parts = parts_of_cases(nest);
  for (StageId id = nest.stages.size(); id-- > 0;) {
    storage[id].memory = nest.stages[id].memory;
    if (nest.stages[id].is_output) continue;
    const auto part = parts.find(id);
    std::vector<SizeFacts> facts;
    if (part != parts.end()) {
      for (const Expr& condition : conditions_of(nest, part->second)) {
        facts.push_back(facts_of(condition));
      }
    }
    storage[id] = StorageInferrer(nest, regions, id, std::move(facts)).infer(nest);
  }
  return storage;
}

}  // namespace emulsion

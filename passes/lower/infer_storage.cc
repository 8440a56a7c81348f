#include <algorithm>

#include "dsl/error.h"
#include "passes/index/simplify_index.h"
#include "passes/lower/refusal.h"
#include "passes/lower/stage_plan.h"

namespace emulsion {
namespace {

// How far an index moves from one iteration of a loop to the next; nothing when that varies.
std::optional<int64_t> step_of(const Expr& index, const std::string& variable) {
  auto terms = interval_of(index, [](const std::string&) { return std::nullopt; });
  if (!terms) return std::nullopt;
  int64_t step = 0;
  for (const auto& [text, term] : terms->fixed) {
    if (term.first->op == ExprOp::axis && term.first->name == variable) {
      step = term.second;
    } else if (mentions(term.first, variable)) {
      return std::nullopt;
    }
  }
  return step;
}

bool has_one_step(const LoopAround& loop) {
  const auto extents = loop_extents(loop.stage->stage, loop.stage->extents);
  return constant_value(extents.at(loop.axis)).value_or(2) <= 1;
}

// A region slides along a loop when the loop moves exactly one axis of it, by less than its length,
// and no loop inside moves that axis too. Along other loops it is computed again, all of it.
void slide_along(const std::vector<LoopAround>& around, size_t position, StagePlan* plan) {
  if (has_one_step(around[position])) return;
  const std::string variable = around[position].variable();
  std::vector<size_t> moved;
  for (size_t d = 0; d < plan->needed_mins.size(); ++d) {
    if (mentions(plan->needed_mins[d], variable)) moved.push_back(d);
  }
  if (moved.size() != 1) return;
  const size_t d = moved[0];
  const Expr& start = plan->needed_mins[d];
  for (size_t inner = position + 1; inner < around.size(); ++inner) {
    if (mentions(start, around[inner].variable())) return;
  }
  const std::optional<int64_t> length = constant_value(plan->needed_extents[d]);
  const int64_t step = step_of(start, variable).value_or(0);
  const int64_t fresh = step < 0 ? -step : step;
  if (!length || fresh == 0 || fresh >= *length) return;
  const Expr first = axis_value(variable) == int_constant(0);
  plan->slides[d] = variable;
  plan->extents[d] = select(first, int_constant(*length), int_constant(fresh));
  if (step > 0) {
    plan->mins[d] = start + select(first, int_constant(0), int_constant(*length - fresh));
  }
}

// The outermost loop along which anything is kept; else the number of loops.
size_t first_sliding(const StagePlan& plan, const std::vector<LoopAround>& around, size_t outside) {
  for (size_t i = outside; i < around.size(); ++i) {
    const std::string variable = around[i].variable();
    if (std::count(plan.slides.begin(), plan.slides.end(), variable)) return i;
  }
  return around.size();
}

int64_t power_of_two_from(int64_t n) {
  int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

class StorageInferrer {
 public:
  StorageInferrer(const NestPlan& nest, VariableRange range,
                  const std::set<std::string>& vectorized, StagePlan* plan)
      : range_(std::move(range)),
        vectorized_(vectorized),
        plan_(*plan),
        around_(loops_around(nest, *plan)),
        outside_(loops_outside_storage(*plan, around_)),
        keeping_(around_.size()) {}

  void run() {
    plan_.stored_mins = plan_.needed_mins;
    plan_.stored_extents = plan_.needed_extents;
    lay_out();
    if (plan_.is_kept()) store_kept();
    choose_memory();
  }

 private:
  struct Part {
    Expr min;
    Extent extent;
  };

  void store_kept() {
    keeping_ = first_sliding(plan_, around_, outside_);
    for (size_t d = 0; d < plan_.stage.axes.size(); ++d) store_axis(d);
  }

  void lay_out() {
    const std::vector<Axis>& axes = plan_.stage.axes;
    StorageLayout& layout = plan_.layout;
    if (!plan_.is_kept() && !plan_.fold_sizes.empty()) {
      refuse_fold(plan_.fold_sizes.begin()->first,
                  "expected storage that is kept over a loop, got storage for one computation; "
                  "legal: with store_at, store_root");
    }
    if (!plan_.alignments.empty()) {
      for (const Axis& axis : axes) {
        auto found = plan_.alignments.find(axis.name());
        layout.alignments.push_back(found == plan_.alignments.end() ? 1 : found->second);
      }
    }
    for (size_t i = plan_.storage_order.size(); i-- > 0;) {
      auto found = std::find_if(axes.begin(), axes.end(), [&](const Axis& axis) {
        return axis.name() == plan_.storage_order[i];
      });
      layout.order.push_back(found - axes.begin());
    }
    if (std::is_sorted(layout.order.begin(), layout.order.end())) layout.order.clear();
  }

  // What is touched of axis d while the loops between from position `first` on run.
  std::optional<Part> part_touched(size_t d, size_t first) const {
    bool unknown = false;
    VariableRange inner = [&](const std::string& variable) -> std::optional<Range> {
      for (size_t i = first; i < around_.size(); ++i) {
        if (around_[i].variable() != variable) continue;
        std::optional<Range> range = range_(variable);
        unknown = unknown || !range;
        return range;
      }
      return std::nullopt;
    };
    auto starts = interval_of(plan_.needed_mins[d], inner);
    auto length = as_extent(plan_.needed_extents[d]);
    if (!starts || !length || unknown) return std::nullopt;
    return Part{start_of({starts->fixed, starts->low, starts->low}),
                starts->high - starts->low + *length};
  }

  // What must be there at once: values live through the loops inside the outermost one along which
  // anything is kept.
  std::optional<int64_t> window(size_t d) const {
    std::optional<Part> part = part_touched(d, std::min(keeping_ + 1, around_.size()));
    if (!part || !part->extent.is_constant()) return std::nullopt;
    return part->extent.constant();
  }

  bool moves(size_t d) const {
    for (size_t i = outside_; i < around_.size() && i <= keeping_; ++i) {
      if (mentions(plan_.needed_mins[d], around_[i].variable())) return true;
    }
    return false;
  }

  void store_axis(size_t d) {
    const std::string& axis = plan_.stage.axes[d].name();
    const std::optional<Part> whole = part_touched(d, outside_);
    int64_t fold = explicit_fold(d);
    if (fold == 0 && moves(d) && window(d) && !vectorized_.count(axis)) {
      fold = power_of_two_from(*window(d));
      if (whole && whole->extent.is_constant() && whole->extent.constant() <= fold) fold = 0;
    }
    if (fold > 0) {
      plan_.layout.folds.resize(plan_.stage.axes.size());
      plan_.layout.folds[d] = fold;
      plan_.stored_mins[d] = int_constant(0);
      plan_.stored_extents[d] = int_constant(fold);
      return;
    }
    if (!whole) {
      refuse(
          plan_.stage.name, plan_.written_store(),
          fmt::format("expected a loop inside which the part of {} that is kept is bounded by the "
                      "run-time sizes, got one whose bounds are not affine; legal: an inner "
                      "loop, or a factor that divides the extent",
                      axis));
    }
    plan_.stored_mins[d] = whole->min;
    plan_.stored_extents[d] = extent_value(whole->extent);
  }

  void choose_memory() {
    constexpr int64_t kStackBytes = int64_t{32} << 10;
    int64_t bytes = size_in_bytes(plan_.stage.dtype);
    bool known = true;
    for (size_t d = 0; d < plan_.stored_extents.size(); ++d) {
      std::optional<int64_t> value = constant_value(plan_.stored_extents[d]);
      known = known && value.has_value();
      if (bytes <= kStackBytes) {
        bytes *= std::max<int64_t>(plan_.layout.padded(d, value.value_or(1)), 1);
      }
    }
    // With predicate_loads a backend stores past the end of the region: how far, it knows alone.
    const std::vector<LoopTransform>& made = plan_.stage.transforms;
    const bool widened = std::any_of(made.begin(), made.end(), [](const LoopTransform& t) {
      return t.tail == Tail::predicate_loads;
    });
    bool small = known && bytes <= kStackBytes && !widened;
    if (plan_.memory == Memory::automatic) {
      plan_.memory = small && plan_.place == StagePlan::Place::at ? Memory::stack : Memory::heap;
    }
    const bool fits = plan_.memory == Memory::scratchpad ? known && !widened : small;
    if (plan_.memory == Memory::heap || fits) return;
    const bool scratchpad = plan_.memory == Memory::scratchpad;
    refuse(
        plan_.stage.name, plan_.written(DirectiveKind::store_in),
        fmt::format("expected a region of a constant size{}, got {}; legal: heap, or compute_at an "
                    "inner loop",
                    scratchpad ? "" : fmt::format(" of at most {} bytes", kStackBytes),
                    widened ? "one that predicate_loads stores past"
                    : known ? std::to_string(bytes) + " bytes"
                            : "one that depends on a run-time size"),
        {plan_.stage.name, ""});
  }

  int64_t explicit_fold(size_t d) const {
    auto found = plan_.fold_sizes.find(plan_.stage.axes[d].name());
    if (found == plan_.fold_sizes.end()) return 0;
    bool turns_back = false;
    visit(plan_.needed_mins[d],
          [&](const Expr& e) { turns_back = turns_back || e->op == ExprOp::mod; });
    if (turns_back) {
      refuse_fold(found->first,
                  fmt::format("expected an axis along which the loops between only go forward, got "
                              "one that starts again in a fused loop ({}); legal: no fold_storage, "
                              "or no fuse",
                              to_string(plan_.needed_mins[d])));
    }
    const std::optional<int64_t> least = window(d);
    if (!least) {
      refuse_fold(found->first,
                  fmt::format("expected an axis of which one iteration keeps a constant number of "
                              "indices, got {}; legal: no fold_storage",
                              to_string(plan_.needed_extents[d])));
    }
    if (found->second < *least) {
      refuse_fold(
          found->first,
          fmt::format("expected at least {0}, the indices of {1} that are kept at once, got "
                      "{2}; legal: {0}",
                      *least, found->first, found->second));
    }
    return found->second;
  }

  [[noreturn]] void refuse_fold(const std::string& axis, const std::string& message) const {
    refuse(plan_.stage.name, plan_.written(DirectiveKind::fold_storage, {axis}), message);
  }

  VariableRange range_;
  const std::set<std::string>& vectorized_;
  StagePlan& plan_;
  std::vector<LoopAround> around_;
  size_t outside_;  // loops around the storage; the loops between follow
  size_t keeping_;  // the outermost loop along which something is kept; else the number of loops
};

}  // namespace

void slide_window(const NestPlan& nest, StagePlan* plan) {
  plan->needed_mins = plan->mins;
  plan->needed_extents = plan->extents;
  plan->slides.assign(plan->mins.size(), "");
  if (!plan->is_kept()) return;
  const std::vector<LoopAround> around = loops_around(nest, *plan);
  const size_t outside = loops_outside_storage(*plan, around);
  for (size_t i = around.size(); i-- > outside;) slide_along(around, i, plan);
}

void infer_storage(const NestPlan& nest, const VariableRange& range,
                   const std::set<std::string>& vectorized, StagePlan* plan) {
  if (!plan->is_output) StorageInferrer(nest, range, vectorized, plan).run();
}

}  // namespace emulsion

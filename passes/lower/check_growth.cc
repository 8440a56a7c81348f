// Limits on what a schedule may grow to: a factor that is legal by itself can ask for more storage
// than an index of 32 bits reaches.

#include <algorithm>
#include <limits>

#include "dsl/error.h"
#include "dsl/index_arithmetic.h"
#include "passes/index/simplify_index.h"
#include "passes/lower/stage_storage.h"

namespace emulsion {
namespace {

constexpr int64_t kMostBytes = std::numeric_limits<int32_t>::max();  // of one storage

// What made the storage as large as it is.
Directive culprit(const ScheduledStage& plan, const Stage& stage) {
  for (DirectiveKind kind : {DirectiveKind::align_storage, DirectiveKind::fold_storage}) {
    for (auto d = plan.directives.rbegin(); d != plan.directives.rend(); ++d) {
      if (d->kind == kind) return *d;
    }
  }
  for (const LoopTransform& t : stage.transforms) {
    if (t.tail == Tail::round_up || t.tail == Tail::predicate_loads)
      return plan.source_directive(t);
  }
  return plan.source_directive(DirectiveKind::compute_at);
}

[[noreturn]] void refuse_whole(const ScheduledStage& plan, int64_t bytes) {
  fail(
      "{}: expected storage of at most {} bytes, got {} or more, since it is computed as a whole; "
      "legal: compute_at{}",
      plan.stage.name, kMostBytes, bytes, plan.stage.is_reduction() ? "" : " or compute_inline");
}

// At the least: an axis of a run-time extent counts as one index.
void check_storage(const ScheduledStage& plan, const Stage& stage, const StageStorage& storage) {
  if (plan.is_output) return;
  int64_t bytes = size_in_bytes(stage.dtype), bytes_of_domain = bytes;
  for (size_t d = 0; d < storage.extents.size(); ++d) {
    const int64_t extent = std::max<int64_t>(constant_value(storage.extents[d]).value_or(1), 1);
    bytes = saturated_product(bytes, storage.layout.padded(d, extent));
    const int64_t of_axis = plan.stage.axes[d].extent().as_constant().value_or(1);
    bytes_of_domain = saturated_product(bytes_of_domain, of_axis);
  }
  if (bytes <= kMostBytes) return;
  const Directive* place = plan.find_directive(DirectiveKind::compute_at);
  if (place == nullptr && bytes_of_domain > kMostBytes) refuse_whole(plan, bytes_of_domain);
  const Directive by = culprit(plan, stage);
  refuse(
      plan.stage.name, by,
      fmt::format("expected storage of at most {} bytes, got {}; legal: a {}", kMostBytes, bytes,
                  by.kind == DirectiveKind::compute_at ? "loop further inside" : "smaller factor"),
      {plan.stage.name, ""});
}

}  // namespace

void check_growth(const NestPlan& nest, const std::vector<StageRegion>& regions,
                  const std::vector<StageStorage>& storage) {
  for (size_t i = 0; i < nest.stages.size(); ++i) {
    check_storage(nest.stages[i], regions[i].stage, storage[i]);
  }
}

}  // namespace emulsion

// Limits on what a schedule may grow to. A factor that is legal by itself can ask for more code
// than a compiler finishes, or for more storage than an index of 32 bits reaches.

#include <algorithm>
#include <limits>
#include <set>

#include "dsl/error.h"
#include "passes/index/index_arithmetic.h"
#include "passes/index/simplify_index.h"
#include "passes/lower/stage_plan.h"

namespace emulsion {
namespace {

// What Halide and LLVM compile in half a minute: both take more than proportionally longer for
// strided loads of more lanes, and for more copies of vectors than of scalars.
constexpr int64_t kMostLanes = 256;                         // of a vectorized loop
constexpr int64_t kMostCopies = 1024;                       // of a stage's body, by unrolled loops
constexpr int64_t kCopiesOfMore = 4, kLanesOfAVector = 64;  // what a vector counts as
constexpr int64_t kMostBytes = std::numeric_limits<int32_t>::max();  // of one storage

// The cases of a stage, the general one first.
std::vector<StagePlan> cases_of(const StagePlan& plan) {
  std::vector<StagePlan> cases = {plan};
  for (size_t i = 0; i < plan.special_cases.size(); ++i) cases.push_back(specialized(plan, i));
  return cases;
}

std::map<std::string, Expr> extents_of(const StagePlan& plan) {
  return loop_extents(plan.stage, plan.extents);
}

// How many of a loop's bodies are written out: its extent when it is unrolled.
int64_t copies_of(const StagePlan& plan, const std::map<std::string, Expr>& extents,
                  const std::string& loop) {
  auto kind = plan.kinds.find(loop);
  if (kind == plan.kinds.end() || kind->second != LoopKind::unrolled) return 1;
  return std::max<int64_t>(constant_value(extents.at(loop)).value_or(1), 1);
}

// The copies of what is computed at a loop of `plan`: the most of any case.
int64_t copies_at(const NestPlan& nest, const StagePlan& plan, const std::string& at_loop);

int64_t copies_around(const NestPlan& nest, const StagePlan& plan) {
  if (plan.place != StagePlan::Place::at) return 1;
  return copies_at(nest, *nest.find(plan.at_stage), plan.at_loop);
}

int64_t copies_at(const NestPlan& nest, const StagePlan& plan, const std::string& at_loop) {
  int64_t most = 1;
  for (const StagePlan& one : cases_of(plan)) {
    const std::map<std::string, Expr> extents = extents_of(one);
    int64_t copies = 1;
    for (const std::string& loop : one.loops) {
      copies = saturated_product(copies, copies_of(one, extents, loop));
      if (loop == at_loop) break;
    }
    most = std::max(most, copies);
  }
  return saturated_product(most, copies_around(nest, plan));
}

// The lanes of the vectorized loop; 1 when there is none.
int64_t check_lanes(const StagePlan& plan, const std::map<std::string, Expr>& extents) {
  int64_t lanes = 1;
  for (const auto& [loop, kind] : plan.kinds) {
    if (kind != LoopKind::vectorized) continue;
    lanes = constant_value(extents.at(loop)).value_or(1);
    if (lanes <= kMostLanes) continue;
    refuse(plan.stage.name, plan.written(DirectiveKind::vectorize, {loop}),
           fmt::format("expected at most {} lanes, got {}; legal: vectorize({}, 8), which splits "
                       "it first",
                       kMostLanes, lanes, loop),
           {plan.stage.name, loop});
  }
  return lanes;
}

int64_t copies_of_vector(int64_t lanes) {
  if (lanes <= 1) return 1;
  return (lanes + kLanesOfAVector - 1) / kLanesOfAVector * kCopiesOfMore;
}

// Whether what unrolled loops write out has loops of its own.
bool copies_loops(const StagePlan& plan, const std::map<std::string, Expr>& extents,
                  int64_t around) {
  bool inside = around > 1;
  for (const std::string& loop : plan.loops) {
    if (inside && !plan.kinds.count(loop) && constant_value(extents.at(loop)).value_or(2) > 1) {
      return true;
    }
    inside = inside || copies_of(plan, extents, loop) > 1;
  }
  return false;
}

// `around`: how often that is written out which holds the stage's loops.
void check_copies(const StagePlan& plan, const std::map<std::string, Expr>& extents, int64_t lanes,
                  int64_t around) {
  int64_t copies = saturated_product(around, copies_of_vector(lanes));
  for (const std::string& loop : plan.loops) {
    copies = saturated_product(copies, copies_of(plan, extents, loop));
  }
  if (copies_loops(plan, extents, around)) copies = saturated_product(copies, kCopiesOfMore);
  if (copies <= kMostCopies) return;
  for (auto d = plan.directives.rbegin(); d != plan.directives.rend(); ++d) {
    if (d->kind != DirectiveKind::unroll || !plan.kinds.count(d->axes[0])) continue;
    refuse(plan.stage.name, *d,
           fmt::format("expected at most {} copies of what {} computes, by all unrolled loops, {} "
                       "lanes or loops inside counting as {} copies, got {}; legal: {} as a serial "
                       "loop, or split first",
                       kMostCopies, plan.stage.name, kLanesOfAVector, kCopiesOfMore, copies,
                       d->axes[0]),
           {plan.stage.name, d->axes[0]});
  }
}

// What made the storage as large as it is.
Directive culprit(const StagePlan& plan) {
  for (DirectiveKind kind : {DirectiveKind::align_storage, DirectiveKind::fold_storage}) {
    for (auto d = plan.directives.rbegin(); d != plan.directives.rend(); ++d) {
      if (d->kind == kind) return *d;
    }
  }
  for (const LoopTransform& t : plan.stage.transforms) {
    if (t.tail == Tail::round_up || t.tail == Tail::predicate_loads) return plan.written(t);
  }
  return plan.written(DirectiveKind::compute_at);
}

// At the least: an axis of a run-time extent counts as one index.
void check_storage(const StagePlan& plan) {
  if (plan.is_output || plan.place == StagePlan::Place::inlined) return;
  int64_t bytes = size_in_bytes(plan.stage.dtype);
  for (size_t d = 0; d < plan.stored_extents.size(); ++d) {
    int64_t extent = std::max<int64_t>(constant_value(plan.stored_extents[d]).value_or(1), 1);
    for (const LoopTransform& t : plan.stage.transforms) {  // what is stored past the end
      if (t.axis != plan.stage.axes[d].name() || t.tail != Tail::predicate_loads) continue;
      extent = (extent + t.factor - 1) / t.factor * t.factor;
    }
    bytes = saturated_product(bytes, plan.layout.padded(d, extent));
  }
  if (bytes <= kMostBytes) return;
  refuse(plan.stage.name, culprit(plan),
         fmt::format("expected storage of at most {} bytes, got {}; legal: a smaller factor",
                     kMostBytes, bytes),
         {plan.stage.name, ""});
}

}  // namespace

void check_growth(const NestPlan& nest) {
  for (const StagePlan& plan : nest.stages) {
    for (const StagePlan& one : cases_of(plan)) {
      const std::map<std::string, Expr> extents = extents_of(one);
      const int64_t lanes = check_lanes(one, extents);
      check_copies(one, extents, lanes, copies_around(nest, plan));
    }
    check_storage(plan);
  }
}

}  // namespace emulsion

// Limits on what a schedule may grow to. A factor that is legal by itself can ask for more code
// than a compiler finishes, or for more storage than an index of 32 bits reaches.

#include <algorithm>
#include <limits>
#include <set>

#include "dsl/error.h"
#include "passes/index/index_arithmetic.h"
#include "passes/index/simplify_index.h"
#include "passes/lower/stage_storage.h"

namespace emulsion {
namespace {

// What Halide and LLVM compile in half a minute: both take more than proportionally longer for
// strided loads of more lanes, and for more copies of vectors than of scalars.
constexpr int64_t kMostLanes = 256;                         // of a vectorized loop
constexpr int64_t kMostCopies = 1024;                       // of a stage's body, by unrolled loops
constexpr int64_t kCopiesOfMore = 4, kLanesOfAVector = 64;  // what a vector counts as
constexpr int64_t kMostBytes = std::numeric_limits<int32_t>::max();  // of one storage

using Regions = std::vector<StageRegion>;

std::map<std::string, Expr> extents_of(const StageCase& one) {
  return loop_extents(one.stage, one.extents);
}

// How many of a loop's bodies are written out: its extent when it is unrolled.
int64_t copies_of(const std::map<std::string, Expr>& extents, const Loop& loop) {
  if (loop.kind != LoopKind::unrolled) return 1;
  return std::max<int64_t>(constant_value(extents.at(loop.name)).value_or(1), 1);
}

// The copies of what is computed at a loop: the most of any case of its stage.
int64_t copies_at(const NestPlan& nest, const Regions& regions, const LoopLevel& level);

int64_t copies_around(const NestPlan& nest, const Regions& regions, const ScheduledStage& plan) {
  return plan.compute_at ? copies_at(nest, regions, *plan.compute_at) : 1;
}

int64_t copies_at(const NestPlan& nest, const Regions& regions, const LoopLevel& level) {
  const size_t position = nest.position(level.stage);
  const ScheduledStage& plan = nest.stages[position];
  int64_t most = 1;
  for (const StageCase& one : cases_of(plan, regions[position])) {
    const std::map<std::string, Expr> extents = extents_of(one);
    int64_t copies = 1;
    for (const Loop& loop : one.loops) {
      copies = saturated_product(copies, copies_of(extents, loop));
      if (loop.name == level.loop) break;
    }
    most = std::max(most, copies);
  }
  return saturated_product(most, copies_around(nest, regions, plan));
}

// The lanes of the vectorized loop; 1 when there is none.
int64_t check_lanes(const ScheduledStage& plan, const StageCase& one,
                    const std::map<std::string, Expr>& extents) {
  int64_t lanes = 1;
  for (const Loop& loop : one.loops) {
    if (loop.kind != LoopKind::vectorized) continue;
    lanes = constant_value(extents.at(loop.name)).value_or(1);
    if (lanes <= kMostLanes) continue;
    refuse(plan.stage.name, plan.written(DirectiveKind::vectorize, {loop.name}),
           fmt::format("expected at most {} lanes, got {}; legal: vectorize({}, 8), which splits "
                       "it first",
                       kMostLanes, lanes, loop.name),
           {plan.stage.name, loop.name});
  }
  return lanes;
}

// Whether vectors are stored or loaded under a mask: one that differs from lane to lane, or one of
// another loop that a tail asks for. Another loop's guard is an if around them.
bool has_masked_vectors(const StageCase& one) {
  std::set<std::string> masked;  // loops of which a mask speaks
  bool always = false;
  for (const LoopTransform& t : one.stage.transforms) {
    if (t.kind == LoopTransform::Kind::fuse) {
      if (masked.count(t.outer) + masked.count(t.inner) > 0) masked.insert(t.axis);
      continue;
    }
    const bool exact = t.tail == Tail::round_up || t.tail == Tail::shift_inwards;
    if (!exact || masked.count(t.axis)) masked.insert({t.outer, t.inner});
    always = always || (!exact && t.tail != Tail::guard);
  }
  return std::any_of(one.loops.begin(), one.loops.end(), [&](const Loop& loop) {
    return loop.kind == LoopKind::vectorized && (always || masked.count(loop.name) > 0);
  });
}

// Halide 21 stores and loads masked vectors in parts of the machine's length, and cannot a last
// part of one lane: LLVM ends the process. So none is left of any machine's, 16 bytes and more.
void check_masked_lanes(const ScheduledStage& plan, const StageCase& one, int64_t lanes) {
  constexpr int64_t kLeastBytesOfAVector = 16;
  if (!has_masked_vectors(one)) return;
  std::set<DType> types = {plan.stage.dtype};
  visit(plan.stage.body, [&](const Expr& e) {
    if (e->op == ExprOp::read) types.insert(e.dtype());
  });
  for (DType type : types) {
    const int64_t length = kLeastBytesOfAVector / size_in_bytes(type);
    if (lanes <= length || lanes % length != 1) continue;
    for (const Loop& loop : one.loops) {
      if (loop.kind != LoopKind::vectorized) continue;
      refuse(plan.stage.name, plan.written(DirectiveKind::vectorize, {loop.name}),
             fmt::format("expected masked vectors that do not leave one lane of {} over, got {} "
                         "lanes; legal: a factor of {} or {}",
                         to_string(type), lanes, lanes - 1, lanes + 1),
             {plan.stage.name, loop.name});
    }
  }
}

int64_t copies_of_vector(int64_t lanes) {
  if (lanes <= 1) return 1;
  return (lanes + kLanesOfAVector - 1) / kLanesOfAVector * kCopiesOfMore;
}

// Whether what unrolled loops write out has loops of its own.
bool copies_loops(const StageCase& one, const std::map<std::string, Expr>& extents,
                  int64_t around) {
  bool inside = around > 1;
  for (const Loop& loop : one.loops) {
    const bool serial = loop.kind == LoopKind::serial;
    if (inside && serial && constant_value(extents.at(loop.name)).value_or(2) > 1) return true;
    inside = inside || copies_of(extents, loop) > 1;
  }
  return false;
}

// `around`: how often that is written out which holds the stage's loops.
void check_copies(const ScheduledStage& plan, const StageCase& one,
                  const std::map<std::string, Expr>& extents, int64_t lanes, int64_t around) {
  int64_t copies = saturated_product(around, copies_of_vector(lanes));
  for (const Loop& loop : one.loops) {
    copies = saturated_product(copies, copies_of(extents, loop));
  }
  if (copies_loops(one, extents, around)) copies = saturated_product(copies, kCopiesOfMore);
  if (copies <= kMostCopies) return;
  for (auto d = plan.directives.rbegin(); d != plan.directives.rend(); ++d) {
    if (d->kind != DirectiveKind::unroll) continue;
    const Loop* loop = find_loop(one.loops, d->axes[0]);
    if (loop == nullptr || loop->kind == LoopKind::serial) continue;
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
Directive culprit(const ScheduledStage& plan, const Stage& stage) {
  for (DirectiveKind kind : {DirectiveKind::align_storage, DirectiveKind::fold_storage}) {
    for (auto d = plan.directives.rbegin(); d != plan.directives.rend(); ++d) {
      if (d->kind == kind) return *d;
    }
  }
  for (const LoopTransform& t : stage.transforms) {
    if (t.tail == Tail::round_up || t.tail == Tail::predicate_loads) return plan.written(t);
  }
  return plan.written(DirectiveKind::compute_at);
}

// At the least: an axis of a run-time extent counts as one index.
void check_storage(const ScheduledStage& plan, const Stage& stage, const StageStorage& storage) {
  if (plan.is_output) return;
  int64_t bytes = size_in_bytes(stage.dtype);
  for (size_t d = 0; d < storage.extents.size(); ++d) {
    int64_t extent = std::max<int64_t>(constant_value(storage.extents[d]).value_or(1), 1);
    for (const LoopTransform& t : stage.transforms) {  // what is stored past the end
      if (t.axis != stage.axes[d].name() || t.tail != Tail::predicate_loads) continue;
      extent = (extent + t.factor - 1) / t.factor * t.factor;
    }
    bytes = saturated_product(bytes, storage.layout.padded(d, extent));
  }
  if (bytes <= kMostBytes) return;
  refuse(plan.stage.name, culprit(plan, stage),
         fmt::format("expected storage of at most {} bytes, got {}; legal: a smaller factor",
                     kMostBytes, bytes),
         {plan.stage.name, ""});
}

}  // namespace

void check_growth(const NestPlan& nest, const std::vector<StageRegion>& regions,
                  const std::vector<StageStorage>& storage) {
  for (size_t i = 0; i < nest.stages.size(); ++i) {
    const ScheduledStage& plan = nest.stages[i];
    for (const StageCase& one : cases_of(plan, regions[i])) {
      const std::map<std::string, Expr> extents = extents_of(one);
      const int64_t lanes = check_lanes(plan, one, extents);
      check_masked_lanes(plan, one, lanes);
      check_copies(plan, one, extents, lanes, copies_around(nest, regions, plan));
    }
    check_storage(plan, regions[i].stage, storage[i]);
  }
}

}  // namespace emulsion

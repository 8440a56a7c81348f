#include "backends/entry/check_cpu_limits.h"

#include <algorithm>
#include <vector>

#include "dsl/error.h"
#include "dsl/index_arithmetic.h"
#include "passes/index/simplify_index.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

class LimitChecker : public NestVisitor {
 public:
  explicit LimitChecker(const CodeLimits& limits) : limits_(limits) {}

 private:
  void visit_alloc(const Alloc& alloc) override {
    if (alloc.memory == Memory::scratchpad) {
      throw ScheduleError(
          fmt::format("{}.store_in(scratchpad): expected memory that a CPU has (heap, stack or "
                      "registers), got the scratchpad of a tile machine",
                      alloc.stage));
    }
    walk(*alloc.body);
  }

  void visit_loop(const Loop& loop) override {
    if (loop.kind == LoopKind::tile) {
      throw ScheduleError(
          fmt::format("{}.tensorize({}): expected loops that a CPU runs (vectorize, unroll or "
                      "parallel), got one uOp of a tile machine",
                      loop.stage, loop.axis));
    }
    check_lanes(loop);
    around_.push_back(&loop);
    walk(*loop.body);
    around_.pop_back();
  }

  void visit_uop(const UopNode& uop) override { check_copies(uop); }

  static int64_t steps_of(const Loop& loop) { return constant_value(loop.extent).value_or(2); }

  void check_lanes(const Loop& loop) const {
    if (loop.kind != LoopKind::vectorized || steps_of(loop) <= limits_.lanes) return;
    throw ScheduleError(
        fmt::format("{0}.vectorize({1}): expected at most {2} lanes, got {3}; legal: "
                    "vectorize({1}, 8), which splits it first",
                    loop.stage, loop.axis, limits_.lanes, steps_of(loop)));
  }

  void check_copies(const UopNode& uop) const {
    int64_t copies = 1, lanes = 1;
    bool has_loops = false;
    const Loop* unrolled = nullptr;
    for (const Loop* loop : around_) {
      const int64_t steps = std::max<int64_t>(steps_of(*loop), 1);
      if (loop->kind == LoopKind::vectorized) {
        lanes = saturated_product(lanes, steps);
      } else if (loop->kind != LoopKind::unrolled) {
        has_loops = has_loops || (copies > 1 && steps > 1);
      } else if (steps > 1) {
        copies = saturated_product(copies, steps);
        unrolled = loop;
      }
    }
    if (unrolled == nullptr) return;
    if (lanes > 1) {
      const int64_t vectors = (lanes + limits_.lanes_of_a_vector - 1) / limits_.lanes_of_a_vector;
      copies = saturated_product(copies, vectors * limits_.copies_of_more);
    }
    if (has_loops) copies = saturated_product(copies, limits_.copies_of_more);
    if (is_guarded_in_copies(uop)) copies = saturated_product(copies, limits_.copies_of_guarded);
    if (copies <= limits_.copies) return;
    throw ScheduleError(fmt::format(
        "{}.unroll({}): expected at most {} copies of what {} computes, by all unrolled loops, {} "
        "lanes or loops inside counting as {} copies, a guard or mask as {}, got {}; legal: {} as "
        "a serial loop, or split first",
        unrolled->stage, unrolled->axis, limits_.copies, uop.stage, limits_.lanes_of_a_vector,
        limits_.copies_of_more, limits_.copies_of_guarded, copies, unrolled->axis));
  }

  // Whether each copy has a condition of its own.
  bool is_guarded_in_copies(const UopNode& uop) const {
    return std::any_of(around_.begin(), around_.end(), [&](const Loop* loop) {
      return loop->kind == LoopKind::unrolled &&
             std::any_of(uop.guards.begin(), uop.guards.end(), [&](const Guard& guard) {
               return mentions(guard.condition, loop->variable());
             });
    });
  }

  const CodeLimits& limits_;
  std::vector<const Loop*> around_;  // loops, outermost first
};

}  // namespace

// LLVM cuts a vector into registers, and takes more than proportionally longer for more of them.
// With registers of 16 bytes it takes many times as long for a wide one as with those of 32 bytes,
// for which the limits are made; with those of 64 bytes less.
CodeLimits code_limits(const Target& target) {
  CodeLimits limits;
  if (target.vector_bits() < 256) limits.lanes_of_a_vector /= 2;
  return limits;
}

void check_cpu_limits(const LoopNest& nest, const CodeLimits& limits) {
  if (nest.root) LimitChecker(limits).walk(*nest.root);
}

}  // namespace emulsion

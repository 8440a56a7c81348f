#include "backends/halide/refuse_tiles.h"

#include "dsl/error.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

void refuse_node(const Node& node) {
  const Alloc* alloc = node.as<Alloc>();
  if (alloc && alloc->memory == Memory::scratchpad) {
    throw ScheduleError(
        fmt::format("{}.store_in(scratchpad): expected memory that a CPU has (heap, stack or "
                    "registers), got the scratchpad of a tile machine",
                    alloc->stage));
  }
  const Loop* loop = node.as<Loop>();
  if (loop && loop->kind == LoopKind::tile) {
    throw ScheduleError(
        fmt::format("{}.tensorize({}): expected loops that a CPU runs (vectorize, unroll or "
                    "parallel), got one uOp of a tile machine",
                    loop->stage, loop->axis));
  }
}

}  // namespace

void refuse_tiles(const LoopNest& nest) {
  if (nest.root) for_each_node(*nest.root, refuse_node);
}

}  // namespace emulsion

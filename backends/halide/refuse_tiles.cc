#include "backends/halide/refuse_tiles.h"

#include "dsl/error.h"

namespace emulsion {
namespace {

void walk(const Node& node) {
  if (node.kind == NodeKind::alloc && node.memory == Memory::scratchpad) {
    throw ScheduleError(
        fmt::format("{}.store_in(scratchpad): expected memory that a CPU has (heap, stack or "
                    "registers), got the scratchpad of a tile machine",
                    node.stage));
  }
  if (node.kind == NodeKind::loop && node.loop_kind == LoopKind::tile) {
    throw ScheduleError(
        fmt::format("{}.tensorize({}): expected loops that a CPU runs (vectorize, unroll or "
                    "parallel), got one uOp of a tile machine",
                    node.stage, node.axis));
  }
  for (const NodePtr& child : node.children) walk(*child);
}

}  // namespace

void refuse_tiles(const LoopNest& nest) {
  if (nest.root) walk(*nest.root);
}

}  // namespace emulsion

#ifndef EMULSION_PASSES_UOP_LIST_H_
#define EMULSION_PASSES_UOP_LIST_H_

// One uOp as a machine would be told it: what it does and which boxes of which buffers it reads and
// writes, as numbers, for one iteration of all the loops around it. Tile loops (LoopKind::tile) are
// inside the uOp, so for a tile machine this is the Load, Execute or Store of a whole tile; for a
// CPU nest, which has none, it is that of one element.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "passes/loop_nest.h"

namespace emulsion {

// A box of a buffer, row-major: the elements min[d] <= index[d] < min[d] + extent[d]. Of an
// argument, a constant or heap storage only what is inside its shape; of storage near the
// arithmetic (registers, stack, scratchpad) all that the uOp writes, at the edges of the domain
// past its end too: a tile has a constant size.
struct UopRegion {
  static constexpr int kMostAxes = 8;

  int32_t buffer = -1;  // position in LoopNest::buffers
  int32_t rank = 0;
  std::array<int32_t, kMostAxes> min{};
  std::array<int32_t, kMostAxes> extent{};

  int64_t elements() const;
  bool operator==(const UopRegion& other) const;  // false for another buffer
  bool operator!=(const UopRegion& other) const { return !(*this == other); }
};

struct Uop {
  NodeKind kind = NodeKind::execute;  // load, execute or store
  Part part = Part::whole;  // of an execute: start value (init), accumulate (update), value
  int32_t stage = -1;       // position in LoopNest::stages; write.buffer is its buffer
  int64_t index = 0;        // position in the list, from 0
  // Each buffer once, in the order of first read; not the accumulator that an update adds to.
  std::vector<UopRegion> reads;
  UopRegion write;
  int64_t bytes = 0;  // to and from main memory: arguments, constants and heap storage
  int64_t macs = 0;   // points of an update inside the stage's domain; else 0
};

// "3: load x_tile[0 .. +32, 64 .. +32] <- x[0 .. +32, 64 .. +32], 4096 bytes".
std::string to_string(const Uop& uop, const LoopNest& nest);

}  // namespace emulsion

#endif  // EMULSION_PASSES_UOP_LIST_H_

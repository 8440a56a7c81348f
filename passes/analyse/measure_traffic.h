#ifndef EMULSION_PASSES_ANALYSE_MEASURE_TRAFFIC_H_
#define EMULSION_PASSES_ANALYSE_MEASURE_TRAFFIC_H_

// How much one run of a nest moves between main memory and the arithmetic, from the nest alone.
// Main memory is: the arguments, constants, and storage of stages on the heap. What stays in
// registers, on the stack or in a scratchpad moves nothing. Two models of what is between:
//
//   pass  an ideal cache, empty at the start of each pass. A pass is a stage at the root together
//         with all that is computed inside its loops; it moves every element that it reads once,
//         and every element that it writes once. What it writes and reads itself it does not read
//         from memory, and storage that no other pass touches moves nothing. This is the least that
//         any machine must move, and what fusion saves: y = relu(x * w + b) as two passes writes
//         the product, reads it and writes y; as one pass it only writes y.
//   uop   no cache: every uOp moves the boxes that it touches (UopRegion). Exact for a tile
//         machine, whose Loads and Stores are its only way to memory; of a CPU nest it counts
//         accesses.
//
// Elements are counted by boxes: for a read that is no box (a stride, a select), those of the
// smallest box around it. Exact sums in both models: arithmetic over the loops that a box depends
// on, never a walk over all uOps (but for loops whose extent depends on another loop).

#include <cstdint>
#include <string>
#include <vector>

#include "passes/nest/loop_nest.h"

namespace emulsion {

enum class TrafficModel : uint8_t { pass, uop };

struct BufferTraffic {
  std::string buffer;
  BufferRole role = BufferRole::internal;
  int64_t element_bytes = 0;
  int64_t read = 0, written = 0;  // elements

  int64_t elements() const { return read + written; }
  int64_t bytes() const { return elements() * element_bytes; }
};

struct Traffic {
  TrafficModel model = TrafficModel::pass;
  std::vector<BufferTraffic> buffers;  // those in main memory that move, in the nest's order

  int64_t elements() const;
  int64_t bytes() const;
  // Of what the kernel computes: intermediate storage and outputs. Inputs, weights and constants
  // are read whatever is fused.
  int64_t result_elements() const;
};

// Error: a size without a value; what UopList refuses.
Traffic measure_traffic(const LoopNest& nest, const SizeValues& sizes = {},
                        TrafficModel model = TrafficModel::pass);

// A table, a line for each buffer, then the sums.
std::string to_string(const Traffic& traffic);
std::string to_string(TrafficModel model);  // "pass", "uop"
// {"model": "pass", "buffers": [{"buffer": "x", "role": "input", "element_bytes": 4, "read": 32768,
// "written": 0, "bytes": 131072}], "elements": .., "bytes": .., "result_elements": ..}
std::string to_json(const Traffic& traffic);
// "results: 196608 -> 65536 elements, 66.7 % less" and the same of everything and of bytes.
std::string compare_traffic(const Traffic& before, const Traffic& after);

}  // namespace emulsion

#endif  // EMULSION_PASSES_ANALYSE_MEASURE_TRAFFIC_H_

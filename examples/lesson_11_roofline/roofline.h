#ifndef EMULSION_EXAMPLES_LESSON_11_ROOFLINE_ROOFLINE_H_
#define EMULSION_EXAMPLES_LESSON_11_ROOFLINE_ROOFLINE_H_

// Kernels under a roof (passes/analyse/machine_model.h). Fusion moves fewer bytes for the same
// operations, so it moves a kernel to the right.

#include <cstdint>
#include <string>
#include <vector>

#include "passes/analyse/machine_model.h"

namespace emulsion {

// One kernel of one network.
struct RooflinePoint {
  std::string network;  // "MLP"
  std::string variant;  // "unfused"
  int64_t operations = 0;
  int64_t bytes = 0;   // that must go to and from memory
  double seconds = 0;  // of one run

  double intensity() const { return static_cast<double>(operations) / static_cast<double>(bytes); }
  double gflops() const { return static_cast<double>(operations) / seconds * 1e-9; }
};

// A line for each point: intensity, what the roof allows, what was measured.
std::string to_string(const Roof& roof, const std::vector<RooflinePoint>& points);
// {"roof": {"gflops": .., "gigabytes": .., "ridge": ..}, "points": [{"network": "MLP", "variant":
// "fused", "operations": .., "bytes": .., "seconds": .., "intensity": .., "gflops": ..,
// "attainable": ..}]}
std::string to_json(const Roof& roof, const std::vector<RooflinePoint>& points);
// The same as an SVG: both axes logarithmic; the points of a network joined by an arrow. Error: a
// roof or a point that is not positive.
std::string draw_roofline(const Roof& roof, const std::vector<RooflinePoint>& points);

}  // namespace emulsion

#endif  // EMULSION_EXAMPLES_LESSON_11_ROOFLINE_ROOFLINE_H_

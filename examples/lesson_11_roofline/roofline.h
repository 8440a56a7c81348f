#ifndef EMULSION_EXAMPLES_LESSON_11_ROOFLINE_ROOFLINE_H_
#define EMULSION_EXAMPLES_LESSON_11_ROOFLINE_ROOFLINE_H_

// The roofline model of Williams, Waterman and Patterson ("Roofline: An Insightful Visual
// Performance Model for Multicore Architectures", CACM 2009): a kernel that does I operations for
// each byte that it moves to and from memory runs at no more than min(peak, I * bandwidth). Fusion
// moves fewer bytes for the same operations, so it moves a kernel to the right.

#include <cstdint>
#include <string>
#include <vector>

namespace emulsion {

// What a machine can do, on as many threads as the kernels have.
struct Roof {
  double gflops = 0;     // 10^9 operations a second: the peak
  double gigabytes = 0;  // 10^9 bytes a second, to and from memory

  // 10^9 operations a second, at most, of what does `intensity` operations for each byte.
  double attainable(double intensity) const;
  // The operations for each byte from which on the peak is the limit.
  double ridge() const { return gflops / gigabytes; }
};

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

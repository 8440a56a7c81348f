#ifndef EMULSION_BENCHMARKS_PEERS_HALIDE_BLUR_H_
#define EMULSION_BENCHMARKS_PEERS_HALIDE_BLUR_H_

// The 3x3 box blur of the Halide papers, written in Halide itself: the peer of the same schedules
// in Emulsion's words (blur.cc).

#include <cstdint>
#include <memory>
#include <string>

#include "dsl/target.h"

namespace emulsion::benchmarks {

enum class BlurSchedule : uint8_t {
  tiles,    // the rows' blur for each tile of the result, its halo computed twice
  sliding,  // strips of rows; the rows' blur a line at a time, each line kept for the next two
};

// Rows of a strip and of a tile, columns of a tile: they divide the picture.
struct BlurTile {
  int rows = 32, columns = 256, lanes = 32;
};

class HalideBlur {
 public:
  // Compiled for `target` into this process. `in`: u16[height + 2, width + 2], `out`: u16[height,
  // width], both row-major and read or written by run(). Error: what Halide refuses.
  HalideBlur(BlurSchedule schedule, const BlurTile& tile, const Target& target, int height,
             int width, const uint16_t* in, uint16_t* out);
  ~HalideBlur();

  void run();

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

// What Halide makes of it: loops_and_accesses() (halide_code.h).
std::string halide_blur_code(BlurSchedule schedule, const BlurTile& tile, const Target& target,
                             int height, int width);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_PEERS_HALIDE_BLUR_H_

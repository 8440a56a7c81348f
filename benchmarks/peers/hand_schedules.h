#ifndef EMULSION_BENCHMARKS_PEERS_HAND_SCHEDULES_H_
#define EMULSION_BENCHMARKS_PEERS_HAND_SCHEDULES_H_

// What is scheduled by hand in Emulsion as its peers are in Halide (halide_blur.h,
// halide_matmul.h).

#include "benchmarks/peers/halide_blur.h"
#include "benchmarks/peers/halide_matmul.h"
#include "dsl/schedule.h"
#include "dsl/target.h"

namespace emulsion::benchmarks {

// in: u16[height + 2, width + 2] -> blur: u16[height, width]
Schedule blur_by_hand(BlurSchedule how, const BlurTile& tile, int height, int width);

// Sums that fill the registers.
MatmulTile matmul_tile(const Target& target);
// Lesson 3's last step. x, w (packed): f32[size, size] -> y: f32[size, size]
Schedule matmul_by_hand(int size, const MatmulTile& tile);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_PEERS_HAND_SCHEDULES_H_

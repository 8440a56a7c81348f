// What our layer adds at run time is nothing: of a schedule by hand Halide makes the same loops,
// allocations, loads and stores, in vectors of the same lanes, whether it was written for Emulsion
// or for Halide; of a sliding window it makes fewer conditions for ours. (How fast they are is
// //benchmarks:blur's and //benchmarks:matmul_vs_halide's to say.)

#include "benchmarks/peers/halide_code.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "backends/halide/lower_statement.h"
#include "benchmarks/peers/hand_schedules.h"
#include "passes/lower/lower.h"

namespace emulsion::benchmarks {
namespace {

std::string code_of(const Schedule& schedule, const Target& target) {
  const LoopNest nest = lower(schedule.graph(), schedule);
  return loops_and_accesses(kernel_module(nest, "kernel", kernel_target(target),
                                          Halide::LinkageType::ExternalPlusArgv, CompileOptions()));
}

constexpr int kHeight = 64, kWidth = 512;

class SameCode : public testing::TestWithParam<const char*> {
 protected:
  BlurTile blur_tile() const {
    BlurTile tile;
    tile.lanes = target_.vector_lanes(u16);
    return tile;
  }

  Target target_ = Target::parse(GetParam());
};

TEST_P(SameCode, BlurInTiles) {
  const std::string code =
      code_of(blur_by_hand(BlurSchedule::tiles, blur_tile(), kHeight, kWidth), target_);
  EXPECT_EQ(code, halide_blur_code(BlurSchedule::tiles, blur_tile(), target_, kHeight, kWidth));
  EXPECT_NE(code.find("store uint16x"), std::string::npos) << code;
}

// Halide starts the loop two rows early and asks in each step whether there is a row to blur. Our
// first step computes three rows of the window, the other 31 one each: the same accesses, and no
// condition.
TEST_P(SameCode, BlurWithASlidingWindow) {
  const BlurTile tile = blur_tile();
  const auto row = [&](const std::string& indent) {
    return fmt::format("{0}for {1}\n{0}  3 load uint16x{2}\n{0}  1 store uint16x{2}\n", indent,
                       kWidth / tile.lanes, tile.lanes);
  };
  const std::string rows = fmt::format("{}", kHeight / 2 - 1);
  EXPECT_EQ(code_of(blur_by_hand(BlurSchedule::sliding, tile, kHeight, kWidth), target_),
            fmt::format("allocate {} uint16\nfor 3\n{}{}for {}\n{}{}call halide_do_par_for 2\n",
                        4 * kWidth, row("  "), row(""), rows, row("  "), row("  ")));
  EXPECT_EQ(halide_blur_code(BlurSchedule::sliding, tile, target_, kHeight, kWidth),
            fmt::format("allocate {} uint16\nfor {}\n{}  if\n{}call halide_do_par_for 2\n",
                        4 * kWidth, kHeight / 2 + 2, row("  "), row("    ")));
}

TEST_P(SameCode, Matmul) {
  const MatmulTile tile = matmul_tile(target_);
  const std::string code = code_of(matmul_by_hand(192, tile), target_);
  EXPECT_EQ(code, halide_matmul_code(192, 192, 192, tile, target_));
  EXPECT_NE(code.find("for 192"), std::string::npos) << code;
}

// Were the comparison blind, the tests above would hold of anything.
TEST_P(SameCode, AnotherTileIsOtherCode) {
  BlurTile higher = blur_tile();
  higher.rows *= 2;
  EXPECT_NE(code_of(blur_by_hand(BlurSchedule::tiles, blur_tile(), kHeight, kWidth), target_),
            halide_blur_code(BlurSchedule::tiles, higher, target_, kHeight, kWidth));
  BlurTile narrower = blur_tile();
  narrower.lanes /= 2;
  EXPECT_NE(code_of(blur_by_hand(BlurSchedule::sliding, blur_tile(), kHeight, kWidth), target_),
            halide_blur_code(BlurSchedule::sliding, narrower, target_, kHeight, kWidth));
}

INSTANTIATE_TEST_SUITE_P(Targets, SameCode, testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v4"));

}  // namespace
}  // namespace emulsion::benchmarks

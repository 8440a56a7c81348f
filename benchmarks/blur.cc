// What our layer adds at run time: the 3x3 box blur of a 16-bit picture, scheduled by hand in
// Emulsion and by hand in Halide.

#include <memory>
#include <utility>
#include <vector>

#include "benchmarks/nest_kernel.h"
#include "benchmarks/peers/halide_blur.h"
#include "benchmarks/peers/hand_schedules.h"
#include "dsl/target.h"
#include "passes/lower/lower.h"

namespace emulsion::benchmarks {
namespace {

constexpr char kMeasures[] =
    "Measures a 3x3 box blur of 4096 x 2880 pixels of 16 bits, scheduled by hand in Emulsion,\n"
    "against the same schedule written in Halide: in tiles, and in strips with a sliding window.";

constexpr int kWidth = 4096, kHeight = 2880;

Report run(const ProgramOptions& options) {
  const Target target = Target::host();
  BlurTile tile;
  tile.lanes = target.vector_lanes(u16);
  std::vector<Comparison> all;
  for (BlurSchedule how : {BlurSchedule::tiles, BlurSchedule::sliding}) {
    const Schedule schedule = blur_by_hand(how, tile, kHeight, kWidth);
    const Values values = values_of(schedule.graph());
    Comparison blur{how == BlurSchedule::tiles ? "tiles" : "sliding", "Mpixel/s",
                    1e-6 * kWidth * kHeight};
    blur.emulsion.call = kernel_call(lower(schedule.graph(), schedule), values);
    auto halide =
        std::make_shared<HalideBlur>(how, tile, target, kHeight, kWidth,
                                     values->data<uint16_t>("in"), values->data<uint16_t>("blur"));
    blur.peers.push_back({"Halide", [halide] { halide->run(); }});
    add_on_one_and_all_threads(blur, values, &all);
  }
  return {measure(all, options)};
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  using namespace emulsion::benchmarks;
  return run_program(argc, argv, {"blur", kMeasures, "--quick --json=/tmp/blur.json", run});
}

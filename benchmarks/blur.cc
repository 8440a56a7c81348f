// What our layer adds at run time: the 3x3 box blur of a 16-bit picture, scheduled by hand in
// Emulsion and by hand in Halide, measured side by side.

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/halide/jit.h"
#include "backends/interpreter/tensor_value.h"
#include "benchmarks/halide_blur.h"
#include "benchmarks/halide_peer.h"
#include "benchmarks/hand_schedules.h"
#include "benchmarks/progress.h"
#include "benchmarks/side_by_side_benchmarks.h"
#include "dsl/error.h"
#include "dsl/target.h"

namespace emulsion::benchmarks {
namespace {

constexpr char kHelp[] =
    "Measures a 3x3 box blur of 4096 x 2880 pixels of 16 bits, scheduled by hand in Emulsion,\n"
    "against the same schedule written in Halide: in tiles, and in strips with a sliding window.\n"
    "Both are compiled into this process for this machine. Prints the table as text and as JSON;\n"
    "losses come first.\n"
    "\n"
    "  bazel run -c opt //benchmarks:blur -- --quick --json=/tmp/blur.json\n"
    "\n";

constexpr int kWidth = 4096, kHeight = 2880;

// One schedule: both kernels, and the data that they share.
class Blur {
 public:
  Blur(BlurSchedule schedule, const BlurTile& tile, const Target& target)
      : emulsion_(blur_by_hand(schedule, tile, kHeight, kWidth), target),
        in_(random_integers(u16, {kHeight + 2, kWidth + 2}, 1, 0, 65535)),
        out_(zeros(u16, {kHeight, kWidth})),
        halide_(schedule, tile, target, kHeight, kWidth, in_.data<uint16_t>(),
                out_.data<uint16_t>()) {
    buffers_["in"] = {in_.dtype, in_.shape, in_.bytes.data()};
    buffers_["blur"] = {out_.dtype, out_.shape, out_.bytes.data()};
  }

  void run_emulsion() { emulsion_.run(buffers_); }
  void run_halide() { halide_.run(); }

  void check() {
    run_halide();
    const TensorValue expected = out_;
    fill_with_poison(&out_);
    run_emulsion();
    const auto difference = first_difference(expected, out_);
    if (difference) fail("the two blurs differ: {}", *difference);
  }

 private:
  JitKernel emulsion_;
  TensorValue in_, out_;  // of both: so neither has the better place in memory
  HalideBlur halide_;
  std::map<std::string, JitBuffer> buffers_;
};

int run(const ProgramOptions& options) {
  check_writable(options);
  const Target target = Target::host();
  BlurTile tile;
  tile.lanes = target.vector_lanes(u16);
  std::vector<KernelPair> pairs;
  for (BlurSchedule schedule : {BlurSchedule::tiles, BlurSchedule::sliding}) {
    const std::string name = schedule == BlurSchedule::tiles ? "tiles" : "sliding";
    announce("compiling and comparing " + name);
    auto blur = std::make_shared<Blur>(schedule, tile, target);
    blur->check();
    for (HalideThreads threads : {HalideThreads::one, HalideThreads::all}) {
      const bool one = threads == HalideThreads::one;
      if (!one && target.cores == 1) continue;
      pairs.push_back({fmt::format("{}/{}", name, one ? "one_thread" : "all_threads"), "Halide",
                       "Mpixel/s", 1e-6 * kWidth * kHeight,
                       [threads] { set_halide_threads(threads); }, [blur] { blur->run_emulsion(); },
                       [blur] { blur->run_halide(); }});
    }
  }
  const std::vector<SideBySide> all = measure_side_by_side(pairs, options);
  return report(options, report_text(all), report_json(all));
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  return emulsion::benchmarks::run_program(argc, argv, "blur", emulsion::benchmarks::kHelp,
                                           emulsion::benchmarks::run);
}

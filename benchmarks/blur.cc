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
#include "benchmarks/progress.h"
#include "benchmarks/side_by_side_benchmarks.h"
#include "dsl/error.h"
#include "dsl/schedule.h"
#include "dsl/target.h"
#include "passes/lower.h"

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

LoopNest scheduled_blur(BlurSchedule how, const BlurTile& tile) {
  Tensor in = input("in", u16, {kHeight + 2, kWidth + 2});
  Axis y("y", kHeight), x("x", kWidth), v("v", kHeight + 2), u("u", kWidth);
  Axis yo("yo"), xo("xo"), yi("yi"), xi("xi");
  Func rows("rows"), blur("blur");
  rows(v, u) = (in(v, u) + in(v, Expr(u) + 1) + in(v, Expr(u) + 2)) / 3;
  blur(y, x) = (rows.at({y, x}) + rows.at({Expr(y) + 1, x}) + rows.at({Expr(y) + 2, x})) / 3;
  Schedule schedule(blur);
  if (how == BlurSchedule::tiles) {
    schedule[blur]
        .tile(y, x, yo, xo, yi, xi, tile.rows, tile.columns)
        .vectorize(xi, tile.lanes)
        .parallel(yo);
    schedule[rows].compute_at(blur, xo).vectorize(u, tile.lanes);
  } else {
    schedule[blur].split(y, yo, yi, tile.rows).vectorize(x, tile.lanes).parallel(yo);
    schedule[rows].store_at(blur, yo).compute_at(blur, yi).vectorize(u, tile.lanes);
  }
  return lower(schedule.graph(), schedule);
}

// One schedule: both kernels, and the data that they share but for their results.
class Blur {
 public:
  Blur(BlurSchedule schedule, const BlurTile& tile, const Target& target)
      : emulsion_(scheduled_blur(schedule, tile), target),
        in_(random_integers(u16, {kHeight + 2, kWidth + 2}, 1, 0, 65535)),
        out_(zeros(u16, {kHeight, kWidth})),
        halide_out_(zeros(u16, {kHeight, kWidth})),
        halide_(schedule, tile, target, kHeight, kWidth, in_.data<uint16_t>(),
                halide_out_.data<uint16_t>()) {
    buffers_["in"] = {in_.dtype, in_.shape, in_.bytes.data()};
    buffers_["blur"] = {out_.dtype, out_.shape, out_.bytes.data()};
  }

  void run_emulsion() { emulsion_.run(buffers_); }
  void run_halide() { halide_.run(); }

  void check() {
    fill_with_poison(&out_);
    run_emulsion();
    run_halide();
    const auto difference = first_difference(halide_out_, out_);
    if (difference) fail("the two blurs differ: {}", *difference);
  }

 private:
  JitKernel emulsion_;
  TensorValue in_, out_, halide_out_;
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
    for (int threads : {1, 0}) {
      if (threads == 0 && target.cores == 1) continue;
      pairs.push_back({fmt::format("{}/{}", name, threads == 1 ? "one_thread" : "all_threads"),
                       double{kWidth} * kHeight, [threads] { set_halide_threads(threads); },
                       [blur] { blur->run_emulsion(); }, [blur] { blur->run_halide(); }});
    }
  }
  const std::vector<SideBySide> all = measure_side_by_side(pairs, options);
  return report(options, report_text(all, "Mpixel/s", 1e-6), report_json(all));
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  using namespace emulsion::benchmarks;
  return run_program(argc, argv, "blur", std::string(kHelp) + kCommonHelp, run);
}

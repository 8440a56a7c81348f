#include "benchmarks/halide_blur.h"

#include "Halide.h"
#include "benchmarks/halide_peer.h"

namespace emulsion::benchmarks {
namespace {

using Halide::Var;

Halide::Func scheduled_blur(BlurSchedule schedule, const BlurTile& tile,
                            const Halide::Buffer<uint16_t>& in) {
  Var x("x"), y("y"), xo("xo"), yo("yo"), xi("xi"), yi("yi");
  Halide::Func rows("rows"), blur("blur");
  rows(x, y) = (in(x, y) + in(x + 1, y) + in(x + 2, y)) / 3;
  blur(x, y) = (rows(x, y) + rows(x, y + 1) + rows(x, y + 2)) / 3;
  if (schedule == BlurSchedule::tiles) {
    blur.tile(x, y, xo, yo, xi, yi, tile.columns, tile.rows).vectorize(xi, tile.lanes).parallel(yo);
    rows.compute_at(blur, xo).vectorize(x, tile.lanes);
  } else {
    blur.split(y, yo, yi, tile.rows).vectorize(x, tile.lanes).parallel(yo);
    rows.store_at(blur, yo).compute_at(blur, yi).vectorize(x, tile.lanes);
  }
  return blur;
}

}  // namespace

struct HalideBlur::Compiled {
  Halide::Buffer<uint16_t> in, out;
  Halide::Pipeline pipeline;
};

HalideBlur::HalideBlur(BlurSchedule schedule, const BlurTile& tile, const Target& target,
                       int height, int width, const uint16_t* in, uint16_t* out)
    : compiled_(std::make_unique<Compiled>()) {
  calling_halide("the blur", [&] {
    compiled_->in =
        Halide::Buffer<uint16_t>(const_cast<uint16_t*>(in), {width + 2, height + 2}, "in");
    compiled_->out = Halide::Buffer<uint16_t>(out, {width, height}, "out");
    Halide::Func blur = scheduled_blur(schedule, tile, compiled_->in);
    blur.output_buffer().dim(0).set_bounds(0, width).dim(1).set_bounds(0, height);
    compiled_->pipeline = Halide::Pipeline(blur);
    compiled_->pipeline.compile_jit(Halide::Target(target.to_string()));
  });
}

HalideBlur::~HalideBlur() = default;

void HalideBlur::run() {
  calling_halide("the blur", [&] { compiled_->pipeline.realize(compiled_->out); });
}

}  // namespace emulsion::benchmarks

#include "benchmarks/peers/halide_blur.h"

#include "Halide.h"
#include "benchmarks/peers/halide_code.h"
#include "benchmarks/peers/halide_peer.h"

namespace emulsion::benchmarks {
namespace {

using Halide::Var;

// The blur of a picture that is known by its extents.
struct Pipeline {
  Halide::ImageParam in{Halide::UInt(16), 2, "in"};
  Halide::Func blur{"blur"};

  Pipeline(BlurSchedule schedule, const BlurTile& tile, int height, int width) {
    Var x("x"), y("y"), xo("xo"), yo("yo"), xi("xi"), yi("yi");
    Halide::Func rows("rows");
    rows(x, y) = (in(x, y) + in(x + 1, y) + in(x + 2, y)) / 3;
    blur(x, y) = (rows(x, y) + rows(x, y + 1) + rows(x, y + 2)) / 3;
    if (schedule == BlurSchedule::tiles) {
      blur.tile(x, y, xo, yo, xi, yi, tile.columns, tile.rows).vectorize(xi, tile.lanes);
      rows.compute_at(blur, xo).store_in(Halide::MemoryType::Stack);
    } else {
      blur.split(y, yo, yi, tile.rows).vectorize(x, tile.lanes);
      rows.store_at(blur, yo).compute_at(blur, yi);
    }
    blur.parallel(yo);
    rows.vectorize(x, tile.lanes);
    expect_dense(in, {width + 2, height + 2});
    expect_dense(blur.output_buffer(), {width, height});
  }
};

}  // namespace

struct HalideBlur::Compiled {
  Halide::Buffer<uint16_t> in, out;
  Halide::Callable blur;
};

HalideBlur::HalideBlur(BlurSchedule schedule, const BlurTile& tile, const Target& target,
                       int height, int width, const uint16_t* in, uint16_t* out)
    : compiled_(std::make_unique<Compiled>()) {
  calling_halide("the blur", [&] {
    compiled_->in = dense(in, {width + 2, height + 2});
    compiled_->out = dense(out, {width, height});
    Pipeline pipeline(schedule, tile, height, width);
    compiled_->blur =
        pipeline.blur.compile_to_callable({pipeline.in}, Halide::Target(target.to_string()));
  });
}

HalideBlur::~HalideBlur() = default;

void HalideBlur::run() {
  running_halide("the blur", [&] { return compiled_->blur(compiled_->in, compiled_->out); });
}

std::string halide_blur_code(BlurSchedule schedule, const BlurTile& tile, const Target& target,
                             int height, int width) {
  std::string code;
  calling_halide("the blur", [&] {
    Pipeline pipeline(schedule, tile, height, width);
    code = loops_and_accesses(
        pipeline.blur.compile_to_module({pipeline.in}, "blur", without_queries(target)));
  });
  return code;
}

}  // namespace emulsion::benchmarks

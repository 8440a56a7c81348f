#include "benchmarks/peers/halide_matmul.h"

#include <vector>

#include "Halide.h"
#include "benchmarks/peers/halide_code.h"
#include "benchmarks/peers/halide_peer.h"
#include "dsl/error.h"

namespace emulsion::benchmarks {
namespace {

using Halide::Var;

// A product that is known by its extents, and its arguments, the innermost dimension first.
struct Pipeline {
  std::vector<int> x_extents, w_extents, y_extents;
  Halide::ImageParam x{Halide::Float(32), 2, "x"}, w;
  Halide::Func y{"y"};

  Pipeline(int m, int n, int k, WeightLayout layout, const MatmulTile& tile) {
    if (n % tile.columns != 0 || tile.columns % tile.lanes != 0) {
      fail("a product of {} columns: expected whole tiles of {} in vectors of {}", n, tile.columns,
           tile.lanes);
    }
    const int columns = static_cast<int>(tile.columns);
    x_extents = {k, m};
    w_extents = layout == WeightLayout::packed ? std::vector<int>{columns, k, n / columns}
                                               : std::vector<int>{k, n};
    y_extents = {n, m};
    w = Halide::ImageParam(Halide::Float(32), static_cast<int>(w_extents.size()), "w");
    define(k, layout, tile);
    expect_dense(x, x_extents);
    expect_dense(w, w_extents);
    expect_dense(y.output_buffer(), y_extents);
  }

 private:
  void define(int depth, WeightLayout layout, const MatmulTile& tile) {
    const int rows = static_cast<int>(tile.rows), columns = static_cast<int>(tile.columns);
    const int lanes = static_cast<int>(tile.lanes);
    Var m("m"), n("n"), mo("mo"), mi("mi"), no("no"), ni("ni"), lane("lane"), d("d");
    Halide::RDom k(0, depth, "k");
    Halide::Func sums("sums"), panel("panel");
    const bool packed = layout == WeightLayout::packed;
    panel(n, d) = packed ? w(n % columns, d, n / columns) : w(d, n);
    sums(n, m) = 0.0F;
    sums(n, m) += x(k, m) * panel(n, k);
    y(n, m) = sums(n, m);

    y.split(m, mo, mi, rows)
        .split(n, no, ni, columns)
        .reorder(ni, mi, mo, no)
        .split(ni, ni, lane, lanes)
        .vectorize(lane)
        .unroll(ni)
        .unroll(mi)
        .parallel(no);
    sums.compute_at(y, mo).store_in(Halide::MemoryType::Register);
    sums.reorder(n, m).vectorize(n).unroll(m);
    if (tile.is_apart) {
      sums.update().split(n, n, lane, lanes).reorder(lane, n, m, k).vectorize(lane).unroll(n);
    } else {
      sums.update().reorder(n, m, k).vectorize(n);
    }
    sums.update().unroll(m);
    if (!packed) panel.compute_at(y, no).vectorize(n, lanes);
  }
};

}  // namespace

struct HalideMatmul::Compiled {
  Halide::Buffer<float> x, w, y;
  Halide::Callable product;
};

HalideMatmul::HalideMatmul(int m, int n, int k, WeightLayout layout, const MatmulTile& tile,
                           const Target& target, const float* x, const float* w, float* y)
    : compiled_(std::make_unique<Compiled>()) {
  calling_halide("the product", [&] {
    Pipeline pipeline(m, n, k, layout, tile);
    compiled_->x = dense(x, pipeline.x_extents);
    compiled_->w = dense(w, pipeline.w_extents);
    compiled_->y = dense(y, pipeline.y_extents);
    compiled_->product = pipeline.y.compile_to_callable({pipeline.x, pipeline.w},
                                                        Halide::Target(target.to_string()));
  });
}

HalideMatmul::~HalideMatmul() = default;

void HalideMatmul::run() {
  running_halide("the product",
                 [&] { return compiled_->product(compiled_->x, compiled_->w, compiled_->y); });
}

std::string halide_matmul_code(int m, int n, int k, const MatmulTile& tile, const Target& target) {
  std::string code;
  calling_halide("the product", [&] {
    Pipeline pipeline(m, n, k, WeightLayout::packed, tile);
    code = loops_and_accesses(
        pipeline.y.compile_to_module({pipeline.x, pipeline.w}, "product", without_queries(target)));
  });
  return code;
}

}  // namespace emulsion::benchmarks

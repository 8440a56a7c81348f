#include "benchmarks/halide_matmul.h"

#include <string>
#include <vector>

#include "Halide.h"
#include "benchmarks/halide_peer.h"
#include "dsl/error.h"

namespace emulsion::benchmarks {
namespace {

using Halide::Var;

// A dense row-major matrix or panel, whose innermost dimension is Halide's first.
Halide::Buffer<float> view(const float* data, const std::vector<int>& innermost_first) {
  return Halide::Buffer<float>(const_cast<float*>(data), innermost_first);
}

Halide::Func scheduled_matmul(const Halide::Buffer<float>& x, const Halide::Buffer<float>& w,
                              const MatmulTile& tile) {
  const int rows = static_cast<int>(tile.rows), columns = static_cast<int>(tile.columns);
  const int lanes = static_cast<int>(tile.lanes);
  Var m("m"), n("n"), mo("mo"), mi("mi"), no("no"), ni("ni"), lane("lane");
  Halide::RDom k(0, x.dim(0).extent(), "k");
  Halide::Func sums("sums"), y("y");
  sums(n, m) = 0.0F;
  sums(n, m) += x(k, m) * w(n % columns, k, n / columns);
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
  sums.update().reorder(n, m, k).vectorize(n).unroll(m);
  return y;
}

}  // namespace

struct HalideMatmul::Compiled {
  Halide::Buffer<float> y;
  Halide::Pipeline pipeline;
};

HalideMatmul::HalideMatmul(int64_t m, int64_t n, int64_t k, const MatmulTile& tile,
                           const Target& target, const float* x, const float* packed_w, float* y)
    : compiled_(std::make_unique<Compiled>()) {
  if (m % tile.rows != 0 || n % tile.columns != 0 || tile.columns % tile.lanes != 0) {
    fail("a product of {} x {} sums: expected whole tiles of {} x {} in vectors of {}", m, n,
         tile.rows, tile.columns, tile.lanes);
  }
  const int rows = static_cast<int>(m), columns = static_cast<int>(n), depth = static_cast<int>(k);
  const int panel = static_cast<int>(tile.columns);
  calling_halide("the product", [&] {
    compiled_->y = view(y, {columns, rows});
    Halide::Func func = scheduled_matmul(view(x, {depth, rows}),
                                         view(packed_w, {panel, depth, columns / panel}), tile);
    func.output_buffer().dim(0).set_bounds(0, columns).dim(1).set_bounds(0, rows);
    compiled_->pipeline = Halide::Pipeline(func);
    compiled_->pipeline.compile_jit(Halide::Target(target.to_string()));
  });
}

HalideMatmul::~HalideMatmul() = default;

void HalideMatmul::run() {
  calling_halide("the product", [&] { compiled_->pipeline.realize(compiled_->y); });
}

}  // namespace emulsion::benchmarks

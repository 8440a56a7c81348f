#include "benchmarks/peers/hand_schedules.h"

namespace emulsion::benchmarks {

Schedule blur_by_hand(BlurSchedule how, const BlurTile& tile, int height, int width) {
  Tensor in = input("in", u16, {height + 2, width + 2});
  Axis y("y", height), x("x", width), v("v", height + 2), u("u", width);
  Axis yo("yo"), xo("xo"), yi("yi"), xi("xi");
  Func rows("rows"), blur("blur");
  rows(v, u) = (in(v, u) + in(v, u + 1) + in(v, u + 2)) / 3;
  blur(y, x) = (rows(y, x) + rows(y + 1, x) + rows(y + 2, x)) / 3;
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
  return schedule;
}

MatmulTile matmul_tile(const Target& target) {
  const int64_t lanes = target.vector_lanes(f32);
  return {target.vector_registers() == 32 ? 12 : 6, 2 * lanes, lanes};
}

Schedule matmul_by_hand(int size, const MatmulTile& tile) {
  Tensor x = input("x", f32, {size, size});
  Tensor w = weight("w", f32, {size, size});
  Axis m("m", size), n("n", size), k("k", size);
  Axis mo("mo"), mi("mi"), no("no"), ni("ni");
  Func y("y");
  y(m, n) = sum(k, x(m, k) * w(k, n));
  Schedule schedule(y);
  schedule[y]
      .cache_write("sums")
      .tile(m, n, mo, no, mi, ni, tile.rows, tile.columns)
      .reorder({ni, mi, mo, no})
      .vectorize(ni, tile.lanes)
      .unroll(ni)
      .unroll(mi)
      .parallel(no);
  schedule["sums"].compute_at(y, mo).store_in(Memory::registers).pack(w, n, tile.columns);
  if (tile.is_apart) {
    Axis nv("nv");
    schedule["sums"].split(n, no, nv, tile.lanes).reorder({nv, no, m, k}).vectorize(nv).unroll(no);
  } else {
    schedule["sums"].reorder({n, m, k}).vectorize(n);
  }
  schedule["sums"].unroll(m);
  return schedule;
}

}  // namespace emulsion::benchmarks

#include "tests/passes/nest/partition_graphs.h"

#include "dsl/operators.h"

namespace emulsion {
namespace {

Expr clamped(const Expr& index, const Extent& extent) {
  return max(min(index, extent_value(extent - Extent(1))), 0);
}

}  // namespace

Schedule doubled(const Extent& extent, Tail tail) {
  const Axis i("i", extent), io("io"), ii("ii");
  Schedule schedule(compute("y", {i}, input("x", f32, {extent})(i) * 2.0f));
  schedule["y"].split(i, io, ii, 4, tail);
  return schedule;
}

Graph stencil(const Extent& extent) {
  const Axis i("i", extent);
  Tensor x = input("x", f32, {extent});
  return Graph(
      compute("y", {i}, x(clamped(Expr(i) - 1, extent)) + x(clamped(Expr(i) + 1, extent))));
}

Graph blur(const Extent& rows, const Extent& columns) {
  const Axis i("i", rows), j("j", columns);
  Tensor x = input("x", f32, {rows, columns});
  Expr value = constant(f32, 0);
  for (int di = -1; di <= 1; ++di) {
    for (int dj = -1; dj <= 1; ++dj) {
      value = value + x(clamped(Expr(i) + di, rows), clamped(Expr(j) + dj, columns));
    }
  }
  return Graph(compute("y", {i, j}, value));
}

Graph turned(const Extent& extent, bool wraps) {
  const Axis i("i", extent);
  const Tensor x = input("x", f32, {extent});
  const Expr n = extent_value(extent);
  const auto at = [&](const Expr& place) {
    if (wraps) return x((place + n) % n);
    return x(clamp(min(abs(place), 2 * n - 2 - abs(place)), 0, n - 1));
  };
  return Graph(compute("y", {i}, at(i - 1) + at(i + 1)));
}

Graph padded_in_turns(const Extent& extent, bool wraps) {
  const Axis i("i", extent + 6);
  const Tensor x = input("x", f32, {extent});
  const Expr n = extent_value(extent), place = i - 3, far = abs(place);
  const Expr at = wraps ? (place + 3 * n) % n : clamp(min(far, 2 * n - 2 - far), 0, n - 1);
  return Graph(compute("y", {i}, select(n > 0, x(at), 0.0f)));
}

Schedule product(const Extent& rows) {
  const Axis m("m", rows), n("n", 10), k("k", 5);
  const Axis io("io"), jo("jo"), ii("ii"), ji("ji");
  Tensor x = input("x", f32, {rows, 5}), w = weight("w", f32, {5, 10});
  Tensor mm = compute("mm", {m, n}, sum(k, x(m, k) * w(k, n)));
  Tensor y = compute("y", {m, n}, max(mm(m, n), 0.0f));
  Schedule schedule(y);
  schedule[y].tile(m, n, io, jo, ii, ji, 6, 4);
  schedule[mm].compute_at(y, jo);
  return schedule;
}

}  // namespace emulsion

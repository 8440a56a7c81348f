// Lesson 3: a matrix product by hand, in four steps from the naive loops to the register tile.
//
//   ./bazelw run //examples/lesson_03_matmul
//
// Each step changes the schedule only, for one reason, and prints what it gains. The number of rows
// is a run-time size: the nests are checked on a few rows and timed on many.

#include <cstdio>
#include <string>
#include <vector>

#include "dsl/emulsion.h"
#include "examples/lesson.h"
using namespace emulsion;

namespace {

constexpr int64_t kColumns = 512, kDepth = 512, kTimedRows = 512;

TensorValues arguments_for(int64_t rows) {
  return {{"x", random_integers(f32, {rows, kDepth}, 1)},
          {"w", random_integers(f32, {kDepth, kColumns}, 2)}};
}

void report_speed(const lesson::Step& step) {
  const double flops = 2.0 * kTimedRows * kColumns * kDepth;
  std::printf("%lld rows: %.1f GF/s\n\n", static_cast<long long>(kTimedRows),
              flops / lesson::seconds(step, arguments_for(kTimedRows)) * 1e-9);
}

void teach() {
  const Extent rows = Extent::size("M");
  Tensor x = input("x", f32, {rows, kDepth});
  Tensor w = weight("w", f32, {kDepth, kColumns});
  Axis m("m", rows), n("n", kColumns), k("k", kDepth);
  Func y("y");
  y(m, n) = sum(k, x(m, k) * w(k, n));

  std::vector<lesson::Trial> trials;
  for (int64_t count : {0, 1, 7})
    trials.push_back(lesson::make_trial(y.tensor(), arguments_for(count)));

  // A dot product for each element: w is walked down its columns, a new cache line every step.
  Schedule naive(y);
  report_speed(lesson::show("1. The definition, loop by loop.", naive, trials));

  // The loops in another order: a row of w is read along, a vector at a time, into a row of y.
  const int lanes = Target::host().vector_lanes(f32);
  Schedule reordered(y);
  reordered[y].reorder({n, k, m}).vectorize(n, lanes);
  report_speed(lesson::show("2. Reordered, so that the innermost loop is a vector along the rows.",
                            reordered, trials));

  // What is read again is read soon: a panel of w and a block of y stay in the cache, and the panel
  // lies in memory in the order in which it is read.
  const int64_t panel = 4 * lanes;
  Axis mo("mo"), mi("mi"), no("no"), ni("ni"), ko("ko"), ki("ki");
  Schedule tiled(y);
  tiled[y]
      .tile(m, n, mo, no, mi, ni, 32, panel)
      .split(k, ko, ki, 128)
      .reorder({ni, ki, mi, ko, mo, no})
      .vectorize(ni, lanes)
      .unroll(ni)
      .pack(w, n, panel);
  report_speed(
      lesson::show("3. Tiled for the caches, the weight packed in panels.", tiled, trials));

  // The sums stay in registers for the whole of k: y is written once, and each value of x and w
  // that is loaded serves a row or a column of the tile. A row of sums is one wide vector.
  const int64_t tile_rows = Target::host().vector_registers() == 32 ? 12 : 6;
  const int64_t tile_columns = 2 * lanes;
  Schedule registers(y);
  registers[y]
      .cache_write("acc")
      .tile(m, n, mo, no, mi, ni, tile_rows, tile_columns)
      .reorder({ni, mi, mo, no})
      .vectorize(ni, lanes)
      .unroll(ni)
      .unroll(mi)
      .parallel(no);
  registers["acc"]
      .compute_at(y, mo)
      .store_in(Memory::registers)
      .reorder({n, m, k})
      .vectorize(n)
      .unroll(m)
      .pack(w, n, tile_columns);
  report_speed(lesson::show("4. A tile of sums in registers, panels shared by the threads.",
                            registers, trials));
}

}  // namespace

int main(int argc, char** argv) {
  return lesson::run(
      argc, argv, "lesson_03_matmul",
      "A matrix product by hand, in four steps from the naive loops to the register tile.", teach);
}

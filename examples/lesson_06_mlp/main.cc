// Lesson 6: two layers in one nest. The first is computed for the rows that the second is about to
// read, and never goes to memory as a whole.
//
//   ./bazelw run //examples/lesson_06_mlp
//
// Every layer by itself is lesson 3's register tile. What is new is one line: h.compute_at(y, mo).

#include <cstdio>
#include <string>
#include <vector>

#include "dsl/emulsion.h"
#include "examples/lesson.h"
using namespace emulsion;

namespace {

constexpr int64_t kIn = 256, kHidden = 512, kOut = 128, kTimedRows = 1024;

TensorValues arguments_for(int64_t rows) {
  return {{"x", random_integers(f32, {rows, kIn}, 1)},
          {"w1", random_integers(f32, {kIn, kHidden}, 2)},
          {"b1", random_integers(f32, {kHidden}, 3)},
          {"w2", random_integers(f32, {kHidden, kOut}, 4)},
          {"b2", random_integers(f32, {kOut}, 5)}};
}

const Axis m("m"), n("n"), k("k"), mo("mo"), mt("mt"), mi("mi"), no("no"), ni("ni");

// A tile of sums in registers: `layer` in tiles of tile_rows x two vectors, the product it reads at
// each of them, the product's weight in panels. The loop over tiles of rows is `tile`, inside `no`.
void register_tile(StageSchedule* layer, StageSchedule* product, const Tensor& read_by,
                   const Tensor& w, const Axis& rows, const Axis& tile) {
  const Target host = Target::host();
  const int64_t lanes = host.vector_lanes(f32);
  const int64_t tile_rows = host.vector_registers() == 32 ? 12 : 6;
  layer->split(rows, tile, mi, tile_rows)
      .split(n, no, ni, 2 * lanes)
      .reorder({ni, mi, tile, no})
      .vectorize(ni, lanes)
      .unroll(ni)
      .unroll(mi);
  product->compute_at(read_by, tile)
      .store_in(Memory::registers)
      .reorder({n, m, k})
      .vectorize(n)
      .unroll(m)
      .pack(w, n, 2 * lanes);
}

void report_speed(const lesson::Step& step) {
  const double flops = 2.0 * kTimedRows * (kIn * kHidden + kHidden * kOut);
  std::printf("%lld rows: %.1f GF/s\n\n", static_cast<long long>(kTimedRows),
              flops / lesson::seconds(step, arguments_for(kTimedRows)) * 1e-9);
}

void teach() {
  const Extent rows = Extent::size("B");
  Tensor x = input("x", f32, {rows, kIn});
  Tensor w1 = weight("w1", f32, {kIn, kHidden}), b1 = weight("b1", f32, {kHidden});
  Tensor w2 = weight("w2", f32, {kHidden, kOut}), b2 = weight("b2", f32, {kOut});
  Func mm1("mm1"), h("h"), mm2("mm2"), y("y");
  const Axis row("m", rows), hidden("n", kHidden), out("n", kOut);
  const Axis in("k", kIn), over_hidden("k", kHidden);
  mm1(row, hidden) = sum(in, x(row, in) * w1(in, hidden));
  h(row, hidden) = max(mm1(row, hidden) + b1(hidden), 0.0f);
  mm2(row, out) = sum(over_hidden, h(row, over_hidden) * w2(over_hidden, out));
  y(row, out) = mm2(row, out) + b2(out);

  std::vector<lesson::Trial> trials;
  for (int64_t count : {0, 1, 53}) {
    trials.push_back(lesson::make_trial(y.tensor(), arguments_for(count)));
  }

  Schedule layers(y);
  register_tile(&layers[h], &layers[mm1], h, w1, m, mt);
  register_tile(&layers[y], &layers[mm2], y, w2, m, mt);
  layers[h].parallel(no);
  layers[y].parallel(no);
  report_speed(lesson::show("1. Layer by layer: all of h is written, then all of it is read.",
                            layers, trials));

  constexpr int64_t kBlock = 48;  // rows of h that are there at a time: 96 kB
  const Axis within("within");
  Schedule fused(y);
  fused[y].split(m, mo, within, kBlock).parallel(mo);
  register_tile(&fused[y], &fused[mm2], y, w2, within, mt);
  fused[h].compute_at(y, mo);
  register_tile(&fused[h], &fused[mm1], h, w1, m, mt);
  report_speed(lesson::show("2. The first layer at the row blocks of the second.", fused, trials));
}

}  // namespace

int main(int argc, char** argv) { return lesson::run(argc, argv, teach); }

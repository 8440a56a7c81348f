// Lesson 6: two layers in one nest. The first is computed for the rows that the second is about to
// read, and never goes to memory as a whole.
//
//   ./bazelw run //examples/lesson_06_mlp
//
// Every layer by itself is lesson 3's register tile. What is new: h.compute_at(y, block).

#include <cstdio>
#include <string>
#include <vector>

#include "dsl/emulsion.h"
#include "dsl/schedule_idioms.h"
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

const Axis m("m"), n("n"), k("k"), block("block"), within("within");

RegisterTile tile_of_this_machine() {
  const Target host = Target::host();
  const int64_t lanes = host.vector_lanes(f32);
  return {host.vector_registers() == 32 ? 12 : 6, 2 * lanes, lanes};
}

// One layer in register tiles over `rows`, the product that it reads at each tile, the weight in
// panels: lesson 3's last step, said with the idioms.
void tile_layer(Schedule* schedule, const Tensor& layer, const Tensor& product, const Tensor& w,
                const Axis& rows) {
  const RegisterTile tile = tile_of_this_machine();
  const TileLoops loops;
  register_tile((*schedule)[layer], rows, n, tile, loops);
  accumulate_in_registers((*schedule)[product], layer.name(), loops.tile, m, n, {k}, tile)
      .pack(w, n, tile.columns);
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
  tile_layer(&layers, h, mm1, w1, m);
  tile_layer(&layers, y, mm2, w2, m);
  layers[h].parallel(TileLoops().panel);
  layers[y].parallel(TileLoops().panel);
  report_speed(lesson::show("1. Layer by layer: all of h is written, then all of it is read.",
                            layers, trials));

  constexpr int64_t kBlock = 48;  // rows of h that are there at a time: 96 kB
  Schedule fused(y);
  fused[y].split(m, block, within, kBlock).parallel(block);
  tile_layer(&fused, y, mm2, w2, within);
  fused[h].compute_at(y, block);
  tile_layer(&fused, h, mm1, w1, m);
  report_speed(lesson::show("2. The first layer at the row blocks of the second.", fused, trials));
}

}  // namespace

int main(int argc, char** argv) {
  return lesson::run(argc, argv, "lesson_06_mlp",
                     "Two layers in one nest: the first at the rows that the second reads.", teach);
}

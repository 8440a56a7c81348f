// Lesson 4: a convolution with bias and ReLU by hand.
//
//   ./bazelw run //examples/lesson_04_conv
//
// conv2d() pads in an operation of its own, so that the product reads without conditions. By hand,
// all three become one nest: a few padded rows, then tiles of sums in registers, then bias and ReLU
// on their way to memory. The number of images is a run-time size.

#include <cstdio>
#include <vector>

#include "dsl/emulsion.h"
#include "examples/lesson.h"
using namespace emulsion;

namespace {

constexpr int64_t kSide = 28, kChannels = 16, kFilters = 32, kTimedImages = 32;

TensorValues arguments_for(int64_t images) {
  return {{"image", random_integers(f32, {images, kSide, kSide, kChannels}, 1)},
          {"w", random_integers(f32, {3, 3, kChannels, kFilters}, 2)},
          {"b", random_integers(f32, {kFilters}, 3)}};
}

void report_speed(const lesson::Step& step) {
  const double flops = 2.0 * kTimedImages * kSide * kSide * kFilters * 3 * 3 * kChannels;
  std::printf("%lld images: %.1f GF/s\n\n", static_cast<long long>(kTimedImages),
              flops / lesson::seconds(step, arguments_for(kTimedImages)) * 1e-9);
}

void teach() {
  const Extent images = Extent::size("N");
  Tensor image = input("image", f32, {images, kSide, kSide, kChannels});
  Tensor w = weight("w", f32, {3, 3, kChannels, kFilters});
  Tensor b = weight("b", f32, {kFilters});
  Conv2dOptions same;  // as many rows and columns out as in
  same.pad_top = same.pad_bottom = same.pad_left = same.pad_right = 1;
  Tensor conv = conv2d(image, w, same, "conv");  // axes n, y, x, o; sums over ky, kx, c
  Axis n("n", images), row("row", kSide), column("column", kSide), o("o", kFilters);
  Func y("y");
  y(n, row, column, o) = max(conv(n, row, column, o) + b(o), 0.0f);

  std::vector<lesson::Trial> trials;
  for (int64_t count : {0, 1, 2}) {
    trials.push_back(lesson::make_trial(y.tensor(), arguments_for(count)));
  }

  report_speed(lesson::show("1. The definition: pad, convolve, add and clip, one after the other.",
                            Schedule(y), trials));

  const int64_t lanes = Target::host().vector_lanes(f32), filters = 2 * lanes;
  Axis rows("rows"), tile("tile"), along("along"), group("group"), filter("filter");
  Axis out("o"), x("x"), ky("ky"), kx("kx"), c("c"), i3("i3");
  Schedule by_hand(y);
  by_hand[y]
      .fuse(n, row, rows)
      .split(column, tile, along, 6)
      .split(o, group, filter, filters)
      .reorder({filter, along, tile, group, rows})
      .vectorize(filter, lanes)
      .unroll(filter)
      .unroll(along)
      .parallel(rows);
  by_hand[conv]
      .compute_at(y, tile)
      .store_in(Memory::registers)
      .reorder({out, x, c, kx, ky})
      .vectorize(out)
      .unroll(x)
      .pack(w, out, filters);
  by_hand["conv_pad"].compute_at(y, rows).vectorize(i3);
  report_speed(
      lesson::show("2. One nest: three padded rows, tiles of sums, bias and ReLU at the tile.",
                   by_hand, trials));
}

}  // namespace

int main(int argc, char** argv) {
  return lesson::run(argc, argv, "lesson_04_conv",
                     "A convolution with bias and ReLU by hand, in one nest.", teach);
}

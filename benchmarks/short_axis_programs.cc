// Programs over short axes, axes of one step, or axes in another order than memory has.

#include <cstdint>
#include <string>
#include <vector>

#include "benchmarks/peers/plain_pointwise.h"
#include "benchmarks/peers/plain_short_axes.h"
#include "benchmarks/small_programs.h"
#include "dsl/operators.h"

namespace emulsion::benchmarks {
namespace {

SmallProgram channels_first_program(const std::string& name, const Extent& side,
                                    const Extent& channels, const SizeValues& sizes) {
  constexpr int kPictures = 8, kSide = 56, kChannels = 64;
  const Axis n("n", kPictures), c("c", channels), h("h", side), w("w", side);
  const Tensor x = input("x", f32, {kPictures, side, side, channels});
  return {name, Graph(compute("y", {n, c, h, w}, x(n, h, w, c))),
          [](KernelValues& v) {
            plain_channels_first(kPictures, kSide * kSide, kChannels, v.data<float>("x"),
                                 v.data<float>("y"));
          },
          sizes};
}

// y[c, p] = x[p, c]: points to planes of their coordinates, or any matrix.
SmallProgram turned_program(const std::string& name, int64_t rows, int64_t columns,
                            const Extent& count, const Extent& length) {
  return {name,
          Graph(transpose(input("x", f32, {count, length}), {1, 0}, "y")),
          [rows, columns](KernelValues& v) {
            plain_channels_first(1, rows, columns, v.data<float>("x"), v.data<float>("y"));
          },
          {{"N", rows}, {"C", columns}}};
}

// y[c, a, b, i, j] = x[c, 2 * i + a, 2 * j + b]
SmallProgram space_to_depth_program() {
  constexpr int64_t kChannels = 16, kSide = 56;
  const Axis c("c", kChannels), a("a", 2), b("b", 2), i("i", kSide), j("j", kSide);
  const Tensor x = input("x", f32, {kChannels, 2 * kSide, 2 * kSide});
  return {"space_to_depth", Graph(compute("y", {c, a, b, i, j}, x(c, 2 * i + a, 2 * j + b))),
          [](KernelValues& v) {
            plain_space_to_depth(kChannels, kSide, v.data<float>("x"), v.data<float>("y"));
          }};
}

// The largest of seven weighted planes for each of four colours, as pixels.
SmallProgram sums_of_planes_program() {
  constexpr int64_t kSteps = 7, kColours = 4, kPixels = 13543;
  const Axis p("p", kPixels), c("c", kColours), s("s", kSteps);
  const Tensor x = input("x", f32, {kSteps, kColours, kPixels});
  const Tensor w = input("w", f32, {kSteps, kColours});
  return {"sums_of_planes", Graph(compute("y", {p, c}, reduce_max(s, x(s, c, p) * w(s, c)))),
          [](KernelValues& v) {
            plain_sums_of_planes(kSteps, kColours, kPixels, v.data<float>("x"), v.data<float>("w"),
                                 v.data<float>("y"));
          }};
}

// y[i, j, k] = max(r: 3) x[i + r, j, k] of rows of two points of three values.
SmallProgram short_windows_program() {
  constexpr int64_t kCount = 2161, kPoints = 2, kValues = 3;
  const Extent points = Extent::size("P");
  const Axis i("i", kCount), j("j", points), k("k", kValues), r("r", 3);
  const Tensor x = input("x", f32, {kCount + 2, points, kValues});
  return {"window_of_short_rows",
          Graph(compute("y", {i, j, k}, reduce_max(r, x(Expr(i) + r, j, k)))),
          [](KernelValues& v) {
            plain_short_windows(kCount, kPoints * kValues, v.data<float>("x"), v.data<float>("y"));
          },
          {{"P", kPoints}}};
}

SmallProgram short_products_program() {
  constexpr int64_t kRows = 1000, kLength = 15;
  const Tensor x = input("x", u8, {Extent::size("R"), kLength});
  return {"products_of_15_u8",
          Graph(matmul(x, weight("w", u8, {kLength, 1}), "y")),
          [](KernelValues& v) {
            plain_short_products(kRows, kLength, v.data<uint8_t>("x"), v.data<uint8_t>("w"),
                                 v.data<uint8_t>("y"));
          },
          {{"R", kRows}}};
}

SmallProgram twelve_planes_program() {
  constexpr int64_t kPlanes = 12, kPoints = 30000;
  return {"interleave_12_u8",
          Graph(transpose(input("x", u8, {kPlanes, Extent::size("N")}), {1, 0}, "y")),
          [](KernelValues& v) {
            plain_interleave(kPlanes, kPoints, v.data<uint8_t>("x"), v.data<uint8_t>("y"));
          },
          {{"N", kPoints}}};
}

SmallProgram sum_transposed_program() {
  const Axis i("i", kRows), j("j", kColumns);
  const Tensor x = input("x", f32, {kColumns, kRows}), z = input("z", f32, {kColumns, kRows});
  return {"sum_transposed", Graph(compute("y", {i, j}, x(j, i) + z(j, i))), [](KernelValues& v) {
            plain_sum_transposed(kRows, kColumns, v.data<float>("x"), v.data<float>("z"),
                                 v.data<float>("y"));
          }};
}

// Of one channel, as conv2d takes it.
SmallProgram picture_program() {
  constexpr int kHeight = 512, kWidth = 768;
  const Tensor x = input("x", f32, {1, kHeight + 2, kWidth + 2, 1});
  const Tensor w = weight("w", f32, {3, 3, 1, 1});
  return {"conv_one_channel", Graph(conv2d(x, w, {}, "y")), [](KernelValues& v) {
            plain_picture(kHeight, kWidth, v.data<float>("x"), v.data<float>("w"),
                          v.data<float>("y"));
          }};
}

// The last axis is named first.
SmallProgram block_sums_program() {
  constexpr int kBlocks = 100, kHeight = 20, kWidth = 300;
  const Axis i("i", kBlocks), j("j", kHeight), k("k", kWidth);
  const Tensor x = input("x", f32, {kBlocks, kHeight, kWidth});
  return {"block_sums", Graph(compute("y", {i}, sum({k, j}, x(i, j, k)))), [](KernelValues& v) {
            plain_block_sums(kBlocks, kHeight * kWidth, v.data<float>("x"), v.data<float>("y"));
          }};
}

SmallProgram colour_windows_program() {
  constexpr int kCount = 833, kWidth = 20, kColours = 3;
  const Axis n("n", kCount), i("i", kWidth), c("c", kColours), a("a", 7);
  const Tensor x = input("x", f32, {2 * kCount + 7, kWidth, kColours});
  return {"colour_windows", Graph(compute("y", {n, i, c}, sum(a, x(2 * n + a, i, c)))),
          [](KernelValues& v) {
            plain_row_windows(kCount, int64_t{kWidth} * kColours, v.data<float>("x"),
                              v.data<float>("y"));
          }};
}

SmallProgram point_groups_program() {
  constexpr int kCount = 4166;
  const Axis n("n", kCount), i("i", 4), j("j", 3);
  const Tensor x = input("x", f32, {kCount, 4, 3}), w = input("w", f32, {4, 3}),
               c = input("c", f32, {4});
  return {"point_groups", Graph(compute("y", {n, i, j}, x(n, i, j) * w(i, j) + c(i))),
          [](KernelValues& v) {
            plain_point_groups(kCount, v.data<float>("x"), v.data<float>("w"), v.data<float>("c"),
                               v.data<float>("y"));
          }};
}

SmallProgram weighted_rows_program() {
  constexpr int kCount = 961, kHeight = 13, kWidth = 4;
  const Axis n("n", kCount), i("i", kHeight), j("j", kWidth);
  const Tensor x = input("x", f64, {kCount, kHeight, kWidth}), s = input("s", f64, {kCount});
  return {"weighted_rows", Graph(compute("y", {i, j}, sum(n, x(n, i, j) * s(n)))),
          [](KernelValues& v) {
            plain_weighted_rows(kCount, int64_t{kHeight} * kWidth, v.data<double>("x"),
                                v.data<double>("s"), v.data<double>("y"));
          }};
}

// y[i] = sum(j, k) x[i, j, k]
SmallProgram sum_of_pixels_program() {
  constexpr int64_t kCount = 6350, kPixels = 5, kColours = 5;
  const Axis i("i", kCount), j("j", Extent::size("R")), k("k", kColours);
  const Tensor x = input("x", f32, {kCount, j.extent(), kColours});
  return {"sum_of_pixels_run_time",
          Graph(compute("y", {i}, sum({j, k}, x(i, j, k)))),
          [](KernelValues& v) {
            plain_block_sums(kCount, kPixels * kColours, v.data<float>("x"), v.data<float>("y"));
          },
          {{"R", kPixels}}};
}

// y[i] = sum(p, j) x[p, i, j]
SmallProgram sum_short_rows_program() {
  constexpr int64_t kParts = 2, kCount = 60000, kLength = 2;
  const Axis i("i", kCount), p("p", kParts), j("j", Extent::size("R"));
  const Tensor x = input("x", f32, {kParts, kCount, j.extent()});
  return {"sum_short_rows_of_each",
          Graph(compute("y", {i}, sum({p, j}, x(p, i, j)))),
          [](KernelValues& v) {
            plain_sums_of_rows_of_each(kParts, kCount, kLength, v.data<float>("x"),
                                       v.data<float>("y"));
          },
          {{"R", kLength}}};
}

// y[k] = sum(i, j) x[i, j, k] * w[j]
SmallProgram columns_of_groups_program() {
  constexpr int64_t kGroups = 801, kRows = 8, kColumns = 5;
  const Axis i("i", kGroups), j("j", kRows), k("k", kColumns);
  const Tensor x = input("x", f32, {kGroups, kRows, kColumns}), w = input("w", f32, {kRows});
  return {"sum_few_columns_of_groups", Graph(compute("y", {k}, sum({j, i}, x(i, j, k) * w(j)))),
          [](KernelValues& v) {
            plain_columns_of_groups(kGroups, kRows, kColumns, v.data<float>("x"),
                                    v.data<float>("w"), v.data<float>("y"));
          }};
}

// y[p, h, r, i] = x[p, r, h, i] + z[p, h, r, i]
SmallProgram odd_rows_program() {
  constexpr int64_t kPictures = 2, kRows = 62, kHeads = 4, kLength = 25;
  const Axis p("p", kPictures), h("h", kHeads), r("r", kRows), i("i", kLength);
  const Tensor x = input("x", i16, {kPictures, kRows, kHeads, kLength});
  const Tensor z = input("z", i16, {kPictures, kHeads, kRows, kLength});
  return {"odd_rows_of_16_bits", Graph(compute("y", {p, h, r, i}, x(p, r, h, i) + z(p, h, r, i))),
          [](KernelValues& v) {
            plain_heads_in_front(kPictures, kRows, kHeads, kLength, v.data<int16_t>("x"),
                                 v.data<int16_t>("z"), v.data<int16_t>("y"));
          }};
}

// y[i, j, k] = x[k, j, i]
SmallProgram turned_few_rows_program() {
  constexpr int64_t kCount = 36, kWidth = 874, kRows = 5;
  const Axis i("i", kRows), j("j", kWidth), k("k", kCount);
  const Tensor x = input("x", i16, {kCount, kWidth, kRows});
  return {"turned_few_rows", Graph(compute("y", {i, j, k}, x(k, j, i))), [](KernelValues& v) {
            plain_turned(kCount, kWidth, kRows, v.data<int16_t>("x"), v.data<int16_t>("y"));
          }};
}

// y[i, j] = x[count - 1 - i, j]
SmallProgram flipped_pairs_program() {
  constexpr int64_t kCount = 48952;
  const Axis i("i", kCount), j("j", 2);
  const Tensor x = input("x", f32, {kCount, 2});
  return {"flipped_pairs", Graph(compute("y", {i, j}, x(kCount - 1 - i, j))), [](KernelValues& v) {
            plain_flipped_rows(kCount, 2, v.data<float>("x"), v.data<float>("y"));
          }};
}

}  // namespace

std::vector<SmallProgram> short_axis_programs() {
  return {
      channels_first_program("channels_first", 56, 64, {}),
      channels_first_program("channels_first_run_time", Extent::size("S"), Extent::size("C"),
                             {{"S", 56}, {"C", 64}}),
      turned_program("planes_of_points", 30000, 3, 30000, 3),
      turned_program("planes_of_points_run_time", 30000, 3, Extent::size("N"), 3),
      turned_program("transpose_run_time", 1000, 1000, Extent::size("N"), Extent::size("C")),
      twelve_planes_program(),
      space_to_depth_program(),
      sums_of_planes_program(),
      short_windows_program(),
      short_products_program(),
      sum_transposed_program(),
      picture_program(),
      block_sums_program(),
      colour_windows_program(),
      point_groups_program(),
      weighted_rows_program(),
      sum_of_pixels_program(),
      sum_short_rows_program(),
      columns_of_groups_program(),
      odd_rows_program(),
      turned_few_rows_program(),
      flipped_pairs_program(),
  };
}

}  // namespace emulsion::benchmarks

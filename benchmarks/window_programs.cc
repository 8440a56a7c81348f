// Convolutions, poolings and stencils.

#include <memory>
#include <vector>

#include "benchmarks/peers/plain_windows.h"
#include "benchmarks/small_programs.h"
#include "dsl/operators.h"

namespace emulsion::benchmarks {
namespace {

constexpr int kHeight = 512, kWidth = 768;  // of the pictures
constexpr int kOddWidth = 602;              // no whole number of vectors

SmallProgram conv_program(const std::string& name, const PlainWindow& window) {
  const Tensor x = input(
      "x", f32, {1, window.height + window.size - 1, window.width + window.size - 1, window.in});
  const Tensor w =
      weight("w", f32, {window.size, window.size, window.in / window.groups, window.out});
  Conv2dOptions options;
  options.groups = static_cast<int>(window.groups);
  return {name, Graph(conv2d(x, w, options, "y")), [window](KernelValues& v) {
            plain_conv(window, v.data<float>("x"), v.data<float>("w"), v.data<float>("y"));
          }};
}

SmallProgram depthwise_program() {
  constexpr int kSize = 64, kChannels = 64;
  const Tensor x = input("x", f32, {1, kSize + 2, kSize + 2, kChannels});
  const Tensor w = weight("w", f32, {3, 3, 1, kChannels});
  Conv2dOptions options;
  options.groups = kChannels;
  return {"conv_depthwise", Graph(conv2d(x, w, options, "y")), [](KernelValues& v) {
            plain_depthwise(kSize, kSize, kChannels, v.data<float>("x"), v.data<float>("w"),
                            v.data<float>("y"));
          }};
}

// At every second place; how many there are is known at run time only.
SmallProgram strided_program() {
  constexpr int kSize = 64, kChannels = 32;
  const Extent size = Extent::size("S"), channels = Extent::size("C");
  const Axis i("i", size), j("j", size), c("c", channels), a("a", 3), b("b", 3);
  const Tensor x = input("x", f32, {size * 2 + 1, size * 2 + 1, channels});
  const Tensor w = input("w", f32, {3, 3, channels});
  const Expr value = x(2 * i + a, 2 * j + b, c) * w(a, b, c);
  return {"depthwise_strided_run_time",
          Graph(compute("y", {i, j, c}, sum({a, b}, value))),
          [](KernelValues& v) {
            plain_depthwise_strided(kSize, kSize, kChannels, v.data<float>("x"), v.data<float>("w"),
                                    v.data<float>("y"));
          },
          {{"S", kSize}, {"C", kChannels}}};
}

SmallProgram dilated_program() {
  const Tensor x = input("x", f32, {kHeight + 4, kWidth + 4}), w = input("w", f32, {3, 3});
  const Axis i("i", kHeight), j("j", kWidth), a("a", 3), b("b", 3);
  const Expr value = x(i + 2 * a, j + 2 * b) * w(a, b);
  return {"conv_dilated", Graph(compute("y", {i, j}, sum({a, b}, value))), [](KernelValues& v) {
            plain_dilated(kHeight, kWidth, v.data<float>("x"), v.data<float>("w"),
                          v.data<float>("y"));
          }};
}

// Of eight neighbours the most, or their sum.
template <typename Combine, typename Plain>
SmallProgram neighbours_program(const std::string& name, const Extent& count,
                                const SizeValues& sizes, Combine combine, Plain plain) {
  const Tensor x = input("x", f32, {count + 7});
  const Axis i("i", count), k("k", 8);
  return {name, Graph(compute("y", {i}, combine(k, x(i + k)))),
          [=](KernelValues& v) {
            plain(count.evaluate(sizes), v.data<float>("x"), v.data<float>("y"));
          },
          sizes};
}

// A signal through a filter of fifteen taps.
SmallProgram filter_program(const std::string& name, const Extent& count, const SizeValues& sizes) {
  constexpr int kTaps = 15;
  const Tensor x = input("x", f32, {count + (kTaps - 1)}), h = input("h", f32, {kTaps});
  const Axis i("i", count), k("k", kTaps);
  return {name, Graph(compute("y", {i}, sum(k, x(i + k) * h(k)))),
          [=](KernelValues& v) {
            plain_filter(count.evaluate(sizes), v.data<float>("x"), v.data<float>("h"),
                         v.data<float>("y"));
          },
          sizes};
}

// A step that makes labels of connected pixels the same.
SmallProgram labels_program() {
  constexpr int kRowsOfLabels = 120, kColumnsOfLabels = 161;
  const Axis i("i", kRowsOfLabels), j("j", kColumnsOfLabels);
  const Tensor x = input("x", i32, {kRowsOfLabels, kColumnsOfLabels});
  const Tensor mask = input("mask", bool_, {kRowsOfLabels, kColumnsOfLabels});
  const auto beside = [&](int down, int right) {
    const Expr row = clamp(i + down, 0, kRowsOfLabels - 1);
    const Expr column = clamp(j + right, 0, kColumnsOfLabels - 1);
    return select(mask(row, column), x(row, column), x(i, j));
  };
  const Expr least = min(min(beside(-1, 0), beside(1, 0)), min(beside(0, -1), beside(0, 1)));
  return {"masked_neighbours",
          Graph(compute("y", {i, j}, select(mask(i, j), min(x(i, j), least), x(i, j)))),
          [](KernelValues& v) {
            plain_labels(kRowsOfLabels, kColumnsOfLabels, v.data<int32_t>("x"),
                         v.data<uint8_t>("mask"), v.data<int32_t>("y"));
          }};
}

// The most of a square of nine pixels.
SmallProgram square_max_program(const std::string& name, const Extent& height, const Extent& width,
                                const SizeValues& sizes) {
  const Tensor x = input("x", f32, {height + 2, width + 2});
  const Axis i("i", height), j("j", width), a("a", 3), b("b", 3);
  return {name, Graph(compute("y", {i, j}, reduce_max({a, b}, x(i + a, j + b)))),
          [=](KernelValues& v) {
            plain_square_max(height.evaluate(sizes), width.evaluate(sizes), v.data<float>("x"),
                             v.data<float>("y"));
          },
          sizes};
}

// Sums of large windows of a picture of a run-time size.
SmallProgram box_program() {
  constexpr int kSize = 15, kLow = 128, kNarrow = 300;
  const Axis i("i", Extent::size("H")), j("j", Extent::size("W")), a("a", kSize), b("b", kSize);
  const Tensor x = input("x", f32, {i.extent() + (kSize - 1), j.extent() + (kSize - 1)});
  return {"box_run_time",
          Graph(compute("y", {i, j}, sum({a, b}, x(i + a, j + b)))),
          [](KernelValues& v) { plain_box(kLow, kNarrow, v.data<float>("x"), v.data<float>("y")); },
          {{"H", kLow}, {"W", kNarrow}},
          kTolerance};
}

// The most of a few bytes, which is a dilation.
SmallProgram dilate_program() {
  const Axis i("i", Extent::size("H")), j("j", Extent::size("W")), a("a", 3), b("b", 3);
  const Tensor x = input("x", u8, {i.extent() + 2, j.extent() + 2});
  return {"dilate_u8_run_time",
          Graph(compute("y", {i, j}, reduce_max({a, b}, x(i + a, j + b)))),
          [](KernelValues& v) {
            plain_dilate(kHeight, kOddWidth, v.data<uint8_t>("x"), v.data<uint8_t>("y"));
          },
          {{"H", kHeight}, {"W", kOddWidth}}};
}

// The most of nine floats at every second place of some planes, whose rows are short.
SmallProgram max_pool_planes_program() {
  constexpr int kPlanes = 16, kRows = 30, kColumns = 50;
  const Axis p("p", Extent::size("P")), i("i", Extent::size("H")), j("j", Extent::size("W"));
  const Axis a("a", 3), b("b", 3);
  const Tensor x = input("x", f32, {p.extent(), 2 * i.extent() + 1, 2 * j.extent() + 1});
  return {"max_pool_planes_run_time",
          Graph(compute("y", {p, i, j}, reduce_max({a, b}, x(p, 2 * i + a, 2 * j + b)))),
          [](KernelValues& v) {
            plain_max_pool_planes(kPlanes, kRows, kColumns, v.data<float>("x"), v.data<float>("y"));
          },
          {{"P", kPlanes}, {"H", kRows}, {"W", kColumns}}};
}

// The mean of each square of four pixels, of planes.
SmallProgram avg_pool_planes_program(const std::string& name, const Extent& planes,
                                     const Extent& height, const Extent& width,
                                     const SizeValues& sizes) {
  const Axis p("p", planes), i("i", height), j("j", width), a("a", 2), b("b", 2);
  const Tensor x = input("x", f32, {planes, height * 2, width * 2});
  const Tensor s = compute("s", {p, i, j}, sum({a, b}, x(p, 2 * i + a, 2 * j + b)));
  return {name, Graph(mul(s, 0.25F, "y")),
          [=](KernelValues& v) {
            plain_avg_pool_planes(planes.evaluate(sizes), height.evaluate(sizes),
                                  width.evaluate(sizes), v.data<float>("x"), v.data<float>("y"));
          },
          sizes};
}

constexpr int kPooled = 64, kPooledChannels = 32;

template <typename Pool, typename Plain>
SmallProgram pool_program(const std::string& name, Pool pool, Plain plain) {
  const Tensor x = input("x", f32, {1, 2 * kPooled, 2 * kPooled, kPooledChannels});
  PoolOptions options;
  options.window_h = options.window_w = options.stride_h = options.stride_w = 2;
  return {name, Graph(pool(x, options, "y")), [plain](KernelValues& v) {
            plain(kPooled, kPooled, kPooledChannels, v.data<float>("x"), v.data<float>("y"));
          }};
}

SmallProgram blur_program() {
  const Tensor x = input("x", u16, {kHeight + 2, kWidth + 2});
  const Axis above("i", kHeight + 2), i("i", kHeight), j("j", kWidth);
  const Expr third = cast(u16, Expr(3));
  Func t("t"), y("y");
  t(above, j) = (x(above, j) + x(above, j + 1) + x(above, j + 2)) / third;
  y(i, j) = (t(i, j) + t(i + 1, j) + t(i + 2, j)) / third;
  const auto between = std::make_shared<std::vector<uint16_t>>((kHeight + 2) * kWidth);
  return {"blur_u16", Graph(y), [between](KernelValues& v) {
            plain_blur(kHeight, kWidth, v.data<uint16_t>("x"), between->data(),
                       v.data<uint16_t>("y"));
          }};
}

SmallProgram jacobi_program(const std::string& name, const Extent& height, const Extent& width,
                            const SizeValues& sizes) {
  const Tensor x = input("x", f32, {height, width});
  const Axis i("i", height), j("j", width);
  const Expr last_row = height - 1, last_column = width - 1;
  const Expr is_border = i == 0 || i == last_row || j == 0 || j == last_column;
  const Expr mean = (x(i - 1, j) + x(i + 1, j) + x(i, j - 1) + x(i, j + 1)) * 0.25F;
  return {name, Graph(compute("y", {i, j}, select(is_border, x(i, j), mean))),
          [=](KernelValues& v) {
            plain_jacobi(height.evaluate(sizes), width.evaluate(sizes), v.data<float>("x"),
                         v.data<float>("y"));
          },
          sizes};
}

// Neighbours of t weighed 1, 2, 1, along the rows (0) or the columns (1), those at the border taken
// where there are none.
Tensor weighed(const std::string& name, const Tensor& t, int along) {
  const Extent &height = t.shape()[0], &width = t.shape()[1];
  const Axis i("i", height), j("j", width);
  const auto at = [&](int distance) {
    return along == 0 ? t(min(max(i + distance, 0), height - 1), j)
                      : t(i, min(max(j + distance, 0), width - 1));
  };
  return compute(name, {i, j}, at(-1) + t(i, j) * 2.0F + at(1));
}

SmallProgram clamped_program(const std::string& name, const Extent& height, const Extent& width,
                             const SizeValues& sizes) {
  const Tensor x = input("x", f32, {height, width});
  const auto s = std::make_shared<std::vector<float>>(kHeight * kWidth);
  const auto t = std::make_shared<std::vector<float>>(kHeight * kWidth);
  return {name, Graph(weighed("y", weighed("t", weighed("s", x, 0), 1), 0)),
          [s, t](KernelValues& v) {
            plain_clamped(kHeight, kWidth, v.data<float>("x"), s->data(), t->data(),
                          v.data<float>("y"));
          },
          sizes};
}

SmallProgram unsharp_program() {
  const Tensor x = input("x", f32, {kHeight, kWidth});
  const Axis i("i", kHeight), j("j", kWidth);
  const Tensor blurred = weighed("t", weighed("s", x, 0), 1);
  const Expr detail = x(i, j) - blurred(i, j) * 0.0625F;
  const auto s = std::make_shared<std::vector<float>>(kHeight * kWidth);
  return {"unsharp_mask", Graph(compute("y", {i, j}, x(i, j) + detail * 1.5F)),
          [s](KernelValues& v) {
            plain_unsharp(kHeight, kWidth, v.data<float>("x"), s->data(), v.data<float>("y"));
          }};
}

// How much each pixel is a corner, as Harris says.
SmallProgram corners_program(const std::string& name, const Extent& height, const Extent& width,
                             const SizeValues& sizes) {
  const Axis more_i("i", height + 2), more_j("j", width + 2), i("i", height), j("j", width);
  const Axis a("a", 3), b("b", 3);
  const Tensor x = input("x", f32, {height + 4, width + 4});
  const auto at = [&](int64_t down, int64_t right) {
    return x(more_i + int_constant(down), more_j + int_constant(right));
  };
  const Tensor down =
      compute("down", {more_i, more_j},
              at(2, 0) + 2.0F * at(2, 1) + at(2, 2) - at(0, 0) - 2.0F * at(0, 1) - at(0, 2));
  const Tensor along =
      compute("along", {more_i, more_j},
              at(0, 2) + 2.0F * at(1, 2) + at(2, 2) - at(0, 0) - 2.0F * at(1, 0) - at(2, 0));
  const Expr d = down(i + a, j + b), e = along(i + a, j + b);
  const Tensor dd = compute("dd", {i, j}, sum({a, b}, d * d));
  const Tensor ee = compute("ee", {i, j}, sum({a, b}, e * e));
  const Tensor de = compute("de", {i, j}, sum({a, b}, d * e));
  const Expr trace = dd(i, j) + ee(i, j);
  const Expr corner = dd(i, j) * ee(i, j) - de(i, j) * de(i, j) - 0.04F * trace * trace;
  const int64_t rows = height.evaluate(sizes), columns = width.evaluate(sizes);
  const auto first = std::make_shared<std::vector<float>>((rows + 2) * (columns + 2));
  const auto second = std::make_shared<std::vector<float>>((rows + 2) * (columns + 2));
  return {name, Graph(compute("y", {i, j}, corner)),
          [=](KernelValues& v) {
            plain_corners(rows, columns, v.data<float>("x"), first->data(), second->data(),
                          v.data<float>("y"));
          },
          sizes, 1e-3};
}

// A step of diffusion on a torus.
SmallProgram periodic_program(const std::string& name, const Extent& height, const Extent& width,
                              const SizeValues& sizes) {
  const Axis i("i", height), j("j", width);
  const Tensor x = input("x", f32, {height, width});
  const Expr rows = height, columns = width;
  const Expr around = x((i + rows - 1) % rows, j) + x((i + 1) % rows, j) +
                      x(i, (j + columns - 1) % columns) + x(i, (j + 1) % columns);
  return {name, Graph(compute("y", {i, j}, x(i, j) * 0.5F + around * 0.125F)),
          [=](KernelValues& v) {
            plain_periodic(height.evaluate(sizes), width.evaluate(sizes), v.data<float>("x"),
                           v.data<float>("y"));
          },
          sizes};
}

// The least of neighbours along the rows, then the columns, then the most: the pixels at the border
// taken where there are none.
SmallProgram opening_program() {
  const Extent height = Extent::size("H"), width = Extent::size("W");
  const Axis i("i", height), j("j", width), k("k", 5);
  const Tensor x = input("x", u8, {height, width});
  const Expr row = clamp(i + k - 2, 0, height - 1);
  const Expr column = clamp(j + k - 2, 0, width - 1);
  const Tensor s = compute("s", {i, j}, reduce_min(k, x(i, column)));
  const Tensor t = compute("t", {i, j}, reduce_min(k, s(row, j)));
  const Tensor u = compute("u", {i, j}, reduce_max(k, t(i, column)));
  const auto first = std::make_shared<std::vector<uint8_t>>(kHeight * kWidth);
  const auto second = std::make_shared<std::vector<uint8_t>>(kHeight * kWidth);
  return {"opening_run_time",
          Graph(compute("y", {i, j}, reduce_max(k, u(row, j)))),
          [first, second](KernelValues& v) {
            plain_opening(kHeight, kWidth, v.data<uint8_t>("x"), first->data(), second->data(),
                          v.data<uint8_t>("y"));
          },
          {{"H", kHeight}, {"W", kWidth}}};
}

}  // namespace

std::vector<SmallProgram> window_programs() {
  constexpr int kCount = 16384;
  const SizeValues small = {{"H", 30}, {"W", 50}};
  const Extent count = Extent::size("N"), height = Extent::size("H"), width = Extent::size("W");
  const auto most = [](const Axis& k, const Expr& value) { return reduce_max(k, value); };
  const auto total = [](const Axis& k, const Expr& value) { return sum(k, value); };
  return {
      conv_program("conv_1x1", {32, 32, 64, 64, 1}),
      conv_program("conv_3x3", {32, 32, 32, 32, 3}),
      conv_program("conv_grouped", {32, 32, 32, 32, 3, 4}),
      depthwise_program(),
      strided_program(),
      dilated_program(),
      neighbours_program("window_max", kCount, {}, most, plain_window_max),
      neighbours_program("window_max_run_time", count, {{"N", kCount}}, most, plain_window_max),
      neighbours_program("window_sums", kCount, {}, total, plain_window_sums),
      neighbours_program("window_sums_run_time", count, {{"N", kCount}}, total, plain_window_sums),
      labels_program(),
      filter_program("filter", 20001, {}),
      filter_program("filter_run_time", count, {{"N", 20001}}),
      square_max_program("square_max", kHeight, kWidth, {}),
      square_max_program("square_max_run_time", height, width, {{"H", kHeight}, {"W", kWidth}}),
      dilate_program(),
      box_program(),
      max_pool_planes_program(),
      avg_pool_planes_program("avg_pool_planes", 16, 56, 56, {}),
      avg_pool_planes_program("avg_pool_planes_run_time", Extent::size("P"), height, width,
                              {{"P", 16}, {"H", 56}, {"W", 56}}),
      pool_program("max_pool", max_pool, plain_max_pool),
      pool_program("avg_pool", avg_pool, plain_avg_pool),
      blur_program(),
      jacobi_program("jacobi", kHeight, kWidth, {}),
      jacobi_program("jacobi_run_time", height, width, {{"H", kHeight}, {"W", kWidth}}),
      jacobi_program("jacobi_small_run_time", height, width, small),
      clamped_program("clamped_stencils", kHeight, kWidth, {}),
      clamped_program("clamped_stencils_run_time", height, width, {{"H", kHeight}, {"W", kWidth}}),
      periodic_program("periodic", kHeight, kWidth, {}),
      periodic_program("periodic_run_time", height, width, {{"H", kHeight}, {"W", kWidth}}),
      periodic_program("periodic_small_run_time", height, width, small),
      opening_program(),
      unsharp_program(),
      corners_program("corners", kHeight, kWidth, {}),
      corners_program("corners_run_time", height, width, {{"H", kHeight}, {"W", kWidth}})};
}

}  // namespace emulsion::benchmarks

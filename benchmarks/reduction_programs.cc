// Reductions and norms.

#include <memory>
#include <string>
#include <vector>

#include "benchmarks/peers/plain_reductions.h"
#include "benchmarks/small_programs.h"
#include "dsl/operators.h"

namespace emulsion::benchmarks {
namespace {

constexpr int kPoints = 4096;
constexpr double kSumTolerance = 1e-4;  // sums in another order

Tensor matrix(DType dtype = f32) { return input("x", dtype, {kRows, kColumns}); }

SmallProgram sum_rows_program() {
  return {"sum_rows", Graph(sum(matrix(), {1}, false, "y")), [](KernelValues& v) {
            plain_sum_rows(kRows, kColumns, v.data<float>("x"), v.data<float>("y"));
          }};
}

// Of each feature map.
SmallProgram sum_maps_program() {
  constexpr int kMaps = 4096, kSide = 7;
  return {"sum_7x7", Graph(sum(input("x", f32, {kMaps, kSide, kSide}), {1, 2}, false, "y")),
          [](KernelValues& v) {
            plain_sum_rows(kMaps, kSide * kSide, v.data<float>("x"), v.data<float>("y"));
          }};
}

SmallProgram sum_rows_f64_program() {
  return {"sum_rows_f64", Graph(sum(matrix(f64), {1}, false, "y")), [](KernelValues& v) {
            plain_sum_rows(kRows, kColumns, v.data<double>("x"), v.data<double>("y"));
          }};
}

// Rows and columns are known at run time only.
SmallProgram sum_rows_run_time_program() {
  const Tensor x = input("x", f32, {Extent::size("R"), Extent::size("C")});
  return {"sum_rows_run_time",
          Graph(sum(x, {1}, false, "y")),
          [](KernelValues& v) {
            plain_sum_rows(kRows, kColumns, v.data<float>("x"), v.data<float>("y"));
          },
          {{"R", kRows}, {"C", kColumns}}};
}

// The same of bytes, which wrap around, of short rows.
SmallProgram sum_bytes_program() {
  constexpr int kBytesOfRow = 90;
  const Tensor x = input("x", u8, {Extent::size("R"), Extent::size("C")});
  return {"sum_bytes_run_time",
          Graph(sum(x, {1}, false, "y")),
          [](KernelValues& v) {
            plain_sum_rows(kRows, kBytesOfRow, v.data<uint8_t>("x"), v.data<uint8_t>("y"));
          },
          {{"R", kRows}, {"C", kBytesOfRow}}};
}

SmallProgram sum_columns_program() {
  return {"sum_columns", Graph(sum(matrix(), {0}, false, "y")), [](KernelValues& v) {
            plain_sum_columns(kRows, kColumns, v.data<float>("x"), v.data<float>("y"));
          }};
}

SmallProgram sum_columns_run_time_program() {
  const Tensor x = input("x", f32, {Extent::size("R"), Extent::size("C")});
  return {"sum_columns_run_time",
          Graph(sum(x, {0}, false, "y")),
          [](KernelValues& v) {
            plain_sum_columns(kRows, kColumns, v.data<float>("x"), v.data<float>("y"));
          },
          {{"R", kRows}, {"C", kColumns}}};
}

// Of a few matrices, one behind another; all extents are run-time sizes.
SmallProgram sum_first_axis_program() {
  constexpr int kMatrices = 20, kFew = 30, kShort = 50;
  const Tensor x = input("x", f32, {Extent::size("M"), Extent::size("R"), Extent::size("C")});
  return {"sum_first_axis_run_time",
          Graph(sum(x, {0}, false, "y")),
          [](KernelValues& v) {
            plain_sum_columns(kMatrices, kFew * kShort, v.data<float>("x"), v.data<float>("y"));
          },
          {{"M", kMatrices}, {"R", kFew}, {"C", kShort}}};
}

// The most of each column of some matrices of 16-bit numbers.
SmallProgram max_middle_axis_program() {
  constexpr int kMatrices = 40, kFew = 25, kShort = 60;
  const Tensor x = input("x", i16, {Extent::size("M"), Extent::size("R"), Extent::size("C")});
  return {"max_middle_axis_run_time",
          Graph(reduce_max(x, {1}, false, "y")),
          [](KernelValues& v) {
            plain_max_middle(kMatrices, kFew, kShort, v.data<int16_t>("x"), v.data<int16_t>("y"));
          },
          {{"M", kMatrices}, {"R", kFew}, {"C", kShort}}};
}

// Of each place of pictures; numbers, or run-time sizes.
SmallProgram channel_means_program(const std::string& name, const Extent& pictures,
                                   const Extent& height, const Extent& width,
                                   const SizeValues& sizes) {
  constexpr int64_t kChannels = 21;
  const Tensor x = input("x", f32, {pictures, kChannels, height, width});
  return {name, Graph(mean(x, {1}, false, "y")),
          [=](KernelValues& v) {
            plain_channel_means(pictures.evaluate(sizes), kChannels,
                                height.evaluate(sizes) * width.evaluate(sizes), v.data<float>("x"),
                                v.data<float>("y"));
          },
          sizes, kSumTolerance};
}

SmallProgram sum_all_program() {
  return {"sum_all", Graph(sum(matrix(), {0, 1}, false, "y")), [](KernelValues& v) {
            plain_sum_rows(1, kRows * kColumns, v.data<float>("x"), v.data<float>("y"));
          }};
}

// How far predictions are from what they should be: a loss.
SmallProgram squared_error_program(const std::string& name, const Extent& rows,
                                   const SizeValues& sizes) {
  constexpr int kValues = 100;  // of a prediction
  const Tensor apart = input("x", f32, {rows, kValues}) - input("t", f32, {rows, kValues});
  return {name, Graph(mean(apart * apart, {0, 1}, false, "y")),
          [](KernelValues& v) {
            *v.data<float>("y") =
                plain_squared_error(kPoints * kValues, v.data<float>("x"), v.data<float>("t"));
          },
          sizes, kSumTolerance};
}

// Of pictures, each channel by itself: as it is trained.
SmallProgram batch_norm_program(const std::string& name, const Extent& pictures,
                                const SizeValues& sizes) {
  constexpr int64_t kPictures = 8, kSide = 28, kChannels = 64;
  const Tensor x = input("x", f32, {pictures, kSide, kSide, kChannels});
  const Tensor apart = x - mean(x, {0, 1, 2}, true);
  const Tensor variance = mean(apart * apart, {0, 1, 2}, true);
  const auto of_channels = std::make_shared<std::vector<float>>(2 * kChannels);
  return {name, Graph(mul(apart, 1.0F / sqrt(variance + 1e-5F), "y")),
          [of_channels](KernelValues& v) {
            plain_batch_norm(kPictures * kSide * kSide, kChannels, v.data<float>("x"),
                             of_channels->data(), of_channels->data() + kChannels,
                             v.data<float>("y"));
          },
          sizes, kSumTolerance};
}

SmallProgram max_rows_program() {
  return {"max_rows", Graph(reduce_max(matrix(), {1}, false, "y")), [](KernelValues& v) {
            plain_max_rows(kRows, kColumns, v.data<float>("x"), v.data<float>("y"));
          }};
}

// Of each value how many of a few borders it is above.
SmallProgram buckets_program(const std::string& name, const Extent& values,
                             const SizeValues& sizes) {
  constexpr int kBorders = 15;
  const Axis i("i", values), r("r", kBorders);
  const Tensor x = input("x", f32, {values}), border = input("border", f32, {kBorders});
  return {name, Graph(compute("y", {i}, sum(r, cast(i32, x(i) > border(r))))),
          [=](KernelValues& v) {
            plain_buckets(values.evaluate(sizes), kBorders, v.data<float>("x"),
                          v.data<float>("border"), v.data<int32_t>("y"));
          },
          sizes};
}

// The first row at which a column is least, by two reductions.
SmallProgram argmin_columns_program() {
  const Tensor x = matrix();
  const Axis r("r", kRows), c("c", kColumns);
  const Tensor least = reduce_min(x, {0});
  const Expr place = select(x(r, c) == least(c), Expr(r), kRows);
  const auto smallest = std::make_shared<std::vector<float>>(kColumns);
  return {"argmin_columns", Graph(compute("y", {c}, reduce_min(r, place))),
          [smallest](KernelValues& v) {
            plain_argmin_columns(kRows, kColumns, v.data<float>("x"), smallest->data(),
                                 v.data<int32_t>("y"));
          }};
}

// The first column at which a row is greatest; both extents are run-time sizes.
SmallProgram argmax_rows_program(int64_t rows, int64_t columns) {
  const Axis r("r", Extent::size("R")), c("c", Extent::size("C"));
  const Tensor x = input("x", f32, {r.extent(), c.extent()});
  const Tensor most = reduce_max(x, {1});
  const Expr place = select(x(r, c) == most(r), Expr(c), c.extent());
  return {"argmax_rows_run_time",
          Graph(compute("y", {r}, reduce_min(c, place))),
          [=](KernelValues& v) {
            plain_argmax_rows(rows, columns, v.data<float>("x"), v.data<int32_t>("y"));
          },
          {{"R", rows}, {"C", columns}}};
}

// Which of the centres is nearest to each point. `points` and `centres` may be run-time sizes.
SmallProgram nearest_program(const std::string& name, const Extent& points, const Extent& centres,
                             const SizeValues& sizes) {
  const Axis p("p", points), k("k", centres), d("d", 3);
  const Tensor x = input("x", f32, {points, 3}), z = input("z", f32, {centres, 3});
  const Expr difference = x(p, d) - z(k, d);
  const Tensor distance = compute("distance", {p, k}, sum(d, difference * difference));
  const Tensor least = reduce_min(distance, {1});
  const Expr place = select(distance(p, k) == least(p), Expr(k), centres);
  return {name, Graph(compute("y", {p}, reduce_min(k, place))),
          [=](KernelValues& v) {
            plain_nearest(points.evaluate(sizes), centres.evaluate(sizes), v.data<float>("x"),
                          v.data<float>("z"), v.data<int32_t>("y"));
          },
          sizes};
}

// Of each row another input says which class it is of.
SmallProgram one_hot_program(int classes, int columns) {
  constexpr int kSamples = 4096;
  const Axis c("c", classes), d("d", columns), m("m", kSamples);
  const Tensor x = input("x", f32, {kSamples, columns}), which = input("which", i32, {kSamples});
  return {"one_hot_sums",
          Graph(compute("y", {c, d}, sum(m, select(which(m) == Expr(c), x(m, d), 0.0F)))),
          [=](KernelValues& v) {
            plain_sums_by_class(classes, columns, kSamples, v.data<float>("x"),
                                v.data<int32_t>("which"), v.data<float>("y"));
          }};
}

SmallProgram histogram_program() {
  constexpr int kPlaces = 256, kCount = 65536;
  const Axis c("c", kPlaces), m("m", kCount);
  const Tensor which = input("which", i32, {kCount});
  SmallProgram program = {
      "histogram", Graph(compute("y", {c}, sum(m, cast(i32, which(m) == Expr(c))))),
      [](KernelValues& v) {
        plain_histogram(kPlaces, kCount, v.data<int32_t>("which"), v.data<int32_t>("y"));
      }};
  program.fill = [](KernelValues& v) {
    for (int i = 0; i < kCount; ++i) v.data<int32_t>("which")[i] = i * 37 % 251;
  };
  return program;
}

SmallProgram lengths_program() {
  constexpr int kCount = 20000;
  const Axis p("p", kCount), d("d", 3);
  const Tensor x = input("x", f32, {kCount, 3});
  return {"lengths_of_points", Graph(compute("y", {p}, sum(d, x(p, d) * x(p, d)))),
          [](KernelValues& v) { plain_lengths(kCount, v.data<float>("x"), v.data<float>("y")); }};
}

SmallProgram softmax_program() {
  return {"softmax",
          Graph(softmax(matrix(), -1, "y")),
          [](KernelValues& v) {
            plain_softmax(kRows, kColumns, v.data<float>("x"), v.data<float>("y"));
          },
          {},
          kSumTolerance};
}

SmallProgram layer_norm_program() {
  const Tensor x = matrix();
  const Tensor gamma = weight("gamma", f32, {kColumns}), beta = weight("beta", f32, {kColumns});
  return {"layer_norm",
          Graph(layer_norm(x, gamma, beta, 1e-5, "y")),
          [](KernelValues& v) {
            plain_layer_norm(kRows, kColumns, v.data<float>("x"), v.data<float>("gamma"),
                             v.data<float>("beta"), v.data<float>("y"));
          },
          {},
          kSumTolerance};
}

// Of channels of pictures, as frameworks write it: a group of channels is a row.
SmallProgram group_norm_program() {
  constexpr int kPictures = 4, kGroups = 8, kChannels = 8, kSide = 28;
  constexpr int kValues = kChannels * kSide * kSide;
  const Shape pictures = {kPictures, kGroups * kChannels, kSide, kSide};
  const Tensor rows = reshape(input("x", f32, pictures), {kPictures, kGroups, kValues});
  const Tensor apart = rows - mean(rows, {2}, true);
  const Tensor variance = mean(apart * apart, {2}, true);
  return {"group_norm",
          Graph(reshape(apart / sqrt(variance + 1e-5F), pictures, "y")),
          [](KernelValues& v) {
            plain_group_norm(kPictures * kGroups, kValues, v.data<float>("x"), v.data<float>("y"));
          },
          {},
          kSumTolerance};
}

SmallProgram rms_norm_program() {
  const Tensor x = matrix(), gamma = weight("gamma", f32, {kColumns});
  return {"rms_norm",
          Graph(rms_norm(x, gamma, 1e-5, "y")),
          [](KernelValues& v) {
            plain_rms_norm(kRows, kColumns, v.data<float>("x"), v.data<float>("gamma"),
                           v.data<float>("y"));
          },
          {},
          kSumTolerance};
}

// The same with channels last.
SmallProgram group_norm_last_program() {
  constexpr int kPictures = 4, kGroups = 8, kChannels = 8, kPlaces = 28 * 28;
  const Tensor x = input("x", f32, {kPictures, kPlaces, kGroups, kChannels});
  const Tensor apart = x - mean(x, {1, 3}, true);
  const Tensor variance = mean(apart * apart, {1, 3}, true);
  const auto of_groups = std::make_shared<std::vector<float>>(2 * kGroups);
  return {"group_norm_last",
          Graph(div(apart, sqrt(variance + 1e-5F), "y")),
          [of_groups](KernelValues& v) {
            plain_group_norm_last(kPictures, kPlaces, kGroups, kChannels, v.data<float>("x"),
                                  of_groups->data(), of_groups->data() + kGroups,
                                  v.data<float>("y"));
          },
          {},
          kSumTolerance};
}

}  // namespace

std::vector<SmallProgram> reduction_programs() {
  const Extent points = Extent::size("P"), centres = Extent::size("K");
  const Extent pictures = Extent::size("B"), height = Extent::size("H"), width = Extent::size("W");
  constexpr int64_t kPictures = 4, kSide = 64;
  return {sum_rows_program(),
          sum_maps_program(),
          sum_rows_f64_program(),
          sum_rows_run_time_program(),
          sum_bytes_program(),
          sum_columns_program(),
          sum_columns_run_time_program(),
          sum_first_axis_program(),
          max_middle_axis_program(),
          channel_means_program("channel_means", kPictures, kSide, kSide, {}),
          channel_means_program("channel_means_run_time", pictures, height, width,
                                {{"B", kPictures}, {"H", kSide}, {"W", kSide}}),
          sum_all_program(),
          squared_error_program("squared_error", kPoints, {}),
          squared_error_program("squared_error_run_time", Extent::size("P"), {{"P", kPoints}}),
          batch_norm_program("batch_norm_training", 8, {}),
          batch_norm_program("batch_norm_training_run_time", Extent::size("B"), {{"B", 8}}),
          max_rows_program(),
          one_hot_program(10, 16),
          histogram_program(),
          lengths_program(),
          softmax_program(),
          layer_norm_program(),
          rms_norm_program(),
          group_norm_program(),
          group_norm_last_program(),
          buckets_program("buckets", kRows * kColumns, {}),
          buckets_program("buckets_run_time", Extent::size("N"), {{"N", kRows * kColumns}}),
          argmin_columns_program(),
          argmax_rows_program(kPoints, 8),
          nearest_program("nearest_of_4", kPoints, 4, {}),
          nearest_program("nearest_of_16", kPoints, 16, {}),
          nearest_program("nearest_run_time", points, centres, {{"P", kPoints}, {"K", 4}})};
}

}  // namespace emulsion::benchmarks

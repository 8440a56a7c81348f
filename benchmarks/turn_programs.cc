// Programs that read by turns or around a ring: rotated rows, larger pictures, shuffled pixels.

#include <cstdint>
#include <string>
#include <vector>

#include "benchmarks/peers/plain_turns.h"
#include "benchmarks/small_programs.h"
#include "dsl/operators.h"

namespace emulsion::benchmarks {
namespace {

constexpr int64_t kRowsHere = 240, kColumnsHere = 333;
constexpr int64_t kColoursOfPixel = 3;
const Extent kRowsOfPicture = Extent::size("H"), kColumnsOfPicture = Extent::size("W");
const SizeValues kSizesHere = {{"H", kRowsHere}, {"W", kColumnsHere}};

SmallProgram rotated_rows_program() {
  const Axis i("i", kRowsOfPicture), j("j", kColumnsOfPicture);
  const Tensor x = input("x", f32, {kRowsOfPicture, kColumnsOfPicture});
  const Tensor down = input("down", i32, {}), right = input("right", i32, {});
  const Expr value =
      x((i + down()) % Expr(kRowsOfPicture), (j + right()) % Expr(kColumnsOfPicture));
  SmallProgram program = {"rotated_rows_run_time", Graph(compute("y", {i, j}, value)),
                          [](KernelValues& v) {
                            plain_rotated_rows(kRowsHere, kColumnsHere, *v.data<int32_t>("down"),
                                               *v.data<int32_t>("right"), v.data<float>("x"),
                                               v.data<float>("y"));
                          },
                          kSizesHere};
  program.fill = [](KernelValues& v) {
    *v.data<int32_t>("down") = 17;
    *v.data<int32_t>("right") = -33;
  };
  return program;
}

SmallProgram enlarged_program(const std::string& name, int times) {
  const Axis i("i", times * kRowsOfPicture), j("j", times * kColumnsOfPicture),
      c("c", kColoursOfPixel);
  const Tensor x = input("x", u8, {kRowsOfPicture, kColumnsOfPicture, kColoursOfPixel});
  return {name, Graph(compute("y", {i, j, c}, x(i / times, j / times, c))),
          [times](KernelValues& v) {
            plain_enlarged(kRowsHere, kColumnsHere, times, v.data<uint8_t>("x"),
                           v.data<uint8_t>("y"));
          },
          kSizesHere};
}

SmallProgram bilinear_program() {
  const Axis i("i", 2 * kRowsOfPicture), j("j", 2 * kColumnsOfPicture), c("c", kColoursOfPixel);
  const Tensor x = input("x", u8, {kRowsOfPicture, kColumnsOfPicture, kColoursOfPixel});
  const auto at = [&](const Expr& row, const Expr& column) {
    return cast(i32, x(clamp(row, 0, Expr(kRowsOfPicture) - 1),
                       clamp(column, 0, Expr(kColumnsOfPicture) - 1), c));
  };
  const Expr row = (i - 1) / 2, column = (j - 1) / 2;
  const Expr below = select(i % 2 == 0, 3, 1), behind = select(j % 2 == 0, 3, 1);
  const auto along = [&](const Expr& of) {
    return at(of, column) * (4 - behind) + at(of, column + 1) * behind;
  };
  const Expr sum = along(row) * (4 - below) + along(row + 1) * below;
  return {"bilinear_run_time", Graph(compute("y", {i, j, c}, cast(u8, (sum + 8) / 16))),
          [](KernelValues& v) {
            plain_bilinear(kRowsHere, kColumnsHere, v.data<uint8_t>("x"), v.data<uint8_t>("y"));
          },
          kSizesHere};
}

SmallProgram demosaic_program() {
  const Extent rows = 2 * kRowsOfPicture, columns = 2 * kColumnsOfPicture;
  const Axis i("i", rows), j("j", columns), c("c", kColoursOfPixel);
  const Tensor x = input("x", u16, {rows, columns});
  const auto at = [&](int down, int right) {
    return cast(i32, x(clamp(i + down, 0, Expr(rows) - 1), clamp(j + right, 0, Expr(columns) - 1)));
  };
  const Expr own = at(0, 0), beside = (at(0, -1) + at(0, 1)) / 2;
  const Expr over = (at(-1, 0) + at(1, 0)) / 2;
  const Expr cross = (at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1)) / 4;
  const Expr corners = (at(-1, -1) + at(-1, 1) + at(1, -1) + at(1, 1)) / 4;
  const Expr even_row = i % 2 == 0, even = j % 2 == 0;
  const Expr red = select(even_row, select(even, own, beside), select(even, over, corners));
  const Expr green = select(even_row, select(even, cross, own), select(even, own, cross));
  const Expr blue = select(even_row, select(even, corners, over), select(even, beside, own));
  const Expr colour = select(c == 0, red, select(c == 1, green, blue));
  return {"demosaic_run_time", Graph(compute("y", {i, j, c}, cast(u16, colour))),
          [](KernelValues& v) {
            plain_demosaic(kRowsHere, kColumnsHere, v.data<uint16_t>("x"), v.data<uint16_t>("y"));
          },
          kSizesHere};
}

// As frameworks write it, or as one read.
SmallProgram pixel_shuffle_program(const std::string& name, bool by_operators) {
  const Tensor x = input("x", f32, {kRowsHere, kColumnsHere, 4 * kColoursOfPixel});
  const Axis i("i", 2 * kRowsHere), j("j", 2 * kColumnsHere), c("c", kColoursOfPixel);
  const Tensor apart = reshape(x, {kRowsHere, kColumnsHere, kColoursOfPixel, 2, 2});
  const Tensor y = by_operators
                       ? reshape(transpose(apart, {0, 3, 1, 4, 2}),
                                 {2 * kRowsHere, 2 * kColumnsHere, kColoursOfPixel}, "y")
                       : compute("y", {i, j, c}, x(i / 2, j / 2, c * 4 + i % 2 * 2 + j % 2));
  return {name, Graph(y), [](KernelValues& v) {
            plain_pixel_shuffle(kRowsHere, kColumnsHere, v.data<float>("x"), v.data<float>("y"));
          }};
}

}  // namespace

std::vector<SmallProgram> turn_programs() {
  return {rotated_rows_program(),
          enlarged_program("enlarged_2_run_time", 2),
          enlarged_program("enlarged_3_run_time", 3),
          bilinear_program(),
          demosaic_program(),
          pixel_shuffle_program("pixel_shuffle", false),
          pixel_shuffle_program("pixel_shuffle_by_operators", true)};
}

}  // namespace emulsion::benchmarks

// Programs in which something depends on columns, or on groups of them, alone.

#include <string>
#include <vector>

#include "benchmarks/peers/plain_columns.h"
#include "benchmarks/small_programs.h"
#include "dsl/operators.h"

namespace emulsion::benchmarks {
namespace {

constexpr int kPixels = 40 * 44, kPictures = 4, kChannels = 32;

// Batch norm at inference as it is written by hand, in one expression.
SmallProgram norm_by_hand_program(const std::string& name, int rows, int columns) {
  const Extent count = Extent::size("N");
  const Axis n("n", count), c("c", columns);
  const Tensor x = input("x", f32, {count, columns}), mean = input("mean", f32, {columns}),
               gamma = input("gamma", f32, {columns}), var = input("var", f32, {columns}),
               beta = input("beta", f32, {columns});
  const Expr value = (x(n, c) - mean(c)) * (gamma(c) / sqrt(abs(var(c)) + 1e-5f)) + beta(c);
  return {name,
          Graph(compute("y", {n, c}, value)),
          [=](KernelValues& v) {
            plain_norm_by_hand(rows, columns, v.data<float>("x"), v.data<float>("mean"),
                               v.data<float>("gamma"), v.data<float>("var"), v.data<float>("beta"),
                               v.data<float>("y"));
          },
          {{"N", rows}},
          kTolerance};
}

SmallProgram scaled_by_exp_program() {
  const Extent rows = Extent::size("N"), columns = Extent::size("C");
  const Axis n("n", rows), c("c", columns);
  const Tensor x = input("x", f32, {rows, columns}), g = input("g", f32, {columns});
  return {"scaled_by_exp",
          Graph(compute("y", {n, c}, x(n, c) * exp(g(c)))),
          [](KernelValues& v) {
            plain_scaled_by_exp(kRows, kColumns, v.data<float>("x"), v.data<float>("g"),
                                v.data<float>("y"));
          },
          {{"N", kRows}, {"C", kColumns}},
          kTolerance};
}

}  // namespace

std::vector<SmallProgram> column_programs() {
  return {
      norm_by_hand_program("norm_by_hand", kRows, kColumns),
      norm_by_hand_program("norm_by_hand_channels", kPictures * kPixels, kChannels),
      scaled_by_exp_program(),
  };
}

}  // namespace emulsion::benchmarks

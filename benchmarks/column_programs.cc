// Programs in which something depends on columns, or on groups of them, alone.

#include <string>
#include <vector>

#include "benchmarks/peers/plain_columns.h"
#include "benchmarks/small_programs.h"
#include "dsl/operators.h"

namespace emulsion::benchmarks {
namespace {

constexpr int kPlanePixels = 40 * 44, kPlanes = 4, kPlaneChannels = 32;

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

// The sizes of a group of channels, and of pixels in one picture.
constexpr int kGroup = 4, kGroups = kPlaneChannels / kGroup;

// Group norm as frameworks write it: pictures are reshaped to groups, and back.
SmallProgram reshaped_group_norm_program() {
  const Extent count = Extent::size("N");
  const Tensor x = input("x", f32, {count, 40, 44, kPlaneChannels});
  const Tensor r = reshape(x, {count, kPlanePixels, kGroups, kGroup});
  const Tensor centred = sub(r, mean(r, {1, 3}, true));
  const Tensor variance = mean(mul(centred, centred), {1, 3}, true);
  const Tensor normal = div(centred, sqrt(add(variance, 1e-5f)));
  const Tensor back = reshape(normal, x.shape());
  const Tensor gamma = input("gamma", f32, {kPlaneChannels}),
               beta = input("beta", f32, {kPlaneChannels});
  return {"group_norm_reshaped",
          Graph(add(mul(back, gamma), beta, "y")),
          [](KernelValues& v) {
            plain_group_norm(kPlanes, kPlanePixels, kGroups, kGroup, v.data<float>("x"),
                             v.data<float>("gamma"), v.data<float>("beta"), v.data<float>("y"));
          },
          {{"N", kPlanes}},
          1e-3};
}

// Pictures, reshaped to groups and back, less a number for each group.
SmallProgram less_of_groups_program() {
  const Extent count = Extent::size("N");
  const Tensor x = input("x", f32, {count, kPlanePixels, kPlaneChannels});
  const Tensor m = input("m", f32, {count, 1, kGroups, 1});
  const Tensor r = reshape(x, {count, kPlanePixels, kGroups, kGroup});
  return {"less_of_groups",
          Graph(reshape(sub(r, m), x.shape(), "y")),
          [](KernelValues& v) {
            plain_less_of_groups(kPlanes, kPlanePixels, kGroups, kGroup, v.data<float>("x"),
                                 v.data<float>("m"), v.data<float>("y"));
          },
          {{"N", kPlanes}}};
}

}  // namespace

std::vector<SmallProgram> column_programs() {
  return {
      norm_by_hand_program("norm_by_hand", kRows, kColumns),
      norm_by_hand_program("norm_by_hand_channels", kPlanes * kPlanePixels, kPlaneChannels),
      scaled_by_exp_program(),
      reshaped_group_norm_program(),
      less_of_groups_program(),
  };
}

}  // namespace emulsion::benchmarks

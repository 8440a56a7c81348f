// Reductions and norms.

#include "benchmarks/peers/plain_reductions.h"
#include "benchmarks/small_programs.h"
#include "dsl/operators.h"

namespace emulsion::benchmarks {
namespace {

constexpr int kRows = 256, kColumns = 1024;
constexpr double kTolerance = 1e-4;  // sums in another order

Tensor matrix(DType dtype = f32) { return input("x", dtype, {kRows, kColumns}); }

SmallProgram sum_rows_program() {
  return {"sum_rows", Graph(sum(matrix(), {1}, false, "y")), [](KernelValues& v) {
            plain_sum_rows(kRows, kColumns, v.data<float>("x"), v.data<float>("y"));
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

SmallProgram sum_all_program() {
  return {"sum_all", Graph(sum(matrix(), {0, 1}, false, "y")), [](KernelValues& v) {
            plain_sum_rows(1, kRows * kColumns, v.data<float>("x"), v.data<float>("y"));
          }};
}

SmallProgram max_rows_program() {
  return {"max_rows", Graph(reduce_max(matrix(), {1}, false, "y")), [](KernelValues& v) {
            plain_max_rows(kRows, kColumns, v.data<float>("x"), v.data<float>("y"));
          }};
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

SmallProgram lengths_program() {
  constexpr int kPoints = 20000;
  const Axis p("p", kPoints), d("d", 3);
  const Tensor x = input("x", f32, {kPoints, 3});
  return {"lengths_of_points", Graph(compute("y", {p}, sum(d, x(p, d) * x(p, d)))),
          [](KernelValues& v) { plain_lengths(kPoints, v.data<float>("x"), v.data<float>("y")); }};
}

SmallProgram softmax_program() {
  return {"softmax",
          Graph(softmax(matrix(), -1, "y")),
          [](KernelValues& v) {
            plain_softmax(kRows, kColumns, v.data<float>("x"), v.data<float>("y"));
          },
          {},
          kTolerance};
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
          kTolerance};
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
          kTolerance};
}

}  // namespace

std::vector<SmallProgram> reduction_programs() {
  return {sum_rows_program(),    sum_rows_f64_program(),         sum_rows_run_time_program(),
          sum_columns_program(), sum_columns_run_time_program(), sum_all_program(),
          max_rows_program(),    one_hot_program(10, 16),        lengths_program(),
          softmax_program(),     layer_norm_program(),           rms_norm_program()};
}

}  // namespace emulsion::benchmarks

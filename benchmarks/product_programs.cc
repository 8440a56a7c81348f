// Products of matrices, and what is made of them.

#include <algorithm>
#include <vector>

#include "benchmarks/peers/plain_pointwise.h"
#include "benchmarks/peers/plain_reductions.h"
#include "benchmarks/small_programs.h"
#include "dsl/operators.h"

namespace emulsion::benchmarks {
namespace {

// x * w, w a weight.
template <typename T>
SmallProgram matmul_program(const std::string& name, int64_t m, int64_t n, int64_t k) {
  const DType dtype = dtype_of<T>();
  const Tensor x = input("x", dtype, {m, k}), w = weight("w", dtype, {k, n});
  return {name, Graph(matmul(x, w, "y")), [=](KernelValues& v) {
            plain_matmul(m, n, k, v.data<T>("x"), v.data<T>("w"), v.data<T>("y"));
          }};
}

SmallProgram matrix_vector_program() {
  constexpr int kRows = 1024, kColumns = 1024;
  const Tensor x = input("x", f32, {kRows, kColumns}), w = input("w", f32, {kColumns});
  return {"matrix_vector", Graph(matmul(x, w, "y")), [](KernelValues& v) {
            plain_matrix_vector(kRows, kColumns, v.data<float>("x"), v.data<float>("w"),
                                v.data<float>("y"));
          }};
}

// A few rows times a matrix that is no weight; of a run-time number where `name` says so.
SmallProgram few_rows_program(const std::string& name, const Extent& rows, int64_t count) {
  constexpr int kSteps = 1024, kColumns = 1024;
  const Tensor x = input("x", f32, {rows, kSteps}), w = input("w", f32, {kSteps, kColumns});
  return {name, Graph(matmul(x, w, "y")),
          [count](KernelValues& v) {
            plain_matmul(count, kColumns, kSteps, v.data<float>("x"), v.data<float>("w"),
                         v.data<float>("y"));
          },
          rows.is_constant() ? SizeValues() : SizeValues{{"M", count}}};
}

// Both are inputs, and how many columns there are is known at run time only.
SmallProgram run_time_columns_program() {
  constexpr int kRows = 128, kSteps = 64, kColumns = 512;
  const Tensor x = input("x", f32, {kRows, kSteps});
  const Tensor w = input("w", f32, {kSteps, Extent::size("N")});
  return {"matmul_run_time_columns",
          Graph(matmul(x, w, "y")),
          [](KernelValues& v) {
            plain_matmul(kRows, kColumns, kSteps, v.data<float>("x"), v.data<float>("w"),
                         v.data<float>("y"));
          },
          {{"N", kColumns}}};
}

SmallProgram colours_program() {
  constexpr int kPixels = 4096;
  const Tensor x = input("x", f32, {kPixels, 3}), w = input("w", f32, {3, 3});
  return {"matrix_of_colours", Graph(matmul(x, w, "y")), [](KernelValues& v) {
            plain_colours(kPixels, v.data<float>("x"), v.data<float>("w"), v.data<float>("y"));
          }};
}

// `pixels` may be a run-time size.
SmallProgram four_colours_program(const std::string& name, const Extent& pixels,
                                  const SizeValues& sizes) {
  const Tensor x = input("x", f32, {pixels, 4}), w = weight("w", f32, {4, 4});
  return {name, Graph(matmul(x, w, "y")),
          [=](KernelValues& v) {
            plain_four_colours(pixels.evaluate(sizes), v.data<float>("x"), v.data<float>("w"),
                               v.data<float>("y"));
          },
          sizes};
}

SmallProgram points_program(const std::string& name, const Extent& points,
                            const SizeValues& sizes) {
  const Axis p("p", points), i("i", 3), k("k", 3);
  const Tensor x = input("x", f32, {points, 3}), w = input("w", f32, {3, 4});
  const Tensor turned = compute("turned", {p, i}, sum(k, w(i, k) * x(p, k)));
  return {name, Graph(compute("y", {p, i}, turned(p, i) + w(i, 3))),
          [=](KernelValues& v) {
            plain_points(points.evaluate(sizes), v.data<float>("x"), v.data<float>("w"),
                         v.data<float>("y"));
          },
          sizes};
}

SmallProgram distances_program() {
  constexpr int kPoints = 256, kDepth = 64;
  const Tensor x = input("x", f32, {kPoints, kDepth}), z = input("z", f32, {kPoints, kDepth});
  const Axis m("m", kPoints), n("n", kPoints), d("d", kDepth);
  const Expr difference = x(m, d) - z(n, d);
  return {"distances", Graph(compute("y", {m, n}, sum(d, difference * difference))),
          [](KernelValues& v) {
            plain_distances(kPoints, kPoints, kDepth, v.data<float>("x"), v.data<float>("z"),
                            v.data<float>("y"));
          }};
}

SmallProgram batched_matmul_program() {
  constexpr int kBatch = 16, kSize = 64;
  const Tensor x = input("x", f32, {kBatch, kSize, kSize});
  const Tensor w = input("w", f32, {kBatch, kSize, kSize});
  return {"batched_matmul", Graph(matmul(x, w, "y")), [](KernelValues& v) {
            for (int64_t at = 0; at < kBatch * kSize * kSize; at += kSize * kSize) {
              plain_matmul(kSize, kSize, kSize, v.data<float>("x") + at, v.data<float>("w") + at,
                           v.data<float>("y") + at);
            }
          }};
}

// Squares of a picture, each with its cosine transform: all read one small matrix both ways round.
SmallProgram cosines_program() {
  constexpr int kSquares = 300, kSide = 8;
  const Tensor x = input("x", f32, {kSquares, kSide, kSide}), c = input("c", f32, {kSide, kSide});
  const Axis b("b", kSquares), u("u", kSide), v("v", kSide), i("i", kSide), j("j", kSide);
  Func rows("rows"), y("y");
  rows(b, i, v) = sum(j, x(b, i, j) * c(v, j));
  y(b, u, v) = sum(i, c(u, i) * rows(b, i, v));
  return {"cosines", Graph(y), [](KernelValues& values) {
            plain_cosines(kSquares, values.data<float>("x"), values.data<float>("c"),
                          values.data<float>("y"));
          }};
}

SmallProgram small_products_program() {
  constexpr int kBatch = 4096;
  const Tensor x = input("x", f32, {kBatch, 3, 3}), w = input("w", f32, {kBatch, 3, 3});
  return {"batched_3x3", Graph(matmul(x, w, "y")), [](KernelValues& v) {
            plain_small_products(kBatch, v.data<float>("x"), v.data<float>("w"),
                                 v.data<float>("y"));
          }};
}

// Rows of one product are read as more, shorter rows by the next one.
SmallProgram reshaped_product_program() {
  constexpr int kRows = 256, kDepth = 128, kColumns = 512, kHeads = 4, kResults = 64;
  constexpr int kEach = kColumns / kHeads;
  const Tensor x = input("x", f32, {kRows, kDepth}), w = weight("w", f32, {kDepth, kColumns});
  const Tensor v = weight("v", f32, {kEach, kResults});
  const Tensor heads = reshape(matmul(x, w), {kRows * kHeads, kEach});
  const auto between = std::make_shared<std::vector<float>>(kRows * kColumns);
  return {"matmul_reshape_matmul", Graph(matmul(heads, v, "y")), [between](KernelValues& values) {
            plain_matmul(kRows, kColumns, kDepth, values.data<float>("x"), values.data<float>("w"),
                         between->data());
            plain_matmul(kRows * kHeads, kResults, kEach, between->data(), values.data<float>("v"),
                         values.data<float>("y"));
          }};
}

// Self-attention with several heads, from rows of x to the rows of what they say.
SmallProgram attention_program() {
  constexpr int kSteps = 128, kHeads = 4, kDepth = 64, kWidth = kHeads * kDepth;
  const Tensor x = input("x", f32, {kSteps, kWidth});
  const Tensor wq = weight("wq", f32, {kWidth, kWidth}), wk = weight("wk", f32, {kWidth, kWidth});
  const Tensor wv = weight("wv", f32, {kWidth, kWidth}), wo = weight("wo", f32, {kWidth, kWidth});
  const auto heads = [&](const Tensor& w) {
    const Tensor rows = mul(matmul(x, w), 1.0F / 64);  // so that no score is much above the others
    return transpose(reshape(rows, {kSteps, kHeads, kDepth}), {1, 0, 2});
  };
  const Tensor scores = matmul(heads(wq), transpose(heads(wk), {0, 2, 1})) * 0.125F;
  const Tensor said = matmul(softmax(scores), heads(wv));
  const Tensor rows = reshape(transpose(said, {1, 0, 2}), {kSteps, kWidth});
  struct Between {
    std::vector<float> q = std::vector<float>(kSteps * kWidth), k = q, v = q, said = q;
    std::vector<float> scores = std::vector<float>(kSteps);
  };
  const auto between = std::make_shared<Between>();
  return {"attention",
          Graph(matmul(rows, wo, "y")),
          [between](KernelValues& values) {
            const auto project = [&](const char* w, std::vector<float>* result) {
              plain_matmul(kSteps, kWidth, kWidth, values.data<float>("x"), values.data<float>(w),
                           result->data());
              for (float& each : *result) each /= 64;
            };
            project("wq", &between->q);
            project("wk", &between->k);
            project("wv", &between->v);
            plain_attention(kSteps, kHeads, kDepth, between->q.data(), between->k.data(),
                            between->v.data(), between->scores.data(), between->said.data());
            plain_matmul(kSteps, kWidth, kWidth, between->said.data(), values.data<float>("wo"),
                         values.data<float>("y"));
          },
          {},
          1e-4};
}

SmallProgram mlp_program() {
  constexpr int kRows = 64, kDepth = 128, kHidden = 256, kResults = 10;
  const Tensor x = input("x", f32, {kRows, kDepth});
  const Tensor w = weight("w", f32, {kDepth, kHidden}), b = weight("b", f32, {kHidden});
  const Tensor v = weight("v", f32, {kHidden, kResults}), c = weight("c", f32, {kResults});
  const auto between = std::make_shared<std::vector<float>>(kRows * kHidden);
  return {"mlp", Graph(add(matmul(relu(matmul(x, w) + b), v), c, "y")),
          [between](KernelValues& values) {
            plain_matmul(kRows, kHidden, kDepth, values.data<float>("x"), values.data<float>("w"),
                         between->data());
            const auto add_rows = [](int64_t rows, int64_t columns, const float* bias, float* y) {
              for (int64_t r = 0; r < rows; ++r) {
                for (int64_t i = 0; i < columns; ++i) y[r * columns + i] += bias[i];
              }
            };
            add_rows(kRows, kHidden, values.data<float>("b"), between->data());
            for (float& each : *between) each = std::max(each, 0.0F);
            plain_matmul(kRows, kResults, kHidden, between->data(), values.data<float>("v"),
                         values.data<float>("y"));
            add_rows(kRows, kResults, values.data<float>("c"), values.data<float>("y"));
          }};
}

}  // namespace

std::vector<SmallProgram> product_programs() {
  constexpr int64_t kMany = 100000;
  return {matmul_program<float>("matmul", 256, 256, 256),
          matmul_program<float>("matmul_n3", 1024, 3, 512),
          matmul_program<float>("matmul_n15", 1024, 15, 512),
          matmul_program<float>("matmul_m1", 1, 1024, 1024),
          matmul_program<double>("matmul_f64", 128, 128, 128),
          matmul_program<int32_t>("matmul_i32", 128, 128, 128),
          matrix_vector_program(),
          few_rows_program("vector_matrix", 1, 1),
          few_rows_program("two_rows", 2, 2),
          few_rows_program("two_rows_run_time", Extent::size("M"), 2),
          run_time_columns_program(),
          colours_program(),
          four_colours_program("matrix_of_four_colours", kMany, {}),
          four_colours_program("four_colours_run_time", Extent::size("P"), {{"P", kMany}}),
          points_program("points", kMany, {}),
          points_program("points_run_time", Extent::size("P"), {{"P", kMany}}),
          distances_program(),
          batched_matmul_program(),
          small_products_program(),
          cosines_program(),
          reshaped_product_program(),
          attention_program(),
          mlp_program()};
}

}  // namespace emulsion::benchmarks

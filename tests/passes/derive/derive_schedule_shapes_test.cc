// Derived schedules over awkward shapes: whatever the extents, the target and the cores, the nest
// means what the graph means.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/derive/derive_schedule.h"
#include "tests/passes/check_nest.h"

namespace emulsion {
namespace {

constexpr int kExtents[] = {0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65};
constexpr size_t kCount = std::size(kExtents);

const Extent batch = Extent::size("B");

class DeriveShapes : public testing::TestWithParam<const char*> {
 protected:
  Target target_ = Target::parse(GetParam());
};

Graph linear(Extent rows, Extent depth, Extent columns, DType type = f32) {
  Tensor x = input("x", type, {rows, depth});
  Tensor w = weight("w", type, {depth, columns}), b = weight("b", type, {columns});
  return Graph(relu(matmul(x, w) + b));
}

TEST_P(DeriveShapes, Linear) {
  for (size_t i = 0; i < kCount; ++i) {
    for (size_t j = 0; j < kCount; ++j) {
      const Graph graph = linear(kExtents[i], kExtents[(2 * i + j) % kCount], kExtents[j]);
      ASSERT_TRUE(derives(graph, target_));
    }
  }
}

TEST_P(DeriveShapes, LinearOverABatch) {
  for (size_t i = 0; i < kCount; ++i) {
    for (size_t j = 0; j < kCount; j += 3) {
      ASSERT_TRUE(derives(linear(batch, kExtents[(i + j) % kCount], kExtents[i]), target_,
                          {0, 1, 3, 13, 16}));
    }
  }
}

TEST_P(DeriveShapes, LinearOfOtherTypes) {
  for (int columns : kExtents) {
    for (DType type : {f64, i32}) {
      ASSERT_TRUE(derives(linear(5, 9, columns, type), target_));
      ASSERT_TRUE(derives(linear(batch, 9, columns, type), target_, {0, 7}));
    }
  }
}

TEST_P(DeriveShapes, MatmulWithNothingFusedOntoIt) {
  for (size_t i = 0; i < kCount; ++i) {
    const int columns = kExtents[i], rows = kExtents[(i + 4) % kCount];
    ASSERT_TRUE(
        derives(matmul(input("x", f32, {rows, 9}), weight("w", f32, {9, columns})), target_));
    ASSERT_TRUE(
        derives(matmul(input("x", f32, {rows, 9}), input("w", f32, {9, columns})), target_));
    ASSERT_TRUE(derives(matmul(input("x", f32, {batch, 9}), input("w", f32, {9, columns})), target_,
                        {0, 1, 17}));
    ASSERT_TRUE(derives(matmul(input("x", f32, {rows, batch}), input("w", f32, {batch, columns})),
                        target_, {0, 1, 17}));
    ASSERT_TRUE(derives(matmul(input("x", f32, {rows, 9}), input("w", f32, {9, batch})), target_,
                        {0, 1, 17}));
    ASSERT_TRUE(derives(matmul(input("x", f32, {batch, batch}), input("w", f32, {batch, batch})),
                        target_, {0, 1, 9}));
  }
}

TEST_P(DeriveShapes, MatrixTimesVector) {
  for (int extent : kExtents) {
    ASSERT_TRUE(derives(matmul(input("x", f32, {extent, 33}), weight("w", f32, {33})), target_));
    ASSERT_TRUE(derives(matmul(input("x", f32, {33}), weight("w", f32, {33, extent})), target_));
    ASSERT_TRUE(derives(matmul(input("x", f32, {extent}), weight("w", f32, {extent})), target_));
  }
}

TEST_P(DeriveShapes, BatchedMatmul) {
  for (size_t i = 0; i < kCount; ++i) {
    const int n = kExtents[i], m = kExtents[(i + 7) % kCount];
    ASSERT_TRUE(derives(matmul(input("x", f32, {3, m, 5}), weight("w", f32, {3, 5, n})), target_));
    ASSERT_TRUE(
        derives(relu(matmul(input("x", f32, {2, 3, m, 5}), weight("w", f32, {5, n}))), target_));
    ASSERT_TRUE(derives(matmul(input("x", f32, {batch, m, 5}), input("w", f32, {batch, 5, n})),
                        target_, {0, 1, 3}));
  }
}

// Both are inputs, the second by columns: its panels are copied.
TEST_P(DeriveShapes, ProductsByColumns) {
  for (size_t i = 0; i < kCount; ++i) {
    const Axis m("m", kExtents[i] + 12), n("n", kExtents[(i + 3) % kCount]);
    const Axis k("k", kExtents[(i + 7) % kCount]), b("b", batch);
    Tensor x = input("x", f32, {m.extent(), k.extent()});
    Tensor w = input("w", f32, {n.extent(), k.extent()});
    ASSERT_TRUE(derives(relu(compute("mm", {m, n}, sum(k, x(m, k) * w(n, k)))), target_));
    Tensor xs = input("x", f32, {batch, m.extent(), k.extent()});
    Tensor ws = input("w", f32, {n.extent(), k.extent(), batch});
    ASSERT_TRUE(
        derives(compute("mm", {b, m, n}, sum(k, xs(b, m, k) * ws(n, k, b))), target_, {0, 1, 3}));
  }
}

TEST_P(DeriveShapes, TransposedWeights) {
  for (size_t i = 0; i < kCount; ++i) {
    for (const Extent& rows : {Extent(kExtents[(i + 5) % kCount]), batch}) {
      const int columns = kExtents[i], depth = kExtents[(i + 9) % kCount];
      Tensor w = weight("w", f32, {columns, depth}), ws = weight("ws", f32, {2, columns, depth});
      Tensor bias = weight("bias", f32, {columns});
      ASSERT_TRUE(derives(relu(matmul(input("x", f32, {rows, depth}), transpose(w)) + bias),
                          target_, {0, 1, 9}));
      ASSERT_TRUE(derives(matmul(input("x", f32, {2, rows, depth}), transpose(ws, {0, 2, 1})),
                          target_, {0, 1, 9}));
    }
  }
}

TEST_P(DeriveShapes, SumsOverWeightsAsOperands) {
  for (int columns : {1, 8, 17}) {
    const Tensor w = weight("w", f32, {7, columns}), x = input("x", f32, {batch, 7});
    const Tensor of_rows = sum(w, {1}, true), of_all = reduce_min(w, {0, 1}, true);
    ASSERT_TRUE(derives(matmul(x, of_rows), target_, {0, 1, 5}));
    ASSERT_TRUE(derives(matmul(transpose(of_rows), w), target_));
    ASSERT_TRUE(derives(matmul(of_all, weight("v", f32, {1, columns})), target_));
  }
}

TEST_P(DeriveShapes, TwoLayers) {
  for (size_t i = 0; i < kCount; ++i) {
    for (const Extent& rows : {Extent(kExtents[(i + 5) % kCount]), batch}) {
      Tensor x = input("x", f32, {rows, 8});
      const int hidden = kExtents[i], classes = kExtents[(i + 3) % kCount];
      Tensor h = relu(matmul(x, weight("w1", f32, {8, hidden})) + weight("b1", f32, {hidden}));
      Tensor y = matmul(h, weight("w2", f32, {hidden, classes})) + weight("b2", f32, {classes});
      ASSERT_TRUE(derives(y, target_, {0, 1, 9}));
    }
  }
}

TEST_P(DeriveShapes, ConstantWeights) {
  for (int columns : kExtents) {
    std::vector<float> values(static_cast<size_t>(7 * columns));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 5) - 2;
    Tensor w = constant("w", {7, columns}, values);
    ASSERT_TRUE(derives(relu(matmul(input("x", f32, {batch, 7}), w)), target_, {0, 1, 5}));
    Tensor t = constant("t", {columns, 7}, values);
    ASSERT_TRUE(derives(relu(matmul(input("x", f32, {4, 7}), transpose(t))), target_));
  }
}

TEST_P(DeriveShapes, Reductions) {
  for (size_t i = 0; i < kCount; ++i) {
    const Shape shapes[] = {{kExtents[i], 3, kExtents[(i + 4) % kCount]},
                            {batch, kExtents[i], 5},
                            {3, batch, kExtents[i]},
                            {2, kExtents[i], batch}};
    for (const Shape& shape : shapes) {
      Tensor x = input("x", f32, shape);
      for (const std::vector<int>& axes :
           std::vector<std::vector<int>>{{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}}) {
        ASSERT_TRUE(derives(sum(x, axes), target_, {0, 1, 17}));
      }
    }
  }
}

TEST_P(DeriveShapes, OtherReductions) {
  for (int extent : kExtents) {
    Tensor x = input("x", f32, {3, extent + 1});
    ASSERT_TRUE(derives(reduce_max(x, {1}), target_));
    ASSERT_TRUE(derives(reduce_min(x, {0}), target_));
    ASSERT_TRUE(derives(mean(x, {1}), target_));
    ASSERT_TRUE(derives(sum(input("i", i32, {3, extent}), {1}), target_));
    ASSERT_TRUE(derives(sum(input("d", f64, {extent, 3}), {0}), target_));
    ASSERT_TRUE(derives(reduce_max(input("b", f32, {extent, batch}), {1}), target_, {0, 1, 9}));
  }
}

TEST_P(DeriveShapes, SoftmaxAndNormalisations) {
  for (int extent : kExtents) {
    for (const Extent& rows : {Extent(5), batch}) {
      Tensor x = input("x", f32, {rows, extent + 1});
      Tensor gamma = weight("gamma", f32, {extent + 1}), beta = weight("beta", f32, {extent + 1});
      ASSERT_TRUE(derives(softmax(x), target_, {0, 1, 9}, 1e-5));
      ASSERT_TRUE(derives(layer_norm(x, gamma, beta), target_, {0, 1, 9}, 1e-5));
      ASSERT_TRUE(derives(rms_norm(x, gamma), target_, {0, 1, 9}, 1e-5));
    }
    ASSERT_TRUE(derives(softmax(input("x", f32, {extent + 1, 3}), 0), target_, {0}, 1e-5));
    ASSERT_TRUE(
        derives(softmax(input("x", f32, {batch + Extent(1), 3}), 0), target_, {0, 9}, 1e-5));
  }
}

TEST_P(DeriveShapes, Convolutions) {
  Conv2dOptions plain, same, strided, dilated, grouped, depthwise;
  same.pad_top = same.pad_bottom = same.pad_left = same.pad_right = 1;
  strided = same;
  strided.stride_h = strided.stride_w = 2;
  dilated.dilation_h = dilated.dilation_w = 2;
  grouped.groups = 2;
  depthwise.groups = 6;
  for (int outputs : {1, 2, 6, 16, 17, 64}) {
    for (const Extent& images : {Extent(2), batch}) {
      Tensor x = input("x", f32, {images, 7, 5, 6});
      for (const Conv2dOptions& options : {plain, same, strided, dilated}) {
        Tensor w = weight("w", f32, {3, 3, 6, outputs});
        ASSERT_TRUE(derives(relu(conv2d(x, w, options)), target_, {0, 1, 2}));
      }
      Tensor w2 = weight("w", f32, {3, 3, 3, 2 * outputs});
      ASSERT_TRUE(derives(conv2d(x, w2, grouped), target_, {0, 2}));
      Tensor b = weight("b", f32, {2 * outputs});
      ASSERT_TRUE(derives(relu(conv2d(x, w2, grouped) + b), target_, {0, 2}));
    }
    Tensor wd = weight("w", f32, {3, 3, 1, 6 * outputs});
    ASSERT_TRUE(derives(relu(conv2d(input("x", f32, {1, 5, 5, 6}), wd, depthwise)), target_));
  }
}

TEST_P(DeriveShapes, ConvolutionOverRunTimeRows) {
  Tensor x = input("x", f32, {1, batch + Extent(2), 5, 3});
  ASSERT_TRUE(derives(conv2d(x, weight("w", f32, {3, 3, 3, 20})), target_, {0, 1, 2, 9}));
}

TEST_P(DeriveShapes, Pools) {
  PoolOptions options;
  options.window_h = options.window_w = 3;
  options.stride_h = options.stride_w = 2;
  options.pad_top = options.pad_left = 1;
  for (int channels : kExtents) {
    Tensor x = input("x", f32, {batch, 7, 6, channels});
    ASSERT_TRUE(derives(max_pool(x, options), target_, {0, 1, 2}));
    ASSERT_TRUE(derives(avg_pool(x, options), target_, {0, 1, 2}, 1e-6));
  }
}

// Vectors go across pixels whose colours are too few for one.
TEST_P(DeriveShapes, Pictures) {
  for (int colours : {1, 2, 3, 4}) {
    for (const Extent& width : {Extent(15), Extent(16), Extent(67), batch}) {
      Tensor x = input("x", f32, {3, width, colours}), u = input("u", u8, {3, width, colours});
      ASSERT_TRUE(derives(relu(x * input("s", f32, {colours})), target_, {0, 1, 17}));
      ASSERT_TRUE(derives(cast(cast(u, f32) * 0.5f + input("e", f32, {3, width, 1}), u8), target_,
                          {0, 1, 17}));
      ASSERT_TRUE(
          derives(transpose(input("p", u8, {colours, 3, width}), {1, 2, 0}), target_, {0, 1, 17}));
      ASSERT_TRUE(derives(reduce_max(u, {0}), target_, {0, 1, 17}));
      ASSERT_TRUE(derives(sum(x, {0, 1}), target_, {0, 1, 17}));
    }
  }
}

TEST_P(DeriveShapes, DataMovement) {
  for (int extent : kExtents) {
    Tensor x = input("x", f32, {batch, extent}), y = input("y", f32, {Extent::size("C"), extent});
    ASSERT_TRUE(derives(transpose(x), target_, {0, 1, 33}));
    ASSERT_TRUE(derives(concat({x, y}, 0), target_, {0, 1, 33}));
    ASSERT_TRUE(derives(concat({x, x * 2}, 1), target_, {0, 1, 33}));
    ASSERT_TRUE(derives(pad(x, {1, 2}, {3, 0}), target_, {0, 1, 33}));
    ASSERT_TRUE(derives(reshape(input("z", f32, {batch, 4, extent}), {batch, 4 * extent}), target_,
                        {0, 1, 5}));
    ASSERT_TRUE(
        derives(slice(input("z", f32, {batch, extent + 3}), {0, 1}, {batch, extent + 3}, {1, 2}),
                target_, {0, 1, 5}));
  }
}

// Rows in blocks: a small cache makes even these lie across too many lines.
TEST_P(DeriveShapes, Transpositions) {
  Target target = target_;
  target.l1_bytes = 8 * 64;
  for (size_t i = 0; i < kCount; ++i) {
    const int rows = kExtents[i], columns = kExtents[(i + 6) % kCount];
    Tensor x = input("x", f32, {columns, rows}), z = input("z", f32, {rows, columns});
    ASSERT_TRUE(derives(transpose(x), target));
    ASSERT_TRUE(derives(relu(transpose(x) + z), target));
    Tensor run_time = input("x", f32, {columns, batch});
    ASSERT_TRUE(derives(transpose(run_time), target, {0, 1, 17}));
    Tensor planes = input("x", f32, {2, columns, 3, rows});
    ASSERT_TRUE(derives(transpose(planes, {0, 3, 2, 1}), target));
    ASSERT_TRUE(derives(transpose(planes, {3, 0, 2, 1}), target));
  }
}

TEST_P(DeriveShapes, WeightSharedByTwoMatmuls) {
  for (int columns : kExtents) {
    Tensor w = weight("w", f32, {6, columns});
    Tensor a = matmul(input("x", f32, {9, 6}), w, "a");
    Tensor b = relu(matmul(input("y", f32, {batch, 6}), w, "b"), "c");
    ASSERT_TRUE(derives(Graph({a, b}), target_, {0, 1, 9}));
  }
}

TEST_P(DeriveShapes, WeightUsedTransposedAndNot) {
  for (int hidden : kExtents) {
    Tensor w = weight("w", f32, {20, hidden});
    Tensor h = relu(matmul(input("x", f32, {batch, 20}), w));
    ASSERT_TRUE(derives(matmul(h, transpose(w)), target_, {0, 1, 9}));
    const Axis m("m", batch), n("n", 20), k("k", hidden);
    ASSERT_TRUE(derives(compute("y", {m, n}, sum(k, h(m, k) * w(n, k))), target_, {0, 1, 9}));
  }
}

TEST_P(DeriveShapes, Residuals) {
  for (int columns : kExtents) {
    Tensor x = input("x", f32, {batch, columns});
    Tensor h = relu(matmul(x, weight("w", f32, {columns, columns})) + x);
    ASSERT_TRUE(derives(h + x * h, target_, {0, 1, 9}));
    Tensor twice = matmul(h, weight("v", f32, {columns, columns})) + h;
    ASSERT_TRUE(derives(twice, target_, {0, 1, 9}));
  }
}

TEST_P(DeriveShapes, SeveralOutputsAndOneThatIsRead) {
  for (int columns : kExtents) {
    Tensor x = input("x", f32, {batch, 7});
    Tensor mm = matmul(x, weight("w", f32, {7, columns}));
    Tensor y = relu(mm + weight("b", f32, {columns}));
    ASSERT_TRUE(derives(Graph({mm, y}), target_, {0, 1, 9}));
    ASSERT_TRUE(derives(Graph({y, y * 2, sum(y, {0})}), target_, {0, 1, 9}));
  }
}

TEST_P(DeriveShapes, Scalars) {
  Tensor x = input("x", f32, {});
  ASSERT_TRUE(derives(relu(x + 1), target_));
  ASSERT_TRUE(derives(sum(input("v", f32, {batch}), {0}) * x, target_, {0, 1, 9}));
}

INSTANTIATE_TEST_SUITE_P(Targets, DeriveShapes,
                         testing::Values("x86-64-linux,cores=1", "x86-64-linux,cores=4",
                                         "x86-64-v3,cores=1", "x86-64-v3,cores=4",
                                         "x86-64-v4,cores=1", "x86-64-v4,cores=4"));

}  // namespace
}  // namespace emulsion

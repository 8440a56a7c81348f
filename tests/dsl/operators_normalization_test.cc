#include <cmath>

#include "tests/dsl/operators_cases.h"

namespace emulsion {
namespace {

const Extent kB = Extent::size("B");

Tensor batch_norm_with(const Shape& x, const Shape& mean, int axis = -1, double eps = 1e-5) {
  return batch_norm(in(x), in(mean, f32, "mean"), in({3}, f32, "variance"), in({3}, f32, "gamma"),
                    in({3}, f32, "beta"), eps, axis);
}

INSTANTIATE_TEST_SUITE_P(
    Normalization, Shapes,
    ::testing::ValuesIn(std::vector<ShapeCase>{
        {"Softmax",
         [] {
           return softmax(in({kB, 10}));
         },
         "f32[B, 10]"},
        {"SoftmaxAlongTheFirst",
         [] {
           return softmax(in({5, 10}, f64), 0);
         },
         "f64[5, 10]"},
        {"SoftmaxAlongTheBatch",
         [] {
           return softmax(in({kB, 10}), -2);
         },
         "f32[B, 10]"},
        {"SoftmaxOfNothing",
         [] {
           return softmax(in({4, 0}));
         },
         "f32[4, 0]"},
        {"SoftmaxOfOneRow", [] { return softmax(in({4})); }, "f32[4]"},
        {"LayerNorm",
         [] {
           return layer_norm(in({kB, 8}), in({8}), in({8}));
         },
         "f32[B, 8]"},
        {"LayerNormOfTwoAxes",
         [] {
           return layer_norm(in({2, 3, 4}, f64), in({3, 4}, f64), in({3, 4}, f64));
         },
         "f64[2, 3, 4]"},
        {"LayerNormOfEverything",
         [] {
           return layer_norm(in({3, 4}), in({3, 4}), in({3, 4}), 0);
         },
         "f32[3, 4]"},
        {"LayerNormOfRunTimeRows",
         [] {
           return layer_norm(in({4, kB}), in({kB}), in({kB}));
         },
         "f32[4, B]"},
        {"RmsNorm",
         [] {
           return rms_norm(in({2, kB, 8}), in({8}));
         },
         "f32[2, B, 8]"},
        {"RmsNormOfTwoAxes",
         [] {
           return rms_norm(in({2, 3, 8}), in({3, 8}));
         },
         "f32[2, 3, 8]"},
        {"BatchNorm",
         [] {
           return batch_norm_with({kB, 8, 8, 3}, {3});
         },
         "f32[B, 8, 8, 3]"},
        {"BatchNormOfChannelsFirst",
         [] {
           return batch_norm_with({kB, 3, 8, 8}, {3}, 1);
         },
         "f32[B, 3, 8, 8]"},
    }),
    case_name<ShapeCase>);

INSTANTIATE_TEST_SUITE_P(
    Normalization, Refusals,
    ::testing::ValuesIn(std::vector<RefusalCase>{
        {"SoftmaxAxis",
         [] {
           return softmax(in({2, 3}), 2);
         },
         {"argument 2 (axis) of softmax: expected an axis from -2 to 1 for rank 2, got 2"}},
        {"SoftmaxOfRankZero", [] { return softmax(in({})); }, {"(axis) of softmax", "rank 0"}},
        {"SoftmaxOfInteger",
         [] { return softmax(in({2}, i32)); },
         {"argument 1 (x) of softmax: expected f32 or f64, got i32"}},
        {"SoftmaxNoKernels", [] { return softmax(without_kernels({2}, bf16)); }, {"got bf16"}},
        {"LayerNormGamma",
         [] {
           return layer_norm(in({2, 8}), in({7}), in({7}));
         },
         {"argument 2 (gamma) of layer_norm: expected [8], the last axes of x [2, 8], got [7]"}},
        {"LayerNormGammaOfRankZero",
         [] {
           return layer_norm(in({2, 8}), in({}), in({}));
         },
         {"argument 2 (gamma) of layer_norm: expected rank 1 to 2"}},
        {"LayerNormGammaOfTooManyAxes",
         [] {
           return layer_norm(in({8}), in({2, 8}), in({2, 8}));
         },
         {"argument 2 (gamma) of layer_norm: expected rank 1 to 1", "got [2, 8]"}},
        {"LayerNormBeta",
         [] {
           return layer_norm(in({2, 8}), in({8}), in({1}));
         },
         {"argument 3 (beta) of layer_norm: expected [8]", "got [1]"}},
        {"LayerNormBetaType",
         [] {
           return layer_norm(in({2, 8}), in({8}), in({8}, f64));
         },
         {"argument 3 (beta) of layer_norm: expected f32, the type of x, got f64"}},
        {"LayerNormNegativeEps",
         [] {
           return layer_norm(in({2, 8}), in({8}), in({8}), -1);
         },
         {"argument 4 (eps) of layer_norm: expected a finite number of 0 or more, got -1"}},
        {"LayerNormOfInteger",
         [] { return layer_norm(in({8}, i32), in({8}, i32), in({8}, i32)); },
         {"argument 1 (x) of layer_norm: expected f32 or f64"}},
        {"RmsNormGamma",
         [] {
           return rms_norm(in({2, kB}), in({8}));
         },
         {"argument 2 (gamma) of rms_norm: expected [B]", "got [8]"}},
        {"RmsNormGammaType",
         [] {
           return rms_norm(in({2, 8}), in({8}, f64));
         },
         {"argument 2 (gamma) of rms_norm: expected f32, the type of x, got f64"}},
        {"RmsNormNanEps",
         [] {
           return rms_norm(in({2, 8}), in({8}), std::nan(""));
         },
         {"argument 3 (eps) of rms_norm"}},
        {"BatchNormMean",
         [] {
           return batch_norm_with({2, 3}, {4});
         },
         {"argument 2 (mean) of batch_norm: expected [3], the extent of axis 1 of x", "got [4]"}},
        {"BatchNormVariance",
         [] {
           return batch_norm(in({2, 3}), in({3}), in({4}), in({3}), in({3}));
         },
         {"argument 3 (variance) of batch_norm: expected [3]", "got [4]"}},
        {"BatchNormBeta",
         [] {
           return batch_norm(in({2, 3}), in({3}), in({3}), in({3}), in({4}));
         },
         {"argument 5 (beta) of batch_norm: expected [3]", "got [4]"}},
        {"BatchNormRank",
         [] {
           return batch_norm_with({2, 3}, {1, 3});
         },
         {"(mean)", "got [1, 3]"}},
        {"BatchNormAxis",
         [] {
           return batch_norm_with({2, 3}, {3}, 2);
         },
         {"argument 7 (axis) of batch_norm: expected an axis from -2 to 1"}},
        {"BatchNormEps",
         [] {
           return batch_norm_with({2, 3}, {3}, 1, INFINITY);
         },
         {"argument 6 (eps) of batch_norm", "got inf"}},
        {"BatchNormUndefined",
         [] { return batch_norm(in({3}), in({3}), in({3}), Tensor(), in({3})); },
         {"argument 4 (gamma) of batch_norm", "undefined"}},
    }),
    case_name<RefusalCase>);

TEST(NormalizationTest, SoftmaxSubtractsTheLargest) {
  Tensor y = softmax(in({2, 5}));
  EXPECT_EQ(body_of(y), "softmax_exp[i0, i1] * (1f / softmax_sum[i0])");
  Tensor powers(y.op()->body->args[0]->tensor);
  EXPECT_EQ(body_of(powers), "exp(x[i0, i1] - softmax_max[i0])");
  Tensor highest(powers.op()->body->args[0]->args[1]->tensor);
  EXPECT_EQ(highest.op()->combiner, Combiner::max);
  EXPECT_EQ(type_and_shape(highest), "f32[2]");
}

TEST(NormalizationTest, StepsAreNamedAfterTheResult) {
  EXPECT_EQ(body_of(softmax(in({5}), 0, "p")), "p_exp[i0] * (1f / p_sum[])");
  // A name that cannot be continued gives its steps the operator's.
  EXPECT_EQ(body_of(softmax(in({5}), 0, "p_")), "softmax_exp[i0] * (1f / softmax_sum[])");
}

TEST(NormalizationTest, RowsAreScaledByOneNumberEach) {
  EXPECT_EQ(body_of(rms_norm(in({2, 5}), in({5}, f32, "g"))),
            "x[i0, i1] * rms_norm_scale[i0] * g[i1]");
  EXPECT_EQ(body_of(layer_norm(in({2, 5}), in({5}, f32, "g"), in({5}, f32, "b"))),
            "(x[i0, i1] - layer_norm_mean[i0]) * layer_norm_scale[i0] * g[i1] + b[i1]");
}

TEST(NormalizationTest, BatchNormScalesChannels) {
  Tensor y = batch_norm_with({2, 3, 8}, {3}, 1);
  EXPECT_EQ(body_of(y), "(x[i0, i1, i2] - mean[i1]) * batch_norm_scale[i1] + beta[i1]");
}

}  // namespace
}  // namespace emulsion

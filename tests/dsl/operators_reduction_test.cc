#include "tests/dsl/operators_cases.h"

namespace emulsion {
namespace {

const Extent kB = Extent::size("B");
const Extent kT = Extent::size("T");

INSTANTIATE_TEST_SUITE_P(Reduction, Shapes,
                         ::testing::ValuesIn(std::vector<ShapeCase>{
                             {"LastAxis",
                              [] {
                                return sum(in({2, 3, 4}), {2});
                              },
                              "f32[2, 3]"},
                             {"NegativeAxis",
                              [] {
                                return sum(in({2, 3, 4}), {-3});
                              },
                              "f32[3, 4]"},
                             {"TwoAxesInAnyOrder",
                              [] {
                                return sum(in({2, 3, 4}), {-1, 0});
                              },
                              "f32[3]"},
                             {"AllAxes",
                              [] {
                                return sum(in({2, 3}, i32), {0, 1});
                              },
                              "i32[]"},
                             {"KeepDims",
                              [] {
                                return sum(in({2, 3, 4}), {1}, true);
                              },
                              "f32[2, 1, 4]"},
                             {"KeepAllDims",
                              [] {
                                return mean(in({2, 3}, f64), {0, 1}, true);
                              },
                              "f64[1, 1]"},
                             {"OverTheBatch",
                              [] {
                                return sum(in({kB, 4}), {0});
                              },
                              "f32[4]"},
                             {"BesideTheBatch",
                              [] {
                                return mean(in({kB, 4}), {1});
                              },
                              "f32[B]"},
                             {"SumOfNothing",
                              [] {
                                return sum(in({0, 4}), {0});
                              },
                              "f32[4]"},
                             {"MeanOfNothing",
                              [] {
                                return mean(in({0, 4}), {0});
                              },
                              "f32[4]"},
                             {"MaxOverTheBatch",
                              [] {
                                return reduce_max(in({kB, 4}), {0});
                              },
                              "f32[4]"},
                             {"MaxOfNothingTimesNothing",
                              [] {
                                return reduce_max(in({0, 0}), {1});
                              },
                              "f32[0]"},
                             {"MaxBesideNothing",
                              [] {
                                return reduce_max(in({0, 4}), {1});
                              },
                              "f32[0]"},
                             {"Min",
                              [] {
                                return reduce_min(in({2, 3}, i32), {0});
                              },
                              "i32[3]"},
                         }),
                         case_name<ShapeCase>);

INSTANTIATE_TEST_SUITE_P(
    Reduction, Refusals,
    ::testing::ValuesIn(std::vector<RefusalCase>{
        {"AxisTooLarge",
         [] {
           return sum(in({2, 3}), {2});
         },
         {"argument 2 (axes) of sum: expected an axis from -2 to 1 for rank 2, got 2"}},
        {"AxisTooNegative",
         [] {
           return mean(in({2, 3}), {-3});
         },
         {"(axes) of mean", "got -3"}},
        {"AxisTwice",
         [] {
           return sum(in({2, 3}), {1, 1});
         },
         {"argument 2 (axes) of sum: expected each axis once, got axis 1 twice"}},
        {"AxisTwiceInTwoSpellings",
         [] {
           return reduce_max(in({2, 3}), {0, -2});
         },
         {"(axes) of reduce_max", "got axis 0 twice"}},
        {"NoAxis", [] { return sum(in({2}), {}); }, {"(axes) of sum: expected at least one axis"}},
        {"RankZero", [] { return sum(in({}), {0}); }, {"(axes) of sum", "got axis 0 of rank 0"}},
        {"SumOfBool",
         [] { return sum(in({2}, bool_), {0}); },
         {"argument 1 (x) of sum: expected i8, u8, i16, u16, i32, f32 or f64, got bool"}},
        {"MeanOfInteger",
         [] { return mean(in({2}, i32), {0}); },
         {"argument 1 (x) of mean: expected f32 or f64, got i32; cast it"}},
        {"NoKernels",
         [] { return sum(without_kernels({2}, bf16), {0}); },
         {"(x) of sum", "got bf16"}},
        {"MaxOfNothing",
         [] {
           return reduce_max(in({0, 4}), {0});
         },
         {"argument 2 (axes) of reduce_max: ", "an axis of extent 0 in [0, 4]"}},
        {"MinOfNothing",
         [] {
           return reduce_min(in({4, 0}), {1});
         },
         {"(axes) of reduce_min"}},
        {"MaxOfNothingBesideABatch",
         [] {
           return reduce_max(in({kB, 0}), {1});
         },
         {"an axis of extent 0 in [B, 0]"}},
        {"Undefined", [] { return sum(Tensor(), {0}); }, {"argument 1 (x) of sum", "undefined"}},
        {"Named",
         [] { return sum(in({2}), {5}, false, "total"); },
         {"argument 2 (axes) of sum total: "}},
    }),
    case_name<RefusalCase>);

TEST(ReductionTest, SumIsOneComprehension) {
  Tensor y = sum(in({2, 3, 4}), {0, 2});
  EXPECT_EQ(y.op()->combiner, Combiner::sum);
  ASSERT_EQ(y.op()->reduction_axes.size(), 2u);
  EXPECT_EQ(body_of(y), "x[r0, i1, r2]");
}

TEST(ReductionTest, KeptAxesAreAxesOfExtentOne) {
  Tensor y = sum(in({2, 3}), {1}, true);
  ASSERT_EQ(y.op()->axes.size(), 2u);
  EXPECT_EQ(y.op()->axes[1].extent(), Extent(1));
  EXPECT_EQ(body_of(y), "x[i0, r1]");
}

TEST(ReductionTest, MeanDividesByTheCount) {
  EXPECT_EQ(body_of(mean(in({2, 3, 4}), {1, 2})), "mean_sum[i0] / 12f");
  EXPECT_EQ(body_of(mean(in({0, 4}), {0})), "mean_sum[i1] / 0f");
}

TEST(ReductionTest, MeanOverRunTimeExtentsMultipliesThemAsFloats) {
  EXPECT_EQ(body_of(mean(in({kB, 4}), {0, 1})), "mean_sum[] / (f32(B) * 4f)");
  EXPECT_EQ(body_of(mean(in({kB, kT}), {0, 1})), "mean_sum[] / (f32(B) * f32(T))");
  EXPECT_EQ(body_of(mean(in({kB * 2 + 1}, f64), {0})), "mean_sum[] / f64(2 * B + 1)");
}

TEST(ReductionTest, StepsAreNamedAfterTheResult) {
  Tensor y = mean(in({4}), {0}, false, "average");
  EXPECT_EQ(y.name(), "average");
  EXPECT_EQ(body_of(y), "average_sum[] / 4f");
}

}  // namespace
}  // namespace emulsion

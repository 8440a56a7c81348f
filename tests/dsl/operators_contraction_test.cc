#include "tests/dsl/operators_cases.h"

namespace emulsion {
namespace {

const Extent kB = Extent::size("B");
const Extent kT = Extent::size("T");

Tensor conv(const Shape& x, const Shape& w, const Conv2dOptions& options = {}) {
  return conv2d(in(x), in(w, f32, "w"), options);
}

Conv2dOptions stride(int h, int w) {
  Conv2dOptions options;
  options.stride_h = h;
  options.stride_w = w;
  return options;
}

Conv2dOptions padding(int all) {
  Conv2dOptions options;
  options.pad_top = options.pad_bottom = options.pad_left = options.pad_right = all;
  return options;
}

Conv2dOptions dilation(int h, int w) {
  Conv2dOptions options;
  options.dilation_h = h;
  options.dilation_w = w;
  return options;
}

Conv2dOptions groups(int count) {
  Conv2dOptions options;
  options.groups = count;
  return options;
}

INSTANTIATE_TEST_SUITE_P(Matmul, Shapes,
                         ::testing::ValuesIn(std::vector<ShapeCase>{
                             {"TwoMatrices",
                              [] {
                                return matmul(in({2, 3}), in({3, 4}));
                              },
                              "f32[2, 4]"},
                             {"Batch",
                              [] {
                                return matmul(in({kB, 3}), in({3, 4}));
                              },
                              "f32[B, 4]"},
                             {"Integers",
                              [] {
                                return matmul(in({2, 3}, i32), in({3, 4}, i32));
                              },
                              "i32[2, 4]"},
                             {"BatchedByMatrix",
                              [] {
                                return matmul(in({5, 2, 3}), in({3, 4}));
                              },
                              "f32[5, 2, 4]"},
                             {"BatchesBroadcast",
                              [] {
                                return matmul(in({6, 1, 2, 3}), in({5, 3, 4}));
                              },
                              "f32[6, 5, 2, 4]"},
                             {"RunTimeBatches",
                              [] {
                                return matmul(in({kB, 2, 3}), in({kB, 3, 4}));
                              },
                              "f32[B, 2, 4]"},
                             {"RunTimeColumns",
                              [] {
                                return matmul(in({2, kB}), in({kB, 4}));
                              },
                              "f32[2, 4]"},
                             {"VectorByMatrix",
                              [] {
                                return matmul(in({3}), in({3, 4}));
                              },
                              "f32[4]"},
                             {"VectorByBatch",
                              [] {
                                return matmul(in({3}), in({5, 3, 4}));
                              },
                              "f32[5, 4]"},
                             {"MatrixByVector",
                              [] {
                                return matmul(in({2, 3}), in({3}));
                              },
                              "f32[2]"},
                             {"BatchByVector",
                              [] {
                                return matmul(in({5, 2, 3}), in({3}));
                              },
                              "f32[5, 2]"},
                             {"TwoVectors", [] { return matmul(in({3}), in({3})); }, "f32[]"},
                             {"EmptySum",
                              [] {
                                return matmul(in({2, 0}), in({0, 4}));
                              },
                              "f32[2, 4]"},
                             {"NoRows",
                              [] {
                                return matmul(in({0, 3}), in({3, 4}));
                              },
                              "f32[0, 4]"},
                         }),
                         case_name<ShapeCase>);

INSTANTIATE_TEST_SUITE_P(
    Matmul, Refusals,
    ::testing::ValuesIn(std::vector<RefusalCase>{
        {"Rows",
         [] {
           return matmul(in({128, 256}), in({255, 512}));
         },
         {"argument 2 (b) of matmul: expected 256 rows to match the columns of a [128, 256], got "
          "[255, 512]"}},
        {"RowsOfABatch",
         [] {
           return matmul(in({2, 3}), in({3, 2, 4}));
         },
         {"expected 3 rows"}},
        {"RunTimeRows",
         [] {
           return matmul(in({2, kB}), in({kT, 4}));
         },
         {"expected B rows", "[T, 4]"}},
        {"RunTimeAgainstANumber",
         [] {
           return matmul(in({2, kB}), in({3, 4}));
         },
         {"expected B rows"}},
        {"VectorLength",
         [] {
           return matmul(in({2, 3}), in({4}));
         },
         {"expected 3 rows", "got [4]"}},
        {"NotTransposed",
         [] {
           return matmul(in({3, 2}), in({3}));
         },
         {"expected 2 rows", "got [3]"}},
        {"ScalarA",
         [] { return matmul(in({}), in({3})); },
         {"argument 1 (a) of matmul", "a scalar"}},
        {"ScalarB",
         [] { return matmul(in({3}), in({})); },
         {"argument 2 (b) of matmul", "a scalar"}},
        {"Batches",
         [] {
           return matmul(in({6, 2, 3}), in({5, 3, 4}));
         },
         {"argument 2 (b) of matmul", "[6] of the leading axes of a, got [5]"}},
        {"Types",
         [] {
           return matmul(in({2, 3}), in({3, 4}, i32));
         },
         {"argument 2 (b) of matmul: expected f32, the type of a, got i32"}},
        {"Bool",
         [] {
           return matmul(in({2, 3}, bool_), in({3, 4}, bool_));
         },
         {"argument 1 (a) of matmul: expected i8, u8, i16, u16, i32, f32 or f64, got bool"}},
        {"NoKernels",
         [] {
           return matmul(without_kernels({2, 3}, bf16), without_kernels({3, 4}, bf16));
         },
         {"argument 1 (a) of matmul", "got bf16"}},
        {"TooManyBytes",
         [] {
           return matmul(in({65536, 1}), in({1, 65536}));
         },
         {"result of matmul: expected at most 2147483647 bytes"}},
        {"Undefined", [] { return matmul(in({2}), Tensor()); }, {"(b) of matmul", "undefined"}},
        {"Named",
         [] { return matmul(in({2}), in({3}), "fc1"); },
         {"argument 2 (b) of matmul fc1: "}},
    }),
    case_name<RefusalCase>);

INSTANTIATE_TEST_SUITE_P(Conv2d, Shapes,
                         ::testing::ValuesIn(std::vector<ShapeCase>{
                             {"Valid",
                              [] {
                                return conv({2, 8, 9, 3}, {3, 3, 3, 5});
                              },
                              "f32[2, 6, 7, 5]"},
                             {"Same",
                              [] {
                                return conv({2, 8, 9, 3}, {3, 3, 3, 5}, padding(1));
                              },
                              "f32[2, 8, 9, 5]"},
                             {"Strided",
                              [] {
                                return conv({2, 8, 9, 3}, {3, 3, 3, 5}, stride(2, 3));
                              },
                              "f32[2, 3, 3, 5]"},
                             {"Dilated",
                              [] {
                                return conv({2, 8, 9, 3}, {3, 3, 3, 5}, dilation(2, 3));
                              },
                              "f32[2, 4, 3, 5]"},
                             {"Groups",
                              [] {
                                return conv({2, 8, 8, 6}, {1, 1, 2, 9}, groups(3));
                              },
                              "f32[2, 8, 8, 9]"},
                             {"Depthwise",
                              [] {
                                return conv({2, 8, 8, 4}, {3, 3, 1, 4}, groups(4));
                              },
                              "f32[2, 6, 6, 4]"},
                             {"RunTimeBatch",
                              [] {
                                return conv({kB, 8, 8, 3}, {3, 3, 3, 5});
                              },
                              "f32[B, 6, 6, 5]"},
                             {"RunTimeHeight",
                              [] {
                                return conv({1, kB + 2, 8, 3}, {3, 3, 3, 5});
                              },
                              "f32[1, B, 6, 5]"},
                             {"RunTimeHeightPadded",
                              [] {
                                return conv({1, kB, 8, 3}, {3, 3, 3, 5}, padding(1));
                              },
                              "f32[1, B, 8, 5]"},
                             {"RunTimeHeightStrided",
                              [] {
                                return conv({1, kB * 2 + 1, 8, 3}, {2, 2, 3, 5}, stride(2, 2));
                              },
                              "f32[1, B, 4, 5]"},
                             {"NoImages",
                              [] {
                                return conv({0, 8, 8, 3}, {3, 3, 3, 5});
                              },
                              "f32[0, 6, 6, 5]"},
                             {"NoChannels",
                              [] {
                                return conv({2, 8, 8, 0}, {3, 3, 0, 5});
                              },
                              "f32[2, 6, 6, 5]"},
                             {"NoFilters",
                              [] {
                                return conv({2, 8, 8, 4}, {3, 3, 2, 0}, groups(2));
                              },
                              "f32[2, 6, 6, 0]"},
                             {"NoPlace",
                              [] {
                                return conv({2, 2, 8, 3}, {3, 3, 3, 5});
                              },
                              "f32[2, 0, 6, 5]"},
                         }),
                         case_name<ShapeCase>);

// Beside options that are right, so that nothing else is refused; with one more it is not.
TEST(ContractionTest, EachOptionOfConv2dIsRefusedByItsName) {
  struct Case {
    const char* name;
    int Conv2dOptions::*field;
    int least;
  };
  const Case cases[] = {
      {"stride_h", &Conv2dOptions::stride_h, 1},     {"stride_w", &Conv2dOptions::stride_w, 1},
      {"pad_top", &Conv2dOptions::pad_top, 0},       {"pad_bottom", &Conv2dOptions::pad_bottom, 0},
      {"pad_left", &Conv2dOptions::pad_left, 0},     {"pad_right", &Conv2dOptions::pad_right, 0},
      {"dilation_h", &Conv2dOptions::dilation_h, 1}, {"dilation_w", &Conv2dOptions::dilation_w, 1},
      {"groups", &Conv2dOptions::groups, 1},
  };
  for (const Case& one : cases) {
    Conv2dOptions options;
    options.*one.field = one.least - 1;
    const auto convolve = [&] { return conv({1, 8, 8, 3}, {3, 3, 3, 5}, options); };
    EXPECT_EQ(refusal_of(convolve), "argument 3 (options) of conv2d: " + std::string(one.name) +
                                        ": expected " + std::to_string(one.least) +
                                        " or more, got " + std::to_string(one.least - 1));
    options.*one.field = one.least;
    EXPECT_EQ(refusal_of(convolve), "");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Conv2d, Refusals,
    ::testing::ValuesIn(std::vector<RefusalCase>{
        {"RankOfX",
         [] {
           return conv({8, 8, 3}, {3, 3, 3, 5});
         },
         {"argument 1 (x) of conv2d: expected rank 4 (N, H, W, C), got rank 3, [8, 8, 3]"}},
        {"RankOfW",
         [] {
           return conv({1, 8, 8, 3}, {3, 3, 5});
         },
         {"argument 2 (w)", "expected rank 4"}},
        {"Types",
         [] {
           return conv2d(in({1, 8, 8, 3}), in({3, 3, 3, 5}, f64));
         },
         {"argument 2 (w) of conv2d: expected f32, the type of x, got f64"}},
        {"Bool",
         [] {
           return conv2d(in({1, 8, 8, 3}, bool_), in({3, 3, 3, 5}, bool_));
         },
         {"argument 1 (x) of conv2d", "got bool"}},
        {"Channels",
         [] {
           return conv({1, 8, 8, 3}, {3, 3, 4, 5});
         },
         {"argument 2 (w) of conv2d: expected 3 input channels", "got [3, 3, 4, 5]"}},
        {"ChannelsOfAGroup",
         [] {
           return conv({1, 8, 8, 6}, {3, 3, 6, 4}, groups(2));
         },
         {"expected 3 input channels (the 6 of x [1, 8, 8, 6] over 2 groups)"}},
        {"GroupsOfChannels",
         [] {
           return conv({1, 8, 8, 5}, {3, 3, 2, 4}, groups(2));
         },
         {"argument 3 (options) of conv2d: groups: expected a divisor of the 5 channels", "got 2"}},
        {"GroupsOfFilters",
         [] {
           return conv({1, 8, 8, 4}, {3, 3, 2, 5}, groups(2));
         },
         {"argument 2 (w) of conv2d: expected a number of output channels that 2 groups divide"}},
        {"NoGroups",
         [] {
           return conv({1, 8, 8, 4}, {3, 3, 4, 5}, groups(0));
         },
         {"groups: expected 1"}},
        {"Stride",
         [] {
           return conv({1, 8, 8, 3}, {3, 3, 3, 5}, stride(0, 1));
         },
         {"argument 3 (options) of conv2d: stride_h: expected 1 or more, got 0"}},
        {"Dilation",
         [] {
           return conv({1, 8, 8, 3}, {3, 3, 3, 5}, dilation(1, -1));
         },
         {"dilation_w: expected 1 or more, got -1"}},
        {"Padding",
         [] {
           return conv({1, 8, 8, 3}, {3, 3, 3, 5}, padding(-1));
         },
         {"pad_top: expected 0 or more, got -1"}},
        {"NoWindow",
         [] {
           return conv({1, 8, 8, 3}, {0, 3, 3, 5});
         },
         {"(w) of conv2d: KH: expected a number"}},
        {"RunTimeWindow",
         [] {
           return conv({1, 8, 8, 3}, {3, kB, 3, 5});
         },
         {"KW: expected a number", "got B"}},
        {"RunTimeGroups",
         [] {
           return conv({1, 8, 8, kB * 2}, {3, 3, kB, 4}, groups(2));
         },
         {"groups: expected a divisor of the 2*B channels of x"}},
        {"LargeWindow",
         [] {
           return conv({0, 8, 8, 0}, {int64_t{1} << 31, 3, 0, 0});
         },
         {"(w) of conv2d: KH: expected a number of 1 or more, got 2147483648"}},
        {"TooSmall",
         [] {
           return conv({1, 1, 8, 3}, {3, 3, 3, 5});
         },
         {"argument 1 (x) of conv2d: axis H: expected room for the window's reach of 3", "got 1"}},
        {"TooSmallDilated",
         [] {
           return conv({1, 8, 8, 3}, {3, 3, 3, 5}, dilation(1, 9));
         },
         {"axis W: expected room for the window's reach of 19"}},
        {"RunTimeMayBeTooSmall",
         [] {
           return conv({1, kB, 8, 3}, {3, 3, 3, 5});
         },
         {"axis H: expected room for the window's reach of 3 whatever the sizes, got B with "
          "padding; B "
          "may be 0; legal: an axis of B + 2 with padding"}},
        {"RunTimeStride",
         [] {
           return conv({1, kB + 2, 8, 3}, {3, 3, 3, 5}, stride(2, 1));
         },
         {"axis H: expected a run-time extent that is a multiple of the stride 2", "got B + 2"}},
        {"Undefined",
         [] {
           return conv2d(in({1, 8, 8, 3}), Tensor());
         },
         {"(w) of conv2d", "undefined"}},
    }),
    case_name<RefusalCase>);

TEST(ContractionTest, MatmulIsTheComprehensionThatAUserWrites) {
  Tensor a = in({2, 3}, f32, "a"), b = in({3, 4}, f32, "b");
  Axis m("m", 2), n("n", 4), k("k", 3);
  Func mm("mm");
  mm(m, n) = sum(k, a(m, k) * b(k, n));
  Tensor named = matmul(a, b);
  EXPECT_TRUE(equal(named.op()->body, mm.tensor().op()->body));
  EXPECT_EQ(named.op()->combiner, Combiner::sum);
}

TEST(ContractionTest, BatchAxesOfExtentOneRepeat) {
  Tensor y = matmul(in({6, 1, 2, 3}, f32, "a"), in({5, 3, 4}, f32, "b"));
  EXPECT_EQ(body_of(y), "a[b0, 0, m, k] * b[b1, k, n]");
}

TEST(ContractionTest, Conv2dReadsAffineIndices) {
  Conv2dOptions options = stride(2, 1);
  options.dilation_w = 3;
  Tensor y = conv({1, 9, 9, 3}, {3, 3, 3, 5}, options);
  EXPECT_EQ(body_of(y), "x[n, y * 2 + ky, x + kx * 3, c] * w[ky, kx, c, o]");
}

TEST(ContractionTest, PaddingIsAnOperationOfItsOwn) {
  Tensor y = conv2d(in({1, 8, 8, 3}), in({3, 3, 3, 5}, f32, "w"), padding(1), "stem");
  EXPECT_EQ(body_of(y), "stem_pad[n, y + ky, x + kx, c] * w[ky, kx, c, o]");
  Tensor padded(y.op()->body->args[0]->tensor);
  EXPECT_EQ(type_and_shape(padded), "f32[1, 10, 10, 3]");
}

TEST(ContractionTest, DepthwiseGroupsNeedNoDivision) {
  Tensor y = conv({1, 8, 8, 4}, {3, 3, 1, 4}, groups(4));
  EXPECT_EQ(body_of(y), "x[n, y + ky, x + kx, o + c] * w[ky, kx, c, o]");
}

}  // namespace
}  // namespace emulsion

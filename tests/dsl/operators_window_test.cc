#include "tests/dsl/operators_cases.h"

namespace emulsion {
namespace {

const Extent kB = Extent::size("B");

PoolOptions window(int size, int stride, int pad = 0) {
  PoolOptions options;
  options.window_h = options.window_w = size;
  options.stride_h = options.stride_w = stride;
  options.pad_top = options.pad_bottom = options.pad_left = options.pad_right = pad;
  return options;
}

INSTANTIATE_TEST_SUITE_P(Window, Shapes,
                         ::testing::ValuesIn(std::vector<ShapeCase>{
                             {"Halved",
                              [] {
                                return max_pool(in({2, 8, 6, 3}), window(2, 2));
                              },
                              "f32[2, 4, 3, 3]"},
                             {"OddHeight",
                              [] {
                                return max_pool(in({2, 9, 6, 3}), window(2, 2));
                              },
                              "f32[2, 4, 3, 3]"},
                             {"Overlapping",
                              [] {
                                return avg_pool(in({2, 8, 6, 3}), window(3, 1));
                              },
                              "f32[2, 6, 4, 3]"},
                             {"Padded",
                              [] {
                                return max_pool(in({2, 8, 6, 3}), window(3, 2, 1));
                              },
                              "f32[2, 4, 3, 3]"},
                             {"Integers",
                              [] {
                                return max_pool(in({2, 8, 6, 3}, i32), window(2, 2));
                              },
                              "i32[2, 4, 3, 3]"},
                             {"RunTimeBatch",
                              [] {
                                return avg_pool(in({kB, 8, 6, 3}, f64), window(2, 2));
                              },
                              "f64[B, 4, 3, 3]"},
                             {"RunTimeHeight",
                              [] {
                                return avg_pool(in({1, kB * 2, 6, 3}), window(2, 2));
                              },
                              "f32[1, B, 3, 3]"},
                             {"NoChannels",
                              [] {
                                return max_pool(in({2, 8, 6, 0}), window(2, 2));
                              },
                              "f32[2, 4, 3, 0]"},
                             {"NoImages",
                              [] {
                                return max_pool(in({0, 8, 6, 3}), window(2, 2));
                              },
                              "f32[0, 4, 3, 3]"},
                         }),
                         case_name<ShapeCase>);

INSTANTIATE_TEST_SUITE_P(
    Window, Refusals,
    ::testing::ValuesIn(std::vector<RefusalCase>{
        {"Rank",
         [] {
           return max_pool(in({8, 6, 3}), window(2, 2));
         },
         {"argument 1 (x) of max_pool: expected rank 4 (N, H, W, C), got rank 3"}},
        {"Bool",
         [] {
           return max_pool(in({1, 8, 6, 3}, bool_), window(2, 2));
         },
         {"(x) of max_pool", "bool"}},
        {"AverageOfIntegers",
         [] {
           return avg_pool(in({1, 8, 6, 3}, i32), window(2, 2));
         },
         {"argument 1 (x) of avg_pool: expected f32 or f64, got i32"}},
        {"NoKernels",
         [] {
           return avg_pool(without_kernels({1, 8, 6, 3}, bf16), window(2, 2));
         },
         {"(x) of avg_pool", "got bf16"}},
        {"NoWindow",
         [] {
           return max_pool(in({1, 8, 6, 3}), window(0, 1));
         },
         {"argument 2 (options) of max_pool: window_h: expected 1 or more, got 0"}},
        {"NoStride",
         [] {
           return avg_pool(in({1, 8, 6, 3}), window(2, 0));
         },
         {"argument 2 (options) of avg_pool: stride_h: expected 1 or more, got 0"}},
        {"PaddingOfAWindow",
         [] {
           return max_pool(in({1, 8, 6, 3}), window(2, 2, 2));
         },
         {"pad_top: expected 0 or more and less than the window's 2, got 2"}},
        {"NegativePadding",
         [] {
           return max_pool(in({1, 8, 6, 3}), window(2, 2, -1));
         },
         {"pad_top: expected 0 or more", "got -1"}},
        {"TooSmall",
         [] {
           return max_pool(in({1, 8, 6, 3}), window(8, 1));
         },
         {"argument 1 (x) of max_pool: axis W: expected room for the window's reach of 8",
          "got 6"}},
        {"RunTimeStride",
         [] {
           return max_pool(in({1, kB, 6, 3}), window(2, 2));
         },
         {"axis H: expected a run-time extent that is a multiple of the stride 2"}},
        {"RunTimeMayBeTooSmall",
         [] {
           return max_pool(in({1, kB, 6, 3}), window(3, 1));
         },
         {"axis H: expected room for the window's reach of 3 whatever the sizes, got B with "
          "padding; B "
          "may be 0; legal: an axis of B + 2 with padding"}},
        {"Undefined",
         [] { return max_pool(Tensor(), window(2, 2)); },
         {"(x) of max_pool", "undefined"}},
    }),
    case_name<RefusalCase>);

// Beside options that are right, so that nothing else is refused; with one less or more it is not.
TEST(WindowTest, EachOptionIsRefusedByItsName) {
  struct Case {
    const char* name;
    int PoolOptions::*field;
    int wrong, right;
    const char* expected;
  };
  const char *at_least_1 = "1 or more", *below_4 = "0 or more and less than the window's 4",
             *below_2 = "0 or more and less than the window's 2";
  const Case cases[] = {
      {"window_h", &PoolOptions::window_h, 0, 1, at_least_1},
      {"window_w", &PoolOptions::window_w, 0, 1, at_least_1},
      {"stride_h", &PoolOptions::stride_h, 0, 1, at_least_1},
      {"stride_w", &PoolOptions::stride_w, 0, 1, at_least_1},
      {"pad_top", &PoolOptions::pad_top, 4, 3, below_4},
      {"pad_top", &PoolOptions::pad_top, -1, 0, below_4},
      {"pad_bottom", &PoolOptions::pad_bottom, 4, 3, below_4},
      {"pad_bottom", &PoolOptions::pad_bottom, -1, 0, below_4},
      {"pad_left", &PoolOptions::pad_left, 2, 1, below_2},
      {"pad_left", &PoolOptions::pad_left, -1, 0, below_2},
      {"pad_right", &PoolOptions::pad_right, 2, 1, below_2},
      {"pad_right", &PoolOptions::pad_right, -1, 0, below_2},
  };
  for (const Case& one : cases) {
    PoolOptions options;
    options.window_h = 4;
    options.window_w = 2;
    options.*one.field = one.wrong;
    const auto pool = [&] { return max_pool(in({1, 8, 6, 3}), options); };
    EXPECT_EQ(refusal_of(pool), "argument 2 (options) of max_pool: " + std::string(one.name) +
                                    ": expected " + one.expected + ", got " +
                                    std::to_string(one.wrong));
    options.*one.field = one.right;
    EXPECT_EQ(refusal_of(pool), "");
  }
}

TEST(WindowTest, MaxPoolPadsWithTheIdentity) {
  Tensor y = max_pool(in({1, 8, 8, 3}), window(3, 2, 1));
  EXPECT_EQ(y.op()->combiner, Combiner::max);
  EXPECT_EQ(body_of(y), "max_pool_pad[n, y * 2 + ky, x * 2 + kx, c]");
  Expr filler = Tensor(y.op()->body->tensor).op()->body->args[2];
  EXPECT_TRUE(equal(filler, identity_of(Combiner::max, f32)));
}

TEST(WindowTest, AveragesDivideByTheWindow) {
  EXPECT_EQ(body_of(avg_pool(in({1, 8, 8, 3}), window(2, 2))), "avg_pool_sum[n, y, x, c] / 4f");
}

TEST(WindowTest, AveragesCountPaddingWhenAskedTo) {
  PoolOptions options = window(3, 1, 1);
  options.count_include_pad = true;
  EXPECT_EQ(body_of(avg_pool(in({1, 8, 8, 3}), options)), "avg_pool_sum[n, y, x, c] / 9f");
}

TEST(WindowTest, AveragesCountWhatIsInsideOtherwise) {
  std::string body = body_of(avg_pool(in({1, 8, 6, 3}), window(3, 1, 1)));
  EXPECT_NE(body.find("min(y - 1 + 3, 8) - max(y - 1, 0)"), std::string::npos) << body;
  EXPECT_NE(body.find("min(x - 1 + 3, 6) - max(x - 1, 0)"), std::string::npos) << body;
}

}  // namespace
}  // namespace emulsion

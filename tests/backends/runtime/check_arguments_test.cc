#include "backends/runtime/check_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "backends/runtime/emulsion_runtime.h"
#include "tests/backends/runtime/test_buffer.h"

namespace emulsion::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kLinear =
    "linear_relu\n"
    "B\n"
    "i x f32 64 2 B 8\n"
    "i w f32 64 2 8 16\n"
    "i b f32 64 1 16\n"
    "o y f32 64 2 B 16\n";

// Correct arguments for kLinear, for one mistake at a time.
struct Linear {
  TestBuffer x{kF32, {4, 8}};
  TestBuffer w{kF32, {8, 16}};
  TestBuffer b{kF32, {16}};
  TestBuffer y{kF32, {4, 16}};
  std::vector<const halide_buffer_t*> arguments = {&x.raw, &w.raw, &b.raw, &y.raw};

  int check() const { return emulsion_check_arguments(kLinear, arguments.data()); }
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
// The argument of bazel/README.md, which is C.
TEST(CheckArguments, TakesTheBufferOfTheDocument) {
  constexpr int batch = 3;
  float values[batch * 16];
  // clang-format off
  halide_dimension_t dim[] = {{0, 16, 1, 0}, {0, batch, 16, 0}};    /* min, extent, stride, flags */
  halide_buffer_t x = {0};
  x.host = (uint8_t*)values;
  x.type.code = halide_type_float;
  x.type.bits = 32;
  x.type.lanes = 1;
  x.dimensions = 2;
  x.dim = dim;
  // clang-format on
  TestBuffer y{kF32, {batch, 16}};
  const halide_buffer_t* arguments[] = {&x, &y.raw};
  EXPECT_EQ(emulsion_check_arguments("relu\nB\ni x f32 0 2 B 16\no y f32 0 2 B 16\n", arguments), 0)
      << emulsion_last_error();
}
#pragma GCC diagnostic pop

struct Refusal {
  std::string name;
  std::function<void(Linear&)> spoil;
  int code;
  std::string message;
};

class CheckArgumentsRefuses : public ::testing::TestWithParam<Refusal> {};

TEST_P(CheckArgumentsRefuses, WithCodeAndMessage) {
  Linear linear;
  GetParam().spoil(linear);
  EXPECT_EQ(linear.check(), GetParam().code) << emulsion_last_error();
  EXPECT_THAT(emulsion_last_error(), StartsWith("kernel linear_relu: argument "));
  EXPECT_THAT(emulsion_last_error(), HasSubstr(GetParam().message));
  EXPECT_TRUE(linear.y.untouched());
}

const Refusal kRefusals[] = {
    {"NullFirstArgument", [](Linear& l) { l.arguments[0] = nullptr; }, EMULSION_ERROR_NULL_BUFFER,
     "argument 1 (x): expected a buffer, got null"},
    {"NullOutput", [](Linear& l) { l.arguments[3] = nullptr; }, EMULSION_ERROR_NULL_BUFFER,
     "argument 4 (y): expected a buffer, got null"},
    {"RankTooLow", [](Linear& l) { l.x.raw.dimensions = 1; }, EMULSION_ERROR_BAD_DIMENSIONS,
     "argument 1 (x): expected rank 2, got 1"},
    {"RankTooHigh", [](Linear& l) { l.b.raw.dimensions = 2; }, EMULSION_ERROR_BAD_DIMENSIONS,
     "argument 3 (b): expected rank 1, got 2"},
    {"RankZero", [](Linear& l) { l.y.raw.dimensions = 0; }, EMULSION_ERROR_BAD_DIMENSIONS,
     "argument 4 (y): expected rank 2, got 0"},
    {"RankNegative", [](Linear& l) { l.w.raw.dimensions = -1; }, EMULSION_ERROR_BAD_DIMENSIONS,
     "argument 2 (w): expected rank 2, got -1"},
    {"NullDimensions", [](Linear& l) { l.w.raw.dim = nullptr; }, EMULSION_ERROR_NULL_DIMENSIONS,
     "argument 2 (w): expected an array of 2 dimensions, got null"},
    {"TypeOfAnotherWidth", [](Linear& l) { l.x.raw.type = kF64; }, EMULSION_ERROR_BAD_TYPE,
     "argument 1 (x): expected type f32, got f64"},
    {"TypeOfAnotherKind", [](Linear& l) { l.b.raw.type = kI32; }, EMULSION_ERROR_BAD_TYPE,
     "argument 3 (b): expected type f32, got i32"},
    {"TypeOfBytes", [](Linear& l) { l.x.raw.type = kU8; }, EMULSION_ERROR_BAD_TYPE,
     "argument 1 (x): expected type f32, got u8"},
    {"TypeThatNoKernelHas", [](Linear& l) { l.w.raw.type = halide_type_t(halide_type_uint, 32); },
     EMULSION_ERROR_BAD_TYPE, "argument 2 (w): expected type f32, got uint32"},
    {"TypeThatIsNone", [](Linear& l) { l.w.raw.type.code = static_cast<halide_type_code_t>(77); },
     EMULSION_ERROR_BAD_TYPE, "argument 2 (w): expected type f32, got unknown type 32"},
    {"TypeWithLanes", [](Linear& l) { l.y.raw.type.lanes = 4; }, EMULSION_ERROR_BAD_TYPE,
     "argument 4 (y): expected type f32, got float32 with 4 lanes"},
    {"TypeWithoutLanes", [](Linear& l) { l.y.raw.type.lanes = 0; }, EMULSION_ERROR_BAD_TYPE,
     "argument 4 (y): expected type f32, got float32 with 0 lanes"},
    {"DeviceDirtyInput", [](Linear& l) { l.x.raw.flags = halide_buffer_flag_device_dirty; },
     EMULSION_ERROR_DEVICE_DIRTY, "argument 1 (x): expected data on the host"},
    {"DeviceDirtyOutput", [](Linear& l) { l.y.raw.flags = halide_buffer_flag_device_dirty; },
     EMULSION_ERROR_DEVICE_DIRTY, "argument 4 (y): expected data on the host"},
    {"MinOfInnerAxis", [](Linear& l) { l.x.axis(1).min = 2; }, EMULSION_ERROR_NONZERO_MIN,
     "argument 1 (x), axis 1: expected min 0, got 2"},
    {"MinOfOuterAxis", [](Linear& l) { l.y.axis(0).min = -1; }, EMULSION_ERROR_NONZERO_MIN,
     "argument 4 (y), axis 0: expected min 0, got -1"},
    {"NegativeExtent", [](Linear& l) { l.w.axis(1).extent = -16; }, EMULSION_ERROR_NEGATIVE_EXTENT,
     "argument 2 (w), axis 1: expected an extent of 0 or more, got -16"},
    {"MostNegativeExtent", [](Linear& l) { l.x.axis(0).extent = INT32_MIN; },
     EMULSION_ERROR_NEGATIVE_EXTENT,
     "argument 1 (x), axis 0: expected an extent of 0 or more, got -2147483648"},
    {"ExtentOneShort", [](Linear& l) { l.w.axis(1).extent = 15; },
     EMULSION_ERROR_CONSTRAINT_VIOLATED, "argument 2 (w), axis 1: expected extent 16, got 15"},
    {"ExtentOneLong", [](Linear& l) { l.w.axis(0).extent = 9; }, EMULSION_ERROR_CONSTRAINT_VIOLATED,
     "argument 2 (w), axis 0: expected extent 8, got 9"},
    {"ExtentZeroWhereFixed", [](Linear& l) { l.b.axis(0).extent = 0; },
     EMULSION_ERROR_CONSTRAINT_VIOLATED, "argument 3 (b), axis 0: expected extent 16, got 0"},
    {"ExtentsSwapped", [](Linear& l) { std::swap(l.w.axis(0).extent, l.w.axis(1).extent); },
     EMULSION_ERROR_CONSTRAINT_VIOLATED, "argument 2 (w), axis 0: expected extent 8, got 16"},
    {"ExtentLargest", [](Linear& l) { l.b.axis(0).extent = INT32_MAX; },
     EMULSION_ERROR_CONSTRAINT_VIOLATED,
     "argument 3 (b), axis 0: expected extent 16, got 2147483647"},
    {"NamedSizeDiffers", [](Linear& l) { l.y.axis(0).extent = 3; },
     EMULSION_ERROR_INCONSISTENT_SIZE,
     "argument 4 (y), axis 0: expected extent B = 4, got 3 (B = 4 from argument 1 (x) axis 0)"},
    {"NamedSizeZeroInOutput", [](Linear& l) { l.y.axis(0).extent = 0; },
     EMULSION_ERROR_INCONSISTENT_SIZE,
     "argument 4 (y), axis 0: expected extent B = 4, got 0 (B = 4 from argument 1 (x) axis 0)"},
    {"NamedSizeZeroInInput", [](Linear& l) { l.x.axis(0).extent = 0; },
     EMULSION_ERROR_INCONSISTENT_SIZE,
     "argument 4 (y), axis 0: expected extent B = 0, got 4 (B = 0 from argument 1 (x) axis 0)"},
    {"InnerStrideTwo", [](Linear& l) { l.x.axis(1).stride = 2; }, EMULSION_ERROR_NOT_DENSE,
     "argument 1 (x), axis 1: expected stride 1 (dense, row-major: dim[0] is the last axis), got "
     "2"},
    {"InnerStrideZero", [](Linear& l) { l.b.axis(0).stride = 0; }, EMULSION_ERROR_NOT_DENSE,
     "argument 3 (b), axis 0: expected stride 1 (dense, row-major: dim[0] is the last axis), got "
     "0"},
    {"InnerStrideNegative", [](Linear& l) { l.b.axis(0).stride = -1; }, EMULSION_ERROR_NOT_DENSE,
     "argument 3 (b), axis 0: expected stride 1 (dense, row-major: dim[0] is the last axis), got "
     "-1"},
    {"PaddedRows", [](Linear& l) { l.w.axis(0).stride = 32; }, EMULSION_ERROR_NOT_DENSE,
     "argument 2 (w), axis 0: expected stride 16 (dense, row-major: dim[0] is the last axis), got "
     "32"},
    {"OverlappingRows", [](Linear& l) { l.y.axis(0).stride = 8; }, EMULSION_ERROR_NOT_DENSE,
     "argument 4 (y), axis 0: expected stride 16 (dense, row-major: dim[0] is the last axis), got "
     "8"},
    {"ColumnMajor",
     [](Linear& l) {
       l.w.axis(0).stride = 1;
       l.w.axis(1).stride = 8;
     },
     EMULSION_ERROR_NOT_DENSE,
     "argument 2 (w), axis 1: expected stride 1 (dense, row-major: dim[0] is the last axis), got "
     "8"},
    {"NullHostInput", [](Linear& l) { l.b.raw.host = nullptr; }, EMULSION_ERROR_NULL_HOST,
     "argument 3 (b): expected data, got a null host pointer"},
    {"NullHostOutput", [](Linear& l) { l.y.raw.host = nullptr; }, EMULSION_ERROR_NULL_HOST,
     "argument 4 (y): expected data, got a null host pointer"},
    {"MisalignedByOneElement", [](Linear& l) { l.x.raw.host += 4; }, EMULSION_ERROR_UNALIGNED_HOST,
     "argument 1 (x): expected data aligned to 64 bytes, got a host pointer 4 past"},
    {"MisalignedByOneByte", [](Linear& l) { l.y.raw.host += 1; }, EMULSION_ERROR_UNALIGNED_HOST,
     "argument 4 (y): expected data aligned to 64 bytes, got a host pointer 1 past"},
    {"AlignedToHalf", [](Linear& l) { l.w.raw.host += 32; }, EMULSION_ERROR_UNALIGNED_HOST,
     "argument 2 (w): expected data aligned to 64 bytes, got a host pointer 32 past"},
    {"OutputIsAnInput", [](Linear& l) { l.y.raw.host = l.x.raw.host; },
     EMULSION_ERROR_ALIASED_OUTPUT,
     "argument 4 (y): expected memory that no other argument uses, got an overlap with argument 1 "
     "(x)"},
    {"OutputBeginsInsideAnInput", [](Linear& l) { l.y.raw.host = l.w.raw.host + 448; },
     EMULSION_ERROR_ALIASED_OUTPUT, "got an overlap with argument 2 (w)"},
    {"OutputEndsInsideAnInput", [](Linear& l) { l.w.raw.host = l.y.raw.host + 192; },
     EMULSION_ERROR_ALIASED_OUTPUT, "got an overlap with argument 2 (w)"},
    {"OutputAroundAnInput", [](Linear& l) { l.b.raw.host = l.y.raw.host + 64; },
     EMULSION_ERROR_ALIASED_OUTPUT, "got an overlap with argument 3 (b)"},
};

INSTANTIATE_TEST_SUITE_P(OneMistake, CheckArgumentsRefuses, ::testing::ValuesIn(kRefusals),
                         [](const auto& info) { return info.param.name; });

TEST(CheckArguments, AcceptsCorrectArguments) {
  Linear linear;
  EXPECT_EQ(linear.check(), EMULSION_OK) << emulsion_last_error();
  EXPECT_STREQ(emulsion_last_error(), "");
}

TEST(CheckArguments, SuccessClearsTheMessageOfAnEarlierFailure) {
  Linear linear;
  linear.x.axis(1).min = 1;
  EXPECT_EQ(linear.check(), EMULSION_ERROR_NONZERO_MIN);
  linear.x.axis(1).min = 0;
  EXPECT_EQ(linear.check(), EMULSION_OK);
  EXPECT_STREQ(emulsion_last_error(), "");
}

TEST(CheckArguments, AcceptsInputsThatShareMemory) {
  Linear linear;
  linear.b.raw.host = linear.w.raw.host;
  EXPECT_EQ(linear.check(), EMULSION_OK) << emulsion_last_error();
}

TEST(CheckArguments, AcceptsAnOutputThatTouchesAnInput) {
  Linear linear;
  TestBuffer both(kF32, {8, 16});
  linear.x.raw.host = both.raw.host;
  linear.y.raw.host = both.raw.host + 4 * 8 * sizeof(float);
  EXPECT_EQ(linear.check(), EMULSION_OK) << emulsion_last_error();
  std::swap(linear.x.raw.host, linear.y.raw.host);
  linear.x.raw.host = linear.y.raw.host + 4 * 16 * sizeof(float);
  EXPECT_EQ(linear.check(), EMULSION_OK) << emulsion_last_error();
}

TEST(CheckArguments, RefusesOneBufferAsInputAndOutput) {
  TestBuffer both(kF32, {4, 8});
  const halide_buffer_t* arguments[] = {&both.raw, &both.raw};
  EXPECT_EQ(emulsion_check_arguments("relu\n\ni x f32 0 2 4 8\no y f32 0 2 4 8\n", arguments),
            EMULSION_ERROR_ALIASED_OUTPUT);
  EXPECT_STREQ(emulsion_last_error(),
               "kernel relu: argument 2 (y): expected memory that no other argument uses, got an "
               "overlap with argument 1 (x)");
}

TEST(CheckArguments, RefusesTwoOutputsInOneBuffer) {
  TestBuffer both(kF32, {4});
  const halide_buffer_t* arguments[] = {&both.raw, &both.raw};
  EXPECT_EQ(emulsion_check_arguments("split\n\no y f32 0 1 4\no z f32 0 1 4\n", arguments),
            EMULSION_ERROR_ALIASED_OUTPUT);
  EXPECT_THAT(emulsion_last_error(), HasSubstr("argument 1 (y)"));
  EXPECT_THAT(emulsion_last_error(), HasSubstr("argument 2 (z)"));
}

// Neighbours are apart; one byte in common is an overlap, from either side.
TEST(CheckArguments, RefusesMemoryThatSharesOneByte) {
  constexpr const char* kTwice = "twice\n\ni x u8 0 1 8\no y u8 0 1 8\n";
  TestBuffer memory({halide_type_uint, 8}, {32}), x({halide_type_uint, 8}, {8});
  TestBuffer y({halide_type_uint, 8}, {8});
  const halide_buffer_t* arguments[] = {&x.raw, &y.raw};
  x.raw.host = memory.raw.host + 8;
  for (const int distance : {-8, -7, 7, 8}) {
    y.raw.host = x.raw.host + distance;
    const bool apart = distance == -8 || distance == 8;
    EXPECT_EQ(emulsion_check_arguments(kTwice, arguments),
              apart ? EMULSION_OK : EMULSION_ERROR_ALIASED_OUTPUT)
        << distance;
  }
}

TEST(CheckArguments, AcceptsHostDirtyBuffers) {
  Linear linear;
  linear.x.raw.flags = halide_buffer_flag_host_dirty;
  EXPECT_EQ(linear.check(), EMULSION_OK) << emulsion_last_error();
}

TEST(CheckArguments, RefusesACallWithoutBuffers) {
  EXPECT_EQ(emulsion_check_arguments(kLinear, nullptr), EMULSION_ERROR_INTERNAL);
  EXPECT_THAT(emulsion_last_error(), HasSubstr("without buffers"));
}

TEST(CheckArguments, RefusesACallWithoutDescriptor) {
  Linear linear;
  EXPECT_EQ(emulsion_check_arguments(nullptr, linear.arguments.data()), EMULSION_ERROR_INTERNAL);
  EXPECT_THAT(emulsion_last_error(), HasSubstr("without a descriptor"));
}

TEST(CheckArguments, RefusesAMalformedDescriptorEveryTime) {
  Linear linear;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(emulsion_check_arguments("k\n\ni x f17 0 0\n", linear.arguments.data()),
              EMULSION_ERROR_INTERNAL);
    EXPECT_THAT(emulsion_last_error(), HasSubstr("malformed kernel descriptor: line 3"));
  }
}

TEST(CheckArguments, ReadsADescriptorThatChangedInPlace) {
  TestBuffer x(kF32, {4});
  const halide_buffer_t* arguments[] = {&x.raw};
  char descriptor[] = "k\n\ni x f32 0 1 4\n";
  EXPECT_EQ(emulsion_check_arguments(descriptor, arguments), EMULSION_OK) << emulsion_last_error();
  *std::strchr(descriptor, '4') = '5';
  EXPECT_EQ(emulsion_check_arguments(descriptor, arguments), EMULSION_ERROR_CONSTRAINT_VIOLATED);
}

TEST(CheckArguments, MessagesBelongToTheThreadThatCalled) {
  Linear linear;
  linear.b.axis(0).extent = 15;
  EXPECT_EQ(linear.check(), EMULSION_ERROR_CONSTRAINT_VIOLATED);
  std::thread([] {
    EXPECT_STREQ(emulsion_last_error(), "");
    Linear other;
    other.x.raw.host = nullptr;
    EXPECT_EQ(other.check(), EMULSION_ERROR_NULL_HOST);
    EXPECT_THAT(emulsion_last_error(), HasSubstr("(x)"));
  }).join();
  EXPECT_THAT(emulsion_last_error(), HasSubstr("(b), axis 0: expected extent 16, got 15"));
}

TEST(CheckArguments, SixtyFourThreadsCheckAtOnce) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(64, 0);
  for (int t = 0; t < 64; ++t) {
    threads.emplace_back([t, &wrong] {
      Linear linear;
      for (int i = 0; i < 2000; ++i) {
        const int extent = i % 2 == 0 ? 16 : t;  // never 16 bytes of message from another thread
        linear.b.axis(0).extent = extent;
        const bool right =
            linear.check() == (extent == 16 ? EMULSION_OK : EMULSION_ERROR_CONSTRAINT_VIOLATED);
        const std::string end = extent == 16 ? "" : "got " + std::to_string(t);
        const std::string message = emulsion_last_error();
        if (!right || message.size() < end.size() ||
            message.compare(message.size() - end.size(), end.size(), end) != 0) {
          ++wrong[t];
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, ::testing::Each(0));
}

}  // namespace
}  // namespace emulsion::runtime

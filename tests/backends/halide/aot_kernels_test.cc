// Kernels as an application has them: a header, an archive and the runtime.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "HalideBuffer.h"
#include "backends/runtime/emulsion_runtime.h"
#include "backends/runtime/kernel_runtime.h"
#include "dsl/target.h"
#include "tests/backends/halide/test_checked.h"
#include "tests/backends/halide/test_concat.h"
#include "tests/backends/halide/test_linear.h"
#include "tests/backends/halide/test_picky.h"
#include "tests/backends/halide/test_squares.h"
#include "tests/backends/halide/test_strides.h"

namespace emulsion {
namespace {

using testing::Each;
using testing::HasSubstr;
using View = Halide::Runtime::Buffer<float>;

constexpr int kInputs = 24, kOutputs = 40, kPanel = 16, kPanels = 3;

float value_at(int i) { return static_cast<float>(i * 7 % 9 - 4); }

std::vector<float> values(int count) {
  std::vector<float> result(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) result[static_cast<size_t>(i)] = value_at(i);
  return result;
}

struct Linear {
  int rows;
  std::vector<float> x, w, packed, b, y;

  explicit Linear(int batch)
      : rows(batch),
        x(values(batch * kInputs)),
        w(values(kInputs * kOutputs)),
        packed(static_cast<size_t>(kPanels * kInputs * kPanel), 77.0f),
        b(values(kOutputs)),
        y(static_cast<size_t>(batch * kOutputs), 77.0f) {
    View from(w.data(), kOutputs, kInputs), to = packed_view();
    EXPECT_EQ(test_linear_pack_w(from, to), 0) << emulsion_last_error();
  }
  View x_view() { return View(x.data(), kInputs, rows); }
  View packed_view() { return View(packed.data(), kPanel, kInputs, kPanels); }
  View b_view() { return View(b.data(), kOutputs); }
  View y_view() { return View(y.data(), kOutputs, rows); }
  int run() {
    View vx = x_view(), vw = packed_view(), vb = b_view(), vy = y_view();
    return test_linear(vx, vw, vb, vy);
  }
  std::vector<float> expected() const {
    std::vector<float> result;
    for (int m = 0; m < rows; ++m) {
      for (int n = 0; n < kOutputs; ++n) {
        float sum = 0;
        for (int k = 0; k < kInputs; ++k) {
          sum += x[static_cast<size_t>(m * kInputs + k)] * w[static_cast<size_t>(k * kOutputs + n)];
        }
        result.push_back(std::max(0.0f, sum + b[static_cast<size_t>(n)]));
      }
    }
    return result;
  }
};

class Batches : public testing::TestWithParam<int> {};

TEST_P(Batches, OneKernelServesEveryBatch) {
  Linear linear(GetParam());
  EXPECT_EQ(linear.run(), 0) << emulsion_last_error();
  EXPECT_EQ(linear.y, linear.expected());
}

INSTANTIATE_TEST_SUITE_P(All, Batches, testing::Values(0, 1, 5, 6, 7, 13, 64, 450));

TEST(AotKernel, ThePackPadsWithZeros) {
  Linear linear(1);
  for (int k = 0; k < kInputs; ++k) {
    for (int lane = 0; lane < kPanel; ++lane) {
      int n = 2 * kPanel + lane;
      float expected = n < kOutputs ? linear.w[static_cast<size_t>(k * kOutputs + n)] : 0.0f;
      EXPECT_EQ(linear.packed[static_cast<size_t>((2 * kInputs + k) * kPanel + lane)], expected);
    }
  }
}

TEST(AotKernel, NanPasses) {
  Linear linear(2);
  linear.x[kInputs] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(linear.run(), 0);
  for (int n = 0; n < kOutputs; ++n) {
    EXPECT_FALSE(std::isnan(linear.y[static_cast<size_t>(n)]));
    EXPECT_TRUE(std::isnan(linear.y[static_cast<size_t>(kOutputs + n)]));
  }
}

// Calls with one argument replaced; the output must stay as it was.
int run_with(Linear* linear, View x, View w, View b, View y) {
  int code = test_linear(x, w, b, y);
  EXPECT_THAT(linear->y, Each(77.0f));
  return code;
}

TEST(AotKernel, RefusesNull) {
  Linear linear(2);
  View w = linear.packed_view(), b = linear.b_view(), y = linear.y_view();
  EXPECT_EQ(test_linear(nullptr, w, b, y), EMULSION_ERROR_NULL_BUFFER);
  EXPECT_THAT(emulsion_last_error(), HasSubstr("test_linear: argument 1 (x)"));
  EXPECT_THAT(linear.y, Each(77.0f));
}

TEST(AotKernel, RefusesAWeightThatIsNotPacked) {
  Linear linear(2);
  View unpacked(linear.w.data(), kOutputs, kInputs);
  EXPECT_EQ(run_with(&linear, linear.x_view(), unpacked, linear.b_view(), linear.y_view()),
            EMULSION_ERROR_BAD_DIMENSIONS);
}

TEST(AotKernel, RefusesAWrongExtent) {
  Linear linear(2);
  View narrow(linear.x.data(), kInputs - 1, 2);
  EXPECT_EQ(run_with(&linear, narrow, linear.packed_view(), linear.b_view(), linear.y_view()),
            EMULSION_ERROR_CONSTRAINT_VIOLATED);
}

TEST(AotKernel, RefusesBatchesThatDisagree) {
  Linear linear(2);
  View one(linear.x.data(), kInputs, 1);
  EXPECT_EQ(run_with(&linear, one, linear.packed_view(), linear.b_view(), linear.y_view()),
            EMULSION_ERROR_INCONSISTENT_SIZE);
}

TEST(AotKernel, RefusesAStridedOutput) {
  Linear linear(2);
  halide_dimension_t shape[] = {{0, kOutputs / 2, 2}, {0, 2, kOutputs}};
  View strided(linear.y.data(), 2, shape);
  EXPECT_NE(run_with(&linear, linear.x_view(), linear.packed_view(), linear.b_view(), strided), 0);
}

TEST(AotKernel, RefusesAnOutputThatIsAnInput) {
  Linear linear(2);
  View y(linear.x.data(), kOutputs, 1), x(linear.x.data(), kInputs, 1);
  EXPECT_EQ(run_with(&linear, x, linear.packed_view(), linear.b_view(), y),
            EMULSION_ERROR_ALIASED_OUTPUT);
}

TEST(AotKernel, ThePackRefusesAWrongShapeToo) {
  Linear linear(1);
  View wrong(linear.w.data(), kInputs, kOutputs), to = linear.packed_view();
  EXPECT_EQ(test_linear_pack_w(wrong, to), EMULSION_ERROR_CONSTRAINT_VIOLATED);
  EXPECT_THAT(emulsion_last_error(), HasSubstr("test_linear_pack_w"));
}

TEST(AotKernel, RefusesAProcessorWithoutTheInstructions) {
  Target picky = Target::parse("x86-64-linux-avx512_sapphirerapids-avx512_zen5");
  if (runs_on_this_machine(picky)) GTEST_SKIP() << "this machine has everything";
  std::vector<float> x = values(8), y(8, 77.0f);
  View vx(x.data(), 8), vy(y.data(), 8);
  EXPECT_NE(test_picky(vx, vy), 0);
  EXPECT_THAT(emulsion_last_error(), HasSubstr("the processor has"));
  EXPECT_THAT(emulsion_last_error(), HasSubstr("avx512_zen5"));
  EXPECT_THAT(emulsion_last_error(), HasSubstr("test_picky"));
  EXPECT_THAT(y, Each(77.0f));
}

// An empty input may have any pointer: it is never looked at.
TEST(AotKernel, RowsAfterNoRows) {
  std::vector<float> b = values(10), rows(10), sums(2);
  auto* nowhere = reinterpret_cast<float*>(uintptr_t{4096});
  for (float* pointer : {static_cast<float*>(nullptr), nowhere}) {
    View va(pointer, 5, 0), vb(b.data(), 5, 2), vrows(rows.data(), 5, 2), vsums(sums.data(), 2);
    EXPECT_EQ(test_concat(va, vb, vrows, vsums), 0) << emulsion_last_error();
    EXPECT_EQ(rows, b);
    EXPECT_EQ(test_concat(vb, va, vrows, vsums), 0) << emulsion_last_error();
    EXPECT_EQ(rows, b);
  }
  float expected = 0;
  for (int i = 0; i < 5; ++i) expected += std::exp(b[static_cast<size_t>(i)]);
  EXPECT_NEAR(sums[0], expected, 1e-4f * expected);
}

TEST(AotKernel, MemoryThatRanOutIsACode) {
  std::vector<float> a = values(10), rows(20), sums(4);
  View va(a.data(), 5, 2), vrows(rows.data(), 5, 4), vsums(sums.data(), 4);
  int64_t requested = 0;
  {
    runtime::AllocationWatch watch;
    ASSERT_EQ(test_concat(va, va, vrows, vsums), 0) << emulsion_last_error();
    requested = watch.requested();
  }
  ASSERT_GT(requested, 0);
  for (int64_t fail_at = 1; fail_at <= requested; ++fail_at) {
    runtime::AllocationWatch watch(fail_at);
    EXPECT_EQ(test_concat(va, va, vrows, vsums), EMULSION_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(watch.live(), 0);
  }
}

TEST(AotKernel, NoRowsAtAll) {
  View empty_a(nullptr, 5, 0), empty_b(nullptr, 5, 0), rows(nullptr, 5, 0), sums(nullptr, 0);
  EXPECT_EQ(test_concat(empty_a, empty_b, rows, sums), 0) << emulsion_last_error();
}

// Its storage has room for 40 rows.
int run_checked(int rows, std::vector<float>* y) {
  std::vector<float> x(static_cast<size_t>(rows * 5), 3);
  y->assign(x.size(), 0);
  View vx(x.data(), 5, rows), vy(y->data(), 5, rows);
  return test_checked(vx, vy);
}

TEST(AotKernel, CheckedCodeThatStaysInItsMemoryRuns) {
  std::vector<float> y;
  for (int rows : {0, 1, 40}) {
    EXPECT_EQ(run_checked(rows, &y), 0) << emulsion_last_error();
    EXPECT_THAT(y, Each(7));
  }
}

TEST(AotKernel, CheckedCodeReturnsACodeBeforeItLeavesItsMemory) {
  std::vector<float> y;
  EXPECT_NE(run_checked(41, &y), 0);
  EXPECT_THAT(emulsion_last_error(),
              HasSubstr("stage a, axis 0 of a: expected an index from 0 to less than 40, counted "
                        "from 0, got 40"));
}

// And which of that name it is.
TEST(AotKernel, TheMetadataNamesTheKernel) {
  EXPECT_THAT(test_linear_metadata()->name, testing::MatchesRegex("test_linear_is_[0-9a-f]{16}"));
  EXPECT_EQ(test_linear_metadata()->num_arguments, 4);
}

// y[a, i] = z[a] * sum over j of x[i] * x[j], with all products of x stored.
int run_squares(std::vector<float> z, int columns, std::vector<float>* y) {
  std::vector<float> x(static_cast<size_t>(columns), 1.0f);
  const int rows = static_cast<int>(z.size());
  y->assign(z.size() * x.size(), 77.0f);
  View vx(x.data(), columns), vz(z.data(), rows), vy(y->data(), columns, rows);
  return test_squares(vx, vz, vy);
}

TEST(AotKernel, RefusesSizesWhoseStorageIsTooLarge) {
  std::vector<float> y;
  EXPECT_EQ(run_squares({2, 3}, 40000, &y), EMULSION_ERROR_ALLOCATION_TOO_LARGE);
  EXPECT_STREQ(emulsion_last_error(),
               "kernel test_squares: storage of square: expected at most 2147483647 bytes, got "
               "6400000000 for shape [40000, 40000] of f32; legal: smaller run-time sizes, or a "
               "schedule that stores less");
  EXPECT_THAT(y, Each(77.0f));
  EXPECT_EQ(run_squares({2}, 23171, &y), EMULSION_ERROR_ALLOCATION_TOO_LARGE);
  EXPECT_EQ(run_squares({2, 3}, 2, &y), EMULSION_OK) << emulsion_last_error();
  EXPECT_THAT(y, testing::ElementsAre(4, 4, 6, 6));
}

TEST(AotKernel, RefusesSizesForWhichAnIndexLeavesI32) {
  const auto run = [](int length) {
    std::vector<float> x(static_cast<size_t>(length), 1.0f), y(x.size(), 77.0f);
    View vx(x.data(), length), vy(y.data(), length);
    const int code = test_strides(vx, vy);
    EXPECT_THAT(y, Each(code == EMULSION_OK ? 1.0f : 77.0f));
    return code;
  };
  EXPECT_EQ(run(2149), EMULSION_ERROR_INDEX_TOO_LARGE);
  EXPECT_STREQ(emulsion_last_error(),
               "kernel test_strides: read of x, axis 0: i * 999999: expected an index that is "
               "computed within i32, got one that goes up to 2147997852; legal: smaller run-time "
               "sizes");
  EXPECT_EQ(run(2148), EMULSION_OK) << emulsion_last_error();
  EXPECT_EQ(run(0), EMULSION_OK) << emulsion_last_error();
}

TEST(AotKernel, NeedsNoStorageForWhatItDoesNotReach) {
  std::vector<float> y;
  EXPECT_EQ(run_squares({}, 40000, &y), EMULSION_OK) << emulsion_last_error();
}

}  // namespace
}  // namespace emulsion

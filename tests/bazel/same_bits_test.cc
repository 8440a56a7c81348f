// The promises of the README on bits: the same for every number of threads, and for every batch
// that a row is part of, in each body of the library; and workers compute as the caller does.

#include <gtest/gtest.h>
#include <omp.h>
#include <xmmintrin.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "backends/runtime/emulsion_runtime.h"
#include "backends/runtime/skip_targets.h"
#include "bazel/testing/needs.h"
#include "dsl/target.h"
#include "tests/bazel/same_bits_kernel.h"
#include "tests/small_stack.h"

namespace emulsion {
namespace {

constexpr int64_t kRows = 120;  // work enough to wake threads
constexpr int64_t kIn = 96, kOut = 200, kPicture = 10 * 10 * 8, kConvolved = 8 * 8 * 24;
constexpr int64_t kValues = 40, kLong = 9000, kPooled = 4 * 4 * 8;
constexpr int64_t kClasses = 20;
constexpr const char* kBodies[] = {"x86-64-v4", "x86-64-v3", "x86-64-linux"};

std::vector<float> numbers(int64_t count, unsigned seed, float scale = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> distribution(0, scale);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = distribution(engine);
  return values;
}

// What one call gives, one result behind the other, each with so many values a row.
struct Results {
  static constexpr std::array<int64_t, 10> kWidths = {kOut,    kOut,  kOut,    1, kConvolved,
                                                      kValues, kLong, kPooled, 1, kIn};
  std::array<std::vector<float>, 10> values;
  // Of all rows together.
  float total = 0;
  std::vector<float> columns, by_class;

  explicit Results(int64_t rows) : columns(kIn), by_class(kClasses * kIn) {
    for (size_t i = 0; i < kWidths.size(); ++i) {
      values[i].resize(static_cast<size_t>(rows * kWidths[i]));
    }
  }
};

// Whether the results are those of rows from `first` on of all rows, bit for bit.
testing::AssertionResult are_rows_of(const Results& part, const Results& all, int64_t first) {
  for (size_t i = 0; i < part.values.size(); ++i) {
    const float* expected = all.values[i].data() + first * Results::kWidths[i];
    const size_t bytes = part.values[i].size() * sizeof(float);
    if (bytes == 0 || std::memcmp(part.values[i].data(), expected, bytes) == 0) continue;
    return testing::AssertionFailure() << "result " << i << " has other bits";
  }
  return testing::AssertionSuccess();
}

bool is_same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class SameBits : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    SKIP_UNLESS_IT_RUNS(Target::parse(kBodies[GetParam()]));
    omp_set_num_threads(8);
    runtime::SkipTargets skip(GetParam());
    ASSERT_TRUE(
        kernels::same_bits::pack_w({w_.data(), {kIn, kOut}}, w_memory_.span(), &w_packed_).ok());
    skip.restart();
    ASSERT_TRUE(kernels::same_bits::pack_filter({filter_.data(), {3, 3, 8, 24}},
                                                filter_memory_.span(), &filter_packed_)
                    .ok());
    for (size_t i = 0; i < which_.size(); ++i) which_[i] = static_cast<int32_t>(i * 7 % kClasses);
  }
  void TearDown() override { emulsion_set_max_threads(0); }

  Results run(int64_t first, int64_t rows, int threads) {
    emulsion_set_max_threads(threads);
    Results results(rows);
    auto& [layer, softmax, normalised, sums, convolved, attended, long_rows, pooled, dots, series] =
        results.values;
    kernels::same_bits::Arguments arguments;
    arguments.x = {x_.data() + first * kIn, {rows, kIn}};
    arguments.pixels = {pixels_.data() + first * kPicture, {rows, 10, 10, 8}};
    arguments.w_packed = w_packed_;
    arguments.bias = {bias_.data(), {kOut}};
    arguments.gamma = {gamma_.data(), {kOut}};
    arguments.filter_packed = filter_packed_;
    arguments.keys = {w_.data(), {kIn, kOut}};
    arguments.values = {values_.data(), {kOut, kValues}};
    arguments.taps = {taps_.data(), {3, 3, 8}};
    arguments.column = {column_.data(), {kIn}};
    arguments.which = {which_.data() + first, {rows}};
    arguments.layer = {layer.data(), {rows, kOut}};
    arguments.rows = {softmax.data(), {rows, kOut}};
    arguments.normalised = {normalised.data(), {rows, kOut}};
    arguments.sums = {sums.data(), {rows}};
    arguments.convolved = {convolved.data(), {rows, 8, 8, 24}};
    arguments.attended = {attended.data(), {rows, kValues}};
    arguments.long_rows = {long_rows.data(), {rows, kLong}};
    arguments.pooled = {pooled.data(), {rows, 4, 4, 8}};
    arguments.dots = {dots.data(), {rows}};
    arguments.series = {series.data(), {rows, kIn}};
    arguments.total = {&results.total, {}};
    arguments.columns = {results.columns.data(), {kIn}};
    arguments.by_class = {results.by_class.data(), {kClasses, kIn}};
    const runtime::SkipTargets skip(GetParam());
    const Status status = kernels::same_bits::run(arguments);
    EXPECT_TRUE(status.ok()) << status.message;
    return results;
  }

  std::vector<float> x_ = numbers(kRows * kIn, 1), pixels_ = numbers(kRows * kPicture, 2);
  std::vector<float> w_ = numbers(kIn * kOut, 3, 0.1F), bias_ = numbers(kOut, 4);
  std::vector<float> gamma_ = numbers(kOut, 5), filter_ = numbers(3 * 3 * 8 * 24, 6, 0.1F);
  std::vector<float> values_ = numbers(kOut * kValues, 7), taps_ = numbers(3 * 3 * 8, 8);
  std::vector<float> column_ = numbers(kIn, 9);
  std::vector<int32_t> which_ = std::vector<int32_t>(kRows);

 private:
  // Memory for a packed weight, on a line of the cache.
  template <size_t Rank>
  class Memory {
   public:
    explicit Memory(const std::array<int64_t, Rank>& shape) : shape_(shape) {
      int64_t count = 1;
      for (int64_t extent : shape) count *= extent;
      values_.resize(static_cast<size_t>(count) + 16);
    }
    Span<float, Rank> span() {
      const auto address = reinterpret_cast<uintptr_t>(values_.data());
      return {values_.data() + (64 - address % 64) % 64 / sizeof(float), shape_};
    }

   private:
    const std::array<int64_t, Rank> shape_;
    std::vector<float> values_;
  };
  Memory<3> w_memory_{kernels::same_bits::w_packed_shape(1)};
  Memory<5> filter_memory_{kernels::same_bits::filter_packed_shape(1)};
  kernels::same_bits::packed_w w_packed_;
  kernels::same_bits::packed_filter filter_packed_;
};

TEST_P(SameBits, ForEveryNumberOfThreads) {
  const Results alone = run(0, kRows, 1);
  for (int threads : {2, 3, 8}) {
    const Results shared = run(0, kRows, threads);
    EXPECT_TRUE(are_rows_of(shared, alone, 0)) << threads;
    EXPECT_EQ(std::memcmp(&shared.total, &alone.total, sizeof(float)), 0) << threads;
    EXPECT_TRUE(is_same(shared.columns, alone.columns)) << threads;
    EXPECT_TRUE(is_same(shared.by_class, alone.by_class)) << threads;
  }
}

TEST_P(SameBits, ForEveryBatchThatARowIsPartOf) {
  const Results all = run(0, kRows, 1);
  for (int64_t rows = 1; rows < kRows; ++rows) {
    for (int64_t first = 0; first + rows <= kRows; first += 1 + rows / 16) {
      if ((first + 7 * rows) % 4 != 0) continue;
      ASSERT_TRUE(are_rows_of(run(first, rows, 1), all, first)) << rows << " rows from " << first;
    }
  }
}

TEST_P(SameBits, ForEveryBatchOnEveryNumberOfThreads) {
  const Results all = run(0, kRows, 1);
  for (int64_t rows = 1; rows < kRows; rows += 1 + rows / 6) {
    for (int64_t first : {int64_t{0}, (kRows - rows) / 2, kRows - rows}) {
      for (int threads : {1, 2, 3, 8}) {
        ASSERT_TRUE(are_rows_of(run(first, rows, threads), all, first))
            << rows << " rows from " << first << ", " << threads << " threads";
      }
    }
  }
}

// On a thread that has little room on its stack, as some languages and servers give theirs.
TEST_P(SameBits, OnASmallStack) {
  const Results all = run(0, kRows, 1);
  for (int threads : {1, 8}) {
    run_on_stack(64 << 10, [&] {
      omp_set_num_threads(8);
      EXPECT_TRUE(are_rows_of(run(0, kRows, threads), all, 0)) << threads;
    });
  }
}

// A program that takes denormal numbers for zero (as -ffast-math has it) does so on all threads.
TEST_P(SameBits, WhereDenormalNumbersAreZero) {
  for (float& value : x_) value *= 1e-38F;
  for (float& value : bias_) value *= 1e-39F;
  for (float& value : pixels_) value *= 1e-37F;
  const unsigned before = _mm_getcsr();
  const Results with_denormals = run(0, kRows, 1);
  _mm_setcsr(before | 0x8040);  // flush to zero, denormals are zero
  const Results alone = run(0, kRows, 1);
  std::vector<testing::AssertionResult> found;
  for (int round = 0; round < 20; ++round) found.push_back(are_rows_of(run(0, kRows, 8), alone, 0));
  _mm_setcsr(before);
  EXPECT_FALSE(are_rows_of(alone, with_denormals, 0));
  for (const testing::AssertionResult& same : found) EXPECT_TRUE(same);
}

// A program that rounds to another side does so on all threads.
TEST_P(SameBits, WhereFloatsAreRoundedUp) {
  const unsigned before = _mm_getcsr();
  const Results to_nearest = run(0, kRows, 1);
  _mm_setcsr((before & ~0x6000U) | _MM_ROUND_UP);
  const Results alone = run(0, kRows, 1);
  std::vector<testing::AssertionResult> found;
  for (int round = 0; round < 20; ++round) found.push_back(are_rows_of(run(0, kRows, 8), alone, 0));
  _mm_setcsr(before);
  EXPECT_FALSE(are_rows_of(alone, to_nearest, 0));
  for (const testing::AssertionResult& same : found) EXPECT_TRUE(same);
}

// And a kernel leaves the application's threads as they were.
TEST_P(SameBits, ThreadsKeepTheirOwnWayToRound) {
  constexpr unsigned kPlain = 0x1f80, kFlush = 0x8040, kControl = 0xffc0;
  std::vector<unsigned> after(8);
#pragma omp parallel num_threads(8)
  _mm_setcsr(kPlain);
  _mm_setcsr(kPlain | kFlush);
  run(0, kRows, 8);
  _mm_setcsr(kPlain);
#pragma omp parallel num_threads(8)
  after[static_cast<size_t>(omp_get_thread_num())] = _mm_getcsr() & kControl;
  EXPECT_EQ(after, std::vector<unsigned>(8, kPlain));
}

INSTANTIATE_TEST_SUITE_P(Bodies, SameBits, testing::Range(0, static_cast<int>(std::size(kBodies))),
                         [](const auto& info) { return "target" + std::to_string(info.param); });

}  // namespace
}  // namespace emulsion

// What emulsion_library makes, as an application uses it: through the typed headers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "backends/runtime/emulsion_runtime.h"
#include "backends/runtime/kernel_call.h"
#include "tests/bazel/tiny_blend_kernel.h"
#include "tests/bazel/tiny_bytes_kernel.h"
#include "tests/bazel/tiny_linear_kernel.h"
#include "tests/bazel/tiny_reproducible_kernel.h"
#include "tests/bazel/tiny_scheduled_kernel.h"
#include "tests/bazel/two_results_kernel.h"

namespace emulsion {
namespace {

using ::testing::HasSubstr;

struct Tiny {
  explicit Tiny(int64_t batch) : batch(batch), x(batch * 20), w(20 * 24), y(batch * 24, -1) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 3;
    for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 5) - 2;
  }
  Span<const float, 2> x_span() const { return {x.data(), {batch, 20}}; }
  Span<const float, 2> w_span() const { return {w.data(), {20, 24}}; }
  Span<float, 2> y_span() { return {y.data(), {batch, 24}}; }

  // The bias in the file is n - 12.
  std::vector<float> expected() const {
    std::vector<float> result;
    for (int64_t m = 0; m < batch; ++m) {
      for (int64_t n = 0; n < 24; ++n) {
        float sum = static_cast<float>(n - 12);
        for (int64_t k = 0; k < 20; ++k) sum += x[m * 20 + k] * w[k * 24 + n];
        result.push_back(std::max(sum, 0.0f));
      }
    }
    return result;
  }

  int64_t batch;
  std::vector<float> x, w, y;
};

TEST(KernelLibraryTest, RunsForAnyBatch) {
  for (int64_t batch : {0, 1, 5, 17, 64}) {
    Tiny tiny(batch);
    const Status status = kernels::tiny_scheduled::run(tiny.x_span(), tiny.w_span(), tiny.y_span());
    ASSERT_TRUE(status.ok()) << status.message;
    EXPECT_EQ(tiny.y, tiny.expected()) << batch;
  }
}

TEST(KernelLibraryTest, TakesNamedArguments) {
  Tiny tiny(9);
  kernels::tiny_scheduled::Arguments arguments;
  arguments.x = tiny.x_span();
  arguments.w = tiny.w_span();
  arguments.y = tiny.y_span();
  const Status status = kernels::tiny_scheduled::run(arguments);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(tiny.y, tiny.expected());
}

// The source reads, top to bottom, as the call does: what is declared first comes first.
TEST(KernelLibraryTest, TakesArgumentsInTheOrderOfTheirDeclarations) {
  const std::vector<float> fg = {8, 8}, bg = {4, 0}, alpha = {1, 0.5f};
  std::vector<float> mix(2);
  const Status status = kernels::tiny_blend::run({fg.data(), {2}}, {bg.data(), {2}},
                                                 {alpha.data(), {2}}, {mix.data(), {2}});
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(mix, (std::vector<float>{8, 4}));
}

TEST(KernelLibraryTest, RefusesANamedArgumentThatIsLeftOut) {
  namespace kernel = kernels::tiny_blend;
  const std::vector<float> values = {1, 2};
  std::vector<float> mix = {7, 7};
  for (const std::string& missing : std::vector<std::string>{"fg", "bg", "alpha", "mix"}) {
    kernel::Arguments arguments;
    if (missing != "fg") arguments.fg = {values.data(), {2}};
    if (missing != "bg") arguments.bg = {values.data(), {2}};
    if (missing != "alpha") arguments.alpha = {values.data(), {2}};
    if (missing != "mix") arguments.mix = {mix.data(), {2}};
    const Status status = kernel::run(arguments);
    EXPECT_EQ(status.code, EMULSION_ERROR_NULL_BUFFER);
    EXPECT_THAT(status.message, HasSubstr("(" + missing + "): expected a buffer, got null"));
  }
  EXPECT_EQ(mix, (std::vector<float>{7, 7}));
}

TEST(KernelLibraryTest, RefusesAPackedWeightThatIsLeftOut) {
  Tiny tiny(1);
  kernels::tiny_linear::Arguments arguments;
  arguments.x = tiny.x_span();
  arguments.y = tiny.y_span();
  const Status status = kernels::tiny_linear::run(arguments);
  EXPECT_EQ(status.code, EMULSION_ERROR_NULL_BUFFER);
  EXPECT_THAT(status.message, HasSubstr("(w_packed): expected a buffer, got null"));
}

// No elements is not no argument.
TEST(KernelLibraryTest, TakesEmptyArgumentsWithoutMemory) {
  kernels::tiny_blend::Arguments arguments;
  arguments.fg = arguments.bg = arguments.alpha = {nullptr, {0}};
  arguments.mix = {nullptr, {0}};
  const Status status = kernels::tiny_blend::run(arguments);
  EXPECT_TRUE(status.ok()) << status.message;
}

TEST(KernelLibraryTest, PacksAWeightOnce) {
  namespace kernel = kernels::tiny_linear;
  Tiny tiny(11);
  std::vector<float> packed(kernel::packed_w_elements(11));
  kernel::packed_w w_packed;
  const Status pack =
      kernel::pack_w(tiny.w_span(), {packed.data(), kernel::w_packed_shape(11)}, &w_packed);
  ASSERT_TRUE(pack.ok()) << pack.message;
  for (int call = 0; call < 2; ++call) {
    const Status status = kernel::run(tiny.x_span(), w_packed, tiny.y_span());
    ASSERT_TRUE(status.ok()) << status.message;
    EXPECT_EQ(tiny.y, tiny.expected());
  }
}

TEST(KernelLibraryTest, RefusesAWeightOfAnotherShapeToBePacked) {
  namespace kernel = kernels::tiny_linear;
  Tiny tiny(1);
  std::vector<float> packed(kernel::packed_w_elements(1), 7);
  kernel::packed_w w_packed;
  const Status status = kernel::pack_w({tiny.w.data(), {24, 20}},
                                       {packed.data(), kernel::w_packed_shape(1)}, &w_packed);
  EXPECT_EQ(status.code, EMULSION_ERROR_CONSTRAINT_VIOLATED);
  EXPECT_EQ(packed, std::vector<float>(packed.size(), 7));
  EXPECT_FALSE(w_packed.span().defined());
}

TEST(KernelLibraryTest, TakesAWeightThatWasPackedBefore) {
  namespace kernel = kernels::tiny_linear;
  Tiny tiny(5);
  std::vector<float> memory(kernel::packed_w_elements(5));
  kernel::packed_w w_packed;
  ASSERT_TRUE(
      kernel::pack_w(tiny.w_span(), {memory.data(), kernel::w_packed_shape(5)}, &w_packed).ok());
  const std::vector<float> from_a_file = memory;
  kernel::Arguments arguments;
  arguments.x = tiny.x_span();
  arguments.w_packed =
      kernel::packed_w::assume_packed({from_a_file.data(), kernel::w_packed_shape(5)});
  arguments.y = tiny.y_span();
  const Status status = kernel::run(arguments);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(tiny.y, tiny.expected());
}

// What is not packed, or packed for another kernel, does not compile.
TEST(KernelLibraryTest, OnlyItsPackFunctionMakesAPackedWeight) {
  namespace kernel = kernels::tiny_linear;
  using Packed = kernel::packed_w;
  static_assert(!std::is_convertible_v<Span<const float, 3>, Packed>);
  static_assert(!std::is_convertible_v<Span<float, 3>, Packed>);
  static_assert(!std::is_constructible_v<Packed, const float*, std::array<int64_t, 3>>);
  static_assert(!std::is_convertible_v<kernels::tiny_reproducible::packed_w, Packed>);
  static_assert(!std::is_assignable_v<decltype(kernel::Arguments::w_packed)&, Span<float, 3>>);
  static_assert(std::is_same_v<decltype(kernel::Arguments::w_packed), Packed>);
}

// Behind the C entry there are no types: an unpacked weight is told by its rank.
TEST(KernelLibraryTest, TheCEntryRefusesAWeightThatIsNotPacked) {
  Tiny tiny(1);
  runtime::KernelBuffer<2> x(tiny.x_span()), w(tiny.w_span()), y(tiny.y_span());
  EXPECT_EQ(::tiny_linear(x.raw(), w.raw(), y.raw()), EMULSION_ERROR_BAD_DIMENSIONS);
  EXPECT_STREQ(emulsion_last_error(),
               "kernel tiny_linear: argument 2 (w_packed): expected rank 3, got 2; legal: what "
               "tiny_linear_pack_w() makes of w");
  EXPECT_EQ(tiny.y, std::vector<float>(24, -1));
}

TEST(KernelLibraryTest, SaysShapesAndArithmeticAtCompileTime) {
  static_assert(kernels::tiny_linear::x_shape(3)[0] == 3);
  static_assert(kernels::tiny_linear::y_shape(3)[1] == 24);
  // Multiplied and added, biased, clipped.
  static_assert(kernels::tiny_linear::flops(3) == 3 * 24 * (2 * 20 + 2));
  static_assert(kernels::two_results::flops(5, 2) == 5 * 3 * 2);
  EXPECT_STREQ(kernels::tiny_linear::info().name, "tiny_linear");
  EXPECT_EQ(kernels::tiny_linear::info().target_count, 3);
}

TEST(KernelLibraryTest, GivesSeveralResultsOfSeveralTypes) {
  const std::vector<double> x = {1, 2, 3, 4, 5, 6};
  const std::vector<int32_t> counts = {1, 2, 3};
  std::vector<double> total(2);
  std::array<bool, 3> small = {false, true, true};
  const Status status = kernels::two_results::run({x.data(), {2, 3}}, {counts.data(), {3}},
                                                  {total.data(), {2}}, {small.data(), {3}});
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(total, (std::vector<double>{14, 32}));
  EXPECT_EQ(small, (std::array<bool, 3>{true, false, false}));
}

TEST(KernelLibraryTest, TakesIntegersThatWrapAround) {
  std::vector<uint8_t> bytes(67, 255);
  std::vector<int8_t> signs(67, -128);
  std::vector<int16_t> products(67);
  uint8_t wrapped = 0;
  uint16_t counted = 0;
  const Status status =
      kernels::tiny_bytes::run({bytes.data(), {1, 67}}, {signs.data(), {1, 67}},
                               {products.data(), {1, 67}}, {&wrapped, {1}}, {&counted, {1}});
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(products, std::vector<int16_t>(67, 255 * -128));
  EXPECT_EQ(wrapped, 67 * 255 % 256);
  EXPECT_EQ(counted, 67 * 255);
}

TEST(KernelLibraryTest, RefusesAWrongExtent) {
  Tiny tiny(4);
  const Status status =
      kernels::tiny_scheduled::run({tiny.x.data(), {5, 16}}, tiny.w_span(), tiny.y_span());
  EXPECT_EQ(status.code, EMULSION_ERROR_CONSTRAINT_VIOLATED);
  EXPECT_THAT(status.message, HasSubstr("x"));
  EXPECT_THAT(status.message, HasSubstr("20"));
  EXPECT_EQ(tiny.y, std::vector<float>(4 * 24, -1));
}

TEST(KernelLibraryTest, RefusesSizesThatDisagree) {
  Tiny tiny(4);
  const Status status =
      kernels::tiny_scheduled::run({tiny.x.data(), {3, 20}}, tiny.w_span(), tiny.y_span());
  EXPECT_EQ(status.code, EMULSION_ERROR_INCONSISTENT_SIZE);
  EXPECT_EQ(tiny.y, std::vector<float>(4 * 24, -1));
}

TEST(KernelLibraryTest, RefusesNoMemory) {
  Tiny tiny(4);
  const Status status =
      kernels::tiny_scheduled::run({nullptr, {4, 20}}, tiny.w_span(), tiny.y_span());
  EXPECT_EQ(status.code, EMULSION_ERROR_NULL_HOST);
  EXPECT_THAT(status.message, HasSubstr("tiny_scheduled"));
}

TEST(KernelLibraryTest, RefusesAnOutputThatIsAlsoAnInput) {
  Tiny tiny(24);
  const Status status =
      kernels::tiny_scheduled::run({tiny.y.data(), {24, 20}}, tiny.w_span(), tiny.y_span());
  EXPECT_EQ(status.code, EMULSION_ERROR_ALIASED_OUTPUT);
}

TEST(KernelLibraryTest, RefusesExtentsThatHalideCannotHold) {
  Tiny tiny(0);
  const int64_t batch = (int64_t{1} << 32) + 1;
  const Status status = kernels::tiny_scheduled::run({tiny.x.data(), {batch, 20}}, tiny.w_span(),
                                                     {tiny.y.data(), {batch, 24}});
  EXPECT_EQ(status.code, EMULSION_ERROR_TOO_LARGE);
  EXPECT_THAT(status.message, HasSubstr("argument x"));
}

}  // namespace
}  // namespace emulsion

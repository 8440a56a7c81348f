#include "backends/codegen/kernel_cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "backends/codegen/kernel_context.h"
#include "dsl/error.h"
#include "dsl/operators.h"

// What a kernel's own files define.
emulsion::Graph emulsion_kernel(const emulsion::KernelContext&) {
  return emulsion::neg(emulsion::input("x", emulsion::f32, {emulsion::Extent::size("B")}), "y");
}

namespace emulsion {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

void shape_of_b(const int64_t* sizes, int64_t* shape) { shape[0] = sizes[0]; }

int negate(halide_buffer_t* const* a) {
  for (int i = 0; i < a[0]->dim[0].extent; ++i) {
    reinterpret_cast<float*>(a[1]->host)[i] = -reinterpret_cast<const float*>(a[0]->host)[i];
  }
  return 0;
}

int write_past_the_end(halide_buffer_t* const* a) {
  reinterpret_cast<float*>(a[1]->host)[a[1]->dim[0].extent] = 1;
  return 0;
}

int write_before_the_start(halide_buffer_t* const* a) {
  reinterpret_cast<float*>(a[1]->host)[-1] = 1;
  return 0;
}

int write_nothing(halide_buffer_t* const*) { return 0; }

int refuse(halide_buffer_t* const*) { return EMULSION_ERROR_OUT_OF_MEMORY; }

const char* const kSizes[] = {"B"};
const char* const kTargets[] = {"x86-64-linux"};
const runtime::KernelArgument kArguments[] = {
    {"x", runtime::ElementType::f32, 1, false, shape_of_b},
    {"y", runtime::ElementType::f32, 1, true, shape_of_b}};

runtime::KernelInfo info(int (*call)(halide_buffer_t* const*)) {
  return {"f", 1, kSizes, 2, kArguments, 0, nullptr, 1, kTargets, call, nullptr};
}

}  // namespace

const KernelUnderTest& kernel_under_test() {
  static const runtime::KernelInfo table = info(negate);
  static const KernelUnderTest kernel = {&table, {}};
  return kernel;
}

namespace {

TensorValues arguments(int64_t batch) {
  return make_arguments(graph_under_test(), {{"B", batch}}, 1);
}

TEST(KernelCasesTest, TriesAwkwardSizes) {
  const std::vector<SizeValues> sizes = awkward_sizes(graph_under_test());
  EXPECT_THAT(sizes, ::testing::Contains(SizeValues{{"B", 0}}));
  EXPECT_THAT(sizes, ::testing::Contains(SizeValues{{"B", 17}}));
  EXPECT_THAT(sizes, ::testing::SizeIs(14));
}

TEST(KernelCasesTest, TriesUnequalSizesToo) {
  const Tensor x = input("x", f32, {Extent::size("A"), Extent::size("B")});
  bool unequal = false;
  for (const SizeValues& sizes : awkward_sizes(Graph(neg(x)))) {
    unequal = unequal || sizes.at("A") != sizes.at("B");
  }
  EXPECT_TRUE(unequal);
}

TEST(KernelCasesTest, LeavesOutSizesWithoutAShape) {
  const Tensor x = input("x", f32, {Extent::size("B") * 2 - 6});
  for (const SizeValues& sizes : awkward_sizes(Graph(neg(x)))) EXPECT_GE(sizes.at("B"), 3);
}

TEST(KernelCasesTest, HasOneCaseWithoutSizes) {
  EXPECT_THAT(awkward_sizes(Graph(neg(input("x", f32, {3})))), ::testing::SizeIs(1));
}

TEST(KernelCasesTest, LeavesOutWhatTakesTheInterpreterLong) {
  const Extent batch = Extent::size("B");
  const Tensor x = input("x", f32, {batch, 64, 64, 8}), w = weight("w", f32, {3, 3, 8, 32});
  const std::vector<SizeValues> few = awkward_sizes(Graph(conv2d(x, w)));
  EXPECT_THAT(few, ::testing::SizeIs(::testing::AllOf(::testing::Ge(4), ::testing::Lt(10))));
  EXPECT_EQ(few.front().at("B"), 0);
  EXPECT_EQ(few[3].at("B"), 3);
  const Tensor rows = input("x", f32, {batch, 64});
  EXPECT_THAT(awkward_sizes(Graph(matmul(rows, weight("w", f32, {64, 128})))),
              ::testing::SizeIs(14));
}

TEST(KernelCasesTest, TriesAFewSizesHoweverLongTheyTake) {
  const Tensor x = input("x", f32, {Extent::size("B"), 4096});
  EXPECT_THAT(awkward_sizes(Graph(matmul(x, weight("w", f32, {4096, 4096})))),
              ::testing::ElementsAre(SizeValues{{"B", 0}}, SizeValues{{"B", 1}},
                                     SizeValues{{"B", 2}}, SizeValues{{"B", 3}}));
}

TEST(KernelCasesTest, RunsAKernel) {
  const TensorValues y = run_kernel(info(negate), arguments(5), {{"B", 5}});
  EXPECT_EQ(y.size(), 1);
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(y.at("y").value(i), -arguments(5).at("x").value(i));
  }
}

TEST(KernelCasesTest, NoticesAWriteOutsideOfAnOutput) {
  for (const auto& kernel : {write_past_the_end, write_before_the_start}) {
    EXPECT_THAT(
        [&] {
          run_kernel(info(kernel), arguments(5), {{"B", 5}});
        },
        ThrowsMessage<Error>(HasSubstr("argument y: the kernel wrote outside")));
  }
}

// A result may well be 0: what is not written is none.
TEST(KernelCasesTest, NoticesWhatIsNotWritten) {
  const TensorValues y = run_kernel(info(write_nothing), arguments(5), {{"B", 5}});
  for (int64_t i = 0; i < 5; ++i) EXPECT_TRUE(std::isnan(y.at("y").value(i))) << i;
}

TEST(KernelCasesTest, SaysWhatAKernelRefused) {
  EXPECT_THAT(
      [] {
        run_kernel(info(refuse), arguments(5), {{"B", 5}});
      },
      ThrowsMessage<Error>(HasSubstr("-11")));
}

TEST(KernelCasesTest, KnowsWhatKeepsWholeNumbersWhole) {
  const Tensor x = input("x", f32, {4});
  EXPECT_TRUE(keeps_whole_numbers(Graph(relu(add(mul(x, 2.0f), x)))));
  EXPECT_FALSE(keeps_whole_numbers(Graph(exp(x))));
  EXPECT_FALSE(keeps_whole_numbers(Graph(div(x, 3.0f))));
  EXPECT_FALSE(keeps_whole_numbers(Graph(mul(x, 0.5f))));
  EXPECT_FALSE(keeps_whole_numbers(Graph(add(x, constant("c", {1}, std::vector<float>{2.5f})))));
}

}  // namespace
}  // namespace emulsion

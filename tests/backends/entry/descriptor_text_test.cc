// What the backend reads off a nest before Halide is asked anything: places, run-time sizes, the
// descriptor.

#include "backends/entry/descriptor_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/entry/run_time_sizes.h"
#include "dsl/error.h"
#include "dsl/operators.h"
#include "dsl/schedule.h"
#include "passes/lower/lower.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

const Extent kB = Extent::size("B"), kT = Extent::size("T");

// The tables of a nest with these arguments, the last an output.
LoopNest with_arguments(const std::vector<Shape>& shapes, std::vector<std::string> sizes) {
  LoopNest nest;
  nest.name = "y";
  nest.sizes = std::move(sizes);
  for (size_t i = 0; i < shapes.size(); ++i) {
    bool output = i + 1 == shapes.size();
    nest.buffers.push_back({output ? "y" : "x" + std::to_string(i), f32,
                            output ? BufferRole::output : BufferRole::input, shapes[i], nullptr});
  }
  return nest;
}

TEST(RunTimeSizes, ASizeIsTheFirstExtentThatIsIt) {
  std::vector<SizeSource> sources = size_sources(with_arguments({{4, kB}, {kB}}, {"B"}));
  ASSERT_EQ(sources.size(), 1u);
  EXPECT_EQ(sources[0].argument, 0u);
  EXPECT_EQ(sources[0].axis, 1u);
  EXPECT_EQ(sources[0].coefficient, 1);
}

TEST(RunTimeSizes, AnAffineExtentIsSolved) {
  std::vector<SizeSource> sources =
      size_sources(with_arguments({{kB * Extent(2) + Extent(3)}, {kB}}, {"B"}));
  ASSERT_EQ(sources.size(), 1u);
  EXPECT_EQ(sources[0].coefficient, 2);
  EXPECT_EQ(sources[0].rest, Extent(3));
}

TEST(RunTimeSizes, ASizeMayNeedAnotherFirst) {
  std::vector<SizeSource> sources = size_sources(with_arguments({{kB + kT}, {kT}}, {"B", "T"}));
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[0].size, "T");
  EXPECT_EQ(sources[1].size, "B");
  EXPECT_EQ(sources[1].rest, kT);
}

TEST(RunTimeSizes, AnOutputMayGiveASize) {
  std::vector<SizeSource> sources = size_sources(with_arguments({{4}, {kB}}, {"B"}));
  ASSERT_EQ(sources.size(), 1u);
  EXPECT_EQ(sources[0].argument, 1u);
}

TEST(RunTimeSizes, RefusesASizeThatNoArgumentGives) {
  EXPECT_ERROR(size_sources(with_arguments({{4}, {4}}, {"B"})), "run-time size B, got none");
}

TEST(RunTimeSizes, RefusesTwoSizesInOneSum) {
  EXPECT_ERROR(size_sources(with_arguments({{kB + kT}, {kB + kT}}, {"B", "T"})), "run-time size B");
}

TEST(DescriptorText, SaysWhatTheRuntimeReads) {
  LoopNest nest = with_arguments({{kB * Extent(2) - kT + Extent(1), 4}, {}, {kB, kT}}, {"B", "T"});
  nest.buffers[1].dtype = bool_;
  std::string text = descriptor_text(nest, "kernel");
  EXPECT_EQ(text,
            "kernel\n"
            "B,T\n"
            "i x0 f32 0 2 2*B-T+1 4\n"
            "i x1 bool 0 0\n"
            "o y f32 0 2 B T\n");
}

TEST(DescriptorText, ALeadingNegativeCoefficientNeedsNoSpaceEither) {
  LoopNest nest = with_arguments({{kB}, {Extent(8) - kB}}, {"B"});
  EXPECT_EQ(descriptor_text(nest, "kernel"), "kernel\nB\ni x0 f32 0 1 B\no y f32 0 1 -1*B+8\n");
}

TEST(DescriptorText, SaysWhatIsPacked) {
  const Tensor x = input("x", f32, {kB, 20});
  const Tensor w = weight("w", f32, {20, 24});
  const Tensor y = matmul(x, w, "y");
  Schedule schedule(y);
  schedule[y].pack(w, Axis("n"), 8);
  EXPECT_EQ(descriptor_text(lower(y, schedule), "kernel"),
            "kernel\nB\ni x f32 0 2 B 20\np w w_packed f32 0 3 3 20 8\no y f32 0 2 B 24\n");
}

}  // namespace
}  // namespace emulsion

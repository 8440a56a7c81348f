// What the backend reads off a nest before Halide is asked anything: places, run-time sizes, the
// descriptor.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/halide/descriptor_text.h"
#include "backends/halide/nest_places.h"
#include "backends/halide/run_time_sizes.h"
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

TEST(NestPlaces, AnOutputIsAtTheRootAndItsTileInsideIt) {
  LoopNest nest = linear_nest(kB);
  std::map<std::string, StagePlace> places = find_places(nest);
  EXPECT_EQ(places.at("y").computed_in, nullptr);
  EXPECT_EQ(places.at("y").alloc, nullptr);
  EXPECT_EQ(places.at("y").pure.loops.size(), 3u);
  ASSERT_NE(places.at("mm").computed_in, nullptr);
  EXPECT_EQ(places.at("mm").computed_in->axis, "mo");
  EXPECT_EQ(places.at("mm").kept_in, places.at("mm").computed_in);
  EXPECT_EQ(places.at("mm").allocated_in, places.at("mm").computed_in);
  EXPECT_EQ(places.at("mm").pure.loops.size(), 2u);
  ASSERT_TRUE(places.at("mm").update.has_value());
  EXPECT_EQ(places.at("mm").update->loops.size(), 3u);
}

// y = rows of a, rows + 1 and rows + 2 when it is a window
LoopNest kept_over_blocks(bool window, const Extent& blocks) {
  const Axis j("j", blocks * Extent(4)), o("o"), i("i");
  const Extent all = blocks * Extent(4) + Extent(2);
  const Axis k("k", all);
  Tensor a = compute("a", {k}, input("x", f32, {all})(k) * 2.0f);
  Tensor y = compute("y", {j}, window ? a(j) + a(j + 2) : a(j) * 3.0f);
  Schedule s(y);
  s[y].split(j, o, i, 4);
  s[a].store_root().compute_at(y, i);
  return lower(Graph(y), s);
}

TEST(NestPlaces, AWindowIsKeptOverTheLoopsAlongWhichItSlides) {
  const LoopNest nest = kept_over_blocks(true, Extent(3));
  const StagePlace a = find_places(nest).at("a");
  ASSERT_NE(a.computed_in, nullptr);
  EXPECT_EQ(a.computed_in->axis, "i");
  ASSERT_NE(a.kept_in, nullptr);
  EXPECT_EQ(a.kept_in->axis, "o");
  EXPECT_EQ(a.allocated_in, nullptr);
}

TEST(NestPlaces, WhatNeverSlidesIsKeptForOneStepInMemoryFromFurtherOut) {
  const LoopNest nest = kept_over_blocks(false, Extent(3));
  const StagePlace a = find_places(nest).at("a");
  ASSERT_NE(a.computed_in, nullptr);
  EXPECT_EQ(a.kept_in, a.computed_in);
  EXPECT_EQ(a.allocated_in, nullptr);
}

TEST(NestPlaces, NoMemoryIsTakenFurtherOutForWhatIsNeverComputed) {
  const LoopNest nest = kept_over_blocks(false, Extent(0));
  const StagePlace a = find_places(nest).at("a");
  EXPECT_EQ(a.allocated_in, a.kept_in);
}

TEST(NestPlaces, NoTreeIsAnInternalError) {
  LoopNest nest = linear_nest();
  nest.root = nullptr;
  EXPECT_INTERNAL_ERROR(find_places(nest), "no tree");
}

TEST(NestPlaces, AStageWithoutANestIsAnInternalError) {
  LoopNest nest = linear_nest();
  nest.stages.push_back(nest.stages.front());
  nest.stages.back().name = "lost";
  EXPECT_INTERNAL_ERROR(find_places(nest), "stage lost: not computed");
}

TEST(NestPlaces, AnUnknownStageIsAnInternalError) {
  LoopNest nest = linear_nest();
  nest.stages.pop_back();
  EXPECT_INTERNAL_ERROR(find_places(nest), "unknown stages");
}

TEST(NestPlaces, AStageComputedTwiceIsAnInternalError) {
  LoopNest nest = copy_nest(Extent(4));
  nest.root = block_node({nest.root, nest.root});
  EXPECT_INTERNAL_ERROR(find_places(nest), "two nests");
}

TEST(NestPlaces, AReductionWithoutAnUpdateIsAnInternalError) {
  LoopNest nest = copy_nest(Extent(4));
  nest.stages.front().combiner = Combiner::sum;
  EXPECT_INTERNAL_ERROR(find_places(nest), "expected an update exactly for a reduction");
}

TEST(RunTimeSizes, ASizeIsTheFirstExtentThatIsIt) {
  std::vector<SizeSource> sources = size_sources(with_arguments({{4, kB}, {kB}}, {"B"}));
  ASSERT_EQ(sources.size(), 1u);
  EXPECT_EQ(sources[0].argument, "x0");
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
  EXPECT_EQ(sources[0].argument, "y");
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

}  // namespace
}  // namespace emulsion

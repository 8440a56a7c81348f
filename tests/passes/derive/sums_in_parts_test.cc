// How an axis that is summed up is cut into parts.

#include "passes/derive/sums_in_parts.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"

namespace emulsion {
namespace {

const Extent kRows = Extent::size("R");

Graph sums(const Extent& rows, const Extent& columns) {
  return Graph(sum(input("x", f32, {rows, columns, 5}), {0, 1}, false, "s"));
}

const Op& sum_in(const Graph& graph) { return *graph.ops().back(); }

struct Cut {
  SumsInParts made;
  std::string schedule;
};

Cut cut(const Extent& rows, const PartSizes& sizes) {
  const Graph graph = sums(rows, 30);
  Schedule schedule(graph);
  const SumsInParts made = cut_in_parts(sum_in(graph), sizes, &schedule);
  return {made, to_string(schedule)};
}

TEST(SumsInParts, PartsOfAKnownNumber) {
  const Cut whole = cut(96, {3, 32});
  EXPECT_EQ(whole.schedule,
            "emulsion schedule 1\ns.split(r0, block, r0, 32)\ns.rfactor(block, s_parts)\n");
  EXPECT_EQ(whole.made.part.name, "s_parts");
  EXPECT_EQ(whole.made.block.extent(), Extent(3));
  EXPECT_EQ(whole.made.part.shape, (Shape{3, 5}));
  EXPECT_EQ(whole.made.part.axes.front().name(), "block");
  EXPECT_EQ(whole.made.part.reduction_axes.front().extent(), Extent(32));
  EXPECT_EQ(whole.made.part.reduction_axes.size(), 2U);
  EXPECT_FALSE(whole.made.uneven);
  const Cut uneven = cut(95, {3, 32});
  ASSERT_TRUE(uneven.made.uneven);
  EXPECT_EQ(uneven.made.uneven->name(), "r0");
}

TEST(SumsInParts, RoundsOfARunTimeNumber) {
  const Cut rounds = cut(kRows, {3, 32});
  EXPECT_EQ(rounds.schedule,
            "emulsion schedule 1\ns.split(r0, round, r0, 96)\ns.split(r0, block, r0, 32)\n"
            "s.rfactor(block, s_parts)\n");
  ASSERT_EQ(rounds.made.part.reduction_axes.size(), 3U);
  EXPECT_EQ(rounds.made.part.reduction_axes[0].name(), "round");
  EXPECT_EQ(rounds.made.part.reduction_axes[1].extent(), Extent(32));
  ASSERT_TRUE(rounds.made.uneven);
  EXPECT_EQ(rounds.made.uneven->name(), "round");
}

TEST(SumsInParts, NamesThatAreFree) {
  const Graph graph = sums(kRows, 30);
  Schedule schedule(graph);
  schedule["s"].cache_write("s_parts");
  schedule["s_parts"].compute_root();
  EXPECT_EQ(cut_in_parts(sum_in(graph), {2, 16}, &schedule).part.name, "s_parts1");
}

TEST(SumsInParts, ElementsOfAStep) {
  EXPECT_EQ(elements_of_step(sum_in(sums(7, 30))), 150);
  EXPECT_EQ(elements_of_step(sum_in(sums(kRows, 30))), 150);
  EXPECT_EQ(elements_of_step(sum_in(sums(7, kRows))), std::nullopt);
  EXPECT_EQ(elements_of_step(sum_in(sums(7, 0))), std::nullopt);
}

// Parts of a round have about as many elements. Rows are combined several at a time.
TEST(SumsInParts, LongPartsInARound) {
  const auto rounds = [](const Shape& shape, int64_t cores = 2) {
    std::vector<int> axes;
    for (size_t i = 0; i + 1 < shape.size(); ++i) axes.push_back(static_cast<int>(i));
    const Graph graph(sum(input("x", f32, shape), axes, false, "s"));
    return parts_of_rounds(sum_in(graph),
                           Target::parse("x86-64-v3,cores=" + std::to_string(cores)));
  };
  EXPECT_EQ(rounds({kRows, 1})->count, 4);
  EXPECT_EQ(rounds({kRows, 1}, 10)->count, 20);
  EXPECT_EQ(rounds({kRows, 1})->steps, 16384);
  EXPECT_EQ(rounds({kRows, 50})->steps, 320);
  EXPECT_EQ(rounds({kRows, 100000})->steps, 16);
  EXPECT_EQ(rounds({kRows, 10, 20, 30})->steps, 2);
  EXPECT_EQ(rounds({kRows, 100, 200, 30})->steps, 1) << "each is a part";
  EXPECT_FALSE(rounds({kRows, kRows, 30}));
  EXPECT_FALSE(rounds({kRows, kRows}));
}

}  // namespace
}  // namespace emulsion

// Layers on a run-time number of rows: where a call has many, the rows of several register tiles
// are computed at a time (layer_blocks.h).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "passes/derive/layer_blocks.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"
#include "tests/passes/derive/layer_graphs.h"

namespace emulsion {
namespace {

using ::testing::HasSubstr;

const Extent kSize = Extent::size("B");
const Target kV3 = Target::parse("x86-64-v3,cores=1,l2=524288");

// Weights of 48 KiB, more than the first cache holds.
TEST(ManyRowsOfLayers, AreSeveralTiles) {
  const std::string text = derived(mlp(kSize, 64), kV3);
  for (const char* line :
       {"y3.alternative(B >= 384, y3_many)\n", "y3.split(i0, block, i0, 6, guard)\n",
        "y3_many.split(i0, block, i0, 48, guard)\n", "y2_many.compute_at(y3_many, block)\n",
        "py1_many.compute_at(y1_many, tile)\n"}) {
    EXPECT_TRUE(has(text, line)) << line << text;
  }
  const size_t first = text.find(".pack(wy2, ");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find(".pack(wy2, ", first + 1), std::string::npos) << "packed once: " << text;
  const std::string threads = derived(mlp(kSize, 64), Target::parse("x86-64-v3,cores=8,l2=524288"));
  EXPECT_THAT(threads, HasSubstr("y3.alternative(B >= 1536, y3_many)\n"));
  EXPECT_THAT(threads, HasSubstr("y3_many.parallel(block)\n"));
}

TEST(ManyRowsOfLayers, NotOfWeightsThatTheFirstCacheHolds) {
  const Target holds = Target::parse("x86-64-v3,cores=1,l1=49152,l2=524288");
  const Target lacks = Target::parse("x86-64-v3,cores=1,l1=49151,l2=524288");
  EXPECT_FALSE(has(derived(mlp(kSize, 64), holds), "_many"));
  EXPECT_TRUE(has(derived(mlp(kSize, 64), lacks), "_many"));
}

TEST(ManyRowsOfLayers, NotWhereTheSecondCacheHoldsFewerThanTwo) {
  // A tile has six rows. Three layers of 64 have 768 bytes a row: a quarter of the cache holds 32.
  const Target several = Target::parse("x86-64-v3,cores=1,l1=1024,l2=98304");
  ASSERT_TRUE(has(derived(mlp(kSize, 64), several), "y2.compute_at(y3, block)\n"));
  EXPECT_TRUE(has(derived(mlp(kSize, 64), several), "_many"));
  // Layers of 480 and 8 have 1,952 bytes a row: a quarter holds ten, fewer than two tiles.
  const Tensor wide = layer(rows_of(kSize, 8), "h", 480);
  const Target less = Target::parse("x86-64-v3,cores=1,l1=1024,l2=81920");
  const std::string text = derived(layer(wide, "y", 8), less);
  EXPECT_TRUE(has(text, "h.compute_at(y, block)\n")) << text;
  EXPECT_FALSE(has(text, "_many")) << text;
}

TEST(ManyRowsOfLayers, NotOfAnOutputThatIsReadOn) {
  const Tensor y = layer(layer(rows_of(kSize, 64), "h", 128), "y", 64);
  const std::string text = derived(sum(y, {0}, false, "total"), kV3);
  EXPECT_TRUE(has(text, "h.compute_at(y, block)\n")) << text;
  EXPECT_FALSE(has(text, "_many")) << text;
}

class ComputesManyRows : public testing::TestWithParam<const char*> {
 protected:
  static Target target(int cores) {
    return Target::parse(std::string(GetParam()) +
                         ",l1=512,l2=8192,cores=" + std::to_string(cores));
  }
};

// The last of eight blocks and more has one row, all, or some.
TEST_P(ComputesManyRows, OfLayers) {
  for (const int cores : {1, 2}) {
    for (const Graph& graph : {Graph(mlp(kSize, 16, 2)), Graph(mlp(kSize, 9, 3)),
                               Graph(layer(layer(rows_of(kSize, 7), "h", 21), "y", 5))}) {
      ASSERT_TRUE(has(to_string(derive_schedule(graph, target(cores))), "_many"));
      EXPECT_TRUE(derives(graph, target(cores), {0, 1, 127, 128, 129, 150}));
    }
  }
}

// Two networks of the same weights: what one has packed the other finds so.
TEST_P(ComputesManyRows, OfWeightsThatAreShared) {
  bool have_many = false;
  for (const int width : {16, 20}) {
    const Tensor w1 = weight("w1", f32, {width, width}), w2 = weight("w2", f32, {width, width});
    const auto network = [&](const std::string& name, const Extent& rows) {
      const Tensor x = input("x" + name, f32, {rows, width});
      return matmul(relu(matmul(x, w1), "h" + name), w2, name);
    };
    const Graph graph(std::vector<Tensor>{network("y", kSize), network("z", Extent::size("C")),
                                          network("v", 130)});
    for (const int cores : {1, 2}) {
      const Schedule schedule = derive_schedule(graph, target(cores));
      have_many = have_many || has(to_string(schedule), "_many");
      for (const int64_t rows : {1, 400}) {
        EXPECT_TRUE(lowers(graph, schedule, {{"B", rows}, {"C", 401 - rows}})) << width;
      }
    }
  }
  EXPECT_TRUE(have_many);
}

// Whatever the target whose panels they are.
TEST_P(ComputesManyRows, OfOnePackedLayoutForSeveralTargets) {
  const Graph graph(mlp(kSize, 20, 2));
  for (const char* first : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    for (const Schedule& schedule : derive_schedules(graph, {Target::parse(first), target(2)})) {
      EXPECT_TRUE(lowers(graph, schedule, {{"B", 130}})) << first;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, ComputesManyRows, testing::ValuesIn(kLevels));

}  // namespace
}  // namespace emulsion

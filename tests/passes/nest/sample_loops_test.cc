#include "passes/nest/sample_loops.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

using Point = std::vector<int64_t>;

// The loops of a chain, and how they are sampled.
class Chain {
 public:
  explicit Chain(const std::vector<Expr>& extents) {
    NodePtr node = block_node({});
    for (size_t i = extents.size(); i-- > 0;) {
      node = loop_node("y", std::string(1, static_cast<char>('a' + i)), extents[i], node);
    }
    root_ = node;
    for (const Loop* loop = node->as<Loop>(); loop; loop = loop->body->as<Loop>()) {
      loops_.push_back(loop);
    }
  }

  LoopSamples samples(const std::vector<std::string>& names = {},
                      const std::vector<int64_t>& sizes = {0}) const {
    return sample_loops(loops_, names, sizes);
  }
  // The iterations of all loops, where all of them have one.
  std::vector<Point> points(const LoopSamples& samples) const {
    std::vector<Point> result;
    for (size_t i = 0; i < samples.table.points(); ++i) {
      if (!samples.runs[i]) continue;
      Point point;
      for (const Loop* loop : loops_) {
        point.push_back(samples.table.variables().at("y." + loop->axis)[i]);
      }
      result.push_back(point);
    }
    return result;
  }

 private:
  NodePtr root_;
  std::vector<const Loop*> loops_;
};

std::set<Point> set_of(const std::vector<Point>& points) { return {points.begin(), points.end()}; }

TEST(SampleLoops, TakesTheEndsAndTheMiddle) {
  const Chain chain({int_constant(10)});
  EXPECT_EQ(chain.points(chain.samples()), (std::vector<Point>{{0}, {9}, {5}}));
}

TEST(SampleLoops, StartsWhereTheLoopDoes) {
  NodePtr node = edit<Loop>(loop_node("y", "a", int_constant(10), block_node({})),
                            [](Loop* loop) { loop->min = int_constant(5); });
  const LoopSamples samples = sample_loops({node->as<Loop>()}, {}, {0});
  EXPECT_EQ(samples.table.variables().at("y.a"), (IndexColumn{5, 14, 10}));
}

TEST(SampleLoops, TakesEveryIterationOfAShortLoop) {
  const Chain chain({int_constant(1), int_constant(2)});
  EXPECT_EQ(chain.points(chain.samples()), (std::vector<Point>{{0, 0}, {0, 1}}));
}

TEST(SampleLoops, TakesAllCombinationsOfFewLoops) {
  const Chain chain({int_constant(10), int_constant(10), int_constant(10), int_constant(10)});
  const auto points = chain.points(chain.samples());
  EXPECT_EQ(points.size(), 81U);
  EXPECT_EQ(set_of(points).size(), 81U);
}

TEST(SampleLoops, TakesTheEndsOfManyLoopsAndMore) {
  const Chain chain(std::vector<Expr>(9, int_constant(7)));
  const auto points = chain.points(chain.samples());
  EXPECT_EQ(points.size(), 81U);
  EXPECT_EQ(points[0], Point(9, 0));
  EXPECT_EQ(points[1], Point(9, 6));
  EXPECT_GT(set_of(points).size(), 60U);
  for (size_t loop = 0; loop < 9; ++loop) {
    std::set<int64_t> iterations;
    for (const Point& point : points) iterations.insert(point[loop]);
    EXPECT_EQ(iterations, (std::set<int64_t>{0, 3, 6})) << loop;
  }
}

TEST(SampleLoops, TakesEverySize) {
  const Chain chain({size_value("B")});
  const LoopSamples samples = chain.samples({"B"}, {0, 1, 5});
  EXPECT_EQ(chain.points(samples), (std::vector<Point>{{0}, {0}, {4}, {2}}));
  EXPECT_EQ(samples.table.variables().at("B"), (IndexColumn{1, 5, 5, 5}));
}

TEST(SampleLoops, TakesNothingOfALoopThatNeverRuns) {
  const Chain chain({int_constant(10), int_constant(0)});
  EXPECT_EQ(chain.samples().table.points(), 0U);
}

TEST(SampleLoops, FollowsExtentsThatDifferInTheFirstIteration) {
  const Chain chain({int_constant(4), select(v("y", "a") == 0, 3, 1)});
  EXPECT_EQ(set_of(chain.points(chain.samples())),
            (std::set<Point>{{0, 0}, {0, 1}, {0, 2}, {2, 0}, {3, 0}}));
}

TEST(SampleLoops, LeavesOutIterationsWithoutAnInnerOne) {
  const Chain chain({int_constant(4), select(v("y", "a") == 0, 0, 2)});
  EXPECT_EQ(set_of(chain.points(chain.samples())),
            (std::set<Point>{{2, 0}, {2, 1}, {3, 0}, {3, 1}}));
}

}  // namespace
}  // namespace emulsion

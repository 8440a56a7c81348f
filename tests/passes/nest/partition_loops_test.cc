// Loops become an interior without guards and clamps, and edges: what that makes of nests, when
// nothing is gained, and that every nest still means what its graph means, whatever the sizes.

#include "passes/nest/partition_loops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "dsl/operators.h"
#include "passes/analyse/measure_traffic.h"
#include "passes/analyse/measure_work.h"
#include "passes/analyse/uop_list.h"
#include "passes/lower/lower.h"
#include "passes/nest/verify_nest.h"
#include "passes/nest/visit_nest.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/nest/partition_graphs.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

const Extent B = Extent::size("B");

std::string tree_of(const LoopNest& nest) {
  const std::string text = to_string(nest);
  return text.substr(text.find('\n') + 1);
}

LoopNest lowered(const Schedule& schedule) { return lower(schedule.graph(), schedule); }

// Whether it is the same for every size, and the nests of `schedule` too. `fewer`: the sizes at
// which producers end with their domain, so that there are fewer uOps.
void expect_values(const Schedule& schedule, const std::vector<std::string>& variables,
                   const std::vector<int64_t>& sizes, const std::vector<int64_t>& fewer = {}) {
  const LoopNest nest = lowered(schedule);
  const LoopNest parts = partition_loops(nest, variables);
  EXPECT_NE(parts.root, nest.root) << to_string(nest);
  for (int64_t size : sizes) {
    SizeValues values;
    for (const std::string& name : nest.sizes) values[name] = size;
    EXPECT_TRUE(computes(parts, schedule.graph(), values)) << "at " << size;
    const int64_t uops = count_uops(parts, values).total();
    const int64_t before = count_uops(nest, values).total();
    const bool is_less = std::count(fewer.begin(), fewer.end(), size) > 0;
    EXPECT_TRUE(is_less ? uops < before : uops == before)
        << uops << " and " << before << ", " << size;
  }
}

TEST(PartitionLoops, SparesTheInteriorTheGuardOfARemainder) {
  const LoopNest nest = partition_loops(lowered(doubled(10)), {"y.io"});
  EXPECT_EQ(tree_of(nest), R"(for y.io in 2
  for y.ii in 4
    store y[i] = x[i] * 2f  where i = y.io * 4 + y.ii
for y.io in 2 .. +1
  for y.ii in 4
    store y[i] = x[i] * 2f  where i = y.io * 4 + y.ii  if i < 10
)");
}

TEST(PartitionLoops, SparesTheInteriorTheGuardWhateverTheSizeIs) {
  const LoopNest nest = partition_loops(lowered(doubled(B)), {"y.io"});
  EXPECT_EQ(tree_of(nest), R"(for y.io in B / 4
  for y.ii in 4
    store y[i] = x[i] * 2f  where i = y.io * 4 + y.ii
for y.io in B / 4 .. +((B + 3) / 4 - B / 4)
  for y.ii in 4
    store y[i] = x[i] * 2f  where i = y.io * 4 + y.ii  if i < B
)");
}

// Behind an edge of one step there is none to fetch for.
TEST(PartitionLoops, FetchesNothingAheadInAnEdgeOfOneStep) {
  for (const Extent& extent : {Extent(10), B}) {
    Schedule schedule = doubled(extent);
    schedule["y"].prefetch("x", Axis("io"), 1);
    const std::string text = tree_of(partition_loops(lowered(schedule), {"y.io"}));
    EXPECT_EQ(text.rfind(", prefetching x 1 ahead"), text.find(", prefetching x 1 ahead")) << text;
    EXPECT_EQ(text.find("for y.io in"), 0U) << text;
    EXPECT_LT(text.find("prefetching"), text.find('\n')) << text;
  }
}

TEST(PartitionLoops, SparesTheInteriorMasks) {
  for (Tail tail : {Tail::predicate, Tail::predicate_stores}) {
    const LoopNest nest = partition_loops(lowered(doubled(10, tail)), {"y.io"});
    const std::string text = tree_of(nest);
    const std::string interior = text.substr(0, text.find("for y.io in 2 .. +1"));
    EXPECT_EQ(interior.find(" if "), std::string::npos) << text;
    EXPECT_EQ(interior.find("min("), std::string::npos) << text;
    EXPECT_NE(text.find("if i < 10"), std::string::npos) << text;
  }
}

TEST(PartitionLoops, SparesTheInteriorTheClampsOfAStencil) {
  const LoopNest nest = partition_loops(lowered(Schedule(stencil(8))), {"y.i"});
  EXPECT_EQ(tree_of(nest), R"(for y.i in 1
  store y[i] = x[max(i - 1, 0)] + x[max(min(i + 1, 7), 0)]
for y.i in 1 .. +6
  store y[i] = x[i - 1] + x[i + 1]
for y.i in 7 .. +1
  store y[i] = x[max(i - 1, 0)] + x[max(min(i + 1, 7), 0)]
)");
}

TEST(PartitionLoops, SparesTheInteriorTheClampsWhateverTheSizeIs) {
  const LoopNest nest = partition_loops(lowered(Schedule(stencil(B))), {"y.i"});
  const std::string text = tree_of(nest);
  EXPECT_EQ(text.find("for y.i in min(1, B)\n"), 0U) << text;
  EXPECT_NE(text.find("for y.i in 1 .. +max(B - 2, 0)\n  store y[i] = x[i - 1] + x[i + 1]\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("for y.i in max(B - 1, 1) .. +"), std::string::npos) << text;
}

TEST(PartitionLoops, SparesTheInteriorTheTurnsAtBothEnds) {
  const std::string wraps = tree_of(partition_loops(lowered(Schedule(turned(8, true))), {"y.i"}));
  EXPECT_EQ(wraps, R"(for y.i in 1
  store y[i] = x[(i + 7) % 8] + x[(i + 1) % 8]
for y.i in 1 .. +6
  store y[i] = x[i + 7 - 8] + x[i + 1]
for y.i in 7 .. +1
  store y[i] = x[(i + 7) % 8] + x[(i + 1) % 8]
)");
  for (const Extent& extent : {Extent(8), B}) {
    const LoopNest nest = partition_loops(lowered(Schedule(turned(extent, false))), {"y.i"});
    EXPECT_NE(tree_of(nest).find("  store y[i] = x[i - 1] + x[i + 1]\n"), std::string::npos)
        << tree_of(nest);
  }
}

// Of a row the halves change places, and the factors of each are the same.
TEST(PartitionLoops, SparesBothHalvesTheTurnsInsideThem) {
  const Axis i("i", 2 * B);
  const Tensor x = input("x", f32, {2 * B}), c = input("c", f32, {B});
  const Expr n = extent_value(B), other = x((i + n) % (2 * n));
  const Tensor y = compute("y", {i}, select(i < n, -other, other) * c(i % n));
  for (const Tail tail : {Tail::guard, Tail::predicate}) {
    Schedule schedule(y);
    schedule["y"].split(i, i, Axis("lane"), 8, tail).vectorize(Axis("lane"));
    const LoopNest parts = partition_loops(lowered(schedule), {"y.i"});
    const std::string text = tree_of(parts);
    EXPECT_NE(text.find("= -x[i + B] * c[i]  where"), std::string::npos) << text;
    EXPECT_NE(text.find("= x[i - B] * c[i - B]  where"), std::string::npos) << text;
    EXPECT_NO_THROW(verify_nest(parts));
    for (const int64_t b : {0, 1, 3, 4, 7, 8, 9, 16, 21}) {
      EXPECT_TRUE(computes(parts, schedule.graph(), {{"B", b}})) << b;
    }
  }
}

TEST(PartitionLoops, PartitionsTheInteriorInTurn) {
  const LoopNest nest = partition_loops(lowered(Schedule(blur(5, 6))), {"y.i", "y.j"});
  const std::string text = tree_of(nest);
  // Three of rows, and in the middle one three of columns.
  std::vector<std::string> loops;
  for_each_node(*nest.root, [&](const Node& node) {
    const Loop* loop = node.as<Loop>();
    if (loop == nullptr) return;
    loops.push_back(loop->axis + to_string(loop->min) + "+" + to_string(loop->extent));
  });
  EXPECT_EQ(loops, (std::vector<std::string>{"i0+1", "j0+6", "i1+3", "j0+1", "j1+4", "j5+1", "i4+1",
                                             "j0+6"}))
      << text;
  EXPECT_NE(text.find("x[i - 1, j - 1]"), std::string::npos) << text;
}

// y = x and behind it z, in tiles of 4. Each may be empty, so that no index is inside it whatever
// its clamps do; where they do nothing it is.
Schedule joined(Tail tail) {
  const Tensor x = input("x", f32, {B}), z = input("z", f32, {Extent::size("C")});
  Schedule schedule(concat({x, z}, 0, "y"));
  schedule["y"].split(Axis("i0"), Axis("io"), Axis("ii"), 4, tail);
  return schedule;
}

TEST(PartitionLoops, SparesClampsInWhatMayBeEmpty) {
  for (const Tail tail : {Tail::guard, Tail::predicate, Tail::predicate_stores}) {
    const LoopNest nest = lowered(joined(tail));
    const LoopNest parts = partition_loops(nest, {"y.io"});
    const std::string text = tree_of(parts);
    if (tail != Tail::predicate_stores) {  // which has another clamp in each index
      EXPECT_NE(text.find("= x[i0]  where i0 = y.io * 4 + y.ii\n"), std::string::npos) << text;
      EXPECT_NE(text.find("= z[i0 - B]  where i0 = y.io * 4 + y.ii\n"), std::string::npos);
    }
    EXPECT_NO_THROW(verify_nest(parts));
    for (const auto& [b, c] :
         {std::pair(0, 0), {0, 1}, {0, 9}, {1, 0}, {9, 0}, {3, 2}, {7, 6}, {8, 8}}) {
      EXPECT_TRUE(computes(parts, joined(tail).graph(), {{"B", b}, {"C", c}})) << b << " " << c;
    }
  }
}

// At the border some elements are of either; at the end an index may be beyond, but not before.
TEST(PartitionLoops, SparesEdgesTheClampsOfTheOtherEnd) {
  const std::string text = tree_of(partition_loops(lowered(joined(Tail::guard)), {"y.io"}));
  EXPECT_NE(text.find("= select(i0 < B, x[max(min(i0, B - 1), 0)], z[max(i0 - B, 0)])"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("= z[i0 - B]  where i0 = y.io * 4 + y.ii  if i0 < B + C"), std::string::npos)
      << text;
}

// What is read is empty where the loop is not, so that no index is inside: a choice says so.
TEST(PartitionLoops, SparesTheInteriorTheTurnsOfWhatMayBeEmpty) {
  for (const Tail tail : {Tail::guard, Tail::predicate, Tail::shift_inwards}) {
    for (const bool wraps : {true, false}) {
      Schedule schedule(padded_in_turns(B, wraps));
      schedule["y"]
          .specialize(size_value("B") + 6 >= 4)
          .split(Axis("i"), Axis("i"), Axis("l"), 4, tail);
      schedule["y"].partition(Axis("i"));
      const LoopNest parts = lowered(schedule);
      const std::string text = tree_of(parts);
      EXPECT_NE(text.find("select(B > 0, x[i - 3], 0f)"), std::string::npos) << text;
      EXPECT_NO_THROW(verify_nest(parts));
      for (const int64_t b : {0, 1, 2, 3, 4, 5, 6, 7, 9, 40}) {
        EXPECT_TRUE(computes(parts, schedule.graph(), {{"B", b}})) << b;
      }
    }
  }
}

// Outside at some step where the clamps do nothing; one of two sides that nothing holds; clamped
// by what is no size.
TEST(PartitionLoops, LeavesClampsOfWhatIsNotKnownToBeInside) {
  const Expr i = axis_value("i"), last = size_value("B") - 1;
  for (const Expr& index : {min(i * 2, size_value("B")), max(i - 3, 0) + 4, min(i, 5) - 1,
                            2 * min(i, last) + max(i - 9, 0), max(min(i - 1, last), -1),
                            min(max(i, 0) + 2, size_value("B") + 1),
                            max(min((i + 9) % (size_value("B") + 3), size_value("B")), 0)}) {
    const LoopNest nest = pointwise_nest(B, read_buffer("x", DType::f32, {index}));
    EXPECT_EQ(partition_loops(nest, {"y.i"}).root, nest.root) << to_string(index);
  }
}

TEST(PartitionLoops, SparesTheClampsInASum) {
  const Expr i = axis_value("i"), last = size_value("B") - 1;
  for (const auto& [index, text] : {std::pair(max(i - 3, 0) + 1, "x[i - 3 + 1]"),
                                    {last - max(i - 3, 0), "x[B - 1 - (i - 3)]"},
                                    {last + max(i - 3, 0) * -1, "x[B - 1 + (i - 3) * -1]"}}) {
    const LoopNest nest = pointwise_nest(B, read_buffer("x", DType::f32, {index}));
    const std::string parts = to_string(partition_loops(nest, {"y.i"}));
    EXPECT_NE(parts.find(text), std::string::npos) << to_string(index) << "\n" << parts;
  }
}

// A filter of any length at every fourth place, in lanes along it, four results at a time: the
// clamps of both axes stand in one index, of which each loop can do without one.
TEST(PartitionLoops, SparesTheClampsOfTwoLoopsInASum) {
  const Axis n("n", Extent::size("N")), t("t", Extent::size("T")), lane("lane"), row("row");
  const Tensor x = input("x", f32, {4 * n.extent() + t.extent()});
  const Tensor h = input("h", f32, {t.extent()});
  Schedule schedule(compute("y", {n}, sum(t, h(t) * x(4 * n + t))));
  schedule["y"].split(t, t, lane, 4).rfactor(lane, "y_lanes");
  schedule["y"].split(n, n, row, 4).unroll(row);
  schedule["y_lanes"].reorder({lane, n, t}).vectorize(lane).compute_at("y", n);
  const LoopNest parts = partition_loops(lowered(schedule), {"y.n", "y_lanes.t"});
  const std::string text = to_string(parts);
  EXPECT_NE(text.find("h[t + lane] * x[n * 4 + (t + lane)]"), std::string::npos) << text;
  EXPECT_NO_THROW(verify_nest(parts));
  for (const auto& [count, length] :
       {std::pair(0, 0), {0, 5}, {5, 0}, {1, 1}, {2, 4}, {5, 9}, {8, 8}, {3, 17}}) {
    EXPECT_TRUE(computes(parts, schedule.graph(), {{"N", count}, {"T", length}}))
        << count << " " << length;
  }
}

TEST(PartitionLoops, SparesWhatIsComputedInsideItsClamps) {
  const LoopNest nest = partition_loops(lowered(product(13)), {"y.io"});
  const std::string text = tree_of(nest);
  const size_t edge = text.find("for y.io in 2 .. +1");
  ASSERT_NE(edge, std::string::npos) << text;
  EXPECT_EQ(text.substr(0, edge).find("x[min(m, 12), k]"), std::string::npos) << text;
  EXPECT_NE(text.substr(edge).find("x[min(m, 12), k]"), std::string::npos) << text;
  EXPECT_NO_THROW(verify_nest(nest));
}

TEST(PartitionLoops, SparesTheGuardOfAReduction) {
  const Axis i("i", 3), k("k", 10), ko("ko"), ki("ki");
  Tensor x = input("x", f32, {3, 10});
  Schedule schedule(compute("y", {i}, sum(k, x(i, k))));
  schedule["y"].split(k, ko, ki, 4);
  const LoopNest nest = partition_loops(lowered(schedule), {"y.ko"});
  EXPECT_EQ(tree_of(nest), R"(for y.i in 3
  execute y[i] = 0f
for y.i in 3
  for y.ko in 2
    for y.ki in 4
      execute y[i] += x[i, k]  where k = y.ko * 4 + y.ki
  for y.ko in 2 .. +1
    for y.ki in 4
      execute y[i] += x[i, k]  where k = y.ko * 4 + y.ki  if k < 10
)");
}

// The last rows are a good part of few. What is no sum stays whole in its edges.
TEST(PartitionLoops, PartitionsTheInnermostLoopOfSumsInTheLastEdge) {
  const Axis r("r", B), c("c", Extent::size("C")), ro("ro"), ri("ri"), co("co"), ci("ci");
  const Tensor x = input("x", f32, {B, c.extent()});
  const auto split = [&](const Tensor& y) {
    Schedule schedule(y);
    schedule["y"]
        .split(r, ro, ri, 4, Tail::guard)
        .split(c, co, ci, 4, Tail::predicate)
        .reorder({ci, ri, co, ro})
        .vectorize(ci)
        .unroll(ri)
        .partition(ro)
        .partition(co);
    return schedule;
  };
  const auto loops_over_columns = [](const LoopNest& nest, Part part) {
    int count = 0;
    for_each_node(*nest.root, [&](const Node& node) {
      const Loop* loop = node.as<Loop>();
      if (loop && loop->axis == "co" && loop->part == part) ++count;
    });
    return count;
  };
  const Schedule sums = split(compute("y", {c}, sum(r, x(r, c))));
  const LoopNest nest = lowered(sums);
  EXPECT_EQ(loops_over_columns(nest, Part::update), 4) << to_string(nest);
  const std::string text = tree_of(nest), edge = text.substr(text.rfind("for y.ro"));
  EXPECT_NE(edge.find("if r < B\n"), std::string::npos) << text;
  EXPECT_NE(edge.find("if r < B and c < C"), std::string::npos) << text;
  for (const int64_t rows : {0, 3, 4, 9}) {
    for (const int64_t columns : {0, 3, 4, 9}) {
      EXPECT_TRUE(computes(nest, sums.graph(), {{"B", rows}, {"C", columns}})) << rows;
    }
  }
  const LoopNest points = lowered(split(compute("y", {r, c}, x(r, c) * 2.0F)));
  EXPECT_EQ(loops_over_columns(points, Part::pure), 3) << to_string(points);
}

TEST(PartitionLoops, TakesTheShiftOutOfThePoint) {
  const LoopNest nest = partition_loops(lowered(doubled(10, Tail::shift_inwards)), {"y.io"});
  EXPECT_EQ(tree_of(nest), R"(for y.io in 2
  for y.ii in 4
    store y[i] = x[i] * 2f  where i = y.io * 4 + y.ii
for y.io in 2 .. +1
  for y.ii in 4
    store y[i] = x[i] * 2f  where i = min(y.io * 4, 6) + y.ii
)");
}

TEST(PartitionLoops, DropsWhatAlwaysHolds) {
  const LoopNest nest = pointwise_nest(8, read_buffer("x", DType::f32, {min(axis_value("i"), 7)}));
  EXPECT_EQ(tree_of(partition_loops(nest, {"y.i"})), "for y.i in 8\n  store y[i] = x[i]\n");
}

TEST(PartitionLoops, TakesLoopsThatAreMarkedAndAnswersTheMarks) {
  LoopNest nest = lowered(Schedule(blur(5, 6)));
  nest.root = edit<Loop>(nest.root, [](Loop* loop) { loop->partition = true; });
  const LoopNest parts = partition_loops(nest);
  EXPECT_EQ(to_string(parts),
            to_string(partition_loops(lowered(Schedule(blur(5, 6))), {"y.i", "y.j"})));
  EXPECT_EQ(to_string(parts).find("partition"), std::string::npos);
  EXPECT_EQ(partition_loops(parts).root, parts.root);
}

// --- nothing gained: the same node --------------------------------------------------------------

TEST(PartitionLoops, LeavesANestInWhichNothingIsMarked) {
  const LoopNest nest = lowered(doubled(10));
  EXPECT_EQ(partition_loops(nest).root, nest.root);
}

TEST(PartitionLoops, LeavesALoopWithoutGuardsAndClamps) {
  const LoopNest nest = lowered(doubled(8));
  EXPECT_EQ(partition_loops(nest, {"y.io"}).root, nest.root);
}

TEST(PartitionLoops, LeavesALoopThatTheGuardsDoNotDependOn) {
  const LoopNest nest = lowered(product(13));
  EXPECT_EQ(partition_loops(nest, {"mm.k"}).root, nest.root);
}

TEST(PartitionLoops, LeavesVectorizedAndUnrolledLoops) {
  Schedule schedule = doubled(10);
  schedule["y"].unroll(Axis("ii")).vectorize(Axis("io"));
  const LoopNest nest = lowered(schedule);
  EXPECT_EQ(partition_loops(nest, {"y.io", "y.ii"}).root, nest.root);
}

TEST(PartitionLoops, LeavesAnIndexThatIsData) {
  const Expr data = cast(i32, read_buffer("x", DType::f32, {axis_value("i")}));
  const LoopNest nest = pointwise_nest(8, read_buffer("x", DType::f32, {max(min(data, 7), 0)}));
  EXPECT_EQ(partition_loops(nest, {"y.i"}).root, nest.root);
}

TEST(PartitionLoops, LeavesALoopOfWhichNoStepIsInside) {
  const LoopNest nest = lowered(Schedule(stencil(2)));
  EXPECT_EQ(partition_loops(nest, {"y.i"}).root, nest.root);
}

TEST(PartitionLoops, LeavesPartsAsTheyAre) {
  for (const Extent& extent : {Extent(10), B}) {
    const LoopNest once = partition_loops(lowered(doubled(extent)), {"y.io"});
    EXPECT_EQ(to_string(partition_loops(once, {"y.io"})), to_string(once));
  }
}

TEST(PartitionLoops, RefusesALoopThatIsNotThere) {
  EXPECT_ERROR(partition_loops(lowered(doubled(10)), {"y.oi"}),
               "expected one of its loops, got y.oi; legal: y.ii, y.io");
}

// --- values -------------------------------------------------------------------------------------

TEST(PartitionLoops, ComputesRemainders) {
  for (Tail tail : {Tail::guard, Tail::predicate, Tail::predicate_stores}) {
    expect_values(doubled(10, tail), {"y.io"}, {0});
    expect_values(doubled(B, tail), {"y.io"}, {0, 1, 3, 4, 5, 8, 23});
  }
  expect_values(doubled(10, Tail::shift_inwards), {"y.io"}, {0});
}

TEST(PartitionLoops, ComputesWhatIsTurnedAtTheEnds) {
  for (const Extent& extent : {Extent(3), Extent(8), Extent(40)}) {
    expect_values(Schedule(turned(extent, true)), {"y.i"}, {0});
    expect_values(Schedule(turned(extent, false)), {"y.i"}, {0});
  }
  expect_values(Schedule(turned(B, false)), {"y.i"}, {0, 1, 2, 3, 4, 9, 40});
}

TEST(PartitionLoops, ComputesStencils) {
  expect_values(Schedule(stencil(3)), {"y.i"}, {0});
  expect_values(Schedule(stencil(B)), {"y.i"}, {0, 1, 2, 3, 4, 9});
  expect_values(Schedule(blur(5, 6)), {"y.i", "y.j"}, {0});
  expect_values(Schedule(blur(B, 6)), {"y.i", "y.j"}, {0, 1, 2, 3, 7});
  expect_values(Schedule(blur(B, B)), {"y.j", "y.i"}, {0, 1, 2, 3, 7});
}

TEST(PartitionLoops, ComputesStencilsInTiles) {
  Schedule schedule(blur(B, 11));
  const Axis i("i"), j("j"), io("io"), jo("jo"), ii("ii"), ji("ji");
  schedule["y"].tile(i, j, io, jo, ii, ji, 4, 3).parallel(io);
  expect_values(schedule, {"y.io", "y.jo"}, {0, 1, 3, 4, 5, 13});
}

TEST(PartitionLoops, ComputesProductsInTiles) {
  expect_values(product(13), {"y.io", "y.jo"}, {0}, {0});
  expect_values(product(B), {"y.io"}, {0, 1, 5, 6, 7, 12, 20}, {1, 5, 7, 20});
  expect_values(product(B), {"y.io", "y.jo"}, {0, 1, 5, 6, 7, 12, 20}, {1, 5, 6, 7, 12, 20});
}

TEST(PartitionLoops, ComputesSpecializedStages) {
  Schedule schedule = doubled(B);
  schedule["y"].specialize(size_value("B") >= 16);
  expect_values(schedule, {"y.io"}, {0, 1, 4, 15, 16, 19});
}

TEST(PartitionLoops, ComputesSlidingWindows) {
  // A window slides along the loop that is partitioned: only its first step computes all of it.
  const Axis i("i", 20);
  Tensor x = input("x", f32, {20});
  const auto clamped = [](const Expr& index) { return max(min(index, 19), 0); };
  Tensor p = compute("p", {i}, x(clamped(Expr(i) - 1)) + x(clamped(Expr(i) + 1)));
  const Axis o("i", 18);
  Tensor y = compute("y", {o}, p(o) + p(Expr(o) + 2));
  Schedule schedule(y);
  schedule[p].store_root().compute_at(y, o);
  expect_values(schedule, {"y.i"}, {0});
}

// --- what else reads nests ----------------------------------------------------------------------

TEST(PartitionLoops, ChangesNoMeasure) {
  const auto expect_same = [](const Schedule& schedule, int64_t size) {
    const SizeValues sizes = {{"B", size}};
    const LoopNest nest = lowered(schedule);
    const LoopNest parts = partition_loops(nest, {"y.io"});
    EXPECT_EQ(to_string(measure_work(parts, sizes)), to_string(measure_work(nest, sizes)));
    EXPECT_EQ(measure_traffic(parts, sizes, TrafficModel::pass).bytes(),
              measure_traffic(nest, sizes, TrafficModel::pass).bytes());
    EXPECT_EQ(UopList(parts, sizes).size(), UopList(nest, sizes).size());
  };
  for (int64_t size : {0, 1, 5, 6, 7, 20}) expect_same(doubled(B), size);
  // At other sizes the product ends with its domain.
  for (int64_t size : {0, 6, 12, 18}) expect_same(product(B), size);
}

}  // namespace
}  // namespace emulsion

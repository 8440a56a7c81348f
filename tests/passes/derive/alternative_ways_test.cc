// Several ways to compute an output: each has stages of its own, and each call takes one.

#include "passes/derive/alternative_ways.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");
const Axis kRow("i", kSize);
const std::vector<int64_t> kSizes = {0, 1, 3, 4, 7, 8, 9, 20};

// y = a row of sums of three neighbours, doubled or not.
Tensor sums(const std::string& name) {
  const Axis k("k", 3);
  return compute(name, {kRow}, sum(k, input("x", f32, {kSize + 2})(kRow + k)));
}
Graph doubled() { return Graph(compute("y", {kRow}, sums("s")(kRow) * 2.0F)); }

// Vectors of that many where a row has as many.
AlternativeWay vectors(const Graph& graph, int64_t lanes) {
  AlternativeWay way{"_of_" + std::to_string(lanes), size_value("B") >= int_constant(lanes),
                     Schedule(graph)};
  if (graph.outputs()[0]->combiner != Combiner::none) way.schedule["y"].cache_write("sums");
  way.schedule["y"].split(kRow, kRow, Axis("lane"), lanes, Tail::shift_inwards);
  way.schedule["y"].vectorize(Axis("lane"));
  return way;
}

Schedule with_ways(const Graph& graph, std::vector<AlternativeWay> ways) {
  Schedule otherwise(graph);
  for (AlternativeWay& way : ways) {
    if (graph.find("s")) way.schedule["s"].compute_at("y", kRow);
  }
  if (graph.find("s")) otherwise["s"].compute_at("y", kRow);
  Schedule schedule(graph);
  add_ways(*graph.outputs()[0], ways, otherwise, &schedule);
  return schedule;
}

void expect_right(const Schedule& schedule) {
  for (const int64_t size : kSizes) {
    EXPECT_TRUE(lowers(schedule.graph(), schedule, {{"B", size}})) << to_string(schedule);
  }
}

TEST(AlternativeWays, EachHasStagesOfItsOwn) {
  const Graph graph = doubled();
  const Schedule schedule = with_ways(graph, {vectors(graph, 8), vectors(graph, 4)});
  const std::string text = to_string(schedule);
  for (const char* name : {"s", "y"}) {
    for (const char* lanes : {"8", "4"}) {
      EXPECT_TRUE(has(text, std::string(name) + ".alternative(B >= " + lanes + ", " + name +
                                "_of_" + lanes + ")\n"))
          << text;
    }
  }
  EXPECT_TRUE(has(text, "y.specialize(B >= 8)\ny.specialize(B >= 4)\n")) << text;
  EXPECT_TRUE(has(text, "y_of_8.store_in_output(y)\n")) << text;
  EXPECT_TRUE(has(text, "s_of_8.compute_at(y_of_8, i)\n")) << text;
  EXPECT_TRUE(has(text, "s.compute_at(y, i)\n")) << text;
  expect_right(schedule);
}

TEST(AlternativeWays, AnOutputThatReducesIsComputedInItsMemoryInEach) {
  const Graph graph(sums("y"));
  const Schedule schedule = with_ways(graph, {vectors(graph, 4)});
  const std::string text = to_string(schedule);
  EXPECT_TRUE(has(text, "y.cache_write(y_long)\n")) << text;
  EXPECT_TRUE(has(text, "y_long.alternative(B >= 4, y_of_4)\n")) << text;
  for (const char* name : {"y_long", "y_of_4"}) {
    EXPECT_TRUE(has(text, std::string(name) + ".store_in_output(y)\n")) << text;
  }
  expect_right(schedule);
}

// The output has nothing to compute where a way is taken: its own specializations come behind.
TEST(AlternativeWays, SpecializationsOfTheOtherWayComeBehindThem) {
  const Graph graph(compute("y", {kRow}, input("x", f32, {kSize})(kRow) * 2.0F));
  Schedule otherwise(graph);
  otherwise["y"].specialize(size_value("B") == int_constant(2)).unroll(kRow);
  Schedule schedule(graph);
  add_ways(*graph.outputs()[0], {vectors(graph, 4)}, otherwise, &schedule);
  const std::string text = to_string(schedule);
  EXPECT_TRUE(has(text, "y.specialize(B >= 4)\ny.specialize(B == 2)\ny.unroll(i)\n")) << text;
  expect_right(schedule);
}

TEST(AlternativeWays, ACaseThatAWayTakesIsLeftOut) {
  const Graph graph(compute("y", {kRow}, input("x", f32, {kSize})(kRow) * 2.0F));
  Schedule otherwise(graph);
  otherwise["y"].specialize(size_value("B") >= int_constant(4)).parallel(kRow);
  otherwise["y"].specialize(size_value("B") == int_constant(2)).unroll(kRow);
  Schedule schedule(graph);
  add_ways(*graph.outputs()[0], {vectors(graph, 4)}, otherwise, &schedule);
  const std::string text = to_string(schedule);
  EXPECT_TRUE(has(text, "y.specialize(B >= 4)\ny.specialize(B == 2)\ny.unroll(i)\n")) << text;
  EXPECT_FALSE(has(text, "parallel")) << text;
  expect_right(schedule);
}

// Where a row has eight elements at least, it has no three, and may have twenty.
TEST(AlternativeWays, ACaseThatNeverHoldsInAWayIsLeftOut) {
  const Graph graph = doubled();
  AlternativeWay way = vectors(graph, 8);
  for (const Expr& condition : {size_value("B") <= int_constant(3), size_value("B") >= 20}) {
    way.schedule["y"].specialize(condition).parallel(kRow);
  }
  const Schedule schedule = with_ways(graph, {way});
  const std::string text = to_string(schedule);
  EXPECT_FALSE(has(text, "y_of_8.specialize(B <= 3)\n")) << text;
  const std::string many =
      "y_of_8.vectorize(lane)\ny_of_8.specialize(B >= 20)\ny_of_8.parallel(i)\n";
  EXPECT_TRUE(has(text, many)) << text;
  EXPECT_EQ(text.find("parallel"), text.rfind("parallel")) << text;
  expect_right(schedule);
}

// A tile that starts earlier computes some elements again, which the output may not.
TEST(AlternativeWays, AnOutputWhoseLastTileStartsEarlierIsComputedInItsMemoryToo) {
  const Axis i("i", 10), io("io"), ii("ii");
  const Graph graph(compute("y", {i}, input("x", f32, {kSize + 1})(0) * cast(f32, Expr(i))));
  AlternativeWay two{"_2", size_value("B") == int_constant(2), Schedule(graph)};
  two.schedule["y"].unroll(i);
  Schedule otherwise(graph), schedule(graph);
  otherwise["y"].split(i, io, ii, 4, Tail::shift_inwards);
  add_ways(*graph.outputs()[0], {two}, otherwise, &schedule);
  EXPECT_TRUE(has(to_string(schedule), "y.cache_write(y_long)\n")) << to_string(schedule);
  expect_right(schedule);
}

// What another operation has added has that name already.
TEST(AlternativeWays, StagesThatAreAddedHaveNamesOfTheirOwn) {
  const Graph graph(sums("y"));
  Schedule otherwise(graph), schedule(graph);
  otherwise["y"].cache_write("acc");
  otherwise["acc"].compute_at("y", kRow);
  schedule["acc"].store_in(Memory::heap);
  add_ways(*graph.outputs()[0], {vectors(graph, 4)}, otherwise, &schedule);
  const std::string text = to_string(schedule);
  EXPECT_TRUE(has(text, "y_long.cache_write(acc1)\n")) << text;
  EXPECT_TRUE(has(text, "acc1.compute_at(y_long, i)\n")) << text;
}

TEST(AlternativeWays, AWeightIsPackedOnce) {
  const Axis n("n", 8), k("k", 4);
  const Tensor x = input("x", f32, {kSize, 4}), w = weight("w", f32, {4, 8});
  const Tensor mm = compute("mm", {kRow, n}, sum(k, x(kRow, k) * w(k, n)));
  const Graph graph(compute("y", {kRow, n}, mm(kRow, n) * 2.0F));
  AlternativeWay way = vectors(graph, 8);
  Schedule otherwise(graph), schedule(graph);
  for (Schedule* one : {&way.schedule, &otherwise}) (*one)["mm"].pack("w", n, 8);
  add_ways(*graph.outputs()[0], {way}, otherwise, &schedule);
  const std::string text = to_string(schedule);
  const size_t first = text.find(".pack(w, n, 8)");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(text.find(".pack(", first + 1), std::string::npos) << text;
  expect_right(schedule);
}

TEST(AlternativeWays, OnlyAnOutputCanHaveThem) {
  const Graph graph = doubled();
  const Schedule schedule(graph);
  EXPECT_TRUE(can_have_ways(*op_of(graph, "y"), schedule));
  EXPECT_FALSE(can_have_ways(*op_of(graph, "s"), schedule));
  Op other = *op_of(graph, "y");
  other.name = "z";
  EXPECT_FALSE(can_have_ways(other, schedule));
}

// Half a vector of f64 is two columns, and so are few.
TEST(AlternativeWays, OfOneConditionTheFirst) {
  const Graph graph(matmul(input("x", f64, {20, 64}), input("w", f64, {64, Extent::size("B")})));
  for (const char* level : kLevels) {
    EXPECT_TRUE(derives(graph, target_of(level, 1), {0, 1, 2, 3, 9})) << level;
  }
}

TEST(AlternativeWays, WhetherTheyInlineTheSame) {
  const Graph graph = doubled();
  Schedule none(graph), inlined(graph), both(graph);
  none["s"].compute_at("y", kRow);
  inlined["s"].compute_inline();
  both["s"].compute_inline();
  both["y"].vectorize(kRow, 4);
  EXPECT_TRUE(inline_the_same(inlined, both) && inline_the_same(none, none));
  EXPECT_FALSE(inline_the_same(none, inlined) || inline_the_same(both, none));
}

}  // namespace
}  // namespace emulsion

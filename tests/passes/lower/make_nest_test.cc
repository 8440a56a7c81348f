#include "passes/lower/make_nest.h"

#include <gtest/gtest.h>

#include <string>

#include "dsl/error.h"
#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "dsl/target.h"
#include "passes/nest/verify_nest.h"
#include "passes/pipeline.h"
#include "tests/passes/nest/partition_graphs.h"

namespace emulsion {
namespace {

size_t count(const std::string& text, const std::string& words) {
  size_t times = 0;
  for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1))
    ++times;
  return times;
}

TEST(MakeNest, IsBeforeThePassesOverNests) {
  Schedule schedule = doubled(10);
  schedule["y"].partition(Axis("io"));
  const LoopNest nest = make_nest(schedule.graph(), schedule);
  const std::string text = to_string(nest);
  EXPECT_EQ(count(text, " y.io in"), 1U) << text;
  EXPECT_EQ(count(text, "partition"), 1U) << text;
  EXPECT_NO_THROW(verify_nest(nest));
}

// The nest that a refusal shows has one line for each loop, also where a part of it was wanted.
TEST(MakeNest, ARefusalShowsTheLoopsAsTheDirectivesLeaveThem) {
  Schedule schedule = doubled(10);
  schedule["y"].partition(Axis("io")).vectorize(Axis("io"));
  std::string shown;
  try {
    make_nest(schedule.graph(), schedule);
  } catch (const ScheduleError& error) {
    shown = error.what();
  }
  EXPECT_NE(shown.find("expected a loop that is not partitioned, got io"), std::string::npos)
      << shown;
  EXPECT_EQ(count(shown, "\n--> "), 1U) << shown;
  EXPECT_EQ(count(shown, " y.io in 3, partition"), 1U) << shown;
}

// What is computed inline has no type of its own any more.
TEST(MakeNest, ComputesNarrowValuesInFewBits) {
  const Axis i("i", 10);
  const Tensor x = input("x", u8, {10});
  const Tensor wide = compute("wide", {i}, cast(i32, x(i)) * 200);
  const Tensor y = compute("y", {i}, cast(u8, wide(i) / 256));
  Schedule schedule(y);
  EXPECT_NE(to_string(make_nest(schedule.graph(), schedule)).find("u8(wide[i] / 256)"),
            std::string::npos);
  schedule[wide].compute_inline();
  EXPECT_NE(to_string(make_nest(schedule.graph(), schedule)).find("u8(u16(x[i]) * 200u16 / 256u16"),
            std::string::npos);
}

// As what nest_before() finds is simplified: a sum of terms that cancel is not shown.
TEST(MakeNest, ARefusalShowsSimpleIndices) {
  const Axis i("i", 10), j("j", 12), io("io"), ii("ii");
  Tensor a = compute("a", {j}, input("in", f32, {12})(j) * 2.0f);
  Tensor z = compute("z", {i}, a(i) + a(i + 2));
  Schedule schedule(z);
  schedule[z].split(i, io, ii, 4);
  schedule[a].compute_at(z, io).parallel(j).vectorize(j);
  std::string shown;
  try {
    make_nest(schedule.graph(), schedule);
  } catch (const ScheduleError& error) {
    shown = error.what();
  }
  EXPECT_NE(shown.find("alloc a[z.io * 4 .. +6]"), std::string::npos) << shown;
}

// The first and the last element of a row are read, of 2 GiB and one byte or more.
Graph ends_of_long_rows() {
  const Extent rows = Extent::size("B"), columns = int64_t{1} << 29;
  const Axis i("i", rows), j("j", columns), k("k", 2);
  const Tensor x = input("x", f32, {rows});
  const Tensor s = compute("s", {i, j}, x(i) + cast(f32, j));
  return Graph(compute("y", {i, k}, s(i, k * int_constant((int64_t{1} << 29) - 1))));
}

std::string refusal(const Graph& graph, const Schedule& schedule) {
  try {
    make_nest(graph, schedule);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(MakeNest, AScheduleOfAnotherOutputIsRefused) {
  const Tensor x = input("x", f32, {4});
  const Tensor o = relu(x, "o"), p = relu(x, "p");
  const std::string of_another =
      "lower: expected a schedule of a graph with output o, got one of a graph with p";
  Schedule schedule(p);
  EXPECT_EQ(refusal(Graph(o), schedule), of_another);
  schedule[p].vectorize(Axis("i0"), 4);
  EXPECT_EQ(refusal(Graph(o), schedule), of_another);
  EXPECT_EQ(refusal(Graph({o, p}), schedule),
            "lower: expected a schedule of a graph with outputs o, p, got one of a graph with p");
}

TEST(MakeNest, TheOrderOfOutputsIsTheGraphs) {
  const Tensor x = input("x", f32, {4});
  const Tensor o = relu(x, "o"), p = relu(x, "p");
  EXPECT_EQ(refusal(Graph({o, p}), Schedule(Graph({p, o}))), "");
}

TEST(MakeNest, WhatNoMemoryHoldsIsRefusedWhereNoDirectiveMadeIt) {
  const Graph graph = ends_of_long_rows();
  Schedule schedule(graph);
  const std::string whole =
      "s: expected storage of at most 2147483647 bytes, got 2147483648 or more, since it is "
      "computed as a whole; legal: compute_at or compute_inline";
  EXPECT_EQ(refusal(graph, schedule), whole);
  schedule["s"].vectorize(Axis("j"), 8);
  EXPECT_EQ(refusal(graph, schedule), whole) << "nor did one of others";
}

TEST(MakeNest, NoDerivedScheduleStoresWhatNoMemoryHolds) {
  EXPECT_NO_THROW(run_pipeline(ends_of_long_rows(), Target::parse("x86-64-v3")));
  const Graph sums = parse_graph(
      "emulsion graph 1\nsize B\ninput x: f32[B, 7]\n"
      "s[i: B, j: 1073741824] = sum(k: 7) x[i, k] * f32(j)\n"
      "y[i: B] = s[i, 1] + s[i, 1073741823]\noutput y\n");
  try {
    run_pipeline(sums, Target::parse("x86-64-v3"));
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("s: expected storage of at most 2147483647 bytes"), 0U)
        << error.what();
  }
}

TEST(MakeNest, ARefusalShowsNoNestWhereNoneCanBe) {
  const Graph graph = ends_of_long_rows();
  Schedule schedule(graph);
  schedule["y"].vectorize(Axis("q"));
  EXPECT_EQ(refusal(graph, schedule).find("y.vectorize(q): expected a loop of y"), 0U);
  EXPECT_EQ(refusal(graph, schedule).find('\n'), std::string::npos);
}

TEST(MakeNest, APartThatNoMemoryHoldsIsThatOfItsPlace) {
  const Graph graph = ends_of_long_rows();
  Schedule schedule(graph);
  schedule["s"].compute_at("y", Axis("i"));
  EXPECT_EQ(refusal(graph, schedule),
            "s.compute_at(y, i): expected storage of at most 2147483647 bytes, got 2147483648; "
            "legal: a loop further inside");
  Schedule inside(graph);
  inside["s"].compute_at("y", Axis("k"));
  EXPECT_EQ(refusal(graph, inside), "");
  Schedule none(graph);
  none["s"].compute_inline();
  EXPECT_EQ(refusal(graph, none), "");
}

}  // namespace
}  // namespace emulsion

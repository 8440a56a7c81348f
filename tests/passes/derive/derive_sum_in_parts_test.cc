// Sums of a whole tensor that threads share: which are cut into parts, into how many, and that the
// nests compute what the graphs say.

#include "passes/derive/derive_sum_in_parts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "passes/lower/lower.h"
#include "passes/nest/loop_nest.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

std::string sum_in_parts(const Graph& graph, const std::string& target) {
  return to_string(derive_schedule(graph, Target::parse(target)));
}

Graph sum_of_all(const Shape& shape, bool keepdims = false) {
  std::vector<int> axes;
  for (size_t i = 0; i < shape.size(); ++i) axes.push_back(static_cast<int>(i));
  return Graph(sum(input("x", f32, shape), axes, keepdims, "s"));
}

bool is_in_parts(const Graph& graph, const std::string& target = "x86-64-v3,cores=4") {
  return sum_in_parts(graph, target).find("s_parts") != std::string::npos;
}

TEST(DeriveSumInParts, RowsOfAMatrix) {
  const std::string text = sum_in_parts(sum_of_all({4096, 1024}), "x86-64-v3,cores=4");
  EXPECT_NE(text.find("s.rfactor(block, s_parts)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("s_parts.parallel(block)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("s.split(r0, block, r0, 256)\n"), std::string::npos) << text;
}

// Of 4 for each core, as many as divide the axis.
TEST(DeriveSumInParts, AsManyAsDivideIt) {
  for (const auto& [rows, steps] : {std::pair(4096, "256"), {15 * 300, "300"}, {11 * 401, "401"}}) {
    const std::string text = sum_in_parts(sum_of_all({rows, 1024}), "x86-64-v3,cores=4");
    EXPECT_NE(text.find(std::string("s.split(r0, block, r0, ") + steps + ")\n"), std::string::npos)
        << text;
  }
}

// Their parts are whole numbers of the lanes' steps, where they can be.
TEST(DeriveSumInParts, OneLongRow) {
  const std::string text = sum_in_parts(sum_of_all({4000000}), "x86-64-v3,cores=4");
  EXPECT_NE(text.find("s.split(r0, block, r0, 400000)\n"), std::string::npos) << text;
}

// The last part is shorter, and alone looks where it ends.
TEST(DeriveSumInParts, OfWhatNothingDivides) {
  const std::string rows = sum_in_parts(sum_of_all({4093, 1024}), "x86-64-v3,cores=4");
  EXPECT_NE(rows.find("s.split(r0, block, r0, 256)\n"), std::string::npos) << rows;
  EXPECT_NE(rows.find("s_parts_acc_lanes.partition(r0)\n"), std::string::npos) << rows;
  EXPECT_EQ(rows.find("partition(block)"), std::string::npos)
      << "the last part would be computed behind the others";
  const std::string row = sum_in_parts(sum_of_all({3999971}), "x86-64-v3,cores=4");
  EXPECT_NE(row.find("s.split(r0, block, r0, 250016)\n"), std::string::npos) << row;
  EXPECT_EQ(sum_in_parts(sum_of_all({4096, 1024}), "x86-64-v3,cores=4").find("partition"),
            std::string::npos);
  for (const char* target : {"x86-64-v2,cores=2", "x86-64-v3,cores=4", "x86-64-v4,cores=3"}) {
    for (const Shape& shape : {Shape{1021, 1024}, {1019, 1021}, {20011, 53}, {1000003}}) {
      const Graph graph = sum_of_all(shape);
      EXPECT_TRUE(is_in_parts(graph, target)) << target;
      EXPECT_TRUE(derives(graph, Target::parse(target))) << target;
    }
  }
}

TEST(DeriveSumInParts, ShortRowsAreOneLongOne) {
  const std::string text = sum_in_parts(sum_of_all({64000, 50}), "x86-64-v3,cores=4");
  EXPECT_NE(text.find("s.fuse(r0, r1, flat)\ns.split(flat, block, flat, 200000)\n"),
            std::string::npos)
      << text;
}

TEST(DeriveSumInParts, ComputesTheSum) {
  for (const char* target : {"x86-64-v2,cores=2", "x86-64-v3,cores=4", "x86-64-v4,cores=3"}) {
    for (const bool keepdims : {false, true}) {
      const Graph graph = sum_of_all({1024, 1021}, keepdims);
      EXPECT_TRUE(is_in_parts(graph, target)) << target;
      EXPECT_TRUE(derives(graph, Target::parse(target))) << target;
    }
    const Graph flat = sum_of_all({60 * 20480});
    EXPECT_TRUE(is_in_parts(flat, target)) << target;
    EXPECT_TRUE(derives(flat, Target::parse(target))) << target;
  }
}

TEST(DeriveSumInParts, TheMostAndTheLeast) {
  const Tensor x = input("x", f32, {2048, 640});
  for (const Tensor& y :
       {reduce_max(x, {0, 1}, false, "s"), reduce_min(abs(x), {0, 1}, true, "s")}) {
    EXPECT_TRUE(is_in_parts(y));
    EXPECT_TRUE(derives(y, Target::parse("x86-64-v3,cores=4")));
  }
}

TEST(DeriveSumInParts, NotOnOneCore) {
  EXPECT_FALSE(is_in_parts(sum_of_all({4096, 1024}), "x86-64-v3,cores=1"));
}

TEST(DeriveSumInParts, NotOfLittle) { EXPECT_FALSE(is_in_parts(sum_of_all({64, 64}))); }

// Threads are woken once: sums start where they are added to.
TEST(DeriveSumInParts, OneParallelLoop) {
  const Graph graph = sum_of_all({4096, 1024});
  const Schedule schedule = derive_schedule(graph, Target::parse("x86-64-v3,cores=4"));
  const std::string nest = to_string(lower(graph, schedule));
  EXPECT_NE(nest.find("parallel"), std::string::npos) << nest;
  EXPECT_EQ(nest.find("parallel"), nest.rfind("parallel")) << nest;
}

const Extent kRows = Extent::size("B");

TEST(DeriveSumInParts, RoundsOfARunTimeNumber) {
  const std::string rows = sum_in_parts(sum_of_all({kRows, 1024}), "x86-64-v3,cores=2");
  EXPECT_TRUE(has(rows, "s_long.alternative(B >= 256, s_in_parts)\n")) << rows;
  EXPECT_TRUE(has(rows,
                  "s_in_parts.split(r0, round, r0, 64)\ns_in_parts.split(r0, block, r0, 16)\n"
                  "s_in_parts.rfactor(block, s_parts_in_parts)\n"))
      << rows;
  EXPECT_TRUE(has(rows, "s_parts_acc_lanes_in_parts.partition(round)\n")) << rows;
  const std::string row = sum_in_parts(sum_of_all({kRows}), "x86-64-v3,cores=2");
  EXPECT_TRUE(has(row, "s_in_parts.split(r0, round, r0, 65536)\n")) << row;
}

// What ends inside of a row of no whole vectors would be loaded one by one.
TEST(DeriveSumInParts, RoundsOfRowsThatAreNoWholeVectorsAreSumsOfColumnsFirst) {
  const std::string text = sum_in_parts(sum_of_all({kRows, 50}), "x86-64-v3,cores=2");
  EXPECT_TRUE(has(text,
                  "s_in_parts.rfactor(r1, s_columns_in_parts)\n"
                  "s_columns_in_parts.split(r0, round, r0, 1280)\n"))
      << text;
  EXPECT_FALSE(has(sum_in_parts(sum_of_all({kRows, 3}), "x86-64-v3,cores=2"), "_parts"));
  EXPECT_FALSE(has(sum_in_parts(sum_of_all({kRows, 5, 10}), "x86-64-v3,cores=2"), "_parts"));
  EXPECT_TRUE(has(sum_in_parts(sum_of_all({kRows, 5, 16}), "x86-64-v3,cores=2"), "_parts"));
  EXPECT_FALSE(has(sum_in_parts(sum_of_all({kRows}), "x86-64-v2,cores=2"), "_parts"))
      << "without masks";
}

TEST(DeriveSumInParts, RowsOfColumnsOfARunTimeNumber) {
  const Tensor x = input("x", f32, {kRows, 100});
  for (const Graph& graph :
       {Graph(sum(x, {0}, false, "s")), Graph(mean(x, {0}, false, "s")),
        Graph(sum(x * x, {0}, true, "s")), Graph(reduce_max(x, {0}, false, "s"))}) {
    const std::string text = sum_in_parts(graph, "x86-64-v3,cores=2");
    EXPECT_TRUE(has(text, ", round, r0, 640)\n")) << text;
    EXPECT_TRUE(has(text, "s_in_parts)\n")) << text;
  }
}

TEST(DeriveSumInParts, ComputesRoundsOfARunTimeNumber) {
  const std::vector<int64_t> few = {0, 1, 63}, around = {383, 384, 385, 447, 448, 449, 500};
  const Tensor wide = input("x", f32, {kRows, 1024}), narrow = input("x", i32, {kRows, 250}),
               row = input("x", f32, {kRows * 1024}), columns = input("x", f32, {kRows, 4 * 256});
  for (const char* target : {"x86-64-v2,cores=2", "x86-64-v3,cores=3", "x86-64-v4,cores=2"}) {
    for (const Tensor& y : {sum(wide, {0, 1}, false, "s"), sum(row, {0}, true, "s"),
                            mul(sum(columns, {0}, false, "s"), 2), reduce_max(wide, {0, 1})}) {
      EXPECT_TRUE(derives(Graph(y), Target::parse(target), few)) << target;
      EXPECT_TRUE(derives(Graph(y), Target::parse(target), around)) << target;
    }
    EXPECT_TRUE(derives(Graph(sum(narrow, {0, 1}, false, "s")), Target::parse(target),
                        {1, 1280, 1600, 1601, 2000}))
        << target;
  }
}

TEST(DeriveSumInParts, NotOfARunTimeNumberOfColumnsOrOnOneCore) {
  EXPECT_FALSE(is_in_parts(sum_of_all({4096, kRows})));
  EXPECT_FALSE(is_in_parts(sum_of_all({kRows, kRows})));
  EXPECT_FALSE(is_in_parts(sum_of_all({kRows, 1024}), "x86-64-v3,cores=1"));
  EXPECT_FALSE(is_in_parts(Graph(sum(input("x", f32, {kRows, kRows}), {0}, false, "s"))));
  EXPECT_FALSE(is_in_parts(Graph(sum(input("x", f32, {kRows, 100}), {1}, false, "s"))));
}

// What several operations read has one way alone.
TEST(DeriveSumInParts, OfARunTimeNumberOnlyWithItsOneReader) {
  const Tensor x = input("x", f32, {kRows, 1024}), s = sum(x, {0}, false, "s");
  EXPECT_TRUE(is_in_parts(Graph(sub(x, s, "y"))));
  EXPECT_FALSE(is_in_parts(Graph({sub(x, s, "y"), mul(s, 2, "z")})));
  EXPECT_FALSE(is_in_parts(Graph(sum(x * s, {1}, false, "y"))));
  const Tensor rows = input("z", f32, {kRows, 1024}), few = input("z", u8, {kRows, 1024, 3});
  for (const Tensor& y : {sub(x, s), add(relu(mul(s, 0.5)), 1), mul(sum(x, {0, 1}), 3),
                          sub(rows, sum(x, {0, 1})), exp(mul(rows, mean(x, {0})))}) {
    EXPECT_TRUE(derives(Graph(y), Target::parse("x86-64-v3,cores=2"), {0, 3, 390}, 1e-5));
  }
  // What reads the sums has no ways of its own in either of the two.
  const Axis b("b", kRows), i("i", 1024), c("c", 3);
  const Tensor y = compute("y", {b, i, c}, cast(f32, few(b, i, c)) * s(i));
  EXPECT_TRUE(is_in_parts(Graph(y)));
  EXPECT_TRUE(derives(Graph(y), Target::parse("x86-64-v3,cores=2"), {0, 3, 390}));
}

TEST(DeriveSumInParts, NotOfSeveralSums) {
  EXPECT_FALSE(is_in_parts(Graph(sum(input("x", f32, {4096, 1024}), {1}, false, "s"))));
}

}  // namespace
}  // namespace emulsion

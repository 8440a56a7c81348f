// How many short rows derived schedules compute at a time, and what lies across them.

#include <gtest/gtest.h>

#include <string>

#include "dsl/operators.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"
#include "tests/passes/derive/row_graphs.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");

TEST(DeriveRowsAtATime, TwoVectorsOfShortRows) {
  const std::string text = derived(softmax_by_hand(64, 64), target_of("x86-64-v3", 1));
  EXPECT_NE(text.find("y.split(i, i, row, 16)\n"), std::string::npos) << text;
}

TEST(DeriveRowsAtATime, FourOfARunTimeNumber) {
  const std::string text = derived(softmax_by_hand(kSize, 64), target_of("x86-64-v3", 1));
  EXPECT_NE(text.find("y.split(i, i, row, 4, guard)\n"), std::string::npos) << text;
}

// Of so many others that it does not matter that the last ones are computed in vain.
TEST(DeriveRowsAtATime, TwoVectorsOfManyRowsThatNothingDivides) {
  const Target target = target_of("x86-64-v3", 1);
  const auto text_of = [&](int64_t rows) { return derived(softmax_by_hand(rows, 64), target); };
  EXPECT_NE(text_of(72).find("y.split(i, i, row, 8)\n"), std::string::npos) << "not 12";
  EXPECT_NE(text_of(251).find("y.split(i, i, row, 4, guard)\n"), std::string::npos);
  EXPECT_NE(text_of(257).find("y.split(i, i, row, 16, guard)\ny.partition(i)\n"),
            std::string::npos);
  EXPECT_TRUE(derives(softmax_by_hand(257, 64), target, {0}, 1e-5));
}

TEST(DeriveRowsAtATime, FourOfLongerRows) {
  const Target target = Target::parse("x86-64-v3,cores=1,l1=1048576");
  EXPECT_NE(derived(softmax_by_hand(64, 128), target).find("y.split(i, i, row, 16)"),
            std::string::npos);
  EXPECT_NE(derived(softmax_by_hand(64, 129), target).find("y.split(i, i, row, 4)"),
            std::string::npos);
}

// A root of each row.
Graph roots_of_rows(const Extent& rows) {
  const Axis row("i", rows), column("k", 24), r("r", 24);
  const Tensor x = input("x", f32, {rows, 24});
  Tensor squares = compute("squares", {row}, sum(r, x(row, r) * x(row, r)));
  Tensor root = compute("root", {row}, sqrt(squares(row) + 1.0f));
  return Graph(compute("y", {row, column}, x(row, column) / root(row) + root(row)));
}

TEST(DeriveRowsAtATime, VectorsAcrossRowsOfWhatThereIsOnceInEach) {
  const auto text_of = [](const Extent& rows, const char* level = "x86-64-v3") {
    return derived(roots_of_rows(rows), target_of(level, 1));
  };
  EXPECT_NE(text_of(64).find("root.vectorize(i_v)\nroot.compute_at(y, i)\n"), std::string::npos)
      << text_of(64);
  EXPECT_NE(text_of(72).find("root.vectorize(i)\nroot.compute_at(y, i)\n"), std::string::npos)
      << "8 rows";
  EXPECT_EQ(text_of(63).find("root.vectorize("), std::string::npos) << "9 rows";
  EXPECT_EQ(text_of(kSize).find("root.vectorize("), std::string::npos) << "the last ones are few";
  EXPECT_EQ(text_of(kSize, "x86-64-v2").find("root.vectorize("), std::string::npos) << "4 rows";
  for (const char* level : kLevels) {
    for (const Extent& rows : {Extent(64), Extent(72), Extent(63), Extent(521), kSize}) {
      EXPECT_TRUE(derives(roots_of_rows(rows), target_of(level, 2), {0, 1, 5, 33}, 1e-5))
          << level << rows.to_string();
    }
  }
}

// The mean of each picture, of a run-time size or not: all that is stored of it.
Graph means(const Extent& channels, const Extent& width) {
  return Graph(mean(input("x", f32, {2, channels, 3, width}), {2, 3}, false, "y"));
}

TEST(DeriveRowsAtATime, AVectorOfSumsHoweverLongTheyAre) {
  const auto text_of = [](const Graph& graph, const char* level = "x86-64-v3") {
    return derived(graph, target_of(level, 1));
  };
  const std::string text = text_of(means(64, kSize));
  EXPECT_NE(text.find("y.split(i1, i1, row, 8)\ny.vectorize(row)\n"), std::string::npos) << text;
  EXPECT_NE(text_of(means(64, kSize), "x86-64-v4").find("y.split(i1, i1, row, 16)\n"),
            std::string::npos);
  // Of sums of a number two vectors.
  EXPECT_NE(text_of(means(64, 9)).find("y.split(i1, i1, row, 16)\ny.split(row, row, row_v, 8)\n"),
            std::string::npos)
      << text_of(means(64, 9));
  for (const Graph& graph :
       {means(63, kSize), means(257, kSize), means(kSize, 9), means(kSize, kSize)}) {
    EXPECT_EQ(text_of(graph).find("y.vectorize"), std::string::npos) << text_of(graph);
  }
  EXPECT_EQ(text_of(means(64, kSize), "x86-64-v2").find("y.vectorize"), std::string::npos);
  for (const char* level : kLevels) {
    for (const Graph& graph : {means(64, kSize), means(64, 9), means(257, kSize)}) {
      EXPECT_TRUE(derives(graph, target_of(level, 2), {0, 1, 5, 33}, 1e-5)) << level;
    }
  }
}

}  // namespace
}  // namespace emulsion

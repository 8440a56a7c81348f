// How many rows derived schedules compute at a time, and what lies across them.

#include "passes/derive/rows_at_a_time.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/derive/derive_schedule.h"
#include "passes/lower/lower.h"
#include "passes/nest/loop_nest.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"
#include "tests/passes/derive/row_graphs.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");

TEST(RowsAtATime, FourVectorsOfShortRows) {
  const auto text_of = [](int64_t columns, const char* level) {
    return derived(roots_by_hand(128, columns), target_of(level, 1));
  };
  EXPECT_NE(text_of(30, "x86-64-v4").find("y.split(i, i, row, 64)\n"), std::string::npos);
  EXPECT_NE(text_of(65, "x86-64-v4").find("y.split(i, i, row, 32)\n"), std::string::npos);
  for (const int64_t columns : {29, 64}) {
    for (const char* level : {"x86-64-v3", "x86-64-v2"}) {
      const std::string text = text_of(columns, level);
      EXPECT_NE(text.find("y.split(i, i, row, 32)\n"), std::string::npos) << text;
    }
  }
}

// Of a softmax, where no vectors lie across the rows: so many that they have about 24 vectors.
TEST(RowsAtATime, TensOfVectorsWhereNoneLieAcross) {
  const auto has_split = [](const Graph& graph, const char* level, const std::string& split) {
    const std::string text = derived(graph, target_of(level, 1));
    EXPECT_TRUE(has(text, "y.split(i, i, row, " + split + ")\n")) << text;
  };
  has_split(softmax_by_hand(128, 30), "x86-64-v4", "8");
  has_split(softmax_by_hand(128, 30), "x86-64-v3", "4");
  has_split(softmax_by_hand(128, 12), "x86-64-v2", "8");
  has_split(softmax_by_hand(128, 64), "x86-64-v4", "4");
  has_split(softmax_by_hand(128, 300), "x86-64-v4", "4");
  has_split(softmax_by_hand(kSize, 30), "x86-64-v4", "8, guard");
  has_split(softmax_by_hand(kSize, 64), "x86-64-v3", "4, guard");
  // Of numbers that only two divides a few more, or as many and some of them again.
  has_split(softmax_by_hand(410, 57), "x86-64-v4", "5");
  has_split(softmax_by_hand(14, 57), "x86-64-v4", "7");
  has_split(softmax_by_hand(82, 57), "x86-64-v4", "4, shift_inwards");
  has_split(softmax_by_hand(6, 57), "x86-64-v4", "3");
  has_split(roots_by_hand(128, 30), "x86-64-v4", "64");
  has_split(roots_by_hand(kSize, 30), "x86-64-v4", "32, guard");
  const Graph one_vector(softmax(input("x", f64, {128, 8}), -1, "y"));
  EXPECT_TRUE(has(derived(one_vector, target_of("x86-64-v4", 1)), "y.split(i0, i0, row, 32)\n"));
}

// Of some tens of vectors each, each with its sums in the loop that stores it.
TEST(RowsAtATime, OneOfLongerRowsWhereNoVectorsLieAcross) {
  const auto is_alone = [](const Graph& graph, const char* level) {
    const std::string text = derived(graph, target_of(level, 1));
    return !has(text, " row, ") && has(text, "total_lanes.compute_with(p, r)\n") &&
           has(text, "p.store_in_output(y)\n");
  };
  for (const Extent& rows : {Extent(40), kSize}) {
    EXPECT_TRUE(is_alone(softmax_by_hand(rows, 385), "x86-64-v4"));
    EXPECT_FALSE(is_alone(softmax_by_hand(rows, 384), "x86-64-v4"));
    EXPECT_TRUE(is_alone(softmax_by_hand(rows, 193), "x86-64-v3"));
    EXPECT_FALSE(is_alone(softmax_by_hand(rows, 192), "x86-64-v3"));
    EXPECT_FALSE(is_alone(softmax_by_hand(rows, 128), "x86-64-v2")) << "short rows";
    EXPECT_FALSE(is_alone(roots_by_hand(rows, 400), "x86-64-v4"));
    for (const char* level : kLevels) {
      EXPECT_TRUE(derives(softmax_by_hand(rows, 403), target_of(level, 2), {0, 1, 5}, 1e-5));
    }
  }
}

// The last ones have loops of their own, which end with them.
TEST(RowsAtATime, ManyShortOnesOfARunTimeNumber) {
  for (const char* level : kLevels) {
    for (const int columns : {5, 30, 64, 128}) {
      const std::string text = derived(roots_by_hand(kSize, columns), target_of(level, 1));
      EXPECT_TRUE(has(text, "y.split(i, i, row, 32, guard)\ny.partition(i)\n") || columns == 5)
          << text;
    }
  }
}

TEST(RowsAtATime, FourLongerOnesOfARunTimeNumber) {
  const std::string text = derived(roots_by_hand(kSize, 129), target_of("x86-64-v3", 1));
  EXPECT_TRUE(has(text, "y.split(i, i, row, 4, guard)\ny.partition(i)\n")) << text;
  // The first cache is to hold half of many.
  const auto rows_of = [](int l1) {
    const std::string target = fmt::format("x86-64-v3,cores=1,l1={}", l1);
    const std::string one = derived(roots_by_hand(kSize, 64), Target::parse(target));
    return has(one, "row, 32, guard") ? 32 : has(one, "row, 4, guard") ? 4 : 0;
  };
  constexpr int kBytesOfRow = 3 * 64 * 4 + 3 * 4;  // of x, p and y, and three that it has one of
  EXPECT_EQ(rows_of(16 * kBytesOfRow), 32);
  EXPECT_EQ(rows_of(16 * kBytesOfRow - 1), 4);
}

// Sums of x and of what x and its greatest are: one value of each row.
Graph sums_of_squares() {
  const Axis i("i", kSize), k("k", 30), r("r", 30);
  const Tensor x = input("x", f32, {kSize, 30});
  const Tensor top = compute("top", {i}, reduce_max(r, x(i, r)));
  const Tensor e = compute("e", {i, k}, exp(x(i, k) - top(i)));
  return Graph(compute("y", {i}, sum(r, e(i, r) * e(i, r))));
}

TEST(RowsAtATime, ManyShortOnesWhoseSumsTheLastMakes) {
  for (const char* level : kLevels) {
    const std::string text = derived(sums_of_squares(), target_of(level, 1));
    EXPECT_TRUE(has(text, "y.split(i, i, row, 32, guard)\ny.partition(i)\n")) << text;
    EXPECT_TRUE(derives(sums_of_squares(), target_of(level, 2), {0, 1, 5, 31, 32, 33, 100}, 1e-5));
  }
}

// In the last tile the sums of no more rows are computed than there are, nor what these read.
TEST(RowsAtATime, TheSumsOfTheLastTileEndWithTheLastRow) {
  const Target target = target_of("x86-64-v3", 1);
  const Graph graph = sums_of_squares();
  const std::string text = to_string(lower(graph, derive_schedule(graph, target)));
  for (const char* loop : {"for top.i in B % 32\n", "for y.row in B % 32\n"}) {
    EXPECT_TRUE(has(text, loop)) << text;
  }
}

// What is kept of each row goes on beyond the last one.
TEST(RowsAtATime, FourShortOnesWhereTheyDoNotEndWithTheLast) {
  const Axis i("i", kSize), k("k", 28), r("r", 28);
  const Tensor x = input("x", f32, {kSize, 28});
  const Tensor top = compute("top", {i}, reduce_max(r, x(i, r)));
  const Graph kept({compute("y", {i, k}, exp(x(i, k) - top(i))), top});
  const std::string text = derived(kept, target_of("x86-64-v3", 1));
  EXPECT_TRUE(has(text, "y.split(i, i, row, 4, guard)\n")) << text;
  EXPECT_TRUE(derives(kept, target_of("x86-64-v3", 1), {0, 1, 5, 33}, 1e-5));
}

// Around each number of rows that a tile, or a vector across them, has.
TEST(RowsAtATime, ARunTimeNumberOfRowsIsRight) {
  for (const char* level : kLevels) {
    for (const auto& [name, graph] : row_graphs(kSize, 13)) {
      EXPECT_TRUE(derives(graph, target_of(level, 2), {0, 1, 17, 31, 32, 33, 64, 100}, 1e-4))
          << name << " " << level;
    }
  }
}

TEST(RowsAtATime, EqualPartsOfANumberThatNothingDivides) {
  const Target target = target_of("x86-64-v3", 1);
  const auto text_of = [&](int64_t rows) { return derived(roots_by_hand(rows, 64), target); };
  EXPECT_NE(text_of(72).find("y.split(i, i, row, 24)\n"), std::string::npos);
  EXPECT_NE(text_of(120).find("y.split(i, i, row, 24)\n"), std::string::npos) << "whole vectors";
  EXPECT_NE(text_of(50).find("y.split(i, i, row, 25)\n"), std::string::npos) << "no vectors";
  EXPECT_NE(text_of(39).find("y.split(i, i, row, 39)\n"), std::string::npos) << "all";
  EXPECT_NE(text_of(41).find("y.split(i, i, row, 21, shift_inwards)\n"), std::string::npos);
  EXPECT_NE(text_of(257).find("y.split(i, i, row, 29, shift_inwards)\n"), std::string::npos);
  for (const int64_t rows : {39, 41, 257}) {
    EXPECT_TRUE(derives(roots_by_hand(rows, 64), target, {0}, 1e-5)) << rows;
  }
}

TEST(RowsAtATime, AsManyAsTheFirstCacheHolds) {
  const auto text_of = [](int64_t columns) {
    return derived(roots_by_hand(64, columns), Target::parse("x86-64-v3,cores=1,l1=32768"));
  };
  EXPECT_NE(text_of(128).find("y.split(i, i, row, 16)\n"), std::string::npos) << text_of(128);
  EXPECT_NE(text_of(512).find("y.split(i, i, row, 4)\n"), std::string::npos);
  EXPECT_EQ(text_of(4096).find(" row, "), std::string::npos);
}

// A result beside the last one is computed row by row, as long as the second cache holds a row.
TEST(RowsAtATime, ResultsInRows) {
  const auto place_of = [](int64_t columns) {
    const Tensor x = input("x", f32, {64, columns}), g = input("g", f32, {columns});
    const Tensor y = rms_norm(x, g, 1e-5, "y");
    const std::string text =
        derived(Graph({y, relu(y, "z")}), Target::parse("x86-64-v3,cores=1,l1=32768,l2=262144"));
    return has(text, "y.compute_at(z, i0)\n") ? "row"
           : has(text, "y.compute_at(z, ")    ? "vector"
                                              : "";
  };
  EXPECT_STREQ(place_of(600), "row");
  EXPECT_STREQ(place_of(10000), "row") << "more than the first cache holds";
  EXPECT_STREQ(place_of(20000), "vector");
}

// A root of each row.
Graph roots_of_rows(const Extent& rows) {
  const Axis row("i", rows), column("k", 24), r("r", 24);
  const Tensor x = input("x", f32, {rows, 24});
  Tensor squares = compute("squares", {row}, sum(r, x(row, r) * x(row, r)));
  Tensor root = compute("root", {row}, sqrt(squares(row) + 1.0f));
  return Graph(compute("y", {row, column}, x(row, column) / root(row) + root(row)));
}

TEST(RowsAtATime, VectorsAcrossRowsOfWhatThereIsOnceInEach) {
  const auto text_of = [](const Extent& rows, const char* level = "x86-64-v3") {
    return derived(roots_of_rows(rows), target_of(level, 1));
  };
  EXPECT_NE(text_of(64).find("root.vectorize(i_v)\nroot.compute_at(y, i)\n"), std::string::npos)
      << text_of(64);
  EXPECT_NE(text_of(8, "x86-64-v4").find("root.vectorize(i)\nroot.compute_at(y, i)\n"),
            std::string::npos)
      << "8 rows";
  // The last vector starts earlier.
  EXPECT_NE(text_of(63).find("root.split(i, i, lane, 8, shift_inwards)\nroot.vectorize(lane)\n"),
            std::string::npos)
      << text_of(63);
  EXPECT_TRUE(has(text_of(kSize), "root.vectorize(i_v)\nroot.compute_at(y, i)\n"));
  EXPECT_EQ(text_of(4, "x86-64-v2").find("root.vectorize("), std::string::npos) << "4 rows";
  for (const char* level : kLevels) {
    for (const Extent& rows : {Extent(64), Extent(5), Extent(8), Extent(63), Extent(521), kSize}) {
      EXPECT_TRUE(derives(roots_of_rows(rows), target_of(level, 2), {0, 1, 5, 33}, 1e-5))
          << level << rows.to_string();
    }
  }
}

// With one quotient for each row, and what is computed of each element before.
Graph shares_of_rows(const Extent& rows, bool has_series) {
  const Axis row("i", rows), column("k", 64), r("r", 64);
  const Tensor x = input("x", f32, {rows, 64}), z = input("z", f32, {rows, 64});
  const Expr element = x(row, column);
  const Tensor e =
      compute("e", {row, column}, has_series ? exp(element) : element + z(row, column));
  const Tensor s = compute("s", {row}, sum(r, e(row, r)));
  const Tensor share = compute("share", {row}, 1.0F / s(row));
  return Graph(compute("y", {row, column}, e(row, column) * share(row)));
}

// While exponentials are computed, the output's memory comes to the cache.
TEST(RowsAtATime, ASeriesWaitsInTheOutputBesideVectorsAcrossRows) {
  constexpr char kInOutput[] = "e.store_in_output(y)\n";
  const auto text_of = [](const Extent& rows, bool has_series) {
    return derived(shares_of_rows(rows, has_series), target_of("x86-64-v3", 1));
  };
  EXPECT_TRUE(has(text_of(512, true), kInOutput)) << text_of(512, true);
  EXPECT_TRUE(has(text_of(512, true), "share.vectorize("));
  EXPECT_TRUE(has(text_of(kSize, true), kInOutput));
  EXPECT_FALSE(has(text_of(512, false), kInOutput)) << "nothing to compute meanwhile";
  EXPECT_TRUE(has(text_of(512, false), "e.compute_at(y, i)\n")) << text_of(512, false);
  EXPECT_FALSE(has(text_of(521, true), kInOutput)) << "the last rows start earlier";
  for (const char* level : kLevels) {
    for (const Extent& rows : {Extent(64), Extent(5), Extent(521), kSize}) {
      for (const bool has_series : {false, true}) {
        EXPECT_TRUE(
            derives(shares_of_rows(rows, has_series), target_of(level, 2), {0, 1, 5, 33}, 1e-5))
            << level << rows.to_string();
      }
    }
  }
}

// The mean of each picture, of a run-time size or not: all that is stored of it.
Graph means(const Extent& channels, const Extent& width) {
  return Graph(mean(input("x", f32, {2, channels, 3, width}), {2, 3}, false, "y"));
}

TEST(RowsAtATime, AVectorOfSumsHoweverLongTheyAre) {
  const auto text_of = [](const Graph& graph, const char* level = "x86-64-v3") {
    return derived(graph, target_of(level, 1));
  };
  const std::string text = text_of(means(64, kSize));
  EXPECT_NE(text.find("y.split(i1, i1, row, 8)\ny.vectorize(row)\n"), std::string::npos) << text;
  EXPECT_NE(text_of(means(64, kSize), "x86-64-v4").find("y.split(i1, i1, row, 16)\n"),
            std::string::npos);
  // Of sums of a number several.
  EXPECT_NE(text_of(means(64, 9)).find("y.split(i1, i1, row, 32)\ny.split(row, row, row_v, 8)\n"),
            std::string::npos)
      << text_of(means(64, 9));
  EXPECT_TRUE(has(text_of(means(kSize, 9)),
                  "y.split(i1, i1, row, 32, guard)\ny.partition(i1)\n"
                  "y.split(row, row, row_v, 8)\ny.vectorize(row_v)\n"));
  for (const Graph& graph : {means(63, kSize), means(257, kSize), means(kSize, kSize)}) {
    EXPECT_EQ(text_of(graph).find("y.vectorize"), std::string::npos) << text_of(graph);
  }
  EXPECT_EQ(text_of(means(64, kSize), "x86-64-v2").find("y.vectorize"), std::string::npos);
  for (const char* level : kLevels) {
    for (const Graph& graph : {means(64, kSize), means(64, 9), means(257, kSize)}) {
      EXPECT_TRUE(derives(graph, target_of(level, 2), {0, 1, 5, 33}, 1e-5)) << level;
    }
  }
}

TEST(RowsAtATime, SoManyRowsAtATimeAsDivideTheirNumber) {
  const Target target = target_of("x86-64-v3", 1);
  EXPECT_NE(derived(roots_by_hand(63, 64), target).find("y.split(i, i, row, 21)"),
            std::string::npos);
  EXPECT_NE(derived(roots_by_hand(7, 64), target).find("y.split(i, i, row, 7)"), std::string::npos)
      << "all";
  const int long_row = 600;  // of which the first cache holds four
  EXPECT_NE(derived(roots_by_hand(63, long_row), target).find("y.split(i, i, row, 3)"),
            std::string::npos);
  EXPECT_EQ(derived(roots_by_hand(7, long_row), target).find(" row, "), std::string::npos);
  EXPECT_EQ(derived(roots_by_hand(64, kSize), target).find("y.split(i, "), std::string::npos);
}

TEST(RowsAtATime, FourOfANumberOfRowsThatNothingDivides) {
  for (int cores : {1, 2}) {
    const Graph graph = roots_by_hand(61, 600);
    const std::string text = derived(graph, target_of("x86-64-v3", cores));
    EXPECT_NE(text.find("y.split(i, i, row, 4, guard)\ny.partition(i)\n"), std::string::npos)
        << text;
    EXPECT_TRUE(derives(graph, target_of("x86-64-v3", cores), {0}, 1e-5));
  }
}

TEST(RowsAtATime, FewerOfARunTimeNumberWhereManyCoresShareThem) {
  const auto text = [](int cores) {
    return derived(roots_by_hand(kSize, 512), target_of("x86-64-v3", cores));
  };
  EXPECT_NE(text(2).find("y.split(i, i, row, 4, guard)\n"), std::string::npos) << text(2);
  EXPECT_NE(text(16).find("y.split(i, i, row, 2, guard)\n"), std::string::npos) << text(16);
  EXPECT_EQ(text(64).find(" row, "), std::string::npos) << text(64);
}

// Two axes are fused into one loop, which does not end where one of them does.
TEST(RowsAtATime, OneOfARunTimeNumberOfRowsOfTwoAxes) {
  const Graph graph(softmax(input("x", f32, {1, kSize, 64}), -1, "y"));
  const std::string text = derived(graph, target_of("x86-64-v3", 4));
  EXPECT_EQ(text.find(" row, "), std::string::npos) << text;
  EXPECT_TRUE(derives(graph, target_of("x86-64-v3", 4), {0, 1, 5}, 1e-5));
}

// What stands behind a condition on the sizes is for the case in which it holds, and the rows are
// for every case.
TEST(RowsAtATime, AFewRowsAtATimeInsideARunTimeNumberOfThem) {
  const Tensor x = input("x", f32, {kSize, 6, 64});
  const Graph graph(softmax(x, -1, "y"));
  const std::string text = derived(graph, target_of("x86-64-v3", 4));
  const size_t split = text.find("y.split(i1, i1, row, 3)\n");
  ASSERT_NE(split, std::string::npos) << text;
  EXPECT_LT(split, text.find("y.specialize(B >= ")) << text;
  EXPECT_TRUE(derives(graph, target_of("x86-64-v3", 4), {0, 1, 3}, 1e-5));
}

// Of a task, where threads share them.
TEST(RowsAtATime, AFewOfEachTask) {
  const std::string text = derived(roots_by_hand(1024, 64), target_of("x86-64-v3", 2));
  EXPECT_NE(text.find("y.split(i, block, i, 64)\ny.split(i, i, row, 32)\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("y.parallel(block)"), std::string::npos) << text;
}

// Where the first cache holds them, of short rows alone four vectors; and as many as divide their
// number, where that is not much less.
TEST(RowsAtATime, OfLongerRowsNoMoreThanEnough) {
  const auto text_of = [](int64_t rows, int64_t columns) {
    return derived(roots_by_hand(rows, columns), Target::parse("x86-64-v4,cores=1,l1=131072"));
  };
  EXPECT_NE(text_of(128, 64).find("y.split(i, i, row, 64)\n"), std::string::npos);
  EXPECT_NE(text_of(128, 65).find("y.split(i, i, row, 32)\n"), std::string::npos);
  EXPECT_NE(text_of(110, 65).find("y.split(i, i, row, 22)\n"), std::string::npos)
      << text_of(110, 65);
}

// Of sums of rows that no vectors divide, nor all of them.
TEST(RowsAtATime, TheLastVectorOfResultsStartsEarlier) {
  const Target target = target_of("x86-64-v3", 1);
  const std::string text = derived(means(50, 9), target);
  EXPECT_NE(text.find("y.split(row, row, lane, 8, shift_inwards)\ny.vectorize(lane)\n"),
            std::string::npos)
      << text;
  EXPECT_TRUE(derives(means(50, 9), target, {0, 1, 9}, 1e-5));
}

// Else the last ones have loops of their own, in which vectors end with them.
TEST(RowsAtATime, ResultsThatAreLeftOverEndTheLastVector) {
  const Target target = target_of("x86-64-v3", 1);
  const std::string text = derived(means(61, kSize), target);
  EXPECT_NE(text.find("y.split(i1, i1, row, "), std::string::npos) << text;
  EXPECT_NE(text.find("y.partition(i1)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("y.vectorize("), std::string::npos) << text;
  EXPECT_TRUE(derives(means(61, kSize), target, {0, 1, 9}, 1e-5));
}

// Of 241 rows 61 at a time: three of the last 61 are computed again, and the loops are there once.
TEST(RowsAtATime, TheLastRowsOfManyStartEarlier) {
  const Target target = target_of("x86-64-v4", 1);
  for (const int64_t rows : {241, 4099}) {
    const Graph graph = roots_by_hand(rows, 30);
    const std::string text = derived(graph, target);
    EXPECT_NE(text.find(", shift_inwards)\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("guard"), std::string::npos) << text;
    EXPECT_EQ(text.find("partition"), std::string::npos) << text;
    EXPECT_TRUE(derives(graph, target, {0}, 1e-5)) << rows;
  }
}

// Of few rows much would be computed again; what others read is computed once; and threads would
// write the same rows.
TEST(RowsAtATime, OtherLastRowsDoNotStartEarlier) {
  const auto text_of = [](const Graph& graph, int cores) {
    return derived(graph, target_of("x86-64-v4", cores));
  };
  const Tensor x = input("x", f32, {241, 30});
  for (const std::string& text :
       {text_of(roots_by_hand(61, 600), 1), text_of(roots_by_hand(kSize, 30), 1),
        text_of(Graph(sum(x * x, {1}, false, "y")), 1), text_of(roots_by_hand(100003, 30), 2)}) {
    EXPECT_EQ(text.find("row, 61, shift_inwards"), std::string::npos) << text;
    EXPECT_EQ(text.find("(i, i, row, 4, shift_inwards"), std::string::npos) << text;
  }
  const Tensor p = softmax(x, -1, "p");
  const Graph kept({p, relu(p, "y")});
  EXPECT_EQ(text_of(kept, 1).find("row, 61, shift_inwards"), std::string::npos);
}

// Rows inside another axis.
std::vector<Graph> rows_in_steps(const Extent& steps, int64_t columns) {
  const Tensor x = input("x", f32, {steps, kSize, columns}), g = input("g", f32, {columns});
  const Tensor p = exp(x - reduce_max(x, {2}, true));
  return {
      Graph(softmax(x, -1, "y")),       Graph(rms_norm(x, g)),
      Graph(gelu(layer_norm(x, g, g))), Graph(layer_norm(gelu(x), g, g)),
      Graph(relu(mean(x, {2}))),        Graph(log(sum(p, {2}, true)) + reduce_max(x, {2}, true))};
}

TEST(RowsAtATime, SeveralStepsThatHaveFewRows) {
  const auto text_of = [](const Extent& steps, const Extent& rows, int64_t columns) {
    const Tensor x = input("x", f32, {steps, rows, columns});
    return derived(Graph(softmax(x, -1, "y")), target_of("x86-64-v3", 1));
  };
  const std::string text = text_of(40, kSize, 32);
  EXPECT_TRUE(has(text, "\ny.alternative(B <= 16, y_apart)\n")) << text;
  EXPECT_TRUE(has(text, "y_apart.split(i0, i0, row, 4)\ny_apart.reorder(row, i1)\n")) << text;
  EXPECT_TRUE(has(text, ".compute_at(y_apart, i1)\n")) << text;
  EXPECT_TRUE(has(text, "y.split(i1, i1, row, 4, guard)\n")) << text;
  EXPECT_TRUE(has(text_of(20, kSize, 32), "(B <= 10, y_apart)\n"));
  EXPECT_TRUE(has(text_of(Extent::size("N"), kSize, 32), "(B <= 16 && N >= 32, y_apart)\n"));
  EXPECT_FALSE(has(text_of(7, kSize, 32), "_apart")) << "few steps";
  EXPECT_FALSE(has(text_of(40, 5, 32), "_apart")) << "a known number of rows";
  EXPECT_FALSE(has(text_of(40, kSize + 17, 32), "_apart")) << "never few";
  EXPECT_FALSE(has(text_of(40, kSize, 129), "_apart")) << "long rows";
}

TEST(RowsAtATime, StepsThatHaveFewRowsAreRight) {
  for (const char* level : kLevels) {
    for (const int steps : {8, 37, 100}) {
      for (const Graph& graph : rows_in_steps(steps, steps == 37 ? 30 : 13)) {
        const Target target = target_of(level, steps == 37 ? 64 : 2);
        const std::string text = derived(graph, target);
        // Those of 13 elements may be in lanes, or along their elements (few_small_rows_test).
        const bool in_lanes = steps != 37 && has(text, "_across");
        EXPECT_NE(has(text, "_apart"), in_lanes) << text;
        EXPECT_TRUE(derives(graph, target, {0, 1, 2, 5, 17}, 1e-4)) << level << " " << steps;
      }
    }
    for (const Graph& graph : rows_in_steps(Extent::size("N"), 20)) {
      const Schedule schedule = derive_schedule(graph, target_of(level, 2));
      for (const int64_t steps : {31, 32, 50}) {
        EXPECT_TRUE(lowers(graph, schedule, {{"B", 3}, {"N", steps}}, 1e-4)) << level;
      }
    }
  }
}

// Nor do tiles of steps divide their number: the series lies across the steps of a tile all the
// same.
TEST(RowsAtATime, StepsThatNoTileDividesLieInOneVector) {
  const Tensor x = input("x", f32, {97, kSize, 20}), g = input("g", f32, {20});
  const Graph graph(layer_norm(gelu(x), g, g, 1e-5, "y"));
  const Target target = target_of("x86-64-v3", 4);
  const std::string text = derived(graph, target);
  EXPECT_TRUE(has(text, "y_apart.partition(i0)\n")) << text;
  EXPECT_TRUE(has(text, "gelu_apart.fuse(i0, along, flat)\n")) << text;
  EXPECT_TRUE(derives(graph, target, {0, 1, 5, 17}, 1e-4));
}

// As many as there are at most decide.
TEST(RowsAtATime, ThreadsWhereStepsWithFewRowsAreMany) {
  const auto text_of = [](int64_t steps) {
    const Tensor x = input("x", f32, {steps, kSize, 32});
    return derived(Graph(softmax(x, -1, "y")), target_of("x86-64-v3", 4));
  };
  EXPECT_FALSE(has(text_of(40), "y_apart.parallel"));
  EXPECT_TRUE(has(text_of(40), "y.parallel"));
  EXPECT_TRUE(has(text_of(100000), "y_apart.parallel"));
}

}  // namespace
}  // namespace emulsion

// Sums of their own in derived schedules: in lanes or in columns, at run-time extents too, and
// which of their loops the threads share.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");
const Target kV3 = Target::parse("x86-64-v3,cores=1");
const Target kFour = Target::parse("x86-64-v3,cores=4");

std::string derived(const Tensor& y) { return derived(y, kV3); }

TEST(DeriveReduction, FewRowsOfRunTimeLengthAreSummedInLanes) {
  for (const char* level : {"v2", "v3", "v4"}) {
    const Target target = Target::parse("x86-64-" + std::string(level) + ",cores=1");
    const std::string text = derived(sum(input("x", f32, {3, kSize}), {1}, false, "s"), target);
    const std::string lanes = std::to_string(target.vector_lanes(f32));
    const std::string four = std::to_string(4 * target.vector_lanes(f32));
    EXPECT_TRUE(has(text, "lane, " + four + ")\ns.rfactor(lane, s_lanes)\n")) << text;
    EXPECT_TRUE(has(text, "lane_v, " + lanes + ")\ns_lanes.vectorize(lane_v)\n")) << text;
  }
}

// Only the last step has masks. One cache line at a time of several rows, or of a row that is
// walked again and again.
TEST(DeriveReduction, RunTimeLanesStayInRegisters) {
  const Axis i("i", kSize), r("r", kSize), c("c", kSize);
  const Tensor x = input("x", f32, {kSize, kSize}), inverse = input("w", f32, {kSize, kSize});
  for (const auto& [body, lanes] :
       {std::pair(sum(c, x(i, c)), 16), {sum({r, c}, x(i, r) * inverse(r, c) * x(i, c)), 16}}) {
    const std::string text = derived(compute("s", {i}, body));
    EXPECT_TRUE(has(text, fmt::format("s.split(c, c, lane, {})\n", lanes))) << text;
    EXPECT_TRUE(has(text, "s_lanes.partition(c)\ns_lanes.store_in(registers)\n")) << text;
    EXPECT_TRUE(derives(Graph(compute("s", {i}, body)), kV3, {0, 1, 7, 8, 9, 15, 16, 17}));
  }
  const std::string known = derived(sum(input("x", f32, {5, 100}), {1}, false, "s"));
  EXPECT_FALSE(has(known, "partition") || has(known, "registers")) << known;
}

// Where the last axis may be short, two steps of the one outside it have lanes of their own.
TEST(DeriveReduction, SumsAlongThreeAxesHaveLanesOfSeveralRows) {
  const Extent height = Extent::size("H"), width = Extent::size("W");
  const Axis i("i", 3), n("n", 2), r("r", height), c("c", width);
  const Tensor x = input("x", f32, {2, 3, height, width});
  const Tensor y = compute("s", {i}, reduce_max({n, r, c}, x(n, i, r, c)));
  for (const auto& [level, rows] :
       {std::pair("x86-64-v2", 1), {"x86-64-v3", 2}, {"x86-64-v4", 2}}) {
    const Target target = target_of(level, 1);
    const std::string text = derived(y, target);
    const std::string lanes = "s.split(c, c, lane, 16)\ns.rfactor(lane, s_lanes)\n";
    EXPECT_TRUE(has(text, rows > 1 ? "s.split(r, r, row, 2)\n" + lanes : lanes)) << text;
    for (const char* line :
         {"s_lanes.rfactor(row, s_rows)\ns_lanes.reorder(lane, row)\n",
          "s_rows.reorder_storage(lane, row, i)\n",
          "s_rows.partition(c)\ns_rows.store_in(registers)\ns_rows.partition(r)\n",
          "s_rows.unroll(row)\n"}) {
      EXPECT_EQ(has(text, line), rows > 1) << text;
    }
    const Schedule schedule = derive_schedule(Graph(y), target);
    for (int64_t h : {0, 1, 2, 3, 5, 13}) {
      for (int64_t w : {0, 1, 7, 15, 16, 17, 31, 37}) {
        EXPECT_TRUE(lowers(Graph(y), schedule, {{"H", h}, {"W", w}})) << h << " x " << w;
      }
    }
  }
}

TEST(DeriveReduction, LanesOfRowsAreOfAsManyAsThereAre) {
  for (const auto& [rows, at_a_time] : {std::pair(1, 1), {2, 2}, {5, 2}, {6, 2}}) {
    const Axis i("i", 3), n("n", 2), r("r", rows), c("c", kSize);
    const Tensor x = input("x", f32, {2, 3, rows, kSize});
    const Tensor y = compute("s", {i}, sum({n, r, c}, x(n, i, r, c)));
    const Target target = target_of("x86-64-v4", 1);
    const std::string text = derived(y, target);
    EXPECT_EQ(has(text, "s.split(r, r, row, 2)\n"), at_a_time > 1) << text;
    EXPECT_EQ(has(text, "s_rows.partition(r)\n"), rows % at_a_time != 0) << text;
    EXPECT_TRUE(derives(Graph(y), target, {0, 1, 7, 16, 17, 33}));
  }
}

// Groups of channels that lie side by side: each addition to one vector would wait for the last.
TEST(DeriveReduction, ShortRowsThatLieApartHaveLanesOfSeveral) {
  const auto groups = [](int64_t rows, int64_t channels) {
    const Axis i("i", 2), g("g", 6), r("r", rows), c("c", channels);
    const Tensor x = input("x", f32, {rows, 2, 6, channels});
    return compute("s", {i, g}, sum({r, c}, x(r, i, g, c)));
  };
  for (const auto& [level, at_a_time] : {std::pair("x86-64-v2", 2), {"x86-64-v3", 4}}) {
    const Target target = target_of(level, 1);
    for (const int64_t rows : {64, 67}) {
      const std::string text = derived(groups(rows, 8), target);
      const char* tail = rows % at_a_time == 0 ? "" : ", guard";
      EXPECT_TRUE(has(text, fmt::format("s.split(r, r, row, {}{})\n", at_a_time, tail)) ||
                  has(text, fmt::format("s.split(r, r, row, {})\n", at_a_time)))
          << text;
      EXPECT_EQ(has(text, "s_rows.partition(r)\n"), rows % at_a_time != 0) << text;
      EXPECT_FALSE(has(text, "s_rows.partition(c)\n")) << text;
      EXPECT_TRUE(derives(Graph(groups(rows, 8)), target));
      EXPECT_TRUE(derives(Graph(groups(rows, 9)), target));
    }
    EXPECT_FALSE(has(derived(groups(63, 8), target), "s_rows")) << "few rows";
    EXPECT_FALSE(has(derived(groups(64, 32), target), "s_rows")) << "vectors enough";
  }
}

// Rows that are summed side by side, or of a known length, are so already; and two axes may be a
// small picture, of which adding up several lines of lanes takes longer than summing it.
TEST(DeriveReduction, LanesOfSeveralRowsAreNotForSumsSideBySideOrSmallOnes) {
  const Axis i("i", kSize), m("m", 3), n("n", kSize), r("r", kSize), c("c", kSize), known("c", 40);
  const Tensor x = input("x", f32, {kSize, kSize, kSize, kSize});
  const Tensor z = input("z", f32, {3, kSize, kSize});
  const Tensor w = input("w", f32, {3, kSize, kSize, 40}), by = input("by", f32, {40});
  const Target target = target_of("x86-64-v4", 1);
  for (const Tensor& y : {compute("s", {i}, sum({n, r, c}, x(i, n, r, c))),
                          compute("s", {m}, sum({r, c}, z(m, r, c))),
                          compute("s", {m}, sum({n, r, known}, w(m, n, r, known) * by(known)))}) {
    EXPECT_FALSE(has(derived(y, target), "s_rows")) << derived(y, target);
  }
}

// A line of each of as many rows as have their sums in registers together.
TEST(DeriveReduction, RowsOfARunTimeLengthAreSummedSideBySide) {
  const Tensor y = sum(input("x", f32, {Extent::size("R"), kSize}), {1}, false, "s");
  for (const auto& [level, rows] : {std::pair("v2", 2), {"v3", 4}, {"v4", 4}}) {
    const Target target = target_of("x86-64-" + std::string(level), 1);
    const std::string text = derived(y, target);
    EXPECT_TRUE(has(text, "s_long.split(r1, r1, lane, 16)\n")) << text;
    EXPECT_TRUE(has(text, fmt::format("s_long.split(i0, i0, row, {}, guard)\ns_long.unroll(row)\n"
                                      "s_long.partition(i0)\n",
                                      rows)))
        << text;
    EXPECT_TRUE(has(text,
                    "s_long_lanes.compute_at(s_long, i0)\ns_long_lanes.unroll(i0)\n"
                    "s_long_lanes.reorder(i0, r1)\n"))
        << text;
    EXPECT_TRUE(derives(Graph(y), target, {0, 1, 2, 3, 4, 5, 7, 15, 16, 17, 33}));
  }
}

TEST(DeriveReduction, NotSideBySide) {
  const Tensor known = input("x", f32, {kSize, 100}), few = input("x", f32, {3, kSize});
  const Tensor fused = input("x", f32, {2, 5, kSize});  // threads share both axes as one loop
  for (const Tensor& y : {sum(known, {1}, false, "s"), sum(few, {1}, false, "s"),
                          sum(fused, {2}, false, "s"), sum(known, {0, 1}, false, "s")}) {
    // Of everything threads share rows of columns, where there is much.
    const std::string all = derived(y, kFour), text = all.substr(0, all.find("_in_parts."));
    EXPECT_FALSE(has(text, ", row, ")) << text;
    EXPECT_TRUE(derives(Graph(y), kFour, {0, 1, 5, 16, 33}));
  }
}

// As many vectors as divide the row, if any do, and at most four.
TEST(DeriveReduction, SeveralVectorsOfLanesAreUnderWay) {
  const std::pair<int64_t, int64_t> kLanesOfRows[] = {{8, 8},   {15, 8},  {16, 16}, {24, 24},
                                                      {32, 32}, {40, 32}, {48, 24}, {64, 32},
                                                      {27, 24}, {800, 32}};
  for (const auto& [row, lanes] : kLanesOfRows) {
    const std::string text = derived(sum(input("x", f32, {5, row}), {1}, false, "s"));
    EXPECT_TRUE(has(text, fmt::format("s.split(r1, r1, lane, {})\n", lanes))) << row << text;
  }
  const std::string one = derived(sum(input("x", f64, {3, 11}), {1}, false, "s"));
  EXPECT_TRUE(has(one, "s_lanes.split(lane, lane, lane_v, 4)\n")) << one;
}

TEST(DeriveReduction, LanesAreCombinedInVectorsUntilFewAreLeft) {
  const auto lanes_of = [](DType dtype, const char* level) {
    const Target target = Target::parse("x86-64-" + std::string(level) + ",cores=1");
    const std::string text =
        derived(reduce_max(input("x", dtype, {5, 4096}), {1}, false, "s"), target);
    std::vector<std::string> found;
    for (size_t at = text.find("s.rfactor("); at != std::string::npos;
         at = text.find("s.rfactor(", at + 1)) {
      found.push_back(text.substr(at, text.find('\n', at) - at));
    }
    return found;
  };
  const std::string first = "s.rfactor(lane, s_lanes)";
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lanes_of(f32, "v2"), (Lines{first, "s.rfactor(lane4, s_lanes4)"}));
  EXPECT_EQ(lanes_of(f64, "v2"), (Lines{first, "s.rfactor(lane2, s_lanes2)"}));
  EXPECT_EQ(lanes_of(f32, "v4"),
            (Lines{first, "s.rfactor(lane16, s_lanes16)", "s.rfactor(lane4, s_lanes4)"}));
  EXPECT_EQ(lanes_of(i8, "v3"),
            (Lines{first, "s.rfactor(lane32, s_lanes32)", "s.rfactor(lane8, s_lanes8)",
                   "s.rfactor(lane2, s_lanes2)"}));
}

// Two vectors at a time, of long sums four; only the last tile has masks.
TEST(DeriveReduction, ColumnsOfRunTimeNumberAreSummedInRegisters) {
  for (const auto& [rows, width] : {std::pair(5, 16), {15, 16}}) {
    const std::string text = derived(sum(input("x", f32, {rows, kSize}), {0}, false, "s"));
    EXPECT_TRUE(has(text, fmt::format("tile, lane, {}, predicate)\ns.partition(tile)\n", width)))
        << text;
    EXPECT_TRUE(has(text, "s_acc.compute_at(s, tile)\n")) << text;
  }
  const Axis j("j", kSize), r("r", 64);
  const Tensor x = input("x", f32, {64, kSize * 2});
  const std::string deep = derived(compute("s", {j}, sum(r, x(r, j * 2))));
  EXPECT_TRUE(has(deep, "tile, lane, 32, predicate)\ns.partition(tile)\n")) << deep;
}

TEST(DeriveReduction, ColumnsThatVectorsAlwaysDivideNeedNoMasks) {
  const std::string text = derived(sum(input("x", f32, {5, kSize * 32}), {0}, false, "s"));
  EXPECT_TRUE(has(text, "tile, lane, 32)\n")) << text;
  EXPECT_FALSE(has(text, "partition")) << text;
}

// The lengths of points: their coordinates are a few elements apart.
TEST(DeriveReduction, ShortRowsOfARunTimeNumberAreSummedSideBySide) {
  const Axis i("i", kSize), r("r", 3);
  const Tensor x = input("x", f32, {kSize, 3});
  const std::string text = derived(compute("s", {i}, sum(r, x(i, r) * x(i, r))));
  EXPECT_TRUE(has(text, "tile, lane, 16, predicate)\ns.partition(tile)\n")) << text;
  EXPECT_TRUE(has(text, "s_acc.unroll(r)\n")) << text;
}

TEST(DeriveReduction, ShortRowsOfANumberAreSummedSideBySide) {
  const auto lengths = [](int64_t count) {
    const Axis i("i", count), r("r", 3);
    const Tensor x = input("x", f32, {count, 3});
    return compute("s", {i}, sum(r, x(i, r) * x(i, r)));
  };
  EXPECT_TRUE(has(derived(lengths(20000)), "tile, lane, 32)\n")) << derived(lengths(20000));
  EXPECT_TRUE(has(derived(lengths(17)), "tile, lane, 8, shift_inwards)\n"));
  EXPECT_TRUE(has(derived(lengths(15)), "tile, lane, 8, shift_inwards)\n"));
  EXPECT_FALSE(has(derived(lengths(7)), "s_acc")) << derived(lengths(7));  // less than a vector
}

TEST(DeriveReduction, WhatStaysTheSameAllAlongASumIsNoReasonForColumns) {
  const Axis i("i", 32), r("r", 64);
  Tensor x = input("x", f32, {32, 64}), means = input("means", f32, {32});
  const std::string text = derived(compute("s", {i}, sum(r, x(i, r) - means(i))));
  EXPECT_TRUE(has(text, "s.rfactor(lane, s_lanes)\n")) << text;
  const Axis few("r", 3);
  Tensor y = input("x", f32, {3});
  EXPECT_FALSE(has(derived(compute("s", {i}, sum(few, y(few) * means(i)))), "rfactor"));
}

// How many of `edges` each value is above: a value is one for all edges, an edge for all values.
Tensor buckets(const Extent& values, const Extent& edges) {
  const Axis i("i", values), r("r", edges);
  const Tensor x = input("x", f32, {values}), edge = input("edge", f32, {edges});
  return compute("s", {i}, sum(r, cast(i32, x(i) > edge(r))));
}

TEST(DeriveReduction, WhatIsOneValueForAllColumnsIsReadOnceForAVectorOfThem) {
  const std::string columns = "s_acc.vectorize(i";
  for (const auto& [values, edges] :
       {std::pair(Extent(64), Extent(15)), {64, 1000}, {kSize, 15}, {64, kSize}, {kSize, kSize}}) {
    const std::string text = derived(buckets(values, edges));
    EXPECT_TRUE(has(text, columns)) << text;
    EXPECT_FALSE(has(text, "rfactor")) << text;
    for (const char* level : kLevels) {
      EXPECT_TRUE(derives(Graph(buckets(values, edges)), target_of(level, 4), {0, 1, 15, 33}));
    }
  }
  // Of few values vectors along the edges are fuller. What differs for each value is read anyhow.
  const Axis i("i", 64), r("r", 64);
  const Tensor x = input("x", f32, {64}), z = input("z", f32, {64}), w = input("w", f32, {64, 64});
  for (const Tensor& y :
       {buckets(3, 64), buckets(15, 64), compute("s", {i}, sum(r, x(i) * z(r) * w(i, r))),
        compute("s", {i}, sum(r, z(r) * 2.0F))}) {
    EXPECT_FALSE(has(derived(y), columns)) << derived(y);
  }
}

TEST(DeriveReduction, LongSumsOfColumnsTakeMoreVectorsAtATime) {
  EXPECT_TRUE(has(derived(sum(input("x", f32, {64, 64}), {0}, false, "s")), "tile, lane, 64)\n"));
  EXPECT_TRUE(has(derived(sum(input("x", f32, {8, 128}), {0}, false, "s")), "tile, lane, 32)\n"));
}

// From which of `classes` on each row counts is read besides; what is summed up is the same for
// all.
Tensor sums_by_class(const Extent& classes, const Extent& columns, const Extent& rows = 4096) {
  const Axis c("c", classes), d("d", columns), m("m", rows);
  const Tensor x = input("x", f32, {rows, columns}), which = input("which", i32, {rows});
  return compute("y", {c, d}, sum(m, select(which(m) <= Expr(c), x(m, d), 0.0F)));
}

TEST(DeriveReduction, ColumnsThatSeveralRowsShareAreReadOnceForThem) {
  for (const int64_t columns : {16, 64, 256}) {
    const std::string text = derived(sums_by_class(10, columns));
    EXPECT_TRUE(has(text,
                    "tile, lane, 16)\ny.split(c, c, row, 5)\ny.reorder(lane, row, tile)\n"
                    "y.unroll(row)\n"))
        << text;
    EXPECT_TRUE(has(text, "y_acc.unroll(c)\n")) << text;
  }
  // Of a run-time number, or one without a divisor, the last ones are computed again.
  for (const Extent& classes : {kSize, Extent(7)}) {
    const std::string text = derived(sums_by_class(classes, kSize));
    for (const std::string way : {"y_long", "y_narrow"}) {
      EXPECT_TRUE(has(text, way + ".split(c, c, row, 4, guard)\n")) << text;
      EXPECT_TRUE(has(text, way + ".partition(c)\n" + way + ".partition(tile)\n")) << text;
    }
  }
  EXPECT_TRUE(has(derived(sums_by_class(10, 64), kFour), "y.parallel(c)\n"));
  const Axis c("c", 10), d("d", 256), m("m", 4096);  // more columns than registers hold
  const Tensor x = input("x", f32, {4096, 256}), counts = input("counts", i32, {4096, 10});
  const Expr counted = select(counts(m, c) > 0, x(m, d), 0.0F);
  const std::string text = derived(compute("y", {c, d}, sum(m, counted)));
  EXPECT_TRUE(has(text, "y_acc.unroll(c)\n")) << text;
}

// Of a tile of several vectors all but one would be computed in vain.
TEST(DeriveReduction, ColumnsThatMayBeFewAreOneVectorWhereTheyAre) {
  const std::string text = derived(sums_by_class(10, kSize, Extent::size("M")));
  EXPECT_TRUE(has(text, "y_long.alternative(B <= 8, y_narrow)\n")) << text;
  EXPECT_TRUE(has(text, "y_narrow.split(d, tile, lane, 8, predicate)\n")) << text;
  EXPECT_TRUE(has(text, "y_long.split(d, tile, lane, 16, predicate)\n")) << text;
  // Not where there are always more, the sums are short, or others read them.
  for (const Tensor& y :
       {sums_by_class(10, 20), sums_by_class(10, kSize * 8), sums_by_class(10, kSize, 63),
        sums_by_class(1, kSize), relu(sum(sums_by_class(10, kSize), {0}, false, "z"))}) {
    EXPECT_FALSE(has(derived(y), "_narrow")) << derived(y);
  }
  for (const char* level : kLevels) {
    for (int64_t columns : {0, 1, 4, 5, 8, 9, 16, 17, 33}) {
      const Graph graph(sums_by_class(5, kSize, Extent::size("M")));
      const Schedule schedule = derive_schedule(graph, target_of(level, 2));
      EXPECT_TRUE(lowers(graph, schedule, {{"M", 70}, {"B", columns}})) << columns;
    }
  }
}

// However short the sums are: the weights of a depthwise convolution are read once for a few
// pixels.
TEST(DeriveReduction, RowsOfClassesShareWhatIsReadOnce) {
  EXPECT_TRUE(has(derived(sums_by_class(10, 64, 16)), "y.split(c, c, row, 5)\n"));
}

TEST(DeriveReduction, SeveralRowsOfFewVectorsAreSummedAtATime) {
  const Tensor y = sum(input("x", f32, {128, 64, 8}), {1}, false, "y");
  EXPECT_TRUE(has(derived(y), "y.split(i0, i0, row, 4)\n")) << derived(y);
  for (const Extent& rows : {Extent(127), kSize}) {
    const std::string rest = derived(sum(input("x", f32, {rows, 64, 8}), {1}, false, "y"));
    EXPECT_TRUE(has(rest, "y.split(i0, i0, row, 4, guard)\n")) << rest;
    EXPECT_TRUE(has(rest, "y.partition(i0)\n")) << rest;
  }
}

// Rows of two vectors that nothing divides; a few rows; enough vectors; one row; a short sum.
TEST(DeriveReduction, NotSeveralRowsOfColumns) {
  for (const Tensor& y :
       {sum(input("x", f32, {127, 64, 16}), {1}, false, "y"),
        sum(input("x", f32, {kSize, 64, 16}), {1}, false, "y"),
        sum(input("x", f32, {1, 15, 8}), {1}, false, "y"),
        sum(input("x", f32, {128, 64, 64}), {1}, false, "y"), sums_by_class(1, 64),
        sum(input("x", f32, {128, 16, 8}), {1}, false, "y")}) {
    EXPECT_FALSE(has(derived(y), ", row, ")) << derived(y);
  }
}

TEST(DeriveReduction, OnlySmallWindowsAreUnrolled) {
  for (const auto& [extent, unrolled] : {std::pair(2, true), {9, false}}) {
    PoolOptions options;
    options.window_h = options.window_w = extent;
    const Tensor y = max_pool(input("x", f32, {1, 40, 40, 32}), options, "y");
    for (const char* level : kLevels) {
      const std::string text = derived(y, target_of(level, 1));
      EXPECT_EQ(has(text, "y_acc.unroll(kx)\n"), unrolled) << text;
      EXPECT_EQ(has(text, "y_acc.unroll(ky)\n"), unrolled) << text;
    }
  }
}

TEST(DeriveReduction, ALoopOfOneStepIsNotUnrolled) {
  PoolOptions options;
  options.window_h = 1;
  options.window_w = 2;
  const std::string text = derived(max_pool(input("x", f32, {1, 40, 40, 32}), options, "y"));
  EXPECT_TRUE(has(text, "y_acc.unroll(kx)\n")) << text;
  EXPECT_FALSE(has(text, "y_acc.unroll(ky)\n")) << text;
}

TEST(DeriveReduction, ThreadsShareAGroupedConvolution) {
  Conv2dOptions options;
  options.groups = 4;
  Tensor y =
      conv2d(input("x", f32, {1, 30, 30, 64}), weight("w", f32, {3, 3, 16, 64}), options, "y");
  EXPECT_TRUE(has(derived(y, kFour), ".parallel(")) << derived(y, kFour);
}

TEST(DeriveReduction, WhatFollowsAGroupedConvolutionIsComputedWhileItsSumsAreInRegisters) {
  Conv2dOptions grouped, depthwise;
  grouped.groups = 4;
  depthwise.groups = 64;
  Tensor x = input("x", f32, {1, 30, 30, 64}), b = weight("b", f32, {64});
  for (const auto& [options, depth] : {std::pair(grouped, 16), {depthwise, 1}}) {
    Tensor c = conv2d(x, weight("w", f32, {3, 3, depth, 64}), options, "c");
    for (const char* level : kLevels) {
      const std::string text = derived(relu(c + b, "y"), target_of(level, 4));
      EXPECT_TRUE(has(text, "c.compute_at(y, tile)\n")) << text;
      EXPECT_TRUE(has(text, "y.parallel(")) << text;
    }
  }
}

TEST(DeriveReduction, NoThreadsForLittleWorkOrOneStep) {
  EXPECT_FALSE(has(derived(sum(input("x", f32, {64, 512}), {1}), kFour), "parallel"));
  const std::string one = derived(sum(input("x", f32, {1, kSize}), {1}, false, "s"), kFour);
  EXPECT_EQ(one.find("parallel"), one.find("parallel(block)")) << "parts of the row\n" << one;
}

TEST(DeriveReduction, ComputesWhatTheGraphSays) {
  Tensor square = input("x", f32, {kSize, kSize}), deep = input("x", f32, {1, 3, kSize});
  for (const Target& target : {kV3, kFour}) {
    for (const Tensor& y :
         {sum(square, {0}), sum(square, {1}), sum(square, {0, 1}), sum(deep, {2}), sum(deep, {1}),
          reduce_max(square, {1}), reduce_min(input("x", u8, {kSize, 33}), {0}),
          sum(input("x", f32, {kSize, 3}), {1}), reduce_max(input("x", f64, {kSize, 2}), {1}),
          relu(sum(input("x", f32, {3, 5, kSize}), {1})), sums_by_class(10, kSize, 70),
          sums_by_class(kSize, 19, 70), sums_by_class(7, 16, kSize),
          matmul(input("x", f32, {kSize, 3}), input("w", f32, {3, 3})),
          relu(matmul(input("x", f64, {kSize, 3}), weight("w", f64, {3, 2})))}) {
      EXPECT_TRUE(derives(Graph(y), target, {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 100}));
    }
  }
}

// Of the inputs that are one longer than a window at each place of y.
Tensor filtered(const Extent& count, int64_t taps) {
  const Axis i("i", count), k("k", taps);
  const Tensor x = input("x", f32, {count + (taps - 1)}), h = input("h", f32, {taps});
  return compute("y", {i}, sum(k, x(i + k) * h(k)));
}

// A tile of a filter is soon summed up: a thread takes several, and loads what they share once.
TEST(DeriveReduction, ShortTilesOfOneRowAreTasks) {
  const std::string text = derived(filtered(20001, 15), kFour);
  EXPECT_TRUE(has(text,
                  "y.split(i, task, tile, 608, shift_inwards)\ny.split(tile, tile, lane, 32)\n"
                  "y.split(lane, lane, lane_v, 8)\ny.vectorize(lane_v)\ny.unroll(lane)\n"
                  "y.parallel(task)\n"))
      << text;
  EXPECT_TRUE(has(derived(filtered(19456, 15), kFour), "y.split(i, task, tile, 608)\n"));
  EXPECT_TRUE(derives(Graph(filtered(20001, 15)), kFour, {0}));
  EXPECT_FALSE(has(derived(filtered(20001, 15)), "task")) << "one core";
  EXPECT_FALSE(has(derived(filtered(300, 15), kFour), "task")) << "too few for threads";
  EXPECT_TRUE(has(derived(filtered(320, 15)), "y.unroll(lane)\n")) << "sums in registers";
  EXPECT_FALSE(has(derived(filtered(8, 15)), "y.unroll(lane)\n")) << "one vector";
  EXPECT_FALSE(has(derived(filtered(20001, 3000), kFour), "task")) << "a tile is long enough";
  const Axis i("i", 2), j("j", 20001), k("k", 15);
  const Tensor rows = compute("y", {i, j}, sum(k, input("x", f32, {2, 20015})(i, j + k)));
  EXPECT_FALSE(has(derived(rows, kFour), "tile, tile, lane")) << "threads share rows";
  const Tensor held =
      compute("y", {j}, sum(k, input("x", f32, {20001})(clamp(Expr(j) + k - 7, 0, 20000))));
  EXPECT_FALSE(has(derived(held, kFour), "task")) << "the tiles at the ends are others";
}

TEST(DeriveReduction, TasksOfTilesOfARowOfRunTimeLength) {
  const Tensor y = filtered(kSize, 15);
  for (const char* level : kLevels) {
    const Target target = target_of(level, 4);
    const int64_t lanes = target.vector_lanes(f32), tile = 4 * lanes;
    const int64_t task = 16384 / (15 * tile) * tile;
    const std::string text = derived(y, target);
    EXPECT_TRUE(has(text, fmt::format("y_long.alternative(B >= {}, y_in_tasks)\n", task))) << text;
    EXPECT_TRUE(has(text, fmt::format("y_in_tasks.split(i, task, tile, {}, shift_inwards)\n"
                                      "y_in_tasks.split(tile, tile, lane, {})\n",
                                      task, tile)))
        << text;
    EXPECT_TRUE(has(text, "y_in_tasks.parallel(task)\n") && !has(text, "y_long.parallel")) << text;
    EXPECT_TRUE(derives(Graph(y), target,
                        {0, 1, lanes - 1, lanes, 33, task - 1, task, task + 1, 2 * task + 7}));
  }
  EXPECT_FALSE(has(derived(y), "task")) << "one core";
}

}  // namespace
}  // namespace emulsion

// Sums of one row of few columns: which are several rows at a time, and that they are right.

#include "passes/derive/derive_few_columns.h"

#include <gtest/gtest.h>

#include <string>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "tests/passes/check_nest.h"

namespace emulsion {
namespace {

const Extent kRows = Extent::size("B");
const Target kV3 = Target::parse("x86-64-v3,cores=1"), kV4 = Target::parse("x86-64-v4,cores=1");

Tensor sum_of_columns(const Extent& rows, const Extent& columns, DType dtype = f32) {
  return sum(input("x", dtype, {rows, columns}), {0}, false, "s");
}

bool is_few(const Tensor& y, const Target& target = kV3) {
  const Graph graph(y);
  return sums_few_columns(*graph.ops().back(), target);
}

std::string text_of(const Tensor& y, const Target& target) {
  return to_string(derive_schedule(Graph(y), target));
}

TEST(DeriveFewColumns, OfOneVectorFourRowsAtATime) {
  EXPECT_EQ(text_of(sum_of_columns(kRows, 8), kV3),
            "emulsion schedule 1\ns.split(r0, r0, row, 4)\ns.rfactor(row, s_rows)\n"
            "s.reorder(i1, row)\ns.vectorize(i1)\ns.unroll(row)\n"
            "s_rows.reorder(i1, row, r0)\ns_rows.reorder_storage(i1, row)\n"
            "s_rows.vectorize(i1)\ns_rows.unroll(row)\ns_rows.partition(r0)\n"
            "s_rows.store_in(registers)\n");
}

TEST(DeriveFewColumns, OfSeveralVectorsTwoRows) {
  for (const int64_t columns : {16, 24, 31}) {
    const std::string text = text_of(sum_of_columns(100, columns), kV3);
    EXPECT_NE(text.find("s.split(r0, r0, row, 2)\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("partition"), std::string::npos) << "2 divides 100";
  }
  EXPECT_NE(text_of(sum_of_columns(99, 16), kV3).find("s_rows.partition(r0)\n"), std::string::npos);
}

// As they lie in memory: of 16 rows of three, six whole vectors.
TEST(DeriveFewColumns, OfNoWholeVectorsARowBehindTheOther) {
  EXPECT_EQ(text_of(sum_of_columns(kRows, 3), kV3),
            "emulsion schedule 1\ns.split(r0, r0, row, 16)\ns.rfactor(row, s_rows)\n"
            "s.reorder(i1, row)\ns.vectorize(i1)\ns.unroll(row)\n"
            "s_rows.reorder(i1, row, r0)\ns_rows.reorder_storage(i1, row)\n"
            "s_rows.fuse(row, i1, lane)\ns_rows.split(lane, lane, lane_v, 8)\n"
            "s_rows.vectorize(lane_v)\ns_rows.unroll(lane)\n"
            "s_rows.partition(r0)\ns_rows.store_in(registers)\n");
  const auto has_rows = [](const Tensor& y, const Target& target, int rows) {
    const std::string text = text_of(y, target);
    EXPECT_NE(text.find("s_rows.fuse(row, i1, lane)\n"), std::string::npos) << text;
    EXPECT_NE(text.find("r0, row, " + std::to_string(rows) + ")\n"), std::string::npos) << text;
  };
  has_rows(sum_of_columns(kRows, 2), kV3, 16);
  has_rows(sum_of_columns(kRows, 10), kV3, 4);
  has_rows(sum_of_columns(kRows, 12), kV4, 8);
  has_rows(sum_of_columns(kRows, 5, f64), kV3, 4);
  has_rows(sum_of_columns(20, 2), kV4, 8);
}

// Of rows that come eight at a time, too, where these are whole steps of four.
TEST(DeriveFewColumns, OfRowsInShortGroups) {
  const auto of_groups = [](int64_t groups, int64_t rows) {
    const Axis g("g", groups), r("r", rows), c("c", 5);
    const Tensor x = input("x", f32, {groups, rows, 5}), w = input("w", f32, {rows});
    return compute("s", {c}, sum({g, r}, x(g, r, c) * w(r)));
  };
  EXPECT_TRUE(is_few(of_groups(801, 8)));
  EXPECT_TRUE(is_few(of_groups(4, 4)));
  EXPECT_FALSE(is_few(of_groups(801, 6)));
  EXPECT_FALSE(is_few(of_groups(2, 4))) << "eight in all";
  EXPECT_FALSE(is_few(of_groups(1, 8)));
  const std::string text = text_of(of_groups(801, 8), kV4);
  EXPECT_NE(text.find("s.split(r, r, row, 4)\ns.rfactor(row, s_rows)\n"), std::string::npos)
      << text;
}

TEST(DeriveFewColumns, WhatFollowsReadsThem) {
  const std::string text = text_of(relu(sum_of_columns(kRows, 10), "y"), kV3);
  EXPECT_NE(text.find("s.rfactor(row, s_rows)\n"), std::string::npos) << text;
}

TEST(DeriveFewColumns, OfOneRowOfResults) {
  EXPECT_TRUE(is_few(sum_of_columns(kRows, 2)));
  EXPECT_TRUE(is_few(sum_of_columns(kRows, 4)));
  EXPECT_TRUE(is_few(sum_of_columns(16, 10)));
  EXPECT_TRUE(is_few(sum_of_columns(kRows, 24)));
  EXPECT_TRUE(is_few(sum_of_columns(kRows, 31)));
  EXPECT_TRUE(is_few(sum_of_columns(kRows, 48), kV4));
  EXPECT_TRUE(is_few(sum(input("x", f32, {1, kRows, 10}), {1}, false, "s")));
  EXPECT_TRUE(is_few(sum(input("x", f32, {kRows, 7, 20, 10}), {0, 1, 2}, false, "s")));
  EXPECT_TRUE(is_few(reduce_max(input("x", f64, {kRows, 5}), {0}, false, "s")));
}

TEST(DeriveFewColumns, NotOfOthers) {
  EXPECT_FALSE(is_few(sum_of_columns(kRows, 1))) << "no columns";
  EXPECT_FALSE(is_few(sum_of_columns(15, 10))) << "few rows";
  EXPECT_FALSE(is_few(sum_of_columns(kRows, 32))) << "four full vectors wait for nothing";
  EXPECT_FALSE(is_few(sum_of_columns(kRows, 33)));
  EXPECT_FALSE(is_few(sum_of_columns(kRows, kRows)));
  EXPECT_FALSE(is_few(sum_of_columns(kRows, 0)));
  EXPECT_FALSE(is_few(sum(input("x", f32, {100, kRows, 10}), {1}, false, "s"))) << "of many rows";
  EXPECT_FALSE(is_few(sum(input("x", f32, {10, kRows}), {1}, false, "s"))) << "along the rows";
  EXPECT_FALSE(is_few(relu(sum_of_columns(kRows, 10), "y")));
}

const Axis i("i", 4), j("j", 300), k("k", 3);

Tensor weighted(DType dtype) {
  const Tensor x = input("x", dtype, {4, 300, 3}), w = input("w", dtype, {4, 300});
  return compute("s", {i, k}, sum(j, x(i, j, k) * w(i, j)));
}

// y(l, k, i) of x(i, j, k, l): the columns of a row lie behind each other, results do not.
Tensor turned(const Extent& pictures, int64_t rows = 300) {
  const Axis of("i", pictures), r("j", rows), c("k", 3), d("l", 3);
  const Tensor x = input("x", f32, {pictures, rows, 3, 3});
  return compute("s", {d, c, of}, sum(r, x(of, r, c, d)));
}

bool is_of_each(const Tensor& y, const Target& target = kV4) {
  return sums_few_columns_of_each(*y.op(), target);
}

TEST(FewColumnsOfEach, ARowBehindTheOther) {
  for (const DType dtype : {f32, i32}) {
    EXPECT_EQ(text_of(weighted(dtype), kV4),
              "emulsion schedule 1\ns.split(j, j, row, 16)\ns.rfactor(row, s_rows)\n"
              "s.reorder(k, row, i)\ns.vectorize(k)\ns.unroll(row)\n"
              "s_rows.reorder(k, row, j, i)\ns_rows.reorder_storage(k, row, i)\n"
              "s_rows.fuse(row, k, lane)\ns_rows.split(lane, lane, lane_v, 16)\n"
              "s_rows.vectorize(lane_v)\ns_rows.unroll(lane)\ns_rows.partition(j)\n"
              "s_rows.store_in(registers)\ns_rows.compute_at(s, i)\n");
  }
}

TEST(FewColumnsOfEach, OfSeveralAxesAndOfTurnedResults) {
  const std::string text = text_of(turned(6), kV4);
  EXPECT_NE(text.find("s.reorder(row, l, k, i)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("s_rows.fuse(k, l, column)\ns_rows.fuse(row, column, lane)\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("vectorize(i)"), std::string::npos) << text;
}

// Of what is around the rows, whichever axes of the results that are.
TEST(FewColumnsOfEach, ThreadsSharePictures) {
  const Target two = Target::parse("x86-64-v4,cores=2");
  for (const Extent& pictures : {Extent(6), kRows}) {
    const std::string text = text_of(turned(pictures, 100000), two);
    EXPECT_NE(text.find("s.parallel(i)\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("s.parallel(l)\n"), std::string::npos) << text;
  }
  const Tensor y = sum(input("x", f32, {6, 100000, 3}), {1}, false, "s");
  EXPECT_NE(text_of(y, two).find("s.parallel(i0)\n"), std::string::npos) << text_of(y, two);
  EXPECT_EQ(text_of(weighted(f32), two).find("parallel"), std::string::npos) << "little work";
  // Two axes as one loop.
  const Tensor z = sum(input("x", f32, {7, 2, 100000, 3}), {2}, false, "s");
  EXPECT_NE(text_of(z, two).find("s.fuse(i0, i1, rows1)\n"), std::string::npos) << text_of(z, two);
  EXPECT_NE(text_of(z, two).find("s_rows.compute_at(s, rows1)\n"), std::string::npos);
}

TEST(FewColumnsOfEach, WhatIsOne) {
  const auto of = [](const Shape& shape, const std::vector<int>& axes, DType dtype = f32) {
    return sum(input("x", dtype, shape), axes, false, "s");
  };
  EXPECT_TRUE(is_of_each(weighted(f32)));
  EXPECT_TRUE(is_of_each(turned(6)));
  EXPECT_TRUE(is_of_each(of({kRows, 64, 3}, {1})));
  EXPECT_TRUE(is_of_each(of({2, 5, 64, 7}, {2})));
  EXPECT_TRUE(is_of_each(of({6, 100, 3, 3}, {1}, f64)));
  EXPECT_FALSE(is_of_each(of({6, 63, 3}, {1}))) << "few rows";
  EXPECT_FALSE(is_of_each(of({6, kRows, 3}, {1}))) << "as few as a call brings";
  EXPECT_FALSE(is_of_each(of({6, 100, 16}, {1}))) << "a whole vector";
  EXPECT_FALSE(is_of_each(of({6, 100, 4}, {1}), Target::parse("x86-64-v2"))) << "a whole vector";
  EXPECT_FALSE(is_of_each(of({6, 100, 11}, {1}))) << "eleven vectors for whole rows";
  EXPECT_FALSE(is_of_each(of({6, 100, 1}, {1}))) << "no columns";
  EXPECT_FALSE(is_of_each(of({6, 100, kRows}, {1})));
  EXPECT_FALSE(is_of_each(of({100, 3}, {0}))) << "one row of results";
  EXPECT_FALSE(is_of_each(of({1, 100, 3}, {1}))) << "one row of results";
  EXPECT_FALSE(is_of_each(of({6, 3, 100}, {2}))) << "along the rows";
  EXPECT_FALSE(is_of_each(of({6, 100, 3}, {1}) + 1)) << "no sum";
  // Rows that several results read.
  const Axis m("m", 50);
  const Tensor weights = input("w", f32, {50, 300}), rows = input("x", f32, {300, 3});
  EXPECT_FALSE(is_of_each(compute("s", {m, k}, sum(j, select(weights(m, j) > 0, rows(j, k), 0)))));
  // Rows with gaps between them.
  const Tensor wide = input("x", f32, {4, 300, 8}), moved = input("x", f32, {4, 300, 4});
  EXPECT_FALSE(is_of_each(compute("s", {i, k}, sum(j, wide(i, j, k)))));
  EXPECT_FALSE(is_of_each(compute("s", {i, k}, sum(j, moved(i, j, Expr(k) + 1)))));
}

TEST(FewColumnsOfEach, ComputeTheSums) {
  for (const char* level : {"x86-64-v2,cores=2", "x86-64-v3,cores=1", "x86-64-v4,cores=2"}) {
    const Target target = Target::parse(level);
    EXPECT_TRUE(derives(weighted(f32), target)) << level;
    EXPECT_TRUE(derives(relu(weighted(f32)), target)) << level;
    EXPECT_TRUE(derives(turned(2, 67), target)) << level;
    EXPECT_TRUE(derives(turned(kRows, 65), target, {0, 1, 3})) << level;
    for (const int64_t columns : {2, 5, 6, 7, 15}) {
      const Tensor x = input("x", i16, {kRows, 66, columns});
      EXPECT_TRUE(derives(sum(cast(x, i32), {1}), target, {0, 1, 3})) << level << columns;
      EXPECT_TRUE(derives(reduce_max(x, {1}), target, {1, 3})) << level << columns;
    }
    const Tensor deep = input("x", f32, {3, 2, 66, 3});
    EXPECT_TRUE(derives(sum(deep, {1, 2}), target)) << level;
  }
}

// The sum of all columns, each weighted by its row, or beside the mean of its column.
Tensor of_weighted(const Extent& rows, int64_t columns = 3) {
  const Axis r("r", rows), c("c", columns);
  const Tensor x = input("x", f32, {rows, columns}), w = input("w", f32, {rows});
  return compute("s", {}, sum({r, c}, x(r, c) * w(r)));
}
Tensor of_centred(const Extent& pictures, int64_t rows) {
  const Axis b("b", pictures), r("r", rows), c("c", 5);
  const Tensor x = input("x", f32, {pictures, rows, 5}), mean = input("mean", f32, {5});
  const Expr centred = x(b, r, c) - mean(c);
  return compute("s", {b}, sum({r, c}, centred * centred));
}
// Of columns of two axes, in another order than that of memory.
Tensor of_two_axes(int64_t rows) {
  const Axis r("r", rows), c("c", 2), d("d", 6);
  const Tensor x = input("x", f32, {rows, 2, 6}), w = input("w", f32, {rows, 2});
  return compute("s", {}, sum({r, d, c}, x(r, c, d) * w(r, c)));
}

// y(j) of x(i, j, k): columns of the results lie before those that are summed.
Tensor of_parts(int64_t rows, const Extent& parts, int64_t columns) {
  const Axis r("r", rows), p("p", parts), c("c", columns);
  const Tensor x = input("x", f32, {rows, parts, columns}), w = input("w", f32, {parts, columns});
  return compute("s", {p}, reduce_max({c, r}, x(r, p, c) * w(p, c)));
}

TEST(SummedColumns, OfSeveralResults) {
  const std::string few = text_of(of_parts(1000, 2, 5), kV4);
  EXPECT_NE(few.find("s.rfactor(c, s_columns)\ns_columns.split(r, r, row, 8)\n"), std::string::npos)
      << few;
  for (const Extent& parts : {Extent(40), kRows}) {
    const std::string text = text_of(of_parts(1000, parts, 5), kV4);
    EXPECT_NE(text.find("s.rfactor(c, s_columns)\ns_columns.fuse(p, c, flat)\n"), std::string::npos)
        << text;
  }
  EXPECT_EQ(text_of(of_parts(63, 3, 5), kV4).find("rfactor(c, s_columns)"), std::string::npos);
  for (const char* level : {"x86-64-v2,cores=2", "x86-64-v3,cores=1", "x86-64-v4,cores=2"}) {
    const Target target = Target::parse(level);
    EXPECT_TRUE(derives(of_parts(67, 3, 5), target)) << level;
    EXPECT_TRUE(derives(of_parts(64, 40, 6), target)) << level;
    EXPECT_TRUE(derives(of_parts(66, kRows, 7), target, {0, 1, 5, 40})) << level;
  }
}

TEST(SummedColumns, AreSummedByColumnFirst) {
  for (const Extent& rows : {Extent(1000), kRows}) {
    const std::string text = text_of(of_weighted(rows), kV4);
    EXPECT_NE(text.find("s.rfactor(c, s_columns)\ns_columns.split(r, r, row, 32)\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("s_columns_rows.fuse(row, c, lane)\n"), std::string::npos) << text;
  }
  const std::string each = text_of(of_centred(kRows, 100), kV4);
  EXPECT_NE(each.find("s_columns_rows.compute_at(s_columns, b)\n"), std::string::npos) << each;
  const std::string two = text_of(of_two_axes(1000), kV4);
  EXPECT_NE(two.find("s.rfactor(c, s_columns)\ns_columns.rfactor(d, s_columns1)\n"),
            std::string::npos)
      << two;
}

TEST(SummedColumns, WhatTheyAre) {
  const auto columns_of = [](const Tensor& y) {
    std::string names;
    for (const Axis& axis : summed_columns(*y.op())) names += axis.name() + " ";
    return names;
  };
  EXPECT_EQ(columns_of(of_weighted(1000)), "c ");
  EXPECT_EQ(columns_of(of_weighted(kRows, 15)), "c ");
  EXPECT_EQ(columns_of(of_two_axes(64)), "c d ");
  EXPECT_EQ(columns_of(of_weighted(63)), "") << "few rows";
  EXPECT_EQ(columns_of(of_weighted(1000, 16)), "") << "many columns";
  EXPECT_EQ(columns_of(of_weighted(1000, 1)), "") << "no columns";
  EXPECT_EQ(columns_of(sum_of_columns(kRows, 3)), "") << "not summed";
  EXPECT_EQ(columns_of(sum(input("x", f32, {1000, 3, 5}), {0, 1}, false, "s")), "")
      << "in front of columns of the results";
  EXPECT_EQ(columns_of(relu(of_weighted(1000))), "") << "no sum";
}

// One result for each of several parts of a few rows, which would be summed element by element.
TEST(SummedColumns, OfFewRowsWhereNothingElseHasVectors) {
  const auto weighted = [](int64_t rows) {
    const Axis p("p", kRows), r("r", rows), c("c", 7);
    const Tensor x = input("x", f32, {kRows, rows, 7}), w = input("w", f32, {7});
    return compute("s", {p}, sum({r, c}, x(p, r, c) * w(c)));
  };
  for (const int64_t rows : {8, 38}) {
    const std::string text = text_of(weighted(rows), kV4);
    EXPECT_NE(text.find("s.rfactor(c, s_columns)\n"), std::string::npos) << text;
    EXPECT_NE(text.find("s_columns.vectorize(lane)\n"), std::string::npos) << text;
  }
  EXPECT_EQ(text_of(weighted(7), kV4).find("s_columns"), std::string::npos);
  for (const char* level : {"x86-64-v2,cores=2", "x86-64-v3,cores=1", "x86-64-v4,cores=2"}) {
    EXPECT_TRUE(derives(weighted(8), Target::parse(level), {0, 1, 5, 9})) << level;
  }
}

TEST(SummedColumns, MeanWhatTheGraphMeans) {
  for (const char* level : {"x86-64-v2,cores=2", "x86-64-v3,cores=1", "x86-64-v4,cores=2"}) {
    const Target target = Target::parse(level);
    EXPECT_TRUE(derives(of_weighted(1001), target)) << level;
    EXPECT_TRUE(derives(of_weighted(kRows, 7), target, {0, 1, 33, 70})) << level;
    EXPECT_TRUE(derives(of_centred(3, 67), target)) << level;
    EXPECT_TRUE(derives(of_centred(kRows, 65), target, {0, 1, 3})) << level;
    EXPECT_TRUE(derives(of_two_axes(99), target)) << level;
    EXPECT_TRUE(derives(relu(of_weighted(100)), target)) << level;
    const Tensor most = input("x", i16, {2, 70, 3}), by = input("w", i16, {70});
    const Axis b("b", 2), r("r", 70), c("c", 3);
    EXPECT_TRUE(derives(compute("s", {b}, reduce_max({r, c}, most(b, r, c) + by(r))), target))
        << level;
  }
}

TEST(DeriveFewColumns, ComputesTheSums) {
  for (const char* level : {"x86-64-v2,cores=1", "x86-64-v3,cores=2", "x86-64-v4,cores=1"}) {
    const Target target = Target::parse(level);
    for (const int64_t columns : {2, 3, 4, 5, 9, 16, 20, 31, 50}) {
      EXPECT_TRUE(derives(sum_of_columns(kRows, columns), target, {0, 1, 3, 4, 5, 17})) << level;
      EXPECT_TRUE(derives(sum_of_columns(kRows, columns, i32), target, {0, 2, 9})) << level;
      EXPECT_TRUE(derives(relu(sum_of_columns(19, columns), "y"), target)) << level;
    }
    EXPECT_TRUE(derives(sum(input("x", f32, {kRows, 3, 17, 10}), {0, 1, 2}), target, {0, 1, 3}));
    EXPECT_TRUE(derives(reduce_min(input("x", f64, {kRows, 6}), {0}), target, {0, 1, 21}));
    EXPECT_TRUE(derives(sum(cast(input("x", u8, {kRows, 3}), i32), {0}), target, {0, 1, 66, 200}));
  }
}

}  // namespace
}  // namespace emulsion

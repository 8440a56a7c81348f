// Operations that are computed together for a block of columns: which join a group, which do not
// and why, and whether it pays.

#include "passes/derive/column_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/derive/derive_stage.h"
#include "passes/fuse/fuse_epilogues.h"
#include "tests/passes/derive/column_graphs.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

const Target kV3 = Target::parse("x86-64-v3,cores=1,l2=1048576");
const Axis i("i", 8), n("n", 64);

// The groups of a graph, and the grouped graph whose operations they are.
struct Groups {
  Groups(const Graph& graph, const Target& target)
      : grouped(fuse_epilogues(graph)), all(column_groups(grouped, target)) {}

  const ColumnGroup& only() const {
    if (all.size() != 1) throw std::runtime_error(std::to_string(all.size()) + " groups");
    return all[0];
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const ColumnGroup& group : all) {
      for (const Op* op : members_of(group)) found.push_back(op->name);
    }
    return found;
  }

  Graph grouped;
  std::vector<ColumnGroup> all;
};

Groups groups_of(const Graph& graph, const Target& target = kV3) { return {graph, target}; }
Graph softmax_of(const Extent& rows, const Extent& columns) {
  return Graph(softmax(input("x", f32, {rows, columns}), 0, "y"));
}
Graph centred(const Extent& rows, const Extent& columns) {
  const Tensor x = input("x", f32, {rows, columns});
  return Graph(sub(x, mean(x, {0}, true), "y"));
}
std::optional<int64_t> block_of(const Graph& graph, const Target& target = kV3) {
  const Groups groups = groups_of(graph, target);
  return groups.all.empty() ? std::nullopt : columns_of_block(groups.only(), target);
}

// Why a block of the operation p of a graph cannot be computed ahead of one of y; "" when it can.
std::string why_not(const Tensor& y) {
  const Graph grouped = fuse_epilogues(Graph(y));
  return why_not_by_columns(*op_of(grouped, "p"), *op_of(grouped, "y")).value_or("");
}

Tensor x() {
  static const Tensor the_same = input("x", f32, {8, 64});
  return the_same;
}
Tensor doubled() { return compute("p", {i, n}, x()(i, n) * 2.0f); }

TEST(WhyNotByColumns, ReadsOfTheSameColumn) {
  Tensor p = compute("p", {n}, sum(i, x()(i, n))), q = doubled();
  EXPECT_EQ(why_not(compute("y", {i, n}, x()(i, n) * p(n))), "");
  EXPECT_EQ(why_not(compute("y", {n}, sum(i, q(i, n)))), "");
  EXPECT_EQ(why_not(compute("y", {i, n}, q(Expr(7) - i, n) + q(i, n))), "") << "in any order";
}

TEST(WhyNotByColumns, NotAnotherColumn) {
  const Axis k("k", 64), fewer("n", 63), narrow("n", 8);
  Tensor q = doubled();
  EXPECT_EQ(why_not(compute("y", {i}, sum(k, q(i, k)))),
            "expected reads of p whose last index is i");
  EXPECT_EQ(why_not(compute("y", {i, n}, q(i, Expr(63) - n))),
            "expected reads of p whose last index is n");
  EXPECT_EQ(why_not(compute("y", {i, fewer}, q(i, fewer))),
            "expected reads of p whose last index is n")
      << "fewer columns";
  Tensor square = compute("p", {i, narrow}, input("s", f32, {8, 8})(i, narrow) * 2.0f);
  EXPECT_EQ(why_not(compute("y", {i, narrow}, square(narrow, i))),
            "expected reads of p whose last index is n");
}

TEST(WhyNotByColumns, NotAtIndicesThatAreData) {
  Tensor q = doubled(), at = input("at", i32, {8});
  EXPECT_EQ(why_not(compute("y", {i, n}, q(min(max(at(i), 0), 7), n))),
            "expected indices of p that are affine");
}

TEST(WhyNotByColumns, NotWithoutColumns) {
  Tensor p = sum(x(), {0, 1}, false, "p");
  EXPECT_EQ(why_not(compute("y", {n}, p() * x()(0, n))), "expected p to have columns");
}

TEST(WhyNotByColumns, NotWhatIsNotReadOrGiven) {
  EXPECT_EQ(why_not(compute("y", {n}, sum(i, input("p", f32, {8, 64})(i, n)))),
            "expected p to be computed");
  const Graph two({doubled(), compute("y", {n}, x()(0, n))});
  EXPECT_EQ(why_not_by_columns(*op_of(two, "p"), *op_of(two, "y")), "expected y to read p");
}

TEST(ColumnGroups, AllOfASoftmaxOrANorm) {
  for (const Extent& columns : {Extent(64), Extent(100), Extent::size("B")}) {
    for (const auto& [name, graph] : column_graphs(5, columns)) {
      const Groups groups = groups_of(graph);
      ASSERT_EQ(groups.all.size(), 1U) << name << columns.to_string();
      EXPECT_EQ(groups.all[0].reader().name, "y") << name;
      for (const OpPtr& op : groups.grouped.ops()) {
        if (op->kind != OpKind::compute && op->kind != OpKind::fused) continue;
        EXPECT_EQ(groups.names().size(), members_of(groups.all[0]).size());
        const std::vector<std::string> names = groups.names();
        EXPECT_EQ(std::count(names.begin(), names.end(), op->name), 1) << name << ": " << op->name;
      }
    }
  }
}

TEST(ColumnGroups, AllAxesThatEveryOperationHasAreShared) {
  using Axes = std::vector<size_t>;
  const Groups pictures = groups_of(Graph(softmax(input("x", f32, {2, 5, 3, 64}), 1, "y")));
  for (const ColumnGroup::Member& member : pictures.only().members) {
    const bool has_channels = member.op->shape.size() == 4;
    EXPECT_EQ(member.axes, has_channels ? (Axes{0, 2, 3}) : (Axes{0, 1, 2})) << member.op->name;
  }
  const Groups columns = groups_of(softmax_of(8, 64));
  for (const ColumnGroup::Member& member : columns.only().members) {
    EXPECT_EQ(member.axes, Axes{member.op->shape.size() - 1}) << member.op->name;
  }
}

TEST(ColumnGroups, ElementsThatAreReadOnceAreComputedThere) {
  for (const auto& [name, graph] : column_graphs(5, 64)) {
    const Groups groups = groups_of(graph);
    for (const ColumnGroup::Member& member : groups.only().members) {
      if (name != "standardized") continue;
      EXPECT_EQ(member.is_inline, member.op->name == "squares") << member.op->name;
    }
  }
  // Each is read again at every j.
  const Axis j("j", 3);
  Tensor p = doubled();
  Tensor total = compute("total", {j, n}, sum(i, p(i, n) * cast(f32, Expr(j))));
  const Groups again = groups_of(Graph(compute("y", {j, n}, total(j, n) / total(0, n))));
  for (const ColumnGroup::Member& member : again.only().members) {
    EXPECT_FALSE(member.is_inline) << member.op->name;
  }
}

TEST(ColumnGroups, WhatCombinesTheColumnsIsNoMember) {
  EXPECT_TRUE(groups_of(Graph(softmax(input("x", f32, {8, 64}), 1))).all.empty());
  const Axis k("k", 64);
  Tensor p = compute("p", {i, n}, exp(x()(i, n)));
  Tensor rows = compute("rows", {i}, sum(k, p(i, k)));
  Tensor columns = compute("columns", {n}, sum(i, p(i, n)));
  EXPECT_EQ(groups_of(Graph(compute("y", {i, n}, rows(i) / columns(n)))).names(),
            (std::vector<std::string>{"y", "columns"}));
}

TEST(ColumnGroups, NotWhatTheOutsideReads) {
  Tensor p = compute("p", {i, n}, exp(x()(i, n)));
  Tensor total = compute("total", {n}, sum(i, p(i, n)));
  Tensor y = compute("y", {i, n}, p(i, n) / total(n));
  EXPECT_EQ(groups_of(Graph(y)).names(), (std::vector<std::string>{"y", "total", "p"}));
  EXPECT_EQ(groups_of(Graph({y, p})).names(), (std::vector<std::string>{"y", "total"}));
  EXPECT_EQ(groups_of(Graph({y, neg(p, "z")})).names(), (std::vector<std::string>{"y", "total"}));
}

TEST(ColumnGroups, NotWhereNothingIsWalkedAgain) {
  Tensor total = compute("total", {n}, sum(i, x()(i, n)));
  Tensor last = compute("last", {n}, total(n) / total(n));
  EXPECT_TRUE(groups_of(Graph(exp(sum(x(), {0})))).all.empty());
  EXPECT_TRUE(groups_of(Graph(last)).all.empty());
  EXPECT_TRUE(groups_of(Graph(exp(x()) * 2.0f)).all.empty()) << "and nothing is combined";
}

TEST(ColumnGroups, NotWhereVectorsLieElsewhere) {
  EXPECT_TRUE(groups_of(Graph(softmax(input("x", f32, {8, 64, 3}), 1))).all.empty()) << "colours";
  const Axis k("k", 8);
  Tensor turned = input("t", f32, {64, 8});
  Tensor highest = compute("highest", {n}, reduce_max(k, turned(n, k)));
  Tensor p = compute("p", {k, n}, turned(n, k) - highest(n));
  EXPECT_TRUE(groups_of(Graph(compute("y", {k, n}, p(k, n) * p(0, n)))).all.empty());
}

TEST(ColumnGroups, NoMoreRowsThanItPaysFor) {
  // Three walks or more: any few rows; some more where these are in the cache, and not all results.
  EXPECT_TRUE(block_of(softmax_of(64, 264)));
  EXPECT_FALSE(block_of(softmax_of(65, 264)));
  EXPECT_FALSE(block_of(softmax_of(65, 8192)));
  const auto of_channels = [](int64_t pictures, int64_t channels, const Extent& width) {
    return Graph(softmax(input("x", f32, {pictures, channels, 4, width}), 1, "y"));
  };
  const Target target = Target::parse("x86-64-v3,cores=1,l2=524288");
  EXPECT_TRUE(block_of(of_channels(16, 65, 32), target));
  EXPECT_TRUE(block_of(of_channels(16, 256, 32), target));
  EXPECT_FALSE(block_of(of_channels(16, 257, 32), target));
  EXPECT_FALSE(block_of(of_channels(16, 256, 96), target)) << "each picture is more";
  EXPECT_FALSE(block_of(of_channels(4, 65, 32), target)) << "all are less";
  EXPECT_FALSE(block_of(of_channels(16, 65, Extent::size("B")), target));
  // Two.
  EXPECT_TRUE(block_of(centred(8, 8192)));
  EXPECT_FALSE(block_of(centred(9, 8192)));
  const auto scaled = [](int rows) {  // the squares are computed in the walk of their sum
    const Tensor x = input("x", f32, {rows, 8192});
    return Graph(div(x, sqrt(sum(x * x, {0}, true)), "y"));
  };
  EXPECT_TRUE(block_of(scaled(8)));
  EXPECT_FALSE(block_of(scaled(9)));
  EXPECT_FALSE(block_of(softmax_of(Extent::size("B"), 256))) << "nobody knows how many";
  EXPECT_FALSE(block_of(softmax_of(65, Extent::size("B"))));
  EXPECT_TRUE(block_of(softmax_of(64, Extent::size("B"))));
}

TEST(ColumnGroups, ABlockStaysInTheCache) {
  const auto with_l2 = [](int64_t bytes) {
    return Target::parse("x86-64-v3,cores=1,l2=" + std::to_string(bytes));
  };
  // A column of p takes 64 floats, of its maximum and its sum one each.
  constexpr int64_t kColumn = (64 + 2) * 4;
  EXPECT_EQ(block_of(softmax_of(64, 456), with_l2(2 * 64 * kColumn)), 64);
  EXPECT_EQ(block_of(softmax_of(64, 456), with_l2(2 * 64 * kColumn - 1)), 48);
  EXPECT_EQ(block_of(softmax_of(64, 264), with_l2(2 * 8 * kColumn)), 8);
  EXPECT_EQ(block_of(softmax_of(64, 264), with_l2(2 * 8 * kColumn - 1)), std::nullopt);
}

TEST(ColumnGroups, ThreadsGetSeveralBlocks) {
  const auto with_cores = [](int cores) {
    return Target::parse("x86-64-v3,l2=1048576,cores=" + std::to_string(cores));
  };
  EXPECT_EQ(block_of(softmax_of(64, 4104), with_cores(1)), 64);
  EXPECT_EQ(block_of(softmax_of(64, 4104), with_cores(32)), 64);
  EXPECT_EQ(block_of(softmax_of(64, 4104), with_cores(33)), 56);
  EXPECT_EQ(block_of(softmax_of(64, 4104), with_cores(65)), 24);
  EXPECT_EQ(block_of(softmax_of(64, 4104), with_cores(257)), std::nullopt);
  EXPECT_EQ(block_of(softmax_of(8, 64), with_cores(257)), 64) << "too little for threads";
}

// Each of them that another core has had comes from there line by line.
TEST(ColumnGroups, ThreadsPayFromFourTimesTheRowsOn) {
  const Target target = Target::parse("x86-64-v3,l2=1048576,cores=2");
  const Groups groups = groups_of(softmax_of(16, 4104));
  const ColumnGroup& group = groups.all.front();
  EXPECT_EQ(points_for_threads(group, target), 4 * points_for_threads(members_of(group), target));
}

// 21 rows of 4 KiB or more have one set of the first cache for each line of a column.
TEST(ColumnGroups, LongBlocksWhereTheLinesOfAColumnMeet) {
  const auto pictures = [](int64_t channels, int64_t height, int64_t width) {
    return Graph(softmax(input("x", f32, {1, channels, height, width}), 1, "y"));
  };
  const Target target = Target::parse("x86-64-v3,cores=1,l1=49152,l2=1048576,l3=33554432");
  EXPECT_EQ(block_of(pictures(21, 128, 32), target), std::nullopt);
  EXPECT_EQ(block_of(pictures(21, 64, 64), target), 64) << "eight vectors";
  EXPECT_EQ(block_of(pictures(16, 128, 32), target), 32) << "few";
  EXPECT_EQ(block_of(pictures(21, 129, 34), target), 8) << "no multiple of lines";
  EXPECT_EQ(block_of(pictures(21, 129, 32), target), 32) << "lines in many sets";
  EXPECT_EQ(block_of(pictures(21, 8192, 32), target), 32) << "all comes from main memory";
  EXPECT_EQ(block_of(Graph(softmax(input("x", f32, {128, 21, 32, 32}), 1, "y")), target), 32)
      << "the second cache has the rows of a picture, and not all pictures";
}

TEST(ColumnGroups, LittleIsComputedTwice) {
  EXPECT_EQ(block_of(softmax_of(8, 160)), 56) << "168, not 192";
  EXPECT_EQ(block_of(softmax_of(8, 97)), 56) << "112, not 128: blocks of 8 would compute 104";
  EXPECT_EQ(block_of(softmax_of(8, 8)), 8);
  EXPECT_EQ(block_of(softmax_of(8, 1000)), 64) << "1024";
}

// 56 are seven vectors of eight, and no whole number of sixteen.
TEST(ColumnGroups, AllColumnsThatAreAFewVectorsAreABlock) {
  const Target v4 = Target::parse("x86-64-v4,cores=1,l2=1048576");
  EXPECT_EQ(block_of(softmax_of(8, 56)), 56);
  EXPECT_EQ(block_of(softmax_of(8, 56), v4), 56) << "in halves of vectors";
  EXPECT_EQ(block_of(softmax_of(8, 64), v4), 64);
  EXPECT_EQ(block_of(softmax_of(8, 40)), 40);
  EXPECT_EQ(block_of(softmax_of(8, 96)), 96) << "in one walk";
  EXPECT_EQ(block_of(softmax_of(8, 104)), 56) << "of 13 vectors not all sums are in registers";
  EXPECT_EQ(block_of(softmax_of(8, 52)), 8) << "nor of 13 halves";
  EXPECT_EQ(block_of(softmax_of(8, 240), v4), 240) << "of 32 registers";
  EXPECT_EQ(block_of(softmax_of(8, 256), v4), 128);
  EXPECT_EQ(block_of(softmax_of(8, 60)), 32) << "64, for no vectors are 60";
}

// A vector of bytes is eight of sums in f64, and a block of two would be sixteen.
TEST(ColumnGroups, SumsOfLongerElementsTakeMoreRegisters) {
  const Axis r("r", 6), c("c", 4096);
  const Tensor bytes = input("x", u8, {6, 4096});
  const auto far_from_highest = [&](DType type) {
    Tensor highest = compute("highest", {c}, reduce_max(r, bytes(r, c)));
    Tensor far = compute("far", {r, c}, cast(type, highest(c)) - cast(type, bytes(r, c)));
    Tensor total = compute("total", {c}, sum(r, far(r, c)));
    return Graph(compute("y", {r, c}, far(r, c) * total(c)));
  };
  EXPECT_EQ(block_of(far_from_highest(f64)), 32);
  EXPECT_EQ(block_of(far_from_highest(f32)), 96);
}

// Of 33 columns one that is computed twice, or 15.
TEST(ColumnGroups, OfASeriesNoMoreThanAQuarterIsComputedTwice) {
  const Target v4 = Target::parse("x86-64-v4,cores=1,l2=1048576");
  EXPECT_EQ(block_of(softmax_of(8, 33)), 8) << "40";
  EXPECT_EQ(block_of(softmax_of(8, 33), v4), std::nullopt) << "48";
  EXPECT_EQ(block_of(centred(8, 33), v4), 16) << "no series";
}

// Rows of 4096 bytes all have their lines in one set of the first cache, which holds eight.
TEST(ColumnGroups, ABlockThatIsShorterThanTwoLinesNeedsTheLinesOfAllRows) {
  const auto of_columns = [](int64_t rows, int64_t columns) {
    return Graph(softmax(input("x", f32, {rows, 4, columns}), 0, "y"));
  };
  const Target small = Target::parse("x86-64-v3,cores=1,l2=4096");  // of 16 rows blocks of 24
  const Target large = Target::parse("x86-64-v3,cores=1,l2=1048576");
  EXPECT_EQ(block_of(of_columns(16, 264), small), 24) << "no multiple of lines";
  EXPECT_EQ(block_of(of_columns(16, 1024), small), std::nullopt);
  EXPECT_EQ(block_of(of_columns(16, 1024), large), 64) << "two lines and more";
  EXPECT_EQ(block_of(of_columns(4, 1024), Target::parse("x86-64-v3,cores=1,l2=1024")), 16);
  EXPECT_EQ(block_of(of_columns(16, 1024), Target::parse("x86-64-v2,cores=1")), 32)
      << "no block of its vectors is longer";
}

}  // namespace
}  // namespace emulsion

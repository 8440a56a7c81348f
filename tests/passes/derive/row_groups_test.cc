// Operations that are computed row by row together: which join a group, which do not and why, and
// whether it pays.

#include "passes/derive/row_groups.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/fuse/fuse_epilogues.h"
#include "tests/passes/derive/row_graphs.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");
const Target kV3 = Target::parse("x86-64-v3,cores=1");
const Axis i("i", 8), j("j", 64), k("k", 64);

// The groups of a graph, and the grouped graph whose operations they are.
struct Groups {
  Groups(const Graph& graph, const Target& target)
      : grouped(fuse_epilogues(graph)), all(row_groups(grouped, target)) {}

  size_t size() const { return all.size(); }
  bool empty() const { return all.empty(); }
  const RowGroup& operator[](size_t at) const { return all[at]; }

  Graph grouped;
  std::vector<RowGroup> all;
};

Groups groups_of(const Graph& graph, const Target& target = kV3) { return {graph, target}; }

// Why rows of the operation p of a graph cannot be computed ahead of those of y; "" when they can.
std::string why_not(const Tensor& y, size_t rows = 1) {
  const Graph grouped = fuse_epilogues(Graph(y));
  return why_not_by_rows(**grouped.find("p"), **grouped.find("y"), rows).value_or("");
}

Tensor x() {
  static const Tensor the_same = input("x", f32, {8, 64});
  return the_same;
}
// p[i] = sum of row i of x.
Tensor sums() { return compute("p", {i}, sum(k, x()(i, k))); }
// p[i, j] = x[i, j] * 2.
Tensor doubled() { return compute("p", {i, j}, x()(i, j) * 2.0f); }

TEST(WhyNotByRows, ReadsOfTheSameRow) {
  Tensor p = sums();
  EXPECT_EQ(why_not(compute("y", {i, j}, x()(i, j) * p(i))), "");
  Tensor q = doubled();
  EXPECT_EQ(why_not(compute("y", {i}, sum(k, q(i, k)))), "");
  EXPECT_EQ(why_not(compute("y", {i, j}, q(i, Expr(63) - j))), "");
}

TEST(WhyNotByRows, OfARowAtIndicesThatAreData) {
  Tensor q = doubled(), at = input("at", i32, {8});
  EXPECT_EQ(why_not(compute("y", {i}, q.at({i, min(max(at(i), 0), 63)}))), "");
}

TEST(WhyNotByRows, NotAnotherRow) {
  const Axis fewer("i", 7), turned("j", 8);
  Tensor q = doubled();
  const std::string same = "expected reads of p at the same i";
  EXPECT_EQ(why_not(compute("y", {fewer, j}, q(fewer, j) + q.at({Expr(fewer) + 1, j}))), same);
  EXPECT_EQ(why_not(compute("y", {fewer, j}, q(fewer, j))), same) << "fewer rows";
  Tensor square = compute("p", {i, turned}, input("s", f32, {8, 8})(i, turned) * 2.0f);
  EXPECT_EQ(why_not(compute("y", {i, turned}, square(turned, i))), same);
  EXPECT_EQ(why_not(compute("y", {j}, sum(i, q(i, j)))), "expected reads of p at the same j");
}

TEST(WhyNotByRows, NotARowThatIsData) {
  Tensor q = doubled(), at = input("at", i32, {8});
  EXPECT_EQ(why_not(compute("y", {i, j}, q.at({min(max(at(i), 0), 7), j}))),
            "expected rows of p that are affine");
}

TEST(WhyNotByRows, NotWithoutAxesThatSayWhichRow) {
  Tensor p = sums();
  const Tensor y = compute("y", {i, j}, x()(i, j) * p(i));
  EXPECT_EQ(why_not(y, 2), "expected p to have axes that say which row, got 1 of them");
  EXPECT_EQ(why_not(y, 0), "expected p to have axes that say which row, got 0 of them");
}

TEST(WhyNotByRows, NotProductsInRegisterTiles) {
  Tensor p = matmul(x(), weight("w", f32, {64, 64}), "p");
  EXPECT_EQ(why_not(compute("y", {i}, sum(k, p(i, k)))),
            "expected p to be no product that is computed in register tiles");
}

TEST(WhyNotByRows, NotWindows) {
  const Axis window("k", 3), narrow("j", 62);
  Tensor p = compute("p", {i, narrow}, reduce_max(window, x().at({i, Expr(narrow) + window})));
  EXPECT_EQ(why_not(compute("y", {i}, sum(narrow, p(i, narrow)))),
            "expected p to combine no windows");
}

TEST(WhyNotByRows, NotWhatIsGivenOrEmpty) {
  Tensor given = input("p", f32, {8, 64});
  EXPECT_EQ(why_not(compute("y", {i}, sum(k, given(i, k)))), "expected p to be computed");
  const Axis none("i", 0);
  Tensor empty = compute("p", {none, j}, input("x", f32, {0, 64})(none, j) * 2.0f);
  EXPECT_EQ(why_not(compute("y", {none}, sum(k, empty(none, k)))), "expected p to have elements");
}

TEST(RowGroups, AllOfASoftmaxOrANorm) {
  for (const Extent& columns : {Extent(64), Extent(100), kSize}) {
    for (const auto& [name, graph] : row_graphs(kSize, columns)) {
      const Groups groups = groups_of(graph);
      ASSERT_EQ(groups.size(), 1U) << name;
      EXPECT_EQ(groups[0].reader->name, "y") << name;
      size_t computed = 0;
      for (const OpPtr& op : groups.grouped.ops()) {
        if (op->kind == OpKind::compute || op->kind == OpKind::fused) ++computed;
      }
      EXPECT_EQ(groups[0].producers.size() + 1, computed) << name;
    }
  }
}

TEST(RowGroups, AllAxesInFrontOfTheRowSayWhichRow) {
  for (const auto& [name, graph] : row_graphs(5, 64)) {
    const Groups groups = groups_of(graph);
    ASSERT_EQ(groups.size(), 1U) << name;
    EXPECT_EQ(groups[0].rows, name == "softmax_of_heads" ? 3U : 1U) << name;
  }
}

TEST(RowGroups, OneBehindAnother) {
  Tensor normal = rms_norm(x(), input("gamma", f32, {64}), 1e-5, "normal");
  Tensor t = transpose(softmax(normal, -1, "y"), {}, "t");
  const Groups groups = groups_of(Graph(t));
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].reader->name, "y");
  Tensor columns =
      softmax(transpose(softmax(input("x", f32, {64, 64}), -1, "y"), {}, "t"), -1, "z");
  EXPECT_EQ(groups_of(Graph(columns)).size(), 2U);
}

TEST(RowGroups, NotWhatTheOutsideReadsToo) {
  Tensor p = sums();
  EXPECT_TRUE(groups_of(Graph({compute("y", {i, j}, x()(i, j) * p(i)), p})).empty());
  const Axis other("j", 8);
  Tensor turned = compute("z", {other}, p(other) * 2.0f);
  EXPECT_TRUE(groups_of(Graph({compute("y", {i, j}, x()(i, j) * p(i)), turned})).empty());
}

TEST(RowGroups, NotWithoutACombination) {
  Tensor q = doubled(), one = compute("one", {i, j}, exp(q(i, j)) + q(i, Expr(63) - j));
  EXPECT_TRUE(groups_of(Graph(one)).empty());
}

TEST(RowGroups, NotASumOfItsOwn) { EXPECT_TRUE(groups_of(Graph(sum(x(), {1}))).empty()); }

TEST(RowGroups, NotRowsOfLessThanEightElements) {
  for (const int64_t columns : {3, 7}) {
    EXPECT_TRUE(groups_of(softmax_by_hand(64, columns)).empty()) << columns;
  }
  for (const int64_t columns : {8, 15, 16}) {
    EXPECT_EQ(groups_of(softmax_by_hand(64, columns)).size(), 1U) << columns;
  }
}

TEST(RowGroups, NotSumsAcrossTheRows) {
  // Of each column, in vectors along the rows.
  Tensor t = input("t", f32, {64, 8});
  Tensor p = compute("p", {i}, sum(k, t(k, i)));
  EXPECT_TRUE(groups_of(Graph(compute("y", {i, j}, x()(i, j) * p(i)))).empty());
}

TEST(RowGroups, RowsThatNoCacheHolds) {
  Target target = kV3;
  target.l2_bytes = 16384;
  for (const int64_t columns : {1000, 2000, 5000, 1000000}) {
    const Groups groups = groups_of(softmax_by_hand(64, columns), target);
    ASSERT_EQ(groups.size(), 1U) << columns;
    EXPECT_EQ(groups[0].reader->name, "y") << columns;
    EXPECT_EQ(groups[0].producers.size(), 3U) << columns;
  }
}

TEST(RowGroups, NotFewerRowsThanThreadsCanShare) {
  const Target four = Target::parse("x86-64-v3,cores=4");
  EXPECT_TRUE(groups_of(softmax_by_hand(7, 30000), four).empty());
  EXPECT_EQ(groups_of(softmax_by_hand(8, 30000), four).size(), 1U);
  EXPECT_EQ(groups_of(softmax_by_hand(7, 30000), kV3).size(), 1U);
  EXPECT_EQ(groups_of(softmax_by_hand(7, 64), four).size(), 1U) << "too little for threads";
}

TEST(RowGroups, NotWhatIsTakenAlready) {
  const Graph grouped = fuse_epilogues(softmax_by_hand(64, 64));
  const Op* p = grouped.find("p")->get();
  const std::vector<RowGroup> groups = row_groups(grouped, kV3, {p});
  ASSERT_EQ(groups.size(), 1U);
  ASSERT_EQ(groups[0].producers.size(), 1U);
  EXPECT_EQ(groups[0].producers[0].op->name, "total");
}

}  // namespace
}  // namespace emulsion

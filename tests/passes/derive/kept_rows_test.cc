// What groups of rows keep, that others need too.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/derive/row_groups.h"
#include "tests/passes/derive/row_graphs.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

using Names = std::vector<std::string>;

const Target kV3 = Target::parse("x86-64-v3,cores=1");
const Axis i("i", 8), j("j", 64), k("k", 64);

Groups groups_of(const Graph& graph, const Target& target = kV3) { return {graph, target}; }

Tensor x() {
  static const Tensor the_same = input("x", f32, {8, 64});
  return the_same;
}
// p[i] = sum of row i of x.
Tensor sums() { return compute("p", {i}, sum(k, x()(i, k))); }
// p[i, j] = x[i, j] * 2.
Tensor doubled() { return compute("p", {i, j}, x()(i, j) * 2.0f); }

// The same where no cache holds them, so that short rows pay, too.
Groups kept_groups(const Graph& graph) {
  Target target = kV3;
  target.l2_bytes = 64;
  return {graph, target};
}

// The names of those that a group keeps, the last one first.
Names kept_of(const Groups& groups) {
  Names names;
  for (const RowGroup& group : groups.all) {
    for (const RowGroup::Member& member : group.members) {
      if (member.is_kept) names.push_back(member.op->name);
    }
  }
  return names;
}

TEST(KeptRows, KeepsASumOfEachRowThatTheOutsideNeedsToo) {
  Tensor p = sums();
  const Tensor y = compute("y", {i, j}, x()(i, j) * p(i));
  EXPECT_EQ(kept_of(kept_groups(Graph({y, p}))), Names{"p"});
  const Axis other("j", 8);
  Tensor turned = compute("z", {other}, p(other) * 2.0f);
  EXPECT_EQ(kept_of(kept_groups(Graph({y, turned}))), Names{"p"});
  EXPECT_TRUE(kept_of(kept_groups(Graph(y))).empty());
}

// Of a norm the sum is read by what the deviation is made of: it is kept once that is there.
TEST(KeptRows, KeepsSeveralEachBehindAllThatReadIt) {
  Tensor p = sums();
  Tensor q = compute("q", {i}, sum(Axis("k", 64), abs(x()(i, Axis("k", 64)) - p(i))));
  Tensor d = compute("d", {i}, 1.0f / q(i));
  Tensor y = compute("y", {i, j}, (x()(i, j) - p(i)) * d(i));
  const Groups groups = kept_groups(Graph({y, p, d}));
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(kept_of(groups), (Names{"d", "p"}));
  EXPECT_EQ(groups[0].members.size(), 4U);
  EXPECT_EQ(groups[0].members.back().op->name, "p");
}

// What is kept may come before what else reads it.
TEST(KeptRows, EachStandsBehindAllThatReadIt) {
  Tensor p = sums();
  Tensor q = compute("q", {i}, sum(k, abs(x()(i, k) - p(i))));
  const Graph graph({compute("y", {i, j}, (x()(i, j) - p(i)) * q(i)), p, q});
  const auto any = [](const RowGroup::Member&, const RowGroup&) { return true; };
  const RowGroup group =
      build_row_group(*op_of(graph, "y"), {0}, true, Readers(graph), kV3, {}, any);
  ASSERT_EQ(group.members.size(), 3U);
  EXPECT_EQ(group.members[1].op->name, "q");
  EXPECT_EQ(group.members[2].op->name, "p");
}

TEST(KeptRows, KeepsNoWholeRows) {
  Tensor q = doubled();
  Tensor s = compute("s", {i}, sum(Axis("k", 64), q(i, Axis("k", 64))));
  Tensor y = compute("y", {i, j}, q(i, j) * s(i));
  EXPECT_TRUE(kept_of(kept_groups(Graph({y, q}))).empty());
}

TEST(KeptRows, KeepsNothingOfRowsOfARunTimeLength) {
  const Extent length = Extent::size("C");
  const Axis c("c", length), k("k", length);
  Tensor in = input("x", f32, {8, length});
  Tensor p = compute("p", {i}, sum(k, in(i, k)));
  EXPECT_TRUE(kept_of(kept_groups(Graph({compute("y", {i, c}, in(i, c) * p(i)), p}))).empty());
  const Extent rows = Extent::size("B");
  const Axis b("b", rows), of64("k", 64);
  Tensor many = input("x", f32, {rows, 64});
  Tensor sum_of = compute("p", {b}, sum(of64, many(b, of64)));
  const Tensor y = compute("y", {b, j}, many(b, j) * sum_of(b));
  EXPECT_EQ(kept_of(kept_groups(Graph({y, sum_of}))), Names{"p"});
}

// y needs z, which reads other rows of p.
TEST(KeptRows, KeepsNothingThatSomethingBetweenReads) {
  const Axis other("j", 8);
  Tensor p = sums();
  Tensor z = compute("z", {other}, p.at({Expr(7) - other}));
  Tensor y = compute("y", {i, j}, x()(i, j) * p(i) + z(i));
  EXPECT_TRUE(kept_of(kept_groups(Graph({y, p}))).empty());
}

// Two groups of which each would need what the other one keeps.
TEST(KeptRows, KeepsNothingForWhichTwoGroupsWouldWaitForEachOther) {
  const Axis other("j", 8), k("k", 64);
  Tensor p = sums();
  Tensor q = compute("q", {i}, sum(k, abs(x()(i, k))));
  Tensor of_p = compute("of_p", {other}, p.at({Expr(7) - other}));
  Tensor of_q = compute("of_q", {other}, q.at({Expr(7) - other}));
  Tensor y = compute("y", {i, j}, x()(i, j) * p(i) + of_q(i));
  Tensor z = compute("z", {i, j}, x()(i, j) * q(i) + of_p(i));
  EXPECT_EQ(kept_of(kept_groups(Graph({y, z}))).size(), 1U);
}

// What is between the two is in neither, and stands in the graph behind the one that it needs.
TEST(KeptRows, KeepsNothingForWhichTwoGroupsWouldWaitByWayOfAnother) {
  const Axis other("j", 8), k("k", 64);
  const auto turned = [&](const std::string& name, const Tensor& of) {
    return compute(name, {other}, of.at({Expr(7) - other}) + 1.0f);
  };
  Tensor p = sums();
  Tensor q = compute("q", {i}, sum(k, abs(x()(i, k))));
  Tensor of_p = turned("of_p", turned("first_of_p", p));
  Tensor of_q = turned("of_q", turned("first_of_q", q));
  Tensor y = compute("y", {i, j}, x()(i, j) * p(i) + of_q(i));
  Tensor z = compute("z", {i, j}, x()(i, j) * q(i) + of_p(i));
  EXPECT_EQ(kept_of(kept_groups(Graph({y, z}))).size(), 1U);
}

TEST(KeptRows, KeepsShortRowsOnlyWhereTheyStayInNoCache) {
  Tensor p = sums();
  const Graph graph({compute("y", {i, j}, x()(i, j) * p(i)), p});
  EXPECT_EQ(kept_of(kept_groups(graph)), Names{"p"});
  EXPECT_TRUE(kept_of(groups_of(graph)).empty());
  const Axis wide("j", 128), of128("k", 128);
  Tensor in = input("x", f32, {8, 128});
  Tensor q = compute("p", {i}, sum(of128, in(i, of128)));
  EXPECT_EQ(kept_of(groups_of(Graph({compute("y", {i, wide}, in(i, wide) * q(i)), q}))),
            Names{"p"});
}

// Of short rows the operations are faster one by one.
TEST(KeptRows, KeepsNothingOfRowsOfAFewElementsWhoseNumberIsNotKnown) {
  for (const int64_t elements : {13, 24, 25, 64}) {
    const Axis r("i", Extent::size("R")), c("j", elements), s("k", elements);
    const Tensor x = input("x", f32, {r.extent(), elements});
    const Tensor p = compute("p", {r}, sum(s, x(r, s)));
    const Tensor y = compute("y", {r, c}, x(r, c) * p(r));
    const Names kept = kept_of(groups_of(Graph({y, p})));
    EXPECT_EQ(kept, elements > 24 ? Names{"p"} : Names{}) << elements;
  }
}

// A softmax and its logarithm: that of one value a row comes behind.
TEST(KeptRows, KeepsForWholeRowsRatherThanForOneValue) {
  const Graph all = softmax_by_hand(64, 1000);
  const Tensor y(op_of(all, "y")), highest(op_of(all, "highest")), total(op_of(all, "total"));
  const Axis row("i", 64);
  const Graph graph({y, compute("z", {row}, highest(row) + log(total(row)))});
  const Groups groups = kept_groups(graph);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].reader().name, "y");
  EXPECT_EQ(kept_of(groups), (Names{"total", "highest"}));
}

// Who reads it outside has fewer axes than say which row.
TEST(KeptRows, KeepsForOneValueWhatFewerAxesRead) {
  const Axis a("a", 4), b("b", 8), r("r", 64), t("t", 4);
  const Tensor in = input("x", f32, {4, 8, 64});
  const Tensor p = compute("p", {a, b}, sum(r, in(a, b, r)));
  const Tensor q = compute("q", {a, b}, sum(r, abs(in(a, b, r) - p(a, b))));
  const Tensor first = compute("first", {t}, p(t, 3));
  EXPECT_EQ(kept_of(kept_groups(Graph({q, first}))), Names{"p"});
}

// What two operations come behind.
TEST(KeptRows, KeptBefore) {
  const Axis other("j", 8);
  Tensor p = sums();
  Tensor y = compute("y", {i, j}, x()(i, j) * p(i));
  Tensor z = compute("z", {other}, p.at({Expr(7) - other}));
  Tensor v = compute("v", {i, j}, x()(i, j) + 1.0f);
  const Groups groups = kept_groups(Graph({y, z, v}));
  const KeptBefore kept = kept_before(groups.grouped, groups.all);
  const auto before = [&](const std::string& name) {
    return kept.at(op_of(groups.grouped, name).get());
  };
  EXPECT_EQ(before("z"), 1u);
  EXPECT_EQ(before("v"), 0u);
  EXPECT_EQ(before("y"), 0u);
}

}  // namespace
}  // namespace emulsion

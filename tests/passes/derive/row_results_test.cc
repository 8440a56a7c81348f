// Groups of rows with several results: which operations, and groups, become one.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/derive/row_groups.h"
#include "passes/differentiate/differentiate.h"
#include "tests/passes/derive/row_graphs.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

using Names = std::vector<std::string>;

const Target kV3 = Target::parse("x86-64-v3,cores=1");
const Axis i("i", 8), j("j", 128), k("k", 128);

Groups groups_of(const Graph& graph, const Target& target = kV3) { return {graph, target}; }

Tensor matrix(const std::string& name) { return input(name, f32, {8, 128}); }

// Rows of x, the sum of each, and what is made of both by `factor`.
struct Rows {
  Tensor x = matrix("x");
  Tensor p = compute("p", {i}, sum(k, x(i, k)));
  Tensor scaled(const std::string& name, float factor) const {
    return compute(name, {i, j}, x(i, j) * p(i) + factor);
  }
};

Names names_of(const RowGroup& group, bool RowGroup::Member::*flag) {
  Names names;
  for (const RowGroup::Member& member : group.members) {
    if (member.*flag) names.push_back(member.op->name);
  }
  return names;
}
Names kept_of(const RowGroup& group) { return names_of(group, &RowGroup::Member::is_kept); }
Names with_reader(const RowGroup& group) {
  return names_of(group, &RowGroup::Member::is_with_reader);
}

// One group, with these results beside the reader, the last one first.
void joins(const Graph& graph, const std::string& reader, const Names& results,
           const Target& target = kV3) {
  const Groups groups = groups_of(graph, target);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].reader().name, reader);
  EXPECT_EQ(kept_of(groups[0]), results);
}
// No group has a result beside the reader.
void stays_apart(const Graph& graph, const Target& target = kV3) {
  for (const RowGroup& group : groups_of(graph, target).all) {
    EXPECT_TRUE(with_reader(group).empty()) << with_reader(group)[0];
    for (const RowGroup::Member& member : group.members) {
      EXPECT_TRUE(!member.is_kept || is_one_in_a_row(*member.op, member.axes)) << member.op->name;
    }
  }
}

TEST(RowResults, TwoOfOneSum) {
  const Rows r;
  const Graph graph({r.scaled("y", 1), r.scaled("z", 2)});
  joins(graph, "z", {"y"});
  const Groups groups = groups_of(graph);
  EXPECT_EQ(with_reader(groups[0]), Names{"y"});
  EXPECT_EQ(groups[0].members.size(), 3U) << "the sum is kept no more";
}

TEST(RowResults, WhatFollowsAResult) {
  const Tensor y = softmax(matrix("x"), -1, "y");
  joins(Graph({y, relu(y, "z")}), "z", {"y"});
  joins(Graph({relu(y, "z"), y, neg(y, "v")}), "v", {"z", "y"});
}

// What only results read is computed with them, and not kept.
TEST(RowResults, WhatOnlyTheyRead) {
  const Rows r;
  const Tensor d = compute("d", {i, j}, exp(r.x(i, j) * r.p(i)));
  const Graph graph({mul(d, matrix("a"), "y"), mul(d, matrix("b"), "z")});
  joins(graph, "z", {"y"});
  EXPECT_EQ(with_reader(groups_of(graph)[0]), (Names{"y", "d"}));
}

TEST(RowResults, ASoftmaxAndItsGradient) {
  const Tensor x = matrix("x"), y = softmax(x, -1, "y");
  const Tensor gradient = gradients(y, {x}, matrix("dy"))[0];
  joins(Graph({y, gradient}), gradient.op()->name, {"y"});
  const Groups groups = groups_of(Graph({y, gradient}));
  for (const RowGroup::Member& member : groups[0].members) {
    EXPECT_FALSE(member.op->name == "y_exp" && member.is_kept);
  }
}

// Of a loss: a value of each row that is made of whole rows, which no member reads.
TEST(RowResults, ALossOfEachRowAndItsGradient) {
  const Tensor x = matrix("x"), z = matrix("z");
  const Tensor c = x - reduce_max(x, {1}, true);
  const Tensor losses = sum(z * (log(sum(exp(c), {1}, true)) - c), {1}, false, "losses");
  const Tensor loss = sum(losses, {0}, false, "loss");
  const Tensor gradient = gradients(loss, {x})[0];
  joins(Graph({loss, gradient}), gradient.op()->name, {"losses"});
}

TEST(RowResults, SumsOfTheSameRows) {
  const Rows r;
  const Tensor most = compute("m", {i}, reduce_max(k, abs(r.x(i, k))));
  const Tensor q = compute("q", {i}, sum(k, r.x(i, k) * most(i)));
  joins(Graph({r.p, q}), "q", {"p"});
}

TEST(RowResults, OfAnotherType) {
  const Rows r;
  const Tensor y = r.scaled("y", 0);
  joins(Graph({y, cast(y, i8, "z")}), "z", {"y"}, Target::parse("x86-64-v4,cores=1"));
  joins(Graph({compute("m", {i, j}, r.x(i, j) > r.p(i)), y}), "y", {"m"});
}

// --- why not ------------------------------------------------------------------------------------

TEST(RowResults, NotWhatReadsOtherRows) {
  const Rows r;
  const Tensor y = r.scaled("y", 1);
  stays_apart(Graph({y, compute("z", {i, j}, y(Expr(7) - i, j) * 2.0F)}));
  stays_apart(Graph({y, compute("z", {i, j}, r.x(Expr(7) - i, j) * 2.0F)}));
}

// As a graph may ask for it.
TEST(RowResults, NotAResultThatAnotherReadsInOtherRows) {
  const Rows r;
  const auto members = [&](const Expr& row) {
    const Tensor y = r.scaled("y", 1);
    const Tensor z = compute("z", {i, j}, y(row, j) * r.p(i));
    const Graph graph({y, z});
    const RowGroup group = build_row_group(*op_of(graph, "z"), {0}, false, Readers(graph), kV3, {},
                                           {}, {op_of(graph, "y").get()});
    return group.members.size();
  };
  EXPECT_EQ(members(i), 3U);
  EXPECT_EQ(members(Expr(7) - i), 1U);
}

TEST(RowResults, NotWhatReadsAnotherPlaceOfARow) {
  const Rows r;
  const Tensor y = r.scaled("y", 1);
  stays_apart(Graph({y, compute("z", {i, j}, y(i, Expr(127) - j) * 2.0F)}));
}

// A whole row that is combined is there before the loop over vectors.
TEST(RowResults, NotWhatTheRestOfTheRowNeedsWhole) {
  const Tensor q = exp(matrix("x"), "q");
  stays_apart(Graph({q, softmax(q, -1, "y")}));
}

// z needs what reads other rows of y.
TEST(RowResults, NotWhereSomethingBetweenNeedsAllRows) {
  const Rows r;
  const Tensor y = r.scaled("y", 1);
  const Tensor turned = compute("turned", {i, j}, y(Expr(7) - i, j) * 2.0F);
  stays_apart(Graph({y, compute("z", {i, j}, r.x(i, j) * r.p(i) + turned(i, j))}));
}

// Two pairs, of which each would wait for the other one.
TEST(RowResults, NotTwoGroupsThatWouldWaitForEachOther) {
  const Tensor x = matrix("x"), v = matrix("v");
  const auto sums = [](const std::string& name, const Tensor& of) {
    return compute(name, {i}, sum(k, of(i, k)));
  };
  const Tensor p = sums("p", x), q = sums("q", v);
  const Tensor a = compute("a", {i, j}, x(i, j) * p(i)), b = compute("b", {i, j}, v(i, j) * q(i));
  const Tensor of_a = compute("of_a", {i, j}, a(Expr(7) - i, j));
  const Tensor of_b = compute("of_b", {i, j}, b(Expr(7) - i, j));
  const Tensor c = compute("c", {i, j}, x(i, j) * p(i) + of_b(i, j));
  const Tensor d = compute("d", {i, j}, v(i, j) * q(i) + of_a(i, j));
  const Groups groups = groups_of(Graph({a, b, c, d}));
  EXPECT_EQ(std::count_if(groups.all.begin(), groups.all.end(), has_results), 1);
}

TEST(RowResults, NotOtherRows) {
  const Axis wide("w", 256), more("n", 16);
  const Rows r;
  const Tensor y = r.scaled("y", 1);
  const Tensor longer = compute("z", {i, wide}, r.x(i, wide / 2) * 2.0F);
  stays_apart(Graph({y, longer}));
  const Tensor twice = compute("z", {more, j}, r.x(more / 2, j) * 2.0F);
  stays_apart(Graph({y, twice}));
}

TEST(RowResults, NotRowsOfARunTimeLength) {
  const Extent length = Extent::size("C");
  const Axis c("c", length), of("k", length);
  const Tensor x = input("x", f32, {8, length});
  const Tensor p = compute("p", {i}, sum(of, x(i, of)));
  stays_apart(Graph({compute("y", {i, c}, x(i, c) * p(i)), compute("z", {i, c}, x(i, c) - p(i))}));
}

TEST(RowResults, NotRowsOfSeveralAxes) {
  const Axis a("a", 4), b("b", 32), c("c", 4), d("d", 32);
  const Tensor x = input("x", f32, {8, 4, 32});
  const Tensor p = compute("p", {i}, sum({c, d}, x(i, c, d)));
  const auto scaled = [&](const std::string& name, float factor) {
    return compute(name, {i, a, b}, x(i, a, b) * p(i) + factor);
  };
  stays_apart(Graph({scaled("y", 1), scaled("z", 2)}));
}

TEST(RowResults, NotRowsOfOneVector) {
  const Axis short_j("j", 8), short_k("k", 8), many("i", 512);
  const Tensor x = input("x", f32, {512, 8});
  const Tensor p = compute("p", {many}, sum(short_k, x(many, short_k)));
  const auto scaled = [&](const std::string& name, float factor) {
    return compute(name, {many, short_j}, x(many, short_j) * p(many) + factor);
  };
  Target small = kV3;
  small.l2_bytes = 64;
  stays_apart(Graph({scaled("y", 1), scaled("z", 2)}), small);
}

// The last vector of a row needs masks, where it is not a whole one.
TEST(RowResults, NotWithoutMasks) {
  const Target v2 = Target::parse("x86-64-v2,cores=1");
  for (const int64_t columns : {128, 131}) {
    const Axis column("j", columns), of("k", columns);
    const Tensor x = input("x", f32, {8, columns});
    const Tensor p = compute("p", {i}, sum(of, x(i, of)));
    const auto scaled = [&](const std::string& name, float factor) {
      return compute(name, {i, column}, x(i, column) * p(i) + factor);
    };
    const Graph graph({scaled("y", 1), scaled("z", 2)});
    joins(graph, "z", {"y"});
    if (columns == 128) joins(graph, "z", {"y"}, v2);
    if (columns == 131) stays_apart(graph, v2);
  }
}

// A value of each row that stands behind the rows in the graph: these end in front of it.
TEST(RowResults, NotInFrontOfOneValueARow) {
  const Rows r;
  const Tensor y = r.scaled("y", 1);
  stays_apart(Graph({y, compute("z", {i}, sum(k, abs(r.x(i, k))))}));
}

TEST(RowResults, NotWithBorders) {
  const Rows r;
  const Tensor y = r.scaled("y", 1);
  const Tensor z = compute("z", {i, j}, select(j < 64, y(i, j), r.x(i, j)));
  stays_apart(Graph({z, r.scaled("v", 1)}));
}

// What makes rows of a group and what else reads them, where one of these alone saves too little.
TEST(RowResults, WhatMakesRowsAndWhatReadsThem) {
  const Tensor x = matrix("x"), a = matrix("a"), b = matrix("b"), c = matrix("c");
  const Tensor most = compute("m", {i}, reduce_max(k, x(i, k)));
  const Tensor p = compute("p", {i, j}, exp(x(i, j) - most(i)));
  const Tensor s = compute("s", {i}, sum(k, p(i, k)));
  const Tensor t = compute("t", {i}, sum(k, p(i, k) * a(i, k)));
  const Tensor y = compute("y", {i, j}, p(i, j) / s(i));
  const Tensor z = compute("z", {i, j}, (p(i, j) * t(i) + b(i, j)) * c(i, j) - s(i));
  joins(Graph({y, z}), "z", {"y"});
}

// What a result reads may be one, whatever it is made of.
TEST(RowResults, WhatAResultReads) {
  const Rows r;
  const Tensor q = exp(matrix("u"), "q");
  joins(Graph({q, compute("y", {i, j}, q(i, j) * r.p(i))}), "y", {"q"});
}

TEST(RowResults, NoMoreThanEight) {
  const Rows r;
  std::vector<Tensor> results;
  const auto beside = [&](int count) {
    for (int n = static_cast<int>(results.size()); n < count; ++n) {
      results.push_back(r.scaled("y" + std::to_string(n), static_cast<float>(n)));
    }
    const Groups groups = groups_of(Graph(results));
    return groups.empty() ? 0 : with_reader(groups[0]).size();
  };
  EXPECT_EQ(beside(8), 7U);
  EXPECT_EQ(beside(9), 3U) << "one after another, each saves less";
}

// Of two long chains of sums, which are no group of one size.
TEST(RowResults, NotMoreMembersThanAGroupHas) {
  const Tensor x = matrix("x");
  const auto chain = [&](const std::string& name) {
    Tensor sums = compute(name + "0", {i}, sum(k, abs(x(i, k))));
    for (int n = 1; n < 20; ++n) {
      sums = compute(name + std::to_string(n), {i}, sum(k, x(i, k) * sums(i)));
    }
    return compute(name, {i, j}, x(i, j) * sums(i));
  };
  const Groups groups = groups_of(Graph({chain("y"), chain("z")}));
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].members.size() + groups[1].members.size(), 42U);
}

// One of three that each goes through is the same, and of many of one alone.
TEST(RowResults, NotWhereLittleIsSaved) {
  const Tensor z = matrix("z"), y = softmax(matrix("x") + z, -1, "y");
  stays_apart(Graph({y, softmax(matrix("u") + z, -1, "v")}));
  const Rows r;
  const Tensor many = mul(r.x, matrix("a")) + mul(matrix("b"), matrix("c"));
  stays_apart(Graph({r.scaled("y", 1), relu(many, "v")}));
  joins(Graph({r.scaled("y", 1), neg(r.x, "v")}), "v", {"y"});
  const Tensor table = input("t", f32, {16, 128});  // what both read of it is there anyway
  const Tensor y_and_row = compute("y", {i, j}, r.x(i, j) * r.p(i) + table(0, j));
  const Tensor a = matrix("a");
  stays_apart(Graph({y_and_row, compute("v", {i, j}, (r.x(i, j) + table(0, j)) * a(i, j))}));
}

// Short rows stay in a cache until they are read again, for a value of each.
TEST(RowResults, NoValueOfShortRows) {
  const Axis a("i", 64), short_k("k", 64), short_j("j", 64);
  const Tensor x = input("x", f32, {64, 64});
  const Tensor p = compute("p", {a}, sum(short_k, x(a, short_k)));
  const Tensor q = compute("q", {a}, reduce_max(short_k, x(a, short_k)));
  const Tensor y = compute("y", {a, short_j}, x(a, short_j) * p(a));
  const Groups groups = groups_of(Graph({q, y}));
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_TRUE(kept_of(groups[0]).empty());
  Target small = kV3;
  small.l2_bytes = 64;
  joins(Graph({q, y}), "y", {"q"}, small);
}

// What is in other loops is not in these, too.
TEST(RowResults, NotWhatIsTaken) {
  const Rows r;
  const Graph graph({r.scaled("y", 1), r.scaled("z", 2)});
  const std::vector<RowGroup> groups = row_groups(graph, kV3, {op_of(graph, "y").get()});
  for (const RowGroup& group : groups) EXPECT_FALSE(has_results(group));
}

TEST(RowResults, WhyNotBeside) {
  const Rows r;
  const Tensor y = r.scaled("y", 1);
  const Axis more("n", 9);
  const Tensor z = compute("z", {more, j}, r.x(min(more, 7), j) * 2.0F);
  EXPECT_EQ(why_not_beside(*r.p.op(), *y.op(), {0}), std::nullopt);
  EXPECT_EQ(why_not_beside(*z.op(), *y.op(), {0}), "expected z to have as many rows as y");
  EXPECT_EQ(why_not_beside(*r.p.op(), *y.op(), {0, 1}), "expected p to have as many rows as y");
  EXPECT_EQ(why_not_beside(*r.p.op(), *y.op(), {1}), "expected rows of y in one piece");
}

}  // namespace
}  // namespace emulsion

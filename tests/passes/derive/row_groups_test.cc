// Operations that are computed row by row together: which join a group, which do not and why, and
// whether it pays.

#include "passes/derive/row_groups.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/fuse/fuse_epilogues.h"
#include "tests/passes/derive/row_graphs.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");
const Target kV3 = Target::parse("x86-64-v3,cores=1");
const Axis i("i", 8), j("j", 64), k("k", 64);

Groups groups_of(const Graph& graph, const Target& target = kV3) { return {graph, target}; }

// Why rows of the operation p of a graph cannot be computed ahead of those of y; "" when they can.
std::string why_not(const Tensor& y, const std::vector<size_t>& rows = {0}) {
  const Graph grouped = fuse_epilogues(Graph(y));
  return why_not_by_rows(*op_of(grouped, "p"), *op_of(grouped, "y"), rows).value_or("");
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
  const Axis fewer("i", 7);
  Tensor q = doubled();
  const std::string same = "expected reads of p at the same i";
  EXPECT_EQ(why_not(compute("y", {fewer, j}, q(fewer, j) + q.at({Expr(fewer) + 1, j}))), same);
  EXPECT_EQ(why_not(compute("y", {fewer, j}, q(fewer, j))), same) << "fewer rows";
  EXPECT_EQ(why_not(compute("y", {i, j}, q(i, j) + q(0, j))), same);
}

TEST(WhyNotByRows, NotARowThatIsData) {
  Tensor q = doubled(), at = input("at", i32, {8});
  EXPECT_EQ(why_not(compute("y", {i, j}, q.at({min(max(at(i), 0), 7), j}))),
            "expected rows of p that are affine");
}

TEST(WhyNotByRows, NotWithoutAxesThatSayWhichRow) {
  Tensor p = sums();
  const Tensor y = compute("y", {i, j}, x()(i, j) * p(i));
  EXPECT_EQ(why_not(y, {0, 1}), "expected p to have axes that say which row, got 1 of them");
  EXPECT_EQ(why_not(y, {}), "expected p to have axes that say which row, got 0 of them");
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

using Axes = std::vector<size_t>;

const Axis n("n", 4), c("c", 8), h("h", 6), w("w", 64);
Tensor pictures() {
  static const Tensor the_same = input("x", f32, {4, 8, 6, 64});
  return the_same;
}
// p[c] = sum of channel c of x.
Tensor sums_of_channels() { return compute("p", {c}, sum({n, h, w}, pictures()(n, c, h, w))); }

TEST(WhyNotByRows, ReadsOfTheSameRowWhereverItsAxesAre) {
  Tensor p = sums_of_channels();
  EXPECT_EQ(why_not(compute("y", {n, c, h, w}, pictures()(n, c, h, w) * p(c)), {1}), "");
  Tensor q = compute("p", {n, c, h, w}, exp(pictures()(n, c, h, w)));
  EXPECT_EQ(why_not(compute("y", {c}, sum({n, h, w}, q(n, c, h, w))), {0}), "");
  EXPECT_EQ(why_not(compute("y", {n, c}, sum({h, w}, q(n, c, 5 - h, w))), {1}), "");
  EXPECT_EQ(why_not(compute("y", {n, c, w}, sum(h, q(n, c, h, w))), {0, 2}), "");
}

TEST(WhyNotByRows, NotAnotherRowWhereverItsAxesAre) {
  Tensor p = sums_of_channels(), x = pictures();
  const std::string same = "expected reads of p at the same c";
  EXPECT_EQ(why_not(compute("y", {n, c, h, w}, x(n, c, h, w) * p(7 - c)), {1}), same);
  EXPECT_EQ(why_not(compute("y", {n, c, h, w}, x(n, c, h, w) * p(c) * p(0)), {1}), same);
  EXPECT_EQ(why_not(compute("y", {n, c, h, w}, x(n, c, h, w) * p(c)), {1, 2}),
            "expected reads of p at the same c, h");
  Tensor at = input("at", i32, {4});
  EXPECT_EQ(why_not(compute("y", {n, c}, p(min(max(at(n), 0), 7)) * x(n, c, 0, 0)), {1}), same);
  // Twice the same axis of p.
  const Axis i("c", 6), j("h", 6);
  Tensor square = compute("p", {i, j}, input("s", f32, {6, 6})(i, j) * 2.0f);
  EXPECT_EQ(why_not(compute("y", {n, i, j}, square(j, i)), {1, 2}), "");
  EXPECT_EQ(why_not(compute("y", {n, i}, square(i, i)), {1}), "");
  const Axis few("c", 5);
  EXPECT_EQ(why_not(compute("y", {n, few}, square(few, 0) * cast(f32, Expr(n))), {1}), same)
      << "fewer rows";
}

TEST(RowGroups, RowsInPieces) {
  for (const Extent& height : {Extent(8), Extent::size("H")}) {
    for (const auto& [name, graph] : piece_graphs(2, 4, height, 6)) {
      const Groups groups = groups_of(graph);
      ASSERT_EQ(groups.size(), 1U) << name;
      EXPECT_EQ(groups[0].reader().name, "y") << name;
      EXPECT_FALSE(are_first(groups[0])) << name;
      size_t computed = 0;
      for (const OpPtr& op : groups.grouped.ops()) {
        if (op->kind == OpKind::compute || op->kind == OpKind::fused) ++computed;
      }
      EXPECT_EQ(groups[0].members.size(), computed) << name;
      for (const RowGroup::Member& member : groups[0].members) {
        const size_t rank = member.op->shape.size();
        EXPECT_EQ(member.axes, rank == 1 ? Axes{0} : Axes{1}) << name << ": " << member.op->name;
      }
    }
  }
}

TEST(RowGroups, AllAxesThatEveryOperationHasSayWhichRow) {
  Tensor powers = compute("powers", {n, c, h, w}, exp(pictures()(n, c, h, w)));
  Tensor total = compute("total", {c, h}, sum({n, w}, powers(n, c, h, w)));
  const Groups groups =
      groups_of(Graph(compute("y", {n, c, h, w}, powers(n, c, h, w) / total(c, h))));
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].members.size(), 3U);
  for (const RowGroup::Member& member : groups[0].members) {
    EXPECT_EQ(member.axes,
              member.op == op_of(groups.grouped, "total").get() ? (Axes{0, 1}) : (Axes{1, 2}));
  }
}

// Why the channels of the last group that there could be are not computed together.
std::string why_no_channels(const Graph& graph, const Target& target = kV3) {
  std::vector<DeclinedRows> declined;
  const Graph grouped = fuse_epilogues(graph);
  for (const RowGroup& group : row_groups(grouped, target, {}, &declined)) {
    if (group.reader().name == "y") return "taken";
  }
  return declined.empty() ? "" : declined.front().reason;
}
Graph softmax_of_channels(int64_t pictures, int64_t channels, int64_t side) {
  return piece_graphs(pictures, channels, side, side)[3].second;
}
// y = x / total: nothing that would be stored is saved.
Graph scaled_channels(const Extent& pictures, int64_t side) {
  const Axis n("n", pictures), h("h", side), w("w", side);
  Tensor x = input("x", f32, {pictures, 8, side, side});
  Tensor total = compute("total", {c}, sum({n, h, w}, x(n, c, h, w)));
  return Graph(compute("y", {n, c, h, w}, x(n, c, h, w) / total(c)));
}

TEST(RowGroups, NotColoursOfPictures) {
  // A vector of y would have all colours of a few pixels.
  const Axis pixel("p", 64), colour("c", 3);
  Tensor planes = input("planes", f32, {3, 64}), x = input("x", f32, {64, 3});
  Tensor total = compute("total", {colour}, sum(pixel, planes(colour, pixel)));
  const Graph graph(compute("y", {pixel, colour}, x(pixel, colour) / total(colour)));
  EXPECT_TRUE(groups_of(graph).empty());
}

TEST(RowGroups, NotPiecesOfFewElements) {
  EXPECT_EQ(why_no_channels(softmax_of_channels(8, 8, 7)), "taken");
  EXPECT_EQ(why_no_channels(softmax_of_channels(8, 8, 6)),
            "expected rows of y in pieces of at least 192 bytes, got 36 elements");
}

TEST(RowGroups, NotManyPiecesWhereNothingIsSaved) {
  const Target target = Target::parse("x86-64-v3,cores=1,l2=262144");
  EXPECT_EQ(why_no_channels(scaled_channels(8, 64), target), "taken");
  EXPECT_EQ(
      why_no_channels(scaled_channels(9, 64), target),
      "expected rows in pieces that save what would be stored, or at most 1048576 bytes of y");
  EXPECT_EQ(
      why_no_channels(scaled_channels(kSize, 64), target),
      "expected rows in pieces that save what would be stored, or at most 1048576 bytes of y");
  EXPECT_EQ(why_no_channels(softmax_of_channels(9, 8, 64), target), "taken");
}

TEST(RowGroups, NotFewerChannelsThanThreadsCanShare) {
  const Target four = Target::parse("x86-64-v3,cores=4");
  EXPECT_EQ(why_no_channels(softmax_of_channels(8, 8, 64), four), "taken");
  EXPECT_EQ(why_no_channels(softmax_of_channels(8, 7, 64), four),
            "expected at least 8 rows of y for threads to share, got 7");
}

// The members that are computed where they are read.
std::vector<std::string> inline_in(const Graph& graph) {
  const Groups groups = groups_of(graph);
  std::vector<std::string> names;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (const RowGroup::Member& member : groups[g].members) {
      if (member.is_inline) names.push_back(member.op->name);
    }
  }
  return names;
}
using Names = std::vector<std::string>;

TEST(InlineMembers, WhatIsAsSoonComputedAsLoadedOrReadOnce) {
  EXPECT_EQ(inline_in(piece_graphs(2, 4, 8, 6)[0].second), (Names{"squares", "centred"}));
  Tensor p = compute("p", {i, j}, x()(i, j) * 2.0f + 1.0f);
  Tensor total = compute("total", {i}, sum(k, p(i, k)));
  EXPECT_EQ(inline_in(Graph(compute("y", {i, j}, p(i, j) / total(i)))), Names{"p"});
}

// A value for each part of a row, as a mean of a group of channels.
TEST(InlineMembers, WhatReadsOneValueForAVector) {
  const Axis p("p", 16), g("g", 4), c("c", 8), q("q", 16), d("d", 8);
  const Tensor z = input("z", f32, {8, 16, 4, 8});
  const Tensor mean_of = compute("m", {i, g}, sum({q, d}, z(i, q, g, d)));
  const auto norm = [&](const Expr& at) {
    const Tensor apart = compute("apart", {i, p, g, c}, z(i, p, g, c) - at);
    const Tensor squares = compute("s", {i, g}, sum({q, d}, apart(i, q, g, d) * apart(i, q, g, d)));
    return Graph(compute("y", {i, p, g, c}, apart(i, p, g, c) * squares(i, g)));
  };
  EXPECT_EQ(inline_in(norm(mean_of(i, g))), Names{"apart"});
  EXPECT_EQ(inline_in(norm(mean_of(i, Expr(3) - g))), Names{}) << "of another part";
}

TEST(InlineMembers, NotWhatTakesLonger) {
  for (const Expr& body : {exp(x()(i, j)), x()(i, j) / 3.0f, x()(i, j) * x()(i, j) * 2.0f + 1.0f}) {
    Tensor p = compute("p", {i, j}, body);
    Tensor total = compute("total", {i}, sum(k, p(i, k)));
    EXPECT_EQ(inline_in(Graph(compute("y", {i, j}, p(i, j) / total(i)))), Names{});
  }
  // Twice a row is loaded, or another one again.
  Tensor z = input("z", f32, {8, 64});
  Tensor p = compute("p", {i, j}, x()(i, j) + z(i, j));
  Tensor total = compute("total", {i}, sum(k, p(i, k)));
  EXPECT_EQ(inline_in(Graph(compute("y", {i, j}, p(i, j) / total(i)))), Names{});
  // What is inline in it counts.
  Tensor q = compute("q", {i, j}, x()(i, j) * 2.0f + 1.0f);
  Tensor r = compute("r", {i, j}, q(i, j) * 3.0f);
  Tensor both = compute("both", {i}, sum(k, q(i, k) * r(i, k)));
  EXPECT_EQ(inline_in(Graph(compute("y", {i, j}, r(i, j) / both(i)))), Names{"q"});
}

TEST(InlineMembers, NotWhatReadsElsewhere) {
  // Each element of it is read once, but vectors of x would be gathered.
  Tensor turned = input("t", f32, {64, 8});
  for (const Expr& body : {x()(i, 63 - j) * 0.5f, turned(j, i) + x()(i, j)}) {
    Tensor p = compute("p", {i, j}, body);
    Tensor total = compute("total", {i}, sum(k, p(i, k)));
    EXPECT_EQ(inline_in(Graph(compute("y", {i, j}, x()(i, j) / total(i)))), Names{});
  }
}

TEST(InlineMembers, NotIntoMoreAxesThanTwoThatAreOne) {
  const auto squares_of = [](const Shape& shape, const std::vector<int>& axes) {
    const Tensor x = input("x", f32, shape);
    const Tensor squares = exp(x, "squares");
    return Graph(div(x, sum(squares, axes, true), "y"));
  };
  EXPECT_EQ(inline_in(squares_of({8, 4, 30}, {1, 2})), Names{"squares"});
  EXPECT_EQ(inline_in(squares_of({8, 4, 5, 6}, {1, 2, 3})), Names{});
}

TEST(RowGroups, AllOfASoftmaxOrANorm) {
  for (const Extent& columns : {Extent(64), Extent(100), kSize}) {
    for (const auto& [name, graph] : row_graphs(kSize, columns)) {
      const Groups groups = groups_of(graph);
      ASSERT_EQ(groups.size(), 1U) << name;
      EXPECT_EQ(groups[0].reader().name, "y") << name;
      size_t computed = 0;
      for (const OpPtr& op : groups.grouped.ops()) {
        if (op->kind == OpKind::compute || op->kind == OpKind::fused) ++computed;
      }
      EXPECT_EQ(groups[0].members.size(), computed) << name;
    }
  }
}

TEST(RowGroups, AllAxesInFrontOfTheRowSayWhichRow) {
  for (const auto& [name, graph] : row_graphs(5, 64)) {
    const Groups groups = groups_of(graph);
    ASSERT_EQ(groups.size(), 1U) << name;
    EXPECT_EQ(groups[0].axes().size(), name == "softmax_of_heads" ? 3U : 1U) << name;
  }
}

TEST(RowGroups, OneBehindAnother) {
  Tensor normal = rms_norm(x(), input("gamma", f32, {64}), 1e-5, "normal");
  Tensor t = transpose(softmax(normal, -1, "y"), {}, "t");
  const Groups groups = groups_of(Graph(t));
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].reader().name, "y");
  Tensor columns =
      softmax(transpose(softmax(input("x", f32, {64, 64}), -1, "y"), {}, "t"), -1, "z");
  EXPECT_EQ(groups_of(Graph(columns)).size(), 2U);
}

TEST(RowGroups, NotWithoutACombination) {
  Tensor q = doubled(), one = compute("one", {i, j}, exp(q(i, j)) + q(i, Expr(63) - j));
  EXPECT_TRUE(groups_of(Graph(one)).empty());
}

// Sums of many rows, in memory: pictures are walked through faster than their rows.
TEST(RowGroups, TheMeanOfPicturesHasPicturesForRows) {
  const auto rows_of = [](const Shape& shape, const Target& target) {
    const Groups groups = groups_of(Graph(mean(input("x", f32, shape), {1}, false, "y")), target);
    return groups.empty() ? std::vector<size_t>{} : groups[0].axes();
  };
  const std::vector<size_t> picture = {0}, row = {0, 1};
  EXPECT_EQ(rows_of({8, 64, 28, 28}, kV3), picture);
  EXPECT_EQ(rows_of({8, 64, kSize, kSize}, kV3), picture);
  EXPECT_EQ(rows_of({8, 64, 3, 28, 28}, kV3), picture);
  // Too few pictures for threads, of many points; few enough that the sums are in registers.
  EXPECT_EQ(rows_of({8, 64, kSize, kSize}, Target::parse("x86-64-v3,cores=8")), row);
  EXPECT_EQ(rows_of({8, 15, 28, 28}, kV3), std::vector<size_t>{});
  // Not with rows that lie outside of what is combined.
  const Tensor lines = input("x", f32, {8, 5, 64, 100});
  const Groups outside = groups_of(Graph(mean(lines, {2}, false, "y")));
  ASSERT_EQ(outside.size(), 1U);
  EXPECT_EQ(outside[0].axes(), row);
  // Nor where these say more than which sum is read.
  const Tensor pictures = input("x", f32, {8, 64, kSize, kSize});
  const Groups norm = groups_of(Graph(sub(pictures, mean(pictures, {1}, true), "y")));
  ASSERT_EQ(norm.size(), 1U);
}

// Of one picture nothing says which.
TEST(RowGroups, NotTheMeanOfOnePicture) {
  EXPECT_TRUE(groups_of(Graph(mean(input("x", f32, {64, kSize, kSize}), {0}))).empty());
}

TEST(RowGroups, NotASumOfItsOwn) { EXPECT_TRUE(groups_of(Graph(sum(x(), {1}))).empty()); }

// They are stored nowhere (waiting_sums.h); with what else goes through the rows they are a group.
TEST(RowGroups, NotSumsThatWaitForWhatAloneReadsThem) {
  const Tensor pictures = input("x", f32, {16, 9, 64});
  const auto norm = [&](const Tensor& of) {
    return of / sqrt(mean(pictures * pictures, {1}, true) + 1e-5F);
  };
  EXPECT_TRUE(groups_of(Graph(mean(pictures, {1}, true))).empty());
  EXPECT_EQ(groups_of(Graph(norm(pictures))).size(), 1U);
}

// More than registers hold of one row are all in memory, whatever reads them.
TEST(RowGroups, NotManySumsOfOneRow) {
  const auto of_rows = [](int64_t rows) {
    return Graph(relu(sum(input("x", f32, {rows, 256, 100}), {1}), "y"));
  };
  EXPECT_TRUE(groups_of(of_rows(1)).empty());
  EXPECT_EQ(groups_of(of_rows(2)).size(), 1U);
}

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
    EXPECT_EQ(groups[0].reader().name, "y") << columns;
    EXPECT_EQ(groups[0].members.size(), 4U) << columns;
  }
}

TEST(RowGroups, NotFewerRowsThanThreadsCanShare) {
  const Target four = Target::parse("x86-64-v3,cores=4");
  EXPECT_TRUE(groups_of(softmax_by_hand(7, 30000), four).empty());
  EXPECT_EQ(groups_of(softmax_by_hand(8, 30000), four).size(), 1U);
  EXPECT_EQ(groups_of(softmax_by_hand(7, 30000), kV3).size(), 1U);
  EXPECT_EQ(groups_of(softmax_by_hand(7, 64), four).size(), 1U) << "too little for threads";
}

// A sigmoid of each row's mean has no vectors, and takes longer than a few elements of a row.
TEST(RowGroups, NotASeriesOfOneValueBesideAShortRow) {
  const auto gated = [](const Shape& shape, const std::vector<int>& axes) {
    const Tensor maps = input("x", f32, shape);
    return Graph(mul(maps, sigmoid(mean(maps, axes, true)), "y"));
  };
  EXPECT_TRUE(groups_of(gated({64, 120}, {1})).empty());
  EXPECT_EQ(groups_of(gated({64, 128}, {1})).size(), 1U);
  const Groups channels = groups_of(gated({8, 64, 7, 7}, {2, 3}));
  ASSERT_EQ(channels.size(), 1U) << "the sigmoids of all channels of a picture are vectors";
  EXPECT_EQ(channels[0].axes(), std::vector<size_t>{0});
  const Tensor centred = x() - reduce_max(x(), {1}, true);
  const Graph losses(sub(centred, log(sum(exp(centred), {1}, true)), "y"));
  EXPECT_EQ(groups_of(losses).size(), 1U) << "a series of each element takes longer";
}

TEST(RowGroups, NotWhatIsTakenAlready) {
  const Graph grouped = fuse_epilogues(softmax_by_hand(64, 64));
  const Op* p = op_of(grouped, "p").get();
  const std::vector<RowGroup> groups = row_groups(grouped, kV3, {p});
  ASSERT_EQ(groups.size(), 1U);
  ASSERT_EQ(groups[0].members.size(), 2U);
  EXPECT_EQ(groups[0].members[1].op->name, "total");
}

}  // namespace
}  // namespace emulsion

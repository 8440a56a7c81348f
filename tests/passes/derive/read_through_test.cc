// Moves that are read through, not stored: which are, which are not, and that the nests compute
// what the graphs say.

#include "passes/derive/read_through.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "tests/passes/derive/moves_read_through.h"

namespace emulsion {
namespace {

using Names = std::set<std::string>;

Names moves_of(const Graph& graph, double tolerance = 0) {
  return moves_read_through(graph, {0, 1, 5}, tolerance);
}

bool has_directive(const Graph& graph, const std::string& text) {
  const Schedule schedule = derive_schedule(graph, Target::parse("x86-64-v3,cores=1"));
  return to_string(schedule).find(text) != std::string::npos;
}

Tensor x() { return input("x", f32, {24, 64}); }
Tensor w(int rows, int columns) { return weight("w", f32, {rows, columns}); }

// Self-attention with heads, as frameworks write it: nine moves.
Graph attention(const Extent& batch, const Extent& steps, int heads, int depth, bool rows_of_all) {
  const int width = heads * depth;
  const Tensor tokens = rows_of_all ? input("x", f32, {batch * steps, width})
                                    : input("x", f32, {batch, steps, width});
  const auto project = [&](const Tensor& from, const std::string& name) {
    const Tensor all = weight("w" + name, f32, {width, width});
    return matmul(from, all, name);
  };
  const auto in_heads = [&](const std::string& name) {
    return transpose(
        reshape(project(tokens, name) * 0.25F, {batch, steps, heads, depth}, "reshape_" + name),
        {0, 2, 1, 3}, "heads_" + name);
  };
  const Tensor q = in_heads("q");
  const Tensor k = transpose(in_heads("k"), {0, 1, 3, 2}, "turned");
  const Tensor scores = softmax(mul(matmul(q, k, "scores"), 0.25F));
  const Tensor said =
      transpose(matmul(scores, in_heads("v"), "said"), {0, 2, 1, 3}, "said_by_step");
  const Shape rows = rows_of_all ? Shape{batch * steps, width} : Shape{batch, steps, width};
  return Graph(project(reshape(said, rows, "rows"), "y"));
}

// What has no axes is no row or column of anything.
// What the lanes of vectors through pixels and colours read lies near: it is shuffled once.
TEST(ReadThrough, APixelShuffle) {
  const auto shuffled = [](int width, int colours) {
    const Tensor x = input("x", f32, {8, width, 4 * colours});
    const Tensor apart = reshape(x, {8, width, colours, 2, 2}, "apart");
    const Tensor turned = transpose(apart, {0, 3, 1, 4, 2}, "turned");
    return Graph(reshape(turned, {16, 2 * width, colours}, "y"));
  };
  EXPECT_EQ(moves_of(shuffled(24, 3)), (Names{"apart", "turned"}));
  EXPECT_EQ(moves_of(shuffled(24, 30)).count("turned"), 0) << "rows that lie apart";
}

TEST(ReadThrough, ASumOfAllThatWasTurned) {
  const Tensor turned = transpose(x(), {}, "turned");
  for (const Tensor& y :
       {sum(turned, {0, 1}), sum(turned, {0, 1}, true), reduce_max(turned, {1}),
        sum(transpose(input("x", f32, {5, 6, 64}), {2, 0, 1}, "turned"), {0, 1, 2})}) {
    for (const std::string& move : moves_of(y)) EXPECT_EQ(move, "turned");
  }
  const Tensor flat = reshape(input("x", f32, {1, 1}), {}, "flat");
  for (const std::string& move : moves_of(relu(flat))) EXPECT_EQ(move, "flat");
}

TEST(ReadThrough, AttentionStoresNoMove) {
  const Names moves = {"reshape_q", "reshape_k", "reshape_v", "heads_q",     "heads_k",
                       "heads_v",   "turned",    "rows",      "said_by_step"};
  EXPECT_EQ(moves_of(attention(2, 48, 2, 16, true), 1e-4), moves);
  EXPECT_EQ(moves_of(attention(Extent::size("B"), 48, 2, 16, true), 1e-4), moves);
  EXPECT_EQ(moves_of(attention(2, 50, 3, 10, true), 1e-4), moves);
  EXPECT_EQ(moves_of(attention(2, Extent::size("S"), 2, 16, false), 1e-4), moves);
  EXPECT_EQ(moves_of(attention(Extent::size("B"), Extent::size("S"), 3, 10, false), 1e-4), moves);
}

TEST(ReadThrough, AttentionOfFewStepsIsRightToo) {
  const Names moves = moves_of(attention(Extent::size("B"), 5, 2, 16, true), 1e-4);
  EXPECT_EQ(moves.count("turned"), 0U);  // too few rows to copy panels for, too short for sums
  EXPECT_EQ(moves.count("heads_q"), 1U);
}

TEST(ReadThrough, AReshapeBetweenProducts) {
  const Tensor first = matmul(x(), weight("v", f32, {64, 32}), "first");
  EXPECT_EQ(moves_of(Graph(matmul(reshape(first, {96, 8}, "r"), w(8, 16), "y"))), Names{"r"});
}

TEST(ReadThrough, HeadsThatAreTheRowsOfAProduct) {
  const Tensor heads = transpose(reshape(x(), {24, 4, 16}, "r"), {1, 0, 2}, "t");
  const Tensor other = input("z", f32, {4, 16, 8});
  EXPECT_EQ(moves_of(Graph(matmul(heads, other, "y"))), (Names{"r", "t"}));
}

TEST(ReadThrough, ARunTimeNumberOfRows) {
  const Extent size = Extent::size("B");
  const Tensor heads = reshape(input("x", f32, {size, 32}), {size * Extent(4), 8}, "r");
  EXPECT_EQ(moves_of(Graph(matmul(heads, w(8, 16), "y"))), Names{"r"});
}

TEST(ReadThrough, ColumnsOfAProductThatLieInRows) {
  const Tensor columns = transpose(input("z", f32, {16, 4, 8}), {1, 0, 2}, "t");
  EXPECT_EQ(moves_of(Graph(matmul(input("x", f32, {4, 24, 16}), columns, "y"))), Names{"t"});
}

TEST(ReadThrough, PanelsAreCopiedOfColumnsThatLieAcross) {
  const Tensor across = transpose(input("z", f32, {32, 20}), {1, 0}, "t");
  const Graph many(matmul(input("x", f32, {100, 20}), across, "y"));
  EXPECT_EQ(moves_of(many), Names{"t"});
  EXPECT_TRUE(has_directive(many, "copy_in(t, t_panel)"));
  // Of few rows none would be read again.
  const Graph few(matmul(input("x", f32, {10, 20}), across, "y"));
  EXPECT_EQ(moves_of(few), Names{});
}

TEST(ReadThrough, FewRowsByColumnsAlongALongSumAreSumsInLanes) {
  const Tensor keys = reshape(input("k", f32, {40, 256}), {40, 4, 64}, "r");
  const Tensor turned = transpose(keys, {1, 2, 0}, "t");
  const Graph graph(matmul(input("q", f32, {4, 1, 64}), turned, "y"));
  EXPECT_EQ(moves_of(graph), (Names{"r", "t"}));
  EXPECT_TRUE(has_directive(graph, "rfactor"));
}

TEST(ReadThrough, OneMoveIntoTheNext) {
  const Tensor said = transpose(input("x", f32, {4, 24, 16}), {1, 0, 2}, "t");
  EXPECT_EQ(moves_of(Graph(reshape(said, {24, 64}, "y"))), Names{"t"});
}

TEST(ReadThrough, WhatAnElementwiseOperationReads) {
  const Tensor said = transpose(input("x", f32, {4, 24, 16}), {1, 0, 2}, "t");
  EXPECT_EQ(moves_of(Graph(relu(said, "y"))), Names{"t"});
  EXPECT_EQ(moves_of(Graph({relu(said, "y"), neg(said, "z")})), Names{"t"});
}

TEST(ReadThrough, WhatTurnsRowsIntoColumnsForOneReader) {
  const Tensor t = transpose(x(), {1, 0}, "t");
  EXPECT_EQ(moves_of(Graph(relu(t, "y"))), Names{"t"});
  EXPECT_EQ(moves_of(Graph(sum(t, {1}, false, "y"))), Names{"t"});
  EXPECT_EQ(moves_of(Graph({relu(t, "y"), neg(t, "z")})), Names{});
  EXPECT_EQ(moves_of(Graph(matmul(input("a", f32, {64, 20}), w(20, 24), "m") + t)), Names{});
}

TEST(ReadThrough, SlicesAndBroadcasts) {
  const Tensor s = slice(x(), {2, 8}, {20, 48}, {1, 1}, "s");
  EXPECT_EQ(moves_of(Graph(relu(s, "y"))), Names{"s"});
  const Axis i("i", 24), j("j", 64);
  const Tensor b = compute("b24", {i, j}, input("b", f32, {64})(j));
  EXPECT_EQ(moves_of(Graph(matmul(b, w(64, 32), "y"))), Names{"b24"});
}

TEST(ReadThrough, NoMoreThanEightInARow) {
  Tensor t = input("x", f32, {4, 24, 16});
  for (int i = 0; i < 12; ++i) t = transpose(t, {1, 0, 2}, "t" + std::to_string(i));
  EXPECT_EQ(moves_of(Graph(relu(t, "y"))).size(), 11U);  // one is stored
}

TEST(ReadThrough, NotAnOutput) {
  const Tensor t = transpose(input("x", f32, {4, 24, 16}), {1, 0, 2}, "t");
  EXPECT_EQ(moves_of(Graph({relu(t, "y"), t})), Names{});
}

TEST(ReadThrough, NotEverySecondColumn) {
  EXPECT_EQ(moves_of(Graph(relu(slice(x(), {0, 0}, {24, 64}, {1, 2}, "s"), "y"))), Names{});
}

TEST(ReadThrough, NotWhatAddsABorder) {
  EXPECT_EQ(moves_of(Graph(relu(pad(x(), {1, 1}, {1, 1}, 0, "p"), "y"))), Names{});
}

TEST(ReadThrough, NotRowsThatDataChoose) {
  const Tensor table = input("table", f32, {10, 16}), rows = input("rows", u8, {24});
  const Axis i("i", 24), j("j", 16);
  const Tensor words = compute("words", {i, j}, table(min(cast(i32, rows(i)), 9), j));
  EXPECT_EQ(moves_of(Graph(matmul(words, w(16, 8), "y"))), Names{});
}

TEST(ReadThrough, NotColumnsOfAWeightWhichWouldBePacked) {
  const Tensor columns = reshape(weight("v", f32, {64, 8}), {32, 16}, "r");
  EXPECT_EQ(moves_of(Graph(matmul(input("a", f32, {24, 32}), columns, "y"))), Names{});
}

TEST(ReadThrough, NotRowsThatVectorsWouldCross) {
  const Tensor said = transpose(input("x", f32, {3, 24, 7}), {1, 0, 2}, "t");
  EXPECT_EQ(moves_of(Graph(relu(reshape(said, {24, 21}, "r"), "y"))), Names{});
}

// Vectors of r cross the short rows of t, which lie one behind another.
TEST(ReadThrough, ShortRowsThatLieOneBehindAnother) {
  const Tensor said = transpose(input("x", f32, {16, 24, 2}), {1, 0, 2}, "t");
  EXPECT_EQ(moves_of(Graph(relu(reshape(said, {24, 32}, "r"), "y"))), Names{"r"});
}

// --- reshapes of arguments ----------------------------------------------------------------------

// Group norm, as frameworks write it: 4 channels a group.
Graph group_norm(const Extent& pictures) {
  const Tensor r = reshape(input("x", f32, {pictures, 6, 8, 32}), {pictures, 48, 8, 4}, "r");
  const Tensor centred = sub(r, mean(r, {1, 3}, true), "centred");
  const Tensor variance = mean(mul(centred, centred), {1, 3}, true);
  const Tensor e = div(centred, sqrt(add(variance, 1.0F)), "e");
  return Graph(mul(reshape(e, {pictures, 6, 8, 32}, "back"), input("g", f32, {32}), "y"));
}

TEST(ReadThrough, AReshapeOfAnArgumentIntoASum) {
  const Tensor z = input("x", f32, {24, 48}), r = reshape(z, {36, 32}, "r");
  EXPECT_EQ(moves_of(Graph(sum(r, {1}, false, "y"))), Names{"r"});
  EXPECT_EQ(moves_of(Graph(sum(r, {0}, false, "y"))), Names{"r"});
  EXPECT_EQ(moves_of(Graph(reduce_max(r, {1}, true, "y"))), Names{"r"});
}

TEST(ReadThrough, AReshapeOfAnArgumentThatSeveralRead) {
  const Tensor z = input("x", f32, {Extent::size("B"), 24, 48});
  const Tensor r = reshape(z, {Extent::size("B"), 64, 18}, "r");
  EXPECT_EQ(moves_of(Graph(sub(r, sum(r, {2}, true, "s"), "y"))), Names{"r"});
  EXPECT_EQ(moves_of(Graph(softmax(r, -1, "y")), 1e-5), Names{"r"});
}

TEST(ReadThrough, GroupNormStoresNoMove) {
  EXPECT_EQ(moves_of(group_norm(2), 1e-5), (Names{"back", "r"}));
  EXPECT_EQ(moves_of(group_norm(Extent::size("B")), 1e-5), (Names{"back", "r"}));
}

TEST(ReadThrough, NotAReshapeOfWhatIsComputedIntoASum) {
  const Tensor s = sum(input("x", f32, {24, 48, 5}), {2}, false, "s");
  EXPECT_EQ(moves_of(Graph(sum(reshape(s, {36, 32}, "r"), {1}, false, "y"))), Names{});
}

TEST(ReadThrough, NotAReshapeOfAWeightIntoASum) {
  const Tensor r = reshape(weight("w", f32, {24, 48}), {36, 32}, "r");
  EXPECT_EQ(moves_of(Graph(sum(r, {1}, false, "y"))), Names{});
}

// What lies otherwise in memory, or where that cannot be told.
TEST(ReadThrough, NotAnyMoveOfAnArgumentIntoASum) {
  const Axis i("i", 36), j("j", 32);
  const Tensor z = input("x", f32, {24, 48});
  const Expr place = 35 * 32 - Expr(i) * 32 + j;
  const Tensor turned = compute("r", {i, j}, z(place / 48, place % 48));
  EXPECT_EQ(moves_of(Graph(sum(turned, {1}, false, "y"))), Names{});
}

TEST(ReadThrough, NotWhatComputesAsWell) {
  const Axis i("i", 24), j("j", 4), k("k", 16);
  const Tensor z = input("z", f32, {4, 24, 16});
  const Tensor t = compute("t", {i, j, k}, z(j, i, k) * 2.0F);
  EXPECT_EQ(moves_of(Graph(matmul(reshape(t, {24, 64}, "y0"), w(64, 8), "y"))), Names{"y0"});
}

TEST(ReadThrough, NotWhatJoinsTwo) {
  const Tensor both = concat({x(), input("z", f32, {24, 64})}, 0, "both");
  EXPECT_EQ(moves_of(Graph(matmul(both, w(64, 32), "y"))), Names{});
}

TEST(ReadThrough, NotOfNothing) {
  const Tensor t = transpose(input("z", f32, {4, 0, 16}), {1, 0, 2}, "t");
  EXPECT_EQ(moves_of(Graph(relu(t, "y"))), Names{});
}

TEST(ReadThrough, NotColumnsForAReaderThatReadsThemTwice) {
  const Axis i("i", 64), j("j", 64);
  const Tensor t = transpose(input("z", f32, {64, 64}), {1, 0}, "t");
  EXPECT_EQ(moves_of(Graph(compute("y", {i, j}, t(i, j) + t(i, Expr(63) - j)))), Names{});
}

TEST(ReadThrough, NotColumnsForTheEpilogueOfAProduct) {
  const Tensor t = transpose(x(), {1, 0}, "t");
  const Tensor product = matmul(input("a", f32, {64, 20}), w(20, 24), "m");
  EXPECT_EQ(moves_of(Graph(add(product, t, "y"))), Names{});
}

TEST(ReadThrough, NotRowsOfAProductThatLieAcross) {
  const Tensor t = transpose(input("z", f32, {64, 24}), {1, 0}, "t");
  EXPECT_EQ(moves_of(Graph(matmul(t, w(64, 32), "y"))), Names{});
}

TEST(ReadThrough, NotIntoWhatReadsVeryMany) {
  const Axis i("i", 24), j("j", 4), k("k", 16);
  const Tensor t = transpose(input("z", f32, {4, 24, 16}), {1, 0, 2}, "t");
  Expr all = t(i, j, k);
  for (int n = 0; n < 64; ++n) {
    all = all + input("x" + std::to_string(n), f32, {24, 4, 16})(i, j, k);
  }
  const Graph many(compute("y", {i, j, k}, all));
  EXPECT_EQ(read_through(many, Target::parse(kReadThroughTargets[0])).moves, Names{});
}

TEST(ReadThrough, NotWhatIsNotWanted) {
  const Tensor t = transpose(input("z", f32, {4, 24, 16}), {1, 0, 2}, "t");
  const Graph graph(relu(t, "y"));
  const Target target = Target::parse(kReadThroughTargets[0]);
  Names asked;
  const auto wanted = [&](const Op& move) { return !asked.insert(move.name).second; };
  EXPECT_EQ(read_through(graph, target, wanted).moves, Names{});
  EXPECT_EQ(asked, Names{"t"});
  EXPECT_EQ(read_through(graph, target, wanted).moves, Names{"t"});
}

TEST(ReadThrough, NotOperatorByOperator) {
  const Tensor said = transpose(input("x", f32, {4, 24, 16}), {1, 0, 2}, "t");
  DeriveOptions options;
  options.fuse = false;
  const Schedule schedule =
      derive_schedule(Graph(relu(said, "y")), Target::parse("x86-64-v3"), options);
  EXPECT_EQ(to_string(schedule).find("compute_inline"), std::string::npos);
}

}  // namespace
}  // namespace emulsion

// What has borders, a concat or a pad, is chosen by its readers and stored nowhere: which are,
// which are not and why, and that the nests compute what the graphs say.

#include "passes/derive/read_borders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "passes/derive/share_loops.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/lower/lower.h"
#include "passes/nest/loop_nest.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Names = std::set<std::string>;

const char* const kTargets[] = {"x86-64-v2,cores=1", "x86-64-v3,cores=4", "x86-64-v4,cores=1"};
const Target kV3 = Target::parse("x86-64-v3,cores=1");

Tensor matrix(const std::string& name, int64_t rows = 24, int64_t columns = 64) {
  return input(name, f32, {rows, columns});
}
Tensor rows_joined() { return concat({matrix("a"), matrix("b", 40)}, 0, "c"); }

// What is read through, the same on every machine; the kernel is right and keeps none of it.
Names read_of(const Graph& graph) {
  Names found;
  for (const char* name : kTargets) {
    const Target target = Target::parse(name);
    const Graph grouped = fuse_epilogues(graph);
    const Names here = read_borders(grouped, target, {}).inlined;
    EXPECT_TRUE(name == kTargets[0] || here == found) << name;
    found = here;
    EXPECT_TRUE(derives(graph, target, {0, 1, 5, 70}, 1e-5)) << name;
    const Schedule schedule = derive_schedule(graph, target);
    for (const Stage& stage : lower(graph, schedule).stages) {
      EXPECT_EQ(here.count(stage.name), 0U) << to_string(schedule);
    }
  }
  return found;
}

// Why c stays stored; "" when it does not.
std::string refusal(const Graph& graph, const Target& target = kV3) {
  FusionReport report;
  share_loops(fuse_epilogues(graph), target, share_all_loops, &report);
  EXPECT_TRUE(derives(graph, target, {0, 1, 5, 70}, 1e-4));
  for (const FusionDecision& decision : report.decisions) {
    if (decision.producer != "c" || decision.pattern != kBordersThrough) continue;
    EXPECT_EQ(decision.fused, decision.reason.empty());
    return decision.reason;
  }
  return "nothing is said";
}

// The nest that is derived for one core.
std::string nest_of(const Graph& graph) {
  LoopNest nest = lower(graph, derive_schedule(graph, kV3));
  return to_string(nest);
}

// --- what is read through ------------------------------------------------------------------------

TEST(ReadBorders, RowsThatAreJoined) {
  const Graph graph(relu(rows_joined(), "y"));
  EXPECT_EQ(read_of(graph), Names{"c"});
  EXPECT_THAT(nest_of(graph), Not(HasSubstr("select"))) << "loops are cut at the border";
}

TEST(ReadBorders, ColumnsThatAreJoined) {
  const Graph graph(relu(concat({matrix("a"), matrix("b", 24, 40)}, 1, "c"), "y"));
  EXPECT_EQ(read_of(graph), Names{"c"});
  EXPECT_THAT(nest_of(graph), Not(HasSubstr("select"))) << "the border is between two vectors";
}

TEST(ReadBorders, ManyParts) {
  std::vector<Tensor> parts;
  for (int i = 0; i < 6; ++i) parts.push_back(matrix("x" + std::to_string(i), 3 + i));
  EXPECT_EQ(read_of(Graph(relu(concat(parts, 0, "c"), "y"))), Names{"c"});
}

TEST(ReadBorders, APad) {
  const Graph graph(relu(pad(matrix("x"), {1, 2}, {3, 1}, 0.5, "c"), "y"));
  EXPECT_EQ(read_of(graph), Names{"c"});
}

TEST(ReadBorders, AnImage) {
  const Tensor x = input("x", f32, {1, 20, 30, 16});
  EXPECT_EQ(read_of(Graph(tanh(pad(x, {0, 1, 1, 0}, {0, 1, 1, 0}, 0, "c"), "y"))), Names{"c"});
}

TEST(ReadBorders, AGroupThatReadsItTwice) {
  const Tensor c = rows_joined();
  EXPECT_EQ(read_of(Graph(relu(c * sigmoid(c), "y"))), Names{"c"});
}

TEST(ReadBorders, SeveralReaders) {
  const Tensor c = rows_joined();
  EXPECT_EQ(read_of(Graph({relu(c, "y"), add(c, matrix("z", 64), "z0")})), Names{"c"});
}

TEST(ReadBorders, TwoIntoOneReader) {
  const Tensor p = pad(matrix("x", 62), {1, 0}, {1, 0}, 0, "p");
  EXPECT_EQ(read_of(Graph(add(rows_joined(), p, "y"))), (Names{"c", "p"}));
}

TEST(ReadBorders, AmongWhatIsReadThroughItself) {
  const Axis i("i", 64), j("j", 64);
  const Tensor b = concat({matrix("a"), matrix("d", 40)}, 0, "b");
  const Tensor c = compute("c", {i, j}, select(Expr(j) < 32, b(i, j), constant(f32, 1)));
  EXPECT_EQ(read_of(Graph({relu(c, "y"), exp(c, "z")})), (Names{"b", "c"}));
}

TEST(ReadBorders, SeveralInARow) {
  const Tensor first = concat({matrix("a"), matrix("b", 20)}, 0, "first");
  const Tensor second = concat({first, matrix("d", 30)}, 0, "second");
  const Graph graph(relu(concat({matrix("e"), second}, 0, "c"), "y"));
  EXPECT_EQ(read_of(graph), (Names{"c", "first", "second"}));
  EXPECT_THAT(nest_of(graph), Not(HasSubstr("select"))) << "loops are cut at each border";
}

TEST(ReadBorders, RunTimeSizes) {
  const Extent size = Extent::size("B");
  const Tensor a = input("a", f32, {size, 64}), b = matrix("b", 40);
  EXPECT_EQ(read_of(Graph(relu(concat({a, b}, 0, "c"), "y"))), Names{"c"});
  EXPECT_EQ(read_of(Graph(relu(pad(a, {2, 0}, {0, 3}, 1, "c"), "y"))), Names{"c"});
}

TEST(ReadBorders, APartOfIt) {
  const Axis i("i", 30), j("j", 64);
  const Tensor c = rows_joined();
  EXPECT_EQ(read_of(Graph(compute("y", {i, j}, exp(c(Expr(i) + 10, j))))), Names{"c"});
  const Axis k("k", 5);
  EXPECT_EQ(read_of(Graph(compute("y", {i, k, j}, exp(c(i, j)) + 0.0F * cast(f32, Expr(k))))),
            Names{"c"});
}

TEST(ReadBorders, WhatIsChosenByHand) {
  const Axis i("i", 48), j("j", 64);
  const Tensor x = matrix("x");
  const Tensor mirrored = compute(
      "c", {i, j}, select(Expr(i) < 24, x(max(Expr(23) - i, 0), j), x(max(Expr(i) - 24, 0), j)));
  EXPECT_EQ(read_of(Graph(relu(mirrored, "y"))), Names{"c"});
}

// A bound may stand on either side.
TEST(ReadBorders, ColumnsThatAreChosenByHand) {
  const Axis i("i", 24), j("j", 128);
  const Tensor a = matrix("a"), b = matrix("b");
  const Tensor c = compute(
      "c", {i, j}, select(Expr(j) < 64, a(i, min(Expr(63), j)), b(i, max(Expr(0), Expr(j) - 64))));
  EXPECT_EQ(read_of(Graph(relu(c, "y"))), Names{"c"});
}

TEST(ReadBorders, ThreadsShareItsPieces) {
  const Tensor c = concat({matrix("a", 300, 1024), matrix("b", 212, 1024)}, 0, "c");
  const Target four = Target::parse("x86-64-v3,cores=4");
  EXPECT_EQ(refusal(Graph(relu(c, "y")), four), "");
  EXPECT_THAT(to_string(derive_schedule(Graph(relu(c, "y")), four)), HasSubstr("y.parallel("));
}

TEST(ReadBorders, ThreadsShareTheRowsOfAnImage) {
  const Tensor x = input("x", f32, {1, 100, 100, 32});
  const Graph graph(relu(pad(x, {0, 1, 0, 0}, {0, 1, 0, 0}, 0, "c"), "y"));
  const Target four = Target::parse("x86-64-v3,cores=4");
  EXPECT_EQ(refusal(graph, four), "");
  const std::string nest = to_string(lower(graph, derive_schedule(graph, four)));
  EXPECT_THAT(nest, Not(HasSubstr("select")))
      << "of one image the rows are the loop that is shared";
}

// --- what is not ---------------------------------------------------------------------------------

TEST(ReadBorders, NotAnOutput) {
  const Tensor c = rows_joined();
  EXPECT_EQ(read_of(Graph({relu(c, "y"), c})), Names{});
}

TEST(ReadBorders, NotIntoAContraction) {
  EXPECT_THAT(
      refusal(Graph(matmul(rows_joined(), weight("w", f32, {64, 32}), "y"))),
      HasSubstr("expected no sums in y, which would compare at every step, got contraction"));
  EXPECT_THAT(
      refusal(Graph(conv2d(pad(input("x", f32, {1, 9, 9, 8}), {0, 1, 1, 0}, {0, 1, 1, 0}, 0, "c"),
                           weight("w", f32, {3, 3, 8, 16}), {}, "y"))),
      HasSubstr("expected no sums in y"));
}

TEST(ReadBorders, NotIntoAReduction) {
  EXPECT_THAT(refusal(Graph(sum(rows_joined(), {0}, false, "y"))),
              HasSubstr("expected no sums in y, which would compare at every step, got reduction"));
}

TEST(ReadBorders, NotIntoTheEpilogueOfAProduct) {
  const Tensor product = matmul(matrix("x", 64, 20), weight("w", f32, {20, 64}), "m");
  EXPECT_THAT(refusal(Graph(add(product, rows_joined(), "y"))), HasSubstr("expected no sums in y"));
}

TEST(ReadBorders, NotIntoRowsThatShareLoops) {
  const Tensor s = softmax(matrix("x", 64), -1, "s"), c = rows_joined();
  EXPECT_THAT(refusal(Graph({add(s, c, "y"), relu(transpose(c), "other")})),
              HasSubstr("expected loops of its own for y"));
  EXPECT_EQ(refusal(Graph(add(s, c, "y"))), "nothing is said") << "it is one of the rows";
}

TEST(ReadBorders, NotForOneOfTwoReaders) {
  const Tensor c = rows_joined();
  EXPECT_THAT(refusal(Graph({relu(c, "y"), sum(c, {1}, false, "s")})),
              HasSubstr("expected no sums in s"));
}

TEST(ReadBorders, NotForAReaderOfColumns) {
  const Axis i("i", 64), j("j", 64);
  const Tensor c = rows_joined();
  EXPECT_THAT(refusal(Graph(compute("y", {i, j}, exp(c(j, i))))),
              HasSubstr("expected y to read neighbours along j, as its vectors go, got "));
  EXPECT_THAT(refusal(Graph(compute("y", {i, j}, c(i, j) + matrix("z", 64)(j, i)))),
              HasSubstr("expected y to read neighbours along j"));
}

TEST(ReadBorders, NotAtPlacesThatDataChoose) {
  const Axis i("i", 24), j("j", 64);
  const Tensor rows = input("rows", u8, {24}), c = rows_joined();
  EXPECT_THAT(refusal(Graph(compute("y", {i, j}, exp(c(min(cast(i32, rows(i)), 63), j))))),
              HasSubstr("expected y to read c at places that its axes say, got c["));
}

TEST(ReadBorders, NotEverySecondRow) {
  const Axis i("i", 32), j("j", 64);
  const Tensor c = rows_joined();
  EXPECT_THAT(refusal(Graph(compute("y", {i, j}, exp(c(Expr(i) * 2, j))))),
              HasSubstr("expected y to read c at plain axes, at which loops are cut, got c["));
  const Axis k("k", 24), few("few", 5);
  EXPECT_THAT(refusal(Graph(compute("y", {k, j}, exp(c(k, min(j, k)))))),
              HasSubstr("at plain axes"));
  EXPECT_THAT(refusal(Graph(compute("y", {k, few, j}, exp(c(Expr(k) + few, j))))),
              HasSubstr("at plain axes"))
      << "two axes in one index";
}

TEST(ReadBorders, NotInRowsOfFewVectors) {
  const Tensor c = concat({matrix("a", 24, 2), matrix("b", 24, 14)}, 1, "c");
  EXPECT_EQ(refusal(Graph(relu(c, "y"))),
            "expected more than 16 steps of y along i1, where borders are, got 16");
  EXPECT_EQ(refusal(Graph(relu(concat({matrix("a", 24, 2), matrix("b", 24, 15)}, 1, "c"), "y"))),
            "");
}

TEST(ReadBorders, NotColours) {
  const Tensor c = concat({input("a", f32, {9, 64, 1}), input("b", f32, {9, 64, 1})}, 2, "c");
  EXPECT_THAT(refusal(Graph(relu(c, "y"))), HasSubstr("expected a loop over i2 of y"));
}

TEST(ReadBorders, NotInManyPieces) {
  const Tensor x = input("x", f32, {6, 6, 6, 32});
  EXPECT_THAT(refusal(Graph(relu(pad(x, {1, 1, 1, 1}, {1, 1, 1, 1}, 0, "c"), "y"))),
              HasSubstr("expected loops of y to be cut into at most 16 pieces, got 81"));
}

// Each of both by itself would make 9.
TEST(ReadBorders, NotInManyPiecesTogether) {
  const Tensor c = pad(input("x", f32, {32, 32, 16}), {2, 2, 0}, {2, 2, 0}, 0, "c");
  const Tensor p = pad(input("z", f32, {34, 34, 16}), {1, 1, 0}, {1, 1, 0}, 0, "p");
  EXPECT_EQ(refusal(Graph(relu(c, "y"))), "");
  EXPECT_THAT(refusal(Graph(add(c, p, "y"))), HasSubstr("at most 16 pieces, got 25"));
}

TEST(ReadBorders, NotInLoopsThatThreadsShareAsOne) {
  const Tensor x = input("x", f32, {3, 40, 40, 128});
  const Tensor c = pad(x, {0, 1, 0, 0}, {0, 1, 0, 0}, 0, "c");
  EXPECT_THAT(refusal(Graph({relu(c, "y"), neg(c, "z")}), Target::parse("x86-64-v3,cores=4")),
              HasSubstr("expected borders of y outside of the loops that threads share as one"));
}

// What computes one of the two sides.
TEST(ReadBorders, NotTwiceWhatItComputes) {
  const Axis i("i", 24), j("j", 64), left("j", 62);
  const Expr doubled = matrix("a")(i, j) * 2.0F;
  const Tensor c = compute("c", {i, j}, select(Expr(i) < 9, doubled, matrix("b")(i, j)));
  EXPECT_EQ(refusal(Graph(compute("y", {i, left}, c(i, left) + c(i, Expr(left) + 2)))),
            "expected c to be read once, for it computes what it chooses among");
  const Tensor y = compute("y", {i, left}, exp(c(i, Expr(left) + 2)));
  EXPECT_EQ(refusal(Graph({y, compute("z", {i, left}, exp(c(i, left)))})),
            "expected c to be read once, for it computes what it chooses among");
}

TEST(ReadBorders, NotWhatThePolicyDoesNotWant) {
  const Graph graph(relu(rows_joined(), "y"));
  Names asked;
  const auto unwanted = [&](const Op& op) -> std::optional<FusionRefusal> {
    asked.insert(op.name);
    return FusionRefusal("expected another day");
  };
  const ReadBorders found = read_borders(graph, kV3, {}, unwanted);
  EXPECT_EQ(found.inlined, Names{});
  EXPECT_TRUE(found.readers.empty());
  EXPECT_EQ(asked, Names{"c"});
  EXPECT_EQ(found.refused.at("c").reason, "expected another day");
}

TEST(ReadBorders, WindowsOfRowsWhereThePolicyDoesNotWantIt) {
  const Tensor c = concat({matrix("a", 300, 1024), matrix("b", 212, 1024)}, 0, "c");
  const Graph graph(relu(c, "y"));
  EXPECT_TRUE(share_loops(graph, kV3).loop_groups().empty());
  const LoopPolicy no_borders = [](const LoopCandidate& candidate) -> std::optional<FusionRefusal> {
    if (candidate.pattern != kBordersThrough) return std::nullopt;
    return FusionRefusal("expected another day");
  };
  const Graph shared = share_loops(graph, kV3, no_borders);
  ASSERT_EQ(shared.loop_groups().size(), 1U);
  EXPECT_EQ(shared.loop_groups()[0].kind, LoopGroupKind::windows);
}

TEST(ReadBorders, NotOperatorByOperator) {
  DeriveOptions options;
  options.fuse = false;
  const Graph graph(relu(rows_joined(), "y"));
  EXPECT_THAT(to_string(derive_schedule(graph, kV3, options)), Not(HasSubstr("compute_inline")));
}

// Why c has no borders.
std::string why_not(const Expr& body) {
  const Axis i("i", 24), j("j", 64);
  return why_not_borders(*compute("c", {i, j}, body).op()).value_or("");
}

TEST(WhyNotBorders, OfWhatChoosesOtherwise) {
  const Axis i("i", 24), j("j", 64);
  const Tensor x = matrix("x"), z = matrix("z");
  const char* const kPlace = "expected c to choose by place, and nothing else";
  EXPECT_EQ(why_not(select(Expr(i) < 9, x(i, j), z(i, j))), "");
  EXPECT_EQ(why_not(select(x(i, j) > 0.0F, x(i, j), z(i, j))), kPlace) << "data";
  EXPECT_EQ(why_not(select(input("v", f32, {24})(i) > 0.0F, x(i, j), z(i, j))), kPlace)
      << "data of one axis";
  EXPECT_EQ(why_not(select(Expr(i) < j, x(i, j), z(i, j))), kPlace) << "two axes";
  EXPECT_EQ(why_not(select(Expr(i) < 9, x(i, j) * 2.0F, z(i, j))), "") << "arithmetic";
  EXPECT_EQ(why_not(x(i, j) + select(Expr(i) < 9, 1.0F, 2.0F)), kPlace) << "a choice in a sum";
  const Expr place = min(cast(i32, input("rows", u8, {24})(i)), 23);
  EXPECT_EQ(why_not(select(Expr(i) < 9, x(place, j), z(i, j))), kPlace) << "places that data say";
  EXPECT_EQ(why_not(x(i, j)), kPlace) << "no choice";
  EXPECT_EQ(why_not_borders(*sum(x, {1}, false, "c").op()).value_or(""),
            "expected c to be elements that are chosen one by one");
  const Tensor none = concat({input("e", f32, {0, 3}), input("f", f32, {0, 2})}, 1, "c");
  EXPECT_EQ(why_not_borders(*none.op()).value_or(""),
            "expected c to be elements that are chosen one by one");
  EXPECT_EQ(why_not_borders(*x.op()).value_or(""),
            "expected x to be elements that are chosen one by one");
}

TEST(WhyNotChoose, OfWhatDoesNotReadIt) {
  const Tensor c = rows_joined();
  EXPECT_EQ(why_not_choose(*c.op(), *relu(c, "y").op()), std::nullopt);
  EXPECT_EQ(why_not_choose(*c.op(), *relu(matrix("x"), "y").op()).value_or(""),
            "expected y to read c");
  EXPECT_EQ(why_not_choose(*c.op(), *matrix("x").op()).value_or(""), "expected x to be computed");
}

TEST(WhyNotChoose, NotWhatBecomesLarge) {
  std::vector<Tensor> parts;
  for (int i = 0; i < 150; ++i) parts.push_back(matrix("x" + std::to_string(i), 1));
  const Tensor c = concat(parts, 0, "c");
  EXPECT_THAT(why_not_choose(*c.op(), *relu(c, "y").op()).value_or(""),
              HasSubstr("expected at most 1000 operations when c is written out in y, got "));
}

TEST(WrittenOut, IsOneOperation) {
  const Tensor c = rows_joined();
  const Graph grouped = fuse_epilogues(Graph(relu(exp(c, "e"), "y")));
  const Op& group = *op_of(grouped, "y");
  ASSERT_EQ(group.kind, OpKind::fused);
  const OpPtr made = written_out(group, {c.op().get()});
  EXPECT_EQ(made->kind, OpKind::compute);
  EXPECT_EQ(made->name, "y");
  EXPECT_EQ(to_string(made->body),
            "max(exp(select(i0 < 24, a[min(i0, 23), i1], b[max(i0 - 24, 0), i1])), 0f)");
}

}  // namespace
}  // namespace emulsion

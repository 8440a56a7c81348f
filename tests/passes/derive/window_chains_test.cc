// Windows that slide in derived schedules: what joins a chain, what does not and why, and whether
// it pays.

#include "passes/derive/window_chains.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "passes/fuse/fuse_epilogues.h"
#include "tests/passes/derive/stencil_graphs.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");
const Axis i("i", 8), j("j", 6), k("k", 3);

// Why the operation p of a graph cannot slide along axis `row` of y; "" when it can.
std::string why_not(const Tensor& y, size_t row = 0) {
  const Graph grouped = fuse_epilogues(Graph(y));
  return why_not_slide(*op_of(grouped, "p"), *op_of(grouped, "y"), row, small_cache(1))
      .value_or("");
}

// p[i, j] = x[i, j] * 2 of ten rows of six columns.
Tensor producer(const Extent& rows = 10, const Extent& columns = 6) {
  const Axis wide("i", rows), all("j", columns);
  return compute("p", {wide, all}, input("x", f32, {rows, columns})(wide, all) * 2.0f);
}

TEST(WhyNotSlide, RowsAtConstantDistancesSlide) {
  Tensor p = producer();
  EXPECT_EQ(why_not(compute("y", {i, j}, p(i, j) + p(Expr(i) + 2, j))), "");
  const Axis size("i", kSize);
  Tensor long_p = producer(kSize + Extent(1));
  EXPECT_EQ(why_not(compute("y", {size, j}, long_p(size, j) + long_p(Expr(size) + 1, j))), "");
}

TEST(WhyNotSlide, GroupsOfPointwiseOperationsSlide) {
  Tensor x = input("x", f32, {10, 6});
  Tensor p = relu(x - 1.0f, "p");
  EXPECT_EQ(why_not(compute("y", {i, j}, p(i, j) + p(Expr(i) + 2, j))), "");
  Tensor stencil = compute("p", {i, j}, x(i, j) + x(Expr(i) + 2, j));
  EXPECT_EQ(why_not(add(relu(stencil), 1, "y")), "");
}

TEST(WhyNotSlide, RowsBehindTheSameImageSlide) {
  const Axis b("b", kSize);
  Tensor x = input("x", f32, {kSize, 10, 6});
  const Axis wide("i", 10);
  Tensor p = compute("p", {b, wide, j}, x(b, wide, j) + 1.0f);
  EXPECT_EQ(why_not(compute("y", {b, i, j}, p(b, i, j) + p(b, Expr(i) + 2, j)), 1), "");
}

TEST(WhyNotSlide, WhatCombinesAWindowSlides) {
  Tensor p = producer();
  EXPECT_EQ(why_not(compute("y", {i, j}, reduce_max(k, p(Expr(i) + Expr(k), j)))), "");
  EXPECT_EQ(why_not(compute("y", {i, j}, sum(k, p(Expr(i) + 2 - Expr(k), j)))), "");
  const Axis wide("i", 10);
  Tensor x = input("x", f32, {12, 6});
  Tensor pooled = compute("p", {wide, j}, reduce_max(k, x(Expr(wide) + Expr(k), j)));
  EXPECT_EQ(why_not(compute("y", {i, j}, pooled(i, j) + pooled(Expr(i) + 2, j))), "");
}

TEST(WhyNotSlide, EverySecondRowSlides) {
  const Axis half("i", 4);
  Tensor p = producer();
  EXPECT_EQ(why_not(compute("y", {half, j}, p(half * 2, j) + p(half * 2 + 1, j))), "");
}

TEST(WhyNotSlide, PartsOfRowsSlide) {
  Tensor p = producer(10, 7);
  EXPECT_EQ(why_not(compute("y", {i, j}, p(i, j) + p(Expr(i) + 2, j))), "");
  EXPECT_EQ(why_not(compute("y", {i, j}, p(i, Expr(j) + 1) + p(Expr(i) + 2, Expr(j) + 1))), "");
}

// An index inside [0, extent).
Expr clamped(const Expr& index, const Extent& extent) {
  return min(max(index, 0), extent_value(extent - Extent(1)));
}

TEST(WhyNotSlide, RowsThatAreClampedAtTheBorderSlide) {
  Tensor p = producer(8);
  EXPECT_EQ(why_not(compute("y", {i, j}, p(clamped(i - 1, 8), j) + p(clamped(i + 1, 8), j))), "");
  EXPECT_EQ(why_not(compute("y", {i, j}, p(max(i - 1, 0), j) + p(min(i + 1, 7), j))), "");
  EXPECT_EQ(why_not(compute("y", {i, j}, reduce_max(k, p(clamped(i + k - 1, 8), j)))), "");
  const Axis size("i", kSize), half("i", 4);
  Tensor long_p = producer(kSize);
  EXPECT_EQ(why_not(compute("y", {size, j}, long_p(clamped(size + 1, kSize), j))), "");
  EXPECT_EQ(why_not(compute("y", {half, j}, p(clamped(half * 2 + 1, 8), j) + p(half * 2, j))), "");
}

TEST(WhyNotSlide, ColumnsThatAreClampedAtTheBorderSlide) {
  Tensor p = producer();
  EXPECT_EQ(why_not(compute("y", {i, j}, p(i, clamped(j - 1, 6)) + p(i + 2, clamped(j + 1, 6)))),
            "");
}

TEST(WhyNotSlide, NotRowsClampedAtARunTimeDistance) {
  const Axis size("i", kSize);
  Tensor p = producer(kSize);
  EXPECT_EQ(why_not(compute("y", {size, j}, p(min(size, 3), j) + p(size, j))),
            "expected indices of p that are affine, but for clamps");
}

TEST(WhyNotSlide, NotRowsClampedFromTheLastToTheFirst) {
  Tensor p = producer(8);
  EXPECT_EQ(why_not(compute("y", {i, j}, p(clamped(8 - Expr(i), 8), j) + p(i, j))),
            "expected reads of p at constant distances from a multiple of i");
}

TEST(WhyNotSlide, NotClampedRowsAtTwoRates) {
  const Axis half("i", 4);
  Tensor p = producer(8);
  EXPECT_EQ(why_not(compute("y", {half, j}, p(clamped(half * 2 + 1, 8), j) + p(half, j))),
            "expected reads of p that go down its rows at one rate, got 2 and 1");
}

TEST(WhyNotSlide, NotAnotherImageAtTheBorder) {
  const Axis b("b", 4), wide("i", 10);
  Tensor x = input("x", f32, {4, 10, 6});
  Tensor p = compute("p", {b, wide, j}, x(b, wide, j) + 1.0f);
  EXPECT_EQ(why_not(compute("y", {b, i, j}, p(clamped(b + 1, 4), i + 2, j)), 1),
            "expected reads of p at the same b");
}

TEST(WhyNotSlide, NotClampedColumnsThatAreOtherOnesForEachRow) {
  Tensor p = producer(10, 13);
  EXPECT_EQ(why_not(compute("y", {i, j}, p(i, clamped(i + j + 1, 13)) + p(i + 2, j))),
            "expected columns of p that are the same for each i");
}

TEST(WhyNotSlide, NotWhatSumsUpWholeAxes) {
  Tensor x = input("x", f32, {10, 6, 3});
  const Axis wide("i", 10);
  Tensor p = compute("p", {wide, j}, sum(k, x(wide, j, k)));
  EXPECT_EQ(why_not(compute("y", {i, j}, p(i, j) + p(Expr(i) + 2, j))),
            "expected p to combine windows, if it combines anything");
}

TEST(WhyNotSlide, NotProducts) {
  Tensor x = input("x", f32, {12, 3}), w = weight("w", f32, {3, 3, 6});
  const Axis wide("i", 10), c("c", 3);
  Tensor p = compute("p", {wide, j}, sum({k, c}, x(Expr(wide) + Expr(k), c) * w(k, c, j)));
  EXPECT_EQ(why_not(compute("y", {i, j}, p(i, j) + p(Expr(i) + 2, j))),
            "expected p to be no product that is computed in register tiles");
}

TEST(WhyNotSlide, NotSumsThatAreNotKeptInRegisters) {
  const Axis columns("j", 4);
  Tensor p = producer(10, 8);
  EXPECT_EQ(why_not(compute("y", {i, columns}, reduce_max(k, p(Expr(i) + Expr(k), columns * 2)))),
            "expected y to keep its sums in registers");
}

TEST(WhyNotSlide, NotAnArgument) {
  Tensor x = input("p", f32, {10, 6});
  EXPECT_EQ(why_not(compute("y", {i, j}, x(i, j) + x(Expr(i) + 2, j))),
            "expected p to be computed");
}

TEST(WhyNotSlide, NotAlongTheLastAxis) {
  Tensor p = producer();
  EXPECT_EQ(why_not(compute("y", {i, j}, p(i, j) + p(Expr(i) + 2, j)), 1),
            "expected p to have columns behind axis 1");
}

TEST(WhyNotSlide, NotWithoutElements) {
  const Axis none("j", 0);
  Tensor p = producer(10, 0);
  EXPECT_EQ(why_not(compute("y", {i, none}, p(i, none) + p(Expr(i) + 2, none))),
            "expected p to have elements");
}

TEST(WhyNotSlide, NotWhatIsReadByAnotherOperation) {
  Tensor p = producer();
  const Graph graph(compute("y", {i, j}, p(i, j) + p(Expr(i) + 2, j)));
  EXPECT_EQ(why_not_slide(*op_of(graph, "y"), *op_of(graph, "p"), 0, small_cache(1)),
            "expected p to read y");
}

TEST(WhyNotSlide, NotRowsThatAreGathered) {
  Tensor p = producer();
  Tensor rows = input("rows", u8, {8});
  const Expr row = min(cast(i32, rows(i)), 9);
  EXPECT_EQ(why_not(compute("y", {i, j}, p.at({row, j}) + p(i, j))),
            "expected indices of p that are affine, but for clamps");
}

TEST(WhyNotSlide, NotRowsAtTwoRates) {
  const Axis half("i", 4);
  Tensor p = producer();
  EXPECT_EQ(why_not(compute("y", {half, j}, p(half * 2, j) + p(half, j))),
            "expected reads of p that go down its rows at one rate, got 2 and 1");
}

TEST(WhyNotSlide, NotWindowsOfARunTimeLength) {
  const Axis size("k", kSize);
  Tensor p = producer(kSize + Extent(7));
  EXPECT_EQ(why_not(compute("y", {i, j}, reduce_max(size, p(Expr(i) + Expr(size), j)))),
            "expected reads of p at constant distances from a multiple of i");
}

TEST(WhyNotSlide, NotRowsFromTheLastToTheFirst) {
  Tensor p = producer();
  EXPECT_EQ(why_not(compute("y", {i, j}, p(9 - Expr(i), j) + p(i, j))),
            "expected reads of p at constant distances from a multiple of i");
}

TEST(WhyNotSlide, NotRowsAtARunTimeDistance) {
  const Axis size("i", kSize);
  Tensor p = producer(kSize * Extent(2));
  EXPECT_EQ(why_not(compute("y", {size, j}, p(size, j) + p(Expr(size) + size_value("B"), j))),
            "expected reads of p at constant distances from a multiple of i");
}

TEST(WhyNotSlide, NotColumnsThatAreOtherOnesForEachRow) {
  Tensor p = producer(10, 16);
  EXPECT_EQ(why_not(compute("y", {i, j}, p(i, Expr(i) + Expr(j)) + p(Expr(i) + 2, j))),
            "expected columns of p that are the same for each i");
}

TEST(WhyNotSlide, NotAnotherImage) {
  const Axis b("b", 4), wide("i", 10), more("b", 5);
  Tensor x = input("x", f32, {5, 10, 6});
  Tensor p = compute("p", {more, wide, j}, x(more, wide, j) + 1.0f);
  EXPECT_EQ(why_not(compute("y", {b, i, j}, p(b, i, j) + p(Expr(b) + 1, Expr(i) + 2, j)), 1),
            "expected reads of p at the same b");
}

// --- which chains there are ---------------------------------------------------------------------

// "bx by -> y along 0": producers, the first to be computed first.
std::vector<std::string> chains(const Graph& graph, const Target& target) {
  std::vector<std::string> texts;
  const Graph grouped = fuse_epilogues(graph);
  for (const WindowChain& chain : window_chains(grouped, target)) {
    std::string text = "-> " + chain.reader->name + " along " + std::to_string(chain.row);
    for (const WindowChain::Producer& producer : chain.producers) {
      text.insert(0, producer.op->name + " ");
    }
    texts.push_back(text);
  }
  return texts;
}

using Strings = std::vector<std::string>;

TEST(WindowChains, AsLongAsTheyGo) {
  std::map<std::string, Strings> found;
  for (const auto& [name, graph] : stencil_graphs()) {
    found[name] = chains(graph, small_cache(1));
    EXPECT_EQ(found[name].size(), 1U) << name;
  }
  EXPECT_EQ(found["chain_of_three"], Strings{"bx by -> y along 0"});
  EXPECT_EQ(found["two_producers"], Strings{"gain bx -> y along 0"});
  EXPECT_EQ(found["padded"], Strings{"padded bx -> y along 0"});
  EXPECT_EQ(found["down_then_across"], Strings{"by -> y along 0"});
  EXPECT_EQ(found["groups"], Strings{"bx relu by -> y along 0"});
  EXPECT_EQ(found["images"], Strings{"bx -> y along 1"});
  EXPECT_EQ(found["depthwise"], Strings{"dw -> y along 1"});
  EXPECT_EQ(found["depthwise_groups"], Strings{"relu -> y along 1"});
  EXPECT_EQ(found["pooled"], Strings{"dw -> y along 1"});
  EXPECT_EQ(found["averages"], Strings{"y_pad y_sum -> y along 1"});
  EXPECT_EQ(found["two_readers"], Strings{"bx by -> y along 0"});
  EXPECT_EQ(found["clamped_chain"], Strings{"down across -> y along 0"});
  EXPECT_EQ(found["clamped_images"], Strings{"down across -> y along 1"});
  EXPECT_EQ(found["clamped_rows"], Strings{"first second -> y along 0"});
  EXPECT_EQ(found["spread"], Strings{"d sums squares -> y along 0"});
}

TEST(WindowChains, NotWithAnotherReader) {
  Tensor p = producer(200, 24);
  const Axis rows("i", 198), columns("j", 24);
  Tensor y = compute("y", {rows, columns}, p(rows, columns) + p(Expr(rows) + 2, columns));
  EXPECT_EQ(chains(Graph(y), small_cache(1)), Strings{"p -> y along 0"});
  EXPECT_EQ(chains(Graph({y, p}), small_cache(1)), Strings{});  // the caller
  EXPECT_EQ(chains(Graph({y, transpose(p)}), small_cache(1)), Strings{});
}

// a, twice as many rows as y: read by y itself and by what y reads at half the rate.
TEST(WindowChains, NotWithReadersThatNeedItsRowsAtTwoRates) {
  const Axis rows("i", 198), half("i", 99), columns("j", 24);
  const auto graph = [&](int step) {
    Tensor p = producer(200, 24);
    Tensor q = compute("q", {rows, columns}, p(rows, columns) - p(Expr(rows) + 2, columns));
    return Graph(
        compute("y", {half, columns},
                q(half * 2, columns) * q(half * 2 + 1, columns) + p(half * step, columns)));
  };
  EXPECT_EQ(chains(graph(2), small_cache(1)), Strings{"p q -> y along 0"});
  EXPECT_EQ(chains(graph(1), small_cache(1)), Strings{"q -> y along 0"});
}

// What reads sums at their own places is computed while these are in registers.
TEST(WindowChains, NotSumsAloneThatCanWait) {
  const Axis i("i", 198), j("j", 24), k("k", 3);
  const Tensor x = producer(200, 32);
  const auto means = [&](int step) {
    const Tensor s = compute("s", {i, j}, sum(k, x(i, j + k)));
    return compute("y", {i, j}, s(i, j) * (step == 0 ? Expr(0.5F) : x(i + step, j)));
  };
  EXPECT_EQ(chains(Graph({means(0), x}), small_cache(1)), Strings{});
  EXPECT_EQ(chains(Graph(means(2)), small_cache(1)), Strings{"p s -> y along 0"});
}

TEST(WindowChains, NotWhatFitsTheCache) {
  EXPECT_EQ(chains(blur_graph(200, 24), small_cache(1)).size(), 1U);
  EXPECT_EQ(chains(blur_graph(150, 24), small_cache(1)), Strings{});
}

// Elements are read again from the first cache then; many sums do not wait for the second.
TEST(WindowChains, OfElementsBeyondTheFirstCacheAndOfSumsBeyondHalfOfTheSecond) {
  const Target target = Target::parse("x86-64-v3,cores=1,l1=32768,l2=1048576");
  EXPECT_EQ(chains(blur_graph(300, 128), target).size(), 1U);
  EXPECT_EQ(chains(blur_graph(250, 128), target), Strings{});
  const auto twice = [](int rows) {
    const Axis more_rows("i", rows + 2), row("i", rows), column("j", 128), more("j", 130);
    const Tensor x = input("x", f32, {rows + 2, 132});
    const Tensor s = compute("s", {more_rows, more}, sum(k, x(more_rows, more + k)));
    return Graph(compute("y", {row, column}, s(row, column) * s(row + 2, column + 2)));
  };
  EXPECT_EQ(chains(twice(1020), target), Strings{"s -> y along 0"});
  EXPECT_EQ(chains(twice(980), target), Strings{});
}

TEST(WindowChains, NotRowsTooLongToKeep) {
  EXPECT_EQ(chains(blur_graph(200, 680), small_cache(1)).size(), 1U);
  EXPECT_EQ(chains(blur_graph(200, 690), small_cache(1)), Strings{});
}

TEST(WindowChains, NotColumnsThatAnOperandLiesAcross) {
  Target target = small_cache(1);
  target.l1_bytes = 512;
  Tensor x = input("x", f32, {24, 202});
  const Axis wide("i", 202), rows("i", 200), columns("j", 24);
  Tensor p = compute("p", {wide, columns}, x(columns, wide) + 1.0f);
  EXPECT_EQ(
      chains(Graph(compute("y", {rows, columns}, p(rows, columns) + p(Expr(rows) + 2, columns))),
             target),
      Strings{});
}

TEST(WindowChains, NotStripsTooFewForTheThreads) {
  EXPECT_EQ(chains(blur_graph(512, 256), small_cache(4)).size(), 1U);
  EXPECT_EQ(chains(blur_graph(64, 600), small_cache(4)).size(), 1U) << "of 16 rows each";
  EXPECT_EQ(chains(blur_graph(63, 640), small_cache(4)), Strings{});
}

TEST(WindowChains, NotThreadsForTooLittleWorkAtSomeSizes) {
  const Target target = small_cache(4);
  EXPECT_EQ(chains(blur_graph(kSize, 2048, u8), target).size(), 1U);
  // An output has several ways, of which each call takes one.
  EXPECT_EQ(chains(blur_graph(kSize, 2000, u8), target).size(), 1U);
  EXPECT_EQ(chains(blur_graph(2000, kSize), target).size(), 1U);
  for (const Graph& graph : {blur_graph(kSize, 2000, u8), blur_graph(2000, kSize)}) {
    const Tensor y(graph.outputs().front());
    EXPECT_EQ(chains(Graph(reduce_max(y, {0, 1}, false, "most")), target), Strings{});
  }
}

// Padding has rows where what is padded has none.
TEST(WindowChains, NotWhatMayBeEmptyWhereItsReaderIsNot) {
  for (const int cores : {1, 4}) {
    const Tensor x = input("x", f32, {kSize, 40});
    EXPECT_EQ(chains(Graph(pad(x + 1.0f, {1, 2}, {1, 3})), small_cache(cores)), Strings{});
  }
}

// They would be read before they have left the processor's buffer: of what is padded before or
// behind it, by several vectors.
TEST(WindowChains, NotShortRowsThatAreReadOnce) {
  const auto chains_of = [](bool pads_first, int columns, const char* level = "x86-64-v3") {
    const Tensor x = input("x", f32, {20000, columns});
    const Tensor y = pads_first ? relu(pad(x, {1, 1}, {1, 1}), "y") : pad(relu(x), {1, 1}, {1, 1});
    Target target = Target::parse(std::string(level) + ",cores=1");
    target.l2_bytes = small_cache(1).l2_bytes;
    return chains(Graph(y), target).size();
  };
  for (const auto& [columns, found] : {std::pair(17, 0U), {31, 0U}, {32, 1U}, {60, 1U}}) {
    EXPECT_EQ(chains_of(true, columns - 2), found) << columns;
    EXPECT_EQ(chains_of(false, columns), found) << columns;
  }
  for (const auto& [columns, found] : {std::pair(16, 0U), {17, 1U}}) {  // in vectors of four
    EXPECT_EQ(chains_of(true, columns - 2, "x86-64-v2"), found) << columns;
    EXPECT_EQ(chains_of(false, columns, "x86-64-v2"), found) << columns;
  }
  EXPECT_EQ(chains(blur_graph(20000, 17), small_cache(1)).size(), 1U) << "read again";
}

// What is read at two places is read again, whatever its reader chooses.
TEST(WindowChains, ShortRowsOfWhichAChoiceReadsTwo) {
  const Axis i("i", 20000), j("j", 17);
  const Tensor x = input("x", f32, {20000, 17});
  const Tensor v = x + 1.0f;
  const auto row = [&](int offset) { return v(clamp(i + offset, 0, 19999), j); };
  const Expr inside = i >= 1 && i < 19999;
  const Tensor one = compute("y", {i, j}, select(inside, row(-1), 0.0f));
  const Tensor two = compute("y", {i, j}, select(j < 8, row(-1), row(1)));
  EXPECT_EQ(chains(Graph(one), small_cache(1)), Strings{});
  EXPECT_EQ(chains(Graph(two), small_cache(1)).size(), 1U);
}

TEST(WindowChains, NotTooFewRowsForStripsWhateverTheColumns) {
  EXPECT_EQ(chains(blur_graph(60, kSize), small_cache(4)), Strings{});
}

// y(i, j) = p(i, j) + p(i + distance, j)
Graph far_rows_graph(const Extent& rows, int distance) {
  const Axis i("i", rows), j("j", 16);
  Tensor p = producer(rows + Extent(distance), 16);
  return Graph(compute("y", {i, j}, p(i, j) + p(i + distance, j)));
}

// Those of the first row are computed before it, and of a run-time number as many strips as begin.
TEST(WindowChains, NotMoreRowsThanAreComputedForNothing) {
  EXPECT_EQ(chains(far_rows_graph(200, 100), small_cache(1)).size(), 1U);
  EXPECT_EQ(chains(far_rows_graph(200, 101), small_cache(1)), Strings{});
  EXPECT_EQ(chains(far_rows_graph(kSize, 25), small_cache(1)).size(), 1U);
  EXPECT_EQ(chains(far_rows_graph(kSize, 26), small_cache(1)), Strings{});
}

TEST(WindowChains, NotOperatorByOperator) {
  DeriveOptions options;
  options.fuse = false;
  EXPECT_EQ(
      to_string(derive_schedule(blur_graph(200, 24), small_cache(1), options)).find("store_at"),
      std::string::npos);
}

}  // namespace
}  // namespace emulsion

// Graphs that random chains found and for which no schedule was derived, or one that lowering
// refuses: the smallest forms of them, and what they compute.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "dsl/graph_text.h"
#include "dsl/schedule_text.h"
#include "passes/pipeline.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

Graph graph_of(const std::string& lines) { return parse_graph("emulsion graph 1\n" + lines); }

// As users get it: fused, derived and lowered.
std::string schedule_for(const std::string& lines, const std::string& target) {
  return to_string(run_pipeline(graph_of(lines), Target::parse(target)).schedule);
}

// Whatever instructions there are, for so many cores.
void expect_lowers(const Graph& graph, int cores) {
  for (const char* const level : kLevels) {
    EXPECT_NO_THROW(run_pipeline(graph, target_of(level, cores))) << level;
  }
}

std::string batch_norm(int side) {
  const std::string of_picture = std::to_string(side) + ", " + std::to_string(side) + ", 64]";
  const std::string axes = "[i: 8, j: " + std::to_string(side) + ", k: " + std::to_string(side);
  const std::string sums = "[z: 1, c: 64] = sum(i: 8, j: " + std::to_string(side) +
                           ", k: " + std::to_string(side) + ") ";
  return "input x: f32[8, " + of_picture + "\nm" + sums + "x[i, j, k, c]\n" +
         "n[z: 1, c: 64] = m[z, c] / 100f\n" + "s" + axes + ", c: 64] = x[i, j, k, c] - n[0, c]\n" +
         "v" + sums + "s[i, j, k, c] * s[i, j, k, c]\n" + "r[z: 1, c: 64] = sqrt(v[z, c] + 1f)\n" +
         "y" + axes + ", c: 64] = s[i, j, k, c] / r[0, c]\noutput y\n";
}

// Two threads share the rows of the squares, which are more work than what they are squares of.
TEST(FoundGraphs, SumsThatThreadsShareWhenTheyComputeWhatTheyRead) {
  const std::string schedule = schedule_for(batch_norm(14), "x86-64-v4,cores=2");
  EXPECT_TRUE(has(schedule, "v.rfactor(block, v_parts)\n")) << schedule;
  EXPECT_FALSE(has(schedule, "v.compute_at(r")) << schedule;
  const std::string small = schedule_for(batch_norm(3), "x86-64-v4,cores=2");
  EXPECT_TRUE(has(small, "v.compute_at(r, ")) << small;
  EXPECT_TRUE(derives_on_all(graph_of(batch_norm(3)), {1}));
}

TEST(FoundGraphs, TheLedgerSaysWhyTheyDoNotWait) {
  const Lowered lowered =
      run_pipeline(graph_of(batch_norm(14)), Target::parse("x86-64-v4,cores=2"));
  const std::string text = to_string(lowered.fusion);
  EXPECT_TRUE(has(text, "threads share the rows of v, which computes what it reads")) << text;
}

// For each of a few lengths, and for the others.
TEST(FoundGraphs, ThreadsShareRowsOfEveryLengthWhateverTheLengthIs) {
  const std::string schedule = schedule_for(
      "size W\ninput x: f32[1000, 1000, W]\n"
      "m[i: 1000, j: 1000] = min(k: W) x[i, j, k]\n"
      "y[i: 1000, j: 1000, k: W] = x[i, j, k] * m[i, j]\noutput y\n",
      "x86-64-v2,cores=2");
  EXPECT_TRUE(has(schedule,
                  "y_few.vectorize(lane)\ny_few.parallel(i)\ny_few.specialize(W == 2)\n"
                  "y_few.unroll(k)\ny_few.specialize(W == 3)\n"))
      << schedule;
}

// The last vector of a row that is two and a little more has no border inside.
TEST(FoundGraphs, AShortRowWithABorder) {
  const Graph graph = graph_of(
      "input x: u16[20]\ninput z: u16[20]\n"
      "y[i: 20] = select(i < 8, x[i] * 3u16, z[i])\noutput y\n");
  EXPECT_TRUE(derives_on_all(graph, {1}));
}

// A copy has the axes of what is copied, also those of one step that the normal form has not.
TEST(FoundGraphs, PanelsOfAnOperandWithAxesOfOneStep) {
  const std::string lines =
      "size H\ninput x: u8[16, 16, 1, 1]\ninput z: u8[16, H]\n"
      "y[n: H, i: 16, k: 1, l: 1] = sum(s: 16) i32(x[i, s, k, l]) * i32(z[s, n])\noutput y\n";
  const std::string schedule = schedule_for(lines, "x86-64-v3,cores=1");
  EXPECT_TRUE(has(schedule, "x_panel.reorder_storage(i0, i1, i2, i3)\n")) << schedule;
  EXPECT_TRUE(derives_on_all(graph_of(lines), {0, 1, 2, 33}));
}

// Along an axis of one step there is one place, however an index says it; the output that is
// stored into reads the other at its own index all the same.
TEST(FoundGraphs, NotStoredInAnOutputThatReadsItAtAnotherIndex) {
  const std::string lines =
      "input x: f32[4, 1, 64, 1, 1]\n"
      "s[c: 1, t: 64, u: 1, v: 1] = sum(r: 4) x[r, c, t, u, v]\n"
      "p[j: 1, k: 67, l: 1, m: 1] = "
      "select(k - 1 >= 0 && k - 1 < 64, s[j, max(min(k - 1, 63), 0), l, m], 3f)\n"
      "y[j: 1, k: 67, l: 1, m: 1] = "
      "select(l - 1 >= 0, p[j, k, max(l - 1, 0), m], 0f) + p[j, k, l, m] * 2f\noutput y\n";
  EXPECT_FALSE(has(schedule_for(lines, "x86-64-v2,cores=64"), "store_in_output"));
  EXPECT_TRUE(derives_on_all(graph_of(lines), {1}));
}

// Long rows store the choice, short ones compute it where it is read: so neither has a way.
TEST(FoundGraphs, WaysThatDoNotComputeTheSameInline) {
  const Graph graph = graph_of(
      "size N\ninput x: f32[4, 3, N]\nm[i: 4, j: 3] = min(k: N) x[i, j, k]\n"
      "c[i: 4, j: 3] = select(j == 2, abs(m[i, 1] + m[i, 0] * 2f - m[i, 0]), "
      "select(j == 1, m[i, 1], m[i, 1] + m[i, 2] * 2f))\n"
      "y[i: 4, j: 3] = max(tanh(c[i, j]), 0f) - 2f\noutput y\n");
  EXPECT_TRUE(derives_on_all(graph, {1, 2, 40, 300}));
}

// Some rows at a time: vectors through more of them would go through rows that are computed later.
TEST(FoundGraphs, RowsOfPixelsAreNotSummedByPixels) {
  const Graph few = graph_of(
      "input x: f64[3, 4, 3, 3]\nm[i: 3, j: 4, k: 3] = max(l: 3) x[i, j, k, l]\n"
      "s[i: 3, j: 4, k: 3] = sum(l: 3) exp(x[i, j, k, l] - m[i, j, k])\n"
      "y[i: 3, j: 4, k: 3, l: 3] = exp(x[i, j, k, l] - m[i, j, k]) / s[i, j, k]\n"
      "output y\noutput m\n");
  EXPECT_TRUE(derives_on_all(few, {1}));
  EXPECT_TRUE(derives(few, Target::parse("x86-64-v4,cores=16"), {1}));
  const std::string many =
      "input x: f32[16, 1000, 3, 3]\nm[j: 1000, k: 3, l: 3] = max(i: 16) x[i, j, k, l]\n"
      "y[j: 1000, k: 3, l: 3] = min(i: 16) select(x[i, j, k, l] == m[j, k, l], i, 16)\noutput y\n";
  for (const char* const level : kLevels) {
    EXPECT_NO_THROW(run_pipeline(graph_of(many), target_of(level, 1))) << level;
  }
}

TEST(FoundGraphs, NorAreTheyVectorsOfPixels) {
  const Graph graph = graph_of(
      "input x: i32[33, 4, 3, 4]\nm[i: 33, j: 4, l: 4] = max(k: 3) x[i, j, k, l]\n"
      "d[i: 33, j: 4, l: 4] = i32(f64(m[i, j, l]))\n"
      "c[i: 33, j: 4, k: 3, l: 4] = max(select(x[i, j, k, l] == d[i, j, l], x[i, j, k, l], 0), 0)\n"
      "s[i: 33, j: 4, k: 3] = sum(l: 4) c[i, j, k, l] * c[i, j, k, l]\n"
      "y[i: 33, j: 4, k: 3] = s[i, j, k] * 3 + 1\noutput y\n");
  EXPECT_TRUE(derives_on_all(graph, {1}));
  EXPECT_TRUE(derives(graph, Target::parse("x86-64-v3,cores=16"), {1}));
}

// Rows of a known number, whatever number there is of what they are in.
TEST(FoundGraphs, ChainsOfSeriesInAFewRowsOfARunTimeNumber) {
  const Graph graph = graph_of(
      "size W\ninput x: f32[W, 3, 3]\ninput z: f32[3, 3]\n"
      "s[i: W, j: 3, k: 3] = x[i, j, k] * z[j, k]\n"
      "g[i: W, j: 3, k: 3] = 0.5f * s[i, j, k] * (1f + erf(s[i, j, k] * 0.70710677f))\n"
      "y[i: W, j: 3, k: 3] = "
      "0.5f * g[i, j, k] * (1f + erf(g[i, j, k] * 0.70710677f)) * z[j, k]\noutput y\n");
  EXPECT_TRUE(derives_on_all(graph, {0, 1, 2, 33}));
}

// The loop over rows runs where the rows of s are empty.
TEST(FoundGraphs, OnePlaceOfRowsOfARunTimeLength) {
  for (const char* const place : {"max(min(0, H - 1), 0)", "max(min(i, H - 1), 0)"}) {
    const std::string lines = std::string("size H\nsize W\ninput x: f32[W, H, 100]\n") +
                              "s[i: W, k: H] = sum(r: 100) x[i, k, r]\n" + "y[i: W, j: H] = s[i, " +
                              place + "] * 2f + f32(j)\noutput y\n";
    EXPECT_FALSE(has(schedule_for(lines, "x86-64-v3,cores=1"), "s.compute_at(y, ")) << place;
    EXPECT_TRUE(derives_on_all(graph_of(lines), {0, 1, 2, 33})) << place;
  }
}

// The last piece of a loop begins at the last place, and ends behind it.
TEST(FoundGraphs, APieceOfWhichOnlyTheLastPlaceIsInside) {
  const Graph graph = graph_of(
      "size H\nsize W\ninput x: i16[H + 2]\n"
      "s[i: W] = sum(r: H + 2) x[r] + select(i == W - 1, "
      "i16(max(min(select(i >= 3 && i - 3 < H + 2, i32(x[max(min(i - 3, H + 1), 0)]), "
      "i32(x[max(min(i * 2 + 3, H + 1), 0)])) * 36, 100), 0)), x[r / 2])\n"
      "y[k: 2*H, i: W] = s[i] + i16(k)\noutput y\n");
  expect_lowers(graph, 2);
  EXPECT_TRUE(derives_on_all(graph, {1, 2, 16, 17, 33}));
}

// Sums in lanes are where the few rows of a step are a loop.
TEST(FoundGraphs, SumsOfAFewRowsInAStep) {
  const Graph graph = graph_of(
      "size H\ninput x: f32[20, 64, 2*H, 64]\ninput w: f32[64]\n"
      "p[i: 20, j: 64, k: 2*H, l: 64] = x[i, j, k, l] * 2f + 1f\n"
      "y[i: 20, j: 64, k: 2*H] = sum(u: 64) p[i, j, k, u / 2] * w[u]\noutput y\n");
  expect_lowers(graph, 64);
}

// A place that an axis of one step says with another: what is there is computed as it is written.
TEST(FoundGraphs, PlacesOfTwoAxesOfWhichOneHasOneStep) {
  const Graph graph = graph_of(
      "size H\nsize W\ninput x: u16[W, W, H]\ninput z: i32[H, W, 1]\n"
      "s[i: H, j: W] = sum(r: 1, t: 1) abs("
      "f32(x[max(min(z[i, j, t], W - 1), 0), j + t, i + t]) + "
      "f32(x[max(select(j == 0, W - 1, j - 1), 0), j, max(min(i + 2, H - 1), 0)]))\n"
      "y[i: H, j: W, u: 1] = (i16(s[i + u, j]) + i16(s[u + i, j + u])) / 8i16\noutput y\n");
  for (const char* const level : kLevels) {
    const std::string small = std::string(level) + ",cores=64,l1=32768,l2=64,l3=16777216";
    EXPECT_NO_THROW(run_pipeline(graph, target_of(level, 64))) << level;
    EXPECT_NO_THROW(run_pipeline(graph, Target::parse(small))) << level;
  }
}

// Of each row of e one element is read: it has no row of vectors.
TEST(FoundGraphs, ADiagonalInRows) {
  const Graph graph = graph_of(
      "size W\ninput x: f32[100, 100, W]\nm[i: 100, j: 100] = max(k: W) x[i, j, k]\n"
      "e[i: 100, j: 100] = exp(m[i, j])\n"
      "p[i: 100, k: W] = x[i, 0, k] + e[i, i]\ns[i: 100] = sum(k: W) exp(p[i, k])\n"
      "y[i: 100, k: W] = p[i, k] / s[i]\noutput y\n");
  expect_lowers(graph, 1);
}

// A reader without axes has none that vectors could go along.
TEST(FoundGraphs, OneNumberMadeOfSums) {
  const Graph graph = graph_of(
      "input x: f32[5, 8]\ns[n: 8] = sum(r: 5) x[r, n]\ny[] = s[0] + s[1] * 2f\noutput y\n");
  EXPECT_TRUE(derives_on_all(graph, {1}));
}

// Nor has what is copied, and what a product reads is a read: no value that another could compute.
TEST(FoundGraphs, ProductsOfOneNumber) {
  const Graph graph = graph_of(
      "input x: f32[1, 1, 31, 40]\ninput b: f32[1]\ninput w: f32[1]\n"
      "m[i: 1, j: 1] = max(k: 31, l: 40) x[i, j, k, l]\ns[i: 1] = sum(j: 1) m[i, j]\n"
      "d[i: 1, j: 1] = (m[i, j] - s[i] / 2f) * 2f + b[i]\n"
      "y[i: 1] = sum(j: 1) d[i, j] * w[j]\noutput y\n");
  EXPECT_TRUE(derives_on_all(graph, {1}));
}

// Of doubles a vector of 128 bits holds two: no four colours of a pixel.
TEST(FoundGraphs, FourColoursOfLongElements) {
  const Graph graph = graph_of(
      "size H\ninput x: i32[4, H, 4]\ninput z: f64[H, 4]\n"
      "y[j: H, k: 4] = min(i: 4) abs(x[i, j, k] - i32(z[j, k]))\noutput y\n");
  EXPECT_TRUE(derives_on_all(graph, {0, 1, 2, 15, 16, 33}));
}

// Rows of eight whole vectors: several at a time, in parts whose rows are no multiple of these.
TEST(FoundGraphs, ASumInPartsOfSeveralRowsAtATime) {
  const std::string schedule = schedule_for(
      "size H\ninput x: i32[H, 8]\ninput z: i32[H]\n"
      "y[] = sum(i: H, j: 8) abs(x[i, j] - z[i])\noutput y\n",
      "x86-64-v2,cores=64");
  EXPECT_TRUE(has(schedule, "y_parts_acc_rows_in_parts.partition(round)\n")) << schedule;
}

// Panels of two axes as one: a part of these at a time, inside of which rows are a loop.
TEST(FoundGraphs, PanelsOfSeveralAxes) {
  const std::string lines =
      "input x: f32[98, 19, 2]\ninput w: f32[9, 2]\n"
      "y[n: 9, i: 98, j: 19] = sum(u: 2) x[i, j, u] * w[n, u]\noutput y\n";
  const std::string schedule = schedule_for(lines, "x86-64-v4,cores=1");
  EXPECT_TRUE(has(schedule, "y.split(rows, panel, column, 48, shift_inwards)\n")) << schedule;
  EXPECT_TRUE(has(schedule, "y_acc.compute_at(y, tile)\n")) << schedule;
  EXPECT_TRUE(derives_on_all(graph_of(lines), {1}));
}

// What is kept of rows, where one loop that threads share is four axes of them.
TEST(FoundGraphs, AResultOfRowsInALoopOfSeveralAxes) {
  const std::string lines =
      "input x: f64[20, 3, 3, 20, 100]\n"
      "m[i: 20, j: 3, k: 3, l: 20] = max(n: 100) x[i, j, k, l, n]\n"
      "s[i: 20, j: 3, k: 3, l: 20] = sum(n: 100) exp(x[i, j, k, l, n] - m[i, j, k, l])\n"
      "z[i: 20, j: 3, k: 3, l: 20] = log(s[i, j, k, l]) + m[i, j, k, l]\n"
      "y[i: 20, j: 3, k: 3, l: 20, n: 100] = x[i, j, k, l, n] - z[i, j, k, l]\n"
      "output z\noutput y\n";
  const std::string schedule = schedule_for(lines, "x86-64-v2,cores=64");
  EXPECT_TRUE(has(schedule, "z.compute_at(y, l)\n")) << schedule;
}

// Heads of queries that share one head of keys, and other places that are one place, or affine,
// only where they are read through the move: there the sums are a product, with panels of what is
// moved.
TEST(FoundGraphs, AProductOnlyOfWhatIsReadThroughAMove) {
  const std::string queries = "input x: f32[64, 4, 8]\ninput v: f32[64, 8]\n";
  const std::string unit = "k[i: 64, z: 1, d: 8] = v[i, d]\n";
  const std::string heads = "k[i: 64, z: 2, d: 8] = v[i, d]\n";
  const std::string computed =
      "a[i: 64, d: 8] = max(v[i, d], 0f)\nk[i: 64, z: 1, d: 8] = a[i, d]\n";
  const std::vector<std::pair<std::string, std::string>> reads = {
      {unit, "min(h, 0)"},  {unit, "h / 4"},      {unit, "h % 1"},    {heads, "h % 2"},
      {heads, "min(h, 1)"}, {heads, "1 - h / 4"}, {computed, "h / 4"}};
  for (const auto& [moves, place] : reads) {
    const std::string lines = queries + moves +
                              "y[h: 4, i: 64, j: 64] = sum(d: 8) x[i, h, d] * k[j, " + place +
                              ", d]\noutput y\n";
    EXPECT_TRUE(has(schedule_for(lines, "x86-64-v3,cores=2"), "y_acc.copy_in(")) << lines;
    EXPECT_TRUE(derives_on_all(graph_of(lines), {1})) << lines;
    EXPECT_TRUE(derives(graph_of(lines), target_of("x86-64-v4", 16), {1})) << lines;
  }
}

// The same of a run-time number of rows, with heads that are made by a product, and all behind it.
TEST(FoundGraphs, AttentionWithOneHeadOfKeys) {
  const Graph graph = graph_of(
      "size S\ninput x: f32[S, 16]\nweight wq: f32[16, 16]\nweight wk: f32[16, 4]\n"
      "q[s: S, n: 16] = sum(k: 16) x[s, k] * wq[k, n]\n"
      "k[s: S, n: 4] = sum(k: 16) x[s, k] * wk[k, n]\n"
      "q3[s: S, h: 4, d: 4] = q[s, h * 4 + d]\nk3[s: S, h: 1, d: 4] = k[s, d]\n"
      "s[h: 4, i: S, j: S] = sum(d: 4) q3[i, h, d] * k3[j, h / 4, d]\n"
      "m[h: 4, i: S] = max(j: S) s[h, i, j]\n"
      "e[h: 4, i: S, j: S] = exp(s[h, i, j] - m[h, i])\nz[h: 4, i: S] = sum(j: S) e[h, i, j]\n"
      "p[h: 4, i: S, j: S] = e[h, i, j] / z[h, i]\n"
      "y[i: S, h: 4, d: 4] = sum(j: S) p[h, i, j] * k3[j, h / 4, d]\noutput y\n");
  EXPECT_TRUE(derives_on_all(graph, {0, 1, 5, 24}));
}

// Threads share 12,000 H pixels in blocks of 4,096, of which there is one where H is not 0.
TEST(FoundGraphs, BlocksOfPixelsOfSeveralAxes) {
  const std::string schedule = schedule_for(
      "size H\ninput x: f32[H, 3000, 4, 4]\ninput m: f32[H, 3000, 4]\n"
      "y[i: H, j: 3000, k: 4, l: 4] = exp(x[i, j, k, l] - m[i, j, k])\noutput y\n",
      "x86-64-v2,cores=2");
  EXPECT_TRUE(has(schedule, "y.split(rows, block, within, 4096, shift_inwards)\n")) << schedule;
}

// An axis of one step that the output has, and what is computed for it has not.
TEST(FoundGraphs, WaysOfARowWithAnAxisOfOneStep) {
  const Graph graph = graph_of(
      "size B\ninput x: f32[B, 2, B, 1]\n"
      "h[i: B, j: 2] = max(l: B) x[i, j, l, 0]\n"
      "e[i: B, j: 2, l: B] = exp(x[i, j, l, 0] - h[i, j])\n"
      "t[i: B, j: 2] = sum(l: B) e[i, j, l]\n"
      "y[i: B, j: 2, l: B, u: 1] = e[i, j, l] / t[i, j]\noutput y\n");
  for (const char* const level : kLevels) {
    EXPECT_NO_THROW(run_pipeline(graph, target_of(level, 2))) << level;
    EXPECT_TRUE(derives(graph, target_of(level, 2), {0, 1, 2, 9}, 1e-5)) << level;
  }
}

// Parts of rows of five columns of which neither a part nor a step of a part divides the rows.
TEST(FoundGraphs, UnevenPartsOfRowsOfFewColumns) {
  const Graph graph = graph_of(
      "input x: u16[194241, 5]\ninput w: u16[]\n"
      "y[j: 5] = sum(i: 194241) f32(x[i, j]) - f32(w[])\noutput y\n");
  for (const int cores : {2, 8}) expect_lowers(graph, cores);
}

// The same of a sum of everything, whose rows have a few lanes each.
TEST(FoundGraphs, UnevenPartsOfASumOfEverything) {
  const Graph graph = graph_of(
      "input x: f32[29721, 20]\ninput w: f32[29721]\n"
      "y[] = sum(j: 20, i: 29721) x[i, j] * w[i]\noutput y\n");
  for (const int cores : {2, 8, 64}) expect_lowers(graph, cores);
}

// As many rows as wake threads are the whole steps that a loop is cut at.
TEST(FoundGraphs, ThreadsWakeForAsManyRowsAsAreWholeSteps) {
  const Graph graph = graph_of(
      "size N\ninput x: u16[N, 224, 224]\nweight w: u16[224, 224]\n"
      "y[j: 224, k: 224] = product(i: N) x[i, j, k] * x[i, j, k]\n"
      "z[j: 224, k: 224] = y[j, k] * w[j, k]\noutput z\n");
  for (const int cores : {1, 2, 8}) expect_lowers(graph, cores);
  EXPECT_TRUE(derives(graph, target_of("x86-64-v4", 2), {0, 1, 7, 8, 17}));
}

// Tiles of rows are loops over vectors, of which the last tile has fewer: what is stored whole has
// them as an output does.
TEST(FoundGraphs, VectorsOfTheLastTileOfWhatIsStoredWhole) {
  const Graph rows = graph_of(
      "size H\ninput x: u16[H, 64]\ninput a: u16[H]\ninput b: u16[H, 22]\n"
      "m[i: H] = min(j: 64) x[i, j] * x[i, j]\n"
      "s[i: H] = m[i] * a[max(min(i + -2, H - 1), 0)]\n"
      "t[i: H] = max(s[i], a[max(min((i + 1) % H, H - 1), 0)])\nv[i: H] = t[i] / (a[i] + 1u16)\n"
      "y[i: 22] = sum(r: H) v[r] * b[r, i]\noutput y\n");
  const Graph norm = graph_of(
      "size B\ninput x: f32[16, 2*B, 13]\ninput w: f32[13]\n"
      "q[i: 16, j: 2*B] = sum(r: 13) x[i, j, r] * x[i, j, r]\n"
      "k[i: 16, j: 2*B] = 1f / sqrt(q[i, j] / 13f + 1f)\n"
      "n[i: 16, j: 2*B, c: 13] = x[i, j, c] * k[i, j] * w[c]\n"
      "t[i: 16, j: 2*B, c: 13] = tanh(n[i, j, c])\nm[i: 16, j: 2*B, c: 13] = t[i, j, c] * 2f\n"
      "y[j: 2*B, c: 13] = max(r: 16) m[r, j, c]\noutput y\n");
  for (const int cores : {1, 8}) {
    expect_lowers(rows, cores);
    expect_lowers(norm, cores);
  }
  EXPECT_TRUE(derives_on_all(rows, {1, 3, 37}));
  for (const char* const level : kLevels) {
    EXPECT_TRUE(derives(norm, target_of(level, 1), {0, 1, 19}, 1e-5)) << level;
  }
}

}  // namespace
}  // namespace emulsion

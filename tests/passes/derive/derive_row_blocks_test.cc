// Blocks of rows in derived schedules: what is written down, and that the nests compute what the
// graphs say at every size.

#include <gtest/gtest.h>

#include <string>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "passes/lower/lower.h"
#include "passes/nest/loop_nest.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/attention_graphs.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");

TEST(DeriveRowBlocks, EverythingIsComputedAtABlockOfTheReader) {
  const std::string text = derived(attention(2, 64, 64, 64), target_of("x86-64-v4", 1));
  for (const char* line :
       {"y.split(s, block, s, 32)\n", "e.compute_at(y, block)\n", "softmax.compute_at(y, block)\n",
        "softmax_max.compute_at(y, block)\n", "e_acc.store_in(registers)\n"}) {
    EXPECT_TRUE(has(text, line)) << line << text;
  }
}

TEST(DeriveRowBlocks, AsManyRowsAsDivideABlockAreComputedAtATimeBeyondACache) {
  const std::string text = derived(attention(2, 64, 200, 64), target_of("x86-64-v4", 1));
  EXPECT_TRUE(has(text, "softmax.split(i1, i1, row, 8)\n")) << text;
  EXPECT_TRUE(has(text, "softmax_exp.compute_at(softmax, i1)\n")) << text;
  EXPECT_FALSE(has(text, "softmax.partition(i1)")) << "no rows are left over" << text;
  EXPECT_TRUE(has(derived(attention(2, 36, 200, 64), target_of("x86-64-v4", 1)),
                  "softmax.split(i1, i1, row, 6)\n"));
}

// Few rows would be read again before they have left the processor's buffer.
TEST(DeriveRowBlocks, AllRowsOfABlockThatACacheHoldsAreComputedAtATime) {
  const Target target = target_of("x86-64-v4", 1);
  for (const Graph& graph :
       {attention(2, 40, 40, 64), attention(2, 17, 17, 16), attention(2, kSize, 64, 64)}) {
    const std::string text = derived(graph, target);
    for (const char* line :
         {"softmax_max.compute_at(y, block)\n", "softmax_exp.compute_at(y, block)\n",
          "softmax_sum.compute_at(y, block)\n"}) {
      EXPECT_TRUE(has(text, line)) << line << text;
    }
    EXPECT_FALSE(has(text, "softmax.split(i1")) << text;
  }
  const std::string text = derived(attention(2, 50, 2000, 64), target);
  EXPECT_TRUE(has(text, "softmax_max.compute_at(softmax, i1)\n")) << "beyond a cache" << text;
}

TEST(DeriveRowBlocks, ARowThatIsNoPartOfAVectorIsOneWithAMask) {
  for (const auto& [columns, masked] : {std::pair(11, true), {13, true}, {8, false}, {16, false}}) {
    const Graph graph = attention(2, 32, columns, 16);
    const std::string v4 = derived(graph, target_of("x86-64-v4", 1));
    EXPECT_EQ(has(v4, "softmax_exp.split(i2, i2, lane, 16, predicate)\n"), masked) << v4;
    EXPECT_EQ(has(v4, "softmax.split(i2, i2, lane, 16, predicate)\n"), masked) << v4;
    const std::string v3 = derived(graph, target_of("x86-64-v3", 1));
    EXPECT_FALSE(has(v3, "softmax_exp.split(i2, i2, lane, ")) << "masks take long" << v3;
    for (const char* level : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
      EXPECT_TRUE(derives(graph, target_of(level, 1), {0}, 1e-5)) << level << columns;
    }
  }
}

TEST(DeriveRowBlocks, RowsThatTheFirstCacheHoldsOneOfAreComputedOneByOne) {
  const std::string text = derived(attention(2, 64, 4096, 64), target_of("x86-64-v4", 1));
  EXPECT_TRUE(has(text, "softmax.compute_at(y, block)\n")) << text;
  EXPECT_FALSE(has(text, "softmax.split(i1")) << text;
}

TEST(DeriveRowBlocks, OnlyABlockOfTheScoresIsStored) {
  const Graph graph = attention(2, 512, 80, 64);
  const std::string nest =
      to_string(lower(graph, derive_schedule(graph, target_of("x86-64-v4", 1))));
  EXPECT_TRUE(has(nest, "alloc e[y.h .. +1, y.block * ")) << nest;
  EXPECT_FALSE(has(nest, "+512, 0 .. +80]")) << nest;
}

TEST(DeriveRowBlocks, RowsOfRunTimeLengthAreAllocatedOnceForAllBlocksOfAThread) {
  const std::string text = derived(attention(2, 64, kSize, 64), target_of("x86-64-v4", 1));
  for (const char* line : {"e.hoist_storage(y, h)\n", "softmax.hoist_storage(y, h)\n",
                           "softmax_exp.hoist_storage(y, h)\n"}) {
    EXPECT_TRUE(has(text, line)) << line << text;
  }
  EXPECT_TRUE(has(derived(attention(2, 512, kSize, 64), target_of("x86-64-v4", 4)),
                  "softmax_exp.hoist_storage(y, block)\n"))
      << "the threads share the blocks";
  EXPECT_FALSE(
      has(derived(attention(2, kSize, 64, 64), target_of("x86-64-v4", 1)), "hoist_storage"))
      << "on the stack";
}

// What is left over at the end of a row is computed as a whole panel, or a whole step of the sums.
TEST(DeriveRowBlocks, OfRunTimeColumnsALineOrTwoAreComputedAtATime) {
  for (const auto& [level, panel] : {std::pair("x86-64-v3", "16"), {"x86-64-v4", "32"}}) {
    const std::string text = derived(attention(2, kSize, kSize, 64), target_of(level, 1));
    EXPECT_TRUE(has(text, "e.split(t, panel, column, " + std::string(panel) + ", predicate)\n"))
        << text;
    for (const char* line :
         {"softmax_sum.split(r2, r2, lane, 16)\n", "softmax_max.split(r2, r2, lane, 16)\n",
          "softmax_max_lanes.partition(r2)\n"}) {
      EXPECT_TRUE(has(text, line)) << line << text;
    }
  }
  EXPECT_FALSE(has(derived(attention(2, 1, kSize, 64), target_of("x86-64-v4", 1)),
                   "e.split(t, panel, column, 16,"))
      << "one row: one accumulator";
}

// Rows beyond a block would be computed of all that it is made of.
TEST(DeriveRowBlocks, TheLastTileOfABlockStartsEarlier) {
  const Graph graph = attention(2, 21, 21, 64);
  const std::string text = derived(graph, target_of("x86-64-v3", 1));
  EXPECT_TRUE(has(text, "y.split(s, tile, row, 6, shift_inwards)\n")) << text;
  const std::string nest =
      to_string(lower(graph, derive_schedule(graph, target_of("x86-64-v3", 1))));
  EXPECT_TRUE(has(nest, "alloc softmax[y.h .. +1, y.block * 21 .. +21, 0 .. +21]")) << nest;
  // As many tiles of five rows as of six.
  EXPECT_TRUE(has(derived(attention(2, 25, 25, 64), target_of("x86-64-v3", 1)),
                  "y.split(s, tile, row, 5, "));
}

TEST(DeriveRowBlocks, ScoresOfFewKeysAreOneVectorWithAMask) {
  const std::string text = derived(attention(2, 13, 13, 16), target_of("x86-64-v4", 1));
  for (const char* line : {"e.split(t, panel, column, 16, predicate)\n", "e.compute_at(y, block)\n",
                           "k_turned.compute_at(y, h)\n"}) {
    EXPECT_TRUE(has(text, line)) << line << text;
  }
}

TEST(DeriveRowBlocks, AllOfARunTimeNumberOfRowsAreComputedAtATimeWhereTheyAreFew) {
  const Graph graph = attention(2, kSize, kSize, 64);
  const std::string text = derived(graph, target_of("x86-64-v4", 1));
  for (const char* line :
       {"y_long.alternative(B <= 48, y_few)\n", "y_long.alternative(B <= 128, y_some)\n",
        "softmax_few.compute_at(y_few, h)\n", "softmax.compute_at(y_long, block)\n",
        "softmax.hoist_storage(y_long, h)\n"}) {
    EXPECT_TRUE(has(text, line)) << line << text;
  }
  EXPECT_FALSE(has(text, "y_few.specialize")) << "no threads" << text;
  const std::string nest =
      to_string(lower(graph, derive_schedule(graph, target_of("x86-64-v4", 1))));
  EXPECT_TRUE(has(nest, "alloc softmax_few[y_few.h .. +1, 0 .. +B room 48, 0 .. +B room 48]"))
      << nest;
}

TEST(DeriveRowBlocks, ThreadsNeedEnoughOfThem) {
  const Target target = target_of("x86-64-v4", 4);
  EXPECT_FALSE(has(derived(attention(2, kSize, kSize, 64), target), "_some"))
      << "they share blocks";
  const std::string text = derived(attention(64, kSize, kSize, 64), target);
  EXPECT_TRUE(has(text, "y_long.alternative(B <= 32, y_few)\n")) << "twice on the stack" << text;
  EXPECT_TRUE(has(text, "y_few.parallel(h)\n")) << text;
}

TEST(DeriveRowBlocks, OnlyOfAsManyColumnsAndInsideOfALoop) {
  const Target target = target_of("x86-64-v4", 1);
  const Graph other = attention(2, kSize, Extent::size("T"), 64);
  for (const Graph& graph : {attention(2, kSize, 64, 64), attention(2, 64, kSize, 64), other}) {
    EXPECT_FALSE(has(derived(graph, target), "_few")) << derived(graph, target);
  }
}

TEST(DeriveRowBlocks, PanelsOfAKnownNumberOfColumnsMayBeWider) {
  EXPECT_TRUE(has(derived(attention(2, 100, 100, 64), target_of("x86-64-v4", 1)),
                  "e.split(t, panel, column, 64, shift_inwards)\n"));
}

// Or the last panel would be one of mostly lanes that are masked.
TEST(DeriveRowBlocks, APanelOfRunTimeColumnsDividesTwoLines) {
  const std::string split = "e.split(t, panel, column, ";
  int found = 0;
  for (const char* level : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    for (const int64_t rows : {16, 17, 18, 20, 24, 33, 64}) {
      const std::string text = derived(attention(2, rows, kSize, 64), target_of(level, 1));
      const size_t at = text.find(split);
      if (at == std::string::npos) continue;
      ++found;
      EXPECT_EQ(32 % std::stoll(text.substr(at + split.size())), 0) << level << rows << text;
    }
  }
  EXPECT_GE(found, 10);
}

// Rows of 64 columns would each start at the same places of a cache.
// Two copies more of all that is computed at a block would take twice as long to compile.
TEST(DeriveRowBlocks, ARowThatIsLeftIsPartOfABlock) {
  for (const Graph& graph : {attention(2, kSize, 64, 64), attention(2, kSize, kSize, 64)}) {
    const std::string text = derived(graph, target_of("x86-64-v4", 1));
    const bool has_ways = has(text, "y_long");
    EXPECT_TRUE(has(text, has_ways ? "y_long.split(s, block, s, " : "y.split(s, block, s, "))
        << text;
    EXPECT_FALSE(has(text, "partition(block)")) << text;
  }
}

TEST(DeriveRowBlocks, KeysAreTurnedOnceForAllBlocks) {
  const std::string text = derived(attention(2, 64, 64, 32), target_of("x86-64-v3", 1));
  for (const char* line : {"e_acc.copy_in(k, k_turned)\n", "k_turned.compute_at(y, h)\n",
                           "k_turned.align_storage(i1, 80)\n"}) {
    EXPECT_TRUE(has(text, line)) << line << text;
  }
  size_t along = 0;
  for (const auto& [name, graph] : attention_graphs(64, 64)) {
    if (name != "keys_across") continue;
    ++along;
    EXPECT_FALSE(has(derived(graph, target_of("x86-64-v3", 1)), "copy_in"))
        << "they lie along the columns";
  }
  EXPECT_EQ(along, 1U);
}

TEST(DeriveRowBlocks, WithoutALoopOutsideTheyAreTurnedFirst) {
  const Axis s("s", 64), t("t", 64), d("d", 32);
  const Tensor q = input("q", f32, {64, 32}), k = input("k", f32, {64, 32});
  const Tensor e = compute("e", {s, t}, sum(d, q(s, d) * k(t, d)));
  const std::string text =
      derived(Graph(matmul(softmax(e), input("v", f32, {64, 32}), "y")), target_of("x86-64-v3", 1));
  EXPECT_TRUE(has(text, "e_acc.copy_in(k, k_turned)\n")) << text;
  EXPECT_FALSE(has(text, "k_turned.compute_at")) << text;
}

// softmax(q k^T / 8) v, as operators write it: the keys are turned by a transpose.
Graph attention_of_operators(const Extent& rows, const Extent& length) {
  const Tensor q = input("q", f32, {2, rows, 64}), k = input("k", f32, {2, length, 64});
  const Tensor scores = matmul(q, transpose(k, {0, 2, 1}), "scores") * 0.125F;
  return Graph(matmul(softmax(scores), input("v", f32, {2, length, 64}), "y"));
}

// A step of a decoder has one row of queries for each head, or a few that share its keys.
TEST(DeriveRowBlocks, KeysOfFewRowsAreNotTurned) {
  for (const int64_t rows : {1, 4, 15, 16}) {
    for (const Graph& graph : {attention(2, rows, 256, 64), attention_of_operators(rows, 256)}) {
      const std::string text = derived(graph, target_of("x86-64-v3", 1));
      EXPECT_EQ(has(text, "_turned"), rows == 16) << rows << text;
    }
  }
}

// They would be read once, as they are where they lie.
TEST(DeriveRowBlocks, KeysOfOneTileOfRowsAreNotTurned) {
  const Target target = target_of("x86-64-v4", 1);
  for (const int64_t rows : {8, 16}) {
    const Graph graph = attention(12, rows, rows, 24);
    const std::string text = derived(graph, target);
    EXPECT_EQ(has(text, "_turned"), rows == 16) << text;
    EXPECT_TRUE(has(text, "y.split(s, block, s, ")) << text;
    EXPECT_TRUE(derives(graph, target, {}, 1e-4));
  }
}

TEST(DeriveRowBlocks, ThreadsShareWhatIsOutsideOrTheBlocks) {
  EXPECT_TRUE(
      has(derived(attention(4, 128, 128, 64), target_of("x86-64-v3", 4)), "y.parallel(h)\n"));
  EXPECT_TRUE(
      has(derived(attention(2, 512, 512, 64), target_of("x86-64-v3", 4)), "y.parallel(block)\n"));
  EXPECT_TRUE(
      has(derived(attention(4, kSize, kSize, 64), target_of("x86-64-v3", 4)), "y.specialize("));
  for (const auto& [name, graph] : attention_graphs(64, 64)) {
    EXPECT_FALSE(has(derived(graph, target_of("x86-64-v3", 1)), "parallel")) << name;
    EXPECT_FALSE(has(derived(graph, target_of("x86-64-v3", 4)), "parallel"))
        << name << ": too little work";
  }
}

TEST(DeriveRowBlocks, WithoutFusionEveryOperationIsStoredWhole) {
  DeriveOptions options;
  options.fuse = false;
  const std::string text =
      to_string(derive_schedule(attention(2, 64, 64, 32), target_of("x86-64-v3", 1), options));
  EXPECT_FALSE(has(text, "compute_at(y, block)")) << text;
}

class ComputesBlocks : public testing::TestWithParam<const char*> {};

TEST_P(ComputesBlocks, OfNumbers) {
  for (const int64_t rows : {8, 40, 45}) {
    for (const auto& [name, graph] : attention_graphs(rows, 19)) {
      EXPECT_TRUE(derives(graph, target_of(GetParam(), 1), {1}, 1e-5)) << name << " " << rows;
    }
  }
}

TEST_P(ComputesBlocks, OfFewRowsWhoseKeysAreTransposed) {
  for (const int64_t rows : {1, 2, 3, 5, 9, 15, 16}) {
    for (const Extent& length : {Extent(19), Extent(70), kSize}) {
      EXPECT_TRUE(
          derives(attention_of_operators(rows, length), target_of(GetParam(), 1), {0, 1, 33}, 1e-5))
          << rows << " " << length.to_string();
    }
  }
}

TEST_P(ComputesBlocks, OfFewAndOfSomeRows) {
  for (const int cores : {1, 4}) {
    EXPECT_TRUE(derives(attention(4, kSize, kSize, 8), target_of(GetParam(), cores),
                        {0, 1, 5, 33, 49, 129}, 1e-5));
  }
}

TEST_P(ComputesBlocks, OfFewKeys) {
  for (const int64_t rows : {9, 11, 13, 15, 21}) {
    EXPECT_TRUE(derives(attention(2, rows, rows, 8), target_of(GetParam(), 1), {0}, 1e-5)) << rows;
  }
}

TEST_P(ComputesBlocks, OfAnyNumber) {
  for (const auto& [name, graph] : attention_graphs(kSize, 35)) {
    EXPECT_TRUE(derives(graph, target_of(GetParam(), 4), {0, 1, 16, 18}, 1e-5)) << name;
  }
}

TEST_P(ComputesBlocks, OfAnyNumberAndLength) {
  for (const auto& [name, graph] : attention_graphs(kSize, kSize)) {
    EXPECT_TRUE(derives(graph, target_of(GetParam(), 4), {0, 1, 17, 33}, 1e-5)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, ComputesBlocks, testing::ValuesIn(kLevels));

}  // namespace
}  // namespace emulsion

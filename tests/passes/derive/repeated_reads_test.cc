// Blocks of what several neighbours read: how long they are, and that the kernels of derived
// schedules compute the same.

#include "passes/derive/repeated_reads.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "dsl/graph_text.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

Graph graph_of(const std::string& lines) {
  const bool has_size = lines.find("M]") != std::string::npos;
  return parse_graph(std::string("emulsion graph 1\n") + (has_size ? "size M\n" : "") + lines +
                     "\noutput y\n");
}

Graph row(const std::string& length, const std::string& body, const std::string& type = "f32") {
  return graph_of("input x: " + type + "[" + length + "]\ninput z: " + type + "[" + length +
                  "]\ny[i: " + length + "] = " + body);
}

int64_t block_of(const Graph& graph, const std::string& level = "x86-64-v4") {
  return block_of_repeats(**graph.find("y"), target_of(level, 1));
}

TEST(RepeatedReads, ABlockIsAsManyVectorsAsAreReadAlike) {
  EXPECT_EQ(block_of(row("1000", "x[i / 3]")), 48);
  EXPECT_EQ(block_of(row("1000", "x[i / 3]"), "x86-64-v3"), 24);
  EXPECT_EQ(block_of(row("1000", "x[i / 5] * z[i]")), 80);
  EXPECT_EQ(block_of(row("1000", "x[(i + 1) / 6]")), 48);
  EXPECT_EQ(block_of(row("1000", "x[i % 3]")), 48);
  EXPECT_EQ(block_of(row("1000", "x[i / 2] + z[i / 3]")), 48);
  EXPECT_EQ(block_of(row("1000", "x[i / 3]", "f64")), 24);
  EXPECT_EQ(block_of(row("1000", "x[i / 3]", "u8")), 192);
  EXPECT_EQ(block_of(row("1000", "x[i / 9]")), 144);
  EXPECT_EQ(block_of(row("1000", "x[i % 12]")), 48);
  EXPECT_EQ(block_of(row("1000", "x[i % 15]")), 240);
  EXPECT_EQ(block_of(row("1000", "x[i / 3] * z[i / 5]")), 240);
  EXPECT_EQ(block_of(row("1000", "x[(i / 3) % 5]")), 240);
  EXPECT_EQ(block_of(row("M", "x[i / 3]")), 48);
}

TEST(RepeatedReads, OfPowersOfTwoThereIsNone) {
  EXPECT_EQ(block_of(row("1000", "x[i / 2]")), 0);
  EXPECT_EQ(block_of(row("1000", "x[i / 8] * z[i % 4]")), 0);
}

// Of pixels of four values that are read twice each, of which LLVM does not find out what they are.
TEST(RepeatedReads, OfDigitsOfPowersOfTwoABlockIsAVector) {
  EXPECT_EQ(block_of(row("1000", "x[i / 8 * 4 + i % 4]")), 16);
  EXPECT_EQ(block_of(row("1000", "x[i / 8 * 4]")), 0);
}

TEST(RepeatedReads, TheLastBlockStartsEarlierWhereItReadsAlike) {
  const auto shifts = [](const std::string& length) {
    return has_blocks_to_shift(**row(length, "x[i / 3]").find("y"), 48);
  };
  EXPECT_TRUE(shifts("999"));
  EXPECT_TRUE(shifts("51"));
  EXPECT_FALSE(shifts("1000")) << "in the middle of three that read alike";
  EXPECT_FALSE(shifts("960")) << "no block is odd";
  EXPECT_FALSE(shifts("45")) << "there is none";
  EXPECT_FALSE(shifts("M"));
  EXPECT_TRUE(
      has_blocks_to_shift(**graph_of("input x: f32[M]\ny[i: 3 * M] = x[i / 3]").find("y"), 48));
}

TEST(RepeatedReads, NorOfLongTurnsAndWhatNoNumberSays) {
  EXPECT_EQ(block_of(row("1000", "x[i / 17]")), 0);
  EXPECT_EQ(block_of(row("10000", "x[i / 24]")), 0);
  EXPECT_EQ(block_of(row("1000", "x[i / 3] * z[i / 7]")), 0);
  EXPECT_EQ(block_of(row("1000", "x[i]")), 0);
  EXPECT_EQ(block_of(row("1000", "x[(i / 3) % 7]")), 0);
  EXPECT_EQ(block_of(graph_of("input x: f32[300, 1000]\ny[i: 300, j: 1000] = x[i / 3, j]")), 0)
      << "of another axis";
}

TEST(RepeatedReads, NorOfAxesShorterThanTwo) {
  EXPECT_EQ(block_of(row("96", "x[i / 3]")), 48);
  EXPECT_EQ(block_of(row("95", "x[i / 3]")), 0);
}

TEST(RepeatedReads, PartsAreUnrolledAndTheLastBlockIsCutOff) {
  const Target one = target_of("x86-64-v4", 1);
  EXPECT_EQ(derived(row("1000", "x[i / 3]"), one),
            "emulsion schedule 1\ny.split(i, i, turn, 48, guard)\ny.split(turn, part, lane, 16)\n"
            "y.vectorize(lane)\ny.unroll(part)\ny.partition(i)\n");
  EXPECT_EQ(derived(row("960", "x[i / 3]"), one),
            "emulsion schedule 1\ny.split(i, i, turn, 48)\ny.split(turn, part, lane, 16)\n"
            "y.vectorize(lane)\ny.unroll(part)\n");
}

// A task is a number of blocks.
TEST(RepeatedReads, ThreadsShareBlocks) {
  const std::string text = derived(row("1000000", "x[i / 3]"), target_of("x86-64-v4", 2));
  EXPECT_TRUE(has(text,
                  "y.split(i, block, within, 8160, guard)\n"
                  "y.split(within, within, turn, 48)\n"))
      << text;
  EXPECT_TRUE(has(text, "y.parallel(block)\ny.partition(block)\n") ||
              has(text, "y.partition(block)\ny.parallel(block)\n"))
      << text;
}

TEST(RepeatedReads, ComputeTheSame) {
  const Graph graphs[] = {
      row("1000", "x[i / 3] * z[i]"),
      row("961", "x[(i + 2) / 6] - z[i % 3]"),
      row("500", "x[i / 7]", "f64"),
      row("700", "x[i / 3]", "u8"),
      row("100000", "x[i / 3]"),
      row("M", "x[i / 5] + z[i]"),
      row("M", "x[i / 3]", "i16"),
      graph_of("input x: f32[7, 100]\ninput z: f32[100]\n"
               "y[i: 20, j: 100] = x[i / 3, j / 3] * z[99 - j]"),
  };
  for (const Graph& graph : graphs) {
    EXPECT_TRUE(derives_on_all(graph, {0, 1, 15, 48, 95, 97, 500})) << to_string(graph);
  }
}

}  // namespace
}  // namespace emulsion

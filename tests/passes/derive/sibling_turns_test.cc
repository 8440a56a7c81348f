// Siblings whose stores take longest: which loop they share, and how many vectors of each are
// stored before those of the next.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/passes/derive/derived_text.h"
#include "tests/passes/derive/sibling_graphs.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");

testing::AssertionResult shares(const Graph& graph, const std::string& loop,
                                const char* target = kOneCore, const std::string& turns = "") {
  const std::string text = text_of(graph, target);
  const bool has_both = has(text, "b.compute_with(a, " + loop + ")\n") && has(text, turns);
  return has_both ? testing::AssertionSuccess() : testing::AssertionFailure() << text;
}

// As many vectors by turns as divide those of a row.
TEST(SiblingTurns, StoresToSeveralArraysAreOfAFewVectorsByTurnsWhereTheyTakeLongest) {
  for (const auto& [columns, count] :
       {std::pair(1024, 4), {33 * 8, 3}, {33 * 8 - 3, 3}, {35 * 8, 5}, {34 * 8, 2}}) {
    const std::string turns = fmt::format("a.split(i1, i1, turn, {})\na.unroll(turn)\n", count);
    EXPECT_TRUE(shares(pair_of({512, columns}), "i1", kOneCore, turns));
  }
  EXPECT_TRUE(shares(pair_of({512, 1024}), "i1", kFourCores));
  EXPECT_TRUE(shares(planes_of_pixels(200, 320), "j", kOneCore, "b.unroll(turn)\n"));
  // Of the parts of one long row, which threads share, those of a part.
  EXPECT_TRUE(shares(pair_of({99999 * 8}), "within", kFourCores, ", turn, 4)\n"));
  for (const char* target : {kOneCore, kFourCores}) {
    EXPECT_TRUE(computes_at(pair_of({30, 1000}), target));
    EXPECT_TRUE(computes_at(pair_of({30, 1003}), target));
    EXPECT_TRUE(computes_at(pair_of({100000}), target));
    EXPECT_TRUE(computes_at(planes_of_pixels(40, 321), target));
  }
}

TEST(SiblingTurns, StoresToSeveralArraysAreRowByRowWhereNoTurnsAreEven) {
  EXPECT_TRUE(shares(pair_of({512, 127 * 8}), "i0"));
  EXPECT_TRUE(shares(pair_of({512, 127 * 8}), "i0", kFourCores));
  EXPECT_TRUE(shares(pair_of({kSize, kSize}), "i0"));
  EXPECT_TRUE(shares(pair_of({kSize}), "block"));
  // Not what the first cache holds, what takes longer than its stores, and rows of a few vectors.
  for (const Graph& graph :
       {pair_of({2, 1024}), pair_of_polynomials({512, 1024}), pair_and_more({10000, 24})}) {
    EXPECT_TRUE(shares(graph, "i1"));
    EXPECT_FALSE(has(text_of(graph, kOneCore), "turn"));
  }
  EXPECT_TRUE(shares(pair_and_more({10000, 56}), "i0"));
  // To put vectors of colours together takes longer where these are short.
  EXPECT_TRUE(shares(planes_of_pixels(200, 37 * 8), "i"));
  EXPECT_TRUE(shares(planes_of_pixels(200, 37 * 8), "j", "x86-64-v2,cores=1"));
  for (const char* target : {kOneCore, kFourCores}) {
    EXPECT_TRUE(computes_at(pair_of({30, 127 * 8}), target));
    EXPECT_TRUE(computes_at(pair_of({kSize, kSize}), target, {0, 1, 33}));
    EXPECT_TRUE(computes_at(planes_of_pixels(kSize, kSize), target, {0, 1, 33}));
  }
}

}  // namespace
}  // namespace emulsion

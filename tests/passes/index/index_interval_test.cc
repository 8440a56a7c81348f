#include "passes/index/index_interval.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace emulsion {
namespace {

const Expr o = axis_value("o"), i = axis_value("i"), j = axis_value("j");

// `o` stays fixed; i takes 0 to 3, j takes 0 to B - 1, t counts the tiles of 4 of B; u varies,
// nobody knows how far.
std::optional<Range> range(const std::string& name) {
  if (name == "i") return Range{0, 3};
  if (name == "j") return Range{0, Extent::size("B") - Extent(1)};
  if (name == "t") return range_below((size_value("B") + 3) / 4);
  if (name == "u") return Range::unknown();
  return std::nullopt;
}

std::string text(const std::optional<Interval>& interval) {
  if (!interval) return "none";
  return to_string(start_of(*interval)) + " .. +" + (interval->high - interval->low).to_string();
}

std::string of(const Expr& index) { return text(interval_of(index, range)); }

TEST(IndexInterval, FixedAndRangingTerms) {
  EXPECT_EQ(of(o * 4 + i), "o * 4 .. +3");
  EXPECT_EQ(of(o * 4 - i + 1), "o * 4 + -2 .. +3");
  EXPECT_EQ(of(i * 2 + 5), "5 .. +6");
  EXPECT_EQ(of(j), "0 .. +B - 1");
  EXPECT_EQ(of(o - o + i), "0 .. +3");
}

TEST(IndexInterval, WhatDoesNotVaryIsOneTerm) {
  EXPECT_EQ(of(min(o * 4, int_constant(6)) + i), "min(o * 4, 6) .. +3");
  EXPECT_EQ(of(o * o + i), "o * o .. +3");
  EXPECT_EQ(of(o / 3 + i), "o / 3 .. +3");
}

TEST(IndexInterval, QuotientsOfWhatDivides) {
  EXPECT_EQ(of((o * 8 + i) / 4), "o * 2 .. +0");
  EXPECT_EQ(of((o * 8 + i) % 4), "0 .. +3");
  EXPECT_EQ(of((o * 3 + i) % 5), "0 .. +4");
}

TEST(IndexInterval, QuotientsAreRoundedDown) {
  EXPECT_EQ(of((i - 3) / 2), "-2 .. +2");
  EXPECT_EQ(of((i - 4) / 2), "-2 .. +1");
  EXPECT_EQ(of((i + 5) / 4), "1 .. +1");
}

TEST(IndexInterval, QuotientsBySizes) {
  const Expr b = size_value("B");
  EXPECT_EQ(of(j / b), "0 .. +0");
  EXPECT_EQ(of(j % b), "0 .. +B - 1");
  EXPECT_EQ(of((j * 2 + 1) / b), "0 .. +1");
  EXPECT_EQ(of((j * 2 + 1) % b), "0 .. +B - 1");
  EXPECT_EQ(of(j / (b + 1)), "0 .. +0");
  EXPECT_EQ(of((j + 1) / b), "none");  // B, too
  EXPECT_EQ(of((j - 1) / b), "none");
  EXPECT_EQ(of(j / (b - 1)), "none");
  EXPECT_EQ(of(j / size_value("C")), "none");
  EXPECT_EQ(of((o + j) / b), "none");
}
TEST(IndexInterval, ARemainderThatWrapsMayBeAny) {
  EXPECT_EQ(of((i + 4) % 8), "4 .. +3");
  EXPECT_EQ(of((i + 2) % 4), "0 .. +3");
  EXPECT_EQ(of((i - 4) % 8), "4 .. +3");
  EXPECT_EQ(of((i - 2) % 8), "0 .. +7");
}

TEST(IndexInterval, TheNumberOfATileIsKnownTimesItsLength) {
  const Expr t = axis_value("t");
  EXPECT_EQ(of(t * 4), "0 .. +B - 1");
  EXPECT_EQ(of(t * -8 + i), "-2 * B + 2 .. +2*B + 1");
  EXPECT_EQ(of(t), "none");
  EXPECT_EQ(of(t * 6), "none");
}

TEST(IndexInterval, MinAndMaxOfNumbers) {
  EXPECT_EQ(of(min(i, int_constant(2))), "0 .. +2");
  EXPECT_EQ(of(max(i, int_constant(2))), "2 .. +1");
}

TEST(IndexInterval, NothingWhereItCannotTell) {
  EXPECT_EQ(of(i * i), "none");
  EXPECT_EQ(of(i * o), "none");
  EXPECT_EQ(of((o * 3 + i) / 5), "none");
  EXPECT_EQ(of(min(o, i)), "none");
  EXPECT_EQ(of(j / 2), "none");
  EXPECT_EQ(of(o + axis_value("u")), "none");
  EXPECT_EQ(of(axis_value("u") % 4), "none");
  EXPECT_EQ(of(read_buffer("table", DType::i32, {o})), "none");
}

TEST(Unite, IsAroundBoth) {
  EXPECT_EQ(text(unite(interval_of(o + i, range), interval_of(o + i + 2, range))), "o .. +5");
  EXPECT_EQ(text(unite(interval_of(j, range), interval_of(j + 1, range))), "0 .. +B");
}

TEST(Unite, NothingOfDifferentStarts) {
  EXPECT_FALSE(unite(interval_of(o + i, range), interval_of(i, range)));
  EXPECT_FALSE(unite(interval_of(o * 2, range), interval_of(o, range)));
  EXPECT_FALSE(unite(interval_of(i, range), interval_of(j, range)));
  EXPECT_FALSE(unite(interval_of(i, range), std::nullopt));
}

TEST(AsExtent, OfSizesOnly) {
  EXPECT_EQ(as_extent(size_value("B") * 2 + 1), Extent::size("B") * Extent(2) + Extent(1));
  EXPECT_FALSE(as_extent(o));
  EXPECT_FALSE(as_extent((size_value("B") + 3) / 4));
}

TEST(IndexInterval, TheRangeOfALoop) {
  const Expr size = size_value("B");
  EXPECT_EQ(range_below(int_constant(4)).high, Extent(3));
  EXPECT_EQ(range_below(size).high, Extent::size("B") - Extent(1));
  const Range tiles = range_below((size + 3) / 4);
  EXPECT_EQ(tiles.divisor, 4);
  EXPECT_EQ(tiles.high, Extent::size("B") - Extent(1));
  EXPECT_FALSE(range_below((size + 3) / 4 * 10).is_known);
  EXPECT_FALSE(range_below(size / size).is_known);
}

TEST(IndexInterval, WithinExtents) {
  const AxisExtents axes = {{"i", 4}, {"j", Extent::size("B")}};
  const std::optional<Interval> both = interval_within(i - j, axes);
  ASSERT_TRUE(both);
  EXPECT_TRUE(both->fixed.empty());
  EXPECT_EQ(both->low, Extent(1) - Extent::size("B"));
  EXPECT_EQ(both->high, Extent(3));
  const std::optional<Interval> fixed = interval_within(i + o, axes);
  ASSERT_TRUE(fixed);
  EXPECT_EQ(fixed->fixed.size(), 1U);
}

}  // namespace
}  // namespace emulsion

// Which axis vectors go along, how many lanes they have, and how short rows fill them.

#include "passes/derive/vector_lanes.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"

namespace emulsion {
namespace {

TEST(ValueLanes, AreThoseOfTheWidestValue) {
  const Target target = Target::parse("x86-64-v4");
  const Tensor bytes = input("bytes", u8, {4, 9}), floats = input("floats", f32, {4, 9});
  auto lanes = [&](const Tensor& y) { return value_lanes(*y.op(), target); };
  EXPECT_EQ(lanes(add(bytes, 1)), 64);  // where to read is in i32, and does not count
  EXPECT_EQ(lanes(slice(bytes, {0, 8}, {4, -1}, {1, -1})), 64);
  EXPECT_EQ(lanes(cast(bytes, i16)), 32);
  EXPECT_EQ(lanes(cast(bytes, f32)), 16);
  EXPECT_EQ(lanes(where(less(bytes, 3), bytes, bytes)), 64);
  EXPECT_EQ(lanes(less(floats, 3)), 16);
  EXPECT_EQ(lanes(less(bytes, 3)), 64);
  EXPECT_EQ(lanes(less(cast(bytes, f64), 3)), 8);
  const Expr some = size_value("B") > 0;  // one value, of i32s, for all points
  const Axis r("r", 4), c("c", 9);
  EXPECT_EQ(lanes(compute("y", {r, c}, select(some, bytes(r, c), 0))), 64);
  EXPECT_EQ(lanes(compute("z", {r, c}, select(Expr(c) > 0, bytes(r, c), 0))), 64);  // by place
  const Tensor which = input("which", i32, {9});
  EXPECT_EQ(lanes(compute("z", {r, c}, select(which(c) > 0, bytes(r, c), 0))), 16);  // by data
  EXPECT_EQ(lanes(compute("z", {r, c}, select(Expr(c) > 0, Expr(c), 0))), 16);
  EXPECT_EQ(lanes(logical_not(input("yes", bool_, {4}))), 16);
  const Axis i("i", 7);
  EXPECT_EQ(lanes(compute("y", {i}, cast(u8, Expr(i)))), 16);  // an axis as a value is an i32
  const Expr wide = cast(i32, bytes(r, c));
  EXPECT_EQ(lanes(compute("y", {r, c}, cast(u8, wide * 200 / 256))), 32);  // fits 16 bits
  EXPECT_EQ(lanes(compute("y", {r, c}, cast(u8, wide * 300 / 256))), 16);
  EXPECT_EQ(lanes(compute("y", {r, c}, cast(u8, wide + 1))), 64);
  EXPECT_EQ(lanes(compute("y", {r, c}, wide + 1)), 16);
}

// "x | colour | rows", or "none".
std::string pixels_of(const Shape& shape, int64_t lanes = 8) {
  const Tensor y = relu(input("picture", f32, shape));
  const std::optional<Pixels> pixels = match_pixels(*y.op(), lanes);
  if (!pixels) return "none";
  return pixels->x.name() + " " + pixels->colour.name() + " " + std::to_string(pixels->rows);
}

TEST(MatchPixels, FindsAShortLastAxisBehindALongOne) {
  const Extent batch = Extent::size("B");
  EXPECT_EQ(pixels_of({9, 8, 3}), "i1 i2 1");
  EXPECT_EQ(pixels_of({9, batch, 2}), "i1 i2 1");
  EXPECT_EQ(pixels_of({batch, 1}), "i0 i1 0");
  EXPECT_EQ(pixels_of({9, 8, 3, 1}), "i1 i2 1");
  EXPECT_EQ(pixels_of({9, 8, 1, 2}), "i1 i3 1");
  EXPECT_EQ(pixels_of({9, 8, 1, 1}), "i1 i3 1");
}

TEST(MatchPixels, ALastAxisOfAVectorIsNoColour) {
  EXPECT_EQ(pixels_of({9, 8, 5}), "none");
  EXPECT_EQ(pixels_of({9, 8, 2, 2}), "none");
  EXPECT_EQ(pixels_of({9, 8, 64}), "none");
}

TEST(MatchPixels, ARunTimeLastAxisIsNoColour) {
  EXPECT_EQ(pixels_of({9, 8, Extent::size("C")}), "none");
}

TEST(MatchPixels, AsManyColoursAsLanesAreAVector) {
  EXPECT_EQ(pixels_of({9, 7, 2}, 2), "none");
  EXPECT_EQ(pixels_of({9, 8, 1}, 1), "none");
}

// Of eight or more, vectors of all colours are as many as these (lie_side_by_side).
TEST(MatchPixels, UpToFourColoursThatAreComputedInOneWay) {
  EXPECT_EQ(pixels_of({9, 8, 4}), "i1 i2 1");
  EXPECT_EQ(pixels_of({9, 8, 2}, 2), "i1 i2 1");
}

TEST(MatchPixels, FewerPixelsThanLanesAreNone) {
  EXPECT_EQ(pixels_of({9, 7, 3}), "none");
  EXPECT_EQ(pixels_of({9, 0, 3}), "none");
}

TEST(MatchPixels, ColoursAloneAreNoPicture) {
  EXPECT_EQ(pixels_of({3}), "none");
  EXPECT_EQ(pixels_of({1, 3}), "none");
}

// The directives of a row of so many elements.
std::string row_of(const Extent& steps, const std::string& target, DType dtype = f32,
                   bool whole_rows = true) {
  const Tensor y = relu(input("x", dtype, {9, steps}), "y");
  StageSchedule stage;
  const Target of = Target::parse(target);
  vectorize_row(*y.op(), y.op()->axes.back(), of.vector_lanes(dtype), whole_rows, of, &stage);
  std::string text;
  for (const Directive& d : stage.directives()) text += to_string(d) + ";";
  return text;
}

TEST(VectorizeRow, APartOfAVectorIsOneWithAMaskWhereMasksAreCheap) {
  EXPECT_EQ(row_of(13, "x86-64-v4"), "split(i1, i1, lane, 16, predicate);vectorize(lane);");
  EXPECT_EQ(row_of(7, "x86-64-v4"), "split(i1, i1, lane, 16, predicate);vectorize(lane);");
  EXPECT_EQ(row_of(7, "x86-64-v4", f64), "split(i1, i1, lane, 8, predicate);vectorize(lane);");
}

TEST(VectorizeRow, APartThatIsAPowerOfTwoIsAVectorOfIts) {
  EXPECT_EQ(row_of(8, "x86-64-v4"), "vectorize(i1);");
  EXPECT_EQ(row_of(2, "x86-64-v4"), "vectorize(i1);");
}

TEST(VectorizeRow, HasNoMaskWhereTheTargetHasNone) {
  EXPECT_EQ(row_of(7, "x86-64-v3"), "vectorize(i1);");
  EXPECT_EQ(row_of(13, "x86-64-v4", u8), "vectorize(i1);");
}

TEST(VectorizeRow, OneStepIsNoVector) { EXPECT_EQ(row_of(1, "x86-64-v4"), ""); }

TEST(VectorizeRow, TheLastVectorOfALongRowStartsEarlierWhereAllOfItIsComputed) {
  EXPECT_NE(row_of(27, "x86-64-v4").find("shift_inwards"), std::string::npos);
  EXPECT_EQ(row_of(27, "x86-64-v4", f32, false).find("shift_inwards"), std::string::npos);
}

TEST(VectorizeRow, ALittleMoreThanVectorsIsInShorterOnes) {
  EXPECT_EQ(row_of(17, "x86-64-v4"), "vectorize(i1);");
  EXPECT_EQ(row_of(40, "x86-64-v4"), "vectorize(i1);");
  EXPECT_EQ(row_of(21, "x86-64-v4"), "vectorize(i1);");
  EXPECT_EQ(row_of(17, "x86-64-v3"), "vectorize(i1);");
  EXPECT_EQ(row_of(66, "x86-64-v4", u8), "vectorize(i1);");
}

TEST(VectorizeRow, MuchMoreOrMuchLongerRowsAreNot) {
  for (const int64_t extent : {27, 23, 31, 32, 97}) {
    EXPECT_NE(row_of(extent, "x86-64-v4"), "vectorize(i1);") << extent;
  }
  EXPECT_NE(row_of(9, "x86-64-v3"), "vectorize(i1);");
  EXPECT_NE(row_of(17, "x86-64-v4", f32, false), "vectorize(i1);") << "less of the row";
}

// Of 8 elements, at most four, of which one in 16 may be computed again.
TEST(CountInBlock, AsManyAsLeaveFewForTheLast) {
  EXPECT_EQ(count_in_block(96, 8, 4, 16), 4);
  EXPECT_EQ(count_in_block(48, 8, 4, 16), 2) << "16 of 48 again";
  EXPECT_EQ(count_in_block(500, 8, 4, 16), 4) << "12 of 500 again";
  EXPECT_EQ(count_in_block(40, 8, 4, 16), 1);
  EXPECT_EQ(count_in_block(31, 8, 4, 16), 2) << "one of 31 again; a block of 32 does not fit";
  EXPECT_EQ(count_in_block(15, 8, 4, 1), 1) << "a block does not fit, however many are again";
  EXPECT_EQ(count_in_block(0, 8, 4, 16), 1);
  EXPECT_EQ(count_in_block(31, 8, 4, 32), 1) << "none again";
}

}  // namespace
}  // namespace emulsion

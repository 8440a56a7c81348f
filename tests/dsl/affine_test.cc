#include "dsl/affine.h"

#include <gtest/gtest.h>

#include "tests/dsl/refusal.h"

namespace emulsion {
namespace {

Expr i() { return axis_value("i"); }
Expr j() { return axis_value("j"); }
Expr B() { return size_value("B"); }
Extent size() { return Extent::size("B"); }

TEST(AffineOf, CollectsCoefficients) {
  auto affine = affine_of(2 * (i() - j()) + i() - -j() * 3 + B() - 4);
  ASSERT_TRUE(affine.has_value());
  EXPECT_EQ(affine->coefficients, (std::map<std::string, int64_t>{{"i", 3}, {"j", 1}}));
  EXPECT_EQ(affine->offset, size() - 4);
}

TEST(AffineOf, AxesThatCancelAreGone) {
  EXPECT_TRUE(affine_of(i() - i())->coefficients.empty());
  EXPECT_TRUE(affine_of(i() * 0)->coefficients.empty());
}

TEST(AffineOf, NothingElseIsAffine) {
  for (const Expr& e : {i() * j(), i() * B(), i() / 2, i() % 2, min(i(), j()), abs(i()),
                        read_buffer("at", i32, {i()})}) {
    EXPECT_FALSE(affine_of(e).has_value()) << to_string(e);
  }
}

TEST(AffineOf, AWrappedCoefficientIsRefused) {
  Expr large = int_constant(1 << 30);
  expect_refusal([&] { affine_of(i() * large * large * large); }, "does not fit 64 bits");
}

bool inside(const Expr& index, const Extent& extent) {
  return proves_in_bounds(index, extent, {{"i", 12}, {"j", 5}, {"b", size()}});
}

TEST(ProvesInBounds, TheWholeRangeAndNoMore) {
  EXPECT_TRUE(inside(i(), 12));
  EXPECT_FALSE(inside(i(), 11));
  EXPECT_TRUE(inside(11 - i(), 12));
  EXPECT_FALSE(inside(10 - i(), 12));
  EXPECT_TRUE(inside(i() + j(), 16));
  EXPECT_FALSE(inside(i() + j(), 15));
  EXPECT_TRUE(inside(i() * 5 + j(), 60));
}

TEST(ProvesInBounds, DivisionAndRemainder) {
  EXPECT_TRUE(inside(i() / 4, 3));
  EXPECT_FALSE(inside(i() / 4, 2));
  EXPECT_TRUE(inside(i() % 4, 4));
  EXPECT_FALSE(inside(i() % 4, 3));
  EXPECT_TRUE(inside(i() / 4 * 4 + i() % 4, 12));
  EXPECT_FALSE(inside(i() / 4 * 4 + i() % 4, 11));
  EXPECT_TRUE(inside(j() / 5, 1));
  EXPECT_FALSE(inside(j() / 4, 1));  // at its last iteration alone
  EXPECT_TRUE(inside(i() / 0, 1)) << "0, as a quotient by 0 is";
  EXPECT_FALSE(inside(i() / 0 - 1, 100));
  EXPECT_TRUE(inside(i() / (i() % 3), 12)) << "by 0, 1 or 2";
  EXPECT_FALSE(inside(i() / (i() % 3), 11));
}

TEST(ProvesInBounds, WhatIsReflectedAtZero) {
  EXPECT_TRUE(inside(abs(i() - 1), 11));
  EXPECT_FALSE(inside(abs(i() - 1), 10));
  EXPECT_TRUE(inside(abs(i() - 8), 9));
  EXPECT_FALSE(inside(abs(i() - 8), 8)) << "eight below zero";
  EXPECT_TRUE(inside(abs(i() - 20) - 9, 12)) << "never above zero";
  EXPECT_FALSE(inside(abs(i() - 20) - 10, 12));
  EXPECT_TRUE(inside(min(abs(i() - 2), 22 - abs(i() - 2)), 12));
  EXPECT_FALSE(inside(abs(axis_value("b") - 1), size())) << "one element has no neighbour";
  EXPECT_TRUE(inside(abs(axis_value("b") - 1), size() + 1));
  const Expr data = read_buffer("at", i32, {i()});
  EXPECT_FALSE(inside(min(abs(data), 11), 12)) << "of the lowest i32 the size is none";
  EXPECT_TRUE(inside(max(min(abs(data), 11), 0), 12));
  EXPECT_TRUE(inside(min(abs(cast(i32, read_buffer("at", i8, {i()}))), 11), 12));
}

TEST(ProvesInBounds, DifferencesOfWhatIsNotAffine) {
  EXPECT_TRUE(inside(i() % 4 + 4 - j(), 8));
  EXPECT_FALSE(inside(i() % 4 + 4 - j(), 7));
  EXPECT_FALSE(inside(i() % 4 + 3 - j(), 8));
}

TEST(ProvesInBounds, BothSidesOfASelect) {
  const auto either = [](const Expr& a, const Expr& b) { return select(i() < 7, a, b); };
  EXPECT_TRUE(inside(either(i(), j()), 12));
  EXPECT_TRUE(inside(either(j(), i()), 12));
  EXPECT_FALSE(inside(either(i(), j()), 5));
  EXPECT_FALSE(inside(either(j(), i()), 5));
  EXPECT_FALSE(inside(either(i(), j() - 1), 12));
  EXPECT_FALSE(inside(either(j() - 1, i()), 12));
}

// As far as numbers say what each part may be, whatever the parts have in common.
TEST(ProvesInBounds, SumsOfSelectsAndOfData) {
  const auto one = [](const Expr& condition) { return select(condition, 1, 0); };
  EXPECT_TRUE(inside(one(i() < 7) + one(j() == 2), 3));
  EXPECT_FALSE(inside(one(i() < 7) + one(j() == 2), 2));
  EXPECT_FALSE(inside(one(i() < 7) + one(j() == 2) - 1, 2));
  EXPECT_TRUE(inside(1 + one(i() < 7) - one(j() == 2), 3));
  EXPECT_TRUE(inside(one(i() < 7) * 5 + j(), 10));
  EXPECT_FALSE(inside(one(i() < 7) * 5 + j(), 9));
  const Expr u = cast(i32, read_buffer("u", u8, {i()})), v = cast(i32, read_buffer("v", u8, {i()}));
  EXPECT_TRUE(inside(u * 256 + v, 65536));
  EXPECT_FALSE(inside(u * 256 + v, 65535));
  EXPECT_FALSE(inside(u - v, 65536));
  const Expr of_size = one(i() < 7) * axis_value("b");
  EXPECT_FALSE(inside(max(of_size, 0), 1 << 30)) << "of a size no number is known";
  EXPECT_FALSE(inside(min(of_size, 9), 10));
}

TEST(ProvesInBounds, SumsOfQuotients) {
  const auto value = [](const std::string& name, DType type) {
    return cast(i32, read_buffer(name, type, {i()}));
  };
  const Expr u = value("u", u8), v = value("v", u8), w = value("w", i8);
  EXPECT_TRUE(inside(u % 4 * 16 + v / 16, 64));
  EXPECT_FALSE(inside(u % 4 * 16 + v / 16, 63));
  EXPECT_TRUE(inside(abs(u / 4 - v / 4), 64));
  EXPECT_TRUE(inside(w / 16 + v / 64 + 8, 19));  // from -8 to 7, rounded towards minus infinity
  EXPECT_FALSE(inside(w / 16 + v / 64 + 8, 18));
  EXPECT_FALSE(inside(w / 16 + v / 64 + 7, 19));
  const Expr below = (u - 256) / (v + 16) + w / 128;  // from -16 to -1, and -1 or 0
  EXPECT_TRUE(inside(below + 17, 17));
  EXPECT_FALSE(inside(below + 17, 16));
  EXPECT_FALSE(inside(below + 16, 17));
  EXPECT_TRUE(inside(u / (v + 1) + v / 128, 257));
  EXPECT_FALSE(inside(u / (v + 1) + v / 128, 256)) << "by 1, at the least";
  EXPECT_FALSE(inside(u / w + v, 511)) << "by what may be below 0";
  EXPECT_TRUE(inside(cast(i32, read_buffer("u", u8, {i()}) / constant(u8, 4)), 64));
}

TEST(ProvesInBounds, Clamps) {
  Expr any = read_buffer("at", i32, {i()});
  EXPECT_FALSE(inside(any, 1000));
  EXPECT_TRUE(inside(max(min(any, 9), 0), 10));
  EXPECT_FALSE(inside(max(min(any, 9), 0), 9));
  EXPECT_FALSE(inside(min(any, 9), 10));
}

// Twice what is below a size is below twice that size, and by two.
TEST(ProvesInBounds, SeveralTimesAClamp) {
  const Extent size = Extent::size("B");
  const AxisExtents axes = {{"k", size}};
  const Expr held = min(axis_value("k"), size_value("B") - 1) * int_constant(2);
  EXPECT_TRUE(proves_in_bounds(held + int_constant(1), size * 2, axes));
  EXPECT_TRUE(proves_in_bounds(held + int_constant(1), size * 2 + Extent(1), axes));
  EXPECT_TRUE(proves_in_bounds(held, size * 2 - Extent(1), axes));
  EXPECT_FALSE(proves_in_bounds(held + int_constant(1), size * 2 - Extent(1), axes));
  EXPECT_FALSE(proves_in_bounds(held, size * 2 - Extent(2), axes));
  EXPECT_FALSE(proves_in_bounds(held, size * 3 - Extent(2), axes));
}

TEST(ProvesInBounds, AValueOfANarrowTypeIndexesATable) {
  auto value = [](DType type) { return cast(i32, read_buffer("at", type, {i()})); };
  EXPECT_TRUE(inside(value(u8), 256));
  EXPECT_FALSE(inside(value(u8), 255));
  EXPECT_TRUE(inside(value(i8) + 128, 256));
  EXPECT_FALSE(inside(value(i8), 256));
  EXPECT_TRUE(inside(value(u16) / 256, 256));
  EXPECT_TRUE(inside(value(bool_), 2));
  EXPECT_FALSE(inside(value(f32), 1 << 30));
}

// In i32 a product of data wraps around: what is exactly 0 or more may be less.
TEST(ProvesInBounds, NothingOfDataThatI32DoesNotHold) {
  const Expr u = cast(i32, read_buffer("u", u16, {i()})), d = read_buffer("d", i32, {i()});
  const Expr held = u * 30000, wraps = u * 100000;
  EXPECT_TRUE(inside(min(held, 9), 10));
  EXPECT_FALSE(inside(min(wraps, 9), 10));
  EXPECT_TRUE(inside(max(min(u, 9) - 5, 0), 5));
  EXPECT_FALSE(inside(max(min(d, 9) - 5, 0), 5));
  EXPECT_TRUE(inside(held / 30000, 65536));
  EXPECT_FALSE(inside(wraps / 100000, 65536));
  EXPECT_FALSE(inside(select(i() < 3, wraps, 0) / 100000, 65536));
  EXPECT_TRUE(inside(max(min(wraps, 9), 0), 10));
  EXPECT_TRUE(inside(min(max(wraps, 0), 9), 10));
  EXPECT_TRUE(inside(wraps % 10, 10));
  EXPECT_TRUE(inside(max(min(d + 1, 9), 0), 10));
  EXPECT_TRUE(inside(min(cast(i32, cast(u8, wraps)) * 3, 9), 10));
  EXPECT_TRUE(inside(min(max(min(d, 49), 0) * 64 + j(), 9), 10));
  EXPECT_TRUE(inside(min(u + axis_value("b"), 9), 10));
}

// Of axes alone, too, as far as their extents are numbers.
TEST(ProvesInBounds, NothingOfAProductOfAxesThatI32DoesNotHold) {
  const AxisExtents axes = {{"i", 5000}, {"n", size()}};
  const auto stays = [&](const Expr& index) { return proves_in_bounds(index, 5000, axes); };
  EXPECT_TRUE(stays(i() * 1000 / 1000));
  EXPECT_FALSE(stays(i() * 1000000 / 1000000));
  EXPECT_FALSE(stays(min(i() * 1000000, 99)));
  EXPECT_TRUE(stays((i() * 1000000 - i() * 999999) / 1));
}

TEST(PartBeyondI32, IsNamedWithWhatItMayBe) {
  const AxisExtents axes = {{"i", 5000}};
  const auto part = part_beyond_i32(int_constant(1) + i() * 1000000 % 99, axes);
  ASSERT_TRUE(part);
  EXPECT_EQ(to_string(part->part), "i * 1000000");
  EXPECT_EQ(part->low, 0);
  EXPECT_EQ(part->high, 4999000000);
  EXPECT_TRUE(part_beyond_i32(select(i() * -1000000 < 5, i(), 0), axes));
}

// Of two elements it would leave i32 already.
TEST(PartBeyondI32, IsASumWithACoefficientBeyondI32) {
  const AxisExtents axes = {{"b", size()}};
  const Expr b = axis_value("b");
  EXPECT_TRUE(part_beyond_i32(b * 100000 * 100000 % 99, axes));
  EXPECT_TRUE(part_beyond_i32(b * 100000 * -100000 % 99, axes));
  EXPECT_TRUE(part_beyond_i32((b + 100000) * 100000 % 99, axes));
  EXPECT_FALSE(part_beyond_i32(b * -65536 * 32768 % 99, axes));
}

TEST(PartBeyondI32, IsNothingThatStaysWithinOrIsNotKnown) {
  const AxisExtents axes = {{"i", 5000}, {"b", size()}};
  const Expr d = read_buffer("d", i32, {i()});
  EXPECT_FALSE(part_beyond_i32(i() * 400000 % 99, axes));
  EXPECT_FALSE(part_beyond_i32(axis_value("b") * 1000000 % 99, axes));
  EXPECT_FALSE(part_beyond_i32(max(min(d * 1000000, 9), 0), axes));
  EXPECT_FALSE(part_beyond_i32((i() * 1000000 - i() * 999999) % 99, axes));
  EXPECT_FALSE(part_beyond_i32(i() * 1000000, axes));
}

// Of a sum the whole counts: parts that wrap around make it up again.
TEST(ProvesInBounds, ASumWhosePartsI32DoesNotHold) {
  const Expr u = cast(i32, read_buffer("u", u8, {i()}));
  EXPECT_TRUE(inside(u * 1000 + j(), 255 * 1000 + 5));
  const Expr place = max(min(read_buffer("d", i32, {i()}), size_value("B") - 1), 0) * 64 + j();
  EXPECT_TRUE(proves_in_bounds(place, size() * 64, {{"b", size()}, {"j", 64}, {"i", 2}}));
}

TEST(ProvesInBounds, RunTimeSizes) {
  Expr b = axis_value("b");
  EXPECT_TRUE(inside(b, size()));
  EXPECT_TRUE(inside(B() - 1 - b, size()));
  EXPECT_TRUE(inside(int_constant(0), size()));  // b runs only when B is at least 1
  EXPECT_FALSE(inside(int_constant(1), size()));
  EXPECT_FALSE(inside(b + 1, size()));
  EXPECT_FALSE(inside(i(), size()));
}

// Where an axis of B - 2 steps takes one, B is 3 or more: windows that stay inside.
TEST(ProvesInBounds, AnAxisThatRunsSaysHowLargeASizeIs) {
  const Extent other = Extent::size("C"), b = size();
  const auto holds = [&](const Extent& steps, int64_t index) {
    return proves_in_bounds(int_constant(index), b, {{"j", steps}});
  };
  EXPECT_TRUE(holds(b - 2, 2));
  EXPECT_FALSE(holds(b - 2, 3));
  EXPECT_TRUE(holds(b * 2 - 5, 2));
  EXPECT_FALSE(holds(b * 2 - 5, 3));
  EXPECT_TRUE(proves_in_bounds(int_constant(5), b * 2, {{"j", b - 2}}));
  EXPECT_FALSE(proves_in_bounds(int_constant(6), b * 2, {{"j", b - 2}}));
  EXPECT_TRUE(holds(b - other - 4, 4));
  EXPECT_FALSE(holds(b + other - 4, 0));
  EXPECT_FALSE(holds(b + 2, 0));
  EXPECT_FALSE(holds(b * 2 + 1, 0));
  const Expr j = axis_value("j");
  const AxisExtents inside = {{"j", b - 2}};
  EXPECT_TRUE(proves_in_bounds(min(j, B() - 3), b - 2, inside));
  EXPECT_TRUE(proves_in_bounds(max(min(j + 7, B() - 3), 0), b - 2, inside));
  EXPECT_FALSE(proves_in_bounds(max(min(j + 7, B() - 3), 0), b - 3, inside));
  EXPECT_TRUE(proves_in_bounds(int_constant(2), b, {{"j", b - 1}, {"i", b - 2}})) << "the larger";
}

TEST(ProvesInBounds, NoSumLeaves64Bits) {
  const int64_t many = int64_t{1} << 62;
  EXPECT_TRUE(proves_in_bounds(int_constant(5), size() * many, {{"j", size() - 8}}));
  EXPECT_FALSE(proves_in_bounds(int_constant(5), size(), {{"j", size() - many}}));
}

TEST(ProvesInBounds, NothingIsReadWhereAnAxisIsEmpty) {
  EXPECT_TRUE(proves_in_bounds(i() + 99, 3, {{"i", 0}}));
}

bool first_inside(const Extent& extent, const std::vector<Extent>& not_empty) {
  return proves_in_bounds(int_constant(0), extent, {{"i", 4}}, not_empty);
}

TEST(ProvesInBounds, WhatIsNotEmptyHasAFirstElement) {
  const Extent other = Extent::size("C");
  EXPECT_TRUE(first_inside(size(), {size()}));
  EXPECT_TRUE(first_inside(size(), {other, size() - 5}));
  EXPECT_TRUE(first_inside(size(), {size() - other}));
  EXPECT_TRUE(first_inside(size() * 3 + other, {size()}));
  EXPECT_TRUE(first_inside(size() + other, {size() + other}));
}

TEST(ProvesInBounds, WhatMayBeEmptyHasNone) {
  const Extent other = Extent::size("C");
  EXPECT_FALSE(first_inside(size(), {}));
  EXPECT_FALSE(first_inside(size(), {other}));
  EXPECT_FALSE(first_inside(size(), {size() + 1}));
  EXPECT_FALSE(first_inside(size(), {size() + other}));  // the other one may be what is there
  EXPECT_FALSE(proves_in_bounds(int_constant(1), size(), {{"i", 4}}, {size()}));
}

TEST(LargestValue, IsThatOfTheFirstOrLastIteration) {
  const AxisExtents axes = {{"i", 12}, {"b", size()}};
  EXPECT_EQ(largest_value(*affine_of(2 * i() + 1), axes), Extent(23));
  EXPECT_EQ(largest_value(*affine_of(B() - i()), axes), size());
  EXPECT_EQ(largest_value(*affine_of(axis_value("b") - i()), axes), size() - 1);
}

}  // namespace
}  // namespace emulsion

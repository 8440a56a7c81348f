#include "passes/derive/choices.h"

#include <gtest/gtest.h>

#include "dsl/operators.h"

namespace emulsion {
namespace {

const Axis i("i", 24), j("j", 64);

Tensor x() { return input("x", f32, {24, 64}); }

TEST(ReadsData, AnywhereInIt) {
  EXPECT_TRUE(reads_data(x()(i, j) * 2.0F));
  EXPECT_FALSE(reads_data(Expr(i) * 2 + j));
}

TEST(ChoosesByPlace, AmongElementsOrValues) {
  const Tensor z = input("z", f32, {24, 64});
  const Expr joined = select(Expr(i) < 9, x()(i, j), z(max(Expr(i) - 9, 0), j));
  EXPECT_TRUE(chooses_by_place(joined, Choice::of_elements));
  EXPECT_TRUE(chooses_by_place(joined, Choice::of_values));
  const Expr computed = select(Expr(i) < 9, exp(x()(i, j)), select(Expr(j) > 3, z(i, j), 0.0F));
  EXPECT_FALSE(chooses_by_place(computed, Choice::of_elements));
  EXPECT_TRUE(chooses_by_place(computed, Choice::of_values));
}

TEST(ChoosesByPlace, NotByDataNorByTwoAxesNorInASum) {
  const Expr rows = min(cast(i32, input("rows", u8, {24})(i)), 23);
  for (const Choice choice : {Choice::of_elements, Choice::of_values}) {
    EXPECT_FALSE(chooses_by_place(select(x()(i, j) > 0.0F, x()(i, j), 0.0F), choice));
    EXPECT_FALSE(chooses_by_place(select(Expr(i) < j, x()(i, j), 0.0F), choice));
    EXPECT_FALSE(chooses_by_place(select(Expr(i) < 9, x()(rows, j), 0.0F), choice));
    EXPECT_FALSE(chooses_by_place(x()(i, j), choice));
    EXPECT_FALSE(chooses_by_place(x()(i, j) + select(Expr(i) < 9, 1.0F, 0.0F), choice));
  }
}

TEST(WithoutClamps, OnEitherSideAndInOneAnother) {
  EXPECT_EQ(to_string(without_clamps(min(max(Expr(i) - 9, 0), 23))), to_string(Expr(i) - 9));
  EXPECT_EQ(to_string(without_clamps(max(Expr(0), Expr(i) - 9))), to_string(Expr(i) - 9));
  EXPECT_EQ(to_string(without_clamps(min(Expr(i), Expr(j)))), to_string(min(Expr(i), Expr(j))))
      << "a bound that moves is none";
  const Expr read = without_clamped_indices(x()(min(Expr(i), 23), max(Expr(j) - 2, 0)));
  EXPECT_EQ(to_string(read), to_string(x()(i, Expr(j) - 2)));
}

TEST(BetweenEnds, NeitherHeldNorReflectedNorWrappedAround) {
  const Tensor y = compute("y", {i, j}, x()(i, j));
  const auto free = [&](const Expr& index) { return to_string(between_ends(index, *y.op(), "j")); };
  const Expr at = Expr(j) - 2;
  const std::string plain = to_string(at);
  EXPECT_EQ(free(clamp(at, 0, 63)), plain);
  EXPECT_EQ(free(abs(at)), plain);
  EXPECT_EQ(free(clamp(min(abs(at), 126 - abs(at)), 0, 63)), plain);
  EXPECT_EQ(free(max(5 - j, at)), plain);
  EXPECT_EQ(free(at % 64), plain);
  for (const Expr& index : {Expr(j) % 63, min(at, 2 * j), min(at, Expr(i)), Expr(i) % 64}) {
    EXPECT_EQ(free(index), to_string(index));
  }
}

TEST(IsTurnedAtEnds, ByMoreThanClamps) {
  const auto is_turned = [&](const Expr& index) {
    const Tensor y = compute("y", {i, j}, x()(i, index));
    return is_turned_at_ends(*y.op(), "j");
  };
  EXPECT_TRUE(is_turned((j + 1) % 64));
  EXPECT_TRUE(is_turned(min(abs(j - 1), 63)));
  EXPECT_FALSE(is_turned(min(j + 1, 63)));
  EXPECT_FALSE(is_turned(j));
  EXPECT_FALSE(is_turned((i + 1) % 64)) << "of another axis";
  EXPECT_FALSE(is_turned((j + 1) % 7)) << "more than once";
}

TEST(IsTurnedAtEnds, OfRunTimeSizes) {
  const Extent n = Extent::size("N");
  const Axis k("k", n);
  const Tensor row = input("row", f32, {n + 1});  // never empty
  const auto is_turned = [&](const Expr& index, const Extent& extent) {
    const Axis along("k", extent);
    const Tensor y = compute("y", {along}, row(clamp(index, 0, size_value("N"))));
    return is_turned_at_ends(*y.op(), "k");
  };
  EXPECT_TRUE(is_turned((k + 1) % size_value("N"), n));
  EXPECT_TRUE(is_turned((k + size_value("N") - 1) % size_value("N"), n));
  EXPECT_TRUE(is_turned((k + 1) % size_value("N"), n - 2));
  EXPECT_FALSE(is_turned((k + 1) % size_value("N"), n + 1)) << "more than once";
  EXPECT_FALSE(is_turned((k + 1) % size_value("M"), n)) << "of another size";
  EXPECT_FALSE(is_turned((2 * k) % size_value("N"), n));
}

TEST(ReadsIn, OfOneTensorOrOfAny) {
  const Tensor a = x(), z = input("z", f32, {24, 64});
  const Expr body = a(i, j) * z(i, j) + a(i, Expr(63) - j);
  EXPECT_EQ(reads_in(body).size(), 3U);
  EXPECT_EQ(reads_in(body, a.op().get()).size(), 2U);
  EXPECT_TRUE(reads_in(Expr(i) * 2).empty());
}

}  // namespace
}  // namespace emulsion

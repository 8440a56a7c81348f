#include "passes/derive/choices.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "dsl/operators.h"

namespace emulsion {
namespace {

const Axis i("i", 24), j("j", 64);

Tensor x() { return input("x", f32, {24, 64}); }

TEST(ReadsData, AnywhereInIt) {
  EXPECT_TRUE(reads_data(x()(i, j) * 2.0F));
  EXPECT_FALSE(reads_data(Expr(i) * 2 + j));
}

TEST(WithoutMovesByData, HasPlacesAlone) {
  const Tensor d = input("d", i32, {}), rows = input("rows", i32, {24});
  const auto body = [&](const Expr& row, const Expr& column) {
    return to_string(without_moves_by_data(*compute("y", {i, j}, x()(row, column)).op()).body);
  };
  EXPECT_EQ(body((i + d()) % 24, (j + d()) % 64), "x[i, j]");
  EXPECT_EQ(body(i, (j - rows(i)) % 64), "x[i, j]") << "alike in all lanes";
  EXPECT_EQ(body(i, (j + 63) % 64), "x[i, (j + 63) % 64]") << "no data";
  const std::string held = body(max(min(rows(i), 23), 0), j);
  EXPECT_NE(held.find("rows[i]"), std::string::npos) << held;
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

TEST(ChoosesBy, AStepOfTheAxisAndNoData) {
  const Expr body = select(Expr(i) == 3 && Expr(j) > 4, x()(i, j), 0.0F);
  EXPECT_TRUE(chooses_by(body + 1.0F, "i"));
  EXPECT_TRUE(chooses_by(body, "j"));
  EXPECT_FALSE(chooses_by(select(Expr(i) == 3, x()(i, j), 0.0F), "j"));
  EXPECT_FALSE(chooses_by(select(x()(i, j) > cast(f32, Expr(i)), 1.0F, 0.0F), "i"));
  EXPECT_FALSE(chooses_by(x()(i, j), "i"));
}

TEST(ChosenAt, WhatComparisonsWithNumbersDecide) {
  const auto at = [](const Expr& condition, int64_t step) {
    const Expr made = chosen_at(select(condition, x()(i, j), 0.0F), "i", step);
    return made->op == ExprOp::select ? "either" : made->op == ExprOp::read ? "first" : "second";
  };
  const Expr step = i;
  const struct {
    Expr condition;
    std::string holds_at;  // of the steps 1 to 3
  } cases[] = {{step == 2, "2"},
               {step != 2, "13"},
               {step < 2, "1"},
               {step <= 2, "12"},
               {step > 2, "3"},
               {step >= 2, "23"},
               {2 < step, "3"},
               {!(step == 2), "13"},
               {step % 2 == 1, "13"},
               {step > 1 && step < 3, "2"},
               {step == 1 || step == 3, "13"}};
  for (const auto& [condition, holds_at] : cases) {
    for (const int64_t number : {1, 2, 3}) {
      const bool holds = holds_at.find(std::to_string(number)) != std::string::npos;
      EXPECT_EQ(at(condition, number), std::string(holds ? "first" : "second"))
          << to_string(condition) << " at " << number;
    }
  }
}

TEST(ChosenAt, NotWhatTakesMore) {
  const Expr step = i, other = j, data = x()(i, j) > 0.0F;
  const auto at_two = [](const Expr& condition) {
    return to_string(chosen_at(select(condition, x()(i, j), 0.0F), "i", 2));
  };
  for (const Expr& condition : {step < size_value("N"), step < other, other == 2, data,
                                step == 2 && data, step == 3 || other == 2}) {
    EXPECT_EQ(at_two(condition), to_string(select(condition, x()(i, j), 0.0F)));
  }
  EXPECT_EQ(at_two(step == 3 && data), "0f") << "one part is enough";
  EXPECT_EQ(at_two(other == 2 || step == 2), "x[i, j]");
  const Expr inner = select(other == 2, select(step == 2, 1.0F, 2.0F), 3.0F);
  EXPECT_EQ(to_string(chosen_at(inner, "i", 2)), to_string(select(other == 2, 1.0F, 3.0F)));
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

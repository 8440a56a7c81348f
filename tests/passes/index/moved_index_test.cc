// Which indices are places that data move, and which are not.

#include "passes/index/moved_index.h"

#include <gtest/gtest.h>

#include <string>

#include "dsl/operators.h"

namespace emulsion {
namespace {

const Extent kWidth = Extent::size("W");
const Axis i("i", kWidth), k("k", 3);
const Tensor d = input("d", i32, {}), of_rows = input("e", i32, {kWidth});

// "place, moved around W"; "" of others.
std::string moved(const Expr& index) {
  const auto found = moved_index(index, {{"i", kWidth}, {"k", 3}});
  if (!found) return "";
  const std::string around = found->around.defined() ? " around " + to_string(found->around) : "";
  return to_string(found->place) + ", " + to_string(found->moved) + around;
}

TEST(MovedIndex, OfASum) {
  EXPECT_EQ(moved(Expr(i) + d()), "i, d[]");
  EXPECT_EQ(moved(d() * 2 + Expr(i) - 3), "i, d[] * 2 - 3");
  EXPECT_EQ(moved(Expr(i) + of_rows(k)), "i, e[k]");
}

TEST(MovedIndex, OfARemainder) {
  EXPECT_EQ(moved((Expr(i) + d()) % Expr(kWidth)), "i, d[] around W");
  EXPECT_EQ(moved((Expr(i) - d() + Expr(kWidth)) % Expr(kWidth)), "i, 0 - d[] + W around W");
}

TEST(MovedIndex, OfARemainderThatIsHeldWhereItIs) {
  const Expr rest = (Expr(i) + d()) % Expr(kWidth), last = Expr(kWidth) - 1;
  EXPECT_EQ(moved(max(min(rest, last), 0)), "i, d[] around W");
  EXPECT_EQ(moved(max(min(rest, last - 1), 0)), "") << "which holds some elsewhere";
  EXPECT_EQ(moved(max(min(rest, last), 1)), "");
}

TEST(MovedIndex, NotOfOthers) {
  EXPECT_EQ(moved(Expr(i) + 3), "") << "no data";
  EXPECT_EQ(moved(d()), "") << "no place";
  EXPECT_EQ(moved(Expr(i) + of_rows(i)), "") << "each place moves by itself";
  EXPECT_EQ(moved((Expr(i) + of_rows(i)) % Expr(kWidth)), "");
  EXPECT_EQ(moved((Expr(i) * 2 + d()) % Expr(kWidth)), "") << "wraps around twice";
  EXPECT_EQ(moved((Expr(i) + d()) % 7), "") << "more than once";
  EXPECT_EQ(moved((Expr(i) - 1 + d()) % of_rows(0)), "") << "a ring of data";
  EXPECT_EQ(moved(max(min(Expr(i) + d(), Expr(kWidth) - 1), 0)), "");
}

}  // namespace
}  // namespace emulsion

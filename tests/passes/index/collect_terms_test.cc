#include "passes/index/collect_terms.h"

#include <gtest/gtest.h>

#include "passes/nest/loop_nest.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

std::string collected(const Expr& index) { return to_string(collect_terms(index)); }

TEST(CollectTerms, DropsZerosAndOnes) {
  EXPECT_EQ(collected(v("a", "i") * 1 + 0 + v("b", "i") * 0), "a.i");
}

TEST(CollectTerms, CollectsEqualTerms) {
  EXPECT_EQ(collected((v("a", "i") + v("b", "i")) * 2 - v("b", "i") + 3), "a.i * 2 + b.i + 3");
  EXPECT_EQ(collected(v("a", "i") - v("a", "i")), "0");
}

TEST(CollectTerms, PutsPositiveTermsFirst) {
  EXPECT_EQ(collected(-v("a", "i") + (size_value("B") - 1)), "B - a.i - 1");
  EXPECT_EQ(collected(int_constant(3) - v("a", "i")), "3 - a.i");
  EXPECT_EQ(collected(-v("a", "i")), "a.i * -1");
}

TEST(CollectTerms, DividesWhatIsDivisible) {
  Expr i = v("a", "i"), j = v("b", "i");
  EXPECT_EQ(collected((i * 64 + j) / 64), "a.i + b.i / 64");
  EXPECT_EQ(collected((i * 64 + j) % 64), "b.i % 64");
  EXPECT_EQ(collected((i * 64 + 130) / 64), "a.i + 2");
  EXPECT_EQ(collected((i * 64 - 1) % 64), "63");
  EXPECT_EQ(collected((i * 64 - 1) / 64), "a.i - 1");
}

TEST(CollectTerms, FoldsMinAndMaxOfNumbers) {
  EXPECT_EQ(collected(v("a", "i") + min(int_constant(3), int_constant(5))), "a.i + 3");
  EXPECT_EQ(collected(max(v("a", "i") + 0, 1)), "max(a.i, 1)");
}

TEST(CollectTerms, GoesIntoConditions) {
  EXPECT_EQ(collected(v("a", "i") + 1 - 1 < size_value("B") * 1), "a.i < B");
}

TEST(CollectTerms, LeavesNamesAndNumbersAlone) {
  Expr i = v("a", "i");
  EXPECT_TRUE(collect_terms(i).same_as(i));
  Expr three = int_constant(3);
  EXPECT_TRUE(collect_terms(three).same_as(three));
}

TEST(CollectTerms, DoesNotDivideByAVariableOrByANegativeNumber) {
  Expr i = v("a", "i"), j = v("b", "i");
  EXPECT_EQ(collected(i / j), "a.i / b.i");
  EXPECT_EQ(collected((i * 4) % int_constant(-4)), to_string((i * 4) % int_constant(-4)));
}

TEST(CollectTerms, DoesNotMoveATermOutOfAModulo) {
  Expr i = v("a", "i");
  EXPECT_EQ(collected((i * 6) % 4), "a.i * 6 % 4");
}

TEST(CollectTerms, KeepsTheValueOfEveryIndex) {
  Expr i = v("a", "i"), j = v("b", "i");
  const std::vector<Expr> indices = {(i * 6 + j - 9) / 3,
                                     (i * 6 + j * 2 - 9) % 4,
                                     (i - j) * (i + 2),
                                     min(i * 2 - 1 - i, j) % 5,
                                     -(i / 3) + i % 3,
                                     select(i < j, i + 0, j * 2 - j),
                                     (i * 8 + j) / 4 - i * 2,
                                     ((i / 2) * 2 + i % 2) * 3,
                                     max(int_constant(2), 7) - i,
                                     (i + 1) * (j - 1) - j * i,
                                     abs(i - j) / 2,
                                     i / j + i % j};
  for (const Expr& index : indices) {
    Expr shown = collect_terms(index);
    for (int64_t a = -7; a <= 7; ++a) {
      for (int64_t b = -7; b <= 7; ++b) {
        const std::map<std::string, int64_t> values = {{"a.i", a}, {"b.i", b}};
        ASSERT_EQ(evaluate_index(shown, values), evaluate_index(index, values))
            << to_string(index) << " shown as " << to_string(shown) << " at " << a << ", " << b;
      }
    }
  }
}

}  // namespace
}  // namespace emulsion

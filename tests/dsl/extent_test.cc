#include "dsl/extent.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "tests/dsl/refusal.h"

namespace emulsion {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

Extent B() { return Extent::size("B"); }
Extent T() { return Extent::size("T"); }

TEST(Extent, PrintsAsAnAffineExpression) {
  EXPECT_EQ(Extent(256).to_string(), "256");
  EXPECT_EQ(Extent().to_string(), "0");
  EXPECT_EQ(B().to_string(), "B");
  EXPECT_EQ((B() * 2 + 1).to_string(), "2*B + 1");
  EXPECT_EQ((B() - 1).to_string(), "B - 1");
  EXPECT_EQ((T() - B() * 3 - 4).to_string(), "-3*B + T - 4");
  EXPECT_EQ((B() - T() - T()).to_string(), "B - 2*T");
  EXPECT_EQ((Extent(0) - B()).to_string(), "-1*B");
}

TEST(Extent, PrintsTheLowestNumber) {
  EXPECT_EQ((B() + kMin).to_string(), "B - 9223372036854775808");
  EXPECT_EQ((B() + T() * kMin).to_string(), "B - 9223372036854775808*T");
}

TEST(Extent, TermsThatCancelAreGone) {
  Extent e = B() + T() - B();
  EXPECT_EQ(e, T());
  EXPECT_TRUE((e - T()).is_constant());
  EXPECT_EQ(e - T(), Extent(0));
  EXPECT_EQ(B() * 0, Extent(0));
  EXPECT_NE(B(), T());
}

TEST(Extent, MultipliesFromEitherSide) {
  EXPECT_EQ(Extent(3) * (B() + 2), B() * 3 + 6);
  EXPECT_EQ((B() + 2) * Extent(3), B() * 3 + 6);
}

TEST(Extent, NumbersStandOnEitherSide) {
  EXPECT_EQ((2 * B() + 1).to_string(), "2*B + 1");
  EXPECT_EQ((1 + B()).to_string(), "B + 1");
  EXPECT_EQ((7 - B()).to_string(), "-1*B + 7");
  EXPECT_TRUE(3 == Extent(3));
  EXPECT_TRUE(3 != B());
}

TEST(Extent, DividesOnlyWhenItIsExactForEverySize) {
  EXPECT_EQ((B() * 6 + 4).exact_quotient(2), B() * 3 + 2);
  EXPECT_EQ(Extent(6).exact_quotient(-1), Extent(-6));
  EXPECT_EQ((B() * 6 + 3).exact_quotient(2), std::nullopt);
  EXPECT_EQ((B() * 3 + 4).exact_quotient(2), std::nullopt);
  EXPECT_EQ(B().exact_quotient(0), std::nullopt);
}

TEST(Extent, LowerBoundIsOverAllSizes) {
  EXPECT_EQ((B() * 2 + 5).lower_bound(), 5);
  EXPECT_EQ((B() - 1).lower_bound(), -1);
  EXPECT_EQ((Extent(5) - B()).lower_bound(), std::nullopt);
}

TEST(Extent, EvaluatesFromZeroUp) {
  Extent e = B() * 2 + T() - 1;
  EXPECT_EQ(e.evaluate({{"B", 0}, {"T", 0}}), -1);
  EXPECT_EQ(e.evaluate({{"B", 450}, {"T", 7}, {"unused", 3}}), 906);
}

TEST(Shape, PrintsInBrackets) {
  EXPECT_EQ(to_string(Shape{}), "[]");
  EXPECT_EQ(to_string(Shape{B(), 256}), "[B, 256]");
}

TEST(Shape, CountsElements) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({3, 5, 7}), 105);
  EXPECT_EQ(element_count({B(), 5}), std::nullopt);
}

TEST(Shape, AZeroMakesItEmptyHoweverLongTheRest) { EXPECT_EQ(element_count({kMax, kMax, 0}), 0); }

TEST(Identifier, AcceptsWhatGeneratedCodeCanHold) {
  for (const char* name :
       {"x", "W1", "a_b", "mm_lanes", "sum", "exp2", "std", "int8_t", "E", "I_MAX"}) {
    EXPECT_NO_THROW(check_identifier("name", name)) << name;
  }
  EXPECT_NO_THROW(check_identifier("name", std::string(128, 'a')));
}

void identifier(const std::string& name) { check_identifier("axis", name); }

class ExtentRefusal : public RefusalTest {};
TEST_P(ExtentRefusal, NamesTheCause) { check(); }
INSTANTIATE_TEST_SUITE_P(
    Table, ExtentRefusal,
    ::testing::ValuesIn(std::vector<Refusal>{
        {"SumOverflows", [] { Extent(kMax) + 1; }, "does not fit 64 bits"},
        {"DifferenceOverflows", [] { Extent(kMin) - 1; }, "does not fit 64 bits"},
        {"CoefficientSumOverflows", [] { B() * kMax + B(); }, "does not fit 64 bits"},
        {"ProductOverflows", [] { Extent(int64_t{1} << 32) * (int64_t{1} << 32); },
         "does not fit 64 bits"},
        {"CoefficientProductOverflows", [] { B() * kMax * 2; }, "does not fit 64 bits"},
        {"NegatedLowestOverflows", [] { Extent(kMin).exact_quotient(-1); }, "does not fit 64 bits"},
        {"ProductOfSizes", [] { B() * T(); }, "in expressions Expr(B) * Expr(T)"},
        {"SizeWithoutValue",
         [] {
           B().evaluate({{"T", 3}});
         },
         "size B: expected a value"},
        {"NegativeSize",
         [] {
           B().evaluate({{"B", -1}});
         },
         "expected 0 or greater, got -1"},
        {"ValueOverflows",
         [] {
           (B() * 2).evaluate({{"B", kMax}});
         },
         "does not fit 64 bits"},
        {"ElementsOverflow",
         [] {
           element_count({kMax, 3});
         },
         "number of elements"},
        {"EmptyName", [] { Extent::size(""); }, "run-time size ''"},
        {"KeywordAsSize", [] { Extent::size("while"); },
         "no keyword of C, C++ or Emulsion's texts"},
        {"MacroAsSize", [] { Extent::size("EOF"); },
         "run-time size 'EOF': expected a name of its own, got a macro"},
        {"MacroOfOurs", [] { identifier("HALIDE_X"); }, "expected a name of its own, got a macro"},
        {"DigitFirst", [] { identifier("1x"); }, "axis '1x': expected a letter"},
        {"UnderscoreFirst", [] { identifier("_x"); }, "expected a letter"},
        {"DoubleUnderscore", [] { identifier("a__b"); }, "single underscores"},
        {"Space", [] { identifier("a b"); }, "axis 'a b'"},
        {"NulByte", [] { identifier(std::string("a\0b", 3)); }, "axis 'a?b'"},
        {"Utf8", [] { identifier("\xc3\xa4"); }, "axis '?\?'"},
        {"TooLong", [] { identifier(std::string(129, 'a')); }, "at most 128"},
        {"Infinity", [] { identifier("inf"); }, "axis 'inf'"},
    }),
    refusal_name);

TEST(Extent, NeverNegative) {
  const Extent b = Extent::size("B");
  EXPECT_TRUE(never_negative(0));
  EXPECT_TRUE(never_negative(b * 2 + 1));
  EXPECT_FALSE(never_negative(b - 1));
  EXPECT_FALSE(never_negative(Extent(4) - b));
}

}  // namespace
}  // namespace emulsion

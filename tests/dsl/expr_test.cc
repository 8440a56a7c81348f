#include "dsl/expr.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/dsl/refusal.h"

namespace emulsion {
namespace {

Axis k("k", 8);
Expr f() { return read_buffer("f", f32, {}); }
Expr d() { return read_buffer("d", f64, {}); }
Expr i() { return axis_value("i"); }
Expr byte() { return read_buffer("b", u8, {}); }
Expr yes() { return i() < 3; }

TEST(AxisIndex, IsWhereTheNameStands) {
  const std::vector<Axis> axes = {Axis("m"), Axis("n"), Axis("m")};
  EXPECT_EQ(axis_index(axes, "m"), size_t{0});
  EXPECT_EQ(axis_index(axes, "n"), size_t{1});
  EXPECT_EQ(axis_index(axes, "k"), std::nullopt);
  EXPECT_EQ(axis_index({}, "m"), std::nullopt);
}

TEST(Axis, HasANameAndPerhapsAnExtent) {
  EXPECT_EQ(Axis("m").name(), "m");
  EXPECT_FALSE(Axis("m").has_extent());
  EXPECT_EQ(Axis("m", 0).extent(), Extent(0));
  EXPECT_EQ(Axis("m", Extent::size("B")).extent().to_string(), "B");
}

TEST(Expr, AxesAndSizesAreI32) {
  EXPECT_EQ(Expr(k).dtype(), i32);
  EXPECT_EQ(size_value("B").dtype(), i32);
  EXPECT_EQ(extent_value(Extent::size("B") * 2 - 1).dtype(), i32);
}

TEST(Expr, ComparisonsAreBool) {
  for (const Expr& e : {f() < f(), f() <= f(), f() > f(), f() >= f(), f() == f(), f() != f()}) {
    EXPECT_EQ(e.dtype(), bool_);
  }
  EXPECT_EQ((yes() && !yes()).dtype(), bool_);
  EXPECT_EQ((yes() == yes()).dtype(), bool_);
}

TEST(Expr, LiteralsTakeTheTypeOfTheOtherSide) {
  EXPECT_EQ((f() + 1).dtype(), f32);
  EXPECT_EQ((1.5 * f()).dtype(), f32);
  EXPECT_EQ((d() - 1.5f).dtype(), f64);
  EXPECT_EQ((i() * 2).dtype(), i32);
  EXPECT_EQ(select(yes(), f(), 0).dtype(), f32);
  EXPECT_EQ((Expr(1) + Expr(2.5f)).dtype(), f32);
  EXPECT_EQ((Expr(1.0f) + Expr(2.5)).dtype(), f64);
}

TEST(Expr, ClampIsAMinimumInsideAMaximum) {
  EXPECT_TRUE(equal(clamp(i(), 0, 4), max(min(i(), 4), 0)));
  EXPECT_EQ(clamp(f(), 0, 6.5).dtype(), f32);
  EXPECT_EQ(clamp(byte(), 16, 235).dtype(), u8);
  EXPECT_TRUE(equal(clamp(k, 1, size_value("B") - 1), max(min(Expr(k), size_value("B") - 1), 1)));
}

TEST(Expr, IntegersOfAnyTypeAreLiterals) {
  const std::vector<Expr> minima = {int64_t{INT32_MIN}, static_cast<long long>(INT32_MIN)};
  for (const Expr& e : minima) EXPECT_TRUE(equal(e, Expr(INT32_MIN))) << to_string(e);
  const std::vector<Expr> maxima = {int64_t{INT32_MAX}, 2147483647U, size_t{INT32_MAX},
                                    2147483647ULL};
  for (const Expr& e : maxima) EXPECT_TRUE(equal(e, Expr(INT32_MAX))) << to_string(e);
  EXPECT_EQ(to_string(int64_t{3} * f() + read_buffer("g", f32, {}) * 2U), "3f * f[] + g[] * 2f");
  EXPECT_EQ(to_string(select(i() < size_t{4}, i(), uint8_t{7})), "select(i < 4, i, 7)");
}

TEST(Expr, AnExtentIsItsValue) {
  const Extent height = Extent::size("H"), seven = 7;
  EXPECT_TRUE(equal(Expr(2 * height - 1), extent_value(2 * height - 1)));
  EXPECT_EQ(to_string(select(k == height - 1, height, k + height)), "select(k == H - 1, H, k + H)");
  EXPECT_EQ(to_string((k + 1) % height), "(k + 1) % H");
  EXPECT_EQ(to_string(clamp(k, 0, height - 1)), "max(min(k, H - 1), 0)");
  EXPECT_EQ((height > 0).dtype(), bool_);
  EXPECT_EQ((Expr(height) == 4).dtype(), bool_);
  // A number adapts to the other side, as the same number in C++ would.
  EXPECT_EQ(to_string(f() / seven), "f[] / 7f");
  EXPECT_EQ(to_string(k < k.extent()), "k < 8");
}

// Whether these compile. Each is a template, for what does not compile is then no error.
template <typename C, typename = void>
constexpr bool kIsCondition = false;
template <typename C>
constexpr bool kIsCondition<C, std::void_t<decltype(select(std::declval<C>(), Expr(1), Expr(2)))>> =
    true;
template <typename A, typename B, typename = void>
constexpr bool kHaveAnd = false;
template <typename A, typename B>
constexpr bool kHaveAnd<A, B, std::void_t<decltype(std::declval<A>() && std::declval<B>())>> = true;
template <typename A, typename B, typename = void>
constexpr bool kHaveOr = false;
template <typename A, typename B>
constexpr bool kHaveOr<A, B, std::void_t<decltype(std::declval<A>() || std::declval<B>())>> = true;

TEST(Expr, ABoolOfCppIsNoConditionOfTheKernel) {
  EXPECT_TRUE(kIsCondition<Expr>);
  EXPECT_FALSE(kIsCondition<bool>);
  EXPECT_FALSE(kIsCondition<decltype(Extent(4) == Extent::size("H"))>);
  EXPECT_TRUE((kHaveAnd<Expr, Expr> && kHaveOr<Expr, Expr>));
  EXPECT_FALSE((kHaveAnd<bool, Expr>));
  EXPECT_FALSE((kHaveAnd<Expr, bool>));
  EXPECT_FALSE((kHaveOr<bool, Expr>));
  EXPECT_FALSE((kHaveOr<Expr, bool>));
}

TEST(Expr, ALiteralLosesNothingButFloatPrecision) {
  Expr e = 0.1 + f();
  EXPECT_EQ(e->args[0]->float_value, static_cast<double>(0.1f));
  EXPECT_EQ((d() + 0.1)->args[1]->float_value, 0.1);
}

TEST(Expr, ACastToItsOwnTypeIsTheSameNode) {
  Expr e = f();
  EXPECT_TRUE(cast(f32, e).same_as(e));
  EXPECT_EQ(cast(i32, e).dtype(), i32);
}

TEST(Expr, OfOtherArgumentsItIsTheSameOperation) {
  const Expr e = f() + f();
  const Expr made = with_args(e, {e->args[1], e->args[0]});
  EXPECT_EQ(made->op, ExprOp::add);
  EXPECT_EQ(made.dtype(), f32);
  EXPECT_TRUE(made->args[0].same_as(e->args[1]));
  EXPECT_TRUE(made->args[1].same_as(e->args[0]));
}

TEST(Expr, OfTheArgumentsThatItHasItIsTheSameNode) {
  const Expr e = f() + f(), one = Expr(1.0);
  EXPECT_TRUE(with_args(e, {e->args[0], e->args[1]}).same_as(e));
  EXPECT_FALSE(with_args(e, {e->args[0], f()}).same_as(e));
  EXPECT_TRUE(with_args(one, {}).same_as(one));
}

TEST(Expr, ACastLiteralAdaptsNoMore) {
  Expr one = cast(f64, Expr(1.0));
  EXPECT_EQ(one->op, ExprOp::constant);
  EXPECT_FALSE(one->weak);
}

TEST(Expr, ConstantsKeepNanInfinityAndMinusZero) {
  EXPECT_TRUE(std::isnan(constant(f32, std::nan(""))->float_value));
  EXPECT_EQ(constant(f64, -INFINITY)->float_value, -INFINITY);
  EXPECT_TRUE(std::signbit(constant(f32, -0.0)->float_value));
  EXPECT_EQ(constant(i32, -2147483648.0)->int_value, std::numeric_limits<int32_t>::min());
}

TEST(Expr, TheEmptyReductionIsTheIdentity) {
  EXPECT_EQ(identity_of(Combiner::sum, f32)->float_value, 0);
  EXPECT_EQ(identity_of(Combiner::product, i32)->int_value, 1);
  EXPECT_EQ(identity_of(Combiner::max, f32)->float_value, -INFINITY);
  EXPECT_EQ(identity_of(Combiner::min, f64)->float_value, INFINITY);
  EXPECT_EQ(identity_of(Combiner::max, i32)->int_value, std::numeric_limits<int32_t>::min());
  EXPECT_EQ(identity_of(Combiner::min, i32)->int_value, std::numeric_limits<int32_t>::max());
}

TEST(Expr, CombineIsTheCombinersOperator) {
  EXPECT_EQ(combine(Combiner::sum, f(), f())->op, ExprOp::add);
  EXPECT_EQ(combine(Combiner::product, f(), f())->op, ExprOp::mul);
  EXPECT_EQ(combine(Combiner::min, f(), f())->op, ExprOp::min);
  EXPECT_EQ(combine(Combiner::max, f(), f())->op, ExprOp::max);
}

// Of 2^n terms, as text.
Expr power_of_sums(int n) {
  Expr result = f();
  for (int i = 0; i < n; ++i) result = result + result;
  return result;
}

class ExprRefusal : public RefusalTest {};
TEST_P(ExprRefusal, NamesTheCause) { check(); }
INSTANTIATE_TEST_SUITE_P(
    Table, ExprRefusal,
    ::testing::ValuesIn(std::vector<Refusal>{
        {"MixedFloats", [] { f() + d(); }, "arguments of add: expected one type, got f32 and f64"},
        {"AnExtentThatNoI32Holds", [] { i() + Extent(int64_t{1} << 31); }, "got 2147483648"},
        {"ASizeAndFloat", [] { f() / Extent::size("B"); },
         "arguments of div: expected one type, got f32 and i32; cast one of them: f32(B)"},
        {"AnIntegerOnTheLeft", [] { Axis("m", 4) * f(); }, "cast one of them: f32(m)"},
        {"BoolAndInteger", [] { i() == yes(); }, "got i32 and bool; cast one of them: i32("},
        {"WhatIsLong", [] { power_of_sums(9) + d(); }, "cast one of them: f64(...)"},
        {"WhatIsVeryLong", [] { power_of_sums(200) + d(); }, "cast one of them: f64(...)"},
        {"IntegerAndFloat", [] { i() * f(); }, "arguments of mul: expected one type"},
        {"FloatLiteralAndInteger", [] { i() + 0.5f; }, "arguments of add: expected one type"},
        {"BoolLiteralAndFloat", [] { f() + Expr(true); }, "got f32 and bool"},
        {"ModOfFloats", [] { f() % f(); },
         "arguments of mod: expected i8, u8, i16, u16 or i32, got f32"},
        {"SumOfBools", [] { yes() + yes(); },
         "expected i8, u8, i16, u16, i32, f32 or f64, got bool"},
        {"OrderOfBools", [] { yes() < yes(); }, "arguments of lt"},
        {"MaxOfBools", [] { max(yes(), yes()); }, "arguments of max"},
        {"AndOfFloats", [] { f() && f(); },
         "arguments of and: expected bool, got f32; compare it, as in x != 0"},
        {"OrOfIntegers", [] { i() || i(); },
         "arguments of or: expected bool, got i32; compare it, as in x != 0"},
        {"NotOfFloat", [] { !f(); },
         "argument 1 of not: expected bool, got f32; compare it, as in x != 0"},
        {"NegativeBool", [] { -yes(); }, "argument 1 of neg"},
        {"AbsOfBool", [] { abs(yes()); }, "argument 1 of abs"},
        {"ExpOfInteger", [] { exp(i()); }, "argument 1 of exp: expected f32 or f64, got i32"},
        {"PowOfIntegers", [] { pow(i(), i()); }, "arguments of pow: expected f32 or f64, got i32"},
        {"PowOfTwoTypes", [] { pow(f(), d()); }, "arguments of pow: expected one type"},
        {"ErfOfBool", [] { erf(yes()); }, "argument 1 of erf: expected f32 or f64, got bool"},
        {"NoneOfAMinus", [] { -Expr(); }, "argument 1 of neg: expected an expression, got none"},
        {"NoneOnTheLeft", [] { Expr() + f(); }, "argument 1 of add: expected an expression"},
        {"NoneOnTheRight", [] { f() + Expr(); }, "argument 2 of add: expected an expression"},
        {"NoneToCast", [] { cast(f32, Expr()); }, "argument 2 of cast: expected an expression"},
        {"NoneToSum", [] { sum(Axis("k", 2), Expr()); },
         "argument 2 of sum: expected an expression"},
        {"NoCondition", [] { select(Expr(), f(), f()); },
         "argument 1 of select: expected an expression"},
        {"NoneIfTrue", [] { select(yes(), Expr(), f()); },
         "argument 2 of select: expected an expression"},
        {"NoneIfFalse", [] { select(yes(), f(), Expr()); },
         "argument 3 of select: expected an expression"},
        {"SelectWithoutCondition", [] { select(f(), f(), f()); },
         "argument 1 (condition) of select: expected bool, got f32"},
        {"SelectByAnInteger", [] { select(i(), f(), f()); },
         "argument 1 (condition) of select: expected bool, got i32; compare it, as in x != 0"},
        {"SelectOfTwoTypes", [] { select(yes(), f(), d()); },
         "arguments 2 and 3 of select: expected one type, got f32 and f64"},
        {"CastToBf16", [] { cast(bf16, f()); }, "argument 1 (type) of cast"},
        {"SignedAndUnsigned", [] { byte() + constant(i8, 1); }, "got u8 and i8; cast one of them"},
        {"ByteAndInteger", [] { byte() + i(); }, "got u8 and i32; cast one of them: i32("},
        {"LiteralThatU8DoesNotHold", [] { byte() + 256; }, "from 0 to 255, got 256"},
        {"NegativeLiteralBesideU8", [] { byte() * -1; }, "constant of type u8"},
        {"ConstantBeyondI16", [] { constant(i16, 32768); }, "from -32768 to 32767, got 32768"},
        {"SqrtOfByte", [] { sqrt(byte()); }, "argument 1 of sqrt: expected f32 or f64, got u8"},
        {"Undefined", [] { f() + Expr(); }, "argument 2 of add: expected an expression, got none"},
        {"UndefinedArgument", [] { exp(Expr()); }, "argument 1 of exp"},
        {"ClampOfAnotherType", [] { clamp(f(), i(), 1.0F); },
         "arguments of max: expected one type, got f32 and i32"},
        {"ClampOfBool", [] { clamp(yes(), 0, 1); },
         "arguments of min: expected one type, got bool and i32"},
        {"HalfAnInteger", [] { constant(i32, 0.5); }, "expected a whole number"},
        {"IntegerTooLarge", [] { int_constant(int64_t{1} << 31); }, "2147483647"},
        {"IntegerFromNan", [] { constant(i32, std::nan("")); }, "expected a whole number"},
        {"BoolTwo", [] { constant(bool_, 2); }, "from 0 to 1, got 2"},
        {"LargeCoefficient", [] { extent_value(Extent::size("B") * (int64_t{1} << 40)); },
         "constant of type i32"},
        {"SumOverNothing", [] { sum(std::vector<Axis>{}, f()); }, "expected at least one axis"},
        {"SumOverOneAxisTwice",
         [] {
           sum({k, k}, f());
         },
         "expected distinct axes, got k twice"},
        {"SumOverAxisWithoutExtent", [] { sum(Axis("q"), f()); }, "axis q: expected an extent"},
        {"MaxOverBool", [] { reduce_max(k, yes()); }, "argument 2 (body) of max"},
        {"SumOfNothing", [] { sum(k, Expr()); }, "argument 2 of sum"},
        {"NegativeExtent", [] { Axis("m", -1); }, "expected an extent of 0 or greater, got -1"},
        {"AxisWithAKeyword", [] { Axis("for", 3); }, "axis 'for'"},
        {"ExtentOfABareAxis", [] { Axis("m").extent(); }, "as in Axis m(\"m\", 128)"},
        {"ALongThatIsNoI32", [] { f() + int64_t{3000000000}; },
         "expected a whole number that i32 holds, got 3000000000; legal: a double"},
        {"ALongBelowI32", [] { f() + int64_t{-2147483649}; }, "got -2147483649"},
        {"AnUnsignedThatIsNoI32", [] { i() < 4294967295U; }, "got 4294967295"},
        {"ASizeThatWouldWrapAround", [] { i() < size_t{0} - 1; }, "got 18446744073709551615"},
        {"ASizeWhoseLowBitsAreSmall", [] { i() < (size_t{1} << 32) + 1; }, "got 4294967297"},
    }),
    refusal_name);

}  // namespace
}  // namespace emulsion

#include <cmath>

#include "tests/dsl/operators_cases.h"

namespace emulsion {
namespace {

const Extent kB = Extent::size("B");
const Extent kT = Extent::size("T");
const double kNan = std::nan("");

INSTANTIATE_TEST_SUITE_P(
    Elementwise, Shapes,
    ::testing::ValuesIn(std::vector<ShapeCase>{
        {"EqualShapes",
         [] {
           return add(in({2, 3}), in({2, 3}));
         },
         "f32[2, 3]"},
        {"ColumnAndRow",
         [] {
           return sub(in({2, 1}), in({1, 3}));
         },
         "f32[2, 3]"},
        {"MissingAxes",
         [] {
           return mul(in({4, 2, 3}), in({3}));
         },
         "f32[4, 2, 3]"},
        {"MissingAxesOnTheLeft",
         [] {
           return div(in({3}), in({4, 2, 3}));
         },
         "f32[4, 2, 3]"},
        {"RankZero",
         [] {
           return add(in({}), in({2, 3}));
         },
         "f32[2, 3]"},
        {"ANumberOfAnyType",
         [] {
           return add(mul(int64_t{3}, in({2, 3})), size_t{2}) * uint8_t{2};
         },
         "f32[2, 3]"},
        {"TwoOfRankZero", [] { return min(in({}), in({})); }, "f32[]"},
        {"RunTimeWithItself",
         [] {
           return max(in({kB, 3}), in({kB, 1}));
         },
         "f32[B, 3]"},
        {"RunTimeWithOne",
         [] {
           return add(in({kB, 3}), in({1, 3}));
         },
         "f32[B, 3]"},
        {"OneWithRunTime",
         [] {
           return add(in({1, 3}), in({kB * 2 + 1, 1}));
         },
         "f32[2*B + 1, 3]"},
        {"ZeroWithOne",
         [] {
           return add(in({0, 3}), in({1, 3}));
         },
         "f32[0, 3]"},
        {"Scalar", [] { return add(in({2}, f64), 0.1f); }, "f64[2]"},
        {"ScalarOnTheLeft", [] { return sub(1, in({2}, f32)); }, "f32[2]"},
        {"WholeDoubleWithInteger", [] { return mul(in({2}, i32), 2.0); }, "i32[2]"},
        {"Infinity", [] { return min(in({2}), INFINITY); }, "f32[2]"},
        {"CppOperators",
         [] {
           return -(in({2}) + 1 - in({3, 1})) * 2.0f / in({});
         },
         "f32[3, 2]"},
        {"Comparison",
         [] {
           return less(in({2, 1}), in({3}));
         },
         "bool[2, 3]"},
        {"ComparisonWithScalar", [] { return greater_equal(in({2}), 0); }, "bool[2]"},
        {"EqualityOfBool", [] { return equal(in({2}, bool_), in({2}, bool_)); }, "bool[2]"},
        {"Logical", [] { return logical_or(in({2}, bool_), in({1}, bool_)); }, "bool[2]"},
        {"Not", [] { return logical_not(in({2}, bool_)); }, "bool[2]"},
        {"WhereBroadcastsAll",
         [] {
           return where(in({2, 1}, bool_), in({3}), in({4, 1, 1}));
         },
         "f32[4, 2, 3]"},
        {"WhereOfAScalar", [] { return where(in({kB}, bool_), 0, in({1}, i32)); }, "i32[B]"},
        {"WhereOfBool", [] { return where(in({2}, bool_), in({2}, bool_), 1); }, "bool[2]"},
        {"ReluOfInteger",
         [] {
           return relu(in({kB, 2}, i32));
         },
         "i32[B, 2]"},
        {"AbsOfRankZero", [] { return abs(in({}, f64)); }, "f64[]"},
        {"NegOfNothing", [] { return neg(in({0})); }, "f32[0]"},
        {"Exp", [] { return exp(in({2})); }, "f32[2]"},
        {"Log", [] { return log(in({2}, f64)); }, "f64[2]"},
        {"Sqrt", [] { return sqrt(in({2})); }, "f32[2]"},
        {"Tanh", [] { return tanh(in({2})); }, "f32[2]"},
        {"Floor", [] { return floor(in({2})); }, "f32[2]"},
        {"Ceil", [] { return ceil(in({kB}, f64)); }, "f64[B]"},
        {"Round",
         [] {
           return round(in({2, 3}));
         },
         "f32[2, 3]"},
        {"Trunc", [] { return trunc(in({}, f64)); }, "f64[]"},
        {"PowBroadcasts",
         [] {
           return pow(in({2, 1}), in({3}));
         },
         "f32[2, 3]"},
        {"PowOfANumber", [] { return pow(2, in({kB}, f64)); }, "f64[B]"},
        {"PowToANumber", [] { return pow(in({2}), -0.5); }, "f32[2]"},
        {"Sigmoid", [] { return sigmoid(in({kB})); }, "f32[B]"},
        {"GeluTanh", [] { return gelu(in({2}, f64)); }, "f64[2]"},
        {"GeluErf", [] { return gelu(in({2}), Gelu::erf); }, "f32[2]"},
        {"Clamp", [] { return clamp(in({2}, i32), 0, 255); }, "i32[2]"},
        {"ClampOpenEnd", [] { return clamp(in({2}), 0, INFINITY); }, "f32[2]"},
        {"CastToBool", [] { return cast(in({2}), bool_); }, "bool[2]"},
        {"CastToTheSame", [] { return cast(in({2}), f32); }, "f32[2]"},
    }),
    case_name<ShapeCase>);

INSTANTIATE_TEST_SUITE_P(
    Elementwise, Refusals,
    ::testing::ValuesIn(std::vector<RefusalCase>{
        {"OtherExtent",
         [] {
           return add(in({2, 3}), in({4}));
         },
         {"argument 2 (b) of add: ",
          "broadcasts with [2, 3] of a, got [4]: axis -1 is 4, not 3 or 1"}},
        {"OuterExtent",
         [] {
           return sub(in({2, 3}), in({5, 1}));
         },
         {"axis -2 is 5, not 2 or 1"}},
        {"RunTimeWithANumber",
         [] {
           return mul(in({kB, 3}), in({4, 3}));
         },
         {"axis -2 is 4, not B or 1"}},
        {"TwoRunTimeSizes", [] { return div(in({kB}), in({kT})); }, {"axis -1 is T, not B or 1"}},
        {"ZeroWithANumber", [] { return add(in({0}), in({2})); }, {"axis -1 is 2, not 0 or 1"}},
        {"OtherType",
         [] { return add(in({2}), in({2}, f64)); },
         {"argument 2 (b) of add: expected f32, the type of a, got f64; cast one of them: cast(a, "
          "f64)"}},
        {"ArithmeticOnBool",
         [] { return mul(in({2}, bool_), in({2}, bool_)); },
         {"argument 1 (a) of mul: expected i8, u8, i16, u16, i32, f32 or f64, got bool"}},
        {"NoKernels",
         [] { return relu(without_kernels({2}, bf16)); },
         {"argument 1 (x) of relu: ", "bool, i8, u8, i16, u16, i32, f32 or f64", "got bf16"}},
        {"NoKernelsBf16",
         [] { return add(without_kernels({2}, bf16), 1); },
         {"(a) of add", "got bf16"}},
        {"Undefined",
         [] { return max(in({2}), Tensor()); },
         {"argument 2 (b) of max: ", "undefined"}},
        {"UndefinedUnary", [] { return exp(Tensor()); }, {"argument 1 (x) of exp: ", "undefined"}},
        {"TwoNumbers",
         [] { return min(Operand(1), Operand(2)); },
         {"argument 1 (a) of min: expected a tensor", "got two numbers"}},
        {"FractionWithInteger",
         [] { return add(in({2}, i32), 0.5); },
         {"argument 2 (b) of add: expected a whole number", "type i32, got 0.5"}},
        {"NanWithInteger",
         [] { return sub(kNan, in({2}, i32)); },
         {"argument 1 (a) of sub: ", "got nan"}},
        {"TooLargeForI32", [] { return less(in({2}, i32), 3e9); }, {"(b) of less", "2147483647"}},
        {"TooLargeForF32", [] { return mul(in({2}), 1e300); }, {"(b) of mul", "that f32 holds"}},
        {"NumberForBool", [] { return equal(in({2}, bool_), 2); }, {"(b) of equal", "from 0 to 1"}},
        {"OrderOfBool",
         [] { return less(in({2}, bool_), in({2}, bool_)); },
         {"(a) of less", "got bool"}},
        {"LogicalOfFloat",
         [] { return logical_and(in({2}, bool_), in({2})); },
         {"argument 2 (b) of logical_and: expected bool, got f32"}},
        {"NotOfInteger",
         [] { return logical_not(in({2}, i32)); },
         {"(x) of logical_not: expected bool"}},
        {"WhereOfFloat",
         [] { return where(in({2}), in({2}), in({2})); },
         {"argument 1 (condition) of where: expected bool, got f32"}},
        {"WhereOfTwoTypes",
         [] { return where(in({2}, bool_), in({2}), in({2}, i32)); },
         {"argument 3 (b) of where: expected f32, the type of a, got i32"}},
        {"WhereOfTwoNumbers",
         [] { return where(in({2}, bool_), 1, 0); },
         {"argument 2 (a) of where: ", "argument 3 (b)"}},
        {"WhereCondition",
         [] { return where(in({3}, bool_), in({2}), 0); },
         {"argument 1 (condition) of where: ", "[2] of a and b, got [3]"}},
        {"ExpOfInteger",
         [] { return exp(in({2}, i32)); },
         {"argument 1 (x) of exp: expected f32 or f64, got i32"}},
        {"LogOfBool",
         [] { return log(in({2}, bool_)); },
         {"(x) of log: expected f32 or f64, got bool"}},
        {"RoundOfInteger",
         [] { return round(in({2}, i32)); },
         {"argument 1 (x) of round: expected f32 or f64, got i32"}},
        {"SqrtOfInteger", [] { return sqrt(in({2}, i32)); }, {"(x) of sqrt: expected f32 or f64"}},
        {"PowOfInteger",
         [] { return pow(in({2}, i32), 2); },
         {"argument 1 (a) of pow: expected f32 or f64, got i32"}},
        {"PowToAnInteger",
         [] { return pow(2.0, in({2}, u8)); },
         {"argument 2 (b) of pow: expected f32 or f64, got u8"}},
        {"PowOfTwoTypes",
         [] { return pow(in({2}), in({2}, f64)); },
         {"argument 2 (b) of pow: expected f32, the type of a, got f64"}},
        {"PowOfTwoNumbers",
         [] { return pow(Operand(2), Operand(3)); },
         {"(a) of pow", "two numbers"}},
        {"PowToWhatF32DoesNotHold",
         [] { return pow(in({2}), 1e300); },
         {"(b) of pow", "f32 holds"}},
        {"PowOfOtherExtents",
         [] { return pow(in({2}), in({3})); },
         {"argument 2 (b) of pow: ", "axis -1 is 3, not 2 or 1"}},
        {"TanhOfInteger", [] { return tanh(in({2}, i32)); }, {"(x) of tanh: expected f32 or f64"}},
        {"SigmoidOfInteger",
         [] { return sigmoid(in({2}, i32)); },
         {"(x) of sigmoid: expected f32"}},
        {"GeluOfInteger", [] { return gelu(in({2}, i32)); }, {"(x) of gelu: expected f32 or f64"}},
        {"ReluOfBool",
         [] { return relu(in({2}, bool_)); },
         {"(x) of relu: expected i8, u8, i16, u16, i32, f32 or f64"}},
        {"NegOfBool",
         [] { return neg(in({2}, bool_)); },
         {"(x) of neg: expected i8, u8, i16, u16, i32, f32 or f64"}},
        {"AbsOfBool",
         [] { return abs(in({2}, bool_)); },
         {"(x) of abs: expected i8, u8, i16, u16, i32, f32 or f64"}},
        {"ClampUpsideDown",
         [] { return clamp(in({2}), 1, 0); },
         {"argument 3 (high) of clamp: expected 1 or more, the low end, got 0"}},
        {"ClampLowNan",
         [] { return clamp(in({2}), kNan, 0); },
         {"argument 2 (low) of clamp: ", "NaN"}},
        {"ClampHighNan",
         [] { return clamp(in({2}), 0, kNan); },
         {"argument 3 (high) of clamp", "nan"}},
        {"ClampFraction",
         [] { return clamp(in({2}, i32), 0.5, 2); },
         {"(low) of clamp", "got 0.5"}},
        {"NumberThatAByteDoesNotHold",
         [] { return add(in({2}, u8), 256); },
         {"a whole number from 0 to 255 beside a tensor of type u8, got 256"}},
        {"NegativeNumberBesideUnsigned",
         [] { return clamp(in({2}, u16), -1, 5); },
         {"(low) of clamp", "from 0 to 65535", "got -1"}},
        {"CastToNoKernels",
         [] { return cast(in({2}), bf16); },
         {"argument 2 (dtype) of cast: expected a type with kernels", "got bf16"}},
        {"TooManyBytes",
         [] {
           return add(in({65536, 1}), in({1, 65536}));
         },
         {"result of add: expected at most 2147483647 bytes, got shape [65536, 65536]"}},
        {"IllegalName",
         [] { return relu(in({2}), "9lives"); },
         {"result of relu 9lives: ", "a letter"}},
    }),
    case_name<RefusalCase>);

TEST(ElementwiseTest, BroadcastReadsElementZeroOfWhatRepeats) {
  EXPECT_EQ(body_of(add(in({4, 1}, f32, "a"), in({3}, f32, "b"))), "a[i0, 0] + b[i1]");
  EXPECT_EQ(body_of(add(in({1, 1}, f32, "a"), in({}, f32, "b"))), "a[i0, i1] + b[]");
}

TEST(ElementwiseTest, NumbersTakeTheTypeOfTheTensor) {
  EXPECT_EQ(body_of(in({2}) * 2), "x[i0] * 2f");
  EXPECT_EQ(body_of(1 - in({2}, i32)), "1 - x[i0]");
  EXPECT_EQ(body_of(in({2}, f64) / 0.5f), "x[i0] / 0.5d");
}

TEST(ElementwiseTest, ReluAndClampAreMaxAndMin) {
  EXPECT_EQ(body_of(relu(in({2}))), "max(x[i0], 0f)");
  EXPECT_EQ(body_of(clamp(in({2}), -1, 1)), "min(max(x[i0], -1f), 1f)");
}

TEST(ElementwiseTest, PowKeepsItsExponent) {
  EXPECT_EQ(body_of(pow(in({2}), 2)), "pow(x[i0], 2f)");
  EXPECT_EQ(body_of(pow(in({2}, f64), 0.5f)), "pow(x[i0], 0.5d)");
}

TEST(ElementwiseTest, SigmoidTakesTheExponentialOfNothingPositive) {
  int exponentials = 0;
  visit(sigmoid(in({2})).op()->body, [&](const Expr& e) {
    if (e->op != ExprOp::exp) return;
    ++exponentials;
    EXPECT_EQ(to_string(e), "exp(-abs(x[i0]))");
  });
  EXPECT_EQ(exponentials, 1);
}

TEST(ElementwiseTest, NamesAreTheUsersOrTheOperators) {
  Tensor named = add(in({2}), 1, "y");
  EXPECT_EQ(named.name(), "y");
  EXPECT_FALSE(named.op()->auto_named);
  Tensor unnamed = add(in({2}), 1);
  EXPECT_EQ(unnamed.name(), "add");
  EXPECT_TRUE(unnamed.op()->auto_named);
}

TEST(ElementwiseTest, AFunctionIsATensor) {
  Axis i("i", 4);
  Func f("f");
  f(i) = in({4}, f32, "x")(i)*2.0f;
  EXPECT_EQ(body_of(relu(f)), "max(f[i0], 0f)");
  EXPECT_EQ(body_of(f + 1), "f[i0] + 1f");
  EXPECT_EQ(body_of(max(f, f)), "max(f[i0], f[i0])");
}

TEST(ElementwiseTest, ExpressionsKeepTheirOwnOverloads) {
  Axis i("i", 4);
  Func f("f");
  f(i) = max(exp(in({4})(i)), 0.0f) + min(abs(in({4})(i)), 1.0f);
  EXPECT_EQ(body_of(f), "max(exp(x[i]), 0f) + min(abs(x[i]), 1f)");
}

}  // namespace
}  // namespace emulsion

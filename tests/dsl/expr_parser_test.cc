#include "dsl/expr_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/dsl/refusal.h"

namespace emulsion {
namespace {

ExprScope scope() {
  ExprScope scope;
  scope.sizes = {"B", "T"};
  scope.axes = {Axis("m", Extent::size("B")), Axis("n", 8), Axis("T", 3)};
  scope.tensors["x"] = input("x", f32, {Extent::size("B"), 8}).op();
  scope.tensors["c"] = input("c", bool_, {}).op();
  scope.tensors["exp"] = input("exp", f32, {8}).op();
  return scope;
}

Expr parse(const std::string& text) {
  TextLexer lexer(text);
  Expr result = parse_expr(&lexer, scope());
  lexer.expect_end_of_line();
  return result;
}

Expr body(const std::string& text) {
  TextLexer lexer(text);
  ExprScope names = scope();
  return parse_body(&lexer, &names);
}

TEST(ExprParser, PrintsBackWhatItRead) {
  for (const char* text :
       {"x[m, n]", "x[m, n] * 2f - -1f / x[m, 7 - n]", "x[m, n] - (x[m, n] - 1f)",
        "select(c[] && !(m == B), -(2f), -x[m, n])", "min(exp[n], exp(exp[n]))",
        "f32(m / 2 * 2 + m % 2)", "m < 3 == n < 4 || c[]", "T + size(T)", "-(-m)", "bool(m)",
        "f64(true) * nan(f64, 0xfff8000000000001)", "i32(-inf(f32))"}) {
    EXPECT_EQ(to_string(parse(text)), std::string(text) == "T + size(T)" ? "T + T" : text);
  }
}

TEST(ExprParser, DropsParenthesesThatSayNothing) {
  EXPECT_EQ(to_string(parse("((x[(m), n]) + (1f * (2f)))")), "x[m, n] + 1f * 2f");
}

TEST(ExprParser, AnAxisHidesASizeOfItsName) {
  Expr e = parse("T + size(T)");
  EXPECT_EQ(e->args[0]->op, ExprOp::axis);
  EXPECT_EQ(e->args[1]->op, ExprOp::size);
}

TEST(ExprParser, ACombinerAndTheFunctionOfItsNameDiffer) {
  EXPECT_EQ(body("max(k: 8) x[m, k]")->op, ExprOp::reduce);
  EXPECT_EQ(body("max(x[m, n], 0f)")->op, ExprOp::max);
  EXPECT_EQ(body("pow(x[m, n], 2f)")->op, ExprOp::pow);
  EXPECT_EQ(body("round(x[m, n])")->op, ExprOp::round);
  EXPECT_EQ(body("sum(k: 8, l: 2*B + 1) x[m, k]")->axes[1].extent(), Extent::size("B") * 2 + 1);
}

TEST(ExprParser, ExtentsParseBack) {
  for (const char* text : {"0", "256", "B", "2*B + 1", "-3*B + T - 4", "B - 9223372036854775808"}) {
    std::string copy = text;
    TextLexer lexer(copy);
    EXPECT_EQ(parse_extent(&lexer, {"B", "T"}).to_string(), text);
  }
}

TEST(ExprParser, ALongSumIsNotDeepNesting) {
  std::string text = "0f";
  for (int i = 0; i < 900; ++i) text += " + 1f";
  EXPECT_EQ(to_string(parse(text)), text);
}

std::string repeated(const std::string& unit, int count);

TEST(ExprParser, WhatCanBeReadCanBeReadAgain) {
  const std::string text = to_string(parse(repeated("- ", 300) + "m"));
  EXPECT_EQ(text.substr(0, 5), "-(-(-");
  EXPECT_EQ(to_string(parse(text)), text);
}

std::string repeated(const std::string& unit, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += unit;
  return text;
}

Extent extent(const std::string& text) {
  TextLexer lexer(text);
  return parse_extent(&lexer, {"B", "T"});
}

class ExprParserRefusal : public RefusalTest {};
TEST_P(ExprParserRefusal, NamesTheCause) { check(); }
INSTANTIATE_TEST_SUITE_P(
    Table, ExprParserRefusal,
    ::testing::ValuesIn(std::vector<Refusal>{
        {"Nothing", [] { parse(""); }, "line 1, column 1: expected an expression, got end of text"},
        {"NoRightSide", [] { parse("m + "); }, "column 5: expected an expression, got end of text"},
        {"OpenParenthesis", [] { parse("(m + 1"); }, "column 7: expected ')', got end of text"},
        {"TwoExpressions", [] { parse("m n"); }, "column 3: expected end of line, got 'n'"},
        {"UnknownName", [] { parse("m + q"); },
         "column 5: expected an axis or a size (m, n, T, B or T), got 'q'"},
        {"TensorWithoutIndices", [] { parse("x + 1f"); },
         "expected '[' and the indices of x, got '+'"},
        {"UnknownTensor", [] { parse("y[m]"); },
         "expected an operation that stands above (c, exp or x), got 'y'"},
        {"WrongRank", [] { parse("x[m]"); }, "column 1: read of x: expected 2 indices"},
        {"FloatIndex", [] { parse("x[m, 1f]"); },
         "read of x, index 1: expected i32, got f32; cast it: i32(1f)"},
        {"OpenRead", [] { parse("x[m, n"); }, "expected ',' or ']', got end of text"},
        {"TypeMismatch", [] { parse("x[m, n] + m"); },
         "column 9: arguments of add: expected one type, got f32 and i32"},
        {"UntypedLiteral", [] { parse("x[m, n] * 2"); }, "column 9: arguments of mul"},
        {"ExpOfAnAxis", [] { parse("exp(m)"); }, "column 1: argument 1 of exp"},
        {"NegatedBool", [] { parse("-c[]"); }, "argument 1 of neg"},
        {"UnknownFunction", [] { parse("sinh(m)"); }, "expected abs, exp, log, sqrt"},
        {"CastToBf16", [] { parse("bf16(1f)"); }, "argument 1 (type) of cast"},
        {"TooManyArguments", [] { parse("exp(1f, 2f)"); }, "exp: expected 1 argument, got 2"},
        {"TooFewArguments", [] { parse("select(c[], 1f)"); },
         "select: expected 3 arguments, got 2"},
        {"NoArguments", [] { parse("max()"); }, "max: expected 2 arguments, got 0"},
        {"SumInside", [] { parse("exp(sum(k: 3) 1f)"); },
         "column 5: expected sum over axes only at the start of an operation"},
        {"MaxOverAxesInside", [] { parse("1f + max(k: 3) 1f"); }, "expected max over axes only"},
        {"SumOfASum", [] { body("sum(k: 3) sum(l: 3) 1f"); }, "expected sum over axes only"},
        {"SumOverNothing", [] { body("sum() 1f"); }, "expected at least one axis"},
        {"SumWithoutExtent", [] { body("sum(k) 1f"); }, "expected ':', got ')'"},
        {"SumOfNegativeExtent", [] { body("sum(k: -3) 1f"); },
         "expected an extent of 0 or greater"},
        {"UnknownSize", [] { parse("size(Q)"); }, "expected a run-time size (B or T), got 'Q'"},
        {"TooDeep", [] { parse(repeated("(", 100000)); },
         "expected at most 1000 levels of nesting"},
        {"TooManySigns", [] { parse(repeated("-", 100000) + "m"); },
         "expected at most 1000 levels"},
        {"TooManyCalls", [] { parse(repeated("exp(", 100000)); }, "expected at most 1000 levels"},
        {"TooDeepReads", [] { parse(repeated("exp[", 100000)); }, "expected at most 1000 levels"},
        {"TooLongASum", [] { parse("1f" + repeated(" + 1f", 100000)); },
         "expected an expression of at most 1000 levels"},
        {"TooLongASumInACall", [] { parse("exp(1f" + repeated(" + 1f", 999) + ")"); },
         "column 1: expected an expression of at most 1000 levels"},
        {"ExtentOfUnknownSize", [] { extent("2*Q"); },
         "expected a run-time size (B or T), got 'Q'"},
        {"ExtentOverflows", [] { extent("9223372036854775807 + 1"); }, "does not fit 64 bits"},
        {"ExtentTimesNothing", [] { extent("2*"); }, "expected an extent: a number or a run-time"},
        {"ExtentOfFloat", [] { extent("2.5"); }, "expected an extent, got '2.5'"},
    }),
    refusal_name);

}  // namespace
}  // namespace emulsion

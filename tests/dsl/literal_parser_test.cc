#include "dsl/literal_parser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "dsl/expr_text.h"
#include "tests/dsl/refusal.h"

namespace emulsion {
namespace {

Literal literal(const std::string& text) {
  TextLexer lexer(text);
  Literal result = parse_literal(&lexer);
  EXPECT_EQ(lexer.peek().kind, TokenKind::end) << text;
  return result;
}

TEST(LiteralParser, TheSuffixIsTheType) {
  EXPECT_EQ(literal("0.5f").dtype, f32);
  EXPECT_EQ(literal("5d").dtype, f64);
  EXPECT_EQ(literal("5").dtype, i32);
  EXPECT_EQ(literal("true").dtype, bool_);
  EXPECT_EQ(literal("200u8").dtype, u8);
  EXPECT_EQ(literal("-7i16").dtype, i16);
  EXPECT_EQ(value_of(literal("-1e+3f")), -1000);
  EXPECT_EQ(value_of(literal("-2147483648")), -2147483648.0);
}

TEST(LiteralParser, ReadsTheEndsOfEveryIntegerType) {
  for (DType type : all_dtypes()) {
    if (!is_integer(type)) continue;
    const IntegerRange range = integer_range(type);
    for (int64_t value : {range.lowest, range.highest}) {
      std::string text = to_string(constant(type, static_cast<double>(value)));
      Literal read = literal(text);
      EXPECT_EQ(read.dtype, type) << text;
      EXPECT_EQ(value_of(read), static_cast<double>(value)) << text;
      EXPECT_EQ(read.bits >> (8 * size_in_bytes(type) - 1) >> 1, 0u) << text;
    }
  }
}

TEST(LiteralParser, KeepsTheSignOfZeroAndThePayloadOfNan) {
  EXPECT_EQ(literal("-0f").bits, 0x80000000u);
  EXPECT_EQ(literal("-0d").bits, 0x8000000000000000u);
  EXPECT_EQ(literal("nan(f32)").bits, 0x7fc00000u);
  EXPECT_EQ(literal("nan(f32, 0xffc01234)").bits, 0xffc01234u);
  EXPECT_EQ(literal("nan(f64, 0x7ff0000000000001)").bits, 0x7ff0000000000001u);
  EXPECT_EQ(value_of(literal("-inf(f64)")), -INFINITY);
}

TEST(LiteralParser, ReadsEveryFloatThatIsPrinted) {
  std::mt19937 random(1);
  SCOPED_TRACE("seed 1");
  for (int i = 0; i < 20000; ++i) {
    uint32_t bits = static_cast<uint32_t>(random());
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    if (std::isnan(value)) continue;
    ASSERT_EQ(literal(float_literal(f32, value)).bits, bits) << float_literal(f32, value);
    uint64_t wide = (uint64_t{bits} << 32) | random();
    double number;
    std::memcpy(&number, &wide, sizeof(number));
    if (std::isnan(number)) continue;
    ASSERT_EQ(literal(float_literal(f64, number)).bits, wide) << float_literal(f64, number);
  }
}

TEST(LiteralParser, TellsAConstantFromANegation) {
  for (const char* text : {"2f", "-2f", "true", "-inf(f32)", "nan(f64)"}) {
    EXPECT_TRUE(starts_literal(TextLexer(text))) << text;
  }
  for (const char* text : {"-(2f)", "-x[m]", "m", "--2f", "!true"}) {
    EXPECT_FALSE(starts_literal(TextLexer(text))) << text;
  }
}

class LiteralRefusal : public RefusalTest {};
TEST_P(LiteralRefusal, NamesTheCause) { check(); }
INSTANTIATE_TEST_SUITE_P(
    Table, LiteralRefusal,
    ::testing::ValuesIn(std::vector<Refusal>{
        {"NoSuffix", [] { literal("0.5"); }, "expected f (f32) or d (f64) behind a number"},
        {"UnknownSuffix", [] { literal("5x"); }, "a number such as 3, 200u8, 0.5f or 0.5d"},
        {"TwoPoints", [] { literal("0.5.5f"); }, "got '0.5.5f'"},
        {"FloatTooLarge", [] { literal("1e39f"); }, "expected a number that fits f32"},
        {"DoubleTooLarge", [] { literal("1e999d"); }, "expected a number that fits f64"},
        {"IntegerTooLarge", [] { literal("2147483648"); }, "expected an integer that fits i32"},
        {"ByteTooLarge", [] { literal("256u8"); }, "expected an integer that fits u8"},
        {"NegativeUnsigned", [] { literal("-1u16"); }, "expected an integer that fits u16"},
        {"I8TooSmall", [] { literal("-129i8"); }, "expected an integer that fits i8"},
        {"SuffixWithoutNeed", [] { literal("1i32"); }, "a number such as 3, 200u8"},
        {"TypeThatIsNone", [] { literal("1u32"); }, "a number such as 3, 200u8"},
        {"HalfAByte", [] { literal("0.5u8"); }, "behind a number with a point"},
        {"HugeInteger", [] { literal("99999999999999999999"); }, "fits 64 bits"},
        {"InfinityOfI32", [] { literal("inf(i32)"); }, "expected f32 or f64, got 'i32'"},
        {"NanThatIsInfinity", [] { literal("nan(f32, 0x7f800000)"); }, "the bits of a f32 NaN"},
        {"NanThatIsANumber", [] { literal("nan(f64, 0x1)"); }, "the bits of a f64 NaN"},
        {"NanOfTooManyBits", [] { literal("nan(f32, 0x17fc00000)"); }, "the bits of a f32 NaN"},
        {"NanInDecimal", [] { literal("nan(f32, 2143289344)"); }, "the bits of a f32 NaN"},
        {"OpenInfinity", [] { literal("inf(f32"); }, "expected ')', got end of text"},
        {"NegativeBool", [] { literal("-true"); }, "expected a number, got 'true'"},
        {"Nothing", [] { literal(""); }, "expected a number, got end of text"},
    }),
    refusal_name);

}  // namespace
}  // namespace emulsion

#include "dsl/text_lexer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/dsl/refusal.h"

namespace emulsion {
namespace {

std::vector<std::string> tokens_of(const std::string& text) {
  TextLexer lexer(text);
  std::vector<std::string> tokens;
  while (lexer.peek().kind != TokenKind::end) tokens.push_back(describe(lexer.next()));
  return tokens;
}

using Tokens = std::vector<std::string>;

TEST(TextLexer, SplitsNamesNumbersAndSymbols) {
  EXPECT_EQ(tokens_of("mm[m1] = -1.5e-3f<=0x1f&&!b"),
            (Tokens{"'mm'", "'['", "'m1'", "']'", "'='", "'-'", "'1.5e-3f'", "'<='", "'0x1f'",
                    "'&&'", "'!'", "'b'"}));
}

TEST(TextLexer, AHexadecimalNumberHasNoExponent) {
  EXPECT_EQ(tokens_of("0x1e+2"), (Tokens{"'0x1e'", "'+'", "'2'"}));
}

TEST(TextLexer, SkipsCommentsButNotTheEndOfTheirLine) {
  EXPECT_EQ(tokens_of("a # b \xff c\r\n\t# d"), (Tokens{"'a'", "end of line"}));
}

TEST(TextLexer, KnowsWhereATokenStands) {
  std::string text = "a\n  bc d";
  TextLexer lexer(text);
  lexer.next();
  lexer.next();
  EXPECT_EQ(lexer.peek().line, 2);
  EXPECT_EQ(lexer.peek().column, 3);
  EXPECT_EQ(lexer.peek_second().column, 6);
  EXPECT_EQ(lexer.peek().text, "bc");
}

TEST(TextLexer, ReadsIntegersUpToTheirLimits) {
  std::string text = "9223372036854775807 -9223372036854775808 -0";
  TextLexer lexer(text);
  EXPECT_EQ(lexer.expect_integer("a number"), INT64_MAX);
  EXPECT_EQ(lexer.expect_integer("a number"), INT64_MIN);
  EXPECT_EQ(lexer.expect_integer("a number"), 0);
}

TEST(TextLexer, LongTokensAreShownByTheirStart) {
  std::string text(1000, 'a');
  EXPECT_EQ(describe(TextLexer(text).peek()), "'" + std::string(40, 'a') + "...'");
}

TEST(ListNames, CutsALongList) {
  EXPECT_EQ(list_names(Tokens{}), "none");
  EXPECT_EQ(list_names(Tokens{"a"}), "a");
  EXPECT_EQ(list_names(Tokens{"a", "b", "c"}), "a, b or c");
  EXPECT_EQ(list_names(Tokens(500, "a")).substr(54), "a, a ... (500 in all)");
}

void header(const std::string& text) { TextLexer(text).expect_header("graph", 1); }

class LexerRefusal : public RefusalTest {};
TEST_P(LexerRefusal, NamesTheCause) { check(); }
INSTANTIATE_TEST_SUITE_P(
    Table, LexerRefusal,
    ::testing::ValuesIn(std::vector<Refusal>{
        {"UnknownSymbol", [] { tokens_of("ab\n c $"); },
         "line 2, column 4: expected a name, a number or a symbol, got '$'"},
        {"DeleteByte", [] { tokens_of("\x7f"); }, "got byte 0x7f"},
        {"NulByte", [] { tokens_of(std::string("ab\0", 3)); }, "line 1, column 3: expected a name"},
        {"NulByteInAComment", [] { tokens_of(std::string("# \0", 3)); }, "got byte 0x00"},
        {"HighByte", [] { tokens_of("\xc3\xa4"); }, "got byte 0xc3"},
        {"IntegerOverflow", [] { TextLexer("9223372036854775808").expect_integer("a factor"); },
         "expected a factor that fits 64 bits, got '9223372036854775808'"},
        {"IntegerUnderflow", [] { TextLexer("-9223372036854775809").expect_integer("a factor"); },
         "fits 64 bits"},
        {"NoInteger", [] { TextLexer("1.5").expect_integer("a factor"); },
         "expected a factor, got '1.5'"},
        {"NoName", [] { TextLexer("12").expect_name("an axis"); }, "expected an axis, got '12'"},
        {"NoSymbol", [] { TextLexer("x").expect("("); }, "expected '(', got 'x'"},
        {"MoreOnTheLine", [] { TextLexer("x").expect_end_of_line(); },
         "expected end of line, got 'x'"},
        {"NoHeader", [] { header(""); },
         "expected 'emulsion graph 1' on the first line, got end of text"},
        {"HeaderOfAnotherFormat", [] { header("emulsion schedule 1"); }, "got 'schedule'"},
        {"HeaderWithoutVersion", [] { header("emulsion graph\n"); }, "got end of line"},
        {"NewerVersion", [] { header("emulsion graph 2"); },
         "expected a version of the graph format that this library reads (known: 1), got '2'"},
    }),
    refusal_name);

}  // namespace
}  // namespace emulsion

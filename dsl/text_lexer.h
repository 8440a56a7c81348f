#ifndef EMULSION_DSL_TEXT_LEXER_H_
#define EMULSION_DSL_TEXT_LEXER_H_

// What the text forms of a graph and of a schedule have in common: names, numbers, symbols,
// comments from `#` to the end of the line, and the place of each, so that every refusal says
// where. A line is a statement, so the end of a line is a token. The text is a stranger's: no input
// may end the process, and whatever is not understood is an Error.

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/error.h"

namespace emulsion {

// An Error that already names its line and column.
class TextError : public Error {
 public:
  using Error::Error;
};

enum class TokenKind : uint8_t { name, number, symbol, newline, end };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  int line = 1;
  int column = 1;

  bool is(std::string_view symbol_or_name) const {
    return (kind == TokenKind::symbol || kind == TokenKind::name) && text == symbol_or_name;
  }
  std::string str() const { return std::string(text); }
};

// "'mm'", "end of line", "end of text": for "expected ..., got ...".
std::string describe(const Token& token);
// Runs `act`; an Error gets `origin` in front, and a ScheduleError stays one.
template <typename Act>
auto behind(const std::string& origin, const Act& act) {
  try {
    return act();
  } catch (const ScheduleError& error) {
    throw ScheduleError(origin + error.what());
  } catch (const Error& error) {
    throw Error(origin + error.what());
  }
}

// "line 4, column 12".
std::string place_of(const Token& token);
// Throws "line 4, column 12: expected <expected>, got <token>".
[[noreturn]] void fail_expected(const Token& token, const std::string& expected);
// Throws "line 4, column 12: <message>".
[[noreturn]] void fail_at(const Token& token, const std::string& message);

// Copying a lexer is cheap, which is how to look further ahead than one token. `text` must outlive
// it.
class TextLexer {
 public:
  explicit TextLexer(std::string_view text);

  const Token& peek() const { return token_; }
  Token next();
  // The token after the next one.
  Token peek_second() const;
  bool accept(std::string_view symbol);
  Token expect(std::string_view symbol);
  // `what` says which name is wanted: "an axis".
  Token expect_name(const std::string& what);
  // An optional minus sign and digits. Error when 64 bits do not hold it.
  int64_t expect_integer(const std::string& what);
  void expect_end_of_line();
  void skip_newlines();
  // "emulsion <what> <version>" on a line of its own; Error when `version` is not the one that is
  // there.
  void expect_header(const std::string& what, int version);

 private:
  Token scan();
  std::string_view take(size_t length);

  std::string_view text_;
  size_t position_ = 0;
  int line_ = 1;
  size_t line_start_ = 0;
  Token token_;
};

// The digits of a number token as an integer of at most 64 bits, `negative` included; Error
// otherwise.
int64_t to_integer(const Token& number, bool negative, const std::string& what);

// "a, b or c"; "none" when there are none. A long list is cut: "a, b, c ... (40 in all)".
std::string list_names(const std::vector<std::string>& names);
std::string list_names(const std::set<std::string>& names);

}  // namespace emulsion

#endif  // EMULSION_DSL_TEXT_LEXER_H_

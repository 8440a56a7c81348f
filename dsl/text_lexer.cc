#include "dsl/text_lexer.h"

#include <charconv>
#include <limits>

namespace emulsion {
namespace {

// Not <cctype>: what is a letter must not depend on the locale of the process that reads the file.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

constexpr size_t kShown = 40;   // characters of a token in a message
constexpr size_t kListed = 20;  // names in a message

}  // namespace

std::string describe(const Token& token) {
  if (token.kind == TokenKind::newline) return "end of line";
  if (token.kind == TokenKind::end) return "end of text";
  std::string shown(token.text.substr(0, kShown));
  return "'" + shown + (token.text.size() > kShown ? "...'" : "'");
}

std::string place_of(const Token& token) {
  return fmt::format("line {}, column {}", token.line, token.column);
}

void fail_at(const Token& token, const std::string& message) {
  throw TextError(fmt::format("{}: {}", place_of(token), message));
}

void fail_expected(const Token& token, const std::string& expected) {
  fail_at(token, fmt::format("expected {}, got {}", expected, describe(token)));
}

TextLexer::TextLexer(std::string_view text) : text_(text) {
  if (text.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    fail("text: expected less than 2^31 bytes, got {}", text.size());
  }
  token_ = scan();
}

std::string_view TextLexer::take(size_t length) {
  std::string_view taken = text_.substr(position_, length);
  position_ += taken.size();
  return taken;
}

Token TextLexer::scan() {
  while (position_ < text_.size()) {
    char c = text_[position_];
    if (c == '#') {
      while (position_ < text_.size() && text_[position_] != '\n') {
        if (text_[position_] == '\0') break;
        ++position_;
      }
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++position_;
    } else {
      break;
    }
  }
  Token token;
  token.line = line_;
  token.column = static_cast<int>(position_ - line_start_) + 1;
  if (position_ == text_.size()) return token;

  char c = text_[position_];
  size_t end = position_ + 1;
  if (c == '\n') {
    token.kind = TokenKind::newline;
    token.text = take(1);
    ++line_;
    line_start_ = position_;
    return token;
  }
  if (is_letter(c)) {
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
    token.kind = TokenKind::name;
    token.text = take(end - position_);
    return token;
  }
  if (is_digit(c)) {
    bool hex = text_.substr(position_, 2) == "0x";
    while (end < text_.size()) {
      bool exponent_sign = !hex && (text_[end] == '+' || text_[end] == '-') &&
                           (text_[end - 1] == 'e' || text_[end - 1] == 'E');
      if (!is_letter(text_[end]) && !is_digit(text_[end]) && text_[end] != '.' && !exponent_sign) {
        break;
      }
      ++end;
    }
    token.kind = TokenKind::number;
    token.text = take(end - position_);
    return token;
  }
  token.kind = TokenKind::symbol;
  for (std::string_view two : {"&&", "||", "==", "!=", "<=", ">="}) {
    if (text_.substr(position_, 2) == two) {
      token.text = take(2);
      return token;
    }
  }
  if (c == '\0' || std::string_view("+-*/%<>!()[]{},:=.").find(c) == std::string_view::npos) {
    const bool visible = c > ' ' && c <= '~';
    fail_at(token, "expected a name, a number or a symbol, got " +
                       (visible ? fmt::format("'{}'", c)
                                : fmt::format("byte 0x{:02x}", static_cast<unsigned char>(c))));
  }
  token.text = take(1);
  return token;
}

Token TextLexer::next() {
  Token result = token_;
  token_ = scan();
  return result;
}

Token TextLexer::peek_second() const {
  TextLexer ahead = *this;
  ahead.next();
  return ahead.peek();
}

bool TextLexer::accept(std::string_view symbol) {
  if (token_.kind != TokenKind::symbol || token_.text != symbol) return false;
  next();
  return true;
}

Token TextLexer::expect(std::string_view symbol) {
  if (token_.kind != TokenKind::symbol || token_.text != symbol) {
    fail_expected(token_, fmt::format("'{}'", symbol));
  }
  return next();
}

Token TextLexer::expect_name(const std::string& what) {
  if (token_.kind != TokenKind::name) fail_expected(token_, what);
  return next();
}

int64_t to_integer(const Token& number, bool negative, const std::string& what) {
  uint64_t magnitude = 0;
  const char* last = number.text.data() + number.text.size();
  auto [stop, error] = std::from_chars(number.text.data(), last, magnitude);
  if (number.kind != TokenKind::number || (error == std::errc() && stop != last) ||
      error == std::errc::invalid_argument) {
    fail_expected(number, what);
  }
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  if (error != std::errc() || magnitude > kMax + (negative ? 1 : 0)) {
    fail_expected(number, what + " that fits 64 bits");
  }
  return static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
}

int64_t TextLexer::expect_integer(const std::string& what) {
  bool negative = accept("-");
  int64_t value = to_integer(token_, negative, what);
  next();
  return value;
}

void TextLexer::expect_end_of_line() {
  if (token_.kind == TokenKind::end) return;
  if (token_.kind != TokenKind::newline) fail_expected(token_, "end of line");
  next();
}

void TextLexer::skip_newlines() {
  while (token_.kind == TokenKind::newline) next();
}

void TextLexer::expect_header(const std::string& what, int version) {
  skip_newlines();
  std::string header = fmt::format("'emulsion {} {}' on the first line", what, version);
  for (const std::string& word : {std::string("emulsion"), what}) {
    if (!token_.is(word)) fail_expected(token_, header);
    next();
  }
  Token number = token_;
  if (number.kind != TokenKind::number) fail_expected(number, header);
  int64_t found = expect_integer("a version number");
  if (found != version) {
    fail_expected(number, fmt::format("a version of the {} format that this library reads (known: "
                                      "{})",
                                      what, version));
  }
  expect_end_of_line();
}

std::string list_names(const std::vector<std::string>& names) {
  if (names.empty()) return "none";
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i == kListed) return text + fmt::format(" ... ({} in all)", names.size());
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

std::string list_names(const std::set<std::string>& names) {
  return list_names(std::vector<std::string>(names.begin(), names.end()));
}

}  // namespace emulsion

#include "dsl/literal_parser.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

namespace emulsion {
namespace {

template <typename T>
uint64_t bits_of(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return bits;
}

template <typename T>
T from_bits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

template <typename T>
T parse_digits(const Token& token, std::string_view digits) {
  T value = 0;
  auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) {
    fail_expected(token, fmt::format("a number that fits {}", sizeof(T) == 4 ? "f32" : "f64"));
  }
  if (error != std::errc() || stop != digits.data() + digits.size()) {
    fail_expected(token, "a number such as 3, 0.5f or 0.5d");
  }
  return value;
}

Literal parse_number(const Token& token, bool negative) {
  char suffix = token.text.back();
  std::string_view digits = token.text.substr(0, token.text.size() - 1);
  bool hex = token.text.substr(0, 2) == "0x";
  if (!hex && suffix == 'f') {
    float value = parse_digits<float>(token, digits);
    return {DType::f32, bits_of(negative ? -value : value)};
  }
  if (!hex && suffix == 'd') {
    double value = parse_digits<double>(token, digits);
    return {DType::f64, bits_of(negative ? -value : value)};
  }
  if (token.text.find('.') != std::string_view::npos) {
    fail_expected(token, "f (f32) or d (f64) behind a number with a point");
  }
  DType type = DType::i32;
  Token number = token;
  size_t letters = std::min(token.text.find_first_not_of("0123456789"), token.text.size());
  std::optional<DType> named = parse_dtype(std::string(token.text.substr(letters)));
  if (named && is_integer(*named) && *named != DType::i32) {
    type = *named;
    number.text = token.text.substr(0, letters);
  }
  int64_t value = to_integer(number, negative, "a number such as 3, 200u8, 0.5f or 0.5d");
  if (!integer_range(type).contains(value)) {
    fail_expected(token, "an integer that fits " + to_string(type));
  }
  uint64_t all_bits = ~uint64_t{0} >> (64 - 8 * size_in_bytes(type));
  return {type, static_cast<uint64_t>(value) & all_bits};
}

// inf(f32), nan(f64), nan(f32, 0x7fc00001)
Literal parse_special(TextLexer* lexer, bool negative) {
  bool infinity = lexer->next().text == "inf";
  lexer->expect("(");
  Token type = lexer->expect_name("f32 or f64");
  if (type.text != "f32" && type.text != "f64") fail_expected(type, "f32 or f64");
  Literal literal;
  bool single = type.text == "f32";
  literal.dtype = single ? DType::f32 : DType::f64;
  uint64_t exponent = single ? 0x7f800000u : 0x7ff0000000000000u;
  uint64_t quiet = single ? 0x7fc00000u : 0x7ff8000000000000u;
  uint64_t sign = single ? 0x80000000u : 0x8000000000000000u;
  if (infinity) {
    literal.bits = exponent | (negative ? sign : 0);
  } else if (lexer->accept(",")) {
    Token word = lexer->next();
    std::string_view digits = word.text.substr(std::min<size_t>(2, word.text.size()));
    auto [stop, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), literal.bits, 16);
    uint64_t fraction = literal.bits & (single ? 0x7fffffu : 0xfffffffffffffu);
    bool is_nan = (literal.bits & exponent) == exponent && fraction != 0;
    if (word.kind != TokenKind::number || word.text.substr(0, 2) != "0x" || error != std::errc() ||
        stop != digits.data() + digits.size() || !is_nan || (single && literal.bits >> 32)) {
      fail_expected(word, fmt::format("the bits of a {} NaN, as in 0x{:x}", type.text, quiet));
    }
  } else {
    literal.bits = quiet;
  }
  lexer->expect(")");
  return literal;
}

}  // namespace

bool starts_literal(const TextLexer& lexer) {
  Token token = lexer.peek();
  if (token.is("true") || token.is("false")) return true;
  if (token.is("-")) token = lexer.peek_second();
  return token.kind == TokenKind::number || token.is("inf") || token.is("nan");
}

Literal parse_literal(TextLexer* lexer) {
  Token first = lexer->peek();
  if (first.is("true") || first.is("false")) {
    lexer->next();
    return {DType::boolean, first.text == "true" ? 1u : 0u};
  }
  bool negative = lexer->accept("-");
  const Token& token = lexer->peek();
  if (token.is("inf") || (token.is("nan") && !negative)) return parse_special(lexer, negative);
  if (token.kind != TokenKind::number) fail_expected(token, "a number");
  Literal literal = parse_number(token, negative);
  lexer->next();
  return literal;
}

double value_of(const Literal& literal) {
  if (literal.dtype == DType::f32) return from_bits<float>(literal.bits);
  if (literal.dtype == DType::f64) return from_bits<double>(literal.bits);
  return static_cast<double>(wrap_integer(literal.dtype, static_cast<int64_t>(literal.bits)));
}

}  // namespace emulsion

#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <cctype>

namespace emulsion {
namespace {

constexpr size_t kLongest = 1 << 14;

const std::vector<std::string> kNumbers = {"0",
                                           "1",
                                           "-1",
                                           "2",
                                           "7",
                                           "255",
                                           "256",
                                           "65536",
                                           "1073741824",
                                           "2147483647",
                                           "2147483648",
                                           "-2147483648",
                                           "4294967296",
                                           "9223372036854775807",
                                           "-9223372036854775808",
                                           "9223372036854775808",
                                           "99999999999999999999",
                                           "1e999",
                                           "0.5",
                                           "1e-320"};

size_t below(RandomNumbers* random, size_t limit) {
  return static_cast<size_t>(random->next() % limit);
}

const std::string& any_of(const std::vector<std::string>& list, RandomNumbers* random) {
  return list[below(random, list.size())];
}

enum class Class : uint8_t { word, number, space, other };

Class class_of(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (std::isdigit(byte) != 0) return Class::number;
  if (std::isalpha(byte) != 0 || c == '_') return Class::word;
  return std::isspace(byte) != 0 ? Class::space : Class::other;
}

// Where a word, a number, a stretch of space or a sign stands, the one at `at`.
struct Token {
  size_t first, last;
};
Token token_at(const std::string& text, size_t at) {
  Token token{at, at + 1};
  const Class kind = class_of(text[at]);
  if (kind == Class::other) return token;
  const auto same = [&](size_t i) {
    const Class found = class_of(text[i]);
    return found == kind || (kind == Class::word && found == Class::number);
  };
  while (token.first > 0 && same(token.first - 1)) --token.first;
  while (token.last < text.size() && same(token.last)) ++token.last;
  return token;
}

std::string any_token(const std::string& text, RandomNumbers* random) {
  if (text.empty()) return "";
  const Token token = token_at(text, below(random, text.size()));
  return text.substr(token.first, token.last - token.first);
}

void change_bytes(std::string* text, RandomNumbers* random) {
  const size_t at = below(random, text->size());
  switch (random->below(4)) {
    case 0:
      (*text)[at] = static_cast<char>((*text)[at] ^ (1 << random->below(8)));
      break;
    case 1:
      (*text)[at] = static_cast<char>(random->below(256));
      break;
    case 2:
      text->insert(at, 1, static_cast<char>(random->below(256)));
      break;
    default:
      text->resize(at);
  }
}

// Mostly by another of its kind, from the same text: what is read then goes further in.
void change_token(std::string* text, const std::vector<std::string>& others,
                  RandomNumbers* random) {
  const Token token = token_at(*text, below(random, text->size()));
  const Class kind = class_of((*text)[token.first]);
  std::string taken;
  if (kind == Class::number && random->below(2) == 0) {
    taken = any_of(kNumbers, random);
  } else if (random->below(4) == 0) {
    taken = random->below(4) == 0 ? "" : any_token(any_of(others, random), random);
  } else {
    for (int tries = 0; tries < 20; ++tries) {
      taken = any_token(*text, random);
      if (class_of(taken[0]) == kind) break;
    }
  }
  text->replace(token.first, token.last - token.first, taken);
}

void change_part(std::string* text, const std::vector<std::string>& others, RandomNumbers* random) {
  const size_t first = below(random, text->size());
  const size_t length = std::min(text->size() - first, 1 + below(random, 40));
  const std::string part = text->substr(first, length);
  switch (random->below(4)) {
    case 0:
      text->erase(first, length);
      break;
    case 1:
      text->insert(first, part);
      break;
    case 2: {  // nested as deep as there is room
      const size_t times = std::min(kLongest / length, size_t{1} << random->below(11));
      std::string repeated;
      for (size_t i = 0; i < times; ++i) repeated += part;
      text->insert(first, repeated);
      break;
    }
    default: {
      const std::string& other = any_of(others, random);
      if (other.empty()) break;
      const size_t start = below(random, other.size());
      text->replace(first, length, other.substr(start, 1 + below(random, 80)));
    }
  }
}

// A line somewhere else, or twice.
void move_line(std::string* text, RandomNumbers* random) {
  const size_t at = below(random, text->size());
  const size_t first = at == 0 ? 0 : text->rfind('\n', at - 1) + 1;
  const size_t last = std::min(text->find('\n', first), text->size() - 1) + 1;
  const std::string line = text->substr(first, last - first);
  if (random->below(2) == 0) text->erase(first, last - first);
  const size_t place = text->empty() ? 0 : text->find('\n', below(random, text->size()));
  text->insert(place == std::string::npos ? text->size() : place == 0 ? 0 : place + 1, line);
}

}  // namespace

std::string mutate(std::string text, const std::vector<std::string>& others,
                   RandomNumbers* random) {
  for (int changes = 1 + random->below(2); changes > 0 && !text.empty(); --changes) {
    switch (random->below(12)) {
      case 0:
        change_bytes(&text, random);
        break;
      case 1:
        change_part(&text, others, random);
        break;
      case 2:
        move_line(&text, random);
        break;
      default:
        change_token(&text, others, random);
    }
  }
  return text.substr(0, 2 * kLongest);
}

}  // namespace emulsion

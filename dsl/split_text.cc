#include "dsl/split_text.h"

#include <cstddef>

namespace emulsion {

std::vector<std::string> split_text(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::string shown(const std::string& word) {
  constexpr size_t kLongest = 40;
  return word.size() <= kLongest ? word : word.substr(0, kLongest) + "...";
}

}  // namespace emulsion

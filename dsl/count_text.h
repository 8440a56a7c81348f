#ifndef EMULSION_DSL_COUNT_TEXT_H_
#define EMULSION_DSL_COUNT_TEXT_H_

// A count with its noun, for messages.

#include <fmt/core.h>

#include <string>

namespace emulsion {

// "1 axis", "2 axes"; of an extent's text "n axes".
template <typename Count>
std::string count_text(const Count& count, const char* one, const char* many) {
  const std::string number = fmt::format("{}", count);
  return number + ' ' + (number == "1" ? one : many);
}

}  // namespace emulsion

#endif  // EMULSION_DSL_COUNT_TEXT_H_

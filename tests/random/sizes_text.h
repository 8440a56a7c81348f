#ifndef EMULSION_TESTS_RANDOM_SIZES_TEXT_H_
#define EMULSION_TESTS_RANDOM_SIZES_TEXT_H_

#include <fmt/format.h>

#include <string>

#include "dsl/extent.h"

namespace emulsion {

// What follows a message about a run: " H = 3 W = 0"; nothing without run-time sizes.
inline std::string sizes_text(const SizeValues& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes) text += fmt::format(" {} = {}", name, value);
  return text;
}

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_SIZES_TEXT_H_

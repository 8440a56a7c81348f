#include "benchmarks/whole_number.h"

#include <algorithm>

namespace emulsion::benchmarks {

std::optional<int64_t> whole_number(const std::string& text) {
  constexpr size_t kMostDigits = 9;
  const bool is_number =
      !text.empty() && text.size() <= kMostDigits &&
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? std::optional<int64_t>(std::stoll(text)) : std::nullopt;
}

}  // namespace emulsion::benchmarks

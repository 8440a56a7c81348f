#ifndef EMULSION_BENCHMARKS_WHOLE_NUMBER_H_
#define EMULSION_BENCHMARKS_WHOLE_NUMBER_H_

#include <cstdint>
#include <optional>
#include <string>

namespace emulsion::benchmarks {

// The number that a text of at most nine decimal digits is; nothing of any other text.
std::optional<int64_t> whole_number(const std::string& text);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_WHOLE_NUMBER_H_

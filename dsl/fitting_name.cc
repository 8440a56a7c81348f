#include "dsl/fitting_name.h"

#include <cstddef>

namespace emulsion {

std::string fitting_name(std::string wanted) {
  constexpr size_t kMost = 128 - 8;  // of what a name may be, but for a number
  if (wanted.size() > kMost) wanted.erase(kMost / 2, wanted.size() - kMost);
  for (size_t at; (at = wanted.find("__")) != std::string::npos;) wanted.erase(at, 1);
  return wanted;
}

}  // namespace emulsion

#include "dsl/fitting_name.h"

#include <cstddef>

namespace emulsion {

std::string fitting_name(std::string wanted) {
  constexpr size_t kMost = 128 - 8;  // of what a name may be, but for a number
  if (wanted.size() > kMost) wanted.erase(kMost / 2, wanted.size() - kMost);
  for (size_t at; (at = wanted.find("__")) != std::string::npos;) wanted.erase(at, 1);
  return wanted;
}

std::string free_name(const std::string& wanted,
                      const std::function<bool(const std::string& name)>& is_taken) {
  const std::string fitting = fitting_name(wanted);
  std::string name = fitting;
  for (int i = 1; is_taken(name); ++i) name = fitting + std::to_string(i);
  return name;
}

}  // namespace emulsion

#include "benchmarks/drawer.h"

#include <algorithm>
#include <cmath>

namespace emulsion::benchmarks {

int64_t Drawer::between(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
}

int64_t Drawer::of_any_size(int64_t low, int64_t high) {
  constexpr double kParts = 1 << 20;
  const double part = static_cast<double>(between(0, 1 << 20)) / kParts;
  const double at =
      std::log(static_cast<double>(low)) * (1 - part) + std::log(static_cast<double>(high)) * part;
  return std::clamp(static_cast<int64_t>(std::exp(at)), low, high);
}

int64_t Drawer::columns() {
  if (one_of(2)) return between(1, 64);
  if (one_of(2)) return of_any_size(65, 4096);
  return 16 * between(1, 64);
}

}  // namespace emulsion::benchmarks

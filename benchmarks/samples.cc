#include "benchmarks/samples.h"

#include <algorithm>
#include <cstddef>

namespace emulsion::benchmarks {
namespace {

// Between the two samples that lie around this share of them; `sorted` is not empty.
double quantile(const Samples& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

std::optional<double> median(Samples samples) {
  if (samples.empty()) return std::nullopt;
  std::sort(samples.begin(), samples.end());
  return quantile(samples, 0.5);
}

std::optional<double> spread(Samples samples) {
  if (samples.size() < 2) return std::nullopt;
  std::sort(samples.begin(), samples.end());
  return quotient(quantile(samples, 0.75) - quantile(samples, 0.25), quantile(samples, 0.5));
}

std::optional<double> quotient(const std::optional<double>& numerator,
                               const std::optional<double>& denominator) {
  if (!numerator || !denominator || *denominator == 0) return std::nullopt;
  return *numerator / *denominator;
}

}  // namespace emulsion::benchmarks

#ifndef EMULSION_BENCHMARKS_SAMPLES_H_
#define EMULSION_BENCHMARKS_SAMPLES_H_

// What becomes of repeated measurements. What was not measured has no value, and neither has what
// follows from it.

#include <optional>
#include <vector>

namespace emulsion::benchmarks {

using Samples = std::vector<double>;  // one for each repetition, in any order

// The middle one, or the mean of the middle two.
std::optional<double> median(Samples samples);
// The width of the middle half of the samples over their median; nothing for fewer than two.
std::optional<double> spread(Samples samples);
// Nothing too where the denominator is 0.
std::optional<double> quotient(const std::optional<double>& numerator,
                               const std::optional<double>& denominator);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_SAMPLES_H_

#include "backends/tracker/pattern_measurement.h"

#include <algorithm>
#include <cstddef>

#include "dsl/error.h"

namespace emulsion {

double median(std::vector<double> values) {
  EMULSION_CHECK(!values.empty(), "a median of nothing");
  std::sort(values.begin(), values.end());
  const size_t count = values.size();
  return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

}  // namespace emulsion

#include "backends/tile_machine/report/time_bins.h"

#include <algorithm>

namespace emulsion {

TimeBins::TimeBins(int64_t total, size_t count)
    : width_(count == 0 ? 1 : static_cast<double>(total) / static_cast<double>(count)),
      partial_(count, 0),
      changes_(count + 1, 0) {}

void TimeBins::add(int64_t start, int64_t end, double weight) {
  if (start >= end || partial_.empty()) return;
  const auto from = static_cast<double>(start);
  const auto to = static_cast<double>(end);
  const size_t last_bin = partial_.size() - 1;
  const size_t first = std::min(last_bin, static_cast<size_t>(from / width_));
  const size_t last = std::min(last_bin, static_cast<size_t>(to / width_));
  if (first == last) {
    partial_[first] += (to - from) * weight;
    return;
  }
  partial_[first] += (static_cast<double>(first + 1) * width_ - from) * weight;
  partial_[last] += (to - static_cast<double>(last) * width_) * weight;
  changes_[first + 1] += weight;
  changes_[last] -= weight;
}

std::vector<double> TimeBins::means() const {
  std::vector<double> result;
  double whole = 0;
  for (size_t i = 0; i < partial_.size(); ++i) {
    whole += changes_[i];
    result.push_back(whole + partial_[i] / width_);
  }
  return result;
}

}  // namespace emulsion

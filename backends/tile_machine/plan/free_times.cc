#include "backends/tile_machine/plan/free_times.h"

namespace emulsion {

FreeTimes::Latest FreeTimes::latest(int64_t first, int64_t last) const {
  Latest latest = {0, last};
  auto it = ranges_.upper_bound(first);
  if (it != ranges_.begin()) --it;
  for (; it != ranges_.end() && it->first < last; ++it) {
    const Range& range = it->second;
    if (range.end > first && range.time > latest.time) latest = {range.time, range.end};
  }
  return latest;
}

void FreeTimes::set(int64_t first, int64_t last, int64_t time) {
  split_at(first);
  split_at(last);
  ranges_.erase(ranges_.lower_bound(first), ranges_.lower_bound(last));
  ranges_[first] = {last, time};
}

void FreeTimes::split_at(int64_t address) {
  auto it = ranges_.lower_bound(address);
  if (it == ranges_.begin()) return;
  --it;
  const Range range = it->second;
  if (range.end <= address) return;
  it->second.end = address;
  ranges_[address] = range;
}

}  // namespace emulsion

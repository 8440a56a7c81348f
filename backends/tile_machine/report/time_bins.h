#ifndef EMULSION_BACKENDS_TILE_MACHINE_REPORT_TIME_BINS_H_
#define EMULSION_BACKENDS_TILE_MACHINE_REPORT_TIME_BINS_H_

// A long run in a few columns: the mean over each of equally long parts of [0, total) of a quantity
// that holds during spans of time. Adding a span costs the same however many columns it covers.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace emulsion {

class TimeBins {
 public:
  TimeBins(int64_t total, size_t count);

  // `weight` during [start, end), on top of what was added before.
  void add(int64_t start, int64_t end, double weight = 1);
  std::vector<double> means() const;

 private:
  double width_;
  std::vector<double> partial_;  // weight * time in the columns that a span covers in part
  std::vector<double> changes_;  // of the weight of whole columns, from one to the next
};

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_TILE_MACHINE_REPORT_TIME_BINS_H_

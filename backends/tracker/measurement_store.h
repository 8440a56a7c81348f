#ifndef EMULSION_BACKENDS_TRACKER_MEASUREMENT_STORE_H_
#define EMULSION_BACKENDS_TRACKER_MEASUREMENT_STORE_H_

// What was measured of fusions, and what became of it, in one file: an SQLite database. Each call
// that changes it is one transaction, so another process, or an interruption, sees all of it or
// nothing. Whatever is wrong with the file is an Error that names it; the file is left as it is.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/tracker/pattern_measurement.h"
#include "passes/fuse/fusion_report.h"
#include "passes/fuse/measured_fusions.h"

struct sqlite3;

namespace emulsion {

struct FusionStatistics {
  int64_t measurements = 0;
  std::optional<double> speed_up = std::nullopt;  // the geometric mean of facts(); nothing of none
  int64_t applied = 0;                            // fusions, of all reports that were recorded
  int64_t changed = 0;                            // decisions that a measurement changed
  std::map<std::string, int64_t> applied_by_pattern = {};  // of fusion_patterns()
};

struct StoreOptions {
  bool read_only = false;
  int patience_ms = 2000;  // to wait for, while another process writes
};

class MeasurementStore {
 public:
  // Made when it is not there, unless it is only to be read. Error: a file that cannot be opened,
  // that is no database, damaged, of another program, or of a newer version of this.
  explicit MeasurementStore(const std::string& path, const StoreOptions& options = {});
  ~MeasurementStore();
  MeasurementStore(const MeasurementStore&) = delete;
  MeasurementStore& operator=(const MeasurementStore&) = delete;

  // Error: a file that is only read, that somebody else holds, that is full; a fact that is none.
  void add(const PatternMeasurement& measurement);
  // What a fusion pass decided: for the statistics.
  void record(const FusionReport& report);

  // One for each pattern, class of shapes, target and version: the median of its measurements, and
  // the sum of their runs.
  std::vector<MeasuredFusion> facts() const;
  FusionStatistics statistics() const;

 private:
  class Statement;
  class Transaction;
  [[noreturn]] void fail_with(int code) const;
  void check(int code) const;
  void run(const std::string& sql);
  int64_t number(const std::string& sql) const;
  void check_format();

  std::string path_;
  bool read_only_;
  sqlite3* database_ = nullptr;
};

// Lines: "fusions applied: 12 (contraction epilogue 8, elementwise chain 4)" and so on.
std::string to_string(const FusionStatistics& statistics);
// {"measurements": 3, "average_measured_speed_up": 1.31, "fusions_applied": 12, "patterns":
// {"contraction epilogue": 8}, "decisions_changed_by_measurement": 1}
std::string to_json(const FusionStatistics& statistics);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_TRACKER_MEASUREMENT_STORE_H_

#include "backends/tracker/measurement_store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <tuple>
#include <utility>

#include "dsl/error.h"

namespace emulsion {
namespace {

constexpr int64_t kApplication = 0x456d466c;  // "EmFl": SQLite's mark of whose file it is
constexpr int64_t kFormat = 1;                // raised when the tables change

constexpr const char* kTables = R"(
  CREATE TABLE measurements (
    pattern TEXT NOT NULL, shape_class TEXT NOT NULL, target TEXT NOT NULL, version TEXT NOT NULL,
    shape TEXT NOT NULL, speed_up REAL NOT NULL, runs INTEGER NOT NULL,
    unfused_seconds REAL NOT NULL, fused_seconds REAL NOT NULL,
    unfused_calls INTEGER NOT NULL, fused_calls INTEGER NOT NULL,
    unfused_bytes INTEGER NOT NULL, fused_bytes INTEGER NOT NULL,
    unfused_traffic INTEGER NOT NULL, fused_traffic INTEGER NOT NULL);
  CREATE INDEX measurements_by_key ON measurements (pattern, shape_class, target, version);
  CREATE TABLE decisions (
    pattern TEXT NOT NULL PRIMARY KEY, applied INTEGER NOT NULL, changed INTEGER NOT NULL);
)";

}  // namespace

class MeasurementStore::Statement {
 public:
  Statement(const MeasurementStore& store, const std::string& sql) : store_(store) {
    store.check(sqlite3_prepare_v2(store.database_, sql.c_str(), -1, &statement_, nullptr));
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& operator<<(const std::string& text) {
    store_.check(sqlite3_bind_text(statement_, ++bound_, text.c_str(),
                                   static_cast<int>(text.size()), SQLITE_TRANSIENT));
    return *this;
  }
  Statement& operator<<(double number) {
    store_.check(sqlite3_bind_double(statement_, ++bound_, number));
    return *this;
  }
  Statement& operator<<(int64_t number) {
    store_.check(sqlite3_bind_int64(statement_, ++bound_, number));
    return *this;
  }

  // Whether there is another row.
  bool step() {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) store_.fail_with(code);
    return false;
  }
  std::string text(int column) const {
    const unsigned char* bytes = sqlite3_column_text(statement_, column);
    return bytes == nullptr ? "" : reinterpret_cast<const char*>(bytes);
  }
  double real(int column) const { return sqlite3_column_double(statement_, column); }
  int64_t whole(int column) const { return sqlite3_column_int64(statement_, column); }

 private:
  const MeasurementStore& store_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

// Taken back unless it is committed.
class MeasurementStore::Transaction {
 public:
  explicit Transaction(MeasurementStore* store) : store_(store) { store->run("BEGIN IMMEDIATE"); }
  ~Transaction() {
    if (!done_) sqlite3_exec(store_->database_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit() {
    store_->run("COMMIT");
    done_ = true;
  }

 private:
  MeasurementStore* store_;
  bool done_ = false;
};

MeasurementStore::MeasurementStore(const std::string& path, const StoreOptions& options)
    : path_(path), read_only_(options.read_only) {
  const int flags =
      options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  std::error_code unknown;  // then SQLite says what is wrong
  if (std::filesystem::is_directory(path, unknown)) {
    fail("fusion database {}: expected a file, got a directory", path);
  }
  try {
    check(sqlite3_open_v2(path.c_str(), &database_, flags, nullptr));
    sqlite3_busy_timeout(database_, options.patience_ms);
    check_format();
  } catch (...) {
    sqlite3_close_v2(database_);
    throw;
  }
}

MeasurementStore::~MeasurementStore() { sqlite3_close_v2(database_); }

void MeasurementStore::fail_with(int code) const {
  const std::string said = database_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(database_);
  const char* expected = "a database that works";
  switch (code & 0xff) {  // the rest says more of the same
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      expected = "a database that nobody else is writing";
      break;
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      expected = read_only_ ? "a database that is there" : "a file that can be made";
      break;
    case SQLITE_READONLY:
      expected = "a database that can be written";
      break;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      expected = "a database that is not damaged";
      break;
    default:
      break;
  }
  fail("fusion database {}: expected {}, got: {}", path_, expected, said);
}

void MeasurementStore::check(int code) const {
  if (code != SQLITE_OK) fail_with(code);
}

void MeasurementStore::run(const std::string& sql) {
  check(sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr));
}

int64_t MeasurementStore::number(const std::string& sql) const {
  Statement statement(*this, sql);
  return statement.step() ? statement.whole(0) : 0;
}

void MeasurementStore::check_format() {
  if (number("SELECT count(*) FROM sqlite_master") == 0 && number("PRAGMA user_version") == 0) {
    if (read_only_) fail("fusion database {}: expected measurements, got an empty file", path_);
    Transaction transaction(this);
    // Another process may have made them meanwhile.
    if (number("SELECT count(*) FROM sqlite_master") == 0) {
      run(kTables);
      run(fmt::format("PRAGMA application_id = {}", kApplication));
      run(fmt::format("PRAGMA user_version = {}", kFormat));
    }
    transaction.commit();
  }
  if (number("PRAGMA application_id") != kApplication) {
    fail("fusion database {}: expected a database of Emulsion's, got another program's", path_);
  }
  const int64_t format = number("PRAGMA user_version");
  if (format != kFormat) {
    fail(
        "fusion database {}: expected format {}, got {}; legal: another file, or the Emulsion "
        "that made it",
        path_, kFormat, format);
  }
  Statement checked(*this, "PRAGMA quick_check(1)");
  const std::string found = checked.step() ? checked.text(0) : "nothing";
  if (found != "ok") {
    fail("fusion database {}: expected a database that is not damaged, got: {}", path_, found);
  }
}

void MeasurementStore::add(const PatternMeasurement& measurement) {
  const MeasuredFusion& fact = measurement.fact;
  check_measured_fusion(fact);
  Transaction transaction(this);
  Statement insert(*this,
                   "INSERT INTO measurements VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert << fact.pattern << fact.shape_class << fact.target << fact.version << measurement.shape
         << fact.speed_up << fact.runs;
  const WayMeasured &a = measurement.unfused, &b = measurement.fused;
  insert << a.seconds << b.seconds << a.kernel_calls << b.kernel_calls << a.bytes_allocated
         << b.bytes_allocated << a.traffic << b.traffic;
  insert.step();
  transaction.commit();
}

void MeasurementStore::record(const FusionReport& report) {
  std::map<std::string, std::pair<int64_t, int64_t>> counts;  // applied, changed
  for (const FusionDecision& decision : report.decisions) {
    if (decision.fused) ++counts[decision.pattern].first;
    if (decision.measured) ++counts[decision.pattern].second;
  }
  Transaction transaction(this);
  for (const auto& [pattern, count] : counts) {
    Statement insert(*this,
                     "INSERT INTO decisions VALUES (?, ?, ?) ON CONFLICT (pattern) DO UPDATE SET "
                     "applied = applied + excluded.applied, changed = changed + excluded.changed");
    insert << pattern << count.first << count.second;
    insert.step();
  }
  transaction.commit();
}

std::vector<MeasuredFusion> MeasurementStore::facts() const {
  using Key = std::tuple<std::string, std::string, std::string, std::string>;
  struct Found {
    std::vector<double> speed_ups;
    int64_t runs = 0;
  };
  std::map<Key, Found> by_key;
  Statement rows(*this,
                 "SELECT pattern, shape_class, target, version, speed_up, runs FROM measurements");
  while (rows.step()) {
    MeasuredFusion one{rows.text(0), rows.text(1), rows.text(2),
                       rows.text(3), rows.real(4), rows.whole(5)};
    try {
      check_measured_fusion(one);
    } catch (const Error& error) {
      fail("fusion database {}: {}", path_, error.what());
    }
    Found& found = by_key[{one.pattern, one.shape_class, one.target, one.version}];
    found.speed_ups.push_back(one.speed_up);
    found.runs += one.runs;
  }
  std::vector<MeasuredFusion> facts;
  for (auto& [key, found] : by_key) {
    const auto& [pattern, shape_class, target, version] = key;
    facts.push_back(
        {pattern, shape_class, target, version, median(std::move(found.speed_ups)), found.runs});
  }
  return facts;
}

FusionStatistics MeasurementStore::statistics() const {
  FusionStatistics result;
  result.measurements = number("SELECT count(*) FROM measurements");
  double logarithms = 0;
  const std::vector<MeasuredFusion> known = facts();
  for (const MeasuredFusion& fact : known) logarithms += std::log(fact.speed_up);
  if (!known.empty()) result.speed_up = std::exp(logarithms / static_cast<double>(known.size()));
  Statement rows(*this, "SELECT pattern, applied, changed FROM decisions");
  while (rows.step()) {
    result.applied += rows.whole(1);
    result.changed += rows.whole(2);
    if (rows.whole(1) > 0) result.applied_by_pattern[rows.text(0)] = rows.whole(1);
  }
  return result;
}

std::string to_string(const FusionStatistics& statistics) {
  std::string patterns;
  for (const auto& [pattern, count] : statistics.applied_by_pattern) {
    patterns += fmt::format("{}{} {}", patterns.empty() ? "" : ", ", pattern, count);
  }
  return fmt::format(
      "measurements: {}\naverage measured speed-up: {}\nfusions applied: {}{}\ndecisions changed "
      "by measurement: {}\n",
      statistics.measurements,
      statistics.speed_up ? fmt::format("{:.2f}", *statistics.speed_up) : "none measured",
      statistics.applied, patterns.empty() ? "" : " (" + patterns + ")", statistics.changed);
}

std::string to_json(const FusionStatistics& statistics) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["measurements"] = statistics.measurements;
  json["average_measured_speed_up"] =
      statistics.speed_up ? Json(*statistics.speed_up) : Json(nullptr);
  json["fusions_applied"] = statistics.applied;
  json["patterns"] = statistics.applied_by_pattern;
  json["decisions_changed_by_measurement"] = statistics.changed;
  return json.dump(2) + "\n";
}

}  // namespace emulsion

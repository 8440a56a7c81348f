#include "backends/tracker/measurement_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "dsl/files.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

using ::testing::HasSubstr;

// A path at which there is nothing yet.
std::string path_of(const std::string& name) {
  const std::string path = ::testing::TempDir() + "/" + name;
  std::remove(path.c_str());
  std::remove((path + "-journal").c_str());
  return path;
}

PatternMeasurement measured(const std::string& pattern, double speed_up, int64_t runs = 7) {
  PatternMeasurement one;
  one.fact = {pattern, "512x512", "x86-64-v3", "1.2.3", speed_up, runs};
  one.shape = "600x600";
  one.unfused = {speed_up, 2, 1440000, 5760000};
  one.fused = {1, 1, 0, 4320000};
  return one;
}

// Behind the store's back.
class Connection {
 public:
  explicit Connection(const std::string& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &database_), SQLITE_OK);
  }
  ~Connection() { sqlite3_close(database_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  void run(const std::string& sql) {
    EXPECT_EQ(sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database_);
  }

 private:
  sqlite3* database_ = nullptr;
};

StoreOptions impatient() { return {false, 0}; }
StoreOptions reading() { return {true, 0}; }

FusionReport two_fused_one_changed() {
  FusionReport report;
  report.decisions = {{"mm", "t", true, "", "contraction epilogue"},
                      {"t", "y", true, "", "elementwise chain"},
                      {"y", "z", false, "measured", "elementwise chain", true},
                      {"s", "u", false, "expected", ""}};
  return report;
}

TEST(MeasurementStore, KeepsWhatWasMeasured) {
  const std::string path = path_of("keeps.db");
  { MeasurementStore(path).add(measured("add+relu", 1.25)); }
  const std::vector<MeasuredFusion> facts = MeasurementStore(path, reading()).facts();
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(facts[0].pattern, "add+relu");
  EXPECT_EQ(facts[0].shape_class, "512x512");
  EXPECT_EQ(facts[0].target, "x86-64-v3");
  EXPECT_EQ(facts[0].version, "1.2.3");
  EXPECT_EQ(facts[0].speed_up, 1.25);
  EXPECT_EQ(facts[0].runs, 7);
}

TEST(MeasurementStore, AFactIsTheMedianOfItsMeasurements) {
  MeasurementStore store(path_of("median.db"));
  for (const double speed_up : {1.5, 0.75, 0.5}) store.add(measured("add+relu", speed_up));
  PatternMeasurement other = measured("add+relu", 3);
  other.fact.version = "2.0.0";
  store.add(other);
  const std::vector<MeasuredFusion> facts = store.facts();
  ASSERT_EQ(facts.size(), 2u);
  EXPECT_EQ(facts[0].speed_up, 0.75);
  EXPECT_EQ(facts[0].runs, 21);
  EXPECT_EQ(facts[1].speed_up, 3);
}

TEST(MeasurementStore, Statistics) {
  MeasurementStore store(path_of("statistics.db"));
  const FusionStatistics none = store.statistics();
  EXPECT_EQ(none.measurements, 0);
  EXPECT_FALSE(none.speed_up);
  store.add(measured("add+relu", 8));
  store.add(measured("mul+relu", 0.5));
  store.record(two_fused_one_changed());
  store.record(two_fused_one_changed());
  const FusionStatistics all = store.statistics();
  EXPECT_EQ(all.measurements, 2);
  EXPECT_DOUBLE_EQ(all.speed_up.value(), 2);
  EXPECT_EQ(all.applied, 4);
  EXPECT_EQ(all.changed, 2);
  EXPECT_EQ(all.applied_by_pattern.at("contraction epilogue"), 2);
}

TEST(MeasurementStore, StatisticsAsTextAndJson) {
  const FusionStatistics all = {3, 1.3125, 12, 1, {{"contraction epilogue", 8}, {"chain", 4}}};
  EXPECT_EQ(to_string(all),
            "measurements: 3\naverage measured speed-up: 1.31\nfusions applied: 12 (chain 4, "
            "contraction epilogue 8)\ndecisions changed by measurement: 1\n");
  const auto json = nlohmann::json::parse(to_json(all));
  EXPECT_EQ(json["average_measured_speed_up"], 1.3125);
  EXPECT_EQ(json["fusions_applied"], 12);
  EXPECT_EQ(json["patterns"]["chain"], 4);
  EXPECT_EQ(json["decisions_changed_by_measurement"], 1);
  EXPECT_THAT(to_string(FusionStatistics()), HasSubstr("speed-up: none measured"));
  EXPECT_TRUE(
      nlohmann::json::parse(to_json(FusionStatistics()))["average_measured_speed_up"].is_null());
}

TEST(MeasurementStore, RefusesWhatIsNoDatabase) {
  const std::string path = path_of("text.db");
  write_file("text", path, std::string(5000, 'x'));
  EXPECT_ERROR(MeasurementStore{path}, "text.db: expected a database that is not damaged, got: ");
  EXPECT_EQ(read_file("text", path), std::string(5000, 'x'));
}

TEST(MeasurementStore, RefusesADamagedDatabase) {
  const std::string path = path_of("damaged.db");
  { MeasurementStore(path).add(measured("add+relu", 2)); }
  std::string bytes = read_file("database", path);
  for (size_t i = 4096; i < bytes.size(); ++i) bytes[i] = 'x';  // all pages but the first
  write_file("database", path, bytes);
  EXPECT_ERROR(MeasurementStore{path}, "expected a database that is not damaged, got: ");
  write_file("database", path, bytes.substr(0, 5000));
  EXPECT_ERROR(MeasurementStore{path}, "expected a database that is not damaged, got: ");
}

TEST(MeasurementStore, RefusesFactsThatNobodyCanHaveMeasured) {
  const std::string path = path_of("facts.db");
  { MeasurementStore(path).add(measured("add+relu", 2)); }
  Connection(path).run("UPDATE measurements SET speed_up = -1");
  EXPECT_ERROR(MeasurementStore(path).facts(), "facts.db: measured fusion, add+relu: expected");
  EXPECT_ERROR(MeasurementStore(path).statistics(), "expected a speed-up above 0, got -1");
}

TEST(MeasurementStore, RefusesADatabaseOfAnotherProgram) {
  const std::string path = path_of("other.db");
  Connection(path).run("CREATE TABLE letters (sender TEXT)");
  EXPECT_ERROR(MeasurementStore{path}, "expected a database of Emulsion's, got another program's");
}

TEST(MeasurementStore, RefusesANewerFormat) {
  const std::string path = path_of("newer.db");
  { MeasurementStore store(path); }
  Connection(path).run("PRAGMA user_version = 2");
  EXPECT_ERROR(MeasurementStore{path}, "expected format 1, got 2; legal: another file");
}

TEST(MeasurementStore, RefusesALockedDatabase) {
  const std::string path = path_of("locked.db");
  MeasurementStore store(path, impatient());
  Connection other(path);
  other.run("BEGIN EXCLUSIVE");
  EXPECT_ERROR(store.add(measured("add+relu", 2)),
               "expected a database that nobody else is writing, got: database is locked");
  EXPECT_ERROR(MeasurementStore(path, impatient()), "that nobody else is writing");
  other.run("COMMIT");
  EXPECT_NO_THROW(store.add(measured("add+relu", 2)));
}

TEST(MeasurementStore, RefusesToWriteWhatIsOnlyRead) {
  const std::string path = path_of("read_only.db");
  { MeasurementStore(path).add(measured("add+relu", 2)); }
  MeasurementStore store(path, reading());
  EXPECT_ERROR(store.add(measured("add+relu", 2)), "expected a database that can be written");
  EXPECT_ERROR(store.record(two_fused_one_changed()), "expected a database that can be written");
  EXPECT_EQ(store.statistics().measurements, 1);
}

TEST(MeasurementStore, RefusesPathsThatLeadNowhere) {
  EXPECT_ERROR(MeasurementStore("/no/such/folder/x.db"),
               "fusion database /no/such/folder/x.db: expected a file that can be made");
  EXPECT_ERROR(MeasurementStore(path_of("nothing.db"), reading()),
               "expected a database that is there");
  for (const StoreOptions& options : {StoreOptions(), reading()}) {
    EXPECT_ERROR(MeasurementStore(::testing::TempDir(), options),
                 ": expected a file, got a directory");
  }
  const std::string empty = path_of("empty.db");
  write_file("nothing", empty, "");
  EXPECT_ERROR(MeasurementStore(empty, reading()), "expected measurements, got an empty file");
}

TEST(MeasurementStore, NothingIsHalfWritten) {
  const std::string path = path_of("half.db");
  MeasurementStore store(path);
  Connection(path).run(
      "CREATE TRIGGER full BEFORE INSERT ON decisions WHEN NEW.pattern = 'elementwise chain' "
      "BEGIN SELECT RAISE(ABORT, 'no more'); END");
  EXPECT_ERROR(store.record(two_fused_one_changed()),
               "expected a database that works, got: no more");
  EXPECT_EQ(store.statistics().applied, 0);  // of the contraction, which came first
  Connection(path).run("DROP TRIGGER full");
  store.record(two_fused_one_changed());
  EXPECT_EQ(store.statistics().applied, 2);
}

TEST(MeasurementStore, RefusesMeasurementsThatAreNone) {
  MeasurementStore store(path_of("none.db"));
  EXPECT_ERROR(store.add(measured("gemm+relu", 2)), "measured fusion: expected matmul");
  EXPECT_ERROR(store.add(measured("add+relu", 0)), "expected a speed-up above 0");
  EXPECT_EQ(store.statistics().measurements, 0);
}

}  // namespace
}  // namespace emulsion

#include "benchmarks/linear_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace emulsion::benchmarks {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

LinearRun small_run() {
  LinearRun run;
  run.instructions = "AVX2";
  run.target = "x86-64-v3,cores=2";
  run.all_threads = 2;
  run.machine = {{1, false, {100e9, 100e9}, {}}};
  run.times = {{{64, 64, 64}, 1, false, {1e-5, 1e-5}, {1e-5, 1e-5}, {2e-5}, {}}};
  run.kernels = {{{64, 64, 64}, true, 0.004, 0.5}};
  return run;
}

TEST(ReportText, StartsWithTheLosses) {
  LinearRun run = small_run();
  EXPECT_THAT(report_text(run), StartsWith("losses: none\n"));
  run.times[0].unfused = {0.5e-5};
  EXPECT_THAT(report_text(run), StartsWith("losses:\n  64x64x64, 1 thread, warm: fused is slower"));
}

TEST(ReportText, SaysWhenThePeakItselfVaries) {
  LinearRun run = small_run();
  run.machine[0].flops_per_second = {80e9, 90e9, 100e9, 110e9, 120e9};
  EXPECT_THAT(report_text(run), StartsWith("not quiet: the machine's own peak varied by 20.0 %"));
}

TEST(ReportText, HasALineForTheRowTheMachineAndTheKernel) {
  std::string text = report_text(small_run());
  EXPECT_THAT(text, HasSubstr("kernels for x86-64-v3,cores=2"));
  EXPECT_THAT(text, HasSubstr("AVX2 peak, 1 thread: 100.0 GF/s, spread 0.0 %"));
  EXPECT_THAT(text, testing::ContainsRegex("64x64x64 +1 +warm +52.4 +0.0 +52.4 +26.2 +- +2.000"));
  EXPECT_THAT(text, testing::ContainsRegex("64x64x64 +fused +0.004 +0.50\n"));
}

TEST(ReportText, OfNothingHasNoRows) {
  std::string text = report_text(LinearRun{});
  EXPECT_THAT(text, StartsWith("losses: none\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("warm")));
  EXPECT_THAT(text, testing::Not(HasSubstr("to the library")));
}

TEST(ReportJson, HasTheSameNumbers) {
  nlohmann::json report = nlohmann::json::parse(report_json(small_run()));
  EXPECT_EQ(report["losses"].size(), 0);
  EXPECT_EQ(report["target"], "x86-64-v3,cores=2");
  EXPECT_EQ(report["machine"][0]["peak_gflops"], 100);
  EXPECT_EQ(report["rows"][0]["shape"], "64x64x64");
  EXPECT_EQ(report["rows"][0]["caches"], "warm");
  EXPECT_DOUBLE_EQ(report["rows"][0]["fused_over_unfused"], 2);
  EXPECT_EQ(report["kernels"][0]["seconds_to_library"], 0.5);
}

TEST(ReportJson, HasNullForWhatWasNotMeasured) {
  nlohmann::json report = nlohmann::json::parse(report_json(small_run()));
  EXPECT_TRUE(report["rows"][0]["plain_gflops"].is_null());
  EXPECT_TRUE(report["rows"][0]["speed_up"].is_null());
  EXPECT_TRUE(report["machine"][0]["read_gbytes"].is_null());
}

TEST(ReportJson, OfNothingHasEmptyLists) {
  nlohmann::json report = nlohmann::json::parse(report_json(LinearRun{}));
  for (const char* list : {"losses", "machine", "rows", "kernels"}) {
    EXPECT_TRUE(report[list].is_array() && report[list].empty()) << list;
  }
}

}  // namespace
}  // namespace emulsion::benchmarks

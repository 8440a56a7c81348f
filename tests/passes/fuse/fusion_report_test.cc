#include "passes/fuse/fusion_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace emulsion {
namespace {

FusionReport two_decisions() {
  FusionReport report;
  report.decisions.push_back({"mm", "y", true, "", "contraction epilogue"});
  report.decisions.push_back({"s", "z", false, "expected an \"elementwise\" producer", ""});
  return report;
}

TEST(FusionReport, CountsFusions) {
  EXPECT_EQ(two_decisions().fused_count(), 1);
  EXPECT_EQ(FusionReport().fused_count(), 0);
}

TEST(FusionReport, PrintsALineForEachEdge) {
  EXPECT_EQ(to_string(two_decisions()),
            "contraction epilogue, mm -> y: fused\ns -> z: not fused: expected an \"elementwise\" "
            "producer\n");
}

FusionReport estimated() {
  FusionReport report = two_decisions();
  report.decisions[0].gain = FusionGain{4096, 3, 2};
  report.decisions[1].gain = FusionGain{128, 1, 1};
  report.gain = FusionGain{4096, 5, 4};
  return report;
}

TEST(FusionReport, PrintsWhatIsGainedAndTheSum) {
  EXPECT_EQ(to_string(estimated()),
            "contraction epilogue, mm -> y: fused: saves 4096 bytes, 1.50 times as fast by the "
            "model\n"
            "s -> z: not fused: expected an \"elementwise\" producer; would save 128 bytes, 1.00 "
            "times as fast by the model\n"
            "1 fused, 1 not: saves 4096 bytes, 1.25 times as fast by the model\n");
}

TEST(FusionReport, JsonHasWhatIsGained) {
  const nlohmann::json json = nlohmann::json::parse(to_json(estimated()));
  EXPECT_EQ(json["bytes_saved"], 4096);
  EXPECT_EQ(json["estimated_speed_up"], 1.25);
  EXPECT_EQ(json["decisions"][1]["bytes_saved"], 128);
  EXPECT_EQ(json["decisions"][0]["estimated_speed_up"], 1.5);
  EXPECT_EQ(json["decisions"][0]["measured"], false);
  const nlohmann::json unknown = nlohmann::json::parse(to_json(two_decisions()));
  EXPECT_TRUE(unknown["bytes_saved"].is_null());
  EXPECT_TRUE(unknown["decisions"][0]["estimated_speed_up"].is_null());
}

TEST(FusionReport, ValuesThatAreComputedAgain) {
  FusionReport report;
  report.decisions.push_back({"s", "a", true, "", kRecomputedValues});
  report.decisions[0].other_consumers = {"b", "c"};
  report.decisions[0].gain = FusionGain{4096, 3, 2, 512};
  EXPECT_EQ(
      to_string(report),
      "recomputed values, s -> a, b, c: fused: saves 4096 bytes for 512 operations more, 1.50 "
      "times as fast by the model\n");
  const nlohmann::json json = nlohmann::json::parse(to_json(report));
  EXPECT_EQ(json["decisions"][0]["other_consumers"], (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(json["decisions"][0]["operations_added"], 512);
  EXPECT_TRUE(json["operations_added"].is_null());
}

TEST(FusionReport, AGainOfNoTimeIsNone) { EXPECT_EQ(FusionGain().speed_up(), 1); }

TEST(FusionReport, AnEmptyReportPrintsNothing) { EXPECT_EQ(to_string(FusionReport()), ""); }

TEST(FusionReport, JsonParsesBack) {
  nlohmann::json json = nlohmann::json::parse(to_json(two_decisions()));
  EXPECT_EQ(json["fused"], 1);
  EXPECT_EQ(json["refused"], 1);
  ASSERT_EQ(json["decisions"].size(), 2u);
  EXPECT_EQ(json["decisions"][0]["producer"], "mm");
  EXPECT_EQ(json["decisions"][0]["fused"], true);
  EXPECT_EQ(json["decisions"][0]["pattern"], "contraction epilogue");
  EXPECT_EQ(json["decisions"][1]["consumer"], "z");
  EXPECT_EQ(json["decisions"][1]["reason"], "expected an \"elementwise\" producer");
}

TEST(FusionReport, AnEmptyReportIsJsonToo) {
  nlohmann::json json = nlohmann::json::parse(to_json(FusionReport()));
  EXPECT_EQ(json["fused"], 0);
  EXPECT_TRUE(json["decisions"].is_array());
  EXPECT_TRUE(json["decisions"].empty());
}

}  // namespace
}  // namespace emulsion

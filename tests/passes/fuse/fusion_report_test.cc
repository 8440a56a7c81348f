#include "passes/fuse/fusion_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

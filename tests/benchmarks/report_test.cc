#include "benchmarks/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace emulsion::benchmarks {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// Emulsion's call takes 1 s for 100 operations.
Row against(double peer_seconds, double again_seconds = 1) {
  return {"a product", "op/s", 100, {1}, {again_seconds}, {{"Halide", {peer_seconds}, 0, kMark}}};
}

Row not_measured() { return {"nothing", "op/s", 1, {}, {}, {{"Halide", {1}, 0, kMark}}}; }

Row lasting(double seconds) {
  Row row{"a step", "ms", 0, {seconds}};
  row.limit = 0.010;
  return row;
}

Report report_of(std::vector<Row> rows) { return {std::move(rows)}; }
std::vector<std::string> losses_of(std::vector<Row> rows) {
  return losses(report_of(std::move(rows)));
}

nlohmann::json json_of(std::vector<Row> rows) {
  return nlohmann::json::parse(report_json(report_of(std::move(rows))));
}

TEST(Losses, NameWhatIsBelowTheMark) {
  EXPECT_THAT(losses_of({against(0.94)}),
              ElementsAre("a product: 0.940x the speed of Halide, the mark is 0.95x"));
}

TEST(Losses, AreNoneAtTheMarkOrAboveIt) {
  EXPECT_THAT(losses_of({against(0.95), against(1), against(2)}), IsEmpty());
}

TEST(Losses, AreNoneWithoutAMark) {
  Row row = against(0.5);
  row.peers[0].mark.reset();
  EXPECT_THAT(losses_of({row}), IsEmpty());
}

TEST(Losses, AreNoneOfWhatWasNotMeasured) { EXPECT_THAT(losses_of({not_measured()}), IsEmpty()); }

TEST(Losses, CountThePeersOwnWork) {
  Row row = against(1);
  row.peers[0].work = 200;
  EXPECT_THAT(losses_of({row}), ElementsAre(HasSubstr("0.500x the speed of Halide")));
}

TEST(Losses, SayWhenTheRowDiffersAsMuchFromItself) {
  EXPECT_THAT(losses_of({against(0.9, 0.94)}),
              ElementsAre(HasSubstr("(within its noise of 6.0 %)")));
  EXPECT_THAT(losses_of({against(0.9, 0.96)}), ElementsAre(Not(HasSubstr("noise"))));
}

TEST(Losses, SayWhenTheSpreadIsAsMuch) {
  Row row = against(0.9);
  row.seconds = {0.8, 0.9, 1, 1.1, 1.2};
  EXPECT_THAT(losses_of({row}), ElementsAre(HasSubstr("(within its noise of 20.0 %)")));
}

TEST(Losses, NameWhatTakesAsLongAsItsLimit) {
  EXPECT_THAT(losses_of({lasting(0.010), lasting(0.0099)}),
              ElementsAre(StartsWith("a step: 10.000 ms, the mark is 10 ms")));
}

TEST(Losses, PutTheWorstFirst) {
  EXPECT_THAT(losses_of({against(0.9), lasting(0.1), against(0.5)}),
              ElementsAre(HasSubstr("100.000 ms"), HasSubstr("0.500x"), HasSubstr("0.900x")));
}

TEST(ReportText, StartsWithWarningsAndLosses) {
  Report report = report_of({against(0.5)});
  report.warnings = {"not quiet"};
  report.notes = {"kernels for somebody"};
  EXPECT_THAT(report_text(report),
              StartsWith("not quiet\nlosses:\n  a product: 0.500x the speed of Halide, the mark is "
                         "0.95x\nkernels for somebody\n\n"));
}

TEST(ReportText, HasALineForEachRowAndForEachFurtherPeer) {
  Row row = against(2, 1.1);
  row.peers.push_back({"the peak", {1}, 200, {}});
  EXPECT_THAT(report_text(report_of({row})),
              AllOf(ContainsRegex("\na product +op/s +100.0 +- +1.100 +50.0 +- +2.000 +Halide\n"),
                    ContainsRegex("\n +200.0 +- +0.500 +the peak\n")));
}

TEST(ReportText, ShowsTimesWhereThereIsNoWork) {
  EXPECT_THAT(report_text(report_of({lasting(0.00125)})), ContainsRegex("\na step +ms +1.250 "));
}

TEST(ReportText, PutsNamesToTheLeftAndNumbersToTheRight) {
  EXPECT_EQ(report_text(report_of({against(2), lasting(0.001)})),
            "losses: none\n"
            "\n"
            "                 Emulsion  spread  Emulsion/    peer  spread  Emulsion/\n"
            "           unit    median       %     itself  median       %       peer  peer\n"
            "a product  op/s     100.0       -      1.000    50.0       -      2.000  Halide\n"
            "a step       ms     1.000       -          -\n");
}

TEST(ReportText, HasADashForWhatWasNotMeasured) {
  EXPECT_THAT(report_text(report_of({not_measured()})),
              ContainsRegex("\nnothing +op/s +- +- +- +1.0 +- +- +Halide\n"));
}

TEST(ReportText, LeavesOutRowsOfWhichNothingWasMeasured) {
  Row row = not_measured();
  row.peers[0].seconds.clear();
  EXPECT_EQ(report_text(report_of({row, against(2)})), report_text(report_of({against(2)})));
  EXPECT_EQ(report_text(report_of({row})), "losses: none\n");
  EXPECT_EQ(json_of({row, lasting(0.5)}).at("rows").size(), 1U);
}

TEST(ReportText, OfNothingHasNoTable) { EXPECT_EQ(report_text(Report()), "losses: none\n"); }

TEST(ReportJson, HasTheSameNumbers) {
  const auto json = json_of({against(0.5, 0.8), lasting(0.5)});
  EXPECT_EQ(json.at("losses").size(), 2U);
  const auto row = json.at("rows").at(0);
  EXPECT_EQ(row.at("unit"), "op/s");
  EXPECT_DOUBLE_EQ(row.at("median"), 100);
  EXPECT_DOUBLE_EQ(row.at("emulsion_over_itself"), 0.8);
  EXPECT_EQ(row.at("peers").at(0).at("name"), "Halide");
  EXPECT_DOUBLE_EQ(row.at("peers").at(0).at("median"), 200);
  EXPECT_DOUBLE_EQ(row.at("peers").at(0).at("emulsion_over_peer"), 0.5);
  EXPECT_DOUBLE_EQ(row.at("peers").at(0).at("mark"), kMark);
  EXPECT_DOUBLE_EQ(json.at("rows").at(1).at("median"), 500);
  EXPECT_DOUBLE_EQ(json.at("rows").at(1).at("limit_seconds"), 0.010);
}

TEST(ReportJson, HasNullForWhatWasNotMeasured) {
  const auto row = json_of({not_measured()}).at("rows").at(0);
  for (const char* key : {"median", "spread", "emulsion_over_itself"}) {
    EXPECT_TRUE(row.at(key).is_null()) << key;
  }
  EXPECT_TRUE(row.at("peers").at(0).at("emulsion_over_peer").is_null());
}

TEST(ReportJson, OfNothingHasEmptyLists) {
  const auto json = json_of({});
  for (const char* list : {"warnings", "losses", "notes", "rows"}) {
    EXPECT_TRUE(json.at(list).is_array() && json.at(list).empty()) << list;
  }
}

TEST(Percent, Rounds) {
  EXPECT_EQ(percent(0.1234), "12.3");
  EXPECT_EQ(percent({}), "-");
}

}  // namespace
}  // namespace emulsion::benchmarks

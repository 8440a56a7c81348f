#include "benchmarks/side_by_side.h"

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

// Emulsion's kernel takes 1 s for 100 operations.
SideBySide against(double peer_seconds, double again_seconds = 1) {
  return {"a product", "Halide", "op/s", 100, {1}, {again_seconds}, {peer_seconds}};
}

SideBySide not_measured(const Samples& of_peer) {
  return {"nothing", "Halide", "op/s", 1, {}, {}, of_peer};
}

std::vector<std::string> losses_of(const std::vector<SideBySide>& all) {
  return losses(summarise(all));
}

TEST(SideBySide, DividesWorkBySecondsAndRatesByRates) {
  SideBySide one = against(0.5, 0.8);
  one.emulsion = {1, 2, 0.5, 1, 1};
  const SideBySideRow row = summarise({one}).at(0);
  EXPECT_EQ(row.name, "a product");
  EXPECT_DOUBLE_EQ(*row.emulsion_rate, 100);
  EXPECT_DOUBLE_EQ(*row.peer_rate, 200);
  EXPECT_DOUBLE_EQ(*row.over_peer, 0.5);
  EXPECT_DOUBLE_EQ(*row.over_itself, 0.8);
  EXPECT_DOUBLE_EQ(*row.emulsion_spread, 0);
}

TEST(SideBySide, LeavesOutWhatWasNotMeasured) {
  const SideBySideRow row = summarise({not_measured({1})}).at(0);
  EXPECT_FALSE(row.emulsion_rate || row.over_peer || row.over_itself || row.peer_spread);
  EXPECT_TRUE(row.peer_rate);
}

TEST(SideBySide, LosesBelowTheMark) {
  EXPECT_THAT(losses_of({against(0.94)}),
              ElementsAre(AllOf(HasSubstr("a product: 0.940x the speed of Halide,"),
                                Not(HasSubstr("noise")))));
}

TEST(SideBySide, DoesNotLoseAtTheMarkOrAboveIt) {
  EXPECT_THAT(losses_of({against(0.95), against(1), against(2)}), IsEmpty());
}

TEST(SideBySide, DoesNotLoseWhatWasNotMeasured) {
  EXPECT_THAT(losses_of({not_measured({1})}), IsEmpty());
}

TEST(SideBySide, SaysWhenTheNoiseIsLarger) {
  EXPECT_THAT(losses_of({against(0.9, 0.8)}), ElementsAre(HasSubstr("0.800x (within the noise)")));
}

TEST(SideBySide, PutsTheWorstFirst) {
  EXPECT_THAT(losses_of({against(0.9), against(0.5)}),
              ElementsAre(HasSubstr("0.500x"), HasSubstr("0.900x")));
}

TEST(SideBySide, PrintsEachRowWithItsUnitAndItsPeer) {
  SideBySide transpose = against(2);
  transpose.unit = "GB/s";
  transpose.peer = "a copy";
  const std::string text = report_text({against(0.5), transpose});
  EXPECT_THAT(text, StartsWith("losses:\n  a product: 0.500x the speed of Halide"));
  EXPECT_THAT(text, AllOf(ContainsRegex("op/s +100.0 .* 200.0 .* Halide\n"),
                          ContainsRegex("GB/s +100.0 .* 50.0 .* a copy\n")));
  EXPECT_THAT(report_text({}), StartsWith("losses: none\n"));
}

TEST(SideBySide, WritesTheSameAsJson) {
  const auto json = nlohmann::json::parse(report_json({against(0.5), not_measured({})}));
  EXPECT_EQ(json.at("losses").size(), 1U);
  EXPECT_DOUBLE_EQ(json.at("rows").at(0).at("emulsion_over_peer"), 0.5);
  EXPECT_EQ(json.at("rows").at(0).at("peer"), "Halide");
  EXPECT_EQ(json.at("rows").at(0).at("unit"), "op/s");
  EXPECT_DOUBLE_EQ(json.at("rows").at(0).at("peer_rate"), 200);
  EXPECT_TRUE(json.at("rows").at(1).at("emulsion_rate").is_null());
}

}  // namespace
}  // namespace emulsion::benchmarks

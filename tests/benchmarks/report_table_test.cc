#include "benchmarks/report_table.h"

#include <gtest/gtest.h>

namespace emulsion::benchmarks {
namespace {

TEST(ReportTable, RoundsNumbersAndPercents) {
  EXPECT_EQ(number(1.25, 1), "1.2");
  EXPECT_EQ(number(2, 3), "2.000");
  EXPECT_EQ(percent(0.1234), "12.3");
}

TEST(ReportTable, HasADashForWhatWasNotMeasured) {
  EXPECT_EQ(number(std::nullopt, 1), "-");
  EXPECT_EQ(percent(times(std::nullopt, 2)), "-");
}

TEST(ReportTable, AlignsNumbersToTheRight) {
  EXPECT_EQ(aligned({{"name", "GF/s"}, {"x", "1"}, {"longer", "22.5"}}),
            "name    GF/s\nx          1\nlonger  22.5\n");
}

TEST(ReportTable, OfNothingIsNothing) { EXPECT_EQ(aligned({}), ""); }

TEST(ReportTable, PutsTheSmallestNumberFirstAndKeepsEqualOnesInOrder) {
  EXPECT_EQ(in_order({{0.9, "c"}, {0.5, "b"}, {0.5, "a"}}),
            (std::vector<std::string>{"b", "a", "c"}));
  EXPECT_TRUE(in_order({}).empty());
}

TEST(ReportTable, SaysThatThereAreNoLosses) {
  EXPECT_EQ(losses_text({}), "losses: none\n");
  EXPECT_EQ(losses_text({"a", "b"}), "losses:\n  a\n  b\n");
}

}  // namespace
}  // namespace emulsion::benchmarks

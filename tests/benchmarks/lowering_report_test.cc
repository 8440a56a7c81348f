#include "benchmarks/lowering_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "dsl/error.h"

namespace emulsion::benchmarks {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

Lowering lasting(double seconds) { return {"lesson", "a step", 4, {seconds}}; }

TEST(ParseLowering, ReadsWhatALessonWrites) {
  const Lowering one =
      parse_lowering("lesson", R"({"loops": 7, "seconds": [0.25, 0.5], "step": "1. One."})");
  EXPECT_EQ(one.source, "lesson");
  EXPECT_EQ(one.name, "1. One.");
  EXPECT_EQ(one.loops, 7);
  EXPECT_THAT(one.seconds, ElementsAre(0.25, 0.5));
}

TEST(ParseLowering, RefusesAnythingElse) {
  for (const char* line : {"", "12 ms", "{\"step\": \"one\"}", "{\"step\": 1, \"loops\": 2}"}) {
    EXPECT_THAT([line] { parse_lowering("lesson_77", line); },
                ThrowsMessage<Error>(StartsWith("lesson_77: expected a step")))
        << line;
  }
}

TEST(Losses, NameWhatTakesTenMillisecondsTheSlowestFirst) {
  EXPECT_THAT(losses({lasting(0.010), lasting(0.0099), lasting(0.5)}),
              ElementsAre("lesson, a step: 500.0 ms, the mark is 10 ms", HasSubstr("10.0 ms, ")));
}

TEST(LoweringReport, HasALineForEach) {
  EXPECT_THAT(report_text({lasting(0.00125)}),
              AllOf(StartsWith("losses: none\n"), HasSubstr("a step"), HasSubstr("1.250")));
}

TEST(LoweringReport, HasTheSameAsJson) {
  const auto json = nlohmann::json::parse(report_json({lasting(0.5)}));
  EXPECT_EQ(json.at("losses").size(), 1U);
  EXPECT_DOUBLE_EQ(json.at("rows").at(0).at("seconds"), 0.5);
  EXPECT_EQ(json.at("rows").at(0).at("loops"), 4);
  EXPECT_TRUE(json.at("rows").at(0).at("spread").is_null());
}

TEST(LoweringReport, OfNothingHasNoRows) {
  EXPECT_THAT(nlohmann::json::parse(report_json({})).at("rows"), testing::IsEmpty());
}

}  // namespace
}  // namespace emulsion::benchmarks

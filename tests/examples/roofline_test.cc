#include "examples/lesson_11_roofline/roofline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

using testing::HasSubstr;

const Roof kRoof{100, 20};

// 4 operations a byte before, 8 after.
std::vector<RooflinePoint> points() {
  return {{"net", "unfused", 4000, 1000, 1e-6}, {"net", "fused", 4000, 500, 5e-7}};
}

TEST(Roofline, IsTheBandwidthBelowTheRidgeAndThePeakAboveIt) {
  EXPECT_DOUBLE_EQ(kRoof.ridge(), 5);
  EXPECT_DOUBLE_EQ(kRoof.attainable(1), 20);
  EXPECT_DOUBLE_EQ(kRoof.attainable(5), 100);
  EXPECT_DOUBLE_EQ(kRoof.attainable(50), 100);
}

TEST(Roofline, CountsOperationsOverBytesAndSeconds) {
  EXPECT_DOUBLE_EQ(points()[0].intensity(), 4);
  EXPECT_DOUBLE_EQ(points()[0].gflops(), 4);
  EXPECT_DOUBLE_EQ(points()[1].intensity(), 8);
  EXPECT_DOUBLE_EQ(points()[1].gflops(), 8);
}

TEST(Roofline, SaysTheSameAsTextAndAsJson) {
  const std::string text = to_string(kRoof, points());
  EXPECT_THAT(text, HasSubstr("memory is the limit below 5.0 operations a byte"));
  EXPECT_THAT(text, HasSubstr("net            fused"));
  const auto json = nlohmann::json::parse(to_json(kRoof, points()));
  EXPECT_EQ(json["roof"]["ridge"], 5.0);
  ASSERT_EQ(json["points"].size(), 2u);
  EXPECT_EQ(json["points"][0]["attainable"], 80.0);
  EXPECT_EQ(json["points"][1]["attainable"], 100.0);
  EXPECT_EQ(json["points"][1]["bytes"], 500);
}

TEST(Roofline, DrawsThePointsAndAWayBetweenThem) {
  const std::string svg = draw_roofline(kRoof, points());
  EXPECT_THAT(svg, HasSubstr("net, unfused"));
  EXPECT_THAT(svg, HasSubstr("net, fused"));
  EXPECT_THAT(svg, HasSubstr("class=\"way\""));
  EXPECT_THAT(svg, HasSubstr("100.0 GF/s"));
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(Roofline, DrawsNoWayFromOneNetworkToAnother) {
  std::vector<RooflinePoint> two = points();
  two[1].network = "other";
  EXPECT_EQ(draw_roofline(kRoof, two).find("class=\"way\""), std::string::npos);
}

TEST(Roofline, EscapesNames) {
  std::vector<RooflinePoint> hostile = points();
  hostile[0].network = "</text><script>";
  EXPECT_EQ(draw_roofline(kRoof, hostile).find("<script>"), std::string::npos);
}

TEST(Roofline, RefusesARoofThatIsNone) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Roof& roof : {Roof{0, 20}, Roof{100, 0}, Roof{-1, 20}, Roof{100, infinity}}) {
    EXPECT_THAT(error_of([&] { draw_roofline(roof, points()); }),
                HasSubstr("expected a peak and a bandwidth above 0, got"));
  }
}

TEST(Roofline, RefusesAPointWithoutWorkOrTimeOrBytes) {
  for (const RooflinePoint& point :
       {RooflinePoint{"net", "fused", 0, 1, 1}, RooflinePoint{"net", "fused", 1, 0, 1},
        RooflinePoint{"net", "fused", 1, 1, 0}}) {
    EXPECT_THAT(error_of([&] { draw_roofline(kRoof, {point}); }),
                HasSubstr("net, fused: expected operations, bytes and seconds above 0"));
  }
}

}  // namespace
}  // namespace emulsion

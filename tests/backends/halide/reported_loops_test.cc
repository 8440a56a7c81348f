#include "backends/halide/reported_loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dsl/error.h"
#include "passes/lower/lower.h"
#include "tests/backends/halide/nest_cases.h"

namespace emulsion {
namespace {

using testing::HasSubstr;

class EveryCase : public testing::TestWithParam<size_t> {};

TEST_P(EveryCase, HalideHasTheLoopsOfTheNest) {
  std::vector<ScheduledCase> scheduled = scheduled_cases();
  std::vector<GraphCase> plain = operator_cases();
  size_t i = GetParam();
  LoopNest nest = i < scheduled.size() ? lower(scheduled[i].graph, scheduled[i].schedule)
                                       : lower(plain[i - scheduled.size()].graph,
                                               Schedule(plain[i - scheduled.size()].graph));
  std::vector<ReportedLoop> expected = loops_of_nest(nest), reported = loops_of_halide(nest);
  EXPECT_EQ(first_difference(expected, reported), std::nullopt) << to_string(nest) << "\nHalide:\n"
                                                                << to_string(reported);
}

std::string case_name(const testing::TestParamInfo<size_t>& info) {
  const size_t scheduled = scheduled_cases().size();
  if (info.param < scheduled) return scheduled_cases()[info.param].name;
  return operator_cases()[info.param - scheduled].name;
}

INSTANTIATE_TEST_SUITE_P(All, EveryCase,
                         testing::Range(size_t{0},
                                        scheduled_cases().size() + operator_cases().size()),
                         case_name);

// The nest of the first hand-made schedule: a parallel, a serial, a vectorized and unrolled loops.
LoopNest tiled() {
  ScheduledCase c = scheduled_cases().front();
  return lower(c.graph, c.schedule);
}

// What is found when one loop of the nest is not what Halide runs.
std::string difference_after(const std::function<void(ReportedLoop*)>& change, size_t loop) {
  LoopNest nest = tiled();
  std::vector<ReportedLoop> loops = loops_of_nest(nest);
  change(&loops.at(loop));
  return first_difference(loops, loops_of_halide(nest)).value_or("no difference");
}

TEST(ReportedLoops, NoticesAnotherKind) {
  EXPECT_THAT(difference_after([](ReportedLoop* l) { l->kind = LoopKind::serial; }, 0),
              HasSubstr("Halide has \"parallel"));
}

TEST(ReportedLoops, NoticesAnotherAxis) {
  EXPECT_THAT(difference_after([](ReportedLoop* l) { l->axis = "other"; }, 0), HasSubstr("other"));
}

TEST(ReportedLoops, NoticesAnotherExtent) {
  EXPECT_THAT(difference_after([](ReportedLoop* l) { l->extent = 77; }, 0), HasSubstr("in 77"));
}

TEST(ReportedLoops, NoticesAnotherPlace) {
  EXPECT_THAT(difference_after([](ReportedLoop* l) { l->around.pop_back(); }, 2),
              HasSubstr("the nest has"));
}

TEST(ReportedLoops, NoticesAnotherStage) {
  EXPECT_THAT(difference_after([](ReportedLoop* l) { l->stage = "aaa"; }, 0), HasSubstr("aaa"));
}

TEST(ReportedLoops, NoticesALoopTooMany) {
  LoopNest nest = tiled();
  std::vector<ReportedLoop> loops = loops_of_halide(nest);
  loops.pop_back();
  EXPECT_THAT(first_difference(loops_of_nest(nest), loops).value_or(""),
              HasSubstr("Halide has \"nothing\""));
}

TEST(ReportedLoops, AnUnknownExtentIsNoDifference) {
  EXPECT_EQ(difference_after([](ReportedLoop* l) { l->extent.reset(); }, 0), "no difference");
}

TEST(ReportedLoops, IndependentStagesMayComeInEitherOrder) {
  ReportedLoop a{"a", "i", LoopKind::serial, 4, {}}, b{"b", "i", LoopKind::serial, 5, {}};
  EXPECT_EQ(first_difference({a, b}, {b, a}), std::nullopt);
}

TEST(ReportedLoops, ANestWithoutATreeIsAnInternalError) {
  LoopNest nest = tiled();
  nest.root = nullptr;
  EXPECT_THROW(loops_of_nest(nest), InternalError);
  EXPECT_THROW(loops_of_halide(nest), InternalError);
}

}  // namespace
}  // namespace emulsion

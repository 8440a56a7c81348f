#include "dsl/schedule_refusal.h"

#include <gtest/gtest.h>

#include <string>

namespace emulsion {
namespace {

Directive unroll_m() { return StageSchedule().unroll(Axis("m")).directives().front(); }

TEST(ScheduleRefusal, NamesTheOperationAndTheDirective) {
  try {
    refuse("y", unroll_m(), "expected less", {"x", "n"});
    FAIL() << "nothing thrown";
  } catch (const ScheduleRefusal& refusal) {
    EXPECT_EQ(refusal.what(), std::string("y.unroll(m): expected less"));
    EXPECT_EQ(refusal.stage(), "y");
    EXPECT_EQ(refusal.directive(), unroll_m());
    EXPECT_EQ(refusal.loop().stage, "x");
    EXPECT_EQ(refusal.loop().axis, "n");
  }
}

TEST(ScheduleRefusal, MayBeAboutTheLoopsOfTheDirectiveAlone) {
  try {
    refuse("y", unroll_m(), "expected less");
    FAIL() << "nothing thrown";
  } catch (const ScheduleError& error) {
    EXPECT_EQ(dynamic_cast<const ScheduleRefusal&>(error).loop().stage, "");
  }
}

}  // namespace
}  // namespace emulsion

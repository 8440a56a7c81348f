// Schedules that random ones have found: each was accepted once and then failed inside Halide, or
// computed something else. As few directives as still show it.

#include <gtest/gtest.h>

#include <string>

#include "tests/random/check_schedule.h"

namespace emulsion {
namespace {

struct FoundSchedule {
  const char* name;
  const char* program;
  ScheduleLines lines;
};

class FoundSchedules : public testing::TestWithParam<FoundSchedule> {};

TEST_P(FoundSchedules, ChangeNothing) {
  const FoundSchedule& found = GetParam();
  for (const ScheduleProgram& program : schedule_programs()) {
    if (program.name != found.program) continue;
    EXPECT_NO_THROW(check_schedule(program, found.lines, true));
    return;
  }
  FAIL() << "no program " << found.program;
}

const FoundSchedule kFound[] = {
    // Halide asked for as much of an operand as the last step would read without its guard.
    {"GuardedReductionOfAStage", "two_layers", {"m2.split(k, ko, ki, 5)"}},
    {"GuardedReductionOfAnInput", "two_layers", {"m1.split(k, ko, ki, 4)"}},
    {"GuardedReductionOfAWindow", "pooled", {"p.split(ky, kyo, kyi, 3)"}},
    {"GuardedReductionLongerThanTheWindow", "pooled", {"q.split(ky, ky, kyi, 4, predicate)"}},
    // Halide counts what is stored past the end to the region.
    {"LoadsMaskedAtTheRoot",
     "two_outputs",
     {"a.cache_write(acc)", "acc.split(i1, o, i1, 4, predicate_loads)"}},
    {"LoadsMaskedOverABatch", "rows", {"d.unroll(i0, 4, predicate_loads)"}},
    {"LoadsMaskedAtALoop",
     "convolution",
     {"c_pad.split(i0, o, i, 3, predicate_loads)", "c_pad.compute_at(c, kx)"}},
};

INSTANTIATE_TEST_SUITE_P(All, FoundSchedules, testing::ValuesIn(kFound),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace emulsion

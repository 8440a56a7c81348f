#include "passes/nest/nest_passes.h"

#include <gtest/gtest.h>

#include "passes/lower/lower.h"
#include "passes/nest/verify_nest.h"
#include "tests/passes/nest/partition_graphs.h"

namespace emulsion {
namespace {

LoopNest partitioned() {
  Schedule schedule = doubled(10);
  schedule["y"].partition(Axis("io"));
  return make_nest(schedule.graph(), schedule);
}

TEST(NestPasses, AreNamedInTheirOrder) {
  ASSERT_EQ(nest_passes().size(), 2U);
  EXPECT_STREQ(nest_passes()[0].name, "partition_loops");
  EXPECT_STREQ(nest_passes()[1].name, "simplify_nest");
}

TEST(NestPasses, LeaveANestThatVerifiesAndThatTheyDoNotChangeAgain) {
  const LoopNest nest = run_nest_passes(partitioned());
  EXPECT_NE(to_string(nest), to_string(partitioned()));
  EXPECT_NO_THROW(verify_nest(nest));
  EXPECT_EQ(run_nest_passes(nest).root, nest.root);
}

TEST(NestPasses, EachLeavesANestThatVerifies) {
  LoopNest nest = partitioned();
  EXPECT_NO_THROW(verify_nest(nest));
  for (const NestPass& pass : nest_passes()) {
    nest = pass.run(nest);
    EXPECT_NO_THROW(verify_nest(nest)) << pass.name;
  }
}

}  // namespace
}  // namespace emulsion

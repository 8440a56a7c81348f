#include "passes/nest/nest_passes.h"

#include <gtest/gtest.h>

#include "dsl/schedule.h"
#include "dsl/tensor.h"
#include "passes/lower/lower.h"
#include "passes/nest/verify_nest.h"

namespace emulsion {
namespace {

// A stage inside a loop that is partitioned.
LoopNest tiled() {
  const Axis i("i", 10), j("j", 12), io("io"), ii("ii");
  Tensor a = compute("a", {j}, input("in", f32, {12})(j) * 2.0f);
  Tensor z = compute("z", {i}, a(i) + a(i + 2));
  Schedule schedule(z);
  schedule[z].split(i, io, ii, 4).partition(io);
  schedule[a].compute_at(z, io);
  return make_nest(schedule.graph(), schedule);
}

TEST(NestPasses, AreNamedInTheirOrder) {
  ASSERT_EQ(nest_passes().size(), 2U);
  EXPECT_STREQ(nest_passes()[0].name, "partition_loops");
  EXPECT_STREQ(nest_passes()[1].name, "simplify_nest");
}

TEST(NestPasses, LeaveANestThatVerifiesAndThatTheyDoNotChangeAgain) {
  const LoopNest nest = run_nest_passes(tiled());
  EXPECT_NE(to_string(nest), to_string(tiled()));
  EXPECT_NO_THROW(verify_nest(nest));
  EXPECT_EQ(run_nest_passes(nest).root, nest.root);
}

TEST(NestPasses, EachLeavesANestThatVerifies) {
  LoopNest nest = tiled();
  EXPECT_NO_THROW(verify_nest(nest));
  for (const NestPass& pass : nest_passes()) {
    nest = pass.run(nest);
    EXPECT_NO_THROW(verify_nest(nest)) << pass.name;
  }
}

}  // namespace
}  // namespace emulsion

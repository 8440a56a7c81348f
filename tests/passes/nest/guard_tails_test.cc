#include "passes/nest/guard_tails.h"

#include <gtest/gtest.h>

#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

LoopTransform split(const std::string& axis, const std::string& outer, const std::string& inner,
                    Tail tail) {
  LoopTransform t;
  t.kind = LoopTransform::Kind::split;
  t.axis = axis;
  t.outer = outer;
  t.inner = inner;
  t.factor = 4;
  t.tail = tail;
  return t;
}

// y = sum of x[k], with transforms.
Stage reduced(std::vector<LoopTransform> transforms) {
  Stage stage = reduction_nest(Combiner::sum, 10).stages[0];
  stage.axes = {Axis("i", 10)};
  stage.transforms = std::move(transforms);
  return stage;
}

TEST(GuardTails, AreInTheOrderOfTheSplits) {
  const Stage stage =
      reduced({split("k", "ko", "ki", Tail::predicate), split("i", "io", "ii", Tail::guard),
               split("ko", "koo", "koi", Tail::guard)});
  EXPECT_EQ(guard_tails(stage, Part::update),
            (std::vector<Tail>{Tail::predicate, Tail::guard, Tail::guard}));
}

TEST(GuardTails, LeaveOutReductionsOfTheStartValue) {
  const Stage stage =
      reduced({split("k", "ko", "ki", Tail::guard), split("ko", "koo", "koi", Tail::guard),
               split("i", "io", "ii", Tail::predicate)});
  EXPECT_EQ(guard_tails(stage, Part::init), std::vector<Tail>{Tail::predicate});
}

TEST(GuardTails, LeaveOutTailsWithoutAGuard) {
  const Stage stage = reduced({split("i", "io", "ii", Tail::round_up),
                               split("ii", "iio", "iii", Tail::shift_inwards),
                               split("io", "ioo", "ioi", Tail::predicate_loads)});
  EXPECT_EQ(guard_tails(stage, Part::update), std::vector<Tail>{Tail::predicate_loads});
}

TEST(GuardTails, LeaveOutFusedLoops) {
  LoopTransform fuse;
  fuse.kind = LoopTransform::Kind::fuse;
  fuse.axis = "t";
  fuse.outer = "k";
  fuse.inner = "i";
  fuse.tail = Tail::guard;
  EXPECT_TRUE(guard_tails(reduced({fuse}), Part::update).empty());
  EXPECT_EQ(reduction_loops(reduced({fuse})), (std::set<std::string>{"k", "t"}));
}

}  // namespace
}  // namespace emulsion

#include "dsl/stage_loops.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/dsl/refusal.h"

namespace emulsion {
namespace {

using Names = std::vector<std::string>;

const Axis m("m"), n("n"), k("k"), a("a"), b("b"), c("c");

StageLoops matmul() { return {"y", {"m", "n"}, {"k"}}; }

// The loops after what `write` writes of the stage.
StageLoops after(StageLoops loops, const std::function<void(StageSchedule&)>& write) {
  StageSchedule schedule;
  write(schedule);
  for (const Directive& directive : schedule.directives()) loops.apply(directive);
  return loops;
}

Names names_after(const std::function<void(StageSchedule&)>& write) {
  return names_of(after(matmul(), write).loops());
}

TEST(StageLoops, StartWithTheAxesReductionsInside) {
  EXPECT_EQ(names_of(matmul().loops()), (Names{"m", "n", "k"}));
  EXPECT_EQ(matmul().reduction_loops(), (std::set<std::string>{"k"}));
  EXPECT_FALSE(matmul().is_specialized());
}

TEST(StageLoops, NewLoopsStandWhereTheFirstOldOneStood) {
  EXPECT_EQ(names_after([](StageSchedule& y) { y.split(n, a, b, 4); }),
            (Names{"m", "a", "b", "k"}));
  EXPECT_EQ(names_after([](StageSchedule& y) { y.fuse(m, n, a); }), (Names{"a", "k"}));
  EXPECT_EQ(names_after([](StageSchedule& y) { y.split(m, m, a, 4).split(m, m, b, 2); }),
            (Names{"m", "b", "a", "n", "k"}));
}

TEST(StageLoops, LoopsOfAReductionAxisReduce) {
  const StageLoops loops = after(matmul(), [](StageSchedule& y) {
    y.split(k, a, b, 4).reorder({n, a});
  });
  EXPECT_EQ(names_of(loops.loops()), (Names{"m", "a", "n", "b"}));
  EXPECT_EQ(loops.reduction_loops(), (std::set<std::string>{"a", "b"}));
}

TEST(StageLoops, AKindStaysWithItsLoop) {
  const StageLoops loops = after(matmul(), [](StageSchedule& y) {
    y.vectorize(n).partition(m).reorder({m, n});
  });
  EXPECT_EQ(find_loop(loops.loops(), "n")->kind, LoopKind::vectorized);
  EXPECT_FALSE(find_loop(loops.loops(), "n")->partition);
  EXPECT_EQ(find_loop(loops.loops(), "m")->kind, LoopKind::serial);
  EXPECT_TRUE(find_loop(loops.loops(), "m")->partition);
  EXPECT_EQ(find_loop(loops.loops(), "no"), nullptr);
}

LoopKind kind_after(const std::string& loop, const std::function<void(StageSchedule&)>& write) {
  const StageLoops loops = after(matmul(), write);
  return find_loop(loops.loops(), loop)->kind;
}

TEST(StageLoops, ADirectiveMarksTheLoopThatItNames) {
  EXPECT_EQ(kind_after("m", [](StageSchedule& y) { y.parallel(m); }), LoopKind::parallel);
  EXPECT_EQ(kind_after("k", [](StageSchedule& y) { y.unroll(k); }), LoopKind::unrolled);
  EXPECT_EQ(kind_after("n", [](StageSchedule& y) { y.parallel(m); }), LoopKind::serial);
  // The loops that take the place of a marked one have no marks; those inside a tile are of it.
  EXPECT_EQ(kind_after("a", [](StageSchedule& y) { y.parallel(m).split(m, a, b, 4); }),
            LoopKind::serial);
  EXPECT_EQ(kind_after("k", [](StageSchedule& y) { y.tensorize(n); }), LoopKind::tile);
  EXPECT_EQ(kind_after("m", [](StageSchedule& y) { y.tensorize(n); }), LoopKind::serial);
}

TEST(StageLoops, AMarkBehindSpecializeIsOfThatCase) {
  const StageLoops loops = after(
      matmul(), [](StageSchedule& y) { y.unroll(n).specialize(size_value("B") == 1).parallel(m); });
  ASSERT_EQ(loops.all_cases().size(), 2U);
  EXPECT_EQ(loops.all_cases()[0][0].kind, LoopKind::serial);
  EXPECT_EQ(loops.all_cases()[1][0].kind, LoopKind::parallel);
  EXPECT_EQ(loops.all_cases()[1][1].kind, LoopKind::unrolled);
}

TEST(StageLoops, EachSpecializationStartsFromTheGeneralLoops) {
  const StageLoops loops = after(matmul(), [](StageSchedule& y) {
    const Expr B = size_value("B");
    y.split(m, a, b, 4).specialize(B == 1).fuse(a, b, c).specialize(B == 2).reorder({a, n});
  });
  EXPECT_TRUE(loops.is_specialized());
  ASSERT_EQ(loops.all_cases().size(), 3U);
  EXPECT_EQ(names_of(loops.all_cases()[0]), (Names{"a", "b", "n", "k"}));
  EXPECT_EQ(names_of(loops.all_cases()[1]), (Names{"c", "n", "k"}));
  EXPECT_EQ(names_of(loops.loops()), (Names{"n", "b", "a", "k"}));
  EXPECT_EQ(loops.common_loops(), (Names{"n", "k"}));
}

TEST(StageLoops, WhatIsReducedElsewhereLeaves) {
  StageLoops loops = after(matmul(), [](StageSchedule& y) { y.split(k, a, b, 4); });
  loops.reduce_only({"b"});
  EXPECT_EQ(names_of(loops.loops()), (Names{"m", "n", "b"}));
  EXPECT_EQ(loops.reduction(), (Names{"b"}));
  // The names that were split belong to the other stage.
  EXPECT_NO_THROW(after(loops, [](StageSchedule& y) { y.split(m, k, c, 2); }));
}

class StageLoopsRefusal : public RefusalTest {};
TEST_P(StageLoopsRefusal, NamesTheCause) { check(); }

std::function<void()> refused(const std::function<void(StageSchedule&)>& write) {
  return [write] { after(matmul(), write); };
}

std::function<void()> refused(const Directive& directive) {
  return [directive] { matmul().apply(directive); };
}

Directive raw(DirectiveKind kind, Names axes) {
  Directive directive;
  directive.kind = kind;
  directive.axes = std::move(axes);
  return directive;
}

INSTANTIATE_TEST_SUITE_P(
    All, StageLoopsRefusal,
    ::testing::ValuesIn(std::vector<Refusal>{
        {"NoSuchLoop", refused([](StageSchedule& y) { y.unroll(a); }),
         "y.unroll(a): expected a loop of y (m, n or k), got a"},
        {"NoSuchLoopInAnOrder", refused([](StageSchedule& y) {
           y.reorder({m, a});
         }),
         "got a"},
        {"ALoopThatWasSplit", refused([](StageSchedule& y) { y.split(m, a, b, 2).unroll(m); }),
         "expected a loop of y (a, b, n or k), got m"},
        {"ALoopTwice", refused([](StageSchedule& y) {
           y.reorder({m, n, m});
         }),
         "expected distinct loops, got m twice"},
        {"FuseOfOne", refused([](StageSchedule& y) { y.fuse(m, m, a); }),
         "expected distinct loops, got m twice"},
        {"TwoNewLoopsOfOneName", refused([](StageSchedule& y) { y.split(m, a, a, 2); }),
         "expected distinct loops, got a twice"},
        {"ANameInUse", refused([](StageSchedule& y) { y.split(m, a, n, 2); }),
         "expected a name that no other loop of y has (n or k), got n; legal: n_1"},
        {"ANameThatWasInUse",
         refused([](StageSchedule& y) { y.split(m, a, b, 2).split(n, c, m, 2); }),
         "expected a new name, got m, which y has or had; legal: m_1"},
        {"TooFewAxes", refused(raw(DirectiveKind::split, {"m"})), "expected 3 axes, got 1"},
        {"TooManyAxes", refused(raw(DirectiveKind::atomic, {"m"})), "expected 0 axes, got 1"},
        {"AnEmptyOrder", refused(raw(DirectiveKind::reorder, {})), "expected 1 axis, got 0"},
        {"NoReductionLoop", refused([](StageSchedule& y) { y.rfactor(m, "part"); }),
         "expected a reduction loop of y (k), got m"},
        {"ANewLoopIsNoStoredAxis",
         refused([](StageSchedule& y) { y.split(m, a, b, 2).align_storage(a, 8); }),
         "expected an axis of y as it was written (m or n), got a"},
        {"AReducedAxisIsNotStored", refused([](StageSchedule& y) { y.fold_storage(k, 8); }),
         "expected an axis of y as it was written (m or n), got k"},
        {"NoLoopDirectiveBehindSpecialize",
         refused([](StageSchedule& y) { y.specialize(size_value("B") == 1).compute_root(); }),
         "expected a directive on loops (split, "},
    }),
    refusal_name);

StageLoops split_again_and_again(int count) {
  return after(matmul(), [&](StageSchedule& y) {
    for (int i = 0; i < count; ++i) y.split(m, m, Axis("m" + std::to_string(i)), 1);
  });
}

TEST(StageLoops, AHundredLoops) {
  EXPECT_EQ(split_again_and_again(97).loops().size(), 100U);
  // Fewer may come in the place of more.
  EXPECT_NO_THROW(after(split_again_and_again(97), [](StageSchedule& y) { y.fuse(n, k, a); }));
}

TEST(StageLoops, RefusesMore) {
  expect_refusal([] { split_again_and_again(98); },
                 "y.split(m, m, m97, 1): expected at most 100 loops of y, got 101; legal: a fuse "
                 "first");
}

TEST(StageLoops, ARefusalChangesNothing) {
  StageLoops loops = matmul();
  EXPECT_THROW(loops.apply(raw(DirectiveKind::split, {"m", "a", "n"})), ScheduleError);
  EXPECT_EQ(names_of(loops.loops()), (Names{"m", "n", "k"}));
}

}  // namespace
}  // namespace emulsion

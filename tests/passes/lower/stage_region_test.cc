#include "passes/lower/stage_region.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"

namespace emulsion {
namespace {

const Axis x("x", 8), y("y", 6), r("y", 8), yo("yo"), yi("yi");

// by = three rows of bx, bx = three columns of the image.
struct Blur {
  Tensor image = input("image", f32, {8, 10});
  Tensor bx = compute("bx", {r, x}, image(r, x) + image(r, x + 1) + image(r, x + 2));
  Tensor by = compute("by", {y, x}, bx(y, x) + bx(y + 1, x) + bx(y + 2, x));
  Schedule schedule{Graph(by)};

  NestPlan plan() const {
    const ScheduleLoops loops = replay(schedule.graph(), schedule);
    return apply_directives(apply_structure(plan_stages(Graph(by)), schedule, loops), loops.after);
  }
};

std::string text(const AxisRegion& axis) {
  return "[" + to_string(axis.min()) + ", " + to_string(axis.extent()) + "]";
}

std::string needed_text(const AxisRegion& axis) {
  return "[" + to_string(axis.needed_min) + ", " + to_string(axis.needed_extent) + "]";
}

TEST(StageRegion, AtTheRootEveryAxisIsWhole) {
  const std::vector<StageRegion> regions = infer_regions(Blur().plan());
  ASSERT_EQ(regions.size(), 2U);
  for (const StageRegion& region : regions) {
    EXPECT_TRUE(region.axes[0].is_whole);
    EXPECT_TRUE(region.axes[1].is_whole);
  }
  EXPECT_EQ(text(regions[0].axes[0]), "[0, 8]");
  EXPECT_EQ(*regions[0].axes[0].highest, Extent(7));
}

TEST(StageRegion, AtALoopWhatItsReadersNeed) {
  Blur b;
  b.schedule[b.by].split(y, yo, yi, 4);
  b.schedule[b.bx].compute_at(b.by, yo);
  const std::vector<StageRegion> regions = infer_regions(b.plan());
  const AxisRegion& rows = regions[0].axes[0];
  EXPECT_EQ(text(rows), "[by.yo * 4, 6]");
  EXPECT_FALSE(rows.is_whole);
  EXPECT_EQ(*rows.lowest, Extent(0));
  EXPECT_EQ(*rows.highest, Extent(9));  // past the end: 8 rows
  EXPECT_EQ(text(regions[0].axes[1]), "[0, 8]");
  EXPECT_EQ(to_string(regions[0].loop_extents[0]), "6");
}

TEST(StageRegion, WhereAWindowSlidesOnlyWhatIsNew) {
  Blur b;
  b.schedule[b.bx].store_root().compute_at(b.by, y);
  const AxisRegion rows = infer_regions(b.plan())[0].axes[0];
  ASSERT_TRUE(rows.window.has_value());
  EXPECT_EQ(to_string(rows.window->loop), "by.y");
  EXPECT_EQ(rows.window->along, (LoopLevel{1, 0}));
  EXPECT_EQ(rows.window->length, 3);
  EXPECT_EQ(rows.window->step, 1);
  EXPECT_EQ(rows.window->kept(), 2);
  EXPECT_EQ(needed_text(rows), "[by.y, 3]");
  EXPECT_EQ(to_string(rows.extent()), "select(by.y == 0, 3, 1)");
}

TEST(StageRegion, ClampsAreOfTheRegionNotOfTheStage) {
  Blur b;
  b.schedule[b.by].split(y, yo, yi, 4);
  b.schedule[b.bx].compute_at(b.by, yo);
  const NestPlan plan = b.plan();
  const StageRegion region = infer_regions(plan)[0];
  EXPECT_EQ(to_string(plan.stages[*plan.find("bx")].stage.body).find("min("), std::string::npos);
  EXPECT_EQ(to_string(region.stage.body).find("image[min(y, 7), x]"), 0U)
      << to_string(region.stage.body);
}

TEST(StageRegion, ChoosesTailsAndRoundsUp) {
  Blur b;
  b.schedule[b.by].split(y, yo, yi, 4);
  b.schedule[b.bx].split(r, yo, yi, 3, Tail::round_up);
  const NestPlan plan = b.plan();
  const std::vector<StageRegion> regions = infer_regions(plan);
  EXPECT_EQ(plan.stages[*plan.find("by")].stage.transforms[0].tail, Tail::automatic);
  EXPECT_EQ(regions[1].stage.transforms[0].tail, Tail::guard);
  EXPECT_EQ(text(regions[0].axes[0]), "[0, 9]");
}

TEST(CasesOf, TheGeneralOneFirst) {
  const Axis b("b", Extent::size("B"));
  Tensor in = input("in", f32, {Extent::size("B")});
  Tensor out = compute("out", {b}, in(b)*2.0f);
  Schedule schedule{Graph(out)};
  schedule[out].specialize(size_value("B") == 8).split(b, yo, yi, 4);
  const ScheduleLoops loops = replay(schedule.graph(), schedule);
  const NestPlan plan =
      apply_directives(apply_structure(plan_stages(Graph(out)), schedule, loops), loops.after);
  const std::vector<StageCase> cases = cases_of(plan.stages[0], infer_regions(plan)[0]);
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(joined(names_of(cases[0].loops)), "b");
  EXPECT_EQ(to_string(cases[0].extents[0]), "B");
  EXPECT_EQ(joined(names_of(cases[1].loops)), "yo, yi");
  EXPECT_EQ(to_string(cases[1].extents[0]), "8");
}

}  // namespace
}  // namespace emulsion

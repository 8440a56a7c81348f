#include "passes/lower/stage_storage.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"

namespace emulsion {
namespace {

const Axis x("x", 8), y("y", 6), r("y", 8);

// by = three rows of bx, bx = three columns of the image.
struct Blur {
  Tensor image = input("image", f32, {8, 10});
  Tensor bx = compute("bx", {r, x}, image(r, x) + image(r, x + 1) + image(r, x + 2));
  Tensor by = compute("by", {y, x}, bx(y, x) + bx(y + 1, x) + bx(y + 2, x));
  Schedule schedule{Graph(by)};

  std::vector<StageStorage> storage() const {
    const ScheduleLoops loops = replay(schedule.graph(), schedule);
    const NestPlan plan =
        apply_directives(apply_structure(plan_stages(Graph(by)), schedule, loops), loops.after);
    return infer_storage(plan, infer_regions(plan));
  }
};

TEST(StageStorage, OfTheRegionThatIsNeeded) {
  Blur b;
  b.schedule[b.bx].compute_at(b.by, y);
  const StageStorage bx = b.storage()[0];
  EXPECT_EQ(to_string(bx.mins[0]), "by.y");
  EXPECT_EQ(to_string(bx.extents[0]), "3");
  EXPECT_EQ(bx.memory, Memory::stack);
}

TEST(StageStorage, AtTheRootTheHeap) {
  const StageStorage bx = Blur().storage()[0];
  EXPECT_EQ(to_string(bx.extents[0]), "8");
  EXPECT_EQ(bx.memory, Memory::heap);
}

TEST(StageStorage, AWindowThatIsKeptIsFolded) {
  Blur b;
  b.schedule[b.bx].store_root().compute_at(b.by, y);
  const StageStorage bx = b.storage()[0];
  EXPECT_EQ(bx.layout.fold(0), 4);
  EXPECT_EQ(to_string(bx.mins[0]), "0");
  EXPECT_EQ(to_string(bx.extents[0]), "4");
}

TEST(StageStorage, TheCallerStoresAnOutput) {
  const StageStorage by = Blur().storage()[1];
  EXPECT_TRUE(by.extents.empty());
  EXPECT_EQ(by.memory, Memory::automatic);
}

}  // namespace
}  // namespace emulsion

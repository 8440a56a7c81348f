#include "passes/lower/stage_storage.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"

namespace emulsion {
namespace {

const Axis x("x", 8), y("y", 6), r("y", 8);

std::vector<StageStorage> storage_of(const Schedule& schedule) {
  const ScheduleLoops loops = replay(schedule.graph(), schedule);
  const NestPlan plan = apply_directives(
      apply_structure(plan_stages(schedule.graph()), schedule, loops), loops.after);
  return infer_storage(plan, infer_regions(plan));
}

// by = three rows of bx, bx = three columns of the image.
struct Blur {
  Tensor image = input("image", f32, {8, 10});
  Tensor bx = compute("bx", {r, x}, image(r, x) + image(r, x + 1) + image(r, x + 2));
  Tensor by = compute("by", {y, x}, bx(y, x) + bx(y + 1, x) + bx(y + 2, x));
  Schedule schedule{Graph(by)};

  std::vector<StageStorage> storage() const { return storage_of(schedule); }
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

TEST(StageStorage, EachAxisIsFoldedAndAlignedByItself) {
  Blur b;
  b.schedule[b.bx].store_root().compute_at(b.by, y).fold_storage(r, 6).fold_storage(x, 16);
  b.schedule[b.bx].align_storage(r, 2).align_storage(x, 4);
  const StorageLayout layout = b.storage()[0].layout;
  EXPECT_EQ(layout.folds, (std::vector<int64_t>{6, 16}));
  EXPECT_EQ(layout.alignments, (std::vector<int64_t>{2, 4}));
}

// A vector is read at neighbours.
TEST(StageStorage, WhatVectorsReadIsNotFolded) {
  const Axis i("i", 16), j("j", 18), io("io"), ii("ii");
  const Tensor a = compute("a", {j}, input("in", f32, {18})(j) * 2.0f);
  const Tensor z = compute("z", {i}, a(i) + a(i + 2));
  Schedule scalars(z);
  scalars[z].split(i, io, ii, 4);
  scalars[a].store_root().compute_at(z, io);
  Schedule vectors = scalars;
  vectors[z].vectorize(ii);
  EXPECT_EQ(storage_of(scalars)[0].layout.fold(0), 8);
  EXPECT_EQ(storage_of(vectors)[0].layout.fold(0), 0);
  EXPECT_EQ(to_string(storage_of(vectors)[0].extents[0]), "18");
}

TEST(StageStorage, TheStackTakesWhatIsSmallWithItsPadding) {
  Blur b;
  b.schedule[b.bx].compute_at(b.by, y).align_storage(x, 2048);
  EXPECT_EQ(b.storage()[0].memory, Memory::stack) << "3 rows of 8 KiB";
  Blur wide;
  wide.schedule[wide.bx].compute_at(wide.by, y).align_storage(x, 4096);
  EXPECT_EQ(wide.storage()[0].memory, Memory::heap);
}

TEST(StageStorage, TheCallerStoresAnOutput) {
  const StageStorage by = Blur().storage()[1];
  EXPECT_TRUE(by.extents.empty());
  EXPECT_EQ(by.memory, Memory::automatic);
}

}  // namespace
}  // namespace emulsion

// The three measures on the schedules of a blur, against numbers worked out by hand.

#include "passes/analyse/measure_work.h"

#include <gtest/gtest.h>

#include <string>

#include "dsl/error.h"
#include "dsl/schedule.h"
#include "dsl/tensor.h"
#include "passes/lower/lower.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

const Axis yo("yo"), yi("yi"), xo("xo"), xi("xi");

// by[32, 32] = three rows of bx[34, 32], two additions; bx = three columns of the image, two more.
struct Blur {
  explicit Blur(const Extent& rows = 32) : y("y", rows), r("y", rows + 2) {
    image = input("image", f32, {rows + 2, 34});
    bx = compute("bx", {r, x}, image(r, x) + image(r, x + 1) + image(r, x + 2));
    by = compute("by", {y, x}, bx(y, x) + bx(y + 1, x) + bx(y + 2, x));
    schedule = Schedule(by);
  }
  Work work(const SizeValues& sizes = {}) const { return measure_work(lower(by, schedule), sizes); }
  Axis y, r, x{"x", 32};
  Tensor image, bx, by;
  Schedule schedule{Graph(compute("unused", {}, constant(f32, 0)))};
};

constexpr int64_t kLeast = 34 * 32 * 2 + 32 * 32 * 2;  // operations of the breadth-first schedule

TEST(MeasureWork, BreadthFirst) {
  const Work work = Blur().work();
  ASSERT_EQ(work.stages.size(), 2U);
  EXPECT_EQ(work.stages[0].stage, "bx");
  EXPECT_EQ(work.stages[0].points, 34 * 32);
  EXPECT_EQ(work.stages[0].redundancy(), 1.0);
  EXPECT_EQ(work.operations(), kLeast);
  EXPECT_EQ(work.reuse_distance(), kLeast);  // all of bx, then all of by
  EXPECT_EQ(work.span(), 32 * 32);
  EXPECT_EQ(work.peak_bytes, 34 * 32 * 4);
}

TEST(MeasureWork, Inline) {
  Blur b;
  b.schedule[b.bx].compute_inline();
  const Work work = b.work();
  ASSERT_EQ(work.stages.size(), 1U);
  EXPECT_EQ(work.operations(), 32 * 32 * 8);
  EXPECT_EQ(work.reuse_distance(), 0);
  EXPECT_EQ(work.peak_bytes, 0);
  EXPECT_EQ(summary(work, Blur().work()),
            "work 1.939x, reuse distance 0, span 1024, 1 parallel, 0 B");
}

TEST(MeasureWork, StorageInAnOutputTakesNoMemory) {
  const Axis i("i", 8), j("j", 9);
  Tensor p = compute("p", {i, j}, input("x", f32, {8, 9})(i, j) * 2.0f);
  Tensor y = compute("y", {i, j}, p(i, j) + 1.0f);
  Schedule schedule(y);
  EXPECT_EQ(measure_work(lower(y, schedule)).peak_bytes, 8 * 9 * 4);
  schedule[p].store_in_output(y);
  const Work work = measure_work(lower(y, schedule));
  EXPECT_EQ(work.peak_bytes, 0);
  EXPECT_EQ(work.stages[0].points, 8 * 9);
}

TEST(MeasureWork, Tiles) {
  Blur b;
  b.schedule[b.by].tile(b.y, b.x, yo, xo, yi, xi, 8, 8).parallel(yo).vectorize(xi);
  b.schedule[b.bx].compute_at(b.by, xo).vectorize(b.x, 8);
  const Work work = b.work();
  EXPECT_EQ(work.stages[0].points, 16 * 10 * 8);
  EXPECT_EQ(work.stages[0].needed, 34 * 32);
  EXPECT_EQ(work.stages[0].reuse_distance, 10 * 8 * 2 + 8 * 8 * 2);
  EXPECT_EQ(work.stages[0].bytes, 10 * 8 * 4);
  EXPECT_EQ(work.span(), 32 * 32);
  EXPECT_EQ(work.parallel(), 4);
  EXPECT_EQ(work.stages[1].lanes, 8);
}

TEST(MeasureWork, SlidingWindow) {
  Blur b;
  b.schedule[b.bx].store_root().compute_at(b.by, b.y);
  const Work work = b.work();
  EXPECT_EQ(work.operations(), kLeast);  // nothing twice
  EXPECT_EQ(work.reuse_distance(), 3 * (32 * 2 + 32 * 2));
  EXPECT_EQ(work.span(), 32);  // rows in order
  EXPECT_EQ(work.peak_bytes, 4 * 32 * 4);
}

TEST(MeasureWork, SlidingWindowWithinTiles) {
  Blur b;
  b.schedule[b.by].split(b.y, yo, yi, 8).parallel(yo);
  b.schedule[b.bx].store_at(b.by, yo).compute_at(b.by, yi);
  const Work work = b.work();
  EXPECT_EQ(work.stages[0].points, 4 * 10 * 32);
  EXPECT_EQ(work.reuse_distance(), 3 * (32 * 2 + 32 * 2));
  EXPECT_EQ(work.span(), 4 * 32);
  EXPECT_EQ(work.parallel(), 4);
}

TEST(MeasureWork, PointsThatAGuardLeavesOutDoNotCountTilesPastTheEdgeDo) {
  Blur b(30);
  b.schedule[b.by].split(b.y, yo, yi, 8);
  b.schedule[b.bx].compute_at(b.by, yo);
  const Work work = b.work();
  EXPECT_EQ(work.stages[0].points, 4 * 10 * 32);
  EXPECT_EQ(work.stages[1].points, 30 * 32);
}

TEST(MeasureWork, RunTimeSizes) {
  Blur b(Extent::size("B"));
  b.schedule[b.bx].store_root().compute_at(b.by, b.y);
  EXPECT_EQ(b.work({{"B", 1000}}).stages[0].points, 1002 * 32);
  EXPECT_EQ(b.work({{"B", 0}}).stages[0].points, 0);
  EXPECT_EQ(b.work({{"B", 0}}).stages[1].redundancy(), 1.0);
  EXPECT_TRUE(throws_with<Error>([&] { b.work(); }, "size B: expected a value, got none"));
}

TEST(MeasureWork, AReductionCarriesItsDependence) {
  const Axis m("m", 4), n("n", 5), k("k", 6);
  Tensor y =
      compute("y", {m, n}, sum(k, input("x", f32, {4, 6})(m, k) * weight("w", f32, {6, 5})(k, n)));
  const Work work = measure_work(lower(y, Schedule(y)));
  EXPECT_EQ(work.stages[0].points, 20);
  EXPECT_EQ(work.operations(), 20 * 6 * 2);
  EXPECT_EQ(work.span(), 20);
}

// A row of bx lives for two rows of by, in each of which two more are computed.
TEST(MeasureWork, AWindowThatSlidesByMoreThanOne) {
  const Axis r("y", 33), y("y", 16), x("x", 32);
  const Tensor image = input("image", f32, {33, 34});
  const Tensor bx = compute("bx", {r, x}, image(r, x) + image(r, x + 1) + image(r, x + 2));
  const Tensor by = compute("by", {y, x}, bx(2 * y, x) + bx(2 * y + 1, x) + bx(2 * y + 2, x));
  Schedule schedule(by);
  schedule[bx].store_root().compute_at(by, y);
  const Work work = measure_work(lower(by, schedule));
  EXPECT_EQ(work.stages[0].points, 33 * 32);
  EXPECT_EQ(work.reuse_distance(), 2 * (2 * 32 * 2 + 32 * 2));
}

TEST(MeasureWork, ACastIsNoOperation) {
  const Axis i("i", 7);
  const Tensor y = compute("y", {i}, cast(f64, input("x", f32, {7})(i)) * 2.0);
  EXPECT_EQ(measure_work(lower(y, Schedule(y))).operations(), 7);
}

// Three steps of four lanes, of which the last has two: a choice and a sum each.
TEST(MeasureWork, TheLastStepOfLanesCountsWhole) {
  const Axis i("i", 5), k("k", Extent::size("K")), lane("lane");
  const Tensor y = compute("y", {i}, sum(k, input("x", f32, {5, Extent::size("K")})(i, k)));
  Schedule schedule(y);
  schedule[y].split(k, k, lane, 4).rfactor(lane, "lanes");
  const Work work = measure_work(lower(y, schedule), {{"K", 10}});
  ASSERT_EQ(work.stages[0].stage, "lanes");
  EXPECT_EQ(work.stages[0].points, 5 * 4);
  EXPECT_EQ(work.stages[0].operations, 5 * 4 * 3 * 2);
  EXPECT_EQ(work.stages[1].operations, 5 * 4);
}

TEST(MeasureWork, ATableAndItsSum) {
  const std::string text = to_string(Blur().work());
  EXPECT_EQ(text,
            "stage                    points         needed redundancy   reuse distance     storage"
            "           span  parallel  lanes\n"
            "bx                         1088           1088     1.000x             4224      4352 B"
            "           1088         1      1\n"
            "by                         1024           1024     1.000x                0           -"
            "           1024         1      1\n"
            "4224 operations; reuse distance 4224; at most 4352 B of storage; span 1024\n");
}

}  // namespace
}  // namespace emulsion

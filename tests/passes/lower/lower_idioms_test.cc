// The idioms of dsl/schedule_idioms.h, one's own among them, make nests that lower() honours and
// that compute what the graph says, at every size.

#include <gtest/gtest.h>

#include "dsl/error.h"
#include "dsl/schedule_idioms.h"
#include "passes/lower/lower.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

const Axis n("n", 12), k("k", 5);
const RegisterTile kTile{2, 8, 4};

// y = max(mm, 0), mm = x * w
struct Linear {
  explicit Linear(const Extent& rows) : m("m", rows) {
    x = input("x", f32, {rows, 5});
    w = weight("w", f32, {5, 12});
    mm = compute("mm", {m, n}, sum(k, x(m, k) * w(k, n)));
    y = compute("y", {m, n}, max(mm(m, n), 0.0f));
    schedule = Schedule(y);
  }
  Axis m;
  Tensor x, w, mm, y;
  Schedule schedule{compute("unused", {}, constant(f32, 0))};
};

// A user's idiom: a schedule in, a schedule out, made of others.
Schedule rows_of_tiles(Schedule s, const Linear& l, const RegisterTile& tile) {
  const TileLoops loops;
  const Axis rows = row_loop(l.m, tile, loops);
  register_tile(s[l.y], l.m, n, tile, loops, {}, Tail::predicate);
  accumulate_in_registers(s[l.mm], "y", rows, l.m, n, {k}, tile);
  parallel_rows(s[l.y], {loops.panel});
  return s;
}

TEST(LowerIdioms, RowsOfTiles) {
  Linear l(Extent(5));
  expect_nest(rows_of_tiles(l.schedule, l, kTile));
}

TEST(LowerIdioms, RowsOfTilesAtEverySize) {
  for (const RegisterTile& tile : {kTile, RegisterTile{1, 12, 4}, RegisterTile{3, 4, 4}}) {
    Linear l(Extent::size("B"));
    const Schedule s = rows_of_tiles(l.schedule, l, tile);
    for (int64_t batch : {0, 1, 2, 5, 6}) EXPECT_TRUE(lowers(l.y, s, {{"B", batch}}));
  }
}

TEST(LowerIdioms, ASchedulePassedByValueStaysAsItWas) {
  Linear l(Extent(5));
  const Schedule before = l.schedule;
  rows_of_tiles(l.schedule, l, kTile);
  EXPECT_TRUE(l.schedule == before);
}

TEST(LowerIdioms, ABlockWithATileInside) {
  Linear l(Extent(7));
  StageSchedule& mm = l.schedule[l.mm];
  cache_block(mm, {{l.m, 4}, {k, 3}}).unroll(n, 4).parallel(Axis("m_block"));
  stage_operand(l.schedule, "mm", "x", "x_block", Axis("k_block")).store_in(Memory::stack);
  expect_nest(l.schedule);
}

TEST(LowerIdioms, RowsAndVectors) {
  const Axis a("a", 2), b("b", 3), c("c", 7);
  Tensor y = compute("y", {a, b, c}, input("x", f32, {2, 3, 7})(a, b, c) + 1.0f);
  Schedule s(y);
  parallel_rows(vectorize_last(s[y], c, 4), {a, b});
  expect_nest(s);
}

TEST(LowerIdioms, VectorsAcrossPixels) {
  const Axis a("a", 2), b("b", 7), c("c", 3);
  Tensor y = compute("y", {a, b, c}, input("x", f32, {2, 7, 3})(a, b, c) + 1.0f);
  Schedule s(y);
  vectorize_pixels(s[y], b, c, Axis("lane"), 4);
  expect_nest(s);
}

TEST(LowerIdioms, VectorsAcrossPixelsAtEverySize) {
  const Axis b("b", Extent::size("B")), c("c", 3);
  Tensor y = compute("y", {b, c}, input("x", f32, {Extent::size("B"), 3})(b, c) + 1.0f);
  Schedule s(y);
  vectorize_pixels(s[y], b, c, Axis("lane"), 4);
  for (int64_t batch : {0, 1, 3, 4, 9}) EXPECT_TRUE(lowers(y, s, {{"B", batch}}));
}

TEST(LowerIdioms, BlocksOfALongRow) {
  const Axis i("i", Extent::size("B"));
  Tensor y = compute("y", {i}, input("x", f32, {Extent::size("B")})(i) + 1.0f);
  Schedule s(y);
  parallel_blocks(s[y], i, 4, Axis("io"), Axis("ii"));
  for (int64_t batch : {0, 1, 4, 9}) EXPECT_TRUE(lowers(y, s, {{"B", batch}}));
}

TEST(LowerIdioms, AWindowThatSlides) {
  const Axis wide("i", 10), i("i", 8);
  Tensor p = compute("p", {wide}, input("x", f32, {10})(wide) * 2.0f);
  Tensor y = compute("y", {i}, p(i) + p(Expr(i) + 1) + p(Expr(i) + 2));
  Schedule s(y);
  s[y].split(i, Axis("strip"), Axis("at"), 4);
  sliding_window(s[p], "y", Axis("strip"), Axis("at"));
  expect_nest(s);
}

TEST(LowerIdioms, AnOperandInALayoutOfItsOwn) {
  Linear l(Extent(5));
  pack_operand(l.schedule, "mm", "w", "w_tile", l.m, {Axis("i0"), Axis("i1")});
  expect_nest(l.schedule);
}

TEST(LowerIdioms, AReductionInLanes) {
  const Axis i("i", 3), r("r", 8);
  Tensor y = compute("y", {i}, sum(r, input("x", f32, {3, 8})(i, r)));
  Schedule s(y);
  reduce_in_lanes(s, "y", {r}, Axis("lane"), 4, "partial").compute_at("y", i);
  expect_nest(s);
}

TEST(LowerIdioms, WhatCannotBeHonouredIsRefusedByLower) {
  Linear l(Extent(5));
  register_tile(l.schedule[l.y], l.m, Axis("q"), kTile);
  EXPECT_TRUE(throws_with<ScheduleError>([&] { lower(l.y, l.schedule); },
                                         "y.split(q, panel, column, 8): expected a loop of y"));
}

TEST(LowerIdioms, SumsInRegistersThatDoNotFitAreRefused) {
  Linear l(Extent(40000));
  accumulate_in_registers(l.schedule[l.mm], "y", n, l.m, n, {k}, kTile);
  l.schedule[l.y].reorder({l.m, n});
  EXPECT_TRUE(throws_with<ScheduleError>([&] { lower(l.y, l.schedule); },
                                         "mm.store_in(registers): expected a region"));
}

}  // namespace
}  // namespace emulsion

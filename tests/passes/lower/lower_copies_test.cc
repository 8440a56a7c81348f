// Stage copies: copy_in makes a stage that copies what an operation reads, with loops, a place and
// storage of its own. The goldens show the `load` uOps; every nest is run against its graph.

#include <gtest/gtest.h>

#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/lower/lower_refuses.h"

namespace emulsion {
namespace {

const Axis m("m", 4), n("n", 10), k("k", 6);
const Axis mo("mo"), mi("mi"), no("no"), ni("ni"), i0("i0"), i1("i1");

// y = max(mm + b, 0), mm = x * w
struct Linear {
  explicit Linear(const Extent& rows = 4) : i("m", rows) {
    x = input("x", f32, {rows, 6});
    w = weight("w", f32, {6, 10});
    b = weight("b", f32, {10});
    mm = compute("mm", {i, n}, sum(k, x(i, k) * w(k, n)));
    y = compute("y", {i, n}, max(mm(i, n) + b(n), 0.0f));
    schedule = Schedule(y);
  }
  Axis i;
  Tensor x, w, b, mm, y;
  Schedule schedule{compute("unused", {}, constant(f32, 0))};
};

TEST(LowerCopies, OfAnInputAtTheRoot) {
  Linear l;
  l.schedule[l.y].compute_root();
  l.schedule[l.mm].copy_in(l.x, "x_copy");
  expect_nest(l.schedule);
}

TEST(LowerCopies, TileOfAnInputInAnotherMemory) {
  Linear l;
  l.schedule[l.mm].compute_root().split(l.i, mo, mi, 2).copy_in(l.x, "x_tile");
  l.schedule["x_tile"].compute_at(l.mm, mo).store_in(Memory::stack).vectorize(i1);
  expect_nest(l.schedule);
}

TEST(LowerCopies, TilesOfBothOperandsAtALoopOfTheReduction) {
  Linear l;
  l.schedule[l.mm].split(k, Axis("ko"), Axis("ki"), 3).reorder({Axis("ki"), n, l.i, Axis("ko")});
  l.schedule[l.mm].copy_in(l.x, "x_tile").copy_in(l.w, "w_tile");
  l.schedule["x_tile"].compute_at(l.mm, Axis("ko"));
  l.schedule["w_tile"].compute_at(l.mm, Axis("ko")).vectorize(i1);
  expect_nest(l.schedule);
}

TEST(LowerCopies, OfAStageItsOtherReadersReadItself) {
  const Axis i("i", 8);
  Tensor a = compute("a", {i}, input("x", f32, {8})(i) + 1.0f);
  Tensor b = compute("b", {i}, a(i) * 2.0f), y = compute("y", {i}, b(i) - a(7 - Expr(i)));
  Schedule schedule(y);
  schedule[y].copy_in(a, "a_again").split(i, mo, mi, 4);
  schedule["a_again"].compute_at(y, mo);
  expect_nest(schedule);
}

TEST(LowerCopies, HaloOfAStencilWithAnEdge) {
  const Axis i("i", 10), wide("i", 12);
  Tensor x = input("x", f32, {12});
  Tensor y = compute("y", {i}, x(i) + x(Expr(i) + 1) + x(Expr(i) + 2));
  Schedule schedule(y);
  schedule[y].copy_in(x, "window").split(i, mo, mi, 4);
  schedule["window"].compute_at(y, mo);
  expect_nest(schedule);
}

TEST(LowerCopies, OverRunTimeRows) {
  Linear l(Extent::size("B"));
  l.schedule[l.mm].split(l.i, mo, mi, 4).copy_in(l.x, "x_tile");
  l.schedule["x_tile"].compute_at(l.mm, mo);
  expect_nest(l.schedule, {0, 1, 3, 4, 9});
}

TEST(LowerCopies, OfACopy) {
  Linear l;
  l.schedule[l.mm].copy_in(l.x, "near").split(l.i, mo, mi, 2);
  l.schedule["near"].compute_at(l.mm, mi).copy_in("x", "far");
  l.schedule["far"].compute_at(l.mm, mo);
  expect_nest(l.schedule);
}

TEST(LowerCopies, OfWhatTheAccumulatorReads) {
  Linear l;
  l.schedule[l.mm].cache_write("acc");
  l.schedule["acc"].compute_at(l.mm, l.i).copy_in(l.w, "w_copy");
  expect_nest(l.schedule);
}

TEST(LowerCopies, BeforeTheAccumulatorIsMade) {
  Linear l;
  l.schedule[l.mm].copy_in(l.w, "w_copy").cache_write("acc");
  EXPECT_TRUE(lowers(l.y, l.schedule));
}

TEST(LowerCopies, OfTheAccumulator) {
  Linear l;
  l.schedule[l.mm].cache_write("acc").copy_in("acc", "out").split(n, no, ni, 5);
  l.schedule["out"].compute_at(l.mm, no);
  EXPECT_TRUE(lowers(l.y, l.schedule));
}

// Its values are known: they are packed when the nest is made.
TEST(LowerCopies, AConstantPackedByItsMiddleAxis) {
  const Axis b("b", 2), n("n", 5), k("k", 3);
  std::vector<float> values;
  for (int i = 0; i < 2 * 5 * 3; ++i) values.push_back(static_cast<float>(i));
  Tensor table = constant("table", {2, 5, 3}, values);
  Tensor q = compute("q", {b, n}, sum(k, input("u", f32, {2, 3})(b, k) * table(b, n, k)));
  Schedule schedule(q);
  schedule[q].pack(table, n, 4);
  EXPECT_TRUE(lowers(schedule.graph(), schedule));
}

TEST(LowerCopies, PackedThroughItsCopy) {
  Linear l;
  l.schedule[l.mm].copy_in(l.w, "w_tile").split(n, no, ni, 5).reorder({k, ni, l.i, no});
  l.schedule["w_tile"].compute_at(l.mm, no).pack(l.w, i1, 5);
  expect_nest(l.schedule);
}

TEST(LowerCopies, PackedThroughOperationsThatAreInline) {
  const Axis m("m", Extent::size("B")), c("c", 7), d("d", 3);
  Tensor x = input("x", f32, {m.extent(), 3}), w = weight("w", f32, {7, 3});
  Tensor t = transpose(w, {}, "t");
  Tensor u = compute("u", {d, c}, t(d, c));
  Tensor y = compute("y", {m, c}, sum(d, x(m, d) * u(d, c)));
  Schedule schedule(y);
  schedule[t].compute_inline();
  schedule[u].compute_inline();
  schedule[y].pack(w, c, 4).reorder({c, d, m});
  expect_nest(schedule);
}

TEST(LowerCopies, OfAnInlinedStageComputesIt) {
  const Axis i("i", 8);
  Tensor a = compute("a", {i}, input("x", f32, {8})(i) + 1.0f);
  Tensor y = compute("y", {i}, a(i) * a(7 - Expr(i)));
  Schedule schedule(y);
  schedule[a].compute_inline();
  schedule[y].copy_in(a, "once");
  expect_nest(schedule);
}

// Once y reads x itself: at no more than one place for all heads, as a person would write it.
TEST(LowerCopies, OfWhatIsReadThroughOperationsThatAreInline) {
  const Axis h("h", 3), j("j", 8), one("one", 1), d("d", 4);
  Tensor x = input("x", f32, {8, 4}), q = input("q", f32, {8, 3, 4});
  Tensor heads = compute("heads", {j, one, d}, x(j, d + Expr(one) * 4));
  Tensor same = compute("same", {j, one, d}, heads(j, one, d));
  Tensor twice = compute("twice", {j, h, d}, q(j, h, d) * 2.0f);
  Tensor y = compute("y", {h, j}, sum(d, twice(j, h, d) * same(j, Expr(h) / 3, d)));
  Schedule schedule(y);
  for (const Tensor& inlined : {heads, same, twice}) schedule[inlined].compute_inline();
  schedule[y].copy_in(x, "x_tile").split(j, mo, mi, 4).reorder({d, mi, h, mo});
  schedule["x_tile"].compute_at(y, mo);
  expect_nest(schedule);
}

// What y reads itself is copied there, and there alone.
TEST(LowerCopies, OfWhatIsReadAlsoThroughAnInlinedOperation) {
  const Axis i("i", 8);
  Tensor x = input("x", f32, {8});
  Tensor back = compute("back", {i}, x(7 - Expr(i)));
  Tensor y = compute("y", {i}, x(i) + back(i));
  Schedule schedule(y);
  schedule[back].compute_inline();
  schedule[y].copy_in(x, "again").copy_in(back, "once");
  EXPECT_TRUE(lowers(y, schedule));
}

TEST(LowerCopies, OfAConstantAnOutputAndAScalar) {
  const Axis i("i", 4);
  Tensor table = constant("table", {4}, std::vector<float>{1, 2, 3, 4});
  Tensor s = input("s", f32, {});
  Tensor z = compute("z", {i}, table(i) * s()), y = compute("y", {i}, z(3 - Expr(i)));
  Schedule schedule(Graph({z, y}));
  schedule[z].copy_in(table, "table_copy").copy_in(s, "s_copy");
  schedule[y].copy_in(z, "z_copy");
  schedule["s_copy"].compute_at(z, i).store_in(Memory::registers);
  expect_nest(schedule);
}

TEST(LowerCopies, WhatAPaddedConvolutionReads) {
  Tensor image = input("image", f32, {Extent::size("B"), 5, 5, 2});
  Conv2dOptions options;
  options.pad_top = options.pad_bottom = options.pad_left = options.pad_right = 1;
  Tensor y = conv2d(image, weight("f", f32, {3, 3, 2, 3}), options);
  Schedule schedule(y);
  const Op& op = **schedule.graph().find(schedule.name_of(y));
  const std::string reader = operands(op).front()->name;
  schedule[y].split(op.axes[1], mo, mi, 2).copy_in(reader, "rows");
  schedule["rows"].compute_at(y, mo);
  for (int64_t batch : {0, 1, 3}) EXPECT_TRUE(lowers(y, schedule, {{"B", batch}}));
}

TEST_F(LowerRefuses, CopyOfWhatItDoesNotRead) {
  y().copy_in(x_, "c");
  refused("y.copy_in(x, c)", "expected an operand that y reads (biased or v), got x");
}

TEST_F(LowerRefuses, CopyOfWhatIsReadThroughAnOperationThatIsNotInline) {
  y().copy_in(b_, "c");
  refused("y.copy_in(b, c)", "expected an operand that y reads (biased or v), got b");
}

TEST_F(LowerRefuses, CopyOfWhatNoOperationThatIsInlineReads) {
  biased().compute_inline();
  y().copy_in(x_, "c");
  refused("y.copy_in(x, c)", "expected an operand that y reads (biased or v), got x");
}

TEST_F(LowerRefuses, SecondCopyOfOneOperand) {
  mm().copy_in(x_, "c").copy_in(x_, "d");
  refused("mm.copy_in(x, d)", "expected an operand that mm reads (c or w), got x");
}

TEST_F(LowerRefuses, CopyBehindCacheWrite) {
  mm().cache_write("acc").copy_in(x_, "c");
  refused("mm.copy_in(x, c)", "expected an operand that mm reads (acc), got x");
}

TEST_F(LowerRefuses, CopyOfAPackedWeight) {
  mm().pack(w_, n, 5).copy_in(w_, "c");
  refused("mm.copy_in(w, c)",
          "got w, which is packed; legal: copy_in before it, and pack of w by c");
}

TEST_F(LowerRefuses, PackBehindTheCopy) {
  mm().copy_in(w_, "c").pack(w_, n, 5);
  refused("mm.pack(w, n, 5)", "expected a weight that mm reads (none), got w");
}

TEST_F(LowerRefuses, CopyWithTheNameOfARunTimeSize) {
  const Axis i("i", Extent::size("B"));
  Tensor z = compute("z", {i}, input("u", f32, {Extent::size("B")})(i) + 1.0f);
  Schedule schedule(z);
  schedule[z].copy_in("u", "B");
  refused(schedule, "z.copy_in(u, B)", "expected a new name, got B, which is taken");
}

TEST_F(LowerRefuses, CopyComputedAtALoopThatIsNotAroundItsReader) {
  mm().copy_in(x_, "c");
  schedule_["c"].compute_at(biased_, m);
  refused("c.compute_at(biased, m)", "expected a loop around everything that reads c");
}

TEST_F(LowerRefuses, CopyOfAOneElementConstant) {
  Tensor z =
      compute("z", {m}, input("u", f32, {4})(m) * constant("two", {1}, std::vector<float>{2})(0));
  Schedule schedule(z);
  schedule[z].copy_in("two", "c");
  refused(schedule, "z.copy_in(two, c)", "expected an operand that z reads (u), got two");
}

TEST_F(LowerRefuses, CopyInlinedAway) {
  mm().copy_in(x_, "c");
  schedule_["c"].compute_inline().unroll(Axis("i0"));
  refused("c.unroll(i0)", "expected no other directive on an operation that is computed inline");
}

}  // namespace
}  // namespace emulsion

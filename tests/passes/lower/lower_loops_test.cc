// Directives on how loops run: rfactor, atomic, tails that mask one side, prefetch, compute_with.
// The goldens show what each makes of a nest; every nest is run against its graph.

#include <gtest/gtest.h>

#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "tests/passes/check_nest.h"

namespace emulsion {
namespace {

const Axis m("m", 4), n("n", 10), k("k", 6);
const Axis mo("mo"), mi("mi"), no("no"), ni("ni");

Graph unused() { return Graph(compute("unused", {}, constant(f32, 0))); }

// y = 2 x
struct Doubled {
  explicit Doubled(const Extent& rows = 4) {
    const Axis i("m", rows);
    x = input("x", f32, {rows, 10});
    y = compute("y", {i, n}, x(i, n) * 2.0f);
    schedule = Schedule(y);
  }
  Tensor x, y;
  Schedule schedule{unused()};
};

// y = max(mm + b, 0), mm = x * w
struct Linear {
  Tensor x = input("x", f32, {4, 6}), w = weight("w", f32, {6, 10}), b = weight("b", f32, {10});
  Tensor mm = compute("mm", {m, n}, sum(k, x(m, k) * w(k, n)));
  Tensor y = compute("y", {m, n}, max(mm(m, n) + b(n), 0.0f));
  Schedule schedule{y};
};

// --- rfactor -------------------------------------------------------------------------------------

TEST(LowerRfactor, LanesThatDivide) {
  const Axis i("i", 2), r("r", 8), lane("lane");
  Tensor s = compute("s", {i}, sum(r, input("x", f32, {2, 8})(i, r)));
  Schedule schedule(s);
  schedule[s].split(r, r, lane, 4).rfactor(lane, "partial");
  schedule["partial"].compute_at(s, i).reorder({lane, r}).vectorize(lane);
  expect_nest(schedule);
}

TEST(LowerRfactor, ThatDoesNotDivide) {
  const Axis r("r", 7), lane("lane");
  Tensor s = compute("s", {}, reduce_max(r, input("x", f32, {7})(r)));
  Schedule schedule(s);
  schedule[s].split(r, r, lane, 4).rfactor(lane, "partial");
  expect_nest(schedule);
}

TEST(LowerRfactor, OfTheOuterLoop) {
  const Axis r("r", 7), ro("ro"), ri("ri");
  Tensor s = compute("s", {}, sum(r, input("x", f32, {7})(r)));
  Schedule schedule(s);
  schedule[s].split(r, ro, ri, 4).rfactor(ro, "partial");
  schedule["partial"].parallel(ro);
  expect_nest(schedule);
}

TEST(LowerRfactor, OfAWholeAxisOfRunTimeExtent) {
  const Axis r("r", Extent::size("B")), j("j", 3);
  Tensor s = compute("s", {}, sum({r, j}, input("x", f32, {Extent::size("B"), 3})(r, j)));
  Schedule schedule(s);
  schedule[s].rfactor(r, "rows");
  schedule["rows"].parallel(r);
  expect_nest(schedule);
}

TEST(LowerRfactor, LanesOfARunTimeExtent) {
  const Axis i("i", 2), r("r", Extent::size("B")), lane("lane");
  Tensor s = compute("s", {i}, sum(r, input("x", f32, {2, Extent::size("B")})(i, r)));
  Schedule schedule(s);
  schedule[s].split(r, r, lane, 4).rfactor(lane, "partial");
  schedule["partial"].compute_at(s, i).reorder({lane, r}).vectorize(lane);
  expect_nest(schedule, {0, 1, 3, 4, 5, 8, 9});
}

TEST(LowerRfactor, LoopsThatAreLeftOfARunTimeExtentAreSplitAgain) {
  const Extent size = Extent::size("B");
  const Axis r("r", size * Extent(2) + Extent(1)), lane("lane"), four("four");
  Tensor s = compute("s", {}, reduce_max(r, input("x", f32, {size * Extent(2) + Extent(1)})(r)));
  Schedule schedule(s);
  schedule[s].split(r, r, lane, 2).rfactor(lane, "partial");
  schedule["partial"].split(r, r, four, 4).reorder({lane, four, r}).unroll(four).vectorize(lane);
  expect_nest(schedule, {0, 1, 3, 8, 10});
}

TEST(LowerRfactor, LanesOfAFusedRunTimeExtent) {
  const Extent size = Extent::size("B");
  const Axis r("r", size), j("j", 3), both("both"), lane("lane");
  Tensor s = compute("s", {}, sum({r, j}, input("x", f32, {size, 3})(r, j)));
  Schedule schedule(s);
  schedule[s].fuse(r, j, both).split(both, both, lane, 4).rfactor(lane, "partial");
  expect_nest(schedule, {0, 1, 2, 3, 5});
}

TEST(LowerRfactor, OfTheInnermostOfTwoSplitsOfARunTimeExtent) {
  const Axis r("r", Extent::size("B")), middle("middle"), lane("lane");
  Tensor s = compute("s", {}, sum(r, input("x", f32, {Extent::size("B")})(r)));
  Schedule schedule(s);
  schedule[s].split(r, r, middle, 6).split(middle, middle, lane, 2).rfactor(lane, "partial");
  expect_nest(schedule, {0, 1, 5, 6, 7, 13});
}

TEST(LowerRfactor, BesideAnAxisOfRunTimeExtent) {
  const Axis r("r", Extent::size("B")), j("j", 5), jo("jo"), ji("ji");
  Tensor s = compute("s", {}, sum({r, j}, input("x", f32, {Extent::size("B"), 5})(r, j)));
  Schedule schedule(s);
  schedule[s].split(j, jo, ji, 2).rfactor(ji, "partial");
  expect_nest(schedule);
}

TEST(LowerRfactor, OfALoopThatIsAllThereIs) {
  const Axis r("r", 7);
  Tensor s = compute("s", {}, sum(r, input("x", f32, {7})(r)));
  Schedule schedule(s);
  schedule[s].rfactor(r, "copy");
  expect_nest(schedule);
}

TEST(LowerRfactor, OfFusedLoops) {
  const Axis i("i", 2), j("j", 3), ij("ij"), o("o"), lane("lane");
  Tensor s = compute("s", {}, sum({i, j}, input("x", f32, {2, 3})(i, j)));
  Schedule schedule(s);
  schedule[s].fuse(i, j, ij).split(ij, o, lane, 4).rfactor(lane, "partial");
  expect_nest(schedule);
}

TEST(LowerRfactor, Twice) {
  const Axis r("r", 16), ro("ro"), ri("ri"), lane("lane");
  Tensor s = compute("s", {}, sum(r, input("x", f32, {16})(r)));
  Schedule schedule(s);
  schedule[s].split(r, ro, ri, 8).rfactor(ro, "blocks");
  schedule["blocks"].split(ri, ri, lane, 4).rfactor(lane, "lanes");
  expect_nest(schedule);
}

// The lanes are combined by halves.
TEST(LowerRfactor, TwiceOfOneOperation) {
  const Axis i("i", 2), r("r", 20), lane("lane"), half("half");
  Tensor s = compute("s", {i}, sum(r, input("x", f32, {2, 20})(i, r)));
  Schedule schedule(s);
  schedule[s].split(r, r, lane, 8).rfactor(lane, "lanes");
  schedule[s].split(lane, lane, half, 4).rfactor(half, "halves");
  schedule["lanes"].compute_at(s, i).reorder({lane, r}).vectorize(lane);
  schedule["halves"].compute_at(s, i).reorder({half, lane}).vectorize(half).unroll(lane);
  expect_nest(schedule);
}

// The steps in which an axis is left belong to the stage that reduces it.
TEST(LowerRfactor, OfARunTimeExtentThenAnotherStage) {
  const Extent rows = Extent::size("B");
  const Axis r("r", rows), j("j", 3), ro("ro"), ri("ri");
  Tensor s = compute("s", {}, sum({r, j}, input("x", i32, {rows, 3})(r, j)));
  Schedule copied(s), twice(s);
  copied[s].split(r, ro, ri, 4).rfactor(ri, "part");
  copied["part"].cache_write("sums");
  twice[s].split(r, ro, ri, 4).rfactor(ri, "part");
  twice["part"].rfactor(j, "columns");
  for (const Schedule& schedule : {copied, twice}) {
    const LoopNest nest = lower(schedule.graph(), schedule);
    for (int64_t batch : {0, 1, 4, 7})
      EXPECT_TRUE(computes(nest, schedule.graph(), {{"B", batch}}));
  }
}

// --- atomic --------------------------------------------------------------------------------------

// s[i] = max of x[i, r]; integers.
Schedule atomic_max() {
  const Axis i("i", 3), r("r", 10);
  Tensor s = compute("s", {i}, reduce_max(r, input("x", i32, {3, 10})(i, r)));
  Schedule schedule(s);
  schedule[s].atomic();
  return schedule;
}

TEST(LowerAtomic, VectorizedReduction) {
  Schedule schedule = atomic_max();
  schedule["s"].split(Axis("r"), Axis("ro"), Axis("ri"), 4).vectorize(Axis("ri"));
  expect_nest(schedule);
}

TEST(LowerAtomic, ParallelReduction) {
  Schedule schedule = atomic_max();
  schedule["s"].parallel(Axis("r")).reorder({Axis("i"), Axis("r")});
  expect_nest(schedule);
}

TEST(LowerAtomic, SaidLast) {
  const Axis i("i", 3), r("r", 8);
  Tensor s = compute("s", {i}, product({r}, input("x", i32, {3, 8})(i, r)));
  Schedule schedule(s);
  schedule[s].vectorize(r).atomic();
  expect_nest(schedule);
}

// --- tails that mask one side --------------------------------------------------------------------

TEST(LowerMasks, PredicateStores) {
  Doubled d;
  d.schedule[d.y].split(n, no, ni, 4, Tail::predicate_stores).vectorize(ni);
  expect_nest(d.schedule);
}

TEST(LowerMasks, PredicateStoresOfARunTimeExtent) {
  Doubled d(Extent::size("B"));
  d.schedule[d.y].split(m, mo, mi, 4, Tail::predicate_stores);
  expect_nest(d.schedule);
}

TEST(LowerMasks, PredicateLoadsOfWhatIsInside) {
  const Axis i("i", 10);
  Tensor a = compute("a", {i}, input("x", f32, {10})(i) * 2.0f);
  Tensor y = compute("y", {i}, a(i) + a(9 - Expr(i)));
  Schedule schedule(y);
  schedule[a].split(i, no, ni, 4, Tail::predicate_loads).vectorize(ni);
  expect_nest(schedule);
}

TEST(LowerMasks, PredicateLoadsOfARunTimeExtent) {
  const Axis i("i", Extent::size("B"));
  Tensor a = compute("a", {i}, input("x", f32, {Extent::size("B")})(i) * 2.0f);
  Tensor y = compute("y", {i}, a(i) + a(0));
  Schedule schedule(y);
  schedule[a].split(i, no, ni, 4, Tail::predicate_loads).vectorize(ni);
  expect_nest(schedule);
}

TEST(LowerMasks, PredicateLoadsOfWhatIsComputedInside) {
  const Axis i("i", 20);
  Tensor a = compute("a", {i}, input("x", f32, {20})(i) * 2.0f);
  Tensor y = compute("y", {i}, a(i) + 1.0f);
  Schedule schedule(y);
  schedule[y].split(i, mo, mi, 6);
  schedule[a].compute_at(y, mo).split(i, no, ni, 4, Tail::predicate_loads).vectorize(ni);
  expect_nest(schedule);
}

// x with three rows of -2 before it, in lanes of which the last are beyond the domain. When x has
// no rows, no clamped index is inside it, so the condition of the select is clamped, too.
TEST(LowerPredicateStores, WhatItChoosesBetweenMayBeEmpty) {
  const auto padded = [](const Extent& rows) {
    const Axis i("i", rows + Extent(3)), o("i", rows + Extent(3));
    Tensor x = input("x", f32, {rows});
    Tensor p = compute("p", {i}, select(i >= 3, x(max(i - 3, 0)), -2.0f));
    Schedule schedule(compute("y", {o}, p(o) * 3.0f));
    schedule["p"].compute_at("y", o).vectorize(i, 3, Tail::predicate_stores);
    return schedule;
  };
  const Schedule schedule = padded(Extent::size("B"));
  const std::string text = to_string(lower(schedule.graph(), schedule));
  EXPECT_NE(text.find("select(min(i, B + 2) >= 3, x[max(min(i, B + 2) - 3, 0)], -2f)"),
            std::string::npos)
      << text;
  for (int64_t size : {0, 1, 4}) {
    EXPECT_TRUE(lowers(schedule.graph(), schedule, {{"B", size}})) << size;
  }
  const std::string number = to_string(lower(padded(5).graph(), padded(5)));
  EXPECT_NE(number.find("select(i >= 3, x[max(min(i, 7) - 3, 0)], -2f)"), std::string::npos)
      << number;
}

// --- prefetch ------------------------------------------------------------------------------------

TEST(LowerPrefetch, OfAnInput) {
  Doubled d;
  d.schedule[d.y].prefetch(d.x, m, 2);
  expect_nest(d.schedule);
}

TEST(LowerPrefetch, OfAPackedWeightAndAnInputByAReduction) {
  Linear l;
  l.schedule[l.mm].pack(l.w, n, 5).reorder({n, k, m});
  l.schedule[l.mm].prefetch(l.w, k, 1).prefetch(l.x, k, 3).prefetch(l.x, m, 1);
  expect_nest(l.schedule);
}

TEST(LowerPrefetch, OfAnOperationInsideWhoseStorageItIs) {
  Linear l;
  l.schedule[l.y].split(n, no, ni, 5).prefetch(l.mm, no, 1);
  l.schedule[l.mm].compute_at(l.y, m);
  expect_nest(l.schedule);
}

// As in Halide: of whatever is computed inside the loop.
TEST(LowerPrefetch, OfWhatAnOperationInsideReads) {
  Linear l;
  l.schedule[l.mm].compute_at(l.y, m).pack(l.w, n, 5);
  l.schedule[l.y].prefetch(l.x, m, 1).prefetch(l.w, m, 2);
  expect_nest(l.schedule);
}

// --- compute_with --------------------------------------------------------------------------------

// s = a + b, a = 2 x, b = x + 1.
struct Siblings {
  explicit Siblings(Extent rows = 4) {
    const Axis i("m", rows);
    Tensor x = input("x", f32, {rows, 10});
    a = compute("a", {i, n}, x(i, n) * 2.0f);
    b = compute("b", {i, n}, x(i, n) + 1.0f);
    s = compute("s", {i, n}, a(i, n) + b(i, n));
    schedule = Schedule(s);
  }
  Tensor a, b, s;
  Schedule schedule{unused()};
};

TEST(LowerComputeWith, OneLoop) {
  Siblings t;
  t.schedule[t.b].compute_with(t.a, m);
  expect_nest(t.schedule);
}

// The loops are the leader's, with all that it fetches in them.
TEST(LowerComputeWith, ALeaderThatFetchesInTheSharedLoops) {
  Siblings t;
  t.schedule[t.a].prefetch("x", m, 1).prefetch("x", n, 2);
  t.schedule[t.b].compute_with(t.a, n);
  const std::string text = to_string(lower(t.schedule.graph(), t.schedule));
  EXPECT_NE(text.find("for a.m with b.m in 4, prefetching x 1 ahead"), std::string::npos) << text;
  EXPECT_NE(text.find("for a.n with b.n in 10, prefetching x 2 ahead"), std::string::npos) << text;
}

TEST(LowerComputeWith, LoopsOfASplitOfARunTimeExtent) {
  Siblings t(Extent::size("B"));
  for (const Tensor& x : {t.a, t.b}) {
    t.schedule[x].split(m, mo, mi, 4).reorder({mi, n, mo}).parallel(mo);
  }
  t.schedule[t.b].compute_with(t.a, n);
  expect_nest(t.schedule);
}

TEST(LowerComputeWith, InEveryCaseOfASpecialization) {
  Siblings t(Extent::size("B"));
  t.schedule[t.b].split(n, no, ni, 4).compute_with(t.a, m);
  t.schedule[t.a].specialize(size_value("B") == 3).vectorize(n);
  t.schedule[t.a].specialize(size_value("B") >= 4).parallel(m);
  expect_nest(t.schedule);
}

TEST(LowerComputeWith, LoopsOfAxesOfOtherNames) {
  const Axis i("i", 5), j("j", 4), p("p", 5), q("i", 4);
  Tensor x = input("x", f32, {5, 4});
  Tensor a = compute("a", {i, j}, x(i, j) * 2.0f), b = compute("b", {p, q}, x(p, q) * 3.0f);
  Schedule schedule(Graph({a, b}));
  schedule[a].split(i, mo, mi, 2);
  schedule[b].split(p, mo, mi, 2).compute_with(a, mi);
  expect_nest(schedule);
}

TEST(LowerComputeWith, AtALoopOfWhatReadsThem) {
  Siblings t;
  t.schedule[t.a].compute_at(t.s, m).reorder({m, n});
  t.schedule[t.b].compute_at(t.s, m).reorder({m, n}).compute_with(t.a, n);
  expect_nest(t.schedule);
}

TEST(LowerComputeWith, TwoReductions) {
  const Axis i("i", 3), r("r", 5);
  const Expr x = input("x", f32, {3, 5})(i, r);
  Tensor total = compute("total", {i}, sum(r, x)), most = compute("most", {i}, reduce_max(r, x));
  Tensor y = compute("y", {i}, total(i) - most(i));
  Schedule schedule(y);
  schedule[most].compute_with(total, i);
  expect_nest(schedule);
}

TEST(LowerComputeWith, ThreeAtDifferentDepthsOneOfThemAnOutput) {
  const Axis i("i", 3), j("j", 4);
  Tensor x = input("x", f32, {3, 4});
  Tensor a = compute("a", {i, j}, x(i, j) * 2.0f), b = compute("b", {i, j}, x(i, j) * 3.0f);
  Tensor c = compute("c", {i, j}, x(i, j) * 4.0f);
  Tensor y = compute("y", {i, j}, a(i, j) + b(i, j));
  Schedule schedule(Graph({c, y}));
  schedule[b].compute_with(a, j);
  schedule[c].compute_with(a, i);
  expect_nest(schedule);
}

TEST(LowerComputeWith, WhatIsBetweenThemComesBeforeOrAfter) {
  const Axis i("i", 3);
  Tensor x = input("x", f32, {3});
  Tensor a = compute("a", {i}, x(i) * 2.0f), reads_a = compute("reads_a", {i}, a(i) * 3.0f);
  Tensor for_b = compute("for_b", {i}, x(i) * 4.0f), b = compute("b", {i}, for_b(i) * 5.0f);
  Tensor y = compute("y", {i}, reads_a(i) + b(i));
  Schedule schedule(y);
  schedule[b].compute_with(a, i);
  expect_nest(schedule);
}

TEST(LowerComputeWith, AStageInsideTheLoopsOfTheSibling) {
  const Axis i("i", 3), j("j", 6);
  Tensor x = input("x", f32, {3, 6});
  Tensor inner = compute("inner", {i, j}, x(i, j) * 2.0f);
  Tensor a = compute("a", {i, j}, x(i, j) * 3.0f), b = compute("b", {i, j}, inner(i, j) * 5.0f);
  Tensor y = compute("y", {i, j}, a(i, j) + b(i, j));
  Schedule schedule(y);
  schedule[b].compute_with(a, i);
  schedule[inner].compute_at(b, j);
  expect_nest(schedule);
}

}  // namespace
}  // namespace emulsion

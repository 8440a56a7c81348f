// compute_with of what an operation reads: the goldens show what becomes of the loops, and every
// nest is run against its graph. What is refused is in the second half.

#include <gtest/gtest.h>

#include "dsl/error.h"
#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

const Axis mo("mo"), mi("mi"), v("v");

// p = 2 x, total = sums of the rows of p, y = p + total
struct Rows {
  explicit Rows(const Extent& rows = 5, const Extent& columns = 12)
      : i("i", rows), k("k", columns), r("r", columns) {
    x = input("x", f32, {rows, columns});
    p = compute("p", {i, k}, x(i, k) * 2.0f);
    total = compute("total", {i}, sum(r, p(i, r)));
    y = compute("y", {i, k}, p(i, k) + total(i));
    schedule = Schedule(y);
  }
  StageSchedule& operator[](const Tensor& tensor) { return schedule[tensor]; }

  Axis i, k, r;
  Tensor x, p, total, y;
  Schedule schedule{Graph(compute("unused", {}, constant(f32, 0)))};
};

// Row by row, a step of p ahead of each step of its sums.
Rows row_by_row(const Extent& rows, const Extent& columns, Tail tail = Tail::automatic) {
  Rows t(rows, columns);
  t[t.p].compute_at(t.y, t.i).split(t.k, t.r, v, 4, tail);
  t[t.total].compute_at(t.y, t.i).split(t.r, t.r, v, 4, tail).compute_with(t.p, t.r);
  return t;
}

TEST(JoinLoops, OfAnOperationAndItsReader) {
  const Axis i("i", 4), j("j", 6);
  const Tensor x = input("x", f32, {4, 6});
  const Tensor a = compute("a", {i, j}, x(i, j) * 2.0f);
  const Tensor y = compute("y", {i, j}, a(i, j) + 1.0f);
  Schedule schedule(y);
  schedule[y].compute_with(a, j);
  expect_nest(schedule);
}

// The sums are not the last that read p: all of it is stored.
TEST(JoinLoops, OfSumsAheadOfWhatReadsTheWholeRow) { expect_nest(row_by_row(5, 12).schedule); }

TEST(JoinLoops, OfARunTimeLengthWithMasks) {
  Rows t = row_by_row(Extent::size("B"), Extent::size("C"), Tail::predicate);
  t[t.p].vectorize(v);
  t[t.total].partition(t.r);
  for (const int64_t columns : {0, 1, 4, 7, 12}) {
    EXPECT_TRUE(lowers(t.schedule.graph(), t.schedule, {{"B", 3}, {"C", columns}}));
  }
}

TEST(JoinLoops, InTheMemoryOfTheOutput) {
  Rows t = row_by_row(5, 12);
  t[t.p].store_in_output(t.y);
  expect_nest(t.schedule);
}

TEST(JoinLoops, InEveryCaseOfWhatIsAround) {
  Rows t = row_by_row(Extent::size("B"), 12);
  t[t.y].specialize(size_value("B") >= 4).parallel(t.i);
  for (const int64_t rows : {0, 3, 4}) {
    EXPECT_TRUE(lowers(t.schedule.graph(), t.schedule, {{"B", rows}}));
  }
  const std::string nest = to_string(lower(t.schedule.graph(), t.schedule));
  const std::string joined = "for p.r in total.r .. +1";
  EXPECT_NE(nest.find(joined), nest.rfind(joined)) << nest;
}

// What the steps before have computed is there.
TEST(JoinLoops, OfAReaderThatLooksBack) {
  const Axis i("i", 9);
  const Tensor x = input("x", f32, {9});
  const Tensor a = compute("a", {i}, x(i) * 2.0f);
  const Tensor y = compute("y", {i}, a(i) - a(max(Expr(i) - 2, 0)));
  Schedule schedule(y);
  schedule[y].compute_with(a, i);
  expect_nest(schedule);
}

TEST(JoinLoops, OfAReaderThatLooksBackInsideALoopOfOneStep) {
  const Axis i("i", 1), j("j", 9);
  const Tensor x = input("x", f32, {1, 9});
  const Tensor a = compute("a", {i, j}, x(i, j) * 2.0f);
  const Tensor y = compute("y", {i, j}, a(i, j) - a(i, max(Expr(j) - 2, 0)));
  Schedule schedule(y);
  schedule[y].compute_with(a, j);
  EXPECT_TRUE(lowers(schedule.graph(), schedule));
}

// At a loop inside of a step.
TEST(JoinLoops, OfWhatFetchesAheadInAStep) {
  Rows t = row_by_row(5, 12);
  t[t.p].prefetch("x", v, 1);
  EXPECT_TRUE(lowers(t.schedule.graph(), t.schedule));
}

// Inside a step there may be loops, of which each goes on where the smaller ones end.
TEST(JoinLoops, OfStepsThatAreLoops) {
  const Axis i("i", 24), o("o"), w("w");
  const Tensor x = input("x", f32, {24});
  const Tensor a = compute("a", {i}, x(i) * 2.0f);
  const Tensor y = compute("y", {i}, a(i) - a(max(Expr(i) - 1, 0)));
  Schedule schedule(y);
  schedule[a].split(i, o, v, 6).split(v, v, w, 2);
  schedule[y].split(i, o, v, 6).split(v, v, w, 3).compute_with(a, o);
  EXPECT_TRUE(lowers(schedule.graph(), schedule, {}));
}

// The last loop of a step goes past its end, which stays where it is.
TEST(JoinLoops, OfStepsWhoseLoopsGoPastTheirEnd) {
  const Axis i("i", 22), o("o"), w("w");
  const Tensor x = input("x", f32, {22});
  const Tensor a = compute("a", {i}, x(i) * 2.0f);
  const Tensor y = compute("y", {i}, a(i) - a(max(Expr(i) - 7, 0)));
  for (const int producer : {4, 5, 6}) {
    for (const int reader : {4, 5, 6}) {
      Schedule schedule(y);
      schedule[a].split(i, o, v, 6).split(v, v, w, producer);
      schedule[y].split(i, o, v, 6).split(v, v, w, reader).compute_with(a, o);
      EXPECT_TRUE(lowers(schedule.graph(), schedule, {})) << producer << " " << reader;
    }
  }
}

TEST(JoinLoops, OfAnOutputThatIsRead) {
  const Axis i("i", Extent::size("B"));
  const Tensor x = input("x", f32, {Extent::size("B")});
  const Tensor a = compute("a", {i}, x(i) * 2.0f), y = compute("y", {i}, a(i) + 1.0f);
  Schedule schedule(Graph({a, y}));
  schedule[y].compute_with(a, i);
  expect_nest(schedule);
}

TEST(JoinLoops, WithWhatIsComputedInAStepOfTheProducer) {
  const Axis i("i", 6), j("j", 4);
  const Tensor x = input("x", f32, {6, 4});
  const Tensor c = compute("c", {i, j}, x(i, j) + 3.0f), a = compute("a", {i, j}, c(i, j) * 2.0f);
  const Tensor y = compute("y", {i, j}, a(i, j) + 1.0f);
  Schedule schedule(y);
  schedule[y].compute_with(a, i);
  schedule[c].compute_at(a, j);
  expect_nest(schedule);
}

// --- refused -------------------------------------------------------------------------------------

void refused(const Schedule& schedule, const std::string& cause) {
  EXPECT_TRUE(throws_with<ScheduleError>([&] { lower(schedule.graph(), schedule); }, cause));
}

TEST(JoinLoopsRefuses, AReaderThatLooksAhead) {
  const Axis i("i", 9);
  const Tensor x = input("x", f32, {9});
  const Tensor a = compute("a", {i}, x(i) * 2.0f);
  for (const Expr& index : {min(Expr(i) + 1, 8), 8 - Expr(i), constant(i32, 8)}) {
    const Tensor y = compute("y", {i}, a(i) - a(index));
    Schedule schedule(y);
    schedule[y].compute_with(a, i);
    refused(schedule, "expected each step of y.i to read what a has computed by then, got a[");
  }
}

// What a step computes is every fourth element, or some rows between others.
TEST(JoinLoopsRefuses, StepsThatLeaveElementsOut) {
  const Axis n("n", 16), m("m", 12), o("o"), w("w");
  const Tensor x = input("x", f32, {16});
  const Tensor a = compute("a", {n}, x(n) * 2.0f);
  for (const Expr& index : {Expr(m) + 1, max(Expr(m) - 1, 0), Expr(m)}) {
    const Tensor y = compute("y", {m}, a(index) - a(m));
    Schedule fourth(y), between(y);
    fourth[a].split(n, o, v, 4).reorder({o, v});
    fourth[y].split(m, o, v, 4).reorder({o, v}).compute_with(a, v);
    refused(fourth,
            "expected steps of a that compute all from their first index to the last, got those of "
            "a.v at a.o * 4 + y.v");
    between[a].split(n, o, v, 4).split(v, v, w, 2).reorder({w, o, v});
    between[y].split(m, o, v, 4).split(v, v, w, 2).reorder({w, o, v}).compute_with(a, v);
    refused(between, "expected steps of a that compute all from their first index to the last");
  }
}

TEST(JoinLoopsRefuses, StepsThatAreLongerThanWhatIsComputed) {
  const Axis o("o", 4), n("n", 16), w("w", 4);
  const Tensor x = input("x", f32, {16});
  const Tensor a = compute("a", {n}, x(n) * 2.0f);
  const Tensor y = compute("y", {o, w}, a(o * 4 + w) - a(min(o * 8, 15)));
  Schedule schedule(y);
  schedule[a].split(n, o, v, 4);
  schedule[y].compute_with(a, o);
  refused(schedule, "expected each step of y.o to read what a has computed by then, got a[");
}

// A step of 6 in vectors of 4 computes 6, and not 8; the second vector of one 2, and not 4.
TEST(JoinLoopsRefuses, WhatTheLastLoopOfAStepLeavesOut) {
  const Axis i("i", 24), o("o", 4), v("v", 2), w("w");
  const Tensor x = input("x", f32, {24});
  const Tensor a = compute("a", {i}, x(i) * 2.0f);
  const Expr first = o * 6 + v * 4;
  const Tensor y = compute("y", {o, v}, a(first) - a(min(first + 3, 23)));
  for (const Axis& last : {o, v}) {
    Schedule schedule(y);
    schedule[a].split(i, o, v, 6).split(v, v, w, 4);
    schedule[y].compute_with(a, last);
    refused(schedule, "expected each step of y." + last.name() + " to read what a has computed");
  }
}

// Of a step of the rows the row after is not there.
TEST(JoinLoopsRefuses, AReaderOfAnotherRow) {
  const Axis i("i", 4), j("j", 6);
  const Tensor x = input("x", f32, {4, 6});
  const Tensor a = compute("a", {i, j}, x(i, j) * 2.0f);
  const Tensor y = compute("y", {i, j}, a(i, j) + a(i, 5));
  Schedule schedule(y);
  schedule[y].compute_with(a, j);
  refused(schedule, "got a[i, 5]; legal: loops of its own");
  Schedule by_rows(y);
  by_rows[y].compute_with(a, i);
  EXPECT_TRUE(lowers(by_rows.graph(), by_rows, {})) << "the whole row is";
}

TEST(JoinLoopsRefuses, StepsThatAreShorterThanTheReaders) {
  Rows t;
  t[t.p].compute_at(t.y, t.i).split(t.k, t.r, v, 3);
  t[t.total].compute_at(t.y, t.i).split(t.r, t.r, v, 4).compute_with(t.p, t.r);
  refused(t.schedule, "expected loops of the same extent, got r of p in 4 and in 3");
}

TEST(JoinLoopsRefuses, ALastTileThatStartsEarlier) {
  Rows t(5, 13);
  t[t.p].compute_at(t.y, t.i).split(t.k, t.r, v, 4, Tail::shift_inwards);
  t[t.total].compute_at(t.y, t.i).split(t.r, t.r, v, 4, Tail::guard).compute_with(t.p, t.r);
  refused(t.schedule, "to read what p has computed by then");
}

TEST(JoinLoopsRefuses, AnotherReaderBetween) {
  const Axis i("i", 4);
  const Tensor x = input("x", f32, {4});
  const Tensor a = compute("a", {i}, x(i) * 2.0f), b = compute("b", {i}, a(i) + 1.0f);
  const Tensor y = compute("y", {i}, a(i) * b(i));
  Schedule schedule(y);
  schedule[y].compute_with(a, i);
  refused(schedule, "expected y to be the first that reads a, and alone in its loops, got b there");
}

TEST(JoinLoopsRefuses, AnotherReaderInTheSharedLoop) {
  const Axis i("i", 4), j("j", 6);
  const Tensor x = input("x", f32, {4, 6});
  const Tensor a = compute("a", {i, j}, x(i, j) * 2.0f), b = compute("b", {i, j}, a(i, j) + 1.0f);
  const Tensor y = compute("y", {i, j}, a(i, j) * b(i, j));
  Schedule schedule(y);
  schedule[b].compute_at(y, i);
  schedule[y].compute_with(a, j);
  refused(schedule, "and alone in its loops, got b there");
}

TEST(JoinLoopsRefuses, AReaderThatIsComputedSeveralTimes) {
  Rows t;
  t[t.total].compute_at(t.y, t.k);
  t[t.p].split(t.k, t.r, v, 4);
  t[t.total].split(t.r, t.r, v, 4).compute_with(t.p, t.r);
  refused(t.schedule, "expected total to be computed once behind p, got the loop y.i around it");
}

TEST(JoinLoopsRefuses, WhatIsComputedBetweenTheLoopsOfTheProducer) {
  const Axis i("i", 6), j("j", 4);
  const Tensor x = input("x", f32, {6, 4});
  const Tensor c = compute("c", {i, j}, x(i, j) + 3.0f), a = compute("a", {i, j}, c(i, j) * 2.0f);
  const Tensor y = compute("y", {i, j}, a(i, j) + 1.0f);
  Schedule schedule(y);
  schedule[y].compute_with(a, j);
  schedule[c].compute_at(a, i);
  refused(schedule, "expected nothing between loops i and j of a, got what is computed there");
}

TEST(JoinLoopsRefuses, AProducerThatReduces) {
  const Axis i("i", 4), r("r", 5);
  const Tensor x = input("x", f32, {4, 5});
  const Tensor s = compute("s", {i}, sum(r, x(i, r))), y = compute("y", {i}, s(i) * 2.0f);
  Schedule schedule(y);
  schedule[y].compute_with(s, i);
  refused(schedule, "expected what it reads to be no reduction, got s; legal: s.compute_at");
}

TEST(JoinLoopsRefuses, WhatIsSpecialized) {
  for (const char* which : {"p", "total"}) {
    Rows t = row_by_row(Extent::size("B"), 12);
    t.schedule[which].specialize(size_value("B") >= 4);
    refused(t.schedule, "expected an operation and what it reads without specialize, got " +
                            std::string(which));
  }
}

TEST(JoinLoopsRefuses, StorageThatIsKept) {
  Rows t = row_by_row(5, 12);
  t[t.p].store_root();
  refused(t.schedule, "expected what it reads to be stored where it is computed, got p");
}

TEST(JoinLoopsRefuses, AThirdThatSharesTheLoops) {
  const Axis i("i", 4);
  const Tensor x = input("x", f32, {4});
  const Tensor a = compute("a", {i}, x(i) * 2.0f), b = compute("b", {i}, x(i) * 3.0f);
  const Tensor c = compute("c", {i}, a(i) + 1.0f), d = compute("d", {i}, a(i) + 2.0f);
  const Tensor e = compute("e", {i}, c(i) + 2.0f);
  const Tensor y = compute("y", {i}, b(i) + d(i) + e(i));
  Schedule sibling(y), two(y), chain(y), following(y), led(y);
  sibling[b].compute_with(a, i);
  sibling[c].compute_with(a, i);
  refused(sibling, "expected loops that no third operation shares, got those of c and a");
  two[c].compute_with(a, i);
  two[d].compute_with(a, i);
  refused(two, "expected one reader of a in its loops, got d and c");
  chain[c].compute_with(a, i);
  chain[e].compute_with(c, i);
  refused(chain, "expected loops that no third operation shares, got those of e and c");
  following[a].compute_with(b, i);
  following[c].compute_with(a, i);
  refused(following, "expected loops that no third operation shares, got those of c and a");
  led[c].compute_with(a, i);
  led[d].compute_with(c, i);
  refused(led, "expected loops that no third operation shares, got those of c and a");
}

TEST(JoinLoopsRefuses, LoopsThatAreNotSerial) {
  const Axis i("i", 4);
  const Tensor x = input("x", f32, {4});
  const Tensor a = compute("a", {i}, x(i) * 2.0f), y = compute("y", {i}, a(i) + 1.0f);
  for (const Tensor& parallel : {a, y}) {
    Schedule schedule(y);
    schedule[parallel].parallel(i);
    schedule[y].compute_with(a, i);
    refused(schedule,
            "expected serial loops of both, got i of " + schedule.graph().name_of(parallel));
  }
}

TEST(JoinLoopsRefuses, WhatIsSaidOfTheProducersLoops) {
  Rows partitioned = row_by_row(5, 12), fetching = row_by_row(5, 12);
  partitioned[partitioned.p].partition(partitioned.r);
  refused(partitioned.schedule, "are not partitioned, got r; legal: total.partition(r)");
  fetching[fetching.p].prefetch("x", fetching.r, 1);
  refused(fetching.schedule,
          "expected loops of p that fetch nothing ahead, got p.prefetch(x, r, 1)");
}

TEST(JoinLoopsRefuses, MemoryThatIsOverwritten) {
  const Axis i("i", 4);
  const Tensor x = input("x", f32, {4});
  const Tensor q = compute("q", {i}, x(i) * 2.0f), a = compute("a", {i}, q(3 - Expr(i)) + 1.0f);
  const Tensor y = compute("y", {i}, q(i) + a(i));
  Schedule inside(y), read(y);
  inside[a].store_in_output(y);
  inside[y].compute_with(a, i);
  refused(inside, "expected a reader that a is not stored in, got y");
  read[q].store_in_output(y);
  read[y].compute_with(a, i);
  refused(read, "expected a to read nothing that is stored in an output, got q");
}

TEST(JoinLoopsRefuses, AnotherPlaceOfTheLoop) {
  Rows t;
  t[t.p].compute_at(t.y, t.i).split(t.k, t.r, v, 4).reorder({t.r, v});
  t[t.total].compute_at(t.y, t.i).split(t.r, t.r, v, 4).compute_with(t.p, t.r);
  refused(t.schedule, "expected the same loops from the outermost to r");
}

}  // namespace
}  // namespace emulsion

// What the directives on how loops run refuse: rfactor, atomic, tails that mask one side, prefetch,
// compute_with.

#include <gtest/gtest.h>

#include "dsl/error.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/lower/lower_refuses.h"

namespace emulsion {
namespace {

// --- rfactor -------------------------------------------------------------------------------------

TEST_F(LowerRefuses, RfactorOfAPureAxis) {
  mm().rfactor(n, "partial");
  refused("mm.rfactor(n, partial)", "expected a reduction loop of mm (k), got n");
}

TEST_F(LowerRefuses, RfactorOfAnOperationWithoutReduction) {
  y().rfactor(n, "partial");
  refused("y.rfactor(n, partial)", "expected a reduction loop of y (none), got n");
}

TEST_F(LowerRefuses, RfactorIntoAStageThatIsTaken) {
  mm().rfactor(k, "biased");
  refused("mm.rfactor(k, biased)", "got biased");
}

TEST_F(LowerRefuses, RfactorAfterAPureLoopIsSplit) {
  mm().split(m, mo, mi, 2).rfactor(k, "partial");
  refused("mm.rfactor(k, partial)", "got split(m, mo, mi, 2); legal: that one after it");
}

TEST_F(LowerRefuses, RfactorAfterALoopHasAKind) {
  mm().unroll(k).rfactor(k, "partial");
  refused("mm.rfactor(k, partial)", "got unroll(k); legal: that one after it");
}

TEST_F(LowerRefuses, RfactorAfterATailThatIsNoGuard) {
  mm().split(k, t, q, 4, Tail::predicate).rfactor(q, "partial");
  refused("mm.rfactor(q, partial)", "with a tail of guard");
}

TEST_F(LowerRefuses, RfactorAfterLoopsThatAreNotNeighboursAreFused) {
  const Axis i("i", 2), j("j", 3), r("r", 4);
  Tensor s = compute("s", {}, sum({i, j, r}, input("x", f32, {2, 3, 4})(i, j, r)));
  Schedule schedule(s);
  schedule[s].fuse(i, r, t).rfactor(t, "partial");
  refused(schedule, "s.fuse(i, r, t)", "expected r directly inside i");
}

TEST_F(LowerRefuses, RfactorBesideAProductOfRunTimeExtents) {
  const Extent size = Extent::size("B");
  const Axis i("i", size), j("j", size), r("r", 4);
  Tensor s = compute("s", {}, sum({i, j, r}, input("x", f32, {size, size, 4})(i, j, r)));
  Schedule schedule(s);
  schedule[s].fuse(i, j, t).rfactor(r, "partial");
  refused(schedule, "s.rfactor(r, partial)", "or that over a number, got t in");
}

TEST_F(LowerRefuses, RfactorOfTheOuterLoopOfARunTimeExtent) {
  const Axis r("r", Extent::size("B"));
  Tensor s = compute("s", {}, sum(r, input("x", f32, {Extent::size("B")})(r)));
  Schedule schedule(s);
  schedule[s].split(r, t, q, 4).rfactor(t, "partial");
  refused(schedule, "s.rfactor(t, partial)",
          "got t in (B + 3) / 4; legal: the inner loop of a split");
}

TEST_F(LowerRefuses, RfactorThatIsTooLarge) {
  const Axis i("i", 40000), r("r", 60000);
  Tensor s = compute("s", {i}, sum(r, input("x", f32, {40000})(i) * cast(f32, Expr(r))));
  Schedule schedule(s);
  schedule[s].rfactor(r, "partial");
  refused(schedule, "s.rfactor(r, partial)", "bytes, got shape [40000, 60000]");
}

// --- atomic --------------------------------------------------------------------------------------

// An integer reduction of `combiner` over r.
Tensor reduced(Combiner combiner) {
  const Axis i("i", 3), r("r", 8);
  const Expr x = input("x", i32, {3, 8})(i, r);
  switch (combiner) {
    case Combiner::product:
      return compute("s", {i}, product({r}, x));
    case Combiner::max:
      return compute("s", {i}, reduce_max(r, x));
    default:
      return compute("s", {i}, sum(r, x));
  }
}

TEST_F(LowerRefuses, ReductionOfIntegersWithoutAtomic) {
  const Axis r("r");
  for (Combiner combiner : {Combiner::sum, Combiner::max}) {
    Schedule vectors(reduced(combiner)), threads(reduced(combiner));
    vectors["s"].vectorize(r);
    refused(vectors, "s.vectorize(r)", "legal: atomic() on s, or rfactor(r, ...)");
    threads["s"].parallel(r);
    refused(threads, "s.parallel(r)",
            "carries the " + to_string(combiner) + " of s; legal: atomic");
  }
}

TEST_F(LowerRefuses, AtomicFloatsInVectorsAndThreads) {
  mm().atomic().vectorize(k);
  refused("mm.vectorize(k)",
          "rounded in the order of the loop (atomic() is for integers); legal: ");
  Schedule threads(y_);
  threads[mm_].parallel(k).atomic();
  refused(threads, "mm.parallel(k)", "carries the sum of mm, rounded");
}

TEST_F(LowerRefuses, AtomicProductInThreads) {
  Schedule schedule(reduced(Combiner::product));
  schedule["s"].atomic().parallel(Axis("r"));
  refused(schedule, "s.parallel(r)", "atomic operations, got a product of i32; legal: rfactor");
}

TEST_F(LowerRefuses, AtomicOfAnOperationWithoutReduction) {
  y().atomic();
  refused("y.atomic()", "expected a reduction, got y");
}

TEST_F(LowerRefuses, AtomicTwice) {
  mm().atomic().atomic();
  refused("mm.atomic()", "got a second one");
}

TEST_F(LowerRefuses, TwoVectorizedReductionLoops) {
  const Axis r("r"), ro("ro"), ri("ri");
  Schedule schedule(reduced(Combiner::sum));
  schedule["s"].atomic().split(r, ro, ri, 4).vectorize(ro).vectorize(ri);
  refused(schedule, "s.vectorize(ri): expected no vectorized loop inside a vectorized loop",
          "got ri inside ro; legal: unroll(ro)");
}

// --- tails that mask one side -------------------------------------------------------------------

TEST_F(LowerRefuses, PredicateLoadsOfAnOutput) {
  y().split(n, no, ni, 4, Tail::predicate_loads);
  refused("y.split(n, no, ni, 4, predicate_loads)", "nothing past the end of y may be written");
}

TEST_F(LowerRefuses, MasksOfOneSideOfAReduction) {
  for (Tail tail : {Tail::predicate_loads, Tail::predicate_stores}) {
    for (const Axis& axis : {n, k}) {
      Schedule schedule(y_);
      schedule[mm_].split(axis, t, q, 4, tail);
      refused(schedule, "mm.split(" + axis.name() + ", t, q, 4, " + to_string(tail) + ")",
              "expected a tail of guard or predicate: a reduction loads what it stores");
    }
  }
}

TEST_F(LowerRefuses, PredicateStoresAroundWhatIsComputedInside) {
  biased().compute_at(y_, m);
  y().split(n, no, ni, 4, Tail::predicate_stores);
  refused("y.split(n, no, ni, 4, predicate_stores)",
          "got biased, which is computed at y.m; legal:");
}

TEST_F(LowerRefuses, PredicateLoadsPastWhatTheStackTakes) {
  biased().compute_at(y_, m).split(n, no, ni, 8200, Tail::predicate_loads);
  biased().store_in(Memory::stack);
  refused("biased.store_in(stack)", "got 32800 bytes; legal: heap");
}

TEST_F(LowerRefuses, PredicateLoadsIntoStorageThatIsKept) {
  biased().compute_at(y_, n).store_at(y_, m).split(n, no, ni, 4, Tail::predicate_loads);
  refused("biased.split(n, no, ni, 4, predicate_loads)", "storage of biased that is kept");
}

TEST_F(LowerRefuses, PredicateLoadsInsideASplit) {
  biased().split(n, no, ni, 6).split(ni, t, q, 4, Tail::predicate_loads);
  refused("biased.split(ni, t, q, 4, predicate_loads)",
          "expected an axis of biased that is not split yet, got ni");
}

// --- compute_with -------------------------------------------------------------------------------

// p = 2 x and q = x * x, both read by z; r = p + 1.
class LowerRefusesSharing : public LowerRefuses {
 protected:
  Tensor p_ = compute("p", {m, k}, x_(m, k) * 2.0f), q_ = compute("q", {m, k}, x_(m, k) * x_(m, k));
  Tensor r_ = compute("r", {m, k}, p_(m, k) + 1.0f);
  Tensor total_ = compute("total", {m}, sum(k, x_(m, k)));
  Tensor z_ = compute("z", {m, k}, q_(m, k) + r_(m, k) + total_(m));
  Schedule s_{z_};
};

TEST_F(LowerRefusesSharing, OfNoOperation) {
  s_[p_].add(directive(DirectiveKind::compute_with, {"m"}, 0, "x"));
  refused(s_, "p.compute_with(x, m)", "got x");
  Schedule self(z_);
  self[p_].compute_with(p_, m);
  refused(self, "p.compute_with(p, m)", "got p");
  Schedule inlined(z_);
  inlined[p_].compute_inline();
  inlined[q_].compute_with(p_, m);
  refused(inlined, "q.compute_with(p, m)", "expected another operation with loops, got p");
}

TEST_F(LowerRefusesSharing, OfNoLoop) {
  s_[q_].compute_with(p_, t);
  refused(s_, "q.compute_with(p, t)", "expected a loop of q");
  Schedule taken(z_);
  taken[q_].compute_with(p_, m).split(m, mo, mi, 2);
  refused(taken, "q.compute_with(p, m)", "got mo, mi, k of q and m of p");
}

TEST_F(LowerRefusesSharing, Twice) {
  s_[q_].compute_with(p_, m).compute_with(p_, k);
  refused(s_, "q.compute_with(p, k)", "expected one compute_with, got a second one");
}

TEST_F(LowerRefusesSharing, WithAnOperationThatIsNeeded) {
  s_[p_].compute_with(r_, m);
  refused(s_, "p.compute_with(r, m)", "neither needs the other, got p and r; legal: compute_at");
  Schedule through(z_);
  through[q_].compute_with(p_, m);
  through[r_].compute_with(q_, m);
  refused(through, "r.compute_with(q, m)", "got q, which shares those of p; legal: compute_with(p");
  Schedule both(z_);
  both[p_].compute_with(q_, m);
  both[r_].compute_with(q_, m);
  refused(both, "p.compute_with(q, m)", "got p and r");
}

TEST_F(LowerRefusesSharing, LoopsInAnotherOrder) {
  s_[q_].reorder({m, k}).compute_with(p_, m);
  refused(s_, "q.compute_with(p, m)", "got k, m of q and m of p; legal: split, name and reorder");
}

TEST_F(LowerRefusesSharing, LoopsOfAnotherKind) {
  s_[q_].parallel(m).compute_with(p_, m);
  refused(s_, "q.compute_with(p, m)", "serial for both or parallel for both, got m");
  Schedule vectors(z_);
  vectors[p_].vectorize(k);
  vectors[q_].vectorize(k).compute_with(p_, k);
  refused(vectors, "q.compute_with(p, k)", "got k; legal: compute_with(p, m), or the same kind");
}

TEST_F(LowerRefusesSharing, LoopsOfAnotherExtent) {
  s_[p_].split(k, t, q, 2);
  s_[q_].split(k, t, q, 3).compute_with(p_, t);
  refused(s_, "q.compute_with(p, t)",
          "got t of 2 from 0 and t of 3 from 0; legal: compute_with(p, m)");
}

TEST_F(LowerRefusesSharing, AReductionAndNone) {
  s_[total_].compute_with(p_, m);
  refused(s_, "total.compute_with(p, m)", "two reductions or two operations without, got total");
}

TEST_F(LowerRefusesSharing, AReductionLoop) {
  Tensor other = compute("other", {m}, reduce_max(k, x_(m, k)));
  Tensor both = compute("both", {m}, total_(m) + other(m));
  Schedule schedule(both);
  schedule[other].compute_with(total_, k);
  refused(schedule, "other.compute_with(total, k)", "axes that are not reduced, got k");
}

// Of one of the two only: the other one has an axis of that name.
TEST_F(LowerRefusesSharing, AReductionLoopOfEither) {
  const Axis r("r", 3);
  Tensor wide = compute("wide", {m, k}, sum(r, x_(m, k) * cast(f32, Expr(r))));
  Tensor both = compute("both", {m, k}, total_(m) + wide(m, k));
  Schedule with_total(both), with_wide(both);
  with_total[wide].compute_with(total_, k);
  refused(with_total, "wide.compute_with(total, k)", "axes that are not reduced, got k");
  with_wide[total_].compute_with(wide, k);
  refused(with_wide, "total.compute_with(wide, k)", "axes that are not reduced, got k");
}

TEST_F(LowerRefusesSharing, AtAnotherPlace) {
  s_[q_].compute_at(z_, m).compute_with(p_, m);
  refused(s_, "q.compute_with(p, m)", "got q at z.m and p at the root");
}

// The place of the leader counts as that of the operation itself does.
TEST_F(LowerRefusesSharing, ALeaderAtAnotherPlace) {
  Schedule only_the_leader(z_), both(z_);
  only_the_leader[r_].compute_inline();
  only_the_leader[p_].compute_at(z_, m);
  only_the_leader[q_].compute_with(p_, m);
  refused(only_the_leader, "q.compute_with(p, m)", "got q at the root and p at z.m");
  both[r_].compute_inline();
  both[p_].compute_at(z_, k);
  both[q_].compute_at(z_, m).compute_with(p_, m);
  refused(both, "q.compute_with(p, m)", "got q at z.m and p at z.k");
}

// What is refused of an operation is refused of the one whose loops it shares.
TEST_F(LowerRefusesSharing, StorageThatIsKept) {
  for (const Tensor& kept : {p_, q_}) {
    Schedule schedule(z_);
    schedule[r_].compute_inline();
    schedule[p_].compute_at(z_, k);
    schedule[q_].compute_at(z_, k).compute_with(p_, m);
    schedule[kept].store_at(z_, k);
    refused(schedule, "q.compute_with(p, m)", "got q at z.k and p at z.k; legal: the same");
    Schedule at_the_root(z_);
    at_the_root[r_].compute_inline();
    at_the_root[p_].compute_at(z_, k);
    at_the_root[q_].compute_at(z_, k).compute_with(p_, m);
    at_the_root[kept].store_root();
    refused(at_the_root, kept.name() + ".store_root()", "that shares no loops (compute_with)");
  }
}

TEST_F(LowerRefusesSharing, WhatIsSpecialized) {
  const Axis i("i", Extent::size("B"));
  const Tensor in = input("in", f32, {Extent::size("B")});
  const Tensor u = compute("u", {i}, in(i)*2.0f), v = compute("v", {i}, in(i)*3.0f);
  const Tensor w = compute("w", {i}, u(i) + v(i));
  Schedule follower(w);
  follower[v].compute_with(u, i);
  follower[v].specialize(size_value("B") == 1);
  refused(follower, "v.compute_with(u, i)", "expected an operation without specialize, got v");
}

TEST_F(LowerRefusesSharing, LoopsThatASpecializationChanges) {
  const Axis i("i", Extent::size("B")), j("j", 6);
  const Tensor in = input("in", f32, {Extent::size("B"), 6});
  const Tensor u = compute("u", {i, j}, in(i, j) * 2.0f), v = compute("v", {i, j}, in(i, j) * 3.0f);
  const Expr four = size_value("B") == 4;
  const std::string expected = "expected loops that u has in every case, serial or parallel, got ";
  Schedule unrolled(compute("w", {i, j}, u(i, j) + v(i, j)));
  unrolled[v].compute_with(u, i);
  unrolled[u].specialize(four).unroll(i);
  refused(unrolled, "v.compute_with(u, i)", expected + "i, which specialize(B == 4) changes");
  Schedule vectors(unrolled.graph());
  vectors[v].compute_with(u, i);
  vectors[u].specialize(four).vectorize(i);
  refused(vectors, "v.compute_with(u, i)", expected + "i, which specialize(B == 4) changes");
  Schedule turned(unrolled.graph());
  turned[v].compute_with(u, j);
  turned[u].specialize(four).reorder({i, j});
  refused(turned, "v.compute_with(u, j)", expected + "j, which specialize(B == 4) changes");
}

TEST_F(LowerRefusesSharing, WhatAnotherSiblingNeeds) {
  Tensor third = compute("third", {m, k}, q_(m, k) * 3.0f);
  Schedule schedule(compute("w", {m, k}, p_(m, k) + third(m, k)));
  schedule[q_].compute_with(p_, m);
  schedule[third].compute_with(p_, m);
  refused(schedule, "q.compute_with(p, m)", "got q and third; legal: compute_at the loop");
}

// What one of two that share loops needs, by way of two others that do.
TEST_F(LowerRefusesSharing, WhatTwoOthersThatShareLoopsNeed) {
  const Tensor first = compute("first", {m, k}, x_(m, k) * 2.0f);
  const Tensor needs = compute("needs", {m, k}, first(m, k) + 1.0f);
  const Tensor beside = compute("beside", {m, k}, x_(m, k) - 1.0f);
  const Tensor last = compute("last", {m, k}, beside(m, k) * 3.0f);
  const Tensor w = compute("w", {m, k}, needs(m, k) + last(m, k));
  Schedule one(w), other(w);
  for (Schedule* schedule : {&one, &other}) (*schedule)[last].compute_with(first, m);
  one[beside].compute_with(needs, m);
  refused(one, "beside.compute_with(needs, m)",
          "expected operations that can be computed together");
  other[needs].compute_with(beside, m);
  refused(other, "needs.compute_with(beside, m)",
          "expected operations that can be computed together");
}

TEST_F(LowerRefusesSharing, APartitionOfALoopThatIsShared) {
  s_[q_].compute_with(p_, m).partition(m);
  refused(s_, "q.partition(m)", "got m, which q shares with p; legal: p.partition(m)");
}

TEST_F(LowerRefusesSharing, ComputeAtALoopThatIsShared) {
  Tensor inner = compute("inner", {m, k}, x_(m, k) + 2.0f);
  Tensor u = compute("u", {m, k}, inner(m, k) * 3.0f), v = compute("v", {m, k}, x_(m, k) * 4.0f);
  Schedule schedule(compute("w", {m, k}, u(m, k) + v(m, k)));
  schedule[v].compute_with(u, m);
  schedule[inner].compute_at(u, m);
  refused(schedule, "inner.compute_at(u, m)", "got u.m, which is a loop of u and of v");
}

// --- prefetch -----------------------------------------------------------------------------------

TEST_F(LowerRefuses, PrefetchOfNothingAhead) {
  EXPECT_TRUE(throws_with<ScheduleError>([&] { mm().prefetch(x_, m, 0); },
                                         "argument 3 (distance) of prefetch"));
  mm().add(directive(DirectiveKind::prefetch, {"m"}, -1, "x"));
  refused("mm.prefetch(x, m, -1)", "expected a positive integer, got -1");
}

TEST_F(LowerRefuses, PrefetchOfWhatIsNotRead) {
  mm().prefetch(b_, m, 1);
  refused("mm.prefetch(b, m, 1)", "that is read inside m, got b; legal: w, x");
}

TEST_F(LowerRefuses, PrefetchOfWhatIsReadOutsideTheLoop) {
  biased().compute_at(y_, m);
  Schedule of_inner = schedule_;
  y().prefetch(b_, n, 1);
  refused("y.prefetch(b, n, 1)", "that is read inside n, got b; legal: biased, v");
  of_inner[y_].prefetch(x_, m, 1);  // mm, which reads it, is computed before
  refused(of_inner, "y.prefetch(x, m, 1)", "that is read inside m, got x; legal: b, mm, v");
}

TEST_F(LowerRefuses, PrefetchOfAConstant) {
  const Axis i("i", 4);
  Tensor c = constant("c", {4}, std::vector<float>(4, 1)), s = compute("s", {i}, c(i) * 2.0f);
  Schedule schedule(s);
  schedule[s].prefetch(c, i, 1);
  refused(schedule, "s.prefetch(c, i, 1)", "got c; legal: none");
}

TEST_F(LowerRefuses, PrefetchOfAnOutput) {
  const Axis i("i", 4);
  Tensor s = compute("s", {i}, input("x", f32, {4})(i) * 2.0f);
  Tensor z = compute("z", {i}, s(i) + 1.0f);
  Schedule schedule(Graph({s, z}));
  schedule[z].prefetch(s, i, 1);
  refused(schedule, "z.prefetch(s, i, 1)", "got s; legal: none");
}

TEST_F(LowerRefuses, PrefetchAtALoopThatIsTaken) {
  mm().prefetch(x_, m, 1).split(m, mo, mi, 2);
  refused("mm.prefetch(x, m, 1)", "expected a loop that stays, got m");
}

TEST_F(LowerRefuses, PrefetchAtALoopThatIsNotSerial) {
  mm().prefetch(x_, m, 1).unroll(m);
  refused("mm.prefetch(x, m, 1)",
          "got m, which is unrolled; legal: a serial or parallel loop around it");
  Schedule inside(y_);
  inside[y_].reorder({m, n}).vectorize(n).prefetch(v_, m, 1);
  refused(inside, "y.prefetch(v, m, 1)", "got m inside n, which is vectorized");
}

TEST_F(LowerRefuses, PrefetchAtALoopThatASpecializationTakes) {
  const Axis i("i", Extent::size("B"));
  const Tensor in = input("in", f32, {Extent::size("B")});
  const Tensor s = compute("s", {i}, in(i)*2.0f);
  Schedule parallel(s);
  parallel[s].prefetch(in, i, 1).specialize(size_value("B") >= 8).parallel(i);
  EXPECT_NO_THROW(lower(parallel.graph(), parallel));
  Schedule taken(s);
  taken[s].prefetch(in, i, 1).specialize(size_value("B") >= 8).split(i, mo, mi, 4);
  refused(taken, "s.prefetch(in, i, 1)", "got i, which another directive takes where B >= 8");
}

TEST_F(LowerRefuses, PrefetchOfWhatIsStoredInside) {
  biased().compute_at(y_, m);
  y().prefetch(biased_, m, 1);
  refused("y.prefetch(biased, m, 1)", "got biased, of which each step computes its part");
  Schedule deeper(y_);
  deeper[biased_].compute_at(y_, m);
  deeper[mm_].compute_at(biased_, m);
  deeper[y_].prefetch(mm_, m, 1);
  refused(deeper, "y.prefetch(mm, m, 1)", "got mm, of which each step computes its part");
}

TEST_F(LowerRefuses, PrefetchAtALoopThatASiblingHas) {
  const Axis i("i", 8), j("j", 6);
  Tensor in = input("in", f32, {8, 6}), other = input("other", f32, {8, 6});
  Tensor left = compute("left", {i, j}, in(i, j) * other(i, j));
  Tensor right = compute("right", {i, j}, in(i, j) + 1.0f);
  Schedule schedule(Graph({left, right}));
  schedule[left].compute_with(right, i).prefetch(other, j, 1);  // inside the loop that they share
  EXPECT_NO_THROW(lower(schedule.graph(), schedule));
  Schedule of_both = schedule, of_one = schedule;
  of_both[left].prefetch(in, i, 2);
  refused(of_both, "left.prefetch(in, i, 2)",
          "expected a loop of its own, got i, which left shares with right; legal: "
          "right.prefetch(in, i, 2), or a loop inside i");
  of_one[left].prefetch(other, i, 2);
  refused(of_one, "left.prefetch(other, i, 2)", "shares with right; legal: a loop inside i");
}

TEST_F(LowerRefuses, PrefetchTwice) {
  mm().prefetch(x_, m, 1).prefetch(x_, m, 2);
  refused("mm.prefetch(x, m, 2)", "got a second one; legal: the greater distance");
  Schedule at_two_loops(y_);
  at_two_loops[mm_].prefetch(x_, m, 1).prefetch(x_, k, 2);
  EXPECT_NO_THROW(lower(y_, at_two_loops));
}

// Each reads what its own step of y.io needs, one place apart.
TEST_F(LowerRefuses, ComputeWithALoopThatStartsElsewhere) {
  const Axis i("i", 8), j("i", 9), io("io"), ii("ii");
  Tensor x = input("x", f32, {9});
  Tensor a = compute("a", {j}, x(j) + 1.0f), b = compute("b", {j}, x(j) * 2.0f);
  Tensor z = compute("z", {i}, a(i) + b(i + 1));
  Schedule schedule(z);
  schedule[z].split(i, io, ii, 4);
  schedule[b].compute_at(z, io);
  schedule[a].compute_at(z, io).compute_with(b, j);
  refused(schedule, "a.compute_with(b, i)", "expected loops of the same extent and start");
}

}  // namespace
}  // namespace emulsion

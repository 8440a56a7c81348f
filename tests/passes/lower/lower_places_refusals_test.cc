// A directive that cannot be honoured is a ScheduleError that starts with the directive and names
// the cause; nothing is silently replaced, and no mistake of a user shows as an InternalError.
// Here: places, memories and what changes the stages.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/error.h"
#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/lower/lower.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/lower/lower_refuses.h"

namespace emulsion {
namespace {

// --- places -------------------------------------------------------------------------------------

TEST_F(LowerRefuses, ComputeAtOfAnOutputAtWhatItReads) {
  y().compute_at(mm_, m);
  refused("y.compute_at(mm, m)", "expected an operation that needs y, got mm");
}

TEST_F(LowerRefuses, ComputeAtAnUnknownOperation) {
  mm().add(directive(DirectiveKind::compute_at, {"m"}, 0, "nobody"));
  refused("mm.compute_at(nobody, m)", "got nobody");
}

TEST_F(LowerRefuses, ComputeAtOfTwoThatNameUnknownOperations) {
  mm().compute_at(y_, m);
  biased().add(directive(DirectiveKind::compute_at, {"m"}, 0, "nobody"));
  refused("biased.compute_at(nobody, m)", "got nobody");
}

// What has directives cannot be computed inline.
TEST_F(LowerRefuses, ComputeAtNamesAReaderThatMayBeInline) {
  const auto message = [&](bool is_scheduled) -> std::string {
    Schedule schedule(y_);
    if (is_scheduled) schedule["biased"].vectorize(n);
    schedule["mm"].compute_at("y", m);
    try {
      lower(y_, schedule);
    } catch (const ScheduleError& error) {
      return error.what();
    }
    return "";
  };
  const std::string inlined = "legal: compute_root(), or biased.compute_inline()";
  EXPECT_NE(message(false).find(inlined), std::string::npos) << message(false);
  EXPECT_EQ(message(true).find("compute_inline()"), std::string::npos) << message(true);
  EXPECT_NE(message(true).find("legal: compute_root()"), std::string::npos) << message(true);
}

TEST_F(LowerRefuses, ComputeAtAnUnknownLoop) {
  mm().compute_at(y_, q);
  refused("mm.compute_at(y, q)", "expected a loop of y (m");
}

TEST_F(LowerRefuses, ComputeAtALoopThatWasSplit) {
  y().split(n, no, ni, 5);
  mm().compute_at(y_, n);
  refused("mm.compute_at(y, n)", "got n");
}

TEST_F(LowerRefuses, ComputeAtItself) {
  mm().compute_at(mm_, m);
  refused("mm.compute_at(mm, m)", "expected another operation");
}

TEST_F(LowerRefuses, ComputeAtAProducer) {
  biased().compute_at(mm_, m);
  refused("biased.compute_at(mm, m)", "which comes before it");
}

TEST_F(LowerRefuses, ComputeAtALoopThatIsNotAroundAllReaders) {
  Tensor z = compute("z", {m, n}, biased_(m, n) + y_(m, n));
  Schedule schedule(Graph({y_, z}));
  schedule[biased_].compute_at(y_, m);
  refused(schedule, "biased.compute_at(y, m)", "not around z");
}

TEST_F(LowerRefuses, ComputeAtALoopInsideWhichTheReaderIsNot) {
  biased().compute_at(y_, m);
  mm().compute_at(y_, n);
  refused("mm.compute_at(y, n)", "not around biased");
}

TEST_F(LowerRefuses, ComputeAtInsideAVectorizedLoop) {
  y().vectorize(n);
  biased().compute_at(y_, n);
  refused("biased.compute_at(y, n)", "outside the vectorized loop n of y");
}

TEST_F(LowerRefuses, ComputeAtAnInlinedOperation) {
  biased().compute_inline();
  mm().compute_at(biased_, m);
  refused("mm.compute_at(biased, m)", "got biased");
}

TEST_F(LowerRefuses, TwoPlaces) {
  mm().compute_at(y_, m).compute_root();
  refused("mm.compute_root()", "got a second one");
}

TEST_F(LowerRefuses, StoreAtWithoutComputeAt) {
  mm().store_at(y_, m);
  refused("mm.store_at(y, m)", "expected together with compute_at");
}

TEST_F(LowerRefuses, StoreAtALoopInside) {
  biased().compute_at(y_, m).store_at(y_, n);
  refused("biased.store_at(y, n)",
          "expected a loop around y.m, where it is computed (y.m), got y.n");
}

TEST_F(LowerRefuses, StoreAtALoopOfAnother) {
  biased().compute_at(y_, m);
  mm().compute_at(biased_, n).store_at(y_, n);
  refused("mm.store_at(y, n)",
          "expected a loop around biased.n, where it is computed (y.m, biased.m, biased.n), got "
          "y.n");
}

TEST_F(LowerRefuses, StoreRootWithoutComputeAt) {
  mm().store_root();
  refused("mm.store_root()", "expected together with compute_at");
}

TEST_F(LowerRefuses, StoreAtAndStoreRoot) {
  biased().compute_at(y_, n).store_at(y_, m).store_root();
  refused("biased.store_root()", "got a second one");
}

TEST_F(LowerRefuses, StoreRootOverAParallelLoop) {
  y().parallel(m);
  biased().compute_at(y_, n).store_root();
  refused("biased.store_root()", "expected no parallel loop between the storage and y.n");
}

TEST_F(LowerRefuses, StoreAtOverAParallelLoop) {
  y().parallel(n);
  biased().compute_at(y_, n).store_at(y_, m);
  refused("biased.store_at(y, m)",
          "got y.n: its iterations would share what they write; legal: "
          "store_at(y, n) or an inner loop");
}

// b, whose storage is kept, is computed inside the loops of y, where c reads it.
TEST_F(LowerRefuses, KeptStorageBesideASpecialization) {
  const Axis i("i", Extent::size("B"));
  const Tensor in = input("in", f32, {Extent::size("B") + Extent(2)});
  const Axis wide("wide", Extent::size("B") + Extent(2)), j("j", Extent::size("B"));
  const Tensor b = compute("b", {wide}, in(wide)*2.0f);
  const Tensor c = compute("c", {j}, b(j) + b(Expr(j) + 2));
  const Tensor y = compute("y", {i}, c(i) * 2.0f);
  for (const Tensor& special : {b, c, y}) {
    Schedule schedule(y);
    schedule[b].compute_at(y, i).store_root();
    schedule[c].compute_at(y, i);
    schedule[special].specialize(size_value("B") >= 8);
    refused(schedule, "b.store_root()",
            "without specialize where storage is kept, got " + special.name());
  }
}

TEST_F(LowerRefuses, StoreRootOfAnOutput) {
  y().store_root();
  refused("y.store_root()", "not an output");
}

TEST_F(LowerRefuses, HoistStorageWithoutComputeAt) {
  mm().hoist_storage(y_, m);
  refused("mm.hoist_storage(y, m)", "expected together with compute_at");
}

TEST_F(LowerRefuses, HoistStorageInside) {
  biased().compute_at(y_, m).hoist_storage(y_, n);
  refused("biased.hoist_storage(y, n)", "expected a loop around its storage (y.m), got y.n");
}

TEST_F(LowerRefuses, HoistStorageOutOfTheRoot) {
  biased().compute_at(y_, m).store_root().hoist_storage(y_, m);
  refused("biased.hoist_storage(y, m)", "(none: it is at the root), got y.m");
}

TEST_F(LowerRefuses, HoistStorageOverAParallelLoop) {
  y().parallel(n);
  biased().compute_at(y_, n).hoist_storage(y_, m);
  refused("biased.hoist_storage(y, m)",
          "expected no parallel loop between the allocation and the storage, got y.n");
}

TEST_F(LowerRefuses, HoistStorageTwice) {
  biased().compute_at(y_, n).hoist_storage(y_, m).hoist_storage(y_, n);
  refused("biased.hoist_storage(y, n)", "got a second one");
}

TEST_F(LowerRefuses, FoldedStorageOfOneComputation) {
  biased().compute_at(y_, m).fold_storage(m, 4);
  refused("biased.fold_storage(m, 4)", "expected storage that is kept over a loop");
}

TEST_F(LowerRefuses, FoldedStorageTwice) {
  biased().compute_at(y_, n).store_root().fold_storage(m, 4).fold_storage(m, 4);
  refused("biased.fold_storage(m, 4)", "got a second one");
}

TEST_F(LowerRefuses, ReorderStorageOfSomeAxes) {
  biased().reorder_storage({m});
  refused("biased.reorder_storage(m)", "expected all 2 axes of biased, got 1");
}

TEST_F(LowerRefuses, ReorderStorageTwice) {
  biased().reorder_storage({m, n}).reorder_storage({n, m});
  refused("biased.reorder_storage(n, m)", "got a second one");
}

TEST_F(LowerRefuses, AlignStorageTwice) {
  biased().align_storage(n, 16).align_storage(n, 8);
  refused("biased.align_storage(n, 8)", "got a second one");
}

TEST_F(LowerRefuses, LayoutOfAnOutput) {
  y().align_storage(n, 16);
  refused("y.align_storage(n, 16)", "not an output");
}

TEST_F(LowerRefuses, TwoStoreAts) {
  mm().compute_at(y_, n).store_at(y_, n).store_at(y_, n);
  refused("mm.store_at(y, n)", "got a second one");
}

// --- memory -------------------------------------------------------------------------------------

TEST_F(LowerRefuses, StoreInOfAnOutput) {
  y().store_in(Memory::stack);
  refused("y.store_in(stack)", "not an output");
}

TEST_F(LowerRefuses, RegistersForSomethingLarge) {
  const Axis i("i", 100), j("j", 100);
  Tensor a = compute("a", {i, j}, input("x", f32, {100, 100})(i, j) * 2.0f);
  Tensor z = compute("z", {i, j}, a(i, j) + 1.0f);
  Schedule schedule(z);
  schedule[a].store_in(Memory::registers);
  refused(schedule, "a.store_in(registers)", "at most 32768 bytes, got 40000");
}

TEST_F(LowerRefuses, StackForOneElementTooMany) {
  const auto on_the_stack = [](int64_t elements) {
    const Axis i("i", elements);
    Tensor a = compute("a", {i}, input("x", f32, {elements})(i) * 2.0f);
    Schedule schedule(compute("z", {i}, a(i) + 1.0f));
    schedule[a].store_in(Memory::stack);
    return schedule;
  };
  const Schedule fits = on_the_stack(8192);
  EXPECT_NO_THROW(lower(fits.graph(), fits));
  refused(on_the_stack(8193), "a.store_in(stack)", "at most 32768 bytes, got 32772");
}

TEST_F(LowerRefuses, StackForARunTimeSize) {
  const Axis i("i", Extent::size("B"));
  Tensor a = compute("a", {i}, input("x", f32, {Extent::size("B")})(i) * 2.0f);
  Tensor z = compute("z", {i}, a(i) + 1.0f);
  Schedule schedule(z);
  schedule[a].store_in(Memory::stack);
  refused(schedule, "a.store_in(stack)", "depends on a run-time size");
}

// --- pack ---------------------------------------------------------------------------------------

TEST_F(LowerRefuses, PackOfAnInput) {
  mm().pack(x_, m, 2);
  refused("mm.pack(x, m, 2)", "expected a weight or a constant");
}

TEST_F(LowerRefuses, PackOfAStage) {
  y().pack(biased_, n, 2);
  refused("y.pack(biased, n, 2)", "expected a weight or a constant");
}

TEST_F(LowerRefuses, PackAlongAnAxisThatDoesNotIndexIt) {
  mm().pack(w_, m, 2);
  refused("mm.pack(w, m, 2)", "expected an axis that indexes w alone (k or n), got m");
}

TEST_F(LowerRefuses, PackAlongAnUnknownAxis) {
  mm().pack(w_, q, 2);
  refused("mm.pack(w, q, 2)", "got q");
}

TEST_F(LowerRefuses, PackAlongAnAxisThatIsNotAloneThere) {
  const Axis i("i", 5);
  Tensor z = compute("z", {i}, b_(Expr(i) + 1) * 2.0f);
  Schedule schedule(z);
  schedule[z].pack(b_, i, 2);
  refused(schedule, "z.pack(b, i, 2)", "expected an axis that indexes b alone (none), got i");
}

TEST_F(LowerRefuses, PackTwice) {
  mm().pack(w_, n, 5).pack(w_, n, 2);
  refused("mm.pack(w, n, 2)", "not packed yet, got w");
}

TEST_F(LowerRefuses, PackOfAWeightThatItDoesNotRead) {
  mm().pack(b_, n, 5);
  refused("mm.pack(b, n, 5)", "expected a weight that mm reads (w), got b");
}

TEST_F(LowerRefuses, PackThroughAnOperationThatIsNotInline) {
  const Axis i("i", 10);
  Tensor twice = compute("twice", {i}, b_(i) * 2.0f), z = compute("z", {i}, twice(i) + 1.0f);
  Schedule schedule(z);
  schedule[z].pack(b_, i, 2);
  refused(schedule, "z.pack(b, i, 2)", "expected a weight that z reads (none), got b");
}

TEST_F(LowerRefuses, PackThroughAnInlineOperationThatShiftsIt) {
  const Axis i("i", 9);
  Tensor next = compute("next", {i}, b_(Expr(i) + 1)), z = compute("z", {i}, next(i) + 1.0f);
  Schedule schedule(z);
  schedule[next].compute_inline();
  schedule[z].pack(b_, i, 2);
  refused(schedule, "z.pack(b, i, 2)", "expected an axis that indexes b alone (none), got i");
}

TEST_F(LowerRefuses, PackOfARunTimeExtent) {
  const Axis i("i", Extent::size("B"));
  Tensor z = compute("z", {i}, weight("table", f32, {Extent::size("B")})(i) * 2.0f);
  Schedule schedule(z);
  schedule[z].add(directive(DirectiveKind::pack, {"i"}, 2, "table"));
  refused(schedule, "z.pack(table, i, 2)", "expected an extent that is a number, got B");
}

TEST_F(LowerRefuses, PackWhoseNameIsTaken) {
  Tensor taken = weight("b_packed", f32, {10});
  const Axis i("i", 10);
  Tensor z = compute("z", {i}, b_(i) + taken(i));
  Schedule schedule(z);
  schedule[z].pack(b_, i, 2);
  refused(schedule, "z.pack(b, i, 2)", "no buffer is called b_packed, got one");
}

// --- stages -------------------------------------------------------------------------------------

TEST_F(LowerRefuses, CacheWriteIntoANameThatIsTaken) {
  for (const char* name : {"mm", "y", "x", "w"}) {
    Schedule schedule(y_);
    schedule[mm_].cache_write(name);
    refused(schedule, std::string("mm.cache_write(") + name + ")", std::string("got ") + name);
  }
}

TEST_F(LowerRefuses, CacheWriteIntoTheNameOfASize) {
  const Axis i("i", Extent::size("B"));
  Tensor z = compute("z", {i}, input("x", f32, {Extent::size("B")})(i) * 2.0f);
  Schedule schedule(z);
  schedule[z].cache_write("B");
  refused(schedule, "z.cache_write(B)", "got B");
}

TEST_F(LowerRefuses, CacheWriteAfterLoops) {
  mm().unroll(m).cache_write("acc");
  refused("mm.cache_write(acc)", "before the directives on this operation's loops");
}

TEST_F(LowerRefuses, TwoNewStages) {
  mm().cache_write("a").cache_write("b2");
  refused("mm.cache_write(b2)", "got cache_write behind cache_write");
}

TEST_F(LowerRefuses, InlineOfAnOutput) {
  y().compute_inline();
  refused("y.compute_inline()", "expected an operation that is not an output");
}

TEST_F(LowerRefuses, InlineOfAReduction) {
  mm().compute_inline();
  refused("mm.compute_inline()", "expected an operation without a reduction, got a sum");
}

TEST_F(LowerRefuses, InlineWithLoopDirectives) {
  biased().compute_inline().vectorize(n);
  refused("biased.vectorize(n)", "expected no other directive");
}

TEST_F(LowerRefuses, InlineAndAPlace) {
  biased().compute_inline().compute_at(y_, m);
  refused("biased.compute_at(y, m)", "expected no other directive");
}

TEST_F(LowerRefuses, InlineTwice) {
  biased().compute_inline().compute_inline();
  refused("biased.compute_inline()", "got a second one");
}

TEST_F(LowerRefuses, DirectivesForAnUnknownStage) {
  schedule_["nobody"].vectorize(n);
  refused("nobody.vectorize(n)", "got nobody");
}

TEST_F(LowerRefuses, DirectivesForAnInput) {
  schedule_["x"].vectorize(n);
  refused("x.vectorize(n)", "got x");
}

TEST_F(LowerRefuses, ScheduleOfAnotherGraph) {
  Tensor z = compute("z", {m, n}, v_(n, n) * b_(n));
  Schedule other(z);
  other[z].vectorize(n);
  EXPECT_TRUE(throws_with<ScheduleError>([&] { lower(y_, other); },
                                         "with output y, got one of a graph with z"));
}

TEST_F(LowerRefuses, ScheduleOfAGraphWithOtherAxes) {
  const Axis i("i", 4), j("j", 10);
  Tensor other = compute("y", {i, j}, v_(j, j) * b_(j));
  Schedule schedule(other);
  schedule[other].vectorize(j);
  EXPECT_TRUE(throws_with<ScheduleError>([&] { lower(y_, schedule); }, "got j"));
}

// --- text ---------------------------------------------------------------------------------------

TEST_F(LowerRefuses, TextThatNamesAnAxisWhichIsNotThere) {
  EXPECT_TRUE(throws_with<Error>(
      [&] { parse_schedule("emulsion schedule 1\nmm.vectorize(q)\n", Graph(y_)); }, "line 2"));
}

TEST_F(LowerRefuses, TextThatIsLegalAndCannotBeHonoured) {
  const Schedule parsed = parse_schedule("emulsion schedule 1\nmm.parallel(k)\n", Graph(y_));
  refused(parsed, "line 2: mm.parallel(k)", "carries the sum of mm");
}

}  // namespace
}  // namespace emulsion

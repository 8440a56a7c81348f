// Schedules that were refused while Halide inferred bounds of its own, or that its code generator
// could not finish. A nest says all that is needed for them: each computes what its graph says,
// interpreted and compiled, at the edges of guarded memory, with every offset checked.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/illegal/illegal_case.h"
#include "tests/random/check_schedule.h"

namespace emulsion {
namespace {

struct LegalCase {
  const char* name;
  const char* graph;  // by its name in illegal_graph()
  ScheduleLines lines;
};

class FormerlyIllegal : public testing::TestWithParam<LegalCase> {};

TEST_P(FormerlyIllegal, ChangesNothing) {
  const Graph graph = illegal_graph(GetParam().graph);
  std::vector<SizeValues> runs;
  for (int64_t size : {0, 1, 5, 9}) runs.push_back({{"B", size}});
  if (graph.sizes().empty()) runs = {{}};
  check_both_codes(ScheduleProgram{GetParam().name, graph, runs}, GetParam().lines);
}

// clang-format off
const LegalCase kCases[] = {
    {"RfactorTwice", "linear", {"mm.split(k, ko, ki, 4)", "mm.rfactor(ki, part)", "mm.split(ki, a, b, 2)", "mm.rfactor(b, again)"}},
    {"RfactorTwiceOfARunTimeExtent", "batch_sum", {"y.split(r, ro, ri, 4)", "y.rfactor(ri, part)", "y.split(ri, a, b, 3)", "y.rfactor(b, again)", "again.vectorize(b)"}},
    {"RfactorOfAllThatIsLeft", "linear", {"mm.rfactor(k, part)", "mm.rfactor(k, again)"}},
    {"MaskedLoadsOfTwoSplits", "large", {"a.split(i, io, ii, 3, predicate_loads)", "a.vectorize(j, 16, predicate_loads)"}},
    {"MaskedVectorsThatLeaveOneLane", "large", {"y.vectorize(j, 9)"}},
    {"MaskedVectorsThatLeaveOneLaneOfARunTimeSize", "batch_vector", {"a.vectorize(i, 5)"}},
    {"MaskedVectorsOf7LanesThatReadDoubles", "doubles", {"y.vectorize(i, 7)", "a.vectorize(i, 7, predicate)"}},
    {"MaskedLoadsAndStoresOf7LanesOfDoubles", "doubles", {"y.vectorize(i, 7, predicate_stores)", "a.vectorize(i, 7, predicate_loads)"}},
    {"MasksOfAnotherLoopThatLeaveOneLane", "batch", {"y.split(m, mo, mi, 4, predicate)", "y.vectorize(n, 5)"}},
    {"PredicateLoadsOfAnAxisComputedWholeInside", "repeated", {"y.split(i, io, ii, 3)", "a.compute_at(y, io)", "a.split(i, ao, ai, 4, predicate_loads)"}},
    {"PredicateLoadsOfWhatIsComputedWholeInside", "batch", {"biased.reorder(m, n)", "mm.compute_at(biased, n)", "biased.split(m, mo, mi, 8, predicate_loads)"}},
    {"PredicateLoadsInTheStack", "repeated", {"y.split(i, io, ii, 3)", "a.compute_at(y, io)", "a.vectorize(i, 4, predicate_loads)", "a.store_in(stack)"}},
    {"PredicateLoadsOfABatchInVectors", "batch_vector", {"a.vectorize(i, 8, predicate_loads)"}},
    {"PredicateLoadsOfVectorsOf9Lanes", "large", {"a.vectorize(j, 9, predicate_loads)"}},
    {"PredicateLoadsAroundAnUnrolledLoop", "linear", {"biased.split(n, no, ni, 4, predicate_loads)", "biased.unroll(no)"}},
    {"SplitOfALoopOfMaskedStores", "linear", {"y.split(n, no, ni, 4, predicate_stores)", "y.split(ni, a, b, 3)"}},
    {"FuseOfALoopOfMaskedStores", "linear", {"y.split(n, no, ni, 4, predicate_stores)", "y.reorder(no, ni, m)", "y.fuse(ni, no, t)"}},
    {"SplitOfALoopOfMaskedLoads", "linear", {"biased.split(n, no, ni, 8, predicate_loads)", "biased.split(ni, a, b, 3)", "biased.vectorize(b)"}},
    {"SplitOfALoopOfMaskedLoadsNamedAsItsAxis", "linear", {"biased.split(n, no, n, 8, predicate_loads)", "biased.split(n, n, b, 3)", "biased.vectorize(b)"}},
    {"FuseOfALoopOfMaskedLoadsNamedAsItsAxis", "linear", {"biased.split(n, n, ni, 4, predicate_loads)", "biased.fuse(n, ni, n)", "biased.split(n, n, b, 5)"}},
    {"FuseOfALoopOfMaskedLoads", "linear", {"biased.split(n, no, ni, 4, predicate_loads)", "biased.fuse(no, ni, t)"}},
    {"ComputeAtAFusedLoopThatMayBeEmpty", "first_in_rows", {"y.fuse(m, n, t)", "p.compute_at(y, t)"}},
    {"ComputeInsideWhatIsInsideALoopThatMayBeEmpty", "first_in_stages", {"y.reorder(m, n)", "q.compute_at(y, n)", "p.compute_at(q, m)"}},
    {"PrefetchOfASingleValue", "scaled", {"y.prefetch(x, i, 1)"}},
    {"PrefetchAtAParallelLoop", "linear", {"mm.parallel(m)", "mm.prefetch(x, m, 1)"}},
    {"PrefetchOfWhatIsReadInside", "linear", {"biased.compute_at(y, m)", "mm.compute_at(biased, n)", "y.prefetch(x, m, 1)", "y.prefetch(b, m, 2)"}},
    {"ComputeWithWhatItReads", "linear", {"y.compute_with(biased, m)"}},
    {"PrefetchTwiceInSharedLoops", "diamond", {"q.prefetch(a, i, 1)", "p.compute_with(q, j)", "q.prefetch(a, j, 1)"}},
    {"FoldLessThanAStepOfTheEnclosingLoopTouches", "linear", {"y.split(m, mo, mi, 2)", "biased.compute_at(y, mo)", "mm.compute_at(biased, m)", "mm.store_root()", "mm.fold_storage(m, 1)"}},
    {"FoldOverALoopWithATail", "stencil", {"y.split(i, o, p, 2)", "b.compute_at(y, p)", "a.compute_at(y, p)", "a.store_root()", "a.fold_storage(i, 5)"}},
    {"FuseOfAWindow", "stencil", {"b.compute_at(y, i)", "a.compute_at(y, i)", "a.store_root()", "a.fuse(i, j, t)"}},
    {"WindowComputedAgainInEveryColumn", "rows_and_columns", {"a.compute_at(y, j)", "a.store_root()"}},
    {"WindowOfAMaskedReader", "stencil", {"b.compute_at(y, i)", "b.split(i, o, p, 2)", "a.compute_at(y, i)", "a.store_root()"}},
    {"WindowOfAReaderThatIsFusedAndMasked", "stencil", {"b.compute_at(y, i)", "b.fuse(i, j, t)", "b.split(t, o, p, 3, predicate)", "a.compute_at(y, i)", "a.store_root()"}},
    {"WindowOfAReaderThatIsFusedAndMaskedInVectors", "stencil", {"b.compute_at(y, i)", "b.fuse(i, j, t)", "b.vectorize(t, 8, predicate)", "a.compute_at(y, i)", "a.store_root()", "a.fold_storage(i, 4)"}},
    {"WindowOfAReaderThatRoundsUp", "stencil", {"b.compute_at(y, i)", "b.split(i, o, p, 2, round_up)", "a.compute_at(y, i)", "a.store_root()"}},
    {"UnrollOfWhatAReaderThatSlidesNeedsLessOf", "stencil", {"b.compute_at(y, i)", "b.store_root()", "a.compute_at(y, i)", "a.unroll(i)"}},
    {"RoundUpOfWhatAReaderThatSlidesNeedsLessOf", "stencil", {"b.compute_at(y, i)", "b.store_root()", "a.compute_at(y, i)", "a.split(i, o, p, 3, round_up)"}},
    {"WindowOfAReaderWithMaskedLoads", "stencil", {"b.compute_at(y, i)", "b.split(i, o, p, 2, predicate_loads)", "a.compute_at(y, i)", "a.store_root()"}},
    {"MaskedVectorsOf9Lanes", "large", {"y.vectorize(j, 9, predicate)", "a.vectorize(j, 9, predicate_stores)"}},
    {"MaskedVectorsOf13Lanes", "large", {"y.vectorize(j, 13, predicate)", "a.vectorize(j, 13, predicate_stores)"}},
    {"MaskedVectorsOf17Lanes", "large", {"y.vectorize(j, 17, predicate)", "a.vectorize(j, 17, predicate_stores)"}},
    {"MaskedVectorsOf33Lanes", "large", {"y.vectorize(j, 33, predicate)", "a.vectorize(j, 33, predicate_stores)"}},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(All, FormerlyIllegal, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace emulsion

// Random schedules of comprehensions by hand: whatever is split, reordered, computed inside of what
// reads it or kept in a window, the nest and the compiled kernel compute what the graph interpreter
// does, on each level of x86-64, and a schedule with a mistake is refused or computes the same. A
// failure prints what reproduces it:
//
//   ./bazelw test //tests/random:scheduled_comprehensions_test --test_env=EMULSION_SEED=7
//   --test_env=EMULSION_GRAPH=123
//
// EMULSION_GRAPHS is how many graphs there are, EMULSION_GRAPH the number of the only one to run,
// EMULSION_SCHEDULES how many schedules each has. The tests run a few;
// //tests/random:all_scheduled_comprehensions_test, by hand, many.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include "bazel/testing/needs.h"
#include "dsl/graph_text.h"
#include "tests/random/check_schedule.h"
#include "tests/random/level_batches.h"
#include "tests/random/random_comprehensions.h"
#include "tests/random/scheduled_programs.h"
#include "tests/random/test_environment.h"

namespace emulsion {
namespace {

constexpr uint64_t kSeed = 20261127;
constexpr int kGraphs = 360;
constexpr int kSchedules = 2;         // of each graph
constexpr int64_t kMostSteps = 6000;  // of one comprehension

uint64_t base_seed() { return number_from("EMULSION_SEED", kSeed); }

class ScheduledComprehensions : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  void SetUp() override { SKIP_UNLESS_IT_RUNS(level_of(std::get<0>(GetParam()))); }
};

TEST_P(ScheduledComprehensions, AreComputedAsTheyAreWritten) {
  const auto [level, number_of_batch] = GetParam();
  const std::vector<int> numbers = batch(level, number_of_batch, kGraphs);
  ScheduledPrograms total = expect_scheduled(numbers, base_seed(), kSchedules, [](int number) {
    return random_comprehensions(base_seed(), number, {kMostSteps});
  });
  if (std::getenv("EMULSION_GRAPH") != nullptr) return;
  // The least that is tested: of a few graphs some have none of these.
  const auto graphs = static_cast<int>(numbers.size());
  EXPECT_GE(total.schedules, 2 * graphs);
  EXPECT_GE(total.kinds["compute_at"], graphs / 2);
  EXPECT_GE(total.kinds["vectorize"], graphs / 4);
  EXPECT_GE(total.kinds["store_root"] + total.kinds["store_at"], graphs / 10);
}

INSTANTIATE_TEST_SUITE_P(All, ScheduledComprehensions,
                         testing::Combine(testing::Range(0, kLevelCount),
                                          testing::Range(0, kBatches)));

// What random ones have found, as small as still shows it.
struct FoundSchedule {
  const char* name;
  const char* text;
  ScheduleLines lines;
};

class FoundScheduledComprehensions : public testing::TestWithParam<std::tuple<FoundSchedule, int>> {
 protected:
  void SetUp() override { SKIP_UNLESS_IT_RUNS(level_of(std::get<1>(GetParam()))); }
};

TEST_P(FoundScheduledComprehensions, AreComputedAsTheyAreWritten) {
  const auto& [found, level] = GetParam();
  ScheduleProgram program =
      program_of_comprehensions(parse_graph(std::string("emulsion graph 1\n") + found.text), kSeed);
  program.runs = {{}};
  for (const std::string& name : program.graph.sizes()) {
    std::vector<SizeValues> longer;
    for (const SizeValues& sizes : program.runs) {
      for (const int64_t value : {0, 1, 2, 7, 37}) {
        longer.push_back(sizes);
        longer.back()[name] = value;
      }
    }
    program.runs = longer;
  }
  CompileOptions options;
  for (const bool checked : {false, true}) {
    options.checked = checked;
    EXPECT_NO_THROW(check_schedule(program, found.lines, options, level_of(level)));
  }
}

const FoundSchedule kFound[] = {
    // A piece of a partitioned loop prefetched what only another piece reads.
    {"APieceThatDoesNotReadWhatIsPrefetched",
     "size W\n"
     "input x: i16[W]\n"
     "y[i: W] = select(i > 6, f64(i), f64(x[max(min(i - 2, W - 1), 0)]))\n"
     "output y\n",
     {"y.prefetch(x, i, 2)", "y.partition(i)"}},
    {"ALoopAroundOneThatDoesNotReadWhatIsPrefetched",
     "input x: i8[100, 3]\n"
     "y[i: 16, j: 16] = select(j + 1 < 100, 0f, f32(x[1, 1]))\n"
     "output y\n",
     {"y.prefetch(x, i, 2)", "y.partition(j)"}},
    // The bits of a number that no size is, which the check of emitted code did not evaluate.
    {"ACaseOfTheLeastNumberOfAll",
     "size H\n"
     "input x: f32[H]\n"
     "y[i: H] = x[i] + 1f\n"
     "output y\n",
     {"y.specialize(H == -2147483648)"}},
    // Of two pieces that read x one has no step where W is 5 or less: what is asked for reaches as
    // far
    // as where it would begin.
    {"APieceWithoutAStepOfWhatIsPrefetched",
     "size W\n"
     "input x: f32[W, W, 16]\n"
     "y[i: W, j: 16] = select(i == 0 || i >= 5, x[i, i, j], 1f)\n"
     "output y\n",
     {"y.prefetch(x, j, 2)", "y.partition(i)", "y.reorder(i, j)"}},
    // Halide's vectorizer has no mask of many lanes for a load of one element, which says where
    // another is.
    {"OneElementThatSaysWhereInMaskedLanes",
     "size H\n"
     "input x: f32[H, 2*H, 2*H]\n"
     "f[i: 5, j: 5, k: 2*H] = x[k / 2, k, max(min(i32(x[0, k, k]), 1), 0)]\n"
     "y[i: 5, j: 5, k: 2*H] = f[i, j, k] + f32(1)\n"
     "output y\n",
     {"f.vectorize(j, 2, predicate_loads)"}},
    // The same of the indices that checked code asks about.
    {"OneElementThatSaysWhereOfARunTimeSize",
     "size H\n"
     "input x: f64[H, H]\n"
     "f[i: H, j: H] = x[max(min(i32(x[j, j]), H - 1), 0), j]\n"
     "y[i: H, j: H] = f[i, j] + 1d\n"
     "output y\n",
     {"f.vectorize(i, 3, predicate_loads)"}},
    // Halide wrote every second lane of what is one element, made of all lanes.
    {"LanesOfRemaindersThatAreAddedUp",
     "y[i: 9, j: 20] = min(r: 6, k: 4) k % 2\n"
     "output y\n",
     {"y.atomic()", "y.vectorize(k)"}},
    // Beyond the domain what is read inside an index was read at the end of the domain, and was not
    // stored there.
    {"AnIndexFromWhatIsCopiedBeyondTheDomain",
     "size W\n"
     "input x: i32[15, 32]\n"
     "input t: i16[15, 15, 32]\n"
     "f[i: W, j: 32] = x[max(min(i32(t[0, 1, j]), 14), 0), j]\n"
     "y[i: 15, j: W] = f[0, max(i * 2 - 3, 0)]\n"
     "output y\n",
     {"f.compute_at(y, j)", "f.copy_in(t, copy)", "copy.compute_at(f, j)"}},
    // A piece that no size gives a step was a loop all the same.
    {"APieceThatNoSizeGivesAStep",
     "size H\n"
     "input x: i8[2*H]\n"
     "y[i: H] = sum(r: 2*H) select(r <= i, x[r], 3i8)\n"
     "output y\n",
     {"y.partition(i)"}},
    {"AnEdgeThatNoSizeGivesAStep",
     "size H\n"
     "input x: f32[2*H]\n"
     "y[i: H] = x[max(min(i * 2 - 2, 2 * H - 1), 0)]\n"
     "output y\n",
     {"y.partition(i)"}},
    // Of a block of many loops each part is a function, and one freed what was allocated around it.
    {"ABlockOfManyLoopsBehindWhatIsDoneWith",
     "size W\n"
     "input x: f32[200, 64]\n"
     "f[i: 100] = x[i * 2 + 1, 0]\n"
     "y[i: 64, j: W] = f[0]\n"
     "output y\n",
     {"y.copy_in(f, first)", "first.compute_at(y, i)", "f.copy_in(x, copy)", "first.store_root()",
      "y.unroll(i)"}},
    // Of two sizes Halide's simplifier took the smaller one for one less than it may be: a row of
    // two elements was one of one.
    {"APieceThatSaysWhichOfTwoSizesIsLess",
     "size H\n"
     "size W\n"
     "input x: i32[W, H]\n"
     "f[i: W] = i > 8\n"
     "y[i: H, j: W] = select(i >= 3 && i - 3 < W, i8(x[max(min(i - 3, W - 1), 0), max(min(j + 3, "
     "H - 1), 0)]), select(i >= 0 && i < W, i8(f[min(i, W - 1)]), i8(f[j])))\n"
     "output y\n",
     {"y.partition(i)"}},
    {"APieceOfTwoSizesInsideOfAnUnrolledLoop",
     "size H\n"
     "size W\n"
     "input x: i32[W, H]\n"
     "f[i: W] = i > 8\n"
     "y[k: 2, i: H, j: W] = select(i >= 3 && i - 3 < W, i8(x[max(min(i - 3, W - 1), 0), max(min(j "
     "+ "
     "3, H - 1), 0)]), select(i >= 0 && i < W, i8(f[min(i, W - 1)]), i8(f[j])))\n"
     "output y\n",
     {"y.partition(i)", "y.unroll(k)"}},
};

INSTANTIATE_TEST_SUITE_P(All, FoundScheduledComprehensions,
                         testing::Combine(testing::ValuesIn(kFound),
                                          testing::Range(0, kLevelCount)),
                         [](const auto& info) {
                           return name_with_level(std::get<0>(info.param).name,
                                                  std::get<1>(info.param));
                         });

}  // namespace
}  // namespace emulsion

#include "benchmarks/linear_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emulsion::benchmarks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr LinearShape kSquare{1000, 1000, 1000};  // 2 Gflop, and no mark speaks of it

LinearTimes times(LinearShape shape, double fused, double unfused, int threads = 1,
                  bool cold = false) {
  return {shape, threads, cold, {fused}, {fused}, {unfused}, {}};
}

LinearRun run_of(std::vector<LinearTimes> all) {
  LinearRun run;
  run.instructions = "AVX-512";
  run.all_threads = 2;
  run.machine = {{1, false, {100e9}, {10e9}}, {2, false, {200e9}, {20e9}}, {1, true, {}, {5e9}}};
  run.times = std::move(all);
  return run;
}

// Seconds at which a layer runs at this share of the 100 GF/s above.
double at_share(LinearShape shape, double share) {
  return static_cast<double>(shape.flops()) / (share * 100e9);
}

std::vector<std::string> losses_of(const LinearRun& run) { return losses(run, summarise(run)); }

TEST(Summarise, DividesFlopsBySeconds) {
  LinearTimes all = times(kSquare, 0.025, 0.05);
  all.fused_again = {0.0275};
  all.plain = {0.25};
  LinearRow row = summarise(run_of({all})).at(0);
  EXPECT_DOUBLE_EQ(*row.fused_gflops, 80);
  EXPECT_DOUBLE_EQ(*row.unfused_gflops, 40);
  EXPECT_DOUBLE_EQ(*row.share_of_peak, 0.8);
  EXPECT_DOUBLE_EQ(*row.over_unfused, 2);
  EXPECT_DOUBLE_EQ(*row.over_plain, 10);
  EXPECT_DOUBLE_EQ(*row.over_itself, 1.1);
}

TEST(Summarise, ComparesThreadsInTheSameStateOfTheCaches) {
  std::vector<LinearRow> rows =
      summarise(run_of({times(kSquare, 0.04, 1), times(kSquare, 0.08, 1, 1, true),
                        times(kSquare, 0.02, 1, 2), times(kSquare, 0.05, 1, 2, true)}));
  EXPECT_FALSE(rows[0].speed_up);
  EXPECT_FALSE(rows[1].speed_up);
  EXPECT_DOUBLE_EQ(*rows[2].speed_up, 2);
  EXPECT_DOUBLE_EQ(*rows[3].speed_up, 1.6);
}

TEST(Summarise, TakesThePeakOfAsManyThreads) {
  LinearRow row = summarise(run_of({times(kSquare, 0.02, 1, 2)})).at(0);
  EXPECT_DOUBLE_EQ(*row.share_of_peak, 0.5);
}

TEST(Summarise, ComparesColdRowsWithThePeakToo) {
  LinearRow row = summarise(run_of({times(kSquare, 0.04, 1, 1, true)})).at(0);
  EXPECT_DOUBLE_EQ(*row.share_of_peak, 0.5);
}

TEST(Summarise, CountsBytesWhereOneRowReadsAllWeights) {
  constexpr LinearShape kOneRow{1, 999, 1000};
  constexpr double kBytes = 4.0 * (1000 + 999 * 1000 + 999 + 999);
  LinearRun run =
      run_of({times(kOneRow, kBytes / 9e9, 1), times(kOneRow, kBytes / 4e9, 1, 1, true)});
  std::vector<LinearRow> rows = summarise(run);
  EXPECT_DOUBLE_EQ(*rows[0].read_gbytes, 9);
  EXPECT_DOUBLE_EQ(*rows[0].share_of_read, 0.9);
  EXPECT_DOUBLE_EQ(*rows[1].share_of_read, 0.8);
}

TEST(Summarise, DoesNotCountBytesWhereArithmeticIsTheBound) {
  LinearRow row = summarise(run_of({times({64, 64, 64}, 1, 1)})).at(0);
  EXPECT_FALSE(row.read_gbytes);
  EXPECT_FALSE(row.share_of_read);
}

TEST(Summarise, LeavesOutWhatWasNotMeasured) {
  LinearRun run = run_of({times(kSquare, 0.02, 1, 2)});
  run.machine.clear();
  run.times[0].fused_again.clear();
  run.times[0].unfused.clear();
  LinearRow row = summarise(run).at(0);
  EXPECT_TRUE(row.fused_gflops);
  EXPECT_FALSE(row.share_of_peak || row.over_unfused || row.over_plain || row.over_itself ||
               row.speed_up);
}

TEST(Summarise, OfNothingIsNothing) {
  EXPECT_THAT(summarise(LinearRun{}), IsEmpty());
  EXPECT_THAT(losses_of(LinearRun{}), IsEmpty());
}

TEST(Losses, AreNoneAtTheMarks) {
  LinearShape shape{1024, 1024, 1024};
  double one = at_share(shape, 0.86);
  EXPECT_THAT(losses_of(run_of({times(shape, one, one), times(shape, one / 1.92, one, 2)})),
              IsEmpty());
}

TEST(Losses, NameARowThatIsSlowerThanUnfused) {
  EXPECT_THAT(
      losses_of(run_of({times(kSquare, 0.02, 0.019, 2, true)})),
      ElementsAre(AllOf(HasSubstr("1000x1000x1000, 2 threads, cold"),
                        HasSubstr("fused is slower than unfused, 0.950x"),
                        HasSubstr("fused against itself: 1.000x"), Not(HasSubstr("noise")))));
}

TEST(Losses, SayWhenTheNoiseIsLarger) {
  LinearRun run = run_of({times(kSquare, 0.02, 0.019)});
  run.times[0].fused_again = {0.018};
  EXPECT_THAT(losses_of(run), ElementsAre(HasSubstr("itself: 0.900x (within the noise)")));
  run = run_of({times(kSquare, 0.02, 0.019)});
  run.times[0].fused = {0.016, 0.018, 0.02, 0.022, 0.024};
  EXPECT_THAT(losses_of(run), ElementsAre(HasSubstr("(within the noise)")));
}

TEST(Losses, NameASquareBelowItsShareOfThePeak) {
  LinearShape shape{512, 512, 512};
  double seconds = at_share(shape, 0.84);
  EXPECT_THAT(losses_of(run_of({times(shape, seconds, seconds)})),
              ElementsAre(HasSubstr("512x512x512, 1 thread, warm: 0.840 of peak")));
}

TEST(Losses, NameTwoThreadsBelowTheirSpeedUp) {
  LinearShape shape{1024, 1024, 1024};
  double one = at_share(shape, 0.9);
  EXPECT_THAT(losses_of(run_of({times(shape, one, one), times(shape, one / 1.8, one, 2)})),
              ElementsAre(HasSubstr("1.80x the speed of one thread, the mark is 1.9x")));
}

TEST(Losses, NameAKernelThatTakesTwoSeconds) {
  LinearRun run;
  run.kernels = {{kSquare, true, 0.1, 1.9}, {kSquare, false, 0.1, 2.5}};
  EXPECT_THAT(losses_of(run), ElementsAre(HasSubstr("1000x1000x1000 unfused: 2.50 s")));
}

TEST(Losses, PutTheWorstFirst) {
  LinearRun run = run_of({times(kSquare, 0.02, 0.019), times({64, 64, 64}, 2, 1)});
  EXPECT_THAT(losses_of(run), ElementsAre(HasSubstr("64x64x64"), HasSubstr("1000x1000x1000")));
}

TEST(Losses, DoNotJudgeOtherShapesByThePeak) {
  EXPECT_THAT(losses_of(run_of({times(kSquare, at_share(kSquare, 0.1), 10)})), IsEmpty());
}

TEST(Losses, DoNotJudgeColdCachesByThePeak) {
  LinearShape shape{512, 512, 512};
  EXPECT_THAT(losses_of(run_of({times(shape, at_share(shape, 0.1), 10, 1, true)})), IsEmpty());
}

TEST(Losses, DoNotJudgeOtherInstructionsByTheMarksOfAvx512) {
  LinearShape shape{512, 512, 512};
  LinearRun run = run_of({times(shape, at_share(shape, 0.1), 10)});
  run.instructions = "AVX2";
  EXPECT_THAT(losses_of(run), IsEmpty());
}

TEST(Losses, DoNotJudgeFourThreadsByTheMarkOfTwo) {
  LinearShape shape{1024, 1024, 1024};
  double one = at_share(shape, 0.9);
  EXPECT_THAT(losses_of(run_of({times(shape, one, one), times(shape, one / 1.8, one, 4)})),
              IsEmpty());
}

}  // namespace
}  // namespace emulsion::benchmarks

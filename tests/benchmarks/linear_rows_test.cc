#include "benchmarks/linear_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emulsion::benchmarks {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr LinearShape kSquare{1024, 1024, 1024}, kOneRow{1, 4096, 4096};

// A layer that takes these seconds, on a machine that does 100 GF/s and reads 10 GB/s on each
// thread.
Row layer(const LinearSituation& at, double seconds) {
  Row row{layer_name(at), layer_unit(at.shape), layer_work(at.shape)};
  row.seconds = {seconds};
  return row;
}

std::vector<Row> machine() {
  return {{peak_name(1), "GF/s", 100, {1}},
          {peak_name(2), "GF/s", 200, {1}},
          {read_name(1, false), "GB/s", 10, {1}},
          {read_name(1, true), "GB/s", 5, {1}}};
}

// Seconds at which a layer runs at this share of 100 GF/s.
double at_share(const LinearShape& shape, double share) {
  return static_cast<double>(shape.flops()) / (share * 100e9);
}

struct Measured {
  LinearSituation at;
  double seconds;
};

std::vector<std::string> losses_of(const std::vector<Measured>& all,
                                   const std::string& instructions = "AVX-512") {
  Report report;
  report.rows = machine();
  std::vector<LinearSituation> situations;
  for (const Measured& one : all) {
    report.rows.push_back(layer(one.at, one.seconds));
    situations.push_back(one.at);
  }
  add_machine_peers(situations, instructions, &report.rows);
  return losses(report);
}

std::vector<std::string> peers_of(const LinearSituation& at) {
  std::vector<Row> rows = machine();
  rows.push_back(layer({at.shape, 1, at.cold}, 1));
  if (at.threads > 1) rows.push_back(layer(at, 0.5));
  add_machine_peers({at}, "AVX-512", &rows);
  std::vector<std::string> names;
  for (const Peer& peer : rows.back().peers) names.push_back(peer.name);
  return names;
}

TEST(LinearRows, AreNamedByTheirSituation) {
  EXPECT_EQ(layer_name({kSquare, 1, false}), "1024x1024x1024/one_thread/warm");
  EXPECT_EQ(layer_name({kOneRow, 4, true}), "1x4096x4096/all_threads/cold");
}

TEST(LinearRows, CountOperationsOrWhereMemoryIsTheBoundBytes) {
  EXPECT_EQ(layer_unit(kSquare), "GF/s");
  EXPECT_DOUBLE_EQ(layer_work(kSquare), 2e-9 * 1024 * 1024 * 1024);
  EXPECT_EQ(layer_unit({1, 999, 1000}), "GB/s");
  EXPECT_DOUBLE_EQ(layer_work({1, 999, 1000}), 4e-9 * (1000 + 999 * 1000 + 999 + 999));
}

TEST(MachinePeers, AreThePeakOrTheReadAndOneThread) {
  EXPECT_THAT(peers_of({kSquare, 1, false}), ElementsAre("the peak"));
  EXPECT_THAT(peers_of({kSquare, 2, false}), ElementsAre("the peak", "one thread"));
  EXPECT_THAT(peers_of({kSquare, 1, true}), ElementsAre("the peak"));
  EXPECT_THAT(peers_of({kOneRow, 1, true}), ElementsAre("reading memory"));
}

TEST(MachinePeers, AreLeftOutWhereTheyWereNotMeasured) {
  std::vector<Row> rows = {layer({kSquare, 2, false}, 1)};
  add_machine_peers({{kSquare, 2, false}, {kOneRow, 1, false}}, "AVX-512", &rows);
  EXPECT_THAT(rows.at(0).peers, IsEmpty());
}

TEST(Marks, AreReached) {
  const double one = at_share(kSquare, 0.86);
  EXPECT_THAT(losses_of({{{kSquare, 1, false}, one}, {{kSquare, 2, false}, one / 1.92}}),
              IsEmpty());
}

TEST(Marks, NameASquareBelowItsShareOfThePeak) {
  const LinearShape shape{512, 512, 512};
  EXPECT_THAT(losses_of({{{shape, 1, false}, at_share(shape, 0.84)}}),
              ElementsAre(AllOf(StartsWith("512x512x512/one_thread/warm: 0.840x"),
                                HasSubstr("the peak, the mark is 0.85x"))));
}

TEST(Marks, NameTwoThreadsBelowTheirSpeedUp) {
  const double one = at_share(kSquare, 0.9);
  EXPECT_THAT(losses_of({{{kSquare, 1, false}, one}, {{kSquare, 2, false}, one / 1.8}}),
              ElementsAre(HasSubstr("1.800x the speed of one thread, the mark is 1.90x")));
}

TEST(Marks, AreOfTheTwoSquaresOnly) {
  const LinearShape other{1000, 1000, 1000}, flat{512, 512, 64};
  EXPECT_THAT(losses_of({{{other, 1, false}, at_share(other, 0.1)},
                         {{flat, 1, false}, at_share(flat, 0.1)}}),
              IsEmpty());
}

TEST(Marks, AreOfWarmCachesOnly) {
  EXPECT_THAT(losses_of({{{kSquare, 1, true}, at_share(kSquare, 0.1)}}), IsEmpty());
}

TEST(Marks, AreOfAvx512Only) {
  EXPECT_THAT(losses_of({{{kSquare, 1, false}, at_share(kSquare, 0.1)}}, "AVX2"), IsEmpty());
}

TEST(Marks, OfTheSpeedUpAreOfTwoThreadsOnly) {
  const double one = at_share(kSquare, 0.9);
  EXPECT_THAT(losses_of({{{kSquare, 1, false}, one}, {{kSquare, 4, false}, one / 1.8}}), IsEmpty());
}

TEST(NoiseWarnings, SayThatThePeakItselfVaried) {
  std::vector<Row> rows = machine();
  EXPECT_THAT(noise_warnings(rows), IsEmpty());
  rows[1].seconds = {0.8, 0.9, 1, 1.1, 1.2};
  EXPECT_THAT(noise_warnings(rows), ElementsAre(StartsWith("not quiet: the machine's own peak "
                                                           "varied by 20.0 %")));
  rows[1].name = "something else";
  EXPECT_THAT(noise_warnings(rows), IsEmpty());
}

TEST(RowsOfKernels, LoseAtTwoSeconds) {
  Report report;
  report.rows = rows_of({{kSquare, true, 0.1, 1.9}, {kSquare, false, 3, 2.5}});
  ASSERT_EQ(report.rows.size(), 4U);
  EXPECT_THAT(losses(report),
              ElementsAre(StartsWith("compile/1024x1024x1024/unfused/to_its_library: 2.500 s")));
}

}  // namespace
}  // namespace emulsion::benchmarks

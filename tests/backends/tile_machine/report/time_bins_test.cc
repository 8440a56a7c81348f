#include "backends/tile_machine/report/time_bins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace emulsion {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

TEST(TimeBins, ASpanInsideOneColumn) {
  TimeBins bins(40, 4);
  bins.add(12, 17);
  EXPECT_THAT(bins.means(), ElementsAre(0, 0.5, 0, 0));
}

TEST(TimeBins, ASpanOverSeveralColumns) {
  TimeBins bins(40, 4);
  bins.add(5, 32, 2);
  EXPECT_THAT(bins.means(), Pointwise(DoubleNear(1e-12), {1.0, 2.0, 2.0, 0.4}));
}

TEST(TimeBins, TheWholeRun) {
  TimeBins bins(40, 4);
  bins.add(0, 40);
  EXPECT_THAT(bins.means(), Pointwise(DoubleNear(1e-12), {1.0, 1.0, 1.0, 1.0}));
}

TEST(TimeBins, NothingAndNoColumns) {
  TimeBins bins(40, 4);
  bins.add(7, 7);
  EXPECT_THAT(bins.means(), ElementsAre(0, 0, 0, 0));
  TimeBins none(0, 0);
  none.add(0, 1);
  EXPECT_TRUE(none.means().empty());
}

TEST(TimeBins, AgreesWithCountingCycles) {
  std::mt19937_64 random(5);
  TimeBins bins(1000, 7);
  std::vector<double> expected(7, 0);
  for (int round = 0; round < 100; ++round) {
    int64_t start = static_cast<int64_t>(random() % 1000);
    int64_t end = start + static_cast<int64_t>(random() % static_cast<uint64_t>(1001 - start));
    bins.add(start, end);
    for (size_t b = 0; b < 7; ++b) {
      const double low =
          std::max<double>(static_cast<double>(start), 1000.0 / 7 * static_cast<double>(b));
      const double high =
          std::min<double>(static_cast<double>(end), 1000.0 / 7 * static_cast<double>(b + 1));
      expected[b] += std::max(0.0, high - low) / (1000.0 / 7);
    }
  }
  EXPECT_THAT(bins.means(), Pointwise(DoubleNear(1e-9), expected));
}

}  // namespace
}  // namespace emulsion

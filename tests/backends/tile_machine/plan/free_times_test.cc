#include "backends/tile_machine/plan/free_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace emulsion {
namespace {

TEST(FreeTimes, WhatWasNeverUsedIsFreeFromTheStart) {
  const FreeTimes times;
  EXPECT_EQ(times.latest(0, 100).time, 0);
  EXPECT_EQ(times.latest(0, 100).end, 100);
}

TEST(FreeTimes, FindsTheLatestAndItsEnd) {
  FreeTimes times;
  times.set(10, 20, 5);
  times.set(30, 40, 7);
  EXPECT_EQ(times.latest(0, 10).time, 0);
  EXPECT_EQ(times.latest(0, 30).time, 5);
  EXPECT_EQ(times.latest(0, 30).end, 20);
  EXPECT_EQ(times.latest(19, 31).time, 7);
  EXPECT_EQ(times.latest(19, 31).end, 40);
  EXPECT_EQ(times.latest(20, 30).time, 0);
}

TEST(FreeTimes, ALaterUseReplacesAnEarlierOneWhereItLies) {
  FreeTimes times;
  times.set(0, 30, 9);
  times.set(10, 20, 4);
  EXPECT_EQ(times.latest(0, 10).time, 9);
  EXPECT_EQ(times.latest(0, 10).end, 10);
  EXPECT_EQ(times.latest(10, 20).time, 4);
  EXPECT_EQ(times.latest(20, 21).time, 9);
}

TEST(FreeTimes, AgreesWithAPlainList) {
  std::mt19937_64 random(11);
  FreeTimes times;
  std::vector<int64_t> list(64, 0);
  for (int64_t round = 1; round < 3000; ++round) {
    const auto first = static_cast<int64_t>(random() % 64);
    const int64_t last = first + 1 + static_cast<int64_t>(random() % 64) % (64 - first);
    const auto from = list.begin() + first;
    const auto to = list.begin() + last;
    if (random() % 2 == 0) {
      const auto time = static_cast<int64_t>(random() % 100);
      times.set(first, last, time);
      std::fill(from, to, time);
    }
    ASSERT_EQ(times.latest(first, last).time, *std::max_element(from, to)) << "round " << round;
  }
}

}  // namespace
}  // namespace emulsion

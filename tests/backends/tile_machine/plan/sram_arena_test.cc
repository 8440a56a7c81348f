#include "backends/tile_machine/plan/sram_arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

constexpr int64_t kAnyTime = SramArena::kAnyTime;

TEST(SramArena, StartsWithOneHole) {
  const SramArena arena(1024);
  EXPECT_EQ(arena.find(1024, kAnyTime), 0);
  EXPECT_EQ(arena.find(1025, kAnyTime), std::nullopt);
  EXPECT_EQ(arena.free_bytes(), 1024);
  EXPECT_EQ(arena.largest_hole(), 1024);
}

TEST(SramArena, OfNothingHoldsNothing) {
  const SramArena arena(0);
  EXPECT_EQ(arena.find(1, kAnyTime), std::nullopt);
  EXPECT_EQ(arena.largest_hole(), 0);
}

TEST(SramArena, TakesTheSmallestHoleThatFits) {
  SramArena arena(1024);
  arena.take(0, 1024);
  arena.release(0, 256, 0);
  arena.release(512, 64, 0);
  arena.release(704, 128, 0);
  EXPECT_EQ(arena.find(64, kAnyTime), 512);
  EXPECT_EQ(arena.find(65, kAnyTime), 704);
  EXPECT_EQ(arena.find(129, kAnyTime), 0);
  EXPECT_EQ(arena.find(257, kAnyTime), std::nullopt);
  EXPECT_EQ(arena.free_bytes(), 256 + 64 + 128);
}

TEST(SramArena, TakesTheLowestOfEqualHoles) {
  SramArena arena(1024);
  arena.take(0, 1024);
  arena.release(640, 64, 0);
  arena.release(128, 64, 0);
  EXPECT_EQ(arena.find(64, kAnyTime), 128);
}

TEST(SramArena, HolesThatTouchAreOne) {
  SramArena arena(192);
  arena.take(0, 192);
  arena.release(0, 64, 0);
  arena.release(128, 64, 0);
  EXPECT_EQ(arena.largest_hole(), 64);
  arena.release(64, 64, 0);
  EXPECT_EQ(arena.find(192, kAnyTime), 0);
}

TEST(SramArena, TakesFromTheMiddleOfAHole) {
  SramArena arena(192);
  arena.take(64, 64);
  EXPECT_EQ(arena.largest_hole(), 64);
  EXPECT_EQ(arena.free_bytes(), 128);
  arena.release(64, 64, 0);
  EXPECT_EQ(arena.largest_hole(), 192);
}

TEST(SramArena, ChecksWhatItIsTold) {
  SramArena arena(256);
  arena.take(64, 64);
  EXPECT_INTERNAL_ERROR(arena.take(64, 64), "is not free");
  EXPECT_INTERNAL_ERROR(arena.take(0, 128), "[0, 128) is not free");
  EXPECT_INTERNAL_ERROR(arena.take(192, 128), "[192, 320) is not free");
  EXPECT_INTERNAL_ERROR(arena.release(0, 64, 0), "[0, 64) is free already");
  EXPECT_INTERNAL_ERROR(arena.release(64, 128, 0), "[64, 192) is free already");
  EXPECT_INTERNAL_ERROR(arena.release(192, 128, 0), "is not in SRAM");
  EXPECT_EQ(arena.free_bytes(), 192);
}

// [0, 64) and [128, 192) and [256, 320) are holes, free from 30, 10 and 20 on.
SramArena arena_in_use() {
  SramArena arena(320);
  arena.take(0, 320);
  arena.release(0, 64, 30);
  arena.release(128, 64, 10);
  arena.release(256, 64, 20);
  return arena;
}

TEST(SramArena, PassesOverAPlaceThatIsStillInUse) {
  const SramArena arena = arena_in_use();
  EXPECT_EQ(arena.find(64, 30), 0);
  EXPECT_EQ(arena.find(64, 29), 128);
  EXPECT_EQ(arena.find(64, 10), 128);
}

TEST(SramArena, TakesWhatIsFreeFirstWhenNothingIsFreeInTime) {
  EXPECT_EQ(arena_in_use().find(64, 9), 128);
  EXPECT_EQ(arena_in_use().find(65, 9), std::nullopt);
}

TEST(SramArena, PassesOverTheStartOfAHoleThatIsStillInUse) {
  SramArena arena(1024);
  arena.take(0, 192);
  arena.release(64, 64, 100);
  arena.release(128, 64, 50);
  EXPECT_EQ(arena.largest_hole(), 1024 - 64);
  EXPECT_EQ(arena.find(64, 100), 64);
  EXPECT_EQ(arena.find(64, 99), 128);
  EXPECT_EQ(arena.find(64, 49), 192);
  EXPECT_EQ(arena.find(1024 - 128, 99), 128);
  EXPECT_EQ(arena.find(1024 - 64, 49), 64) << "it has to wait: there is no other";
}

TEST(SramArena, APlaceIsInUseUntilAllOfItIsFree) {
  SramArena arena(256);
  arena.take(0, 256);
  arena.release(0, 64, 10);
  arena.release(64, 64, 40);
  arena.release(192, 64, 20);
  EXPECT_EQ(arena.find(128, 0), 0);
  EXPECT_EQ(arena.find(64, 20), 192) << "the smallest hole";
  EXPECT_EQ(arena.find(64, 15), 0);
}

TEST(SramArena, LooksAtSoManyPlacesAndNoMore) {
  const int64_t holes = SramArena::kMostPlaces + 2;
  SramArena arena(128 * holes);
  arena.take(0, 128 * holes);
  for (int64_t i = 0; i < holes; ++i) arena.release(128 * i, 64, 1000 - i);
  const int64_t last = SramArena::kMostPlaces - 1;
  EXPECT_EQ(arena.find(64, 0), 128 * last);
  EXPECT_EQ(arena.find(64, 1000 - last), 128 * last);
}

// Against a plain list of bytes, each with the time from which it is free.
TEST(SramArena, AgreesWithAPlainList) {
  constexpr int64_t kUsed = -1;
  std::mt19937_64 random(7);
  SramArena arena(100);
  std::vector<int64_t> free_from(100, 0);
  std::vector<std::pair<int64_t, int64_t>> taken;
  // Whether all of [at, at + bytes) is free, and from when on.
  auto place = [&](int64_t at, int64_t bytes) -> std::optional<int64_t> {
    int64_t time = 0;
    for (int64_t i = at; i < at + bytes; ++i) {
      if (i >= 100 || free_from[static_cast<size_t>(i)] == kUsed) return std::nullopt;
      time = std::max(time, free_from[static_cast<size_t>(i)]);
    }
    return time;
  };
  int64_t waits = 0;
  for (int round = 0; round < 4000; ++round) {
    if (!taken.empty() && random() % 2 == 0) {
      const size_t which = random() % taken.size();
      const auto [address, bytes] = taken[which];
      const int64_t time = round + static_cast<int64_t>(random() % 20);
      arena.release(address, bytes, time);
      for (int64_t i = 0; i < bytes; ++i) free_from[static_cast<size_t>(address + i)] = time;
      taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      const int64_t bytes = 1 + static_cast<int64_t>(random() % 12);
      // The least of (the wait, the size of the hole, the address).
      using Choice = std::tuple<int64_t, int64_t, int64_t>;
      std::optional<Choice> best;
      for (int64_t at = 0; at < 100; ++at) {
        const std::optional<int64_t> time = place(at, bytes);
        if (!time) continue;
        int64_t first = at;
        int64_t last = at + bytes;
        while (first > 0 && place(first - 1, 1)) --first;
        while (place(last, 1)) ++last;
        const Choice choice = {std::max<int64_t>(*time - round, 0), last - first, at};
        if (!best || choice < *best) best = choice;
      }
      const std::optional<int64_t> found = arena.find(bytes, round);
      ASSERT_EQ(found.has_value(), best.has_value());
      if (!found) continue;
      ASSERT_EQ(*found, std::get<2>(*best)) << "round " << round;
      waits += std::get<0>(*best) > 0 ? 1 : 0;
      arena.take(*found, bytes);
      for (int64_t i = 0; i < bytes; ++i) free_from[static_cast<size_t>(*found + i)] = kUsed;
      taken.emplace_back(*found, bytes);
    }
    ASSERT_EQ(arena.free_bytes(), 100 - std::count(free_from.begin(), free_from.end(), kUsed));
  }
  EXPECT_GT(waits, 50);
}

}  // namespace
}  // namespace emulsion

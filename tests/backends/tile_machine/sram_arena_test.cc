#include "backends/tile_machine/sram_arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

TEST(SramArena, StartsWithOneHole) {
  const SramArena arena(1024);
  EXPECT_EQ(arena.find(1024), 0);
  EXPECT_EQ(arena.find(1025), std::nullopt);
  EXPECT_EQ(arena.free_bytes(), 1024);
  EXPECT_EQ(arena.largest_hole(), 1024);
}

TEST(SramArena, OfNothingHoldsNothing) {
  const SramArena arena(0);
  EXPECT_EQ(arena.find(1), std::nullopt);
  EXPECT_EQ(arena.largest_hole(), 0);
}

TEST(SramArena, TakesTheSmallestHoleThatFits) {
  SramArena arena(1024);
  arena.take(0, 1024);
  arena.release(0, 256);
  arena.release(512, 64);
  arena.release(704, 128);
  EXPECT_EQ(arena.find(64), 512);
  EXPECT_EQ(arena.find(65), 704);
  EXPECT_EQ(arena.find(129), 0);
  EXPECT_EQ(arena.find(257), std::nullopt);
  EXPECT_EQ(arena.free_bytes(), 256 + 64 + 128);
}

TEST(SramArena, TakesTheLowestOfEqualHoles) {
  SramArena arena(1024);
  arena.take(0, 1024);
  arena.release(640, 64);
  arena.release(128, 64);
  EXPECT_EQ(arena.find(64), 128);
}

TEST(SramArena, HolesThatTouchAreOne) {
  SramArena arena(192);
  arena.take(0, 192);
  arena.release(0, 64);
  arena.release(128, 64);
  EXPECT_EQ(arena.largest_hole(), 64);
  arena.release(64, 64);
  EXPECT_EQ(arena.find(192), 0);
}

TEST(SramArena, TakesFromTheMiddleOfAHole) {
  SramArena arena(192);
  arena.take(64, 64);
  EXPECT_EQ(arena.largest_hole(), 64);
  EXPECT_EQ(arena.free_bytes(), 128);
  arena.release(64, 64);
  EXPECT_EQ(arena.largest_hole(), 192);
}

TEST(SramArena, ChecksWhatItIsTold) {
  SramArena arena(256);
  arena.take(64, 64);
  EXPECT_INTERNAL_ERROR(arena.take(64, 64), "is not free");
  EXPECT_INTERNAL_ERROR(arena.take(0, 128), "[0, 128) is not free");
  EXPECT_INTERNAL_ERROR(arena.take(192, 128), "[192, 320) is not free");
  EXPECT_INTERNAL_ERROR(arena.release(0, 64), "[0, 64) is free already");
  EXPECT_INTERNAL_ERROR(arena.release(64, 128), "[64, 192) is free already");
  EXPECT_INTERNAL_ERROR(arena.release(192, 128), "is not in SRAM");
  EXPECT_EQ(arena.free_bytes(), 192);
}

// Against a plain list of bytes.
TEST(SramArena, AgreesWithAPlainList) {
  std::mt19937_64 random(7);
  SramArena arena(100);
  std::vector<bool> used(100, false);
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (int round = 0; round < 2000; ++round) {
    if (!taken.empty() && random() % 2 == 0) {
      const size_t which = random() % taken.size();
      const auto [address, bytes] = taken[which];
      arena.release(address, bytes);
      for (int64_t i = 0; i < bytes; ++i) used[static_cast<size_t>(address + i)] = false;
      taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      const int64_t bytes = 1 + static_cast<int64_t>(random() % 12);
      int64_t best = -1;
      int64_t best_size = 101;
      for (int64_t at = 0; at < 100;) {
        int64_t end = at;
        while (end < 100 && !used[static_cast<size_t>(end)]) ++end;
        if (end - at >= bytes && end - at < best_size) {
          best = at;
          best_size = end - at;
        }
        at = end + 1;
      }
      const std::optional<int64_t> found = arena.find(bytes);
      ASSERT_EQ(found.value_or(-1), best);
      if (!found) continue;
      arena.take(*found, bytes);
      for (int64_t i = 0; i < bytes; ++i) used[static_cast<size_t>(*found + i)] = true;
      taken.emplace_back(*found, bytes);
    }
    ASSERT_EQ(arena.free_bytes(), std::count(used.begin(), used.end(), false));
  }
}

}  // namespace
}  // namespace emulsion

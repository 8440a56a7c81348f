#include "backends/runtime/kept_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

#include "backends/runtime/emulsion_runtime.h"

namespace emulsion::runtime {
namespace {

constexpr size_t kLarge = size_t{8} << 20;
constexpr int64_t kEnough = int64_t{64} << 20;

// Keeps nothing of what came before, and leaves nothing.
class KeptMemory : public ::testing::Test {
 protected:
  KeptMemory() {
    before_ = set_kept_limit(0);
    set_kept_limit(kEnough);
  }
  ~KeptMemory() override {
    set_kept_limit(0);
    set_kept_limit(before_);
  }
  void* given_back(size_t size) {
    void* const memory = take_memory(size);
    give_memory_back(memory);
    return memory;
  }

 private:
  int64_t before_ = 0;
};

// What the system has handed out to this thread so far, in pages.
int64_t pages_touched() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}

TEST_F(KeptMemory, IsGivenToTheNextThatAsksForAsMuch) {
  for (const size_t size : {kLeastKept, size_t{1} << 20, kLarge}) {
    void* const memory = given_back(size);
    ASSERT_NE(memory, nullptr);
    EXPECT_GE(kept_bytes(), static_cast<int64_t>(size));
    void* const again = take_memory(size);
    EXPECT_EQ(again, memory) << size;
    EXPECT_EQ(kept_bytes(), 0) << "what is taken is not kept";
    give_memory_back(again);
    set_kept_limit(0);
    set_kept_limit(kEnough);
  }
}

TEST_F(KeptMemory, IsNotHandedOutByTheSystemAgain) {
  for (const size_t size : {size_t{1} << 20, kLarge}) {
    const auto use = [&] {
      void* const memory = take_memory(size);
      std::memset(memory, 1, size);
      give_memory_back(memory);
    };
    use();
    const int64_t before = pages_touched();
    for (int i = 0; i < 10; ++i) use();
    EXPECT_LT(pages_touched() - before, 10) << size;
  }
}

TEST_F(KeptMemory, IsGivenToWhoAsksForALittleLess) {
  void* const memory = given_back(kLarge);
  void* const again = take_memory(kLarge / 2);
  EXPECT_EQ(again, memory);
  give_memory_back(again);
  EXPECT_EQ(kept_bytes(), static_cast<int64_t>(kLarge)) << "and counts as what it is";
}

TEST_F(KeptMemory, IsNotGivenToWhoAsksForMuchLess) {
  void* const memory = given_back(kLarge);
  void* const other = take_memory(kLarge / 2 - kAlignment);
  EXPECT_NE(other, memory);
  EXPECT_EQ(kept_bytes(), static_cast<int64_t>(kLarge));
  give_memory_back(other);
}

TEST_F(KeptMemory, IsNotGivenToWhoAsksForMore) {
  void* const memory = given_back(kLarge);
  void* const other = take_memory(kLarge + 1);
  EXPECT_NE(other, memory);
  std::memset(other, 1, kLarge + 1);
  give_memory_back(other);
}

TEST_F(KeptMemory, TheSmallestThatFitsIsTaken) {
  std::vector<void*> blocks;
  for (const size_t size : {kLarge, kLarge / 2 + kLarge / 4, kLarge / 2}) {
    blocks.push_back(take_memory(size));
  }
  for (void* block : blocks) give_memory_back(block);
  void* const taken = take_memory(kLarge / 2);
  EXPECT_EQ(taken, blocks.back());
  give_memory_back(taken);
}

TEST_F(KeptMemory, SmallBlocksAreNotKept) {
  give_memory_back(take_memory(kLeastKept - kAlignment));
  give_memory_back(take_memory(0));
  EXPECT_EQ(kept_bytes(), 0);
}

TEST_F(KeptMemory, NothingIsGivenBackAsNothing) {
  give_memory_back(nullptr);
  EXPECT_EQ(kept_bytes(), 0);
}

TEST_F(KeptMemory, NoMoreIsKeptThanTheLimit) {
  set_kept_limit(2 * kLarge);
  std::vector<void*> blocks;
  for (int i = 0; i < 5; ++i) blocks.push_back(take_memory(kLarge));
  for (void* block : blocks) {
    give_memory_back(block);
    EXPECT_LE(kept_bytes(), static_cast<int64_t>(2 * kLarge));
  }
  EXPECT_EQ(kept_bytes(), static_cast<int64_t>(2 * kLarge));
}

TEST_F(KeptMemory, WhatIsLargerThanTheLimitLeavesTheOthersWhereTheyAre) {
  set_kept_limit(static_cast<int64_t>(kLarge));
  given_back(kLarge);
  given_back(2 * kLarge);
  EXPECT_EQ(kept_bytes(), static_cast<int64_t>(kLarge));
}

TEST_F(KeptMemory, TheOldestMakesRoom) {
  set_kept_limit(static_cast<int64_t>(3 * kLarge));
  std::vector<void*> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(take_memory(kLarge));
  give_memory_back(take_memory(kLeastKept));  // so that it is not the first place that is emptied
  for (void* block : {blocks[2], blocks[0], blocks[3], blocks[1]}) give_memory_back(block);
  std::set<void*> left;
  for (int i = 0; i < 3; ++i) left.insert(take_memory(kLarge));
  EXPECT_EQ(left, (std::set<void*>{blocks[0], blocks[3], blocks[1]}));
  EXPECT_EQ(kept_bytes(), 0);
  for (void* block : left) give_memory_back(block);
}

TEST_F(KeptMemory, MoreBlocksThanThereArePlacesFor) {
  std::vector<void*> blocks;
  constexpr int kBlocks = 200;
  for (int i = 0; i < kBlocks; ++i) blocks.push_back(take_memory(kLeastKept));
  for (void* block : blocks) give_memory_back(block);
  EXPECT_GT(kept_bytes(), 0);
  EXPECT_LT(kept_bytes(), kBlocks * static_cast<int64_t>(kLeastKept));
}

TEST_F(KeptMemory, ALowerLimitFreesAtOnce) {
  given_back(kLarge);
  EXPECT_EQ(set_kept_limit(1), kEnough);
  EXPECT_EQ(kept_bytes(), 0);
  EXPECT_EQ(set_kept_limit(-7), 1);
  EXPECT_EQ(set_kept_limit(kEnough), 0) << "less than nothing is nothing";
}

TEST_F(KeptMemory, WithoutALimitNothingIsKept) {
  set_kept_limit(0);
  given_back(kLarge);
  EXPECT_EQ(kept_bytes(), 0);
}

TEST_F(KeptMemory, IsAlignedAndMayBeReadAround) {
  for (const size_t size : {size_t{1}, size_t{100}, kLeastKept, kLarge - 1, kLarge}) {
    auto* const memory = static_cast<char*>(take_memory(size));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % kAlignment, 0U) << size;
    std::memset(memory, 7, size);
    volatile int sum = 0;
    for (size_t i = 1; i <= kAlignment; ++i) sum = sum + memory[size + i - 1] + *(memory - i);
    give_memory_back(memory);
  }
}

TEST_F(KeptMemory, MoreThanThereIsIsRefused) {
  EXPECT_EQ(take_memory(SIZE_MAX), nullptr);
  EXPECT_EQ(take_memory(SIZE_MAX / 2 + 1), nullptr);
  EXPECT_EQ(take_memory(size_t{1} << 60), nullptr);
}

TEST_F(KeptMemory, WhatIsKeptIsFreedBeforeSomebodyIsRefused) {
  given_back(kLarge);
  EXPECT_EQ(take_memory(size_t{1} << 60), nullptr);
  EXPECT_EQ(kept_bytes(), 0);
}

// Of large pages nothing is left in this process's address space, which limits count.
TEST_F(KeptMemory, WhatIsFreedLeavesNoMappings) {
  set_kept_limit(0);
  const auto mapped_bytes = [] {
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * sysconf(_SC_PAGESIZE);
  };
  given_back(kLarge);
  const int64_t before = mapped_bytes();
  for (int i = 0; i < 100; ++i) given_back(kLarge);
  EXPECT_LT(mapped_bytes() - before, static_cast<int64_t>(2 * kLarge));
}

TEST_F(KeptMemory, NoBlockIsInTwoHands) {
  constexpr int kThreads = 8, kTurns = 20000;
  std::atomic<int> clashes{0};
  std::vector<std::thread> threads;
  for (int id = 1; id <= kThreads; ++id) {
    threads.emplace_back([&, id] {
      for (int turn = 0; turn < kTurns; ++turn) {
        const size_t size = kLeastKept << ((turn + id) % 3);
        auto* const memory = static_cast<volatile int*>(take_memory(size));
        const size_t last = size / sizeof(int) - 1;
        memory[0] = id;
        memory[last] = id;
        if (turn % 64 == 0) std::this_thread::yield();
        if (memory[0] != id || memory[last] != id) ++clashes;
        give_memory_back(const_cast<int*>(memory));
        if (id == 1 && turn % 1000 == 0) set_kept_limit(turn % 2000 == 0 ? 0 : kEnough);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(clashes, 0);
  set_kept_limit(0);
  EXPECT_EQ(kept_bytes(), 0) << "everything is counted once";
}

TEST_F(KeptMemory, AChildHasItsOwn) {
  void* const memory = given_back(kLarge);
  const pid_t child = fork();
  if (child == 0) {
    void* const taken = take_memory(kLarge);
    std::memset(taken, 1, kLarge);
    give_memory_back(taken);
    _exit(taken == memory ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(take_memory(kLarge), memory);
  give_memory_back(memory);
}

TEST(SetKeptMemory, IsTheLimitOfTheProcess) {
  const int64_t before = emulsion_set_kept_memory(1 << 20);
#ifndef __SANITIZE_ADDRESS__
  EXPECT_EQ(before, kDefaultKept);
#endif
  EXPECT_EQ(emulsion_set_kept_memory(0), 1 << 20);
  EXPECT_EQ(emulsion_set_kept_memory(before), 0);
}

}  // namespace
}  // namespace emulsion::runtime

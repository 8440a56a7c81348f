// What of a kernel's storage is on the stack, where there is more of it than a small stack holds.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/error.h"
#include "passes/lower/lower.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/stack_tiles.h"

namespace emulsion {
namespace {

using Kept = std::vector<std::string>;

// Of each tile of the nest, in its order, the name and where it is: "t0 stack".
Kept allocs_of(const Schedule& schedule) {
  EXPECT_TRUE(lowers(schedule.graph(), schedule));
  const std::string text = to_string(lower(schedule.graph(), schedule));
  Kept found;
  for (size_t at = text.find("alloc "); at != std::string::npos; at = text.find("alloc ", at + 1)) {
    const std::string line = text.substr(at + 6, text.find('\n', at) - at - 6);
    const size_t memory = line.find("] in ");
    if (line[0] == 't' && memory != std::string::npos) {
      found.push_back(line.substr(0, line.find('[')) + " " + line.substr(memory + 5));
    }
  }
  return found;
}

void refused(const Schedule& schedule, const std::string& cause) {
  EXPECT_TRUE(throws_with<ScheduleError>([&] { lower(schedule.graph(), schedule); }, cause));
}

TEST(FitStack, WhatASmallStackHoldsStays) {
  EXPECT_EQ(allocs_of(tiles_at_once({16, 16, 8})), (Kept{"t0 stack", "t1 stack", "t2 stack"}));
}

TEST(FitStack, TheLargestGoesToTheHeap) {
  EXPECT_EQ(allocs_of(tiles_at_once({16, 32})), (Kept{"t0 stack", "t1 heap"}));
  EXPECT_EQ(allocs_of(tiles_at_once({32, 16})), (Kept{"t0 heap", "t1 stack"}));
}

TEST(FitStack, NoMoreGoesThanHasTo) {
  EXPECT_EQ(allocs_of(tiles_at_once({16, 16, 16, 4})),
            (Kept{"t0 stack", "t1 stack", "t2 heap", "t3 stack"}));
  EXPECT_EQ(allocs_of(tiles_at_once({32, 32, 32})), (Kept{"t0 stack", "t1 heap", "t2 heap"}));
}

TEST(FitStack, WhatWasAskedForStays) {
  for (const Memory memory : {Memory::stack, Memory::registers}) {
    Schedule schedule = tiles_at_once({8, 32, 4});
    schedule["t1"].store_in(memory);
    schedule["t2"].store_in(Memory::heap);
    EXPECT_EQ(allocs_of(schedule), (Kept{"t0 stack", "t1 " + to_string(memory), "t2 heap"}));
    schedule["t0"].store_in(Memory::heap);
    EXPECT_EQ(allocs_of(schedule)[1], "t1 " + to_string(memory));
  }
  Schedule schedule = tiles_at_once({16, 32});
  schedule["t1"].store_in(Memory::stack);
  EXPECT_EQ(allocs_of(schedule), (Kept{"t0 heap", "t1 stack"}));
}

// The one in front of it in the same function, which leaves its place.
TEST(FitStack, WhatIsDoneWithLeavesItsPlace) {
  EXPECT_EQ(allocs_of(tiles_in_turn({32, 32, 16, 32})),
            (Kept{"t0 stack", "t1 stack", "t2 stack", "t3 stack"}));
}

TEST(FitStack, ALargerOneHasAPlaceOfItsOwn) {
  EXPECT_EQ(allocs_of(tiles_in_turn({8, 16, 32})), (Kept{"t0 stack", "t1 stack", "t2 heap"}));
}

TEST(FitStack, OneOfAnotherTypeHasAPlaceOfItsOwn) {
  EXPECT_EQ(allocs_of(tiles_in_turn({32, 16}, {f32, i32})), (Kept{"t0 heap", "t1 stack"}));
}

// Bodies of parallel loops are functions of their own: of one after another the larger counts.
TEST(FitStack, ParallelLoopsHaveFramesOfTheirOwn) {
  Schedule schedule = tiles_in_turn({32, 32, 32}, {f32, i32, f32});
  for (const char* output : {"y0", "y1", "y2"}) schedule[output].parallel(Axis("i"));
  EXPECT_EQ(allocs_of(schedule), (Kept{"t0 stack", "t1 stack", "t2 stack"}));
}

TEST(FitStack, AFrameComesOnTopOfThoseAroundIt) {
  for (const int64_t kib : {4, 16}) {
    Schedule schedule = nested_tiles(kib, 32);
    schedule["y"].parallel(Axis("j"));
    EXPECT_EQ(allocs_of(schedule), (Kept{"t0 stack", kib == 4 ? "t1 stack" : "t1 heap"}));
  }
}

// What a function has behind a call is in its frame during the call.
TEST(FitStack, AFrameIsThereAsLongAsItsFunctionRuns) {
  for (const int64_t kib : {8, 16}) {
    Schedule schedule = tiles_in_turn({32, kib}, {f32, i32});
    schedule["y0"].parallel(Axis("i"));
    EXPECT_EQ(allocs_of(schedule), (Kept{kib == 8 ? "t0 stack" : "t0 heap", "t1 stack"}));
  }
}

TEST(FitStack, MemoryThatIsThereBeforeIsCountedOnce) {
  Schedule schedule = nested_tiles(4, 32);
  schedule["t1"].hoist_storage("y", Axis("i"));
  EXPECT_EQ(allocs_of(schedule), (Kept{"t1 stack", "t0 stack", "t1 hoisted"}));
}

TEST(FitStack, RefusesWhatIsAskedForAndTooMuch) {
  for (const Memory memory : {Memory::stack, Memory::registers}) {
    Schedule schedule = tiles_at_once({32, 4, 16});
    schedule["t0"].store_in(Memory::stack);
    schedule["t2"].store_in(memory);
    refused(schedule,
            "t2.store_in(" + to_string(memory) +
                "): expected at most 40960 bytes on the stack at once, as many as a small "
                "stack has room for, got 49152 with those of other operations; legal: "
                "heap, or compute_at an inner loop");
    schedule["t1"].store_in(Memory::registers);
    refused(schedule, "got 53248");
  }
  Schedule fits = tiles_at_once({32, 8});
  for (const char* tile : {"t0", "t1"}) fits[tile].store_in(Memory::stack);
  EXPECT_EQ(allocs_of(fits), (Kept{"t0 stack", "t1 stack"}));
}

TEST(FitStack, RefusesByTheDirectiveThatIsOneTooMany) {
  Schedule schedule = tiles_in_turn({16, 32});
  for (const char* tile : {"t0", "t1"}) schedule[tile].store_in(Memory::stack);
  refused(schedule, "t1.store_in(stack): expected at most 40960 bytes on the stack at once");
  Schedule inside = nested_tiles(16, 32);
  inside["y"].parallel(Axis("j"));
  for (const char* tile : {"t0", "t1"}) inside[tile].store_in(Memory::registers);
  refused(inside, "t1.store_in(registers): expected at most 40960 bytes on the stack at once");
}

}  // namespace
}  // namespace emulsion

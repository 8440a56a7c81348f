#include "passes/analyse/machine_model.h"

#include <gtest/gtest.h>

#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

// 100 GF/s; 1000 bytes at 50 GB/s, the rest at 10.
MachineModel small_machine() { return {100, {{"cache", 1000, 50}, {"main memory", 0, 10}}}; }

TEST(MachineModel, TheRoofIsTheLesserOfPeakAndBandwidth) {
  const Roof roof{100, 10};
  EXPECT_EQ(roof.ridge(), 10);
  EXPECT_EQ(roof.attainable(2), 20);
  EXPECT_EQ(roof.attainable(10), 100);
  EXPECT_EQ(roof.attainable(1000), 100);
}

TEST(MachineModel, TheNearestMemoryThatHoldsAll) {
  EXPECT_EQ(small_machine().memory_of(0).name, "cache");
  EXPECT_EQ(small_machine().memory_of(1000).name, "cache");
  EXPECT_EQ(small_machine().memory_of(1001).name, "main memory");
}

TEST(MachineModel, APassTakesAsLongAsItsLimit) {
  EXPECT_DOUBLE_EQ(small_machine().seconds(1000, 100), 10e-9);   // operations
  EXPECT_DOUBLE_EQ(small_machine().seconds(100, 1000), 20e-9);   // the cache
  EXPECT_DOUBLE_EQ(small_machine().seconds(100, 2000), 200e-9);  // main memory
  EXPECT_DOUBLE_EQ(small_machine().seconds(0, 0), 0);
  EXPECT_DOUBLE_EQ(small_machine().seconds(100, 1000, 1001), 100e-9) << "what is touched meanwhile";
  EXPECT_DOUBLE_EQ(small_machine().seconds(100, 2000, 1000), 200e-9) << "no less than the pass";
}

TEST(MachineModel, DefaultsFollowTheTarget) {
  const MachineModel v2 = machine_model(Target::parse("x86-64-v2"));
  const MachineModel v3 = machine_model(Target::parse("x86-64-v3"));
  const MachineModel v4 = machine_model(Target::parse("x86-64-v4,l2=2097152"));
  EXPECT_EQ(v3.gflops, 4 * v2.gflops);  // twice the lanes, and fma
  EXPECT_EQ(v4.gflops, 2 * v3.gflops);
  ASSERT_EQ(v4.memories.size(), 4u);
  EXPECT_EQ(v4.memory_of(2097152).name, "L2");
  EXPECT_EQ(v4.memory_of(2097153).name, "L3");
  EXPECT_EQ(v4.memory_of(1e12).name, "main memory");
  for (const MachineModel& machine : {v2, v3, v4}) {
    EXPECT_NO_THROW(check_machine_model(machine));
    for (size_t i = 1; i < machine.memories.size(); ++i) {
      EXPECT_LT(machine.memories[i].gigabytes, machine.memories[i - 1].gigabytes);
    }
  }
}

TEST(MachineModel, LeavesOutACacheThatHoldsNoMoreThanTheOneBefore) {
  const MachineModel machine = machine_model(Target::parse("x86-64-v3,l2=16384"));
  check_machine_model(machine);
  ASSERT_EQ(machine.memories.size(), 3u);
  EXPECT_EQ(machine.memories[0].name, "L1");
  EXPECT_EQ(machine.memories[1].name, "L3");
}

TEST(MachineModel, RefusesATileMachine) {
  EXPECT_ERROR(machine_model(Target::tile_machine()), "expected a processor, got tile-machine");
}

TEST(MachineModel, RefusesRatesThatAreNone) {
  MachineModel machine = small_machine();
  machine.gflops = 0;
  EXPECT_ERROR(check_machine_model(machine), "expected a peak above 0, got 0 GF/s");
  machine = small_machine();
  machine.memories[1].gigabytes = -1;
  EXPECT_ERROR(check_machine_model(machine), "main memory: expected a bandwidth above 0, got -1");
}

TEST(MachineModel, RefusesNoMemory) {
  EXPECT_ERROR(check_machine_model({100, {}}), "expected at least one memory, got none");
}

TEST(MachineModel, RefusesCachesThatDoNotGrow) {
  const MachineModel machine = {100, {{"L1", 100, 3}, {"L2", 100, 2}, {"main memory", 0, 1}}};
  EXPECT_ERROR(check_machine_model(machine), "L2: expected more than 100 bytes");
}

}  // namespace
}  // namespace emulsion

#include "dsl/tile_machine.h"

#include <gtest/gtest.h>

#include "dsl/target.h"
#include "tests/dsl/refusal.h"

namespace emulsion {
namespace {

TileMachine small() {
  TileMachine machine;
  machine.tile_m = 16;
  machine.tile_n = 8;
  machine.tile_k = 4;
  machine.sram_bytes = 4096;
  machine.alignment = 16;
  machine.load_bytes_per_cycle = 3;
  machine.store_bytes_per_cycle = 5;
  machine.execute_cycles = 7;
  machine.elements_per_cycle = 9;
  machine.double_buffer = false;
  return machine;
}

TEST(TileMachine, PrintsEverySetting) {
  EXPECT_EQ(
      to_string(TileMachine()),
      "tile-machine,tile=32x32x32,sram=262144,align=32,load=64,store=64,execute=32,elements=32,"
      "buffers=2");
  EXPECT_EQ(to_string(small()),
            "tile-machine,tile=16x8x4,sram=4096,align=16,load=3,store=5,execute=7,elements=9,"
            "buffers=1");
}

TEST(TileMachine, ParsesWhatItPrints) {
  for (const TileMachine& machine : {TileMachine(), small()}) {
    EXPECT_EQ(parse_tile_machine(to_string(machine)), machine);
  }
}

TEST(TileMachine, TakesSettingsInAnyOrderAndDefaultsForTheRest) {
  TileMachine machine = parse_tile_machine("tile-machine,sram=1024,tile=4x5x6");
  EXPECT_EQ(machine.tile_m, 4);
  EXPECT_EQ(machine.tile_n, 5);
  EXPECT_EQ(machine.tile_k, 6);
  EXPECT_EQ(machine.sram_bytes, 1024);
  EXPECT_EQ(machine.execute_cycles, TileMachine().execute_cycles);
  EXPECT_EQ(parse_tile_machine("tile-machine"), TileMachine());
}

TEST(TileMachine, DiffersInEverySetting) {
  TileMachine other;
  other.double_buffer = false;
  EXPECT_NE(other, TileMachine());
  other = TileMachine();
  other.tile_k = 16;
  EXPECT_NE(other, TileMachine());
}

TEST(TileMachine, IsATarget) {
  Target target = Target::tile_machine(small());
  EXPECT_TRUE(target.is_tile_machine());
  EXPECT_EQ(*target.tiles, small());
  EXPECT_EQ(target.arch, "tile-machine");
  EXPECT_EQ(Target::parse(target.to_string()), target);
  EXPECT_EQ(Target::parse(target.to_string_with_machine()), target);
  EXPECT_NE(target, Target::tile_machine());
  EXPECT_NE(target, Target());
  EXPECT_FALSE(Target::parse("x86-64-v3").is_tile_machine());
  EXPECT_FALSE(runs_on_this_machine(target));
}

class TileMachineRefuses : public RefusalTest {};
TEST_P(TileMachineRefuses, Names) { check(); }

TileMachine with(int64_t TileMachine::*member, int64_t value) {
  TileMachine machine;
  machine.*member = value;
  return machine;
}

INSTANTIATE_TEST_SUITE_P(
    Settings, TileMachineRefuses,
    ::testing::Values(
        Refusal{"TileOfNothing", [] { Target::tile_machine(with(&TileMachine::tile_m, 0)); },
                "tile machine, tile_m: expected a whole number from 1 to 4096, got 0"},
        Refusal{"NegativeTile", [] { Target::tile_machine(with(&TileMachine::tile_n, -1)); },
                "tile_n: expected a whole number from 1 to 4096, got -1"},
        Refusal{"HugeTile", [] { Target::tile_machine(with(&TileMachine::tile_k, 4097)); },
                "tile_k: expected a whole number from 1 to 4096, got 4097"},
        Refusal{"NoSram", [] { Target::tile_machine(with(&TileMachine::sram_bytes, 0)); },
                "sram_bytes: expected a whole number from 1"},
        Refusal{"OddAlignment", [] { Target::tile_machine(with(&TileMachine::alignment, 24)); },
                "alignment: expected a power of two, got 24"},
        Refusal{"SramOffAlignment",
                [] { Target::tile_machine(with(&TileMachine::sram_bytes, 1000)); },
                "sram_bytes: expected a multiple of the alignment 32, got 1000"},
        Refusal{"NoBandwidth",
                [] { Target::tile_machine(with(&TileMachine::load_bytes_per_cycle, 0)); },
                "load_bytes_per_cycle: expected a whole number from 1"},
        Refusal{"NoStoreBandwidth",
                [] { Target::tile_machine(with(&TileMachine::store_bytes_per_cycle, 0)); },
                "store_bytes_per_cycle: expected a whole number from 1"},
        Refusal{"NoTime", [] { Target::tile_machine(with(&TileMachine::execute_cycles, 0)); },
                "execute_cycles: expected a whole number from 1"},
        Refusal{"NoElements",
                [] { Target::tile_machine(with(&TileMachine::elements_per_cycle, 0)); },
                "elements_per_cycle: expected a whole number from 1"}),
    refusal_name);

INSTANTIATE_TEST_SUITE_P(
    Texts, TileMachineRefuses,
    ::testing::Values(
        Refusal{"AnotherMachine", [] { parse_tile_machine("x86-64-linux"); },
                "expected \"tile-machine\" first, got \"x86-64-linux\""},
        Refusal{"UnknownSetting", [] { Target::parse("tile-machine,cores=2"); },
                "expected a setting (tile, sram, align, load, store, execute, elements, buffers), "
                "got \"cores\""},
        Refusal{"EmptySetting", [] { Target::parse("tile-machine,"); }, "got \"\""},
        Refusal{"ASettingTwice", [] { Target::parse("tile-machine,sram=64,sram=64"); },
                "sram: expected once, got twice"},
        Refusal{"TwoNumbers", [] { Target::parse("tile-machine,tile=32x32"); },
                "tile: expected three numbers as in 32x32x32 (m, n, k), got \"32x32\""},
        Refusal{"NoNumber", [] { Target::parse("tile-machine,tile=32xax32"); },
                "tile: expected a whole number, got \"a\""},
        Refusal{"NoValue", [] { Target::parse("tile-machine,sram"); },
                "sram: expected a whole number, got \"\""},
        Refusal{"TooManyDigits", [] { Target::parse("tile-machine,sram=99999999999999999999"); },
                "sram: expected a whole number, got \"99999999999999999999\""},
        Refusal{"ThreeBuffers", [] { Target::parse("tile-machine,buffers=3"); },
                "buffers: expected 1 or 2 (double buffering), got 3"},
        Refusal{"WhatTheMachineCannotBe", [] { Target::parse("tile-machine,align=48"); },
                "alignment: expected a power of two, got 48"}),
    refusal_name);

}  // namespace
}  // namespace emulsion

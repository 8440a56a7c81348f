// Masks of short elements hold for the same lanes, and compare lanes as short: what is made of them
// is computed here.

#include "backends/halide/narrow_masks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/backends/halide/vector_values.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using Halide::Expr;

const Expr kEnd = hi::Variable::make(Halide::Int(32), "end");
const Expr kBase = hi::Variable::make(Halide::Int(32), "base");

Expr choice(const Expr& condition, int bits) {
  const Halide::Type type = Halide::UInt(bits, condition.type().lanes());
  return hi::Select::make(condition, hi::Variable::make(type, "a"), hi::Variable::make(type, "b"));
}

Expr condition_of(const Expr& value) {
  const hi::Stmt made = narrow_masks(hi::Evaluate::make(value));
  return made.as<hi::Evaluate>()->value.as<hi::Select>()->condition;
}

// Whether it compares an i32.
bool is_wide(const Expr& condition) {
  struct Ramps : hi::IRVisitor {
    using hi::IRVisitor::visit;
    int wide = 0;

    void visit(const hi::Ramp* op) override { wide += op->base.type().bits() == 32 ? 1 : 0; }
  } ramps;
  condition.accept(&ramps);
  return ramps.wide > 0;
}

// In how many bits one place is taken from another.
int differences_of(const hi::Stmt& statement) {
  struct Differences : hi::IRVisitor {
    using hi::IRVisitor::visit;
    int bits = 0;

    void visit(const hi::Sub* op) override { bits = std::max(bits, op->type.bits()); }
  } differences;
  statement.accept(&differences);
  return differences.bits;
}

std::vector<Expr> conditions(int lanes) {
  const Expr ramp = hi::Ramp::make(kBase, 1, lanes), end = hi::Broadcast::make(kEnd, lanes);
  std::vector<Expr> all = {hi::LT::make(ramp, end), hi::LE::make(ramp, end),
                           hi::GT::make(ramp, end), hi::GE::make(ramp, end),
                           hi::LT::make(end, ramp), hi::LE::make(end, ramp),
                           hi::GT::make(end, ramp), hi::GE::make(end, ramp)};
  all.push_back(hi::And::make(all[0], all[5]));
  all.push_back(hi::And::make(all[0], hi::Broadcast::make(kEnd > 3, lanes)));
  all.push_back(hi::Or::make(all[1], hi::Not::make(all[4])));
  return all;
}

TEST(NarrowMasks, HoldForTheSameLanes) {
  for (const int bits : {8, 16}) {
    for (const int lanes : {2, 8, 16, 64}) {
      for (const Expr& condition : conditions(lanes)) {
        const Expr made = condition_of(choice(condition, bits));
        // Vectors that are less than a register stay.
        EXPECT_EQ(is_wide(made), bits * lanes < 128) << made;
        for (int64_t base : {-70, -3, 200}) {
          std::vector<int64_t> ends = {base - 200, base - 1000, base + 200, base + 1000};
          for (int64_t end = base - 3; end <= base + lanes + 3; ++end) ends.push_back(end);
          for (const int64_t end : ends) {
            VectorValues values;
            values.variables = {{"base", {base}}, {"end", {end}}};
            EXPECT_EQ(values.value(made), values.value(condition)) << condition << " at " << end;
          }
        }
      }
    }
  }
}

// Data may be any i32: their difference needs more bits.
TEST(NarrowMasks, OfDataTheDifferenceHasMoreBits) {
  const auto stored = [](const Expr& condition) {
    const Expr index = hi::Ramp::make(Expr(0), 1, 16);
    return hi::Store::make("y", choice(condition, 8), index, Halide::Parameter(),
                           hi::const_true(16), {});
  };
  const Expr data = hi::Load::make(Halide::Int(32), "x", Expr(3), Halide::Buffer<>(),
                                   Halide::Parameter(), hi::const_true(), {});
  const Expr named = hi::Variable::make(Halide::Int(32), "named");
  for (const Expr& condition : conditions(16)) {
    EXPECT_EQ(differences_of(narrow_masks(stored(condition))), 32) << condition;
    for (const char* name : {"end", "base"}) {
      const hi::Stmt statement =
          hi::LetStmt::make("named", data, hi::LetStmt::make(name, named + 1, stored(condition)));
      EXPECT_EQ(differences_of(narrow_masks(statement)), 64) << statement;
      const Expr value = hi::Let::make(name, data, choice(condition, 8));
      EXPECT_EQ(differences_of(narrow_masks(hi::Evaluate::make(value))), 64) << value;
    }
  }
  const Expr places = hi::Ramp::make(kBase, 1, 16);
  EXPECT_EQ(differences_of(narrow_masks(stored(places <= hi::Broadcast::make(data, 16)))), 64);
}

// As of pixels of two values each.
TEST(NarrowMasks, OfWhatIsInterleaved) {
  const Expr half = conditions(8)[0], both = hi::Shuffle::make_interleave({half, half});
  const Expr made = condition_of(choice(both, 8));
  EXPECT_FALSE(is_wide(made)) << made;
  for (int64_t end = -2; end <= 12; ++end) {
    VectorValues values;
    values.variables = {{"base", {0}}, {"end", {end}}};
    EXPECT_EQ(values.value(made), values.value(both)) << end;
  }
}

TEST(NarrowMasks, OfLoadsAndStores) {
  const Expr mask = conditions(16)[0], index = hi::Ramp::make(Expr(0), 1, 16);
  const Expr load = hi::Load::make(Halide::UInt(8, 16), "x", index, Halide::Buffer<>(),
                                   Halide::Parameter(), mask, {});
  const auto made = narrow_masks(hi::Store::make("y", load, index, Halide::Parameter(), mask, {}));
  const auto* store = made.as<hi::Store>();
  EXPECT_FALSE(is_wide(store->predicate)) << made;
  EXPECT_FALSE(is_wide(store->value.as<hi::Load>()->predicate)) << made;
}

TEST(NarrowMasks, WhatStaysAsItIs) {
  const auto stays = [](const Expr& condition, int bits = 8) {
    EXPECT_TRUE(condition_of(choice(condition, bits)).same_as(condition)) << condition;
  };
  stays(conditions(16)[0], 32);
  stays(conditions(128)[0]);  // more than an i8 counts
  stays(hi::Shuffle::make_slice(conditions(128)[0], 0, 1, 64));
  const Expr end = hi::Broadcast::make(kEnd, 16), ramp = hi::Ramp::make(kBase, 1, 16);
  stays(hi::LT::make(hi::Ramp::make(kBase, 2, 16), end));  // not neighbours
  stays(hi::LT::make(ramp, hi::Ramp::make(kEnd, 3, 16)));  // an end for each lane
  stays(hi::EQ::make(ramp, end));
  const Expr loaded = hi::Load::make(Halide::Int(32, 16), "x", ramp, Halide::Buffer<>(),
                                     Halide::Parameter(), hi::const_true(16), {});
  stays(hi::LT::make(loaded, end));
}

}  // namespace
}  // namespace emulsion

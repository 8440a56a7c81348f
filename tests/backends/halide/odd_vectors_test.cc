// Vectors of an odd number of lanes are computed in longer ones, and no element beyond is read or
// written.

#include "backends/halide/odd_vectors.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using Halide::Expr;
using hi::Stmt;

constexpr int kLanes = 25, kWide = 32, kBits = 512;
const Halide::Type kType = Halide::Int(16, kLanes);

Expr load(const std::string& name, const Expr& index, const Halide::Type& type = kType) {
  return hi::Load::make(type, name, index, {}, {}, hi::const_true(type.lanes()), {});
}
Expr at(const Expr& first, int lanes = kLanes) { return hi::Ramp::make(first, 1, lanes); }

Stmt store(const Expr& value, const std::string& name = "y") {
  const int lanes = value.type().lanes();
  return hi::Store::make(name, value, at(100, lanes), {}, hi::const_true(lanes), {});
}

Stmt masked(const Stmt& statement) { return mask_odd_vectors(statement, {"y"}, kBits); }

void expect_same(const Stmt& statement) {
  EXPECT_TRUE(hi::equal(masked(statement), statement)) << masked(statement);
}

// The store that a statement is, of so many lanes, the first 25 of which are stored.
const hi::Store* masked_store(const Stmt& statement, int wide = kWide, int lanes = kLanes) {
  const auto* op = statement.as<hi::Store>();
  if (op == nullptr || op->value.type().lanes() != wide) return nullptr;
  const Expr first = hi::LT::make(at(0, wide), hi::Broadcast::make(lanes, wide));
  return hi::equal(op->predicate, first) && hi::equal(op->index, at(100, wide)) ? op : nullptr;
}

TEST(OddVectors, RowsOf25ElementsAreOneVector) {
  const Stmt made = masked(store(load("x", at(7)) + load("z", at(0)) * 3));
  const hi::Store* op = masked_store(made);
  ASSERT_NE(op, nullptr) << made;
  const Expr mask = op->predicate;
  const auto masked_load = [&](const std::string& name, int first) {
    return hi::Load::make(Halide::Int(16, kWide), name, at(first, kWide), {}, {}, mask, {});
  };
  const Expr sum =
      masked_load("x", 7) + masked_load("z", 0) * hi::make_const(Halide::Int(16, kWide), 3);
  EXPECT_TRUE(hi::equal(op->value, sum)) << made;
}

TEST(OddVectors, OtherTypesInBetweenAreAsLong) {
  const Expr wider = hi::Cast::make(Halide::Int(32, kLanes), load("x", at(7))) * at(3);
  const Stmt made = masked(store(hi::Cast::make(kType, wider)));
  EXPECT_NE(masked_store(made), nullptr) << made;
}

TEST(OddVectors, NamedVectorsAreAsLong) {
  const Expr name = hi::Variable::make(kType, "t");
  const Stmt made = masked(hi::LetStmt::make("t", load("x", at(7)), store(name * name)));
  const auto* narrow = made.as<hi::LetStmt>();
  ASSERT_NE(narrow, nullptr) << made;
  const auto* wide = narrow->body.as<hi::LetStmt>();
  ASSERT_NE(wide, nullptr) << made;
  EXPECT_EQ(wide->value.type().lanes(), kWide) << made;
  const Expr of_wide = hi::Variable::make(wide->value.type(), wide->name);
  const hi::Store* op = masked_store(wide->body);
  ASSERT_NE(op, nullptr) << made;
  EXPECT_TRUE(hi::equal(op->value, of_wide * of_wide)) << made;
}

// Of what has another name, and of what LLVM keeps in registers, the lanes that there are.
TEST(OddVectors, VectorsFromElsewhereArePadded) {
  const Expr sums = load("sums", at(0));
  const Stmt made = masked(hi::Allocate::make("sums", Halide::Int(16), Halide::MemoryType::Stack,
                                              {kLanes}, hi::const_true(), store(sums)));
  const auto* memory = made.as<hi::Allocate>();
  ASSERT_NE(memory, nullptr) << made;
  const hi::Store* op = masked_store(memory->body);
  ASSERT_NE(op, nullptr) << made;
  const auto* padded = op->value.as<hi::Shuffle>();
  ASSERT_NE(padded, nullptr) << made;
  EXPECT_TRUE(hi::equal(padded->vectors.front(), sums)) << made;
  for (int lane = 0; lane < kLanes; ++lane) EXPECT_EQ(padded->indices[lane], lane);
  EXPECT_NE(masked_store(masked(store(hi::Variable::make(kType, "t")))), nullptr);
}

// Found deep inside of a choice.
TEST(OddVectors, OneObstacleLeavesAllAsItIs) {
  const Expr far = load("x", hi::Ramp::make(7, 2, kLanes)), near = load("x", at(7));
  expect_same(store(hi::Select::make(near < far, near * 3, near + load("z", at(0)))));
  const Expr condition = hi::Select::make(near < load("z", at(0)), near * 3, near + 1);
  EXPECT_NE(masked_store(masked(store(condition))), nullptr);
}

TEST(OddVectors, DivisionsByNumbersAlone) {
  const Expr x = load("x", at(7));
  EXPECT_NE(masked_store(masked(store(x / hi::make_const(kType, 3)))), nullptr);
  expect_same(store(x / load("z", at(0))));
  expect_same(store(x % load("z", at(0))));
}

TEST(OddVectors, PowersOfTwoStay) { expect_same(store(load("x", at(7, 32), Halide::Int(16, 32)))); }

TEST(OddVectors, LongerVectorsThanRegistersStay) {
  expect_same(store(load("x", at(7, 33), Halide::Int(16, 33))));
  const Stmt bytes = store(load("x", at(7, 33), Halide::UInt(8, 33)));
  EXPECT_NE(masked_store(masked(bytes), 64, 33), nullptr) << masked(bytes);
}

TEST(OddVectors, FewLanesAndLongElementsStay) {
  expect_same(store(load("x", at(7, 3), Halide::Int(16, 3))));
  expect_same(store(load("x", at(7, 13), Halide::Float(32, 13))));
}

TEST(OddVectors, OtherMemoryStays) { expect_same(store(load("x", at(7)), "internal")); }

// LLVM keeps what a loop adds to in a register, but not under a mask.
TEST(OddVectors, SumsInMemoryStay) { expect_same(store(load("y", at(100)) + load("x", at(7)))); }

TEST(OddVectors, WhatIsGatheredOrShuffledStays) {
  expect_same(store(load("x", hi::Ramp::make(7, 2, kLanes))));
  expect_same(store(load("x", load("places", at(0), Halide::Int(32, kLanes)))));
  std::vector<int> backwards(kLanes);
  for (int lane = 0; lane < kLanes; ++lane) backwards[lane] = kLanes - 1 - lane;
  expect_same(store(hi::Shuffle::make({load("x", at(7))}, backwards)));
}

TEST(OddVectors, WhatHasMasksStays) {
  const Expr mask =
      hi::LT::make(at(0), hi::Broadcast::make(hi::Variable::make(Halide::Int(32), "n"), kLanes));
  const Expr masked_load = hi::Load::make(kType, "x", at(7), {}, {}, mask, {});
  expect_same(store(masked_load));
  expect_same(hi::Store::make("y", load("x", at(7)), at(100), {}, mask, {}));
}

}  // namespace
}  // namespace emulsion

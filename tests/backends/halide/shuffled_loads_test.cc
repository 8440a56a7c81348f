// What is loaded for a shuffle is what the lanes read, and nothing in front of the first of them or
// behind the last.

#include "backends/halide/shuffled_loads.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/backends/halide/vector_terms.h"
#include "tests/backends/halide/vector_values.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

Halide::Expr load(const Halide::Expr& index, int bits = 32) {
  const int lanes = index.type().lanes();
  return hi::Load::make(Halide::Int(bits, lanes), "x", index, {}, {}, hi::const_true(lanes), {});
}
Stmt store(const Halide::Expr& value) {
  const int lanes = value.type().lanes();
  return hi::Store::make("y", value, ramp(0, 1, lanes), {}, hi::const_true(lanes), {});
}

VectorValues values_of(const Stmt& statement) {
  VectorValues values;
  values.variables = {{"r", {3}}, {"n", {11}}};
  values.run(statement);
  return values;
}

// The lanes of each load; -1 of what does not lie one behind another.
std::vector<int> lanes_of_loads(const Stmt& statement) {
  class Loads : public hi::IRVisitor {
   public:
    std::vector<int> lanes;

   private:
    using hi::IRVisitor::visit;
    void visit(const hi::Load* op) override {
      const auto* places = op->index.as<hi::Ramp>();
      const bool is_dense =
          places == nullptr ? op->index.type().is_scalar() : hi::is_const_one(places->stride);
      lanes.push_back(is_dense ? op->index.type().lanes() : -1);
    }
  };
  Loads loads;
  statement.accept(&loads);
  return loads.lanes;
}

// It becomes one load of so many elements, and all that lies between them is loaded at most.
void expect_one_load(const Stmt& before, int elements) {
  const Stmt after = shuffle_loads(before);
  EXPECT_EQ(lanes_of_loads(after), std::vector<int>{elements}) << after;
  const VectorValues was = values_of(before), is = values_of(after);
  EXPECT_EQ(is.stored, was.stored) << after;
  ASSERT_FALSE(was.loaded.empty());
  EXPECT_EQ(*is.loaded.begin(), *was.loaded.begin()) << after;
  EXPECT_EQ(*is.loaded.rbegin(), *was.loaded.rbegin()) << after;
}

bool is_left(const Stmt& statement) { return hi::equal(shuffle_loads(statement), statement); }

TEST(ShuffledLoads, OfARowThatIsReadSeveralTimes) {
  for (const int elements : {2, 3, 5, 7, 8, 12}) {
    const Halide::Expr lane = ramp(0, 1, 15);
    const Halide::Expr row = same(number("r") * elements, 15);
    expect_one_load(store(load(row + lane % same(elements, 15))), elements);
    expect_one_load(store(load(row + lane / same(elements, 15))), 14 / elements + 1);
  }
}

TEST(ShuffledLoads, OfAnotherOrder) {
  const Halide::Expr lane = ramp(0, 1, 12);
  expect_one_load(store(load(lane % same(3, 12) * same(4, 12) + lane / same(3, 12))), 12);
  expect_one_load(store(load(same(11, 12) - lane + same(number("n"), 12))), 12);
  expect_one_load(store(load(same(number("n"), 12) - (lane % same(4, 12)) * same(2, 12))), 7);
}

// Of the longest vectors, each of up to three elements is loaded by itself, and no other.
TEST(ShuffledLoads, OfAFewElementsOneBehindTheOther) {
  const auto loads_of = [](const Halide::Expr& index, int bits) {
    const Stmt before = store(load(index, bits)), after = shuffle_loads(before);
    const VectorValues was = values_of(before), is = values_of(after);
    EXPECT_EQ(is.stored, was.stored) << after;
    EXPECT_EQ(is.loaded, was.loaded) << after;
    return lanes_of_loads(after);
  };
  const Halide::Expr lane = ramp(0, 1, 16), row = same(number("r"), 16);
  using Lanes = std::vector<int>;
  EXPECT_EQ(loads_of(row + lane / same(10, 16), 32), (Lanes{1, 1}));
  EXPECT_EQ(loads_of((lane + same(4, 16)) / same(9, 16), 32), (Lanes{1, 1, 1}));
  EXPECT_EQ(loads_of(row + lane / same(5, 16), 32), (Lanes{4})) << "four elements";
  EXPECT_EQ(loads_of(row + lane / same(10, 16), 16), (Lanes{2})) << "half a vector";
  EXPECT_EQ(loads_of(row + lane % same(2, 16), 32), (Lanes{2})) << "by turns";
  EXPECT_EQ(loads_of(same(1, 16) - lane / same(8, 16), 32), (Lanes{2})) << "backwards";
}

TEST(ShuffledLoads, OfOneElement) {
  expect_one_load(store(load(ramp(0, 1, 4) / same(4, 4) + same(number("r"), 4))), 1);
}

// Whose number is no power of two: two loads of one, which overlap, and nothing else is loaded.
TEST(ShuffledLoads, OfAnOddNumberOfBytes) {
  const auto loads_of = [](int elements, int bits) {
    const Halide::Expr lane = ramp(0, 1, 32), row = same(number("r") * elements, 32);
    const Stmt before = store(load(row + lane % same(elements, 32), bits));
    const Stmt after = shuffle_loads(before);
    EXPECT_EQ(values_of(after).stored, values_of(before).stored) << after;
    EXPECT_EQ(values_of(after).loaded, values_of(before).loaded) << after;
    return lanes_of_loads(after);
  };
  using Lanes = std::vector<int>;
  EXPECT_EQ(loads_of(21, 8), (Lanes{16, 16}));
  EXPECT_EQ(loads_of(5, 8), (Lanes{4, 4}));
  EXPECT_EQ(loads_of(3, 16), (Lanes{2, 2}));
  EXPECT_EQ(loads_of(16, 8), (Lanes{16}));
  EXPECT_EQ(loads_of(3, 8), (Lanes{3})) << "shorter than a piece";
  EXPECT_EQ(loads_of(3, 32), (Lanes{3})) << "wide elements";
}

// A name of an index is one of lanes; a name of a number is the same in all.
TEST(ShuffledLoads, OfWhatHasAName) {
  const Halide::Expr lane = hi::Variable::make(Halide::Int(32, 8), "lane");
  const Stmt inner = store(load(lane + same(number("at"), 8)));
  const Stmt named = hi::LetStmt::make(
      "at", number("r") * 4, hi::LetStmt::make("lane", ramp(0, 1, 8) % same(4, 8), inner));
  const Stmt after = shuffle_loads(named);
  EXPECT_EQ(lanes_of_loads(after), std::vector<int>{4}) << after;
  EXPECT_EQ(values_of(after).stored, values_of(named).stored);
}

// Two registers of 512 bits; three for what fills one.
TEST(ShuffledLoads, NotOfElementsThatLieFarApart) {
  const auto two = [](int step, int bits) {
    return store(load(ramp(0, 1, 4) % same(2, 4) * same(step, 4), bits));
  };
  EXPECT_FALSE(is_left(two(31, 32)));
  EXPECT_TRUE(is_left(two(32, 32)));
  EXPECT_FALSE(is_left(two(15, 64)));
  EXPECT_TRUE(is_left(two(16, 64)));
  EXPECT_FALSE(is_left(two(127, 8)));
  const Halide::Expr lane = ramp(0, 1, 16);
  EXPECT_FALSE(is_left(store(load(lane % same(2, 16) * same(47, 16)))));
  EXPECT_TRUE(is_left(store(load(lane % same(2, 16) * same(48, 16)))));
}

TEST(ShuffledLoads, NotOfWhatNoNumberSays) {
  const Halide::Expr lane = ramp(0, 1, 8);
  EXPECT_TRUE(is_left(store(load(lane % same(2, 8) * same(number("n"), 8)))));
  EXPECT_TRUE(is_left(store(load((lane + same(number("r"), 8)) / same(3, 8)))))
      << "another order for each r";
  const Halide::Expr data =
      hi::Load::make(Halide::Int(32, 8), "at", lane, {}, {}, hi::const_true(8), {});
  EXPECT_TRUE(is_left(store(load(data % same(2, 8)))));
}

TEST(ShuffledLoads, NotOfNeighboursAndMasks) {
  EXPECT_TRUE(is_left(store(load(ramp(number("r"), 1, 8)))));
  EXPECT_TRUE(is_left(store(load(ramp(number("r"), 3, 8)))));
  EXPECT_TRUE(is_left(store(load(same(number("r"), 8)))));
  const Halide::Expr lane = ramp(0, 1, 8), mask = lane < same(number("n"), 8);
  EXPECT_TRUE(
      is_left(store(hi::Load::make(Halide::Int(32, 8), "x", lane % same(4, 8), {}, {}, mask, {}))));
}

}  // namespace
}  // namespace emulsion

// Which stores are written as interleaved halves, and which stay as they are.

#include "backends/halide/interleavings.h"

#include <gtest/gtest.h>

#include "tests/backends/halide/vector_terms.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using Halide::Expr;

constexpr int kLanes = 16;

Expr load(const Expr& index) {
  const int lanes = index.type().lanes();
  return hi::Load::make(Halide::Int(32, lanes), "x", index, {}, {}, hi::const_true(lanes), {});
}
hi::Stmt store(const Expr& value) {
  const int lanes = value.type().lanes();
  return hi::Store::make("y", value, ramp(number("i"), 1, lanes), {}, hi::const_true(lanes), {});
}
bool is_left(const hi::Stmt& statement) {
  return hi::equal(with_interleavings(statement), statement);
}

const Expr kLane = ramp(0, 1, kLanes);
Expr by(int n) { return same(n, kLanes); }

TEST(Interleavings, OfRemaindersAlone) {
  EXPECT_FALSE(is_left(store(load(kLane % by(2) * by(100)))));
  EXPECT_FALSE(is_left(store(hi::Select::make(kLane % by(2) == by(0), load(kLane), by(7)))));
}

TEST(Interleavings, NotOfDigitsInOneIndex) {
  EXPECT_TRUE(is_left(store(load(kLane / by(8) * by(4) + kLane % by(4)))));
  const Expr name = hi::Variable::make(Halide::Int(32, kLanes), "digit");
  const Expr named = load(kLane / by(8) * by(4) + name);
  EXPECT_TRUE(is_left(store(hi::Let::make("digit", kLane % by(4), named))));
  EXPECT_FALSE(is_left(store(load(kLane / by(8)) + load(kLane % by(4) * by(9))))) << "of two";
}

// Each store by itself.
TEST(Interleavings, OfOthersBesideThose) {
  const hi::Stmt digits = store(load(kLane / by(8) * by(4) + kLane % by(4)));
  const hi::Stmt other = store(load(kLane % by(2) * by(100)));
  const hi::Stmt made = with_interleavings(hi::Block::make(digits, other));
  const auto* both = made.as<hi::Block>();
  ASSERT_NE(both, nullptr) << made;
  EXPECT_TRUE(hi::equal(both->first, digits)) << made;
  EXPECT_FALSE(hi::equal(both->rest, other)) << made;
}

}  // namespace
}  // namespace emulsion

// Lanes of data that a mask leaves out are 0 where they say what to read. That kernels read there
// no more is tested by running them (tests/random, FoundComprehensions).

#include "backends/halide/masked_places.h"

#include <gtest/gtest.h>

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using Halide::Expr;

constexpr int kLanes = 8;

const Expr kRamp = hi::Ramp::make(hi::Variable::make(Halide::Int(32), "i"), 1, kLanes);
const Expr kMask = kRamp < hi::Broadcast::make(5, kLanes);

Expr load(const char* from, const Expr& index, const Expr& mask = hi::const_true(kLanes)) {
  return hi::Load::make(Halide::Int(32, kLanes), from, index, Halide::Buffer<>(),
                        Halide::Parameter(), mask, {});
}

hi::Stmt store(const Expr& value) {
  return hi::Store::make("y", value, kRamp, Halide::Parameter(), hi::const_true(kLanes), {});
}

Expr at_data(const Expr& data) { return load("x", max(data, hi::Broadcast::make(0, kLanes))); }

// Loads that stand below a choice between them and 0, by their own mask.
int defined_loads(const hi::Stmt& statement) {
  struct Defined : hi::IRVisitor {
    using hi::IRVisitor::visit;
    int count = 0;

    void visit(const hi::Select* op) override {
      const auto* load = op->true_value.as<hi::Load>();
      count += load != nullptr && hi::equal(load->predicate, op->condition) &&
                       hi::is_const_zero(op->false_value)
                   ? 1
                   : 0;
      hi::IRVisitor::visit(op);
    }
  } defined;
  statement.accept(&defined);
  return defined.count;
}

TEST(MaskedPlaces, AreZeroWhereTheMaskLeavesThemOut) {
  const Expr data = load("d", kRamp, kMask);
  EXPECT_EQ(defined_loads(define_masked_places(store(at_data(data)))), 1);
  EXPECT_EQ(defined_loads(define_masked_places(store(at_data(load("e", data, kMask))))), 2);
}

TEST(MaskedPlaces, AreThoseUnderANameToo) {
  const Expr data = load("d", kRamp, kMask);
  const Expr named = hi::Variable::make(data.type(), "t"),
             twice = hi::Variable::make(data.type(), "u");
  const Expr value = hi::Let::make("t", data, at_data(named));
  EXPECT_EQ(defined_loads(define_masked_places(store(value))), 1);
  const hi::Stmt around =
      hi::LetStmt::make("t", data, hi::LetStmt::make("u", named + named, store(at_data(twice))));
  EXPECT_EQ(defined_loads(define_masked_places(around)), 1);
}

TEST(MaskedPlaces, OtherLoadsStay) {
  const Expr data = load("d", kRamp, kMask);
  const Expr named = hi::Variable::make(data.type(), "t");
  for (const hi::Stmt& statement :
       {store(data), store(at_data(load("d", kRamp))),
        hi::Stmt(hi::LetStmt::make("t", data, store(named + at_data(kRamp))))}) {
    EXPECT_TRUE(define_masked_places(statement).same_as(statement)) << statement;
  }
}

}  // namespace
}  // namespace emulsion

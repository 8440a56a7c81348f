// Only loops whose sums are loaded one by one behind them are changed, and only their numbers of
// steps.

#include "backends/halide/summed_vectors.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "backends/halide/scalar_ops.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using Halide::Expr;
using hi::Stmt;

constexpr int kLanes = 16;
const Expr kHolds = hi::Variable::make(Halide::Int(32), "pointer") >= 0;
const Expr kLanesOfSum = hi::Ramp::make(0, 1, kLanes);

Expr load(const std::string& name, const Expr& index) {
  return hi::Load::make(Halide::Float(32, index.type().lanes()), name, index, {}, {},
                        hi::const_true(index.type().lanes()), {});
}

Stmt store(const std::string& name, const Expr& value, const Expr& index) {
  return hi::Store::make(name, value, index, {}, hi::const_true(index.type().lanes()), {});
}

// sum[0 .. +16] = fma(x[k], w[16 k .. +16], sum[0 .. +16])
Stmt add_products() {
  const Expr k = hi::Variable::make(Halide::Int(32), "k");
  const Expr factor = hi::Broadcast::make(load("x", k), kLanes);
  const Expr weights = load("w", hi::Ramp::make(k * kLanes, 1, kLanes));
  return store("sum", fused_multiply_add(factor, weights, load("sum", kLanesOfSum)), kLanesOfSum);
}

Stmt loop(const std::string& name, const Expr& steps, const Stmt& body,
          hi::ForType type = hi::ForType::Serial) {
  return hi::For::make(name, 0, steps, type, Halide::Partition::Auto, Halide::DeviceAPI::None,
                       body);
}

Stmt with_memory(const Stmt& statement) {
  return hi::Allocate::make("sum", Halide::Float(32), Halide::MemoryType::Stack, {kLanes},
                            hi::const_true(), statement);
}

Stmt behind(const Stmt& sums, const Stmt& rest) { return with_memory(hi::Block::make(sums, rest)); }

Stmt use_one() { return store("y", load("sum", 0), 32); }
Stmt use_all() { return store("y", load("sum", kLanesOfSum), kLanesOfSum); }

struct FindLoop : hi::IRVisitor {
  explicit FindLoop(std::string name) : name(std::move(name)) {}
  using hi::IRVisitor::visit;

  void visit(const hi::For* op) override {
    if (op->name == name) steps = op->extent;
    hi::IRVisitor::visit(op);
  }

  const std::string name;
  Expr steps;
};

// Of the loop of that name.
Expr steps_of(const std::string& name, const Stmt& statement) {
  FindLoop find(name);
  statement.accept(&find);
  return find.steps;
}

void expect_same(const Stmt& statement) {
  EXPECT_TRUE(hi::equal(keep_summed_vectors(statement, kHolds), statement)) << statement;
}

TEST(SummedVectors, OneElementIsUsedBehindTheLoop) {
  const Stmt made = keep_summed_vectors(behind(loop("k", 774, add_products()), use_one()), kHolds);
  const auto* named = made.as<hi::LetStmt>();
  ASSERT_NE(named, nullptr) << made;
  EXPECT_TRUE(hi::equal(named->value, kHolds)) << made;
  const Expr holds = hi::Variable::make(Halide::Bool(), named->name);
  EXPECT_TRUE(hi::equal(steps_of("k", made), select(holds, 774, 0))) << made;
  // Nothing else is another.
  const Stmt back = hi::simplify(hi::substitute(named->name, hi::const_true(), named->body));
  EXPECT_TRUE(hi::equal(back, hi::simplify(behind(loop("k", 774, add_products()), use_one()))))
      << back;
}

TEST(SummedVectors, OnlyTheInnermostLoop) {
  const Stmt sums = loop("r", 3, loop("k", 774, add_products()));
  const Stmt made = keep_summed_vectors(loop("row", 9, behind(sums, use_one())), kHolds);
  EXPECT_TRUE(hi::is_const(steps_of("row", made), 9)) << made;
  EXPECT_TRUE(hi::is_const(steps_of("r", made), 3)) << made;
  EXPECT_FALSE(hi::is_const(steps_of("k", made))) << made;
}

TEST(SummedVectors, EachLoopForItself) {
  const Stmt sums = hi::Block::make(loop("k", 774, add_products()), loop("l", 8, use_all()));
  const Stmt made = keep_summed_vectors(behind(sums, use_one()), kHolds);
  EXPECT_FALSE(hi::is_const(steps_of("k", made))) << made;
  EXPECT_TRUE(hi::is_const(steps_of("l", made), 8)) << made;
}

TEST(SummedVectors, WholeVectorsAreUsed) {
  expect_same(behind(loop("k", 774, add_products()), use_all()));
}

TEST(SummedVectors, OtherMemoryIsLoadedByElements) {
  const Stmt other = store("y", load("z", 0), 32);
  expect_same(behind(loop("k", 774, add_products()), hi::Block::make(use_all(), other)));
}

TEST(SummedVectors, StepsAreNotKnown) {
  const Expr count = hi::Variable::make(Halide::Int(32), "K");
  expect_same(behind(loop("k", count, add_products()), use_one()));
}

TEST(SummedVectors, StepsAreThreads) {
  expect_same(behind(loop("k", 774, add_products(), hi::ForType::Parallel), use_one()));
}

TEST(SummedVectors, SumsOfOneElement) {
  const Expr k = hi::Variable::make(Halide::Int(32), "k");
  const Stmt sum = store("sum", fused_multiply_add(load("x", k), load("w", k), load("sum", 0)), 0);
  expect_same(behind(loop("k", 774, sum), use_one()));
}

TEST(SummedVectors, WhatIsAddedIsNoProduct) {
  const Expr k = hi::Variable::make(Halide::Int(32), "k");
  const Expr more = load("sum", kLanesOfSum) + hi::Broadcast::make(load("x", k), kLanes);
  expect_same(behind(loop("k", 774, store("sum", more, kLanesOfSum)), use_one()));
}

}  // namespace
}  // namespace emulsion

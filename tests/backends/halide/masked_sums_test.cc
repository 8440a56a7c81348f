// Sums under a mask are the same numbers at the same places, and loaded and stored once: what is
// made of them is computed here.

#include "backends/halide/masked_sums.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/backends/halide/vector_values.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using Halide::Expr;
using hi::Stmt;

constexpr int kLanes = 4;
const Halide::Type kType = Halide::Int(32, kLanes);
const Expr kCount = hi::Variable::make(Halide::Int(32), "count");
const Expr kMask = hi::LT::make(hi::Ramp::make(0, 1, kLanes), hi::Broadcast::make(kCount, kLanes));

Expr at(int first) { return hi::Ramp::make(first, 1, kLanes); }

Expr load(const std::string& name, int first, const Expr& mask = kMask) {
  return hi::Load::make(kType, name, at(first), {}, {}, mask, {});
}

Stmt store(int first, const Expr& value, const Expr& mask = kMask) {
  return hi::Store::make("y", value, at(first), {}, mask, {});
}

// y[8 .. +4] += x[row * 16 .. +4]
Stmt add_row(int row, const Expr& mask = kMask) {
  return store(8, load("y", 8, mask) + load("x", 16 * row, mask), mask);
}

Stmt where(const Expr& condition, const Stmt& statement) {
  return hi::IfThenElse::make(condition, statement);
}

// Runs statements on memory, in which each place of `x` holds its number, and counts what is stored
// in `y`.
class Memory {
 public:
  explicit Memory(int64_t count, int64_t rows) {
    names_.variables["count"] = {count};
    names_.variables["rows"] = {rows};
  }

  void run(const Stmt& statement) {
    if (const auto* op = statement.as<hi::Block>()) {
      run(op->first);
      return run(op->rest);
    }
    if (const auto* op = statement.as<hi::Allocate>()) return run(op->body);
    if (const auto* op = statement.as<hi::IfThenElse>()) {
      if (names_.value(op->condition)[0] != 0) run(op->then_case);
      return;
    }
    const auto* op = statement.as<hi::Store>();
    ASSERT_NE(op, nullptr) << statement;
    const Lanes values = value(op->value), index = names_.value(op->index);
    const Lanes mask = names_.value(op->predicate);
    stores += op->name == "y" ? 1 : 0;
    for (size_t i = 0; i < index.size(); ++i) {
      if (mask[i] != 0) places[op->name][index[i]] = values[i];
    }
  }

  std::map<std::string, std::map<int64_t, int64_t>> places;
  int stores = 0;

 private:
  Lanes value(const Expr& e) {
    if (const auto* op = e.as<hi::Add>()) {
      Lanes sum = value(op->a);
      const Lanes other = value(op->b);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
      return sum;
    }
    const auto* op = e.as<hi::Load>();
    if (op == nullptr) return names_.value(e);
    Lanes result = names_.value(op->index);
    const Lanes mask = names_.value(op->predicate);
    for (size_t i = 0; i < result.size(); ++i) {
      if (mask[i] == 0) {
        result[i] = 0;
      } else if (op->name != "x") {
        result[i] = places[op->name][result[i]];
      }
    }
    return result;
  }

  VectorValues names_;
};

// What is stored in the end, for each number of lanes and of rows.
void expect_same(const Stmt& before, int stores_left) {
  const Stmt made = keep_masked_sums(before);
  EXPECT_FALSE(made.same_as(before));
  for (int64_t count = 0; count <= kLanes; ++count) {
    for (int64_t rows = 1; rows <= 4; ++rows) {
      Memory expected(count, rows), got(count, rows);
      expected.run(before);
      got.run(made);
      EXPECT_EQ(got.places["y"], expected.places["y"]) << made;
      if (rows == 4) {
        EXPECT_EQ(got.stores, stores_left) << made;
      }
    }
  }
}

TEST(MaskedSums, RowsAreAddedInARegister) {
  expect_same(hi::Block::make({add_row(0), add_row(1), add_row(2)}), 1);
}

TEST(MaskedSums, SomeRowsMayNotBeThere) {
  const Expr rows = hi::Variable::make(Halide::Int(32), "rows");
  const Stmt more = hi::Block::make(add_row(1), where(rows > 2, add_row(2)));
  expect_same(hi::Block::make({add_row(0), where(rows > 1, more), where(rows == 4, add_row(3))}),
              1);
}

TEST(MaskedSums, AFirstValueIsKeptToo) {
  expect_same(hi::Block::make({store(8, hi::make_zero(kType)), add_row(0), add_row(1)}), 1);
}

TEST(MaskedSums, OthersStandBesideThem) {
  expect_same(
      hi::Block::make({store(0, load("x", 0)), add_row(0), add_row(1), store(0, load("x", 4))}), 3);
}

TEST(MaskedSums, WhatStaysAsItIs) {
  const auto stays = [](const std::vector<Stmt>& statements) {
    const Stmt block = hi::Block::make(statements);
    EXPECT_TRUE(keep_masked_sums(block).same_as(block)) << block;
  };
  const Expr all = hi::const_true(kLanes), rows = hi::Variable::make(Halide::Int(32), "rows");
  const Expr other = hi::LT::make(at(0), hi::Broadcast::make(kCount + 1, kLanes));
  stays({add_row(0, all), add_row(1, all)});            // no mask: LLVM does it
  stays({add_row(0), add_row(1, other)});               // another mask
  stays({add_row(0), store(8, load("x", 16), other)});  // and nothing loaded
  stays({add_row(0), store(12, load("y", 12))});        // another place
  stays({add_row(0), store(8, load("y", 9))});          // loads another place
  stays({store(8, load("y", 9)), add_row(1)});          // the first one does
  stays({where(rows > 1, add_row(0)), add_row(1)});     // the first one may not store
  const Expr own = hi::LT::make(load("y", 8, all), hi::Broadcast::make(kCount, kLanes));
  stays({add_row(0, own), add_row(1, own)});  // what is stored changes the mask
  stays({add_row(0), hi::Evaluate::make(load("y", 9)), add_row(1)});  // between them, too
}

}  // namespace
}  // namespace emulsion

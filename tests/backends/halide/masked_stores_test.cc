// Of a masked store the same lanes are stored, each once and nothing else, whatever their number:
// what is made of it is computed here.

#include "backends/halide/masked_stores.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/backends/halide/vector_values.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using Halide::Expr;
using hi::Stmt;

const Expr kCount = hi::Variable::make(Halide::Int(32), "count");

Expr lanes_from(const Expr& base, int lanes, int stride = 1) {
  return hi::Ramp::make(base, stride, lanes);
}

Expr in_front_of(const Expr& end, int lanes) {
  return hi::LT::make(lanes_from(5, lanes), hi::Broadcast::make(end, lanes));
}

Stmt store(const Halide::Type& type, const Expr& index, const Expr& mask) {
  return hi::Store::make("y", hi::Variable::make(type, "v"), index, Halide::Parameter(), mask, {});
}

Stmt store_of(int lanes, int bits = 8) {
  return store(Halide::UInt(bits, lanes), lanes_from(100, lanes), in_front_of(kCount + 5, lanes));
}

VectorValues at(int lanes, int64_t count) {
  VectorValues values;
  values.variables["count"] = {count};
  for (int i = 0; i < lanes; ++i) values.variables["v"].push_back(10 * i + 3);
  return values;
}

struct Stores : hi::IRVisitor {
  using hi::IRVisitor::visit;
  int masked = 0, most = 0;

  void visit(const hi::Store* op) override {
    masked += hi::is_const_one(op->predicate) ? 0 : 1;
    most = std::max(most, op->index.type().lanes());
  }
};

TEST(MaskedStores, EachNumberOfFirstLanes) {
  for (const int bits : {8, 16, 32}) {
    for (const int lanes : {2, 4, 8, 32, 64}) {
      const Stmt before = store_of(lanes, bits), made = store_masked_parts(before, 64);
      Stores stores;
      made.accept(&stores);
      EXPECT_EQ(stores.masked, 0) << made;
      EXPECT_EQ(stores.most, lanes) << "all of them at once, where all are stored";
      for (int64_t count = -3; count <= lanes + 3; ++count) {
        VectorValues expected = at(lanes, count), got = at(lanes, count);
        expected.run(before);
        got.run(made);
        EXPECT_EQ(got.stored, expected.stored) << lanes << ": " << count;
      }
    }
  }
}

TEST(MaskedStores, OneAtAnEndIsTaken) {
  const Expr last = hi::LE::make(lanes_from(5, 8), hi::Broadcast::make(kCount + 4, 8));
  const Stmt before = store(Halide::UInt(8, 8), lanes_from(kCount * 0 + 7, 8), last);
  const Stmt made = store_masked_parts(before, 64);
  EXPECT_FALSE(made.same_as(before));
  for (int64_t count = 0; count <= 9; ++count) {
    VectorValues expected = at(8, count), got = at(8, count);
    expected.variables["count"] = got.variables["count"] = {count};
    expected.run(store_of(8));
    got.run(store_masked_parts(store(Halide::UInt(8, 8), lanes_from(100, 8), last), 64));
    EXPECT_EQ(got.stored, expected.stored) << count;
  }
}

TEST(MaskedStores, WhatStaysAsItIs) {
  const auto stays = [](const Stmt& statement, int least_bits = 64) {
    EXPECT_TRUE(store_masked_parts(statement, least_bits).same_as(statement)) << statement;
  };
  stays(store_of(8), 8);                                                          // has masks
  stays(store_of(6));                                                             // no power of two
  stays(store(Halide::Bool(8), lanes_from(0, 8), in_front_of(kCount, 8)));        // no whole bytes
  stays(store(Halide::UInt(8, 8), lanes_from(0, 8), hi::const_true(8)));          // no mask
  stays(store(Halide::UInt(8, 8), lanes_from(0, 8, 2), in_front_of(kCount, 8)));  // far apart
  const Expr behind = hi::LT::make(hi::Broadcast::make(kCount, 8), lanes_from(0, 8));
  stays(store(Halide::UInt(8, 8), lanes_from(0, 8), behind));  // the last lanes
}

}  // namespace
}  // namespace emulsion

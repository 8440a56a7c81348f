// Vectors of lanes that are no power of two are stored in parts, and what they are made of is taken
// apart.

#include "backends/halide/split_vectors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "backends/halide/scalar_ops.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

Halide::Expr variable(const std::string& name, int lanes = 1) {
  return hi::Variable::make(Halide::Float(32, lanes), name);
}

Halide::Expr ramp(const Halide::Expr& first, int lanes, int step = 1) {
  return hi::Ramp::make(first, step, lanes);
}

Halide::Expr load(const std::string& name, const Halide::Expr& index, int bits = 32) {
  const Halide::Type type = Halide::Float(bits, index.type().lanes());
  return hi::Load::make(type, name, index, {}, {}, hi::const_true(type.lanes()), {});
}

Stmt store(const Halide::Expr& value, const Halide::Expr& index, const std::string& name = "y") {
  return hi::Store::make(name, value, index, {}, hi::const_true(index.type().lanes()), {});
}
Stmt store(const Halide::Expr& value, const std::string& name = "y") {
  return store(value, ramp(0, value.type().lanes()), name);
}

// A mask of some.
Halide::Expr first_of(int lanes) {
  return ramp(0, lanes) < hi::Broadcast::make(hi::Variable::make(Halide::Int(32), "n"), lanes);
}

// The same few scalars again and again: a shuffle.
Halide::Expr in_turn(int lanes) {
  std::vector<int> indices;
  for (int i = 0; i < lanes; ++i) indices.push_back(i % 3);
  return hi::Shuffle::make({variable("a"), variable("b"), variable("c")}, indices);
}

// What is stored and loaded, in order.
struct Accesses : hi::IRVisitor {
  using hi::IRVisitor::visit;
  std::vector<std::string> all;
  std::vector<int> stored, loaded;  // lanes
  int shuffled = 0;                 // the most vectors of a shuffle

  explicit Accesses(const Stmt& statement) { statement.accept(this); }

  void visit(const hi::Store* op) override {
    hi::IRVisitor::visit(op);
    stored.push_back(op->value.type().lanes());
    all.push_back("store " + op->name);
  }
  void visit(const hi::Load* op) override {
    hi::IRVisitor::visit(op);
    loaded.push_back(op->type.lanes());
    all.push_back("load " + op->name);
  }
  void visit(const hi::Shuffle* op) override {
    hi::IRVisitor::visit(op);
    shuffled = std::max(shuffled, static_cast<int>(op->vectors.size()));
  }
};

std::string text_of(const Stmt& statement) {
  std::ostringstream text;
  text << statement;
  return text.str();
}
bool is_left(const Stmt& statement) { return split_vectors(statement).same_as(statement); }

using Lanes = std::vector<int>;

TEST(SplitVectors, PartsAreTheLargestPowerOfTwo) {
  for (const auto& [lanes, part] : {std::pair(48, 16), {24, 8}, {12, 4}, {80, 16}, {96, 32}}) {
    const Accesses made(split_vectors(store(load("x", ramp(7, lanes)) * in_turn(lanes))));
    EXPECT_EQ(made.stored, Lanes(static_cast<size_t>(lanes / part), part));
    EXPECT_EQ(made.loaded, made.stored);
  }
}

// A power of two; parts shorter than any register; one element; what is masked or scattered.
TEST(SplitVectors, OthersAreLeft) {
  for (const int lanes : {16, 32, 64, 6, 3}) {
    EXPECT_TRUE(is_left(store(load("x", ramp(0, lanes)) * in_turn(lanes)))) << lanes;
  }
  EXPECT_TRUE(is_left(store(load("x", 0), Halide::Expr(0))));
  const Halide::Expr value = load("x", ramp(0, 48)) * in_turn(48);
  EXPECT_TRUE(is_left(store(value, ramp(0, 48, 2))));
  EXPECT_TRUE(is_left(hi::Store::make("y", value, ramp(0, 48), {}, first_of(48), {})));
  EXPECT_TRUE(is_left(hi::Atomic::make("y", "", store(value))));
}

// LLVM makes the best of what is only computed.
TEST(SplitVectors, WithoutShufflesTheyAreLeft) {
  EXPECT_TRUE(is_left(store(load("x", ramp(0, 48)) * 2.0F)));
  EXPECT_TRUE(is_left(
      hi::Block::make(store(load("x", ramp(0, 48))), store(variable("v"), Halide::Expr(0), "z"))));
}

// What is started with, and what is made of it, where something shuffled is added in between.
TEST(SplitVectors, AllThatIsStoredToTheSameMemory) {
  const Halide::Expr sum = load("sum", ramp(0, 48));
  const Stmt made = split_vectors(hi::Block::make(
      {store(hi::Broadcast::make(variable("zero"), 48), "sum"), store(sum + in_turn(48), "sum"),
       store(sum * 2.0F, "y"), store(load("x", ramp(0, 48)), "z")}));
  EXPECT_EQ(Accesses(made).stored, Lanes({16, 16, 16, 16, 16, 16, 16, 16, 16, 48})) << made;
}

// Two bytes are shorter than four: of these 24 are three parts of a register.
TEST(SplitVectors, PartsFillARegister) {
  const auto again = [](int lanes, int bits) {
    const std::vector<int> indices(static_cast<size_t>(lanes), 1);
    return store(hi::Shuffle::make({load("x", ramp(0, lanes), bits)}, indices));
  };
  EXPECT_EQ(Accesses(split_vectors(again(24, 16))).stored, Lanes({8, 8, 8}));
  EXPECT_TRUE(is_left(again(12, 16)));
  EXPECT_EQ(Accesses(split_vectors(again(6, 64))).stored, Lanes({2, 2, 2}));
}

// The second part reads what the first one writes.
TEST(SplitVectors, AllPartsAreComputedBeforeTheFirstIsStored) {
  const Accesses made(split_vectors(store(load("y", ramp(3, 12)) + in_turn(12))));
  EXPECT_EQ(made.all, std::vector<std::string>(
                          {"load y", "load y", "load y", "store y", "store y", "store y"}));
}

TEST(SplitVectors, EachKindOfValue) {
  const Halide::Expr x = load("x", ramp(0, 12)), b = hi::Broadcast::make(variable("b"), 12);
  const Halide::Expr i = ramp(hi::Variable::make(Halide::Int(32), "i"), 12, 3);
  for (const Halide::Expr& value :
       {x + b, Halide::select(x < b, x, b), Halide::cast(Halide::Float(32, 12), i),
        hi::Reinterpret::make(Halide::Float(32, 12), i), load("x", i),
        Halide::select(variable("b") < 1.0F, x, b), fused_multiply_add(x, b, x)}) {
    const Stmt made = split_vectors(store(value + in_turn(12)));
    EXPECT_EQ(Accesses(made).stored, Lanes({4, 4, 4})) << text_of(made);
    EXPECT_EQ(text_of(made).find("slice"), std::string::npos) << text_of(made);
  }
  const std::string text =
      text_of(split_vectors(store(Halide::cast(Halide::Float(32, 12), i) + in_turn(12))));
  EXPECT_NE(text.find("ramp(i + 12, 3, 4)"), std::string::npos) << text;
  EXPECT_NE(text.find("ramp(i + 24, 3, 4)"), std::string::npos) << text;
}

// What is no lane by itself is computed whole, and a part of it taken.
TEST(SplitVectors, WhatIsOnlyThereWholeIsSliced) {
  const Halide::Expr pairs =
      Halide::Internal::VectorReduce::make(hi::VectorReduce::Add, load("x", ramp(0, 24)), 12);
  const Halide::Expr named = variable("v", 12);
  for (const Halide::Expr& value : {pairs, named}) {
    const std::string text = text_of(split_vectors(store(value + in_turn(12))));
    EXPECT_NE(text.find("slice_vectors("), std::string::npos) << text;
  }
}

// Of every third element, each three times, the parts that a part is made of, at once.
TEST(SplitVectors, ShufflesAreOfPartsAndOfNoOtherShuffle) {
  const Halide::Expr every_third = hi::Shuffle::make_slice(load("x", ramp(0, 48)), 1, 3, 16);
  const Stmt made =
      split_vectors(store(hi::Shuffle::make_interleave({every_third, every_third, every_third})));
  const Accesses accesses(made);
  EXPECT_EQ(accesses.stored, Lanes({16, 16, 16}));
  EXPECT_EQ(accesses.loaded, Lanes({16, 16, 16})) << text_of(made);  // each once
  EXPECT_EQ(accesses.shuffled, 2) << text_of(made);
  EXPECT_NE(text_of(made).find("1, 1, 1, 4, 4, 4, 7, 7, 7, 10, 10, 10, 13, 13, 13, 16)"),
            std::string::npos)
      << text_of(made);
}

TEST(SplitVectors, ScalarsInTurnAreOneShuffle) {
  std::vector<Halide::Expr> same;
  for (const char* name : {"a", "b", "c"}) {
    same.push_back(hi::Broadcast::make(variable(name), 16));
  }
  const std::string text = text_of(split_vectors(store(hi::Shuffle::make_interleave(same))));
  EXPECT_NE(text.find("shuffle((float32)b, (float32)c, (float32)a, 0, 1, 2, "), std::string::npos)
      << text;
}

// No instruction takes three vectors: LLVM knows better how to interleave these.
TEST(SplitVectors, VectorsThatAreInterleavedStayWhole) {
  std::vector<Halide::Expr> three;
  for (int i = 0; i < 3; ++i) three.push_back(load("x", ramp(100 * i, 16)) + 1.0F);
  EXPECT_TRUE(is_left(store(hi::Shuffle::make_interleave(three))));
}

TEST(SplitVectors, ScalarsAmongVectorsStayWhole) {
  const Halide::Expr same = hi::Broadcast::make(variable("a"), 16), x = load("x", ramp(0, 16));
  EXPECT_TRUE(is_left(store(hi::Shuffle::make_interleave({same, x, same}))));
}

// A mask says where a loop ends.
TEST(SplitVectors, WhatIsLoadedUnderAMaskStaysWhole) {
  const Halide::Expr masked =
      hi::Load::make(Halide::Float(32, 48), "x", ramp(0, 48), {}, {}, first_of(48), {});
  EXPECT_TRUE(is_left(store(masked * in_turn(48))));
}

// A name inside of a value would be there in each part.
TEST(SplitVectors, WithANameInsideItStaysWhole) {
  const Halide::Expr x = load("x", ramp(0, 12));
  EXPECT_TRUE(is_left(store(hi::Let::make("t", 2.0F, x) + in_turn(12))));
  // The name of the whole value becomes one of the statement, with the parts of what it stands for.
  const Stmt made = split_vectors(store(hi::Let::make("t", x, variable("t", 12) * in_turn(12))));
  EXPECT_EQ(Accesses(made).stored, Lanes({4, 4, 4}));
  EXPECT_NE(text_of(made).find("t.part2"), std::string::npos) << text_of(made);
}

Stmt every_third_of(const std::string& from, const std::string& to) {
  const Halide::Expr third = hi::Shuffle::make_slice(load(from, ramp(0, 48)), 0, 3, 16);
  return store(hi::Shuffle::make_interleave({third, third, third}), to);
}

TEST(SplitVectors, WhatStatementsLoadForShufflesIsLoadedOnce) {
  const Stmt made = split_vectors(
      hi::Block::make({every_third_of("x", "a"), store(variable("v"), Halide::Expr(0), "z"),
                       every_third_of("x", "b")}));
  EXPECT_EQ(Accesses(made).loaded, Lanes({16, 16, 16})) << text_of(made);
}

TEST(SplitVectors, AgainWhereItHasBeenStored) {
  const Stmt made = split_vectors(
      hi::Block::make({every_third_of("x", "a"), store(variable("v"), Halide::Expr(0), "x"),
                       every_third_of("x", "b")}));
  EXPECT_EQ(Accesses(made).loaded, Lanes(6, 16)) << text_of(made);
  const Stmt own =
      split_vectors(hi::Block::make(every_third_of("x", "x"), every_third_of("x", "b")));
  EXPECT_EQ(Accesses(own).loaded, Lanes(6, 16)) << text_of(own);
}

// What others have named may be there once more under the same name.
TEST(SplitVectors, OtherNamesKeepTheirPlaces) {
  const auto named = [](const std::string& to) {
    return hi::LetStmt::make("t", load("x", 0), store(variable("t"), Halide::Expr(0), to));
  };
  const Stmt made = split_vectors(hi::Block::make(named("a"), named("b")));
  EXPECT_EQ(Accesses(made).all,
            std::vector<std::string>({"load x", "store a", "load x", "store b"}));
}

// Of a product LLVM takes the factor that comes first for one of neighbours.
TEST(SplitVectors, ScalarsInTurnAreTheSecondFactor) {
  std::vector<Halide::Expr> same;
  for (const char* name : {"a", "b", "c"}) same.push_back(hi::Broadcast::make(variable(name), 16));
  const Halide::Expr scalars = hi::Shuffle::make_interleave(same), x = load("x", ramp(0, 48));
  for (const Halide::Expr& value :
       {fused_multiply_add(scalars, x, x), fused_multiply_add(x, scalars, x)}) {
    const std::string text = text_of(split_vectors(store(value)));
    EXPECT_NE(text.find("llvm.fma.f32((float32x16)x["), std::string::npos) << text;
    EXPECT_EQ(text.find("llvm.fma.f32(shuffle"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace emulsion

// Where elements are in memory, and what Halide may believe of a load and a store.

#include "backends/halide/emit_places.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "dsl/error.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

Buffer buffer_of(BufferRole role, DType dtype = DType::f32) {
  Buffer buffer;
  buffer.name = "a";
  buffer.role = role;
  buffer.dtype = dtype;
  buffer.shape = {3, 5};
  return buffer;
}

Place place_of(BufferRole role, DType dtype = DType::f32) {
  return dense_place(buffer_of(role, dtype), {3, 5});
}

// As it is loaded: below a cast where memory has another type.
const hi::Load* load_in(const Halide::Expr& value) {
  const hi::Cast* cast = value.as<hi::Cast>();
  return (cast != nullptr ? cast->value : value).as<hi::Load>();
}

int64_t number(const Halide::Expr& e) {
  const std::optional<int64_t> value = hi::as_const_int(hi::simplify(e));
  return value.value_or(-1);
}

// Halide may move a load of what never changes over a store. That is right for an input, and wrong
// for an output in which a sum is made.
TEST(EmitPlaces, OnlyLoadsOfArgumentsThatNeverChangeHaveAParameter) {
  for (const BufferRole role : {BufferRole::input, BufferRole::weight}) {
    const hi::Load* load = load_in(place_of(role).load(0, hi::const_true()));
    ASSERT_NE(load, nullptr);
    EXPECT_TRUE(load->param.defined());
  }
  const hi::Load* load = load_in(place_of(BufferRole::output).load(0, hi::const_true()));
  ASSERT_NE(load, nullptr);
  EXPECT_FALSE(load->param.defined());
  EXPECT_FALSE(load->image.defined());
}

TEST(EmitPlaces, AStoreToAnOutputHasItsParameter) {
  const hi::Stmt store = place_of(BufferRole::output).store(1.0F, 0, hi::const_true());
  ASSERT_NE(store.as<hi::Store>(), nullptr);
  EXPECT_TRUE(store.as<hi::Store>()->param.defined());
}

TEST(EmitPlaces, AStoreOfAnotherTypeIsRefused) {
  EXPECT_THROW(place_of(BufferRole::output).store(1, 0, hi::const_true()), InternalError);
}

TEST(EmitPlaces, ABoolTakesAByte) {
  const Place place = place_of(BufferRole::output, DType::boolean);
  const Halide::Expr value = place.load(0, hi::const_true());
  EXPECT_EQ(value.type(), Halide::Bool());
  ASSERT_NE(load_in(value), nullptr);
  EXPECT_EQ(load_in(value)->type, Halide::UInt(8));
  const hi::Stmt store = place.store(hi::const_true(), 0, hi::const_true());
  EXPECT_EQ(store.as<hi::Store>()->value.type(), Halide::UInt(8));
}

TEST(EmitPlaces, ArgumentsAreRowMajorFromZero) {
  const Place place = place_of(BufferRole::input);
  EXPECT_EQ(number(place.offset({0, 0})), 0);
  EXPECT_EQ(number(place.offset({0, 4})), 4);
  EXPECT_EQ(number(place.offset({2, 1})), 11);
}

TEST(EmitPlaces, ARegionIsCountedFromItsStart) {
  Place place = place_of(BufferRole::input);
  place.mins = {10, 20};
  EXPECT_EQ(number(place.offset({10, 20})), 0);
  EXPECT_EQ(number(place.offset({12, 23})), 13);
  EXPECT_EQ(number(place.lowest(0)), 10);
}

// The rows of a block that starts earlier, one after another.
TEST(EmitPlaces, AVectorThroughRowsOfARegionIsSeenAsOne) {
  Place place = place_of(BufferRole::input);
  const auto variable = [](const char* name) { return hi::Variable::make(Halide::Int(32), name); };
  const Halide::Expr block = variable("block"), at = variable("at");
  const Halide::Expr likely = Halide::min(Halide::likely_if_innermost(block * 61), 180);
  place.mins = {Halide::min(block * 61, 180), 0};
  for (const Halide::Expr& row : {likely + at / 5, at / 5 + likely, likely + block + at / 5}) {
    const Halide::Expr offset = place.offset({row, at % 5});
    const Halide::Expr expected = hi::equal(row, likely + block + at / 5) ? block * 5 + at : at;
    EXPECT_TRUE(hi::is_const_zero(hi::simplify(offset - expected))) << offset;
  }
  EXPECT_TRUE(hi::is_const_zero(hi::simplify(place.offset({likely, 0}))));
  // Another start is no start.
  const Halide::Expr other = place.offset({Halide::min(block * 61, 179), 0});
  EXPECT_EQ(number(hi::simplify(hi::substitute("block", 3, other))), -5);
}

// Halide simplifies the start of a region, and not the index.
TEST(EmitPlaces, AStartIsTheSameHoweverItIsWritten) {
  Place place = place_of(BufferRole::input);
  const auto variable = [](const char* name) { return hi::Variable::make(Halide::Int(32), name); };
  const Halide::Expr block = variable("block"), at = variable("at"), size = variable("size");
  place.mins = {hi::simplify(Halide::min(block * 32, size - 32)), 0};
  std::ostringstream text;
  text << place.offset({Halide::min(block * 32, size - 32) + at / 5, at % 5});
  EXPECT_EQ(text.str().find("min"), std::string::npos) << text.str();
}

TEST(EmitPlaces, AFoldedAxisGoesRound) {
  Place place = place_of(BufferRole::input);
  place.mins = {10, 0};
  place.folds = {3, 0};
  EXPECT_EQ(number(place.offset({9, 0})), 0);
  EXPECT_EQ(number(place.offset({11, 4})), 14);
  EXPECT_EQ(number(place.lowest(0)), 0);
}

// A constant part of the index goes round with the rest of it.
TEST(EmitPlaces, AFoldedAxisGoesRoundAsAWhole) {
  Place place = place_of(BufferRole::input);
  place.folds = {3, 0};
  const Halide::Expr x = Halide::Internal::Variable::make(Halide::Int(32), "x");
  const auto at = [&](int value) {
    return number(hi::simplify(hi::substitute("x", value, place.offset({x + 1, 0}))));
  };
  EXPECT_EQ(at(0), 5);
  EXPECT_EQ(at(1), 10);
  EXPECT_EQ(at(2), 0);
}

// How far apart neighbours are along both axes of storage, then how many elements it takes.
std::vector<int64_t> numbers_of(const StorageLayout& layout, int rows, int columns) {
  Halide::Expr elements;
  const std::vector<Halide::Expr> strides = storage_strides(layout, {rows, columns}, &elements);
  return {number(strides.at(0)), number(strides.at(1)), number(elements)};
}
using Numbers = std::vector<int64_t>;

TEST(EmitPlaces, AnAlignedAxisTakesTheNextMultipleAndNoMore) {
  StorageLayout layout;
  layout.alignments = {1, 8};
  EXPECT_EQ(numbers_of(layout, 3, 7), Numbers({8, 1, 24}));
  EXPECT_EQ(numbers_of(layout, 3, 8), Numbers({8, 1, 24}));
  EXPECT_EQ(numbers_of(layout, 3, 9), Numbers({16, 1, 48}));
}

TEST(EmitPlaces, StorageMayHaveItsAxesInAnotherOrder) {
  StorageLayout layout;
  layout.order = {1, 0};
  EXPECT_EQ(numbers_of(layout, 3, 5), Numbers({1, 3, 15}));
}

// Halide aligns no single element on the stack, and a masked vector of it would end the process.
TEST(EmitPlaces, StorageWithoutElementsHasRoom) {
  EXPECT_EQ(numbers_of({}, 3, 0), Numbers({1, 1, 3}));
  EXPECT_EQ(numbers_of({}, 0, 0), Numbers({1, 1, 2}));
}

// Neighbouring elements share the address that they are counted from.
TEST(EmitPlaces, ConstantsAreAddedLast) {
  const Halide::Expr x = Halide::Internal::Variable::make(Halide::Int(32), "x");
  const Halide::Expr offset = place_of(BufferRole::input).offset({x + 1, x + 2});
  const hi::Add* sum = offset.as<hi::Add>();
  ASSERT_NE(sum, nullptr);
  EXPECT_EQ(number(sum->b), 7);
}

// Of a dense tensor, its last axes of these lengths, at the index `x` of a reshape's row.
Place pictures(int rows, int columns) {
  Buffer buffer = buffer_of(BufferRole::input);
  buffer.shape = {5, rows, columns};
  return dense_place(buffer, {5, rows, columns});
}
Halide::Expr variable(const char* name) { return hi::Variable::make(Halide::Int(32), name); }
bool divides(const Halide::Expr& e) {
  std::ostringstream text;
  text << e;
  return text.str().find_first_of("/%") != std::string::npos;
}
// At each x from -40 up what the indices by themselves say.
void expect_offset(const Place& place, const std::vector<Halide::Expr>& indices) {
  const Halide::Expr offset = place.offset(indices);
  for (int x = -40; x < 200; ++x) {
    const auto at = [&](const Halide::Expr& e) { return number(hi::substitute("x", x, e) + 9999); };
    int64_t expected = 9999;
    for (size_t d = 0; d < indices.size(); ++d) {
      expected += (at(indices[d]) - 9999) * number(place.strides[d]);
    }
    ASSERT_EQ(at(offset), expected) << offset << " at " << x;
  }
}

TEST(EmitPlaces, WhatAReshapeReadsLiesInARow) {
  const Place place = pictures(4, 7);
  const Halide::Expr x = variable("x");
  for (const std::vector<Halide::Expr>& indices :
       {std::vector<Halide::Expr>{x / 28, x / 7 % 4, x % 7},
        {3, x / 7, x % 7},
        {x / 28 + 2, x / 7 % 4, x % 7},
        {2, x / 7 % 4, x % 7 + 1}}) {
    expect_offset(place, indices);
  }
  EXPECT_FALSE(divides(place.offset({x / 28, x / 7 % 4, x % 7})));
  EXPECT_FALSE(divides(place.offset({x / 28 + 2, x / 7 % 4, x % 7 + 1})));
  const Halide::Expr g = variable("g");
  EXPECT_FALSE(divides(place.offset({g * 2 + x / 28, x / 7 % 4, x % 7})));
}

// Quotients by another number, of another index, and at other distances stay what they are.
TEST(EmitPlaces, OtherQuotientsAreNotJoined) {
  const Place place = pictures(4, 7);
  const Halide::Expr x = variable("x");
  for (const std::vector<Halide::Expr>& indices :
       {std::vector<Halide::Expr>{x / 28, x / 8 % 4, x % 7},
        {x / 28, (x + 1) / 7 % 4, x % 7},
        {x / 28, x % 7, x / 7 % 4},
        {x / 7 % 4, x / 28, x % 7},
        {x / 28, x / 7 % 4, x % 8},
        {x / 28, x / 7 % 3, x % 7}}) {
    expect_offset(place, indices);
    EXPECT_TRUE(divides(place.offset(indices))) << place.offset(indices);
  }
}

TEST(EmitPlaces, QuotientsBesideARunTimeSize) {
  Buffer buffer = buffer_of(BufferRole::input);
  buffer.shape = {5, Extent::size("W"), 7};
  const Halide::Expr x = variable("x"), w = variable("W");
  const Place place = dense_place(buffer, {5, w, 7});
  EXPECT_FALSE(divides(place.offset({0, x / 7, x % 7})));
  for (int at = 0; at < 50; ++at) {
    const Halide::Expr offset = place.offset({x / 35, x / 7 % 5, x % 7});
    EXPECT_EQ(number(hi::substitute({{"x", at}, {"W", 5}}, offset)), at);
  }
}

}  // namespace
}  // namespace emulsion

// Every lane has the element that its index says, whichever side of the end it is on, and no lane
// that is masked out is read.

#include "backends/halide/wrapped_vectors.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "tests/backends/halide/vector_terms.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using Halide::Expr;

constexpr int kLanes = 8, kBits = 32, kNoMasks = 1024;
const Expr kPlace = number("i"), kEnd = number("n"), kRow = number("r");

// i + select(i < n, 100, 0) + r
Expr wrapped(const Expr& places) {
  const int lanes = places.type().lanes();
  const Expr condition = hi::LT::make(places, same(kEnd, lanes));
  return places + hi::Select::make(condition, same(100, lanes), same(0, lanes)) + same(kRow, lanes);
}

Expr load(const Expr& index, const Expr& mask = {}) {
  const int lanes = index.type().lanes();
  return hi::Load::make(Halide::Int(kBits, lanes), "x", index, {}, {},
                        mask.defined() ? mask : hi::const_true(lanes), {});
}

Expr after(const Expr& loaded) {
  const hi::Stmt made = mask_wrapped_vectors(hi::Evaluate::make(loaded), kBits);
  return made.as<hi::Evaluate>()->value;
}
Expr without_masks(const Expr& loaded, const std::map<std::string, Expr>& elements = {}) {
  const hi::Stmt made = load_wrapped_vectors(hi::Evaluate::make(loaded), kNoMasks, elements);
  return made.as<hi::Evaluate>()->value;
}

struct Point {
  int place, end;
};

int64_t value(const Expr& e, Point at) {
  const Expr made = hi::simplify(hi::substitute(
      "i", Expr(at.place), hi::substitute("n", Expr(at.end), hi::substitute("r", Expr(1000), e))));
  const auto number = hi::as_const_int(made);
  const auto bit = hi::as_const_uint(made);
  EXPECT_TRUE(number || bit) << made;
  return number ? *number : static_cast<int64_t>(bit.value_or(0));
}

// The element that a lane is, of what is loaded and chosen.
int64_t element(const Expr& e, int lane, Point at) {
  if (const auto* op = e.as<hi::Select>()) {
    const bool holds = value(hi::extract_lane(op->condition, lane), at) != 0;
    return element(holds ? op->true_value : op->false_value, lane, at);
  }
  if (const auto* op = e.as<hi::Call>()) {
    EXPECT_TRUE(op->is_intrinsic(hi::Call::if_then_else)) << e;
    return element(op->args[value(op->args[0], at) != 0 ? 1 : 2], lane, at);
  }
  const auto* op = e.as<hi::Load>();
  EXPECT_NE(op, nullptr) << e;
  EXPECT_NE(value(hi::extract_lane(op->predicate, lane), at), 0) << e;
  return value(hi::extract_lane(op->index, lane), at);
}

bool is_whole(const Expr& e, Point at) {
  const auto* op = e.as<hi::Call>();
  return op != nullptr && value(op->args[0], at) != 0;
}

void expect_same(const Expr& before, const Expr& made) {
  for (const int place : {0, 8, 16, 3}) {
    for (const int end : {0, 1, 3, 8, 9, 11, 16, 17, 40}) {
      for (int lane = 0; lane < before.type().lanes(); ++lane) {
        EXPECT_EQ(element(made, lane, {place, end}), element(before, lane, {place, end}))
            << "lane " << lane << " of " << made;
      }
    }
  }
}

TEST(WrappedVectors, AreOneLoadWhereAllLanesAreOnOneSide) {
  const Expr before = load(wrapped(ramp(kPlace, 1, kLanes))), made = after(before);
  expect_same(before, made);
  EXPECT_TRUE(is_whole(made, {0, 8}));
  EXPECT_TRUE(is_whole(made, {8, 8}));
  EXPECT_FALSE(is_whole(made, {0, 7}));
  EXPECT_FALSE(is_whole(made, {7, 8}));
  const auto* whole = made.as<hi::Call>()->args[1].as<hi::Load>();
  ASSERT_NE(whole, nullptr) << made;
  EXPECT_NE(whole->index.as<hi::Ramp>(), nullptr) << made;
}

TEST(WrappedVectors, AreTwoUnderMasksWhereTheyAreNot) {
  const Expr made = after(load(wrapped(ramp(kPlace, 1, kLanes))));
  const auto* parts = made.as<hi::Call>()->args[2].as<hi::Select>();
  ASSERT_NE(parts, nullptr) << made;
  for (const Expr& side : {parts->true_value, parts->false_value}) {
    const auto* loaded = side.as<hi::Load>();
    ASSERT_NE(loaded, nullptr) << made;
    EXPECT_NE(loaded->index.as<hi::Ramp>(), nullptr) << made;
    EXPECT_FALSE(hi::is_const_one(loaded->predicate)) << made;
  }
}

TEST(WrappedVectors, KeepAMaskOfTheirOwn) {
  const Expr places = ramp(kPlace, 1, kLanes), mask = hi::LT::make(places, same(12, kLanes));
  const Expr made = after(load(wrapped(places), mask));
  for (int lane = 0; lane < 4; ++lane) {
    for (const int end : {0, 8, 10, 20}) {
      EXPECT_EQ(element(made, lane, {8, end}), 1000 + 8 + lane + (8 + lane < end ? 100 : 0));
    }
  }
}

// Of all lanes on either side where there is memory for them, and as they were where there is none.
// No choice stands in another one, for what it loads is in front of both.
TEST(WrappedVectors, WithoutMasks) {
  const Expr before = load(wrapped(ramp(kPlace, 1, kLanes)));
  for (const int elements : {1020, 1107, 2000}) {
    const Expr made = without_masks(before, {{"x", elements}});
    expect_same(before, made);
    ASSERT_NE(made.as<hi::Call>(), nullptr) << made;
    EXPECT_TRUE(hi::equal(made.as<hi::Call>()->args[2], before)) << made;
    EXPECT_TRUE(is_whole(made, {0, 8}));
    EXPECT_EQ(is_whole(made, {0, 3}), elements == 2000)
        << "the last lane in front of the end would be behind the memory";
  }
  const Expr unknown = without_masks(before);
  expect_same(before, unknown);
  EXPECT_FALSE(is_whole(unknown, {0, 3})) << "nothing is known of the memory";
}

TEST(WrappedVectors, NotUnderMasksThatThereAreNone) {
  const Expr places = ramp(kPlace, 1, kLanes), mask = hi::LT::make(places, same(12, kLanes));
  const Expr before = load(wrapped(places), mask);
  EXPECT_TRUE(hi::equal(without_masks(before, {{"x", 2000}}), before));
}

TEST(WrappedVectors, AreOfEitherKind) {
  const hi::Stmt before = hi::Evaluate::make(load(wrapped(ramp(kPlace, 1, kLanes))));
  EXPECT_TRUE(hi::equal(mask_wrapped_vectors(before, kBits + 1), before));
  EXPECT_TRUE(hi::equal(load_wrapped_vectors(before, kBits, {{"x", 2000}}), before));
}

// Pixels of three values, the places of which come three times each.
TEST(WrappedVectors, OfPixelsSideBySide) {
  const int lanes = 12;
  const Expr lane = ramp(0, 1, lanes), three = same(3, lanes);
  const Expr pixel = lane / three + same(kPlace, lanes);
  const Expr condition = hi::LT::make(pixel, same(kEnd, lanes));
  const Expr chosen = hi::Select::make(condition, same(100, lanes), same(0, lanes));
  const Expr before = load((pixel + chosen) * three + lane % three), made = after(before);
  expect_same(before, made);
  ASSERT_NE(made.as<hi::Call>(), nullptr) << made;
  EXPECT_NE(made.as<hi::Call>()->args[1].as<hi::Load>()->index.as<hi::Ramp>(), nullptr) << made;
  EXPECT_TRUE(is_whole(made, {0, 4}));
  EXPECT_FALSE(is_whole(made, {0, 3}));
}

TEST(WrappedVectors, OfAClampedIndex) {
  const Expr held = hi::Max::make(
      hi::Min::make(wrapped(ramp(kPlace, 1, kLanes)), same(1110, kLanes)), same(1002, kLanes));
  const Expr before = load(held), made = after(before);
  expect_same(before, made);
  EXPECT_TRUE(is_whole(made, {3, 40})) << "1103 to 1110";
  EXPECT_FALSE(is_whole(made, {4, 40}));
  EXPECT_FALSE(is_whole(made, {0, 0})) << "1000 is below";
}

TEST(WrappedVectors, NotOfOthers) {
  const Expr places = ramp(kPlace, 1, kLanes), end = same(kEnd, kLanes);
  const Expr falls = ramp(kPlace, -1, kLanes);
  const Expr each = load(places);
  for (const Expr& index :
       {places, places * same(2, kLanes), hi::Min::make(places, end),
        places + hi::Select::make(hi::LT::make(falls, end), same(100, kLanes), same(0, kLanes)),
        places + hi::Select::make(hi::LT::make(each, end), same(100, kLanes), same(0, kLanes)),
        hi::Select::make(hi::LT::make(places, end), places, places * same(2, kLanes))}) {
    const Expr before = load(index);
    EXPECT_TRUE(hi::equal(after(before), before)) << index;
  }
}

}  // namespace
}  // namespace emulsion

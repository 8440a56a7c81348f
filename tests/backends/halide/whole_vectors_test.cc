// Of whole vectors every lane that is used has the element that its clamped index says, and no
// memory is read that is not there: what is made of a load is computed here lane by lane.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>

#include "backends/halide/clamped_vectors.h"
#include "tests/backends/halide/clamped_terms.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using namespace clamped_terms;  // NOLINT: the words of these cases
using Halide::Expr;

constexpr int kElements = 12;  // in the memory of x

Expr whole(const Expr& value, int least_bits = 64) {
  const hi::Stmt made =
      load_whole_vectors(hi::Evaluate::make(value), least_bits, {{"x", kElements}});
  return made.as<hi::Evaluate>()->value;
}

// That lanes are the same, and that nothing is loaded that the memory does not have, but for what
// `a` loads. Returns how often all that is loaded is in a vector of its own.
int expect_same_in_memory(
    const Expr& a, const Expr& b,
    const std::function<bool(Point at, int lane)>& reads = [](Point, int) { return true; }) {
  int times = 0;
  for (int base = -9; base <= 20; ++base) {
    for (int count = -2; count <= kLanes + 2; ++count) {
      const Point at{base, count};
      std::set<int64_t> of_a, of_b;
      for (int lane = 0; lane < kLanes; ++lane) {
        const int64_t expected = Lane(at, lane, &of_a).value(a);
        const int64_t got = Lane(at, lane, &of_b).value(b);
        if (!reads(at, lane)) continue;
        EXPECT_EQ(got, expected) << base << ", lane " << lane;
      }
      for (const int64_t element : of_b) {
        const bool is_there = element >= 0 && element < kElements;
        EXPECT_TRUE(is_there || of_a.count(element)) << base << ": " << element;
      }
      times += of_b.size() > of_a.size() ? 1 : 0;
    }
  }
  return times;
}

// Whether some vector is loaded without a mask.
bool has_whole(const Expr& value) {
  return count_loads(value, [](const hi::Load& op) {
           return op.index.as<hi::Ramp>() != nullptr && hi::is_const_one(op.predicate);
         }) > 0;
}

TEST(WholeVectors, EachLaneHasItsElement) {
  for (const Expr& index : clamps()) {
    for (const Expr& value : {load(index), load(index + all(7)), load(all(kCount) + index)}) {
      EXPECT_TRUE(has_whole(whole(value))) << value;
      expect_same_in_memory(value, whole(value));
    }
  }
}

TEST(WholeVectors, UnderAMask) {
  const Expr first = hi::Ramp::make(Expr(5), 1, kLanes) < all(kCount + 5);
  const auto is_first = [](Point at, int lane) { return lane < at.count; };
  for (const Expr& index : clamps()) {
    const Expr value = load(index, first);
    EXPECT_GT(expect_same_in_memory(value, whole(value), is_first), 0) << value;
  }
  const Expr some = load(neighbours(), first), others = load(neighbours(), neighbours() > all(5));
  EXPECT_GT(expect_same_in_memory(some, whole(some), is_first), 0);
  EXPECT_GT(expect_same_in_memory(others, whole(others),
                                  [](Point at, int lane) { return at.base + lane > 5; }),
            0);
}

TEST(WholeVectors, AGuardStays) {
  for (const Expr& index : clamps()) {
    const Expr value = load(hi::Select::make(all(kCount > 1), index, all(3)));
    expect_same_in_memory(value, whole(value), [](Point at, int) { return at.count > 1; });
    std::set<int64_t> loaded;
    for (int lane = 0; lane < kLanes; ++lane) Lane({4, 1}, lane, &loaded).value(whole(value));
    EXPECT_EQ(loaded, std::set<int64_t>{3}) << value;
  }
}

TEST(WholeVectors, WhatIsChosenInFrontOfAnEndNeedsNoElementThere) {
  const Expr held = load(min(neighbours(), all(kCount - 1)));
  EXPECT_EQ(edges(whole(held)), 1);
  for (const Expr& condition : in_front()) {
    const Expr value = hi::Select::make(condition, held, zeros());
    EXPECT_EQ(edges(whole(value)), 0) << value;
    expect_same_in_memory(value, whole(value));
  }
}

TEST(WholeVectors, NoRowBehindTheLastOneIsRead) {
  for (const int from : {0, 1, 4}) {
    const Rows rows(from);
    for (const Expr& condition : rows.in_front()) {
      const Expr value = hi::Select::make(condition, rows.clamped_at(kCount - 1), zeros());
      EXPECT_TRUE(has_whole(whole(value))) << value;
      expect_same_in_memory(value, whole(value));
      EXPECT_TRUE(whole(value, 32).same_as(value)) << "has masks";
    }
  }
}

// Halide would load what two conditions share in front of both.
// That neither load leaves its condition is the business of lower_statement.cc.
TEST(WholeVectors, OfTwoThatLoadTheSameEachIsWhole) {
  const Expr sum = load(min(neighbours(), all(3))) + load(min(neighbours(), all(5)));
  EXPECT_EQ(edges(whole(sum)), 2);
  expect_same_in_memory(sum, whole(sum));
}

TEST(WholeVectors, OfWhatIsAllocated) {
  const Expr value = load(min(neighbours(), all(3)));
  const hi::Stmt body = hi::Evaluate::make(value);
  const hi::Stmt allocated = hi::Allocate::make("x", Halide::Float(32), Halide::MemoryType::Stack,
                                                {Expr(kElements)}, hi::const_true(), body);
  const hi::Stmt made = load_whole_vectors(allocated, 64, {});
  const Expr of_made = made.as<hi::Allocate>()->body.as<hi::Evaluate>()->value;
  EXPECT_GT(expect_same_in_memory(value, of_made), 0);
}

// Of every second to fourth element the first ones, with what is between.
TEST(WholeVectors, AFewElementsApart) {
  const Expr mask = neighbours() < all(kBase + kCount);
  const auto is_first = [](Point at, int lane) { return lane < at.count; };
  for (const int step : {2, 3, 4}) {
    const Expr value = load(hi::Ramp::make(kBase, step, kLanes), mask);
    const int times = expect_same_in_memory(value, whole(value), is_first);
    EXPECT_EQ(times > 0, kLanes * step <= kElements) << step;
    const Expr with_masks = whole(value, 32);
    EXPECT_FALSE(has_whole(with_masks)) << step;
    for (int base = -9; base <= 9; ++base) {
      for (int count = -2; count <= kLanes + 2; ++count) {
        std::set<int64_t> loaded;
        for (int lane = 0; lane < kLanes; ++lane) {
          const int64_t got = Lane({base, count}, lane, &loaded).value(with_masks);
          EXPECT_TRUE(lane >= count || got == kElement + base + lane * step) << base;
        }
        if (loaded.empty()) continue;
        EXPECT_GE(*loaded.begin(), base);
        EXPECT_LE(*loaded.rbegin(), base + (std::min(count, kLanes) - 1) * step);
      }
    }
  }
}

TEST(WholeVectors, WhatStaysAsItIs) {
  const auto stays = [](const Expr& value, int least_bits = 64) {
    EXPECT_TRUE(whole(value, least_bits).same_as(value)) << value;
  };
  const Expr held = min(neighbours(), all(3));
  stays(load(held), 32);       // has masks
  stays(load(neighbours()));   // asks for all lanes
  stays(load(held * all(2)));  // apart
  stays(load(min(hi::Ramp::make(kBase, 2, kLanes), all(3))));
  stays(load(held, neighbours() > all(5)));  // a clamp in other lanes than the first ones
  stays(load(hi::Ramp::make(kBase, 5, kLanes), neighbours() < all(5)));            // far apart
  stays(load(hi::Ramp::make(kBase, -2, kLanes), neighbours() < all(5)));           // backwards
  stays(load(hi::Ramp::make(kBase, 2, kLanes), neighbours() > all(5)));            // other lanes
  stays(load(hi::Ramp::make(kBase, 2, kLanes)));                                   // all of them
  stays(load(hi::Ramp::make(kBase, 2, 3), hi::Ramp::make(0, 1, 3) < kCount), 32);  // odd lanes
  const Expr unknown = hi::Load::make(Halide::Float(32, kLanes), "z", held, Halide::Buffer<>(),
                                      Halide::Parameter(), hi::const_true(kLanes), {});
  stays(unknown);  // nothing is known of its memory
}

}  // namespace
}  // namespace emulsion

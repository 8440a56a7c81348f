// Every lane has the element that its clamped index says, and no other memory is read: what is made
// of a load is computed here lane by lane.

#include "backends/halide/clamped_vectors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tests/backends/halide/clamped_terms.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using namespace clamped_terms;  // NOLINT: the words of these cases
using Halide::Expr;

Expr masked(const Expr& value, int least_bits = 32) {
  return mask_clamped_vectors(hi::Evaluate::make(value), least_bits).as<hi::Evaluate>()->value;
}

bool is_gathered(const Expr& value) {
  return count_loads(value, [](const hi::Load& op) {
           return op.type.is_vector() && op.index.as<hi::Ramp>() == nullptr;
         }) > 0;
}

// That the lanes of `a` and `b` are the same wherever the vector is, and that no element is loaded
// for `b` alone. `reads`: whether a lane's value is used.
void expect_same(
    const Expr& a, const Expr& b,
    const std::function<bool(Point at, int lane)>& reads = [](Point, int) { return true; }) {
  for (int base = -9; base <= 9; ++base) {
    for (int count = -2; count <= kLanes + 2; ++count) {
      const Point at{base, count};
      std::set<int64_t> of_a, of_b;
      for (int lane = 0; lane < kLanes; ++lane) {
        const int64_t expected = Lane(at, lane, &of_a).value(a);
        const int64_t got = Lane(at, lane, &of_b).value(b);
        if (!reads(at, lane)) continue;
        EXPECT_EQ(got, expected) << base << ", lane " << lane;
      }
      for (const int64_t one : of_b) EXPECT_TRUE(of_a.count(one)) << base << ": " << one;
    }
  }
}

TEST(ClampedVectors, EachLaneHasItsElement) {
  for (const Expr& index : clamps()) {
    for (const Expr& value : {load(index), load(index + all(7)), load(all(kCount) + index)}) {
      EXPECT_FALSE(is_gathered(masked(value))) << value;
      expect_same(value, masked(value));
    }
  }
}

// Of which there may be none.
TEST(ClampedVectors, TheFirstLanesAlone) {
  const Expr lanes = hi::Ramp::make(Expr(5), 1, kLanes);
  const std::vector<Expr> masks = {hi::LT::make(lanes, all(kCount + 5)),
                                   Halide::likely(hi::LT::make(lanes, all(kCount + 5))),
                                   hi::LE::make(lanes, all(kCount + 4))};
  for (const Expr& mask : masks) {
    for (const Expr& index : clamps()) {
      const Expr value = load(index, mask);
      EXPECT_FALSE(is_gathered(masked(value))) << value;
      expect_same(value, masked(value), [](Point at, int lane) { return lane < at.count; });
    }
  }
}

// What may be empty is read where a guard holds, and else nothing is.
TEST(ClampedVectors, AGuardIsAMask) {
  const auto holds = [](Point at) { return at.count > 1; };
  std::vector<Expr> indices = clamps();
  indices.push_back(neighbours());
  for (const Expr& index : indices) {
    const Expr guarded = hi::Select::make(all(kCount > 1), index, all(3)) + all(7);
    const Expr tail = hi::Ramp::make(Expr(0), 1, kLanes) < all(kCount);
    for (const bool has_tail : {false, true}) {
      const Expr value = has_tail ? load(guarded, tail) : load(guarded);
      EXPECT_FALSE(is_gathered(masked(value))) << value;
      expect_same(value, masked(value),
                  [&](Point at, int lane) { return holds(at) && (!has_tail || lane < at.count); });
      std::set<int64_t> loaded;
      for (int lane = 0; lane < kLanes; ++lane) Lane({4, 1}, lane, &loaded).value(masked(value));
      EXPECT_TRUE(loaded.empty()) << value;
    }
  }
}

TEST(ClampedVectors, WhatIsChosenInFrontOfAnEndNeedsNoElementThere) {
  for (const Expr& condition : in_front()) {
    const Expr value =
        hi::Select::make(condition, load(min(neighbours(), all(kCount - 1))) + 1.0F, zeros());
    EXPECT_EQ(edges(masked(value)), 0) << value;
    EXPECT_FALSE(is_gathered(masked(value))) << value;
    const Expr inside = load(min(neighbours(), all(kCount - 1)));
    const Expr plain = hi::Select::make(condition, inside, zeros());
    expect_same(plain, masked(plain));
  }
}

TEST(ClampedVectors, WhatIsChosenElsewhereHasItsElements) {
  const Expr held = load(min(neighbours(), all(kCount - 1)));
  std::vector<int> backwards;
  for (int lane = kLanes; lane-- > 0;) backwards.push_back(lane);
  for (const Expr& condition : in_front()) {
    for (const Expr& value :
         {hi::Select::make(condition, zeros(), held),
          hi::Select::make(condition, load(min(neighbours(), all(kCount - 2))), zeros()),
          hi::Select::make(condition, load(max(neighbours(), all(kCount - 1))), zeros()),
          hi::Select::make(condition, hi::Shuffle::make({held}, backwards), zeros())}) {
      EXPECT_EQ(edges(masked(value)), 1) << value;
      expect_same(value, masked(value));
    }
  }
  EXPECT_EQ(edges(masked(hi::Select::make(neighbours() > all(kCount), held, zeros()))), 1);
}

TEST(ClampedVectors, NoRowBehindTheLastOneIsRead) {
  for (const int from : {0, 1, 2, 4, 9}) {
    const Rows rows(from);
    for (const Expr& condition : rows.in_front()) {
      const Expr held = rows.clamped_at(kCount - 1);
      const Expr value = hi::Select::make(condition, held, zeros());
      EXPECT_FALSE(is_gathered(masked(value))) << value;
      EXPECT_EQ(edges(masked(value)), 0) << value;
      expect_same(value, masked(value));
      EXPECT_FALSE(is_gathered(masked(hi::Select::make(condition, held * held, zeros()))));
    }
  }
}

TEST(ClampedVectors, RowsThatAreReadOtherwiseAreGathered) {
  const Rows rows(1);
  const Expr held = rows.clamped_at(kCount - 1);
  const Expr mask = hi::LT::make(neighbours(), all(3));
  const std::vector<Expr> apart = {rows.row * all(3) + rows.column * all(2),
                                   rows.row * all(4) + rows.column};
  for (const Expr& condition : rows.in_front()) {
    std::vector<Expr> values = {
        hi::Select::make(condition, zeros(), held),  // behind the end
        hi::Select::make(condition, rows.clamped_at(kCount - 2), zeros()),
        hi::Select::make(condition, hi::Shuffle::make({held}, {3, 2, 1, 0}), zeros()),
        hi::Select::make(condition, load(held.as<hi::Load>()->index, mask), zeros())};
    for (const Expr& index : apart) {
      const Expr clamped =
          hi::Min::make(rows.row, all(kCount - 1)) * all(4) + (index - rows.row * all(4));
      values.push_back(hi::Select::make(condition, load(clamped), zeros()));
    }
    for (const Expr& value : values) EXPECT_TRUE(is_gathered(masked(value))) << value;
  }
  EXPECT_TRUE(is_gathered(masked(held)));
}

// What is chosen uses an element twice, by a name.
TEST(ClampedVectors, NamesOfWhatIsChosenAloneAreInsideIt) {
  const Expr held = load(min(neighbours(), all(kCount - 1)));
  const Expr t = hi::Variable::make(Halide::Float(32, kLanes), "t");
  const Expr u = hi::Variable::make(Halide::Float(32, kLanes), "u");
  const auto edges_of = [&](const Expr& before, const Expr& chosen, const Expr& otherwise) {
    const Expr sum =
        hi::Call::make(Halide::Float(32, kLanes), hi::Call::strict_add,
                       {before, hi::Select::make(neighbours() < all(kCount), chosen, otherwise)},
                       hi::Call::PureIntrinsic);
    const Expr value = hi::Let::make("t", held, hi::Let::make("u", t + 1.0F, sum));
    const hi::Stmt store =
        hi::Store::make("y", value, neighbours(), Halide::Parameter(), hi::const_true(kLanes), {});
    return edges(mask_clamped_vectors(store, 32).as<hi::Store>()->value);
  };
  EXPECT_EQ(edges_of(zeros(), t * u, zeros()), 0);
  EXPECT_EQ(edges_of(zeros(), u * u, zeros()), 0);
  EXPECT_EQ(edges_of(t, t * u, zeros()), 1);
  EXPECT_EQ(edges_of(u, t * u, zeros()), 1);
  EXPECT_EQ(edges_of(zeros(), t * u, t), 1);
}

TEST(ClampedVectors, AFewElementsApart) {
  for (const int step : {2, 3, 4}) {
    const Expr value = load(min(neighbours(), all(3)) * all(step) + all(1));
    EXPECT_FALSE(is_gathered(masked(value))) << step;
    for (int base = -9; base <= 9; ++base) {
      std::set<int64_t> loaded;
      for (int lane = 0; lane < kLanes; ++lane) {
        const Lane at({base, 0}, lane, &loaded);
        EXPECT_EQ(at.value(masked(value)), at.value(value)) << step << ": " << base;
      }
      // With what is between: nothing behind the last one.
      EXPECT_LE(*loaded.rbegin(), 3 * step + 1);
    }
  }
}

// The clamp has a name, which several loads share.
TEST(ClampedVectors, AClampWithAName) {
  const Expr name = hi::Variable::make(Halide::Int(32, kLanes), "t");
  const Expr index = max(neighbours(), all(-2));
  const Expr value = hi::Let::make("t", index, load(name) + load(name + all(3)));
  EXPECT_FALSE(is_gathered(masked(value)));
}

TEST(ClampedVectors, WhatStaysAsItIs) {
  const auto stays = [](const Expr& value, int least_bits = 32) {
    EXPECT_TRUE(masked(value, least_bits).same_as(value)) << value;
  };
  stays(load(neighbours()));
  stays(load(min(hi::Ramp::make(kBase, 2, kLanes), all(3))));              // not neighbours
  stays(load(min(hi::Ramp::make(kBase, -1, kLanes), all(3))));             // backwards
  stays(load(min(neighbours(), hi::Ramp::make(3, 1, kLanes))));            // an end for each lane
  stays(load(min(max(min(neighbours(), all(kCount)), all(-2)), all(3))));  // three ends
  stays(load(min(neighbours(), all(3)) * all(5)));                         // far apart
  stays(load(hi::Select::make(neighbours() > 1, neighbours(), all(3))));   // a guard for each lane
  stays(load(hi::Select::make(all(kCount > 1), neighbours(), neighbours() + 1)));
  stays(
      load(min(hi::Ramp::make(kBase, 1, 3), hi::Broadcast::make(3, 3))));  // an odd number of lanes
  stays(load(max(neighbours(), all(3)) * all(2)));                // apart, from a beginning on
  stays(load(min(neighbours(), all(3))), 64);                     // nothing masks so few bits
  stays(load(min(neighbours(), all(3)), neighbours() > all(5)));  // masks other lanes
  stays(load(min(neighbours(), all(3)), hi::Ramp::make(kBase, 2, kLanes) < all(5)));
}

}  // namespace
}  // namespace emulsion

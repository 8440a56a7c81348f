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

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using Halide::Expr;

constexpr int kLanes = 4;
constexpr int64_t kElement = 1000, kNothing = -1;  // x[i] is 1000 + i

const Expr kBase = Halide::Internal::Variable::make(Halide::Int(32), "base");
const Expr kCount = Halide::Internal::Variable::make(Halide::Int(32), "count");

struct Point {
  int base, count;
};

// One lane of a vector, and which elements it loads.
class Lane {
 public:
  Lane(Point at, int lane, std::set<int64_t>* loaded) : at_(at), lane_(lane), loaded_(loaded) {}

  int64_t value(const Expr& e) const {
    if (const auto number = hi::as_const_int(e)) return *number;
    if (const auto number = hi::as_const_uint(e)) return static_cast<int64_t>(*number);
    if (e.as<hi::FloatImm>()) return kNothing;
    if (const auto* op = e.as<hi::Variable>()) return op->name == "base" ? at_.base : at_.count;
    if (const auto* op = e.as<hi::Ramp>()) return value(op->base) + lane_ * value(op->stride);
    if (const auto* op = e.as<hi::Broadcast>()) return first().value(op->value);
    if (const auto* op = e.as<hi::Add>()) return value(op->a) + value(op->b);
    if (const auto* op = e.as<hi::Sub>()) return value(op->a) - value(op->b);
    if (const auto* op = e.as<hi::Mul>()) return value(op->a) * value(op->b);
    // Of none below zero.
    if (const auto* op = e.as<hi::Div>()) return value(op->a) / value(op->b);
    if (const auto* op = e.as<hi::Mod>()) return value(op->a) % value(op->b);
    if (const auto* op = e.as<hi::Min>()) return std::min(value(op->a), value(op->b));
    if (const auto* op = e.as<hi::Max>()) return std::max(value(op->a), value(op->b));
    if (const auto* op = e.as<hi::LT>()) return value(op->a) < value(op->b);
    if (const auto* op = e.as<hi::LE>()) return value(op->a) <= value(op->b);
    if (const auto* op = e.as<hi::GT>()) return value(op->a) > value(op->b);
    if (const auto* op = e.as<hi::GE>()) return value(op->a) >= value(op->b);
    if (const auto* op = e.as<hi::And>()) return value(op->a) != 0 && value(op->b) != 0;
    if (const auto* op = e.as<hi::Select>()) {  // both sides are computed
      const int64_t a = value(op->true_value), b = value(op->false_value);
      return value(op->condition) != 0 ? a : b;
    }
    if (const auto* op = e.as<hi::Load>()) return load(*op);
    if (const auto* op = e.as<hi::Shuffle>()) return shuffled(*op);
    const auto* call = e.as<hi::Call>();
    for (const auto mark : {hi::Call::likely, hi::Call::likely_if_innermost}) {
      if (call != nullptr && call->is_intrinsic(mark)) return value(call->args[0]);
    }
    if (call != nullptr && call->is_intrinsic(hi::Call::if_then_else)) {
      return value(call->args[value(call->args[0]) != 0 ? 1 : 2]);
    }
    ADD_FAILURE() << "unknown: " << e;
    return kNothing;
  }

 private:
  Lane first() const { return {at_, 0, loaded_}; }

  int64_t load(const hi::Load& op) const {
    if (value(op.predicate) == 0) return kNothing;
    const int64_t index = value(op.index);
    loaded_->insert(index);
    return kElement + index;
  }

  int64_t shuffled(const hi::Shuffle& op) const {
    int at = op.indices[static_cast<size_t>(lane_)];
    for (const Expr& part : op.vectors) {
      if (at < part.type().lanes()) return Lane(at_, at, loaded_).value(part);
      at -= part.type().lanes();
    }
    return kNothing;
  }

  const Point at_;
  const int lane_;
  std::set<int64_t>* loaded_;
};

Expr all(const Expr& value) { return hi::Broadcast::make(value, kLanes); }
Expr neighbours() { return hi::Ramp::make(kBase, 1, kLanes); }

Expr load(const Expr& index, const std::optional<Expr>& mask = std::nullopt) {
  const int lanes = index.type().lanes();
  return hi::Load::make(Halide::Float(32, lanes), "x", index, Halide::Buffer<>(),
                        Halide::Parameter(), mask ? *mask : hi::const_true(lanes), {});
}

Expr masked(const Expr& value, int least_bits = 32) {
  return mask_clamped_vectors(hi::Evaluate::make(value), least_bits).as<hi::Evaluate>()->value;
}

struct Loads : hi::IRVisitor {
  using hi::IRVisitor::visit;
  int gathered = 0;

  void visit(const hi::Load* op) override {
    hi::IRVisitor::visit(op);
    if (op->type.is_vector() && !op->index.as<hi::Ramp>()) ++gathered;
  }
};

bool is_gathered(const Expr& value) {
  Loads loads;
  value.accept(&loads);
  return loads.gathered > 0;
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

// Clamps of both orders, of one end and of both, the ends in the wrong order too; and of what is
// clamped already and moved then, as a tail does it with the middle of a window.
std::vector<Expr> clamps() {
  std::vector<Expr> all_of_them = {min(neighbours(), all(3)), max(neighbours(), all(-2)),
                                   min(Halide::likely(neighbours()), all(3))};
  for (const auto& [low, high] : {std::pair(-2, 3), {0, 0}, {2, -1}, {-5, 5}}) {
    all_of_them.push_back(max(min(neighbours(), all(high)), all(low)));
    all_of_them.push_back(min(max(neighbours(), all(low)), all(high)));
    all_of_them.push_back(max(Halide::likely(min(neighbours(), all(high))), all(low)));
    for (const int moved : {-2, 1, 2}) {
      const Expr tail = min(neighbours(), all(high)) + all(moved);
      all_of_them.push_back(max(min(tail, all(high)), all(low)));
      all_of_them.push_back(max(tail, all(low)));
      all_of_them.push_back(min(all(moved) + max(max(neighbours(), all(low)), all(0)), all(high)));
    }
  }
  return all_of_them;
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

// How many single elements are loaded.
int edges(const Expr& value) {
  struct Single : hi::IRVisitor {
    using hi::IRVisitor::visit;
    int count = 0;

    void visit(const hi::Load* op) override {
      hi::IRVisitor::visit(op);
      count += op->type.is_scalar() ? 1 : 0;
    }
  } single;
  value.accept(&single);
  return single.count;
}

Expr zeros() { return hi::make_zero(Halide::Float(32, kLanes)); }

// Conditions that hold for the lanes in front of x[kCount].
std::vector<Expr> in_front() {
  const Expr first = hi::Ramp::make(Expr(0), 1, kLanes);
  return {neighbours() < all(kCount), neighbours() <= all(kCount - 1), first < all(kCount - kBase),
          Halide::likely(neighbours() < all(kCount)),
          hi::And::make(all(kCount > 1), neighbours() < all(kCount))};
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

// Rows of three, from some element of the first one on; and which lanes are in front of row kCount.
struct Rows {
  Expr row, column;

  explicit Rows(int from)
      : row(hi::Div::make(hi::Ramp::make(from, 1, kLanes), all(3)) + all(kBase)),
        column(hi::Mod::make(hi::Ramp::make(from, 1, kLanes), all(3))) {}

  std::vector<Expr> in_front() const {
    return {hi::LT::make(row, all(kCount)), hi::LE::make(row, all(kCount - 1)),
            hi::LT::make(row - all(kBase), all(kCount - kBase)),
            hi::And::make(all(kCount > 1), Halide::likely(hi::LT::make(row, all(kCount))))};
  }
  Expr clamped_at(const Expr& most) const {
    return load(hi::Min::make(Halide::likely_if_innermost(row), all(most)) * all(3) + column);
  }
};

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
  struct Whole : hi::IRVisitor {
    using hi::IRVisitor::visit;
    bool any = false;

    void visit(const hi::Load* op) override {
      hi::IRVisitor::visit(op);
      any = any || (op->index.as<hi::Ramp>() != nullptr && hi::is_const_one(op->predicate));
    }
  } loads;
  value.accept(&loads);
  return loads.any;
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

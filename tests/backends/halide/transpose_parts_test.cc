// What is interleaved of four vectors that were interleaved in memory has the lanes of these in the
// order of transpositions, and each element is what it was.

#include "backends/halide/transpose_parts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

// What a lane is computed of, as text.
std::string lane_of(const Halide::Expr& e, int lane) {
  const auto both = [&](const Halide::Expr& a, const char* sign, const Halide::Expr& b) {
    return "(" + lane_of(a, lane) + sign + lane_of(b, lane) + ")";
  };
  if (const auto* op = e.as<hi::Add>()) return both(op->a, " + ", op->b);
  if (const auto* op = e.as<hi::Mul>()) return both(op->a, " * ", op->b);
  if (const auto* op = e.as<hi::Broadcast>()) return lane_of(op->value, 0);
  if (const auto* op = e.as<hi::Variable>()) return fmt::format("{}.{}", op->name, lane);
  if (const auto* op = e.as<hi::Let>()) {
    return lane_of(hi::substitute(op->name, op->value, op->body), lane);
  }
  if (const auto* op = e.as<hi::Load>()) {
    const auto* ramp = op->index.as<hi::Ramp>();
    return fmt::format("{}[{}]", op->name, *hi::as_const_int(hi::simplify(ramp->base + lane)));
  }
  if (const auto* op = e.as<hi::Shuffle>()) {
    const auto [vector, of_it] = op->vector_and_lane_indices()[static_cast<size_t>(lane)];
    return lane_of(op->vectors[static_cast<size_t>(vector)], of_it);
  }
  ADD_FAILURE() << "no lane of " << e;
  return "";
}

std::vector<std::string> lanes_of(const Stmt& statement) {
  const auto* store = statement.as<hi::Store>();
  std::vector<std::string> lanes;
  for (int i = 0; i < store->value.type().lanes(); ++i) lanes.push_back(lane_of(store->value, i));
  return lanes;
}

// Whether no shuffle takes an element to another 128 bits, and none takes more than two vectors.
struct ShufflesInParts : hi::IRVisitor {
  using hi::IRVisitor::visit;
  bool holds = true;
  int count = 0;

  void visit(const hi::Shuffle* op) override {
    hi::IRVisitor::visit(op);
    if (op->is_concat()) return;
    ++count;
    holds = holds && op->vectors.size() <= 2;
    const auto in_part = static_cast<size_t>(128 / op->type.bits());
    for (size_t i = 0; i < op->indices.size(); ++i) {
      const size_t from = static_cast<size_t>(op->indices[i]) % op->indices.size();
      holds = holds && from / in_part == i / in_part;
    }
  }
};

struct Interleaved {
  int values, lanes;
  Halide::Type element = Halide::Float(32);

  Halide::Expr all(const std::string& name) const {
    const int count = values * lanes;
    return hi::Load::make(element.with_lanes(count), name, hi::Ramp::make(8, 1, count), {}, {},
                          hi::const_true(count), {});
  }
  Halide::Expr each(const std::string& name, int at) const {
    return hi::Shuffle::make_slice(all(name), at, values, lanes);
  }
  Halide::Expr same(const std::string& name) const {
    return hi::Broadcast::make(hi::Variable::make(element, name), lanes);
  }
  // Each is made of the others.
  std::vector<Halide::Expr> mixed() const {
    std::vector<Halide::Expr> made;
    for (int i = 0; i < values; ++i) {
      const Halide::Expr next = each("z", (i + 1) % values);
      made.push_back(each("x", i) * next + each("x", (i + 3) % values) * same("a"));
    }
    return made;
  }
  Stmt store(const std::vector<Halide::Expr>& made) const {
    return hi::Store::make("y", hi::Shuffle::make_interleave(made),
                           hi::Ramp::make(0, 1, values * lanes), {}, hi::const_true(values * lanes),
                           {});
  }
};

bool is_left(const Stmt& statement, bool of_two = true) {
  return transpose_parts(statement, of_two).same_as(statement);
}

TEST(TransposeParts, EachElementIsWhatItWas) {
  const Halide::Type f64 = Halide::Float(64);
  for (const Interleaved& of :
       {Interleaved{4, 8}, Interleaved{4, 16}, Interleaved{4, 32}, Interleaved{2, 8},
        Interleaved{2, 16}, Interleaved{2, 4, f64}, Interleaved{2, 8, f64}}) {
    const Stmt before = of.store(of.mixed()), after = transpose_parts(before, true);
    EXPECT_FALSE(after.same_as(before));
    EXPECT_EQ(lanes_of(after), lanes_of(before)) << after;
    ShufflesInParts shuffles;
    after.accept(&shuffles);
    EXPECT_TRUE(shuffles.holds && shuffles.count > 0) << after;
  }
}

TEST(TransposeParts, NamesInside) {
  const Interleaved of{4, 16};
  std::vector<Halide::Expr> made = of.mixed();
  const Halide::Expr t = hi::Variable::make(Halide::Float(32, 16), "t");
  made[2] = hi::Let::make("t", of.each("x", 1), t * t + of.each("z", 0));
  const Stmt before = of.store(made), after = transpose_parts(before, true);
  EXPECT_FALSE(after.same_as(before));
  EXPECT_EQ(lanes_of(after), lanes_of(before)) << after;
}

// Three or eight vectors; one part; elements of other sizes. Two where their order costs nothing.
TEST(TransposeParts, NotOfOtherVectors) {
  EXPECT_TRUE(is_left(Interleaved{2, 16}.store(Interleaved{2, 16}.mixed()), false));
  for (const Interleaved& of :
       {Interleaved{3, 16}, Interleaved{4, 4}, Interleaved{2, 4},
        Interleaved{2, 2, Halide::Float(64)}, Interleaved{2, 16, Halide::UInt(16)},
        Interleaved{4, 16, Halide::Float(64)}, Interleaved{4, 16, Halide::UInt(16)},
        Interleaved{8, 16}}) {
    EXPECT_TRUE(is_left(of.store(of.mixed()))) << of.values << " " << of.lanes;
  }
  const Interleaved of{4, 16};
  std::vector<Halide::Expr> short_ones;
  for (const Halide::Expr& one : of.mixed()) {
    short_ones.push_back(Halide::cast(Halide::Int(16, 16), one));
  }
  EXPECT_TRUE(is_left(of.store(short_ones)));
}

// What has its lanes in order: vectors of memory, numbers that rise, what is named elsewhere, sums
// of several lanes, slices of other groups or under a mask.
TEST(TransposeParts, NotWhereSomethingIsInOrder) {
  const Interleaved of{4, 16}, two{2, 32};
  const Halide::Type type = Halide::Float(32, 16);
  const Halide::Expr ramp = hi::Ramp::make(0, 1, 16);
  const Halide::Expr masked = hi::Load::make(
      Halide::Float(32, 64), "x", hi::Ramp::make(8, 1, 64), {}, {},
      hi::Ramp::make(0, 1, 64) < hi::Broadcast::make(hi::Variable::make(Halide::Int(32), "n"), 64),
      {});
  for (const Halide::Expr& other :
       {hi::Load::make(type, "grey", ramp, {}, {}, hi::const_true(16), {}),
        Halide::cast(type, ramp), hi::Variable::make(type, "t"),
        hi::VectorReduce::make(hi::VectorReduce::Add, two.each("x", 0), 16),
        hi::Shuffle::make_slice(of.all("x"), 0, 2, 16),
        hi::Shuffle::make_slice(of.all("x"), 5, 1, 16),
        hi::Shuffle::make_slice(masked, 0, 4, 16)}) {
    std::vector<Halide::Expr> made = of.mixed();
    made[1] = made[1] + other;
    EXPECT_TRUE(is_left(of.store(made))) << other;
  }
}

// Nothing is shuffled that is the same in all lanes; what is masked, apart or atomic is left.
TEST(TransposeParts, NotOtherStores) {
  const Interleaved of{4, 16};
  EXPECT_TRUE(is_left(of.store({of.same("a"), of.same("b"), of.same("c"), of.same("d")})));
  const Stmt whole = of.store(of.mixed());
  const auto* store = whole.as<hi::Store>();
  EXPECT_TRUE(is_left(hi::Atomic::make("y", "", whole)));
  EXPECT_TRUE(is_left(
      hi::Store::make("y", store->value, hi::Ramp::make(0, 2, 64), {}, hi::const_true(64), {})));
  const Halide::Expr some =
      hi::Ramp::make(0, 1, 64) < hi::Broadcast::make(hi::Variable::make(Halide::Int(32), "n"), 64);
  EXPECT_TRUE(is_left(hi::Store::make("y", store->value, store->index, {}, some, {})));
  EXPECT_TRUE(is_left(hi::Store::make("y", of.all("x"), store->index, {}, hi::const_true(64), {})));
}

}  // namespace
}  // namespace emulsion

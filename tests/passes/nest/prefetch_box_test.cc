#include "passes/nest/prefetch_box.h"

#include <gtest/gtest.h>

#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

const Extent kRows = Extent::size("B");

// y[m, n] = x[index] over B x 8, in the loops
//
//   for y.mo in B
//     for y.mi in 4
//       for y.n in 8: y[y.mo * 4 + y.mi, y.n] = x[index]
LoopNest reading_nest(const std::vector<Expr>& index) {
  const Axis m("m", kRows), n("n", 8);
  const Expr body = read_buffer("x", f32, index);
  LoopNest nest = copy_nest(kRows);
  nest.stages.front().axes = {m, n};
  nest.stages.front().body = body;
  const Expr row = v("y", "mo") * 4 + v("y", "mi");
  nest.root = loop_node(
      "y", "mo", extent_value(kRows),
      loop_node("y", "mi", int_constant(4),
                loop_node("y", "n", int_constant(8),
                          uop_node(UopKind::store, "y", Part::pure, {row, v("y", "n")}))));
  return nest;
}

// "first .. last" of each axis, of what one step of y.mo reads.
std::vector<std::string> box_of(const LoopNest& nest) {
  std::vector<std::string> texts;
  for (const auto& range : prefetch_box(nest, *nest.root->as<Loop>(), "x")) {
    texts.push_back(range ? to_string(range->first) + " .. " + to_string(range->last) : "unknown");
  }
  return texts;
}
std::vector<std::string> box_of(const std::vector<Expr>& index) {
  return box_of(reading_nest(index));
}

// What one step of that loop, which there is once, reads of a buffer.
std::vector<std::optional<IndexRange>> box_at(const LoopNest& nest, const std::string& variable,
                                              const std::string& buffer) {
  std::vector<std::optional<IndexRange>> box;
  for_each_node(*nest.root, [&](const Node& node) {
    const Loop* loop = node.as<Loop>();
    if (loop && loop->variable() == variable) box = prefetch_box(nest, *loop, buffer);
  });
  return box;
}

using Texts = std::vector<std::string>;
const Expr m = axis_value("m"), n = axis_value("n");

TEST(PrefetchBox, IsAroundAllStepsOfTheLoopsInside) {
  EXPECT_EQ(box_of({m, n}), (Texts{"y.mo * 4 .. y.mo * 4 + 3", "0 .. 7"}));
  EXPECT_EQ(box_of({m * 2 + 1}), (Texts{"y.mo * 4 * 2 + 1 .. (y.mo * 4 + 3) * 2 + 1"}));
}

TEST(PrefetchBox, OfAnIndexThatFallsStartsAtTheLastStep) {
  EXPECT_EQ(box_of({7 - n}), (Texts{"0 .. 7"}));
  EXPECT_EQ(box_of({m - n}), (Texts{"y.mo * 4 - 7 .. y.mo * 4 + 3"}));
}

TEST(PrefetchBox, OfWhatALoopAddsAndTakesAwayIsWhatIsLeft) {
  EXPECT_EQ(box_of({m - m + n}), (Texts{"0 .. 7"}));
  EXPECT_EQ(box_of({int_constant(5)}), (Texts{"5 .. 5"}));
}

TEST(PrefetchBox, FollowsClampsQuotientsAndSelects) {
  EXPECT_EQ(box_of({min(n, int_constant(5))}), (Texts{"0 .. 5"}));
  EXPECT_EQ(box_of({max(n - 2, int_constant(0))}), (Texts{"0 .. 5"}));
  EXPECT_EQ(box_of({n / 2}), (Texts{"0 .. 3"}));
  EXPECT_EQ(box_of({n % 3}), (Texts{"0 .. 2"}));
  EXPECT_EQ(box_of({9 - min(n, int_constant(5))}), (Texts{"4 .. 9"}));
  EXPECT_EQ(box_of({select(n < 4, n, n + 8)}), (Texts{"0 .. 15"}));
}

TEST(PrefetchBox, OfTwoReadsIsAroundBoth) {
  LoopNest nest = reading_nest({n});
  const Expr first = nest.stages.front().body;
  nest.stages.front().body = first + read_buffer("x", f32, {n + 3});
  EXPECT_EQ(box_of(nest), (Texts{"0 .. 10"}));
  nest.stages.front().body = read_buffer("x", f32, {n + 3}) + first;
  EXPECT_EQ(box_of(nest), (Texts{"0 .. 10"}));
}

TEST(PrefetchBox, IsNotKnownWhereAnIndexIsReadOrNoBoundIs) {
  EXPECT_EQ(box_of({read_buffer("i", i32, {m}), n}), (Texts{"unknown", "0 .. 7"}));
  EXPECT_EQ(box_of({n * n}), (Texts{"unknown"}));
  EXPECT_EQ(box_of({n / (0 - n)}), (Texts{"unknown"}));
}

TEST(PrefetchBox, OfTwoReadsIsNotKnownWhereThatOfOneIsNot) {
  LoopNest nest = reading_nest({n});
  const Expr first = nest.stages.front().body;
  nest.stages.front().body = first + read_buffer("x", f32, {n * n});
  EXPECT_EQ(box_of(nest), (Texts{"unknown"}));
}

TEST(PrefetchBox, IsEmptyWhereNothingIsRead) {
  LoopNest nest = reading_nest({n});
  EXPECT_TRUE(prefetch_box(nest, *nest.root->as<Loop>(), "z").empty());
  nest.stages.front().body = Expr(1.0f);
  EXPECT_TRUE(box_of(nest).empty());
}

TEST(PrefetchBox, IsThatOfTheLoopsOwnPart) {
  const LoopNest nest = linear_nest();
  const auto box = box_at(nest, "mm.k", "w");
  ASSERT_EQ(box.size(), 2u);
  EXPECT_EQ(to_string(box[0]->first), "mm.k");
  EXPECT_EQ(to_string(box[1]->last), "7");
  EXPECT_TRUE(box_at(nest, "mm.k", "b").empty());
}

// A row tile of y, at which the sums are computed.
TEST(PrefetchBox, IsAroundWhatIsComputedInside) {
  const LoopNest nest = linear_nest();
  const auto box = box_at(nest, "y.mo", "x");
  ASSERT_EQ(box.size(), 2u);
  EXPECT_EQ(to_string(box[0]->first), "min(y.mo * 2, 4)");
  EXPECT_EQ(to_string(box[0]->last), "min(y.mo * 2 + 1, 4)");
  EXPECT_EQ(to_string(box[1]->first), "0");
  EXPECT_EQ(to_string(box[1]->last), "2");
}

}  // namespace
}  // namespace emulsion

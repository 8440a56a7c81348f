#include "passes/fuse/sibling_level.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"

namespace emulsion {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Axis m("m", 5), n("n", 4), p("p", 3), c("c", 6);

struct Siblings {
  Tensor x = input("x", f32, {5, 6});
  Tensor w = weight("w", f32, {6, 4}), u = weight("u", f32, {6, 3});
  Tensor y = compute("y", {m, n}, sum(c, x(m, c) * w(c, n)));
  Tensor z = compute("z", {m, p}, sum(c, x(m, c) * u(c, p)));
};

std::string why_not(const Tensor& first, const Tensor& sibling) {
  EXPECT_FALSE(sibling_level({first.op(), sibling.op()}));
  return why_not_alike(*first.op(), *sibling.op()).value_or("");
}

TEST(SiblingLevel, JoinsWeightsAlongTheColumns) {
  const Siblings s;
  EXPECT_EQ(why_not_alike(*s.y.op(), *s.z.op()), std::nullopt);
  const auto level = sibling_level({s.y.op(), s.z.op()});
  ASSERT_TRUE(level);
  ASSERT_THAT(level->operands, SizeIs(1));
  EXPECT_EQ(level->operands[0].along, 1u);
  EXPECT_THAT(level->operands[0].parts, ElementsAre(s.w.op(), s.u.op()));
}

TEST(SiblingLevel, FollowsWhatWasJoinedBefore) {
  const Siblings s;
  const auto products = sibling_level({s.y.op(), s.z.op()});
  const auto level = sibling_level({relu(s.y).op(), relu(s.z).op()}, &*products);
  ASSERT_TRUE(level);
  EXPECT_THAT(level->operands, IsEmpty());
  // By itself each would read something else along its columns.
  EXPECT_THAT(why_not(relu(s.y), relu(s.z)),
              HasSubstr("expected a weight or a constant along the columns, got y"));
}

TEST(SiblingLevel, SharesWhatIsReadWithoutColumns) {
  const Siblings s;
  Tensor scale = input("scale", f32, {5});
  const auto products = sibling_level({s.y.op(), s.z.op()});
  Tensor a = compute("a", {m, n}, s.y(m, n) * scale(m));
  Tensor b = compute("b", {m, p}, s.z(m, p) * scale(m));
  EXPECT_TRUE(sibling_level({a.op(), b.op()}, &*products));
  Tensor other = input("other", f32, {5});
  Tensor d = compute("d", {m, p}, s.z(m, p) * other(m));
  EXPECT_FALSE(sibling_level({a.op(), d.op()}, &*products));
}

TEST(SiblingLevel, NotOfAnotherCombinerOrConstant) {
  const Siblings s;
  Tensor largest = compute("largest", {m, p}, reduce_max(c, s.x(m, c) * s.u(c, p)));
  EXPECT_THAT(why_not(s.y, largest), HasSubstr("expected largest to be a sum of f32 as y is"));
  Tensor twice = compute("twice", {m, n}, s.w(0, n) * 2.0f);
  Tensor thrice = compute("thrice", {m, p}, s.u(0, p) * 3.0f);
  EXPECT_THAT(why_not(twice, thrice), HasSubstr("expected thrice to compute what twice does"));
}

TEST(SiblingLevel, NotWhereTheNumberOfAColumnCounts) {
  const Siblings s;
  Tensor a = compute("a", {m, n}, s.w(0, n) * cast(f32, n));
  Tensor b = compute("b", {m, p}, s.u(0, p) * cast(f32, p));
  EXPECT_THAT(why_not(a, b), HasSubstr("expected b to compute what a does, n, got p"));
}

TEST(SiblingLevel, NotOfATensorThatIsReadInTwoWays) {
  const Siblings s;
  Tensor a = compute("a", {m, n}, s.w(0, n) * s.w(0, 0));
  Tensor b = compute("b", {m, n}, s.w(0, n) * s.w(0, 0));
  EXPECT_THAT(why_not(a, b), HasSubstr("expected w to be read in one way, got two"));
}

TEST(SiblingLevel, NotAlongTwoDimensions) {
  Tensor w = weight("w", f32, {4, 4}), u = weight("u", f32, {4, 4});
  Tensor a = compute("a", {m, n}, w(n, n)), b = compute("b", {m, n}, u(n, n));
  EXPECT_THAT(why_not(a, b), HasSubstr("expected columns to be read as they come"));
}

}  // namespace
}  // namespace emulsion

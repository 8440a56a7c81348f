#include "backends/runtime/span.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

namespace emulsion {
namespace {

TEST(SpanTest, FindsElementsRowMajor) {
  std::vector<float> values = {0, 1, 2, 3, 4, 5};
  const Span<float, 2> span(values.data(), {2, 3});
  EXPECT_EQ(span(0, 2), 2);
  EXPECT_EQ(span(1, 0), 3);
  span(1, 2) = 7;
  EXPECT_EQ(values[5], 7);
}

TEST(SpanTest, KnowsItsShape) {
  const Span<const double, 3> span(nullptr, {4, 0, 2});
  EXPECT_EQ(span.extent(0), 4);
  EXPECT_EQ(span.size(), 0);
  EXPECT_EQ((Span<int32_t, 0>(nullptr, {}).size()), 1);
}

TEST(SpanTest, OfValuesIsReadAsOneOfConstants) {
  static_assert(std::is_convertible_v<Span<float, 2>, Span<const float, 2>>);
  std::vector<float> values = {1, 2};
  const Span<const float, 1> span = Span<float, 1>(values.data(), {2});
  EXPECT_EQ(span(1), 2);
}

TEST(SpanTest, RefusesToCompileForAnotherTypeOrRank) {
  static_assert(!std::is_convertible_v<Span<const float, 2>, Span<float, 2>>);
  static_assert(!std::is_convertible_v<Span<float, 2>, Span<const double, 2>>);
  static_assert(!std::is_convertible_v<Span<float, 2>, Span<const float, 3>>);
}

}  // namespace
}  // namespace emulsion

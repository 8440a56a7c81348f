#include "passes/nest/read_indices.h"

#include <gtest/gtest.h>

#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

// x[i] * w[i, 3] + i
Expr body() {
  const Expr i = axis_value("i");
  return read_buffer("x", DType::i32, {i}) * read_buffer("w", DType::i32, {i, int_constant(3)}) + i;
}

TEST(ReadIndices, TheDomainHasThePureAxesAndThoseOfTheReduction) {
  const LoopNest nest = linear_nest();
  const AxisExtents domain = domain_of(nest.stage("mm"));
  EXPECT_EQ(domain.size(), 3U);
  for (const char* axis : {"m", "n", "k"}) EXPECT_EQ(domain.count(axis), 1U) << axis;
}

TEST(ReadIndices, ChangesThoseOfReadsAndNothingElse) {
  const Expr made = with_indices(body(), [](const Expr& read) {
    std::vector<Expr> indices = read->args;
    indices[0] = indices[0] + int_constant(1);
    return indices;
  });
  EXPECT_EQ(to_string(made), "x[i + 1] * w[i + 1, 3] + i");
}

TEST(ReadIndices, GivesTheSameBodyWhereTheIndicesStay) {
  const Expr before = body();
  EXPECT_TRUE(with_indices(before, [](const Expr& read) { return read->args; }).same_as(before));
}

// Neither what decides by data nor what is itself an index.
TEST(ReadIndices, ChangesConditionsOverIndicesBetweenValues) {
  const Expr i = axis_value("i");
  const Expr x = read_buffer("x", DType::i32, {select(i > 2, i, int_constant(0))});
  const Expr chosen = select(i > 2, x, select(x > 0, x, int_constant(1)));
  const auto next = [](const Expr& condition) {
    return substitute_axes(condition, [](const std::string& axis) { return axis_value(axis) + 1; });
  };
  EXPECT_EQ(to_string(with_conditions(chosen, next)),
            to_string(select(i + 1 > 2, x, select(x > 0, x, int_constant(1)))));
  EXPECT_TRUE(with_conditions(chosen, [](const Expr& e) { return e; }).same_as(chosen));
}

}  // namespace
}  // namespace emulsion

#include "passes/lower/inline_reads.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "dsl/expr.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {
namespace {

const Axis m("m", 4), n("n", 8);

Expr x(const Expr& row, const Expr& column) { return read_buffer("x", DType::f32, {row, column}); }
Expr p(const Expr& row, const Expr& column) { return read_buffer("p", DType::f32, {row, column}); }

// p[m, n] = x[m, n] + 1
std::map<std::string, Stage> inlined() {
  Stage stage;
  stage.name = "p";
  stage.axes = {m, n};
  stage.body = x(m, n) + 1.0f;
  return {{"p", stage}};
}

TEST(InlineReads, OwnIndicesAreTheAxesInTheirOrder) {
  EXPECT_TRUE(are_own_indices({m, n}, {m, n}));
  EXPECT_TRUE(are_own_indices({}, {}));
  EXPECT_FALSE(are_own_indices({m, n}, {n, m}));
  EXPECT_FALSE(are_own_indices({m, n}, {m, Expr(n) + 1}));
  EXPECT_FALSE(are_own_indices({m, n}, {m, 0}));
  EXPECT_FALSE(are_own_indices({m, n}, {m}));
  EXPECT_FALSE(are_own_indices({m}, {m, n}));
}

// A chain is gone through once, and not again at each link.
TEST(InlineReads, AtItsOwnIndicesABodyIsTheSameNode) {
  const std::map<std::string, Stage> stages = inlined();
  const Expr body = with_inlined(p(m, n) * 2.0f, stages);
  EXPECT_EQ(to_string(body), "(x[m, n] + 1f) * 2f");
  EXPECT_TRUE(body->args[0].same_as(stages.at("p").body));
}

TEST(InlineReads, AtOtherIndicesItsAxesBecomeThem) {
  EXPECT_EQ(to_string(with_inlined(p(n, Expr(m) + 1), inlined())), "x[n, m + 1] + 1f");
}

TEST(InlineReads, EqualIndicesShareOneCopy) {
  const Expr square = with_inlined(p(m, 3) * p(m, 3), inlined());
  EXPECT_EQ(to_string(square), "(x[m, 3] + 1f) * (x[m, 3] + 1f)");
  EXPECT_TRUE(square->args[0].same_as(square->args[1]));
}

TEST(InlineReads, OtherReadsStay) {
  const Expr body = x(m, n) * 2.0f;
  EXPECT_TRUE(with_inlined(body, inlined()).same_as(body));
}

TEST(InlineReads, SimpleReadsHaveOneReshape) {
  Stage stage;
  stage.name = "y";
  stage.axes = {m, n};
  stage.body = x(m, n);
  const Expr flat = Expr(m) * 8 + n;
  EXPECT_EQ(to_string(with_simple_reads(x(flat / 8, flat % 8), stage)), "x[m, n]");
}

}  // namespace
}  // namespace emulsion

#include "passes/derive/joined_sums.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"
#include "tests/passes/derive/row_graphs.h"

namespace emulsion {
namespace {

// So that the row is walked through once less. The cache is a small one.
TEST(JoinedSums, OfWhatIsSummedUpFirstWhereARowIsLong) {
  for (const char* level : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    for (const int cores : {1, 4}) {
      const Target target = Target::parse(fmt::format("{},cores={},l1=128", level, cores));
      const auto joins = [&](const Graph& graph) {
        EXPECT_TRUE(derives(graph, target, {1, 3}, 1e-5)) << level;
        const std::string text = to_string(derive_schedule(graph, target));
        return text.find("compute_with(") != std::string::npos;
      };
      for (const int64_t columns : {64, 128, 131, 200}) {
        EXPECT_TRUE(joins(Graph(softmax_by_hand(5, columns))));
        EXPECT_TRUE(joins(Graph(softmax(input("x", f32, {3, columns})))));
        EXPECT_TRUE(joins(Graph(softmax(input("x", f32, {3, 2, columns})))));
        EXPECT_TRUE(joins(Graph(softmax(input("x", f32, {2, 3, 4, columns})))));
        EXPECT_TRUE(joins(Graph(softmax(input("x", f64, {7, columns})))));
        EXPECT_TRUE(joins(Graph(softmax(input("x", f32, {Extent::size("B"), columns})))));
        const Tensor x = input("x", f32, {4, columns});
        EXPECT_TRUE(derives(Graph(layer_norm(relu(x) * 2.0F, weight("g", f32, {columns}),
                                             weight("b", f32, {columns}))),
                            target, {1}, 1e-5));
        EXPECT_FALSE(joins(Graph(softmax(input("x", f32, {3, Extent::size("C")})))));
        // What has one element in a row keeps an axis of one step.
        const Tensor below = x - reduce_max(x, {1}, true), powers = exp(below);
        EXPECT_TRUE(joins(Graph(powers / sum(powers, {1}, true))));
        // Two sums, of which neither is first.
        const Axis i("i", 4), k("k", columns), r("r", columns);
        const Tensor p = compute("p", {i, k}, x(i, k) * 2.0F);
        const Tensor s = compute("s", {i}, sum(r, p(i, r)));
        const Tensor t = compute("t", {i}, sum(r, p(i, r) * p(i, r)));
        EXPECT_FALSE(joins(Graph(compute("y", {i, k}, p(i, k) * s(i) + t(i)))));
        // Sums that read it backwards.
        const Tensor u = compute("u", {i}, sum(r, p(i, Extent(columns).constant_term() - 1 - r)));
        EXPECT_FALSE(joins(Graph(compute("y", {i, k}, p(i, k) * u(i)))));
        // A log-softmax, of which the difference waits in the output.
        const Tensor most = compute("most", {i}, reduce_max(r, x(i, r)));
        const Tensor z = compute("z", {i, k}, x(i, k) - most(i));
        const Tensor e = compute("e", {i, k}, exp(z(i, k)));
        const Tensor total = compute("total", {i}, sum(r, e(i, r)));
        EXPECT_TRUE(
            derives(Graph(compute("y", {i, k}, z(i, k) - log(total(i)))), target, {1}, 1e-5));
      }
    }
  }
  EXPECT_EQ(derived(roots_by_hand(64, 1024), target_of("x86-64-v3", 1)).find("compute_with"),
            std::string::npos)
      << "a row that stays in the cache";
}

// An exponential takes longer than an addition, and its constants need the registers. Elsewhere
// four vectors of sums are under way.
TEST(JoinedSums, OneVectorIsComputedWithAnExponential) {
  const Target target = Target::parse("x86-64-v3,cores=1,l1=128");
  const Axis i("i", 4), k("k", 128), r("r", 128);
  const Tensor x = input("x", f32, {4, 128});
  const auto text_of = [&](const Expr& row, DType of_sums) {
    const Tensor p = compute("p", {i, k}, row);
    const Tensor s = compute("s", {i}, sum(r, cast(of_sums, p(i, r))));
    const Graph graph(compute("y", {i, k}, p(i, k) * cast(f32, s(i))));
    EXPECT_TRUE(derives(graph, target, {0}, 1e-5));
    const std::string text = derived(graph, target);
    EXPECT_NE(text.find("s_lanes.compute_with(p, r)"), std::string::npos) << text;
    return text;
  };
  const auto has = [](const std::string& text, int lanes) {
    return text.find(fmt::format("s.split(r, r, lane, {})", lanes)) != std::string::npos;
  };
  EXPECT_TRUE(has(text_of(exp(x(i, k)), f32), 8));
  EXPECT_TRUE(has(text_of(tanh(x(i, k)) * 2.0F, f32), 8));
  EXPECT_TRUE(has(text_of(x(i, k) * x(i, k) * 2.0F + 1.0F, f32), 32));
  EXPECT_TRUE(has(text_of(exp(x(i, k)), f64), 8)) << "two vectors of four, which p's are of";
  const Tensor t = tanh(x, "t");
  EXPECT_TRUE(has(text_of(t(i, k) * 2.0F, f32), 8)) << "of a group";
}

TEST(JoinedSums, OneOfTwoRowsIsComputedWithThoseOfTheirProduct) {
  const Target target = Target::parse("x86-64-v3,cores=1,l1=128");
  const Axis i("i", 4), k("k", 128), r("r", 128);
  const Tensor x = input("x", f32, {4, 128}), z = input("z", f32, {4, 128});
  const Tensor p = compute("p", {i, k}, exp(x(i, k) * 0.1F)),
               q = compute("q", {i, k}, abs(z(i, k)));
  const Tensor s = compute("s", {i}, sum(r, p(i, r) * q(i, r)));
  const Graph graph(compute("y", {i, k}, (p(i, k) + q(i, k)) / s(i)));
  EXPECT_TRUE(derives(graph, target, {0}, 1e-5));
  const std::string text = derived(graph, target);
  const size_t first = text.find("compute_with(");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("compute_with(", first + 1), std::string::npos) << text;
}

// Three vectors of f64, of which none of f32 is a whole part.
TEST(JoinedSums, NotOfStepsThatTheVectorsOfARowDoNotDivide) {
  const Target target = Target::parse("x86-64-v3,cores=1,l1=128");
  const auto text_of = [&](int64_t columns) {
    const Axis i("i", 4), k("k", columns), r("r", columns);
    const Tensor x = input("x", f32, {4, columns});
    const Tensor p = compute("p", {i, k}, x(i, k) * x(i, k) * 2.0F + 1.0F);
    const Tensor s = compute("s", {i}, sum(r, cast(f64, p(i, r))));
    const Graph graph(compute("y", {i, k}, p(i, k) * cast(f32, s(i))));
    EXPECT_TRUE(derives(graph, target, {0}, 1e-5));
    return derived(graph, target);
  };
  EXPECT_NE(text_of(128).find("compute_with("), std::string::npos);
  EXPECT_EQ(text_of(132).find("compute_with("), std::string::npos);
}

// p would have two loops r.
TEST(JoinedSums, NotWhereTheirLoopIsNamedLikeTheRows) {
  const Target target = Target::parse("x86-64-v3,cores=1,l1=128");
  const auto text_of = [&](const Axis& i) {
    const Axis k("k", 128), r("r", 128);
    const Tensor x = input("x", f32, {4, 128});
    const Tensor p = compute("p", {i, k}, x(i, k) * x(i, k) * 2.0F + 1.0F);
    const Tensor s = compute("s", {Axis("i", 4)}, sum(r, p(Axis("i", 4), r)));
    const Graph graph(compute("y", {Axis("i", 4), k}, p(Axis("i", 4), k) * s(Axis("i", 4))));
    EXPECT_TRUE(derives(graph, target, {0}, 1e-5));
    return derived(graph, target);
  };
  EXPECT_NE(text_of(Axis("i", 4)).find("compute_with("), std::string::npos);
  EXPECT_EQ(text_of(Axis("r", 4)).find("compute_with("), std::string::npos);
}

}  // namespace
}  // namespace emulsion

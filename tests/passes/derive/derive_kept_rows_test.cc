// Groups of rows that keep what others need too: the sums of a norm and of a softmax that are
// outputs, or that are read behind the loops. What is derived is interpreted against the graph.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"
#include "tests/passes/derive/row_graphs.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("N");

std::vector<Target> targets() {
  std::vector<Target> all;
  for (const char* text : {"x86-64-v3,cores=1", "x86-64-v4,cores=4", "x86-64-v3,cores=2,l1=128"}) {
    all.push_back(Target::parse(text));
    all.back().l2_bytes = 64;  // so that short rows pay, too
  }
  return all;
}

struct Norm {
  Norm(const Extent& rows, int64_t columns)
      : i("i", rows),
        k("k", columns),
        r("r", columns),
        x(input("x", f32, {rows, columns})),
        scale(1.0F / static_cast<float>(columns)) {}

  Axis i, k, r;
  Tensor x;
  float scale;
  Tensor mean = compute("mean", {i}, sum(r, x(i, r)) * scale);
  Tensor squares = compute("squares", {i}, sum(r, (x(i, r) - mean(i)) * (x(i, r) - mean(i))));
  Tensor factor = compute("factor", {i}, 1.0F / sqrt(squares(i) * scale + 1e-5F));
  Tensor y = compute("y", {i, k}, (x(i, k) - mean(i)) * factor(i));
};

// What is kept is computed in the loops of y, and everything is right.
void keeps(const Graph& graph, const std::vector<std::string>& names) {
  for (const Target& target : targets()) {
    EXPECT_TRUE(derives(graph, target, {0, 1, 3, 17}, 1e-5));
    const std::string text = derived(graph, target);
    for (const std::string& name : names) {
      EXPECT_NE(text.find("\n" + name + ".compute_at(y, "), std::string::npos) << name << text;
    }
  }
}

TEST(DeriveKeptRows, TheStatisticsOfANorm) {
  for (const Extent& rows : {Extent(5), Extent(64), kSize}) {
    for (const int64_t columns : {16, 28, 64, 131, 1000}) {
      if (columns == 16 && !rows.is_constant()) continue;  // of so few nothing is kept
      const Norm n(rows, columns);
      keeps(Graph({n.y, n.mean, n.factor}), {"mean", "factor"});
      keeps(Graph({n.mean, n.y}), {"mean"});
      keeps(Graph({n.squares, n.y}), {"squares"});
    }
  }
}

TEST(DeriveKeptRows, TheStatisticsOfASoftmax) {
  for (const Extent& rows : {Extent(5), kSize}) {
    for (const int64_t columns : {64, 131, 1000}) {
      const Graph all = softmax_by_hand(rows, columns);
      const Tensor y(op_of(all, "y")), highest(op_of(all, "highest")), total(op_of(all, "total"));
      keeps(Graph({y, highest, total}), {"highest", "total"});
      const Axis i("i", rows);
      keeps(Graph({y, compute("z", {i}, highest(i) + log(total(i)))}), {"highest", "total"});
    }
  }
}

// Read in other rows, so behind the loops.
TEST(DeriveKeptRows, WhatIsReadBehindTheLoops) {
  for (const Extent& rows : {Extent(8), kSize}) {
    const Norm n(rows, 96);
    const Axis j("j", rows);
    const Expr first = n.mean.at({extent_value(rows) - 1 - j});
    const Tensor z = compute("z", {j}, first * 2.0F);
    keeps(Graph({z, n.y}), {"mean"});
    const Tensor spread =
        compute("spread", {n.i, n.k}, n.x(n.i, n.k) * n.factor(n.i) + n.y(n.i, n.k));
    keeps(Graph({spread, z}), {});
  }
}

TEST(DeriveKeptRows, OfSeveralAxesAndWithAxesOfOneStep) {
  const Tensor x = input("x", f32, {2, 3, 96});
  const Tensor average = mean(x, {2}, true, "average");
  const Tensor centred = x - average;
  const Tensor spread = sqrt(mean(centred * centred, {2}, true) + 1e-5F, "spread");
  keeps(Graph({div(centred, spread, "y"), average, spread}), {"average", "spread"});
}

// A long row is computed with the sums of it, of which one is kept.
TEST(DeriveKeptRows, SumsInWhoseLoopARowIsComputed) {
  const Target target = Target::parse("x86-64-v3,cores=1,l1=128");
  const Graph all = softmax_by_hand(5, 128);
  const Graph graph({Tensor(op_of(all, "y")), Tensor(op_of(all, "total"))});
  EXPECT_TRUE(derives(graph, target, {0}, 1e-5));
  EXPECT_NE(derived(graph, target).find("compute_with("), std::string::npos);
}

// Two groups, of which the second reads what the first one keeps.
TEST(DeriveKeptRows, OneBehindAnother) {
  const Norm n(8, 96);
  const Axis j("j", 8), q("q", 96);
  const Tensor turned = compute("turned", {j}, n.factor.at({Expr(7) - j}));
  const Tensor weighted = compute("weighted", {j}, sum(q, n.y(j, q) * turned(j)));
  const Tensor z = compute("z", {j, q}, n.y(j, q) * weighted(j));
  keeps(Graph({z, n.y}), {"factor"});
  keeps(Graph({z, weighted, n.y, n.mean}), {"factor", "mean"});
}

// What has one loop of its own with a sibling: not where the one is behind what the other is
// needed for.
TEST(DeriveKeptRows, SiblingsOfWhichOneIsBehindTheLoops) {
  const int64_t rows = 512, columns = 512;
  const Axis i("i", rows), k("k", columns), r("r", columns);
  const Tensor x = input("x", f32, {rows, columns});
  const Tensor a = compute("a", {i, k}, x(Expr(rows - 1) - i, k) * 2.0F);
  const Tensor w = compute("w", {i, k}, x(i, k) + 1.0F);
  const Tensor p = compute("p", {i}, sum(r, x(i, r)));
  const Tensor y = compute("y", {i, k}, x(i, k) * p(i) + w(Expr(rows - 1) - i, k));
  const Tensor turned = compute("turned", {i}, p.at({Expr(rows - 1) - i}) + 1.0F);
  const Tensor z = compute("z", {i, k}, x(i, k) * turned(i));
  const Tensor v = compute("v", {i, k}, x(i, k) - 3.0F);
  EXPECT_TRUE(derives(Graph({y, z, w, v, a}), Target::parse("x86-64-v3,cores=2"), {0}, 1e-4));
}

// As a graph may say it: whole rows that are kept have memory of their own.
TEST(DeriveKeptRows, WholeRowsThatAGroupKeeps) {
  for (const Target& target : targets()) {
    for (const char* columns : {"96", "20000"}) {
      const std::string all = columns;
      const Graph graph = parse_graph("emulsion graph 1\ninput x: f32[16, " + all +
                                      "]\nfused_rows y over [i] {\n  q[i: 16, k: " + all +
                                      "] = exp(x[i, k])\n  s[i: 16] = sum(r: " + all +
                                      ") q[i, r]\n  y[i: 16, k: " + all +
                                      "] = q[i, k] / s[i]\n}\noutput y\noutput q\n");
      const Schedule schedule = derive_stages(graph, graph, target);
      EXPECT_TRUE(lowers(graph, schedule, {}, 1e-4));
      const std::string text = to_string(schedule);
      EXPECT_NE(text.find("\nq.compute_at(y, "), std::string::npos);
      EXPECT_EQ(text.find("q.store_in_output"), std::string::npos);
      EXPECT_EQ(text.find("compute_with(q"), std::string::npos);
    }
  }
}

TEST(DeriveKeptRows, NotWholeRowsAndNotRowsOfARunTimeLength) {
  const Target target = Target::parse("x86-64-v3,cores=1");
  const Axis i("i", 8), k("k", 96), r("r", 96);
  const Tensor x = input("x", f32, {8, 96});
  const Tensor q = compute("q", {i, k}, exp(x(i, k)));
  const Tensor s = compute("s", {i}, sum(r, q(i, r)));
  const Graph graph({compute("y", {i, k}, q(i, k) / s(i)), q});
  EXPECT_TRUE(derives(graph, target, {0}, 1e-5));
  EXPECT_EQ(derived(graph, target).find("\nq.compute_at("), std::string::npos);
  const Graph all = softmax_by_hand(8, Extent::size("C"));
  const Graph of_any_length({Tensor(op_of(all, "y")), Tensor(op_of(all, "total"))});
  EXPECT_TRUE(derives(of_any_length, target, {0, 1, 9, 40}, 1e-5));
  EXPECT_EQ(derived(of_any_length, target).find("\ntotal.compute_at(y"), std::string::npos);
}

}  // namespace
}  // namespace emulsion

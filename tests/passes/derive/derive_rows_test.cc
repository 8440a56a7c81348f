// Rows in derived schedules: what is written down, and that the nests compute what the graphs say
// at every size.

#include <gtest/gtest.h>

#include <string>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "passes/lower/lower.h"
#include "passes/nest/loop_nest.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/row_graphs.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");

Target level(const std::string& name, int cores) {
  return Target::parse("x86-64-" + name + ",cores=" + std::to_string(cores));
}

std::string derived(const Graph& graph, const Target& target) {
  return to_string(derive_schedule(graph, target));
}

TEST(DeriveRows, EverythingIsComputedAtTheRowOfTheLast) {
  EXPECT_EQ(derived(softmax_by_hand(64, 64), level("v3", 1)),
            "emulsion schedule 1\n"
            "y.split(k, k, k_v, 8)\ny.vectorize(k_v)\n"
            "total.split(r, r, lane, 8)\ntotal.rfactor(lane, total_lanes)\n"
            "total.compute_at(y, i)\n"
            "total_lanes.reorder(lane, r)\ntotal_lanes.vectorize(lane)\n"
            "total_lanes.compute_at(total, i)\n"
            "p.split(k, k, k_v, 8)\np.vectorize(k_v)\np.compute_at(y, i)\n"
            "highest.split(r, r, lane, 8)\nhighest.rfactor(lane, highest_lanes)\n"
            "highest.compute_at(y, i)\n"
            "highest_lanes.reorder(lane, r)\nhighest_lanes.vectorize(lane)\n"
            "highest_lanes.compute_at(highest, i)\n");
}

TEST(DeriveRows, OneRowIsThereAtATime) {
  const LoopNest nest =
      lower(softmax_by_hand(64, 64), derive_schedule(softmax_by_hand(64, 64), level("v3", 1)));
  EXPECT_NE(to_string(nest).find("alloc p[y.i .. +1, 0 .. +64] in stack"), std::string::npos)
      << to_string(nest);
}

TEST(DeriveRows, ThreadsShareTheRows) {
  for (const char* name : {"v2", "v3", "v4"}) {
    for (const auto& [graph_name, graph] : row_graphs(256, 512)) {
      const std::string text = derived(graph, level(name, 4));
      EXPECT_NE(text.find("y.parallel("), std::string::npos) << graph_name << "\n" << text;
      EXPECT_EQ(text.find(".parallel("), text.rfind(".parallel(")) << text;
      EXPECT_EQ(derived(graph, level(name, 1)).find("parallel"), std::string::npos);
    }
  }
}

TEST(DeriveRows, NoThreadsForLittleWork) {
  for (const auto& [name, graph] : row_graphs(4, 64)) {
    EXPECT_EQ(derived(graph, level("v3", 4)).find("parallel"), std::string::npos) << name;
  }
}

TEST(DeriveRows, ACallWithFewRowsWakesNoThreads) {
  for (const auto& [name, graph] : row_graphs(kSize, 64)) {
    const std::string text = derived(graph, level("v3", 4));
    EXPECT_NE(text.find("y.specialize(B >= "), std::string::npos) << name << "\n" << text;
  }
}

TEST(DeriveRows, RowsOfRunTimeLengthAreInVectors) {
  for (const char* name : {"v2", "v3", "v4"}) {
    const Target target = level(name, 1);
    const std::string lanes = std::to_string(target.vector_lanes(f32));
    const std::string text = derived(softmax_by_hand(64, kSize), target);
    for (const std::string& line :
         {"total.split(r, r, lane, " + lanes + ")\ntotal.rfactor(lane, total_lanes)",
          "p.split(k, k, k_v, " + lanes + ", predicate)\np.vectorize(k_v)"}) {
      EXPECT_NE(text.find(line), std::string::npos) << text;
    }
  }
}

TEST(DeriveRows, WhatIsFusedOntoASumIsComputedWithIt) {
  const Axis m("m", 8), b("b", 4), k("k", 64);
  Tensor x = input("x", f32, {8, 4, 64}), v = input("v", f32, {4, 64});
  Tensor p = relu(compute("product", {m, b}, sum(k, x(m, b, k) * v(b, k))), "p");
  const Graph graph(compute("y", {m, b, k}, x(m, b, k) * p(m, b)));
  const std::string text = derived(graph, level("v3", 1));
  for (const char* line : {"product.compute_at(p, i1)", "p.compute_at(y, b)",
                           "product_lanes.compute_at(product, b)"}) {
    EXPECT_NE(text.find(line), std::string::npos) << text;
  }
  EXPECT_TRUE(derives(graph, level("v3", 1)));
}

TEST(DeriveRows, WithoutFusionEveryOperationHasRowsOfItsOwn) {
  DeriveOptions options;
  options.fuse = false;
  const Graph graph = softmax_by_hand(64, 64);
  EXPECT_EQ(to_string(derive_schedule(graph, level("v3", 1), options)).find("compute_at(y"),
            std::string::npos);
}

class ComputesRows : public testing::TestWithParam<const char*> {};

TEST_P(ComputesRows, OfAnyNumber) {
  for (const auto& [name, graph] : row_graphs(kSize, 35)) {
    EXPECT_TRUE(derives(graph, level(GetParam(), 1), {0, 1, 3}, 1e-5)) << name;
  }
}

TEST_P(ComputesRows, OfAnyLength) {
  for (const auto& [name, graph] : row_graphs(3, kSize)) {
    EXPECT_TRUE(derives(graph, level(GetParam(), 4), {0, 1, 7, 16, 33}, 1e-5)) << name;
  }
}

TEST_P(ComputesRows, OfAnyNumberAndLength) {
  for (const auto& [name, graph] : row_graphs(kSize, kSize)) {
    EXPECT_TRUE(derives(graph, level(GetParam(), 4), {0, 1, 17}, 1e-5)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, ComputesRows, testing::Values("v2", "v3", "v4"));

}  // namespace
}  // namespace emulsion

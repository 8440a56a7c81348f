// What the graph says is fused is fused in the nest, or lower() says what is not.

#include "passes/lower/check_loop_groups.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "passes/derive/share_loops.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/fuse/fused_group.h"
#include "passes/lower/lower.h"
#include "tests/passes/derive/attention_graphs.h"
#include "tests/passes/derive/row_graphs.h"
#include "tests/passes/derive/stencil_graphs.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

const Target kV3 = Target::parse("x86-64-v3,cores=1");

Graph shared(const Graph& graph, const Target& target = kV3) {
  return share_loops(fuse_epilogues(graph), target);
}

// The softmax by hand, one group of highest, p, total and y, with this schedule.
void lower_rows(const std::string& directives) {
  const Graph graph = shared(softmax_by_hand(64, 96));
  ASSERT_EQ(graph.loop_groups().size(), 1U);
  lower(graph, parse_schedule("emulsion schedule 1\n" + directives, graph));
}

TEST(CheckLoopGroups, WhatIsDerivedKeepsThem) {
  for (const int cores : {1, 4}) {
    const Target target = Target::parse("x86-64-v3,cores=" + std::to_string(cores));
    std::vector<std::pair<std::string, Graph>> graphs = row_graphs(Extent::size("B"), 100);
    for (const auto& one : row_graphs(64, 4096)) graphs.push_back(one);
    for (const auto& one : attention_graphs(64, 64)) graphs.push_back(one);
    for (const auto& one : attention_graphs(Extent::size("B"), Extent::size("L"))) {
      graphs.push_back(one);
    }
    for (const auto& [name, graph] : graphs) {
      const Graph groups = shared(graph, target);
      EXPECT_FALSE(groups.loop_groups().empty()) << name;
      EXPECT_NO_THROW(lower(groups, derive_stages(groups, groups, target))) << name;
    }
  }
}

TEST(CheckLoopGroups, WindowsToo) {
  for (const auto& [name, graph] : stencil_graphs()) {
    const Graph groups = shared(graph, small_cache(1));
    EXPECT_NO_THROW(lower(groups, derive_stages(groups, groups, small_cache(1)))) << name;
  }
}

TEST(CheckLoopGroups, AScheduleByHandThatKeepsThem) {
  lower_rows("highest.compute_at(y, i)\np.compute_at(y, i)\ntotal.compute_at(y, i)\n");
}

TEST(CheckLoopGroups, WhatIsInlineHasNoStorage) {
  lower_rows("highest.compute_at(y, i)\np.compute_inline()\ntotal.compute_at(y, i)\n");
}

TEST(CheckLoopGroups, NotWithoutASchedule) {
  EXPECT_ERROR(lower_rows(""),
               "lower: expected highest to be stored in the loops of y, with which the graph fuses "
               "it, got storage outside of them; legal: a schedule that computes it there, or the "
               "graph without its loop groups");
}

TEST(CheckLoopGroups, NotOneMemberAtTheRoot) {
  EXPECT_ERROR(lower_rows("p.compute_at(y, i)\ntotal.compute_at(y, i)\n"),
               "expected highest to be stored in the loops of y");
}

TEST(CheckLoopGroups, NotStorageAtTheRoot) {
  EXPECT_ERROR(lower_rows("highest.compute_at(y, i)\np.compute_at(y, i)\np.store_root()\n"
                          "total.compute_at(y, i)\n"),
               "expected p to be stored in the loops of y");
}

TEST(CheckLoopGroups, NotInTheLoopsOfAnotherMember) {
  EXPECT_ERROR(lower_rows("highest.compute_at(p, i)\ntotal.compute_at(y, i)\n"),
               "expected p to be stored in the loops of y");
}

TEST(CheckLoopGroups, WhatIsKeptIsComputedThere) {
  const Axis i("i", 64), k("k", 128), r("r", 128);
  const Tensor x = input("x", f32, {64, 128});
  const Tensor p = compute("p", {i}, sum(r, x(i, r)));
  const Graph graph = shared(Graph({compute("y", {i, k}, x(i, k) * p(i)), p}));
  ASSERT_EQ(graph.loop_groups().size(), 1U);
  const auto lowered = [&](const std::string& directives) {
    return lower(graph, parse_schedule("emulsion schedule 1\n" + directives, graph));
  };
  EXPECT_NO_THROW(lowered("p.compute_at(y, i)\n"));
  EXPECT_ERROR(lowered(""), "expected p to be stored in the loops of y");
  const Axis turned("i", 64);
  const Tensor z = compute("z", {turned}, p.at({Expr(63) - turned}));
  const Graph read = shared(Graph({compute("y", {i, k}, x(i, k) * p(i)), z}));
  ASSERT_EQ(read.loop_groups().size(), 1U);
  const std::string whole = "emulsion schedule 1\np.compute_at(y, i)\np.store_root()\n";
  EXPECT_NO_THROW(lower(read, parse_schedule(whole, read)));
}

TEST(CheckLoopGroups, NotAMemberOfAMember) {
  const Axis i("i", 64), k("k", 96), r("r", 96);
  const Tensor x = input("x", f32, {64, 96});
  const Tensor e = exp(mul(x, 2.0F, "d"), "e");
  const Tensor total = compute("total", {i}, sum(r, e(i, r)));
  const Graph graph = shared(Graph(compute("y", {i, k}, e(i, k) / total(i))));
  ASSERT_EQ(graph.loop_groups().size(), 1U);
  const auto lowered = [&](const std::string& of_d) {
    return lower(graph, parse_schedule("emulsion schedule 1\ne.compute_at(y, i)\n"
                                       "total.compute_at(y, i)\n" +
                                           of_d,
                                       graph));
  };
  EXPECT_NO_THROW(lowered("d.compute_inline()\n"));
  EXPECT_ERROR(lowered(""), "expected d to be stored in the loops of y");
}

TEST(CheckLoopGroups, ApartTheGraphIsLoweredInAnyWay) {
  const Graph graph = unfuse(shared(softmax_by_hand(64, 96)));
  EXPECT_NO_THROW(lower(graph, Schedule(graph)));
}

}  // namespace
}  // namespace emulsion

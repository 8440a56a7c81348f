// What is derived to be computed for a block of columns: the kernels compute what the graph says at
// every size.

#include <gtest/gtest.h>

#include <vector>

#include "bazel/testing/needs.h"
#include "passes/pipeline.h"
#include "tests/backends/halide/nest_cases.h"
#include "tests/passes/derive/column_graphs.h"

namespace emulsion {
namespace {

class DerivedColumns : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { SKIP_UNLESS_IT_RUNS(target_); }

  void expect_same(const Graph& graph, int cores, const std::vector<int64_t>& sizes = {1}) {
    target_.cores = cores;
    const Lowered lowered = run_pipeline(graph, target_);
    EXPECT_EQ(lowered.grouped.loop_groups().size(), 1U);
    expect_same_as_graph(graph, lowered.nest, sizes, 1e-4, target_);
  }

 private:
  Target target_ = Target::parse(GetParam());
};

TEST_P(DerivedColumns, OfAnyNumber) {
  for (const auto& [name, graph] : column_graphs(7, Extent::size("B"))) {
    SCOPED_TRACE(name);
    expect_same(graph, 1, {0, 1, 2, 15, 16, 17, 63, 64, 65, 130});
  }
}

TEST_P(DerivedColumns, OfNumbersThatVectorsDivideAndThatTheyDoNot) {
  for (const int columns : {16, 40, 128, 200}) {
    for (const auto& [name, graph] : column_graphs(7, columns)) {
      SCOPED_TRACE(name);
      expect_same(graph, 1);
    }
  }
}

TEST_P(DerivedColumns, InThreads) {
  for (const Extent& columns : {Extent(4096), Extent(5001), Extent::size("B")}) {
    for (const auto& [name, graph] : column_graphs(5, columns)) {
      SCOPED_TRACE(name);
      expect_same(graph, 2, {4096, 5001});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, DerivedColumns,
                         testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v4"));

}  // namespace
}  // namespace emulsion

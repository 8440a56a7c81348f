// What is derived to be computed by blocks of rows: the kernels compute what the graph says at
// every size.

#include <gtest/gtest.h>

#include <vector>

#include "bazel/testing/needs.h"
#include "passes/pipeline.h"
#include "tests/backends/halide/nest_cases.h"
#include "tests/passes/derive/attention_graphs.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");

class DerivedBlocks : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { SKIP_UNLESS_IT_RUNS(target_); }

  void expect_same(const Extent& rows, const Extent& length, int cores,
                   const std::vector<int64_t>& sizes = {1}) {
    target_.cores = cores;
    for (const auto& [name, graph] : attention_graphs(rows, length)) {
      SCOPED_TRACE(name);
      expect_same_as_graph(graph, run_pipeline(graph, target_).nest, sizes, 1e-4, target_);
    }
  }

 private:
  Target target_ = Target::parse(GetParam());
};

TEST_P(DerivedBlocks, OfNumbers) { expect_same(77, 51, 1); }

TEST_P(DerivedBlocks, OfAnyNumberAndLengthInThreads) {
  expect_same(kSize, kSize, 4, {0, 1, 2, 15, 16, 17, 33, 50});
}

TEST_P(DerivedBlocks, EnoughForThreads) { expect_same(192, 512, 2); }

INSTANTIATE_TEST_SUITE_P(Targets, DerivedBlocks,
                         testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v4"));

}  // namespace
}  // namespace emulsion

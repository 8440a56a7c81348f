// The memory in which JIT kernels store values between their loops.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "backends/halide/jit.h"
#include "backends/runtime/kept_memory.h"
#include "dsl/operators.h"
#include "passes/lower/lower.h"

namespace emulsion {
namespace {

TEST(JitMemory, LargeStorageIsKeptForTheNextCall) {
  const int64_t before = runtime::set_kept_limit(0);
  runtime::set_kept_limit(runtime::kDefaultKept);
  constexpr int kElements = 100000;
  const Tensor x = input("x", f32, {kElements});
  const Tensor half = mul(x, 0.5f, "half");
  const Graph graph(half + half);
  const JitKernel kernel(lower(graph, Schedule(graph)));
  std::vector<float> in(kElements, 3), out(kElements);
  for (int call = 0; call < 3; ++call) {
    kernel.run({{"x", {f32, {kElements}, in.data()}},
                {graph.outputs()[0]->name, {f32, {kElements}, out.data()}}});
    EXPECT_EQ(out.back(), 3.0f);
    EXPECT_GE(runtime::kept_bytes(), kElements * 4) << call;
    EXPECT_LT(runtime::kept_bytes(), kElements * 8) << "one block, whatever the call";
  }
  runtime::set_kept_limit(0);
  EXPECT_EQ(runtime::kept_bytes(), 0);
  runtime::set_kept_limit(before);
}

}  // namespace
}  // namespace emulsion

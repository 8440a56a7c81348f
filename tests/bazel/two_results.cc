// Two sizes, two results, three types, and names that a careless header would trip over.

#include "backends/codegen/kernel_context.h"

using namespace emulsion;

Graph emulsion_kernel(const KernelContext&) {
  const Tensor x = input("std", f64, {Extent::size("B"), Extent::size("T") + 1});
  const Tensor counts = input("run", i32, {Extent::size("T") + 1});
  const Tensor total = sum(mul(x, cast(counts, f64, "wide"), "product"), {1}, false, "Span");
  return Graph(std::vector<Tensor>{total, less(counts, 2, "Arguments")});
}
